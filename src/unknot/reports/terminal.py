"""A scorecard in the terminal."""

from collections.abc import Sequence

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from unknot.metrics.score import Measure
from unknot.metrics.verdict import FOUND
from unknot.reports.kit.hinton import hinton_text
from unknot.reports.kit.terminal import plain_table
from unknot.scoring.answers import Answer, in_a_sentence
from unknot.scoring.record import score_rows
from unknot.scoring.score_row import ScoreRow, said_by
from unknot.scoring.scorecard import Scorecard

QUESTIONS: dict[Measure, str] = {
    "modularity": "Does each latent know one factor?",
    "compactness": "Does one latent suffice for each factor?",
    "explicitness": "Can the factors be read off?",
    "holistic": "Does each factor have a latent of its own?",
    "robustness": "Do other factors leave a latent alone?",
    "independence": "Are the latents independent of each other?",
    "fairness": "Do predictions ignore the other factors?",
}
COLUMNS = (
    "known: share of the factor that its best latent knows; exclusive: share of what that latent knows that is about "
    "this factor."
)
BRIEF = 14  # letters of a chance level that fit the table
WIDEST = 60  # latents shown in the terminal's Hinton diagram


def show(card: Scorecard, console: Console) -> None:
    """Print what people ask first, factor by factor; then scores by their question, and a Hinton diagram."""
    for sentence in card.plan.about_factors:
        console.print(Text(sentence, style="yellow"))
    known = card.answers
    if known:
        console.print(Text(in_a_sentence(known), style="bold"))
        console.print()
        console.print(_answers(known))
        console.print(Text(COLUMNS, style="dim"))
        console.print()
    scored = [row for row in score_rows(card) if not row.refused]
    width = max((len(row.label) for row in scored), default=0)
    for measure, question in QUESTIONS.items():
        rows = [row for row in scored if row.measures == measure]
        if rows:
            console.print(Text.assemble((measure, "bold cyan"), (f"  {question}", "cyan")))
            intervals = any(row.interval for row in scored)
            console.print(_table(rows, width=width, intervals=intervals, wide=console.width >= 90))
    for record in card.records.values():
        if record.score is None:
            console.print(Text.assemble(("refused ", "yellow"), record.refused))
    for advice in card.plan.advice:
        console.print(Text(f"beware: {advice}", style="yellow"))
    for note in _notes(card):
        console.print(Text(f"note: {note}", style="dim"))
    if card.shares is not None:
        names = [verdict.factor for verdict in card.verdicts]
        if card.shares.shape[0] <= WIDEST and card.shares.max() > 0:
            console.print(Text("\nWho knows what: I(latent; factor) / H(factor), latents from left to right"))
            console.print(Text(hinton_text(card.shares, names)))
    seconds = sum(record.seconds for record in card.records.values())
    count = f"{len(card.records)} metric{'s' * (len(card.records) != 1)}"
    console.print(Text(f"\n{count} in {seconds:.1f} s, seed {card.plan.seed}", style="dim"))


def _table(rows: Sequence[ScoreRow], *, width: int, intervals: bool, wide: bool) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(min_width=width + 2, no_wrap=True)
    table.add_column(justify="right", min_width=9, no_wrap=True)
    if intervals:
        table.add_column(justify="right", min_width=14, no_wrap=True)
    table.add_column(min_width=6, no_wrap=True, style="dim")
    table.add_column(style="dim", overflow="fold")
    if wide:
        table.add_column(justify="right", style="dim", no_wrap=True)
    for row in rows:
        cells = [Text(f"  {row.label}"), _number(float(row.value))]
        if intervals:
            drift = "" if row.drift is None else f" {row.drift:+.3f}"
            cells.append(Text("{:.3f}..{:.3f}".format(*row.interval) + drift if row.interval else ""))
        chance = f"chance {row.chance}" if row.chance and len(row.chance) <= BRIEF else ""
        if row.above_chance is not None and row.p_chance is not None:
            chance += ", not above it" if row.above_chance <= 0 else f", above it {_share(row.above_chance)}"
        cells += [Text("higher" if row.higher_is_better else "lower"), Text(chance)]
        if wide:
            cells.append(Text("" if row.part else f"{row.seconds:.2f} s"))
        table.add_row(*cells)
    return table


def _share(part: float) -> str:
    return "<1 %" if part < 0.005 else f"{part:.0%}"


def _answers(known: Sequence[Answer]) -> Table:
    """Factor by factor: what can be read off it, what its best latent knows."""
    readers = [name for name in ("linear", "mlp", "chance") if any(np.isfinite(vars(a)[name]) for a in known)]
    table = plain_table(
        "factor", *readers, "known", "exclusive", "carried by", right=[*readers, "known", "exclusive"]
    )
    for answer in known:
        numbers = [*(vars(answer)[name] for name in readers), answer.share]
        exclusive = f"{answer.exclusivity:.2f}" if answer.share >= FOUND else "-"
        cells = ["-" if np.isnan(value) else f"{value:.2f}" for value in numbers]
        table.add_row(Text(answer.factor), *cells, exclusive, Text(answer.where))
    return table


def _notes(card: Scorecard) -> list[str]:
    notes: list[str] = []
    if card.plan.rows is not None:
        notes += [f"factor '{name}' was left out: {why}." for name, why in card.plan.rows.skipped.items()]
    general = card.plan.notes  # that a factor was cut into bins is said once, not by each metric again
    notes += general
    parts = {id_: {} if record.score is None else record.score.parts for id_, record in card.records.items()}
    own = {id_: [*card.records[id_].warnings, *parts[id_].get("notes", [])] for id_ in parts}
    return list(dict.fromkeys([*notes, *said_by(own, general)]))


def _number(value: float) -> Text:
    return Text("undefined" if np.isnan(value) else f"{value:.3f}", style="bold")
