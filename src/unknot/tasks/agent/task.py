"""The agent: does a representation let a model-based agent learn a task from fewer steps?"""

import base64
import io
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from unknot.encoders.points import checked_codes
from unknot.encoders.source import FEW, Source
from unknot.errors import UnknotError, extras
from unknot.processes.threads import threads_of_torch
from unknot.progress import Progress
from unknot.runs.workspace import ARRAYS, Workspace
from unknot.tasks.agent.page import section
from unknot.tasks.options import Options, Untrained, option
from unknot.tasks.result import RESULT, Table, TaskResult, as_number, rows_table
from unknot.tasks.task import Task
from unknot.worlds.scenes.arena import LENGTH, Arenas

if TYPE_CHECKING:
    from rich.console import RenderableType

WHO = "agent"
REPRESENTATION, FACTORS, SHUFFLED = "representation", "factors", "shuffled"
ALONE = {FACTORS: "true factors", SHUFFLED: "shuffled code"}
GOAL = 0.9
AT_ONCE = 256  # pictures that are encoded together
EXPLORERS = 8  # episodes of exploration for each one of the task
FRAME = 160  # milliseconds


class AgentOptions(Options):
    """The options of the agent task."""

    task = WHO
    input: Literal["representation", "factors", "shuffled"] = option(
        REPRESENTATION,
        "representation; or, without a source, factors (the truth about each sprite) or shuffled (that of another).",
    )
    initialisations: int = option(5, "Agents that learn, each from the beginning.", ge=1)
    exploration: int = option(5, "Rounds of exploration, without rewards.", ge=1)
    rounds: int = option(6, "Most rounds of the task; an agent that has reached 90 % stops.", ge=2)
    episodes: int = option(32, "Episodes of a round.", ge=1)
    steps: int = option(1000, "Steps of learning after every round.", ge=1)
    size: int = option(64, "Height and width of the pictures.", ge=16)
    seed: int = option(0, "Decides scenes and agents.", ge=0)


def measure(source: Source, options: AgentOptions, workspace: Workspace, progress: Progress) -> TaskResult:
    """The learning curves of several agents on one frozen representation."""
    if options.input == REPRESENTATION:
        _must_see_colour(source)
        source.encoder_of((options.size, options.size, 3))  # or it is refused
        label, fingerprint = source.label, source.fingerprint_by(lambda: _few(source, options))
    else:
        label, fingerprint = ALONE[options.input], ""
    settings = {**options.settings(), "encoder": source.record, "fingerprint": fingerprint}
    of_one = {name: value for name, value in settings.items() if name != "initialisations"}

    def result() -> TaskResult:
        curve: Table = []
        films: list[NDArray[np.uint8]] = []
        for number in range(options.initialisations):

            def learned(number: int = number) -> dict[str, NDArray[Any]]:
                with threads_of_torch():
                    return _learned(source, options, number, progress)

            agent = workspace.kept("learner", [of_one, number], learned, ARRAYS)
            columns = (agent[name].tolist() for name in ("steps", "success", "length"))
            curve += [
                {"initialisation": number, "steps": int(steps), "success": success, "length": length}
                for steps, success, length in zip(*columns, strict=True)
            ]
            films.append(agent["film"])
        values, film = _values(curve, options), next((film for film in films if len(film)), None)
        return TaskResult(
            task=WHO,
            source=label,
            world="arena of sprites",
            values=values,
            tables={
                "curve": curve,
                "pictures": [] if film is None else [{"title": "A success", "gif": _gif(film)}],
            },
            settings=settings,
            notes=_words(values),
            lower_is_better=["steps_to_90"],
        )

    return workspace.kept(WHO, [settings, label], result, RESULT)


def _must_see_colour(source: Source) -> None:
    if source.run is not None and source.home.image_shape[2] != 3:
        raise UnknotError(
            f"{WHO}: {source.run.folder} was trained on pictures with {source.home.image_shape[2]} channel(s) "
            f"({source.run.spec.world}); sprites are told apart by colour, so give a run that sees "
            "three, such as one trained on arena_rendered."
        )


def _learned(source: Source, options: AgentOptions, number: int, progress: Progress) -> dict[str, NDArray[Any]]:
    """The curve of one agent, and the film of a success."""
    with extras(f"{WHO}: an agent"):
        from unknot.tasks.agent.agent import Agent

    seed = [options.seed, number]
    agent = Agent(_encode(source, options, seed), seed, size=options.size, steps=options.steps)
    progress("exploring", 0, options.exploration)
    for done, _ in enumerate(agent.explore(options.exploration, EXPLORERS * options.episodes), start=1):
        progress("exploring", done, options.exploration)
    curve, film = [], np.empty((0, options.size, options.size, 3), dtype=np.uint8)
    for done, played in enumerate(agent.play(options.rounds, options.episodes), start=1):
        curve.append((played.steps, played.success, played.length))
        film = played.film if len(played.film) else film
        reached = played.success >= GOAL
        progress("playing", options.rounds if reached else done, options.rounds, success=played.success)
        if reached:
            break
    steps, success, length = np.array(curve).T
    return {"steps": steps, "success": success, "length": length, "film": film}


