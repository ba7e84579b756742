"""The card of a dictionary in the terminal and on a page."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from unknot.reports.kit.page import Cell, Grid, Section
from unknot.reports.kit.terminal import plain_table
from unknot.scoring.dictionaries.card import DictionaryCard

if TYPE_CHECKING:
    from rich.console import Console

LATENTS = 6  # that are named of each concept or group
ROWS = 40  # of a table in the terminal
VALUES = {
    "active_per_row": "latents that fire in a row",
    "dead": "share of latents that never fire",
    "dense": "share of latents that fire in more than a tenth of the rows",
    "duplicated": "share of latents that repeat another's direction",
    "best_auroc": "ROC area of the best latent of each concept, held out",
    "best_auroc_of_dense": "the same of the dense activations",
    "f1": "F1 of the largest part of each concept, held out",
    "f1_of_parts": "F1 of all its parts together",
    "split": "share of concepts that several latents share",
    "absorbed": "share of a concept's rows that narrower latents have taken over",
    "mcc": "mean cosine with other seeds, matched one to one as well as possible",
    "udr": "UDR with other seeds",
}
CONCEPTS = ("concept", "best", "area", "dense", "parts", "F1", "all parts", "absorbed by", "share")
BESIDE = ("metric", "codes", "dense activations")
AGREEMENT = ("dictionary", "other", "MCC", "at most", "proven", "UDR")


def show_dictionary(card: DictionaryCard, console: "Console", dense: Mapping[str, Sequence[Any]]) -> None:
    """Print the headline numbers, what became of each concept, how other seeds agree, and scores side by side.

    Args:
        card: of the dictionary.
        console: where to.
        dense: metric -> its value of the codes and of the dense activations.
    """
    from rich.text import Text

    what = f"\nDictionary of {card.n_latents:,} directions in {card.width:,} dimensions, {card.n_rows:,} rows"
    console.print(Text(what, style="bold cyan"))
    table = plain_table("", "value", "what it is", right=["value"], whole=["", "value"])
    for name, value in card.values().items():
        table.add_row(f"  {name}", f"{value:.3f}", VALUES[name])
    console.print(table)
    if card.concepts:
        console.print()
        _print(console, CONCEPTS, list(_concept_rows(card)), words=("concept", "parts", "absorbed by"))
    if card.agreement:
        console.print()
        _print(console, AGREEMENT, _agreement_rows(card), words=("dictionary", "other", "proven"))
    if dense:
        console.print()
        _print(console, BESIDE, _beside_rows(dense), words=("metric",))
    for note in card.notes:
        console.print(Text(f"note: {note}", style="dim"))


def dictionary_section(card: DictionaryCard, dense: Mapping[str, Sequence[Any]]) -> Section:
    """The same as part of a page."""
    values: list[list[Cell]] = [[name, value, VALUES[name]] for name, value in card.values().items()]
    grids = [Grid(("number", "value", "what it is"), values, name="dictionary")]
    if card.concepts:
        caption = (
            "Best: the latent with the largest ROC area, chosen on training rows; area and F1 are of test rows. Dense: "
            "area of the best unit of the dense activations. Parts: latents that fire for the concept; several if it "
            "is split. Absorbed by: narrower latents that fire in the place of its parts, in this share of its rows."
        )
        grids.append(Grid(CONCEPTS, list(_concept_rows(card)), caption, name="concepts"))
    if card.duplicates:
        groups: list[list[Cell]] = [[len(group), _named(group)] for group in card.duplicates]
        grids.append(Grid(("latents", "that have one direction"), groups, name="duplicates"))
    if card.agreement:
        caption = "MCC: mean size of the cosines of directions, matched one to one. At most: no matching has more."
        grids.append(Grid(AGREEMENT, _agreement_rows(card), caption, name="agreement"))
    if dense:
        grids.append(Grid(BESIDE, _beside_rows(dense), name="beside"))
    return Section("The dictionary", list(card.notes), grids)


def _concept_rows(card: DictionaryCard) -> Iterator[list[Cell]]:
    for concept in card.concepts:
        yield [
            concept.name,
            f"z{concept.latent}",
            concept.area,
            concept.dense_area,
            _named(concept.parts),
            concept.f1,
            concept.f1_of_parts,
            _named(concept.absorbed_by),
            concept.absorbed,
        ]


def _agreement_rows(card: DictionaryCard) -> list[list[Cell]]:
    return [[p.first, p.second, p.mcc, p.bound, "yes" if p.exact else "no", p.udr] for p in card.agreement]


def _beside_rows(dense: Mapping[str, Sequence[Any]]) -> list[list[Cell]]:
    return [[metric, *values] for metric, values in dense.items()]


def _named(latents: Sequence[int]) -> str:
    more = f" and {len(latents) - LATENTS} more" if len(latents) > LATENTS else ""
    return " ".join(f"z{latent}" for latent in latents[:LATENTS]) + more


def _print(
    console: "Console", header: Sequence[str], rows: Sequence[Sequence[Cell]], words: Sequence[str]
) -> None:
    """A table, cut where it is long; columns without any number are left out."""
    from rich.text import Text

    kept = [c for c in range(len(header)) if any(row[c] not in (None, "") for row in rows)]
    table = plain_table(*(header[c] for c in kept), right=[name for name in header if name not in words])
    for row in rows[:ROWS]:
        table.add_row(*(Text(_cell(row[c])) for c in kept))
    console.print(table)
    if len(rows) > ROWS:
        console.print(Text(f"and {len(rows) - ROWS} more; --json and --html have all", style="dim"))


def _cell(value: Cell) -> str:
    return "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
