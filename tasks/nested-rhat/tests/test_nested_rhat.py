"""Hidden tests of the task nested-rhat."""

import math
from statistics import NormalDist, median

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

parts = pytest.mark.interface("diagnostics.nested.variances")
plain = pytest.mark.interface("diagnostics.nested.nested_rhat")
ranked = pytest.mark.interface("diagnostics.nested.rank_nested_rhat")

NAMES = ("between", "chains", "draws")
SHAPES = [(4, 3, 3), (1, 4, 2), (2, 5, 1)]  # draws of each chain, superchains, chains of each superchain


def ids_of(rng, superchains, size):
    """Ids in no order, some negative, beyond 32 bits, the chains of a superchain apart from each other."""
    names = rng.choice(2000, superchains, replace=False) - 1000
    names[0] = -names.max() - 2001
    ids = np.repeat(names * 2**40, size)
    while size > 1 and np.all(ids == np.repeat(ids[::size], size)):
        ids = rng.permutation(ids)
    return ids


def sample(rng, draws, superchains, size, variables=3):
    """Chains and superchains that differ in their means."""
    ids = ids_of(rng, superchains, size)
    shift = dict(zip(np.unique(ids).tolist(), rng.normal(size=(superchains, variables)), strict=True))
    chains = np.array([shift[name] for name in ids.tolist()]) + rng.normal(size=(len(ids), variables))
    return chains + rng.normal(size=(draws, len(ids), variables)), ids


def mean(values):
    return math.fsum(values) / len(values)


def variance(values):
    centre = mean(values)
    return math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1)


def definition(draws, ids):
    """Equations (1) to (3) of one variable, from an `(N, C)` array."""
    means, between_chains, within_chains = [], [], []
    for name in sorted(set(ids.tolist())):
        chains = [draws[:, chain].tolist() for chain in range(len(ids)) if ids[chain] == name]
        chain_means = [mean(chain) for chain in chains]
        means.append(mean(chain_means))
        between_chains.append(variance(chain_means) if len(chains) > 1 else 0.0)
        within_chains.append(mean([variance(chain) for chain in chains]) if len(draws) > 1 else 0.0)
    return variance(means), between_chains, within_chains


def rhat(draws, ids):
    """Equation (5) of one variable."""
    between, *within = definition(draws, ids)
    return math.sqrt(1.0 + between / (mean(within[0]) + mean(within[1])))


def scores(values):
    """Equation (6) of one variable, by counting."""
    flat = values.ravel().tolist()
    ranks = [sum(other < value for other in flat) + (1 + flat.count(value)) / 2 for value in flat]
    found = [NormalDist().inv_cdf((rank - 0.375) / (len(flat) + 0.25)) for rank in ranks]
    return np.array(found).reshape(values.shape)


def each_variable(function, draws, ids):
    return np.array([function(draws[:, :, variable], ids) for variable in range(draws.shape[2])])


def fields(found):
    return {name: getattr(found, name) for name in NAMES}


