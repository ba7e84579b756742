"""One case: what is done, and what must not happen while it is."""

import contextlib
import csv
import io
import json
import math
import os
import subprocess
import sys
import traceback
import unicodedata
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from tests.fuzz import arrays, calls, lines, records
from tests.fuzz.strange import SCRIPT, SUBJECT

KINDS = {  # what is attacked -> how often
    "arrays": 30,
    "study_file": 8,
    "result_files": 8,
    "run_folder": 8,
    "study_folder": 5,
    "picture_folder": 4,
    "line": 20,
    "metric": 20,
    "function": 20,
}
SUBPROCESSES = 0.01  # the share of command lines that run in a process of their own
OTHERS = ("pymp-", "torchinductor_")  # temporary files of Python and torch, which they remove or use again
MORE_CODES = {"data check": {1}, "explore": {130}}  # a file that differs; Ctrl-C, by which it always ends
SHOWN = {"\n"}  # the only control character that may be printed
DIRECTIONS = set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


@dataclass
class Verdict:
    """What became of a case.

    Attributes:
        number: of the case.
        about: what was done.
        faults: what should not have happened, each as (root cause, details).
        outcome: "fine", "refused", or a fault.
        seconds: it took.
        megabytes: of memory at the most.
    """

    number: int
    about: str = ""
    faults: list[tuple[str, str]] = field(default_factory=list)
    outcome: str = "fine"
    seconds: float = 0.0
    megabytes: float = 0.0


def random_of(seed: int, number: int) -> Random:
    """All that a case draws from."""
    return Random(f"{seed}-{number}")


def attempt(seed: int, number: int, stage: Path, folder: Path) -> Verdict:
    """Make a case and do it, in a process that is forked for it and ends with it."""
    rng = random_of(seed, number)
    work = folder / "work"
    (folder / "tmp").mkdir(parents=True)
    work.mkdir()
    os.chdir(work)
    os.environ |= {"TMPDIR": str(folder / "tmp"), "UNKNOT_DATA": str(work), "XDG_CACHE_HOME": str(work / "cache")}
    os.environ |= {"COLUMNS": "120", "UNKNOT_DEBUG": "1"}
    kind = kind_of(rng)
    if kind in ("metric", "function"):
        call = calls.metric(rng) if kind == "metric" else calls.function(rng, stage)
        verdict = Verdict(number, f"{kind}: {call}")
        (folder / "about").write_text(ascii(verdict.about))
        _called(verdict, call)
    else:
        words = _words(rng, kind, work, stage)
        verdict = Verdict(number, f"{kind}: unknot {' '.join(map(ascii, words))}")
        (folder / "about").write_text(verdict.about)
        _commanded(
            rng, verdict, words, named=kind != "line" and words[0] != "task" and words[:2] != ["data", "split"]
        )
    verdict.faults += [(f"left behind: {path.suffix or path.name}", str(path)) for path in _left(folder)]
    if verdict.faults:
        verdict.outcome = "fault"
    return verdict


def kind_of(rng: Random) -> str:
    """What a case attacks: the first that is drawn for it."""
    return rng.choices(list(KINDS), list(KINDS.values()))[0]


def _words(rng: Random, kind: str, work: Path, stage: Path) -> list[str]:
    if kind == "line":
        return lines.command_line(rng, work, stage)
    make = arrays.commands if kind == "arrays" else getattr(records, kind)
    return make(rng, work, stage) if kind in ("run_folder", "study_folder") else make(rng, work)


def _called(verdict: Verdict, call: calls.Call) -> None:
    import numpy as np

    from unknot.errors import UnknotError, UnknotWarning

    before = str(np.random.get_state())  # noqa: NPY002 - that of everybody, which nothing may move
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call.function(*call.positional, **call.named)
            verdict.faults += [(f"NaN in silence: {call.name}", about) for about in _silent_nan(result)]
        except UnknotError as error:
            verdict.outcome = "refused"
            if not str(error).strip():
                verdict.faults.append((f"empty message: {call.name}", ""))
        except Exception as error:
            verdict.faults.append(_escaped(error))
    for warning in caught:
        if not issubclass(warning.category, UnknotWarning):
            place = f"{Path(warning.filename).name}, {call.name}"
            verdict.faults.append(
                (
                    f"{warning.category.__name__} in {place}",
                    f"{warning.filename}:{warning.lineno}: {warning.message}",
                )
            )
    if str(np.random.get_state()) != before:  # noqa: NPY002
        verdict.faults.append((f"moved NumPy's global random state: {call.name}", ""))


def _silent_nan(result: Any) -> list[str]:
    """Scores that are no number and do not say why."""
    from unknot.metrics.score import Score
    from unknot.scoring.scorecard import Scorecard

    if isinstance(result, Scorecard):
        scores = [record.score for record in result.records.values() if record.score is not None]
    else:
        scores = [result] if isinstance(result, Score) else []
    return [
        f"{score.value}, notes {score.parts.get('notes')}, skipped {score.parts.get('skipped')}"
        for score in scores
        if not math.isfinite(score.value) and not (score.parts.get("notes") or score.parts.get("skipped"))
    ]


