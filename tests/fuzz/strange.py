"""What strangers hand over: names, labels, values and words that a careful program must survive."""

import datetime
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

SUBJECT = "subject"  # how names of attacked files begin, so that messages can be searched for them
SCRIPT = "<script>alert(1)</script>"
HUGE = (3_000_000_000, 99_999_999_999, 10**30)
NAMES = (
    "plain",
    "[/red]",
    "[bold]x[/bold] [link=http://x.example]y[/link]",
    "\x1b[31mred\x1b[0m",
    "\x1b]0;title\x07",
    "bell\x07 null-free \x08\x7f\x9b31m",
    "two\nlines\r\tand more",
    "right \u202eto left",
    "\udcff\udc80 not UTF-8",
    "\ud800",
    "=cmd|' /C calc'!A0",
    "+1+1",
    "@SUM(A1)",
    "-2+3",
    SCRIPT,
    '"quoted", with; commas',
    "%s %d {0} {x}",
    "n" * 300,
    "",
    " ",
    "é" * 140,
    "名前🎲",
    ":smile:",
    "..",
    "nan",
)


def name(rng: Random) -> str:
    """A name of a factor, a world, a model or a person."""
    return rng.choice(NAMES)


def file_name(rng: Random, suffix: str) -> str:
    """The name of a file that can exist: no slash, no null, not too long."""
    words = rng.choice([*[""] * 12, *NAMES]).replace("/", "|").replace("\ud800", "\udcd8")
    return SUBJECT + words.encode("utf-8", "surrogateescape")[:180].decode("utf-8", "surrogateescape") + suffix


def number(rng: Random) -> Any:
    """A number at the edge of what arrays, floats or patience hold."""
    edges = (0, -1, 1, 2, 2**31, 2**53 + 1, 2**63, *HUGE, 0.5, -0.0, 1e19, 1e308, 5e-324)
    return rng.choice([*edges, float("nan"), float("inf"), -float("inf"), True])


def value(rng: Random) -> Any:
    """Something of a wrong type, or of the right one and out of range."""
    some: list[Any] = [
        None,
        "",
        "abc",
        name(rng),
        b"bytes",
        [],
        (),
        {},
        set(),
        [1, "a", None],
        [[]],
        {"a": 1},
        {1: {2: 3}},
        object(),
        len,
        int,
        1j,
        datetime.date(2020, 1, 1),
        Path("nowhere"),
        np.array([]),
        np.array("word"),
        np.array([None, object()]),
        np.zeros((2, 2, 2, 2)),
        np.float32("nan"),
        np.int64(-3),
        np.random.default_rng(0),
        range(3),
    ]
    return rng.choice(some) if rng.random() < 0.6 else number(rng)


def word(rng: Random) -> str:
    """Something typed on a command line."""
    some = (
        "",
        " ",
        "abc",
        "all",
        "None",
        "true",
        "a=b",
        "x=1..3",
        "x=5..1",
        "a,b,,c",
        "1,2",
        "-",
        "--",
        "..",
        ".",
    )
    paths = ("nowhere.npz", "folder", "folder/x.npz", "a.png", "a.svg", "a.json", "a.html", f"{SUBJECT}.npz")
    metrics = ("mig[bins=99999999999]", "mig[bins=-1]", "mig[", "dci[lasso]", "mig[bins=nan]", "sap[sap[sap]]")
    names = (name(rng), name(rng)[:4] + "e9", "é")
    typed = rng.choice([*some, *paths, *metrics, *names, *[str(number(rng)) for _ in range(20)]])
    return typed.replace("\0", "").replace("\ud800", "\udcd8")


def labels(rng: Random, n: int, f: int) -> Any:
    """Factors (n, f) of a strange kind."""
    draw = np.random.default_rng(rng.randrange(2**32))
    plain = draw.integers(0, 3, (n, f))
    kinds: list[Any] = [
        plain,
        plain.astype(np.float32),
        plain.astype(np.uint8),
        plain.astype(bool),
        np.ma.masked_array(plain, plain == 1),
        np.ma.masked_array(plain.astype(float), plain == 1, fill_value=np.nan),
        np.ma.masked_array(plain, np.zeros_like(plain, dtype=bool)),
        plain.astype(np.int64) + 2**53,
        plain.astype(np.uint64) + 2**63,
        plain * 1e19,
        plain * 1e300,
        -plain * 1e19,
        np.where(plain == 1, np.nan, plain),
        np.where(plain == 1, np.inf, plain),
        plain.astype(str),
        plain.astype("S3"),
        plain.astype(object),
        np.where(plain == 1, "one", plain.astype(object)),
        plain + 0.5,
        plain.astype(complex),
        plain.astype("datetime64[D]"),
        plain.astype("timedelta64[s]"),
        plain.astype(np.float16) * 30_000,
        plain.astype(np.longdouble),
        np.zeros((n, f)),
        np.arange(n * f).reshape(n, f),
        plain.tolist(),
        plain[:-1],
        plain[:, :0],
        plain[0],
        plain[..., None],
        np.full((n, f), -0.0),
        np.asfortranarray(plain),
        np.broadcast_to(plain[:1], (n, f)),
    ]
    return rng.choice(kinds)


def latents(rng: Random, n: int, d: int) -> Any:
    """Latents (n, d) of a strange kind; half of them are plain."""
    draw = np.random.default_rng(rng.randrange(2**32))
    plain = draw.normal(size=(n, d))
    kinds: list[Any] = [
        plain.astype(np.float16),
        plain.astype(np.float32),
        plain * 1e149,
        plain * 1e160,
        plain * 1e-310,
        plain * 1e-160,
        np.where(plain > 1, np.nan, plain),
        np.where(plain > 1, np.inf, plain),
        np.ma.masked_array(plain, plain > 1),
        np.zeros((n, d)),
        np.ones((n, d)) * plain[:1],
        np.repeat(plain[:, :1], d, axis=1),
        plain.round().astype(int),
        plain.round().astype(int) + 2**53,
        plain > 0,
        plain.astype(str),
        plain.astype(object),
        plain.astype(complex),
        plain.reshape(n, d, 1),
        plain[:1],
        plain[:, :1],
        plain[:0],
        plain[:, :0],
        plain.ravel(),
        plain.tolist(),
        plain[::-1, ::-1],
        np.asfortranarray(plain),
        plain + 1e15,
    ]
    return plain if rng.random() < 0.5 else rng.choice(kinds)
