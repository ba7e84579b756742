import json

import numpy as np
import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.worlds.splits.split import Split

RUNNER = CliRunner(env={"COLUMNS": "120", "NO_COLOR": "1"})


def run(*words: str) -> str:
    result = RUNNER.invoke(app, ["data", "split", *words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


def error(*words: str) -> str:
    with pytest.raises(UnknotError) as caught:
        RUNNER.invoke(app, ["data", "split", *words], catch_exceptions=False)
    return str(caught.value)


def test_table_shows_held_out_classes_counts_and_notes():
    text = run("dsprites", "--kind", "extrapolation")
    assert "dSprites: extrapolation" in text
    for line in ("32..39", "25..31", "240,000", "32.55 %", "497,280", "67.45 %", "314,400", "63.22 % of test"):
        assert line in text
    assert "swapped heads" in text
    assert "orientation: circular" in text


def test_json_has_the_numbers_and_the_definition():
    record = json.loads(run("mpi3d_real", "--kind", "interpolation", "--json"))
    assert (record["n_train"], record["n_test"], record["one_ood"]) == (311_040, 725_760, 442_368)
    assert record["train_share"] == pytest.approx(0.3)
    factors = {factor["name"]: factor for factor in record["factors"]}
    assert factors["horizontal"]["exclusive"] == [5, 15, 24, 34]
    assert factors["color"]["one_ood"] == 62_208
    assert factors["shape"]["exclusive"] == []
    assert Split.from_json(record["definition"]).n_train == 311_040


def test_seed_decides_random_splits():
    records = [json.loads(run("shapes3d", "--kind", "random", "--seed", seed, "--json")) for seed in "112"]
    assert records[0] == records[1] != records[2]
    assert records[0]["n_train"] == 147_456
    assert "only in" not in run("shapes3d", "--kind", "random")


def test_composition_says_whose_classes_they_are():
    text = run("celeb_glow", "--kind", "composition")
    assert "only in training" in text
    assert "42 %" in text


def test_worlds_without_a_published_rule_ask_for_a_ratio_and_refuse_circles():
    assert "--ratio 0.2" in error("cars3d")
    assert "--allow-circular" in error("cars3d", "--ratio", "0.2")
    kept = json.loads(run("cars3d", "--ratio", "0.2", "--keep", "azimuth, model", "--json"))
    assert [f["exclusive"] for f in kept["factors"]] == [[3], [], []]
    allowed = json.loads(run("cars3d", "--ratio", "0.2", "--allow-circular", "--json"))
    assert allowed["factors"][1]["exclusive"] == [19, 20, 21, 22, 23]
    assert any("azimuth: circular" in note for note in allowed["notes"])


def test_combinations_are_named_by_hand():
    text = run("dsprites_rendered", "--kind", "combination", "--hold", "scale=0", "--hold", "shape=2")
    assert "dSprites (rendered): combination" in text
    assert "held out together" in text
    assert "heart" in text
    assert "40,960" in text
    assert "5-2" in error("dsprites", "--kind", "combination")


def test_classes_by_hand_replace_the_rule():
    record = json.loads(
        run("dsprites", "--kind", "interpolation", "--hold", "x=3,10..12", "--hold", "x=5", "--json")
    )
    assert record["factors"][3]["exclusive"] == [3, 5, 10, 11, 12]
    assert record["n_test"] == 737_280 * 5 // 32


def test_picture_is_written(tmp_path):
    target = tmp_path / "split.png"
    assert str(target) in run("dsprites", "-o", str(target)).replace("\n", "")
    assert target.read_bytes()[:4] == b"\x89PNG"


def test_files_of_ones_own_are_split_by_their_rows(tmp_path):
    rows = np.array([[x, y] for x in range(5) for y in range(5) if x + y < 8])  # (4, 4) is missing
    path = tmp_path / "mine.npz"
    np.savez(path, images=np.zeros((len(rows), 8, 8, 1), dtype=np.uint8), factors=rows)
    record = json.loads(run(str(path), "--ratio", "0.2", "--json"))
    assert (record["n_train_images"], record["n_test_images"]) == (16, 8)
    assert "images for training" in run(str(path), "--ratio", "0.2")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["dsprite"], "unknown world 'dsprite'; did you mean 'dsprites'"),
        (["dsprites", "--kind", "extra"], "unknown kind of split 'extra'"),
        (["dsprites", "--ratio", "1.5"], "ratio is 1.5"),
        (["dsprites", "--ratio", "0.2", "--keep", "colour"], "unknown factor 'colour'"),
        (["dsprites", "--hold", "x"], "--hold 'x' is not like x=25..31"),
        (["dsprites", "--hold", "x=30..99999999999"], "'x' has classes 0..31"),
        (["dsprites", "--hold", "z=1"], "unknown factor 'z'"),
        (["dsprites", "--hold", "x=1", "--ratio", "0.2"], "leave out --ratio"),
        (["dsprites", "--hold", "x=5..2"], "5..2 runs backwards; write 2..5"),
        (
            ["dsprites", "--kind", "combination", "--hold", "x=1", "--hold", "y=1", "--keep", "shape"],
            "leave out --ratio and --keep",
        ),
        (["dsprites", "-o", "picture.doc"], "cannot write 'picture.doc'"),
    ],
)
def test_mistakes_are_named(words, message):
    assert message in error(*words)
