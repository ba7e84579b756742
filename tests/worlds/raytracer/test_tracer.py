import math

import numpy as np
import pytest

from unknot.errors import UnknotError
from unknot.worlds.raytracer.tracer import (
    KINDS,
    Body,
    Camera,
    Light,
    Material,
    Scene,
    body_rows,
    coverage,
    masks,
    pack,
    render,
    turn,
)

GLOW = Material(ambient=1.0, diffuse=0.0)
MATT = Material(ambient=0.0, diffuse=1.0)
SOLIDS = ["sphere", "box", "cylinder", "cone", "capsule", "hexagonal_prism", "pyramid", "rounded_box"]


def meet(rows, origin, direction):
    from unknot.worlds.raytracer._intersect import MISS, meet_body

    t = meet_body(rows, 0, tuple(map(float, origin)), tuple(map(float, direction)))
    return math.inf if t == MISS else t


def inside(shape, p, half_length=0.0):
    """Whether points of the unit frame lie in a solid, from its definition."""
    x, y, z = p.T
    r = np.hypot(x, y)
    if shape == "sphere":
        return (p**2).sum(axis=1) < 1
    if shape == "rounded_box":
        return np.linalg.norm(np.maximum(np.abs(p) - 0.8, 0), axis=1) < 0.2
    if shape == "box":
        return np.abs(p).max(axis=1) < 1
    if shape == "cylinder":
        return (r < 1) & (np.abs(z) < 1)
    if shape == "cone":
        return (np.abs(z) < 1) & (r < (1 - z) / 2)
    if shape == "capsule":
        return r**2 + (z - np.clip(z, -half_length, half_length)) ** 2 < 1
    if shape == "pyramid":
        return (z > -1) & (np.maximum(np.abs(x), np.abs(y)) < (1 - z) / 2)
    turned = [np.abs(x * math.sin(a) + y * math.cos(a)) for a in np.radians([0, 60, 120])]
    return (np.abs(z) < 1) & (np.max(turned, axis=0) < math.sqrt(3) / 2)


@pytest.mark.parametrize(
    ("shape", "origin", "direction", "t"),
    [
        ("sphere", (-3, 0, 0), (1, 0, 0), 2),
        ("sphere", (-3, 0, 0.6), (1, 0, 0), 2.2),
        ("sphere", (-3, 0, 1.01), (1, 0, 0), math.inf),
        ("sphere", (3, 0, 0), (1, 0, 0), math.inf),
        ("box", (0.5, -3, 0.9), (0, 1, 0), 2),
        ("box", (0.5, -3, 1.1), (0, 1, 0), math.inf),
        ("box", (-3, -2, 0), (1, 1, 0), 2),
        ("rounded_box", (0.5, -3, 0.7), (0, 1, 0), 2),
        ("rounded_box", (0, -3, 0.92), (0, 1, 0), 2.2 - 0.16),  # 3-4-5: 0.12 up on an edge of radius 0.2, 0.16 out
        ("rounded_box", (3, 3, 0), (-1, -1, 0), 2.2 - 0.2 / math.sqrt(2)),
        ("rounded_box", (3, 3, 3), (-1, -1, -1), 2.2 - 0.2 / math.sqrt(3)),
        ("rounded_box", (0.97, -3, 0.97), (0, 1, 0), math.inf),
        ("rounded_box", (0.99, 0, -1), (-0.6, 0, 0.8), 0.0765765971),  # starts under the overhanging edge
        ("cylinder", (-3, 0.6, 0), (1, 0, 0), 2.2),
        ("cylinder", (0.5, 0.5, 4), (0, 0, -1), 3),
        ("cylinder", (0.8, 0.8, 4), (0, 0, -1), math.inf),
        ("cylinder", (-3, 0, 1.5), (1, 0, 0), math.inf),
        ("cone", (-3, 0, 0), (1, 0, 0), 2.5),
        ("cone", (0.3, 0, -5), (0, 0, 1), 4),
        ("cone", (0.25, 0, 5), (0, 0, -1), 4.5),
        ("cone", (-3, 0, 1.5), (1, 0, 0), math.inf),
        ("capsule", (-3, 0, 1.5), (1, 0, 0), 2),
        ("capsule", (0, 0, 8), (0, 0, -1), 5),
        ("capsule", (-3, 0, 2.6), (1, 0, 0), 2.2),
        ("capsule", (-3, 0, 3.1), (1, 0, 0), math.inf),
        ("hexagonal_prism", (-3, 0, 0), (1, 0, 0), 2),
        ("hexagonal_prism", (0, -3, 0), (0, 1, 0), 3 - math.sqrt(3) / 2),
        ("hexagonal_prism", (0.9, 0.3, 3), (0, 0, -1), math.inf),
        ("pyramid", (-3, 0, 0), (1, 0, 0), 2.5),
        ("pyramid", (0.4, 0.4, -3), (0, 0, 1), 2),
        ("pyramid", (0.4, 0.4, 3), (0, 0, -1), 2.8),
        ("plane", (0, 0, 2), (1, 0, -1), 2),
        ("plane", (0, 0, 2), (1, 0, 1), math.inf),
        ("rectangle", (0.9, 0.9, 2), (0, 0, -1), 2),
        ("rectangle", (0.9, 1.1, 2), (0, 0, -1), math.inf),
        ("disc", (0.8, 0, -2), (0, 0, 1), 2),
        ("disc", (0.8, 0.8, -2), (0, 0, 1), math.inf),
        ("disc", (0.4, 0, -2), (0, 0, 1), math.inf),
    ],
)
def test_unit_shapes_are_met_where_worked_out_by_hand(shape, origin, direction, t):
    rows = body_rows(Body(shape, (0, 0, 0), (1, 1, 3) if shape == "capsule" else 1.0, hole=0.5))
    assert meet(rows, origin, direction) == pytest.approx(t, abs=1e-9)


