"""The multi-object datasets, in files of their published form that are written here."""

import gzip
import os

import numpy as np
import pytest
from tests.reading.test_tfrecord import example, framed

from unknot.errors import UnknotError
from unknot.metrics.segmentation import fg_ari
from unknot.worlds import open_world
from unknot.worlds.published.multi_object import KINDS, Kind, read

FILES = {  # entities that masks tell apart
    "Multi-dSprites": 6,
    "Multi-dSprites, binarized": 4,
    "Objects Room": 7,
    "CLEVR with masks": 11,
    "Tetrominoes": 4,
}
WORDS = ("size", "material", "color", "shape")  # bytes in CLEVR


def scene(kind: Kind, entities: int, seed: int):
    """A picture, who owns each pixel, and properties; the last entity is null."""
    rng = np.random.default_rng(seed)
    height, width, _ = kind.shape
    owners = rng.integers(0, entities - 1, (height, width))
    mask = np.where(np.arange(entities)[:, None, None] == owners, 255, 0).astype(np.uint8)
    stored = mask.transpose(1, 2, 0) if kind.last else mask
    named = {"image": rng.integers(0, 256, kind.shape).astype(np.uint8), "mask": np.ascontiguousarray(stored)}
    for name, many in kind.properties.items():
        clevr_word = kind.title.startswith("CLEVR") and name in WORDS
        numbers = rng.integers(0, 3, (entities, many)) if clevr_word else rng.normal(size=(entities, many))
        named[name] = numbers.astype(np.uint8 if clevr_word else np.float32)
    if "visibility" in named:
        named["visibility"] = np.ones(entities, np.float32)
        named["visibility"][-1] = 0
    return named, owners


def written(path, kind: Kind, n: int = 3):
    scenes = [scene(kind, FILES[kind.title], seed) for seed in range(n)]
    path.write_bytes(gzip.compress(framed(*(example(**named) for named, _ in scenes)), 1))
    return scenes


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.title)
def test_pictures_masks_and_objects_are_those_of_the_file(tmp_path, kind):
    path = tmp_path / "scenes.tfrecords"
    scenes = written(path, kind)
    world = open_world(str(path))
    assert world.name == kind.title and world.image_shape == kind.shape and world.factors.size == 3
    rows = [[2], [0], [1]]
    images, masks = world.images(rows), world.masks(rows)
    for i, (number,) in enumerate(rows):
        named, owners = scenes[number]
        np.testing.assert_array_equal(images[i], named["image"])
        np.testing.assert_array_equal(masks[i], np.maximum(owners - (kind.ground - 1), 0))
        objects = world.objects(number)
        assert [thing["mask"] for thing in objects] == list(range(1, FILES[kind.title] - kind.ground))
        for thing in objects if kind.properties else ():
            for name in kind.properties:
                entity = named[name].reshape(FILES[kind.title], -1)[thing["mask"]]
                np.testing.assert_allclose(np.atleast_1d(thing[name]), entity)
    assert fg_ari(masks, masks).value == 1.0


def test_a_file_is_read_through_once_and_again_when_it_changed(tmp_path, monkeypatch):
    path, kind = tmp_path / "t.tfrecords", KINDS[-1]
    written(path, kind)
    assert read(path, n=2).factors.size == 2 and read(path).factors.size == 3
    with monkeypatch.context() as patched:
        patched.setattr("unknot.worlds.published.multi_object._Row.packed", lambda *_: 1 / 0)
        assert read(path).factors.size == 3
    written(path, kind, n=4)
    os.utime(path, ns=(1, 1))
    assert read(path).factors.size == 4


def test_other_records_and_missing_masks_are_named(tmp_path):
    path = tmp_path / "other.tfrecords"
    image = np.zeros(35 * 35 * 3, np.uint8)
    for content, message in [
        (framed(example(image=image)), "records have no feature 'image' and 'mask'; they hold image"),
        (framed(example(image=image[:12], mask=image)), "an image of 12 bytes with image, mask is of no dataset"),
        (b"", "holds no record"),
        (framed(b"\x0a\xff"), "a number is cut short"),
    ]:
        path.write_bytes(content)
        with pytest.raises(UnknotError, match=message):
            open_world(str(path))
    first, second = (scene(KINDS[-1], 4, seed)[0] for seed in range(2))
    path.write_bytes(framed(example(**first), example(**second | {"x": np.zeros(2, np.float32)})))
    with pytest.raises(UnknotError, match="feature 'x' has 2 values instead of 4"):
        open_world(str(path))
    with pytest.raises(UnknotError, match="n is 0; expected at least one scene"):
        read(path, n=0)
