"""Hidden tests of the task surfel-splatting: from surfels to samples."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

projecting = pytest.mark.interface("surfels.splatting.project")
sampling = pytest.mark.interface("surfels.splatting.sample")

SPLATS = ("index", "matrices", "centers", "depths", "normals", "opacities", "colors")


def parts(record, names):
    return {name: getattr(record, name) for name in names}


def rotation(rng):
    matrix, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    return matrix * np.sign(np.linalg.det(matrix))


def view(rng, **changes):
    """Arguments of a camera with 9 x 7 pixels that looks along any direction of the world."""
    given = {
        "rotation": rotation(rng),
        "translation": rng.normal(size=3),
        "focal": tuple(rng.uniform(6.0, 10.0, 2)),
        "principal": (4.5 + rng.uniform(-1.0, 1.0), 3.5 + rng.uniform(-1.0, 1.0)),
        "width": 9,
        "height": 7,
        "near": rng.uniform(0.3, 0.6),
    }
    return {**given, **changes}


def straight(rng, **changes):
    """A camera whose axes are those of the world, with the middle of a pixel on its axis."""
    return view(rng, rotation=np.eye(3), translation=np.zeros(3), principal=(4.5, 3.5), **changes)


def scene(rng, camera, count=12, depths=(1.0, 4.0)):
    """Arguments of surfels in front of the camera."""
    z = rng.uniform(*depths, count)
    seen = np.stack([z * rng.uniform(-0.6, 0.6, count), z * rng.uniform(-0.5, 0.5, count), z], axis=1)
    return {
        "positions": (seen - camera["translation"]) @ camera["rotation"],
        "quaternions": rng.normal(size=(count, 4)) * rng.uniform(0.5, 2.0, (count, 1)),
        "scales": rng.uniform(0.1, 0.9, (count, 2)),
        "opacities": rng.uniform(0.2, 1.0, count),
        "colors": rng.uniform(size=(count, 3)),
    }


def enlarged(surfels, camera, unit):
    """The same scene, seen by the same camera, in another unit of length."""
    lengths = {name: unit * camera[name] for name in ("translation", "near")}
    return surfels | {name: unit * surfels[name] for name in ("positions", "scales")}, camera | lengths


def projected(side, surfels, camera):
    return side.surfels.splatting.project(side.surfels.model.Surfels(**surfels), side.surfels.camera.Camera(**camera))


# project


@projecting
def test_splats_are_those_of_the_authors(candidate, reference, rng):
    camera = view(rng)
    surfels = scene(rng, camera, 20, (-2.0, 4.0))
    for unit in (1.0, 1e-8, 1e6):
        given = enlarged(surfels, camera, unit)
        found, expected = (parts(projected(side, *given), SPLATS) for side in (candidate, reference))
        assert 0 < len(expected["index"]) < 20
        assert_equivalent(found, expected, rtol=1e-6, check_dtype=True)


@projecting
def test_points_of_a_splat_land_where_the_camera_sees_them(candidate, rng):
    """Points of the planes, in coordinates of the world, seen through the camera without the matrices."""
    camera = view(rng)
    surfels = scene(rng, camera)
    splats = projected(candidate, surfels, camera)
    assert splats.matrices.shape == (12, 3, 3)
    order = np.argsort((surfels["positions"] @ camera["rotation"].T + camera["translation"])[:, 2])
    np.testing.assert_array_equal(splats.index, order)
    axes = candidate.surfels.model.Surfels(**surfels).tangents
    for uv in (np.zeros((12, 2)), rng.normal(size=(12, 2))):
        points = surfels["positions"] + sum(
            uv[:, axis : axis + 1] * surfels["scales"][:, axis : axis + 1] * axes[axis] for axis in (0, 1)
        )
        x, y, z = (points @ camera["rotation"].T + camera["translation"])[order].T
        pixels = np.stack([x / z, y / z], axis=1) * camera["focal"] + camera["principal"]
        found = np.einsum("kij,kj->ki", splats.matrices, np.concatenate([uv[order], np.ones((12, 1))], axis=1))
        np.testing.assert_allclose(found[:, 2], z, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(found[:, :2], pixels * z[:, None], rtol=1e-6, atol=1e-6)
        if not uv.any():
            np.testing.assert_allclose(splats.centers, pixels, rtol=1e-6)
            np.testing.assert_allclose(splats.depths, z, rtol=1e-6)


@projecting
def test_equal_depths_keep_the_order_of_the_scene(candidate, rng):
    camera = straight(rng)
    surfels = scene(rng, camera, 200)
    surfels["positions"][:, 2] = rng.permutation(np.repeat([2.0, 1.0, 4.0, 3.0], 50))
    splats = projected(candidate, surfels, camera)
    expected = np.lexsort([np.arange(200), surfels["positions"][:, 2]])
    assert_equivalent(splats.index, expected, check_dtype=True)
    np.testing.assert_array_equal(splats.colors, surfels["colors"][expected])
    np.testing.assert_array_equal(splats.opacities, surfels["opacities"][expected])


@projecting
def test_the_near_plane_keeps_what_lies_on_it(candidate, rng):
    near = 2.0 ** rng.integers(-3, 1).item()
    camera = straight(rng, near=near)
    surfels = scene(rng, camera, 6)
    surfels["positions"][:, 2] = [3.0, -near, near, np.nextafter(near, 0.0), 0.0, np.nextafter(near, 9.0)]
    found = projected(candidate, surfels, camera)
    np.testing.assert_array_equal(found.index, [2, 5, 0])
    np.testing.assert_array_equal(found.depths, [near, np.nextafter(near, 9.0), 3.0])


@projecting
def test_normals_face_the_camera(candidate, rng):
    """All of them, and exactly those are negated that did not: the others keep the side of u x v."""
    camera = view(rng)
    surfels = scene(rng, camera, 40)
    splats = projected(candidate, surfels, camera)
    normals = np.cross(
        *(axis[splats.index] @ camera["rotation"].T for axis in candidate.surfels.model.Surfels(**surfels).tangents)
    )
    means = (surfels["positions"] @ camera["rotation"].T + camera["translation"])[splats.index]
    sides = np.sign(np.sum(normals * means, axis=1))
    assert set(sides) == {-1.0, 1.0}
    np.testing.assert_allclose(splats.normals, -sides[:, None] * normals, rtol=1e-6, atol=1e-9)
    # Beside the optical axis, a normal that faces the camera may look along the axis.
    camera, angle = straight(rng), np.radians(rng.uniform(-80.0, -50.0))
    surfels = scene(rng, camera, 2)
    surfels |= {"positions": np.array([[1.0, 0.0, 1.0]] * 2) * rng.uniform(1.0, 3.0)}
    surfels |= {"quaternions": np.array([turned(1, angle), turned(1, angle + np.pi)])}
    expected = np.array([[np.sin(angle), 0.0, np.cos(angle)]] * 2)
    np.testing.assert_allclose(projected(candidate, surfels, camera).normals, expected, rtol=1e-6, atol=1e-9)


@projecting
def test_no_surfels_and_none_in_front(candidate, rng):
    camera = view(rng)
    behind = scene(rng, camera, 5, (-4.0, -1.0))
    for surfels in (behind, {name: values[:0] for name, values in behind.items()}):
        found = parts(projected(candidate, surfels, camera), SPLATS)
        shapes = [found[name].shape for name in SPLATS]
        assert shapes == [(0,), (0, 3, 3), (0, 2), (0,), (0, 3), (0,), (0, 3)]
        assert found["index"].dtype == np.int64


# sample


def known(side, reference, surfels, camera):
    """The splats of the authors, as a record of the other side."""
    splats = parts(projected(reference, surfels, camera), SPLATS)
    return side.surfels.records.Splats(**splats)


def sampled(side, reference, surfels, camera, pixels=None, **settings):
    seen = side.surfels.camera.Camera(**camera)
    config = side.surfels.settings.RenderConfig(**settings)
    pixels = reference.surfels.camera.Camera(**camera).pixels() if pixels is None else pixels
    samples = side.surfels.splatting.sample(known(side, reference, surfels, camera), pixels, seen, config)
    return parts(samples, ("alphas", "depths"))


def middles(camera):
    """The centers of the pixels, row by row."""
    x, y = np.meshgrid(np.arange(camera["width"]) + 0.5, np.arange(camera["height"]) + 0.5)
    return np.stack([x.ravel(), y.ravel()], axis=1)


def screen(centers, pixels, width=0.5**0.5):
    offsets = np.asarray(pixels)[None] - np.asarray(centers)[:, None]
    return np.exp(-np.sum(offsets**2, axis=2) / (2.0 * width**2))


def turned(axis, angle):
    """The quaternion of a rotation around an axis of the world."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * np.eye(3)[axis]])


