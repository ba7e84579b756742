"""A task: one declaration, from which its command, its function, its check in a study and its docs are made."""

import inspect
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unknot.encoders.encoder import AS_USUAL, Opening
from unknot.encoders.source import Reads, Source
from unknot.errors import UnknotError
from unknot.fields import in_words
from unknot.progress import Progress, silent
from unknot.reports.kit.page import Section
from unknot.runs.workspace import Workspace
from unknot.tasks.options import Options, Untrained
from unknot.tasks.result import TaskResult

if TYPE_CHECKING:
    import pandas as pd
    from PIL.Image import Image
    from rich.console import RenderableType

SOURCES = (
    "The folder of a run, a file of latents, package.module:function, timm:NAME or hf:NAME; several are compared."
)


@dataclass(frozen=True)
class Task:
    """What can be done with a representation.

    Attributes:
        name: of its command, its function and its folder.
        version: rises whenever its numbers change.
        question: what it asks, in a sentence.
        about: how it asks, and what its numbers mean.
        reference: the paper to cite.
        options: its options.
        check: refuses what can be refused before anything is trained.
        measure: finds out.
        table: a result for the terminal.
        page: results of several sources as a section of a page.
        takes: what stands after the source in a call of its function; without "world" it has images of its own.
        sources: what it can be put to.
        alone: whether it takes no source with these options.
        optional: whether it says something without a source too.
        reads: recognises what this task alone can read.
        trains: whether it takes a `RunSpec` and trains by it.
        controls: names of the values that others are held against; neither more nor less of them is better.
        compare: results of several sources for the terminal, beside their own tables.
        preview: a picture of what it shows, without measuring anything.
        estimate: seconds of one run on a world, from a short trial.
        study_page: what a study says of it beyond the results themselves, from a table of scores, one row a run of one
            world and split, and the results of these runs in the same order.
    """

    name: str
    version: int
    question: str
    about: str
    reference: str
    options: type[Options]
    check: Callable[[Untrained, Any], None]
    measure: Callable[[Source, Any, Workspace, Progress], TaskResult]
    table: Callable[[TaskResult], "RenderableType"]
    page: Callable[[Sequence[TaskResult]], Section]
    takes: tuple[str, ...] = ("world",)
    sources: str = SOURCES
    alone: Callable[[Any], bool] = lambda options: False
    optional: bool = False
    reads: Reads = lambda which: None
    trains: bool = False
    controls: Sequence[str] = ()
    compare: "Callable[[Sequence[TaskResult]], RenderableType] | None" = None
    preview: "Callable[[Source, Any, Progress], Image] | None" = None
    estimate: Callable[[str, Any, Path | None], float] | None = None
    study_page: "Callable[[pd.DataFrame, Sequence[TaskResult]], Iterator[Section]] | None" = None

    def run(
        self, source: Source, options: Options, workspace: Workspace | None = None, progress: Progress = silent
    ) -> TaskResult:
        """Put a source to the task."""
        began = time.perf_counter()
        self.must_fit(source, options)
        folder = None if workspace is None else workspace.folder
        versioned = Workspace(folder, of=[self.name, self.version])
        with Workspace(folder, must_keep=False).locked(self.name, [str(source.which), options.settings()]):
            result = self.measure(source, options, versioned, progress)
        return replace(result, seconds=round(time.perf_counter() - began, 2))

    @property
    def study_options(self) -> list[str]:
        """What may stand with it in a study's file."""
        return [*(name for name in self.takes if name == "world"), *self.options.model_fields]

    def source_of(self, which: Any, world: Any = None, opening: Opening = AS_USUAL) -> Source:
        """What was handed over, as this task reads it."""
        return Source.of(which, world, opening, who=self.name, reads=self.reads)

    def must_fit(self, source: Source, options: Options) -> None:
        """Refuse a source that the task cannot be put to with these options."""
        alone = self.alone(options)
        if source.nothing != alone and not (source.nothing and self.optional):
            expected = "no source with these options" if alone else f"a source: {self.sources}"
            raise UnknotError(f"{self.name}: expected {expected}")
        if source.untrained and not self.trains:
            raise UnknotError(f"{self.name}: {source.label} is a spec that is not trained; train it first.")

    @cached_property
    def function(self) -> Callable[..., TaskResult]:
        """What Python users call."""

        def call(source: Any = None, *after: Any, **named: Any) -> TaskResult:
            values = dict(zip(self.takes, after, strict=False)) | named
            opening = Opening(**{key: values.pop(key) for key in OPENING if key in values})
            workspace, progress = Workspace(values.pop("folder", None)), values.pop("progress", None) or silent
            opened = self.source_of(source, values.pop("world", None), opening)
            return self.run(opened, self.options(**values), workspace, progress)

        call.__name__ = call.__qualname__ = self.name
        call.__module__ = f"unknot.tasks.{self.name}.task"
        call.__doc__ = self.documentation
        call.__signature__ = self._signature  # type: ignore[attr-defined]
        return call

    @property
    def _signature(self) -> inspect.Signature:
        kind = inspect.Parameter
        fields = self.options.model_fields
        first = [kind("source", kind.POSITIONAL_OR_KEYWORD, default=None)]
        for name in self.takes:
            default = fields[name].default if name in fields else None
            first.append(kind(name, kind.POSITIONAL_OR_KEYWORD, default=default))
        rest = [
            kind(name, kind.KEYWORD_ONLY, default=field.default, annotation=field.annotation)
            for name, field in fields.items()
            if name not in self.takes
        ]
        usual = [kind(name, kind.KEYWORD_ONLY, default=default) for name, default in USUAL.items()]
        return inspect.Signature([*first, *rest, *usual], return_annotation=TaskResult)

    @property
    def documentation(self) -> str:
        """The docstring of its function."""
        arguments = [f"source: {self.sources}"]
        if "world" in self.takes:
            arguments.append("world: a world or its name; left out, that of the run or of the file.")
        arguments += [
            f"{name}: {field.description} {in_words(field).capitalize()}."
            for name, field in self.options.model_fields.items()
        ]
        arguments += [f"{name}: {text}" for name, text in OPENING.items()]
        arguments += [
            "folder: keeps what is done, so that the same call goes on, and a second one only reads.",
            "progress: told how far it is, see `unknot.progress`.",
        ]
        lines = "\n".join(f"    {line}" for line in arguments)
        return f"{self.question}\n\n{self.about}\n\nArgs:\n{lines}\n\nReference: {self.reference}"


OPENING = {
    "device": '"cpu", "cuda" or "mps", for runs and networks.',
    "data": "folder of data files.",
    "pool": "how the positions of a network become one code: own, mean, class or slots.",
    "image_size": "resize images to this many pixels, for timm and hf networks.",
    "layer": "of a network, as its named_modules call it, whose output is the code; the last one if left out.",
}
USUAL = {
    "device": "cpu",
    "data": None,
    "pool": "",
    "image_size": None,
    "layer": "",
    "folder": None,
    "progress": None,
}
