"""Audits: every encoder is asked everything, beside floors, and what cannot be asked says why."""

import json
import shutil
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from typer.testing import CliRunner

from unknot.audits.asked import asked_of
from unknot.audits.audit import AuditOptions, _intervals, audit
from unknot.cli import app
from unknot.encoders.encoder import AS_USUAL
from unknot.errors import UnknotError
from unknot.metrics import METRICS
from unknot.models.torchvision import import_timm
from unknot.reports.audit_page import write_audit_page
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.scoring.answers import Answer

WORLD = "dsprites_rendered"
SMALL = AuditOptions(parts=("factors", "generalisation"), rows=100, resamples=20)


def places(images):
    """Where the sprite is, how large it is, and noise that is always the same."""
    weights = images[..., 0].astype(float)
    mass = weights.sum(axis=(1, 2))
    x, y = (np.einsum(f"nhw,{axis}->n", weights, np.arange(64)) / mass for axis in "wh")
    return np.stack([x, y, mass / 100, np.sin(mass)], axis=1)


def test_an_encoder_is_asked_and_a_second_call_only_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unknot.tasks.generalisation.readout.QUICK_STEPS", (400, 400))
    calls = []

    def watched(images):
        calls.append(len(images))
        return places(images)

    options = replace(SMALL, rows=600, floors=False)
    (own,) = audit([watched], WORLD, options=options, folder=tmp_path / "audit").encoders
    known = {answer.factor: answer for answer in own.answers}
    assert own.width == 4 and known["x"].share > 0.5 > known["orientation"].share
    assert own.headline["random_r2"] > 0.2 and set(own.headline) >= {"linear", "mlp", "extrapolation_r2"}
    seen = sum(calls)
    again = audit([watched], WORLD, options=options, folder=tmp_path / "audit")
    assert again.encoders[0].headline == own.headline
    assert sum(calls) - seen < 100  # only what tells the encoder from another
    html = write_audit_page(tmp_path / "audit.html", again).read_text()
    for words in ("At a glance", "Factor by factor", "R², extrapolation", "chance", "Intervals of 95 %"):
        assert words in html


def test_a_run_is_asked_beside_floors_and_itself_untrained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    command = [
        "audit",
        "zoo:beta_tc_vae_dsprites",
        "--parts",
        "factors",
        "--rows",
        "100",
        "-o",
        str(tmp_path / "audit"),
    ]
    done = CliRunner().invoke(app, command, env={"COLUMNS": "60"})
    assert done.exit_code == 0, done.output
    assert done.output.count("place by MIG") == 2 and "…" not in done.output  # two encoders beside each other
    record = json.loads((tmp_path / "audit" / "audit.json").read_text())
    names = [each["name"] for each in record["encoders"]]
    assert names[1:3] == ["raw pixels", "random projection"] and names[3] == f"{names[0]}, untrained"
    assert [each["width"] for each in record["encoders"]] == [10, 256, 64, 10]
    assert set(record["places"]) == set(names) and (tmp_path / "audit" / "audit.html").is_file()


