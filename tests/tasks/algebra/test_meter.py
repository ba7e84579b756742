"""COAT while a model trains."""

from pathlib import Path

import numpy as np
import pytest
import torch

from unknot.errors import UnknotError, UnknotWarning
from unknot.reports.run_page import write_run_page
from unknot.runs import trainer
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train
from unknot.tasks.algebra.meter import coat_meter
from unknot.tasks.algebra.task import algebra
from unknot.worlds import open_world
from unknot.worlds.scenes.corpus import VERSION, Corpus
from unknot.worlds.scenes.dataset import SceneSet, write_scenes
from unknot.worlds.scenes.toy_corpus import toy_corpus

SLOTS = {"slots": 3, "slot_size": 8, "channels": 8, "stride": 2, "full_layers": 0, "warm_up": 0}
WHOLE = 20  # tuples of the corpus


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Corpus:
    return toy_corpus(tmp_path_factory.mktemp("toy"), n=WHOLE, size=32)


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("scenes") / "s"
    write_scenes(folder, SceneSet("black_sprites", n=16, size=32))
    return str(folder)


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(trainer, "LOG_EVERY", 2)


def spec(world: str, **fields) -> RunSpec:
    given = {"model": "slot_attention", "options": SLOTS, "steps": 5, "batch_size": 4, "lr": 1e-2}
    return RunSpec(world=world, **{**given, **fields})


def measured(spec: RunSpec, folder: Path, corpus: Path, every: int = 1000, **options) -> Run:
    """A run that COAT is measured of while it trains."""
    meter = coat_meter(corpus, open_world(spec.world), spec.image_size, every=every)
    return train(spec, folder, meters=[meter], **options)


@pytest.mark.parametrize("model", ["slot_attention", "beta_vae"])
def test_the_last_row_is_what_the_task_measures_on_the_same_weights_and_tuples(corpus, world, tmp_path, model):
    options = SLOTS if model == "slot_attention" else {}
    small = spec(world, model=model, options=options, image_size=None if options else 64)
    run = measured(small, tmp_path, corpus.folder, 2)
    table = run.coat()
    assert table["step"].tolist() == [2, 4, 5]
    told = algebra(run, corpus, minibatch=WHOLE, pictures=0, segmented=0).values
    last = table.iloc[-1].drop("step").to_dict()
    assert {"l2_coat", "acos_coat", "l2_passed", "acos_passed", "pixels_l2_coat", "pixels_acos_coat"} <= set(last)
    assert ("l2_coat_tidied" in last) == (model == "slot_attention")
    shares = {name: last.pop(name) for name in list(last) if "_p_hat_" in name}
    whole = algebra(run, corpus, minibatch=WHOLE, pictures=0, segmented=0)
    rows = [row for row in whole.tables["negatives"] if row["representation"] == whole.source]
    assert {(name, share) for name, share in shares.items() if name.count("_") == 3} == {
        (f"{row['loss']}_p_hat_{row['negative']}", row["p_hat"]) for row in rows
    }
    assert len(rows) == 14 and ("acos_p_hat_color_tidied" in shares) == (model == "slot_attention")
    scores = {name: value for name, value in last.items() if not name.startswith("pixels")}
    assert scores == {name: told[name] for name in scores}
    assert last == pytest.approx({name: told[name] for name in last}, rel=1e-12)
    assert run.record["coat"] == {"variant": "toy", "n": WHOLE, "size": [32, 32], "seed": 0, "version": VERSION}


def test_the_first_tuples_alone_are_measured(corpus, world):
    meter = coat_meter(corpus.folder, open_world(world), None, n=8)
    assert len(meter.tuples) == 8 and meter.about["n"] == 8
    told = algebra(None, corpus.first(8), minibatch=8, pictures=0).values
    assert meter.pixels == pytest.approx({name: told[name] for name in meter.pixels}, rel=1e-12)
    assert meter.identity != coat_meter(corpus.folder, open_world(world), None).identity


