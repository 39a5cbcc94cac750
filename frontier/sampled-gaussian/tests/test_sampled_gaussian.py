"""Hidden tests of the task sampled-gaussian."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

TIGHT = {"rtol": 1e-9, "atol": 0.0}
CANARY = "recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85"


def on(name):
    return pytest.mark.interface(f"sgm.{name}")


def log_uniform(rng, low, high):
    return float(10.0 ** rng.uniform(math.log10(low), math.log10(high)))


def shuffled(rng, values):
    return rng.permutation(np.asarray(values, dtype=np.float64))


def event(code, kind="sampled-gaussian", **fields):
    return code.sgm.ledger.events.Event(kind=kind, **fields)


def read(guarantee):
    """A guarantee as plain numbers."""
    return guarantee.epsilon, guarantee.delta, guarantee.order


# divergence


def binomial(rate, sigma, order):
    """(8) without the terms that add up to 1."""
    total = math.fsum(
        math.comb(order, k) * rate**k * (1.0 - rate) ** (order - k) * math.expm1((k * k - k) / (2.0 * sigma * sigma))
        for k in range(2, order + 1)
    )
    return math.log1p(total) / (order - 1.0)


@on("divergence.divergence")
def test_whole_orders_have_the_binomial_sum(candidate, rng):
    orders = np.array([2, 3, 5, 8, 21])
    for rate in (1e-100, 3e-13, log_uniform(rng, 1e-9, 1e-2), rng.uniform(0.1, 0.9)):
        for sigma in (1.0, rng.uniform(1.0, 5.0), 1e4):
            found = candidate.sgm.divergence.divergence(rate, sigma, orders)
            assert_equivalent(found, np.array([binomial(rate, sigma, int(a)) for a in orders]), **TIGHT)


@on("divergence.divergence")
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_small_rates_have_the_leading_term(candidate, rng, direction):
    """At such rates, the next term is below the tolerance, and both directions agree."""
    for rate in (1e-100, 1e-60, log_uniform(rng, 1e-40, 1e-20)):
        for sigma in (1.0, log_uniform(rng, 2.0, 1e4)):
            orders = shuffled(rng, [1.0, 1.0 + 1e-9, 1.37, rng.uniform(2.0, 4.0), 9.5])
            expected = orders * rate**2 * math.expm1(1.0 / sigma**2) / 2.0
            found = candidate.sgm.divergence.divergence(rate, sigma, orders, direction)
            assert_equivalent(found, expected, **TIGHT)


@on("divergence.divergence")
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_large_rates_have_the_moments_of_the_theorem(candidate, rng, direction):
    """(6) as it is: where the moments are not close to 1, a plain sum is accurate."""
    for rate, sigma in ((0.5, 1.0), (rng.uniform(0.3, 0.7), rng.uniform(0.7, 1.2)), (rng.uniform(0.9, 0.99), 1.5)):
        orders = shuffled(rng, [1.5, *rng.uniform(2.0, 8.0, 2)])
        z = np.linspace(-45.0 * sigma, 45.0 * sigma, 4001)
        without = np.exp(-0.5 * (z / sigma) ** 2) / (sigma * math.sqrt(2.0 * math.pi)) * (z[1] - z[0])
        ratio = 1.0 - rate + rate * np.exp((2.0 * z - 1.0) / (2.0 * sigma**2))
        powers = orders if direction == "add" else 1.0 - orders
        moments = np.array([np.sum(without * ratio**power) for power in powers])
        found = candidate.sgm.divergence.divergence(rate, sigma, orders, direction)
        assert_equivalent(found, np.log(moments) / (orders - 1.0), **TIGHT)


@on("divergence.divergence")
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_real_orders_over_the_whole_range(candidate, reference, rng, direction):
    rates = ((1e-100, 1e-30), (1e-12, 1e-5), (1e-5, 1e-2), (1e-2, 0.3), (0.3, 0.999))
    sigmas = ((0.5, 0.7), (0.7, 2.0), (2.0, 20.0), (20.0, 1e4))
    first = int(rng.integers(4))
    for place in range(10):
        rate, sigma = log_uniform(rng, *rates[place % 5]), log_uniform(rng, *sigmas[(first + place) % 4])
        orders = 1.0 + 10.0 ** rng.uniform([-7.0, -2.0, 0.0, 1.0], [-2.0, 0.0, 1.0, 1.7])
        found = candidate.sgm.divergence.divergence(rate, sigma, orders, direction)
        assert_equivalent(found, reference.sgm.divergence.divergence(rate, sigma, orders, direction), **TIGHT)


@on("divergence.divergence")
@pytest.mark.parametrize("direction", ["add", "remove"])
def test_the_corners_of_the_range(candidate, reference, rng, direction):
    for rate in (1e-100, 1e-3, 0.5, 1.0 - 1e-12):
        for sigma in (0.5, 1e4):
            orders = np.array([1.0, 1.0 + 1e-12, 1.5, rng.uniform(100.0, 300.0), 512.0])
            found = candidate.sgm.divergence.divergence(rate, sigma, orders, direction)
            assert_equivalent(found, reference.sgm.divergence.divergence(rate, sigma, orders, direction), **TIGHT)


@on("divergence.divergence")
def test_rates_and_multipliers_at_their_ends(candidate, rng):
    call = candidate.sgm.divergence.divergence
    orders, sigma = shuffled(rng, [1.0, 1.5, 2.0, 40.0]), rng.uniform(0.4, 3.0)
    for direction in ("add", "remove"):
        expected = orders / (2.0 * sigma**2)
        assert_equivalent(call(1.0, sigma, orders, direction), expected, check_dtype=True, **TIGHT)
        nothing = np.zeros(4)
        assert_equivalent(call(0.0, sigma, orders, direction), nothing, rtol=0.0, atol=0.0, check_dtype=True)
        assert_equivalent(call(0, 0, orders, direction), nothing, rtol=0.0, atol=0.0)
        # (6) without noise: with the example, an outcome that is impossible without it; of the others, the share 1 - q is left
        without_noise = np.full(4, np.inf if direction == "add" else -math.log1p(-0.3))
        assert_equivalent(call(0.3, 0.0, orders, direction), without_noise, **TIGHT)
        assert_equivalent(call(1.0, 0.0, orders.tolist(), direction), np.full(4, np.inf))
    assert_equivalent(assert_unmodified(call, 1, 1, [2, 3]), np.array([1.0, 1.5]), check_dtype=True)


@on("divergence.divergence")
def test_arguments_out_of_range(candidate, rng):
    call = candidate.sgm.divergence.divergence
    assert call(0.5, 1.0, [2.0]).shape == (1,)
    bad = (
        (-0.1, 1.0, [2.0]),
        (1.1, 1.0, [2.0]),
        (0.5, -1.0, [2.0]),
        (0.0, -1.0, [2.0]),
        (0.5, 1.0, [2.0, 0.5]),
        (0.5, 1.0, [np.inf]),
        (0.0, 1.0, [0.5]),
        (0.5, 1.0, [2.0], "replace"),
    )
    for arguments in bad:
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            call(*arguments)


# bound


def room(rate, sigma, order):
    """What (10) and (11) leave, with the L that the stored results have."""
    log_term = math.log1p(1.0 / (rate * (order - 1.0)))
    first = sigma**2 * log_term / 2.0 - 2.0 * math.log(sigma) - order
    upper = sigma**2 * log_term**2 / 2.0 - math.log(5.0) - 2.0 * math.log(sigma)
    return min(first, upper / (log_term + math.log(rate * order) + 1.0 / (2.0 * sigma**2)) - order)


def regimes(rng):
    """Rates and multipliers at which one or the other condition decides."""
    yield 0.2, 4.0
    yield 1e-100, 1e4
    yield 1e-100, 4.0
    yield 0.2, 1e4
    for _ in range(6):
        yield log_uniform(rng, 1e-6, 0.2), log_uniform(rng, 4.0, 200.0)


@on("bound.largest_order")
def test_the_largest_order_is_where_a_condition_ends(candidate, rng):
    for rate, sigma in regimes(rng):
        order = candidate.sgm.bound.largest_order(rate, sigma)
        assert type(order) is float
        assert room(rate, sigma, order * (1.0 - 1.01e-9)) > 0.0 > room(rate, sigma, order * (1.0 + 1.01e-9))


@on("bound.largest_order")
def test_no_order_outside_the_theorem(candidate, rng):
    call = candidate.sgm.bound.largest_order
    assert call(0.2 + 1e-12, 5.0) is None
    assert call(0.1, 4.0 - 1e-12) is None
    assert call(0.1, 0.0) is None
    assert call(0.2, 4.0) > 1.0
    for arguments in ((-0.1, 5.0), (1.5, 5.0), (0.1, -5.0)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            call(*arguments)


@on("bound.curve")
def test_the_closed_form_ends_with_its_conditions(candidate, rng):
    for rate, sigma in regimes(rng):
        low, high = 1.0 + 1e-6, 1e13
        for _ in range(200):
            middle = (low + high) / 2.0
            low, high = (middle, high) if room(rate, sigma, middle) > 0.0 else (low, middle)
        orders = shuffled(rng, [1.0 + 1e-9, 1.5, 0.5 + low / 2.0, low * (1.0 - 1e-8), low * (1.0 + 1e-8), 2.0 * low])
        expected = np.where(orders < low, 2.0 * rate**2 * orders / sigma**2, np.inf)
        found = assert_unmodified(candidate.sgm.bound.curve, rate, sigma, orders)
        assert_equivalent(found, expected, rtol=1e-12, atol=0.0, check_dtype=True)


@on("bound.curve")
def test_no_closed_form_outside_the_theorem(candidate, rng):
    call, sigma = candidate.sgm.bound.curve, rng.uniform(4.0, 6.0)
    assert_equivalent(call(0.2, 4.0, [1, 2]), np.array([np.inf, 0.01]), check_dtype=True)
    for rate, other in ((0.21, sigma), (0.1, 3.99), (1.0, sigma), (0.1, 0.0)):
        assert_equivalent(call(rate, other, [1.0, 2.0, 3.0]), np.full(3, np.inf))
    for arguments in ((-0.1, 5.0, [2.0]), (0.1, -5.0, [2.0]), (0.1, 5.0, [0.5])):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            call(*arguments)


# convert


@on("convert.epsilon")
def test_epsilon_is_the_least_of_all_orders(candidate, rng):
    for delta in (1e-310, 1e-200, log_uniform(rng, 1e-12, 1e-3), 0.5, 1.0 - 2.0**-40):
        orders = shuffled(rng, [1.0, *rng.uniform(1.01, 60.0, 6)])
        values = orders * log_uniform(rng, 1e-3, 1.0)
        values[orders > 30.0] = np.inf
        totals = [v - math.log(delta) / (a - 1.0) if a > 1.0 else math.inf for a, v in zip(orders, values, strict=True)]
        best = int(np.argmin(totals))
        found = read(assert_unmodified(candidate.sgm.convert.epsilon, orders, values, delta))
        if math.isfinite(totals[best]):
            assert_equivalent(found, (totals[best], delta, float(orders[best])), rtol=1e-12, atol=0.0)
    listed = read(candidate.sgm.convert.epsilon([3, 2], [0, 0], 0.5))
    assert_equivalent(listed, (math.log(2.0) / 2.0, 0.5, 3.0), rtol=1e-12)
    assert [type(each) for each in listed] == [float, float, float]


@on("convert.epsilon")
def test_no_order_proves_an_epsilon(candidate, rng):
    delta = rng.uniform(0.1, 0.9)
    for orders, values in (([1.0], [0.0]), ([2.0, 5.0], [np.inf, np.inf]), ([1.0, 3.0], [0.1, np.inf])):
        assert read(candidate.sgm.convert.epsilon(orders, values, delta)) == (math.inf, delta, None)
    for arguments in (([2.0], [1.0], 0.0), ([2.0], [1.0], 1.0), ([0.5], [1.0], delta)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.sgm.convert.epsilon(*arguments)


@on("convert.delta")
def test_delta_is_the_least_of_all_orders(candidate, rng):
    for scale in (1e-3, 0.1, 1.0):
        orders = shuffled(rng, [1.0, rng.uniform(2.0, 9.0), *rng.uniform(1.01, 60.0, 6)])
        values = orders * scale * rng.uniform(0.5, 1.0)
        values[orders > 40.0] = np.inf
        epsilon = float(np.min(values[orders > 1.0])) + rng.uniform(2.0, 10.0)  # order 1 proves no delta below 1
        exponents = [(a - 1.0) * (v - epsilon) if a > 1.0 else 0.0 for a, v in zip(orders, values, strict=True)]
        best = int(np.argmin(exponents))
        found = read(assert_unmodified(candidate.sgm.convert.delta, orders, values, epsilon))
        assert [type(each) for each in found] == [float, float, float]
        assert_equivalent(found, (epsilon, math.exp(exponents[best]), float(orders[best])), **TIGHT)


@on("convert.delta")
def test_tiny_deltas_and_none(candidate, rng):
    call = candidate.sgm.convert.delta
    value = rng.uniform(0.1, 0.9)
    assert_equivalent(
        read(call([64.0, 2.0], [value, 1.0], 11.0)), (11.0, math.exp(63.0 * (value - 11.0)), 64.0), **TIGHT
    )
    assert read(call([2.0, 8.0], [3.0, np.inf], 2.5)) == (2.5, 1.0, None)
    assert read(call([2.0, 8.0], [3.0, np.inf], 3.0)) == (3.0, 1.0, None)
    assert read(call([1.0], [0.0], 1.0)) == (1.0, 1.0, None)
    for orders in ([1.0, 4.0], [4.0], [1.0]):
        assert read(call(orders, [np.inf] * len(orders), 1.0)) == (1.0, 1.0, None)
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
        call([0.5], [0.0], 1.0)


@on("convert.delta")
def test_the_smallest_of_the_orders_that_prove_the_same(candidate, rng):
    """(order - 1) (value - epsilon) is -12 for each of them, without rounding."""
    orders = shuffled(rng, [2.0, 3.0, 4.0, 5.0])
    values = 20.0 - 12.0 / (orders - 1.0)
    found = read(candidate.sgm.convert.delta(orders, values, 20.0))
    assert_equivalent(found, (20.0, math.exp(-12.0), 2.0), **TIGHT)


# compose


class Kernel:
    """A divergence that is easy to know, and what it was asked."""

    def __init__(self):
        self.asked = []

    def __call__(self, rate, sigma, orders):
        self.asked.append((float(rate), float(sigma), len(orders)))
        return self.value(rate, sigma, orders)

    @staticmethod
    def value(rate, sigma, orders):
        orders = np.asarray(orders, dtype=np.float64)
        return orders * rate**2 / sigma**2 if sigma else np.full(orders.shape, np.inf)


@on("accountant.compose")
def test_multipliers_are_relative_to_the_clip(candidate, rng):
    orders, kernel = shuffled(rng, [1.0, 1.5, 2.0, 7.25, 30.0]), Kernel()
    rate, first = rng.uniform(0.01, 0.5, 2)
    clip = float(2.0 ** rng.integers(-4, -1))
    noise, plain = rng.uniform(1.0, 3.0), rng.uniform(20.0, 50.0)
    events = [
        event(candidate, rate=rate, noise=noise, clip=clip, count=3),
        event(candidate, kind="gaussian", noise=plain, clip=clip, count=4),
        event(candidate, rate=first, noise=noise, clip=2.0 * clip, count=2),
        event(candidate, rate=rate, noise=2.0 * noise, clip=2.0 * clip, count=10),
    ]
    expected = 13 * kernel.value(rate, noise / clip, orders) + 2 * kernel.value(first, noise / clip / 2.0, orders)
    expected += 4 * orders * clip**2 / (2.0 * plain**2)
    found = candidate.sgm.accountant.compose(events, orders, kernel)
    assert_equivalent(found, expected, check_dtype=True, **TIGHT)
    assert sorted(kernel.asked) == sorted([(rate, noise / clip, 5), (first, noise / clip / 2.0, 5)])
    assert_equivalent(candidate.sgm.accountant.compose([], [2, 3], kernel), np.zeros(2), check_dtype=True)


@on("accountant.compose")
def test_log_moments_become_divergences(candidate, rng):
    """A divergence of moments is that of the next order above; above the last one nothing is known."""
    orders = np.array([1.0, 1.5, 2.0, 2.5, 3.0, 5.0, 5.5, 9.0])
    kernel, count = Kernel(), int(rng.integers(2, 9))
    one, two, four, eight = rng.uniform(0.01, 0.02, 4) * [1.0, 2.0, 4.0, 8.0]
    curve = ((4.0, four), (1.0, one), (8.0, eight), (2.0, two))
    single = np.array([one, one, one, two / 2.0, two / 2.0, four / 4.0, eight / 8.0, eight / 8.0])
    old = event(candidate, kind="moments", rate=0.1, noise=1.0, count=count, curve=curve)
    found = candidate.sgm.accountant.compose([old], orders, kernel)
    assert_equivalent(found, count * single, **TIGHT)
    assert kernel.asked == []
    table = event(candidate, kind="tabulated", curve=((3.0, one), (6.0, two)), count=2)
    found = candidate.sgm.accountant.compose([table, old], [6.0, 9.5, 2.0, 3.0], kernel)
    expected = [2 * two + count * eight / 8.0, np.inf, 2 * one + count * one, 2 * one + count * two / 2.0]
    assert_equivalent(found, np.array(expected), **TIGHT)


@on("accountant.compose")
def test_plans_cost_nothing(candidate, rng):
    orders, kernel = shuffled(rng, [1.0, 3.0, 8.0]), Kernel()
    rate = rng.uniform(0.1, 0.5)
    plans = [
        event(candidate, rate=rate, noise=0.0, count=0),
        event(candidate, rate=rate, noise=3.0, count=0),
        event(candidate, kind="gaussian", noise=0.0, count=0),
        event(candidate, kind="moments", curve=((1.0, 0.5),), count=0),
    ]
    assert_equivalent(candidate.sgm.accountant.compose(plans, orders, kernel), np.zeros(3), rtol=0.0, atol=0.0)
    assert kernel.asked == []
    done = event(candidate, rate=rate, noise=2.0, clip=0.5)
    found = candidate.sgm.accountant.compose([*plans, done], orders, kernel)
    assert_equivalent(found, kernel.value(rate, 4.0, orders), **TIGHT)
    assert kernel.asked == [(rate, 4.0, 3)]
    bare = [done, event(candidate, rate=rate, noise=0.0, count=2)]
    assert_equivalent(candidate.sgm.accountant.compose(bare, orders, kernel), np.full(3, np.inf))


@on("accountant.compose")
def test_kinds_and_orders_that_are_not_there(candidate, rng):
    kernel = Kernel()
    fine = event(candidate, kind="response", rate=0.6, count=1)
    expected = math.log(0.6**2 / 0.4 + 0.4**2 / 0.6)
    assert_equivalent(candidate.sgm.accountant.compose([fine], [2.0], kernel), np.array([expected]), **TIGHT)
    for events, orders in (([event(candidate, kind="telepathy")], [2.0]), ([fine], [0.5]), ([], [0.5])):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.sgm.accountant.compose(events, orders, kernel)


# best_order


class Counted:
    """A curve, and at how many orders it was evaluated."""

    def __init__(self, function):
        self.function, self.orders = function, []

    def __call__(self, orders):
        assert isinstance(orders, np.ndarray)
        assert orders.ndim == 1
        self.orders.extend(orders.tolist())
        with np.errstate(over="ignore", invalid="ignore"):
            return self.function(orders)


@on("accountant.best_order")
def test_the_best_order_of_a_gaussian(candidate, rng):
    """The least of c a + ln(1/delta) / (a - 1) is at a = 1 + sqrt(ln(1/delta) / c)."""
    for place in (0.005, 0.3, 7.0, 60.0, 400.0):
        best, delta = 1.0 + place * rng.uniform(0.8, 1.25), log_uniform(rng, 1e-12, 1e-2)
        slope = -math.log(delta) / (best - 1.0) ** 2
        curve = Counted(lambda orders, slope=slope: slope * orders)
        found = candidate.sgm.accountant.best_order(curve, delta)
        least = slope - 2.0 * math.log(delta) / (best - 1.0)
        assert_equivalent(found.epsilon, least, **TIGHT)
        assert_equivalent(found.order, best, rtol=1e-3)
        assert type(found.epsilon) is type(found.order) is float
        assert found.delta == delta
        assert len(curve.orders) <= 64
        assert min(curve.orders) >= 1.0 + 2.0**-10 - 1e-12
        assert max(curve.orders) <= 512.0 + 1e-9


@on("accountant.best_order")
def test_the_best_order_is_at_an_end(candidate, rng):
    delta = rng.uniform(0.1, 0.5)
    for slope, order in ((1e9, 1.0 + 2.0**-10), (1e-9, 512.0)):
        curve = Counted(lambda orders, slope=slope: slope * orders)
        found = candidate.sgm.accountant.best_order(curve, delta)
        assert_equivalent(found.epsilon, slope * order - math.log(delta) / (order - 1.0), **TIGHT)
        assert len(curve.orders) <= 64


@on("accountant.best_order")
def test_curves_that_are_infinite_from_some_order_on(candidate, rng):
    for best, end in ((1.05, 1.2), (3.0, 4.0), (20.0, 300.0), (1.004, 1.01)):
        delta = log_uniform(rng, 1e-9, 1e-3)
        slope = -math.log(delta) / (best - 1.0) ** 2
        edge = 1.0 + (end - 1.0) * rng.uniform(0.9, 1.0)
        curve = Counted(lambda orders, slope=slope, edge=edge: np.where(orders < edge, slope * orders, np.inf))
        found = candidate.sgm.accountant.best_order(curve, delta)
        assert_equivalent(found.epsilon, slope - 2.0 * math.log(delta) / (best - 1.0), **TIGHT)
        assert len(curve.orders) <= 64
    nothing = candidate.sgm.accountant.best_order(Counted(lambda orders: np.full(orders.shape, np.inf)), delta)
    assert read(nothing) == (math.inf, delta, None)
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
        candidate.sgm.accountant.best_order(curve, 1.0)


# largest_steps


def proved(orders, values, steps, delta):
    """Epsilon of so many steps."""
    return min(steps * v - math.log(delta) / (a - 1.0) for a, v in zip(orders, values, strict=True) if a > 1.0)


@on("calibrate.largest_steps")
def test_one_step_more_is_too_much(candidate, rng):
    for scale in (1e-13, 1e-8, 1e-4, 0.02):
        orders = shuffled(rng, [1.0, *rng.uniform(1.1, 80.0, 5)])
        values = scale * orders * rng.uniform(0.5, 1.0)
        delta = log_uniform(rng, 1e-9, 1e-3)
        target = 1.5 * proved(orders, values, 1, delta) + rng.uniform(0.5, 1.0)
        found = assert_unmodified(candidate.sgm.calibrate.largest_steps, orders, values, delta, target)
        assert type(found) is int
        assert proved(orders, values, found, delta) <= target * (1.0 + 3e-16)
        assert proved(orders, values, found + 1, delta) > target * (1.0 - 3e-16)


@on("calibrate.largest_steps")
def test_budgets_that_are_spent_to_the_last_digit(candidate, rng):
    """The target is epsilon of a whole number of steps, with the rounding that (2) has."""
    for _ in range(40):
        order, value, steps = float(rng.integers(2, 30)), rng.uniform(0.01, 0.2), int(rng.integers(3, 2000))
        target = float(np.float64(steps) * value - np.log(2.0**-20) / (order - 1.0))
        while np.float64(steps + 1) * value - np.log(2.0**-20) / (order - 1.0) <= target:
            steps += 1
        assert candidate.sgm.calibrate.largest_steps([order], [value], 2.0**-20, target) == steps


@on("calibrate.largest_steps")
def test_budgets_for_nothing_and_for_everything(candidate, rng):
    call, delta = candidate.sgm.calibrate.largest_steps, log_uniform(rng, 1e-9, 1e-3)
    least = -math.log(delta) / 9.0
    assert call([10.0, 2.0], [0.1, 0.1], delta, 0.9 * least) == 0
    assert call([10.0, 2.0], [0.1, 0.1], delta, least + 0.05) == 0
    assert call([10.0, 2.0], [0.1, np.inf], delta, least + 0.25) == 2
    assert call([10.0, 2.0], [np.inf, np.inf], delta, 2.0 * least) == 0
    assert call([1.0], [0.1], delta, 100.0) == 0
    assert call([10, 2], [0.0, 0.1], delta, least + 0.05) is None
    assert call([10.0, 2.0, 1.0], [0.5, 0.0, 0.0], delta, least + 5.2) == 10 if 8.0 * least > 5.2 else True
    assert call([10.0, 1.0], [0.0, 0.0], delta, 0.9 * least) == 0
    for arguments in (([2.0], [1.0], 1.0, 3.0), ([0.5], [1.0], 0.1, 3.0)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            call(*arguments)


# smallest_noise


class Ladder:
    """Values that fall as the noise grows, and how often they were asked for."""

    def __init__(self, rng, orders, steps, hump):
        self.orders, self.steps, self.count = orders, steps, 0
        self.rate = log_uniform(rng, 1e-3, 0.5)
        self.kinks = rng.uniform(0.5, 2.0, len(orders)) if hump else np.ones(len(orders))

    def __call__(self, noise):
        self.count += 1
        growth = np.expm1(min(1.0 / noise**2, 600.0)) * self.rate**2 + 1e-3 / noise**2
        return self.steps * self.orders * self.kinks * growth


@on("calibrate.smallest_noise")
def test_the_noise_is_enough_and_hardly_more(candidate, rng):
    for case in range(8):
        orders = shuffled(rng, [1.0, *(1.0 + np.geomspace(0.05, 500.0, 30))])
        curve = Ladder(rng, orders, log_uniform(rng, 1.0, 1e4), case % 2 == 1)
        delta = log_uniform(rng, 1e-10, 1e-3)
        target = -math.log(delta) / 500.0 * (1.0 + log_uniform(rng, 0.3, 300.0))
        noise = candidate.sgm.calibrate.smallest_noise(curve, orders, delta, target)
        assert type(noise) is float
        assert curve.count <= 30
        assert proved(orders, curve(noise), 1, delta) <= target * (1.0 + 1e-15)
        assert proved(orders, curve(noise * (1.0 - 1.1e-11)), 1, delta) > target


@on("calibrate.smallest_noise")
def test_noise_at_the_ends_of_its_range(candidate, rng):
    call, orders, delta = candidate.sgm.calibrate.smallest_noise, [2.0, 11.0], 1e-5
    least = -math.log(delta) / 10.0
    cheap = rng.uniform(1e-9, 1e-6)
    assert call(lambda noise: [cheap / noise, cheap / noise], orders, delta, least + 1.0) == 2.0**-7
    exact = [1e-3, 1e-3]
    assert call(lambda _: exact, orders, delta, least + 1.0) == 2.0**-7
    wide = call(lambda noise: [1e5 / noise, 1e5 / noise], orders, delta, least + 0.1)
    assert_equivalent(wide, 1e6, rtol=1e-10)
    steps = call(lambda noise: [np.inf, 0.5 if noise >= 3.0 else np.inf], orders, delta, least + 1.0)
    assert 3.0 <= steps <= 3.0 * (1.0 + 1.1e-11)
    for target in (0.9 * least, least + 0.05):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            call(lambda noise: [1e6 / noise, 1e5 / noise], orders, delta, target)
    with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
        call(lambda _: exact, orders, 0.0, least + 1.0)


# sample


@on("training.sample")
def test_every_example_takes_part_by_itself(candidate, rng):
    seed = int(rng.integers(1 << 30))
    for size, rate in ((400, 0.1), (1, 0.5), (50, 0.99), (300, 0.003)):
        ours, theirs = np.random.default_rng(seed), np.random.default_rng(seed)
        uniforms = ours.random(size)
        found = candidate.sgm.training.sample(theirs, size, rate)
        assert found == [index for index in range(size) if uniforms[index] < rate]
        assert {type(index) for index in found} <= {int}


@on("training.sample")
def test_samples_of_everything_and_nothing(candidate, rng):
    call = candidate.sgm.training.sample
    assert call(rng, 30, 1.0) == list(range(30))
    assert call(rng, 30, 0.0) == []
    assert call(rng, 0, 0.5) == []
    for rate in (-0.1, 1.1):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            call(rng, 30, rate)


# clip


def gradient(rng, scale=1.0):
    return {
        "weight": scale * rng.normal(size=(3, 4)),
        "bias": scale * rng.normal(size=2),
        "gain": scale * rng.normal(size=()),
    }


def norm(gradients):
    return math.hypot(*np.concatenate([np.ravel(each) for each in gradients.values()]))


@on("training.clip")
def test_all_arrays_are_clipped_together(candidate, rng):
    for scale in (1e-250, 1e-170, 1e-3, 1.0, 1e5, 1e170, 1e300):
        large, share = gradient(rng, scale), rng.uniform(0.1, 0.9)
        bound = share * norm(large)
        found = assert_unmodified(candidate.sgm.training.clip, large, bound)
        expected = {name: value * share for name, value in large.items()}
        assert_equivalent(found, expected, rtol=1e-12, atol=0.0, check_dtype=True)
        unchanged = candidate.sgm.training.clip(large, bound / share * 1.001)
        assert_equivalent(unchanged, large, rtol=0.0, atol=0.0)
    found = candidate.sgm.training.clip({"a": np.array([3e200, 0.0]), "b": np.array([4e200])}, 1e-100)
    assert_equivalent(found, {"a": np.array([6e-101, 0.0]), "b": np.array([8e-101])}, rtol=1e-12, atol=0.0)
    tiny = {"a": np.array([3e-200, 0.0]), "b": np.array([4e-200])}
    assert_equivalent(candidate.sgm.training.clip(tiny, 1e200), tiny, rtol=0.0, atol=0.0)


@on("training.clip")
def test_gradients_that_are_not_finite_or_empty(candidate, rng):
    for bad in (np.nan, np.inf, -np.inf):
        broken = gradient(rng)
        broken["weight"][1, 2] = bad
        zeros = {name: np.zeros(np.shape(value)) for name, value in broken.items()}
        found = candidate.sgm.training.clip(broken, rng.uniform(0.5, 2.0))
        assert_equivalent(found, zeros, rtol=0.0, atol=0.0, check_dtype=True)
    nothing = {"a": np.zeros(3), "b": np.zeros((0, 2))}
    assert_equivalent(candidate.sgm.training.clip(nothing, 0.5), nothing, rtol=0.0, atol=0.0)
    for bound in (0.0, -1.0):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.sgm.training.clip(gradient(rng), bound)


# step


class Problem:
    """Gradients that depend on the parameters and the example, and what was asked."""

    def __init__(self, rng, size):
        self.rows, self.asked = rng.normal(size=(size, 3)), []

    def __call__(self, parameters, index):
        self.asked.append(index)
        error = float(self.rows[index] @ parameters["weight"] + parameters["bias"][0] - 1.0)
        return {"weight": error * self.rows[index], "bias": np.array([error])}

    @staticmethod
    def start(rng):
        return {"weight": rng.normal(size=3), "bias": rng.normal(size=1)}


@on("training.step")
@pytest.mark.parametrize("noise", [0.0, 1.7])
def test_steps_are_sums_over_the_expected_lot(candidate, rng, noise):
    size, lot, clip, rate = 40, 8, rng.uniform(0.5, 1.5), rng.uniform(0.1, 1.0)
    problem, seed = Problem(rng, size), int(rng.integers(1 << 30))
    settings = candidate.sgm.settings.Settings(size=size, lot=lot, noise=noise, clip=clip, learning_rate=rate)
    parameters = problem.start(rng)
    stream = np.random.default_rng(seed)
    chosen = [index for index, uniform in enumerate(stream.random(size)) if uniform < lot / size]
    sums = {"bias": np.zeros(1), "weight": np.zeros(3)}
    for index in chosen:
        part = problem(parameters, index)
        factor = min(1.0, clip / norm(part))
        for name in sums:
            sums[name] += factor * part[name]
    for name in sums:
        sums[name] += noise * clip * stream.normal(size=sums[name].shape)
    problem.asked.clear()
    expected = {name: parameters[name] - rate * sums[name] / lot for name in parameters}
    call = candidate.sgm.training.step
    found, done = assert_unmodified(call, parameters, problem, settings, np.random.default_rng(seed))
    assert_equivalent(found, expected, rtol=1e-9, atol=1e-12)
    assert problem.asked == chosen
    spent = done.kind, done.rate, done.noise, done.clip, done.count, tuple(done.curve)
    assert_equivalent(spent, ("sampled-gaussian", lot / size, noise * clip, clip, 1, ()), rtol=1e-12)


@on("training.step")
def test_lots_without_examples_still_have_noise(candidate, rng):
    problem, seed = Problem(rng, 3), 0
    while np.any(np.random.default_rng(seed).random(3) < 0.01):
        seed += 1
    settings = candidate.sgm.settings.Settings(size=3, lot=0.03, noise=2.0, clip=0.5, learning_rate=0.1)
    parameters, stream = problem.start(rng), np.random.default_rng(seed)
    stream.random(3)
    noise = {"bias": stream.normal(size=1), "weight": stream.normal(size=3)}
    found, _ = candidate.sgm.training.step(parameters, problem, settings, np.random.default_rng(seed))
    expected = {name: parameters[name] - 0.1 * noise[name] / 0.03 for name in parameters}
    assert_equivalent(found, expected, rtol=1e-9, atol=1e-12)
    assert problem.asked == []


@on("training.step")
def test_the_study_gives_what_the_authors_have(candidate, reference, rng):
    clip, seed = float(rng.uniform(0.3, 2.0)), int(rng.integers(1 << 30))
    for noise in (0.0, float(rng.uniform(1.0, 4.0))):
        found = candidate.sgm.experiments.utility.utility(noise, clip, seed)
        expected = reference.sgm.experiments.utility.utility(noise, clip, seed)
        assert_equivalent(found, expected, rtol=1e-6)


@on("training.step")
def test_the_sampled_noise_has_the_sensitivity(candidate, rng):
    """An example with an infinite gradient adds nothing, in whatever step it is."""
    settings = candidate.sgm.settings.Settings(size=4, lot=4, noise=0.0, clip=1.0, learning_rate=1.0)
    large = float(rng.uniform(3.0, 9.0))
    sizes = (large, np.inf, -large, 1.0 / large)
    found, _ = candidate.sgm.training.step(
        {"a": np.zeros(2)}, lambda _, index: {"a": np.array([0.0, sizes[index]])}, settings, rng
    )
    assert_equivalent(found, {"a": np.array([0.0, -0.25 / large])}, rtol=1e-9, atol=1e-15)


# table


def rows_of(code, *rows):
    return [code.sgm.stored.published.Row(*row) for row in rows]


@on("report.table")
def test_tables_round_up_and_count_parts_of_steps(candidate, rng):
    """Epsilon is steps times the value, plus ln 2."""
    kernel, rows, expected = Kernel(), [], []
    for _ in range(12):
        size, lot, epochs = int(rng.integers(500, 900)), int(rng.integers(20, 60)), int(rng.integers(1, 9))
        noise = float(2.0 ** rng.integers(-1, 3))
        steps = math.ceil(epochs * size / lot) if (epochs * size) % lot else epochs * size // lot
        epsilon = steps * 2.0 * (lot / size) ** 2 / noise**2 + math.log(2.0)
        if abs(epsilon * 100.0 - round(epsilon * 100.0)) < 1e-6:
            continue
        rows.append((size, lot, epochs, noise, 0.5))
        expected.append(f"{math.ceil(epsilon * 100.0) / 100.0:.2f}")
    found = candidate.sgm.report.table(rows_of(candidate, *rows), np.array([2.0]), kernel)
    assert found == expected


@on("report.table")
def test_tables_ask_the_kernel_once_for_each_setting(candidate, rng):
    kernel, orders = Kernel(), [2.0, 3.0]
    rows = [(1000, 10, 1, 2.0, 0.5), (2000, 20, 5, 2.0, 0.25), (1000, 10, 7, 4.0, 0.5), (1000, 10, 9, 2.0, 0.125)]
    rows = [rows[place] for place in rng.permutation(4)]
    found = candidate.sgm.report.table(rows_of(candidate, *rows), orders, kernel)
    assert sorted(kernel.asked) == [(0.01, 2.0, 2), (0.01, 4.0, 2)]
    for row, text in zip(rows, found, strict=True):
        size, lot, epochs, noise, delta = row
        values = epochs * size // lot * kernel.value(lot / size, noise, orders)
        assert text == f"{math.ceil(proved(orders, values, 1, delta) * 100.0) / 100.0:.2f}"
    assert candidate.sgm.report.table([], orders, kernel) == []


@on("report.table")
def test_the_published_table(candidate, reference, rng):
    experiment = candidate.sgm.experiments.published.compare()
    assert [old for _, old, _ in experiment] == [new for _, _, new in experiment]
    assert len(experiment) == 8
    rows = [
        (
            int(rng.integers(5000, 60000)),
            int(rng.integers(50, 600)),
            int(rng.integers(5, 60)),
            rng.uniform(0.8, 3.0),
            1e-5,
        )
        for _ in range(3)
    ]
    rows.append((5000, 50, 2, 0.0, 1e-5))
    orders = np.arange(2.0, 34.0)
    found = candidate.sgm.report.table(rows_of(candidate, *rows), orders, candidate.sgm.divergence.divergence)
    code = reference.sgm
    assert found == code.report.table(rows_of(reference, *rows), orders, code.divergence.divergence)
    assert found[-1] == "inf"


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
