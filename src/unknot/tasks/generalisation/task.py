"""Systematic generalisation: are factors still predicted where training never was?

    def predict(images):                       # uint8 (n, h, w, c)
        return my_network(images)              # (n, n_factors), each factor from 0 (first class) to 1 (last class)

    unknot.generalisation(predict, "dsprites_rendered", "extrapolation")

The benchmark is that of Schott et al. 2022, arXiv:2107.08221.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from unknot.encoders.source import Source
from unknot.errors import UnknotError
from unknot.progress import Progress
from unknot.runs.workspace import Workspace
from unknot.tasks.generalisation.error_similarity import KINDS_OF, Similarity, comparable, error_similarity
from unknot.tasks.generalisation.options import ROWS, WHO, GeneralisationOptions
from unknot.tasks.generalisation.oracle import oracle
from unknot.tasks.generalisation.page import section
from unknot.tasks.generalisation.predicted_split import PredictedSplit
from unknot.tasks.generalisation.predictors import (
    Predictor,
    find_predictor,
    must_have_factors,
    must_share_factors,
    needs_readout,
)
from unknot.tasks.options import Untrained
from unknot.tasks.result import RESULT, Cell, TaskResult, rows_table, shown
from unknot.tasks.task import Task
from unknot.worlds.catalogue import conventions
from unknot.worlds.splits.split import Split

if TYPE_CHECKING:
    from rich.console import RenderableType

ALWAYS = {"r2": "R²", "constant_train_mean": "constant"}
UNSEEN = {"r2_id": "ID", "constant_id": "constant", "r2_ood": "OOD", "constant_ood": "constant", "ratio": "ratio"}


def measure(
    source: Source, options: GeneralisationOptions, workspace: Workspace, progress: Progress
) -> TaskResult:
    """R² of each factor on images unlike those of training, beside what a constant would score."""
    if options.oracle:
        return oracle(source, options, workspace, progress)
    predictor = find_predictor(source, options.readout, options.scale)
    settings = _settings(options, predictor, source)
    about = TaskResult(WHO, options.name or source.label, source.world_name, {}, settings=settings)

    def tested(label: str, split: Split) -> TaskResult:
        return workspace.kept(
            f"{WHO} {label}",
            lambda: [about.world, about.settings, about.source, split.as_json(), source.fingerprint],
            lambda: PredictedSplit(label, split, predictor, options, progress).added_to(about),
            RESULT,
        )

    splits = options.splits(predictor.own_split, predictor.world.factors, source.conventions.rule)
    return _joined([tested(label, split) for label, split in splits.items()])


def check(run: Untrained, options: GeneralisationOptions) -> None:
    """Refuse options that no run can be put to the task with, before there is one."""
    if options.oracle:
        raise UnknotError(f"{WHO}: the oracle reads true factors and no run.", field="oracle")
    must_have_factors(run.world)
    if not needs_readout(run.spec, options.readout, run.spec.title):
        must_share_factors(run.spec.title, run.spec, run.home, run.world)
    options.splits(run.spec.split or "all", run.world.factors, conventions(run.world.key).rule)


def _settings(options: GeneralisationOptions, predictor: Predictor, source: Source) -> dict[str, Any]:
    space, spec = predictor.world.factors, source.spec
    apart_from_seed = {} if spec is None else {"family": spec.family, "setting": spec.replace(seed=0).id}
    settings: dict[str, Any] = {
        "rows": options.rows,
        "seed": options.seed,
        "scale": options.scale,
        "readout": predictor.needs_readout,
        "factors": dict(zip(space.names, space.shape, strict=True)),
        "model": {**predictor.encoder.record, **apart_from_seed},
    }
    if predictor.needs_readout:
        settings |= {"train_rows": options.train_rows or ROWS, "steps": options.steps, "recipe": options.recipe}
    return settings


def _joined(parts: Sequence[TaskResult]) -> TaskResult:
    """Results on single splits as one."""
    tables = dict.fromkeys(name for part in parts for name in part.tables)
    return replace(
        parts[0],
        values={name: value for part in parts for name, value in part.values.items()},
        tables={name: [row for part in parts for row in part.tables.get(name, [])] for name in tables},
        settings={**parts[0].settings, "splits": [label for part in parts for label in part.settings["splits"]]},
        notes=list(dict.fromkeys(note for part in parts for note in part.notes)),
    )


def table(result: TaskResult) -> "RenderableType":
    """R² of every factor, each number beside that of a constant, split by split; of an oracle, what is read."""
    from rich.console import Group

    if "oracle" in result.tables:
        return rows_table("oracle", result.tables["oracle"])
    return Group(*(part for mean in result.tables["splits"] for part in (_factors(result, mean), "")))


def _factors(result: TaskResult, mean: Mapping[str, Cell]) -> "RenderableType":
    """The factors of one split, and their mean."""
    from rich.table import Table
    from rich.text import Text

    columns = ALWAYS if mean["r2_ood"] is None else ALWAYS | UNSEEN
    grid = Table(title=Text(f"{mean['split']}: R² by factor"), title_justify="left", box=None, pad_edge=False)
    grid.add_column("factor")
    for head in columns.values():
        grid.add_column(head, justify="right", style="dim" if head == "constant" else "")
    for row in result.tables["factors"]:
        if row["split"] == mean["split"]:
            grid.add_row(Text(str(row["factor"])), *(shown(row[name]) for name in columns))
    grid.add_row("mean", *(shown(mean[name]) for name in columns), style="bold")
    return grid


def compare(results: Sequence[TaskResult]) -> "RenderableType":
    """How alike models are on each split that two or more of them are on."""
    from rich.console import Group

    return Group(
        *(_similarity(error_similarity(group, split, of=kinds[0])) for split, group, kinds in comparable(results))
    )


def _similarity(similarity: Similarity) -> "RenderableType":
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    head = Text(f"{similarity.split}: correlation of {KINDS_OF[similarity.of]} over {similarity.rows} images")
    grid = Table("")
    for i, _ in enumerate(similarity.names):
        grid.add_column(str(i + 1), justify="right")
    for i, (name, row) in enumerate(zip(similarity.names, similarity.matrix.tolist(), strict=True)):
        grid.add_row(Text(f"{i + 1} {name}"), *("-" if r != r else f"{r:.2f}" for r in row))
    return Group(head, grid)


GENERALISATION = Task(
    name=WHO,
    version=2,
    question="Are factors still predicted right on images unlike those of training?",
    about="""R² by split and factor, beside what a constant scores. Test images combine factor values as training never
