"""Hidden tests of the task cmmd."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

unit = pytest.mark.interface("metrics.cmmd.unit_rows")
kernel = pytest.mark.interface("metrics.cmmd.excess_kernel")
mmd = pytest.mark.interface("metrics.cmmd.squared_mmd")
metric = pytest.mark.interface("metrics.cmmd.cmmd")

SIGMA, SCALE = 10.0, 1000.0


def excess(first, second, sigma):
    """Pair by pair, with numbers of Python."""
    return np.array(
        [[math.expm1(-0.5 * math.fsum(((a - b) / sigma) ** 2 for a, b in zip(x, y, strict=True))) for y in second] for x in first]
    )  # fmt: skip


def estimates(first, second, sigma):
    """Both estimates by equations (3) and (4), less the ones."""
    m, n = len(first), len(second)
    own, other, both = (excess(*pair, sigma) for pair in ((first, first), (second, second), (first, second)))
    biased = own.sum() / m**2 + other.sum() / n**2 - 2.0 * both.mean()
    unbiased = sum(
        sum(each[i, j] for i in range(size) for j in range(size) if i != j) / (size * (size - 1))
        for each, size in ((own, m), (other, n))
    )
    return {"biased": biased, "unbiased": unbiased - 2.0 * both.mean()}


def sets(rng, m=7, n=10, width=4, apart=2.0):
    """Rows around two different means."""
    return rng.normal(size=(m, width)), rng.normal(size=(n, width)) + apart * rng.choice([-1.0, 1.0], width)


# unit_rows


@unit
def test_unit_rows_have_length_one_and_their_direction(candidate, rng):
    rows = rng.normal(size=(6, 5)) * rng.uniform(0.1, 30.0, (6, 1))
    rows[4] = -np.abs(rows[4])  # the largest number is not the largest in size
    expected = np.array([[each / math.hypot(*row) for each in row] for row in rows.tolist()])
    found = assert_unmodified(candidate.metrics.cmmd.unit_rows, rows)
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)
    assert_equivalent(candidate.metrics.cmmd.unit_rows(rows.tolist()), expected, rtol=1e-9, check_dtype=True)


@unit
def test_unit_rows_of_any_length(candidate, rng):
    rows = rng.uniform(0.5, 2.0, (4, 3)) * rng.choice([-1.0, 1.0], (4, 3))
    rows[0, 1] = 0.0
    expected = candidate.metrics.cmmd.unit_rows(rows)
    np.testing.assert_allclose(np.sum(expected**2, axis=1), np.ones(4), rtol=1e-9)
    for sizes in (np.array([1e-300, 1e300, 1e160, 1e-170]), np.full(4, 1e299), np.full(4, 1e-299)):
        found = candidate.metrics.cmmd.unit_rows(rows * sizes[:, None] * 0.5)
        np.testing.assert_allclose(found, expected, rtol=1e-9)


@unit
def test_unit_rows_of_other_types_and_of_nothing(candidate, rng):
    run = candidate.metrics.cmmd.unit_rows
    whole = rng.integers(100, 255, (3, 40))
    expected = run(whole.astype(np.float64))
    for kind in (np.uint8, np.float16, np.int64):
        assert_equivalent(run(whole.astype(kind)), expected, rtol=1e-9, check_dtype=True)
    assert run(np.zeros((0, 4))).shape == (0, 4)
    for place in range(3):
        with pytest.raises(ValueError):  # noqa: PT011
            run(np.where(np.arange(3)[:, None] == place, 0, whole))


# excess_kernel


@kernel
def test_excess_is_the_kernel_less_one(candidate, rng):
    first, second = sets(rng, 4, 6, 3)
    sigma = rng.uniform(1.5, 4.0)
    found = assert_unmodified(candidate.metrics.cmmd.excess_kernel, first, second, sigma)
    assert_equivalent(found, excess(first, second, sigma), rtol=1e-9, check_dtype=True)


@kernel
def test_excess_where_the_kernel_is_close_to_one(candidate, rng):
    """For a wide kernel, for rows close to each other, and for rows far from the origin."""
    run = candidate.metrics.cmmd.excess_kernel
    first, second = rng.normal(size=(3, 5)), rng.normal(size=(4, 5))
    far = 1e6 * rng.uniform(1.0, 2.0, 5)
    for one, other, sigma in (
        (first, second, 1e9),
        (first, first + 1e-7 * second[:3], 1.0),
        (first, first + 1e-11 * second[:3], 3.0),  # quotients by sigma are rounded, differences of these rows are not
        (first + far, second + far, 3.0),
    ):
        np.testing.assert_allclose(run(one, other, sigma), excess(one, other, sigma), rtol=1e-9)


@kernel
def test_excess_of_every_size(candidate, rng):
    """Neither a difference from one nor the first term of a series is accurate for all of these widths."""
    first, second = rng.normal(size=(3, 4)), rng.normal(size=(4, 4))
    for sigma in 10.0 ** rng.uniform(np.arange(-0.5, 6.0, 0.25), np.arange(-0.25, 6.25, 0.25)):
        found = candidate.metrics.cmmd.excess_kernel(first, second, sigma.item())
        np.testing.assert_allclose(found, excess(first, second, sigma.item()), rtol=1e-9)


@kernel
def test_excess_depends_on_the_ratio_only(candidate, rng):
    run = candidate.metrics.cmmd.excess_kernel
    first, second = sets(rng, 3, 4, 2)
    expected = run(first, second, 1.5)
    for scale in (1e200, 1e-200):
        np.testing.assert_allclose(run(first * scale, second * scale, 1.5 * scale), expected, rtol=1e-9)
    found = run(np.concatenate([first, 1e200 * first]), first, 0.5)
    np.testing.assert_array_equal(np.diagonal(found[:3]), np.zeros(3))
    np.testing.assert_array_equal(found[3:], np.full((3, 3), -1.0))


@kernel
def test_excess_of_other_types_and_of_nothing(candidate, rng):
    run = candidate.metrics.cmmd.excess_kernel
    first, second = rng.integers(0, 255, (3, 4)), rng.integers(0, 255, (2, 4))
    expected = run(first.astype(np.float64), second.astype(np.float64), 150)
    for kind in (np.uint8, np.float16):
        assert_equivalent(run(first.astype(kind), second.astype(kind), 150), expected, rtol=1e-9, check_dtype=True)
    assert_equivalent(run(first.tolist(), second.tolist(), 150.0), expected, rtol=1e-9, check_dtype=True)
    assert run(np.zeros((0, 4)), second, 2.0).shape == (0, 2)
    for sigma in (0.0, -1.0, math.nan):
        with pytest.raises(ValueError):  # noqa: PT011
            run(first, second, sigma)


# squared_mmd


@mmd
@pytest.mark.parametrize("estimator", ["unbiased", "biased"])
def test_estimates_for_blocks_of_any_size(candidate, rng, estimator):
    first, second = sets(rng)
    sigma = rng.uniform(1.0, 5.0)
    expected = estimates(first, second, sigma)[estimator]
    store = candidate.metrics.store.Store
    for sizes in ((256, 256), (3, 4), (1, 10), (7, 1)):
        stores = [store(rows, size) for rows, size in zip((first, second), sizes, strict=True)]
        found = candidate.metrics.cmmd.squared_mmd(*stores, sigma, estimator)
        assert type(found) is float
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@mmd
def test_estimates_for_a_wide_kernel(candidate, rng):
    """The limit: the squared distance of the means over sigma squared, less the spread of both means if unbiased."""
    first, second = sets(rng, 6, 9)
    stores = [candidate.metrics.store.Store(rows, 4) for rows in (first, second)]
    distance = np.sum((first.mean(axis=0) - second.mean(axis=0)) ** 2)
    spread = sum(np.sum(rows.var(axis=0, ddof=1)) / len(rows) for rows in (first, second))
    for sigma in (1e7, 1e6):
        found = [candidate.metrics.cmmd.squared_mmd(*stores, sigma, name) for name in ("biased", "unbiased")]
        np.testing.assert_allclose(np.array(found) * sigma**2, [distance, distance - spread], rtol=1e-6)


@mmd
def test_equal_rows_are_pairs_too(candidate, rng):
    """Two different rows, each several times, in different blocks."""
    rows = rng.normal(size=(2, 3))
    value = math.expm1(-0.5 * np.sum((rows[0] - rows[1]) ** 2))
    first, second = rows[[0, 1, 0, 0, 1]], rows[[1, 1, 1, 1]]
    stores = [candidate.metrics.store.Store(each, 2) for each in (first, second)]
    found = candidate.metrics.cmmd.squared_mmd(*stores, 1.0)
    np.testing.assert_allclose(found, value * (12 / 20 - 2 * 12 / 20), rtol=1e-6)
    found = candidate.metrics.cmmd.squared_mmd(*stores, 1.0, "biased")
    assert type(found) is float
    np.testing.assert_allclose(found, value * (12 / 25 - 2 * 12 / 20), rtol=1e-6)


@mmd
def test_signs_of_estimates_between_equal_sets(candidate, rng):
    """The unbiased one is negative; the biased one is 0 up to rounding, and never below."""
    run, store = candidate.metrics.cmmd.squared_mmd, candidate.metrics.store.Store
    rows = rng.normal(size=(9, 4))
    expected = 2.0 * excess(rows, rows, 2.0).sum() / (9 * 9 * 8)
    found = [run(store(rows), store(rng.permutation(rows), 5), 2.0) for _ in range(2)]
    np.testing.assert_allclose(found, [expected, expected], rtol=1e-6)
    same = store(rows, 4)  # one set, not two, but still no row of the first is a row of the second
    np.testing.assert_allclose(run(same, same, 2.0), expected, rtol=1e-6)
    assert 0.0 <= run(same, same, 2.0, "biased") < 1e-12
    different = rng.normal(size=(40, 9, 4))
    found = np.array([run(store(rows, 5), store(rng.permutation(rows), 4), 2.0, "biased") for rows in different])
    assert np.all((found >= 0.0) & (found < 1e-12))


@mmd
def test_blocks_are_transformed(candidate, rng):
    """The function never gets more rows than a block has, and the kernel never sees a row that was not transformed."""
    first, second = sets(rng, 5, 6)
    lengths, shift = [], rng.normal(size=4)

    def transform(rows):
        lengths.append(len(rows))
        return 3.0 * rows[:, ::-1] ** 2 + shift

    stores = [candidate.metrics.store.Store(rows, 4) for rows in (first, second)]
    found = candidate.metrics.cmmd.squared_mmd(*stores, 8.0, "unbiased", transform)
    assert 0 < max(lengths) <= 4
    expected = estimates(3.0 * first[:, ::-1] ** 2, 3.0 * second[:, ::-1] ** 2, 8.0)["unbiased"]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    sloped = candidate.metrics.cmmd.squared_mmd(*stores, sigma=8.0, transform=lambda rows: rows + rows**3)
    np.testing.assert_allclose(sloped, estimates(first + first**3, second + second**3, 8.0)["unbiased"], rtol=1e-6)


@mmd
@pytest.mark.parametrize("kind", [np.uint8, np.float16, np.float32])
def test_the_transform_is_called_with_float64(candidate, rng, kind):
    """Fourth powers of numbers above 100 wrap around, overflow or are rounded in the types of the stores."""
    whole = [rng.integers(100, 255, (size, 3)) for size in (4, 5)]
    stores = [candidate.metrics.store.Store(rows.astype(kind), 3) for rows in whole]
    kinds = []

    def transform(rows):
        kinds.append(rows.dtype)
        return rows**4

    found = candidate.metrics.cmmd.squared_mmd(*stores, 1e9, "biased", transform)
    assert set(kinds) == {np.dtype(np.float64)}
    np.testing.assert_allclose(found, estimates(whole[0] ** 4, whole[1] ** 4, 1e9)["biased"], rtol=1e-6)


@mmd
def test_stores_that_cannot_be_compared(candidate, rng):
    run, store = candidate.metrics.cmmd.squared_mmd, candidate.metrics.store.Store
    rows = rng.normal(size=(5, 3))
    refused = [
        (store(rows), store(rows[:1]), 1.0, "unbiased"),
        (store(rows[:1]), store(rows), 1.0, "unbiased"),
        (store(rows[:0]), store(rows), 1.0, "biased"),
        (store(rows), store(rows[:0]), 1.0, "biased"),
        (store(rows), store(rows[:, :1]), 1.0, "biased"),
        (store(rows), store(rows), 1.0, "linear"),
        (store(rows), store(rows), 0.0, "biased"),
    ]
    for arguments in refused:
        with pytest.raises(ValueError):  # noqa: PT011
            run(*arguments)
    found = run(store(rows[:1]), store(rows[1:2]), 1.0, "biased")
    np.testing.assert_allclose(found, -2.0 * excess(rows[:1], rows[1:2], 1.0)[0, 0], rtol=1e-6)
    found = run(store(rows[:2]), store(rows[2:4]), 1.0)
    np.testing.assert_allclose(found, estimates(rows[:2], rows[2:4], 1.0)["unbiased"], rtol=1e-6)


# cmmd


@metric
def test_cmmd_is_that_of_unit_rows(candidate, rng):
    first, second = sets(rng, 6, 8, 5, apart=1.0)
    expected = estimates(*(rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (first, second)), SIGMA)
    first = first * rng.uniform(0.1, 50.0, (6, 1))  # lengths do not matter
    stores = [candidate.metrics.store.Store(rows, 5) for rows in (first, second)]
    found = candidate.metrics.cmmd.cmmd(*stores)
    assert type(found) is float
    np.testing.assert_allclose(found, SCALE * expected["unbiased"], rtol=1e-6)
    np.testing.assert_allclose(candidate.metrics.cmmd.cmmd(*stores, "biased"), SCALE * expected["biased"], rtol=1e-6)


@metric
def test_cmmd_of_two_directions(candidate, rng):
    """All images of a set are alike: twice the excess of one pair, for both estimators, in numbers of any type."""
    angle = rng.uniform(0.3, 2.5)
    first, second = np.array([[1.0, 0.0]]), np.array([[math.cos(angle), math.sin(angle)]])
    expected = -2.0 * SCALE * math.expm1(-((2.0 * math.sin(angle / 2.0)) ** 2) / (2.0 * SIGMA**2))
    stores = [candidate.metrics.store.Store(np.repeat(rows, 4, axis=0), 3) for rows in (first, second)]
    for estimator in ("unbiased", "biased"):
        found = candidate.metrics.cmmd.cmmd(*stores, estimator)
        assert type(found) is float
        np.testing.assert_allclose(found, expected, rtol=1e-6)
    stores = [candidate.metrics.store.Store(np.array(3 * [row], dtype=np.uint8)) for row in ([0, 255], [200, 0])]
    expected = -2.0 * SCALE * math.expm1(-1.0 / SIGMA**2)
    np.testing.assert_allclose(candidate.metrics.cmmd.cmmd(*stores), expected, rtol=1e-6)


@metric
def test_signs_of_cmmd_between_equal_sets(candidate, rng):
    """The unbiased one is negative, and returned as it is; the biased one is 0 up to rounding, and never below."""
    run, store = candidate.metrics.cmmd.cmmd, candidate.metrics.store.Store
    different = rng.normal(size=(40, 9, 4))
    pairs = [(store(rows, 5), store(rng.permutation(rows), 4)) for rows in different]
    for stores in pairs:
        found = run(*stores, "biased")
        assert type(found) is float
        assert 0.0 <= found < 1e-9
    directions = different[0] / np.linalg.norm(different[0], axis=1, keepdims=True)
    expected = 2.0 * SCALE * excess(directions, directions, SIGMA).sum() / (9 * 9 * 8)
    found = run(*pairs[0])
    assert type(found) is float
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@metric
def test_cmmd_refuses_what_the_others_refuse(candidate, rng):
    run, store = candidate.metrics.cmmd.cmmd, candidate.metrics.store.Store
    rows = rng.normal(size=(4, 3))
    for arguments in (
        (store(rows), store(rows[:1])),
        (store(rows), store(np.append(rows, np.zeros((1, 3)), axis=0))),
        (store(rows), store(rows[:, :2])),
        (store(rows), store(rows), "linear"),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*arguments)
    assert run(store(rows), store(-rows)) != 0.0


@metric
def test_generators_are_ranked_as_by_the_authors(candidate, reference, rng):
    real = rng.normal(size=(6, 4)) + 2.0
    generated = {name: real + noise * rng.normal(size=(6, 4)) for name, noise in (("a", 3.0), ("b", 0.3), ("c", 1.0))}
    tables = [
        side.metrics.report.ranking(
            side.metrics.store.Store(real),
            {name: side.metrics.store.Store(rows, 4) for name, rows in generated.items()},
        )
        for side in (candidate, reference)
    ]
    assert_equivalent([name for name, _ in tables[0]], [name for name, _ in tables[1]])
    np.testing.assert_allclose([each for _, each in tables[0]], [each for _, each in tables[1]], rtol=1e-6, atol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
