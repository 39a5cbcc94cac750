import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified


def inputs(rng, n, d=1):
    """Points that keep a distance, so that the comparison is not one of rounding errors."""
    grid = np.stack(np.meshgrid(*[np.arange(8.0)] * d, indexing="ij"), axis=-1).reshape(-1, d)
    return grid[rng.permutation(len(grid))[:n]] + rng.uniform(-0.3, 0.3, (n, d))


def rbf(code, variance=1.3, lengthscale=1.1):
    return code.gp.kernels.RBF(variance, lengthscale)


def rbf_matrix(x, y, variance=1.3, lengthscale=1.1):
    return variance * np.exp(-0.5 * ((x[:, None] - y) ** 2).sum(axis=-1) / lengthscale**2)


def gaussian_log_density(y, covariance):
    return -0.5 * (y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(2.0 * np.pi * covariance)[1])


@pytest.mark.interface("gp.sparse.elbo")
def test_all_points_inducing_gives_the_exact_evidence(candidate, rng):
    x, y, noise = inputs(rng, 7), rng.normal(size=7) + 3.0, rng.uniform(0.1, 0.5, 7)
    model = candidate.gp.model.SparseGP(rbf(candidate), x, 2.5)
    exact = gaussian_log_density(y - 2.5, rbf_matrix(x, x) + np.diag(noise))
    assert_equivalent(candidate.gp.sparse.elbo(model, x, y, noise), float(exact), rtol=1e-5)


@pytest.mark.interface("gp.sparse.elbo")
def test_the_bound_stays_below_the_evidence_and_never_falls_as_points_join(candidate, rng):
    x, y = inputs(rng, 8), rng.normal(size=8)
    exact = gaussian_log_density(y, rbf_matrix(x, x) + 0.05 * np.eye(8))
    model = candidate.gp.model.SparseGP
    bounds = [candidate.gp.sparse.elbo(model(rbf(candidate), x[:m]), x, y, 0.05) for m in range(1, 9)]
    assert all(type(bound) is float for bound in bounds)
    assert (np.diff(bounds) >= -1e-6).all()
    assert bounds[0] < bounds[-2] < exact
    assert_equivalent(bounds[-1], float(exact), rtol=1e-5)


@pytest.mark.interface("gp.sparse.elbo")
@pytest.mark.parametrize("outputs", [(), (1,), (3,)], ids=["vector", "column", "matrix"])
def test_bound_is_the_authors(candidate, reference, rng, outputs):
    x, z = inputs(rng, 30, 2), inputs(rng, 6, 2)
    y, noise = rng.normal(size=(30, *outputs)), rng.uniform(0.05, 0.6, 30)

    def bounds(code):
        kernels = code.gp.kernels
        kernel = kernels.Sum(kernels.RBF(0.8, np.array([1.5, 0.7])), kernels.Linear(0.3))
        model = code.gp.model.SparseGP(kernel, z, -0.7)
        return [code.gp.sparse.elbo(model, x, y, noise), code.gp.sparse.elbo(model, x, y, 0.2)]

    assert_equivalent(bounds(candidate), bounds(reference), rtol=1e-6)


@pytest.mark.interface("gp.sparse.elbo")
def test_twenty_thousand_points_need_no_square_matrix(candidate, reference, rng):
    x, y, z = rng.uniform(0.0, 8.0, (20_000, 1)), rng.normal(size=20_000), inputs(rng, 8)

    def results(code):
        model = code.gp.model.SparseGP(rbf(code), z)
        mean, _ = code.gp.sparse.inducing_posterior(model, x, y, 0.5)
        return [code.gp.sparse.elbo(model, x, y, 0.5), mean.tolist()]

    assert_equivalent(results(candidate), results(reference), rtol=1e-5)


