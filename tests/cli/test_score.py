"""`unknot score` and `unknot metrics`, as a user runs them."""

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import unknot
import unknot.scoring.scoring
from unknot.cli import app
from unknot.errors import UnknotError
from unknot.metrics import METRICS

GOLDENS = Path(__file__).parents[1] / "goldens"


def _unknot(*words: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "unknot", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "120"})


def test_the_table_groups_scores_by_question_and_gives_verdicts() -> None:
    metrics = ("--metrics", "mig,modularity", "--metrics", "sap[regression]")  # in one word, or in several
    done = _unknot("score", GOLDENS / "perfect.npz", *metrics)
    assert done.returncode == 0, done.stderr
    assert "Does each latent know one factor?" in done.stdout
    assert "mig[bins=20]" in done.stdout
    assert "0.999" in done.stdout
    assert "sap[regression]" in done.stdout
    assert "z1 clearly, alone" in done.stdout
    assert "■" in done.stdout


def test_json_holds_what_is_needed_to_reproduce(tmp_path: Path) -> None:
    target = tmp_path / "scores.json"
    done = _unknot("score", GOLDENS / "m2.npz", "--metrics", "mig", "--json", target, "--seed", "3")
    assert done.returncode == 0, done.stderr
    record = json.loads(target.read_text())
    entry = record["scores"]["mig[bins=20]"]
    assert entry["value"] == pytest.approx(0.12936732515621352)
    assert entry["version"] == 1
    assert entry["seconds"] >= 0
    assert np.shape(entry["parts"]["mutual_information"]) == (2, 2)
    assert record["seed"] == 3
    assert len(record["input"]["files"][0]["sha256"]) == 64
    assert record["versions"]["numpy"]
    assert record["complete"]
    assert len(record["verdicts"]) == 2


def test_json_and_csv_go_to_standard_output_alone() -> None:
    done = _unknot("score", GOLDENS / "m1.npz", "--metrics", "mig", "--json", "-")
    assert list(json.loads(done.stdout)["scores"]) == ["mig[bins=20]"]
    done = _unknot("score", GOLDENS / "m1.npz", "--metrics", "mig,irs", "--csv", "-")
    rows = list(csv.DictReader(io.StringIO(done.stdout)))
    assert rows[0]["metric"] == "mig[bins=20]"
    assert float(rows[0]["value"]) == pytest.approx(0.18872187554086706)


def test_plot_writes_a_picture(tmp_path: Path) -> None:
    done = _unknot("score", GOLDENS / "m1.npz", "--metrics", "mig", "--plot", tmp_path / "hinton.png")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "hinton.png").read_bytes().startswith(b"\x89PNG")


def test_factors_are_chosen_by_name(tmp_path: Path) -> None:
    factors = np.random.default_rng(0).integers(0, 3, (200, 3))
    np.savez(tmp_path / "r.npz", latents=factors * 1.0, factors=factors, factor_names=["shape", "x", "y"])
    done = _unknot("score", tmp_path / "r.npz", "--metrics", "mig", "--factors", "x,y", "--json", "-")
    assert json.loads(done.stdout)["input"]["factor_names"] == ["x", "y"]


def test_slots_are_flattened_only_when_asked(tmp_path: Path) -> None:
    factors = np.random.default_rng(0).integers(0, 3, (200, 2))
    np.savez(tmp_path / "r.npz", latents=np.repeat(factors[:, :, None], 2, 2) * 1.0, factors=factors)
    refused = _unknot("score", tmp_path / "r.npz", "--metrics", "mig")
    assert refused.returncode == 2
    assert "--flatten-slots" in refused.stderr
    done = _unknot("score", tmp_path / "r.npz", "--metrics", "mig", "--flatten-slots", "--json", "-")
    assert json.loads(done.stdout)["input"]["n_latents"] == 4


