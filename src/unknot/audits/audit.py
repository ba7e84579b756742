"""An audit: what encoders know of a rendered world, and what that is good for, beside floors that know nothing.

    unknot.audit(["timm:resnet18", my_function], "shapes3d_rendered", folder="audit")

Every question is that of a metric or a task; the audit only asks them all, of everybody, on the same images.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from unknot.audits import PARTS
from unknot.audits.asked import WHO, Asked, asked_of, own_world
from unknot.encoders.encoder import AS_USUAL, Opening
from unknot.encoders.encoding import encode
from unknot.encoders.points import draw_points, must_match, steady_codes
from unknot.encoders.source import Source
from unknot.errors import UnknotError, check_known
from unknot.files import array_hash, must_be_ours, write_json
from unknot.metrics import METRICS
from unknot.metrics.score import parse_identity
from unknot.progress import Progress, silent, within
from unknot.reading.arguments import check_fields, checked
from unknot.representation import Representation, read_representation
from unknot.runs.workspace import Form, Workspace
from unknot.scoring.answers import Answer
from unknot.scoring.comparison import compare
from unknot.scoring.scoring import plan, run, scorecard
from unknot.tasks import TASKS, TaskResult

FEW = 9  # images that an encoder is tried on first
NORMAL = 1.96  # standard deviations of a 95 % interval
ASKED = ("linear_accuracy[recipe=penalised]", "mlp_accuracy", "mig")  # codes are often wider than rows are many
MARKS = ("audit.json", "parts", "coat")
CODES: Form[Representation] = Form(".npz", read_representation, lambda path, codes: codes.write(path))


@dataclass(frozen=True)
class AuditOptions:
    """How much of everything.

    Attributes:
        parts: which questions: factors, generalisation, combinations, fairness, algebra.
        rows: images of the world that factors are read from; each split takes as many, half of them to test.
        combinations: that are left out, one after the other.
        points: images that sensitive factors are changed in.
        tuples: of scenes, for COAT.
        floors: whether to ask pixels, a random projection and the untrained twin as well.
        resamples: of rows, for intervals of single-latent knowledge.
        layers: of networks, each asked as an encoder of its own; only the last one if left out.
        pools: poolings of networks, each asked as an encoder of its own; the usual one if left out.
        seed: decides rows, readers and draws.
    """

    parts: Sequence[str] = PARTS
    rows: int = 3_000
    combinations: int = 3
    points: int = 30
    tuples: int = 128
    floors: bool = True
    resamples: int = 100
    layers: Sequence[str] = ()
    pools: Sequence[str] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        check_fields(WHO, self)
        if not self.parts:
            raise UnknotError(who=WHO, field="parts", value=(), expected=f"one at least of {', '.join(PARTS)}")
        for part in self.parts:
            check_known("part of an audit", part, PARTS)
        least = {"rows": 100, "combinations": 1, "points": 1, "tuples": 2, "resamples": 20, "seed": 0}
        for name, fewest in least.items():
            if vars(self)[name] < fewest:
                raise UnknotError(who=WHO, field=name, value=vars(self)[name], expected=f"at least {fewest}")

    @property
    def of_tasks(self) -> dict[str, dict[str, Any]]:
        """Task -> its options."""
        half = self.rows // 2
        every: dict[str, dict[str, Any]] = {
            "generalisation": {
                "split": "all",
                "readout": True,
                "rows": half,
                "train_rows": half,
                "recipe": "quick",
            },
            "combinations": {
                "rows": self.rows,
                "limit": self.combinations,
                "pair_only": True,
                "recipe": "penalised",
            },
            "fairness": {"rows": half, "points": self.points, "rounds": 20},
            "algebra": {"tuples": self.tuples, "size": 64, "clear": False, "minibatch": min(64, self.tuples)},
        }
        return {task: how | {"seed": self.seed} for task, how in every.items() if task in self.parts}


@dataclass(frozen=True)
class Audited:
    """What was found out about one encoder.

    Attributes:
        name: of the encoder.
        floor: whether it is there for comparison alone.
        width: numbers in a code; of slots, of all together.
        answers: for each factor, who can read it off and which latent knows it.
        scores: metric -> value.
        intervals: number of `headline`, or mig -> 95 % interval on other rows: of readers as they are, by the binomial
            spread of held-out rows; of MIG by resamples.
        results: task -> its result.
        refused: part -> why there is no answer.
    """

    name: str
    floor: bool
    width: int = 0
    answers: Sequence[Answer] = ()
    scores: Mapping[str, float] = field(default_factory=dict)
    intervals: Mapping[str, Sequence[float]] = field(default_factory=dict)
    results: Mapping[str, TaskResult] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)

    @property
    def headline(self) -> dict[str, float]:
        """A number for each question, means over factors; a part that was not asked, or refused, has none."""
        numbers: dict[str, float] = {}
        if self.answers:
            for name in ("linear", "mlp", "share"):
                numbers[name] = float(np.mean([vars(answer)[name] for answer in self.answers]))
        for task, values in HEADLINES.items():
            if task in self.results:
                numbers |= {value: self.results[task].values[value] for value in values}
        return numbers


HEADLINES: Mapping[str, Sequence[str]] = {
    "generalisation": tuple(
        f"{split}_r2" for split in ("random", "composition", "interpolation", "extrapolation")
    ),
    "combinations": ("linear_random_both", "linear_novel_both", "mlp_novel_both"),
    "fairness": ("unfairness",),
    "algebra": ("l2_coat", "acos_coat"),
}


@dataclass(frozen=True)
class Audit:
    """All encoders, beside each other.

    Attributes:
        world: whose images they saw.
        options: how much of everything.
        encoders: those that were named, then the floors.
        places: encoder -> the best and the worst place it may have by single-latent knowledge (MIG).
    """

    world: str
    options: AuditOptions
    encoders: Sequence[Audited]
    places: Mapping[str, tuple[int, int]] = field(default_factory=dict)

    def write(self, path: Path | str) -> Path:
        """Write one JSON file."""
        return write_json(path, asdict(self))


@checked
def audit(
    encoders: Any,
    world: str = "",
    *,
    options: AuditOptions | None = None,
    folder: Path | str | None = None,
    opening: Opening = AS_USUAL,
    progress: Progress = silent,
) -> Audit:
    """Ask encoders everything, on the same images, beside pixels, a random projection and their untrained twins.

    Args:
        encoders: one, or a list of them: runs, `zoo:NAME`, functions, modules, `package.module:function`,
            `timm:NAME`, `hf:NAME`.
        world: whose factors are asked for; that of the first run if left out, or else rendered Shapes3D.
        options: how much of everything.
        folder: keeps codes and answers, so that the same call goes on, and a second one only reads.
        opening: device, data folder, pooling and size of images.
        progress: told how far it is.
    """
    options = options or AuditOptions()
    named = list(encoders) if isinstance(encoders, list | tuple) else [encoders]  # a module may be iterable too
    if not named:
        raise UnknotError(f"{WHO}: no encoder was named; name one, such as timm:resnet18.")
    if folder is not None:
        must_be_ours(Path(folder), "audit", MARKS)
    world = world or own_world(named, opening)
    asked = asked_of(named, world, opening, layers=options.layers, pools=options.pools, floors=options.floors)
    workspace = Workspace(folder, of=WHO)
    codes = {each.name: _codes(each, options, workspace, within(progress, each.name)) for each in asked}
    found = [_audited(each, codes[each.name], options, workspace, within(progress, each.name)) for each in asked]
    result = Audit(world, options, found, _places(codes, options, workspace) if "factors" in options.parts else {})
    if folder is not None:
        result.write(Path(folder) / "audit.json")
    return result


def _codes(asked: Asked, options: AuditOptions, workspace: Workspace, progress: Progress) -> Representation:
    """The codes of the rows that factors are read from, checked first on a few images."""
    source = asked.source

    def encoded() -> Representation:
        points = draw_points(source.world, None, "train", FEW, options.seed)
        few = source.world.images(points, rng=np.random.default_rng(0))
        steady = steady_codes(source.encoder, few)
        codes = encode(source, rows=options.rows, seed=options.seed, progress=progress)
        must_match(source.encoder, [codes.latents], steady[:1])
        if not np.ptp(codes.latents, axis=0).any():
            raise UnknotError(
                f"encoder '{asked.name}': gives one code to all {len(codes.latents)} images of {source.world_name}; "
                "look at its weights, and at how it scales images (they are uint8, 0 to 255)."
            )
        return codes

    return workspace.kept(f"codes {asked.name}", lambda: _key(source, options), encoded, CODES)


def _key(source: Source, options: AuditOptions) -> list[Any]:
    return [source.world_name, dict(source.record), source.fingerprint, options.rows, options.seed]


def _versions() -> dict[str, int]:
    return {id_: METRICS[parse_identity(id_, METRICS)[0]].facts.version for id_ in ASKED}


def _audited(
    asked: Asked, codes: Representation, options: AuditOptions, workspace: Workspace, progress: Progress
) -> Audited:
    answers: dict[str, Any] = {"answers": [], "scores": {}}
    refused: dict[str, str] = {}
    if "factors" in options.parts:
        answers = workspace.kept(
            f"factors {asked.name}",
            lambda: [*_key(asked.source, options), options.resamples, _versions()],
            lambda: _answers(codes, options, progress),
        )
    results = {}
    for task, how in options.of_tasks.items():
        try:
            results[task] = _task_result(task, how, asked, workspace, within(progress, task))
        except UnknotError as error:
            refused[task] = str(error)
    about = [_answer(record) for record in answers["answers"]]
    intervals = _intervals(about, len(codes.latents) // 3) | answers.get("intervals", {})
    width = int(np.prod(codes.latents.shape[1:]))
    return Audited(asked.name, asked.floor, width, about, answers["scores"], intervals, results, refused)


def _intervals(answers: Sequence[Answer], held_out: int) -> dict[str, Sequence[float]]:
    """95 % of the mean accuracy over factors on other held-out rows, errors of all factors coming together.

    After Agresti and Coull (1998), so that an accuracy of 1 has a width too.
    """
    intervals: dict[str, Sequence[float]] = {}
    for reader in ("linear", "mlp") if answers else ():
        accuracy = np.array([vars(answer)[reader] for answer in answers])
        if np.isfinite(accuracy).all():
            p = (accuracy * held_out + 2) / (held_out + 4)
            middle, spread = float(p.mean()), NORMAL * float(np.sqrt(p * (1 - p) / (held_out + 4)).mean())
            intervals[reader] = (max(0.0, middle - spread), min(1.0, middle + spread))
    return intervals


def _answer(record: Mapping[str, Any]) -> Answer:
    """The answer of a record, in which a number that does not exist is null."""
    numbers: dict[str, Any] = {name: np.nan if value is None else value for name, value in record.items()}
    return Answer(**numbers)


def _answers(codes: Representation, options: AuditOptions, progress: Progress) -> dict[str, Any]:
    todo = plan(codes.flattened(), metrics=ASKED, seed=options.seed, bootstrap=options.resamples)
    card = scorecard(todo, list(run(todo, progress=progress)))
    spread = {record.name: record.interval for record in card.records.values() if record.interval is not None}
    return {"answers": [asdict(answer) for answer in card.answers], "scores": card.values(), "intervals": spread}


def _task_result(
    task: str, how: Mapping[str, Any], asked: Asked, workspace: Workspace, progress: Progress
) -> TaskResult:
    declared = TASKS[task]
    if task == "algebra" and workspace.folder is not None:
        how = {**how, "corpus": workspace.folder / "coat"}
    source = declared.source_of(asked.source.which, asked.source.chosen_world, asked.source.opening)
    result = declared.run(source, declared.options(**how), Workspace(workspace.folder), progress)
    return replace(result, source=asked.name)


def _places(
    codes: Mapping[str, Representation], options: AuditOptions, workspace: Workspace
) -> dict[str, tuple[int, int]]:
    """The places by MIG that resamples of the rows leave open."""
    if len(codes) < 2:
        return {}

    def places() -> dict[str, list[int]]:
        flat = {name: each.flattened() for name, each in codes.items()}
        result = compare(flat, metrics=["mig"], resamples=options.resamples, seed=options.seed)
        return {name: list(place) for name, place in result.ranks(result.metrics[0]).items()}

    def key() -> list[Any]:  # a name may be that of another encoder the next time, and its record too
        asked = [
            [name, dict(each.source), array_hash(each.latents, np.asarray(each.factors))]
            for name, each in codes.items()
        ]
        return [asked, options.resamples, _versions()]

    kept = workspace.kept("places", key, places)
    return {name: (first, last) for name, (first, last) in kept.items()}
