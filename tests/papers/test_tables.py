"""The published tables: all of them can be read, say their unit, what is doubtful and where they stand."""

import csv
import re
from importlib.resources import files

import pandas as pd
import pytest

import unknot
from unknot.errors import UnknotError
from unknot.papers import PAPERS, PublishedTable, table, tables

ALL = {f"{key} {name}": each for key in PAPERS for name, each in tables(key).items()}
every = pytest.mark.parametrize("published", ALL.values(), ids=ALL)
UNITS = {
    "percent",
    "fraction",
    "correlation",
    "correlation x 100",
    "tree reconstruction error",
    "yes 1 or no 0",
    "images",
    "number",
    "p_value",
    "pixels",
    "sigma",
    "degree",
    "degrees",
    "GPU hours",
    "GPU years",
}
WORDS = {("duan2020", "table5"), ("duan2020", "table6"), ("vansteenkiste2019", "hyperparameters")}  # of settings


@every
def test_a_table_can_be_read_and_says_what_is_doubtful_and_where_it_stands(published: PublishedTable) -> None:
    rows = published.read()
    assert len(rows) > 0
    assert list(rows.columns[-3:]) == ["unit", "doubt", "source"]
    doubts = [doubt for doubt in rows["doubt"] if doubt]
    assert all(re.match("(paper|reading): ", doubt) for doubt in doubts)
    assert rows["source"].str.startswith(f"{published.paper.short}, ").all()
    assert published.citation == f"{published.paper.citation}, {published.where}"
    assert published.caption.endswith(".")


@every
def test_a_number_has_a_unit_and_a_spread_says_what_it_is(published: PublishedTable) -> None:
    rows = published.read()
    settings = (published.paper.key, published.name) in WORDS
    if "value" in rows and not settings:
        assert rows["value"].dtype.kind in "if"
        assert set(rows["unit"]) <= UNITS
    if "spread" in rows:
        assert rows["spread"].dtype.kind == "f" and (rows["spread"].dropna() >= 0).all()
        assert published.spread


@every
def test_no_row_stands_twice_and_none_has_another_number_of_cells(published: PublishedTable) -> None:
    lines = list(csv.reader(published.file.read_text(encoding="utf-8").splitlines()))
    assert {len(line) for line in lines} == {len(lines[0])}
    rows = published.read()
    names = [name for name in rows if name not in ("value", "spread", "doubt", "source", "unit", "n")]
    if not published.name == "text" and published.name != "hyperparameters":
        assert not rows.duplicated(names).any()


def test_the_index_has_every_file_and_every_file_stands_in_the_index() -> None:
    folder = files("unknot.papers") / "data"
    there = {(p.name, f.name) for p in folder.iterdir() if p.is_dir() for f in p.iterdir()}
    assert there == {(each.paper.key, each.file.name) for each in ALL.values()}
    assert {p.name for p in folder.iterdir() if p.is_dir()} == set(PAPERS)


def test_no_table_speaks_in_the_old_shorthand() -> None:
    for each in ALL.values():
        assert not re.search(r"\bS[0-4]\b|\bs[0-4]_", each.file.read_text(encoding="utf-8")), each.name


@pytest.mark.parametrize(
    ("key", "name", "rows"),
    [
        ("mahon2024", "table1", 12),
        ("mahon2024", "table2", 72),
        ("mahon2024", "table3", 180),
        ("mahon2024", "table4", 20),
        ("mahon2024", "table6", 34),
        ("mahon2024", "table7", 162),
        ("mahon2024", "table8", 324),
        ("mahon2024", "appendix_g", 4361),
        ("duan2020", "table1", 24),
        ("duan2020", "table2", 9),
        ("duan2020", "table7", 5),
        ("xie2022", "table1", 36),
        ("xie2022", "table2", 7),
        ("vansteenkiste2019", "figure8", 128),
    ],
)
def test_a_table_has_as_many_numbers_as_were_printed(key: str, name: str, rows: int) -> None:
    assert len(table(key, name)) == rows


def test_tables_5_to_10_have_17_models_on_four_splits_of_six_datasets() -> None:
    cells = pd.concat([table("schott2022", f"table{number}") for number in range(5, 11)])
    assert len(cells) == 408 and not cells["value"].isna().any()
    assert cells.groupby("dataset")["model"].nunique().tolist() == [17] * 6
    assert cells.groupby(["dataset", "split"]).size().eq(17).all()
    assert cells["spread"].isna().sum() == 1  # printed as nan, and said in its doubt
    assert cells.loc[cells["spread"].isna(), "doubt"].str.contains("printed as nan").all()


def test_the_same_numbers_are_kept_once_under_two_names() -> None:
    second, fifth = table("mahon2024", "table2"), table("mahon2024", "table5")
    assert second.drop(columns="source").equals(fifth.drop(columns="source"))
    assert set(fifth["source"]) == {"Mahon et al. 2024, Table 5"}


def test_many_tables_in_one_file_keep_their_place() -> None:
    rows = table("mahon2024", "appendix_g")
    assert set(rows["table"]) == set(range(9, 48))
    assert (rows["source"] == "Mahon et al. 2024, Table " + rows["table"].astype(str)).all()


def test_figure_8_is_symmetric_with_100_on_the_diagonal() -> None:
    for _, cells in table("vansteenkiste2019", "figure8").groupby("dataset"):
        square = cells.pivot(index="metric_row", columns="metric_column", values="value").to_numpy()
        assert (square == square.T).all() and (square.diagonal() == 100).all()


def test_tables_of_a_paper_are_listed_with_captions() -> None:
    assert unknot.papers.tables("xie2022")["table2"].where == "Table 2"
    assert list(tables("duan2020")) == [*(f"table{number}" for number in range(1, 8)), "text"]


def test_an_unknown_name_gets_the_nearest_one() -> None:
    with pytest.raises(UnknotError, match=r"unknown table of schott2022 'tabel5'; did you mean 'table5'\?"):
        table("schott2022", "tabel5")
    with pytest.raises(UnknotError, match=r"unknown paper 'schott2021'; did you mean 'schott2022'\?"):
        tables("schott2021")
    with pytest.raises(UnknotError, match="s3 is now called schott2022"):
        table("s3", "table5")
