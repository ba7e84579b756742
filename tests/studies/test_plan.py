"""The runs of a study, and what is found wrong before anything is trained."""

import re
from pathlib import Path

import pytest

from unknot.errors import UnknotError
from unknot.models.augmentations import AUGMENTATIONS
from unknot.runs.spec import RunSpec
from unknot.runs.training import build_model
from unknot.studies.folder import StudyFolder
from unknot.studies.plan import StudyPlan, plan_study
from unknot.studies.spec import PRESETS, parse_spec, preset_names, read_spec
from unknot.worlds import conventions, open_world
from unknot.worlds.splits.combinations import combination_name

from .conftest import TINY, planned

NETWORKS = (
    "mlp cnn coord_conv set_encoder rot_eq rot_eq_big spatial_transformer bit_resnet50 bit_resnet101 densenet121"
)
HEAD = "world: dsprites_rendered\nsteps: 10\nmetrics: [mig]\n"


def test_there_is_one_run_for_each_combination_of_values(tmp_path: Path) -> None:
    text = HEAD + "splits: ['', random]\nseeds: 3\nmodels:\n  beta_vae: {beta: [1, 4], lr: [1e-4, 1e-3]}\n  vae:\n"
    made = planned(tmp_path, text)
    assert len(made.runs) == 2 * 3 * (2 * 2 + 1)
    assert len({run.id for run in made.runs}) == 30
    assert {run.setting for run in made.runs if run.spec.model == "vae"} == {"default"}
    assert "beta 4, lr 0.001" in {run.setting for run in made.runs}
    assert [(g.world, g.split, len(g.runs)) for g in made.groups] == [
        ("dsprites_rendered", "", 15), ("dsprites_rendered", "random", 15),
    ]  # fmt: skip


def test_ids_are_those_of_the_folders_that_training_makes(tmp_path: Path) -> None:
    world = open_world("dsprites_rendered")
    for run in planned(tmp_path, HEAD + "image_size: 32\nmodels: [slow_vae, {model: beta_vae, beta: 2}]\n").runs:
        asked = RunSpec(world="dsprites_rendered", model=run.spec.model, steps=10, image_size=32)
        asked = asked.replace(options={"beta": 2} if run.spec.model == "beta_vae" else {})
        assert build_model(asked, world)[1].id == run.id


def test_a_run_that_two_entries_ask_for_is_made_once(tmp_path: Path) -> None:
    text = HEAD + "models:\n  - {model: beta_vae, beta: [1, 4]}\n  - {model: beta_vae, beta: [4, 8]}\n"
    assert [run.setting for run in planned(tmp_path, text).runs] == ["beta 1", "beta 4", "beta 8"]


def test_a_recipe_stands_at_the_top_or_with_a_model_and_gives_way_to_values(tmp_path: Path) -> None:
    text = "world: dsprites_rendered\nmetrics: [mig]\nrecipe: quick\nlr: 1e-3\nmodels:\n"
    models = "  beta_tc_vae: {beta: 2}\n  vae: {recipe: quick_dense, steps: 7}\n  cnn: {recipe: paper}\n"
    tc, vae, cnn = (run.spec for run in planned(tmp_path, text + models).runs)
    assert (tc.architecture, tc.pressure, tc.lr, tc.options["beta"]) == ("separable", "24..2", 1e-3, 2.0)
    assert (vae.architecture, vae.steps) == ("dense256", 7)
    assert (cnn.architecture, cnn.pressure) == ("conv64", "")


def test_a_models_own_values_go_before_the_studys_and_those_before_its_preset(tmp_path: Path) -> None:
    text = (
        HEAD
        + "models:\n  factor_vae: {preset: duan2020, gamma: [10, 20]}\n  cci_vae: {preset: duan2020, steps: 7}\n"
    )
    runs = planned(tmp_path, text).runs
    factor = [run.spec for run in runs if run.spec.model == "factor_vae"]
    assert [spec.options["gamma"] for spec in factor] == [10, 20]
    assert all(spec.options["same_batch"] and spec.steps == 10 for spec in factor)
    cci = [run.spec for run in runs if run.spec.model == "cci_vae"]
    assert [spec.options["c_max"] for spec in cci] == [5, 10, 25, 50, 75, 100]
    assert all(spec.steps == 7 and spec.options["gamma"] == 1000 for spec in cci)