@sampling
def test_samples_are_those_of_the_authors(candidate, reference, rng):
    camera = view(rng)
    surfels = scene(rng, camera, 15)
    pixels = rng.uniform(0.0, 7.0, (50, 2))
    pixels[7] = 1e9, 3.0  # far outside of the image
    settings = {"min_alpha": 0.03, "max_alpha": 0.8, "filter_width": rng.uniform(0.4, 0.9)}
    for unit in (1.0, 1e-8, 1e6):
        given = *enlarged(surfels, camera, unit), pixels
        found, expected = (sampled(side, reference, *given, **settings) for side in (candidate, reference))
        assert 0 < np.count_nonzero(expected["alphas"]) < expected["alphas"].size
        assert_equivalent(found["alphas"], expected["alphas"], rtol=1e-6, atol=1e-12, check_dtype=True)
        assert_equivalent(found["depths"], expected["depths"], rtol=1e-6, atol=1e-12 * unit, check_dtype=True)


@sampling
def test_rays_meet_splats_where_geometry_says(candidate, reference, rng):
    """Straight from the planes of the splats in space, without any matrix; wide and narrow, slanted and not."""
    camera = view(rng, near=0.01)
    surfels = scene(rng, camera, 30)
    surfels["scales"] = np.exp(rng.uniform(np.log(0.02), np.log(3.0), (30, 2)))
    pixels = middles(camera)
    found = sampled(candidate, reference, surfels, camera, min_alpha=0.0, max_alpha=1.0)
    model = reference.surfels.model.Surfels(**surfels)
    means = model.positions @ camera["rotation"].T + camera["translation"]
    order = np.argsort(means[:, 2])
    means = means[order]
    axes = [axis[order] @ camera["rotation"].T for axis in model.tangents]
    rays = np.concatenate([(pixels - camera["principal"]) / camera["focal"], np.ones((63, 1))], axis=1)
    normals = np.cross(*axes)
    z = np.sum(normals * means, axis=1)[:, None] / (normals @ rays.T)
    offsets = z[:, :, None] * rays[None] - means[:, None]
    squares = sum(
        (np.einsum("kpi,ki->kp", offsets, axes[axis]) / surfels["scales"][order, axis][:, None]) ** 2 for axis in (0, 1)
    )
    own = np.where(z >= 0.01, np.exp(-0.5 * squares), 0.0)
    smooth = screen(means[:, :2] / means[:, 2:] * camera["focal"] + camera["principal"], pixels)
    assert 50 < np.count_nonzero(own > smooth) < own.size - 50
    alphas = surfels["opacities"][order][:, None] * np.maximum(own, smooth)
    np.testing.assert_allclose(found["alphas"], alphas, rtol=1e-6, atol=1e-12)
    depths = np.where(alphas > 0.0, np.where(own >= smooth, z, means[:, 2:]), 0.0)
    some = alphas > 1e-12
    np.testing.assert_allclose(found["depths"][some], depths[some], rtol=1e-6)


