"""R² as bars with the marks of a constant predictor beside them, and histograms, in the style of `charts`."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from unknot.reports.kit.svg import LETTER, WIDTH, Scale, across, short, svg, text

LOWEST = -1.0  # R² below this is drawn here, and its number tells
ROW = 22


@dataclass(frozen=True)
class Bar:
    """One model on one split.

    Attributes:
        label: of the row.
        value: R².
        marks: name -> R² of something to compare with.
        title: the whole name, for the pointer.
    """

    label: str
    value: float
    marks: dict[str, float]
    title: str = ""


def r2_bars(title: str, bars: Sequence[Bar]) -> str:
    """A bar from 0 to R² for each model; marks stand across it. Bars that leave the scale end at its edge."""
    left = min(120.0, LETTER * max(len(bar.label) for bar in bars) + 10)
    scale = Scale(LOWEST, 1.0, left, WIDTH - 44, (-1.0, -0.5, 0.0, 0.5, 1.0))
    height = 30 + ROW * len(bars) + 22
    body = [text(0, 14, title, "title"), *across(scale, 24, height - 22)]
    for i, bar in enumerate(bars):
        y = 30 + ROW * i
        body.append(text(left - 8, y + 15, short(bar.label, left - 8), anchor="end", title=bar.title or bar.label))
        body.append(_bar(scale, y, bar))
        for name, value in bar.marks.items():
            x = scale(_inside(value))
            body.append(
                f'<path class="mark" d="M{x:.1f} {y + 1}v{ROW - 4}"><title>{escape(name)}: {value:.3f}</title></path>'
            )
        body.append(text(WIDTH - 2, y + 15, _number(bar.value), "small", anchor="end"))
    return svg(WIDTH, height, title, body)


def _bar(scale: Scale, y: float, bar: Bar) -> str:
    if bar.value != bar.value:
        return text(scale(0.0) + 4, y + 15, "no value", "small faint")
    start, end = sorted((scale(0.0), scale(_inside(bar.value))))
    style = "up" if bar.value > 0 else "down"
    return (
        f'<rect class="{style}" x="{start:.1f}" y="{y + 4}" width="{max(end - start, 0.5):.1f}" height="{ROW - 10}">'
        f"<title>{escape(bar.title or bar.label)}: {bar.value:.3f}</title></rect>"
    )


def histogram(title: str, starts: Sequence[float], counts: Sequence[int], width: float, mark: float) -> str:
    """Shares of rows in bins of one width, and a line where `mark` is.

    Args:
        title: above.
        starts: where each bin begins.
        counts: rows in each.
        width: of the bins.
        mark: a number to stand out.
    """
    height, total, top = 150, sum(counts), max(counts)
    scale = Scale.of([0.0, starts[-1] + width], 10, WIDTH - 10)
    body = [text(0, 14, title, "title"), *across(scale, 24, height - 22)]
    for start, count in zip(starts, counts, strict=True):
        tall = (height - 50) * count / top
        x, end = scale(start), scale(start + width)
        body.append(
            f'<rect class="up" x="{x + 0.5:.1f}" y="{height - 22 - tall:.1f}" width="{max(end - x - 1, 0.5):.1f}" '
            f'height="{tall:.1f}"><title>{start:g} to {start + width:g}: {100 * count / total:.1f} %</title></rect>'
        )
    body.append(f'<path class="mark" d="M{scale(mark):.1f} 24V{height - 22}"><title>{mark:g}</title></path>')
    return svg(WIDTH, height, title, body)


def _inside(value: float) -> float:
    return min(1.0, max(LOWEST, value))


def _number(value: float) -> str:
    if value != value:
        return "-"
    return f"{value:.2f}" if abs(value) < 100 else f"{value:.0f}"
