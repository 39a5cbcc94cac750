import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent

pytestmark = pytest.mark.interface("gp.inducing.greedy_variance")


def unexplained(matrix, chosen):
    """Variance of every point given the chosen ones, the slow way."""
    if not chosen:
        return np.diag(matrix)
    columns = matrix[:, chosen]
    return np.diag(matrix) - np.sum(columns * np.linalg.solve(matrix[np.ix_(chosen, chosen)], columns.T).T, axis=1)


def test_every_choice_is_the_least_explained_point(candidate, rng):
    x = rng.uniform(-2.0, 2.0, (30, 2))
    kernels = candidate.gp.kernels
    kernel = kernels.Sum(kernels.RBF(0.7, 0.9), kernels.Linear(0.5))
    chosen = candidate.gp.inducing.greedy_variance(x, kernel, 6)
    assert chosen.dtype == np.int64
    assert len(set(chosen.tolist())) == len(chosen) == 6
    matrix = 0.7 * np.exp(-0.5 * ((x[:, None] - x) ** 2).sum(axis=-1) / 0.81) + 0.5 * x @ x.T
    for step, index in enumerate(chosen.tolist()):
        left = unexplained(matrix, chosen[:step].tolist())
        assert left[index] >= left.max() - 1e-8


@pytest.mark.parametrize("points", [1, 12, 40])
def test_order_is_the_authors(candidate, reference, rng, points):
    x = rng.uniform(0.0, 6.0, (points, 2))

    def order(code):
        return code.gp.inducing.greedy_variance(x, code.gp.kernels.RBF(1.7, 1.5), 9)

    actual = order(candidate)
    assert actual[0] == 0  # a stationary kernel: all prior variances tie
    farthest = candidate.gp.inducing.greedy_variance(x, candidate.gp.kernels.Linear(1.0), 1)
    assert_equivalent(farthest, np.array([np.argmax(np.sum(x**2, axis=1))]))
    assert_equivalent(actual, order(reference))


def test_repeated_points_end_the_choice_early(candidate, rng):
    distinct = 4.0 * np.arange(5.0)[:, None] + rng.uniform(-0.5, 0.5, (5, 1))
    x = np.tile(distinct, (3, 1))[rng.permutation(15)]
    chosen = candidate.gp.inducing.greedy_variance(x, candidate.gp.kernels.RBF(50.0, 1.0), 12)
    np.testing.assert_array_equal(np.sort(x[chosen, 0]), distinct[:, 0])
    small = candidate.gp.inducing.greedy_variance(x, candidate.gp.kernels.RBF(1e-9, 1.0), 12)
    np.testing.assert_array_equal(np.sort(small), np.sort(chosen))
    line = candidate.gp.inducing.greedy_variance(x, candidate.gp.kernels.Linear(2.0), 12)
    np.testing.assert_array_equal(line, [np.argmax(np.abs(x[:, 0]))])  # one direction holds all the variance
    nothing = candidate.gp.inducing.greedy_variance(np.zeros((4, 2)), candidate.gp.kernels.Linear(2.0), 3)
    assert_equivalent(nothing, np.zeros(0, dtype=np.int64))


def test_the_threshold_is_relative_to_the_largest_prior_variance(candidate, rng):
    """Points along different axes explain nothing of each other."""
    kernel = candidate.gp.kernels.Linear(float(10.0 ** rng.uniform(-3.0, 3.0)))
    x = np.diag(np.sqrt([0.7e-6, 1.0, 1.5e-6, 1e-12])) * rng.uniform(0.1, 10.0)
    chosen = candidate.gp.inducing.greedy_variance(x, kernel, 4)
    np.testing.assert_array_equal(chosen, [1, 2])
    unit = 2.0 ** rng.integers(-9, 10)  # powers of 2 change no digit: the square of 0.001 is 1e-6 in float64, too
    for size, count in ((1e-3, 1), (np.nextafter(1e-3, 1.0), 2)):
        few = unit * np.array([[1.0, 0.0], [0.0, size]])
        chosen = candidate.gp.inducing.greedy_variance(few, candidate.gp.kernels.Linear(1.0), 2)
        np.testing.assert_array_equal(chosen, [0, 1][:count])


def test_large_inputs_need_no_square_matrix_and_bad_counts_are_refused(candidate, reference, rng):
    x = rng.uniform(0.0, 9.0, (20_000, 2))
    for bad in ((x, 0), (x[:0], 3)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.gp.inducing.greedy_variance(bad[0], candidate.gp.kernels.RBF(), bad[1])

    def order(code):
        return code.gp.inducing.greedy_variance(x, code.gp.kernels.RBF(1.0, 4.0), 5)

    assert_equivalent(order(candidate), order(reference))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
