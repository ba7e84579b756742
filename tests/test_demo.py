"""`make demo`, in short."""

from pathlib import Path

from typer.testing import CliRunner

from unknot.cli import app
from unknot.demo import KINDS, WORLDS


def test_the_demo_writes_one_page_with_worlds_splits_and_scores(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["demo", "--output", str(tmp_path / "demo")])
    assert done.exit_code == 0, done.output
    html = (tmp_path / "demo" / "index.html").read_text()
    assert html.count("data:image/png") == 2 * len(WORLDS) + (len(KINDS) - 1) + 1
    for words in ("dSprites (rendered)", "MPI3D (rendered)", "extrapolation", "mig[bins=20]", "orientation"):
        assert words in html
    assert [path.name for path in (tmp_path / "demo").iterdir()] == ["index.html"]
