"""Pictures of puzzles: the grid with a question mark, and the six answers below it."""

from typing import TYPE_CHECKING

import numpy as np

from unknot.errors import UnknotError
from unknot.reports.kit.lettering import FAINT, FRAME, INK, PAPER, font, thumbnail
from unknot.worlds.preview import GAP, MARGIN
from unknot.worlds.puzzles.puzzles import Puzzles
from unknot.worlds.world import World

if TYPE_CHECKING:
    from PIL.Image import Image

RIGHT = "#2f9e6b"


def puzzle_picture(
    world: World, puzzles: Puzzles, which: int = 0, *, rng: np.random.Generator, solved: bool = False
) -> "Image":
    """One puzzle as a picture.

    Args:
        world: whose factors the puzzles are made from.
        puzzles: some.
        which: of them.
        rng: for the random parts of stochastic worlds.
        solved: frame the right answer, and say which factors are fixed.
    """
    from PIL import Image, ImageDraw

    if not 0 <= which < len(puzzles):
        raise UnknotError(f"preview: there are {len(puzzles)} puzzles; number {which} is not among them.")
    panels = np.concatenate([puzzles.context[which], puzzles.answers[which]])
    cells = [thumbnail(image) for image in world.images(panels, rng=rng if world.stochastic else None)]
    w, h = cells[0].size
    width = 2 * MARGIN + 6 * w + 5 * GAP
    head, between, foot = MARGIN + 34, 44, 26
    height = head + 3 * h + 2 * GAP + between + h + foot + MARGIN // 2
    page = Image.new("RGB", (width, height), PAPER)
    pen = ImageDraw.Draw(page)
    pen.text(
        (width / 2, MARGIN),
        "Which panel completes the third row?",
        fill=INK,
        font=font(18, bold=True),
        anchor="mm",
    )

    left = (width - 3 * w - 2 * GAP) // 2
    for i in range(9):
        x, y = left + i % 3 * (w + GAP), head + i // 3 * (h + GAP)
        if i < 8:
            page.paste(cells[i], (x, y))
        else:
            pen.text((x + w / 2, y + h / 2), "?", fill=FAINT, font=font(h // 2, bold=True), anchor="mm")
        pen.rectangle((x - 1, y - 1, x + w, y + h), outline=FRAME)
    top = head + 3 * h + 2 * GAP + between
    for i in range(6):
        x = MARGIN + i * (w + GAP)
        right = solved and i == puzzles.labels[which]
        page.paste(cells[8 + i], (x, top))
        pen.rectangle((x - 1, top - 1, x + w, top + h), outline=FRAME)
        if right:
            pen.rectangle((x - 4, top - 4, x + w + 3, top + h + 3), outline=RIGHT, width=4)
        pen.text(
            (x + w / 2, top + h + 16), "ABCDEF"[i], fill=RIGHT if right else FAINT, font=font(14), anchor="mm"
        )
    if solved:
        names = [name for name, fixed in zip(world.factors.names, puzzles.fixed[which], strict=True) if fixed]
        text = f"constant in each row: {', '.join(names)}"
        pen.text((width / 2, top - between / 2), text, fill=RIGHT, font=font(14), anchor="mm")
    return page
