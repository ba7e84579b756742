"""A small ray tracer: scenes in plain Python, drawn by compiled code.

World coordinates are right-handed with z up. A `Scene` has a camera, bodies and lights; `render` draws one scene or
many into one array of uint8 images with smooth edges, `masks` says which body each pixel sees, `coverage`
counts which bodies it would see if each were alone. Worlds that draw thousands of images build the packed arrays of a
`Batch` themselves, with `body_rows`, `light_row` and `camera_rows`, instead of one `Scene` per image.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.errors import UnknotError, unknown
from unknot.worlds.raytracer import layout as at

Vector = tuple[float, float, float]
Rows = NDArray[np.float64]
Curve = Literal["linear", "srgb"]

ROUNDING = 0.2  # radius of the edges of a rounded box over its half side
UPRIGHT = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
KINDS: dict[str, int] = {
    "sphere": at.SPHERE,
    "box": at.BOX,
    "rounded_box": at.ROUNDED_BOX,
    "cylinder": at.CYLINDER,
    "cone": at.CONE,
    "capsule": at.CAPSULE,
    "plane": at.PLANE,
    "rectangle": at.RECTANGLE,
    "disc": at.DISC,
    **dict.fromkeys(at.POLYHEDRA, at.POLYHEDRON),
}


@dataclass(frozen=True)
class Material:
    """How a surface answers light.

    colour x (ambient + sum over lights of diffuse x light x cos) + specular x light x cos(half angle)^shininess.
    Metal, whose `reflectivity` is above 0, tints by its colour what it reflects instead: that share of the light is
    mirrored, the rest is blurred by `roughness`. Lamps are seen in it as highlights. Only mirrored twice does metal
    look as the first formula says.
    """

    ambient: float = 0.3
    diffuse: float = 0.7
    specular: float = 0.0
    shininess: float = 32.0
    reflectivity: float = 0.0
    roughness: float = 0.2


@dataclass(frozen=True)
class Body:
    """One convex body; or n of one shape for `body_rows`: position, scale, rotation and color then broadcast.

    Attributes:
        shape: "sphere", "box", "rounded_box", "cylinder", "cone" (apex up), "capsule", "hexagonal_prism" (two corners
            on the x axis), "pyramid" (apex up), or flat in its own xy plane: "plane" (endless), "rectangle", "disc".
        position: its centre.
        scale: half its extent along its own x, y, z; one number for all three. A capsule is round: x equals y.
        rotation: 3 x 3, from its own axes to the world's; see `turn`.
        color: red, green, blue in [0, 1].
        material: how it answers light.
        label: its number in masks; 0 is background.
        casts: whether it throws shadows.
        hole: inner over outer radius of a disc.
        checker: how much darker every other tile of a checkerboard is, 0 for none.
        tile: side of those tiles where the body reaches from -1 to 1.
    """

    shape: str
    position: ArrayLike = (0.0, 0.0, 0.0)
    scale: ArrayLike = 1.0
    rotation: ArrayLike = UPRIGHT
    color: ArrayLike = (1.0, 1.0, 1.0)
    material: Material = field(default_factory=Material)
    label: int = 0
    casts: bool = True
    hole: float = 0.0
    checker: float = 0.0
    tile: float = 0.25


@dataclass(frozen=True)
class Light:
    """A lamp at a place, or a sun in a direction.

    Attributes:
        towards: where the lamp is, or with `directional` the direction to the sun.
        color: red, green, blue; may exceed 1.
        directional: a sun: parallel light.
        radius: of the disc that shines, which makes shadows soft; for a sun the tangent of its angular radius.
        rays: shadow rays over that disc.
        shadows: whether bodies in the way block it.
        fading: whether it falls off with the square of the distance.
        aim: a point the disc faces; its light then falls off with the cosine from that axis.
    """

    towards: Vector
    color: Vector = (1.0, 1.0, 1.0)
    directional: bool = False
    radius: float = 0.0
    rays: int = 16
    shadows: bool = True
    fading: bool = False
    aim: Vector | None = None


@dataclass(frozen=True)
class Camera:
    """A pinhole camera at `position` looking at a point, z up on the screen; `fov` is vertical, in degrees."""

    position: Vector
    look_at: Vector = (0.0, 0.0, 0.0)
    fov: float = 45.0


@dataclass(frozen=True)
class Scene:
    """Everything in one picture; `background` is what rays see that meet nothing."""

    camera: Camera
    bodies: tuple[Body, ...]
    lights: tuple[Light, ...] = ()
    background: Vector = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Batch:
    """Scenes packed for the compiled code; columns are those of `layout`."""

    cameras: Rows  # (n, CAMERA_WIDTH)
    bodies: Rows  # (n, most bodies, BODY_WIDTH), missing ones of kind NOTHING
    lights: Rows  # (n, most lights, LIGHT_WIDTH), missing ones without power
    backgrounds: Rows  # (n, 3)

    def __len__(self) -> int:
        return len(self.cameras)


def turn(axis: ArrayLike, degrees: ArrayLike) -> Rows:
    """Rotation matrices (..., 3, 3) about an axis, counter-clockwise seen against it.

    >>> (turn((0, 0, 1), 90) @ (1, 0, 0)).round(6).tolist()
    [0.0, 1.0, 0.0]
    """
    x, y, z = np.asarray(axis, dtype=np.float64) / np.linalg.norm(np.asarray(axis, dtype=np.float64))
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    angle = np.radians(np.asarray(degrees, dtype=np.float64))[..., None, None]
    result: Rows = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return result


def body_rows(body: Body) -> Rows:
    """Packed bodies (n, BODY_WIDTH) of one shape; position (n, 3), scale, rotation (n, 3, 3), color broadcast."""
    shape, material = body.shape, body.material
    if shape not in KINDS:
        raise unknown("shape", shape, KINDS)
    center = np.atleast_2d(np.asarray(body.position, dtype=np.float64))
    half = np.asarray(body.scale, dtype=np.float64)
    half = np.atleast_2d(half if half.ndim else np.full(3, half))
    frame = np.asarray(body.rotation, dtype=np.float64).reshape(-1, 3, 3)
    paint = np.atleast_2d(np.asarray(body.color, dtype=np.float64))
    (n,) = np.broadcast_shapes(*[(len(part),) for part in (center, half, frame, paint)])
    if not np.all(half > 0):
        raise UnknotError(
            f"body '{shape}': scale is {half[~(half > 0).all(axis=1)][0]}; half extents must be positive numbers."
        )
    if np.any(np.abs(frame @ frame.transpose(0, 2, 1) - np.eye(3)) > 1e-6):
        raise UnknotError(f"body '{shape}': rotation is not a rotation matrix; build it with `turn`.")
    rows = np.zeros((n, at.BODY_WIDTH))
    extra = np.full(len(half), ROUNDING if shape == "rounded_box" else body.hole)
    reach = np.sqrt((half**2).sum(axis=1))  # of the corners of its box
    if shape == "capsule":
        if np.any(np.abs(half[:, 0] - half[:, 1]) > 1e-9) or np.any(half[:, 2] < half[:, 0]):
            raise UnknotError(
                f"body 'capsule': scale is {half[0]}; expected (radius, radius, half height >= radius)."
            )
        extra, reach = half[:, 2] / half[:, 0] - 1, half[:, 2]
        half = half[:, :1] * np.ones(3)
    elif shape == "sphere":
        reach = half.max(axis=1)
    elif shape in ("rectangle", "disc"):
        reach, half = np.hypot(half[:, 0], half[:, 1]), half * (1, 1, 0) + (0, 0, 1)
    elif shape == "plane":
        reach, half = np.zeros(len(half)), np.ones((1, 3))
    elif shape not in ("box", "rounded_box"):  # round or inside a circle of radius 1
        reach = np.hypot(half[:, :2].max(axis=1) * (math.sqrt(2) if shape == "pyramid" else 1), half[:, 2])
    rows[:, at.KIND] = KINDS[shape]
    rows[:, at.CENTER : at.CENTER + 3] = center
    rows[:, at.MAP : at.MAP + 9] = (frame.transpose(0, 2, 1) / half[:, :, None]).reshape(-1, 9)
    rows[:, at.EXTRA], rows[:, at.REACH] = extra, reach
    if shape in at.POLYHEDRA:
        before = list(at.POLYHEDRA)[: list(at.POLYHEDRA).index(shape)]
        first = sum(len(at.POLYHEDRA[name]) for name in before)
        rows[:, at.FIRST_FACE], rows[:, at.LAST_FACE] = first, first + len(at.POLYHEDRA[shape])
    rows[:, at.COLOR : at.COLOR + 3] = paint
    rows[:, at.AMBIENT], rows[:, at.DIFFUSE] = material.ambient, material.diffuse
    rows[:, at.SPECULAR], rows[:, at.SHININESS] = material.specular, material.shininess
    rows[:, at.REFLECTIVITY], rows[:, at.CASTS], rows[:, at.LABEL] = material.reflectivity, body.casts, body.label
    rows[:, at.CHECKER], rows[:, at.TILE], rows[:, at.ROUGHNESS] = body.checker, body.tile, material.roughness
    return rows


def light_row(light: Light) -> Rows:
    """A packed light, (LIGHT_WIDTH,)."""
    row = np.zeros(at.LIGHT_WIDTH)
    towards = np.array(light.towards, dtype=np.float64)
    row[at.TOWARDS : at.TOWARDS + 3] = _unit(towards, "light: towards") if light.directional else towards
    row[at.POWER : at.POWER + 3] = light.color
    if not 1 <= light.rays <= at.MOST_RAYS:
        raise UnknotError(f"light: rays is {light.rays}; expected 1 to {at.MOST_RAYS}.")
    row[at.RADIUS], row[at.RAYS] = light.radius, light.rays
    row[at.IS_DIRECTION], row[at.IS_SHADOWING] = light.directional, light.shadows
    if light.directional and (light.fading or light.aim is not None):
        raise UnknotError("light: a directional light neither fades nor aims; leave `fading` and `aim` out.")
    row[at.IS_FADING] = light.fading
    if light.aim is not None:
        row[at.IS_AIMED] = 1.0
        row[at.AIM : at.AIM + 3] = _unit(np.array(light.aim) - towards, "light: aim - towards")
    return row


def camera_rows(position: ArrayLike, look_at: ArrayLike = (0.0, 0.0, 0.0), fov: float = 45.0) -> Rows:
    """Packed cameras (n, CAMERA_WIDTH); position and look_at (n, 3) broadcast; fov is vertical, in degrees."""
    if not 0 < fov < 180:
        raise UnknotError(f"camera: fov is {fov}; expected degrees between 0 and 180.")
    eye, target = np.broadcast_arrays(np.atleast_2d(np.asarray(position, dtype=np.float64)), np.asarray(look_at))
    forward = _unit(target - eye, "camera: look_at - position")
    right = _unit(
        np.cross(forward, (0.0, 0.0, 1.0)), "camera: the screen's horizontal (it looks straight up or down)"
    )
    up = np.cross(right, forward)
    tangent = np.full((len(eye), 1), math.tan(math.radians(fov) / 2))
    return np.hstack([eye, right, up, forward, tangent])


def pack(scenes: Scene | Sequence[Scene]) -> Batch:
    """Scenes as the arrays that the compiled code reads."""
    scenes = [scenes] if isinstance(scenes, Scene) else list(scenes)
    n = len(scenes)
    bodies = np.zeros((n, max((len(s.bodies) for s in scenes), default=0), at.BODY_WIDTH))
    lights = np.zeros((n, max((len(s.lights) for s in scenes), default=0), at.LIGHT_WIDTH))
    lights[:, :, at.IS_DIRECTION] = 1.0  # a missing light is a sun without direction: nothing faces it
    cameras, backgrounds = np.zeros((n, at.CAMERA_WIDTH)), np.zeros((n, 3))
    for i, scene in enumerate(scenes):
        cameras[i] = camera_rows(scene.camera.position, scene.camera.look_at, scene.camera.fov)[0]
        backgrounds[i] = scene.background
        for j, body in enumerate(scene.bodies):
            bodies[i, j] = body_rows(body)[0]
        for j, light in enumerate(scene.lights):
            lights[i, j] = light_row(light)
    return Batch(cameras, bodies, lights, backgrounds)


def render(
    scenes: Batch | Scene | Sequence[Scene],
    height: int,
    width: int,
    *,
    samples: int = 4,
    curve: Curve = "linear",
    out: NDArray[np.uint8] | None = None,
) -> NDArray[np.uint8]:
    """Draw scenes as uint8 images (n, height, width, 3).

    Args:
        scenes: what to draw.
        height: rows of each image.
        width: columns of each image.
        samples: rays inside each pixel that an edge runs through.
        curve: "linear" writes 255 x light, "srgb" encodes it as sRGB.
        out: where to write, instead of a new array.
    """
    from unknot.worlds.raytracer._trace import draw

    batch = scenes if isinstance(scenes, Batch) else pack(scenes)
    shape = (len(batch), *_size(height, width), 3)
    if curve not in ("linear", "srgb"):
        raise unknown("curve", curve, ("linear", "srgb"))
    if out is None:
        out = np.empty(shape, dtype=np.uint8)
    elif out.shape != shape or out.dtype != np.uint8 or not out.flags.c_contiguous:
        got = f"{out.dtype} of shape {out.shape}{'' if out.flags.c_contiguous else ', not contiguous'}"
        raise UnknotError(f"render: out is {got}; expected contiguous uint8 of shape {shape}.")
    tones = _SRGB if curve == "srgb" else np.zeros(0)
    draw(batch.cameras, batch.bodies, batch.lights, batch.backgrounds, tones, hammersley(samples), out)
    return out


def masks(scenes: Batch | Scene | Sequence[Scene], height: int, width: int) -> NDArray[np.int16]:
    """The label of the body that the middle of each pixel sees, int16 (n, height, width); 0 where it sees none."""
    from unknot.worlds.raytracer._trace import label

    batch = scenes if isinstance(scenes, Batch) else pack(scenes)
    result = np.empty((len(batch), *_size(height, width)), dtype=np.int16)
    label(batch.cameras, batch.bodies, result)
    return result


def coverage(batch: Batch, height: int, width: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pixels (n, k) whose middle sees each body, and pixels (n, 2^k) by the set of bodies that cover the middle.

    Bit b of an index into the second is set where body b would be seen if it were alone: one pass answers every
    question about who hides whom.
    """
    from unknot.worlds.raytracer._trace import count

    n, k = batch.bodies.shape[:2]
    visible, histogram = np.zeros((n, k), dtype=np.int64), np.zeros((n, 2**k), dtype=np.int64)
    count(batch.cameras, batch.bodies, *_size(height, width), visible, histogram)
    return visible, histogram


def _size(height: int, width: int) -> tuple[int, int]:
    if height < 1 or width < 1:
        raise UnknotError(f"ray tracer: the image is {height} x {width}; both sides need at least one pixel.")
    return int(height), int(width)


def _unit(vectors: Rows, what: str) -> Rows:
    size = np.linalg.norm(vectors, axis=-1, keepdims=True)
    if np.any(size < 1e-12):
        raise UnknotError(f"{what} is the zero vector; it has no direction.")
    result: Rows = vectors / size
    return result


def hammersley(n: int) -> Rows:
    """N points of the unit square, one in every row and column of an n x n grid when n is a power of two."""
    if not 1 <= n <= 4096:
        raise UnknotError(f"render: samples is {n}; expected 1 to 4096.")
    second = [int(f"{i:016b}"[::-1], 2) / 2**16 for i in range(n)]
    return np.array([((i + 0.5) / n, second[i] + 0.5 / n) for i in range(n)]).reshape(-1, 2)


def _srgb(light: Rows) -> Rows:
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


_SRGB = _srgb(np.linspace(0, 1, 4097))
