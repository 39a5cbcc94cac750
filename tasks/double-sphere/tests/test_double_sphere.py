"""Hidden tests of the task double-sphere."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

projecting = pytest.mark.interface("fisheye.double_sphere.project")
deriving = pytest.mark.interface("fisheye.double_sphere.jacobian")
unprojecting = pytest.mark.interface("fisheye.double_sphere.unproject")

# A few operations on numbers of the order of 1: errors of 1e-15, magnified by at most 1e5 (directions stay off the limits).
RTOL = 1e-8


def shape_parameters(rng):
    """xi and alpha of six kinds of cameras."""
    low, high, xi = rng.uniform(0.1, 0.45), rng.uniform(0.55, 0.9), rng.uniform(0.15, 0.7)
    return [(xi, low), (-xi, low), (xi, high), (-xi, high), (rng.uniform(-0.7, 0.7), 0.5), (0.0, high)]


def camera_of(side, rng, xi, alpha):
    fx, fy, cx, cy = rng.uniform((200.0, 300.0, 100.0, -90.0), (250.0, 350.0, 400.0, 90.0)).tolist()
    return side.fisheye.camera.Camera(fx=fx, fy=fy, cx=cx, cy=cy, xi=float(xi), alpha=float(alpha))


def mirrored(side, camera):
    """The same camera on another side."""
    names = ("fx", "fy", "cx", "cy", "xi", "alpha")
    return side.fisheye.camera.Camera(**{name: getattr(camera, name) for name in names})


def ratio(alpha):
    return alpha / (1.0 - alpha) if alpha <= 0.5 else (1.0 - alpha) / alpha


def limit_angle(xi, alpha):
    """Angle with the optical axis beyond which no direction is valid.

    The second sphere sees the limit at the angle acos(-w). Follow this ray from its centre at (0, 0, -xi) to the first sphere.
    """
    angle = np.arccos(-ratio(alpha))
    length = xi * np.cos(angle) + np.sqrt(1.0 - (xi * np.sin(angle)) ** 2)
    return np.arctan2(length * np.sin(angle), length * np.cos(angle) - xi)


def directions(rng, angles):
    """Unit vectors at these angles with the optical axis, at random azimuths."""
    angles = np.asarray(angles)
    turn = rng.uniform(0.0, 2.0 * np.pi, angles.shape)
    return np.stack([np.sin(angles) * np.cos(turn), np.sin(angles) * np.sin(turn), np.cos(angles)], axis=-1)


def seen(rng, xi, alpha, count=12, margin=0.02):
    """Points that are valid, at different distances."""
    angles = rng.uniform(0.0, limit_angle(xi, alpha) - margin, count)
    return directions(rng, angles) * rng.uniform(0.1, 20.0, (count, 1))


def two_spheres(camera, points):
    """The construction of the model, step by step; complex numbers allowed."""
    length = np.sqrt((points**2).sum(axis=-1, keepdims=True))
    first = points / length + np.array([0.0, 0.0, camera.xi])
    second = first / np.sqrt((first**2).sum(axis=-1, keepdims=True))
    depth = camera.alpha + (1.0 - camera.alpha) * second[..., 2:]
    return second[..., :2] / depth * np.array([camera.fx, camera.fy]) + np.array([camera.cx, camera.cy])


# project


@projecting
def test_pixels_follow_from_the_two_spheres(candidate, rng):
    for xi, alpha in shape_parameters(rng):
        camera = camera_of(candidate, rng, xi, alpha)
        points = seen(rng, xi, alpha)
        pixels, valid = candidate.fisheye.double_sphere.project(camera, points)
        assert_equivalent(valid, np.ones(12, dtype=bool), check_dtype=True)
        assert_equivalent(pixels, two_spheres(camera, points), rtol=RTOL, atol=1e-6, check_dtype=True)


@projecting
def test_points_beyond_the_limit_are_invalid(candidate, rng):
    """At a hundred thousandth of a radian on either side of the limit, and far from it."""
    for xi, alpha in shape_parameters(rng):
        camera, limit = camera_of(candidate, rng, xi, alpha), limit_angle(xi, alpha)
        if alpha == 0.5:  # everything but one direction
            angles = np.array([0.0, 1.0, np.pi - 1e-3])
            expected = np.ones(3, dtype=bool)
        else:
            angles = np.array([0.0, limit - 0.3, limit - 1e-5, limit + 1e-5, 0.5 * (limit + np.pi), np.pi])
            expected = np.arange(6) < 3
        points = directions(rng, angles) * rng.uniform(0.5, 2.0, (len(angles), 1))
        pixels, valid = candidate.fisheye.double_sphere.project(camera, points)
        np.testing.assert_array_equal(valid, expected)
        np.testing.assert_array_equal(np.isfinite(pixels), np.stack([expected, expected], axis=-1))


@projecting
def test_special_cases(candidate, rng):
    """The pinhole camera, and the parallel projection of the first or of the second sphere."""
    run = candidate.fisheye.double_sphere.project
    point = rng.uniform((-1.0, -1.0, 0.3), (1.0, 1.0, 2.0), (5, 3))
    distance = np.linalg.norm(point, axis=1, keepdims=True)
    xi = rng.uniform(0.2, 0.6)
    second = np.linalg.norm(point + distance * np.array([0.0, 0.0, xi]), axis=1, keepdims=True)
    for parameters, depth in (
        ((0.0, 0.0), point[:, 2:]),
        ((xi, 0.0), point[:, 2:] + xi * distance),
        ((0.0, 1.0), distance),
        ((xi, 1.0), second),
        ((0.0, 0.5), 0.5 * (distance + point[:, 2:])),
    ):
        camera = camera_of(candidate, rng, *parameters)
        pixels, valid = run(camera, point)
        assert valid.all()
        plane = (pixels - np.array([camera.cx, camera.cy])) / np.array([camera.fx, camera.fy])
        np.testing.assert_allclose(plane, point[:, :2] / depth, rtol=RTOL, atol=1e-9)
    for parameters, behind in (((0.0, 0.0), False), ((0.3, 0.0), True), ((0.0, 1.0), False), ((0.3, 1.0), True)):
        _, valid = run(camera_of(candidate, rng, *parameters), np.array([[1.0, 0.0, -0.1], [1.0, 0.0, -4.0]]))
        np.testing.assert_array_equal(valid, [behind, False])


@projecting
def test_equality_is_not_valid_and_neither_is_the_centre(candidate, rng):
    """Entries that no pixel belongs to, between others that have one."""
    run = candidate.fisheye.double_sphere.project
    scale = 2.0 ** rng.integers(-3, 4).item()
    plane = np.array([[3.0, 4.0, 0.0], [3.0, 4.0, 1.0], [0.0, -2.0, 0.0]]) * scale
    for alpha in (0.0, 1.0):  # k = 0
        _, valid = run(camera_of(candidate, rng, 0.0, alpha), plane)
        np.testing.assert_array_equal(valid, [False, True, False])
    _, valid = run(camera_of(candidate, rng, 0.25, 0.5), np.array([[0.0, 0.0, -scale], [0.0, 0.0, scale]]))
    np.testing.assert_array_equal(valid, [False, True])  # k = -d2
    for xi, alpha in shape_parameters(rng):
        camera, points = camera_of(candidate, rng, xi, alpha), seen(rng, xi, alpha, 7)
        expected = two_spheres(camera, points)
        for place, value in ((1, np.nan), (3, np.inf), (6, -np.inf)):
            points[place, rng.integers(3)] = value
        points[4] = 0.0
        expected[[1, 3, 4, 6]] = np.nan
        pixels, valid = run(camera, points)
        np.testing.assert_array_equal(valid, [True, False, True, False, False, True, False])
        assert_equivalent(pixels, expected, rtol=RTOL, atol=1e-6)


@projecting
def test_pixels_do_not_depend_on_the_distance(candidate, rng):
    for xi, alpha in shape_parameters(rng):
        camera = camera_of(candidate, rng, xi, alpha)
        points = np.concatenate([seen(rng, xi, alpha, 4), directions(rng, np.array([3.0 if alpha != 0.5 else 1.0]))])
        points /= np.abs(points).max(axis=1, keepdims=True)
        expected = two_spheres(camera, points)
        expected[4 if alpha != 0.5 else 5 :] = np.nan
        mixed = rng.permutation(np.append([1e-200, 1e-170, 1e170, 1e200], np.ones(len(points) - 4)))[:, None]
        for scale in (1e-200, 1e-170, 1e-4, 1e170, 1e200, mixed):
            pixels, valid = candidate.fisheye.double_sphere.project(camera, points * scale)
            np.testing.assert_array_equal(valid, np.isfinite(expected[:, 0]))
            assert_equivalent(pixels, expected, rtol=RTOL, atol=1e-6)


@projecting
def test_points_of_any_shape_and_type(candidate, rng):
    run = candidate.fisheye.double_sphere.project
    xi, alpha = shape_parameters(rng)[rng.integers(4)]
    camera = camera_of(candidate, rng, xi, alpha)
    whole = rng.integers((-20, -20, 40), (20, 20, 90), (2, 3, 4, 3))
    expected = two_spheres(camera, whole.astype(float))
    for given in (whole, whole.tolist(), whole.astype(np.float32), whole.astype(np.int16) * np.int16(300)):
        pixels, valid = run(camera, given)
        assert_equivalent(pixels, expected, rtol=RTOL, atol=1e-6, check_dtype=True)
        assert_equivalent(valid, np.ones((2, 3, 4), dtype=bool), check_dtype=True)
    pixels, valid = run(camera, whole[0, 0, 0].tolist())
    assert_equivalent(pixels, expected[0, 0, 0], rtol=RTOL, atol=1e-6)
    assert np.shape(valid) == ()
    assert bool(valid)
    pixels, valid = run(camera, np.zeros((2, 0, 3)))
    assert_equivalent(pixels, np.zeros((2, 0, 2)), check_dtype=True)
    assert_equivalent(valid, np.zeros((2, 0), dtype=bool), check_dtype=True)
    for bad in (np.ones((3, 2)), np.ones((3, 4)), np.ones(1), 1.0):
        with pytest.raises(ValueError):  # noqa: PT011
            run(camera, bad)


# jacobian


@deriving
def test_jacobian_is_the_derivative_of_the_construction(candidate, rng):
    """By complex steps, which are exact."""
    for xi, alpha in shape_parameters(rng):
        camera, points = camera_of(candidate, rng, xi, alpha), seen(rng, xi, alpha)
        points[0] = [0.0, 0.0, rng.uniform(0.5, 2.0)]  # on the optical axis
        points[1] = [0.0, rng.uniform(-0.5, 0.5), 1.0]
        found, valid = candidate.fisheye.double_sphere.jacobian(camera, points)
        columns = [two_spheres(camera, points + 1e-30j * step).imag / 1e-30 for step in np.eye(3)]
        assert_equivalent(found, np.stack(columns, axis=-1), rtol=RTOL, atol=1e-7, check_dtype=True)
        assert_equivalent(valid, np.ones(12, dtype=bool), check_dtype=True)


@deriving
def test_jacobian_is_valid_where_the_pixel_is(candidate, reference, rng):
    for xi, alpha in shape_parameters(rng):
        camera = camera_of(candidate, rng, xi, alpha)
        points = rng.normal(size=(3, 8, 3))
        points[0, :3] = [[0.0, 0.0, 0.0], [np.nan, 0.0, 1.0], [0.0, np.inf, 1.0]]
        points[1, :2] = directions(rng, np.array([limit_angle(xi, alpha) - 1e-4, np.pi]))
        _, expected = reference.fisheye.double_sphere.project(mirrored(reference, camera), points)
        found, valid = candidate.fisheye.double_sphere.jacobian(camera, points)
        assert_equivalent(valid, expected)
        np.testing.assert_array_equal(np.isfinite(found), np.broadcast_to(valid[..., None, None], (3, 8, 2, 3)))


@deriving
def test_jacobian_falls_with_the_distance(candidate, rng):
    for xi, alpha in shape_parameters(rng):
        camera, points = camera_of(candidate, rng, xi, alpha), seen(rng, xi, alpha, 5)
        points /= np.abs(points).max(axis=1, keepdims=True)
        base, _ = candidate.fisheye.double_sphere.jacobian(camera, points)
        np.testing.assert_allclose(base @ points[..., None], np.zeros((5, 2, 1)), atol=1e-6)
        mixed = rng.permutation([1e-200, 1e-170, 1.0, 1e170, 1e200])[:, None]
        for scale in (1e-200, 1e-4, 1e170, 1e200, mixed):
            found, valid = candidate.fisheye.double_sphere.jacobian(camera, points * scale)
            assert valid.all()
            np.testing.assert_allclose(found * np.expand_dims(scale, -1), base, rtol=RTOL, atol=1e-7)


@deriving
def test_jacobian_of_any_shape_and_type(candidate, reference, rng):
    run = candidate.fisheye.double_sphere.jacobian
    xi, alpha = shape_parameters(rng)[rng.integers(4)]
    camera = camera_of(candidate, rng, xi, alpha)
    whole = rng.integers((-20, -20, 40), (20, 20, 90), (2, 3, 3))
    expected, _ = reference.fisheye.double_sphere.jacobian(mirrored(reference, camera), whole)
    for given in (whole.tolist(), whole.astype(np.float32), whole.astype(np.int16)):
        assert_equivalent(run(camera, given)[0], expected, rtol=RTOL, atol=1e-7, check_dtype=True)
    found, valid = run(camera, whole[0, 0].tolist())
    assert_equivalent(found, expected[0, 0], rtol=RTOL, atol=1e-7)
    assert np.shape(valid) == ()
    assert_equivalent(run(camera, np.zeros((0, 3)))[0], np.zeros((0, 2, 3)), check_dtype=True)
    for bad in (np.ones((3, 2)), 1.0):
        with pytest.raises(ValueError):  # noqa: PT011
            run(camera, bad)


@deriving
def test_covariances_are_those_of_the_authors(candidate, reference, rng):
    xi, alpha = shape_parameters(rng)[rng.integers(6)]
    camera, points = camera_of(candidate, rng, xi, alpha), seen(rng, xi, alpha, 6)
    root = rng.normal(size=(6, 3, 3))
    covariance = root @ np.swapaxes(root, 1, 2)
    found = candidate.fisheye.rectify.pixel_covariance(camera, points, covariance)
    expected = reference.fisheye.rectify.pixel_covariance(mirrored(reference, camera), points, covariance)
    assert_equivalent(found, expected, rtol=RTOL, atol=1e-6 * np.abs(expected).max())


# unproject


@unprojecting
def test_rays_are_the_directions_of_the_points(candidate, rng):
    for xi, alpha in [*shape_parameters(rng), (0.3, 0.0), (0.0, 0.0), (-0.3, 1.0), (0.4, 1.0)]:
        camera, points = camera_of(candidate, rng, xi, alpha), seen(rng, xi, alpha)
        rays, valid = candidate.fisheye.double_sphere.unproject(camera, two_spheres(camera, points))
        assert_equivalent(valid, np.ones(12, dtype=bool), check_dtype=True)
        expected = points / np.linalg.norm(points, axis=1, keepdims=True)
        assert_equivalent(rays, expected, rtol=RTOL, atol=1e-8, check_dtype=True)


@unprojecting
def test_only_large_alpha_limits_the_pixels(candidate, rng):
    run = candidate.fisheye.double_sphere.unproject
    for xi, alpha in [*shape_parameters(rng), (rng.uniform(-0.5, 0.5), 1.0), (0.2, 0.0)]:
        camera = camera_of(candidate, rng, xi, alpha)
        edge = 1.0 / np.sqrt(2.0 * alpha - 1.0) if alpha > 0.5 else 1e4
        radii = edge * np.array([0.0, 0.6, 1.0 - 1e-7, 1.0 + 1e-7, 3.0, 50.0])
        turn = rng.uniform(0.0, 2.0 * np.pi, 6)
        plane = radii[:, None] * np.stack([np.cos(turn), np.sin(turn)], axis=1)
        pixels = plane * np.array([camera.fx, camera.fy]) + np.array([camera.cx, camera.cy])
        rays, valid = run(camera, pixels)
        np.testing.assert_array_equal(valid, np.arange(6) < (3 if alpha > 0.5 else 6))
        np.testing.assert_array_equal(np.isfinite(rays), np.stack([valid] * 3, axis=-1))
        np.testing.assert_allclose(np.linalg.norm(rays[valid], axis=1), 1.0, rtol=RTOL)
        if 0.0 < alpha < 0.5:  # far pixels approach the limit
            last = np.arctan2(np.hypot(rays[5, 0], rays[5, 1]), rays[5, 2])
            np.testing.assert_allclose(last, limit_angle(xi, alpha), atol=1e-4)


@unprojecting
def test_the_edge_is_valid(candidate, rng):
    """With numbers for which (7) holds exactly: r = 2 at alpha = 5/8, and r = 1 at alpha = 1, where mz is 0."""
    xi = rng.choice([-0.5, -0.25, 0.25, 0.5])
    for alpha, radius in ((0.625, 2.0), (1.0, 1.0)):
        fx, fy, cx, cy = (2.0 ** rng.integers(5, 9, 4)).tolist()
        camera = candidate.fisheye.camera.Camera(fx=fx, fy=fy, cx=cx, cy=cy, xi=float(xi), alpha=alpha)
        plane = radius * np.array([[1.0, 0.0], [0.0, -1.0], [0.0, 1.0], [-1.0, 0.0], [0.0, 0.0]])
        beyond = radius * np.array([[1.0 + 2.0**-20, 0.0], [1.0, 2.0**-9]])
        pixels = np.concatenate([plane, beyond]) * np.array([fx, fy]) + np.array([cx, cy])
        rays, valid = candidate.fisheye.double_sphere.unproject(camera, pixels)
        np.testing.assert_array_equal(valid, [True] * 5 + [False] * 2)
        angle = limit_angle(xi, alpha)
        expected = np.concatenate([plane[:4] / radius * np.sin(angle), np.full((4, 1), np.cos(angle))], axis=1)
        np.testing.assert_allclose(rays[:4], expected, rtol=1e-7, atol=1e-7)
        np.testing.assert_allclose(rays[4], [0.0, 0.0, 1.0], atol=1e-9)


@unprojecting
def test_pixels_of_any_shape_and_type(candidate, reference, rng):
    run = candidate.fisheye.double_sphere.unproject
    for xi, alpha in shape_parameters(rng):
        camera = camera_of(candidate, rng, xi, alpha)
        whole = rng.integers((200, -40), (300, 40), (2, 2, 3, 2))
        expected, _ = reference.fisheye.double_sphere.unproject(mirrored(reference, camera), whole)
        for given in (whole.tolist(), whole.astype(np.float32), whole.astype(np.int16)):
            rays, valid = run(camera, given)
            assert_equivalent(rays, expected, rtol=RTOL, atol=1e-9, check_dtype=True)
            assert_equivalent(valid, np.ones((2, 2, 3), dtype=bool), check_dtype=True)
        pixels = whole[0, 0].astype(float)
        pixels[0, 1], pixels[2, 0] = np.nan, rng.choice([np.inf, -np.inf])
        rays, valid = run(camera, pixels)
        np.testing.assert_array_equal(valid, [False, True, False])
        np.testing.assert_allclose(rays[1], expected[0, 0, 1], rtol=RTOL, atol=1e-9)
        assert np.isnan(rays[[0, 2]]).all()
    rays, valid = run(camera, whole[0, 0, 0].tolist())
    assert_equivalent(rays, expected[0, 0, 0], rtol=RTOL, atol=1e-9)
    assert np.shape(valid) == ()
    assert_equivalent(run(camera, np.zeros((0, 2)))[0], np.zeros((0, 3)), check_dtype=True)
    for bad in (np.ones((3, 3)), np.ones(1), 1.0):
        with pytest.raises(ValueError):  # noqa: PT011
            run(camera, bad)


@unprojecting
def test_the_lookup_is_that_of_the_authors(candidate, reference, rng):
    """A small image of a pinhole camera, and one of a fisheye camera that is turned by about a right angle."""
    angle = rng.uniform(1.2, 1.6)
    turned = np.array([[np.cos(angle), 0.0, np.sin(angle)], [0.0, 1.0, 0.0], [-np.sin(angle), 0.0, np.cos(angle)]])
    xi, alpha = rng.uniform(-0.3, 0.3), rng.uniform(0.55, 0.7)
    results = []
    for side in (candidate, reference):
        camera = side.fisheye.camera.Camera
        fisheye = camera(12.0, 13.0, 15.5, 11.0, xi, alpha, 32, 24)
        plain = camera(9.0, 9.0, 7.5, 5.5, 0.0, 0.0, 16, 12)
        results.append(
            [
                *side.fisheye.rectify.lookup(fisheye, plain, turned),
                *side.fisheye.rectify.lookup(plain, fisheye, turned.T),
                side.fisheye.rectify.field_of_view(fisheye),
            ]
        )
    assert results[1][1].any()
    assert_equivalent(results[0], results[1], rtol=1e-7, atol=1e-6)


# arguments


@projecting
def test_points_are_not_modified(candidate, rng):
    camera = camera_of(candidate, rng, 0.2, 0.6)
    points = np.concatenate(
        [seen(rng, 0.2, 0.6, 4), np.zeros((1, 3)), np.array([[0.1, 0.0, -1.0]]), np.full((1, 3), np.nan)]
    )
    _, valid = assert_unmodified(candidate.fisheye.double_sphere.project, camera, points)
    assert valid.sum() == 4


@deriving
def test_points_of_derivatives_are_not_modified(candidate, rng):
    camera = camera_of(candidate, rng, 0.2, 0.6)
    points = np.concatenate(
        [seen(rng, 0.2, 0.6, 4), np.zeros((1, 3)), np.array([[0.1, 0.0, -1.0]]), np.full((1, 3), np.nan)]
    )
    _, valid = assert_unmodified(candidate.fisheye.double_sphere.jacobian, camera, points)
    assert valid.sum() == 4


@unprojecting
def test_given_pixels_are_not_modified(candidate, rng):
    camera = camera_of(candidate, rng, 0.2, 0.6)
    pixels = np.array([[camera.cx, camera.cy], [1e6, 0.0], [np.nan, 0.0], [camera.cx + 20.0, camera.cy]])
    _, valid = assert_unmodified(candidate.fisheye.double_sphere.unproject, camera, pixels)
    assert valid.sum() == 2


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
