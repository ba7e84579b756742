"""One run as part of a page, or as a page: what `unknot report RUN` writes.

Reads the run's folder only: its spec, scores, curves, pictures and results of tasks, as far as they are there. What is
not there yet is named with the command that makes it.
"""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from unknot.errors import UnknotError
from unknot.reports.commands import encode_command, score_command, train_command
from unknot.reports.kit.charts import curves
from unknot.reports.kit.latent_pictures import SWITCHED_OFF
from unknot.reports.kit.page import (
    Cell,
    Command,
    Content,
    Drawing,
    Gallery,
    Grid,
    Line,
    Picture,
    Section,
    write_page,
)
from unknot.reports.kit.step_charts import Curve, step_curves
from unknot.reports.score_page import in_words, read_scores, record_grid, verdict_contents
from unknot.reports.task_page import run_tasks
from unknot.runs.run import Run
from unknot.runs.schedules import ALIKE
from unknot.tasks.algebra.page import needed

CAPTIONS = {
    "reconstructions": "Images, and under each what the model makes of it.",
    "traversals": "One latent moves in each row, the most informative first; greyed rows are switched off: "
    f"their KL is below {SWITCHED_OFF} and they say nothing about the image.",
    "film": "The same as a film: every latent moves there and back.",
    "slots": "Images, what the model makes of them, which slot owns each pixel, and what each slot draws.",
    "hinton": "Which latent knows which factor.",
}
POINTS = 150  # of a curve beside those of other runs
MASKS = {"fg_ari": "FG-ARI", "ari": "ARI"}


def write_run_page(path: Path | str, folder: Path | str) -> Path:
    """Write the page of one run."""
    run = Run(folder)
    spec, record = run.spec, run.record
    lead = (
        f"Run {spec.id}: {spec.steps:,} steps on {spec.world}"
        f"{'' if run.finished else ', not finished yet'}; started {record.get('started', 'at an unknown time')}."
    )
    fields = [[name, _plain(value)] for name, value in spec.model_dump().items() if name != "options"]
    fields += [[f"option {name}", _plain(value)] for name, value in spec.options.items()]
    versions = record.get("versions")
    if isinstance(versions, dict):  # anyone may have written the file
        fields += [[f"version of {name}", str(version)] for name, version in versions.items()]
    sections = [
        *run_parts(run),
        *run_tasks(run),
        Section("Where it comes from", contents=[*_commands(run), Grid(("field", "value"), fields, name="spec")]),
    ]
    return write_page(path, spec.label, lead, sections)


def run_section(run: Run, title: str, before: list[Content], *, opened: bool = False) -> Section:
    """One run as a foldable part of a study's page; `before` comes first."""
    parts = list(run_parts(run, film=False))
    contents = [*_commands(run), *before, *(content for part in parts for content in part.contents)]
    words = [text for part in parts for text in part.paragraphs]
    return Section(title, words, contents, name=f"run-{run.folder.name}", open=opened)


def run_parts(run: Run, *, film: bool = True) -> Iterator[Section]:
    """What the run's folder holds: scores, pictures, curves."""
    records = {path: read_scores(path) for path in run.scores}
    yield from _scores(run, records)
    if not records:
        yield Section("Scores", [f"Not scored yet: unknot score {run.folder}"])
    shown = ["reconstructions", "traversals", *(["film"] if film else []), "slots"]
    pictures = [picture for name in shown for picture in _picture(run, name)]
    words = f"No pictures: unknot encode {run.folder} --pictures draws them if there is a decoder."
    verdicts = any(record["verdicts"] for record in records.values())
    hinton = [] if verdicts else list(_picture(run, "hinton"))
    yield Section("What it sees", [] if pictures else [words], [*pictures, *hinton])
    yield Section("How it learned", contents=[*_curves(run), *_starts(run)])


def _scores(run: Run, records: Mapping[Path, Mapping[str, Any]]) -> Iterator[Section]:
    """A section for each file of scores; where there are several, those after the first say which they are."""
    for i, (path, record) in enumerate(records.items()):
        files = [run.folder / Path(file["name"]).name for file in record["input"].get("files", [])[:1]]
        about = [file.name for file in files]
        about += [f"seed {record['seed']}"] if record["seed"] else []
        about += [f"at most {limit} rows"] if (limit := record["parameters"].get("limit")) else []
        which = f" of {', '.join(about)}" if i else ""
        grid = record_grid(record, _target(run, record), f"scores of {run.folder.name}{which}")
        words = [f"{path.name}: {text}" if i else text for text in in_words(record)]
        yield Section(f"Scores{which}", words, [*verdict_contents(record), grid])


def _picture(run: Run, name: str) -> Iterator[Picture]:
    drawn = Picture.read(run.picture(name), CAPTIONS[name])
    if drawn is not None:
        yield drawn


def _curves(run: Run) -> Iterator[Content]:
    terms, kl = _table(run.curve), _table(run.kl)
    drawings = []
    if terms is not None:
        for name in terms.columns.drop("step"):
            drawings.append(Drawing(curves(str(name), terms["step"].tolist(), {str(name): terms[name].tolist()})))
    if kl is not None:
        lines = {str(name).replace("latent_", "z"): kl[name].tolist() for name in kl.columns.drop("step")}
        text = f"Greyed: latents whose KL ends below {SWITCHED_OFF}."
        drawings.append(Drawing(curves("KL by latent", kl["step"].tolist(), lines, dim_below=SWITCHED_OFF), text))
    drawings += [*_segmentation_curves(run), *_coat_curves(run)]
    if drawings:
        yield Gallery(drawings)


