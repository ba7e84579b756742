"""Which of several models to keep, without labels: those that find the same latents."""

import numpy as np

import unknot

rng = np.random.default_rng(0)
truth = rng.normal(size=(1000, 3))
models = {}
for seed in range(3):
    models[f"aligned {seed}"] = truth[:, rng.permutation(3)] * rng.choice([-1, 1], 3)
    models[f"rotated {seed}"] = truth @ np.linalg.qr(rng.normal(size=(3, 3)))[0]
ranking = unknot.rank(models, method="spearman", kl=[np.ones(3)] * 6, all_to_all=True)
print(ranking)
