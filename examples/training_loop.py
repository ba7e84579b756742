"""Scores while a network of one's own trains, in at most 1 % of the time."""

import numpy as np
import torch

from unknot.integrations.monitor import Monitor

rng = np.random.default_rng(0)
factors = rng.integers(0, 4, (512, 2))
rows = torch.tensor(factors @ rng.normal(size=(2, 6)), dtype=torch.float32)
model = torch.nn.Sequential(torch.nn.Linear(6, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimiser = torch.optim.Adam(model.parameters())

monitor = Monitor(rows[256:], factors[256:], every=10, log=lambda values, step: print(step, values))
for step in range(1, 101):
    loss = (model(rows[:256]) - torch.tensor(factors[:256], dtype=torch.float32)).square().mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    monitor(model, step)
print(monitor.score(model, step))
