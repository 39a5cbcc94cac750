"""Hidden tests of the task rp-cholesky."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

drawing = pytest.mark.interface("lowrank.sampling.draw")
rejecting = pytest.mark.interface("lowrank.sampling.rejection")
simple = pytest.mark.interface("lowrank.cholesky.rpcholesky")
blocked = pytest.mark.interface("lowrank.cholesky.accelerated")


def semidefinite(rng, size, rank=None):
    """A matrix of this rank, well conditioned on its range."""
    basis, _ = np.linalg.qr(rng.normal(size=(size, size)))
    rank = size if rank is None else rank
    return (basis[:, :rank] * rng.uniform(0.5, 2.0, rank)) @ basis[:, :rank].T


def spread_out(rng, size):
    """Points on a line, whose Gaussian kernel of width 1 is well conditioned."""
    return 1.5 * (rng.permutation(size) + rng.uniform(-0.2, 0.2, size))[:, None]


def three_directions(share):
    """Two pivots leave first a millionth of the last row, and then this share of it."""
    return np.array([[1e3, 0.0, 0.0], [0.0, 1.0, 0.0], [np.sqrt(1.0 - 1e-6 - share), 1e-3, np.sqrt(share)]])


def gaussian_matrix(points, width=1.0):
    return np.exp(-0.5 * ((points[:, None] - points) ** 2).sum(axis=-1) / width**2)


def left_over(matrix, chosen, rows=None):
    """The residual matrix of a set of pivots, or some of its rows and columns, the slow way."""
    rows = np.arange(len(matrix)) if rows is None else np.asarray(rows)
    if len(chosen) == 0:
        return matrix[np.ix_(rows, rows)]
    inside, across = matrix[np.ix_(chosen, chosen)], matrix[np.ix_(chosen, rows)]
    return matrix[np.ix_(rows, rows)] - across.T @ np.linalg.solve(inside, across)


def first_beyond(weights, u):
    """The definition of `draw`, one number."""
    sums = np.cumsum(weights)
    return next(i for i in range(len(weights)) if sums[i] > u * sums[-1])


def diagonal_left(matrix, chosen):
    """d after these pivots."""
    d = np.diag(left_over(matrix, chosen))
    return np.where(d > 1e-10 * np.diag(matrix), d, 0.0)


def slow_rounds(matrix, rank, block, numbers):
    """The accelerated method by its definitions: pivots, and the number of rounds."""
    numbers, chosen, rounds = list(numbers), [], 0
    while len(chosen) < rank and diagonal_left(matrix, chosen).sum() > 0.0:
        rounds += 1
        first, second, numbers = numbers[:block], numbers[block : 2 * block], numbers[2 * block :]
        d, before = diagonal_left(matrix, chosen), list(chosen)
        for u, p in zip(second, [first_beyond(d, u) for u in first], strict=True):
            whole = left_over(matrix, before)[p, p]
            now = 0.0 if p in chosen else left_over(matrix, chosen)[p, p]
            if len(chosen) < rank and u * whole < now and now > 1e-10 * whole:
                chosen.append(p)
    return chosen, rounds


def setting(code, points, numbers, kernel=None):
    """A matrix and a stream of `code`."""
    kernel = code.lowrank.kernels.Gaussian(1.0) if kernel is None else kernel
    return code.lowrank.matrices.KernelMatrix(points, kernel), code.lowrank.stream.Uniforms(numbers)


def fields(found):
    return [found.factor, found.pivots, found.residual, found.rounds, found.proposals]


def check(found, matrix, scale=1.0):
    """An approximation is the exact one for its pivots."""
    pivots = found.pivots.tolist()
    assert found.pivots.dtype == np.int64
    assert len(set(pivots)) == len(pivots)
    assert found.factor.shape == (len(matrix), len(pivots))
    assert found.residual.shape == (len(matrix),)
    assert found.factor.dtype == found.residual.dtype == np.float64
    left = left_over(matrix, pivots)
    assert_equivalent(found.factor @ found.factor.T / scale, matrix - left, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(np.triu(found.factor[pivots], 1) / np.sqrt(scale), 0.0, atol=1e-7)
    assert (np.diag(found.factor[pivots]) > 0.0).all()
    assert_equivalent(found.residual / scale, diagonal_left(matrix, pivots), rtol=1e-6, atol=1e-9)
    np.testing.assert_array_equal(found.residual[pivots], np.zeros(len(pivots)))


# draw


@drawing
def test_indices_change_where_the_sums_do(candidate, rng):
    """Whole numbers whose sum is a power of 2: every product and every sum is exact."""
    parts = np.diff(np.sort(np.concatenate([[0], rng.choice(np.arange(1, 64), 4, replace=False), [64]])))
    weights = np.zeros(11)
    weights[[1, 2, 4, 7, 8]] = parts
    sums = np.cumsum(parts)
    borders = np.concatenate([[0], sums[:-1]]) / 64
    found = candidate.lowrank.sampling.draw(weights, borders)
    assert_equivalent(found, np.array([1, 2, 4, 7, 8]))
    assert found.dtype == np.int64
    below = candidate.lowrank.sampling.draw(weights, np.nextafter(sums / 64, 0.0))
    assert_equivalent(below, np.array([1, 2, 4, 7, 8]))
    again = candidate.lowrank.sampling.draw(weights.astype(np.int32), borders[[3, 0, 3]].tolist())
    assert_equivalent(again, np.array([7, 1, 7]))


@drawing
def test_no_index_of_weight_zero_is_drawn_at_the_ends(candidate, rng):
    for scale in (1.0, 1e-200, 1e200):
        weights = np.zeros(9)
        weights[2:7] = scale * rng.uniform(0.1, 1.0, 5)
        weights[4] = 0.0
        ends = np.array([0.0, np.nextafter(1.0, 0.0)])
        assert_equivalent(candidate.lowrank.sampling.draw(weights, ends), np.array([2, 6]))
    single = candidate.lowrank.sampling.draw([0.0, 0.3, 0.0], rng.uniform(size=5))
    assert_equivalent(single, np.ones(5, dtype=np.int64))


@drawing
def test_many_numbers_are_drawn_by_the_definition(candidate, rng):
    weights, uniforms = rng.uniform(0.3, 1.0, 30) ** 4, rng.uniform(size=200)
    found = assert_unmodified(candidate.lowrank.sampling.draw, weights, uniforms)
    assert_equivalent(found, np.array([first_beyond(weights, u) for u in uniforms]))
    single, sums = weights.astype(np.float32), np.cumsum(weights.astype(np.float32).astype(np.float64))
    # closer to a border, on both sides, than numbers of single precision can be
    between = np.concatenate([sums[:-1] - 1e-9, sums[:-1] + 1e-9]) / sums[-1]
    found = candidate.lowrank.sampling.draw(single, between)
    assert_equivalent(found, np.array([first_beyond(single.astype(np.float64), u) for u in between]))
    none = candidate.lowrank.sampling.draw(weights, [])
    assert_equivalent(none, np.zeros(0, dtype=np.int64))


@drawing
def test_malformed_weights_and_numbers_are_refused(candidate, rng):
    weights, uniforms = rng.uniform(0.1, 1.0, 4), rng.uniform(size=3)
    for bad in (
        (weights - weights.max() - 0.1, uniforms),
        (np.append(weights, -1e-300), uniforms),
        (np.append(weights, np.inf), uniforms),
        (np.append(weights, np.nan), uniforms),
        (np.zeros(4), uniforms),
        ([], uniforms),
        (weights[None], uniforms),
        (weights, uniforms[None]),
        (weights, uniforms[0]),
        (weights, np.append(uniforms, 1.0)),
        (weights, np.append(uniforms, -1e-300)),
        (weights, np.append(uniforms, np.nan)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.lowrank.sampling.draw(*bad)
    expected = np.array([first_beyond(weights, u) for u in uniforms])
    assert_equivalent(candidate.lowrank.sampling.draw(weights, uniforms), expected)


# rejection


@rejecting
def test_each_proposal_is_judged_by_what_is_left_of_it(candidate, rng):
    block = semidefinite(rng, 8)
    wanted = rng.uniform(size=8) < 0.6  # on either side of the threshold, at random
    wanted[[0, 1, 2, 7]], wanted[[4, 5]] = True, False
    chosen, uniforms = [], np.empty(8)
    for i in range(8):
        share = left_over(block, chosen, [i])[0, 0] / block[i, i]
        accept = wanted[i] or share > 1.0 - 1e-4  # no number is large enough to reject it
        uniforms[i] = share * (1.0 - 1e-5 if accept else 1.0 + 1e-5)
        if accept:
            chosen.append(i)
    for scale in (1.0, 1e-20, 1e20):
        accepted, factor = candidate.lowrank.sampling.rejection(scale * block, uniforms)
        assert_equivalent(accepted, np.array(chosen))
        assert accepted.dtype == np.int64
        inside = block[np.ix_(chosen, chosen)]
        assert_equivalent(factor / np.sqrt(scale), np.linalg.cholesky(inside), rtol=1e-6, check_dtype=True)
        np.testing.assert_array_equal(np.triu(factor, 1), np.zeros(factor.shape))


@rejecting
def test_numbers_of_zero_accept_everything_but_what_is_dependent(candidate, rng):
    parts = semidefinite(rng, 4)
    repeated = np.array([2, 0, 2, 3, 0, 0, 1, 3])
    accepted, factor = candidate.lowrank.sampling.rejection(parts[np.ix_(repeated, repeated)], np.zeros(8))
    assert_equivalent(accepted, np.array([0, 1, 3, 6]))
    order = repeated[[0, 1, 3, 6]]
    assert_equivalent(factor, np.linalg.cholesky(parts[np.ix_(order, order)]), rtol=1e-6)
    flat = semidefinite(rng, 7, rank=3)
    accepted, factor = candidate.lowrank.sampling.rejection(flat, np.zeros(7))
    assert_equivalent(accepted, np.array([0, 1, 2]))
    assert_equivalent(factor, np.linalg.cholesky(flat[:3, :3]), rtol=1e-6)


@rejecting
def test_the_share_that_is_negligible(candidate, rng):
    """Two rows with almost the same direction: what is left of the second is a given share of it."""
    scale = 10.0 ** rng.uniform(-6.0, 6.0)
    for share, count in ((2e-10, 2), (0.5e-10, 1), (1e-7, 2)):
        cosine = np.sqrt(1.0 - share)
        block = scale * np.array([[4.0, 2.0 * cosine], [2.0 * cosine, 1.0]])
        accepted, factor = candidate.lowrank.sampling.rejection(block, [0.5, 0.0])
        assert_equivalent(accepted, np.arange(count))
        assert factor.shape == (count, count)
        np.testing.assert_allclose(factor[0, 0], 2.0 * np.sqrt(scale), rtol=1e-9)
    zeros = np.zeros((3, 3))
    zeros[1, 1] = scale
    accepted, factor = candidate.lowrank.sampling.rejection(zeros, rng.uniform(size=3))
    assert_equivalent([accepted, factor], [np.array([1]), np.array([[np.sqrt(scale)]])])
    accepted, factor = candidate.lowrank.sampling.rejection(np.zeros((2, 2)), np.zeros(2))
    assert_equivalent([accepted, factor], [np.zeros(0, dtype=np.int64), np.zeros((0, 0))])


@rejecting
def test_the_search_ends_at_the_limit(candidate, rng):
    block = semidefinite(rng, 6)
    uniforms = np.where(np.arange(6) == 2, 1.0 - 1e-12, 0.0)
    for limit, expected in ((0, []), (1, [0]), (2, [0, 1]), (3, [0, 1, 3]), (5, [0, 1, 3, 4, 5]), (9, [0, 1, 3, 4, 5])):
        accepted, factor = candidate.lowrank.sampling.rejection(block, uniforms, limit)
        assert_equivalent(accepted, np.array(expected, dtype=np.int64))
        assert factor.shape == (len(expected), len(expected))
        assert_equivalent(factor @ factor.T, block[np.ix_(expected, expected)], rtol=1e-6)
    accepted, factor = candidate.lowrank.sampling.rejection(block, uniforms)
    assert_equivalent(accepted, np.array([0, 1, 3, 4, 5]))


@rejecting
def test_blocks_of_other_shapes_are_refused_and_arguments_not_modified(candidate, rng):
    block, uniforms = semidefinite(rng, 4), rng.uniform(0.0, 0.1, 4)
    for bad in (
        (block[:3], uniforms),
        (block, uniforms[:3]),
        (block[:3, :3], uniforms),
        (block[0], uniforms),
        (block, uniforms[None]),
        (block, uniforms[:, None]),
        (block[:1, :1], uniforms[None]),
        (block[:1, :1], uniforms[0]),
        (block[:0, :0], uniforms[None]),
        (np.zeros((3, 4)), uniforms[:3]),
        (np.zeros((4, 4)), uniforms[:3]),
        (np.zeros((3, 3)), uniforms),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.lowrank.sampling.rejection(*bad)
    accepted, factor = assert_unmodified(candidate.lowrank.sampling.rejection, block, np.zeros(4))
    assert_equivalent([accepted, factor], [np.arange(4), np.linalg.cholesky(block)], rtol=1e-6)
    single = block.astype(np.float32)
    _, factor = candidate.lowrank.sampling.rejection(single, np.zeros(4, dtype=np.float32))
    assert_equivalent(factor, np.linalg.cholesky(single.astype(np.float64)), rtol=1e-10, atol=1e-13, check_dtype=True)
    whole = (20.0 * block).round() + 40.0 * np.eye(4)
    accepted, factor = candidate.lowrank.sampling.rejection(whole.astype(np.int64).tolist(), [0, 0, 0, 0])
    assert_equivalent([accepted, factor], [np.arange(4), np.linalg.cholesky(whole)], rtol=1e-6)
    accepted, factor = candidate.lowrank.sampling.rejection(np.zeros((0, 0)), [])
    assert_equivalent([accepted, factor], [np.zeros(0, dtype=np.int64), np.zeros((0, 0))])


# rpcholesky


@simple
@pytest.mark.parametrize("edge", [1e-6, 1.0 - 1e-6], ids=["lower", "upper"])
def test_every_pivot_is_drawn_from_what_is_left(candidate, rng, edge):
    """Each number is close to where the next index, or the one before, would be drawn."""
    for _ in range(4):
        points = spread_out(rng, 14)
        matrix = gaussian_matrix(points)
        numbers, expected = [], []
        for _ in range(8):
            d = diagonal_left(matrix, expected)
            pivot = int(rng.choice(np.flatnonzero(d)))
            numbers.append((np.sum(d[:pivot]) + edge * d[pivot]) / np.sum(d))
            expected.append(pivot)
        ours, stream = setting(candidate, points, numbers)
        found = candidate.lowrank.cholesky.rpcholesky(ours, 8, stream)
        assert found.pivots.tolist() == expected
        check(found, matrix)
        assert (found.rounds, found.proposals) == (8, 8)
        assert (ours.entries, stream.used) == (14 * 9, 8)


@simple
def test_a_matrix_of_low_rank_is_exact_with_as_many_pivots(candidate, rng):
    """Whatever its scale; a matrix of zeros needs none; a rank of 0 and one beyond the size are legal."""
    points = semidefinite(rng, 9)[:, :3]
    for scale in (1.0, 1e-30, 1e30):
        ours, stream = setting(candidate, points, rng.uniform(size=20), candidate.lowrank.kernels.Linear(scale))
        found = candidate.lowrank.cholesky.rpcholesky(ours, 12, stream)
        assert len(found.pivots) == 3
        check(found, points @ points.T, scale)
        np.testing.assert_array_equal(found.residual, np.zeros(9))
        assert (ours.entries, stream.used) == (9 * 4, 3)
    for nothing, rank in ((0.0 * points, 5), (points, 0)):
        ours, stream = setting(candidate, nothing, [], candidate.lowrank.kernels.Linear())
        found = candidate.lowrank.cholesky.rpcholesky(ours, rank, stream)
        expected = [np.zeros((9, 0)), np.zeros(0, dtype=np.int64), (nothing**2).sum(axis=1), 0, 0]
        assert_equivalent(fields(found), expected)
    few = spread_out(rng, 4)
    ours, stream = setting(candidate, few, rng.uniform(size=9))
    found = candidate.lowrank.cholesky.rpcholesky(ours, 9, stream)
    assert sorted(found.pivots.tolist()) == [0, 1, 2, 3]
    check(found, gaussian_matrix(few))


@simple
def test_what_is_negligible_is_relative_to_the_own_row(candidate, rng):
    """Points along different axes explain nothing of each other; those of little size count, too."""
    sizes = np.array([1e-8, 3.0, 1e-3, 1.0])
    points = np.diag(sizes)[rng.permutation(4)]
    ours, stream = setting(candidate, points, rng.uniform(size=9), candidate.lowrank.kernels.Linear())
    found = candidate.lowrank.cholesky.rpcholesky(ours, 9, stream)
    assert sorted(found.pivots.tolist()) == [0, 1, 2, 3]
    np.testing.assert_allclose(found.factor @ found.factor.T, points @ points.T, rtol=1e-9)
    for share, count in ((2e-10, 2), (0.5e-10, 1)):  # of the second direction, in the row that is not chosen first
        pair = np.array([[1e3, 0.0], [np.sqrt(1.0 - share), np.sqrt(share)]])
        ours, stream = setting(candidate, pair, [0.5, 0.5], candidate.lowrank.kernels.Linear())
        found = candidate.lowrank.cholesky.rpcholesky(ours, 2, stream)
        assert found.pivots.tolist() == [0, 1][:count]
        assert found.residual.tolist() == [0.0, 0.0]
        ours, stream = setting(candidate, three_directions(share), [0.5] * 3, candidate.lowrank.kernels.Linear())
        found = candidate.lowrank.cholesky.rpcholesky(ours, 3, stream)
        assert found.pivots.tolist() == [0, 1, 2][: count + 1]
        assert found.residual.tolist() == [0.0, 0.0, 0.0]


@simple
def test_the_end_by_tolerance(candidate, rng):
    points, numbers = spread_out(rng, 10), rng.uniform(size=10)
    matrix = gaussian_matrix(points)
    ours, stream = setting(candidate, points, numbers)
    pivots = candidate.lowrank.cholesky.rpcholesky(ours, 10, stream).pivots.tolist()
    for count in (0, 1, 4):
        error = diagonal_left(matrix, pivots[:count]).sum() / 10
        for tolerance, more in ((error * (1.0 + 1e-7), 0), (error * (1.0 - 1e-7), 1)):
            ours, stream = setting(candidate, points, numbers)
            found = candidate.lowrank.cholesky.rpcholesky(ours, 10, stream, tolerance)
            assert found.pivots.tolist() == pivots[: count + more]
    check(found, matrix)


def malformed(code, call, points):
    """`call(matrix, rank, tolerance)` raises ValueError for what is malformed."""
    gaussian = code.lowrank.kernels.Gaussian
    unknown = np.where(points == points.max(), np.nan, points)
    huge = np.where(points == points.max(), 1e200, points)
    minus, nothing = code.lowrank.kernels.Linear(-1.0), np.where(points == points.max(), 0.0, points)
    for data, kernel, rank, tolerance in (
        (points, gaussian(1.0), -1, 0.0),
        (points, gaussian(1.0), 2, -1e-9),
        (points, gaussian(1.0, -1.0), 2, 0.0),
        (unknown, gaussian(1.0), 2, 0.0),
        (huge, code.lowrank.kernels.Linear(), 2, 0.0),
        (nothing, minus, 2, 0.0),
        (points, gaussian(1.0, -1.0), 0, 0.0),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call(code.lowrank.matrices.KernelMatrix(data, kernel), rank, tolerance)


@simple
def test_malformed_arguments_of_the_simple_method_are_refused(candidate, reference, rng):
    points, numbers = spread_out(rng, 6), rng.uniform(size=6)

    def call(matrix, rank, tolerance):
        return candidate.lowrank.cholesky.rpcholesky(matrix, rank, setting(candidate, points, numbers)[1], tolerance)

    malformed(candidate, call, points)
    pair = [
        code.lowrank.cholesky.rpcholesky(setting(code, points, numbers)[0], 4, setting(code, points, numbers)[1])
        for code in (candidate, reference)
    ]
    assert_equivalent(fields(pair[0]), fields(pair[1]), rtol=1e-6, check_dtype=True)


# accelerated


@blocked
@pytest.mark.parametrize("block", [2, 5, 12])
def test_rounds_follow_the_definitions(candidate, rng, block):
    points, numbers = spread_out(rng, 16), rng.uniform(size=400)
    matrix = gaussian_matrix(points)
    for rank in (7, 11):
        expected, rounds = slow_rounds(matrix, rank, block, numbers)
        ours, stream = setting(candidate, points, numbers)
        found = candidate.lowrank.cholesky.accelerated(ours, rank, block, stream)
        assert found.pivots.tolist() == expected
        check(found, matrix)
        assert (found.rounds, found.proposals) == (rounds, rounds * block)
        assert type(found.rounds) is type(found.proposals) is int
        assert (ours.entries, stream.used) == (16 * (1 + rank) + rounds * block**2, 2 * rounds * block)


@blocked
def test_the_second_proposal_of_a_round_is_judged_by_what_the_first_one_left(candidate, rng):
    """On either side of the threshold, in three rounds of two proposals."""
    points = spread_out(rng, 12)
    matrix = gaussian_matrix(points)
    numbers, expected = [], []
    for accept in (True, False, True) if rng.uniform() < 0.5 else (False, True, True):
        d = diagonal_left(matrix, expected)
        first = int(rng.choice(np.flatnonzero(d)))
        shares = np.where(d > 0.0, diagonal_left(matrix, [*expected, first]) / np.where(d > 0.0, d, 1.0), 1.0)
        shares[first] = 1.0
        second = int(np.argmin(shares))  # the one that is closest
        for p in (first, second):
            numbers.append((np.sum(d[:p]) + rng.uniform(0.1, 0.9) * d[p]) / np.sum(d))
        numbers.extend([rng.uniform(), shares[second] * (1.0 - 1e-6 if accept else 1.0 + 1e-6)])
        expected.extend([first, second] if accept else [first])
    ours, stream = setting(candidate, points, numbers)
    found = candidate.lowrank.cholesky.accelerated(ours, 5, 2, stream)
    assert found.pivots.tolist() == expected
    check(found, matrix)
    assert (found.rounds, stream.used) == (3, 12)


@blocked
def test_one_proposal_at_a_time_is_the_simple_method(candidate, rng):
    """The first proposal of a round is accepted whatever the number is."""
    points, numbers = spread_out(rng, 12), rng.uniform(size=(7, 2))
    numbers[::2, 1] = np.nextafter(1.0, 0.0)
    ours, stream = setting(candidate, points, numbers.ravel())
    found = candidate.lowrank.cholesky.accelerated(ours, 7, 1, stream)
    matrix = gaussian_matrix(points)
    expected = []
    for u in numbers[:, 0]:
        expected.append(first_beyond(diagonal_left(matrix, expected), u))
    assert found.pivots.tolist() == expected
    check(found, matrix)
    assert (found.rounds, found.proposals, stream.used) == (7, 7, 14)


@blocked
def test_repeated_points_and_low_rank_end_the_rounds(candidate, rng):
    distinct = spread_out(rng, 5)
    points = np.tile(distinct, (3, 1))[rng.permutation(15)]
    ours, stream = setting(candidate, points, rng.uniform(size=600))
    found = candidate.lowrank.cholesky.accelerated(ours, 15, 4, stream)
    assert sorted(points[found.pivots, 0].tolist()) == sorted(distinct[:, 0].tolist())
    np.testing.assert_array_equal(found.residual, np.zeros(15))
    assert_equivalent(found.factor @ found.factor.T, gaussian_matrix(points), rtol=1e-6, atol=1e-9)
    assert found.factor.shape == (15, 5)
    for scale in (1.0, 1e-30, 1e30):
        points = semidefinite(rng, 10)[:, :4]
        ours, stream = setting(candidate, points, rng.uniform(size=600), candidate.lowrank.kernels.Linear(scale))
        found = candidate.lowrank.cholesky.accelerated(ours, 10, 3, stream)
        assert len(found.pivots) == 4
        check(found, points @ points.T, scale)
        np.testing.assert_array_equal(found.residual, np.zeros(10))
    for nothing, rank in ((0.0 * points, 5), (points, 0)):
        ours, stream = setting(candidate, nothing, [], candidate.lowrank.kernels.Linear())
        found = candidate.lowrank.cholesky.accelerated(ours, rank, 3, stream)
        expected = [np.zeros((10, 0)), np.zeros(0, dtype=np.int64), (nothing**2).sum(axis=1), 0, 0]
        assert_equivalent(fields(found), expected)


@blocked
def test_every_proposal_that_is_not_dependent_is_accepted_for_numbers_of_zero(candidate, rng):
    """Nothing is rejected by chance; a row of which hardly anything is left counts against its own diagonal entry."""
    points, block = spread_out(rng, 9), 6
    numbers = np.concatenate([[*rng.uniform(size=block), *np.zeros(block)] for _ in range(9)])
    ours, stream = setting(candidate, points, numbers)
    found = candidate.lowrank.cholesky.accelerated(ours, 9, block, stream)
    expected, rounds = slow_rounds(gaussian_matrix(points), 9, block, numbers)
    assert (found.pivots.tolist(), found.rounds) == (expected, rounds)
    for share, count in ((2e-10, 2), (0.5e-10, 1)):
        pair = np.array([[1e3, 0.0], [np.sqrt(1.0 - share), np.sqrt(share)]])
        ours, stream = setting(candidate, pair, [0.5, 0.5, 0.0, 0.0] * 2, candidate.lowrank.kernels.Linear())
        found = candidate.lowrank.cholesky.accelerated(ours, 2, 2, stream)
        assert found.pivots.tolist() == [0, 1][:count]
        assert (found.residual.tolist(), found.rounds) == ([0.0, 0.0], count)
        triple = three_directions(share)
        ours, stream = setting(candidate, triple, [0.5, 0.0] * 3, candidate.lowrank.kernels.Linear())
        found = candidate.lowrank.cholesky.accelerated(ours, 3, 1, stream)
        assert found.pivots.tolist() == [0, 1, 2][: count + 1]
        assert (found.residual.tolist(), found.rounds) == ([0.0, 0.0, 0.0], count + 1)


@blocked
def test_the_rounds_end_by_tolerance(candidate, rng):
    points, numbers, block = spread_out(rng, 12), rng.uniform(size=400), 3
    matrix = gaussian_matrix(points)
    for rounds in (0, 1, 2):
        count, pivots = 0, []
        while len(pivots) < 12 and slow_rounds(matrix, count, block, numbers)[1] <= rounds:
            pivots = slow_rounds(matrix, count, block, numbers)[0]
            count += 1
        error = diagonal_left(matrix, pivots).sum() / 12
        for tolerance, more in ((error * (1.0 + 1e-7), 0), (error * (1.0 - 1e-7), 1)):
            ours, stream = setting(candidate, points, numbers)
            found = candidate.lowrank.cholesky.accelerated(ours, 12, block, stream, tolerance)
            assert found.rounds == rounds + more
            assert found.pivots[: len(pivots)].tolist() == pivots
            assert (len(found.pivots) > len(pivots)) is bool(more)
    check(found, matrix)


@blocked
def test_malformed_arguments_of_rounds_are_refused(candidate, reference, rng):
    points, numbers = spread_out(rng, 6), rng.uniform(size=60)

    def run(code, block=3):
        return code.lowrank.cholesky.accelerated(
            *setting(code, points, numbers)[:1], 4, block, setting(code, points, numbers)[1]
        )

    def call(matrix, rank, tolerance):
        stream = setting(candidate, points, numbers)[1]
        return candidate.lowrank.cholesky.accelerated(matrix, rank, 2, stream, tolerance)

    malformed(candidate, call, points)
    for block in (0, -1):
        with pytest.raises(ValueError):  # noqa: PT011
            run(candidate, block)
    assert_equivalent(fields(run(candidate)), fields(run(reference)), rtol=1e-6, check_dtype=True)


@blocked
def test_twenty_thousand_points_need_no_square_matrix(candidate, reference, rng):
    points, numbers = rng.uniform(0.0, 30.0, (20_000, 2)), rng.uniform(size=600)

    def answer(code):
        found = code.lowrank.cholesky.accelerated(
            *setting(code, points, numbers)[:1], 40, 30, setting(code, points, numbers)[1]
        )
        return [found.factor[::500], found.pivots, found.residual[::500], found.rounds, found.proposals]

    assert_equivalent(answer(candidate), answer(reference), rtol=1e-6)


@blocked
def test_the_regression_is_that_of_the_authors(candidate, reference, rng):
    points, numbers = spread_out(rng, 15), rng.uniform(size=300)
    values, new = np.sin(points[:, 0]) + rng.normal(size=15), rng.uniform(0.0, 20.0, (6, 1))

    def predictions(code, rank):
        kernel, stream = code.lowrank.kernels.Gaussian(1.0), code.lowrank.stream.Uniforms(numbers)
        return code.lowrank.regression.fit(points, values, kernel, 0.3, rank, 4, stream).predict(new)

    assert_equivalent(predictions(candidate, 8), predictions(reference, 8), rtol=1e-6)
    exact = np.exp(-0.5 * (new - points.T) ** 2) @ np.linalg.solve(gaussian_matrix(points) + 0.3 * np.eye(15), values)
    assert_equivalent(predictions(candidate, 15), exact, rtol=1e-6)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
