"""Specs of runs."""

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from unknot.errors import UnknotError
from unknot.runs.spec import RunSpec

SPEC = RunSpec(world="dsprites_rendered", options={"beta": 4.0}, steps=10)


@settings(max_examples=30, deadline=None)
@given(
    beta=st.floats(0, 1e6),
    steps=st.integers(1, 10**7),
    lr=st.floats(1e-9, 1e3),
    seed=st.integers(0, 2**63 - 1),
    flag=st.booleans(),
)
def test_a_spec_is_the_same_after_json(beta: float, steps: int, lr: float, seed: int, flag: bool) -> None:
    spec = RunSpec(world="w", options={"beta": beta, "flag": flag, "n": 3}, steps=steps, lr=lr, seed=seed)
    again = RunSpec(**json.loads(json.dumps(spec.model_dump())))
    assert again == spec
    assert again.id == spec.id
    assert type(again.options["flag"]) is bool
    assert type(again.options["n"]) is int


def test_the_name_of_a_folder_changes_with_every_field() -> None:
    changes = {
        "world": "other",
        "model": "vae",
        "options": {"beta": 5.0},
        "latents": 9,
        "architecture": "burgess64",
        "decoder": "gaussian",
        "init": "torch",
        "steps": 11,
        "batch_size": 32,
        "lr": 1e-3,
        "precision": "bfloat16",
        "image_size": 32,
        "split": "random",
        "pairs": "laplace",
        "schedule": "cosine",
        "pressure": "24..2",
        "starts": 8,
        "seed": 1,
    }
    assert set(changes) == set(RunSpec.model_fields)
    ids = {SPEC.id, *(SPEC.replace(**{name: value}).id for name, value in changes.items())}
    assert len(ids) == 1 + len(changes)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({}, "run: world is missing"),
        ({"latents": 0}, "run: latents is 0; input should be greater than or equal to 1"),
        ({"steps": 0}, "run: steps is 0"),
        ({"batch_size": 1}, "run: batch_size is 1"),
        ({"lr": 0.0}, "run: lr is 0.0; input should be greater than 0"),
        ({"lr": math.inf}, "run: lr is inf; input should be a finite number"),
        ({"seed": -1}, "run: seed is -1"),
        ({"precision": "float16"}, "run: precision is 'float16'; input should be 'float32' or 'bfloat16'"),
        ({"decoder": "laplace"}, "run: decoder is 'laplace'"),
        ({"options": {"beta": [1]}}, r"run: options\.beta is \[1\]"),
        ({"options": {"beta": math.nan}}, r"run: options\.beta is nan; expected a finite number"),
        ({"schedule": "linear"}, "run: schedule is 'linear'; input should be 'constant' or 'cosine'"),
        ({"pressure": "24"}, "run: pressure is '24'; expected two numbers above zero"),
        ({"starts": 1}, "run: starts is 1; input should be greater than or equal to 2"),
        ({"latnets": 4}, "unknown field of a run 'latnets'; did you mean 'latents'"),
    ],
)
def test_a_wrong_field_is_named(fields: dict[str, object], message: str) -> None:
    world = {"world": "dsprites_rendered"} if fields else {}
    with pytest.raises(UnknotError, match=message) as caught:
        RunSpec(**world, **fields)
    assert caught.value.field[0] == next(iter(fields), "world")