@sampling
@pytest.mark.parametrize("axis", [0, 1])
def test_splats_from_the_side_are_what_the_filter_leaves(candidate, reference, rng, axis):
    """One seen exactly edge-on, whose plane holds a line of pixels, and one that is parallel to those rays, beside."""
    camera = straight(rng)
    depth = rng.uniform(1.0, 3.0)
    positions = np.array([[0.0, 0.0, depth], [0.0, 0.0, depth + 1.0]])
    positions[1, axis] = rng.uniform(0.2, 0.5)
    surfels = scene(rng, camera, 2)
    quaternion = turned(1 - axis, rng.choice([-0.5, 0.5]) * np.pi)
    surfels |= {"positions": positions, "quaternions": np.tile(quaternion, (2, 1))}
    surfels["scales"] = rng.uniform(2.0, 9.0, (2, 2))
    found = sampled(candidate, reference, surfels, camera, min_alpha=1e-9)
    pixels = middles(camera)
    on_axis = pixels[:, axis] == (4.5, 3.5)[axis]
    assert on_axis.any()
    centers = positions[:, :2] / positions[:, 2:] * camera["focal"] + camera["principal"]
    expected = np.minimum(surfels["opacities"][:, None] * screen(centers, pixels), 0.99)
    expected = np.where(expected < 1e-9, 0.0, expected)
    np.testing.assert_allclose(found["alphas"][0], expected[0], rtol=1e-6)
    np.testing.assert_allclose(found["depths"][0], np.where(expected[0] > 0.0, depth, 0.0), rtol=1e-6)
    np.testing.assert_allclose(found["alphas"][1, on_axis], expected[1, on_axis], rtol=1e-6)
    np.testing.assert_allclose(
        found["depths"][1, on_axis], np.where(expected[1, on_axis] > 0.0, depth + 1.0, 0.0), rtol=1e-6
    )
    assert np.isfinite(found["alphas"]).all()
    assert np.isfinite(found["depths"]).all()


