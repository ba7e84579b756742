"""CRC-32C, compiled."""

import numpy as np
from numba import njit
from numpy.typing import NDArray


@njit(cache=True)
def crc32c(content: NDArray[np.uint8], table: NDArray[np.uint32]) -> np.uint32:
    """The checksum of some bytes, with the table of its polynomial."""
    crc = np.uint32(0xFFFFFFFF)
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> np.uint32(8))
    return crc ^ np.uint32(0xFFFFFFFF)
