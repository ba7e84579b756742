"""What `unknot.score`, `unknot.encode` and `unknot.rank` give is what they gave: see goldens/scores.

UNKNOT_WRITE_GOLDENS=1 writes them anew, for a change that is meant to move them.
"""

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import unknot
from unknot import Representation

COARSE = ("nk",)  # its nets answer single rows otherwise where a matrix product is rounded otherwise


def test_the_scores_of_the_shipped_example_are_what_they_were(pinned: Callable[..., None]) -> None:
    card = unknot.score(unknot.examples.example_file(), limit=300)
    records: dict[str, Any] = {}
    for id_, record in card.records.items():
        if record.score is None:
            records[id_] = {"refused": record.refused}
        else:
            value = round(record.score.value, 1 if record.name in COARSE else 12)
            records[id_] = {"value": value, "parts": ", ".join(sorted(record.score.parts))}
    said = {"notes": list(card.plan.notes), "verdicts": [f"{one.factor}: {one.text}" for one in card.verdicts]}
    pinned("scores/example", {"records": records, **said}, growing=("records",))


def lines(images: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means and log-variances that tell most images apart."""
    seen = images[:, 10::22, 10::22].mean(axis=3).reshape(len(images), -1) / 255
    return seen, seen - 1


lines.__module__ = "own"  # the source names it


@pytest.mark.parametrize(
    ("world", "split", "rows", "seed"),
    [
        ("dsprites_rendered", "extrapolation", 150, 0),
        ("shapes3d_rendered", "combination:shape=1,size=2", 60, 3),
        ("dsprites_noisy_rendered", "", 100, 1),
    ],
)
def test_rows_and_latents_of_a_world_are_what_they_were(
    world: str, split: str, rows: int, seed: int, pinned: Callable[..., None]
) -> None:
    made = unknot.encode(lines, world, split=split, rows=rows, seed=seed)
    found: dict[str, Any] = {"factor_names": made.factor_names, "source": made.source, "kl": made.kl.tolist()}
    for part, factors, latents in (
        ("train", made.factors, made.latents),
        ("test", made.factors_test, made.latents_test),
    ):
        if factors is not None:
            found[part] = {
                "factors": hashlib.sha256(np.ascontiguousarray(factors, dtype="<i8").tobytes()).hexdigest()[:16],
                "first": factors[:3].tolist(),
                "latents": latents[:3].tolist(),
                "means": latents.mean(axis=0, dtype=np.float64).tolist(),
            }
    pinned(f"scores/encode-{world}", found)


@pytest.mark.parametrize("how", ["lasso", "spearman"])
def test_a_ranking_is_what_it_was(how: Any, pinned: Callable[..., None]) -> None:
    rng = np.random.default_rng(0)
    z = rng.normal(size=(300, 3))
    mixes = [np.linalg.qr(np.eye(3) + share * rng.normal(size=(3, 3)))[0] for share in (0, 0.1, 0.3, 0.6, 2)]
    models = {
        f"beta{i % 2}-{i}": Representation(z @ mix, kl=np.array([1, 0.5, 0.1])) for i, mix in enumerate(mixes)
    }
    found = unknot.rank(models, groups="beta([0-9])", method=how, rows=200, partners=2, all_to_all=how == "lasso")
    table = {name: column.tolist() for name, column in found.to_frame().items()}
    pinned(f"scores/rank-{how}", {**table, "pairs": found.pairs.tolist(), "notes": found.notes})
