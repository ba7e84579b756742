"""Shares with their intervals, one row for each name, several marks in a row; in the style of `charts`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from unknot.reports.kit.svg import LETTER, WIDTH, Scale, across, short, svg, text

ROW, STYLES = 26, ("best", "dot", "up", "square")


@dataclass(frozen=True)
class Share:
    """One share of something, between 0 and 1."""

    value: float
    low: float
    high: float
    label: str


def share_chart(
    title: str,
    rows: Sequence[tuple[str, Sequence[Share]]],
    *,
    lines: Mapping[str, float],
    names: Sequence[str] = (),
) -> str:
    """Marks on a scale from 0 to 1.

    Args:
        title: above.
        rows: name -> marks, the k-th of every row in the k-th colour.
        lines: name -> where an upright line stands, such as chance.
        names: of the colours, below.
    """
    left = min(150.0, LETTER * max((len(name) for name, _ in rows), default=0) + 8)
    scale = Scale(-0.03, 1.03, left, WIDTH - 10, (0.0, 0.25, 0.5, 0.75, 1.0))
    bottom = 34 + ROW * len(rows)
    body = [text(0, 14, title, "title"), *across(scale, 26, bottom)]
    for name, at in lines.items():
        body.append(
            f'<path class="mark" stroke-dasharray="3 3" d="M{scale(at):.1f} 24V{bottom}">'
            f"<title>{escape(name)}: {at:.3f}</title></path>"
        )
    for i, (name, marks) in enumerate(rows):
        middle = 34 + ROW * (i + 0.5)
        body.append(text(left - 8, middle + 4, short(name, left - 8), anchor="end", title=name))
        for k, mark in enumerate(marks):
            y = middle + 7 * (k - (len(marks) - 1) / 2)
            body.append(
                f'<path class="dim" d="M{scale(mark.low):.1f} {y:.1f}H{scale(mark.high):.1f}"/>'
                f'<circle class="{STYLES[k % len(STYLES)]}" cx="{scale(mark.value):.1f}" cy="{y:.1f}" r="3.6">'
                f"<title>{escape(mark.label)}: {mark.value:.3f} ({mark.low:.3f} to {mark.high:.3f})</title></circle>"
            )
    for k, name in enumerate(names):
        y = bottom + 34 + 16 * k
        body.append(f'<circle class="{STYLES[k % len(STYLES)]}" cx="{left:.1f}" cy="{y - 4}" r="3.6"/>')
        body.append(text(left + 9, y, short(name, WIDTH - left - 12), "small", title=name))
    return svg(WIDTH, bottom + 22 + 16 * len(names), title, body)
