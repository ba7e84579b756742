"""The page of a study."""

import re
import shutil
from html import unescape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.reports.correlation_table import correlate
from unknot.reports.kit.latent_pictures import reconstructions
from unknot.reports.study_page import write_study_page
from unknot.reports.study_words import answer, mean_places, place_ranges, spoken
from unknot.studies.folder import StudyFolder

BEST = "00000000000f"  # the third setting of the second model, seed 0
NASTY = "</script><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"


def _change(folder: Path, table: str, **columns: object) -> None:
    path = folder / "tables" / f"{table}.parquet"
    pd.read_parquet(path).assign(**columns).to_parquet(path)


@pytest.fixture
def copy(study: Path, tmp_path: Path) -> Path:
    """A study that a test may change."""
    return Path(shutil.copytree(study, tmp_path / "study"))


def test_the_page_says_in_words_which_run_is_best_with_labels_and_without(study: Path, tmp_path: Path) -> None:
    html = unescape(write_study_page(tmp_path / "page.html", study).read_text())
    assert "19 runs: 2 models (beta_vae, factor_vae) in 6 settings on dsprites_rendered" in html
    assert "Not done: 1 failed." in html
    second = "factor_vae gamma 16, seed 1 (run 000000000010)"
    assert f"factor_vae gamma 16, seed 0 (run {BEST}) and {second} share the best mean place (1.500)" in html
    assert "would choose the setting factor_vae gamma 16" in html
    assert re.search(r"UDR \(Spearman\) among all runs agrees best with .* \(rank correlation 0\.\d\d, p = ", html)
    words = re.sub(r"<table.*?</table>|<svg.*?</svg>|<code>.*?</code>", "", html, flags=re.DOTALL)
    assert not re.search(r"<p>[^<]*(udr_|mig\[|dci\[)", words), "identities are for tables"


def test_the_best_setting_is_told_with_labels_and_how_sure_that_is(copy: Path) -> None:
    def told() -> str:
        (text,) = [t for t in answer(StudyFolder(copy)) if t.startswith("With labels, the best setting")]
        assert "by the mean place of its runs is factor_vae gamma 16 (" in text and "over 3 runs" in text
        return text

    assert told().endswith("Runs of other settings are among its own, so this may be luck.")
    runs, scores = (pd.read_parquet(copy / "tables" / f"{name}.parquet") for name in ("runs", "scores"))
    best = scores["id"].isin(runs.loc[runs["setting"] == "gamma 16", "id"])
    far = scores["value"] + scores["higher_is_better"].map({True: 1.0, False: -1.0})
    _change(copy, "scores", value=scores["value"].where(~best, far))
    assert "luck" not in told()


def test_rankings_are_called_by_words_and_by_their_variant_where_there_are_several(copy: Path) -> None:
    column = "udr_lasso[alpha=0.1]/setting"
    assert spoken(StudyFolder(copy), column) == "UDR (Lasso) within settings"
    ranks = pd.read_parquet(copy / "tables" / "ranks.parquet")
    other = ranks[ranks["method"] == "udr_lasso[alpha=0.1]"].assign(method="udr_lasso[alpha=cv]")
    pd.concat([ranks, other]).to_parquet(copy / "tables" / "ranks.parquet")
    assert spoken(StudyFolder(copy), column) == "UDR (Lasso, alpha=0.1) within settings"


def test_ties_collapsed_runs_and_blank_pictures_are_named(copy: Path) -> None:
    ranks = pd.read_parquet(copy / "tables" / "ranks.parquet")
    _change(copy, "ranks", score=0.25, informative=ranks["informative"].where(ranks["id"] != BEST, 0))
    found = StudyFolder(copy)
    run, other = (run for id_ in found.runs["id"] if (run := found.run(id_)) is not None)
    images = np.random.default_rng(0).integers(0, 255, (36, 32, 32, 1), dtype=np.uint8)
    reconstructions(images, np.full((36, 32, 32, 1), 0.5)).save(run.picture("reconstructions"))
    reconstructions(images, images / 255).save(other.picture("reconstructions"))
    text = " ".join(answer(found))
    assert "and 15 more tie as the best (0.250)" in text
    assert f"1 run has collapsed: no latent of factor_vae gamma 16, seed 0 (run {BEST}) says anything" in text
    assert f"(run {run.spec.id}): its reconstructions are the same picture for every image." in text
    reconstructions(images, images / 255).save(run.picture("reconstructions"))
    assert "the same picture" not in " ".join(answer(StudyFolder(copy)))


