"""Charts over the steps of training, which are drawn on a scale of powers of ten: curves, bands, lines to compare."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from unknot.reports.kit.svg import WIDTH, Scale, across, svg, text, tick, upright

HEIGHT = 210
DASHES = ("", "6 3", "2 3", "8 3 2 3")


@dataclass(frozen=True)
class Curve:
    """Values over steps, with a band around them if `low` and `high` are given."""

    name: str
    steps: Sequence[float]
    values: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    strength: float = 1.0  # of the ink
    dashes: int = 0  # which of DASHES


def step_curves(
    title: str,
    curves: Sequence[Curve],
    *,
    references: Mapping[str, float] | None = None,
    bounds: tuple[float, float] | None = None,
    unit: str = "steps",
) -> str:
    """Curves over steps, with names at their ends, and grey lines for what they are held against.

    Args:
        title: of the chart.
        curves: one or more.
        references: name -> value of a horizontal line.
        bounds: of the upright axis, if it should hold more than the values.
        unit: what the axis below counts.
    """
    lines = references or {}
    named = len(curves) > 1 or bool(lines)
    right = WIDTH - (92 if named else 12)
    drawn = [v for c in curves for part in (c.values, c.low, c.high) for v in part if math.isfinite(v)]
    steps = [s for c in curves for s in c.steps if 0 < s < math.inf]
    x = _Steps(min(steps, default=1), max(steps, default=1), 44, right)
    y = Scale.of([*drawn, *lines.values(), *(bounds or ())], HEIGHT - 36, 26)
    body = [text(0, 14, title, "title"), *upright(y, 42, right), *x.axis(24, HEIGHT - 34)]
    body.append(text(right, HEIGHT - 4, unit, "small soft", anchor="end"))
    labels: list[tuple[float, str, str]] = []
    for name, value in lines.items():
        what = f"<title>{escape(name)}: {value:.3f}</title>"
        body.append(f'<path class="dim" stroke-dasharray="3 3" d="M42.0 {y(value):.1f}H{right:.1f}">{what}</path>')
        labels.append((y(value), name, "small soft"))
    for curve in curves:
        body += _band(x, y, curve)
    for curve in curves:
        body.append(_curve(x, y, curve))
        ends = [v for v in curve.values if math.isfinite(v)]
        if len(curves) > 1 and ends:
            labels.append((y(ends[-1]), curve.name, "small"))
    for at, name, style in _apart(labels):
        body.append(text(right + 6, at + 4, name if len(name) <= 14 else name[:13] + "…", style, title=name))
    return svg(WIDTH, HEIGHT, title, body)


def dumbbells(title: str, rows: Sequence[tuple[str, float, Mapping[str, float]]]) -> str:
    """One line for each label: a dot for the value, and a tick for each number it is held against.

    Names of ticks stand above and below the line in turn, so that two that are near can be read.
    """
    height = 56 + 46 * len(rows)
    scale = Scale(0.0, 1.0, 92, WIDTH - 16, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))
    body = [text(0, 14, title, "title"), *across(scale, 26, height - 22)]
    for i, (label, value, others) in enumerate(rows):
        y = 50 + 46 * i
        body.append(text(82, y + 4, label, anchor="end"))
        body.append(f'<path class="dim" d="M{scale(0):.1f} {y}H{scale(1):.1f}"/>')
        for j, (name, other) in enumerate(others.items()):
            at = scale(other)
            what = f"<title>{escape(name)}: {other:.3f}</title>"
            body.append(f'<path class="mark" d="M{at:.1f} {y - 7}v14">{what}</path>')
            edge = "end" if at > WIDTH - 60 else "middle"
            body.append(text(at, y - 11 if j % 2 == 0 else y + 18, name, "small soft", anchor=edge))
        if math.isfinite(value):
            what = f"<title>{escape(label)}: {value:.3f}</title>"
            body.append(f'<circle class="best" cx="{scale(value):.1f}" cy="{y}" r="5.5">{what}</circle>')
    return svg(WIDTH, height, title, body)


@dataclass(frozen=True)
class _Steps:
    """From steps to pixels, by their logarithm."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, step: float) -> float:
        if self.high <= self.low:
            return (self.start + self.end) / 2
        share = math.log(step / self.low) / math.log(self.high / self.low)
        return self.start + 6 + share * (self.end - self.start - 12)

    def axis(self, top: float, bottom: float) -> Iterator[str]:
        """A tick at 1, 2 and 5 times powers of ten, fewer where there are many."""
        span = math.log10(max(self.high / self.low, 1.0))
        times = (1,) if span > 3.5 else (1, 2, 5)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        ticks = [t * 10**p for p in powers for t in times if self.low <= t * 10**p <= self.high]
        for value in ticks or [self.low]:
            x = self(value)
            yield f'<path class="axis" d="M{x:.1f} {top}V{bottom}"/>'
            yield text(x, bottom + 14, tick(value), "small soft", anchor="middle")


def _curve(x: _Steps, y: Scale, curve: Curve) -> str:
    known = [
        (s, v) for s, v in zip(curve.steps, curve.values, strict=True) if 0 < s < math.inf and math.isfinite(v)
    ]
    points = [(x(s), y(v)) for s, v in known]
    if not points:
        return ""
    shown = [v for v in curve.values if math.isfinite(v)]
    what = f"<title>{escape(curve.name)}: {shown[-1]:.3f} at the end</title>"
    if len(points) == 1:
        return f'<circle class="dot" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="3">{what}</circle>'
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    dash = DASHES[curve.dashes % len(DASHES)]
    how = f' stroke-opacity="{curve.strength:.2f}"' + (f' stroke-dasharray="{dash}"' if dash else "")
    return f'<path class="mark"{how} d="M{path}">{what}</path>'


def _band(x: _Steps, y: Scale, curve: Curve) -> Iterator[str]:
    if not len(curve.low):
        return
    edges = zip(curve.steps, curve.low, curve.high, strict=True)
    known = [(x(s), y(a), y(b)) for s, a, b in edges if 0 < s < math.inf and math.isfinite(a) and math.isfinite(b)]
    if len(known) > 1:
        there = [f"{s:.1f} {a:.1f}" for s, a, _ in known]
        back = [f"{s:.1f} {b:.1f}" for s, _, b in reversed(known)]
        yield f'<path class="up" fill-opacity="0.18" d="M{"L".join(there + back)}Z"/>'


def _apart(labels: Sequence[tuple[float, str, str]], gap: float = 11.0) -> list[tuple[float, str, str]]:
    """Names moved down where they would lie on top of each other; as a whole they stay in the chart."""
    placed: list[tuple[float, str, str]] = []
    for at, name, style in sorted(labels):
        placed.append((max(at, placed[-1][0] + gap) if placed else at, name, style))
    over = max(0.0, placed[-1][0] - (HEIGHT - 36)) if placed else 0.0
    for i in range(len(placed) - 1, -1, -1):
        at, name, style = placed[i]
        ceiling = HEIGHT - 36 if i == len(placed) - 1 else placed[i + 1][0] - gap
        placed[i] = (min(at, ceiling) if over else at, name, style)
    return placed
