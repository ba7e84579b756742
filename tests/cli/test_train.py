"""`unknot train` and `unknot models`, as a user runs them."""

import json
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import torch
from torch._dynamo.exc import InternalTorchDynamoError
from typer.testing import CliRunner

import unknot.runs.training
from unknot.cli import app
from unknot.cli.train import model_options
from unknot.errors import UnknotError
from unknot.models import MODELS
from unknot.runs.run import Run
from unknot.runs.spec import RunSpec

SMALL = ["--world", "dsprites_rendered", "--image-size", "32", "--batch-size", "8"]
ENDLESS = [*SMALL, "--steps", "10000000", "--checkpoint-every", "5"]


Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """`start("--world", ...)`: `unknot train` in a process of its own, ended with the test."""
    started: list[subprocess.Popen[str]] = []

    def _start(*words: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "unknot", "train", *words, "--output", str(tmp_path)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True))
        return started[-1]

    yield _start
    for process in started:
        process.kill()
        if process.stdout is not None and not process.stdout.closed:
            process.communicate()


def _said(process: subprocess.Popen[str], pattern: str) -> str:
    """The first line on standard error that matches; an empty one if the process ends before."""
    assert process.stderr is not None
    for line in process.stderr:
        if re.search(pattern, line):
            return line
    return ""


def test_a_run_is_trained_and_its_folder_printed_and_a_second_time_it_says_so(tmp_path: Path) -> None:
    words = [*SMALL, "--steps", "3", "--beta", "2", "--precision", "bfloat16", "--output", str(tmp_path)]
    first = CliRunner().invoke(app, ["train", *words])
    assert first.exit_code == 0, first.output
    folder = Path(first.stdout.splitlines()[-1])
    assert folder.parent == tmp_path
    run = Run(folder)
    assert run.finished
    assert run.spec.options["beta"] == 2.0
    assert run.spec.precision == "bfloat16"
    stamp = run.weights.stat().st_mtime_ns
    second = CliRunner().invoke(app, ["train", *words])
    assert second.exit_code == 0
    assert "already trained" in second.stderr
    assert second.stdout.splitlines() == [str(folder)]
    assert run.weights.stat().st_mtime_ns == stamp


COMPILED = [*SMALL, "--model", "mlp", "--steps", "3"]


@pytest.mark.skipif(not any(map(shutil.which, ("g++", "clang++", "c++"))), reason="no C++ compiler")
def test_a_compiled_run_has_the_weights_of_a_plain_one_but_for_rounding(tmp_path: Path) -> None:
    weights = []
    for more in (["--compile"], []):
        # In a process of its own: what other tests have imported and warned of is no part of compiling.
        command = [sys.executable, "-m", "unknot", "train", *COMPILED, "-o", str(tmp_path / str(len(more))), *more]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        weights.append(unknot.runs.training.load_model(Run(Path(done.stdout.splitlines()[-1]))).state_dict())
    for name, plain in weights[1].items():
        torch.testing.assert_close(weights[0][name], plain, rtol=1e-3, atol=1e-5)


def test_without_a_compiler_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def compile_nothing(_: object) -> Callable[..., object]:
        def call(*_: object) -> object:
            raise InternalTorchDynamoError("No working C++ compiler found\nmore")

        return call

    monkeypatch.setattr(torch, "compile", compile_nothing)
    done = CliRunner().invoke(app, ["train", *COMPILED, "--output", str(tmp_path), "--compile"])
    assert isinstance(done.exception, UnknotError)
    assert "torch.compile does not work here (No working C++ compiler found)" in str(done.exception)
    assert "or train without --compile" in str(done.exception)


def test_two_processes_never_train_the_same_run_and_ctrl_c_says_how_to_go_on(start: Start, tmp_path: Path) -> None:
    first = start(*ENDLESS)
    while not list(tmp_path.glob("*/checkpoint.pt")) and first.poll() is None:
        time.sleep(0.05)
    refused = start(*ENDLESS)
    assert f"process {first.pid} is training this run; wait for it (--wait)" in refused.communicate()[1]
    assert refused.returncode == 2
    waiting = start(*ENDLESS, "--wait")
    assert _said(waiting, "another process is training this run; waiting for it")
    assert first.poll() is None
    first.kill()
    assert _said(waiting, r"going on after step \d+ of 10000000")
    waiting.send_signal(signal.SIGINT)
    assert "the same command goes on there" in _said(waiting, r"stopped after step \d+ of 10000000")
    assert waiting.wait() == 130
    assert next(tmp_path.glob("*/checkpoint.pt")).is_file()


