"""Latents and labels as arrays: what does each latent know?"""

import numpy as np

import unknot

rng = np.random.default_rng(0)
factors = rng.integers(0, 4, (1000, 2))
latents = np.column_stack([factors[:, 0], factors.sum(1), rng.normal(size=1000)]) + 0.1 * rng.normal(
    size=(1000, 3)
)
card = unknot.score(latents, factors, factor_names=["shape", "colour"], metrics=["mig", "modularity", "r2"])
print(card)
for answer in card.answers:
    print(answer)
