"""Hidden tests of the task gaussian-relocation."""

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

splitting = pytest.mark.interface("splats.mcmc.split")
relocating = pytest.mark.interface("splats.mcmc.relocate")
perturbing = pytest.mark.interface("splats.mcmc.perturb")
penalising = pytest.mark.interface("splats.mcmc.penalty")

FIELDS = ("positions", "logits", "log_scales", "quaternions")
DEAD, LIMITS, MOST = 0.005, (0.005, 1.0 - 1e-7), 51
# A relative error of 1e-6 is one of 1e-6 in a logarithm, and of 1e-6 / (1 - o) in a logit; o is below 0.93 or clipped.
CLOSE = {"rtol": 1e-6, "atol": 2e-5}


def drawn(rng, count, logits=None):
    """Parameters of a scene; half of the Gaussians are dead unless there are `logits`."""
    if logits is None:
        logits = np.where(rng.permutation(count) % 2, rng.uniform(-12.0, -6.0, count), rng.uniform(-4.0, 5.0, count))
    return {
        "positions": rng.normal(size=(count, 3)),
        "logits": np.array(logits, dtype=np.float64),
        "log_scales": rng.uniform(-3.0, 0.0, (count, 3)),
        "quaternions": rng.normal(size=(count, 4)),
    }


def fields(scene):
    return {name: getattr(scene, name) for name in FIELDS}


def logit(p):
    return np.log(p) - np.log1p(-p)


def exact_factor(opacity, copies):
    """Equation (2) in 60 digits."""
    with localcontext() as context:
        context.prec = 60
        old = Decimal(opacity)
        left = 1 - old
        new = 1 - ((left.ln() / copies).exp() if left else left)
        terms = [(-1) ** k * math.comb(copies, k + 1) * new ** (k + 1) / Decimal(k + 1).sqrt() for k in range(copies)]
        return float(new), float(old / sum(terms))


# split


@splitting
def test_split_is_the_double_sum(candidate, rng):
    opacities, copies = rng.uniform(0.02, 0.95, (4, 5)), rng.integers(1, 9, 5)
    new, factors = candidate.splats.mcmc.split(opacities, copies)
    expected = 1.0 - (1.0 - opacities) ** (1.0 / copies)
    sums = np.array(
        [
            [
                sum(
                    math.comb(i - 1, k) * (-1) ** k * share ** (k + 1) / math.sqrt(k + 1)
                    for i in range(1, int(count) + 1)
                    for k in range(i)
                )
                for share, count in zip(row, copies, strict=True)
            ]
            for row in expected
        ]
    )
    assert_equivalent(new, expected, rtol=1e-6, check_dtype=True)
    assert_equivalent(factors, opacities / sums, rtol=1e-6, check_dtype=True)


@splitting
def test_split_of_opaque_gaussians(candidate, rng):
    """Where the terms of the sum are much larger than the sum."""
    opacities = np.array([1.0, 1.0 - 10.0 ** -rng.uniform(8.0, 14.0), 1.0 - 10.0 ** -rng.uniform(3.0, 7.0)])
    copies = np.array([[int(rng.integers(15, 40))], [MOST]])
    new, factors = candidate.splats.mcmc.split(opacities, copies)
    expected = np.array([[exact_factor(float(o), int(n)) for o in opacities] for n in copies[:, 0]])
    np.testing.assert_allclose(new, expected[..., 0], rtol=1e-6)
    np.testing.assert_allclose(factors, expected[..., 1], rtol=1e-6)


@splitting
def test_split_of_faint_gaussians(candidate, rng):
    """The first order: the copies share the opacity, and the shape stays."""
    opacities = np.array([1e-200, 10.0 ** -rng.uniform(20.0, 100.0), 10.0 ** -rng.uniform(9.0, 15.0), 0.0])
    copies = rng.integers(2, MOST, (3, 1))
    new, factors = candidate.splats.mcmc.split(opacities, copies)
    np.testing.assert_allclose(new, opacities / copies, rtol=1e-6)
    np.testing.assert_allclose(factors, np.ones((3, 4)), rtol=1e-6)


