"""Lists of one's own images: read, refused, and scored."""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.tasks.algebra.quadruples import read_quadruples

RNG = np.random.default_rng(0)


def write_images(folder: Path, names: list[str], shape: tuple[int, ...] = (4, 5, 3)) -> dict[str, np.ndarray]:
    made = {}
    for name in names:
        made[name] = RNG.integers(0, 256, shape, dtype=np.uint8)
        Image.fromarray(made[name]).save(folder / f"{name}.png")
    return made


def test_a_table_is_read_with_roles_in_order_and_paths_beside_it(tmp_path):
    images = write_images(tmp_path, list("abcdw"))
    (tmp_path / "list.csv").write_text(
        "blurred,D,C,B,A\nw.png,d.png,c.png,b.png,a.png\na.png,b.png,c.png,d.png,w.png\n"
    )
    found = read_quadruples(tmp_path / "list.csv")
    assert found.roles == ("A", "B", "C", "D", "blurred")
    assert len(found) == 2 and found.image_shape == (4, 5, 3)
    np.testing.assert_array_equal(found.images(np.array([1, 0]), "A"), [images["w"], images["a"]])
    np.testing.assert_array_equal(found.images(np.array([0]), "blurred"), [images["w"]])


def test_a_json_list_says_the_same(tmp_path):
    write_images(tmp_path, list("abcd"))
    row = {role: f"{role.lower()}.png" for role in "ABCD"}
    (tmp_path / "list.json").write_text(json.dumps([row, row]))
    assert read_quadruples(tmp_path / "list.json").roles == ("A", "B", "C", "D")


def test_the_published_list_calls_a_what_the_paper_calls_b(tmp_path):
    names = [f"i{k}" for k in range(10)]
    write_images(tmp_path, names)
    (tmp_path / "tests.txt").write_text(" ".join(f"{name}.png" for name in names) + "\n\n")
    found = read_quadruples(tmp_path / "tests.txt")
    assert found.paths["A"][0].name == "i1.png" and found.paths["B"][0].name == "i0.png"
    assert found.roles == ("A", "B", "C", "D", "drop", "object", "color", "material", "shape", "size")
    assert found.paths["size"][0].name == "i9.png"


def test_grey_images_have_one_channel(tmp_path):
    write_images(tmp_path, list("abcd"), shape=(4, 4))
    (tmp_path / "list.csv").write_text("A,B,C,D\na.png,b.png,c.png,d.png\n")
    assert read_quadruples(tmp_path / "list.csv").image_shape == (4, 4, 1)


def test_missing_images_are_counted_and_named(tmp_path):
    write_images(tmp_path, list("abc"))
    (tmp_path / "list.csv").write_text("A,B,C,D\na.png,b.png,c.png,d.png\na.png,b.png,e.png,f.png\n")
    with pytest.raises(UnknotError, match=r"3 of its images do not exist: .*e\.png"):
        read_quadruples(tmp_path / "list.csv")


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("list.csv", "A,B,C\na,b,c\n", "has no column D"),
        ("list.csv", "A,B,C,D\n", "lists no tuples"),
        ("list.csv", "A,B,C,D\na.png,b.png,,c.png\n", "tuple 1 has no image for C"),
        ("list.json", "[1, 2]", "list of objects"),
        ("list.json", "{", "cannot be read"),
        ("list.txt", "a b c\n", "line 1 names 3 images; expected 10"),
        ("list.csv", ",".join("abcdefghij") + "\n", r"10 of its 10 images do not exist: .*Name the folder"),
        ("list.xls", "", "expected a list of images in a .csv"),
    ],
)
def test_lists_that_are_none_are_refused(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(UnknotError, match=message):
        read_quadruples(tmp_path / name)


def test_an_image_of_another_size_or_no_image_is_refused_when_it_is_read(tmp_path):
    write_images(tmp_path, list("abcd"))
    write_images(tmp_path, ["big"], shape=(9, 9, 3))
    (tmp_path / "text.png").write_text("no image")
    (tmp_path / "list.csv").write_text("A,B,C,D\na.png,b.png,c.png,big.png\na.png,b.png,c.png,text.png\n")
    found = read_quadruples(tmp_path / "list.csv")
    with pytest.raises(UnknotError, match=r"big\.png: is 9 x 9 x 3, other images"):
        found.images(np.array([0]), "D")
    with pytest.raises(UnknotError, match="cannot be read as a picture"):
        found.images(np.array([1]), "D")