@pytest.mark.interface("gp.sparse.elbo")
def test_malformed_training_data_is_refused_and_good_data_is_not(candidate, reference, rng):
    x, y, z = inputs(rng, 5), rng.normal(size=5), inputs(rng, 3)
    model = candidate.gp.model.SparseGP(rbf(candidate), z)
    for bad in ((x, y[:4], 0.1), (x[:, 0], y, 0.1), (x, y, 0.0), (x, y, np.full(4, 0.1)), (x[:0], y[:0], 0.1)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.gp.sparse.elbo(model, *bad)
    ours = reference.gp.model.SparseGP(rbf(reference), z)
    expected = reference.gp.sparse.elbo(ours, x, y, 0.1)
    assert_equivalent(candidate.gp.sparse.elbo(model, x, y, 0.1), expected, rtol=1e-6)
    assert_equivalent(candidate.gp.sparse.elbo(model, x.tolist(), y.tolist(), 0.1), expected, rtol=1e-6)


@pytest.mark.interface("gp.sparse.inducing_posterior")
def test_the_bound_is_that_of_the_returned_posterior(candidate, rng):
    x, y, z = rng.uniform(0.0, 8.0, (12, 1)), rng.normal(size=12) + 1.0, inputs(rng, 4)
    noise, prior_mean = rng.uniform(0.1, 0.4, 12), 1.5
    model = candidate.gp.model.SparseGP(rbf(candidate), z, prior_mean)
    mean, cov = candidate.gp.sparse.inducing_posterior(model, x, y, noise)
    assert mean.shape == (4,)
    assert cov.shape == (4, 4)
    np.testing.assert_allclose(cov, cov.T, rtol=1e-9, atol=1e-12)
    kuu, kuf = rbf_matrix(z, z), rbf_matrix(z, x)
    gain = np.linalg.solve(kuu, kuf)
    guess = prior_mean + gain.T @ (mean - prior_mean)
    left = 1.3 - np.sum(kuf * gain, axis=0) + np.sum(gain * (cov @ gain), axis=0)
    fit = -0.5 * np.sum(np.log(2.0 * np.pi * noise) + ((y - guess) ** 2 + left) / noise)
    shift = mean - prior_mean
    divergence = np.trace(np.linalg.solve(kuu, cov)) + shift @ np.linalg.solve(kuu, shift) - 4
    divergence += np.linalg.slogdet(kuu)[1] - np.linalg.slogdet(cov)[1]
    bound = float(fit - 0.5 * divergence)
    assert_equivalent(candidate.gp.sparse.elbo(model, x, y, noise), bound, rtol=1e-5)


@pytest.mark.interface("gp.sparse.inducing_posterior")
def test_posterior_of_several_outputs_is_the_authors(candidate, reference, rng):
    x, y, z = inputs(rng, 20, 2), rng.normal(size=(20, 3)), inputs(rng, 6, 2)
    noise = rng.uniform(0.05, 0.6, 20)

    def posterior(code, outputs):
        model = code.gp.model.SparseGP(rbf(code), z, 0.4)
        return code.gp.sparse.inducing_posterior(model, x, outputs, noise)

    for outputs in (y, y[:, :1], y[:, 0]):
        for actual, expected in zip(posterior(candidate, outputs), posterior(reference, outputs), strict=True):
            assert_equivalent(actual, expected, rtol=1e-5, check_dtype=True)


@pytest.mark.interface("gp.sparse.inducing_posterior")
def test_repeated_inducing_points_change_nothing(candidate, rng):
    x, y, z = rng.uniform(0.0, 8.0, (15, 1)), rng.normal(size=15), inputs(rng, 5)
    model = candidate.gp.model.SparseGP
    once, twice = model(rbf(candidate), z, 0.3), model(rbf(candidate), np.concatenate([z, z]), 0.3)
    mean, cov = candidate.gp.sparse.inducing_posterior(once, x, y, 0.2)
    means, covs = candidate.gp.sparse.inducing_posterior(twice, x, y, 0.2)
    assert np.std(mean) > 0
    assert_equivalent(means, np.tile(mean, 2), rtol=1e-4, atol=1e-5)
    assert_equivalent(covs, np.tile(cov, (2, 2)), rtol=1e-4, atol=1e-5)
    assert_equivalent(candidate.gp.sparse.elbo(twice, x, y, 0.2), candidate.gp.sparse.elbo(once, x, y, 0.2), rtol=1e-4)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param("elbo", marks=pytest.mark.interface("gp.sparse.elbo")),
        pytest.param("inducing_posterior", marks=pytest.mark.interface("gp.sparse.inducing_posterior")),
        pytest.param("predict", marks=pytest.mark.interface("gp.sparse.predict")),
    ],
)
def test_training_data_are_not_modified(candidate, reference, rng, function):
    x, y, noise = inputs(rng, 8), rng.normal(size=(8, 2)), rng.uniform(0.1, 0.5, 8)
    more = [inputs(rng, 3)] if function == "predict" else []

    def answer(code):
        model = code.gp.model.SparseGP(rbf(code), x[:4].copy(), 0.5)
        return assert_unmodified(getattr(code.gp.sparse, function), model, x, y, noise, *more)

    assert_equivalent(answer(candidate), answer(reference), rtol=1e-6)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
