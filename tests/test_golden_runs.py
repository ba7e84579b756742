"""Names that files are found by again: hashes of specs, the files of a run, and the files and keys of a study.

What the files in goldens/runs say holds for folders that people have. UNKNOT_WRITE_GOLDENS=1 writes them anew.
"""

import hashlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from typer.testing import CliRunner

import unknot
from unknot import Run, RunSpec
from unknot.cli import app

TINY: dict[str, Any] = {"latents": 3, "image_size": 32, "steps": 4, "batch_size": 8}
SPECS = [
    RunSpec(world="dsprites_rendered"),
    RunSpec(world="dsprites_rendered", seed=7),
    RunSpec(world="dsprites_rendered", options={"beta": 4}, **TINY),
    RunSpec(world="dsprites_rendered", options={"beta": 4.0}, **TINY),
    RunSpec(world="dsprites", model="factor_vae", options={"gamma": 10.0}, decoder="gaussian", init="torch"),
    RunSpec(world="shapes3d", model="beta_tc_vae", options={"beta": 6.0}, architecture="burgess64", latents=6),
    RunSpec(world="shapes3d_rendered", model="ada_gvae", pairs="one_factor", lr=3e-4, steps=1000),
    RunSpec(world="mpi3d_real", model="dip_vae", options={"kind": "ii", "lambda_od": 5}, batch_size=32),
    RunSpec(world="dsprites_rendered", model="cnn", split="extrapolation", precision="bfloat16"),
    RunSpec(world="dsprites_rendered", split="combination: shape=0, scale=0+1"),
    RunSpec(world="scenes", model="slot_attention", options={"slots": 7, "learned": True}, image_size=128),
    RunSpec(world="images.npz", model="own.module:Model", options={"width": 64, "flag": False}, image_size=64),
]
STUDY = """\
name: tiny
worlds: dsprites_rendered
models:
  beta_vae: {beta: [0, 0.5]}
seeds: 2
steps: 8
latents: 3
image_size: 32
batch_size: 8
lr: 1e-3
rows: 120
limit: 100
metrics: [mig, sap]
ranking: {methods: [udr_spearman, "udr_lasso[alpha=0.2]"], partners: 3}
tasks:
  fairness: {rows: 60, rounds: 2, points: 2, targets: [shape], sensitive: [scale]}
  generalisation: {split: random, rows: 20, train_rows: 20, steps: 2}
  combinations: {held_out: "scale=0,shape=0", rows: 240, recipe: paper, pair_only: true}
  reasoning: {steps: 2, evaluate_every: 2, evaluation_batches: 1, classes: {scale: 2, orientation: 2, x: 3, y: 3}}
"""
TASKS = {"fairness": 2, "generalisation": 2, "combinations": 1, "reasoning": 3}  # their versions
CLOCK = re.compile(r"\b(?:\d+ (?:h|min) )?\d+(?:\.\d+)? (?:s|min)\b")