def test_a_turned_and_stretched_box_is_met_where_worked_out_by_hand():
    rows = body_rows(Body("box", (1, 2, 3), (2, 0.5, 1), turn((0, 0, 1), 90)))  # its long axis now lies along y
    assert meet(rows, (-4, 2, 3), (1, 0, 0)) == pytest.approx(4.5)
    assert meet(rows, (1, -4, 3), (0, 1, 0)) == pytest.approx(4)
    assert meet(rows, (1, -4, 3), (0, 2, 0)) == pytest.approx(2)  # t counts in lengths of the direction
    eighth = body_rows(Body("box", (0, 0, 0), 1.0, turn((0, 0, 1), 45)))
    assert meet(eighth, (-3, 0, 0), (1, 0, 0)) == pytest.approx(3 - math.sqrt(2))


def test_a_turned_cone_points_where_its_axis_does():
    rows = body_rows(Body("cone", (0, 0, 0), (1, 1, 2), turn((0, 1, 0), 90)))  # apex at x = 2
    assert meet(rows, (5, 0, 0.1), (-1, 0, 0)) == pytest.approx(3.4)
    assert meet(rows, (-5, 0, 0.9), (1, 0, 0)) == pytest.approx(3)
    assert meet(rows, (1, 0, 5), (0, 0, -1)) == pytest.approx(4.75)


@pytest.mark.parametrize("shape", SOLIDS)
def test_solids_are_met_where_a_slow_march_along_the_ray_first_finds_them(shape):
    rng = np.random.default_rng(SOLIDS.index(shape))
    n_met = 0
    for _ in range(60):
        half = rng.uniform(0.5, 1.5, 3)
        if shape == "capsule":
            half = half[[0, 0, 2]] + (0, 0, half[0])
        rotation = turn(rng.normal(size=3), rng.uniform(0, 360))
        center, origin = rng.normal(size=3), 4 * rng.normal(size=3)
        direction = center + 0.5 * rng.normal(size=3) - origin
        unit = half[[0, 0, 0]] if shape == "capsule" else half
        steps = np.linspace(0, 2, 8001)
        local = ((origin + steps[:, None] * direction - center) @ rotation) / unit
        hits = inside(shape, local, half[2] / half[0] - 1)
        t = meet(body_rows(Body(shape, center, half, rotation)), origin, direction)
        if hits[0]:
            continue  # solids are for looking at from outside
        if hits.any():
            n_met += 1
            assert t == pytest.approx(steps[hits.argmax()], abs=3e-4)
        else:
            assert t > 2 or not math.isfinite(t) or _grazes(shape, local, half)
    assert n_met > 15


def _grazes(shape, local, half):
    """Whether the march came so near that it may have stepped over a corner."""
    return bool(inside(shape, local * 0.999, half[2] / half[0] - 1).any())


