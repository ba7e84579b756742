"""What pictures with words on them are made with: colours, letters, lines that fit, small images."""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.reading.names import visible

if TYPE_CHECKING:
    from PIL.Image import Image
    from PIL.ImageFont import FreeTypeFont

INK, FAINT, PAPER, FRAME = "#1c1f24", "#6b7280", "#ffffff", "#d5d9e0"


def thumbnail(image: NDArray[np.uint8]) -> "Image":
    """An image enlarged by a whole number to at least 96 pixels, or shrunk if it is above 192."""
    from PIL import Image

    if image.shape[2] not in (1, 3):
        raise UnknotError(
            f"pictures: images have {image.shape[2]} channels; only 1 (grey) and 3 (colour) can be shown."
        )
    picture = Image.fromarray(np.ascontiguousarray(image.repeat(3, axis=2) if image.shape[2] == 1 else image))
    side = max(picture.size)
    if side > 192:
        picture.thumbnail((128, 128), Image.Resampling.LANCZOS)
        return picture
    times = -(-96 // side)
    return picture.resize((picture.width * times, picture.height * times), Image.Resampling.NEAREST)


@cache
def font(size: int, *, bold: bool = False) -> "FreeTypeFont":
    """DejaVu Sans, which comes with matplotlib."""
    import matplotlib
    from PIL import ImageFont

    file = "DejaVuSans-Bold.ttf" if bold else "DejaVuSans.ttf"
    return ImageFont.truetype(str(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / file), size)


def shortened(text: str, letters: "FreeTypeFont", width: float) -> str:
    """The text in one line, cut with an ellipsis where it would be wider."""
    text = _in_one_line(text)
    if letters.getlength(text) <= width:
        return text
    while text and letters.getlength(text + "…") > width:
        text = text[:-1]
    return text + "…"


def _in_one_line(text: str) -> str:
    """A text that letters can be drawn of."""
    return visible(text.replace("\n", " ")).encode("utf-8", "backslashreplace").decode()


def wrapped(text: str, letters: "FreeTypeFont", width: float, *, lines: int) -> list[str]:
    """The text in up to so many lines of that width; what does not fit is cut with an ellipsis."""
    done: list[str] = []
    words = _in_one_line(text).split(" ")
    while words and len(done) < lines - 1:
        n = 1
        while n < len(words) and letters.getlength(" ".join(words[: n + 1])) <= width:
            n += 1
        done.append(shortened(" ".join(words[:n]), letters, width))
        words = words[n:]
    return [*done, shortened(" ".join(words), letters, width)] if words else done
