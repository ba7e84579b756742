"""What charts are put together from: scales, axes, words, and the drawing itself."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH = 340
LARGEST = 1e300  # a scale that reaches further has no length
LETTER = 7.1  # width of a letter in pixels, by a font that runs wide
BOLD = 8.3  # of titles
DIGIT = 6.0  # of a character of a number on an axis


@dataclass(frozen=True)
class Scale:
    """From numbers to pixels."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[float], start: float, end: float, *, whole: bool = False) -> "Scale":
        """A scale that holds the values, with a few round numbers on it; whole ones, if asked for.

        >>> Scale.of([0.12, 0.47], 0, 100).ticks
        (0.2, 0.3, 0.4)
        """
        values = [min(max(value, -LARGEST), LARGEST) for value in values if math.isfinite(value)]
        low, high = (min(values), max(values)) if values else (0.0, 1.0)
        pad = 0.05 * (high - low) or 0.5 * abs(high) or 1.0
        low, high = low - pad, high + pad
        rough = (high - low) / 4
        power = 10.0 ** math.floor(math.log10(rough))
        step = power * min((1, 2, 5, 10), key=lambda times: abs(math.log(times * power / rough)))
        step = max(1.0, step) if whole else step
        first, last = math.ceil(low / step), math.floor(high / step)
        return cls(low, high, start, end, tuple(round(i * step, 12) for i in range(first, last + 1)))

    def __call__(self, value: float) -> float:
        """The pixel of a value."""
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def across(scale: Scale, top: float, bottom: float) -> Iterator[str]:
    """Lines at the ticks of a horizontal scale, with their numbers below: as many as stand apart."""
    free = -math.inf
    for value in scale.ticks:
        x, words = scale(value), tick(value)
        yield f'<path class="axis" d="M{x:.1f} {top}V{bottom}"/>'
        half = DIGIT * len(words) / 2
        if x - half > free:
            free = x + half + DIGIT
            yield text(x, bottom + 14, words, "small soft", anchor="middle")


def upright(scale: Scale, left: float, right: float) -> Iterator[str]:
    """Lines at the ticks of a vertical scale, with their numbers to the left."""
    for value in scale.ticks:
        y = scale(value)
        yield f'<path class="axis" d="M{left} {y:.1f}H{right}"/>'
        yield text(left - 5, y + 4, tick(value), "small soft", anchor="end")


def tick(value: float) -> str:
    """A number on an axis."""
    return f"{value / 1000:g}k" if abs(value) >= 1000 else f"{value:g}"


def text(x: float, y: float, words: str, style: str = "", *, anchor: str = "", title: str = "") -> str:
    """Words at a place; `title` is what the pointer shows, where it says more."""
    where = f' text-anchor="{anchor}"' if anchor else ""
    how = f' class="{style}"' if style else ""
    more = f"<title>{escape(title)}</title>" if title and title not in words else ""
    return f'<text x="{x:.1f}" y="{y:.1f}"{where}{how}>{escape(words)}{more}</text>'


def short(words: str, width: float) -> str:
    """The words, cut with an ellipsis where they would be wider."""
    room = max(2, int(width / LETTER + 0.01))  # six letters are 42.599999999999994 wide
    return words if len(words) <= room else words[: room - 1] + "…"


def svg(width: float, height: float, label: str, body: Sequence[str], *, natural: bool = False) -> str:
    """The whole drawing. `natural`: keep the size, and scroll where it does not fit."""
    size = f' width="{width:.0f}" height="{height:.0f}"' if natural else ""
    return (
        f'<svg viewBox="0 0 {width:.0f} {height:.0f}"{size} role="img" aria-label="{escape(label)}">'
        f"{''.join(body)}</svg>"
    )
