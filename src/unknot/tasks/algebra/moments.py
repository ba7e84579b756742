"""Compiled moments of the pixels of each segment of an image: one pass for means, one for what lies around them."""

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

F64 = NDArray[np.float64]
N_MOMENTS = 17


@njit(cache=True)
def segment_moments(images: NDArray[np.uint8], masks: NDArray[np.uint8], out: F64) -> None:
    """Fill out (n, labels, 17) for uint8 images (n, h, w, 3) and masks (n, h, w); zeros where a label has no pixel.

    Presence; mean red, green, blue; standard deviation, least and largest of the brightness; column, row; root of the
    area; standard deviation of columns and rows, their correlation, fourth moments of columns, of rows and of both,
    and the share of the bounding box that is filled. Lengths are shares of the image; place counts four times, and
    moments that partly hidden objects lose first count a quarter or a half.
    """
    n, height, width = masks.shape
    labels = out.shape[1]
    count = np.empty(labels)
    sums = np.empty((labels, 13))
    box = np.empty((labels, 4))
    for t in range(n):
        count[:] = 0.0
        sums[:] = 0.0
        box[:, 0], box[:, 2] = 1.0, 1.0
        box[:, 1], box[:, 3] = 0.0, 0.0
        out[t] = 0.0
        out[t, :, 5] = 1.0
        for i in range(height):
            y = (i + 0.5) / height
            for j in range(width):
                label = masks[t, i, j]
                x = (j + 0.5) / width
                count[label] += 1
                for c in range(3):
                    sums[label, c] += images[t, i, j, c] / 255
                sums[label, 3] += x
                sums[label, 4] += y
                box[label, 0], box[label, 1] = min(box[label, 0], x), max(box[label, 1], x)
                box[label, 2], box[label, 3] = min(box[label, 2], y), max(box[label, 3], y)
        for label in range(labels):
            if count[label] > 0:
                sums[label, :5] /= count[label]
        for i in range(height):
            y = (i + 0.5) / height
            for j in range(width):
                label = masks[t, i, j]
                dx, dy = (j + 0.5) / width - sums[label, 3], y - sums[label, 4]
                bright = 0.0
                for c in range(3):
                    bright += images[t, i, j, c] / 765
                away = bright - (sums[label, 0] + sums[label, 1] + sums[label, 2]) / 3
                sums[label, 5] += away * away
                sums[label, 6] += dx * dx
                sums[label, 7] += dy * dy
                sums[label, 8] += dx * dy
                sums[label, 9] += dx * dx * dx * dx
                sums[label, 10] += dy * dy * dy * dy
                sums[label, 11] += dx * dx * dy * dy
                out[t, label, 5] = min(out[t, label, 5], bright)
                out[t, label, 6] = max(out[t, label, 6], bright)
        for label in range(labels):
            many = count[label]
            if many == 0:
                out[t, label] = 0.0
                continue
            # One pixel has no spread; half a pixel stands for it.
            sx = max(math.sqrt(sums[label, 6] / many), 0.5 / width)
            sy = max(math.sqrt(sums[label, 7] / many), 0.5 / height)
            wide = box[label, 1] - box[label, 0] + 1 / width
            high = box[label, 3] - box[label, 2] + 1 / height
            out[t, label, 0] = 1.0
            out[t, label, 1:4] = sums[label, :3]
            out[t, label, 4] = math.sqrt(sums[label, 5] / many)
            out[t, label, 7], out[t, label, 8] = 4 * sums[label, 3], 4 * sums[label, 4]
            out[t, label, 9] = math.sqrt(many / (height * width))
            out[t, label, 10], out[t, label, 11] = sx, sy
            out[t, label, 12] = sums[label, 8] / many / (sx * sy) / 4
            out[t, label, 13] = sums[label, 9] / many / sx**4 / 16
            out[t, label, 14] = sums[label, 10] / many / sy**4 / 16
            out[t, label, 15] = sums[label, 11] / many / (sx * sy) ** 2 / 16
            out[t, label, 16] = many / (height * width) / (wide * high) / 2