class Corner(nn.Module):
    """A first layer and one number more of it."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(1, 4, 9, stride=8)

    def forward(self, images):
        return self.first(images).relu().amax((2, 3))


class Looks(nn.Module):
    """Tells where the sprite is, by one number for each of x and y if its weight is 0, and else by sums of them."""

    def __init__(self, mixed: float) -> None:
        super().__init__()
        self.mixed = nn.Parameter(torch.tensor(mixed))

    def forward(self, images):
        x, y = (images.sum((1, axis)) @ torch.arange(64.0) / images.sum((1, 2, 3)) for axis in (2, 3))
        return torch.stack([x + self.mixed * y, y - self.mixed * x], 1)


def test_what_a_folder_keeps_follows_encoders_that_change_places(tmp_path: Path) -> None:
    options = AuditOptions(parts=("factors",), rows=400, resamples=20, floors=False)
    good, bad = Looks(0.0), Looks(1.0)
    first, second = (audit(pair, WORLD, options=options, folder=tmp_path) for pair in ([good, bad], [bad, good]))
    names = ["Looks", "Looks (2)"]
    assert first.places == dict(zip(names, [(1, 1), (2, 2)], strict=True))
    assert second.places == dict(zip(names, [(2, 2), (1, 1)], strict=True))
    for one, other in zip(first.encoders, reversed(second.encoders), strict=True):
        assert replace(one, name="") == replace(other, name="")
    shares = [each.headline["share"] for each in second.encoders]
    assert shares[0] < shares[1]


def column(images):
    """The column of the brightest pixel, and the row of the darkest."""
    bright, dark = (images[..., 0].max(axis) for axis in (1, 2))
    return np.stack([bright.argmax(1), dark.argmin(1)], 1).astype(float)


def row(images):
    return column(images.swapaxes(1, 2))


def test_a_file_of_images_may_lack_combinations_and_what_is_kept_follows_its_labels(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    across, down = np.repeat([(x, y) for x in range(5) for y in range(5) if (x + y) % 5], 8, axis=0).T
    images = np.zeros((len(across), 10, 10, 1), np.uint8)
    images[np.arange(len(across)), 2 * down, 2 * across] = rng.integers(200, 255, size=(len(across), 1))
    options = AuditOptions(parts=("factors",), rows=160, resamples=20, floors=False)
    found = []
    for place in (across, down):
        np.savez(tmp_path / "own.npz", images=images, factors=np.stack([place, rng.permutation(place)], 1))
        result = audit([column, row], str(tmp_path / "own.npz"), options=options, folder=tmp_path / "audit")
        found.append((list(result.places.values()), [each.headline["share"] > 0.3 for each in result.encoders]))
    assert found == [([(1, 1), (2, 2)], [True, False]), ([(2, 2), (1, 1)], [False, True])]


def test_answers_by_a_metric_of_another_version_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = AuditOptions(parts=("factors",), rows=120, resamples=20, floors=False)

    def stages() -> set[str]:
        seen = set[str]()
        audit(
            [Looks(0.0)], WORLD, options=options, folder=tmp_path, progress=lambda stage, *_, **__: seen.add(stage)
        )
        return {stage.split(",")[0] for stage in seen}

    assert {"encoding", "scoring"} <= stages() and not stages()
    monkeypatch.setattr(METRICS["mig"], "facts", replace(METRICS["mig"].facts, version=99))
    assert stages() == {"scoring"}


def test_layers_and_poolings_are_encoders_of_their_own_each_beside_its_twin() -> None:
    options = AuditOptions(parts=("factors",), rows=120, resamples=20, layers=("first", ""))
    result = audit(Corner(), WORLD, options=options)
    named, floors = ([each.name for each in result.encoders if each.floor is floor] for floor in (False, True))
    assert named == ["Corner at first", "Corner"]
    assert floors[2:] == ["Corner, untrained at first", "Corner, untrained"]
    for each in result.encoders:
        low, high = each.intervals["linear"]
        assert low < each.headline["linear"] < high and high - low < 0.2
        assert each.intervals["mig"][0] <= each.intervals["mig"][1]


def test_runs_and_networks_that_are_called_alike_are_told_apart(tmp_path: Path) -> None:
    spec = RunSpec(world=WORLD, model="vae", architecture="dense256", image_size=32, batch_size=4, latents=2)
    runs = [train(spec.replace(steps=steps), tmp_path) for steps in (1, 2)]
    result = audit([*runs, Corner(), Corner()], WORLD, options=replace(SMALL, parts=("factors",)))
    named = [each.name for each in result.encoders if not each.floor]
    assert named == [*(f"vae, seed 0 (run {run.spec.id})" for run in runs), "Corner", "Corner (2)"]
    twins = [each.name for each in result.encoders if each.name.endswith(", untrained")]
    assert twins == [f"{name}, untrained" for name in named]


def test_pipelines_in_files_are_told_apart_by_the_names_of_these(tmp_path: Path) -> None:
    import skops.io
    from sklearn.decomposition import PCA

    pixels = np.random.default_rng(0).random((20, 64 * 64), np.float32)
    for width, name in ((2, "two"), (3, "three")):
        skops.io.dump(PCA(width).fit(pixels), tmp_path / f"{name}.skops")
    options = replace(SMALL, parts=("factors",), floors=False)
    result = audit([str(tmp_path / "two.skops"), tmp_path / "three.skops"], WORLD, options=options)
    assert [(each.name, each.width) for each in result.encoders] == [
        ("PCA (two.skops)", 2),
        ("PCA (three.skops)", 3),
    ]


def test_files_and_runs_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    import skops.io
    from sklearn.decomposition import PCA

    pixels = np.random.default_rng(0).random((20, 64 * 64), np.float32)
    spec = RunSpec(world=WORLD, model="vae", architecture="dense256", image_size=32, batch_size=4, latents=2)
    run = train(spec.replace(steps=1), tmp_path / "runs").folder
    for width, name in ((2, "one"), (3, "two")):
        (tmp_path / name).mkdir()
        skops.io.dump(PCA(width).fit(pixels), tmp_path / name / "pca.skops")
        shutil.copytree(run, tmp_path / name / "r")
    options = replace(SMALL, parts=("factors",), floors=False)
    every = [tmp_path / name / file for file in ("pca.skops", "r") for name in ("one", "two")]
    result = audit([str(which) for which in every], WORLD, options=options)
    names = ["PCA (one/pca.skops)", "PCA (two/pca.skops)", "vae, seed 0 (run one/r)", "vae, seed 0 (run two/r)"]
    assert [each.name for each in result.encoders] == names
    for which in (every[0], every[-1]):
        again = which.parent / ".." / which.parent.name / which.name
        with pytest.raises(UnknotError, match="is named twice"):
            audit([str(which), again, every[1], every[2]], WORLD, options=options)


def test_weights_of_one_name_in_two_folders_are_two_encoders_of_one_twin(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    timm = import_timm()
    weights = []
    for seed, name in enumerate(("one", "two")):
        (tmp_path / name).mkdir()
        torch.manual_seed(seed)
        weights.append(f"timm:resnet10t@{tmp_path / name / 'w.safetensors'}")
        save_file(timm.create_model("resnet10t", num_classes=3).state_dict(), weights[-1].partition("@")[2])
    first, second, *_, twin = [each.name for each in asked_of(weights, WORLD, AS_USUAL)]
    assert first == "timm:resnet10t@w.safetensors (one/w.safetensors)"
    assert second == "timm:resnet10t@w.safetensors (two/w.safetensors)"
    assert twin == "timm:resnet10t@untrained"
    with pytest.raises(UnknotError, match="is named twice"):
        asked_of([weights[0], weights[0]], WORLD, AS_USUAL)


def test_encoders_that_cannot_see_the_world_are_refused_before_others_are_asked(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="was trained on images of 64 x 64 x 3"):
        audit([places, "zoo:cnn_shapes3d"], WORLD, options=SMALL, folder=tmp_path / "audit")
    assert not (tmp_path / "audit").exists()
    with pytest.raises(UnknotError, match="scenes64_rendered has no factors that could be asked for") as caught:
        audit([places], "scenes64_rendered", options=SMALL)
    assert caught.value.field == ("world",)


def changing(images):
    return np.zeros((len(images), len(images)))


def wider(images):
    return places(images)[:, : 3 + (len(images) > 60)]


def ragged(images):
    return [[1.0], *[[1.0, 2.0]] * (len(images) - 1)]


def constant(images):
    return np.ones((len(images), 3))


def normalised(images):
    codes = places(images)
    return codes - codes.mean(axis=0)


def nan(images):
    return np.full((len(images), 2), np.nan)


@pytest.mark.parametrize(
    ("encoder", "words"),
    [
        (changing, "the size must not change from batch to batch"),
        (wider, r"codes of shape \(4,\) after codes of shape \(3,\)"),
        (ragged, "ragged': what it returned is no array of numbers"),
        (constant, "gives one code to all 100 images"),
        (normalised, "normalise over the batch"),
        (nan, "not finite"),
        ("zoo:beta_vae_dsprite", "did you mean"),
        ("weights.joblib", "is a pickle"),
        ("missing.pth", r"missing\.pth: no such file or folder"),
    ],
)
def test_encoders_that_cannot_be_trusted_are_refused(encoder, words: str) -> None:
    with pytest.raises(UnknotError, match=words):
        audit([encoder], WORLD, options=SMALL)


def test_options_out_of_range_are_named(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="unknown part of an audit 'factor'; did you mean 'factors'"):
        AuditOptions(parts=("factor",))
    with pytest.raises(UnknotError, match=r"parts is \(\); expected one at least of factors, "):
        AuditOptions(parts=())
    for empty in ("", " , "):
        result = CliRunner().invoke(app, ["audit", "zoo:beta_vae_dsprites", "-o", str(tmp_path), "--parts", empty])
        assert isinstance(result.exception, UnknotError) and "expected one at least of" in str(result.exception)
    with pytest.raises(UnknotError, match="rows is 5"):
        AuditOptions(rows=5)
    with pytest.raises(UnknotError, match="named twice"):
        audit([places, places], WORLD, options=SMALL)


def test_an_interval_has_a_width_stays_within_bounds_and_is_left_out_where_an_answer_is_unknown() -> None:
    def answer(linear: float, mlp: float) -> Answer:
        values = {field.name: 0.0 for field in fields(Answer)} | {"factor": "shape", "linear": linear, "mlp": mlp}
        return Answer(**values)

    intervals = _intervals([answer(1.0, 0.5), answer(1.0, np.nan)], 100)
    low, high = intervals["linear"]
    assert 0.9 < low < high <= 1.0 and "mlp" not in intervals
