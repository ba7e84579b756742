"""A study's tables, and the statistics over them."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unknot.errors import UnknotError
from unknot.studies.statistics import (
    StudyTables,
    lower_is_better,
    read_tables,
    study_boxes,
    study_comparisons,
    study_correlations,
    wide,
)


def _study() -> StudyTables:
    """Two worlds x two settings x five seeds; in each world b follows a, but the world with larger a has smaller b."""
    rng = np.random.default_rng(0)
    runs, scores, ranked = [], [], []
    for w, world in enumerate(("dsprites", "shapes3d")):
        for setting in ("beta 1", "beta 4"):
            for seed in range(5):
                run = f"{world}-{setting[-1]}-{seed}"
                runs.append((run, world, "beta_vae", setting, seed, "done"))
                a = rng.uniform() + 10 * w
                found = {("mig[bins=20]", ""): a, ("dci[gbt]", "completeness"): a - 20 * w + 0.01 * rng.normal()}
                found[("unfairness", "")] = -a
                for (metric, part), value in found.items():
                    scores.append((run, metric, part, value, metric != "unfairness"))
                ranked.append((run, "udr_spearman", "all", rng.uniform()))
    runs.append(("failed", "dsprites", "beta_vae", "beta 4", 5, "failed"))
    return StudyTables(
        pd.DataFrame(runs, columns=["id", "world", "model", "setting", "seed", "status"]),
        pd.DataFrame(scores, columns=["id", "metric", "part", "value", "higher_is_better"]),
        pd.DataFrame(ranked, columns=["id", "method", "scope", "score"]),
    )


def test_the_wide_table_has_a_row_a_run_and_a_column_a_score() -> None:
    tables = _study()
    table = wide(tables)
    assert list(table.index) == list(tables.runs["id"])
    assert list(table) == ["mig[bins=20]", "dci[gbt] completeness", "unfairness", "udr_spearman all"]
    assert table.loc["failed"].isna().all() and table.drop("failed").notna().all().all()
    for row in tables.scores.itertuples():
        assert table.loc[row.id, f"{row.metric} {row.part}".strip()] == row.value
    assert list(wide(tables, parts=False)) == ["mig[bins=20]", "unfairness", "udr_spearman all"]
    assert lower_is_better(tables) == ["unfairness"]


def test_tables_survive_the_disk(tmp_path: Path) -> None:
    tables, folder = _study(), tmp_path / "tables"
    folder.mkdir()
    with pytest.raises(UnknotError, match=r"tables/runs\.parquet"):
        read_tables(tmp_path)
    tables.runs.to_parquet(folder / "runs.parquet")
    tables.scores.to_parquet(folder / "scores.parquet")
    assert read_tables(tmp_path).ranks is None
    tables.ranks.to_parquet(folder / "ranks.parquet")
    pd.testing.assert_frame_equal(wide(read_tables(tmp_path)), wide(tables))


def test_worlds_are_not_mixed_unless_asked() -> None:
    columns = ["mig[bins=20]", "dci[gbt] completeness"]
    found = study_correlations(_study(), columns, correction="holm", bootstraps=0)
    assert found["world"].tolist() == ["dsprites", "shapes3d"]
    assert (found["r"] > 0.9).all() and (found["n"] == 10).all() and (found["p_adjusted"] > found["p"]).any()
    assert study_correlations(_study(), columns, by=None, bootstraps=0)["r"][0] < 0
    with pytest.raises(UnknotError, match="did you mean 'world'"):
        study_correlations(_study(), columns, by="wold")


def test_a_studys_comparison_turns_round_what_is_better_when_low() -> None:
    metrics = ["unfairness", "udr_spearman all"]
    found = study_comparisons(_study(), "mig[bins=20]", metrics, bootstraps=0, method="pearson")
    assert len(found) == 2
    np.testing.assert_allclose(found["r1"], 1)


def test_a_studys_boxes_are_per_world_model_and_setting() -> None:
    found = study_boxes(_study(), ["mig[bins=20]", "unfairness"])
    assert len(found) == 8
    assert set(found["setting"]) == {"beta_vae, beta 1", "beta_vae, beta 4"} and (found["n"] == 5).all()
    one = found.set_index(["world", "column", "setting"])["best"]["dsprites"]
    np.testing.assert_allclose(
        one["mig[bins=20]"]["beta_vae, beta 1"], one["unfairness"]["beta_vae, beta 1"], atol=1e-12
    )


def test_a_score_given_twice_and_a_score_of_no_run_are_named() -> None:
    tables = _study()
    twice = pd.concat([tables.scores, tables.scores.iloc[:1]])
    with pytest.raises(UnknotError, match="dsprites-1-0 has two values of 'mig"):
        wide(StudyTables(tables.runs, twice))
    with pytest.raises(UnknotError, match="not among the 20 runs"):
        wide(StudyTables(tables.runs.iloc[1:], tables.scores))
