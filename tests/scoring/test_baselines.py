"""Baselines in files: what they keep, the gate they make, and what is refused."""

import json
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

import unknot
from unknot import Representation, UnknotError
from unknot.cli import app
from unknot.scoring.baselines import LARGEST, baseline

FACTORS = np.column_stack([np.random.default_rng(9).integers(0, size, 800) for size in (4, 5)])
NOISE = np.random.default_rng(4).normal(size=FACTORS.shape)
GATE = Path(__file__).parents[2] / "docs" / "gate.yml"


def _code(noise: float) -> Representation:
    return Representation(FACTORS + noise * NOISE, FACTORS, ("x", "y"))


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    _code(0.3).write(tmp_path / "old.npz")
    words = "score old.npz --metrics mcc,mig --null 0 --save-baseline baseline.json"
    assert CliRunner().invoke(app, words.split()).exit_code == 0
    return tmp_path / "baseline.json"


def test_a_baseline_stands_for_its_representation(kept: Path) -> None:
    old, new = _code(0.3), _code(0.4)
    direct = unknot.compare({"old": old, "new": new}, metrics=["mcc", "mig"])
    by_file = unknot.compare({"old": kept, "new": new})
    assert by_file.paired and by_file.differences == direct.differences
    shuffled = Representation(new.latents[::-1].copy(), FACTORS[::-1].copy(), ("x", "y"))
    apart = unknot.compare({"old": kept, "new": shuffled})
    assert not apart.paired and "resampled apart" in apart.notes[0]


def test_the_example_workflow_is_a_gate(kept: Path) -> None:
    steps = yaml.safe_load(GATE.read_text())["jobs"]["gate"]["steps"]
    (command,) = (shlex.split(step["run"]) for step in steps if step.get("name") == "gate")
    for noise, code in ((0.3, 0), (0.301, 0), (0.4, 1)):
        _code(noise).write(kept.parent / "new.npz")
        result = CliRunner().invoke(app, command[1:])
        assert result.exit_code == code
    assert "new.npz is worse than baseline.json by" in result.output and "a loss of 0.02 fails" in result.output


def test_other_versions_and_broken_files_are_refused(kept: Path) -> None:
    record = json.loads(kept.read_text())
    scores = record["scores"]
    wrong = {"mig[bins=20]": {**scores["mig[bins=20]"], "value": 1e308}}
    for content, told in (
        (wrong, r"1e\+308 is no score"),
        ({"odd": scores["mig[bins=20]"]}, "unknown metric 'odd'"),
    ):
        kept.write_text(json.dumps(record | {"scores": content}))
        with pytest.raises(UnknotError, match=rf"baseline\.json: .*{told}"):
            unknot.compare({"old": kept, "new": _code(0.3)})
    record["scores"]["mig[bins=20]"]["version"] = 0
    kept.write_text(json.dumps(record))
    with pytest.raises(UnknotError, match=r"mig\[bins=20\] was scored by version 0 .* here is version 1"):
        unknot.compare({"old": kept, "new": _code(0.3)})
    for kind in ("something", "baseline of scores on halves"):  # which were other draws
        kept.write_text(json.dumps(record | {"kind": kind}))
        with pytest.raises(UnknotError, match=f"its kind is '{kind}'.* Make it again"):
            unknot.compare({"old": kept, "new": _code(0.3)})
    kept.write_text(json.dumps({"kind": "something"}))
    with pytest.raises(UnknotError, match="its kind is 'something'"):
        unknot.compare({"old": kept, "new": _code(0.3)})
    kept.write_text("{")
    with pytest.raises(UnknotError, match="Make it again"):
        unknot.compare({"old": kept, "new": _code(0.3)})


@pytest.mark.filterwarnings("error")
def test_the_largest_numbers_that_a_baseline_may_have_are_compared(kept: Path) -> None:
    record = json.loads(kept.read_text())
    own = record["scores"]["mig[bins=20]"]
    signs = np.random.default_rng(0).choice([-1.0, 1.0], len(own["draws"]))
    for size in (0.99e100, LARGEST):
        own["draws"] = (size * signs).tolist()
        kept.write_text(json.dumps(record))
        if size > LARGEST:
            with pytest.raises(UnknotError, match=r"9\.9e\+99 is no score"):
                unknot.compare({"old": kept, "new": _code(0.3)})
        else:
            found = unknot.compare({"old": kept, "new": _code(0.3)})
            assert all(np.isfinite(each.p) for each in found.differences)


def test_a_baseline_needs_something_to_compare_it_with(kept: Path) -> None:
    with pytest.raises(UnknotError, match="all are baselines"):
        unknot.compare({"a": kept, "b": kept})
    with pytest.raises(UnknotError, match="a has the factors x, y and b has p, q"):
        unknot.compare({"a": kept, "b": Representation(FACTORS * 1.0, FACTORS, ("p", "q"))})
    result = unknot.compare({"a": kept, "b": _code(0.3)}, metrics=["mcc", "snc"])
    assert result.metrics == ["mcc[pearson]"] and "a has no score of it" in result.notes[0]


def test_scores_of_some_rows_are_no_baseline(kept: Path) -> None:
    with pytest.raises(UnknotError, match="at most 60 rows"):
        baseline(unknot.score(_code(0.3), metrics=["mig"], null=0, limit=60))
    result = CliRunner().invoke(app, ["score", "old.npz", "--limit", "60", "--save-baseline", "b.json"])
    assert result.exit_code == 1 and "--limit is 60; leave one of the two out" in str(result.exception)
    assert not Path("b.json").exists()


def test_a_baseline_of_other_copies_is_of_other_rows() -> None:
    factors = np.vstack([FACTORS[:200]] * 3)
    copied = Representation(np.vstack([(FACTORS + 0.3 * NOISE)[:200]] * 3), factors)
    moved = Representation(copied.latents + 1e-6 * NOISE[:600], factors)
    old = baseline(unknot.score(copied, metrics=["mcc"], null=0), resamples=20)
    assert unknot.compare({"old": old, "new": copied}).paired
    assert not unknot.compare({"old": old, "new": moved}).paired
