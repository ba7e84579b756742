"""What every task promises, run over the registry: a new task inherits all of it.

Each is put to an encoder and to a run of a small world, with those options of `SMALL` that it has. An option that keeps
a task from being quick, under a name that is not there yet, is added to it.
"""

import inspect
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin

import numpy as np
import pytest
import yaml
from annotated_types import Ge, Gt, Le, Lt
from scipy.sparse import csr_array
from typer.testing import CliRunner

import unknot
from unknot import ArrayWorld, Factor, FactorSpace, Representation, Run, RunSpec, TaskResult, UnknotError
from unknot.cli import app
from unknot.cli.output import plain_console
from unknot.cli.task.command import show
from unknot.encoders.source import FEW
from unknot.errors import Note
from unknot.fields import in_words, members
from unknot.files import plain
from unknot.reports.task_page import write_task_page
from unknot.runs.training import train
from unknot.studies.plan import plan_study
from unknot.studies.spec import read_spec
from unknot.studies.steps import task_file
from unknot.tasks import TASKS, Task, read_result
from unknot.tasks.kept_results import WHOSE
from unknot.tasks.options import flag_of
from unknot.worlds.scenes.toy_corpus import toy_corpus

NASTY = "<script>[/red]"
HATS = FactorSpace((Factor("brim", 3, "categorical"), Factor("crown", 4), Factor(NASTY, 20)))
SMALL: dict[str, Any] = {
    "at": [3, 6],
    "classes": {NASTY: 4},
    "corpus": "corpus",
    "episodes": 2,
    "evaluate_every": 3,
    "evaluation_batches": 1,
    "exploration": 1,
    "f": "8x1",
    "g": "8x2",
    "held_out": ["brim=0,crown=0"],
    "initialisations": 2,
    "minibatch": 8,
    "pair_only": True,
    "pictures": 1,
    "points": 4,
    "readout": True,
    "recipe": "paper",
    "rounds": 2,
    "rows": 200,
    "split": "extrapolation",
    "steps": 6,
    "train_rows": 80,
}
REASONERS = ("draws", "search", "g", "f", "lr", "dropout", "norm", "optimiser")
LEADS_TO = {  # options that settings hold in another form: what they led to
    "combinations": dict.fromkeys(("held_out", "pair", "limit"), "combinations"),
    "generalisation": dict.fromkeys(("split", "hold", "ratio", "keep", "allow_circular"), "splits")
    | {"oracle": "model"},
    "reasoning": dict.fromkeys(REASONERS, "reasoners"),
}
WRONG = {"no": ["such"]}  # what no option takes
STUDY = """\
worlds: dsprites_rendered
models: beta_vae
steps: 2
tasks:
  {task}:
    # line 7 is wrong
    {option}: {value}
"""
every = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
every_option = pytest.mark.parametrize(
    ("task", "name"),
    [
        pytest.param(task, name, id=f"{task.name}-{name}")
        for task in TASKS.values()
        for name in task.options.model_fields
    ],
)


def hats() -> ArrayWorld:
    """A world whose images say their classes in the first pixels."""
    classes = HATS.classes(np.arange(HATS.size))
    images = np.zeros((len(classes), 16, 16, 3), dtype=np.uint8)
    images[:, 0, :3] = 10 * classes[:, :, None]
    return ArrayWorld(images, classes, space=HATS, name=NASTY)


class Encoder:
    """A code of any image that is neither perfect nor useless, and how many it has seen."""

    def __init__(self) -> None:
        self.seen = 0

    def __call__(self, images: np.ndarray) -> np.ndarray:
        self.seen += len(images)
        first = images[:, 0, :4, 0] / 10
        return np.concatenate([first[:, :3] + first[:, 1:] / 2, images.mean((1, 2))], axis=1)


Encoder.__qualname__ = NASTY  # as which results know it


def small(task: Task) -> dict[str, Any]:
    return {name: value for name, value in SMALL.items() if name in task.options.model_fields}


def put(task: Task, encoder: Encoder | None = None, **how: Any) -> TaskResult:
    """What a task says of an encoder."""
    world = {"world": hats()} if "world" in task.takes else {}
    return task.function(encoder or Encoder(), **world, **small(task), **how)


