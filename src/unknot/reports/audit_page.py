"""An audit as one page, and its first table for the terminal."""

from collections.abc import Sequence
from pathlib import Path

from unknot.audits.audit import Audit, Audited
from unknot.reports.kit.page import Cell, Grid, Section, write_page
from unknot.reports.task_page import task_section

HEADS = {
    "linear": "linear reader",
    "mlp": "non-linear reader",
    "share": "best single latent",
    "random_r2": "R², random split",
    "composition_r2": "R², composition",
    "interpolation_r2": "R², interpolation",
    "extrapolation_r2": "R², extrapolation",
    "linear_random_both": "known combinations, linear",
    "linear_novel_both": "novel combinations, linear",
    "mlp_novel_both": "novel combinations, MLP",
    "unfairness": "unfairness (less is better)",
    "l2_coat": "L2-COAT",
    "acos_coat": "acos-COAT",
}
INTERVALS = {"linear": "linear reader", "mlp": "non-linear reader", "mig": "MIG"}
BY_FACTOR = {
    "linear": "Accuracy of a linear reader on held-out rows.",
    "mlp": "Accuracy of a small network on held-out rows.",
    "share": "How much of a factor its best single latent knows, of all there is to know.",
}


def write_audit_page(path: Path | str, audit: Audit) -> Path:
    """Write one page: a number for each question, then factor by factor, then every task."""
    sections = [_summary(audit)]
    if any(each.answers for each in audit.encoders):
        sections.append(_factors(audit))
    for task in dict.fromkeys(task for each in audit.encoders for task in each.results):
        sections.append(task_section([each.results[task] for each in audit.encoders if task in each.results]))
    named = ", ".join(each.name for each in audit.encoders if not each.floor)
    return write_page(path, "Audit of encoders", f"What {named} can tell of {audit.world}.", sections)


def summary_rows(audit: Audit) -> tuple[list[str], list[list[Cell]]]:
    """The heads of a table, and a row for each encoder; numbers that nobody has are left out."""
    known = [name for name in HEADS if any(name in each.headline for each in audit.encoders)]
    heads = ["encoder", "latents", *(HEADS[name] for name in known), *["place by MIG"] * bool(audit.places)]
    rows: list[list[Cell]] = []
    for each in audit.encoders:
        place = [_place(audit.places[each.name])] if each.name in audit.places else []
        numbers: list[Cell] = [each.headline.get(name) for name in known]
        rows.append([_title(each), each.width, *numbers, *place])
    return heads, rows


def refusals(audit: Audit) -> list[str]:
    """What was not answered, and why, in sentences."""
    return [f"{each.name}, {part}: {reason}" for each in audit.encoders for part, reason in each.refused.items()]


def _summary(audit: Audit) -> Section:
    heads, rows = summary_rows(audit)
    options = audit.options
    text = (
        f"Means over the factors of {audit.world}, {options.rows:,} images, seed {options.seed}. Floors are what an "
        "encoder must beat: pixels averaged over 16 x 16 squares, 64 random directions through them, and the "
        "same network before training. Places are those that resamples of the rows leave open."
    )
    unanswered = refusals(audit)
    parts = [Section("Not answered", unanswered, name="not-answered", open=True)] if unanswered else []
    grids = [Grid(heads, rows, name="audit")]
    if any(each.intervals for each in audit.encoders):
        grids.append(_intervals(audit))
    return Section("At a glance", [text], grids, parts)


def _intervals(audit: Audit) -> Grid:
    """What other rows may give: of readers by chance of the held-out ones, of MIG by resamples."""
    names = [name for name in INTERVALS if any(name in each.intervals for each in audit.encoders)]
    rows: list[list[Cell]] = []
    for each in audit.encoders:
        ends = [each.intervals.get(name) for name in names]
        rows.append([_title(each), *(None if end is None else f"{end[0]:.3f} to {end[1]:.3f}" for end in ends)])
    heads = ["encoder", *(INTERVALS[name] for name in names)]
    return Grid(heads, rows, "Intervals of 95 %: where the number lies on other images.", "intervals")


def _factors(audit: Audit) -> Section:
    asked = [each for each in audit.encoders if each.answers]
    names = [answer.factor for answer in asked[0].answers]
    chances: list[Cell] = [answer.chance for answer in asked[0].answers]
    grids = []
    for number, caption in BY_FACTOR.items():
        rows: list[list[Cell]] = [[_title(each), *_by_factor(each, number, names)] for each in asked]
        rows += [] if number == "share" else [["chance", *chances]]
        grids.append(Grid(["encoder", *names], rows, caption, f"factors-{number}"))
    where = [[_title(each), *(answer.where for answer in each.answers)] for each in asked if not each.floor]
    grids.append(Grid(["encoder", *names], where, "Which latent knows it.", "factors-where"))
    return Section("Factor by factor", contents=grids)


def _by_factor(each: Audited, number: str, names: Sequence[str]) -> list[Cell]:
    values = {answer.factor: vars(answer)[number] for answer in each.answers}
    return [values.get(name) for name in names]


def _title(each: Audited) -> str:
    return f"{each.name} (floor)" if each.floor else each.name


def _place(place: tuple[int, int]) -> str:
    first, last = place
    return str(first) if first == last else f"{first} to {last}"
