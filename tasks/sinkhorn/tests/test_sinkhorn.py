import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified


def histogram(rng, size):
    weights = rng.uniform(0.2, 1.0, size)
    return weights / weights.sum()


def problem(rng, n, m):
    return histogram(rng, n), histogram(rng, m), rng.uniform(-0.5, 1.5, (n, m))


def log_ratio_interaction(plan, a, b, ground_cost, epsilon):
    """What is left of log(P / ab) + C / epsilon once row and column effects are taken out: zero for a Gibbs plan."""
    effect = np.log(plan / np.outer(a, b)) + ground_cost / epsilon
    return effect - effect.mean(axis=1, keepdims=True) - effect.mean(axis=0) + effect.mean()


@pytest.mark.interface("sinkhorn.transport_plan")
def test_plan_has_the_marginals_and_the_gibbs_form(candidate, rng):
    a, b, ground_cost = problem(rng, 7, 5)
    plan = assert_unmodified(candidate.sinkhorn.transport_plan, a, b, ground_cost, 0.3)
    assert plan.shape == (7, 5)
    assert plan.dtype == np.float64
    assert (plan > 0).all()
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-6)
    np.testing.assert_allclose(plan.sum(axis=0), b, rtol=1e-6)
    np.testing.assert_allclose(log_ratio_interaction(plan, a, b, ground_cost, 0.3), 0.0, atol=1e-6)


@pytest.mark.interface("sinkhorn.transport_plan")
@pytest.mark.parametrize("iterations", [1, 2, 4])
def test_plan_after_few_iterations_is_the_authors(candidate, reference, rng, iterations):
    args = (*problem(rng, 5, 8), 0.05, iterations, 0.0)
    actual = candidate.sinkhorn.transport_plan(*args)
    assert_equivalent(actual, reference.sinkhorn.transport_plan(*args), rtol=1e-6, atol=1e-12)


@pytest.mark.interface("sinkhorn.transport_plan")
def test_plan_survives_costs_that_underflow_and_overflow(candidate, reference, rng):
    a, b, ground_cost = problem(rng, 6, 6)
    rows, columns = rng.uniform(-800.0, 800.0, (6, 1)), rng.uniform(-800.0, 800.0, 6)
    plan = candidate.sinkhorn.transport_plan(a, b, ground_cost + rows + columns, 0.2)
    assert_equivalent(plan, reference.sinkhorn.transport_plan(a, b, ground_cost, 0.2), rtol=1e-5, atol=1e-9)


@pytest.mark.interface("sinkhorn.transport_plan")
def test_bins_without_mass_and_forbidden_pairs_carry_nothing(candidate, reference, rng):
    a, b, ground_cost = problem(rng, 6, 7)
    a[[1, 4]], b[3] = 0.0, 0.0
    a, b = a / a.sum(), b / b.sum()
    ground_cost[0, 5] = ground_cost[2, 0] = ground_cost[4, 2] = np.inf
    plan = candidate.sinkhorn.transport_plan(a, b, ground_cost, 0.4)
    assert_equivalent(plan, reference.sinkhorn.transport_plan(a, b, ground_cost, 0.4), rtol=1e-5, atol=1e-10)
    assert plan[0, 5] == plan[2, 0] == 0.0
    assert not plan[[1, 4]].any()
    assert not plan[:, 3].any()
    np.testing.assert_allclose(plan.sum(axis=1), a, rtol=1e-6)
    a, b, ground_cost = problem(rng, 6, 7)
    b[2] = 1e-10  # little is not nothing
    plan = candidate.sinkhorn.transport_plan(a, b / b.sum(), ground_cost, 0.4)
    np.testing.assert_allclose(plan.sum(axis=0), b / b.sum(), rtol=1e-6)


@pytest.mark.interface("sinkhorn.transport_plan")
def test_the_rest_of_the_repository_can_use_the_plan(candidate, reference, rng):
    source, target = rng.uniform(-1.0, 1.0, (5, 2)), rng.uniform(0.0, 3.0, (6, 2))
    weights = histogram(rng, 5)

    def moved(code):
        measures = code.measures
        return code.transfer.barycentric_map(measures.Measure(source, weights), measures.Measure.uniform(target), 1.5)

    assert_equivalent(moved(candidate), moved(reference), rtol=1e-5)


@pytest.mark.interface("sinkhorn.potentials")
def test_potentials_solve_the_fixed_point_equations(candidate, reference, rng):
    a, b, ground_cost = problem(rng, 4, 6)
    a[2] = 0.0
    a = a / a.sum()
    dual = assert_unmodified(candidate.sinkhorn.potentials, a, b, ground_cost, 0.25)
    f, g = dual.f, dual.g
    assert f.shape == (4,)
    assert f.dtype == np.float64
    assert g.shape == (6,)
    assert g.dtype == np.float64
    np.testing.assert_allclose(f, -0.25 * np.log(np.exp((g - ground_cost) / 0.25) @ b), rtol=1e-6, atol=1e-7)
    np.testing.assert_allclose(g, -0.25 * np.log(a @ np.exp((f[:, None] - ground_cost) / 0.25)), rtol=1e-6, atol=1e-7)
    expected = reference.sinkhorn.potentials(a, b, ground_cost, 0.25)
    assert_equivalent(f, expected.f, rtol=1e-5, atol=1e-7)
    assert_equivalent(g, expected.g, rtol=1e-5, atol=1e-7)