@sampling
def test_the_bound_for_splats_from_the_side(candidate, reference, rng):
    """A sine of some 1e-4 is above it, one of some 1e-9 is not. The ray would meet both splats behind their centers."""
    camera = straight(rng)
    for tilt, met in ((rng.uniform(1e-4, 2e-4), 1.0), (rng.uniform(1e-9, 2e-9), 0.0)):
        depth, beyond = rng.uniform(1.0, 3.0), rng.uniform(2.0, 3.0)
        surfels = scene(rng, camera, 1)
        surfels |= {"quaternions": turned(1, np.pi / 2 - tilt)[None], "scales": np.array([[1e5, 1e5]])}
        surfels |= {"positions": np.array([[beyond * np.tan(tilt), 0.0, depth]]), "opacities": np.array([0.5])}
        found = sampled(candidate, reference, surfels, camera, np.array([[4.5, 3.5]]))
        np.testing.assert_allclose(found["alphas"], [[0.5]], rtol=1e-4)
        np.testing.assert_allclose(found["depths"], [[depth + met * beyond]], rtol=1e-4)
    # Far outside of the image, where a ray of depth 1 is 1e4 long, the sine is still that of an angle.
    depth, tilt = rng.uniform(1.0, 3.0), rng.uniform(1e-8, 2e-8)
    surfels |= {"quaternions": turned(1, -np.arctan(1e-4) + tilt)[None], "scales": np.array([[1e6, 1e6]])}
    normal = np.array([np.sin(-np.arctan(1e-4) + tilt), 0.0, np.cos(-np.arctan(1e-4) + tilt)])
    surfels |= {"positions": np.array([[(1e-3 - normal[2] * depth) / normal[0], 0.0, depth]])}
    pixels = np.array([[4.5 + 1e4 * camera["focal"][0], 3.5], [4.5, 3.5]])
    found = sampled(candidate, reference, surfels, camera, pixels)
    np.testing.assert_allclose(found["alphas"][0, 0], 0.0)