@pytest.mark.parametrize(
    ("shape", "point", "expected"),
    [
        ("sphere", (0.6, 0, 0.8), (0.6, 0, 0.8)),
        ("box", (0.2, -1, 0.9), (0, -1, 0)),
        ("box", (0.2, 0.3, 1), (0, 0, 1)),
        ("rounded_box", (0.2, 0.3, 1), (0, 0, 1)),
        ("rounded_box", (0.92, 0.3, 0.96), (0.6, 0, 0.8)),
        ("cylinder", (0.6, 0.8, 0.5), (0.6, 0.8, 0)),
        ("cylinder", (0.6, 0.7, -1), (0, 0, -1)),
        ("cone", (0.5, 0, 0), (2 / math.sqrt(5), 0, 1 / math.sqrt(5))),
        ("cone", (0.5, 0.2, -1), (0, 0, -1)),
        ("capsule", (0, 1, 1.5), (0, 1, 0)),
        ("capsule", (0.6, 0, 2.8), (0.6, 0, 0.8)),
        ("hexagonal_prism", (0.75, math.sqrt(3) / 4, 0.3), (math.sqrt(3) / 2, 0.5, 0)),
        ("pyramid", (-0.5, 0.1, 0), (-2 / math.sqrt(5), 0, 1 / math.sqrt(5))),
        ("pyramid", (0.1, 0.1, -1), (0, 0, -1)),
        ("disc", (0.1, 0.1, 0), (0, 0, 1)),
    ],
)
def test_normals_point_outwards(shape, point, expected):
    from unknot.worlds.raytracer._intersect import normal, shape_of

    rows = body_rows(Body(shape, (0, 0, 0), (1, 1, 3) if shape == "capsule" else 1.0))
    vector = np.array(normal(shape_of(rows, 0), tuple(map(float, point))))
    np.testing.assert_allclose(vector / np.linalg.norm(vector), expected, atol=1e-9)


def view(*bodies, lights=(), eye=(0, -10, 0), look_at=(0, 0, 0), fov=20.0, background=(0.0, 0.0, 0.0)):
    return Scene(Camera(eye, look_at, fov), bodies, lights, background)


def sun(towards, **options):
    return Light(towards, directional=True, **options)


@pytest.mark.parametrize("degrees", [0, 20, 50, 75])
def test_a_turned_face_is_as_bright_as_the_cosine_to_the_light(degrees):
    tile = Body("box", scale=1.0, rotation=turn((0, 0, 1), degrees), material=MATT)
    image = render(view(tile, lights=(sun((0, -1, 0)),)), 33, 33)[0]
    face = math.cos(math.radians(degrees)) if degrees < 45 else math.sin(math.radians(degrees))
    assert image.max() == pytest.approx(255 * face, abs=1)


def test_a_stretched_sphere_is_lit_by_its_own_normals_and_not_a_spheres():
    # At 45 degrees in its own frame the normal of the ellipsoid (2, 1, 1) is along (1/2, 1): cos = 2 / sqrt(5).
    body = Body("sphere", scale=(2.0, 1.0, 1.0), material=MATT)
    x = 2 * math.sin(math.pi / 4)
    image = render(view(body, lights=(sun((0, -1, 0)),), eye=(x, -1000, 0), look_at=(x, 0, 0), fov=0.01), 9, 9)[0]
    assert image[4, 4, 0] == pytest.approx(255 * 2 / math.sqrt(5), abs=2)


def test_a_sphere_covers_its_analytic_area_with_smooth_edges():
    body = Body("sphere", scale=1.0, material=GLOW)
    image = render(view(body), 64, 64)[0, :, :, 0] / 255
    focal = 32 / math.tan(math.radians(10))
    radius = focal / math.sqrt(10**2 - 1)
    assert image.sum() == pytest.approx(math.pi * radius**2, rel=0.005)
    finer = render(view(body), 64, 64, samples=64)[0, :, :, 0]
    assert 0.8 * 8 * radius < ((finer > 0) & (finer < 255)).sum() < 1.1 * 8 * radius  # a circle crosses 8 r pixels


def test_more_samples_bring_an_edge_nearer_to_its_true_coverage():
    body = Body("box", scale=1.0, rotation=turn((0, 1, 0), 17), material=GLOW)
    true = render(view(body), 32, 32, samples=256)[0].astype(float)
    error = [np.abs(render(view(body), 32, 32, samples=n)[0] - true).mean() for n in (1, 4, 16)]
    assert error[0] > error[1] > error[2]


