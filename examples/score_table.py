"""A data frame with embeddings, words and gaps."""

import numpy as np
import pandas as pd

import unknot

rng = np.random.default_rng(0)
colour = rng.choice(["red", "green", "blue"], 600)
size = rng.normal(size=600)
table = pd.DataFrame(
    {
        "z0": (colour == "red") + 0.1 * rng.normal(size=600),
        "z1": size + 0.1 * rng.normal(size=600),
        "colour": np.where(rng.random(600) < 0.1, None, colour),
        "size": size,
    }
)
representation = unknot.from_table(table, latents=["z*"], factors=["colour", "size"])
print(unknot.score(representation, metrics=["mig", "r2"]).to_frame())
