"""Hinton diagrams."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unknot import UnknotError
from unknot.reports.kit.hinton import hinton_figure, hinton_text


def test_squares_grow_with_weight_and_vanish_at_zero() -> None:
    text = hinton_text(np.array([[0.0], [0.1], [0.4], [0.7], [1.0]]), ["x"])
    assert text == "x  ·▪◾■"


def test_the_picture_has_ink_only_where_there_is_weight(tmp_path: Path) -> None:
    def ink(weights: np.ndarray) -> float:
        path = hinton_figure(weights, ["a", "b"], tmp_path / "hinton.png")
        pixels = np.asarray(Image.open(path).convert("RGB")).astype(int)
        return float((np.abs(pixels - [0x23, 0x39, 0x5B]).sum(axis=2) < 12).mean())

    none, some, full = (ink(np.full((3, 2), weight)) for weight in (0.0, 0.25, 1.0))
    assert none == 0
    assert some == pytest.approx(full / 4, rel=0.1)


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnknotError, match="cannot be written"):
        hinton_figure(np.ones((2, 2)), ["a", "b"], tmp_path / "file" / "x.png")
