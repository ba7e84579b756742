"""The same scenes drawn by Blender's path tracer Cycles, if its module `bpy` is installed: slow, and the reference.

Geometry, camera, lamps and sun are those of `layouts`; materials are built after CLEVR's: rubber is diffuse with a weak
gloss, metal two tinted glossy lobes; cubes and cylinders have rounded edges. Samples leave noise, which is seeded by
pixel: scenes that differ in one object keep the same noise everywhere else.
"""

import math
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from unknot.errors import UnknotError
from unknot.worlds.scenes.layouts import (
    AREA_LAMPS,
    CUBE_ROUNDING,
    CYLINDER_ROUNDING,
    LENS,
    SENSOR,
    SUN,
    SUN_STRENGTH,
)
from unknot.worlds.scenes.scene import COLORS, FLOORS, Scene, SceneObject

_BEHIND = math.atan2(0.75449, 0.65631)  # turns a wall to face the camera
SAMPLES = 64  # paths a pixel; CLEVR used 512


def render_blender(scenes: Sequence[Scene], height: int, width: int, crop: float) -> NDArray[np.uint8]:
    """Draw scenes as uint8 images (n, height, width, 3); half a second to several each."""
    from PIL import Image

    bpy = _module()
    images = np.empty((len(scenes), height, width, 3), dtype=np.uint8)
    with TemporaryDirectory(prefix="unknot-") as folder:
        file = Path(folder) / "scene.png"
        for i, scene in enumerate(scenes):
            _build(bpy, scene, height, width, crop)
            settings = bpy.context.scene
            settings.cycles.samples, settings.cycles.seed = SAMPLES, 0
            settings.render.filepath = str(file)
            bpy.ops.render.render(write_still=True)
            with Image.open(file) as picture:
                images[i] = np.asarray(picture.convert("RGB"))
    return images


def _module() -> Any:
    try:
        import bpy  # type: ignore[import-not-found]
    except ImportError as error:
        raise UnknotError(
            f"scenes: renderer 'blender' needs Blender's module ({error}); pip install bpy, which exists for one "
            "version of Python each, or use renderer='traced'."
        ) from error
    return bpy


def _build(bpy: Any, scene: Scene, height: int, width: int, crop: float) -> None:
    bpy.ops.wm.read_factory_settings(use_empty=True)
    stage = bpy.context.scene
    stage.render.engine = "CYCLES"
    stage.cycles.device = "CPU"
    stage.cycles.use_denoising = False
    stage.cycles.blur_glossy = 2.0
    stage.cycles.use_adaptive_sampling = False
    stage.render.resolution_x, stage.render.resolution_y, stage.render.resolution_percentage = width, height, 100
    stage.render.image_settings.file_format = "PNG"
    stage.view_settings.view_transform = "Standard"
    stage.world = bpy.data.worlds.new("black")
    _without_light(stage.world)
    camera = bpy.data.cameras.new("camera")
    camera.sensor_width, camera.lens = SENSOR, LENS / crop
    stage.camera = _put(bpy, camera, scene.camera)
    for (watts, color, side), place in zip(AREA_LAMPS, scene.lamps, strict=True):
        lamp = bpy.data.lights.new("lamp", "AREA")
        lamp.energy, lamp.color, lamp.size = watts, color, side
        _put(bpy, lamp, place)
    sun = bpy.data.lights.new("sun", "SUN")
    sun.energy, sun.angle = SUN_STRENGTH, 2 * math.atan(0.05)
    _put(bpy, sun, SUN)
    bpy.ops.mesh.primitive_plane_add(size=400)
    _paint(bpy, FLOORS[scene.background], "floor")
    # The floor of CLEVR rises behind what the camera sees; metal reflects it.
    bpy.ops.mesh.primitive_plane_add(size=400, location=(-22.6, 19.7, 0), rotation=(math.pi / 2, 0, _BEHIND))
    _paint(bpy, FLOORS[scene.background], "floor")
    for thing in scene.objects:
        _add(bpy, thing)
        _paint(bpy, COLORS[thing.color], thing.material)


def _without_light(world: Any) -> None:
    world.use_nodes = True
    for node in world.node_tree.nodes:
        if node.type == "BACKGROUND":
            node.inputs["Strength"].default_value = 0.0


def _put(bpy: Any, data: Any, place: Sequence[float]) -> Any:
    """Place a camera or lamp that looks at the origin, with the world's z upwards."""
    from mathutils import Vector  # type: ignore[import-not-found]

    thing = bpy.data.objects.new(data.name, data)
    thing.location = place
    thing.rotation_euler = (-Vector(place)).to_track_quat("-Z", "Y").to_euler()
    bpy.context.scene.collection.objects.link(thing)
    return thing


def _add(bpy: Any, thing: SceneObject) -> None:
    rounding, segments = 0.0, 0
    if thing.shape == "cube":
        bpy.ops.mesh.primitive_cube_add(size=2)
        rounding, segments = CUBE_ROUNDING, 8
    elif thing.shape == "cylinder":
        bpy.ops.mesh.primitive_cylinder_add(vertices=128, radius=1, depth=2)
        rounding, segments = CYLINDER_ROUNDING, 4
    else:
        bpy.ops.mesh.primitive_uv_sphere_add(segments=96, ring_count=48, radius=1)
    body = bpy.context.object
    if rounding:
        bevel = body.modifiers.new("edges", "BEVEL")
        bevel.width, bevel.segments, bevel.limit_method, bevel.angle_limit = rounding, segments, "ANGLE", 1.0
    for face in body.data.polygons:
        face.use_smooth = thing.shape != "cube"
    if thing.shape == "cylinder":
        body.modifiers.new("normals", "WEIGHTED_NORMAL")
    body.scale = (thing.radius,) * 3
    body.location = thing.center
    body.rotation_euler = (0.0, 0.0, thing.rotation)


def _paint(bpy: Any, color: tuple[int, int, int], kind: str) -> None:
    """Give the newest object a material of this colour, as light: "floor", "rubber" or "metal"."""
    paint = (*(part / 255 for part in color), 1.0)
    material = bpy.data.materials.new(kind)
    material.use_nodes = True
    nodes, links = material.node_tree.nodes, material.node_tree.links
    nodes.clear()

    def node(name: str, **values: Any) -> Any:
        shader = nodes.new(name)
        for key, value in values.items():
            shader.inputs[key].default_value = value
        return shader

    def mixed(share: Any, one: Any, other: Any) -> Any:
        mix = nodes.new("ShaderNodeMixShader")
        if isinstance(share, float):
            mix.inputs[0].default_value = share
        else:
            links.new(share.outputs[0], mix.inputs[0])
        links.new(one.outputs[0], mix.inputs[1])
        links.new(other.outputs[0], mix.inputs[2])
        return mix

    if kind == "metal":
        # Roughness as CLEVR's Blender read it; today's squares it first.
        blurred = node("ShaderNodeBsdfAnisotropic", Color=paint, Roughness=0.2**0.5)
        sharp = node("ShaderNodeBsdfAnisotropic", Color=paint, Roughness=0.01**0.5)
        surface = mixed(0.6, blurred, sharp)
    else:
        surface = node("ShaderNodeBsdfDiffuse", Color=paint)
        if kind == "rubber":
            gloss = node("ShaderNodeBsdfAnisotropic", Color=(1.0, 1.0, 1.0, 1.0), Roughness=0.3)
            surface = mixed(node("ShaderNodeFresnel", IOR=1.3), surface, gloss)
    links.new(surface.outputs[0], nodes.new("ShaderNodeOutputMaterial").inputs["Surface"])
    bpy.context.object.data.materials.append(material)