def test_the_best_of_a_column_is_marked_and_the_command_repeats_the_scores(
    study: Path, tmp_path: Path, trained: Path
) -> None:
    html = unescape(write_study_page(tmp_path / "page.html", study).read_text())
    board = html[html.index('data-name="leaderboard"') :].partition("</table>")[0]
    assert board.count('class="number best') == 6, "one for each measure"
    assert "<span>chance</span>" in html and "<span>above chance</span>" in html, (
        "measured, beside the scores of a run"
    )
    command = f"unknot score {trained}/latents.npz --metrics mig[bins=20],sap"
    assert command.replace("mig[bins=20],sap", "'mig[bins=20],sap") in html or command in html


def test_every_run_and_every_score_is_in_the_leaderboard(study: Path, tmp_path: Path) -> None:
    html = write_study_page(tmp_path / "page.html", study).read_text()
    board = re.search(r'(?s)data-name="leaderboard".*?</table>', html)
    assert board is not None
    assert board[0].count("<tr>") == 1 + 19
    for value in StudyFolder(study).scores.query("metric == 'mig[bins=20]'")["value"]:
        assert f'data-value="{value!r}"' in board[0]
    assert 'data-exact="dci[gbt].completeness"' in board[0] and ">DCI completeness<" in board[0]
    assert 'data-exact="udr_spearman/all"' in board[0] and ">UDR (Spearman) among all runs<" in board[0]


def test_numbers_lead_to_their_run_and_to_the_command_that_makes_them(study: Path, tmp_path: Path) -> None:
    html = unescape(write_study_page(tmp_path / "page.html", study).read_text())
    for run in (path.parent for path in study.glob("runs/*/run.json")):
        assert f'<a href="#run-{run.name}">{run.name}</a>' in html
        assert f'<details id="run-{run.name}"' in html
        assert f"unknot score {run}/latents.npz --metrics 'mig[bins=20]'" in html
        assert f"unknot encode {run} --rows 400 --output {run}/latents.npz" in html
        assert "unknot train --world dsprites_rendered --model beta_vae --steps 20 --seed" in html
    assert "unknot rank --method lasso --alpha 0.1 --partners 50 " in html
    assert "unknot rank --method spearman --partners 50 --all-to-all " in html


def test_the_best_model_for_each_number_of_informative_latents_is_listed(study: Path, tmp_path: Path) -> None:
    html = write_study_page(tmp_path / "page.html", study).read_text()
    table = re.search(r'(?s)data-name="best by d".*?</table>', html)
    assert table is not None
    ranks = StudyFolder(study).ranks
    for (_, d), rows in ranks.groupby(["method", "informative"]):
        best = rows.sort_values("score").iloc[-1]
        assert re.search(rf'data-value="{d}">{d}</td><td>(<a [^>]*>)?{best["id"]}<', table[0])
    assert table[0].count("<tr>") == 1 + 2 * 3


def test_the_place_of_a_run_counts_each_question_once_and_respects_direction(study: Path) -> None:
    found = StudyFolder(study)
    places = mean_places(found)
    dci = next(m for m in found.measures if m.column == "dci[gbt]").values.rank(ascending=False)
    assert places[BEST] == pytest.approx(
        (1 + dci[BEST]) / 2
    )  # compactness (two metrics, first in both), modularity
    assert next(iter(places)) == BEST
    assert "f" * 12 not in places  # failed


def test_places_of_the_leaderboard_are_ranges_where_metrics_disagree(study: Path, tmp_path: Path) -> None:
    found = StudyFolder(study)
    ranges, means = place_ranges(found), mean_places(found)
    assert set(ranges) == set(means) and all(1 <= best <= worst <= len(means) for best, worst in ranges.values())
    assert ranges[BEST][0] == 1 and any(best < worst for best, worst in ranges.values())
    html = write_study_page(tmp_path / "page.html", study).read_text()
    assert "Places: the best and the worst it may have" in html


def test_measures_of_which_less_is_better_are_turned_round_before_they_are_correlated(study: Path) -> None:
    found = StudyFolder(study)
    related = correlate(found.measures, found.runs["id"])
    i, j = (related.names.index(name) for name in ("mig[bins=20]", "mutual_info_score[bins=20]"))
    assert related.rho[i, j] == pytest.approx(1.0)
    from scipy.stats import spearmanr

    k = related.names.index("udr_spearman/all")
    columns = {m.column: m.values for m in found.measures}
    pair = pd.DataFrame([columns["mig[bins=20]"], columns["udr_spearman/all"]]).T.dropna()
    expected = spearmanr(pair.to_numpy())
    assert related.rho[i, k] == pytest.approx(expected.statistic)
    assert related.p[i, k] == pytest.approx(expected.pvalue)


