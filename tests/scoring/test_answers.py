"""What a card says first: each factor with what readers and its best latent make of it."""

import numpy as np

import unknot
from unknot.scoring.answers import answers, in_a_sentence
from unknot.scoring.record import scorecard_record


def _card() -> unknot.Scorecard:
    """Latent 0 is x; y is in the signs of latents 1 and 2 together, which only a network can read; w is nowhere."""
    rng = np.random.default_rng(0)
    x, w = rng.integers(0, 4, 3000), rng.integers(0, 3, 3000)
    signs = rng.choice([-1.0, 1.0], size=(3000, 2))
    latents = np.column_stack([x + 0.01 * rng.normal(size=3000), signs + 0.1 * rng.normal(size=(3000, 2))])
    factors = np.column_stack([x, signs[:, 0] * signs[:, 1] > 0, w])
    metrics = ["mig", "linear_accuracy", "mlp_accuracy"]
    return unknot.score(latents, factors, factor_names=["x", "y", "w"], metrics=metrics)


def test_readers_and_latents_are_told_apart() -> None:
    card = _card()
    x, y, w = card.answers
    assert x.linear > 0.95 and x.share > 0.95 and x.exclusivity > 0.9
    assert y.linear < 0.6 < 0.95 < y.mlp and y.share < 0.05
    assert abs(w.mlp - w.chance) < 0.06 and abs(w.chance - 1 / 3) < 0.02
    assert in_a_sentence([x, y, w]) == (
        "x and y can be read off well, w not at all. x is captured by a single latent, y and w are not."
    )


def test_a_record_gives_the_same_answers() -> None:
    card = _card()
    record = scorecard_record(card)
    assert answers(record["verdicts"], {id_: s["parts"] for id_, s in record["scores"].items()}) == card.answers


def test_without_readers_the_latents_are_answered_for() -> None:
    latents, factors = unknot.examples.toy_m1()
    found = unknot.score(latents, factors, metrics=["mig"]).answers
    assert all(np.isnan([answer.linear, answer.mlp, answer.chance, answer.read_off]).all() for answer in found)
    assert in_a_sentence(found) == "No factor is captured by a single latent."
    assert in_a_sentence([]) == ""
