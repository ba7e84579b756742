"""MPI3D, rendered: the factor grid of the toy, realistic and real files, with images traced from a simple robot arm.

The scene has the parts and proportions described for the toy images, not their pixels, so everything that comes
from here is named "(rendered)", and no score should be compared with one published for MPI3D.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

from unknot.factors import Classes
from unknot.worlds.published.mpi3d import SPACE
from unknot.worlds.raytracer import layout as at
from unknot.worlds.raytracer.tracer import Batch, Body, Light, Material, body_rows, camera_rows, light_row, turn
from unknot.worlds.rendered.traced_world import TracedWorld

# The camera looks from the front at the shoulder; near it, one unit is about 20 pixels.
FIELD_OF_VIEW = 30.0
DISTANCE = 6.0
ELEVATIONS = (46.0, 33.0, 20.0)  # degrees above the horizon: top, center, bottom
# The post's top turns about the vertical and carries a bracket; at its end the arm swings over the top. The bracket
# sets the two ends of the vertical axis apart: without it, turning by 180 degrees would only reverse the swing.
SHOULDER = 0.75  # height
BRACKET = 0.25
ARM = 0.62
SWING = 180.0  # degrees, over 40 equal steps, for either joint
LARGE, SMALL = 0.305, 0.305 / 2**0.5  # half the height of a cone: 2 to 1 in area
FLOOR, RING = 2.6, 3.2  # outer radii of the dark disc and of the coloured ring around it

COLORS = {
    "white": (0.92, 0.92, 0.92),
    "green": (0.13, 0.62, 0.22),
    "red": (0.84, 0.13, 0.13),
    "blue": (0.14, 0.25, 0.84),
    "brown": (0.50, 0.27, 0.11),
    "olive": (0.50, 0.50, 0.05),
}
BACKGROUNDS = {"purple": (0.50, 0.10, 0.50), "sea green": (0.18, 0.55, 0.34), "salmon": (0.98, 0.50, 0.45)}
# Shape: the solid, and half its extent along x, y and the arm in half heights of the cone.
OBJECTS = {
    "cone": ("cone", (0.9, 0.9, 1.0)),
    "cube": ("box", (0.72, 0.72, 0.72)),
    "cylinder": ("cylinder", (0.68, 0.68, 0.85)),
    "hexagonal": ("hexagonal_prism", (0.9, 0.9, 0.6)),
    "pyramid": ("pyramid", (0.85, 0.85, 0.95)),
    "sphere": ("sphere", (0.84, 0.84, 0.84)),
}
_STEEL = (0.62, 0.63, 0.66)
_DARK = (0.09, 0.09, 0.09)
_MATT = Material(ambient=0.35, diffuse=0.75)
_METAL = Material(ambient=0.3, diffuse=0.65, specular=0.25, shininess=24.0)
_LIGHTS = (
    Light((-0.45, -0.5, 0.8), (0.9, 0.9, 0.9), directional=True),
    Light((0.6, -0.7, 0.3), (0.25, 0.25, 0.25), directional=True, shadows=False),
)


def mpi3d_rendered() -> TracedWorld:
    """A robot arm holding an object over a dark disc with a coloured ring, 64 x 64 x 3.

    "horizontal" swings the arm from one side over the top to the other (40 steps over 180 degrees), "vertical"
    turns it about the post; the object stands on the arm's tip and tilts with it. With the arm straight up the
    second joint moves the object only around a half ellipse some 11 pixels wide.

    Reference: Gondal et al. 2019, On the Transfer of Inductive Bias from Simulation to the Real World: a New
    Disentanglement Dataset, arXiv:1906.03292.

    >>> mpi3d_rendered().images([[2, 1, 1, 0, 0, 20, 20]]).shape  # a large red cube, seen from the top
    (1, 64, 64, 3)
    """
    return TracedWorld("MPI3D (rendered)", SPACE, scenes, key="mpi3d_rendered")


def scenes(classes: Classes) -> Batch:
    """The packed scene of each row of classes: floor, ring, post, bracket, two joints, arm, object."""
    cameras, lights, still, colors, backgrounds = _parts()
    color, shape, size, height, background, horizontal, vertical = classes.T
    n = len(classes)
    around = turn((0, 0, 1), SWING * vertical / (SPACE["vertical"].size - 1))
    along = around @ turn((1, 0, 0), SWING * horizontal / (SPACE["horizontal"].size - 1) - 90)
    shoulder = BRACKET * around[:, :, 0] + (0, 0, SHOULDER)
    axis = along[:, :, 2]
    bodies = np.empty((n, 8, at.BODY_WIDTH))
    bodies[:, :3] = still
    bodies[:, 1, at.COLOR : at.COLOR + 3] = backgrounds[background]
    sideways = around @ turn((0, 1, 0), 90)
    middle = BRACKET / 2 * around[:, :, 0] + (0, 0, SHOULDER)
    tip, half_way = shoulder + ARM * axis, shoulder + ARM / 2 * axis
    parts = (
        Body("cylinder", middle, (0.06, 0.06, BRACKET / 2), sideways, _STEEL, _METAL),
        Body("sphere", (0, 0, SHOULDER), 0.11, color=_STEEL, material=_METAL),
        Body("sphere", shoulder, 0.1, color=_STEEL, material=_METAL),
        Body("capsule", half_way, (0.06, 0.06, ARM / 2), along, _STEEL, _METAL),
    )
    for k, part in enumerate(parts, start=3):
        bodies[:, k] = body_rows(part)
    reach = np.where(size == 1, LARGE, SMALL)[:, None]
    for k, (solid, half) in enumerate(OBJECTS.values()):
        these = shape == k
        center = tip[these] + reach[these] * half[2] * axis[these]
        thing = Body(solid, center, reach[these] * half, along[these], material=_MATT, label=1)
        bodies[these, 7] = body_rows(thing)
    bodies[:, 7, at.COLOR : at.COLOR + 3] = colors[color]
    return Batch(
        cameras[height], bodies, np.broadcast_to(lights, (n, *lights.shape)).copy(), np.full((n, 3), _DARK)
    )


@cache
def _parts() -> tuple[NDArray[np.float64], ...]:
    """Cameras by height, lights, what never moves (floor, ring, post), and the two palettes."""
    up = np.radians(ELEVATIONS)
    eyes = np.stack([0 * up, -DISTANCE * np.cos(up), SHOULDER + DISTANCE * np.sin(up)], axis=1)
    floor = Material(ambient=0.617, diffuse=0.5)  # 1 in all where it is lit: floor and ring show their own colours
    post = (0.09, 0.09, SHOULDER / 2)
    still = (
        Body("disc", scale=FLOOR, color=(52 / 255,) * 3, material=floor, casts=False),
        Body("disc", scale=RING, material=floor, hole=FLOOR / RING, casts=False),
        Body("cylinder", (0, 0, SHOULDER / 2), post, color=_STEEL, material=_METAL),
    )
    lights = np.stack([light_row(light) for light in _LIGHTS])
    cameras = camera_rows(eyes, (0.0, 0.0, SHOULDER), FIELD_OF_VIEW)
    bodies = np.concatenate([body_rows(body) for body in still])
    return cameras, lights, bodies, np.array(list(COLORS.values())), np.array(list(BACKGROUNDS.values()))
