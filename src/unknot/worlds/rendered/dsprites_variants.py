"""dSprites in colour, in noise and before a painting: same factors, three channels, random parts in every image.

Each variant wraps a world of white sprites on black, from the file or rendered. With mask m in {0, 1}:

    color   m * (r, g, b),                    r, g, b ~ U(0.5, 1) for each image
    noisy   min(m + noise, 1),                noise ~ U(0, 1) for each pixel and channel
    scream  1 - b where m = 1, else b,        b = (patch + tint) / 2, tint ~ U(0, 1)^3 for each image

where patch is a random 64 x 64 piece of The Scream, shrunk to fit 350 x 274. A generator gives the same images
whether they are drawn all at once or a batch at a time.

Reference: Locatello et al. 2019, Challenging Common Assumptions, arXiv:1811.12359, appendix.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError
from unknot.factors import Classes, FactorSpace
from unknot.reading.pictures import picture
from unknot.worlds.entry import PublishedFile
from unknot.worlds.world import Images, World, as_world, needs_rng

Masks = NDArray[np.bool_]  # (n, height, width)
Pictures = NDArray[np.float32]  # (n, height, width, 3), in [0, 1]
Painting = NDArray[np.float32]  # (height, width, 3), in [0, 1]

SCREAM = PublishedFile("The_Scream.jpg", ("https://upload.wikimedia.org/wikipedia/commons/f/f4/The_Scream.jpg",))
_BATCH = 256  # images painted at a time, so that memory for floats stays small


@dataclass(frozen=True)
class DSpritesVariant:
    """A world of white sprites, painted anew in every image.

    Attributes:
        world: where the sprites come from; one channel.
        name: its title.
        paint: from masks and a generator to pictures in [0, 1].
        key: in the catalogue, if the sprites are those of a world that is there.
    """

    world: World
    name: str
    paint: Callable[[Masks, np.random.Generator], Pictures] = field(repr=False)
    key: str = ""

    stochastic = True

    def __post_init__(self) -> None:
        if self.world.image_shape[2] != 1:
            raise UnknotError(
                f"{self.name}: '{self.world.name}' has {self.world.image_shape[2]} channels; the variants paint "
                "white sprites on black, so give a world with one channel such as dSprites."
            )

    @property
    def factors(self) -> FactorSpace:
        """Those of the sprites."""
        return self.world.factors

    @property
    def image_shape(self) -> tuple[int, int, int]:
        """Height, width, channels."""
        height, width, _ = self.world.image_shape
        return (height, width, 3)

    @property
    def rows(self) -> Classes | None:
        """Those of the sprites."""
        return self.world.rows

    def images(self, classes: ArrayLike, *, rng: np.random.Generator | None = None) -> Images:
        """One image for each row of classes; the same classes look different each time."""
        checked = self.factors.check(classes, self.name)
        generator = needs_rng(self.name, rng)
        out = np.empty((len(checked), *self.image_shape), dtype=np.uint8)
        for start in range(0, len(checked), _BATCH):
            sprites = self.world.images(checked[start : start + _BATCH], rng=generator)
            out[start : start + _BATCH] = np.rint(self.paint(sprites[..., 0] > 0, generator) * 255)
        return out


def color_dsprites(world: World) -> DSpritesVariant:
    """Sprites of one random bright colour each, on black.

    >>> from unknot.worlds.rendered.dsprites_rendered import DSpritesRendered
    >>> world = color_dsprites(DSpritesRendered())
    >>> world.name, world.image_shape
    ('Color-dSprites (rendered)', (64, 64, 3))
    """

    def paint(masks: Masks, rng: np.random.Generator) -> Pictures:
        colors = 0.5 + 0.5 * rng.random((len(masks), 1, 1, 3), dtype=np.float32)
        return masks[..., None] * colors

    keys = {"dsprites": "dsprites_color", "dsprites_rendered": "dsprites_color_rendered"}
    return DSpritesVariant(world, f"Color-{world.name}", paint, keys.get(as_world(world).key, ""))


def noisy_dsprites(world: World) -> DSpritesVariant:
    """White sprites on uniform noise."""

    def paint(masks: Masks, rng: np.random.Generator) -> Pictures:
        pictures = rng.random((*masks.shape, 3), dtype=np.float32)
        pictures[masks] = 1.0
        return pictures

    keys = {"dsprites": "dsprites_noisy", "dsprites_rendered": "dsprites_noisy_rendered"}
    return DSpritesVariant(world, f"Noisy-{world.name}", paint, keys.get(as_world(world).key, ""))


def scream_dsprites(world: World, painting: str | Path) -> DSpritesVariant:
    """Sprites that invert the colours of a random, tinted patch of The Scream.

    Args:
        world: where the sprites come from.
        painting: the file of the painting. It is shrunk to fit 350 x 274 first, as the published variant does.
    """
    key = "dsprites_scream" if as_world(world).key == "dsprites" else ""
    return DSpritesVariant(world, f"Scream-{world.name}", _patches(read_painting(painting), world), key)


def scream_stand_in_dsprites(world: World) -> DSpritesVariant:
    """`scream_dsprites` before a procedural painting, for when the file of the real one is not at hand.

    Its patches have colours and swirls of a similar kind, but they are not those of the painting: the name says
    so, and scores are not to be compared with those of Scream-dSprites.
    """
    key = "dsprites_scream_rendered" if as_world(world).key == "dsprites_rendered" else ""
    name = f"Scream-{world.name}, procedural painting"
    return DSpritesVariant(world, name, _patches(painted_swirls(), world), key)


def read_painting(path: str | Path) -> Painting:
    """The painting in a file, shrunk to fit 350 x 274, as floats in [0, 1]."""
    file = Path(path)
    if not file.is_file():
        raise UnknotError(
            f"Scream-dSprites: there is no painting at '{file}'. Save {SCREAM.urls[0]} (in the public domain) "
            "there, or take the world that says 'procedural painting' in its name."
        )
    hint = f"Expected is a JPEG or PNG. Is the download complete? It comes from {SCREAM.urls[0]}."
    with picture(file, hint) as painting:
        painting.thumbnail((350, 274))
        return np.asarray(painting.convert("RGB"), dtype=np.float32) / np.float32(255)


def painted_swirls() -> Painting:
    """A procedural painting, 274 x 221: a burning sky in waves, a blue fjord, a dark bridge. Always the same."""
    y, x = np.mgrid[0:274, 0:221] / np.float32(274)
    # Waves whose own coordinates are bent by slower waves, twice, flow the way brush strokes do.
    bend_x = x + 0.09 * np.sin(9 * y + 4 * x) + 0.05 * np.sin(17 * y - 11 * x + 1)
    bend_y = y + 0.07 * np.sin(8 * bend_x + 3 * y) + 0.03 * np.sin(23 * bend_x + 2)
    stroke = 0.5 + 0.5 * np.sin(70 * bend_y + 6 * np.sin(5 * bend_x))
    fine = 0.5 + 0.5 * np.sin(260 * bend_y + 90 * bend_x)

    def mix(low: tuple[float, ...], high: tuple[float, ...], amount: NDArray[Any]) -> NDArray[Any]:
        colors: NDArray[Any] = np.array(low) + (np.array(high) - np.array(low)) * amount[..., None]
        return colors

    sky = mix((0.74, 0.24, 0.09), (0.97, 0.76, 0.33), 0.8 * stroke + 0.2 * fine)
    fjord = mix((0.10, 0.18, 0.30), (0.55, 0.62, 0.50), 0.7 * stroke + 0.3 * fine)
    planks = 0.5 + 0.5 * np.sin(120 * (x - 0.45 * y))
    bridge = mix((0.22, 0.11, 0.07), (0.62, 0.42, 0.24), 0.6 * planks + 0.4 * fine)

    def edge(distance: NDArray[Any]) -> NDArray[Any]:
        share: NDArray[Any] = np.clip(distance * 40 + 0.5, 0, 1)  # about seven pixels wide
        return share[..., None]

    below_sky = edge(bend_y - 0.42)
    on_bridge = edge(y + 0.1 * np.sin(3 * x) - 0.38 - 0.85 * x)
    picture = sky * (1 - below_sky) + fjord * below_sky
    painting: Painting = (picture * (1 - on_bridge) + bridge * on_bridge).astype(np.float32)
    return painting


def _patches(painting: Painting, world: World) -> Callable[[Masks, np.random.Generator], Pictures]:
    height, width, _ = world.image_shape
    # The published code draws corners below size - 64, which leaves out the last row and column.
    corners = np.array([painting.shape[0] - height, painting.shape[1] - width])
    if corners.min() < 1:
        raise UnknotError(
            f"Scream-dSprites: the painting is {painting.shape[1]} x {painting.shape[0]} pixels when shrunk to fit "
            f"350 x 274; patches of {width} x {height} need more. Give a larger picture."
        )
    windows = np.lib.stride_tricks.sliding_window_view(painting, (height, width), axis=(0, 1))

    def paint(masks: Masks, rng: np.random.Generator) -> Pictures:
        draws = rng.random((len(masks), 5))
        row, col = (draws[:, :2] * corners).astype(np.int64).T
        tint = draws[:, 2:].astype(np.float32)[:, :, None, None]
        pictures = np.moveaxis((windows[row, col] + tint) / 2, 1, -1)
        inverted: Pictures = np.where(masks[..., None], 1 - pictures, pictures)
        return inverted

    return paint