def test_pairs_at_the_top_are_for_the_models_that_learn_from_them(tmp_path: Path) -> None:
    runs = planned(tmp_path, HEAD + "pairs: 'k_factors[k=2]'\nmodels: [beta_vae, ada_gvae]\n").runs
    assert {run.spec.model: run.spec.pairs for run in runs} == {"beta_vae": "", "ada_gvae": "k_factors[k=2]"}


def test_without_metrics_all_that_are_not_slow_are_meant(tmp_path: Path) -> None:
    (run,) = planned(tmp_path, "world: dsprites_rendered\nmodels: vae\nsteps: 5\n").runs
    assert "mig[bins=20]" in run.metrics
    assert len(run.metrics) > 10


def test_one_value_that_is_not_the_default_is_named(tmp_path: Path) -> None:
    text = (
        HEAD
        + "models: [{model: beta_vae, beta: 1}, {model: ada_gvae, beta: [1], pairs: k_factors, lr: 1e-3}, vae]\n"
    )
    runs = planned(tmp_path, text).runs
    assert [run.setting for run in runs] == ["beta 1", "lr 0.001, pairs k_factors", "default"]
    (run,) = planned(tmp_path, HEAD + "models: {beta_vae: {beta: 4, steps: 300000}}\n").runs
    assert run.setting == "default"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HEAD + "models:\n  beta_vea: {}\n", 5, "unknown model 'beta_vea'; did you mean 'beta_vae'"),
        (HEAD + "models:\n  beta_vae:\n    betta: 4\n", 6, "unknown option of beta_vae 'betta'; did you mean 'beta'"),
        (HEAD + "models:\n  beta_vae:\n    step: 4\n", 6, "did you mean 'steps'"),
        (HEAD + "models:\n  beta_vae:\n    beta: [1, -2]\n", 6, "beta is -2.0; a weight cannot be negative"),
        (HEAD + "models:\n  beta_vae:\n    beta: [four]\n", 6, "beta is 'four'; expected float"),
        (HEAD + "models:\n  beta_vae:\n    preset: s9\n", 6, "unknown preset of beta_vae 's9'"),
        (HEAD + "recipe: quik\nmodels: [beta_vae]\n", 4, "unknown recipe 'quik'; did you mean 'quick'"),
        (HEAD + "recipe: quick\nmodels: [beta_vae, cnn]\n", 4, "recipe 'quick': is not made for cnn"),
        (HEAD + "models:\n  beta_vae:\n    recipe: [quick]\n", 6, "unknown recipe"),
        (HEAD + "models:\n  beta_vae:\n    preset: mahon2024\n    recipe: quick\n", 7, "leave out one"),
        (HEAD + "models:\n  beta_vae:\n    pressure: 24\n", 6, "pressure is 24"),
        (HEAD + "models:\n  beta_vae:\n    preset: s1\n", 6, "preset 's1' of beta_vae is called 'duan2020' now"),
        (HEAD + "models: vae\nbatch_size: 1\n", 5, "batch_size is 1"),
        (HEAD + "models: vae\nlatents: [10, ten]\n", 5, "latents is 'ten'"),
        (HEAD + "models: vae\nsplits: [extrapolate]\n", 5, "did you mean 'extrapolation'"),
        (HEAD + "models: vae\narchitecture: conv65\n", 5, "conv64"),
        (HEAD + "models: vae\nimage_size: 48\n", 5, "images of 48 pixels"),
        (HEAD + "models: [vae, parted_vae]\nlatents: 1\n", 5, "1 latents, of which"),
        (HEAD + "models: vae\nsplits: 'combination:scale=9,shape=0'\n", 5, "'scale' has classes 0..5"),
        (HEAD + "models: vae\nsplits: 'combination:scale'\n", 5, "is not a factor and its class"),
        (HEAD + "models:\n  weak_de:\n    classes: shap,x\n", 6, "unknown factor 'shap'"),
        (HEAD + "models:\n  ada_gvae:\n    pairs: one\n", 6, "unknown law of pairs 'one'"),
        (HEAD + "models:\n  beta_vae:\n    pairs: laplace\n", 6, "does not learn from pairs"),
        ("models: vae\nsteps: 4\nworlds:\n  - dsprites_rendered\n  - dsprites_renderd\n", 5, "unknown world"),
        ("models: vae\nworlds: dsprites_rendered\nmetrics:\n  - mig\n  - mgi\n", 5, "did you mean 'mig'"),
        (HEAD + f"models:\n  beta_vae: {{seed: {list(range(400))}, beta: {list(range(300))}}}\n", 5, "120,000 runs"),
    ],
)  # fmt: skip
def test_mistakes_are_found_before_training_and_their_line_is_named(
    tmp_path: Path, text: str, line: int, message: str
) -> None:
    with pytest.raises(UnknotError, match=rf"tiny\.yaml, line {line}: .*{re.escape(message)}"):
        planned(tmp_path, text)