def test_measuring_changes_neither_the_run_nor_its_weights(corpus, world, tmp_path):
    plain = train(spec(world), tmp_path / "plain")
    other = measured(spec(world), tmp_path / "measured", corpus.folder, 1)
    assert plain.spec.id == other.spec.id
    assert plain.weights.read_bytes() == other.weights.read_bytes()
    assert not (plain.folder / "coat.parquet").exists()
    with pytest.raises(UnknotError, match=r"has no coat\.parquet"):
        plain.coat()


def stopped(world, folder, corpus):
    def stop(stage, done, total, **facts):
        if done == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        measured(spec(world), folder, corpus.folder, 2, checkpoint_every=2, progress=stop)


def test_a_run_that_was_stopped_ends_with_the_curve_of_one_that_was_not(corpus, world, tmp_path):
    whole = measured(spec(world), tmp_path / "whole", corpus.folder, 2).coat()
    stopped(world, tmp_path / "parts", corpus)
    again = measured(spec(world), tmp_path / "parts", corpus.folder, 2)
    assert again.coat().equals(whole)


def test_rows_are_kept_by_a_process_that_measures_nothing(corpus, world, tmp_path):
    stopped(world, tmp_path, corpus)
    assert train(spec(world), tmp_path).coat()["step"].tolist() == [2]


def test_one_curve_is_not_of_two_corpora(corpus, world, tmp_path):
    other = toy_corpus(tmp_path / "other", n=WHOLE, size=32, seed=1)
    stopped(world, tmp_path / "runs", corpus)
    with pytest.raises(UnknotError, match="another corpus up to step 2"):
        measured(spec(world), tmp_path / "runs", other.folder, 2)


def test_a_corpus_that_cannot_be_used_is_refused_before_a_run_is_made(corpus, world, tmp_path):
    runs = tmp_path / "runs"
    with pytest.raises(UnknotError, match="nowhere: no such folder; a corpus is made by"):
        measured(spec(world), runs, tmp_path / "nowhere")
    large = toy_corpus(tmp_path / "large", n=2, size=48)
    with pytest.raises(UnknotError, match=r"48 x 48 x 3, those of .* are 32 x 32 x 3; make .*--size 32"):
        measured(spec(world), runs, large.folder)
    with pytest.raises(UnknotError, match="has 1 tuple; COAT needs two"):
        measured(spec(world), runs, toy_corpus(tmp_path / "one", n=1, size=32).folder)
    with pytest.raises(UnknotError, match="coat_every is 0; expected at least 1"):
        measured(spec(world), runs, corpus.folder, 0)
    with pytest.raises(UnknotError, match=r"32 x 32 x 3, those of .* are 64 x 64 x 1"):
        coat_meter(corpus.folder, open_world("dsprites_rendered"), 32)
    assert not runs.exists()


def test_images_are_resized_where_the_run_resizes_them(corpus, world, tmp_path):
    large = toy_corpus(tmp_path / "large", n=4, size=48)
    run = measured(spec(world, image_size=16, steps=2), tmp_path, large.folder)
    assert np.isfinite(run.coat()["l2_coat"]).all()


def test_codes_that_cannot_be_scored_cost_a_row_and_not_the_run(corpus, world, tmp_path, monkeypatch):
    def broken(self, images):
        return torch.full((len(images), 3, 8), torch.nan)

    monkeypatch.setattr("unknot.models.slot_attention.SlotAttention.represent", broken)
    with pytest.warns(UnknotWarning, match=r"coat could not be measured at step 2 .*not finite"):
        run = measured(spec(world, steps=2), tmp_path, corpus.folder)
    assert run.finished and not (run.folder / "coat.parquet").exists()


def test_the_page_of_the_run_shows_the_curves_of_masks_and_of_coat(corpus, world, tmp_path):
    run = measured(spec(world, steps=2), tmp_path, corpus.folder, 1)
    run.note(versions="none")  # by somebody's hand
    html = write_run_page(tmp_path / "page.html", run.folder).read_text()
    for words in (
        "L2-COAT",
        "acos-COAT",
        "on 20 tuples of the corpus",
        "Masks",
        "FG-ARI",
        "which slot owns each pixel",
    ):
        assert words in html
