"""The metrics as those of torchmetrics: `unknot.torchmetrics.MIG().update(latents, factors)`, then `.compute()`.

Each is called as in `unknot.metrics.METRICS`, in capitals where it is an abbreviation: `MIG`, `DCI`, `LinearAccuracy`.
Rows are gathered over batches and processes and scored together, in an order of their own: the value is that of all
rows at once, in whatever batches, order and processes they came. Metrics that hold rows out do so in that order too.
"""

from functools import cache
from typing import Any

import numpy as np

from unknot.errors import UnknotError, extras
from unknot.metrics import METRICS
from unknot.metrics.score import check_options
from unknot.reading.arrays import as_array

ABBREVIATIONS = frozenset({"dci", "es", "gbt", "irs", "lr", "mcc", "med", "mig", "mlp", "nk", "sap", "snc", "vae"})


def class_name(name: str) -> str:
    """The name of a metric's class.

    >>> class_name("mig"), class_name("linear_accuracy"), class_name("dci_es"), class_name("r2")
    ('MIG', 'LinearAccuracy', 'DCIES', 'R2')
    """
    return "".join(word.upper() if word in ABBREVIATIONS else word.capitalize() for word in name.split("_"))


# Class -> metric, for all that look at labels.
NAMES = {class_name(name): name for name, metric in METRICS.items() if metric.facts.labels}


def __getattr__(name: str) -> Any:
    if name in NAMES:
        return _made(NAMES[name])
    raise AttributeError(f"module 'unknot.torchmetrics' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(NAMES)


@cache
def _made(name: str) -> Any:
    """The class of a metric; torchmetrics is imported for the first."""
    with extras("unknot.torchmetrics"):
        import torch

        from unknot.models.torchvision import mend_torchvision

        mend_torchvision()
        from torchmetrics import Metric
    facts = METRICS[name].facts

    class UnknotMetric(Metric):  # type: ignore[misc]
        full_state_update = False
        is_differentiable = False
        higher_is_better = facts.higher_is_better

        def __init__(self, **options: Any) -> None:
            theirs = {"compute_on_cpu", "process_group", "distributed_available_fn"}
            own = {key for key in options if key not in theirs and not key.startswith(("dist_", "sync_"))}
            super().__init__(**{key: value for key, value in options.items() if key not in own})
            check_options(METRICS[name], own)
            self.options = {key: options[key] for key in own}
            self.add_state("latents", default=[], dist_reduce_fx="cat")
            self.add_state("factors", default=[], dist_reduce_fx="cat")

        def update(self, latents: Any, factors: Any) -> None:
            z, y = _tensor("latents", latents, self.latents), _tensor("factors", factors, self.factors)
            if len(z) != len(y):
                shapes = f"{tuple(z.shape)} and {tuple(y.shape)}"
                raise UnknotError(f"{class_name(name)}: latents and factors are {shapes}; give one row each.")
            self.latents.append(z)
            self.factors.append(y)

        def compute(self) -> Any:
            if not len(self.latents):
                raise UnknotError(
                    f"{class_name(name)}: has no rows to score; call update with latents and factors first."
                )
            latents, factors = _gathered("latents", self.latents), _gathered("factors", self.factors)
            order = np.lexsort((*latents.T[::-1], *factors.T[::-1]))
            value = METRICS[name](latents[order], factors[order], **self.options).value
            return torch.tensor(value, dtype=torch.float64, device=self.device)

    def _tensor(what: str, values: Any, before: Any) -> Any:
        """A batch, whose rows are as long as those of batches before."""
        try:
            rows = torch.as_tensor(values).detach()
        except (TypeError, ValueError, RuntimeError):
            raise UnknotError(
                who=class_name(name), field=what, value=values, expected="a tensor of numbers, a row each"
            ) from None
        if rows.ndim not in (1, 2) or 0 in rows.shape[1:]:
            shape = tuple(rows.shape)
            raise UnknotError(f"{class_name(name)}: {what} has shape {shape}; expected rows of numbers.")
        if before and rows.shape[1:] != before[0].shape[1:]:
            shapes = f"{tuple(rows.shape)} after {tuple(before[0].shape)}"
            raise UnknotError(f"{class_name(name)}: {what} has shape {shapes}; expected rows of one length.")
        return rows

    def _gathered(what: str, rows: Any) -> Any:
        """The rows of all batches; torchmetrics has joined them already where there are several processes."""
        joined = rows if isinstance(rows, torch.Tensor) else torch.cat(list(rows))
        array = as_array(joined, class_name(name), what)
        return array[:, None] if array.ndim == 1 else array

    UnknotMetric.__name__ = UnknotMetric.__qualname__ = class_name(name)
    UnknotMetric.__doc__ = f"{facts.title}; options are those of `unknot.metrics.METRICS[{name!r}]`."
    UnknotMetric.__module__ = __name__  # where a pickle finds it
    return UnknotMetric
