"""Where each number of a packed scene is: the columns that `tracer` writes and `_trace` reads."""

import math

import numpy as np

NOTHING, SPHERE, BOX, CYLINDER, CONE, CAPSULE, POLYHEDRON, ROUNDED_BOX, PLANE, RECTANGLE, DISC = range(11)

# A body: one row. A slice of three or nine numbers is named by its first column.
KIND = 0
CENTER = 1  # x, y, z
MAP = 4  # 3 x 3, rows first: p -> MAP (p - CENTER) takes the world to the frame where the shape is a unit shape;
# the last row of a flat body is its unit normal
# Half the length of a capsule's segment over its radius, the inner radius of a disc over the outer, or the radius of
# the edges of a rounded box or a cylinder over its half side.
EXTRA = 13
FIRST_FACE, LAST_FACE = 14, 15  # rows of FACES, for a polyhedron
REACH = 16  # radius of a sphere about CENTER that holds the body; 0 where there is none (a plane)
COLOR = 17  # r, g, b
AMBIENT, DIFFUSE, SPECULAR, SHININESS, REFLECTIVITY = 20, 21, 22, 23, 24
CASTS = 25  # 1 if it throws shadows
LABEL = 26  # its number in instance masks
CHECKER, TILE = 27, 28  # how much a checkerboard darkens, and the side of its tiles
ROUGHNESS = 29  # of the blurred share of a mirror
BEHIND = 30  # 1 if the camera never sees it, and mirrors do
BODY_WIDTH = 31

# A light.
TOWARDS = 0  # x, y, z of its position, or the unit direction to it
POWER = 3  # r, g, b
RADIUS = 6  # of the disc it shines from; for a directional light the tangent of the angle that disc is seen under
RAYS = 7  # shadow rays to that disc, at most MOST_RAYS
MOST_RAYS = 64
IS_DIRECTION, IS_SHADOWING, IS_FADING, IS_AIMED = 8, 9, 10, 11
AIM = 12  # x, y, z of the unit direction an aimed lamp faces
LIGHT_WIDTH = 15

# A camera.
EYE = 0
RIGHT, UP, FORWARD = 3, 6, 9
TANGENT = 12  # of half the vertical field of view
CAMERA_WIDTH = 13

# Convex polyhedra inside the cube [-1, 1]^3, as half-spaces n . p <= offset: (n_x, n_y, n_z, offset).
_HALF, _SIXTY = 0.5, math.sqrt(0.75)
POLYHEDRA: dict[str, tuple[tuple[float, float, float, float], ...]] = {
    "hexagonal_prism": (
        (0, 0, 1, 1), (0, 0, -1, 1), (0, 1, 0, _SIXTY), (0, -1, 0, _SIXTY),
        (_SIXTY, _HALF, 0, _SIXTY), (_SIXTY, -_HALF, 0, _SIXTY),
        (-_SIXTY, _HALF, 0, _SIXTY), (-_SIXTY, -_HALF, 0, _SIXTY),
    ),
    "pyramid": ((0, 0, -1, 1), (2, 0, 1, 1), (-2, 0, 1, 1), (0, 2, 1, 1), (0, -2, 1, 1)),
}  # fmt: skip
FACES = np.array(
    [face for faces in POLYHEDRA.values() for face in faces], dtype=np.float64
)  # of all, one after another
