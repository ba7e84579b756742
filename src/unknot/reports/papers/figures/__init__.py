"""The tables and figures of the papers made anew from one's own studies, beside the published numbers."""

from collections.abc import Sequence
from pathlib import Path

from unknot.papers import find_paper
from unknot.reports.kit.page import Section
from unknot.reports.papers.figures import duan2020, mahon2024, schott2022, vansteenkiste2019, xie2022
from unknot.reports.papers.figures.figure import Figure
from unknot.reports.papers.figures.own import Own

FIGURES: dict[str, tuple[Figure, ...]] = {
    "mahon2024": mahon2024.FIGURES,
    "duan2020": duan2020.FIGURES,
    "xie2022": xie2022.FIGURES,
    "schott2022": schott2022.FIGURES,
    "vansteenkiste2019": vansteenkiste2019.FIGURES,
}


def own_sections(key: str, paths: Sequence[Path | str]) -> list[Section]:
    """The tables and figures of a paper, from studies, runs and results of one's own; what is missing is said."""
    own = Own(paths)
    return [figure.section(own) for figure in FIGURES[find_paper(key).key]]