@splitting
def test_split_of_every_opacity(candidate, rng):
    """Opacities of any size, and as close to 1, for any number of copies: no part of the range is special."""
    sizes = 10.0 ** rng.uniform([[-16.0], [-15.0]], 0.0, (2, 60))
    opacities, copies = np.concatenate([sizes[0], 1.0 - sizes[1]]), rng.integers(1, MOST, 120, endpoint=True)
    expected = [exact_factor(*pair) for pair in zip(opacities.tolist(), copies.tolist(), strict=True)]
    found = candidate.splats.mcmc.split(opacities, copies)
    np.testing.assert_allclose(np.stack(found, axis=1), expected, rtol=1e-6)


@splitting
def test_one_copy_and_too_many(candidate, rng):
    run = candidate.splats.mcmc.split
    opacities = np.append(rng.uniform(0.1, 0.9, 4), [0.0, 1.0])
    new, factors = run(opacities, 1)
    np.testing.assert_allclose(new, opacities, rtol=1e-6)
    np.testing.assert_allclose(factors, np.ones(6), rtol=1e-6)
    most, one_less = run(opacities, MOST), run(opacities, MOST - 1)
    for count in (MOST + 1, 10**6):
        assert_equivalent(run(opacities, count), most, rtol=1e-6)
    assert np.all(one_less[0][:4] > 1.01 * most[0][:4])


@splitting
def test_split_of_other_types_and_shapes(candidate, rng):
    run = candidate.splats.mcmc.split
    opacities, copies = rng.uniform(0.1, 0.9, 3).astype(np.float32), rng.integers(1, 9, (2, 1)).astype(np.uint8)
    expected = run(opacities.astype(np.float64), copies.astype(np.int64))
    assert expected[0].shape == (2, 3)
    assert_equivalent(run(opacities, copies), expected, rtol=1e-12, check_dtype=True)
    assert_equivalent(run(opacities.tolist(), copies.tolist()), expected, rtol=1e-12, check_dtype=True)
    assert_equivalent(run([0, 1], [1]), (np.array([0.0, 1.0]), np.ones(2)), rtol=1e-6, check_dtype=True)
    assert run(np.zeros((0, 2)), 3)[1].shape == (0, 2)
    for opacity, count in ((rng.uniform(0.1, 0.9), 4), (0.0, 3), (1.0, 2)):  # two numbers broadcast to no axes
        single = run(opacity, count)
        assert [np.shape(each) for each in single] == [(), ()]
        np.testing.assert_allclose(single, exact_factor(opacity, count) if opacity else (0.0, 1.0), rtol=1e-6)
    assert_unmodified(run, opacities.astype(np.float64), MOST + copies.astype(np.int64))


@splitting
def test_split_refuses_what_is_no_opacity_and_no_number(candidate, rng):
    run = candidate.splats.mcmc.split
    good = rng.uniform(0.1, 0.9, 3)
    for bad in (-1e-9, 1.0 + 1e-9, np.nan):
        with pytest.raises(ValueError):  # noqa: PT011
            run(np.append(good, bad), 2)
    for bad in (0, -1):
        with pytest.raises(ValueError):  # noqa: PT011
            run(good, [2, bad, 3])
    assert run(good, [2, 1, 3])[0].shape == (3,)


# relocate


@relocating
def test_relocation_is_that_of_the_authors(candidate, reference, rng):
    given, uniforms = drawn(rng, 30), rng.uniform(size=30)
    found = []
    for side in (candidate, reference):
        scene = side.splats.scene.Scene(**given)
        moved, sources = assert_unmodified(side.splats.mcmc.relocate, scene, uniforms)
        assert_equivalent(fields(scene), given, rtol=0.0, atol=0.0)
        found.append((fields(moved), sources))
    assert np.sum(found[1][1] != np.arange(30)) == 15
    assert_equivalent(found[0], found[1], **CLOSE, check_dtype=True)


@relocating
def test_copies_share_everything_and_the_rest_stays(candidate, rng):
    """Draws are known: cumulative opacities are multiples of 1/2 except for the first."""
    given = drawn(rng, 9, [-9.0, 0.0, -8.0, 0.0, -7.0, 0.0, -10.0, 0.0, -8.5])
    uniforms = np.array([0.25, 0.9, np.nextafter(0.5, 0.0), 0.1, 0.5, 0.0, 0.3, 0.6, np.nextafter(1.0, 0.0)])
    expected = np.array([3, 1, 3, 3, 5, 5, 3, 7, 7])
    moved, sources = candidate.splats.mcmc.relocate(candidate.splats.scene.Scene(**given), uniforms)
    assert_equivalent(sources, expected, check_dtype=True)
    np.testing.assert_array_equal(moved.positions, given["positions"][expected])
    np.testing.assert_array_equal(moved.quaternions, given["quaternions"][expected])
    for source, copies in ((1, 1), (3, 4), (5, 2), (7, 2)):
        share, factor = exact_factor(0.5, copies)
        for place in np.flatnonzero(expected == source):
            np.testing.assert_allclose(moved.logits[place], logit(share), **CLOSE)
            np.testing.assert_allclose(moved.log_scales[place], given["log_scales"][source] + math.log(factor), **CLOSE)
    assert moved.logits[1] == 0.0
    np.testing.assert_array_equal(moved.log_scales[1], given["log_scales"][1])