def test_a_body_thinner_than_a_pixel_is_not_lost():
    needle = Body("capsule", scale=(0.02, 0.02, 1.0), rotation=turn((0, 1, 0), 31), material=GLOW)
    image = render(view(needle, fov=30.0), 32, 32, samples=64)[0, :, :, 0] / 255
    focal = 16 / math.tan(math.radians(15))
    assert 0.04 * focal / 10 < 0.3  # pixels wide
    assert image.sum() == pytest.approx(0.04 * 2 * (focal / 10) ** 2, rel=0.1)


def shadow_scene(**options):
    ball = Body("sphere", (0, 0, 3), 1.0, casts=options.pop("casts", True), material=MATT)
    ground = Body("plane", material=MATT)
    light = Light(options.pop("towards", (0, 0, 1)), directional=True, **options)
    return Scene(Camera((0, -0.01, 20), (0, 0, 0), 30.0), (ground, ball), (light,))


def under(scene, x, y):
    """Brightness of the ground at (x, y), seen from below the ball by a second camera."""
    low = Scene(Camera((x, y - 0.2, 0.5), (x, y, 0), 5.0), scene.bodies, scene.lights)
    return int(render(low, 5, 5)[0, 2, 2, 0])


def test_shadows_fall_where_the_light_is_blocked_and_nowhere_else():
    hard = shadow_scene()
    assert (under(hard, 0, 0), under(hard, 0.95, 0), under(hard, 1.05, 0)) == (0, 0, 255)
    slanted = shadow_scene(towards=(-1, 0, 1))
    lit = round(255 / math.sqrt(2))
    assert under(slanted, 3, 0) == 0
    assert under(slanted, 0, 0) == pytest.approx(lit, abs=1)
    assert under(shadow_scene(shadows=False), 0, 0) == 255
    assert under(shadow_scene(casts=False), 0, 0) == 255


def test_a_wide_light_has_an_umbra_and_a_penumbra():
    soft = shadow_scene(radius=0.2, rays=64)
    brightness = [under(soft, x, 0) for x in (0.0, 0.3, 0.7, 1.0, 1.3, 1.7, 2.0)]
    assert brightness == sorted(brightness)
    assert brightness[0] == brightness[1] == 0
    assert brightness[-1] == 255
    assert brightness[3] == pytest.approx(127, abs=30)  # under the ball's rim half the disc is hidden


def test_a_lamp_fades_with_distance_and_turns_away_from_its_axis():
    ground = Body("plane", material=MATT)
    lamp = Light((0, 0, 2), (2.0, 1.0, 0.5), fading=True, aim=(0, 0, 0))
    scene = Scene(Camera((0, 0, 5), (0, 0, 0)), (ground,), (lamp,))
    for x in (0.0, 1.0, 2.0):
        low = Scene(Camera((x, -0.2, 0.5), (x, 0, 0), 5.0), scene.bodies, scene.lights)
        distance = math.hypot(2, x)
        cosine = 2 / distance
        light = cosine * cosine / distance**2
        expected = [round(255 * min(1, power * light)) for power in (2.0, 1.0, 0.5)]
        np.testing.assert_allclose(render(low, 5, 5)[0, 2, 2], expected, atol=1)


def test_nothing_is_shadowed_by_what_lies_behind_the_lamp():
    ground, ball = Body("plane", material=MATT), Body("sphere", (0, 0, 3), 0.5)
    below = Scene(Camera((0, -0.2, 0.5), (0, 0, 0), 5.0), (ground, ball), (Light((0, 0, 1.5)),))
    above = Scene(Camera((0, -0.2, 0.5), (0, 0, 0), 5.0), (ground, ball), (Light((0, 0, 5)),))
    assert render(below, 5, 5)[0, 2, 2, 0] == 255
    assert render(above, 5, 5)[0, 2, 2, 0] == 0


def test_a_mirror_shows_what_is_behind_the_camera_in_its_own_tint():
    glass = Material(ambient=0.0, diffuse=0.0, reflectivity=1.0)
    wall = Body("rectangle", scale=5.0, rotation=turn((1, 0, 0), 90), color=(1.0, 0.5, 1.0), material=glass)
    lamp = Body("sphere", (0, -20, 0), 2.0, color=(0.4, 0.8, 0.0), material=GLOW)
    image = render(view(wall, lamp, background=(0.0, 0.0, 1.0)), 33, 33)[0]
    np.testing.assert_allclose(image[16, 16], (102, 102, 0), atol=1)
    np.testing.assert_allclose(image[1, 1], (0, 0, 255), atol=1)