def test_sigterm_writes_a_checkpoint_as_ctrl_c_does(start: Start, tmp_path: Path) -> None:
    process = start(*ENDLESS)
    while not list(tmp_path.glob("*/checkpoint.pt")) and process.poll() is None:
        time.sleep(0.05)
    process.terminate()
    assert "the same command goes on there" in _said(process, r"stopped after step \d+ of 10000000")
    assert process.wait() == 130
    assert next(tmp_path.glob("*/checkpoint.pt")).is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--model", "beta_vea"], "unknown model 'beta_vea'; did you mean 'beta_vae'"),
        (["--bata", "4"], "unknown option of beta_vae 'bata'; did you mean 'beta'"),
        (["--beta", "-1"], "beta_vae: beta is -1.0; a weight cannot be negative"),
        (["--beta", "inf"], "run: options.beta is inf; expected a finite number"),
        (["--beta"], "train: option --beta needs a value, such as --beta 4"),
        (["--beta", "9" * 5000], "beta_vae: beta is '999"),
        (["--model", "factor_vae", "--gamma", "--seed", "1"], "train: option --gamma needs a value"),
        (["--latents", "0"], "run: latents is 0"),
        (["--architecture", "conv65"], "unknown architecture 'conv65'"),
        (["--precision", "float16"], "run: precision is 'float16'"),
        (["--split", "compositional"], "did you mean 'composition'"),
        (["--world", "dsprite"], "unknown world 'dsprite'; did you mean 'dsprites'"),
        (["--device", "abacus"], "device 'abacus' cannot be used here"),
        (["--ratio", "0.3"], "train: split is ''; --hold, --ratio, --keep and --allow-circular belong to one of"),
        (["--split", "extrapolation", "--hold", "x=40"], "'x' has classes 0..31"),
        (["--preset", "schott"], "unknown preset of beta_vae 'schott'; did you mean 'schott2022'"),
        (
            ["--preset", "schott2022"],
            "has several values of beta (1, 2, 4, 6, 8, 16); choose one, such as --beta 1",
        ),
        (["four"], "train: 'four' is not an option; options look like --beta 4"),
    ],
)
def test_a_mistake_ends_in_one_message(words: list[str], message: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["train", *SMALL, "--output", str(tmp_path / "runs"), *words])
    assert isinstance(done.exception, UnknotError)
    assert message in str(done.exception)
    assert not (tmp_path / "runs").exists()


def test_a_mistake_exits_with_code_2_and_no_traceback(start: Start) -> None:
    process = start(*SMALL, "--model", "beta_vea")
    _, said = process.communicate()
    assert process.returncode == 2
    assert said.startswith("unknot: unknown model 'beta_vea'; did you mean 'beta_vae'")
    assert len(said.splitlines()) == 1


OWN = """from unknot.models.beta_vae import VAE

class Bad(VAE):
    def loss(self, batch, step, generator):
        return {}["oops"]

class Unmade(VAE):
    def __init__(self, setting):
        super().__init__(setting, 1, 2, 3)
"""


