"""Shapes3D, rendered: the published factor grid, with images traced in a room fitted to published frames.

The layout (camera, corners, walls, object, colours) follows measurements of published frames; pixels do not equal
the file's, so everything that comes from here is named "(rendered)", and no score should be compared with one
published for 3dshapes.
"""

import math
from colorsys import hsv_to_rgb
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from unknot.factors import Classes
from unknot.worlds.published.shapes3d import SPACE
from unknot.worlds.raytracer import layout as at
from unknot.worlds.raytracer.tracer import Batch, Body, Light, Material, body_rows, camera_rows, light_row, turn
from unknot.worlds.rendered.traced_world import TracedWorld

PAINT = ("floor_hue", "wall_hue", "object_hue")
# Lengths in half widths of the room; the object stands on the middle of the floor.
FIELD_OF_VIEW = 45.0
DISTANCE = 0.936  # of the camera from the object's axis, along the floor
HEIGHT = 0.244  # of the camera
PITCH = 0.7  # degrees downwards
WALL = 0.597
CUBE = 0.237  # side
ROUND = 0.1325  # radius of sphere and cylinder, and half the cylinder's height
CAPSULE_RADIUS, CAPSULE_HEIGHT = 0.11, 0.42
SKY = (153 / 255, 226 / 255, 249 / 255)

# A headlight lights what faces the camera: walls 1.05 frontal and 0.57 at 60 degrees, front faces of objects 0.95. A
# soft sun, high at the left and a little behind the object, adds to floor (1.3 in all), tops and the right wall.
_HEADLIGHT = 1.0
_SUN = 0.66
_SUN_TOWARDS = (-0.36, 0.27, 0.893)
_SUN_RADIUS, _SUN_RAYS = 0.22, 16
_FLOOR = Material(ambient=0.55, diffuse=0.75 / (_SUN * _SUN_TOWARDS[2]))
_WALLS = Material(ambient=0.09, diffuse=0.96)
_OBJECT = Material(ambient=0.3, diffuse=0.65)
_WALL_TEXTURE = 0.03


def shapes3d_rendered() -> TracedWorld:
    """A cube, cylinder, sphere or capsule on the floor of a room under the sky, 64 x 64 x 3.

    Hues are pure (saturation and value 1) and differ by 36 degrees; growing size raises the object's top while it
    stands on the same spot; the camera turns about the object by -30 to 30 degrees.

    Reference: Burgess and Kim 2018, 3D Shapes Dataset.

    >>> image = shapes3d_rendered().images([[0, 3, 6, 7, 2, 7]])  # red floor, green wall, a large blue sphere
    >>> image.shape, image[0, 60, 5].tolist()
    ((1, 64, 64, 3), [255, 0, 0])
    """
    return TracedWorld("Shapes3D (rendered)", SPACE, scenes, key="shapes3d_rendered", paint=PAINT)


def scenes(classes: Classes) -> Batch:
    """The packed room of each row of classes: floor, front, left and right wall, object."""
    cameras, lights, room, objects, hues = _parts()
    floor, wall, thing, size, shape, azimuth = classes.T
    bodies = np.empty((len(classes), 5, at.BODY_WIDTH))
    bodies[:, :4] = room
    bodies[:, 4] = objects[shape, size]
    paint = slice(at.COLOR, at.COLOR + 3)
    bodies[:, 0, paint] = hues[floor]
    bodies[:, 1:4, paint] = hues[wall][:, None]
    bodies[:, 4, paint] = hues[thing]
    return Batch(cameras[azimuth], bodies, lights[azimuth], np.tile(SKY, (len(classes), 1)))


@cache
def _parts() -> tuple[NDArray[np.float64], ...]:
    """Cameras and lights by azimuth, the room, and objects by shape and size, all without colour; the ten hues."""
    angles = np.radians(SPACE["azimuth"].numbers)
    ahead = np.stack(
        [-np.sin(angles), np.cos(angles), np.full(len(angles), -math.tan(math.radians(PITCH)))], axis=1
    )
    eyes = np.stack([-DISTANCE * ahead[:, 0], -DISTANCE * ahead[:, 1], np.full(len(angles), HEIGHT)], axis=1)
    sun = Light(_SUN_TOWARDS, (_SUN,) * 3, directional=True, radius=_SUN_RADIUS, rays=_SUN_RAYS)
    lights = np.stack(
        [
            [light_row(Light(tuple(-a), (_HEADLIGHT,) * 3, directional=True, shadows=False)), light_row(sun)]
            for a in ahead
        ]
    )
    room = np.concatenate(
        [
            body_rows(Body("rectangle", material=_FLOOR, casts=False, label=1)),
            _wall((0, 1, WALL / 2), 0),
            _wall((-1, 0, WALL / 2), 90),
            _wall((1, 0, WALL / 2), 90),
        ]
    )
    kinds = {
        "box": (CUBE / 2,) * 3,
        "cylinder": (ROUND,) * 3,
        "sphere": (ROUND,) * 3,
        "capsule": (CAPSULE_RADIUS, CAPSULE_RADIUS, CAPSULE_HEIGHT / 2),
    }
    sizes = SPACE["size"].numbers[:, None]
    objects = [
        body_rows(Body(kind, sizes * (0, 0, half[2]), sizes * half, material=_OBJECT, label=3))
        for kind, half in kinds.items()
    ]
    hues = np.array([hsv_to_rgb(hue, 1.0, 1.0) for hue in SPACE["object_hue"].numbers])
    return camera_rows(eyes, eyes + ahead, FIELD_OF_VIEW), lights, room, np.stack(objects), hues


def _wall(middle: ArrayLike, degrees: float) -> NDArray[np.float64]:
    """A wall of the room: frontal, then turned about the vertical."""
    rotation, half = turn((0, 0, 1), degrees) @ turn((1, 0, 0), 90), (1.0, WALL / 2, 1.0)
    return body_rows(
        Body("rectangle", middle, half, rotation, material=_WALLS, casts=False, label=2, checker=_WALL_TEXTURE)
    )
