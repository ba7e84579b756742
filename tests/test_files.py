"""Files appear complete or not at all."""

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from unknot.cli import app
from unknot.errors import UnknotError
from unknot.files import as_json, must_be_ours, remove_parts, write_json, written_whole


def test_a_file_takes_its_name_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "new" / "file.txt"
    with written_whole(target) as beside:
        beside.write_text("all of it")
        assert not target.exists()
    assert target.read_text() == "all of it"
    assert [path.name for path in target.parent.iterdir()] == ["file.txt"]


def test_a_failure_leaves_the_file_that_was_there(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError, match="midway"), written_whole(target) as beside:
        beside.write_text("ha")
        raise RuntimeError("midway")
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_what_cannot_be_written_is_an_error_with_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UnknotError, match=r"file/below\.txt: cannot be written \("):
        with written_whole(tmp_path / "file" / "below.txt") as beside:
            beside.write_text("")


def test_two_writers_do_not_share_the_name_they_write_to(tmp_path: Path) -> None:
    ask = (
        "import sys, unknot.files as a\nwith a.written_whole(sys.argv[1]) as beside: beside.touch(); print(beside)"
    )
    command = [sys.executable, "-c", ask, str(tmp_path / "file")]
    names = {subprocess.run(command, capture_output=True, text=True, check=True).stdout for _ in range(2)}
    assert len(names) == 2


def test_a_killed_writer_leaves_the_old_file_and_a_part_that_is_removed_later(tmp_path: Path) -> None:
    target = tmp_path / "file.txt"
    target.write_text("old")
    die = (
        "import os, signal, sys\nfrom unknot.files import written_whole\n"
        "with written_whole(sys.argv[1]) as b:\n    b.write_text('ne')\n    os.kill(os.getpid(), signal.SIGKILL)"
    )
    done = subprocess.run([sys.executable, "-c", die, str(target)], env=os.environ)
    assert done.returncode == -signal.SIGKILL
    assert target.read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 2
    remove_parts(tmp_path)
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link_and_what_it_points_to_is_written(tmp_path: Path) -> None:
    target, link = tmp_path / "far" / "target.json", tmp_path / "link.json"
    target.parent.mkdir()
    target.write_text("before")
    link.symlink_to(target)
    write_json(link, {"a": 1})
    assert link.is_symlink() and target.read_text() == '{\n "a": 1\n}\n'
    dangling = tmp_path / "dangling.json"
    dangling.symlink_to(tmp_path / "nothing.json")
    write_json(dangling, {})
    assert dangling.is_symlink() and (tmp_path / "nothing.json").is_file()


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "secret.json"
    path.write_text("{}")
    path.chmod(0o600)
    write_json(path, {"a": 1})
    assert path.stat().st_mode & 0o777 == 0o600 and "a" in path.read_text()


def test_a_pipe_stays_a_pipe_and_is_given_the_content(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_json(pipe, {"a": 1})
    reader.join(10)
    assert read == ['{\n "a": 1\n}\n'] and pipe.is_fifo()


def test_the_null_device_stays_a_device() -> None:
    write_json(os.devnull, {"a": 1})
    assert Path(os.devnull).is_char_device()


def test_a_folder_is_refused_as_a_file_and_a_long_name_is_none_to_the_file_beside(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="is a folder; name a file"):
        write_json(tmp_path, {})
    assert write_json(tmp_path / ("n" * 250 + ".json"), {}).is_file()
    with pytest.raises(UnknotError, match="cannot be written"):
        write_json(tmp_path / ("n" * 300), {})


def test_a_folder_for_output_that_holds_other_things_is_refused(tmp_path: Path) -> None:
    must_be_ours(tmp_path / "new", "study", ["study.json"])
    must_be_ours(tmp_path, "study", ["study.json"])
    (tmp_path / "letters.txt").touch()
    with pytest.raises(UnknotError, match=r"holds no study, but other files \(letters.txt\)"):
        must_be_ours(tmp_path, "study", ["study.json"])
    with pytest.raises(UnknotError, match=r"letters.txt: is a file; the study needs a folder"):
        must_be_ours(tmp_path / "letters.txt", "study", [])
    (tmp_path / "study.json").touch()
    must_be_ours(tmp_path, "study", ["study.*"])
    with pytest.raises(UnknotError, match="/: holds no study"):
        must_be_ours(Path("/"), "study", ["*"])


@pytest.mark.parametrize(
    "words",
    [
        ["data", "scenes", "--n", "2", "-o"],
        ["data", "corpus", "--n", "2", "-o"],
        ["task", "fairness", "latents.npz", "-o"],
        ["study", "duan2020_small", "-o"],
        ["demo", "-o"],
    ],
)
def test_no_command_fills_a_folder_of_somebody_else(
    words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    factors = np.random.default_rng(0).integers(0, 3, (300, 2))
    np.savez(tmp_path / "latents.npz", latents=factors * 1.0, factors=factors)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "letters").mkdir()
    (tmp_path / "letters" / "to_anna.txt").touch()
    for folder in ("letters", "/"):
        done = CliRunner().invoke(app, [*words, folder])
        assert isinstance(done.exception, UnknotError)
        assert "but other files" in str(done.exception)
    assert [path.name for path in Path("letters").iterdir()] == ["to_anna.txt"]


def test_runs_are_not_trained_in_the_root_of_a_disk() -> None:
    done = CliRunner().invoke(app, ["train", "--world", "dsprites_rendered", "--steps", "1", "-o", "/"])
    assert isinstance(done.exception, UnknotError)
    assert "holds no collection of runs" in str(done.exception)


def test_json_obeys_no_name() -> None:
    text = as_json({"right \u202eto left": "\x9b31m"})
    assert text.isascii() and json.loads(text) == {"right \u202eto left": "\x9b31m"}
