"""`unknot.rank`: stored values, slow medians by hand, partners, laziness, memory, and what is refused."""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from unknot.errors import UnknotError, UnknotWarning
from unknot.metrics.udr import udr_pair
from unknot.ranking import pair_scores
from unknot.ranking.ranking import Ranking, median, rank
from unknot.representation import Representation
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec
from unknot.runs.training import train

WORLD = "dsprites_rendered"


def _models(n: int = 5, rows: int = 300, d: int = 3, seed: int = 0) -> list[np.ndarray]:
    """Rotations of the same sources, the later the more."""
    rng = np.random.default_rng(seed)
    sources = rng.normal(size=(rows, d))
    mixes = [np.linalg.qr(np.eye(d) + rng.normal(size=(d, d)) * i / n)[0] for i in range(n)]
    return [sources @ mix + 0.1 * rng.normal(size=sources.shape) for mix in mixes]


@pytest.mark.parametrize(
    ("name", "options", "tolerance"),
    [
        ("udr_lasso_a2a_model_scores", {"normaliser": "public"}, 1e-6),
        ("udr_eq2_lasso0.1_a2a_model_scores", {}, 1e-6),
        ("udr_lasso_within_hyper_model_scores", {"normaliser": "public", "within": True}, 1e-6),
        ("udr_spearman_a2a_model_scores", {"method": "spearman", "normaliser": "public", "rows": "all"}, 1e-9),
        ("udr_eq2_spearman_a2a_model_scores", {"method": "spearman", "rows": "all"}, 1e-9),
        (
            "udr_spearman_within_hyper_model_scores",
            {"method": "spearman", "normaliser": "public", "rows": "all", "within": True},
            1e-9,
        ),
        ("udr_eq2_multitask_cv_a2a_model_scores", {"alpha": "cv"}, 2e-4),
    ],
)
@pytest.mark.parametrize("named", [False, True])
def test_medians_agree_with_stored_values(golden, name: str, options: dict, tolerance: float, named: bool) -> None:
    arrays, values = golden("udr")
    options = dict(options)
    within = options.pop("within", False)
    # all-to-all says the same as no settings at all
    groups = arrays["hyper"] if within or named else None
    found = rank(arrays["reps"], kl=arrays["kl"], groups=groups, all_to_all=named and not within, **options)
    np.testing.assert_allclose(found.scores, values[name], atol=tolerance)
    assert found.n_informative.tolist() == [4] * 7 + [3]
    assert found.rows == 2000


def test_the_matrix_is_that_of_the_stored_pairs(golden) -> None:
    arrays, values = golden("udr")
    found = rank(arrays["reps"], kl=arrays["kl"])
    wanted = values["udr_eq2_lasso0.1_pairwise"].astype(float)
    np.fill_diagonal(wanted, np.nan)
    np.testing.assert_allclose(found.matrix(), wanted, atol=1e-6)
    np.testing.assert_allclose(found.matrix([7, 2]), wanted[np.ix_([7, 2], [7, 2])], atol=1e-6)
    assert found.best_by_informative() == {4: 0, 3: 7}
    assert found.best == "model 0"
    assert found.order[-1] == 7
    assert found.to_frame()["model"].tolist()[0] == "model 0"


def test_a_score_is_the_median_over_partners_with_the_model_as_target() -> None:
    models = _models(5)
    found = rank(models, groups=list("aabab"))
    for i, partners in {0: [1, 3], 1: [0, 3], 2: [4], 3: [0, 1], 4: [2]}.items():
        assert found.scores[i] == pytest.approx(
            np.median([udr_pair(models[j], models[i]).value for j in partners])
        )
    assert found.compared.tolist() == [2, 2, 1, 2, 1]
    assert np.isnan(found.matrix()[0, 2])


def test_medians_leave_nan_out() -> None:
    rng = np.random.default_rng(0)
    for width in (1, 2, 5, 8):
        values = rng.normal(size=(40, width))
        values[rng.random(values.shape) < 0.4] = np.nan
        values[0] = np.nan
        with np.errstate(all="ignore"):
            wanted = [np.median(row[~np.isnan(row)]) if (~np.isnan(row)).any() else np.nan for row in values]
        np.testing.assert_allclose(median(values), wanted)


def test_one_good_model_among_bad_ones_goes_unseen() -> None:
    """The herd effect: the same model scores high among its like."""
    rng = np.random.default_rng(1)
    sources = rng.normal(size=(2000, 6))
    good = [sources + 0.1 * rng.normal(size=sources.shape) for _ in range(6)]
    bad = [sources @ np.linalg.qr(rng.normal(size=(6, 6)))[0] for _ in range(5)]
    assert rank(good)["model 0"] > 0.85
    assert rank([good[0], *bad])["model 0"] < 0.4


