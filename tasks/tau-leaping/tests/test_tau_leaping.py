"""Hidden tests of the task tau-leaping."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

weighing = pytest.mark.interface("leaping.tau.propensities")
limiting = pytest.mark.interface("leaping.tau.critical_reactions")
ordering = pytest.mark.interface("leaping.tau.order_factors")
timing = pytest.mark.interface("leaping.tau.leap_time")
stepping = pytest.mark.interface("leaping.tau.step")

# Sums and products of a dozen positive numbers: errors of about 1e-15. Those of mu, which may cancel, are magnified by less than 1e5.
RTOL = 1e-9


def tables(rng, reactions=7, species=5):
    """Reactants of up to three molecules, products, and rates. The last species is no reactant, and two reactions need nothing or change nothing."""
    reactants, products = np.zeros((2, reactions, species), dtype=np.int64)
    for row in range(reactions):
        np.add.at(reactants[row], rng.choice(species - 1, size=row % 4, replace=False), 1)
        np.add.at(products[row], rng.integers(species, size=rng.integers(1, 4)), 1)
    for row in (2, 3):  # a pair, and a pair with another one
        reactants[row, reactants[row].argmax()] += 1
        reactants[row, np.flatnonzero(reactants[row])[-1]] -= 1
    products[5] = reactants[5]
    return reactants, products, rng.uniform(0.1, 2.0, reactions)


def network_of(side, *parts):
    return side.leaping.network.Network(*parts)


def settings_of(side, **values):
    return side.leaping.settings.Settings(**values)


def draws_of(side, uniforms):
    return side.leaping.draws.Draws(uniforms)


def compare_steps(sides, parts, state, remaining, uniforms, **settings):
    """The step of both sides, which must be the same and use as many random numbers; as a dict."""
    found = []
    for side in sides:
        draws = draws_of(side, uniforms)
        taken = side.leaping.tau.step(network_of(side, *parts), state, remaining, draws, settings_of(side, **settings))
        record = {name: getattr(taken, name) for name in ("kind", "duration", "state", "firings")}
        found.append({**record, "used": draws.used})
    assert type(found[0]["duration"]) is float
    # A step that was counted down from `remaining` is known to its rounding.
    np.testing.assert_allclose(found[0].pop("duration"), found[1]["duration"], rtol=RTOL, atol=1e-12 * remaining)
    assert_equivalent(
        found[0], {name: value for name, value in found[1].items() if name != "duration"}, check_dtype=True
    )
    np.testing.assert_array_equal(found[0]["state"], np.asarray(state) + found[0]["firings"] @ (parts[1] - parts[0]))
    return found[1]


# propensities


@weighing
def test_propensities_count_the_sets_of_molecules(candidate, rng):
    parts = tables(rng)
    for state in (rng.integers(0, 4, 5), rng.integers(10, 1000, 5), rng.integers(10**11, 10**12, 5)):
        found = candidate.leaping.tau.propensities(network_of(candidate, *parts), state)
        expected = [
            rate * math.prod(math.comb(int(x), int(m)) for x, m in zip(state, needed, strict=True))
            for needed, rate in zip(parts[0], parts[2], strict=True)
        ]
        assert_equivalent(found, np.array(expected), rtol=RTOL, atol=0.0, check_dtype=True)


@weighing
def test_propensities_of_large_orders(candidate, rng):
    """Five of one species; five of different ones; too few of them; no reaction at all; a state as a list."""
    reactants = np.array([[5, 0, 0, 0, 0], [1, 1, 1, 1, 1], [0, 4, 0, 0, 1], [0, 0, 0, 0, 0]])
    rates = rng.uniform(0.5, 1.5, 4)
    network = network_of(candidate, reactants, reactants[::-1].copy(), rates)
    state = [*rng.integers(10**11, 10**12, 1).tolist(), 3, 10**12, 10**12, 10**12]
    found = candidate.leaping.tau.propensities(network, state)
    expected = rates * np.array([float(math.comb(state[0], 5)), float(math.prod(state)), 0.0, 1.0])
    assert_equivalent(found, expected, rtol=RTOL, atol=0.0, check_dtype=True)
    empty = network_of(candidate, np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))
    assert_equivalent(candidate.leaping.tau.propensities(empty, [1, 2]), np.zeros(0), check_dtype=True)


@weighing
def test_states_that_are_none_are_refused(candidate, rng):
    parts = tables(rng)
    network = network_of(candidate, *parts)
    state, module = rng.integers(20, 40, 5), candidate.leaping.tau
    assert module.propensities(network, state.astype(float)).shape == (7,)
    for bad in (state[:4], state - 41, state + 0.5, state[None]):
        with pytest.raises(ValueError):  # noqa: PT011
            module.propensities(network, bad)


# critical_reactions


@limiting
def test_critical_reactions_are_near_the_end_of_a_species(candidate, rng):
    parts = tables(rng)
    for limit in (1, 3, 10):
        for state in (rng.integers(0, 30, 5), rng.integers(0, 5, 5), rng.integers(5, 60, 5).tolist()):
            network = network_of(candidate, *parts)
            settings = settings_of(candidate, critical_limit=limit)
            found = assert_unmodified(candidate.leaping.tau.critical_reactions, network, state, settings)
            expected = [
                min((int(x) // (m - p) for x, m, p in zip(state, needed, left, strict=True) if m > p), default=limit)
                < limit
                and all(x >= m for x, m in zip(state, needed, strict=True))
                for needed, left in zip(parts[0], parts[1], strict=True)
            ]
            assert_equivalent(found, np.array(expected), check_dtype=True)


@limiting
def test_critical_reactions_at_the_limit(candidate, rng):
    """As many as the limit; a species that is used up twice at a time; catalysts; impossible reactions and rates of 0."""
    limit = rng.integers(4, 12).item()
    reactants = np.array([[1, 0], [2, 0], [3, 0], [1, 1], [1, 1], [1, 0], [0, 2], [0, 0]])
    products = np.array([[0, 0], [0, 0], [1, 0], [1, 0], [0, 1], [3, 0], [0, 0], [0, 1]])
    rates = np.array([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 1.0])
    network, settings = network_of(candidate, reactants, products, rates), settings_of(candidate, critical_limit=limit)
    run = candidate.leaping.tau.critical_reactions
    np.testing.assert_array_equal(run(network, [2 * limit, limit], settings), [False] * 8)
    np.testing.assert_array_equal(run(network, [2 * limit - 1, limit], settings), [False, True, True] + [False] * 5)
    np.testing.assert_array_equal(
        run(network, [limit - 1, limit - 1], settings), [True, True, True, True, True, False, False, False]
    )
    np.testing.assert_array_equal(run(network, [2, 0], settings), [True, True] + [False] * 6)
    np.testing.assert_array_equal(run(network, [2 * limit, limit], settings_of(candidate, critical_limit=limit + 1)),
                                  [False, True, True, True, False, False, False, False])  # fmt: skip


# order_factors


@ordering
def test_factors_are_those_of_the_paper(candidate, rng):
    """The cases that the paper lists, each alone."""
    x = rng.integers(4, 50).item()
    two, three = 2.0 + 1.0 / (x - 1), 3.0 + 1.0 / (x - 1) + 2.0 / (x - 2)
    for reactants, expected in (
        ([[1, 0]], [1.0, 0.0]),
        ([[1, 1]], [2.0, 2.0]),
        ([[2, 0]], [two, 0.0]),
        ([[1, 0], [0, 2]], [1.0, two]),
        ([[1, 0], [2, 0], [1, 1]], [two, 2.0]),
        ([[1, 2]], [3.0, 1.5 * two]),
        ([[3, 0], [1, 2], [2, 1]], [three, 1.5 * two]),
        ([[0, 2], [2, 1], [0, 0]], [1.5 * two, 3.0]),
        ([[4, 0], [3, 0]], [4.0 + 1.0 / (x - 1) + 2.0 / (x - 2) + 3.0 / (x - 3), 0.0]),
        ([[1, 3], [0, 1]], [4.0, 4.0 / 3.0 * three]),
    ):
        table = np.array(reactants)
        network = network_of(candidate, table, np.zeros_like(table), rng.choice([0.0, 1.0], len(table)))
        found = candidate.leaping.tau.order_factors(network, [x, x])
        assert_equivalent(found, np.array(expected), rtol=RTOL, check_dtype=True)


@ordering
def test_factors_of_small_and_large_populations(candidate, rng):
    """In place of fewer molecules than a reaction needs, as many as it needs."""
    table = np.array([[1, 2, 0, 0], [0, 0, 3, 0], [0, 0, 1, 2]])
    network = network_of(candidate, table, np.zeros_like(table), rng.uniform(1.0, 2.0, 3))
    run = candidate.leaping.tau.order_factors
    np.testing.assert_allclose(run(network, [0, 0, 0, 0]), [3.0, 4.5, 5.5, 4.5], rtol=RTOL)
    np.testing.assert_allclose(run(network, [1, 1, 1, 1]), [3.0, 4.5, 5.5, 4.5], rtol=RTOL)
    np.testing.assert_allclose(run(network, [2, 2, 2, 3]), [3.0, 4.5, 5.5, 3.75], rtol=RTOL)
    np.testing.assert_allclose(run(network, [5, 3, 3, 4]), [3.0, 3.75, 5.5, 3.5], rtol=RTOL)
    np.testing.assert_allclose(run(network, [10**12] * 4), [3.0] * 4, rtol=RTOL)
    empty = network_of(candidate, np.zeros((0, 2)), np.zeros((0, 2)), np.zeros(0))
    assert_equivalent(run(empty, np.array([1, 2])), np.zeros(2), check_dtype=True)
    with pytest.raises(ValueError):  # noqa: PT011
        run(network, [1, 2, -1, 3])


# leap_time


def longest_leap(parts, state, epsilon, critical, factors):
    """Equation (6), species by species."""
    reactants, products, rates = parts
    values = [
        rate * math.prod(map(math.comb, map(int, state), map(int, row)))
        for row, rate in zip(reactants, rates, strict=True)
    ]
    longest = math.inf
    for species in np.flatnonzero(reactants.any(axis=0)):
        bound = max(epsilon * state[species] / factors[species], 1.0)
        change = [
            0 if stop else int(row) for row, stop in zip((products - reactants)[:, species], critical, strict=True)
        ]
        mean = math.fsum(nu * a for nu, a in zip(change, values, strict=True))
        variance = math.fsum(nu * nu * a for nu, a in zip(change, values, strict=True))
        longest = min(longest, bound / abs(mean) if mean else math.inf, bound**2 / variance if variance else math.inf)
    return longest


@timing
def test_leap_time_is_the_bound_of_every_reactant(candidate, reference, rng):
    for size in (40, 400, 40000):
        parts, state = tables(rng), rng.integers(size // 4, size, 5)
        state[rng.integers(4)] = rng.integers(0, 12)
        epsilon, limit = rng.uniform(0.02, 0.2), rng.integers(2, 15).item()
        settings = settings_of(reference, epsilon=epsilon, critical_limit=limit)
        critical = reference.leaping.tau.critical_reactions(network_of(reference, *parts), state, settings)
        factors = reference.leaping.tau.order_factors(network_of(reference, *parts), state)
        settings = settings_of(candidate, epsilon=epsilon, critical_limit=limit)
        found = candidate.leaping.tau.leap_time(network_of(candidate, *parts), state, settings)
        assert type(found) is float
        np.testing.assert_allclose(found, longest_leap(parts, state, epsilon, critical, factors), rtol=RTOL)


@timing
def test_leap_time_by_the_mean_or_by_the_variance(candidate, rng):
    """A decay of many and of few molecules; a balance, whose mean is 0; and reactions that limit nothing."""
    run, c = candidate.leaping.tau.leap_time, rng.uniform(0.5, 2.0)
    decay = network_of(candidate, [[1, 0]], [[0, 1]], [c])
    x = rng.integers(10**5, 10**6).item()
    np.testing.assert_allclose(run(decay, [x, 5], settings_of(candidate, epsilon=0.05)), 0.05 / c, rtol=RTOL)
    np.testing.assert_allclose(run(decay, [20, 5], settings_of(candidate, epsilon=0.01)), 1.0 / (20 * c), rtol=RTOL)
    slow = network_of(candidate, [[1, 0]], [[0, 1]], [1e-9 * c])
    np.testing.assert_allclose(run(slow, [x, 5], settings_of(candidate, epsilon=0.05)), 0.05e9 / c, rtol=RTOL)
    burst = network_of(candidate, [[1, 0]], [[8, 1]], [c])
    np.testing.assert_allclose(run(burst, [100, 5], settings_of(candidate, epsilon=0.03)), 9.0 / (4900 * c), rtol=RTOL)
    balance = network_of(candidate, [[1, 0], [0, 1]], [[0, 1], [1, 0]], [c, c])
    settings = settings_of(candidate)
    np.testing.assert_allclose(run(balance, [x, x], settings), (0.03 * x) ** 2 / (2 * c * x), rtol=RTOL)
    assert run(network_of(candidate, [[0, 0], [1, 0]], [[0, 1], [1, 3]], [c, c]), [50, 0], settings) == math.inf
    assert run(decay, [9, 0], settings) == math.inf
    assert run(decay, [0, 7], settings) == math.inf
    source = network_of(candidate, [[0, 0], [1, 1]], [[1, 0], [0, 0]], [c, 0.0])
    np.testing.assert_allclose(run(source, [0, 7], settings), 1.0 / c, rtol=RTOL)
    with pytest.raises(ValueError):  # noqa: PT011
        run(decay, [1, 2, 3], settings)


# step


# Decay, exchange of two molecules, a source, a rare species that is used up.
CHAIN = (
    np.array([[1, 0, 0], [0, 2, 0], [0, 0, 0], [0, 1, 1]]),
    np.array([[0, 1, 0], [1, 0, 0], [1, 0, 0], [0, 1, 0]]),
)


def chain(rng, rare):
    """Tables whose largest leap is some hundredths of a time unit, with the given rate of the critical reaction."""
    return (*CHAIN, np.array([rng.uniform(0.9, 1.1), rng.uniform(1e-3, 2e-3), rng.uniform(50.0, 60.0), rare]))


def populations(rng, few=5):
    return np.array([*rng.integers(900, 1100, 2), few])


@stepping
def test_leaps_without_a_critical_reaction(candidate, reference, rng):
    """None is critical, or none comes in time."""
    for few, rare, used in ((400, 1e-6, 4), (5, 1e-7, 5)):
        uniforms = rng.uniform(0.05, 0.95, 40)
        sides = (candidate, reference)
        taken = compare_steps(sides, chain(rng, rare), populations(rng, few), 50.0, uniforms, epsilon=0.05)
        assert (taken["kind"], taken["used"]) == ("leap", used)
        assert taken["duration"] > 0.01


@stepping
def test_leaps_to_a_critical_reaction(candidate, reference, rng):
    """Which of two it is, and how often the others happen before it."""
    reactants, products, rates = chain(rng, rng.uniform(0.09, 0.11))
    parts = (np.vstack([reactants, [1, 0, 1]]), np.vstack([products, [1, 0, 0]]), np.append(rates, 4.0 * rates[3]))
    seen = set()
    for turn in (1e-9, 0.35):  # the first of two, and the second one, which is four times as likely
        uniforms = np.append([rng.uniform(0.5, 0.9), turn], rng.uniform(0.2, 0.8, 20))
        uniforms[5:7] = 0.99  # for the critical reactions, whose means are 0
        taken = compare_steps((candidate, reference), parts, populations(rng), 50.0, uniforms, epsilon=0.05)
        assert (taken["kind"], taken["used"], taken["firings"][3:].sum()) == ("leap", 7, 1)
        seen.add(int(taken["firings"][3]))
    assert seen == {0, 1}


@stepping
def test_leaps_end_with_the_time_that_remains(candidate, reference, rng):
    for rare, used in ((1e-7, 5), (0.01, 5), (4e4, 6)):
        remaining, uniforms = rng.uniform(1e-4, 2e-4), rng.uniform(0.3, 0.6, 40)
        taken = compare_steps(
            (candidate, reference), chain(rng, rare), populations(rng), remaining, uniforms, exact_factor=0.01
        )
        assert (taken["kind"], taken["used"]) == ("leap", used)
        assert (taken["duration"] == remaining) == (rare < 100.0)


@stepping
def test_a_leap_into_negative_populations_is_tried_again_at_half_the_length(candidate, reference, rng):
    """Draws so close to 1 that a dozen molecules are used up more often than they are there; then moderate ones."""
    parts = (np.array([[1, 0], [0, 1]]), np.array([[0, 0], [0, 0]]), np.array([rng.uniform(1.0, 2.0), 1e-3]))
    state, longest = np.array([4, 1]), 1.0 / (4 * parts[2][0])
    options = {"exact_factor": 0.1, "critical_limit": 2}
    many = [0.5, 1.0 - 1e-9, 0.5]  # tau'', then the numbers of both reactions
    for tries in (1, 2, 3):
        uniforms = np.array([*many * tries, 0.5, rng.uniform(0.8, 0.99), 0.5])
        taken = compare_steps((candidate, reference), parts, state, 1e3, uniforms, **options)
        assert (taken["kind"], taken["used"]) == ("leap", 3 * (tries + 1))
        np.testing.assert_allclose(taken["duration"], longest / 2**tries, rtol=RTOL)
    # What is halved is the largest leap, and not the time to the critical reaction, which is 0.105 at first, or to the end.
    parts = (*parts[:2], np.array([parts[2][0], 1.0]))
    uniforms = np.array([0.1, 0.5, 1.0 - 1e-9, 0.5, 0.2, 0.99, 0.5])
    for remaining in (1e3, 0.12):
        taken = compare_steps((candidate, reference), parts, state, remaining, uniforms, **options)
        assert (taken["kind"], taken["used"]) == ("leap", 7)
        np.testing.assert_allclose(taken["duration"], min(longest / 2.0, remaining), rtol=RTOL)
    # Also without critical reactions, where the end cut the first attempt short.
    parts, options = (*parts[:2], np.array([parts[2][0], 1e-3])), {"exact_factor": 0.1, "critical_limit": 1}
    uniforms = np.array([1.0 - 1e-9, 0.5, 0.5, 0.5])
    taken = compare_steps((candidate, reference), parts, state, 0.9 * longest, uniforms, **options)
    assert (taken["kind"], taken["used"]) == ("leap", 4)
    np.testing.assert_allclose(taken["duration"], longest / 2.0, rtol=RTOL)


@stepping
def test_short_leaps_become_exact_steps(candidate, reference, rng):
    """At once, or when the leap was halved too often; as many as the settings say."""
    for count in (1, 7, 30):
        uniforms = rng.uniform(0.01, 0.99, 70)
        options = {"exact_factor": 1e4, "exact_steps": count}
        taken = compare_steps((candidate, reference), chain(rng, 1.0), populations(rng), 50.0, uniforms, **options)
        assert (taken["kind"], taken["used"], taken["firings"].sum()) == ("exact", 2 * count, count)
    parts = (np.array([[1, 0], [0, 1]]), np.array([[0, 0], [0, 0]]), np.array([rng.uniform(1.0, 2.0), 1e-3]))
    uniforms = np.concatenate([[0.5, 1.0 - 1e-15, 0.5] * 2, rng.uniform(0.1, 0.9, 20)])
    options = {"exact_factor": 0.3, "exact_steps": 4}
    taken = compare_steps((candidate, reference), parts, [12, 5], 50.0, uniforms, **options)
    assert (taken["kind"], taken["used"]) == ("exact", 6 + 8)
    for factor, kind in ((0.95, "leap"), (1.05, "exact")):  # the leap is 1 / a_0 without the other reaction
        rates = np.array([rng.uniform(1.0, 2.0), 0.0])
        uniforms = rng.uniform(0.1, 0.9, 20)
        options = {"exact_factor": factor, "exact_steps": 2}
        taken = compare_steps((candidate, reference), (*parts[:2], rates), [12, 5], 50.0, uniforms, **options)
        assert taken["kind"] == kind
    # Critical reactions are part of a_0: the leap lasts 0.03 / c, 10 / a_0 is 0.02 / c, and 0.05 / c without them.
    rates, state = rng.uniform(0.5, 2.0) * np.array([1.0, 100.0]), [rng.integers(190, 210).item(), 3]
    taken = compare_steps((candidate, reference), (*parts[:2], rates), state, 50.0, rng.uniform(0.2, 0.8, 4))
    assert (taken["kind"], taken["used"]) == ("leap", 4)


@stepping
def test_exact_steps_end_with_the_time_or_with_the_molecules(candidate, reference, rng):
    parts = (np.array([[1, 0], [0, 2]]), np.array([[0, 1], [0, 0]]), rng.uniform(0.5, 1.5, 2))
    uniforms = rng.uniform(0.3, 0.7, 40)
    options = {"exact_factor": 1e6, "exact_steps": 12, "critical_limit": 1}
    taken = compare_steps((candidate, reference), parts, [3, 0], 1e3, uniforms, **options)
    assert taken["kind"] == "exact"
    assert taken["duration"] < 1e3
    assert taken["used"] == 2 * taken["firings"].sum() <= 8
    crowd, remaining = [200, 0], 3.0 / (200 * parts[2][0])
    taken = compare_steps((candidate, reference), parts, crowd, remaining, uniforms, **options)
    assert (taken["kind"], taken["duration"]) == ("exact", remaining)
    assert taken["used"] == 2 * taken["firings"].sum() + 1 < 25


@stepping
def test_nothing_happens_where_nothing_can(candidate, reference, rng):
    parts = (np.array([[1, 0], [0, 2]]), np.array([[0, 1], [0, 0]]), rng.uniform(0.5, 1.5, 2))
    remaining = rng.integers(2, 5).item()
    taken = compare_steps((candidate, reference), parts, [0, 1], remaining, np.zeros(0))
    assert (taken["kind"], taken["duration"], taken["used"]) == ("idle", remaining, 0)
    free = (np.array([[0, 0]]), np.array([[0, 3]]), np.array([rng.uniform(20.0, 30.0)]))  # no leap is too long
    taken = compare_steps((candidate, reference), free, [0, 1], remaining, rng.uniform(0.2, 0.8, 3))
    assert (taken["kind"], taken["duration"], taken["used"]) == ("leap", remaining, 1)


@stepping
def test_trajectories_are_those_of_the_authors(candidate, reference, rng):
    """Exact steps while there are few products, then leaps, until the end time cuts one short."""
    uniforms, options = rng.uniform(0.0, 1.0, 1500), {"epsilon": 0.1, "exact_steps": 15}
    results = []
    for side in (candidate, reference):
        draws = draws_of(side, uniforms)
        network = network_of(side, *CHAIN, np.array([2.0, 0.0, 0.0, 0.05]))
        path = side.leaping.simulate.simulate(network, [1500, 0, 6], 0.2, draws, settings_of(side, **options))
        results.append([path.times, path.states, list(path.kinds), draws.used])
    assert {"leap", "exact"} <= set(results[1][2])
    assert_equivalent(results[0], results[1], rtol=1e-8)


# arguments


@stepping
def test_states_are_not_modified_by_a_step(candidate, rng):
    for factor, kind in ((1e-3, "leap"), (1e6, "exact")):
        draws = draws_of(candidate, rng.uniform(0.2, 0.8, 40))
        settings = settings_of(candidate, exact_factor=factor, exact_steps=5)
        state, parts = populations(rng), chain(rng, 1.0)
        taken = assert_unmodified(
            candidate.leaping.tau.step, network_of(candidate, *parts), state, 5.0, draws, settings
        )
        assert taken.kind == kind
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.leaping.tau.step(network_of(candidate, *parts), -state, 5.0, draws, settings)


@weighing
def test_networks_are_not_modified(candidate, rng):
    parts = tables(rng)
    network, state = network_of(candidate, *parts), rng.integers(5, 50, 5)
    values = assert_unmodified(candidate.leaping.tau.propensities, network, state)
    assert values.shape == (7,)
    for name, before in zip(("reactants", "products", "rates"), parts, strict=True):
        assert_equivalent(getattr(network, name), before, rtol=0.0, atol=0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