@relocating
def test_draws_are_proportional_to_live_opacities(candidate, rng):
    """Both ends of the interval of each live Gaussian draw it; dead ones have no interval."""
    opacities = np.append(rng.uniform(0.2, 0.2999, 12), rng.uniform(0.3001, 0.9, 6))
    given = drawn(rng, 18, logit(opacities))
    ends = np.cumsum(opacities[12:]) / opacities[12:].sum()
    starts = np.append(0.0, ends[:-1])
    expected = rng.permutation(np.tile(np.arange(6), 2))
    # Each live Gaussian is drawn twice: the first time near the start of its interval, the second time near its end.
    again = np.array([np.sum(expected[:place] == one) for place, one in enumerate(expected)])
    uniforms = np.append((starts + np.multiply.outer([1e-6, 1.0 - 1e-6], ends - starts))[again, expected], np.zeros(6))
    scene = candidate.splats.scene.Scene(**given)
    for numbers in (uniforms, uniforms.tolist()):
        _, sources = candidate.splats.mcmc.relocate(scene, numbers, 0.3)
        np.testing.assert_array_equal(sources, np.append(12 + expected, np.arange(12, 18)))
    moved, sources = candidate.splats.mcmc.relocate(scene, uniforms)
    np.testing.assert_array_equal(sources, np.arange(18))
    assert_equivalent(fields(moved), given, rtol=0.0, atol=0.0)


@relocating
def test_a_gaussian_at_the_threshold_is_dead(candidate, rng):
    """Exactly: the sigmoid of 0 is 1/2."""
    given = drawn(rng, 4, [0.0, 1e-9, -1e-9, 3.0])
    run, scene = candidate.splats.mcmc.relocate, candidate.splats.scene.Scene(**given)
    _, sources = run(scene, np.full(4, 0.9), threshold=0.5)
    np.testing.assert_array_equal(sources, [3, 1, 3, 3])
    near = drawn(rng, 3, logit(DEAD * np.array([1.0 - 1e-6, 1.0 + 1e-6, 100.0])))
    _, sources = run(candidate.splats.scene.Scene(**near), np.full(3, 0.5))
    np.testing.assert_array_equal(sources, [2, 1, 2])


@relocating
def test_opacities_are_clipped_and_factors_are_not(candidate, rng):
    """A faint live Gaussian, an opaque one, and one with more copies than count."""
    scene, run = candidate.splats.scene.Scene, candidate.splats.mcmc.relocate
    faint = rng.uniform(0.0055, 0.0095)
    for stored, dead in ((logit(faint), 1), (40.0, 1), (rng.uniform(1.0, 3.0), MOST), (rng.uniform(1.0, 3.0), 70)):
        given = drawn(rng, dead + 1, np.append(np.full(dead, -9.0), stored))
        moved, sources = run(scene(**given), rng.uniform(size=dead + 1))
        np.testing.assert_array_equal(sources, np.full(dead + 1, dead))
        share, factor = exact_factor(1.0 / (1.0 + math.exp(-stored)), min(dead + 1, MOST))
        np.testing.assert_allclose(moved.logits, np.full(dead + 1, logit(np.clip(share, *LIMITS))), **CLOSE)
        expected = np.tile(given["log_scales"][-1] + math.log(factor), (dead + 1, 1))
        np.testing.assert_allclose(moved.log_scales, expected, **CLOSE)