def test_partners_are_drawn_by_the_seed_without_repeats() -> None:
    models = _models(8, rows=60)
    first, again, other = (rank(models, partners=3, seed=s) for s in (0, 0, 1))
    np.testing.assert_array_equal(first.pairs, again.pairs)
    assert (first.pairs != other.pairs).any()
    assert first.compared.tolist() == [3] * 8
    for i in range(8):
        mine = first.pairs[first.pairs[:, 1] == i, 0]
        assert len(set(mine)) == 3
        assert i not in mine
    whole = rank(models).matrix()
    np.testing.assert_allclose(first.pair_scores, whole[tuple(first.pairs.T)])
    many = rank(models, partners=50)
    np.testing.assert_allclose(many.scores, rank(models).scores)
    assert any("50 partners were asked for" in note for note in many.notes)


def test_rows_are_the_same_ones_of_every_model() -> None:
    models = _models(3, rows=500)
    found = rank(models, rows=100, seed=3)
    kept = np.random.default_rng([3, 0]).choice(500, size=100, replace=False)
    assert found.rows == 100
    np.testing.assert_allclose(found.scores, rank([z[kept] for z in models]).scores)
    assert rank(_models(2, rows=1200), method="spearman").rows == 1000
    assert rank(_models(2, rows=1200), method="spearman", rows="all").rows == 1200


@pytest.mark.parametrize(("method", "alpha"), [("lasso", 0.1), ("lasso", "cv"), ("spearman", 0.1)])
def test_little_memory_gives_the_same_scores(monkeypatch: pytest.MonkeyPatch, method: str, alpha) -> None:
    models = _models(7, rows=80)
    whole = rank(models, method=method, alpha=alpha)
    monkeypatch.setattr(pair_scores, "HELD", 4 * 8 * 3 * 80)
    monkeypatch.setattr(pair_scores, "PAIRS", 3)
    monkeypatch.setattr(pair_scores, "SLOW_PAIRS", 2)
    np.testing.assert_allclose(rank(models, method=method, alpha=alpha).scores, whole.scores, atol=1e-6)


def test_models_are_read_in_their_turn_and_once_within_settings() -> None:
    models, read = _models(6, rows=50), []

    def make(i: int) -> Representation:
        read.append(i)
        return Representation(models[i], kl=np.ones(3))

    found = rank([partial(make, i) for i in range(6)], groups=[0, 1, 0, 1, 0, 1])
    assert read == [0, 2, 4, 1, 3, 5]
    np.testing.assert_allclose(found.scores, rank(models, groups=[0, 1, 0, 1, 0, 1]).scores)


def test_memory_does_not_grow_with_the_number_of_settings() -> None:
    import tracemalloc

    def peak(settings: int) -> int:
        makers = [
            partial(np.random.default_rng([k, s]).normal, size=(2000, 8))
            for k in range(settings)
            for s in range(4)
        ]
        tracemalloc.start()
        rank(makers, groups=[k for k in range(settings) for _ in range(4)])
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(1)  # compiling and importing take memory too
    assert peak(12) < 1.5 * peak(2)


def test_a_model_without_informative_latents_has_no_score_and_no_say() -> None:
    models = _models(4)
    kl = [np.ones(3), np.zeros(3), np.ones(3), np.ones(3)]
    with pytest.warns(UnknotWarning, match="no informative latent.*model 1"):
        found = rank(models, kl=kl)
    assert np.isnan(found.scores).tolist() == [False, True, False, False]
    kept = rank([models[i] for i in (0, 2, 3)], kl=kl[2:] + kl[:1])
    np.testing.assert_allclose(found.scores[[0, 2, 3]], kept.scores)
    assert found.compared.tolist() == [2, 0, 2, 2]
    assert found.order[-1] == 1
    assert 0 not in found.best_by_informative()


def test_when_all_are_dead_all_scores_are_nan_with_a_note() -> None:
    with pytest.warns(UnknotWarning, match="model 0, model 1"):
        found = rank(_models(2), kl=np.zeros((2, 3)))
    assert np.isnan(found.scores).all()
    assert found.best_by_informative() == {}


def test_a_model_alone_in_its_setting_has_no_score() -> None:
    with pytest.warns(UnknotWarning, match="one model has nobody.*lonely"):
        found = rank(_models(3), groups=["a", "a", "lonely"])
    assert np.isnan(found.scores).tolist() == [False, False, True]
    assert found.n_informative.tolist() == [3, 3, 3]
    assert np.isfinite(rank(_models(3), groups=["a", "a", "lonely"], all_to_all=True).scores).all()