def test_a_world_whose_file_is_not_here_stops_a_study_but_not_the_look_at_its_plan(tmp_path: Path) -> None:
    path = tmp_path / "file.yaml"
    path.write_text("worlds: dsprites\nmodels:\n  beta_vae: {beta: [1, 2]}\nsteps: 5\n")
    with pytest.raises(UnknotError, match=r"file.yaml, line 1: .*dsprites"):
        plan_study(read_spec(path), data=tmp_path)
    made = plan_study(read_spec(path), data=tmp_path, must_open=False)
    assert list(made.missing) == ["dsprites"]
    assert [run.spec.options for run in made.runs] == [{"beta": 1.0, "anneal": 0}, {"beta": 2.0, "anneal": 0}]
    path.write_text(path.read_text().replace("[1, 2]", "much"))
    with pytest.raises(UnknotError, match=r"file.yaml, line 3: beta_vae: beta is 'much'; expected a number"):
        plan_study(read_spec(path), data=tmp_path, must_open=False)


def test_metrics_that_need_factors_are_refused_for_a_world_without(tmp_path: Path) -> None:
    import numpy as np

    np.save(tmp_path / "images.npy", np.zeros((20, 32, 32, 1), dtype=np.uint8))
    text = f"world: {tmp_path}/images.npy\nmodels: vae\nsteps: 5\n"
    with pytest.raises(UnknotError, match=r"line 4: mig\[bins=20\] needs factors"):
        planned(tmp_path, text + "metrics: mig\n")
    (run,) = planned(tmp_path, text).runs
    assert "effective_rank" in run.metrics
    assert "mig[bins=20]" not in run.metrics


@pytest.mark.parametrize("name", preset_names())
def test_every_study_that_ships_can_be_planned(name: str, tmp_path: Path) -> None:
    made = plan_study(read_spec(name), data=tmp_path, must_open=name.endswith("_small"))
    published = {"mahon2024": 880, "duan2020": 5400, "schott2022": 3664, "vansteenkiste2019": 360, "xie2022": 45}
    assert published.get(name, len(made.runs)) == len(made.runs)
    if name.endswith("_small"):
        assert sum(run.spec.steps for run in made.runs) <= 20_000


def test_the_study_of_mahon2024_trains_without_each_published_combination(tmp_path: Path) -> None:
    text = (PRESETS / "mahon2024.yaml").read_text().replace("seeds: 5", "seeds: 1")
    for world, rendered in (("dsprites", "dsprites"), ("shapes3d", "shapes3d"), ("mpi3d_toy", "mpi3d")):
        text = text.replace(f"world: {world}\n", f"world: {rendered}_rendered\n")
    made = planned(tmp_path, text)
    assert {run.spec.model for run in made.runs} == {run.spec.model for run in plan_of("mahon2024", tmp_path).runs}
    for world in {run.spec.world for run in made.runs}:
        combinations = conventions(world).combinations
        wanted = {"", *(f"combination:{combination_name(one)}" for one in combinations)}
        assert wanted == {run.spec.split for run in made.runs if run.spec.world == world}