def refused(rng, function):
    """Calls that must raise ValueError, and one that must not."""
    draws, ids = sample(rng, 3, 2, 2)
    unequal = np.where(np.arange(4) == np.flatnonzero(ids == ids.max())[0], ids.min(), ids)
    assert len(function(draws, ids)) == 3
    for bad, names in (
        (draws[:, :, 0], ids),
        (draws[None], ids),
        (draws, ids[:-1]),
        (draws, ids[:, None]),
        (draws, np.zeros(4, dtype=int)),  # one superchain
        (draws, unequal),
        (draws, np.where(ids == ids[0], ids, np.arange(4) + ids.max() + 1)),  # one of 2 chains, two of 1
        (draws[:0], ids),
        (draws[:1], np.arange(4)),
        (draws[:, :0], ids[:0]),
        (draws[:, :, :0], unequal),
        (draws[:0, :, :0], ids),
        (np.full_like(draws, np.nan), unequal),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            function(bad, names)


# variances


@parts
@pytest.mark.parametrize("shape", SHAPES)
def test_variances_are_those_of_the_definition(candidate, rng, shape):
    draws, ids = sample(rng, *shape)
    found = fields(candidate.diagnostics.nested.variances(draws, ids))
    rows = [definition(draws[:, :, variable], ids) for variable in range(3)]
    expected = {name: np.array([row[place] for row in rows]).T for place, name in enumerate(NAMES)}
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@parts
def test_variances_are_about_means(candidate, rng):
    """Draws that are exact with and without 1e8; means lose 1e-8 of their value, and the deviations are about 1."""
    draws, ids = sample(rng, 4, 3, 2)
    draws = np.round(draws * 64.0) / 64.0
    near, far = (fields(candidate.diagnostics.nested.variances(draws + shift, ids)) for shift in (0.0, 1e8))
    for name in NAMES:
        assert_equivalent(far[name], near[name], atol=1e-6 * near[name].max(), rtol=0.0)


@parts
def test_variances_accept_all_types_and_change_nothing(candidate, rng):
    run = candidate.diagnostics.nested.variances
    whole, ids = rng.integers(0, 200, (3, 6, 2)), ids_of(rng, 3, 2)
    expected = fields(assert_unmodified(run, whole.astype(np.float64), ids))
    for given in (whole.tolist(), whole.astype(np.uint8), whole.astype(np.float32)):
        assert_equivalent(fields(run(given, ids.tolist())), expected, rtol=1e-12, check_dtype=True)
    empty = fields(run(np.zeros((3, 6, 0)), ids))
    assert [empty[name].shape for name in NAMES] == [(0,), (3, 0), (3, 0)]


@parts
def test_variances_of_bad_shapes_are_refused(candidate, rng):
    refused(rng, lambda draws, ids: candidate.diagnostics.nested.variances(draws, ids).between)


# nested_rhat


@plain
@pytest.mark.parametrize("shape", SHAPES)
def test_nested_rhat_is_that_of_the_definition(candidate, rng, shape):
    draws, ids = sample(rng, *shape)
    found = assert_unmodified(candidate.diagnostics.nested.nested_rhat, draws, ids)
    assert_equivalent(found, each_variable(rhat, draws, ids), rtol=1e-9, check_dtype=True)


@plain
def test_equal_draws_have_no_number(candidate, rng):
    """Constants, superchains of constants, a draw that differs a little, a superchain that moves, a chain that does not."""
    ids = ids_of(rng, 3, 3)
    draws = np.empty((7, 9, 19))
    order = np.searchsorted(np.unique(ids), ids)
    draws[:] = np.array([rng.permutation(3) + rng.uniform(0.1, 0.2, 3) for _ in range(19)]).T[order]
    draws[:, :, :8] = rng.uniform(0.0, 1.0, 8)
    draws[:, :, 12:16] *= -1e5
    draws[3, 4, 16] *= 1.0 + 1e-10  # rounding of means changes such a deviation by 1e-5
    draws[:, order == 1, 17] += rng.normal(size=(7, 3))
    draws[:, :, 18] = rng.normal(size=(7, 9))
    draws[:, 6, 18] = rng.normal()
    found = candidate.diagnostics.nested.nested_rhat(draws, ids)
    np.testing.assert_array_equal(found[:16], [np.nan] * 8 + [np.inf] * 8)
    for variable, tolerance in ((16, 1e-3), (17, 1e-9), (18, 1e-9)):
        np.testing.assert_allclose(found[variable], rhat(draws[:, :, variable], ids), rtol=tolerance)
    one = candidate.diagnostics.nested.nested_rhat(
        draws[:1, :, :17], ids
    )  # the last of these is still in the first draw
    np.testing.assert_array_equal(one, [np.nan] * 8 + [np.inf] * 9)


@plain
def test_draws_that_are_not_finite_stay_with_their_variable(candidate, rng):
    draws, ids = sample(rng, 4, 3, 2, variables=6)
    expected = each_variable(rhat, draws, ids)
    for variable, value in ((0, np.nan), (2, np.inf), (3, -np.inf)):
        draws[rng.integers(4), rng.integers(6), variable] = value
        expected[variable] = np.nan
    draws[:, :, 5], expected[5] = np.where(ids == ids[3], rng.choice([np.inf, -np.inf]), rng.normal()), np.nan
    found = candidate.diagnostics.nested.nested_rhat(draws, ids)
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@plain
def test_the_unit_does_not_matter(candidate, rng):
    """Powers of 2 change no digit of the draws."""
    draws, ids = sample(rng, 4, 3, 2, variables=4)
    draws[0, 0, :2], draws[:, :, 2:] = 0.0, -np.abs(draws[:, :, 2:])
    expected = each_variable(rhat, draws, ids)
    found = candidate.diagnostics.nested.nested_rhat(draws * 2.0 ** np.array([-990, 990, -990, 990]), ids)
    np.testing.assert_allclose(found, expected, rtol=1e-9)
    draws = np.round(draws * 64.0) / 64.0
    far = candidate.diagnostics.nested.nested_rhat(draws - 1e8, ids)
    np.testing.assert_allclose(far, each_variable(rhat, draws, ids), rtol=1e-6)


@plain
def test_nested_rhat_accepts_all_types_and_no_variables(candidate, rng):
    run = candidate.diagnostics.nested.nested_rhat
    whole, ids = rng.integers(0, 200, (3, 6, 2)), ids_of(rng, 3, 2)
    single = rng.normal(size=(3, 6, 2)).astype(np.float32)
    for given in (whole.tolist(), whole.astype(np.uint8), single):
        expected = each_variable(rhat, np.array(given, dtype=np.float64), ids)
        assert_equivalent(run(given, ids.tolist()), expected, rtol=1e-11, check_dtype=True)
    assert run(np.zeros((3, 6, 0)), ids).shape == (0,)


@plain
def test_nested_rhat_of_bad_shapes_is_refused(candidate, rng):
    refused(rng, candidate.diagnostics.nested.nested_rhat)


# rank_nested_rhat


def rank_rhat(draws, ids):
    folded = np.abs(draws - median(draws.ravel().tolist()))
    return max(rhat(scores(draws), ids), rhat(scores(folded), ids))


@ranked
@pytest.mark.parametrize(
    "shape", [(5, 3, 3), (1, 3, 5), (5, 5, 1)]
)  # an odd number of draws: no two are equally far from the median
def test_rank_rhat_is_that_of_the_definition(candidate, rng, shape):
    """Differences of location decide for some variables, and differences of scale for others."""
    draws, ids = sample(rng, *shape, variables=4)
    draws[:, :, 2] = rng.normal(size=draws.shape[:2]) * np.where(ids == ids[1], 9.0, 0.5)
    draws[:, :, 3] = np.exp(3.0 * draws[:, :, 3])
    found = assert_unmodified(candidate.diagnostics.nested.rank_nested_rhat, draws, ids)
    assert_equivalent(found, each_variable(rank_rhat, draws, ids), rtol=1e-9, check_dtype=True)


@ranked
def test_equal_draws_share_their_rank(candidate, rng):
    """Few different values, halves and quarters: medians and differences are exact."""
    ids = ids_of(rng, 3, 2)
    draws = rng.integers(-3, 4, (4, 6, 3)) / 4.0
    draws[:, ids == ids[0]] += 0.5
    draws[:2, 0] = 0.0, 5.0, -5.0  # never all equal
    draws[2:, 0] = 1.0
    found = candidate.diagnostics.nested.rank_nested_rhat(draws, ids)
    np.testing.assert_allclose(found, each_variable(rank_rhat, draws, ids), rtol=1e-9)
    integers = candidate.diagnostics.nested.rank_nested_rhat((4 * draws).astype(np.int64).tolist(), ids.tolist())
    assert_equivalent(integers, found, rtol=1e-9, check_dtype=True)


@ranked
def test_ranks_accept_all_types(candidate, rng):
    """Values on either side of the median 1, as far from it as the rounding of float32, and further in each superchain."""
    run = candidate.diagnostics.nested.rank_nested_rhat
    ids = np.repeat(rng.permutation([4, -2, 0]), 3)
    far = 2.0**25 + 4.0 * np.sort(rng.choice(1000, 13, replace=False))
    draws = np.concatenate([[1.0], np.stack([far, -far], axis=1).ravel()]).reshape(3, 3, 3)
    single = (
        rng.permuted(draws.reshape(3, 9), axis=1).reshape(3, 3, 3).swapaxes(0, 1).reshape(3, 9, 1).astype(np.float32)
    )
    expected = [rank_rhat(single[:, :, 0].astype(np.float64), ids)]
    assert_equivalent(run(single, ids), np.array(expected), rtol=1e-9, check_dtype=True)
    assert_equivalent(
        run(single.astype(np.int64).tolist(), ids.tolist()), np.array(expected), rtol=1e-9, check_dtype=True
    )


@ranked
def test_two_values_have_no_tails(candidate, rng):
    """As many draws of either value: all folded draws are equal."""
    ids = ids_of(rng, 2, 3)
    low = rng.integers(-9, 9) / 4.0
    values = np.repeat([low, low + 0.5], 12).reshape(4, 6, order="F")
    values[:, [1, 4]] = values[:, [4, 1]]
    values[0, [0, 3]] = values[0, [3, 0]]
    found = candidate.diagnostics.nested.rank_nested_rhat(values[:, :, None], ids)
    np.testing.assert_allclose(found, [rhat(scores(values), ids)], rtol=1e-9)


@ranked
def test_variables_without_a_number_and_of_any_size(candidate, rng):
    draws, ids = sample(rng, 3, 3, 3, variables=7)
    expected = each_variable(rank_rhat, draws, ids)
    draws[:, :, 0], expected[0] = rng.uniform(), np.nan
    for variable, value in ((1, np.nan), (2, np.inf), (3, -np.inf)):
        draws[rng.integers(3), rng.integers(9), variable] = value
        expected[variable] = np.nan
    draws[:, :, 4] *= 2.0**990
    draws[:, :, 5] *= 2.0**-990
    level = dict(zip(np.unique(ids).tolist(), rng.permutation(3) + rng.uniform(0.0, 0.4, 3), strict=True))
    draws[:, :, 6], expected[6] = np.array([level[name] for name in ids.tolist()]), np.inf
    found = candidate.diagnostics.nested.rank_nested_rhat(draws, ids)
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@ranked
def test_rank_rhat_of_bad_shapes_is_refused(candidate, rng):
    run = candidate.diagnostics.nested.rank_nested_rhat
    refused(rng, run)
    assert run(np.zeros((3, 4, 0)), [0, 1, 1, 0]).shape == (0,)


@ranked
def test_the_report_is_that_of_the_authors(candidate, reference, rng):
    draws, ids = sample(rng, 6, 3, 3)
    draws[..., 1] = rng.normal(size=draws.shape[:2])
    tables = [
        side.diagnostics.report.report(
            side.diagnostics.samples.Samples(("a", "b", "c"), draws, ids).without_warmup(1), 1.3
        )
        for side in (candidate, reference)
    ]
    assert_equivalent(tables[0], tables[1], rtol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
