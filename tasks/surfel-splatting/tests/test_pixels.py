"""Hidden tests of the task surfel-splatting: from samples to pixels and losses."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

compositing = pytest.mark.interface("surfels.compositing.composite")
spreading = pytest.mark.interface("surfels.losses.depth_distortion")
bending = pytest.mark.interface("surfels.losses.normal_consistency")

RENDERING = ("color", "opacity", "transmittance", "mean_depth", "median_depth", "normal", "weights")
SAMPLES = ("alphas", "depths")


def parts(record, names):
    return {name: getattr(record, name) for name in names}


def unit(rng, count):
    vectors = rng.normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def splats(rng, count):
    """Arguments of splats that a camera at the origin sees, with a focal length of 1; their parts agree with each other."""
    frames, _ = np.linalg.qr(rng.normal(size=(count, 3, 3)))
    depths = np.sort(rng.uniform(1.0, 2.0, count))
    centers = rng.uniform(-0.5, 0.5, (count, 2))
    points = np.concatenate([centers, np.ones((count, 1))], axis=1) * depths[:, None]
    normals = np.cross(frames[:, :, 0], frames[:, :, 1])
    normals *= -np.sign(np.sum(normals * points, axis=1, keepdims=True))
    scales = rng.uniform(0.1, 0.9, (count, 1, 2))
    return {
        "index": np.arange(count),
        "matrices": np.concatenate([scales * frames[:, :, :2], points[:, :, None]], axis=2),
        "centers": centers,
        "depths": depths,
        "normals": normals,
        "opacities": rng.uniform(size=count),
        "colors": rng.uniform(size=(count, 3)),
    }


def composited(side, alphas, depths, given, **settings):
    records = side.surfels.records
    samples = records.Samples(np.asarray(alphas, dtype=float), np.asarray(depths, dtype=float))
    config = side.surfels.settings.RenderConfig(**settings)
    return parts(side.surfels.compositing.composite(samples, records.Splats(**given), config), RENDERING)


def one_pixel(alphas, depths, given, least, background):
    """The blending of one pixel, step by step."""
    left, weights, median = 1.0, np.zeros(len(alphas)), 0.0
    for place, (alpha, depth) in enumerate(zip(alphas, depths, strict=True)):
        if alpha == 0.0:
            continue
        if left * (1.0 - alpha) < least:
            break
        weights[place] = left * alpha
        if left > 0.5:
            median = depth
        left *= 1.0 - alpha
    total = weights.sum()
    color = weights @ given["colors"] + left * np.asarray(background)
    mean = weights @ depths / total if total else 0.0
    return color, total, left, mean, median, weights @ given["normals"], weights


# composite


@compositing
def test_pixels_are_blended_step_by_step(candidate, rng):
    """Depths in any order, gaps among the samples, rays that end early, and a background."""
    given, background = splats(rng, 14), tuple(rng.uniform(size=3))
    alphas = rng.uniform(0.01, 0.9, (14, 30)) * (rng.uniform(size=(14, 30)) < 0.6)
    alphas[:, :10] *= 0.2
    alphas[:, 0] = 0.0
    depths = np.where(alphas > 0.0, rng.uniform(1.0, 9.0, (14, 30)), 0.0)
    for least in (0.02, 0.3, 0.0):
        found = composited(candidate, alphas, depths, given, min_transmittance=least, background=background)
        pixels = [one_pixel(*column, given, least, background) for column in zip(alphas.T, depths.T, strict=True)]
        expected = dict(zip(RENDERING, map(np.array, zip(*pixels, strict=True)), strict=True))
        expected["weights"] = expected["weights"].T
        assert_equivalent(found, expected, rtol=1e-6, atol=1e-12, check_dtype=True)
    assert np.all(found["opacity"] + found["transmittance"] < 1.0 + 1e-9)


@compositing
def test_a_ray_ends_before_the_transmittance_gets_too_low(candidate, rng):
    """Powers of two, so that every product is exact: equal is not below."""
    given = splats(rng, 4)
    power = rng.integers(2, 6).item()
    alphas = np.array([[0.5] * 4, [0.75, 0.75, 0.5, 0.75], [0.5, 0.25, 0.75, 0.0], [0.25, 0.5, 0.5, 0.5]])
    alphas[0] = 1.0 - 2.0**-power
    depths = rng.uniform(1.0, 9.0, (4, 4))
    least = 2.0 ** -(power + 2)
    at, above = (
        composited(candidate, alphas, depths, given, min_transmittance=each) for each in (least, np.nextafter(least, 1))
    )
    front, second = 1.0 - 2.0**-power, 2.0**-power
    expected = np.zeros((4, 4))
    expected[0] = front
    expected[1] = second * alphas[1]
    expected[2, 2] = 0.0  # three quarters of a half leave an eighth: too little, though the next sample is lighter
    expected[3, 2] = 0.0
    np.testing.assert_allclose(at["weights"], expected, rtol=1e-12)
    np.testing.assert_allclose(at["transmittance"], [least, least, 2 * least, least], rtol=1e-12)
    expected[1, [0, 1, 3]] = 0.0
    np.testing.assert_allclose(above["weights"], expected, rtol=1e-12)
    np.testing.assert_allclose(above["transmittance"], [4 * least, 4 * least, 2 * least, 4 * least], rtol=1e-12)


@compositing
def test_the_median_is_the_last_sample_with_more_than_half_of_the_light(candidate, rng):
    given = splats(rng, 4)
    alphas = np.array(
        [
            [0.5, 0.25, 0.9, 0.0, 0.25],
            [0.5, 0.25, 0.5, 0.75, 0.0],
            [0.5, 0.5, 0.5, 0.5, 0.25],
            [0.5, 0.5, 0.5, 0.5, 0.0],
        ]
    )
    depths = rng.permuted(np.tile([2.0, 7.0, 3.0, 5.0], (5, 1)), axis=1).T * rng.uniform(0.5, 2.0)
    depths = np.where(alphas > 0.0, depths, 0.0)
    found = composited(candidate, alphas, depths, given, min_transmittance=0.0)
    np.testing.assert_allclose(found["median_depth"], depths[[0, 2, 0, 1, 2], np.arange(5)], rtol=1e-12)
    falling = np.array([[9.0], [1.0], [4.0], [2.0]]) * rng.uniform(0.5, 2.0)
    found = composited(candidate, np.full((4, 1), 0.125), falling, given)
    np.testing.assert_allclose(found["median_depth"], falling[3], rtol=1e-12)


@compositing
def test_transparent_pixels_and_no_splats(candidate, rng):
    background = tuple(rng.uniform(size=3))
    for count, pixels in ((0, 5), (3, 5), (0, 0), (3, 0)):
        nothing = np.zeros((count, pixels))
        found = composited(candidate, nothing, nothing, splats(rng, count), background=background)
        expected = {
            "color": np.tile(background, (pixels, 1)),
            "opacity": np.zeros(pixels),
            "transmittance": np.ones(pixels),
            "mean_depth": np.zeros(pixels),
            "median_depth": np.zeros(pixels),
            "normal": np.zeros((pixels, 3)),
            "weights": nothing,
        }
        assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@compositing
def test_opaque_samples_and_little_light(candidate, rng):
    given = splats(rng, 30)
    alphas = np.zeros((30, 3))
    alphas[:, 0] = rng.uniform(0.75, 0.85, 30)  # some 1e-20 is left
    alphas[[4, 9], 1] = 0.25, 1.0
    alphas[9, 2] = 1.0
    alphas[12, 1:] = 0.5
    depths = np.where(alphas > 0.0, rng.uniform(1.0, 2.0, (30, 3)), 0.0)
    through = composited(candidate, alphas, depths, given, min_transmittance=0.0, background=(1.0, 1.0, 1.0))
    np.testing.assert_allclose(through["transmittance"], [np.prod(1.0 - alphas[:, 0]), 0.0, 0.0], rtol=1e-6)
    np.testing.assert_allclose(through["weights"][[4, 9, 12], 1:], [[0.25, 0.0], [0.75, 1.0], [0.0, 0.0]], rtol=1e-9)
    ended = composited(candidate, alphas, depths, given)
    np.testing.assert_allclose(ended["transmittance"][1:], [0.75, 1.0], rtol=1e-9)
    np.testing.assert_allclose(ended["opacity"][1:], [0.25, 0.0], rtol=1e-9)
    np.testing.assert_allclose(ended["median_depth"][1:], [depths[4, 1], 0.0], rtol=1e-9)
    np.testing.assert_allclose(ended["mean_depth"][1:], [depths[4, 1], 0.0], rtol=1e-9)


@compositing
def test_little_opacity_has_a_depth_as_well(candidate, rng):
    """A weighted mean, whatever the sum of the weights."""
    given = splats(rng, 5)
    for scale in (1e-12, 1e-60):
        alphas, depths = rng.uniform(0.5, 1.0, (5, 6)) * scale, rng.uniform(1.0, 9.0, (5, 6))
        found = composited(candidate, alphas, depths, given)
        np.testing.assert_allclose(found["mean_depth"], np.average(depths, axis=0, weights=alphas), rtol=1e-6)
        np.testing.assert_allclose(found["normal"], alphas.T @ given["normals"], rtol=1e-6, atol=1e-8 * scale)
        np.testing.assert_allclose(found["median_depth"], depths[4], rtol=1e-12)


@compositing
def test_samples_and_splats_are_not_modified(candidate, rng):
    records = candidate.surfels.records
    given = splats(rng, 5)
    alphas, depths = rng.uniform(0.3, 0.7, (5, 6)), rng.uniform(1.0, 9.0, (5, 6))
    samples, kept = records.Samples(alphas, depths), records.Splats(**given)
    config = candidate.surfels.settings.RenderConfig(min_transmittance=0.2)
    found = candidate.surfels.compositing.composite(samples, kept, config)
    np.testing.assert_allclose(found.opacity + found.transmittance, np.ones(6), rtol=1e-9)
    assert found.weights[0].all()
    assert_equivalent(parts(samples, SAMPLES), {"alphas": alphas, "depths": depths}, rtol=0.0, atol=0.0)
    assert_equivalent(parts(kept, given), given, rtol=0.0, atol=0.0)


@compositing
def test_a_plane_is_rendered_as_a_plane(candidate, reference, rng):
    """Both depths are those of the plane, whatever the order and the weights of its surfels."""
    angle = rng.uniform(0.1, 0.25)
    quaternion = np.array([np.cos(angle), *(np.sin(angle) * unit(rng, 1)[0] * [1.0, 1.0, 0.2])])
    camera = {
        "rotation": np.eye(3),
        "translation": np.array([0.0, 0.0, 3.0]),
        "focal": (14.0, 16.0),
        "principal": (4.0, 3.0),
        "width": 8,
        "height": 6,
    }
    side = candidate.surfels
    scene = side.shapes.plane(rng.uniform(-0.1, 0.1, 3), quaternion, 1.5, 12, 0.4)
    seen = side.camera.Camera(**camera)
    splats = side.splatting.project(scene, seen)
    samples = side.splatting.sample(splats, seen.pixels(), seen, side.settings.RenderConfig())
    found = parts(side.compositing.composite(samples, splats, side.settings.RenderConfig()), RENDERING)
    normal = np.cross(*(axis[0] for axis in scene.tangents))
    depth = normal @ (scene.positions[0] + camera["translation"]) / (seen.rays(seen.pixels()) @ normal)
    np.testing.assert_allclose(found["mean_depth"], depth, rtol=1e-6)
    np.testing.assert_allclose(found["median_depth"], depth, rtol=1e-6)
    towards = normal * -np.sign(normal[2])
    np.testing.assert_allclose(found["normal"], found["opacity"][:, None] * towards, rtol=1e-6, atol=1e-9)
    assert np.all(found["opacity"] > 0.9)


# depth_distortion


def pairs(weights, depths):
    """The sum over all ordered pairs, for depths that are known everywhere."""
    apart = np.abs(depths[:, None] - depths[None])
    return np.sum(weights[:, None] * weights[None] * apart, axis=(0, 1))


@spreading
def test_distortion_is_the_sum_over_all_pairs(candidate, rng):
    weights, depths = rng.uniform(0.0, 0.3, (9, 20)), rng.uniform(1.0, 9.0, (9, 20))
    depths[4] = depths[2]
    weights[rng.uniform(size=(9, 20)) < 0.3] = 0.0
    weights[:, 0] = 0.0
    weights[1:, 1] = 0.0
    expected = pairs(weights, depths)
    nothing = np.where(weights > 0.0, depths, 0.0)
    found = assert_unmodified(candidate.surfels.losses.depth_distortion, weights, depths)
    assert_equivalent(found, expected, rtol=1e-6, check_dtype=True)
    assert_equivalent(candidate.surfels.losses.depth_distortion(weights, nothing), expected, rtol=1e-6)


@spreading
def test_samples_without_weight_may_be_anywhere(candidate, rng):
    weights, depths = rng.uniform(0.1, 0.3, (8, 6)), rng.uniform(1.0, 9.0, (8, 6))
    lost = rng.permuted(np.arange(8)[:, None] < np.array([3, 0, 1, 7, 8, 6]), axis=0)
    weights[lost] = 0.0
    expected = pairs(weights, depths)
    for value in (np.inf, np.nan, -np.inf, 1e300, -1.0):
        found = candidate.surfels.losses.depth_distortion(weights, np.where(lost, value, depths))
        assert_equivalent(found, expected, rtol=1e-6)
    little = candidate.surfels.losses.depth_distortion(1e-60 * weights, depths)  # is not nothing
    assert_equivalent(little * 1e120, expected, rtol=1e-6)


@spreading
def test_many_samples_fit_into_memory(candidate, rng):
    """Equal weights: the k-th smallest depth is subtracted from as often as it is subtracted."""
    depths, weight = rng.uniform(1.0, 9.0, (3000, 40)), rng.uniform(1e-4, 3e-4)
    ranks = 2.0 * np.arange(3000)[:, None] - 2999.0
    expected = 2.0 * weight**2 * np.sum(ranks * np.sort(depths, axis=0), axis=0)
    found = candidate.surfels.losses.depth_distortion(np.full((3000, 40), weight), depths)
    assert_equivalent(found, expected, rtol=1e-6)


@spreading
def test_distortion_depends_on_differences_only(candidate, rng):
    weights, near = rng.uniform(0.0, 0.3, (7, 12)), rng.integers(0, 12, (7, 12)).astype(float)
    found = candidate.surfels.losses.depth_distortion(weights, near + 1e13)
    assert_equivalent(found, pairs(weights, near), rtol=1e-6)


@spreading
def test_single_samples_are_not_spread(candidate, rng):
    run = candidate.surfels.losses.depth_distortion
    for count, pixels in ((0, 4), (1, 4), (3, 0), (0, 0)):
        found = run(rng.uniform(0.5, 1.0, (count, pixels)), rng.uniform(1.0, 2.0, (count, pixels)))
        assert_equivalent(found, np.zeros(pixels), check_dtype=True)
    two = run(np.array([[0.5], [0.25]]), np.array([[3.0], [1.0]]))
    assert_equivalent(two, np.array([0.5]), rtol=1e-12)


# normal_consistency


def view(rng, width, height):
    return {
        "rotation": np.eye(3),
        "translation": np.zeros(3),
        "focal": tuple(rng.uniform(6.0, 10.0, 2)),
        "principal": (width / 2 + rng.uniform(-1.0, 1.0), height / 2 + rng.uniform(-1.0, 1.0)),
        "width": width,
        "height": height,
    }


def rendered(reference, rng, pixels, normal=None):
    """Arguments of a rendering, as the authors composite it: its parts agree with each other. All splats have the
    normal, if there is one."""
    given = splats(rng, 4)
    if normal is not None:
        given["normals"] = np.tile(normal, (4, 1))
    alphas, depths = rng.uniform(0.02, 0.5, (4, pixels)), rng.uniform(1.0, 2.0, (4, pixels))
    return composited(reference, alphas, depths, given, background=tuple(rng.uniform(size=3)))


def consistency(side, given, depth, camera):
    rendering = side.surfels.records.Rendering(**given)
    found = assert_unmodified(
        side.surfels.losses.normal_consistency, rendering, depth, side.surfels.camera.Camera(**camera)
    )
    assert_equivalent(parts(rendering, RENDERING), given, rtol=0.0, atol=0.0)
    return found


def inside(width, height):
    inner = np.zeros((height, width), dtype=bool)
    inner[1:-1, 1:-1] = True
    return inner.ravel()


@bending
@pytest.mark.parametrize("aside", [0.0, 2.0])
def test_on_a_plane_the_normal_is_that_of_the_plane(candidate, reference, rng, aside):
    """0 where the splats agree with it, and 1 - cosine where they do not. Far from the optical axis, a normal that faces
    the camera may look along the axis."""
    camera, given = view(rng, 7, 6), rendered(reference, rng, 42)
    camera["principal"] = camera["principal"][0] - aside * camera["focal"][0], camera["principal"][1]
    normal = np.array([-0.65 * aside + rng.uniform(-0.1, 0.1), rng.uniform(-0.1, 0.1), aside - 1.0])
    normal /= np.linalg.norm(normal)
    seen = reference.surfels.camera.Camera(**camera)
    depth = -2.0 / (seen.rays(seen.pixels()) @ normal)
    assert np.all(depth > 0.0)
    expected = np.where(inside(7, 6), given["opacity"] - given["normal"] @ normal, 0.0)
    assert_equivalent(consistency(candidate, given, depth, camera), expected, rtol=1e-6, atol=1e-9, check_dtype=True)
    given = rendered(reference, rng, 42, normal)
    np.testing.assert_allclose(consistency(candidate, given, depth, camera), np.zeros(42), atol=1e-9)


@bending
def test_curved_surfaces_with_holes(candidate, reference, rng):
    """Each pixel from its four neighbours, one by one; steep parts, where u x v may point either way, included."""
    camera, given = view(rng, 9, 8), rendered(reference, rng, 72)
    depth = rng.uniform(0.5, 3.0, 72)
    depth[rng.choice(72, 8, replace=False)] = 0.0
    depth[45] = -1.0
    seen = reference.surfels.camera.Camera(**camera)
    points = seen.rays(seen.pixels()) * depth[:, None]
    expected = np.zeros(72)
    for pixel in np.flatnonzero(inside(9, 8)):
        if min(depth[[pixel, pixel - 1, pixel + 1, pixel - 9, pixel + 9]]) > 0.0:
            surface = np.cross(points[pixel + 1] - points[pixel - 1], points[pixel + 9] - points[pixel - 9])
            surface /= -np.linalg.norm(surface) * np.sign(surface @ points[pixel])
            expected[pixel] = given["opacity"][pixel] - given["normal"][pixel] @ surface
    assert np.count_nonzero(expected) > 5
    for unit in (1.0, 1e-8, 1e6):
        found = consistency(candidate, given, unit * depth, camera)
        assert_equivalent(found, expected, rtol=1e-6, atol=1e-9, check_dtype=True)


@bending
def test_each_neighbour_is_needed(candidate, reference, rng):
    camera, given = view(rng, 3, 3), rendered(reference, rng, 9)
    whole = rng.uniform(1.0, 1.2, 9)
    full = consistency(candidate, given, whole, camera)
    assert np.count_nonzero(full) == 1
    for hole in range(9):
        depth = whole.copy()
        depth[hole] = rng.choice([0.0, -1.0])
        found = consistency(candidate, given, depth, camera)
        corner = hole in (0, 2, 6, 8)
        assert_equivalent(found, full if corner else np.zeros(9), rtol=1e-6, atol=1e-9)


@bending
def test_small_images_are_all_border(candidate, reference, rng):
    for width, height in ((1, 1), (2, 5), (5, 2), (1, 4), (4, 1), (0, 0), (6, 0)):
        pixels = width * height
        camera, given = view(rng, width, height), rendered(reference, rng, pixels)
        found = consistency(candidate, given, rng.uniform(1.0, 2.0, pixels), camera)
        assert_equivalent(found, np.zeros(pixels), check_dtype=True)
    camera, given = view(rng, 3, 4), rendered(reference, rng, 12)
    found = consistency(candidate, given, rng.uniform(1.0, 1.2, 12), camera)
    np.testing.assert_array_equal(found != 0.0, inside(3, 4))


@bending
def test_the_objective_of_a_scene_is_that_of_the_authors(candidate, reference, rng):
    quaternion = np.array([1.0, *rng.uniform(-0.3, 0.3, 3)])
    camera = view(rng, 8, 7) | {"translation": np.array([0.0, 0.0, 2.5])}
    picture, point = rng.uniform(size=(56, 3)), rng.uniform(-0.1, 0.1, 3)
    moved = rng.normal(0.0, 0.1, (49, 3))
    found = []
    for side in (candidate, reference):
        scene = side.surfels.shapes.plane(point, quaternion, 1.0, 7, 0.3)
        scene = side.surfels.model.Surfels(
            scene.positions + moved, scene.quaternions, scene.scales, scene.opacities, scene.colors
        )
        found.append(side.surfels.objective.objective(scene, side.surfels.camera.Camera(**camera), picture))
    assert_equivalent(found[0], found[1], rtol=1e-6)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
