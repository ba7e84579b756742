"""What is printed, as words: nothing in it is obeyed by a terminal."""

from collections.abc import Iterator
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook
from rich.segment import Segment

from unknot.reading.names import visible


@dataclass(frozen=True)
class Words:
    """Something to print, with its control characters made visible; those of rich itself are left."""

    printed: ConsoleRenderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        for text, style, control in console.render(self.printed, options):
            yield Segment(text if control else visible(text), style, control)


class AsWords(RenderHook):
    """Lets a console print everything as words."""

    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        """What is to be printed, as words."""
        return [Words(renderable) for renderable in renderables]
