"""dSprites, from its published file."""

import numpy as np

from unknot.factors import Factor, FactorSpace

SPACE = FactorSpace(
    (
        Factor("shape", 3, "categorical", ("square", "ellipse", "heart")),
        Factor("scale", 6, "ordinal", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        Factor("orientation", 40, "circular", tuple(np.linspace(0, 2 * np.pi, 40).tolist())),
        Factor("x", 32, "ordinal", tuple(np.linspace(0, 1, 32).tolist())),
        Factor("y", 32, "ordinal", tuple(np.linspace(0, 1, 32).tolist())),
    )
)