def _encode(source: Source, options: AgentOptions, seed: list[int]) -> Any:
    """What turns sprites of arenas into codes."""
    if options.input == FACTORS:
        return Arenas.factors
    if options.input == SHUFFLED:
        rng = np.random.default_rng([*seed, 1])

        def shuffled(arenas: Arenas, rows: NDArray[np.int64], sprites: NDArray[np.int64]) -> NDArray[np.float64]:
            return arenas.factors(rng.integers(0, arenas.n, len(rows)), sprites[rng.permutation(len(sprites))])

        return shuffled
    encoder = source.encoder_of((options.size, options.size, 3))

    def coded(arenas: Arenas, rows: NDArray[np.int64], sprites: NDArray[np.int64]) -> NDArray[np.float32]:
        parts = [slice(start, start + AT_ONCE) for start in range(0, len(rows), AT_ONCE)]
        codes = [checked_codes(encoder, arenas.alone(rows[part], sprites[part]))[0] for part in parts]
        return np.concatenate(codes).reshape(len(rows), -1)

    return coded


def _few(source: Source, options: AgentOptions) -> NDArray[np.float32]:
    """Codes of a few sprites, which tell an encoder from another."""
    arenas, rows = Arenas(FEW, np.random.default_rng(0), size=options.size), np.arange(FEW)
    codes: NDArray[np.float32] = _encode(source, options, [])(arenas, rows, rows % 4)
    return codes


def _values(curve: Table, options: AgentOptions) -> dict[str, float]:
    steps, last, areas = [], [], []
    for number in range(options.initialisations):
        own = [row for row in curve if row["initialisation"] == number]
        success = [as_number(row["success"]) for row in own]
        steps.append(as_number(own[-1]["steps"]))
        last.append(success[-1])
        areas.append(np.mean(success + success[-1:] * (options.rounds - len(own))))
    return {
        "success": float(np.mean(last)),
        "reached_90": float(np.mean(np.array(last) >= GOAL)),
        "steps_to_90": float(np.mean(steps)),
        "area": float(np.mean(areas)),
    }


def _words(values: dict[str, float]) -> list[str]:
    if values["reached_90"] == 1:
        return []
    return [
        "Not all agents reached 90 % success; for those that did not, steps_to_90 counts all steps they were given."
    ]


def _gif(film: NDArray[np.uint8]) -> str:
    from PIL import Image

    frames = [Image.fromarray(picture).resize((128, 128), Image.Resampling.NEAREST) for picture in film]
    file = io.BytesIO()
    times = [FRAME] * (len(frames) - 1) + [8 * FRAME]
    frames[0].save(file, format="GIF", save_all=True, append_images=frames[1:], duration=times, loop=0)
    return base64.b64encode(file.getvalue()).decode("ascii")


def check(run: Untrained, options: AgentOptions) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    if options.input != REPRESENTATION:
        raise UnknotError(who=WHO, field="input", value=options.input, expected="representation, which a run has")
    try:
        run.must_see((options.size, options.size, 3))
    except UnknotError as error:
        raise error.within("size") from None


def table(result: TaskResult) -> "RenderableType":
    """The last round of every agent."""
    last = {row["initialisation"]: row for row in result.tables.get("curve", [])}
    title = "share of episodes solved in an agent's last round, after so many steps of the task"
    return rows_table(title, list(last.values()))


AGENT = Task(
    name=WHO,
    version=3,
    question="After how many steps of a task does a model-based agent on this representation succeed?",
    about=f"""Four sprites, two blue and two green, are to be brought together by colour. An action is a click and a
push; an episode ends when the inverse Davies-Bouldin index of the colours is 2.5, or after {LENGTH} steps. The agent
sees the frozen code of each sprite alone. It first learns by touch, without rewards or labels and on sprites of any
colour: where a sprite is, since clicks there move it and pushes move it on; and its looks, which pushes leave alone. It
chooses actions whose outcome it cannot foresee. Then it plays: in every round of episodes it takes the push after
which, by its two models, the scene is worth most, and afterwards learns from all rewards so far. It needs codes that
tell where a sprite is, and what colour it has.

`values`: "steps_to_90", the steps of the task that agents had learned from when they first solved 90 % of a round's
episodes, averaged over agents; "reached_90", the share of agents that did; "success" of their last rounds; "area" under
their learning curves, the mean success of all rounds, where an agent that stopped keeps its last. `tables`: "curve", a
row for each agent and round, and "pictures", the film of a success (base64 GIF).

Random actions solve 2 % of the episodes. The inputs "factors" and "shuffled" are the two ends between which a
representation lies.""",
    reference=(
        "Watters et al. 2019, COBRA, arXiv:1905.09275; Duan et al. 2020, Unsupervised Model Selection for Variational "
        "Disentangled Representation Learning, arXiv:1905.12614, section 5."
    ),
    options=AgentOptions,
    check=check,
    measure=measure,
    table=table,
    page=section,
    takes=(),
    sources=(
        "The folder of a run, zoo:NAME, package.module:function, timm:NAME or hf:NAME; several are compared. None with "
        "the input factors or shuffled."
    ),
    alone=lambda options: options.input != REPRESENTATION,
)
agent = AGENT.function