def all_but_time(result: TaskResult) -> str:
    return replace(result, seconds=0.0).as_json()


@dataclass(frozen=True)
class Measured:
    """A result, and how far it was said to be on the way to it."""

    result: TaskResult
    told: list[tuple[str, int, int]]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nobody scores it here: what is scored is kept with it."""
    return toy_corpus(tmp_path_factory.mktemp("toy"), n=8, size=16).folder


@pytest.fixture
def here(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of the test's own to stand in."""
    shutil.copytree(corpus, tmp_path / "corpus")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def measured(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[Task], Measured]:
    """Each task, put to the encoder once and without a folder."""
    known: dict[str, Measured] = {}
    place = tmp_path_factory.mktemp("measured")
    shutil.copytree(corpus, place / "corpus")

    def measure(task: Task) -> Measured:
        if task.name not in known:
            told: list[tuple[str, int, int]] = []
            with pytest.MonkeyPatch.context() as patch:
                patch.chdir(place)
                result = put(task, progress=lambda stage, done, total, **_: told.append((stage, done, total)))
            known[task.name] = Measured(result, told)
        return known[task.name]

    return measure


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run on hats."""
    folder = tmp_path_factory.mktemp("trained")
    world, names = hats(), np.array(HATS.names)
    classes = HATS.classes(np.arange(HATS.size))
    np.savez(folder / "hats.npz", images=world.images(classes), factors=classes, factor_names=names)
    spec = RunSpec(world=str(folder / "hats.npz"), latents=3, image_size=32, steps=2, batch_size=8)
    return train(spec, folder / "runs").folder


@every
def test_a_declaration_is_complete(task: Task) -> None:
    assert TASKS[task.name] is task and task.options.task == task.name
    assert type(task.version) is int and task.version > 0
    assert task.question.endswith("?") and task.about and re.search(r"\d{4}", task.reference)


@every
def test_options_survive_json_and_yaml(task: Task) -> None:
    for values in ({}, small(task)):
        settings = plain(task.options(**values).settings())
        for again in (json.loads(json.dumps(settings)), yaml.safe_load(yaml.safe_dump(settings))):
            assert plain(task.options(**again).settings()) == settings


@every_option
def test_an_option_has_words_for_what_it_is_and_refuses_what_it_is_not(task: Task, name: str) -> None:
    option = task.options.model_fields[name]
    assert option.description.endswith(".") and in_words(option)
    task.options(**{name: option.default})
    with pytest.raises(UnknotError, match=rf"{task.name}: {name} is .*; expected") as refused:
        task.options(**{name: WRONG})
    assert refused.value.field == (name,)
    for allowed, beyond in _bounds(option.annotation, option.metadata):
        task.options(**{name: allowed})
        with pytest.raises(UnknotError) as refused:
            task.options(**{name: beyond})
        assert refused.value.field == (name,)


def _bounds(annotation: Any, bounds: Sequence[Any] = ()) -> Iterator[tuple[Any, Any]]:
    """For each bound, a value that is just allowed and one that no longer is."""
    for kind in members(annotation):
        origin, inside = get_origin(kind), get_args(kind)
        if origin is Annotated:
            yield from _bounds(
                inside[0], [bound for part in inside[1:] for bound in getattr(part, "metadata", ())]
            )
        elif origin is Sequence:
            yield from (([allowed], [beyond]) for allowed, beyond in _bounds(inside[0]))
        elif origin is Mapping:
            yield from (({"x": allowed}, {"x": beyond}) for allowed, beyond in _bounds(inside[1]))
        for bound in bounds if kind in (int, float) else ():
            limit, step = kind(astuple(bound)[0]), kind(1) if kind is int else 1e-9
            yield {
                Ge: (limit, limit - step),
                Gt: (limit + step, limit),
                Le: (limit, limit + step),
                Lt: (limit - step, limit),
            }[type(bound)]


@every
def test_an_unknown_option_is_refused_by_its_name(task: Task) -> None:
    with pytest.raises(UnknotError, match=f"unknown option of {task.name} 'nonsense'") as refused:
        task.options(nonsense=0)
    assert refused.value.field == ("nonsense",)


@every
def test_the_function_names_every_option(task: Task) -> None:
    function = getattr(unknot, task.name)
    parameters = inspect.signature(function).parameters
    assert function is task.function and function.__name__ == task.name and task.name in dir(unknot)
    assert list(parameters)[: 1 + len(task.takes)] == ["source", *task.takes]
    assert {"device", "data", "folder", "progress"} <= set(parameters)
    for name, option in task.options.model_fields.items():
        assert parameters[name].default == option.default
        assert f"    {name}: {option.description}" in function.__doc__


@every
def test_the_command_names_every_option(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.rich_utils.MAX_WIDTH", 300)  # which the environment may have set
    said = CliRunner(env={"COLUMNS": "300"}).invoke(app, ["task", task.name, "--help"], catch_exceptions=False)
    words = " ".join(said.stdout.replace("│", " ").split())
    assert task.question in words
    for name, option in task.options.model_fields.items():
        assert f"{flag_of(task.options, name).split('/')[0].rstrip(',')} " in words
        assert option.description in words


@every_option
def test_a_wrong_value_in_a_study_is_refused_with_its_line(task: Task, name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknotError, match=rf"study\.yaml, line 7: {task.name}: {name} is"):
        _plan(tmp_path, task, name, WRONG)


@every
def test_an_option_or_a_world_that_a_study_does_not_know_is_refused_with_its_line(
    task: Task, tmp_path: Path
) -> None:
    with pytest.raises(UnknotError, match=rf"study\.yaml, line 7: unknown option of {task.name} 'nonsense'"):
        _plan(tmp_path, task, "nonsense", 0)
    with pytest.raises(UnknotError, match=r"study\.yaml, line 7: .*(world 'nowhere'|option of \w+ 'world')"):
        _plan(tmp_path, task, "world", "nowhere")


def _plan(folder: Path, task: Task, option: str, value: Any) -> None:
    file = folder / "study.yaml"
    file.write_text(STUDY.format(task=task.name, option=option, value=json.dumps(value)))
    plan_study(read_spec(file))


@every
def test_a_study_makes_results_anew_when_the_version_rises(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Run.at(Path("run"))
    before = task_file(run, task.name, {}, "weights")
    monkeypatch.setitem(TASKS, task.name, replace(task, version=task.version + 1))
    assert task_file(run, task.name, {}, "weights") != before


@every
def test_a_result_says_whose_it_is_and_what_decided_it(
    task: Task, measured: Callable[[Task], Measured], tmp_path: Path
) -> None:
    result = measured(task).result
    assert result.task == task.name and result.source and result.world
    assert result.values and all(type(v) is float and math.isfinite(v) for v in result.values.values())
    assert set(result.lower_is_better) <= set(result.values)
    held = {LEADS_TO.get(task.name, {}).get(name, name) for name in task.options().settings()}
    assert held <= set(result.settings)
    assert read_result(result.write(tmp_path / "result.json")).as_json() == result.as_json()


@every
def test_progress_is_in_words_and_every_stage_reaches_its_end(
    task: Task, measured: Callable[[Task], Measured]
) -> None:
    told = measured(task).told
    assert told
    for (stage, total), calls in groupby(told, key=lambda call: (call[0], call[2])):
        done = [call[1] for call in calls]
        assert re.match(r"[a-z]+\b", stage)
        assert done == sorted(done) and done[0] >= 0 and done[-1] == total


@every
def test_the_same_seed_gives_the_same_result_also_in_parts_and_a_second_call_only_reads(
    task: Task, measured: Callable[[Task], Measured], here: Path
) -> None:
    once = measured(task)
    for stopped in dict.fromkeys(stage for stage, _, _ in once.told):

        def stop(stage: str, done: int, total: int, /, stopped: str = stopped, **facts: Any) -> None:
            if stage == stopped:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            put(task, folder="kept", progress=stop)
    assert all_but_time(put(task, folder="kept")) == all_but_time(once.result)
    encoder = Encoder()
    assert all_but_time(put(task, encoder, folder="kept")) == all_but_time(once.result)
    assert encoder.seen <= FEW  # which tell it from another
    for part in Path("kept").rglob("parts/*.[jn]*"):
        part.write_bytes(b"damaged")
    assert all_but_time(put(task, folder="kept")) == all_but_time(once.result)


@every
def test_a_file_of_latents_is_taken_or_refused_as_one(task: Task, here: Path) -> None:
    classes = HATS.classes(np.arange(HATS.size))
    codes = Representation(Encoder()(hats().images(classes)), classes, HATS.names)
    file = codes.write(here / "latents.npz")
    world = {"world": hats()} if "world" in task.takes else {}
    try:
        result = task.function(file, **world, **small(task))
    except UnknotError as refused:
        assert re.search(rf"{file}:? (holds|has \d+ rows of) latents", str(refused))
        return
    assert result.source == str(file)
    sparse = replace(codes, latents=csr_array(codes.latents))
    assert task.function(sparse, **world, **small(task)).values == result.values


@every
def test_a_result_without_rows_has_its_headline_alone(
    task: Task, measured: Callable[[Task], Measured], tmp_path: Path
) -> None:
    whole = measured(task).result
    emptied = replace(whole, tables={name: [] for name in whole.tables})
    for result in (TaskResult(task.name, "nothing", "", {}), emptied):
        show(task, result)
        for results in ([result], [result, whole], [whole, result]):
            assert f"Task: {task.name}" in write_task_page(tmp_path / "page.html", results).read_text()


@every
@pytest.mark.parametrize("n", (1, 2, 30))
def test_names_from_data_are_only_words_on_a_page_and_in_a_terminal(
    task: Task,
    n: int,
    measured: Callable[[Task], Measured],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    notes = (NASTY, Note("", NASTY, NASTY))
    results = [replace(measured(task).result, source=f"{NASTY} {i}", world=NASTY, notes=notes) for i in range(n)]
    html = write_task_page(tmp_path / "page.html", results).read_text()
    assert html.count("<script>") == 1  # the page's own
    assert "&lt;script&gt;[/red] 0" in html
    for result in results:
        show(task, result)
    if task.compare is not None:
        plain_console().print(task.compare(results))
    assert f"{task.name}: {NASTY} {n - 1} on {NASTY}" in capsys.readouterr().out


@every
def test_a_run_is_put_to_the_task_by_its_command_and_its_report_shows_it(
    task: Task, measured: Callable[[Task], Measured], trained: Path, here: Path
) -> None:
    run = Path(shutil.copytree(trained, here / trained.name))

    def unknot(*words: Any) -> str:
        done = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.output

    files = ("-o", "kept", "--json", "result.json", "--html", "page.html")
    assert f"shown by unknot report {run.name}" in unknot("task", task.name, run.name, *_words(task), *files)
    result = read_result("result.json")
    ours, theirs = (
        {name: value for name, value in plain(one.settings).items() if name not in (*WHOSE, "world")}
        for one in (measured(task).result, result)
    )
    assert theirs == ours
    assert f"Task: {task.name}" in Path("page.html").read_text()
    (written,) = Path("kept").glob(f"{task.name}*.json")
    assert read_result(written).as_json() == result.as_json()
    unknot("report", run.name)
    assert re.findall("<h2>Task: (.+)</h2>", (run / "report.html").read_text()) == [task.name]


def _words(task: Task) -> Iterator[str]:
    """The options of `small` as they are typed."""
    for name, value in small(task).items():
        flag = flag_of(task.options, name).split("/")[0]
        pairs = [f"{key}={one}" for key, one in value.items()] if isinstance(value, dict) else value
        if value is True:
            yield flag
        elif flag.endswith(","):
            yield from (flag.rstrip(","), ",".join(map(str, pairs)))
        else:
            for one in pairs if isinstance(pairs, list) else [pairs]:
                yield from (flag, str(one))


def test_parts_of_another_version_are_not_read(tmp_path: Path) -> None:
    folders = []
    for version in (1, 2):
        task = replace(TASKS["fairness"], version=version)
        representation = Representation(
            np.eye(4).repeat(9, 0), np.arange(4).repeat(9)[:, None] // [2, 1] % 2, ("a", "b")
        )
        task.function(representation, rounds=1, points=2, folder=tmp_path)
        folders.append({path.name for path in (tmp_path / "parts").glob("fairness-*.json")})
    assert len(folders[0]) == 1 and len(folders[1]) == 2
