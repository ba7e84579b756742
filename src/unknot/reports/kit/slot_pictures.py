"""What the slots of a model do: which pixels each of them takes, and what it draws there. Arrays in, picture out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reports.kit.latent_pictures import GAP, MARGIN, Images, framed
from unknot.reports.kit.lettering import FAINT, INK, PAPER, font, shortened

if TYPE_CHECKING:
    from PIL.Image import Image

GUTTER, LINE, LINES = 66, 13, 3  # for labels of rows, and below a picture for a line, of which there are so many
GROUND = 0.85  # the grey that shows where a slot draws nothing
# Okabe and Ito's, which all eyes tell apart, and four more; repeated beyond.
OKABE_ITO = "000000 e69f00 56b4e9 009e73 f0e442 0072b2 d55e00 cc79a7"
COLORS = np.array(
    [list(bytes.fromhex(c)) for c in f"{OKABE_ITO} 969696 ffffff 785028 aadcaa".split()], dtype=np.uint8
)


def slot_sheet(
    images: Images,
    pictures: NDArray[np.floating[Any]],
    masks: NDArray[np.floating[Any]],
    *,
    title: str = "",
    captions: Sequence[Sequence[str]] = (),
    labels: Sequence[str] = (),
) -> "Image":
    """One row for each image: itself, its reconstruction, who owns each pixel, and what each slot draws where.

    Args:
        images: (n, h, w, c) uint8, as the model saw them.
        pictures: (n, k, h, w, c) in [0, 1], what each slot draws.
        masks: (n, k, h, w), summing to one over slots.
        title: written on top.
        captions: below each slot of each image, up to three lines.
        labels: of the rows.
    """
    from PIL import Image, ImageDraw

    n, k = masks.shape[:2]
    if not n or len(images) != n or pictures.shape[:2] != (n, k) or len(captions) not in (0, n):
        raise UnknotError(
            f"slot sheet: {len(images)} images, pictures of shape {pictures.shape[:2]} and masks of {masks.shape[:2]}; "
            "expected one row for each image and one entry for each slot."
        )
    shares = masks[..., None]
    on_ground = pictures * shares + GROUND * (1 - shares)  # grey where their masks are not
    columns = [
        ("image", framed(images)),
        ("reconstruction", framed((pictures * shares).sum(1))),
        ("slots", framed(COLORS[masks.argmax(1) % len(COLORS)])),
        *((f"slot {j}", framed(on_ground[:, j])) for j in range(k)),
    ]
    width, height = columns[0][1][0].size
    head = MARGIN + (26 if title else 0)
    gutter, step = (GUTTER if labels else 0), height + (LINES * LINE if captions else 0) + GAP
    size = (2 * MARGIN + gutter + len(columns) * (width + GAP) - GAP, head + 18 + n * step - GAP + MARGIN)
    page = Image.new("RGB", size, PAPER)
    pen = ImageDraw.Draw(page)
    if title:
        pen.text((MARGIN, MARGIN - 6), shortened(title, font(14), size[0] - 2 * MARGIN), fill=INK, font=font(14))
    for column, (name, cells) in enumerate(columns):
        left = MARGIN + gutter + column * (width + GAP)
        words = shortened(name, font(11), width)
        pen.text((left + width / 2, head), words, fill=FAINT, font=font(11), anchor="ma")
        for row, cell in enumerate(cells):
            page.paste(cell, (left, head + 18 + row * step))
    for row, label in enumerate(labels):
        pen.text((MARGIN, head + 18 + row * step + height / 2), label, fill=INK, font=font(12), anchor="lm")
    for row, below in enumerate(captions):
        for slot, caption in enumerate(below):
            left = MARGIN + gutter + (len(columns) - k + slot) * (width + GAP)
            for line, part in enumerate(caption.split("\n")[:LINES]):
                at = (left + width / 2, head + 18 + row * step + height + 2 + line * LINE)
                pen.text(at, shortened(part, font(10), width + GAP), fill=FAINT, font=font(10), anchor="ma")
    return page
