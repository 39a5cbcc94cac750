import numpy as np
import pytest

import momentum
from canonical import leading_pairs as canonical_pairs
from canonical import optimal_momentum as canonical_momentum
from canonical import power_iteration as canonical_iteration


def problem(n, seed):
    generator = np.random.default_rng(seed)
    basis, _ = np.linalg.qr(generator.normal(size=(n, n)))
    values = np.linspace(1.0, 0.1, n) ** 2
    return (basis * values) @ basis.T, generator.normal(size=n)


@pytest.mark.parametrize("second", [0.0, 0.5, 1.7])
def test_optimal_momentum(second):
    assert momentum.optimal_momentum(second) == pytest.approx(canonical_momentum(second))


def test_negative_eigenvalue_raises():
    with pytest.raises(ValueError):
        momentum.optimal_momentum(-0.1)


@pytest.mark.parametrize("steps", [1, 2, 7])
@pytest.mark.parametrize("beta", [0.0, 0.16], ids=["plain", "heavy-ball"])
def test_power_iteration_equivalence(beta, steps):
    matrix, start = problem(6, 3)
    value, vector = momentum.power_iteration(matrix, start, steps, beta)
    expected_value, expected_vector = canonical_iteration(matrix, start, steps, beta)
    assert value == pytest.approx(expected_value)
    np.testing.assert_allclose(vector, expected_vector, rtol=1e-8)


def test_arguments_stay_as_they_are():
    matrix, start = problem(4, 1)
    copies = matrix.copy(), start.copy()
    momentum.power_iteration(matrix, start, 3, 0.1)
    np.testing.assert_array_equal(matrix, copies[0])
    np.testing.assert_array_equal(start, copies[1])


@pytest.mark.timeout(30)
def test_leading_pairs_equivalence():
    matrix, start = problem(5, 2)
    values, vectors = momentum.leading_pairs(matrix, start, 2, 200, 0.1)
    expected_values, expected_vectors = canonical_pairs(matrix, start, 2, 200, 0.1)
    np.testing.assert_allclose(values, expected_values, rtol=1e-6)
    np.testing.assert_allclose(vectors, expected_vectors, rtol=1e-4, atol=1e-6)


def test_slow_spectrum():
    # In no row's test_cases: it is neither run nor counted.
    raise AssertionError("this case is not expected")
