"""Tournaments of starts."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from unknot.errors import UnknotError
from unknot.metrics.udr import informative
from unknot.models.model import Posterior
from unknot.reports import run_page
from unknot.reports.run_page import write_run_page
from unknot.runs import tournament
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.tournament import likeness
from unknot.runs.training import load_model, train

SPEC = RunSpec(
    world="dsprites_rendered", model="vae", latents=3, image_size=32, architecture="dense256", batch_size=8, steps=10,
    starts=3,
)  # fmt: skip


def interrupting(at):
    """Progress that is Ctrl-C once so many steps are done."""

    def progress(stage, done, total, /, **facts):
        if done >= at:
            raise KeyboardInterrupt

    return progress


@pytest.mark.parametrize(("alike", "n", "total"), [(0.0, 3, 18), (1.1, 6, 30)])
def test_the_winner_is_the_run_of_its_seed_however_often_the_tournament_was_stopped(
    alike, n, total, tmp_path, monkeypatch
):
    for module in (tournament, run_page):  # starts are alike enough, or never are, so that more are begun
        monkeypatch.setattr(module, "ALIKE", alike)
    calls = []
    run = train(SPEC, tmp_path / "whole", progress=lambda stage, done, total, **facts: calls.append((done, total)))
    table = run.starts()
    assert len(table) == table["seed"].nunique() == n
    assert table["kept"].sum() == 1
    assert table["udr"][table["kept"] == 1].iloc[0] == table["udr"].max()
    assert calls == [(0, 18), (total, total)]
    seed = int(table["seed"][table["kept"] == 1].iloc[0])
    alone = train(SPEC.replace(starts=None, seed=seed), tmp_path / "alone")
    assert run.weights.read_bytes() == alone.weights.read_bytes()
    assert run.curve().equals(alone.curve())
    assert not (run.folder / "starts").exists()
    for at, jobs in ((0, 1), (total, 2)):
        with pytest.raises(KeyboardInterrupt):
            train(SPEC, tmp_path / "stopped", jobs=jobs, progress=interrupting(at))
    calls.clear()
    again = train(SPEC, tmp_path / "stopped", progress=lambda stage, done, of, **facts: calls.append((done, of)))
    assert calls == [(total - 6, total), (total, total)]
    assert again.updates == total
    assert again.starts().drop(columns="seconds").equals(table.drop(columns="seconds"))
    assert again.weights.read_bytes() == run.weights.read_bytes()
    assert load_model(again).represent(torch.zeros(2, 1, 32, 32)).mean.shape == (2, 3)
    page = write_run_page(tmp_path / "page.html", run.folder).read_text()
    assert "compared without labels" in page
    assert ("may be no better than the rest" in page) == (n == 6)
    assert str(seed) in page


def test_a_start_is_liked_by_the_few_that_found_the_same_though_most_failed_in_their_own_way():
    rng = np.random.default_rng(0)
    z = rng.normal(size=(500, 4))
    failed = [z @ np.linalg.qr(rng.normal(size=(4, 4)))[0] for _ in range(5)]
    scores = likeness([informative(code, method="spearman") for code in (z, -z, z[:, ::-1], *failed)])
    assert scores[:3].min() > scores[3:].max() + 0.2


class Fragile(nn.Module):
    """A code that breaks where its first weight is drawn positive, and that knows nothing if `blind`."""

    def __init__(self, setting, *, blind: bool = False):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(3))
        self.blind = blind

    def loss(self, batch, step, generator):
        return {
            "reconstruction": self.weight.sum() * (float("nan") if self.weight[0] > 0 and not self.blind else 1)
        }

    def represent(self, images):
        codes = (images.flatten(1)[:, 300:303] + self.weight) * (not self.blind)
        return Posterior(codes, torch.zeros(len(images), 3))


OWN = SPEC.replace(model="tests.runs.test_tournament:Fragile", starts=6, pressure="")


def test_a_start_that_diverges_has_lost(tmp_path):
    table = train(OWN, tmp_path).starts()
    diverged = table["udr"].isna()
    assert 0 < diverged.sum() < 5
    assert table["kept"][diverged].sum() == 0
    assert table["kept"].sum() == 1


def test_starts_that_cannot_be_compared_are_an_error(tmp_path):
    with pytest.raises(UnknotError, match="of 12 starts no two can be compared") as caught:
        train(OWN.replace(options={"blind": True}), tmp_path)
    assert caught.value.field == ("starts",)


def test_a_model_of_slots_is_refused_before_any_start_is_trained(tmp_path):
    spec = SPEC.replace(model="slot_attention", architecture="conv64", options={"slots": 3}, latents=8)
    with pytest.raises(
        UnknotError, match=r"slot_attention: has slots, 3 of 64 numbers.*leave starts out"
    ) as caught:
        train(spec, tmp_path)
    assert caught.value.field == ("starts",)
    assert not list(tmp_path.glob("*/starts"))


def test_a_fresh_tournament_in_several_processes_goes_on_from_nothing(tmp_path):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        train(SPEC, tmp_path, jobs=2, progress=lambda *told, **facts: (calls.append(told), interrupting(0)(*told)))
    assert calls == [("training", 0, 18)]


def test_a_damaged_checkpoint_of_a_start_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(tournament, "build_model", lambda spec, world: (None, None))
    run = Run.create(tmp_path, SPEC.replace(starts=None, pressure=""))
    run.checkpoint.write_bytes(b"no checkpoint")
    feed = SimpleNamespace(
        seed=0, world=None, region=SimpleNamespace(sample=lambda n, rng: None), tensor=lambda rows, rng: None
    )
    with pytest.raises(UnknotError, match=r"checkpoint\.pt: cannot be read as the checkpoint of a start"):
        tournament._judged([run], feed)