@sampling
def test_what_lies_behind_the_near_plane_is_not_met(candidate, reference, rng):
    """A floor that reaches behind the camera: rays towards the sky would meet it there."""
    camera = straight(rng, near=0.5)
    height, angle = rng.uniform(0.8, 1.2), np.pi / 2 + rng.uniform(-0.05, 0.05)
    surfels = scene(rng, camera, 1)
    surfels |= {"positions": np.array([[0.0, height, 2.0]]), "quaternions": turned(0, angle)[None]}
    surfels |= {"scales": np.array([[1e6, 1e6]]), "opacities": np.array([0.75])}
    rays = reference.surfels.camera.Camera(**camera).rays(middles(camera))
    normal = np.array([0.0, -np.sin(angle), np.cos(angle)])
    z = (height * normal[1] + 2.0 * normal[2]) / (rays @ normal)
    assert (z < 0.0).any()
    assert (z > 0.5).any()
    found = sampled(candidate, reference, surfels, camera, min_alpha=1e-9)
    filtered = 0.75 * screen([[4.5, 3.5 + height / 2.0 * camera["focal"][1]]], middles(camera))[0]
    filtered = np.where(filtered < 1e-9, 0.0, filtered)
    far = (np.abs(z - 0.5) > 0.01) & (np.abs(z) < 300.0)
    assert (far & (z > 0.5)).any()
    np.testing.assert_allclose(found["alphas"][0, far], np.where(z > 0.5, 0.75, filtered)[far], rtol=1e-6)
    depths = np.where(z > 0.5, z, np.where(filtered > 0.0, 2.0, 0.0))
    np.testing.assert_allclose(found["depths"][0, far], depths[far], rtol=1e-6)
    # Close to the camera, but in front of it, and nearer than `near`: a wall, seen past its center's side.
    wall = scene(rng, camera, 1)
    wall |= {"positions": np.array([[0.0, 0.0, 1.0]]), "quaternions": turned(1, np.pi / 4)[None]}
    wall |= {"scales": np.array([[1e6, 1e6]]), "opacities": np.array([0.75])}
    pixels = np.array([[4.5 + slope * camera["focal"][0], 3.5] for slope in (-4.0, -2.0, 0.5, 0.9, 4.0, 8.0)])
    met = 1.0 / (1.0 + pixels[:, 0] / camera["focal"][0] - 4.5 / camera["focal"][0])
    found = sampled(candidate, reference, wall, camera, pixels, min_alpha=1e-9)
    np.testing.assert_allclose(found["alphas"][0], np.where(met > 0.5, 0.75, 0.0), rtol=1e-6)
    np.testing.assert_allclose(found["depths"][0], np.where(met > 0.5, met, 0.0), rtol=1e-6)


@sampling
def test_tiny_and_huge_scales(candidate, reference, rng):
    """What is smaller than a pixel keeps the width of the filter; what is huge in one direction is a stripe."""
    camera = straight(rng)
    width, scale, depth = rng.uniform(0.4, 1.2), rng.uniform(0.3, 0.5), rng.uniform(1.0, 2.0)
    surfels = scene(rng, camera, 4)
    surfels["positions"] = np.array([[0.05, -0.05, 1.0], [0.1, 0.1, 1.5], [0.0, 0.1, 2.0], [0.1, 0.0, 2.0 + depth]])
    surfels["quaternions"] = np.tile([1.0, 0.0, 0.0, 0.0], (4, 1))
    surfels["scales"] = np.array([[1e-9, 1e-9], [1e6, 1e-9], [1e6, 1e6], [scale, 1e6]])
    found = sampled(candidate, reference, surfels, camera, min_alpha=1e-12, filter_width=width)
    pixels = middles(camera)
    positions = surfels["positions"]
    centers = positions[:, :2] / positions[:, 2:] * camera["focal"] + camera["principal"]
    values = screen(centers, pixels, width)
    values[2] = 1.0
    offsets = (pixels[:, 0] - 4.5) / camera["focal"][0] * positions[3, 2] - positions[3, 0]
    values[3] = np.maximum(values[3], np.exp(-0.5 * (offsets / scale) ** 2))
    expected = np.minimum(surfels["opacities"][:, None] * values, 0.99)
    expected = np.where(expected < 1e-12, 0.0, expected)
    np.testing.assert_allclose(found["alphas"], expected, rtol=1e-6)
    np.testing.assert_allclose(found["depths"], np.where(expected > 0.0, positions[:, 2:], 0.0), rtol=1e-6)


