"""Study files: what they may say, and what is said of a wrong one."""

from pathlib import Path

import pytest

from unknot.errors import UnknotError
from unknot.papers import PAPERS
from unknot.studies.spec import method_id, preset_names, read_spec

GOOD = "worlds: dsprites_rendered\nmodels:\n  beta_vae: {beta: [1, 4]}\n"


def _read(folder: Path, text: str):
    path = folder / "file.yaml"
    path.write_text(text, encoding="utf-8")
    return read_spec(path)


def test_a_study_is_named_after_its_file_unless_it_says_otherwise(tmp_path: Path) -> None:
    assert _read(tmp_path, GOOD).name == "file"
    assert _read(tmp_path, GOOD + "name: other\n").name == "other"


def test_a_number_of_seeds_counts_them_and_a_seed_is_itself(tmp_path: Path) -> None:
    assert _read(tmp_path, GOOD + "seeds: 3\n").values["seed"].values == (0, 1, 2)
    assert _read(tmp_path, GOOD + "seed: 3\n").values["seed"].values == (3,)
    assert _read(tmp_path, GOOD + "seeds: [5, 7]\n").values["seed"].values == (5, 7)


def test_a_power_of_ten_without_a_dot_is_a_number(tmp_path: Path) -> None:
    assert _read(tmp_path, GOOD + "lr: [1e-4, 5.0e-4, 1E3]\n").values["lr"].values == (1e-4, 5e-4, 1e3)


@pytest.mark.parametrize(
    "models",
    ["models: beta_vae", "models: [beta_vae]", "models:\n  beta_vae:", "models: [{model: beta_vae}]",
     "models: [{beta_vae: {}}]"],
)  # fmt: skip
def test_models_may_be_named_in_several_ways(tmp_path: Path, models: str) -> None:
    (entry,) = _read(tmp_path, f"world: dsprites_rendered\n{models}\n").entries
    assert entry.model == "beta_vae"
    assert not entry.values


def test_a_model_can_stand_twice_in_a_list_with_other_values(tmp_path: Path) -> None:
    text = "world: w\nmodels:\n  - {model: beta_vae, beta: 1}\n  - {model: beta_vae, options: {beta: 2}}\n"
    first, second = _read(tmp_path, text).entries
    assert (first.values["beta"].values, second.values["beta"].values) == ((1,), (2,))


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (GOOD + "sedes: 3\n", 4, "did you mean 'seeds'"),
        (GOOD + "\nmetrix: [mig]\n", 5, "did you mean 'metrics'"),
        (GOOD + "seeds: []\n", 4, "seeds has no values, so the study has no runs"),
        (GOOD + "seeds: 0\n", 4, "seeds has no values"),
        ("worlds: w\nmodels:\n  beta_vae:\n    beta: []\n", 4, "beta has no values"),
        ("worlds: w\nmodels: {}\n", 2, "models is empty"),
        ("worlds: w\nmodels: [3]\n", 2, "3 is no model"),
        ("worlds: w\nmodels:\n  beta_vae: 4\n", 3, r"expected values such as \{beta: \[1, 4\]\}"),
        ("worlds: w\nmodel: beta_vae\n", 2, "models stand below 'models'"),
        (GOOD + "steps: {a: 1}\n", 4, "steps is {'a': 1}; expected a value or a list"),
        (GOOD + "steps: 1\nsteps: 2\n", 5, "'steps' is given twice"),
        (GOOD + "seeds: 2\nseed: 1\n", 5, "seed is given as 'seed' and as 'seeds'"),
        (GOOD + "rows: 3\n", 4, "rows is 3; expected a whole number from 10 up"),
        (GOOD + "limit: many\n", 4, "limit is 'many'"),
        (GOOD + "metrics: [4]\n", 4, "metrics is"),
        (GOOD + "name: a/b\n", 4, "is no name of a folder"),
        (GOOD + f"name: {'n' * 300}\n", 4, "the name has 300 bytes"),
        (GOOD + "ranking: {methods: [udr_laso]}\n", 4, "did you mean 'udr_lasso'"),
        (GOOD + "ranking:\n  scope: all\n", 5, "did you mean 'scopes'"),
        (GOOD + "ranking:\n  scopes: [none]\n", 5, "unknown scope of ranking 'none'"),
        (GOOD + "ranking: 3\n", 4, "ranking is 3"),
        (GOOD + "about: [\n", 5, "is not YAML"),
    ],
)  # fmt: skip
def test_errors_name_the_line_and_what_to_do(tmp_path: Path, text: str, line: int, message: str) -> None:
    with pytest.raises(UnknotError, match=rf"(?s)file\.yaml, line {line}: .*{message}"):
        _read(tmp_path, text)


