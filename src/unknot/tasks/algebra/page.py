"""Object algebra on a page: the table of scores, wrong pictures one by one, and sums of codes as pictures."""

import base64
import binascii
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from unknot.reports.kit.page import Cell, Content, Drawing, Gallery, Grid, Picture, Section
from unknot.reports.kit.share_chart import Share, share_chart
from unknot.reports.kit.step_charts import Curve, step_curves
from unknot.tasks.algebra.options import LOSSES
from unknot.tasks.result import TaskResult


def section(results: Sequence[TaskResult]) -> Section:
    """Words, the table, charts of shares, pictures."""
    texts = [
        "B is picture A with objects added, and D is picture C with the same objects added. If the code of a scene is "
        "a sum over its objects, then z(B) - z(A) + z(C) = z(D). L2-COAT asks how far that is off, acos-COAT whether "
        "z(B) - z(A) and z(D) - z(C) point the same way; both are corrected for chance: 100 is perfect, 0 is chance.",
        "A code may score well by knowing little. So every tuple has wrong pictures, which differ from D in one thing: "
        "an object is missing or another, or has another colour, material, shape or size, or the picture is B - A + C "
        "taken pixel by pixel. A score counts only if each of them does worse than D in significantly more than half "
        "of the tuples (one-sided z test, alpha 0.005); else the code fails.",
        *(_in_words(result) for result in results),
        "Published rows are of renders that are not ours, and tuples chosen by rules that are known in part: compare a "
        "model with the pixels of its own corpus. Perfect codes must score 100 and pass; a constant code and one that "
        "ignores colour must fail.",
    ]
    contents: list[Content] = [_table(results)]
    for result in results:
        contents += [_charts(result), *_against_n(result), *_objects(result), *_pictures(result)]
    contents.append(_published(results[0]))
    return Section("Object algebra", texts, contents)


def score_text(row: Mapping[str, Any], loss: str) -> str:
    """A score as a table shows it: with its interval, or its error over seeds; in brackets if it fails.

    >>> score_text({"l2": 80.18, "l2_low": 79.1, "l2_high": 81.2, "l2_passed": False}, "l2")
    '(80.2 [79.1, 81.2])'
    """
    value, low, high, error = (row.get(loss + key) for key in ("", "_low", "_high", "_error"))
    if value is None:
        failed = "fails" if row.get(f"{loss}_passed") is False else "-"
        return "collapsed" if row.get(f"{loss}_collapsed") else failed
    if row.get("kind") == "published":
        text = f"{value:.2f}" + (f" ± {error:.2f}" if error is not None else "")
    else:
        text = f"{value:.1f}" + (f" [{low:.1f}, {high:.1f}]" if low is not None and high is not None else "")
    return text if row.get(f"{loss}_passed") is not False else f"({text})"


def needed(n: int) -> dict[str, float]:
    """Lines for shares of n tuples: chance, and what passes the test.

    >>> needed(1600)["threshold of the test"].__round__(3)
    0.532
    """
    return {"chance": 0.5, "threshold of the test": 0.5 + 2.5758 * 0.5 / math.sqrt(n)}


def p_hat(result: TaskResult) -> dict[tuple[str, str, str], dict[str, str]]:
    """(representation, corpus, loss) -> negative -> its share of successes, in brackets if it fails the test."""
    shares: dict[tuple[str, str, str], dict[str, str]] = {}
    for row in result.tables.get("negatives", []):
        key = str(row["representation"]), str(row["corpus"]), LOSSES.get(str(row["loss"]), str(row["loss"]))
        share = f"{row['p_hat']:.3f}"
        shares.setdefault(key, {})[str(row["negative"])] = share if row["passed"] else f"({share})"
    return shares


def _in_words(result: TaskResult) -> str:
    rows = [row for row in result.tables["scores"] if row["kind"] == "encoder"]
    if not rows:
        return "No encoder was given; the table holds the baselines."
    row = rows[0]
    beside = next(
        r for r in result.tables["scores"] if r["representation"] == "pixels" and r["corpus"] == row["corpus"]
    )
    words = []
    for loss, name in LOSSES.items():
        value, pixels = row[loss], beside[loss]
        if value is None:
            words.append(f"{name}: its codes are all alike")
        elif row[f"{loss}_passed"] is False:
            missed = [
                str(r["negative"])
                for r in result.tables["negatives"]
                if (r["representation"], r["corpus"], r["loss"]) == (row["representation"], row["corpus"], loss)
                and not r["passed"]
            ]
            words.append(f"{name}: fails, since it does not tell D from wrong pictures ({', '.join(missed)})")
        elif pixels is None:
            words.append(f"{name}: {value:.1f}")
        else:
            better = "better than" if float(value) > float(pixels) else "no better than"
            words.append(f"{name}: {value:.1f}, {better} raw pixels ({pixels:.1f})")
    return f"{result.source}: {'; '.join(words)}."