did (composition), or have values between (interpolation) or beyond (extrapolation) those of training.

    R²_j = 1 - mean_test (f_j(x) - y_j)² / variance_j,     R² = mean_j R²_j,     in (-inf, 1]

y_j is class / (number of classes - 1), also of categorical factors; its variance is that of the whole dataset. Where
interpolation or extrapolation leaves exactly one factor with an unseen value, its R² (ood) stands apart from that of
the others (id); the ratio |f - mean| / |y - mean| says how far extrapolation is drawn to the training mean.

    extrapolation_r2            as above; the same for each split
    extrapolation_r2_clipped    each R²_j no lower than 0, as the paper draws them
    extrapolation_r2_constant   of always saying the mean of the training part
    extrapolation_r2_id, _ood   mean over factors, on images with one unseen value
    extrapolation_ratio         median

A function from uint8 images (n, h, w, c) to predictions (n, n_factors) is tested as it is, and so is a run of a
supervised network; of other runs, of timm and hf networks and of functions with `readout` a readout trained on the
training part predicts from latents, and the rows of a file of latents are shared out among the two parts. A run is
tested on the split it was trained inside; where nothing is known of training, name one, or all.

With `oracle` the readout is given the true factors of the world, and no source: what it can read at best.

Edge cases: constant factors are left out; random and composition splits have no unseen value.
Departs from the paper: 50,000 test and 50,000 readout images by default; "all" takes all.""",
    reference="Schott et al. 2022, Visual Representation Learning Does Not Generalize Strongly Within the Same Domain, "
    "arXiv:2107.08221.",
    options=GeneralisationOptions,
    check=check,
    measure=measure,
    table=table,
    page=section,
    takes=("world", "split"),
    alone=lambda options: options.oracle,
    compare=compare,
)
generalisation = GENERALISATION.function