def test_worlds_are_never_compared_with_each_other(copy: Path, tmp_path: Path) -> None:
    runs = StudyFolder(copy).runs
    _change(copy, "runs", world=["shapes3d_rendered" if i % 2 else "dsprites_rendered" for i in range(len(runs))])
    found = StudyFolder(copy)
    assert list(found.groups) == ["dsprites_rendered", "shapes3d_rendered"]
    assert max(mean_places(found).values()) <= 9
    html = write_study_page(tmp_path / "page.html", copy).read_text()
    assert 'data-name="correlations on dsprites_rendered"' in html
    assert 'data-name="correlations on shapes3d_rendered"' in html


def test_names_from_a_study_s_files_cannot_become_markup(copy: Path, tmp_path: Path) -> None:
    _change(copy, "runs", model=NASTY, setting=NASTY, world=NASTY, error=NASTY)
    scores = pd.read_parquet(copy / "tables" / "scores.parquet")
    _change(copy, "scores", metric=NASTY + scores["metric"], measures=NASTY)
    _change(copy, "ranks", method=NASTY)
    (copy / "logs").mkdir()
    (copy / "logs" / f"{'f' * 12}.log").write_text(NASTY)
    html = write_study_page(tmp_path / "page.html", copy).read_text()
    assert html.count("<script>") == 1
    assert html.count("</script>") == 1
    assert "onerror" in html
    assert not re.search(r"<img[^>]*onerror", html)


def test_an_id_from_a_table_is_no_way_out_of_the_study(copy: Path, tmp_path: Path, trained: Path) -> None:
    shutil.copytree(trained, tmp_path / "secret")
    runs = pd.read_parquet(copy / "tables" / "runs.parquet")
    _change(copy, "runs", id=["../../secret", *runs["id"][1:]])
    with pytest.warns(UnknotWarning, match="is not among the"):
        assert 'id="run-' in write_study_page(tmp_path / "page.html", copy).read_text()


def test_only_so_many_runs_are_shown_in_full(study: Path, tmp_path: Path) -> None:
    html = write_study_page(tmp_path / "page.html", study, shown=1).read_text()
    assert html.count('<details id="run-') == 1
    assert "18 more are in the tables only" in html
    assert '<details id="run-' not in write_study_page(tmp_path / "none.html", study, shown=0).read_text()
    with pytest.raises(UnknotError, match="--runs is -1"):
        write_study_page(tmp_path / "page.html", study, shown=-1)


def test_a_failed_run_is_shown_with_its_error_and_the_end_of_its_log(copy: Path, tmp_path: Path) -> None:
    (copy / "logs").mkdir()
    (copy / "logs" / f"{'f' * 12}.log").write_text("\n".join(f"line {i}" for i in range(100)))
    html = write_study_page(tmp_path / "page.html", copy).read_text()
    assert "loss is not finite" in html
    assert "line 99" in html
    assert "line 50" not in html


def test_a_damaged_run_costs_its_own_section_only(copy: Path, tmp_path: Path, trained: Path) -> None:
    (copy / "runs" / trained.name / "scores.json").write_text("{]")
    (copy / "runs" / trained.name / "pictures" / "traversals.png").write_text("no picture")
    html = write_study_page(tmp_path / "page.html", copy).read_text()
    assert "scores.json: cannot be read as a record of scores" in html
    assert html.count('<details id="run-') == 2


def test_a_study_under_way_has_a_page_too(copy: Path, tmp_path: Path) -> None:
    (copy / "tables" / "scores.parquet").unlink()
    (copy / "tables" / "ranks.parquet").unlink()
    html = write_study_page(tmp_path / "page.html", copy).read_text()
    assert "Leaderboard" in html
    assert "Correlations" not in html


def test_rankings_alone_decide_the_order_where_there_are_no_labels(copy: Path, tmp_path: Path) -> None:
    (copy / "tables" / "scores.parquet").unlink()
    ranks = pd.read_parquet(copy / "tables" / "ranks.parquet")
    ranks = ranks[ranks["scope"] == "all"]
    ranks.to_parquet(copy / "tables" / "ranks.parquet")
    assert next(iter(mean_places(StudyFolder(copy)))) == ranks.sort_values("score")["id"].iloc[-1]
    assert "over the rankings without labels" in write_study_page(tmp_path / "page.html", copy).read_text()