@pytest.mark.interface("sinkhorn.potentials")
def test_potentials_say_how_they_were_reached(candidate, reference, rng):
    args = (*problem(rng, 6, 5), 0.1)
    for max_iterations, tolerance in ((1, 0.0), (3, 0.0), (2_000, 1e-2), (2_000, 1e-6), (2_000, 10.0)):
        actual = candidate.sinkhorn.potentials(*args, max_iterations, tolerance)
        expected = reference.sinkhorn.potentials(*args, max_iterations, tolerance)
        assert actual.iterations == expected.iterations
        assert type(actual.converged) is bool
        assert actual.converged == (tolerance > 0.0)
        assert_equivalent(actual.error, expected.error, rtol=1e-4, atol=1e-12)
        assert_equivalent(actual.f, expected.f, rtol=1e-6, atol=1e-9)
        assert_equivalent(actual.g, expected.g, rtol=1e-6, atol=1e-9)
    third = candidate.sinkhorn.potentials(*args, 3, 0.0)
    again = candidate.sinkhorn.potentials(*args, 2_000, third.error)
    assert (again.iterations, again.converged) == (3, True)


@pytest.mark.interface("sinkhorn.potentials")
def test_the_defaults_are_the_stated_ones(candidate, rng):
    """Two bins, and nearly the same weights in both histograms: the closer they are, the slower is the convergence."""
    first = rng.uniform(0.4, 0.6)
    ground_cost = np.array([[0.0, 1.0], [1.0, 0.0]]) + rng.uniform(-0.1, 0.1, (2, 2))

    def solved(difference):
        a, b = np.array([first, 1.0 - first]), np.array([first + difference, 1.0 - first - difference])
        return candidate.sinkhorn.potentials(a, b, ground_cost, 0.05)

    slow, fast = solved(1e-4), solved(0.02)
    assert (slow.iterations, slow.converged) == (1_000, False)
    assert type(fast.converged) is bool
    assert fast.converged
    assert 0.7e-9 < fast.error <= 1e-9  # one iteration earlier it was at most a tenth larger


