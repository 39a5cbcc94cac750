"""Hidden tests of the task nerf-rendering: where along a ray to look."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

first = pytest.mark.interface("nerf.sampling.stratified")
second = pytest.mark.interface("nerf.sampling.resample")


def bounds(rng, count):
    near = rng.uniform(0.5, 3.0, count)
    return near, near + rng.uniform(0.5, 20.0, count)


def histogram(rng, rays=5, bins=9):
    """Edges of unequal bins, and weights of very different size."""
    edges = np.cumsum(rng.uniform(0.1, 2.0, (rays, bins + 1)), axis=1) - 3.0
    return edges, rng.uniform(0.0, 1.0, (rays, bins)) ** 4


@first
@pytest.mark.parametrize("spacing", ["linear", "disparity"])
def test_stratified_is_that_of_the_authors(candidate, reference, rng, spacing):
    near, far = bounds(rng, 6)
    jitter = rng.uniform(size=(6, 11))
    found = assert_unmodified(candidate.nerf.sampling.stratified, near, far, 11, jitter, spacing)
    assert_equivalent(found, reference.nerf.sampling.stratified(near, far, 11, jitter, spacing), rtol=1e-6)


@first
def test_every_bin_holds_its_sample(candidate, rng):
    near, far = bounds(rng, 4)
    ends = near[:, None] + np.arange(9) / 8 * (far - near)[:, None]
    for value in (0.0, rng.uniform(), np.nextafter(1.0, 0.0)):
        found = candidate.nerf.sampling.stratified(near, far, 8, np.full((4, 8), value))
        np.testing.assert_allclose(found, ends[:, :-1] + value * np.diff(ends, axis=1), rtol=1e-9)
    middle = candidate.nerf.sampling.stratified(near, far, 8)
    np.testing.assert_allclose(middle, 0.5 * (ends[:, 1:] + ends[:, :-1]), rtol=1e-9)


@first
def test_disparity_is_even_in_the_inverse(candidate, rng):
    near, far = bounds(rng, 3)
    far = far * 1e6
    found = candidate.nerf.sampling.stratified(near, far, 7, spacing="disparity")
    assert np.all(np.diff(found, axis=1) > 0.0)
    share = (np.arange(7) + 0.5) / 7
    np.testing.assert_allclose(1.0 / found, (1.0 - share) / near[:, None] + share / far[:, None], rtol=1e-6)


@first
def test_bad_bounds_and_shapes_are_refused(candidate, rng):
    run = candidate.nerf.sampling.stratified
    near, far = bounds(rng, 3)
    single = run(-near, far, 1)
    np.testing.assert_allclose(single, 0.5 * (far - near)[:, None], rtol=1e-9, atol=1e-12)
    assert run(np.zeros(0), np.zeros(0), 5).shape == (0, 5)
    close = near * (1.0 + 1e-7)
    np.testing.assert_allclose(run(near, close, 1), 0.5 * (near + close)[:, None], rtol=1e-9)
    crossed = far.copy()
    crossed[1] = near[1]
    for arguments, options in (
        ((near, far, 0), {}),
        ((near, crossed, 4), {}),
        ((near, far, 4), {"spacing": "log"}),
        ((near, far, 4), {"jitter": rng.uniform(size=(3, 5))}),
        ((near, far, 4), {"jitter": rng.uniform(size=(1, 4))}),
        ((near * [1, 0, 1], far, 4), {"spacing": "disparity"}),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*arguments, **options)


@second
@pytest.mark.parametrize("floor", [None, 0.0, 0.3])
def test_resample_is_that_of_the_authors(candidate, reference, rng, floor):
    edges, weights = histogram(rng)
    uniforms = rng.uniform(size=(5, 20))
    options = {} if floor is None else {"floor": floor}
    found = assert_unmodified(candidate.nerf.sampling.resample, edges, weights, uniforms, **options)
    expected = reference.nerf.sampling.resample(edges, weights, uniforms, **options)
    assert_equivalent(found, expected, rtol=1e-6, atol=1e-9)


@second
def test_bins_are_hit_by_their_weight_and_not_by_their_width(candidate, rng):
    edges, weights = histogram(rng, rays=3, bins=6)
    weights[1] *= 1e4
    uniforms = np.tile(rng.permutation((np.arange(2000) + 0.5) / 2000), (3, 1))
    found = candidate.nerf.sampling.resample(edges, weights, uniforms, floor=0.05)
    for row in range(3):
        counts, _ = np.histogram(found[row], bins=edges[row])
        expected = weights[row] + 0.05
        np.testing.assert_allclose(counts / 2000, expected / expected.sum(), atol=0.0011)
        assert np.all(np.diff(found[row][np.argsort(uniforms[row])]) > 0.0)


@second
def test_an_empty_row_is_sampled_evenly(candidate, rng):
    """By the floor, or without one by rule; another row is not disturbed."""
    edges = np.array([[0.0, 1.0, 3.0, 7.0, 15.0]] * 2) + rng.uniform(-2.0, 2.0, (2, 1))
    weights = np.array([[0.0] * 4, [0.0, 0.0, 5.0, 0.0]])
    uniforms = np.array([[0.125, 0.5, 0.625, 0.9375]] * 2)
    for floor, rows in ((1e-5, 1), (0.0, 2)):
        found = candidate.nerf.sampling.resample(edges[:rows], weights[:rows], uniforms[:rows], floor=floor)
        np.testing.assert_allclose(found[0], edges[0, 0] + np.array([0.5, 3.0, 5.0, 13.0]), rtol=1e-6)
    np.testing.assert_allclose(found[1], edges[1, 0] + 3.0 + 4.0 * uniforms[1], rtol=1e-6)
    little = candidate.nerf.sampling.resample(edges, 1e-12 * weights, uniforms, floor=0.0)  # is not nothing
    np.testing.assert_allclose(little, found, rtol=1e-6)


@second
def test_boundaries_belong_to_the_bin_on_the_right(candidate, rng):
    edges = np.arange(6.0)[None] * rng.uniform(0.5, 2.0)
    step = edges[0, 1]
    weights = np.array([[0.0, 2.0, 0.0, 0.0, 2.0]]) * 2.0 ** rng.integers(-3, 4)
    uniforms = np.array([[0.75, 0.5, 0.25, 0.0, np.nextafter(0.5, 0.0)]])
    found = candidate.nerf.sampling.resample(edges, weights, uniforms, floor=0.0)
    np.testing.assert_allclose(found, [[4.5 * step, 4.0 * step, 1.5 * step, step, 2.0 * step]], rtol=1e-9)


@second
def test_empty_bins_at_both_ends_are_never_chosen(candidate, rng):
    """The smallest and the largest u. With so many rows, rounding leaves C below the largest u on many of them."""
    for before, after in ((1, 0), (0, 1), (2, 3)):
        edges, weights = histogram(rng, rays=200, bins=60)
        weights += 0.01
        weights[:, :before] = 0.0
        weights[:, 60 - after :] = 0.0
        uniforms = np.tile([np.nextafter(1.0, 0.0), 0.0], (200, 1))
        found = candidate.nerf.sampling.resample(edges, weights, uniforms, floor=0.0)
        left, right = edges[:, before], edges[:, 60 - after]
        assert np.all((found >= left[:, None]) & (found <= right[:, None]))
        np.testing.assert_allclose(found, np.stack([right, left], axis=1), rtol=1e-6, atol=1e-9)
    whole = np.array([[1.0] * 10 + [0.0]])  # ten tenths add up to less than this u
    found = candidate.nerf.sampling.resample(np.arange(12.0)[None], whole, np.array([[1.0 - 2.0**-53]]), floor=0.0)
    np.testing.assert_allclose(found, [[10.0]], rtol=1e-9)


@second
def test_samples_stay_inside_and_shapes_must_match(candidate, rng):
    run = candidate.nerf.sampling.resample
    edges, weights = histogram(rng, rays=40, bins=50)
    found = run(edges, weights, np.full((40, 2), np.nextafter(1.0, 0.0)))
    assert found.shape == (40, 2)
    assert np.all(found <= edges[:, -1:])
    np.testing.assert_allclose(found, np.repeat(edges[:, -1:], 2, axis=1), rtol=1e-6)
    single = run(edges[:, :2], weights[:, :1], np.full((40, 1), 0.25))
    np.testing.assert_allclose(single, 0.75 * edges[:, :1] + 0.25 * edges[:, 1:2], rtol=1e-6, atol=1e-9)
    assert run(np.zeros((0, 4)), np.zeros((0, 3)), np.zeros((0, 7))).shape == (0, 7)
    uniforms = rng.uniform(size=(40, 2))
    for bad in (
        (edges[:, :-1], weights, uniforms),
        (edges, weights[:-1], uniforms),
        (edges, weights, uniforms[:-1]),
        (edges, weights, uniforms[:1]),  # one row would be spread over all rays
        (edges, weights, uniforms[:, 0]),
        (edges, weights, uniforms[None]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