def test_what_is_left_out_of_a_file_of_latents_is_said(tmp_path: Path) -> None:
    rows = "".join(f"{i % 5},{i % 3}\n" for i in range(60))
    (tmp_path / "both.csv").write_text("latent_0,factor_a\n" + rows)
    (tmp_path / "y.csv").write_text("a,b\n" + rows)
    runner = CliRunner().invoke(
        app, ["score", str(tmp_path / "both.csv"), str(tmp_path / "y.csv"), "--metrics=mig"]
    )
    assert runner.exit_code == 0, runner.output
    assert "left out: factor_a" in " ".join(runner.output.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.npz"], "no such file"),
        ([GOLDENS / "m1.npz", "--metrics", "migs"], "did you mean 'mig'"),
        ([GOLDENS / "m1.npz", "--factors", "x"], "unknown factor 'x'"),
        ([GOLDENS / "m1.npz", "--limit", "1"], "at least two rows"),
        ([GOLDENS / "goldens.json"], "not a representation"),
        ([GOLDENS / "m1.npz", "--seed", "-1"], "seed is -1; expected a whole number from 0 up"),
        ([GOLDENS / "m1.npz", "--plot", "who.foo"], "'.foo' is not a picture"),
        ([GOLDENS / "m1.npz", "--json", "-", "--csv", "-"], "--json and --csv both write to standard output"),
    ],
)
def test_mistakes_end_with_code_2_and_no_traceback(words: list[str | Path], message: str) -> None:
    done = _unknot("score", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_what_no_metric_can_score_is_refused_by_its_name(tmp_path: Path) -> None:
    factors = np.full((60, 2), np.nan)
    factors[:30, 0], factors[29:, 1] = np.arange(30) % 3, np.arange(31) % 2
    np.savez(tmp_path / "gaps.npz", latents=np.random.default_rng(0).normal(size=(60, 2)), factors=factors)
    done = _unknot("score", tmp_path / "gaps.npz", "--metrics", "snc")
    assert done.returncode == 2
    assert "gaps.npz: no metric could be computed: snc" in "".join(done.stderr.split("\n"))


@pytest.mark.parametrize("labelled", [True, False])
def test_constant_latents_are_listed(tmp_path: Path, labelled: bool) -> None:
    factors = np.random.default_rng(0).integers(0, 4, (200, 2))
    latents = np.column_stack([factors[:, 0], np.full(200, 0.1), factors[:, 1], np.zeros(200)])
    given = {"factors": factors} if labelled else {}
    np.savez(tmp_path / "r.npz", latents=latents, **given)
    metric = "modularity" if labelled else "mutual_info_score"
    words = ["score", str(tmp_path / "r.npz"), "--metrics", metric, "--json", str(tmp_path / "r.json")]
    made = CliRunner().invoke(app, words)
    assert made.exit_code == 0, made.output
    assert "note: constant latent(s): 1, 3." in made.output
    assert json.loads((tmp_path / "r.json").read_text())["input"]["notes"][0].startswith(
        "constant latent(s): 1, 3."
    )


@pytest.mark.parametrize("option", ["--json", "--csv", "--html"])
def test_an_input_is_not_overwritten(tmp_path: Path, option: str) -> None:
    path = tmp_path / "x.npz"
    path.write_bytes((GOLDENS / "m1.npz").read_bytes())
    made = CliRunner().invoke(app, ["score", str(path), option, str(tmp_path / "." / "x.npz")])
    assert "is an input, which would be overwritten" in str(made.exception)
    assert path.read_bytes() == (GOLDENS / "m1.npz").read_bytes()


def test_an_unwritable_target_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = _unknot("score", GOLDENS / "m1.npz", "--metrics", "mig", "--json", tmp_path / "file" / "x.json")
    assert done.returncode == 2
    assert "cannot be written" in done.stderr


def test_that_a_factor_was_cut_into_bins_is_said_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    values = rng.random((200, 2))
    np.savez(tmp_path / "real.npz", latents=values, factors=values, factor_names=["hue", "size"])
    done = _unknot("score", tmp_path / "real.npz", "--metrics", "mig,sap,modularity")
    assert done.stdout.count("factor 'hue' is continuous: cut into 20 bins") == 1
    assert not done.stdout.startswith("\n")


def test_an_interrupt_keeps_what_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_run = unknot.scoring.scoring.run

    def interrupted_after_the_first(
        *arguments: object, **options: object
    ) -> Iterator[unknot.scoring.scoring.Record]:
        yield next(whole_run(*arguments, **options))
        raise KeyboardInterrupt

    monkeypatch.setattr(unknot.scoring.scoring, "run", interrupted_after_the_first)
    target = tmp_path / "scores.json"
    done = CliRunner().invoke(
        app, ["score", str(GOLDENS / "m1.npz"), "--metrics", "mig,irs", "--json", str(target)]
    )
    assert done.exit_code == 130
    assert "1 of 2 metrics are done" in done.output
    record = json.loads(target.read_text())
    assert list(record["scores"]) == ["mig[bins=20]"]
    assert not record["complete"]


def test_metrics_lists_every_metric_and_explains_one() -> None:
    listed = _unknot("metrics")
    assert listed.returncode == 0, listed.stderr
    for name in METRICS:
        assert name in listed.stdout
    narrow = CliRunner().invoke(app, ["metrics"], env={"COLUMNS": "80"})
    for name, metric in METRICS.items():
        line = next(line for line in narrow.stdout.splitlines() if line.split()[0] == name)
        assert metric.facts.measures in line
        assert metric.facts.cost in line
    explained = _unknot("metrics", "mig")
    assert "I(z_(1); y_j)" in explained.stdout
    assert "arXiv:1802.04942" in explained.stdout
    unknown = _unknot("metrics", "migg")
    assert unknown.returncode == 2
    assert "did you mean 'mig'" in unknown.stderr


def cells(folder: Path) -> Path:
    """A table with a column of vectors, words with gaps, a measurement and groups."""
    rng = np.random.default_rng(0)
    kind = rng.choice(["ant", "bee"], 200)
    codes = np.stack([kind == "ant", rng.normal(size=200)], axis=1) + 0.1 * rng.normal(size=(200, 2))
    table = pd.DataFrame({"id": range(200), "kind": kind, "age": rng.uniform(0, 9, 200), "donor": range(200)})
    table = table.assign(donor=table["donor"] // 5, embedding=list(codes))
    table.loc[rng.random(200) < 0.3, "kind"] = None
    table.to_parquet(folder / "cells.parquet")
    table.drop(columns="embedding").sample(frac=1, random_state=0).to_csv(folder / "labels.csv", index=False)
    table[["id", "embedding"]].to_parquet(folder / "codes.parquet")
    return folder / "cells.parquet"


def test_columns_of_a_table_are_scored_by_name(tmp_path: Path) -> None:
    path = cells(tmp_path)
    words = [
        "--latents",
        "emb*",
        "--factors",
        "kind,age",
        "--groups",
        "donor",
        "--metrics",
        "mig,r2",
        "--bootstrap",
        "4",
    ]
    done = _unknot("score", path, *words, "--json", tmp_path / "scores.json")
    assert "factor 'kind': 3" in done.stdout
    record = json.loads((tmp_path / "scores.json").read_text())
    assert record["input"]["factor_names"] == ["kind", "age"]
    assert record["input"]["missing_labels"][0]["factor"] == "kind"
    joined = [
        "--factors",
        "kind,age",
        "--groups",
        "donor",
        "--join",
        "id",
        "--metrics",
        "mig,r2",
        "--bootstrap",
        "4",
    ]
    _unknot(
        "score", tmp_path / "codes.parquet", tmp_path / "labels.csv", *joined, "--json", tmp_path / "joined.json"
    )
    again = json.loads((tmp_path / "joined.json").read_text())
    assert again["scores"]["mig[bins=20]"]["value"] == record["scores"]["mig[bins=20]"]["value"]


def test_labels_may_be_named_missing_and_measurements_so(tmp_path: Path) -> None:
    path = cells(tmp_path)
    words = "--factors kind,donor --missing bee --kinds donor=continuous --metrics mig --json -".split()
    done = _unknot("score", path, *words)
    record = json.loads(done.stdout)
    assert record["input"]["skipped_factors"] == {"kind": "constant where it is known"}
    assert "factor 'donor' is continuous: cut into 20 bins of equal count." in record["input"]["notes"]


@pytest.mark.parametrize("name", ["cells.npz", "cells.csv", "cells.parquet"])
def test_kinds_are_named_for_files_of_all_forms(name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    turn = rng.integers(0, 12, 300)
    codes = unknot.Representation(turn[:, None] + rng.normal(size=(300, 2)), {"turn": turn})
    if name.endswith("csv"):
        columns = {"z0": "latent_0", "z1": "latent_1", "turn": "factor_turn"}
        codes.to_frame().rename(columns=columns).to_csv(tmp_path / name, index=False)
    else:
        codes.write(tmp_path / name)
    words = ["score", str(tmp_path / name), "--metrics", "r2", "--json", "-", "--kinds"]
    record = json.loads(CliRunner().invoke(app, [*words, "turn=circular"], catch_exceptions=False).stdout)
    assert record["input"]["kinds"] == {"turn": "circular"}
    assert any("'turn' is circular" in note for note in record["scores"]["r2[linear]"]["parts"]["notes"])
    for wrong, message in (
        ("turn", "--kinds turn: expected names with kinds, such as hue=circular"),
        ("tern=circular", "unknown factor 'tern'; did you mean 'turn'"),
        ("turn=round", "unknown kind of factor 'round'"),
    ):
        with pytest.raises(UnknotError, match=message):
            CliRunner().invoke(app, [*words, wrong], catch_exceptions=False)


def test_a_decoder_adds_the_card_of_its_dictionary_to_table_json_and_page(tmp_path: Path) -> None:
    planted = unknot.examples.dictionary(900, each=1)
    unknot.Representation(planted.codes.sorted_indices(), planted.factors).write(tmp_path / "codes.npz")
    np.savez(tmp_path / "acts.npz", latents=planted.activations)
    np.savez(tmp_path / "sae.npz", W_dec=planted.decoder)
    np.save(tmp_path / "other.npy", planted.decoder[::-1])
    words = ["score", "codes.npz", "--metrics", "mig", "--decoder", "sae.npz", "--dense", "acts.npz"]
    words += ["--others", "other.npy", "--json", "card.json", "--html", "card.html"]
    result = CliRunner().invoke(app, [*words[:1], *(str(tmp_path / w) if "." in w else w for w in words[1:])])
    assert result.exit_code == 0, result.output
    assert "share of concepts that several latents share" in result.output and "absorbed by" in result.output
    record = json.loads((tmp_path / "card.json").read_text())["dictionary"]
    assert record["dead"] == list(planted.dead) and record["agreement"][0]["exact"]
    assert record["values"]["mcc"] == pytest.approx(1.0, abs=1e-6)
    codes, dense = record["codes_and_dense"]["mig[bins=20]"]
    assert 0 < dense < codes
    assert len(record["concepts"]) == planted.factors.shape[1]
    assert "that have one direction" in (tmp_path / "card.html").read_text()


def test_what_is_for_dictionaries_needs_a_decoder(tmp_path: Path) -> None:
    np.savez(tmp_path / "codes.npz", latents=np.ones((50, 6)))
    np.save(tmp_path / "decoder.npy", np.ones((5, 4)))
    path = str(tmp_path / "codes.npz")
    done = _unknot("score", path, "--dense", path)
    assert done.returncode == 2 and "name the decoder: --decoder FILE" in done.stderr
    done = _unknot("score", path, "--decoder", tmp_path / "decoder.npy")
    assert done.returncode == 2 and "the codes have 6 latents, the decoder 5, of width 4" in done.stderr