def test_the_study_of_schott2022_has_the_models_of_its_tables(tmp_path: Path) -> None:
    runs = plan_of("schott2022", tmp_path).runs
    assert len({(run.spec.model, run.spec.options.get("weights", "")) for run in runs}) == 17
    assert {run.spec.steps for run in runs if run.spec.options.get("weights") == "timm"} == {50_000}
    assert all(len(run.metrics) == (1 if run.spec.model in NETWORKS else 2) for run in runs)
    text = (PRESETS / "schott2022.yaml").read_text().replace("splits: [random,", "splits: [extrapolation] #")
    text = re.sub("worlds: .*", "worlds: dsprites_rendered", text)
    assert {run.spec.model for run in planned(tmp_path, text).runs} == {run.spec.model for run in runs}


def test_ablations_of_schott2022_change_what_their_appendix_does(tmp_path: Path) -> None:
    full, runs = plan_of("schott2022", tmp_path).runs, plan_of("schott2022_de", tmp_path).runs
    assert {(run.spec.model, run.setting) for run in runs} == {(run.spec.model, run.setting) for run in full}
    assert {run.spec.world for run in runs} == {"mpi3d_toy", "dsprites_quarter"}
    options = [run.spec.options for run in plan_of("schott2022_c", tmp_path).runs]
    assert len({o["l2"] for o in options}) == 5 and {o["extra_layers"] for o in options} == {0, 3}
    assert (
        len(options) == (3 + 5 + 2 - 2) * 4 * 3
    )  # settings, of which all three have the usual one; splits; seeds
    cnns = plan_of("schott2022_f", tmp_path).runs
    assert {run.spec.options["augmentation"] for run in cnns} == {"none", *AUGMENTATIONS}
    frozen = plan_of("schott2022_frozen", tmp_path).runs
    assert len(frozen) == 144 and all(run.spec.options["freeze"] for run in frozen)
    for name in ("schott2022_c", "schott2022_de", "schott2022_f"):
        assert "append" in read_spec(name).about


def plan_of(name: str, folder: Path) -> StudyPlan:
    """The plan of a study that ships, as if no files were here."""
    return plan_study(read_spec(name), data=folder, must_open=False)


def test_planning_needs_no_memory_for_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = []
    monkeypatch.setattr("unknot.runs.training.feed", lambda spec, model, world: built.append(model))
    planned(tmp_path, HEAD + "models: bit_resnet101\n")
    assert sum(p.numel() for p in built[0].parameters()) > 300e6
    assert all(p.is_meta for p in built[0].parameters())


def test_a_run_of_two_entries_has_the_metrics_of_both(tmp_path: Path) -> None:
    text = (
        HEAD.replace("[mig]", "[mig, sap]")
        + "models: [{beta_vae: {beta: 4, metrics: [mig]}}, {beta_vae: {beta: [4, 8]}}]\n"
    )
    assert [len(run.metrics) for run in planned(tmp_path, text).runs] == [2, 2]


def test_a_model_may_have_metrics_of_its_own(tmp_path: Path) -> None:
    runs = planned(tmp_path, HEAD + "models:\n  vae:\n  beta_vae: {metrics: [sap, nk]}\n").runs
    assert [len(run.metrics) for run in runs] == [1, 2] and runs[1].metrics[0].startswith("sap")
    with pytest.raises(UnknotError, match=r"line 6: .*did you mean 'mig'"):
        planned(tmp_path, HEAD + "models:\n  beta_vae:\n    metrics: [mgi]\n")


def test_study_json_holds_the_study_as_it_was_read(undisturbed: Path, tmp_path: Path) -> None:
    folder = StudyFolder(undisturbed)
    assert folder.spec == planned(tmp_path).study
    assert plan_study(folder.spec).runs == planned(tmp_path, TINY).runs
    with pytest.raises(UnknotError, match="holds no study"):
        parse_spec([], folder.spec.source)
