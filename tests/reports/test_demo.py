"""`make demo`, in short."""

from pathlib import Path

from typer.testing import CliRunner

from unknot.cli import app
from unknot.reports.demo import KINDS, SHOWN

TINY = """\
name: tiny
worlds: dsprites_rendered
models: {beta_vae: {beta: [1, 4]}}
seeds: 2
steps: 4
image_size: 32
rows: 100
metrics: [mig, sap]
"""


def test_the_demo_runs_a_study_and_writes_one_page_and_goes_on_where_it_stopped(tmp_path: Path) -> None:
    (tmp_path / "tiny.yaml").write_text(TINY)
    command = ["demo", "--output", str(tmp_path / "demo"), "--study", str(tmp_path / "tiny.yaml"), "--jobs", "1"]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    assert done.stdout.strip() == str(tmp_path / "demo" / "index.html")
    html = (tmp_path / "demo" / "index.html").read_text()
    assert html.count("data:image/png") >= 2 * len(SHOWN) + (len(KINDS) - 1) + 1
    for words in ("Leaderboard", "beta 4", "udr_spearman/all", "Correlations"):
        assert words in html
    for words in ("dSprites (rendered)", "MPI3D (rendered)", "extrapolation", "mig[bins=20]", "orientation"):
        assert words in html
    assert len(list((tmp_path / "demo" / "study" / "runs").iterdir())) == 2 * 2

    again = CliRunner().invoke(app, command)
    assert again.exit_code == 0 and "train done" not in again.stderr
