"""Hidden tests of the task nerf-rendering: from samples to pictures."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

quadrature = pytest.mark.interface("nerf.render.composite")
passes = pytest.mark.interface("nerf.render.render_rays")

PARTS = ("color", "depth", "opacity", "weights", "samples")


def parts(rendering):
    return {name: getattr(rendering, name) for name in PARTS}


def samples(rng, rays=5, count=8):
    """densities (some negative), colors, depths, directions (not of unit length)."""
    densities = rng.normal(0.5, 1.0, (rays, count))
    densities[:, -1] = -0.1
    depths = np.cumsum(rng.uniform(0.05, 0.5, (rays, count)), axis=1)
    return densities, rng.uniform(size=(rays, count, 3)), depths, rng.normal(size=(rays, 3)) * 2.0


def scene(rng):
    """The arguments of a field of soft balls, and those of rays that pass through it."""
    balls = rng.uniform(-1.0, 1.0, (3, 3)), rng.uniform(0.2, 0.6, 3), rng.uniform(1.0, 9.0, 3), rng.uniform(size=(3, 3))
    origins = rng.normal(size=(7, 3))
    origins *= 4.0 / np.linalg.norm(origins, axis=1, keepdims=True)
    directions = (rng.uniform(-0.5, 0.5, (7, 3)) - origins) * rng.uniform(0.2, 0.7, (7, 1))
    near = rng.uniform(0.3, 0.6, 7)
    return balls, (origins, directions, near, near + rng.uniform(4.0, 9.0, 7))


# composite


@quadrature
@pytest.mark.parametrize("background", [None, (0.2, 0.9, 0.4)])
def test_composite_is_that_of_the_authors(candidate, reference, rng, background):
    given = samples(rng)
    found = parts(assert_unmodified(candidate.nerf.render.composite, *given, background=background))
    assert_equivalent(found, parts(reference.nerf.render.composite(*given, background=background)), rtol=1e-6)


@quadrature
def test_even_fog_is_beer_and_lambert(candidate, rng):
    """Constant density: transmittance falls exponentially with the distance, which is depth times |d|."""
    density, length, color = rng.uniform(0.1, 0.8), rng.uniform(0.5, 2.5), rng.uniform(size=3)
    directions = rng.normal(size=(1, 3))
    directions *= length / np.linalg.norm(directions)
    depths = np.sort(rng.uniform(1.0, 5.0, 20))[None]
    densities = np.full((1, 20), density)
    densities[0, -1] = 0.0
    found = candidate.nerf.render.composite(densities, np.tile(color, (1, 20, 1)), depths, directions, (1.0, 1.0, 1.0))
    through = np.exp(-density * length * (depths[0] - depths[0, 0]))
    np.testing.assert_allclose(found.weights[0, :-1], through[:-1] - through[1:], rtol=1e-6)
    np.testing.assert_allclose(found.opacity, [1.0 - through[-1]], rtol=1e-6)
    np.testing.assert_allclose(found.color[0], color * (1.0 - through[-1]) + through[-1], rtol=1e-6)
    np.testing.assert_allclose(found.depth, (found.weights * depths).sum(axis=1), rtol=1e-6)


@quadrature
def test_a_wall_hides_what_is_behind_it(candidate, rng):
    """Densities up to 1e300: finite, all weight on the wall, also when the wall is the last sample."""
    _, colors, depths, directions = samples(rng, rays=8, count=8)
    densities = np.zeros((8, 8))
    densities[np.arange(8), np.arange(8)] = 10.0 ** rng.uniform(250, 300, 8)
    densities[0, 3:] = 1e300
    densities[3, 5] = -1e300
    found = candidate.nerf.render.composite(densities, colors, depths, directions, (0.5, 0.5, 0.5))
    np.testing.assert_allclose(found.weights, np.eye(8), atol=1e-12)
    np.testing.assert_allclose(found.color, colors[np.arange(8), np.arange(8)], rtol=1e-6)
    np.testing.assert_allclose(found.depth, depths[np.arange(8), np.arange(8)], rtol=1e-6)


@quadrature
def test_thin_air_keeps_its_digits(candidate, rng):
    _, colors, depths, directions = samples(rng, rays=3, count=6)
    densities = 10.0 ** rng.uniform(-20.0, -16.0, (3, 6))
    densities[1, 2] = -1.0
    densities[:, -1] = [0.0, 1e-25, 1e3]
    found = candidate.nerf.render.composite(densities, colors, depths, directions)
    lengths = np.linalg.norm(directions, axis=1)[:, None]
    expected = np.maximum(densities[:, :-1], 0.0) * np.diff(depths, axis=1) * lengths
    np.testing.assert_allclose(found.weights[:, :-1], expected, rtol=1e-6)
    np.testing.assert_allclose(found.weights[:, -1], [0.0, 1e-15 * lengths[1, 0], 1.0], rtol=1e-6)
    np.testing.assert_allclose(found.opacity[0], expected[0].sum(), rtol=1e-6)
    np.testing.assert_allclose(found.color[2], colors[2, -1], rtol=1e-6)


@quadrature
def test_matter_of_every_thickness_keeps_its_digits(candidate, rng):
    """Between thin air and thick matter: neither formula for an end is right everywhere."""
    _, colors, depths, directions = samples(rng, rays=60, count=3)
    densities = np.zeros((60, 3))
    lengths = np.diff(depths, axis=1)[:, 0] * np.linalg.norm(directions, axis=1)
    thickness = 10.0 ** rng.uniform(-20.0, 1.5, 60)
    densities[:, 0] = thickness / lengths
    found = candidate.nerf.render.composite(densities, colors, depths, directions)
    np.testing.assert_allclose(found.weights[:, 0], -np.expm1(-thickness), rtol=1e-6)
    np.testing.assert_allclose(found.opacity, -np.expm1(-thickness), rtol=1e-6)


@quadrature
def test_what_is_behind_thick_matter_keeps_its_digits(candidate, rng):
    """An exponential of -210 is right to about 210 times the rounding of float64."""
    _, colors, depths, directions = samples(rng, rays=3, count=7)
    thickness = rng.uniform(28.0, 35.0, (3, 7))
    thickness[:, -1] = 0.0
    lengths = np.linalg.norm(directions, axis=1)[:, None]
    intervals = np.concatenate([np.diff(depths, axis=1), np.ones((3, 1))], axis=1)
    found = candidate.nerf.render.composite(thickness / (intervals * lengths), colors, depths, directions)
    before = np.cumsum(thickness, axis=1)[:, :-2]
    np.testing.assert_allclose(
        found.weights[:, 1:-1], np.exp(-before) - np.exp(-before - thickness[:, 1:-1]), rtol=1e-6
    )


@quadrature
def test_results_are_of_double_precision_whatever_comes_in(candidate, rng):
    densities, colors, depths, directions = samples(rng)
    single = depths.astype(np.float32)
    found = parts(candidate.nerf.render.composite(densities, colors, single, directions))
    assert {name: values.dtype for name, values in found.items()} == dict.fromkeys(PARTS, np.float64)
    np.testing.assert_array_equal(found["samples"], single)
    given = (each.astype(np.float32) for each in (densities, colors, depths, directions))
    found = parts(candidate.nerf.render.composite(*given))
    assert {name: values.dtype for name, values in found.items()} == dict.fromkeys(PARTS, np.float64)


@quadrature
def test_single_samples_empty_space_and_no_rays(candidate, rng):
    run = candidate.nerf.render.composite
    _, colors, depths, directions = samples(rng, rays=2, count=1)
    found = run(np.array([[0.7], [-0.7]]), colors, depths, directions, (0.1, 0.2, 0.3))
    np.testing.assert_allclose(found.weights, [[1.0], [0.0]], atol=1e-12)
    np.testing.assert_allclose(found.color, [colors[0, 0], [0.1, 0.2, 0.3]], rtol=1e-6)
    np.testing.assert_allclose(found.depth, [depths[0, 0], 0.0], rtol=1e-6)
    np.testing.assert_allclose(found.samples, depths)
    none = run(np.zeros((0, 4)), np.zeros((0, 4, 3)), np.zeros((0, 4)), np.zeros((0, 3)), (1.0, 1.0, 1.0))
    assert [none.color.shape, none.depth.shape, none.weights.shape] == [(0, 3), (0,), (0, 4)]


# render_rays


@passes
@pytest.mark.parametrize("jittered", [False, True])
def test_passes_are_those_of_the_authors(candidate, reference, rng, jittered):
    balls, lines = scene(rng)
    jitter, uniforms = (rng.uniform(size=(7, 9)), rng.uniform(size=(7, 12))) if jittered else (None, None)
    found = []
    for side in (candidate, reference):
        config = side.nerf.settings.RenderConfig(
            coarse=9,
            fine=12,
            spacing="disparity" if jittered else "linear",
            background=(0.1, 0.8, 0.3) if jittered else None,
            chunk=3,
        )
        field = side.nerf.fields.Blobs(*balls)
        rays = side.nerf.rays.Rays(*lines)
        one, two = side.nerf.render.render_rays(field, field, rays, config, jitter=jitter, uniforms=uniforms)
        found.append([parts(one), parts(two)])
    assert_equivalent(found[0], found[1], rtol=1e-6, atol=1e-9)


@passes
def test_fields_are_asked_for_the_right_things(candidate, rng):
    """Both fields, chunk by chunk: unit directions, points on the rays, each ray once in a pass."""
    _, (origins, directions, near, far) = scene(rng)
    asked = {"coarse": [], "fine": []}

    def field(name):
        def answer(points, viewing):
            asked[name].append((np.array(points), np.array(viewing)))
            return np.full(points.shape, 0.5), np.abs(np.sin(points.sum(axis=-1)))

        return answer

    config = candidate.nerf.settings.RenderConfig(coarse=5, fine=4, chunk=3)
    rays = candidate.nerf.rays.Rays(origins, directions, near, far)
    one, two = candidate.nerf.render.render_rays(field("coarse"), field("fine"), rays, config)
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    for name, rendering, count in (("coarse", one, 5), ("fine", two, 9)):
        assert all(len(points) <= 3 and len(points) == len(viewing) for points, viewing in asked[name])
        points = np.concatenate([points for points, _ in asked[name]])
        viewing = np.concatenate([viewing for _, viewing in asked[name]])
        order = [int(np.argmin(np.abs(unit - row).sum(axis=1))) for row in viewing]
        assert sorted(order) == list(range(7))
        np.testing.assert_allclose(viewing, unit[order], rtol=1e-9)
        depths = rendering.samples
        assert depths.shape == (7, count)
        assert np.all(np.diff(depths, axis=1) >= 0.0)
        expected = origins[:, None] + depths[:, :, None] * directions[:, None]
        np.testing.assert_allclose(points, expected[order], rtol=1e-9, atol=1e-9)
    middles = (np.arange(5) + 0.5) / 5
    np.testing.assert_allclose(one.samples, near[:, None] + middles * (far - near)[:, None], rtol=1e-9)
    for row, coarse_row in zip(two.samples, one.samples, strict=True):
        assert all(np.isclose(row, depth).any() for depth in coarse_row)


@passes
def test_the_second_pass_looks_where_the_first_one_saw_something(candidate, rng):
    """A thin sheet: nearly all new samples lie within a coarse spacing of it; without a fine field the coarse one
    is asked again."""
    place = rng.uniform(3.0, 7.0)
    calls = []

    def sheet(points, viewing):
        calls.append(points.shape[:2])
        return np.broadcast_to(viewing[:, None, :] ** 2, points.shape), np.where(points[:, :, 2] > place, 50.0, 0.0)

    rays = candidate.nerf.rays.Rays(np.zeros((2, 3)), np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.0]]), [0.0, 0.0], [5, 10])
    config = candidate.nerf.settings.RenderConfig(coarse=20, fine=40)
    one, two = candidate.nerf.render.render_rays(sheet, None, rays, config)
    assert [sum(rays for rays, samples in calls if samples == each) for each in (20, 60)] == [2, 2]
    depth = place / np.array([2.0, 1.0])
    spacing = np.array([5.0, 10.0]) / 20
    near_sheet = np.abs(two.samples - depth[:, None]) < 1.5 * spacing[:, None]
    assert np.all(near_sheet.sum(axis=1) >= 38)
    np.testing.assert_allclose(two.opacity, [1.0, 1.0], rtol=1e-5)
    np.testing.assert_allclose(two.color, [[0.0, 0.0, 1.0]] * 2, atol=1e-5)
    assert np.all(np.abs(two.depth - depth) < spacing)
    assert np.all(np.abs(one.depth - depth) < 1.5 * spacing)


@passes
def test_one_pass_no_rays_and_bad_settings(candidate, rng):
    balls, lines = scene(rng)
    settings, run = candidate.nerf.settings.RenderConfig, candidate.nerf.render.render_rays
    calls = []

    def field(points, viewing):
        calls.append(viewing.shape)
        return np.full(points.shape, 0.25), np.full(points.shape[:2], 1e3)

    rays = candidate.nerf.rays.Rays(*lines)
    one, two = run(field, field, rays, settings(coarse=1, fine=0, chunk=5), uniforms=np.zeros((7, 3)))
    assert two is None
    assert sum(asked for asked, _ in calls) == 7
    assert max(asked for asked, _ in calls) <= 5
    before = len(calls)
    np.testing.assert_allclose(one.color, np.full((7, 3), 0.25), rtol=1e-6)
    one, two = run(field, None, rays, settings(coarse=3, fine=1, chunk=1))
    places = np.array([1 / 6, 1 / 2, 1 / 2, 5 / 6])
    np.testing.assert_allclose(two.samples, lines[2][:, None] + places * (lines[3] - lines[2])[:, None], rtol=1e-6)
    assert calls[before:] == [(1, 3)] * 14
    before = len(calls)
    none = candidate.nerf.rays.Rays(np.zeros((0, 3)), np.zeros((0, 3)), np.zeros(0), np.zeros(0))
    one, two = run(field, None, none, settings(coarse=4, fine=3))
    assert [one.color.shape, one.samples.shape, two.color.shape, two.weights.shape] == [(0, 3), (0, 4), (0, 3), (0, 7)]
    assert len(calls) == before
    blobs = candidate.nerf.fields.Blobs(*balls)
    for config, options in (
        (settings(coarse=2, fine=1), {}),
        (settings(coarse=4, fine=2, chunk=0), {}),
        (settings(coarse=4, fine=2, chunk=-1), {}),
        (settings(coarse=4, fine=2, spacing="log"), {}),
        (settings(coarse=4, fine=2), {"jitter": np.zeros((7, 3))}),
        (settings(coarse=4, fine=2), {"uniforms": np.zeros((7, 3))}),
        (settings(coarse=4, fine=2), {"uniforms": np.zeros((1, 2))}),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(blobs, None, rays, config, **options)


@passes
def test_a_picture_is_that_of_the_authors(candidate, reference, rng):
    balls, _ = scene(rng)
    turn = rng.uniform(0.0, 6.0)
    rotation = np.array([[np.cos(turn), 0, np.sin(turn)], [0, 1, 0], [-np.sin(turn), 0, np.cos(turn)]])
    pose = np.concatenate([rotation, rotation @ [[0.0], [0.1], [4.0]]], axis=1)
    seed = rng.integers(1000).item()
    pictures = []
    for side in (candidate, reference):
        rays = side.nerf.cameras.camera_rays(4, 5, 3.5, pose, 2.0, 6.5)
        config = side.nerf.settings.RenderConfig(coarse=8, fine=8, background=(1.0, 1.0, 1.0), chunk=6)
        field = side.nerf.fields.Blobs(*balls)
        pictures.append(side.nerf.image.render_image(field, None, rays, (4, 5), config, seed=seed))
    assert pictures[0].std() > 1e-3
    assert_equivalent(pictures[0], pictures[1], rtol=1e-6, atol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