def test_a_rough_mirror_also_shows_what_lies_beside():
    ball = Body("sphere", (0, -20, 0), 4.0, material=GLOW)
    shown = []
    for share in (1.0, 0.6):
        metal = Material(ambient=0.0, diffuse=0.0, reflectivity=share, roughness=0.2)
        wall = Body("rectangle", scale=5.0, rotation=turn((1, 0, 0), 90), material=metal)
        shown.append(render(view(wall, ball, fov=50.0), 65, 65)[0, :, 32, 0])
    np.testing.assert_array_equal([column[32] for column in shown], [255, 187])  # 0.6 and a third of the rest
    np.testing.assert_array_equal([column[10] for column in shown], [0, 34])


def test_highlights_are_where_light_and_view_meet_half_way():
    shiny = Material(ambient=0.0, diffuse=0.0, specular=1.0, shininess=50.0)
    image = render(view(Body("sphere", material=shiny), lights=(sun((1, -1, 0)),)), 65, 65)[0, :, :, 0]
    row, column = np.unravel_index(image.argmax(), image.shape)
    focal = 32.5 / math.tan(math.radians(10))
    half = math.radians(22.5)
    assert row == 32
    assert column + 0.5 == pytest.approx(32.5 + focal * math.sin(half) / (10 - math.cos(half)), abs=1.5)


def test_flat_bodies_are_seen_from_both_sides():
    tile = Body("rectangle", rotation=turn((1, 0, 0), 90), material=MATT)
    for side in (-1, 1):
        scene = view(tile, lights=(sun((0, side, 0)),), eye=(0, 10 * side, 0))
        assert render(scene, 9, 9)[0, 4, 4, 0] == 255


def test_a_checkerboard_has_two_shades():
    tile = Body("rectangle", scale=1.0, rotation=turn((1, 0, 0), 90), material=GLOW, checker=0.4, tile=1.0)
    image = render(view(tile), 64, 64)[0, :, :, 0]
    assert (image[25, 25], image[25, 38]) == (image[38, 38], image[38, 25])
    assert {int(image[25, 25]), int(image[25, 38])} == {153, 255}


def test_srgb_encodes_light_as_the_standard_says():
    grey = Body("sphere", scale=3.0, color=(0.5, 0.2140, 0.001), material=GLOW)
    np.testing.assert_allclose(render(view(grey), 9, 9, curve="srgb")[0, 4, 4], (188, 127, 3), atol=1)
    np.testing.assert_allclose(render(view(grey), 9, 9)[0, 4, 4], (128, 55, 0), atol=1)


def test_points_project_where_a_pinhole_puts_them_in_oblong_images():
    dot = Body("sphere", (1.0, 2.0, 0.5), 0.05, material=GLOW, label=1)
    camera = Camera((0, -10, 0), (0, 0, 0), 40)
    seen = np.argwhere(masks(Scene(camera, (dot,)), 120, 200)[0] == 1).mean(axis=0) + 0.5
    focal = 60 / math.tan(math.radians(20))
    np.testing.assert_allclose(seen, (60 - focal * 0.5 / 12, 100 + focal * 1.0 / 12), atol=0.3)


def clutter(seed=0, n=9):
    rng = np.random.default_rng(seed)
    shapes = [name for name in KINDS if name != "plane"]
    bodies = [Body("plane", (0, 0, -1.5), color=(0.4, 0.4, 0.4), casts=False)]
    for k in range(n):
        half = rng.uniform(0.2, 0.8)
        metal = Material(0.1, 0.4, 0.5, 60.0, 0.6) if k % 3 == 0 else Material()
        bodies.append(
            Body(
                shapes[k % len(shapes)], tuple(rng.uniform(-2, 2, 3)), (half, half, 1.3 * half),
                turn(rng.normal(size=3), 360 * rng.random()), tuple(rng.random(3)), metal, label=k + 1,
            )
        )  # fmt: skip
    lights = (Light((5, -5, 8), (0.7,) * 3, radius=0.5), sun((-1, -1, 2), color=(0.3,) * 3))
    return Scene(Camera((0, -9, 3), (0, 0, 0), 40), tuple(bodies), lights, (0.5, 0.7, 0.9))