@pytest.mark.interface("sinkhorn.potentials")
def test_malformed_problems_are_refused_and_good_ones_are_not(candidate, reference, rng):
    a, b, ground_cost = problem(rng, 3, 4)
    unknown = np.where(ground_cost == ground_cost.max(), np.nan, ground_cost)
    for bad in (
        (a, b, ground_cost.T, 0.5),
        (a, b, unknown, 0.5),
        (a, b, ground_cost, 0.0),
        (a, b, ground_cost, -0.5),
        (2.0 * a, b, ground_cost, 0.5),
        (a, b - b.mean(), ground_cost, 0.5),
        (a[:0], b, ground_cost[:0], 0.5),
        (a, b, ground_cost, 0.5, 0),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.sinkhorn.potentials(*bad)
    good = (a.tolist(), b.tolist(), ground_cost.tolist(), 0.5)
    assert_equivalent(
        candidate.sinkhorn.potentials(*good).f, reference.sinkhorn.potentials(*good).f, rtol=1e-5, atol=1e-7
    )


@pytest.mark.interface("sinkhorn.cost")
def test_cost_is_the_authors_for_every_dtype(candidate, reference, rng):
    a, b, ground_cost = problem(rng, 5, 4)
    for cast in (ground_cost, (4 * ground_cost).astype(np.int64), ground_cost.astype(np.float32)):
        actual = candidate.sinkhorn.cost(a, b, cast, 0.6)
        assert type(actual) is float
        assert_equivalent(actual, reference.sinkhorn.cost(a, b, cast, 0.6), rtol=1e-5, atol=1e-8)
    few = (a, b, ground_cost, 0.04, 2, 0.0)
    assert_equivalent(candidate.sinkhorn.cost(*few), reference.sinkhorn.cost(*few), rtol=1e-6, atol=1e-10)


@pytest.mark.interface("sinkhorn.cost")
def test_cost_goes_from_the_best_plan_to_the_independent_one(candidate, rng):
    n = 5
    x, y = (np.arange(n) + rng.uniform(0.0, 0.6, n)) / 2, (np.arange(n) + rng.uniform(0.0, 0.6, n)) / 2 + 0.7
    ground_cost = (x[:, None] - y) ** 2
    uniform = np.full(n, 1.0 / n)
    best = float(np.mean((x - y) ** 2))  # on a line, sorted points are matched in order
    cold = candidate.sinkhorn.cost(uniform, uniform, ground_cost, 0.2, 2_000, 1e-6)
    assert type(cold) is float
    assert best - 1e-4 <= cold <= best + 0.2 * np.log(n)
    hot = candidate.sinkhorn.cost(uniform, uniform, ground_cost, 1e6)
    assert_equivalent(hot, float(ground_cost.mean()), rtol=1e-5)


@pytest.mark.interface("sinkhorn.cost")
def test_forbidden_pairs_cost_nothing_and_one_bin_leaves_no_choice(candidate, reference, rng):
    a, b, ground_cost = problem(rng, 4, 4)
    forbidden = ground_cost.copy()
    forbidden[0, 3] = forbidden[2, 1] = np.inf
    actual = assert_unmodified(candidate.sinkhorn.cost, a, b, forbidden, 0.5)
    assert_equivalent(actual, reference.sinkhorn.cost(a, b, forbidden, 0.5), rtol=1e-5, atol=1e-8)
    only = candidate.sinkhorn.cost([1.0], b, ground_cost[:1], 0.01)
    assert_equivalent(only, float(b @ ground_cost[0]), rtol=1e-6, atol=1e-9)
    far = rng.uniform(1.0, 9.0)  # a small mass at a large cost counts
    assert_equivalent(candidate.sinkhorn.cost([1.0], [1.0 - 1e-9, 1e-9], [[0.0, far * 1e9]], 1.0), far, rtol=1e-5)


@pytest.mark.interface("sinkhorn.divergence")
def test_divergence_is_the_authors_and_leaves_the_measures_alone(candidate, reference, rng):
    points = {"x": rng.uniform(-1.0, 1.0, (5, 3)), "y": rng.uniform(-0.5, 1.5, (7, 3))}
    weights = {"x": histogram(rng, 5), "y": histogram(rng, 7)}
    theirs = {name: candidate.measures.Measure(points[name], weights[name]) for name in points}
    ours = {name: reference.measures.Measure(points[name], weights[name]) for name in points}
    expected = reference.sinkhorn.divergence(ours["x"], ours["y"], 1.2)
    actual = candidate.sinkhorn.divergence(theirs["x"], theirs["y"], 1.2)
    assert type(actual) is float
    assert_equivalent(actual, expected, rtol=1e-5, atol=1e-7)
    assert_equivalent(candidate.sinkhorn.divergence(theirs["y"], theirs["x"], 1.2), expected, rtol=1e-5, atol=1e-7)
    again = histogram(rng, 5)  # other weights on the same points
    expected = reference.sinkhorn.divergence(ours["x"], reference.measures.Measure(points["x"], again), 1.2)
    actual = candidate.sinkhorn.divergence(theirs["x"], candidate.measures.Measure(points["x"], again), 1.2)
    assert_equivalent(actual, expected, rtol=1e-5, atol=1e-7)
    for name in points:
        assert_equivalent(theirs[name].points, points[name], rtol=0.0, atol=0.0)
        assert_equivalent(theirs[name].weights, weights[name], rtol=0.0, atol=0.0)


@pytest.mark.interface("sinkhorn.divergence")
def test_points_without_mass_and_distant_copies_change_nothing(candidate, reference, rng):
    """Entries of the plan between the copies underflow; 0 log 0 is 0."""
    x, y, a, b = rng.uniform(-1.0, 1.0, (4, 2)), rng.uniform(-0.5, 1.5, (5, 2)), histogram(rng, 4), histogram(rng, 5)
    measure = candidate.measures.Measure
    expected = reference.sinkhorn.divergence(reference.measures.Measure(x, a), reference.measures.Measure(y, b), 2.0)
    apart = [np.concatenate([points, points + 200.0]) for points in (x, y)]
    copies = [measure(*each) for each in zip(apart, (np.tile(a, 2) / 2.0, np.tile(b, 2) / 2.0), strict=True)]
    assert_equivalent(candidate.sinkhorn.divergence(*copies, 2.0), expected, rtol=1e-5, atol=1e-7)
    more = measure(np.append(y, [[0.0, 1.0]], axis=0), np.append(b, 0.0))
    assert_equivalent(candidate.sinkhorn.divergence(measure(x, a), more, 2.0), expected, rtol=1e-5, atol=1e-7)


@pytest.mark.interface("sinkhorn.divergence")
def test_divergence_is_zero_at_home_and_the_squared_shift_of_means_when_hot(candidate, rng):
    points, shift = rng.uniform(-1.0, 1.0, (6, 2)), rng.uniform(1.0, 2.0, 2)
    measure = candidate.measures.Measure
    here, there = measure(points, histogram(rng, 6)), measure.uniform(points + shift)
    means = here.weights @ points - (points + shift).mean(axis=0)
    hot = candidate.sinkhorn.divergence(here, there, 1e5)
    assert_equivalent(hot, float(means @ means), rtol=1e-3)
    assert_equivalent(candidate.sinkhorn.divergence(here, here, 1.2), 0.0, atol=1e-7)
    moved = candidate.sinkhorn.divergence(measure.uniform(points), there, 1.2)
    assert_equivalent(moved, float(shift @ shift), rtol=1e-5)  # a translation costs its squared length


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
