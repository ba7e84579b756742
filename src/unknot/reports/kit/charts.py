"""Charts as inline SVG: they follow the page's colours, light or dark, and every mark says what it is.

Marks carry a title, which browsers show under the pointer, and may link to a section of the page. All text is
escaped here. Widths are those of a phone; pages set several side by side.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
from numpy.typing import NDArray

from unknot.reports.kit.svg import LETTER, WIDTH, Scale, across, short, svg, text, upright

CROWD = 400  # dots of a chart; of more than that, only those outside the whiskers are drawn
LONGEST = 300  # points of a curve that can be told apart
CLEAR = 0.05  # p-values below this are called significant


@dataclass(frozen=True)
class Dot:
    """One run in a chart."""

    value: float
    label: str
    anchor: str = ""
    across: float = 0.0  # its place on the other axis, for `scatter`


def box_plot(title: str, rows: Sequence[tuple[str, Sequence[Dot]]]) -> str:
    """One box for each setting: quartiles, median, whiskers to 1.5 quartile ranges, and a dot for each run."""
    known = [(label, [dot for dot in dots if math.isfinite(dot.value)]) for label, dots in rows]
    values = [dot.value for _, dots in known for dot in dots]
    left = min(165.0, LETTER * max((len(label) for label, _ in rows), default=0) + 8)
    scale = Scale.of(values, left, WIDTH - 12)
    height = 30 + 24 * len(rows) + 22
    body = [text(0, 14, title, "title"), *across(scale, 24, height - 22)]
    for i, (label, dots) in enumerate(known):
        y = 30 + 24 * i + 12
        body.append(text(left - 8, y + 4, short(label, left - 8), anchor="end", title=label))
        body += _box(scale, y, dots, all_dots=len(values) <= CROWD)
    return svg(WIDTH, height, title, body)


def scatter(title: str, dots: Sequence[Dot], x_name: str, y_name: str, best: Sequence[str] = ()) -> str:
    """Dots by two numbers; those whose label is among the `best` stand out."""
    known = [dot for dot in dots if math.isfinite(dot.value) and math.isfinite(dot.across)]
    height = 260
    places = [dot.across for dot in known]
    x = Scale.of(places, 48, WIDTH - 14, whole=all(float(place).is_integer() for place in places))
    y = Scale.of([dot.value for dot in known], height - 40, 30)
    body = [text(0, 14, title, "title"), *across(x, 26, height - 38), *upright(y, 44, WIDTH - 10)]
    body.append(text(WIDTH - 14, height - 4, x_name, "soft", anchor="end"))
    body.append(text(0, 30, y_name, "soft"))
    for dot in known:
        chosen = dot.label in best
        body.append(_dot(x(dot.across), y(dot.value), dot, "best" if chosen else "dot", 5 if chosen else 3.2))
    return svg(WIDTH, height, title, body)


def curves(
    title: str, steps: Sequence[float], lines: Mapping[str, Sequence[float]], *, dim_below: float = -1
) -> str:
    """Values over steps, one line for each name; lines that end below `dim_below` are greyed.

    With one line, its name is the title; of several, each is named at its end.
    """
    height, right = 170, 40 if len(lines) > 1 else 10
    finite = [v for line in lines.values() for v in line if math.isfinite(v)]
    x, y = Scale.of(list(steps), 52, WIDTH - right), Scale.of(finite, height - 24, 26)
    body = [text(0, 14, title, "title"), *across(x, 24, height - 22), *upright(y, 50, WIDTH - right)]
    taken: list[float] = []
    for name, line in sorted(lines.items(), key=lambda item: -item[1][-1] if math.isfinite(item[1][-1]) else 0.0):
        dim = math.isfinite(line[-1]) and line[-1] < dim_below
        body.append(_line(x, y, steps, line, name, "dim" if dim else "mark"))
        if len(lines) > 1 and math.isfinite(line[-1]):
            at = y(line[-1]) + 4
            if all(abs(at - other) >= 10 for other in taken):  # a name on top of another could not be read
                taken.append(at)
                body.append(text(WIDTH - right + 5, at, name, "small faint" if dim else "small"))
    return svg(WIDTH, height, title, body)


def heat_map(names: Sequence[str], rho: NDArray[np.float64], p: NDArray[np.float64]) -> str:
    """Correlations below the diagonal; what is not significant is pale, and its number grey.

    Args:
        names: of the k measures.
        rho: (k, k) correlations; NaN where there is none.
        p: (k, k) their p-values.
    """
    k, side = len(names), 32
    left = min(230.0, LETTER * max(map(len, names)) + 36)
    body = []
    for i, name in enumerate(names):
        y = 22 + side * i
        body.append(text(left - 10, y + 20, f"{i + 1}  {short(name, left - 36)}", anchor="end", title=name))
        body.append(text(left + side * i + side / 2, y + 20, str(i + 1), "soft", anchor="middle"))
        for j in range(i):
            body.append(_cell(left + side * j, y, side, f"{name} and {names[j]}", rho[i, j], p[i, j]))
    width = left + side * k + 4
    return svg(width, 26 + side * k, "rank correlations", body, natural=True)


def hinton(shares: NDArray[np.float64], names: Sequence[str], latents: Sequence[int] = ()) -> str:
    """One square for each latent and factor, its area what the latent knows of the factor.

    Args:
        shares: (d, k) I(latent; factor) / H(factor).
        names: of the k factors.
        latents: their numbers, if they are not 0 to d - 1.
    """
    d, k = shares.shape
    numbers = latents or range(d)
    side = 26 if d <= 24 else 14
    left = min(160.0, LETTER * max(map(len, names)) + 12)
    body = [f'<rect class="ground" x="{left:.1f}" y="2" width="{side * d}" height="{side * k}"/>']
    for j, name in enumerate(names):
        y = 2 + side * (j + 0.5)
        body.append(text(left - 8, y + 4, short(name, left - 8), anchor="end", title=name))
        for i in range(d):
            edge = 0.94 * side * math.sqrt(min(1.0, max(0.0, float(shares[i, j]))))
            body.append(
                f'<rect class="square" x="{left + side * (i + 0.5) - edge / 2:.2f}" y="{y - edge / 2:.2f}" '
                f'width="{edge:.2f}" height="{edge:.2f}"><title>z{numbers[i]} knows {shares[i, j]:.3f} of '
                f"{escape(name)}</title></rect>"
            )
    every = 1 if side > 20 else 5
    for i in range(0, d, every):
        body.append(text(left + side * (i + 0.5), side * k + 17, f"z{numbers[i]}", "small soft", anchor="middle"))
    return svg(left + side * d + 4, side * k + 24, "which latent knows which factor", body, natural=True)


def _box(scale: Scale, y: float, dots: Sequence[Dot], *, all_dots: bool) -> Iterator[str]:
    if not dots:
        yield text(scale.start, y + 4, "no value", "small faint")
        return
    values = np.array([dot.value for dot in dots])
    q1, median, q3 = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (q3 - q1)
    low, high = values[values >= q1 - reach].min(), values[values <= q3 + reach].max()
    if len(dots) > 2:
        yield f'<path class="mark" d="M{scale(low):.1f} {y}H{scale(q1):.1f}M{scale(q3):.1f} {y}H{scale(high):.1f}"/>'
        yield (
            f'<rect class="box" x="{scale(q1):.1f}" y="{y - 8}" width="{scale(q3) - scale(q1):.1f}" height="16"/>'
            f'<path class="mark" d="M{scale(median):.1f} {y - 8}v16"/>'
        )
    for dot in dots:
        if all_dots or not low <= dot.value <= high:
            yield _dot(scale(dot.value), y, dot, "dot", 3)


def _cell(x: float, y: float, side: float, what: str, rho: float, p: float) -> str:
    if not math.isfinite(rho):
        gap = text(x + side / 2, y + 20, "·", "faint", anchor="middle")
        return f"<g><title>{escape(what)}: undefined</title>{gap}</g>"
    clear = p < CLEAR
    opacity = abs(rho) * (1 if clear else 0.25)
    number = f"{rho:.2f}".replace("-0.00", "0.00").replace("0.", ".", 1)
    return (
        f"<g><title>{escape(what)}: {rho:.3f}, p = {p:.2g}</title>"
        f'<rect class="{"up" if rho > 0 else "down"}" fill-opacity="{opacity:.2f}" x="{x + 1:.1f}" y="{y + 1:.1f}" '
        f'width="{side - 2}" height="{side - 2}"/>'
        f"{text(x + side / 2, y + 20, number, 'small' if clear else 'small faint', anchor='middle')}</g>"
    )


def _line(x: Scale, y: Scale, steps: Sequence[float], line: Sequence[float], name: str, style: str) -> str:
    every = max(1, len(line) // LONGEST)
    points = [(x(s), y(v)) for s, v in list(zip(steps, line, strict=True))[::every] if math.isfinite(v)]
    what = f"<title>{escape(name)}: {line[-1]:.4g} at the end</title>"
    if len(points) == 1:
        return f'<circle class="dot" cx="{points[0][0]:.1f}" cy="{points[0][1]:.1f}" r="2.5">{what}</circle>'
    path = "L".join(f"{a:.1f} {b:.1f}" for a, b in points)
    return f'<path class="{style}" d="M{path}">{what}</path>' if points else ""


def _dot(x: float, y: float, dot: Dot, style: str, radius: float) -> str:
    drawn = (
        f'<circle class="{style}" cx="{x:.1f}" cy="{y:.1f}" r="{radius}">'
        f"<title>{escape(dot.label)}: {dot.value:.4g}</title></circle>"
    )
    return f'<a href="#{escape(dot.anchor)}">{drawn}</a>' if dot.anchor else drawn