def unknot_says(*words: Any) -> str:
    done = CliRunner(env={"COLUMNS": "100"}).invoke(app, [*map(str, words)], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.stdout


def files(folder: Path) -> list[str]:
    """The names of all files below a folder but locks; hashes in them depend on weights, and so on the machine."""
    found = (path.relative_to(folder).as_posix() for path in folder.rglob("*.*") if path.is_file())
    return sorted({re.sub("[0-9a-f]{12,}", "HASH", name) for name in found if not name.endswith(".lock")})


def test_specs_have_the_ids_they_had(pinned: Callable[..., None]) -> None:
    found = {f"{i:02d}": {"id": s.id, "title": s.title, "label": s.label} for i, s in enumerate(SPECS)}
    pinned("runs/specs", {"specs": found, "fields": RunSpec(world="w").model_dump()})


def test_a_run_leaves_the_files_and_curves_it_left(tmp_path: Path, pinned: Callable[..., None]) -> None:
    run = unknot.train(RunSpec(world="dsprites_rendered", options={"beta": 0.5}, lr=1e-3, **TINY), tmp_path)
    slots = {"slots": 3, "slot_size": 8, "channels": 4, "broadcast": 8, "full_layers": 0, "iterations": 1}
    objects = unknot.train(
        RunSpec(world="shapes3d_rendered", model="slot_attention", options=slots, **TINY), tmp_path
    )
    found: dict[str, Any] = {
        "record": list(run.record),
        "files": files(run.folder),
        "objects": files(objects.folder),
    }
    for name, table in (("curve", run.curve()), ("kl", run.kl()), ("curve of objects", objects.curve())):
        found[name] = {column: values.tolist() for column, values in table.items()}
    made = unknot.encode(run, rows=50)
    found["latents"], found["logvars"] = made.latents[:3].tolist(), made.logvars[:3].tolist()
    found["encoder"] = {key: value for key, value in made.source["encoder"].items() if key != "weights"}
    pinned("runs/trained", found, trained=True)


def test_commands_leave_the_files_they_left(
    tmp_path: Path, pinned: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small = ("--latents", 3, "--image-size", 32, "--batch-size", 8, "--steps", 4, "--beta", 0.5)
    printed = unknot_says("train", "--world", "dsprites_rendered", "--model", "beta_vae", *small)
    run = Path(printed.strip())
    printed += unknot_says("encode", run, "--rows", 60)
    printed += unknot_says("encode", run, "--rows", 40, "--split", "random", "--seed", 1, "--pictures")
    printed += unknot_says("report", run)
    shutil.copy(unknot.examples.example_file(), "mine.npz")
    printed += unknot_says(
        "score", "mine.npz", "--limit", 200, "--metrics", "mig,dci[lasso]", "--json", "scores.json"
    )
    lines = re.sub(r"[\u2500-\u257f]|\d+\.\d+", " ", CLOCK.sub("", printed)).splitlines()
    found = {"printed": [" ".join(line.split()) for line in lines if line.split()], "files": files(run)}
    found["scores.json"] = sorted(json.loads(Path("scores.json").read_text()))
    pinned("runs/commands", found)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a small study, and what was said while it was made."""
    folder = tmp_path_factory.mktemp("study")
    (folder / "tiny.yaml").write_text(STUDY)
    words = [sys.executable, "-m", "unknot", "study", "tiny.yaml", "-o", "out", "--jobs", "1"]
    done = subprocess.run(words, capture_output=True, text=True, cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder / "out", done.stderr


def test_a_study_leaves_the_files_and_tables_it_left(study: tuple[Path, str], pinned: Callable[..., None]) -> None:
    folder, printed = study
    found: dict[str, Any] = {"printed": CLOCK.sub("# s", printed).splitlines(), "files": files(folder)}
    for name in ("study.json", "runs/*/run.json", "runs/*/scores.json", "runs/*/time.json", "ranks/*.json"):
        (found[name],) = {", ".join(json.loads(path.read_text())) for path in folder.glob(name)}
    for name in ("runs", "scores", "tasks", "ranks"):
        table = pd.read_parquet(folder / "tables" / f"{name}.parquet")
        kinds = {"i": "integer", "f": "real", "b": "boolean"}
        columns = {column: kinds.get(kind.kind, "word") for column, kind in table.dtypes.items()}
        found[f"table of {name}"] = {"columns": columns, "length": len(table)}
    rows = json.loads(unknot_says("results", folder, "--format", "json", "--parts"))
    found["results"] = {name: [row[name] for row in rows] for name in rows[0] if name != "minutes"}
    pinned("runs/study", found, trained=True)


def test_the_results_of_a_study_are_found_by_what_they_depend_on(study: tuple[Path, str]) -> None:
    folder, record = study[0], json.loads((study[0] / "study.json").read_text())
    scores = pd.read_parquet(folder / "tables" / "scores.parquet")
    versions = dict(zip(scores["metric"], scores["version"].tolist(), strict=True))
    members = []
    for run in (Run(folder / "runs" / one["id"]) for one in record["runs"]):
        weights = hashlib.sha256(run.weights.read_bytes()).hexdigest()[:32]
        encoder = {"kind": "run", "id": run.spec.id, "title": run.spec.title, "weights": weights}
        source = {"encoder": encoder, "world": "dsprites_rendered", "rows": 120, "split": "", "seed": 0}
        assert unknot.read_representation(run.folder / "latents.npz").source == source
        keys = json.loads((run.folder / "scores.json").read_text())["keys"]
        assert keys == {name: _digest(name, version, source, 100) for name, version in versions.items()}
        tasks = {f"{name}-{_digest(name, TASKS[name], record['study']['tasks'][name], weights)}" for name in TASKS}
        assert {path.stem for path in (run.folder / "tasks").glob("*.json")} == tasks
        members.append((run.spec.id, f"beta_vae, beta {run.spec.options['beta']:g}", weights))
    members.sort()
    who, digests = [(id_, setting) for id_, setting, _ in members], [weights for *_, weights in members]
    ranks = {
        _digest(method, scope, 3, None, 120, who, digests)
        for method in ("udr_spearman", "udr_lasso[alpha=0.2]")
        for scope in ("setting", "all")
    }
    assert {path.stem for path in (folder / "ranks").iterdir()} == ranks


def _digest(*values: Any) -> str:
    return hashlib.sha256(json.dumps(list(values), sort_keys=True).encode()).hexdigest()[:16]
