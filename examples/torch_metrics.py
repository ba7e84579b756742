"""MIG over batches, exact: as of all rows at once."""

import torch

import unknot
from unknot.torchmetrics import MIG

latents, factors = map(torch.as_tensor, unknot.examples.toy_m1())
metric = MIG(bins=20)
for rows in torch.arange(len(latents)).split(64):
    metric.update(latents[rows], factors[rows])
print(float(metric.compute()))
