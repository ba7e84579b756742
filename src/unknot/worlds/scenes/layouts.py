"""Scenes by the thousand as arrays, and as what the ray tracer reads."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from unknot.worlds.raytracer import layout as at
from unknot.worlds.raytracer.tracer import (
    Batch,
    Body,
    Light,
    Material,
    body_rows,
    camera_rows,
    coverage,
    light_row,
    turn,
)
from unknot.worlds.scenes.scene import COLORS, FLOORS, MATERIALS, SHAPES, SIZES, Scene, SceneObject

Numbers = NDArray[np.float64]
Words = NDArray[np.int64]

LENS, SENSOR = 35.0, 32.0  # millimetres
TANGENT = SENSOR / 2 / LENS  # of half the angle seen along the larger side of an image
COLOR_NAMES, FLOOR_NAMES, SIZE_NAMES = tuple(COLORS), tuple(FLOORS), tuple(SIZES)
_RADII = np.array(list(SIZES.values()))
# Colours are handed on as light, not as display values, and the picture is encoded as sRGB: lighter than the table.
_PAINTS = np.array(list(COLORS.values())) / 255
_FLOOR_PAINTS = np.array(list(FLOORS.values())) / 255

# Ambient light stands for light that bounced: little on the floor, more on objects, which the floor lights from below.
# All of these were fitted to pictures by Blender's path tracer.
RUBBER = Material(ambient=0.13, diffuse=1.0, specular=0.15, shininess=24.0)
METAL = Material(ambient=0.13, diffuse=0.35, reflectivity=0.6, roughness=0.2)
FLOOR = Material(ambient=0.042, diffuse=1.0)
CUBE_ROUNDING, CYLINDER_ROUNDING = 0.2, 0.07  # radius of rounded edges over the half side
_KINDS = [at.ROUNDED_BOX, at.SPHERE, at.CYLINDER]
_ROUNDING = np.array([CUBE_ROUNDING, 0.0, CYLINDER_ROUNDING])
# The floor rises behind what the camera sees; only metal mirrors that.
BACKDROP = Body(
    "plane", (-22.6, 19.7, 0.0), rotation=turn((0.65631, 0.75449, 0.0), 90), material=FLOOR, casts=False
)
# Watts, colour and side of the square area lamps; light from one is albedo x P / pi^2 x cos x cos / distance^2.
AREA_LAMPS = (
    (78.54, (1.0, 0.932, 0.817), 0.5),
    (23.56, (0.762, 0.818, 1.0), 0.5),
    (39.27, (1.0, 1.0, 1.0), 1.0),
)
SUN, SUN_STRENGTH, _SUN_RADIUS = (0.4145, -0.1946, 0.889), 0.45, 0.05
LAMP_RAYS, SUN_RAYS = 8, 4


@dataclass(frozen=True)
class Layouts:
    """n scenes of up to k objects.

    Attributes:
        words: (n, k, 4) indices into `SHAPES`, sizes, `MATERIALS`, colours.
        places: (n, k, 3) x, y, rotation.
        counts: (n,) objects there are.
        floors: (n,) index of the background.
        cameras: (n, 3) places.
        lamps: (n, 3, 3) places of key, fill, back.
    """

    words: Words
    places: Numbers
    counts: Words
    floors: Words
    cameras: Numbers
    lamps: Numbers

    def __len__(self) -> int:
        return len(self.counts)

    def __getitem__(self, rows: NDArray[np.intp] | NDArray[np.bool_] | slice) -> "Layouts":
        return Layouts(**{name: part[rows] for name, part in vars(self).items()})

    def scene(self, i: int) -> Scene:
        """Scene i as a value."""
        objects = tuple(
            SceneObject(SHAPES[a], SIZE_NAMES[b], MATERIALS[c], COLOR_NAMES[d], float(x), float(y), float(turn))
            for (a, b, c, d), (x, y, turn) in zip(
                self.words[i, : self.counts[i]], self.places[i, : self.counts[i]], strict=True
            )
        )
        key, fill, back = (tuple(lamp) for lamp in self.lamps[i].tolist())
        x, y, z = self.cameras[i].tolist()
        return Scene(objects, FLOOR_NAMES[self.floors[i]], (x, y, z), (key, fill, back))


def layouts_of(scenes: Sequence[Scene]) -> Layouts:
    """Scenes as arrays."""
    most = max((len(scene.objects) for scene in scenes), default=0)
    words, places = np.zeros((len(scenes), most, 4), dtype=np.int64), np.zeros((len(scenes), most, 3))
    for i, scene in enumerate(scenes):
        for j, a in enumerate(scene.objects):
            words[i, j] = (
                SHAPES.index(a.shape), SIZE_NAMES.index(a.size), MATERIALS.index(a.material),
                COLOR_NAMES.index(a.color),
            )  # fmt: skip
            places[i, j] = a.x, a.y, a.rotation
    return Layouts(
        words,
        places,
        np.array([len(scene.objects) for scene in scenes], dtype=np.int64),
        np.array([FLOOR_NAMES.index(scene.background) for scene in scenes], dtype=np.int64),
        np.array([scene.camera for scene in scenes], dtype=np.float64).reshape(-1, 3),
        np.array([scene.lamps for scene in scenes], dtype=np.float64).reshape(-1, 3, 3),
    )


def packed(layouts: Layouts, labels: NDArray[np.integer] | None = None, *, floor: bool = True) -> Batch:
    """What the ray tracer reads; the view is set by `seen_in`.

    Args:
        layouts: scenes.
        labels: (n, k) number of each object in masks; 1, 2, 3, ... if left out.
        floor: whether there is a floor, as body 0, and what rises behind, as the last one.
    """
    n, k = layouts.words.shape[:2]
    bodies = np.zeros((n, k + 2 * floor, at.BODY_WIDTH))
    things = bodies[:, int(floor) : int(floor) + k]
    shape, size, material, color = (layouts.words[:, :, c] for c in range(4))
    radius, yaw = _RADII[size], layouts.places[:, :, 2]
    there = np.arange(k) < layouts.counts[:, None]
    things[:, :, at.KIND] = np.where(there, np.array(_KINDS)[shape], at.NOTHING)
    things[:, :, at.CENTER : at.CENTER + 2] = layouts.places[:, :, :2]
    things[:, :, at.CENTER + 2] = radius
    cosine, sine = np.cos(yaw) / radius, np.sin(yaw) / radius
    for column, value in ((0, cosine), (1, sine), (3, -sine), (4, cosine), (8, 1 / radius)):
        things[:, :, at.MAP + column] = value
    things[:, :, at.EXTRA] = _ROUNDING[shape]
    things[:, :, at.REACH] = radius * np.array([math.sqrt(3), 1.0, math.sqrt(2)])[shape]
    things[:, :, at.COLOR : at.COLOR + 3] = _PAINTS[color]
    rows = np.array([body_rows(Body("sphere", material=m))[0] for m in (RUBBER, METAL)])
    things[:, :, at.AMBIENT : at.REFLECTIVITY + 1] = rows[material][:, :, at.AMBIENT : at.REFLECTIVITY + 1]
    things[:, :, at.ROUGHNESS] = METAL.roughness
    things[:, :, at.CASTS] = there
    things[:, :, at.LABEL] = np.arange(1, k + 1) if labels is None else labels
    if floor:
        bodies[:, 0] = body_rows(Body("plane", material=FLOOR, casts=False))[0]
        bodies[:, -1] = body_rows(BACKDROP)[0]
        bodies[:, -1, at.BEHIND] = 1.0
        bodies[:, [0, -1], at.COLOR : at.COLOR + 3] = _FLOOR_PAINTS[layouts.floors][:, None]
    return Batch(np.zeros((n, at.CAMERA_WIDTH)), bodies, _lights(layouts.lamps), np.zeros((n, 3)))


def seen_in(layouts: Layouts, batch: Batch, height: int, width: int, crop: float) -> Batch:
    """The batch with cameras for images of this size that show the middle `crop` of the larger side."""
    tangent = TANGENT * crop * min(1.0, height / width)
    cameras = camera_rows(layouts.cameras, (0.0, 0.0, 0.0), 2 * math.degrees(math.atan(tangent)))
    return Batch(cameras, batch.bodies, batch.lights, batch.backgrounds)


@dataclass(frozen=True)
class Survey:
    """Pixels of scenes, counted at their middles, without smooth edges.

    Attributes:
        visible: (n, k) of each object, hidden parts left out.
        histogram: (n, 2^k) by coverage: bit i of the index is set where object i would be seen if it were alone.
    """

    visible: Words
    histogram: Words

    def all_seen(self, counts: Words, least: int) -> NDArray[np.bool_]:
        """(n,) whether each of the objects that are there shows so many pixels."""
        missing = np.arange(self.visible.shape[1]) >= counts[:, None]
        return np.asarray(((self.visible >= least) | missing).all(axis=1))

    @property
    def overlap(self) -> Words:
        """Pixels (n,) covered by two or more objects."""
        several = np.array([code.bit_count() > 1 for code in range(self.histogram.shape[1])])
        overlap: Words = self.histogram[:, several].sum(axis=1)
        return overlap


def survey(layouts: Layouts, height: int, width: int) -> Survey:
    """Count the pixels of scenes in images of this size."""
    return Survey(*coverage(seen_in(layouts, packed(layouts, floor=False), height, width, 1.0), height, width))


def _lights(lamps: Numbers) -> Numbers:
    """Packed lights (n, 4, LIGHT_WIDTH)."""
    rows = []
    for watts, color, side in AREA_LAMPS:
        power = [watts / math.pi**2 * part for part in color]
        lamp = Light((1.0, 0.0, 0.0), (power[0], power[1], power[2]), radius=side / math.sqrt(math.pi))
        rows.append(light_row(lamp))
        rows[-1][[at.RAYS, at.IS_FADING, at.IS_AIMED]] = LAMP_RAYS, 1.0, 1.0
    power = [SUN_STRENGTH / math.pi] * 3
    sun = Light(SUN, (power[0], power[1], power[2]), directional=True, radius=_SUN_RADIUS, rays=SUN_RAYS)
    lights = np.repeat(np.array([*rows, light_row(sun)])[None], len(lamps), axis=0)
    lights[:, :3, at.TOWARDS : at.TOWARDS + 3] = lamps
    away = np.linalg.norm(lamps, axis=2, keepdims=True)
    lights[:, :3, at.AIM : at.AIM + 3] = -lamps / np.maximum(away, 1e-9)
    return lights