def test_metrics_that_refused_are_listed_with_the_reason(copy: Path, tmp_path: Path) -> None:
    scores = pd.read_parquet(copy / "tables" / "scores.parquet")
    odd = scores["metric"] == "dci[gbt]"
    _change(copy, "scores", refused=odd.map({True: "too few rows", False: ""}), value=scores["value"].mask(odd))
    html = write_study_page(tmp_path / "page.html", copy).read_text()
    assert "too few rows" in html


def test_the_best_by_informative_latents_is_sought_in_each_world_apart(copy: Path) -> None:
    from unknot.reports.study_ranking import rankings

    runs = StudyFolder(copy).runs
    _change(copy, "runs", world=["shapes3d_rendered" if i % 2 else "dsprites_rendered" for i in range(len(runs))])
    found = list(rankings(StudyFolder(copy)))
    assert len(found) == 2 * 2
    worlds = StudyFolder(copy).runs.set_index("id")["world"]
    for ranking in found:
        assert worlds[ranking.ranks["id"]].nunique() == 1
        assert ranking.name.endswith(f"on {worlds[ranking.best['id'].iloc[0]]}")


def test_runs_without_a_udr_are_counted_and_still_named_in_the_command(copy: Path, tmp_path: Path) -> None:
    ranks = pd.read_parquet(copy / "tables" / "ranks.parquet")
    dead = ranks["id"] == BEST
    _change(copy, "ranks", score=ranks["score"].mask(dead), informative=ranks["informative"].mask(dead, 0))
    html = write_study_page(tmp_path / "page.html", copy).read_text()
    assert "1 of 18 runs have no score" in html
    assert re.search(rf"unknot rank --method spearman [^<]*/{BEST}/latents", html)


def test_a_ranking_without_any_score_has_a_sentence_in_place_of_its_chart(copy: Path, tmp_path: Path) -> None:
    ranks = pd.read_parquet(copy / "tables" / "ranks.parquet")
    for dead, charts in ((ranks["method"] == "udr_spearman", 1), (ranks["score"] > -9, 0)):
        _change(copy, "ranks", score=ranks["score"].mask(dead))
        html = write_study_page(tmp_path / "page.html", copy).read_text()
        assert re.search(r"18 of 18 runs have no score[^<]*Without scores there is no chart", html)
        assert html.count(">informative latents</text>") == charts
    assert "unknot rank --method spearman" in html


def test_the_report_and_the_commands_on_it_agree_with_a_study_that_was_really_run(tmp_path: Path) -> None:
    import json
    import shlex

    from typer.testing import CliRunner

    from unknot.cli import app

    (tmp_path / "s.yaml").write_text(
        "name: real\nworlds: dsprites_rendered\nmodels:\n  beta_vae: {beta: [0.01, 0.02]}\nseeds: 2\nsteps: 40\n"
        "lr: 1e-3\nimage_size: 32\nbatch_size: 8\nlatents: 3\nrows: 300\nmetrics: [mig, sap]\n"
    )
    folder = tmp_path / "study"
    done = CliRunner().invoke(app, ["study", str(tmp_path / "s.yaml"), "-o", str(folder)])
    assert done.exit_code == 0, done.output
    html = unescape(write_study_page(tmp_path / "page.html", folder).read_text())
    found = StudyFolder(folder)
    assert set(found.runs["status"]) == {"done"}
    assert html.count('<details id="run-') == 4
    for command in re.findall(r"<code>(unknot rank [^<]*)</code>", html):
        again = tmp_path / "again.json"
        done = CliRunner().invoke(app, [*shlex.split(command)[1:], "--json", str(again)])
        assert done.exit_code == 0, done.output
        lasso, apart = "lasso" in command, "--all-to-all" not in command
        ranks = found.ranks[found.ranks["method"].eq("udr_lasso[alpha=0.1]" if lasso else "udr_spearman")]
        table = ranks[ranks["scope"].eq("setting" if apart else "all")].set_index("id")["score"]
        made = {row["name"]: row["udr"] for row in json.loads(again.read_text())["models"]}
        assert len(made) == 4
        assert table.notna().any()
        for id_, score in table.items():
            udr = next(udr for name, udr in made.items() if str(id_) in name)
            assert udr == (pytest.approx(score, rel=1e-12) if score == score else None)
    assert html.count("<code>unknot rank") == 4
