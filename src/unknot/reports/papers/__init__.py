"""What comes out when the published tables are recomputed, paper by paper: how firm is each claim?"""

from collections.abc import Callable

from unknot.papers import find_paper
from unknot.reports.papers.duan2020 import duan2020
from unknot.reports.papers.mahon2024 import mahon2024
from unknot.reports.papers.recomputed import Recomputed
from unknot.reports.papers.schott2022 import schott2022
from unknot.reports.papers.vansteenkiste2019 import vansteenkiste2019
from unknot.reports.papers.xie2022 import xie2022

RECOMPUTED: dict[str, Callable[[], Recomputed]] = {
    "mahon2024": mahon2024,
    "duan2020": duan2020,
    "xie2022": xie2022,
    "schott2022": schott2022,
    "vansteenkiste2019": vansteenkiste2019,
}


def recompute(key: str) -> Recomputed:
    """The claims of a paper and what its own tables say of them."""
    return RECOMPUTED[find_paper(key).key]()
