"""A matrix of numbers between 0 and 1 as coloured cells, in the style of `charts`."""

import math
from collections.abc import Sequence
from html import escape
from typing import Literal

from unknot.reports.kit.svg import BOLD, LETTER, short, svg, text

SIDE = 40  # of a cell, in pixels


def matrix_chart(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float]],
    *,
    row_word: str = "",
    column_word: str = "",
    colour: Literal["up", "down"] = "down",
) -> str:
    """One cell for each row and column, the stronger its colour the nearer to 1; NaN leaves a gap.

    Args:
        title: above.
        rows: names down the side.
        columns: names across the top.
        values: a list of numbers for each row.
        row_word: what rows are, in the corner.
        column_word: what columns are.
        colour: "down" for numbers of which less is better, "up" for those of which more is.
    """
    left = min(170.0, LETTER * max(map(len, [*rows, row_word])) + 14)
    long = max(map(len, columns)) * LETTER > SIDE + 14
    top = 44 + (min(120.0, LETTER * max(map(len, columns))) * 0.72 if long else 14)
    body = [
        text(0, 14, title, "title"),
        text(left, 34, column_word, "soft"),
        text(0, top - 8, row_word, "soft"),
    ]
    for j, name in enumerate(columns):
        x = left + SIDE * (j + 0.5)
        if long:  # slanted, so that neighbours do not touch
            words = escape(short(name, 120))
            body.append(f'<text transform="translate({x:.1f} {top - 8:.1f}) rotate(-45)">{words}</text>')
        else:
            body.append(text(x, top - 8, name, anchor="middle"))
    for i, name in enumerate(rows):
        y = top + SIDE * i
        body.append(text(left - 8, y + SIDE / 2 + 4, short(name, left - 8), anchor="end", title=name))
        for j, other in enumerate(columns):
            body.append(_cell(left + SIDE * j, y, f"{name}, {other}", values[i][j], colour))
    slant = 70 if long else 0
    width = max(left + SIDE * len(columns) + slant + 4, BOLD * len(title) + 8)
    return svg(width, top + SIDE * len(rows) + 6, title, body, natural=True)


def _cell(x: float, y: float, what: str, value: float, colour: str) -> str:
    if not math.isfinite(value):
        return text(x + SIDE / 2, y + SIDE / 2 + 4, "·", "faint", anchor="middle")
    strength = min(1.0, max(0.0, value))
    number = f"{value:.2f}".replace("-0.00", "0.00")
    place = f'x="{x + 1:.1f}" y="{y + 1:.1f}" width="{SIDE - 2}" height="{SIDE - 2}"'
    return (
        f"<g><title>{escape(what)}: {value:.3f}</title>"
        f'<rect class="ground" {place}/><rect class="{colour}" fill-opacity="{strength:.2f}" {place}/>'
        f"{text(x + SIDE / 2, y + SIDE / 2 + 4, number, 'small', anchor='middle')}</g>"
    )