def test_masks_name_the_nearest_body_and_agree_with_tracing_each_pixel_alone():
    from unknot.worlds.raytracer.tracer import camera_rows

    scene = clutter()
    labels = masks(scene, 40, 60)[0]
    assert labels.dtype == np.int16
    row = camera_rows(scene.camera.position, scene.camera.look_at, scene.camera.fov)[0]
    eye, right, up, forward = row[:3], row[3:6], row[6:9], row[9:12]
    rows = pack(scene).bodies[0]
    rng = np.random.default_rng(0)
    for i, j in zip(rng.integers(0, 40, 400), rng.integers(0, 60, 400), strict=True):
        step = 2 * math.tan(math.radians(20)) / 40
        ray = forward + step * (j + 0.5 - 30) * right + step * (20 - i - 0.5) * up
        depths = [meet(rows[b : b + 1], eye, ray) for b in range(len(rows))]
        nearest = scene.bodies[int(np.argmin(depths))].label if min(depths) < math.inf else 0
        assert labels[i, j] == nearest


def test_coverage_counts_hidden_bodies_too():
    front = Body("sphere", (0, -2, 0), 1.0, label=1)
    behind = Body("box", (0, 2, 0), 0.5, label=2)
    visible, histogram = coverage(pack(view(front, behind)), 32, 32)
    outlines = [masks(view(body), 32, 32)[0] > 0 for body in (front, behind)]
    assert visible.tolist() == [[outlines[0].sum(), 0]]
    np.testing.assert_array_equal(histogram[0], np.bincount((outlines[0] + 2 * outlines[1]).ravel(), minlength=4))


def test_a_scene_looks_the_same_alone_and_in_a_batch_and_every_time():
    scenes = [clutter(seed, n) for seed, n in ((0, 9), (1, 2), (2, 5))] + [view()]
    together = render(scenes, 24, 32)
    np.testing.assert_array_equal(together, render(scenes, 24, 32))
    for k, scene in enumerate(scenes):
        np.testing.assert_array_equal(together[k], render(scene, 24, 32)[0])
        np.testing.assert_array_equal(masks(scenes, 24, 32)[k], masks(scene, 24, 32)[0])


def test_bodies_around_and_behind_the_camera_do_no_harm():
    floor = Body("rectangle", (0, 0, -1), 50.0, color=(1.0, 0.0, 0.0), material=GLOW)
    behind = Body("sphere", (0, -20, 0), 1.0, material=GLOW)
    image = render(view(floor, behind, fov=60.0), 32, 32)[0]
    np.testing.assert_array_equal(image[-1], [[255, 0, 0]] * 32)
    np.testing.assert_array_equal(image[0], [[0, 0, 0]] * 32)


def test_an_empty_batch_gives_no_images():
    assert render([], 8, 8).shape == (0, 8, 8, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: body_rows(Body("spher", (0, 0, 0))), "did you mean 'sphere'"),
        (lambda: body_rows(Body("box", (0, 0, 0), (1, 0, 1))), "half extents must be positive"),
        (lambda: body_rows(Body("box", (0, 0, 0), rotation=np.eye(3) * 2)), "not a rotation matrix"),
        (lambda: body_rows(Body("capsule", (0, 0, 0), (1, 1, 0.5))), "half height >= radius"),
        (lambda: render(view(), 8, 8, samples=0), "samples is 0"),
        (lambda: render(view(), 0, 8), "at least one pixel"),
        (lambda: render(view(), 8, 8, curve="gamma"), "unknown curve"),
        (lambda: render(view(), 8, 8, out=np.empty((1, 8, 9, 3), np.uint8)), "out is uint8 of shape"),
        (lambda: render(view(), 8, 8, out=np.empty((1, 8, 8, 6), np.uint8)[..., ::2]), "not contiguous"),
        (lambda: render(view(fov=180.0), 8, 8), "fov is 180"),
        (lambda: render(view(eye=(0, 0, 5)), 8, 8), "straight up or down"),
        (lambda: render(view(lights=(sun((0, 0, 0)),)), 8, 8), "zero vector"),
        (lambda: render(view(lights=(Light((0, 0, 1), rays=65),)), 8, 8), "rays is 65"),
        (lambda: render(view(lights=(sun((0, 0, 1), fading=True),)), 8, 8), "neither fades nor aims"),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(UnknotError, match=message):
        call()
