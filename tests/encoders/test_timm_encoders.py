"""Tasks take networks of timm by name. Nothing is fetched: the weights are random."""

from pathlib import Path

from unknot.tasks.algebra.task import algebra
from unknot.tasks.fairness.task import fairness
from unknot.worlds.scenes.toy_corpus import toy_corpus

NETWORK = "timm:test_resnet@untrained"


def test_object_algebra_scores_its_vectors_and_its_slots(tmp_path: Path) -> None:
    corpus = toy_corpus(tmp_path / "corpus", n=16, size=32)
    whole = algebra(NETWORK, corpus, image_size=32, minibatch=8, pictures=0)
    slots = algebra(NETWORK, corpus, image_size=64, pool="slots", minibatch=8, pictures=0)
    for result in (whole, slots):
        assert result.source == NETWORK
        assert -1 <= result.values["l2_coat"] <= 1
        assert {result.source, "symbolic attributes"} <= {row["representation"] for row in result.tables["scores"]}
    assert whole.values["l2_coat"] != slots.values["l2_coat"]


def test_fairness_looks_at_its_predictions() -> None:
    result = fairness(
        NETWORK,
        "dsprites_rendered",
        targets=["shape"],
        sensitive=["scale"],
        rows=60,
        rounds=2,
        points=2,
        image_size=32,
    )
    assert result.source == NETWORK
    assert 0 <= result.values["unfairness"] < 1
