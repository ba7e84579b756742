"""What was handed over, and what tells it from others."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.representation import Representation

WORLD = "dsprites_rendered"


@dataclass(frozen=True)
class Words:
    """A kind of source that one task alone can read."""

    label: str
    record: Mapping[str, Any]
    fingerprint: str = "words"


def read_words(which: Any) -> Words | None:
    return Words(str(which), {"kind": "words"}) if str(which).endswith(".npz") else None


def test_what_a_task_reads_itself_is_neither_a_run_nor_latents(tmp_path: Path) -> None:
    path = tmp_path / "words.npz"
    path.write_text("no latents at all")
    source = Source.of(path, reads=read_words)
    assert source.run is None and source.representation is None and not source.nothing
    assert (source.label, source.record, source.fingerprint) == (str(path), {"kind": "words"}, "words")


def test_the_file_of_weights_in_the_name_of_a_network_is_no_file_of_latents() -> None:
    source = Source.of("timm:resnet18@weights.safetensors", WORLD)
    assert source.representation is None and source.world_name == WORLD


def test_what_can_only_be_a_path_must_be_there() -> None:
    for path in (Path("nowhere"), "runs/nowhere", "latents.csv"):
        with pytest.raises(UnknotError, match="no such file or folder"):
            Source.of(path)


def test_functions_of_one_name_are_told_apart_by_shape_and_size_of_their_codes() -> None:
    def told(scale: float, moved: float = 0.0) -> str:
        return Source.of(lambda images: scale * images.mean(axis=(1, 2)) + moved, WORLD).fingerprint

    assert told(1) == told(1)
    assert len({told(1), told(2), told(1, moved=40), told(0)}) == 4


def test_modules_are_told_apart_by_weights_that_hardly_show_in_their_codes() -> None:
    import torch

    class Two(torch.nn.Module):
        def __init__(self, small: float) -> None:
            super().__init__()
            self.scale = torch.nn.Parameter(torch.tensor([100.0, small]).bfloat16())

        def forward(self, images: torch.Tensor) -> torch.Tensor:
            return images.mean(dim=(1, 2, 3))[:, None] * self.scale.float()

    def told(small: float) -> str:
        return Source.of(Two(small), WORLD).fingerprint

    assert told(0.002) == told(0.002) != told(0.004)


def test_a_file_of_images_that_was_replaced_is_told_from_the_one_before(tmp_path: Path) -> None:
    def told(light: int) -> str:
        images = np.full((20, 64, 64, 1), light, np.uint8)
        np.savez(tmp_path / "own.npz", images=images, factors=np.arange(20)[:, None] % 4)
        return Source.of("zoo:beta_vae_dsprites", str(tmp_path / "own.npz")).fingerprint

    assert told(1) == told(1) != told(2)


def test_the_codes_that_a_task_encodes_itself_tell_as_much() -> None:
    source = Source.of(lambda images: images, WORLD)
    codes = np.random.default_rng(0).normal(size=(2, 16, 3))
    source.encoder_of((8, 8, 3))
    assert source.fingerprint_by(lambda: codes[0]) != source.fingerprint_by(lambda: codes[1])


def test_latents_are_not_taken_for_an_encoder() -> None:
    source = Source.of(Representation(np.zeros((4, 2))), WORLD, who="mine")
    with pytest.raises(UnknotError, match="mine: latents holds latents, and there are images to encode"):
        _ = source.encoder
