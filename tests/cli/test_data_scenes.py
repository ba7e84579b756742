import json

from typer.testing import CliRunner

from unknot.cli import app
from unknot.worlds.scenes.toy_corpus import toy_corpus

RUN = CliRunner()


def test_scenes_are_written_and_previewed(tmp_path):
    arguments = ["data", "scenes", "-o", str(tmp_path / "set"), "--n", "3", "--size", "16", "--format", "png"]
    result = RUN.invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0 and "3 pictures, 16 x 16, scenes, IID (rendered)" in result.stdout
    assert json.loads((tmp_path / "set" / "dataset.json").read_text())["n"] == 3
    sheet = tmp_path / "sheet.png"
    result = RUN.invoke(app, ["data", "preview", str(tmp_path / "set"), "-o", str(sheet)], catch_exceptions=False)
    assert result.exit_code == 0 and sheet.is_file()


def test_a_corpus_is_made_with_its_preview(tmp_path):
    picture = tmp_path / "sheet.png"
    arguments = ["data", "corpus", "-o", str(tmp_path / "c"), "--n", "2", "--size", "16", "--variant", "clear"]
    result = RUN.invoke(app, [*arguments, "--preview", str(picture)], catch_exceptions=False)
    assert result.exit_code == 0 and "2 tuples, clear" in result.stdout
    assert picture.is_file() and (tmp_path / "c" / "corpus.json").is_file()


def test_a_corpus_is_previewed_as_tuples(tmp_path):
    toy_corpus(tmp_path / "toy", n=2, size=16)
    sheet = tmp_path / "sheet.png"
    result = RUN.invoke(app, ["data", "preview", str(tmp_path / "toy"), "-o", str(sheet)], catch_exceptions=False)
    assert result.exit_code == 0 and sheet.is_file()


def test_a_size_that_is_none_is_named(tmp_path):
    result = RUN.invoke(app, ["data", "scenes", "-o", str(tmp_path / "set"), "--size", "big"])
    assert result.exit_code != 0 and "--size 'big' is no size" in str(result.exception)