def test_kl_comes_from_the_file_from_log_variances_or_the_spread_decides() -> None:
    z = _models(2)
    z[0] = np.insert(z[0], 1, 0.01 * z[0][:, 0], axis=1)
    stored = rank([Representation(z[0], kl=np.array([1.0, 1.0, 0.0, 1.0])), Representation(z[1], kl=np.ones(3))])
    assert stored.masks[0].tolist() == [True, True, False, True]
    logvars = np.full(z[0].shape, -4.0)
    logvars[:, 1] = 0.0
    inferred = rank([Representation(z[0], logvars=logvars), Representation(z[1], kl=np.ones(3))])
    assert inferred.masks[0].tolist() == [True, False, True, True]
    assert not any("KL" in note for note in (*stored.notes, *inferred.notes))
    guessed = rank([z[0], Representation(z[1], kl=np.ones(3))])
    assert guessed.masks[0].tolist() == [True, False, True, True]
    assert any("not known for 1 of 2 models" in note for note in guessed.notes)


def test_models_may_differ_in_size() -> None:
    z = _models(3, d=4)
    found = rank([z[0], z[1][:, :2], z[2]])
    assert found.n_informative.tolist() == [4, 2, 4]
    assert np.isfinite(found.scores).all()


def test_progress_reaches_its_total() -> None:
    told: list[tuple[str, int, int]] = []
    rank(_models(4), groups=[0, 0, 1, 1], progress=lambda *now: told.append(now))
    assert told == [("comparing", 2, 4), ("comparing", 4, 4)]


def test_files_are_named_and_grouped_by_their_names(tmp_path: Path) -> None:
    z = _models(4)
    for i, name in enumerate(["beta1/seed0", "beta1/seed1", "beta4/seed0", "beta4/seed1"]):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Representation(z[i], kl=np.ones(3)).write(tmp_path / f"{name}.npz")
    files = sorted(tmp_path.glob("*/*.npz"))
    found = rank(files, groups=r"beta(\d+)")
    np.testing.assert_array_equal(
        rank([tmp_path / "beta1", tmp_path / "beta4"], all_to_all=True).scores, rank(files).scores
    )
    assert found.names == ("beta1/seed0", "beta1/seed1", "beta4/seed0", "beta4/seed1")
    assert found.settings == ("1", "1", "4", "4")
    assert rank(files).settings == ("",) * 4
    assert rank({"a": files[0], "b": z[1], "c": Representation(z[2])}).names == ("a", "b", "c")
    with pytest.raises(UnknotError, match="given twice"):
        rank([files[0], files[1], str(files[0])])
    with pytest.raises(UnknotError, match=r"finds no group in .*seed0"):
        rank(files, groups="gamma")
    with pytest.raises(UnknotError, match="not a regular expression"):
        rank(files, groups="(")


def test_other_rows_are_refused() -> None:
    z, y = _models(2), np.arange(600).reshape(300, 2) % 7
    with pytest.raises(UnknotError, match="model 0 has 300 rows, model 1 has 299"):
        rank([z[0], z[1][:-1]])
    with pytest.raises(UnknotError, match="differ in factor 'factor_1'"):
        rank([Representation(z[0], y), Representation(z[1], np.stack([y[:, 0], y[::-1, 1]], axis=1))])
    a, b = ({"world": WORLD, "rows": 300, "split": "", "seed": s} for s in (0, 1))
    with pytest.raises(UnknotError, match="encoded with seed 0, model 1 with 1"):
        rank([Representation(z[0], source=a), Representation(z[1], source=b)])


def test_factors_in_another_order_of_columns_are_the_same_rows() -> None:
    z, y = _models(2), np.arange(600).reshape(300, 2) % 7
    found = rank(
        [
            Representation(z[0], y, ("x", "y"), kl=np.ones(3)),
            Representation(z[1], y[:, ::-1], ("y", "x"), kl=np.ones(3)),
        ],
    )
    assert not any("assumed" in note for note in found.notes)
    assert any("assumed" in note for note in rank(z).notes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "spearmen"}, "did you mean 'spearman'"),
        ({"normaliser": "publik"}, "did you mean 'public'"),
        ({"alpha": 0}, "alpha is 0"),
        ({"alpha": "CV"}, "alpha is 'CV'"),
        ({"rows": 5}, "rows is 5"),
        ({"partners": 0}, "partners is 0"),
        ({"seed": -1}, "seed is -1"),
        ({"groups": ["a"]}, "1 groups for 3 models"),
        ({"groups": ["a", "b", "c"]}, "alone in its setting"),
        ({"names": ["a", "b"]}, "2 names for 3 models"),
        ({"names": ["a", "b", "b"]}, "two models are called 'b'"),
        ({"kl": [1]}, "1 kl for 3 models"),
        ({"kl": np.ones((3, 2))}, r"model 0: kl has shape \(2,\)"),
    ],
)
def test_wrong_options_are_named(options: dict, message: str) -> None:
    with pytest.raises(UnknotError, match=message):
        rank(_models(3), **options)