def test_a_file_that_holds_no_study_is_refused(tmp_path: Path) -> None:
    for text in ("", "- 1\n", "word\n"):
        with pytest.raises(UnknotError, match="holds no study"):
            _read(tmp_path, text)
    with pytest.raises(UnknotError, match="names no world"):
        _read(tmp_path, "models: beta_vae\n")
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UnknotError, match="cannot be read as YAML"):
        read_spec(tmp_path / "bytes.yaml")
    with pytest.raises(UnknotError, match="no such file"):
        read_spec(tmp_path / "none.yaml")
    with pytest.raises(UnknotError, match="cannot be read"):
        read_spec(tmp_path)


def test_a_name_that_is_no_file_suggests_a_study_that_ships() -> None:
    with pytest.raises(UnknotError, match="unknown study 'duan2020_smal'; did you mean 'duan2020_small'"):
        read_spec("duan2020_smal")


def test_the_old_name_of_a_study_that_ships_is_refused_with_the_new_one(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s1").mkdir()  # the folder of a study made before
    for old, new in {"s1": "duan2020", "S1": "duan2020", "s4_small": "vansteenkiste2019_small"}.items():
        with pytest.raises(UnknotError, match=f"study: {old} is now called {new}"):
            read_spec(old)
    with pytest.raises(UnknotError, match="unknown study 's2_easy'"):  # there never was one
        read_spec("s2_easy")
    (tmp_path / "s3").write_text(GOOD)  # somebody's own file
    assert read_spec("s3").name == "s3"


def test_python_objects_in_a_file_are_not_made(tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match="is not YAML"):
        _read(tmp_path, GOOD + "about: !!python/object/apply:os.getcwd []\n")


def test_aliases_that_unfold_without_end_are_refused(tmp_path: Path) -> None:
    bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    bomb += "".join(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 9))
    with pytest.raises(UnknotError, match="unfolds without end"):
        _read(tmp_path, bomb)
    with pytest.raises(UnknotError, match="unfolds without end"):
        _read(tmp_path, "a: &a [*a]\n")


def test_values_can_be_shared_by_an_anchor(tmp_path: Path) -> None:
    text = "worlds: w\nmodels:\n  beta_vae: &same {beta: [1, 2]}\n  beta_tc_vae:\n    <<: *same\n    alpha: 1\n"
    first, second = _read(tmp_path, text).entries
    assert first.values["beta"].values == second.values["beta"].values == (1, 2)
    assert second.values["alpha"].values == (1,)


def test_methods_of_ranking_have_full_names() -> None:
    assert [method_id(m) for m in ("udr_lasso", "udr_lasso[alpha=cv]", "udr_spearman")] == [
        "udr_lasso[alpha=0.1]", "udr_lasso[alpha=cv]", "udr_spearman",
    ]  # fmt: skip


def test_a_study_that_ships_is_found_beside_a_folder_of_its_name(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "demo").mkdir()  # as `make demo` leaves one
    monkeypatch.chdir(tmp_path)
    assert read_spec("demo").name == "demo"


def test_every_study_that_ships_says_what_it_is_about() -> None:
    own = {"demo": "A first study", "zoo": "The runs that ship", "reference": "A reference"}
    papers = {name: name.partition("_")[0] for name in preset_names() if name not in own}
    assert set(papers.values()) == set(PAPERS)
    for name in preset_names():
        study = read_spec(name)
        assert study.name == name
        assert study.about.startswith(own[name] if name in own else PAPERS[papers[name]].short)


def test_the_easy_study_has_the_puzzles_of_the_released_code_and_is_else_the_same() -> None:
    study, easy = read_spec("vansteenkiste2019"), read_spec("vansteenkiste2019_easy")
    released = {"alternatives": "easy", "reject_distinct": True}
    assert easy.tasks["reasoning"] == {**study.tasks["reasoning"], **released}
    assert [(e.model, e.preset) for e in easy.entries] == [(e.model, e.preset) for e in study.entries]


@pytest.mark.parametrize(
    "line",
    [
        "seeds: 3000000000",
        "steps: 99999999999",
        "about: !!timestamp 2001-99-99",
        "about: !!bool maybe",
        "about: !!python/object/apply:os.system ['true']",
        "about: " + "[" * 2000 + "]" * 2000,
        "seeds: " + "9" * 5000,
        "limit: 1e400",
    ],
)
def test_what_no_study_can_mean_is_refused_with_the_name_of_its_file(tmp_path: Path, line: str) -> None:
    from unknot.studies.plan import plan_study

    path = tmp_path / "own.yaml"
    path.write_text(f"worlds: dsprites_rendered\nmodels: beta_vae\nmetrics: mig\n{line}\n")
    with pytest.raises(UnknotError, match=r"own\.yaml"):
        plan_study(read_spec(path))