def _table(results: Sequence[TaskResult]) -> Grid:
    rows: dict[tuple[str, ...], list[Cell]] = {}  # baselines that several results share are shown once
    for kind in ("encoder", "baseline"):
        for result in results:
            for row in (row for row in result.tables["scores"] if row["kind"] == kind):
                scores = [score_text(row, loss) for loss in LOSSES]
                cells = [str(row["representation"]), kind, str(row["corpus"]), *scores]
                rows[tuple(cells)] = [*cells]
    caption = (
        "COAT in percent with its 95 % interval, by a bootstrap that draws main scenes. In brackets: fails, at least "
        "one kind of wrong picture does not do worse."
    )
    return Grid(("representation", "", "corpus", "L2-COAT", "acos-COAT"), list(rows.values()), caption, "coat")


def _published(result: TaskResult) -> Grid:
    rows = [
        [
            str(row["representation"]),
            str(row["corpus"]),
            *(score_text(row, loss) for loss in LOSSES),
            *_beside(row),
        ]
        for row in result.tables.get("published", [])
    ]
    caption = (
        "Published for comparison: Xie et al. 2022, Tables 1 and 2, on other renders than ours; ± standard error over "
        "five training seeds, for TRE a spread of unknown kind. Pixels were not put to the test on wrong pictures."
    )
    return Grid(("published", "corpus", "L2-COAT", "acos-COAT", "ARI", "TRE"), rows, caption, "coat-published")


def _beside(row: Mapping[str, Any]) -> Iterator[str]:
    """ARI and TRE of a published row; results of older versions have neither."""
    for value, spread in (("ari", "ari_error"), ("tre", "tre_spread")):
        yield f"{row[value]:.2f} ± {row[spread]:.2f}" if row.get(value) is not None else "-"


def _charts(result: TaskResult) -> Gallery:
    """For each loss, the encoder's shares beside those of pixels; without an encoder, those of the baselines."""
    negatives = result.tables.get("negatives", [])
    corpus = negatives[0]["corpus"] if negatives else ""
    here = [row for row in negatives if row["corpus"] == corpus]
    own = list(dict.fromkeys(str(r["representation"]) for r in here if r["kind"] == "encoder"))
    shown = (
        [*own[:3], "pixels"] if own else ["pixels", "slots from true masks", "symbolic attributes without colour"]
    )
    shown = [name for name in shown if any(row["representation"] == name for row in here)]
    drawings = []
    for loss, title in LOSSES.items():
        rows = [row for row in here if row["loss"] == loss]
        names = list(dict.fromkeys(str(row["negative"]) for row in rows))
        if not names:
            continue
        n = max(int(row["n"] or 1) for row in rows)
        lines = needed(n)
        by_name = [(name, [row for row in rows if row["negative"] == name]) for name in names]
        marks = [
            (name, [_mark(row) for who in shown for row in own if row["representation"] == who])
            for name, own in by_name
        ]
        drawings.append(
            Drawing(share_chart(f"{title}: wrong picture does worse", marks, lines=lines, names=shown))
        )
    return Gallery(drawings)


def _against_n(result: TaskResult) -> Iterator[Gallery]:
    """How scores settle as tuples are added: of the encoder and of pixels, with a band of one standard error."""
    rows = result.tables.get("against_n", [])
    shown = [row for row in rows if row["kind"] == "encoder" or row["representation"] == "pixels"]
    here = [row for row in shown if row["corpus"] == shown[0]["corpus"]]
    drawings = []
    for loss, title in LOSSES.items():
        lines = []
        for name in dict.fromkeys(str(row["representation"]) for row in here):
            own = [row for row in here if row["representation"] == name and row[loss] is not None]
            values, errors = (np.array([row[key] for row in own], dtype=float) for key in (loss, f"{loss}_error"))
            if len(own) > 1:
                numbers = [float(row["n"] or 0) for row in own]
                band = (values - errors).tolist(), (values + errors).tolist()
                lines.append(Curve(name, numbers, values.tolist(), *band))
        if lines:
            caption = "Mean over the first tuples; the band is one standard error. The paper finds 1,000 enough."
            drawings.append(Drawing(step_curves(f"{title}-COAT against n", lines, unit="tuples"), caption))
    if drawings:
        yield Gallery(drawings)


def _objects(result: TaskResult) -> Iterator[Grid]:
    """What probes read of objects from slots, beside what they read from the slots of other images."""
    cells: dict[str, list[Cell]] = {}
    for row in result.tables.get("objects", []):
        cells.setdefault(str(row["property"]), [str(row["property"])]).extend([row["value"], row["floor"]])
    if cells:
        caption = (
            f"{result.source}: properties of objects read from the slot that is matched with each (Hungarian method, "
            "on held-out scenes): accuracy, of x and y R^2. Matching knows the truth, so slots of other images score "
            "above chance. All of it: every word right, x and y within half a standard deviation."
        )
        header = ("property", "linear", "other images", "MLP", "other images")
        yield Grid(header, list(cells.values()), caption, f"objects of {result.source}")


def _mark(row: Mapping[str, Any]) -> Share:
    label = f"{row['representation']}, {row['negative']}"
    return Share(float(row["p_hat"]), float(row["low"]), float(row["high"]), label)


def _pictures(result: TaskResult) -> list[Picture]:
    pictures = []
    for row in result.tables.get("pictures", []):
        try:
            png = base64.b64decode(str(row["png"]), validate=True)
        except (binascii.Error, ValueError):
            continue
        pictures.append(Picture(png, f"{row['title']} of {result.world}, {result.source}."))
    return pictures
