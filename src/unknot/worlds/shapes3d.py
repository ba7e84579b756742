"""Shapes3D (3dshapes), from its published file."""

import numpy as np

from unknot.factors import Factor, FactorSpace

_HUES = tuple(np.round(np.arange(10) / 10, 1).tolist())
SPACE = FactorSpace(
    (
        Factor("floor_hue", 10, "circular", _HUES),
        Factor("wall_hue", 10, "circular", _HUES),
        Factor("object_hue", 10, "circular", _HUES),
        Factor("size", 8, "ordinal", tuple(np.linspace(0.75, 1.25, 8).tolist())),
        Factor("shape", 4, "categorical", ("cube", "cylinder", "sphere", "capsule")),
        Factor("azimuth", 15, "ordinal", tuple(np.linspace(-30, 30, 15).tolist())),
    )
)
