"""Calls of every public function and every metric, with an argument or two that nobody should pass."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from inspect import signature
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from tests.fuzz.strange import labels, latents, value

N, D, F = 60, 3, 2
LEFT = {
    "progress",
    "args",
    "kwargs",
    "options",
    "meters",
    "self",
    "compiled",
}  # hooks, and what has no name of its own


@dataclass(frozen=True)
class Call:
    """A function with its arguments."""

    name: str
    function: Callable[..., Any]
    positional: tuple[Any, ...]
    named: dict[str, Any]

    def __str__(self) -> str:
        words = [*map(_short, self.positional), *(f"{key}={_short(item)}" for key, item in self.named.items())]
        return f"{self.name}({', '.join(words)})"


def _short(item: Any) -> str:
    if isinstance(item, np.ndarray):
        return f"<{type(item).__name__} {item.dtype} {item.shape}>"
    text = repr(item)
    return text if len(text) < 60 else text[:57] + "..."


def plain() -> tuple[np.ndarray, np.ndarray]:
    """Latents and factors with which every metric ends well."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 3, (N, F))
    return factors @ rng.normal(size=(F, D)) + 0.3 * rng.normal(size=(N, D)), factors


def metric(rng: Random) -> Call:
    """A metric on strange arrays, or with strange options."""
    from unknot.metrics import METRICS

    name = rng.choice([key for key, kind in METRICS.items() if kind.facts.cost != "minutes"])
    z, y = plain()
    if rng.random() < 0.5:
        z, y = rng.choice(
            [(latents(rng, N, D), y), (z, labels(rng, N, F)), (latents(rng, N, D), labels(rng, N, F))]
        )
        return Call(name, METRICS[name], (z, y), {})
    return _wrong(rng, name, METRICS[name], {"latents": z, "factors": y})


def function(rng: Random, stage: Path) -> Call:
    """A public function or class with a strange argument."""
    name = rng.choice(list(_usual(stage)))
    target, named = _usual(stage)[name]
    return _wrong(rng, name, target, named)


def _wrong(rng: Random, name: str, target: Callable[..., Any], named: dict[str, Any]) -> Call:
    known = [key for key in [*signature(target).parameters, *named] if key not in LEFT]
    positional = [key for key, p in signature(target).parameters.items() if p.kind is p.POSITIONAL_ONLY]
    named = named | {key: value(rng) for key in rng.sample(known, min(len(known), rng.choice([1, 1, 1, 2])))}
    return Call(name, target, tuple(named.pop(key) for key in positional if key in named), named)


@cache
def _usual(stage: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Every public name that can be called, and arguments with which it does little and ends well."""
    import unknot

    z, y = plain()
    space = unknot.FactorSpace((unknot.Factor("shape", 3), unknot.Factor("scale", 4)))
    images = np.random.default_rng(0).integers(0, 255, (N, 32, 32, 1), dtype=np.uint8)
    world = unknot.ArrayWorld(images, y, name="own")
    file, other = str(stage / "latents.npz"), str(stage / "other.npz")
    spec = {"world": str(stage / "world.npz"), "steps": 1, "batch_size": 2}
    usual: dict[str, dict[str, Any]] = {
        "ArrayWorld": {"images": images, "factors": y, "name": "own"},
        "Factor": {"name": "shape", "size": 3, "kind": "ordinal", "values": (1.0, 2.0, 3.0)},
        "FactorSpace": {"factors": (unknot.Factor("shape", 3),)},
        "Representation": {"latents": z, "factors": y, "factor_names": ("a", "b")},
        "Run": {"folder": stage / "run"},
        "RunSpec": {**spec, "model": "beta_vae", "seed": 0, "latents": 4, "lr": 1e-3, "split": ""},
        "TaskResult": {"task": "fairness", "source": "s", "world": "w", "values": {"a": 0.5}},
        "AuditOptions": {"rows": 100, "seed": 0},
        "combination_split": {"space": space, "held_out": {"shape": 0, "scale": 1}},
        "compare": {"representations": {"a": file, "b": other}, "metrics": ["mig"], "resamples": 20},
        "dictionary_card": {"codes": abs(z), "decoder": np.eye(D, 4), "factors": y},
        "encode": {"encoder": _identity, "world": world, "rows": 20},
        "from_table": {"source": str(stage / "latents.npz"), "latents": "latents", "factors": ["a"]},
        "open_world": {"world": "dsprites_rendered"},
        "rank": {"representations": [z, z + 0.1], "groups": None, "all_to_all": True, "method": "spearman"},
        "read_representation": {"path": file},
        "score": {
            "latents": z,
            "factors": y,
            "metrics": ["mig"],
            "seed": 0,
            "limit": 50,
            "bootstrap": 0,
            "exclude": (),
        },
        "split": {"space": space, "kind": "random"},
        "train": {"spec": unknot.RunSpec(**spec), "folder": "runs"},
        "fairness": {"source": file, "rows": 40},
        "combinations": {"source": file, "rows": 40},
        "generalisation": {"source": file, "rows": 40},
        "reasoning": {"source": file, "world": "dsprites_rendered", "steps": 1},
        "algebra": {"source": file, "tuples": 1, "size": 16},
    }
    return {name: (getattr(unknot, name), named) for name, named in usual.items()}


def _identity(images: Any) -> Any:
    return np.asarray(images, dtype=np.float64).reshape(len(images), -1)[:, :D]
