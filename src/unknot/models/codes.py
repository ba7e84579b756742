"""The code of images, read from a model."""

import torch
from torch import Tensor

from unknot.models.model import Model, Posterior


@torch.no_grad()
def represent(model: Model, images: Tensor, *, batch_size: int = 128) -> Posterior:
    """The code of images in float32, a small batch at a time, which is fastest on CPUs."""
    means, logvars = [], []
    for start in range(0, len(images), batch_size):
        code = model.represent(images[start : start + batch_size])
        q = code if isinstance(code, Posterior) else Posterior(code)
        means.append(q.mean.float())
        if q.logvar is not None:
            logvars.append(q.logvar.float())
    return Posterior(torch.cat(means), torch.cat(logvars) if logvars else None)


def channels_last(model: Model) -> Model:
    """Weights of convolutions laid out as images are, which is faster on every device."""
    for parameter in model.parameters():
        if parameter.dim() == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)
    return model
