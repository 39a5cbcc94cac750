import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent

pytestmark = pytest.mark.interface("gp.sparse.predict")


def spread_out(rng, n):
    return rng.permutation(10.0 * (np.arange(n) + rng.uniform(0.0, 0.5, n)) / n)[:, None]


def rbf_matrix(x, y, variance, lengthscale):
    return variance * np.exp(-0.5 * (x - y.T) ** 2 / lengthscale**2)


def test_all_points_inducing_gives_the_exact_prediction(candidate, rng):
    x, y, x_new = spread_out(rng, 8), rng.normal(size=8) - 2.0, rng.uniform(0.0, 10.0, (5, 1))
    noise = rng.uniform(0.1, 0.4, 8)
    model = candidate.gp.model.SparseGP(candidate.gp.kernels.RBF(0.9, 1.2), x, -1.5)
    mean, cov = candidate.gp.sparse.predict(model, x, y, noise, x_new, True)
    cross = rbf_matrix(x_new, x, 0.9, 1.2)
    gain = cross @ np.linalg.inv(rbf_matrix(x, x, 0.9, 1.2) + np.diag(noise))
    assert_equivalent(mean, -1.5 + gain @ (y + 1.5), rtol=1e-5, atol=1e-6)
    assert_equivalent(cov, rbf_matrix(x_new, x_new, 0.9, 1.2) - gain @ cross.T, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("outputs", [(), (1,), (2,)], ids=["vector", "column", "matrix"])
def test_prediction_is_the_authors(candidate, reference, rng, outputs):
    x, z, x_new = rng.uniform(-3.0, 3.0, (25, 2)), rng.uniform(-3.0, 3.0, (6, 2)), rng.uniform(-4.0, 4.0, (7, 2))
    y, noise = rng.normal(size=(25, *outputs)), rng.uniform(0.05, 0.5, 25)

    def predictions(code):
        kernels = code.gp.kernels
        kernel = kernels.Sum(kernels.RBF(1.4, np.array([0.8, 1.3])), kernels.Linear(0.2))
        model = code.gp.model.SparseGP(kernel, z, 0.6)
        one = code.gp.sparse.predict(model, x, y, noise, x_new)
        other = code.gp.sparse.predict(model, x, y, 0.3, x_new, full_cov=True)
        return [*one, *other]

    assert_equivalent(predictions(candidate), predictions(reference), rtol=1e-5, check_dtype=True)

    def small_variances(code):
        model = code.gp.model.SparseGP(code.gp.kernels.RBF(1e-9, 1.1), z)
        return code.gp.sparse.predict(model, x, 1e-4 * y, 1e-10, x_new)[1]

    assert_equivalent(small_variances(candidate), small_variances(reference), rtol=1e-5)


def test_variances_are_the_diagonal_and_shapes_hold_without_points(candidate, rng):
    x, y, z = spread_out(rng, 12), rng.normal(size=(12, 2)), spread_out(rng, 4)
    x_new = rng.uniform(-2.0, 12.0, (9, 1))
    model = candidate.gp.model.SparseGP(candidate.gp.kernels.RBF(1.1, 1.4), z, 5.0)
    mean, variance = candidate.gp.sparse.predict(model, x, y, 0.2, x_new)
    same_mean, cov = candidate.gp.sparse.predict(model, x, y, 0.2, x_new, full_cov=True)
    assert_equivalent(same_mean, mean, rtol=1e-9)
    assert_equivalent(np.diag(cov), variance, rtol=1e-6, atol=1e-8)
    assert np.linalg.eigvalsh(cov).min() > -1e-8
    assert variance.min() > 0
    mean, variance = candidate.gp.sparse.predict(model, x, y, 0.2, x_new[:0])
    assert (mean.shape, variance.shape) == ((0, 2), (0,))
    mean, cov = candidate.gp.sparse.predict(model, x, y[:, 0], 0.2, x_new[:0], full_cov=True)
    assert (mean.shape, cov.shape) == ((0,), (0, 0))


def test_far_from_the_data_the_prior_is_left_and_close_to_it_little(candidate, rng):
    x = spread_out(rng, 10)
    y = 7.0 + np.sin(x[:, 0])
    model = candidate.gp.model.SparseGP(candidate.gp.kernels.RBF(2.3, 1.5), x, 6.0)
    mean, variance = candidate.gp.sparse.predict(model, x, y, 1e-8, np.concatenate([x, x + 1000.0]))
    np.testing.assert_allclose(mean, np.concatenate([y, np.full(10, 6.0)]), rtol=1e-4)
    assert (variance >= 0.0).all()
    np.testing.assert_allclose(variance, np.repeat([0.0, 2.3], 10), rtol=1e-6, atol=1e-5)


def test_a_variance_that_rounding_makes_negative_is_zero(candidate, rng):
    """So far from the origin a squared distance is nothing but rounding, and the kernel is no covariance any more: two
    inducing points are told apart, while a new point coincides with both of them."""

    def squared(x, y):
        return x**2 + y**2 - 2.0 * x * y

    kernel = candidate.gp.kernels.RBF(1.0, 1.0)
    while True:
        first, second, new = np.sort(1e5 + rng.uniform(-2e-3, 2e-3, 3))
        if squared(first, second) > 0.0 >= max(squared(first, new), squared(second, new)):
            z, x_new = np.array([[first], [second]]), np.array([[new], [1e5 + 1e3]])
            if kernel(z, z).min() < 1.0 == min(kernel(z, x_new)[:, 0].min(), kernel(x_new, z)[0].min()):
                break  # a matrix product may round in another way than these three numbers
    model = candidate.gp.model.SparseGP(kernel, z)
    y = rng.normal(size=2)
    _, variance = candidate.gp.sparse.predict(model, z, y, 1e-9, x_new)
    assert variance[0] == 0.0
    np.testing.assert_allclose(variance[1], 1.0, rtol=1e-9)


def test_twenty_thousand_new_points_need_no_square_matrix(candidate, reference, rng):
    x, y, z = spread_out(rng, 15), rng.normal(size=15), spread_out(rng, 5)
    x_new = rng.uniform(-2.0, 12.0, (20_000, 1))

    def moments(code):
        model = code.gp.model.SparseGP(code.gp.kernels.RBF(1.0, 2.0), z)
        mean, variance = code.gp.sparse.predict(model, x, y, 0.1, x_new)
        return [mean[::100], variance[::100]]

    assert_equivalent(moments(candidate), moments(reference), rtol=1e-5)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
