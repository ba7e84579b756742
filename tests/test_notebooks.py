"""What a notebook shows of results: a short form, HTML with all names escaped, a frame and a figure."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

import unknot
from unknot import Representation, TaskResult, UnknotError

NAME = "<b>x</b>"


def _representation() -> Representation:
    factors = np.column_stack(
        [np.random.default_rng(0).integers(0, 3, 300), np.random.default_rng(0).integers(0, 4, 300)]
    )
    return Representation(
        factors + 0.1 * np.random.default_rng(0).normal(size=factors.shape), factors, (NAME, "y")
    )


def test_a_scorecard() -> None:
    card = unknot.score(_representation(), metrics=["mig", "linear_accuracy"])
    frame = card.to_frame()
    assert frame.loc[frame["part"] == "", "value"].tolist() == list(card.values().values())
    html = card._repr_html_()
    assert "&lt;b&gt;x&lt;/b&gt;" in html and NAME not in html and "can be read off well" in html
    axes = card.plot(plt.figure().subplots())
    assert [text.get_text() for text in axes.get_yticklabels()] == [NAME, "y"]
    plt.close("all")
    with pytest.raises(UnknotError, match="needs factors"):
        unknot.score(np.random.default_rng(0).normal(size=(50, 2))).plot()


def test_a_ranking() -> None:
    models = {f"{NAME} {i}": np.random.default_rng(0).normal(size=(300, 3)) for i in range(3)}
    ranking = unknot.rank(models, method="spearman")
    assert len(ranking.to_frame()) == 3 and repr(ranking).startswith("Ranking of 3 models by UDR (spearman)")
    assert NAME not in ranking._repr_html_() and ranking.best.removeprefix(NAME) in ranking._repr_html_()
    assert ranking.plot(plt.figure().subplots()).get_xlabel() == "UDR"
    plt.close("all")


def test_the_result_of_a_task() -> None:
    result = unknot.fairness(_representation(), targets=["y"], sensitive=[NAME], rounds=2)
    assert result.to_frame()["value"].to_dict() == result.values
    table = next(iter(result.tables))
    assert len(result.to_frame(table)) == len(result.tables[table])
    assert repr(result).startswith("TaskResult of fairness") and NAME not in result._repr_html_()
    with pytest.raises(UnknotError, match="unknown table 'tabel'"):
        result.to_frame("tabel")
    assert isinstance(result, TaskResult)
    assert len(result.plot(plt.figure().subplots()).patches) == len(result.values)
    plt.close("all")


def test_a_representation() -> None:
    table = pd.DataFrame({"z0": [0.5, 1.5, 2.5], "z1": [1.0, 2.0, 3.0], "species": ["cat", None, "dog"]})
    representation = unknot.from_table(table, latents=["z*"], factors=["species"])
    assert repr(representation) == "Representation of 3 x 2 latents, factors species"
    frame = representation.to_frame()
    assert frame["species"].fillna("").tolist() == ["cat", "", "dog"] and frame["z1"].tolist() == [1.0, 2.0, 3.0]
    assert "3 x 2 latents" in representation._repr_html_() and ">cat<" in representation._repr_html_()
    assert NAME not in _representation()._repr_html_()
    axes = representation.plot(plt.figure().subplots())
    assert [text.get_text() for text in axes.get_xticklabels()] == ["z0", "z1"]
    plt.close("all")


def test_a_representation_without_rows_with_too_few_words_or_too_wide_to_be_dense() -> None:
    for shape in ((0, 3), (0, 1, 3)):
        empty = unknot.Representation(np.zeros(shape))
        assert empty.to_frame().shape == (0, 3) and "latents" in empty._repr_html_()
        assert empty.plot(plt.figure().subplots()).get_title() == "0 rows"
    few = unknot.Representation(np.zeros((3, 1)), [[0], [1], [2]], ("kind",), words={"kind": ["cat"]})
    assert few.to_frame()["kind"].tolist() == ["cat", "1", "2"] and ">cat<" in few._repr_html_()
    wide = unknot.Representation(csr_matrix((20_000, 65_536)))
    assert wide.plot(plt.figure().subplots()).get_title() == "20,000 rows, 40 of 65536 latents"
    plt.close("all")


def test_a_comparison() -> None:
    code = _representation()
    comparison = unknot.compare({NAME: code, "other": code}, metrics=["mig"], resamples=20)
    assert repr(comparison).splitlines()[1].startswith(f"mig[bins=20]  other less {NAME}: +0.000")
    assert NAME not in comparison._repr_html_() and len(comparison.to_frame()) == 1
    axes = comparison.plot(plt.figure().subplots())
    assert [text.get_text() for text in axes.get_yticklabels()] == [f"mig[bins=20]: other less {NAME}"]
    plt.close("all")