def _commanded(rng: Random, verdict: Verdict, words: list[str], *, named: bool) -> None:
    ascii_only = rng.random() < 0.1
    if rng.random() < SUBPROCESSES and words[0] != "explore":
        code, out, err = _apart(words, ascii_only)
    else:
        code, out, err, error = _inside(words, ascii_only)
        if error is not None:
            verdict.faults.append(_escaped(error))
    command = " ".join(words[: 2 if words[0] in ("data", "task") else 1])
    allowed = {0, 2} | MORE_CODES.get(command, set())
    if code not in allowed and not verdict.faults:
        verdict.faults.append((f"exit code {code}: {command}", err[-1500:]))
    if code == 2:
        verdict.outcome = "refused"
        squeezed = "".join(err.split())
        if named and SUBJECT not in squeezed:
            verdict.faults.append((f"names no file: {command}", err[-1500:]))
        if not squeezed:
            verdict.faults.append((f"refused without a word: {command}", ""))
    for sign in ("should not have happened", "Traceback (most recent", "Warning:"):
        if sign in err and not any("Error" in cause for cause, _ in verdict.faults):
            verdict.faults.append((f"'{sign}': {command}", err[-1500:]))
    # Paths that the user typed are printed to other programs as they are.
    for word in sorted(filter(str.strip, words), key=len, reverse=True):  # a short one may be part of a long one
        out = out.replace(word, "")
    texts = {"stderr": err} | ({} if "-" in words else {"stdout": out})
    for where, text in texts.items():
        raw = sorted({c for c in text if c not in SHOWN and (unicodedata.category(c) == "Cc" or c in DIRECTIONS)})
        if raw:
            verdict.faults.append((f"raw control characters on {where}: {command}", f"{raw} in {text[-1500:]!r}"))
    verdict.faults += _unsafe_files(out if "--csv" in words and "-" in words else "", command)


def _inside(words: list[str], ascii_only: bool) -> tuple[int | None, str, str, BaseException | None]:
    """The command line in this process: exit code, standard output, standard error, and what it let through."""
    import signal

    from unknot.cli import main

    encoding = "ascii" if ascii_only else "utf-8"
    streams = []
    for number, errors in ((1, "strict"), (2, "backslashreplace")):
        raw = io.FileIO(os.open(f"../std{number}", os.O_RDWR | os.O_CREAT), "r+")
        os.dup2(raw.fileno(), number)
        streams.append(
            io.TextIOWrapper(io.BufferedWriter(io.FileIO(number, "w", closefd=False)), encoding, errors)
        )
    sys.stdout, sys.stderr = streams
    sys.argv = ["unknot", *words]
    code: int | None = 0
    escaped = None
    if words[0] == "explore":  # which serves until Ctrl-C
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.alarm(4)
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException as error:
        code, escaped = 1, error
    for stream in streams:
        with contextlib.suppress(UnicodeError, OSError):
            stream.flush()
    out, err = (Path(f"../std{number}").read_bytes().decode("utf-8", "surrogateescape") for number in (1, 2))
    return code, out, err, escaped


def _apart(words: list[str], ascii_only: bool) -> tuple[int, str, str]:
    environment = {key: value for key, value in os.environ.items() if key != "UNKNOT_DEBUG"}
    environment["PYTHONIOENCODING"] = "ascii" if ascii_only else "utf-8"
    command = [sys.executable, "-m", "unknot", *(os.fsencode(word) for word in words)]
    done = subprocess.run(command, capture_output=True, env=environment, stdin=subprocess.DEVNULL)
    return done.returncode, *(text.decode("utf-8", "surrogateescape") for text in (done.stdout, done.stderr))


def _escaped(error: BaseException) -> tuple[str, str]:
    """An error that should have been one of ours: its kind and the last place in our code that it came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        frame for frame in frames if f"{os.sep}unknot{os.sep}" in frame.filename and "tests" not in frame.filename
    ]
    last = own[-1] if own else frames[-1]
    place = last.filename.rpartition(f"{os.sep}unknot{os.sep}")[2]
    text = "".join(traceback.format_exception(error))
    return f"{type(error).__name__} in {place}:{last.name}", text[-6000:]


def _written(names: str) -> list[Path]:
    """Files of such names where the command ran; an output folder may be called a.html too."""
    return [path for path in Path().glob(names) if path.is_file()]


def _unsafe_files(table: str, command: str) -> list[tuple[str, str]]:
    """Pages that run a stranger's script, tables whose cells are formulas, JSON that others cannot read."""
    faults = []
    for page in _written("*.html"):
        if SCRIPT in page.read_text(encoding="utf-8", errors="replace"):
            faults.append((f"a script in a page: {command}", str(page)))
    tables = [table] if table else []
    tables += [path.read_text(encoding="utf-8", errors="replace") for path in _written("t.csv")]
    for text in tables:
        cells = [cell for row in csv.reader(io.StringIO(text)) for cell in row]
        formulas = [
            cell for cell in cells if cell.startswith(("=", "@", "+", "-", "\t", "\r")) and not _number(cell)
        ]
        if formulas:
            faults.append((f"a formula in a table: {command}", repr(formulas[:3])))
    for path in _written("t.json"):
        try:
            json.loads(path.read_bytes())
        except ValueError as error:
            faults.append((f"unreadable JSON: {command}", str(error)))
    return faults


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _left(folder: Path) -> list[Path]:
    """Half files, and what stays in the folder of temporary files."""
    return [
        *folder.rglob(".*.part"),
        *(path for path in (folder / "tmp").iterdir() if not path.name.startswith(OTHERS)),
    ]
