from inspect import signature
from typing import Any

import numpy as np
import pytest
import torch

import unknot
from unknot import torchmetrics as ours
from unknot.errors import UnknotError
from unknot.metrics import METRICS

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(0, 3, (240, 2))
LATENTS = FACTORS + 0.3 * RNG.normal(size=(240, 2))


def updated(metric: Any, rows: np.ndarray, batch: int) -> Any:
    for at in range(0, len(rows), batch):
        part = rows[at : at + batch]
        metric.update(torch.from_numpy(LATENTS[part]), torch.from_numpy(FACTORS[part]))
    return metric


@pytest.mark.parametrize("name", ["mig", "mig_sup", "modularity", "jemmig", "sap", "linear_accuracy"])
def test_batches_in_any_order_give_the_value_of_all_rows(name: str) -> None:
    kind = getattr(ours, ours.class_name(name))
    orders = ((np.arange(240), 240), (RNG.permutation(240), 7), (np.arange(240)[::-1], 100))
    values = [float(updated(kind(), rows, batch).compute()) for rows, batch in orders]
    holds_out = "rng" in signature(METRICS[name]).parameters
    whole = values[0] if holds_out else unknot.score(LATENTS, FACTORS, metrics=[name])[name].value
    assert values == pytest.approx([whole] * 3, abs=1e-12)


def test_every_metric_of_labels_has_its_class() -> None:
    assert {"MIG", "DCI", "SAP", "SNC", "LinearAccuracy", "FactorVAEScore"} <= set(dir(ours))
    assert ours.MIG is ours.MIG and ours.MIG.__name__ == "MIG"
    with pytest.raises(AttributeError, match="no attribute 'Mig'"):
        _ = ours.Mig


def test_several_processes_give_the_value_of_all_rows() -> None:
    """Through torchmetrics' own synchronisation, with the gathering of torch.distributed replaced by lists."""
    gathered = {torch.float64: LATENTS, torch.int64: FACTORS}

    def gather(tensor: torch.Tensor, group: Any) -> list[torch.Tensor]:
        whole = torch.from_numpy(gathered[tensor.dtype])
        return [whole[:90], whole[90:]]

    whole = unknot.score(LATENTS, FACTORS, metrics=["mig"])["mig"].value
    for rows in (np.arange(90), np.arange(90, 240)):
        metric = ours.MIG(dist_sync_fn=gather, distributed_available_fn=lambda: True)
        assert float(updated(metric, rows, 50).compute()) == pytest.approx(whole, abs=1e-12)


def test_options_and_reset() -> None:
    metric = ours.MIG(bins=5)
    value = float(metric(torch.from_numpy(LATENTS), torch.from_numpy(FACTORS)))
    assert value == pytest.approx(METRICS["mig"](LATENTS, FACTORS, bins=5).value, abs=1e-12)
    metric.reset()
    assert metric.latents == []


@pytest.mark.filterwarnings("ignore:The ``compute`` method of metric MIG was called before")
def test_what_cannot_be_scored_is_refused_in_words() -> None:
    with pytest.raises(UnknotError, match="unknown option of mig 'binz'; did you mean 'bins'"):
        ours.MIG(binz=2)
    with pytest.raises(UnknotError, match="MIG: has no rows to score; call update"):
        ours.MIG().compute()
    with pytest.raises(
        UnknotError, match=r"MIG: latents and factors are \(3, 2\) and \(4, 2\); give one row each"
    ):
        ours.MIG().update(torch.zeros(3, 2), torch.zeros(4, 2))


@pytest.mark.parametrize(
    ("batches", "message"),
    [
        ([(["a"], ["b"])], r"MIG: latents is \['a'\]; expected a tensor of numbers, a row each"),
        ([(None, None)], "MIG: latents is None; expected a tensor of numbers"),
        ([(torch.zeros(3, 2), None)], "MIG: factors is None; expected a tensor of numbers"),
        ([(torch.zeros(3, 2, 2), torch.zeros(3))], r"latents has shape \(3, 2, 2\); expected rows of numbers"),
        ([(torch.zeros(3, 0), torch.zeros(3))], r"latents has shape \(3, 0\); expected rows of numbers"),
        (
            [(torch.zeros(4, 2), torch.zeros(4)), (torch.zeros(4, 3), torch.zeros(4))],
            r"MIG: latents has shape \(4, 3\) after \(4, 2\); expected rows of one length",
        ),
    ],
)
def test_batches_that_are_no_rows_are_refused_in_words(batches: list[Any], message: str) -> None:
    metric = ours.MIG()
    with pytest.raises(UnknotError, match=message):
        for latents, factors in batches:
            metric.update(latents, factors)


def test_latents_of_half_precision_are_scored() -> None:
    metric, half = ours.MIG(), torch.from_numpy(LATENTS).bfloat16()
    metric.update(half, torch.from_numpy(FACTORS))
    value = METRICS["mig"](half.double().numpy(), FACTORS).value
    assert float(metric.compute()) == pytest.approx(value, abs=1e-12)
