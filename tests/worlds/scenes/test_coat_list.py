"""COAT's published list of tests, in the layout of its data: no header, paths of the machine that made it."""

import numpy as np
import pytest
from PIL import Image

from unknot.errors import UnknotError
from unknot.worlds.scenes.coat_list import import_coat, read_coat_list
from unknot.worlds.scenes.corpus import ROLES, open_corpus

THERE = "/checkpoint/somebody/clevr_obj_test/output/obj_test_final"
FOLDERS = ("images", "images", "bgs", "bgs", "bgs", "bgs", "color", "material", "shape", "size")
SUBSETS = (37, 12, 20, 44, 21, 45, 44, 44, 44, 44)  # names repeat from folder to folder


@pytest.fixture
def published(tmp_path):
    """The list of 20 tests from five main scenes with its pictures, every one in a grey of its own."""
    lines = []
    for i in range(20):
        names = []
        for j, (folder, subset) in enumerate(zip(FOLDERS, SUBSETS, strict=True)):
            name = f"{folder}/CLEVR_new_{101 + i % 5:06d}_{subset + 100 * (i // 5):04d}.png"
            (tmp_path / folder).mkdir(exist_ok=True)
            Image.fromarray(np.full((24, 24, 3), 20 * j + i, np.uint8)).save(tmp_path / name)
            names.append(f"{THERE}/{name}")
        lines.append(",".join(names))
    (tmp_path / "CLEVR_test_cases_hard.csv").write_text("\n".join(lines) + "\n")
    return tmp_path / "CLEVR_test_cases_hard.csv"


def test_the_published_list_becomes_a_corpus_in_the_papers_order(published):
    corpus = import_coat(published, published.parent / "corpus", size=16)
    greys = corpus.images[:, :, 8, 8, 0]
    assert greys[0].tolist() == [20, 0, *range(40, 200, 20)]  # its code calls A what the paper calls B
    assert greys[19].tolist() == [39, 19, *range(59, 219, 20)]
    first = open_corpus(published.parent / "corpus").tuples[0]
    assert first["files"]["A"] == "images/CLEVR_new_000101_0012.png" and first["main"] == "CLEVR_new_000101"
    assert not corpus.has_masks and not corpus.has_scenes
    again = import_coat(published, published.parent / "corpus", size=16)
    assert len(again) == 20
    with pytest.raises(UnknotError, match=r"already holds a corpus with size \[16, 16\] instead of \[8, 8\]"):
        import_coat(published, published.parent / "corpus", size=8)


def test_an_imported_corpus_is_scored_without_what_needs_scenes_and_masks(published):
    pytest.importorskip("torch")
    from unknot.runs.spec import RunSpec
    from unknot.runs.training import train
    from unknot.tasks.algebra.quadruples import CorpusTuples
    from unknot.tasks.algebra.task import algebra

    corpus = import_coat(published, published.parent / "corpus", size=16)
    assert len(np.unique(CorpusTuples(corpus).scenes)) == 5  # five main scenes
    small = {"slots": 2, "slot_size": 8, "channels": 4, "broadcast": 8, "full_layers": 0, "iterations": 1}
    spec = RunSpec(
        model="slot_attention", world="shapes3d_rendered", options=small, image_size=16, steps=1, batch_size=2
    )
    result = algebra(train(spec, published.parent), corpus, minibatch=4, pictures=1)
    assert {"l2_coat", "l2_coat_tidied", "pixels_l2_coat"} <= set(result.values)
    assert not {"tre", "ari"} & set(result.values)
    assert sum("left out" in note for note in result.notes) == 2
    # The list itself, without a corpus, names the same pictures.
    quadruples = algebra(None, quadruples=published, minibatch=4, pictures=0)
    assert quadruples.tables["scores"][0]["representation"] == "pixels" and quadruples.settings["n"] == 20


def test_pictures_are_found_below_a_folder_that_is_named(published, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("lists") / "tests.txt"
    elsewhere.write_text(published.read_text().replace(",", "\t"))
    with pytest.raises(UnknotError, match=r"200 of its 200 images do not exist: .*Name the folder"):
        read_coat_list(elsewhere)
    rows = read_coat_list(elsewhere, published.parent)
    assert rows[0]["B"] == published.parent / "images" / "CLEVR_new_000101_0037.png"
    assert tuple(rows[0]) == ROLES


def test_missing_pictures_and_short_lines_are_named(published):
    folder = published.parent
    (folder / "bgs" / "CLEVR_new_000102_0044.png").unlink()
    with pytest.raises(UnknotError, match=r"1 of its 200 images do not exist: .*CLEVR_new_000102_0044\.png"):
        import_coat(published, folder / "corpus")
    assert not (folder / "corpus").exists()
    (folder / "short.txt").write_text("a.png b.png\n")
    with pytest.raises(UnknotError, match="line 1 names 2 images; expected 10"):
        read_coat_list(folder / "short.txt")
    (folder / "empty.txt").write_text("\n")
    with pytest.raises(UnknotError, match="lists no tuples"):
        read_coat_list(folder / "empty.txt")
    with pytest.raises(UnknotError, match="no such file"):
        read_coat_list(folder / "nowhere.csv")
    with pytest.raises(UnknotError, match="unknown window"):
        import_coat(published, folder / "corpus", window="middle")


def test_the_import_is_a_command(published):
    from typer.testing import CliRunner

    from unknot.cli import app

    result = CliRunner().invoke(
        app, ["data", "import-coat", str(published), "-o", str(published.parent / "made"), "--size", "8"]
    )
    assert result.exit_code == 0 and "20 tuples, 8 x 8" in result.output
    assert len(open_corpus(published.parent / "made")) == 20
