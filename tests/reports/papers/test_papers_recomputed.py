"""The other four papers recomputed, and the page and the terminal of all five."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from unknot.errors import UnknotError
from unknot.papers import PAPERS, table
from unknot.reports.kit.page import Drawing, Grid, Section
from unknot.reports.papers import RECOMPUTED, recompute
from unknot.reports.papers.duan2020 import comparisons, versions
from unknot.reports.papers.page import STYLES, show_recomputed, write_paper_page
from unknot.reports.papers.recomputed import Recomputed
from unknot.reports.papers.schott2022 import drops, medians, split_shares
from unknot.reports.papers.vansteenkiste2019 import figure8
from unknot.reports.papers.xie2022 import against_pixels, repeated
from unknot.worlds import WORLDS
from unknot.worlds.splits.named import named_split

NAMES = {  # of factors in Tables 2 and 3 of Schott et al. -> in our worlds
    "x_position": "x",
    "y_position": "y",
    "floor_color": "floor_hue",
    "wall_color": "wall_hue",
    "object_color": "object_hue",
    "object_size": "size",
    "object_type": "shape",
    "background_color": "background",
    "x_axis": "horizontal",
    "y_axis": "vertical",
}


@pytest.fixture(scope="module", params=list(PAPERS))
def outcome(request: pytest.FixtureRequest) -> Recomputed:
    return recompute(request.param)


def why(key: str, words: str) -> tuple[str, str]:
    """Verdict and reason of the one claim with these words."""
    (claim,) = [claim for claim in recompute(key).claims if words in claim.text]
    return claim.verdict, claim.why


def test_every_paper_is_recomputed_and_no_other() -> None:
    assert list(RECOMPUTED) == list(PAPERS)
    with pytest.raises(UnknotError, match="did you mean 'duan2020'"):
        recompute("duan2021")


def test_every_claim_has_a_place_a_verdict_and_a_reason(outcome: Recomputed) -> None:
    assert len(outcome.claims) >= 4 and outcome.sections
    for claim in outcome.claims:
        assert claim.text.endswith(".") and claim.why.endswith(".") and claim.where
        assert claim.verdict in STYLES and "nan" not in claim.why


def test_every_table_of_a_section_has_rows_as_wide_as_its_head(outcome: Recomputed) -> None:
    def grids(section: Section) -> list[Grid]:
        inside = [content for content in section.contents if isinstance(content, Grid)]
        return inside + [grid for part in section.parts for grid in grids(part)]

    for section in outcome.sections:
        for grid in grids(section):
            assert grid.rows and {len(row) for row in grid.rows} == {len(grid.header)}


def test_averages_of_table_1_of_duan2020() -> None:
    means = versions().mean().round(3).to_dict()
    assert means == {"udr_l": 0.647, "udr_l_a2a": 0.722, "udr_s": 0.637, "udr_s_a2a": 0.713}
    verdict, reason = why("duan2020", "Lasso")
    assert verdict == "holds in part" and "higher in 6 of 12 pairs, Spearman in 4" in reason
    assert "6 of 6 on dsprites, 2 of 6 on shapes3d" in why("duan2020", "all models with all")[1]


def test_table_2_of_duan2020_rises_but_for_two_steps() -> None:
    course = comparisons().set_index("pairwise_comparisons")
    assert course.index[course["rise"] < 0].tolist() == [25]
    assert course.index[course["fall_of_spread"] < 0].tolist() == [15]
    assert why("duan2020", "5400")[0] == "holds"


def test_numbers_that_stand_twice_in_xie2022() -> None:
    twice = repeated()
    assert (twice["same"].sum(), len(twice)) == (12, 14)
    assert twice[~twice["same"]]["in_text"].tolist() == [60.70, 77.02]
    assert "77.07, above the pixels' 75.47 by 1.60, 2.2 standard errors" in why("xie2022", "beat the pixels")[1]
    assert "53.2 %" in why("xie2022", "wrong pictures")[1]


def test_the_row_that_is_perhaps_without_occlusion_is_compared_with_such_pixels() -> None:
    rows = against_pixels().set_index("value")
    assert rows.loc[83.84, "test_occlusion"] == "without (inferred)"
    assert rows.loc[83.84, "gain"] == pytest.approx(83.84 - 97.18)
    assert rows.loc[77.07, "gain"] == pytest.approx(1.60)


def test_drops_of_schott2022() -> None:
    rows = medians(drops()).set_index(["dataset", "split"])
    assert rows.loc[("celeb_glow", "composition"), ["drop", "least"]].round(1).tolist() == [19.4, 15.1]
    assert rows.loc[("celeb_glow", "interpolation"), "drop"] == pytest.approx(7.8)
    assert rows.loc[("dsprites_quarter", "interpolation"), "drop"] == pytest.approx(0.4)
    assert "3 of 17 models lose more than 5" in why("schott2022", "rotational symmetry")[1]
    assert why("schott2022", "70 to 95")[1].startswith("11 of 17 reach 99; 13 of 17")
    assert "39 of 68 cells are within one combined spread, 54 of 68" in why("schott2022", "Simple renders")[1]
    assert "SlowVAE (66.7) is the best of all 17" in why("schott2022", "disentangled codes")[1]
    assert "0.996" in why("schott2022", "readout")[1]


def test_table_4_of_schott2022_has_its_columns_exchanged() -> None:
    shares = split_shares()
    assert len(shares) == 9
    assert (shares["training"] - shares["printed_test"]).abs().max() < 0.06
    assert (shares["training"] - shares["printed_training"]).abs().min() > 30


def test_figure_8_of_vansteenkiste2019_is_two_heat_maps() -> None:
    (section,) = recompute("vansteenkiste2019").sections
    drawings = [content for content in section.contents if isinstance(content, Drawing)]
    assert len(drawings) == 2 and all(
        "beta_vae_score and" in d.svg or "and beta_vae_score" in d.svg for d in drawings
    )
    names, rho = figure8("abstract_dsprites")
    assert rho[names.index("mig"), names.index("sap")] == 0.89
    assert "10^84" in why("vansteenkiste2019", "10^144")[1]


@pytest.mark.parametrize("key", PAPERS)
def test_a_page_has_claims_tables_and_every_number_of_them(key: str, tmp_path: Path) -> None:
    page = write_paper_page(tmp_path / "page.html", PAPERS[key]).read_text(encoding="utf-8")
    assert "How firm is each claim?" in page and f"unknot papers {key} --recompute" in page
    assert page.count("<details") >= len(recompute(key).claims) + 3
    assert "nan" not in page.replace("printed as nan", "")


def test_the_terminal_shows_claims_and_tables() -> None:
    file = io.StringIO()
    show_recomputed(PAPERS["mahon2024"], Console(width=120, file=file))
    shown = file.getvalue()
    assert "12 of 20 cells" in shown and "7 of 9 vanish" in " ".join(shown.split())
    assert "comes out" in shown and max(map(len, shown.splitlines())) <= 120


def test_values_of_tables_2_and_3_of_schott2022_are_those_of_our_splits() -> None:
    checked = 0
    for cell in [*table("schott2022", "table2").itertuples(), *table("schott2022", "table3").itertuples()]:
        entry = WORLDS[str(cell.dataset)]
        assert entry.factors is not None
        name = NAMES.get(str(cell.factor), str(cell.factor))
        ours = named_split(str(cell.split), entry.factors, entry.conventions.rule).exclusive
        assert sorted(ours.get(name, ())) == sorted(map(int, str(cell.values).split())), cell
        checked += name in entry.factors.names
    assert checked == 62
