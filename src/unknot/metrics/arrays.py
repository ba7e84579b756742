"""Short names for the arrays that metrics compute with, and how wide they are."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

WIDE = 100  # more latents than this are a wide code: probes need a penalty, and compiled loops pay