def run_lines(run: Run, name: str, group: str) -> Iterator[tuple[str, Line]]:
    """What was measured over the steps of a run, each as a line of so many points as can be told apart."""
    table = _table(run.curve)
    if table is not None:
        thin = table.iloc[:: -(-len(table) // POINTS)]
        for term in thin.columns.drop("step"):
            yield str(term), Line(name, group, thin["step"].tolist(), thin[term].tolist())


def _starts(run: Run) -> Iterator[Grid]:
    """The starts of a tournament, the one that was kept first."""
    head = ("seed", "UDR", "informative latents", "kept")
    try:
        table = run.starts().sort_values(["kept", "udr"], ascending=False)
        rows: list[list[Cell]] = [
            [str(seed), round(float(udr), 3), int(informative), "yes" if kept else ""]
            for seed, udr, informative, kept in table[["seed", "udr", "informative", "kept"]].itertuples(
                index=False
            )
        ]
    except (UnknotError, OSError, ValueError, KeyError, OverflowError):  # there is none, or a damaged one
        return
    text = "Starts, compared without labels: the one whose latents others found as well was trained to its end."
    if not any(isinstance(udr, float) and udr >= ALIKE for _, udr, *_ in rows):
        text += f" None is like others (UDR of {ALIKE} or more): the one kept may be no better than the rest."
    yield Grid(head, rows, text, name="starts")


def _segmentation_curves(run: Run) -> Iterator[Drawing]:
    table = _table(run.segmentation)
    if table is not None:
        lines = {text: table[name].tolist() for name, text in MASKS.items() if name in table}
        text = "How well masks fit the true objects: 1 is best, 0 is what chance gives."
        yield Drawing(curves("Masks", table["step"].tolist(), lines), text)


def _coat_curves(run: Run) -> Iterator[Drawing]:
    """COAT of the run over steps, with a level line for pixels."""
    table = _table(run.coat)
    if table is None:
        return
    about = run.record.get("coat")
    about = about if isinstance(about, dict) else {}
    n = about.get("n")
    where = f"on {about.get('n', '?')} tuples of the corpus '{about.get('variant', '?')}'"
    for loss, title in (("l2", "L2-COAT"), ("acos", "acos-COAT")):
        columns = {"codes": f"{loss}_coat", "tidied": f"{loss}_coat_tidied", "pixels": f"pixels_{loss}_coat"}
        lines = {name: table[column].tolist() for name, column in columns.items() if column in table}
        passes = bool(table[f"{loss}_passed"].iloc[-1]) if f"{loss}_passed" in table else False
        text = (
            f"{title} {where}: 1 is best, 0 is chance; at the end the codes "
            f"{'pass' if passes else 'fail'} the test with wrong pictures."
        )
        if "tidied" in lines:
            text += " Tidied: without duplicate and invisible slots."
        yield Drawing(curves(title, table["step"].tolist(), lines), text)
        yield from _p_hat_curves(table, loss, title, n if isinstance(n, int) and n > 0 else 1)


def _p_hat_curves(table: Any, loss: str, title: str, n: int) -> Iterator[Drawing]:
    """The share of tuples in which each wrong picture does worse; of tidied slots, if there are any."""
    names = [name for name in table.columns if name.startswith(f"{loss}_p_hat_")]
    tidied = [name for name in names if name.endswith("_tidied")]
    plain = [name for name in names if not name.endswith(("_tidied", "_no_duplicates"))]
    for columns, whose in ((plain, "codes"), (tidied, "tidied slots")):
        lines = [
            Curve(name.removeprefix(f"{loss}_p_hat_").removesuffix("_tidied"), table["step"], table[name])
            for name in columns
        ]
        if lines:
            chart = step_curves(
                f"{title}, {whose}: wrong pictures", lines, references=needed(n), bounds=(0.0, 1.0)
            )
            yield Drawing(chart, "Share of tuples in which the wrong picture does worse than D.")


def _table(read: Any) -> Any:
    """A table of the run; None if there is none, or none that can be drawn."""
    try:
        table = read()
    except (UnknotError, OSError, ValueError):
        return None
    numeric = table.select_dtypes("number")
    if "step" not in numeric:
        return None
    numeric = numeric[numeric["step"].between(0, sys.maxsize)]
    return numeric if len(numeric) else None


def latents_of(run: Run) -> str:
    """What `unknot score` is given: the latents that were scored; the run where there are none yet."""
    return str(run.latents if run.latents.is_file() else run.folder)


def _commands(run: Run) -> list[Content]:
    source = run.latents_source()
    encoded = [] if source is None else [encode_command(run, source)]
    return [train_command(run.spec, run.folder.parent), *encoded, *_score_commands(run)]


def _score_commands(run: Run) -> Iterator[Command]:
    """What repeats the scores that are there, without touching them: of the latents, not of the run."""
    records = [read_scores(path) for path in run.scores]
    if not records:
        yield Command(("unknot", "score", latents_of(run)), "scores it")
    for record in records:
        command = score_command(_target(run, record), ",".join(record["scores"]), record)
        yield replace(command, caption="scores it")


def _target(run: Run, record: Mapping[str, Any]) -> list[str]:
    """The latents that a record is of."""
    files = [run.folder / Path(file["name"]).name for file in record["input"].get("files", [])[:1]]
    return [str(file) for file in files if file.is_file()] or [latents_of(run)]


def _plain(value: Any) -> str:
    return "–" if value in (None, "") else str(value)