@relocating
def test_nothing_moves_without_dead_or_without_live(candidate, rng):
    scene, run = candidate.splats.scene.Scene, candidate.splats.mcmc.relocate
    for given in (
        drawn(rng, 5, rng.uniform(-3.0, 60.0, 5)),
        drawn(rng, 5, rng.uniform(-60.0, -6.0, 5)),
        drawn(rng, 0, []),
    ):
        count = len(given["logits"])
        moved, sources = assert_unmodified(run, scene(**given), rng.uniform(size=count))
        assert_equivalent(fields(moved), given, rtol=0.0, atol=0.0)
        assert_equivalent(sources, np.arange(count), check_dtype=True)
        with pytest.raises(ValueError):  # noqa: PT011
            run(scene(**given), rng.uniform(size=count + 1))
    with pytest.raises(ValueError):  # noqa: PT011
        run(scene(**drawn(rng, 5)), rng.uniform(size=2))
    with pytest.raises(ValueError):  # noqa: PT011
        run(scene(**drawn(rng, 5)), rng.uniform(size=(5, 1)))


# perturb


@perturbing
def test_noise_follows_the_covariance_and_the_opacity(candidate, rng):
    """Axes without rotation, and the gate from faint to opaque in closed form."""
    opacities = np.array([1e-6, DEAD, rng.uniform(0.01, 0.1), rng.uniform(0.2, 0.9)])
    given = {**drawn(rng, 4, logit(opacities)), "quaternions": np.tile([rng.uniform(0.5, 3.0), 0.0, 0.0, 0.0], (4, 1))}
    given["positions"] = np.zeros((4, 3))
    normals, strength = rng.normal(size=(4, 3)), rng.uniform(0.1, 9.0)
    found = candidate.splats.mcmc.perturb(candidate.splats.scene.Scene(**given), normals, strength)
    gate = 1.0 / (1.0 + np.exp(100.0 * (opacities - DEAD)))
    expected = strength * gate[:, None] * np.exp(2.0 * given["log_scales"]) * normals
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@perturbing
def test_noise_is_that_of_the_authors(candidate, reference, rng):
    given, normals = drawn(rng, 6, rng.uniform(-8.0, -3.0, 6)), rng.normal(size=(6, 3))
    found = []
    for side in (candidate, reference):
        scene = side.splats.scene.Scene(**given)
        found.append(assert_unmodified(side.splats.mcmc.perturb, scene, normals, 2.5))
        assert_equivalent(fields(scene), given, rtol=0.0, atol=0.0)
    assert_equivalent(found[0], found[1], rtol=1e-9, atol=1e-12)
    scene = candidate.splats.scene.Scene(**given)
    assert_equivalent(candidate.splats.mcmc.perturb(scene, normals.tolist(), 2.5), found[1], rtol=1e-9, atol=1e-12)


# penalty


@penalising
def test_penalty_is_the_weighted_sum(candidate, rng):
    given = drawn(rng, 7, rng.uniform(-5.0, 5.0, 7))
    weights = rng.uniform(0.1, 2.0, 2).tolist()
    scene = candidate.splats.scene.Scene(**given)
    value, by_logits, by_log_scales = candidate.splats.mcmc.penalty(scene, *weights)
    opacities, scales = 1.0 / (1.0 + np.exp(-given["logits"])), np.exp(given["log_scales"])
    assert type(value) is float
    np.testing.assert_allclose(value, weights[0] * opacities.sum() + weights[1] * scales.sum(), rtol=1e-9)
    assert_equivalent(by_logits, weights[0] * opacities * (1.0 - opacities), rtol=1e-9, check_dtype=True)
    assert_equivalent(by_log_scales, weights[1] * scales, rtol=1e-9, check_dtype=True)
    assert_equivalent(fields(scene), given, rtol=0.0, atol=0.0)


@penalising
def test_gradient_of_saturated_opacities(candidate, rng):
    logits = rng.permutation(np.append(rng.uniform(-100.0, -20.0, 4), rng.uniform(20.0, 100.0, 4)))
    scene = candidate.splats.scene.Scene(**drawn(rng, 8, logits))
    value, by_logits, _ = candidate.splats.mcmc.penalty(scene, 1.0, 0.0)
    size = np.exp(-np.abs(logits))
    np.testing.assert_allclose(by_logits, size / (1.0 + size) ** 2, rtol=1e-9)
    np.testing.assert_allclose(value, 4.0, rtol=1e-6)


@penalising
def test_penalty_of_nothing(candidate, rng):
    scene = candidate.splats.scene.Scene(**drawn(rng, 0, []))
    value, by_logits, by_log_scales = candidate.splats.mcmc.penalty(scene, *rng.uniform(size=2).tolist())
    assert (value, by_logits.shape, by_log_scales.shape) == (0.0, (0,), (0, 3))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