@pytest.mark.parametrize(("name", "line"), [("Bad", "line 5, in loss"), ("Unmade", "line 9, in __init__")])
def test_a_fault_in_ones_own_model_is_named_by_its_line(name: str, line: str, tmp_path: Path) -> None:
    (tmp_path / "sparse.py").write_text(OWN)
    command = [sys.executable, "-m", "unknot", "train", *SMALL, "--steps", "2", "--model", f"sparse:{name}"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert re.search(rf"Error: .*\nIn .*sparse\.py, {line}", done.stderr), done.stderr
    assert "should not have happened" not in done.stderr
    assert "Traceback" not in done.stderr


def test_ctrl_c_before_the_first_step_is_no_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def pressed(*_: object, **__: object) -> Run:
        raise KeyboardInterrupt

    monkeypatch.setattr(unknot.runs.training, "train", pressed)
    done = CliRunner().invoke(app, ["train", *SMALL, "--output", str(tmp_path)])
    assert done.exit_code == 130
    assert "interrupted; the same command goes on" in done.stderr


def test_options_of_a_model_are_read_in_their_types() -> None:
    words = ["--beta", "4", "--gamma=0.5", "--same-batch", "--lr-decay", "-1e-3", "--name", "x", "--off", "false"]
    expected = {"beta": 4, "gamma": 0.5, "same_batch": True, "lr_decay": -1e-3, "name": "x", "off": False}
    assert model_options(words) == expected
    assert [type(value) for value in model_options(words).values()] == [int, float, bool, float, str, bool]


def test_models_are_listed_and_explained() -> None:
    listed = CliRunner().invoke(app, ["models"], env={"COLUMNS": "160"})
    assert listed.exit_code == 0
    assert all(name in listed.stdout for name in MODELS)
    explained = CliRunner().invoke(app, ["models", "beta_vae"])
    assert "loss = reconstruction + beta KL" in explained.stdout
    assert "beta in 1, 2, 4, 6, 8, 16" in explained.stdout
    wrong = CliRunner().invoke(app, ["models", "vea"])
    assert "unknown model 'vea'" in str(wrong.exception)


def test_the_same_spec_from_python_finds_the_run_of_the_command_line(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["train", *SMALL, "--steps", "2", "--output", str(tmp_path)])
    run = unknot.train(RunSpec(world="dsprites_rendered", image_size=32, batch_size=8, steps=2), tmp_path)
    assert str(run.folder) == done.stdout.splitlines()[-1]


def test_a_run_is_trained_inside_a_split_of_ones_own_and_tested_on_it(tmp_path: Path) -> None:
    few = [
        "--world",
        "dsprites_rendered",
        "--model",
        "mlp",
        "--steps",
        "1",
        "--image-size",
        "32",
        "-o",
        str(tmp_path),
    ]
    by_hand = CliRunner().invoke(app, ["train", *few, "--split", "extrapolation", "--hold", "x=25..31"])
    assert by_hand.exit_code == 0, by_hand.output
    run = Run(by_hand.stdout.strip())
    assert run.spec.split == "extrapolation:x=25..31"
    by_rule = ["--split", "extrapolation", "--ratio", "0.2", "--keep", "shape,scale,orientation,y"]
    assert CliRunner().invoke(app, ["train", *few, *by_rule]).stdout == by_hand.stdout  # the same classes
    page = tmp_path / "result.json"
    done = CliRunner().invoke(
        app, ["task", "generalisation", str(run.folder), "--rows", "40", "--json", str(page)]
    )
    assert done.exit_code == 0, done.output
    assert "extrapolation:x=25..31_r2_ood" in json.loads(page.read_text())["values"]


def test_a_preset_gives_what_is_not_typed(tmp_path: Path) -> None:
    few = ["--world", "dsprites_rendered", "--steps", "1", "--image-size", "32", "-o", str(tmp_path)]
    done = CliRunner().invoke(app, ["train", *few, "--model", "cnn", "--preset", "schott2022", "--lr", "0.001"])
    assert done.exit_code == 0, done.output
    spec = Run(done.stdout.strip()).spec
    assert (spec.steps, spec.lr, spec.init, spec.batch_size) == (1, 0.001, "torch", 64)
    swept = CliRunner().invoke(app, ["train", *few, "--preset", "schott2022", "--beta", "6"])
    assert swept.exit_code == 0, swept.output
    assert Run(swept.stdout.strip()).spec.options["beta"] == 6.0


def test_a_recipe_fills_in_what_was_not_typed_and_a_wrong_one_is_refused(tmp_path: Path) -> None:
    words = [
        "train",
        "--world",
        "dsprites_rendered",
        "--steps",
        "2",
        "--batch-size",
        "4",
        "--output",
        str(tmp_path),
    ]
    done = CliRunner().invoke(app, [*words, "--model", "beta_tc_vae", "--recipe", "quick", "--lr", "1e-3"])
    assert done.exit_code == 0, done.output
    spec = Run(Path(done.stdout.splitlines()[-1])).spec
    assert (spec.architecture, spec.pressure, spec.image_size) == ("separable", "24..2", 32)
    assert (spec.steps, spec.lr, spec.options["beta"]) == (2, 1e-3, 1.5)
    for wrong, message in {
        ("--recipe", "quik"): "unknown recipe 'quik'; did you mean 'quick'",
        ("--recipe", "quick", "--model", "cnn"): "recipe 'quick': is not made for cnn",
        ("--recipe", "quick", "--preset", "mahon2024"): "leave out one",
        ("--starts", "1"): "run: starts is 1; input should be greater than or equal to 2",
        ("--pressure", "24"): "run: pressure is '24'; expected two numbers above zero",
    }.items():
        refused = CliRunner().invoke(app, [*words, *wrong])
        assert message in str(refused.exception)


def test_recipes_are_listed_with_their_models_and_values() -> None:
    listed = CliRunner().invoke(app, ["recipes"], env={"COLUMNS": "200"})
    assert listed.exit_code == 0
    assert "quick_dense" in listed.stdout
    assert "pressure 24..2" in listed.stdout
