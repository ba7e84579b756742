"""Scenes in CLEVR's grammar: cubes, spheres and cylinders on a floor, as values and as CLEVR-compatible JSON.

Every object stands on the floor z = 0, so that its centre is (x, y, radius); only its yaw varies. World coordinates are
right-handed with z up.

Reference: Johnson et al. 2017, CLEVR: A Diagnostic Dataset for Compositional Language and Elementary Visual
Reasoning, arXiv:1612.06890; backgrounds: Xie et al. 2022, COAT: Measuring Object Compositionality in Emergent
Representations.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from unknot.errors import UnknotError, unknown

Point = tuple[float, float, float]

SHAPES = ("cube", "sphere", "cylinder")
SIZES = {"large": 0.7, "small": 0.35}  # sphere radius, half side of a cube, radius and half height of a cylinder
MATERIALS = ("rubber", "metal")
COLORS: dict[str, tuple[int, int, int]] = {
    "gray": (87, 87, 87),
    "red": (173, 35, 35),
    "blue": (42, 75, 215),
    "green": (29, 105, 20),
    "brown": (129, 74, 25),
    "purple": (129, 38, 192),
    "cyan": (41, 208, 208),
    "yellow": (255, 238, 51),
}
BACKGROUNDS: dict[str, tuple[int, int, int]] = {
    "white": (255, 255, 255),
    "light-blue": (173, 216, 230),
    "tan": (210, 180, 140),
    "plum": (221, 160, 221),
    "sea-green": (143, 188, 143),
}
CLEVR_FLOOR = "gray"  # CLEVR's own floor; COAT's colours are the five above
FLOORS = {**BACKGROUNDS, CLEVR_FLOOR: (153, 153, 153)}
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "shape": SHAPES,
    "color": tuple(COLORS),
    "material": MATERIALS,
    "size": tuple(SIZES),
}

CAMERA: Point = (7.4811, -6.5076, 5.3437)
LAMPS: dict[str, Point] = {
    "key": (6.4467, -2.9052, 4.2584),
    "fill": (-4.6711, -4.0136, 3.0112),
    "back": (-1.1685, 2.646, 5.8157),
}
# Of the camera before it is moved: the published generator reads them too early, so all scenes share them.
DIRECTIONS: dict[str, Point] = {
    "right": (0.65631, 0.75449, 0.0),
    "behind": (-0.75449, 0.65631, 0.0),
    "above": (0.0, 0.0, 1.0),
    "below": (0.0, 0.0, -1.0),
    "left": (-0.65631, -0.75449, 0.0),
    "front": (0.75449, -0.65631, 0.0),
}
SIDES = ("left", "right", "front", "behind")
_APART = 0.2  # how far one object must lie beyond another to be in a relation to it


@dataclass(frozen=True)
class SceneObject:
    """One object on the floor.

    Attributes:
        shape: "cube", "sphere" or "cylinder".
        size: "large" or "small".
        material: "rubber" (matte) or "metal" (a tinted mirror).
        color: one of `COLORS`.
        x: of its centre.
        y: of its centre.
        rotation: yaw. The published generator draws degrees and turns by that many radians; so do we.
    """

    shape: str
    size: str
    material: str
    color: str
    x: float
    y: float
    rotation: float = 0.0

    def __post_init__(self) -> None:
        for name, known in ATTRIBUTES.items():
            if getattr(self, name) not in known:
                raise unknown(name, str(getattr(self, name)), known)

    @property
    def radius(self) -> float:
        """Half its height, and of its bounding circle as placement sees it."""
        return SIZES[self.size]

    @property
    def center(self) -> Point:
        """Its middle."""
        return self.x, self.y, self.radius


@dataclass(frozen=True)
class Scene:
    """Objects, the floor's colour, and where camera and lamps are: all that decides a picture but its size.

    Attributes:
        objects: in the order of masks: object i is numbered i + 1.
        background: one of `FLOORS`.
        camera: its place; it looks at the origin.
        lamps: places of the key, fill and back lamp; they face the origin. The sun does not move.
    """

    objects: tuple[SceneObject, ...]
    background: str = CLEVR_FLOOR
    camera: Point = CAMERA
    lamps: tuple[Point, Point, Point] = (LAMPS["key"], LAMPS["fill"], LAMPS["back"])

    def __post_init__(self) -> None:
        if self.background not in FLOORS:
            raise unknown("background", str(self.background), FLOORS)


def check_background(name: str) -> None:
    """An error unless a name is that of a floor, or empty."""
    if name and name not in FLOORS:
        raise unknown("background", name, FLOORS, field="background")


def scene_json(scene: Scene, *, pixel_coords: Sequence[Sequence[float]] = (), **extra: Any) -> dict[str, Any]:
    """A scene as CLEVR writes it, with the keys that allow to render it again: background, camera, lights, scale.

    Args:
        scene: any.
        pixel_coords: (column, row, depth) of each object, if an image of it exists.
        **extra: more keys, such as `image_index` and `image_filename`.

    >>> ball = SceneObject("sphere", "small", "metal", "cyan", 1.0, -0.5, 33.0)
    >>> scene_json(Scene((ball,)))["objects"][0]["3d_coords"]
    [1.0, -0.5, 0.35]
    """
    objects: list[dict[str, Any]] = []
    for i, thing in enumerate(scene.objects):
        objects.append(
            {
                "shape": thing.shape,
                "size": thing.size,
                "material": thing.material,
                "color": thing.color,
                "3d_coords": list(thing.center),
                "rotation": thing.rotation,
                "scale": thing.radius,
            }
        )
        if len(pixel_coords):
            objects[-1]["pixel_coords"] = list(pixel_coords[i])
    return {
        **extra,
        "objects": objects,
        "background": scene.background,
        "camera": list(scene.camera),
        "lights": {name: list(place) for name, place in zip(LAMPS, scene.lamps, strict=True)},
        "directions": {name: list(way) for name, way in DIRECTIONS.items()},
        "relationships": relationships(scene.objects),
    }


def relationships(objects: Sequence[SceneObject]) -> dict[str, list[list[int]]]:
    """For each side, the objects that lie on that side of object i, for every i."""
    relations: dict[str, list[list[int]]] = {}
    for side in SIDES:
        dx, dy, _ = DIRECTIONS[side]
        along = [thing.x * dx + thing.y * dy for thing in objects]
        relations[side] = [[j for j, b in enumerate(along) if b - a > _APART] for a in along]
    return relations


def read_scene(record: Mapping[str, Any], where: str = "scene") -> Scene:
    """A scene from its JSON: CLEVR's, COAT's (`threed_coords`) or ours. What CLEVR does not write gets its default.

    Args:
        record: one element of "scenes".
        where: begins the message if something is wrong.

    >>> read_scene({"objects": [{"shape": "cube", "size": "large", "material": "metal", "color": "grey",
    ...                          "3d_coords": [0, 0, 0.7], "rotation": 1.0}]}, "scenes.json, scene 0")
    Traceback (most recent call last):
    unknot.errors.UnknotError: scenes.json, scene 0, object 0: unknown color 'grey'; did you mean 'gray'? Known: ...
    """
    if not isinstance(record, Mapping) or not isinstance(record.get("objects"), Sequence):
        raise UnknotError(f"{where}: has no list of 'objects'; expected a scene of a CLEVR scene file.")
    objects = tuple(_read_object(thing, f"{where}, object {i}") for i, thing in enumerate(record["objects"]))
    lights = record.get("lights", {})
    try:
        return Scene(
            objects,
            record.get("background", CLEVR_FLOOR),
            _point(record.get("camera", CAMERA)),
            cast("tuple[Point, Point, Point]", tuple(_point(lights.get(name, LAMPS[name])) for name in LAMPS)),
        )
    except UnknotError as error:
        raise UnknotError(f"{where}: {error}") from None
    except (TypeError, ValueError, AttributeError) as error:
        raise UnknotError(f"{where}: camera and lights must be three numbers each ({error}).") from None


def _read_object(record: Any, where: str) -> SceneObject:
    try:
        place = record["3d_coords"] if "3d_coords" in record else record["threed_coords"]
        words = [str(record[name]) for name in ("shape", "size", "material", "color")]
        x, y, _ = _point(place)
        rotation = float(record.get("rotation", 0.0))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnknotError(
            f"{where}: {type(error).__name__} {error}; expected shape, size, material, color, 3d_coords (three "
            "numbers) and rotation."
        ) from None
    try:
        return SceneObject(words[0], words[1], words[2], words[3], x, y, rotation)
    except UnknotError as error:
        raise UnknotError(f"{where}: {error}") from None


def _point(numbers: Any) -> Point:
    x, y, z = (float(number) for number in numbers)
    if not all(abs(number) < 1e6 for number in (x, y, z)):
        raise ValueError(f"{x}, {y}, {z} is no place near the scene")
    return x, y, z