@sampling
def test_small_alphas_vanish_and_large_ones_are_cut(candidate, reference, rng):
    """At the centers, where alpha is the opacity itself."""
    camera = straight(rng)
    least, most = rng.uniform(0.1, 0.3), rng.uniform(0.6, 0.9)
    opacities = np.array([least, np.nextafter(least, 0.0), 1.0, 0.5, 0.0, np.nextafter(least, 1.0)])
    surfels = scene(rng, camera, 6)
    surfels["positions"] = np.array([[0.0, 0.0, 2.0**k] for k in range(6)])
    surfels |= {"opacities": opacities, "quaternions": np.tile([1.0, 0.0, 0.0, 0.0], (6, 1))}
    at_center = np.array([[4.5, 3.5]])
    found = sampled(candidate, reference, surfels, camera, at_center, min_alpha=least, max_alpha=most)
    expected = np.array([least, 0.0, most, 0.5, 0.0, opacities[5]])
    np.testing.assert_allclose(found["alphas"][:, 0], expected, rtol=1e-12)
    np.testing.assert_allclose(found["depths"][:, 0], np.where(expected > 0.0, 2.0 ** np.arange(6), 0.0), rtol=1e-9)


@sampling
def test_no_splats_and_no_pixels(candidate, reference, rng):
    camera = view(rng)
    surfels = scene(rng, camera, 4)
    none = {name: values[:0] for name, values in surfels.items()}
    for given, pixels, shape in ((none, rng.uniform(size=(5, 2)), (0, 5)), (surfels, np.zeros((0, 2)), (4, 0))):
        found = sampled(candidate, reference, given, camera, pixels)
        assert [found["alphas"].shape, found["depths"].shape] == [shape, shape]


@projecting
def test_surfels_are_not_modified(candidate, rng):
    camera = view(rng)
    surfels = scene(rng, camera, 6)
    kept, seen = candidate.surfels.model.Surfels(**surfels), candidate.surfels.camera.Camera(**camera)
    splats = candidate.surfels.splatting.project(kept, seen)
    np.testing.assert_allclose(np.sum(splats.normals**2, axis=1), np.ones(6), rtol=1e-6)
    assert_equivalent(parts(kept, surfels), surfels, rtol=0.0, atol=0.0)
    assert_equivalent(parts(seen, camera), camera, rtol=0.0, atol=0.0)


@sampling
def test_splats_and_pixels_are_not_modified(candidate, reference, rng):
    camera = view(rng)
    surfels = scene(rng, camera, 6)
    splats = known(candidate, reference, surfels, camera)
    before = parts(splats, SPLATS)
    pixels, seen = rng.uniform(0.0, 7.0, (9, 2)), candidate.surfels.camera.Camera(**camera)
    config = candidate.surfels.settings.RenderConfig()
    samples = assert_unmodified(candidate.surfels.splatting.sample, splats, pixels, seen, config)
    assert samples.alphas.any()
    assert_equivalent(parts(splats, SPLATS), before, rtol=0.0, atol=0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