def test_wrong_models_are_named(tmp_path: Path) -> None:
    z = _models(3)
    with pytest.raises(UnknotError, match=r"1 model\(s\) given"):
        rank(z[:1])
    with pytest.raises(UnknotError, match="representations is 3; expected a list"):
        rank(3)
    with pytest.raises(UnknotError, match="one model was given"):
        rank(Representation(z[0]))
    with pytest.raises(UnknotError, match=r"b\.npz: no such file"):
        rank([z[0], tmp_path / "b.npz"])
    with pytest.raises(UnknotError, match="is not a run, and holds neither"):
        rank([z[0], tmp_path])
    with pytest.raises(UnknotError, match="model 1 holds slots"):
        rank([z[0], z[1].reshape(300, 3, 1)])
    with pytest.raises(UnknotError, match="model 2: latents"):
        rank([*z[:2], np.where(np.arange(3) == 1, np.nan, z[2])])
    with pytest.raises(UnknotError, match="no model is called 'x'"):
        _ = rank(z)["x"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Run]:
    folder = tmp_path_factory.mktemp("runs")
    base = RunSpec(world=WORLD, latents=2, image_size=32, steps=2, batch_size=4)
    return [
        train(base.replace(options={"beta": beta}, seed=seed), folder) for beta in (1.0, 4.0) for seed in range(2)
    ]


def test_runs_are_encoded_once_and_grouped_by_all_but_the_seed(
    runs: list[Run], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import unknot.encoders.encoding

    monkeypatch.setattr(unknot.encoders.encoding, "ROWS", 200)
    encode = unknot.encoders.encoding.encode
    monkeypatch.setattr(
        unknot.encoders.encoding, "encode", lambda run, **options: encode(run, rows=200, **options)
    )
    told: list[tuple[str, int, int]] = []
    found = rank(
        [runs[0], runs[1].folder, str(runs[2].folder), runs[3]],
        progress=lambda *now: told.append(now),
        threshold=-1,
    )
    assert found.settings == ("beta 1.0", "beta 1.0", "beta 4.0", "beta 4.0")
    assert found.names == tuple(run.folder.name for run in runs)
    assert ("encoding", 4, 4) in told
    assert found.rows == 200
    stamps = [(run.folder / "latents.npz").stat().st_mtime_ns for run in runs]
    again = rank(runs, threshold=-1, groups=r"seed (\d)")
    assert stamps == [(run.folder / "latents.npz").stat().st_mtime_ns for run in runs]
    assert again.settings == ("0", "1", "0", "1")
    assert not any("assumed" in note for note in found.notes)
    whole = rank(runs[0].folder.parent, threshold=-1)
    assert {name: whole[name] for name in found.names} == {name: found[name] for name in found.names}
    other = train(
        RunSpec(world="abstract_dsprites_rendered", latents=2, steps=1, batch_size=2, image_size=32), tmp_path
    )
    with pytest.raises(UnknotError, match=r"different worlds .*abstract_dsprites"):
        rank([*runs, other])
    unfinished = Run.create(tmp_path, runs[0].spec.replace(seed=9))
    with pytest.warns(UnknotWarning, match=f"left out, as not trained to the end .*: {unfinished.folder.name}"):
        rest = rank([unfinished, *runs], threshold=-1, groups=["x", "a", "a", "b", "b"])
    assert rest.names == found.names
    assert rest.settings == ("a", "a", "b", "b")
    np.testing.assert_array_equal(rest.scores, found.scores)
    assert unfinished.folder.name in rest.notes[0]
    with pytest.raises(UnknotError, match=rf"1 of 2 models can be compared.*{unfinished.folder.name}"):
        rank([runs[0], unfinished])


def test_an_interrupt_passes_through() -> None:
    def stop(stage: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rank(_models(3), progress=stop)


def test_a_ranking_is_the_same_whatever_the_order_and_sign_of_latents() -> None:
    models = _models(4, rows=1000)
    turned = [z[:, [2, 0, 1]] * [1, -1, 3] + 5 for z in models]
    make: Callable[[list[np.ndarray]], Ranking] = rank
    np.testing.assert_allclose(make(turned).scores, make(models).scores, atol=1e-9)
