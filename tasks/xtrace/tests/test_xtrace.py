"""Hidden tests of the task xtrace."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

basis_of = pytest.mark.interface("traces.exchangeable.leave_one_out")
general = pytest.mark.interface("traces.exchangeable.xtrace")
nystrom = pytest.mark.interface("traces.exchangeable.xnystrace")


def orthogonal(rng, size):
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def semidefinite(rng, size, values):
    """A symmetric matrix of given eigenvalues, and zeros for those that are missing."""
    turn = orthogonal(rng, size)[:, : len(values)]
    return (turn * values) @ turn.T


def general_matrix(rng, size, rank=None):
    """Not symmetric, with singular values between 1 and 10."""
    rank = size if rank is None else rank
    return orthogonal(rng, size)[:, :rank] * rng.uniform(1.0, 10.0, rank) @ orthogonal(rng, size)[:rank]


def conditioned(rng, rows, columns):
    """Random columns with singular values between 1 and 3."""
    size = min(rows, columns)
    return orthogonal(rng, rows)[:, :size] * rng.uniform(1.0, 3.0, size) @ orthogonal(rng, columns)[:size]


def spread(rng, matrix, count):
    """Vectors whose images are far from dependent, also without any one of them, or are dependent for the rank alone."""
    size = np.linalg.norm(matrix, 2)
    while True:
        vectors = conditioned(rng, len(matrix), count)
        images = matrix @ vectors
        values = [np.linalg.svd(without(images, column), compute_uv=False) for column in range(count)]
        if all(not np.any((each < 0.05 * size) & (each > 1e-9 * size)) for each in values):
            return vectors


def projector(vectors):
    """Onto the range of columns whose rank is no close decision."""
    basis, values, _ = np.linalg.svd(vectors, full_matrices=False)
    basis = basis[:, values > 1e-9 * values.max(initial=0.0)]
    return basis @ basis.T


def without(vectors, column):
    return np.delete(vectors, column, axis=1)


def projected_samples(matrix, vectors, normalise):
    """Equation (2), sample by sample."""
    size, found = len(matrix), []
    for column, vector in enumerate(vectors.T):
        inside = projector(without(matrix @ vectors, column))
        outside = vector - inside @ vector
        free = size - round(np.trace(inside))
        factor = free / (outside @ outside) if normalise else 1.0
        found.append(np.trace(inside @ matrix @ inside) + (factor * (outside @ matrix @ outside) if free else 0.0))
    return np.array(found)


def nystrom_samples(matrix, vectors, normalise, shift):
    """Equation (8), sample by sample."""
    size, count = vectors.shape
    nu = shift * np.sqrt(np.sum((matrix @ vectors) ** 2) / size)
    matrix, found = matrix + nu * np.eye(size), []
    for column, vector in enumerate(vectors.T):
        others = without(vectors, column)
        image = matrix @ others
        approximation = image @ np.linalg.solve(others.T @ image, image.T)
        outside = vector - projector(others) @ vector
        factor = (size - count + 1) / (outside @ outside) if normalise else 1.0
        found.append(np.trace(approximation) + factor * (vector @ (matrix - approximation) @ vector) - nu * size)
    return np.array(found)


def check_estimate(found, samples, rtol=1e-9):
    """Samples, their mean and their error, and the types of all three."""
    scale = np.abs(samples).max()
    assert_equivalent(found.samples, samples, rtol=0.0, atol=rtol * scale, check_dtype=True)
    assert {type(found.trace), type(found.error)} == {float}
    np.testing.assert_allclose(found.trace, np.mean(samples), rtol=0.0, atol=rtol * scale)
    count = len(samples)
    error = np.sqrt(np.sum((samples - samples.mean()) ** 2) / (count * (count - 1))) if count > 1 else np.inf
    np.testing.assert_allclose(found.error, error, rtol=0.0, atol=rtol * scale)


# leave_one_out


def check_basis(found, images, rtol=1e-8):
    basis, lost = found
    rank = round(np.trace(projector(images)))
    count = images.shape[1]
    assert basis.shape == (len(images), rank)
    assert lost.shape == (rank, count)
    assert basis.dtype == lost.dtype == np.float64
    np.testing.assert_allclose(basis.T @ basis, np.eye(rank), atol=1e-12)
    np.testing.assert_allclose(basis @ basis.T, projector(images), atol=rtol)
    for column in range(count):
        expected = projector(without(images, column))
        length = np.sum(lost[:, column] ** 2)
        np.testing.assert_allclose(length, rank - round(np.trace(expected)), atol=1e-12)
        direction = basis @ lost[:, column]
        np.testing.assert_allclose(basis @ basis.T - np.outer(direction, direction), expected, atol=rtol)


@basis_of
@pytest.mark.parametrize("shape", [(9, 4), (7, 7), (6, 1), (4, 9)])
def test_projectors_without_each_column(candidate, rng, shape):
    images = conditioned(rng, *shape) * rng.uniform(0.5, 2.0, shape[1]) * 10.0 ** rng.integers(-3, 4)
    check_basis(assert_unmodified(candidate.traces.exchangeable.leave_one_out, images), images)


@basis_of
def test_projectors_of_columns_that_depend_on_each_other(candidate, rng):
    """Two equal columns, a zero one, a sum of two others; a matrix of low rank; zeros."""
    images = conditioned(rng, 10, 8)
    images[:, 3] = images[:, 0]
    images[:, 5] = 0.0
    images[:, 7] = images[:, 1] + images[:, 4]
    order = rng.permutation(8)
    run = candidate.traces.exchangeable.leave_one_out
    check_basis(run(images[:, order]), images[:, order])
    for unit in (1e-15, 1.0, 1e15):
        images = unit * conditioned(rng, 10, 3) @ conditioned(rng, 3, 7)
        check_basis(run(images), images)
    check_basis(run(np.zeros((5, 3))), np.zeros((5, 3)))
    one = np.where(np.arange(4) == rng.integers(4), rng.normal(size=(6, 1)), 0.0)
    check_basis(run(one), one)


@basis_of
def test_small_columns_count(candidate, rng):
    """Singular values over five orders of magnitude: a direction is known to about 1e-16 times their ratio."""
    images = orthogonal(rng, 9)[:, :5] * 10.0 ** np.array([0.0, -1.0, -2.0, -4.0, -5.0]) @ orthogonal(rng, 5)
    check_basis(candidate.traces.exchangeable.leave_one_out(images), images, rtol=1e-8)
    scaled = conditioned(rng, 9, 4) * 10.0 ** rng.permutation([-3, -1, 0, 2])
    check_basis(candidate.traces.exchangeable.leave_one_out(scaled), scaled, rtol=1e-8)


@basis_of
def test_images_of_other_types(candidate, rng):
    run = candidate.traces.exchangeable.leave_one_out
    whole = rng.integers(-9, 10, (8, 3)) + 20 * np.eye(8, 3, dtype=np.int64)
    check_basis(run(whole.tolist()), whole.astype(np.float64))
    single = conditioned(rng, 8, 3).astype(np.float32)
    check_basis(run(single), single.astype(np.float64))


# xtrace


@general
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("shape", [(12, 5), (6, 6), (9, 1)])
def test_samples_are_those_of_the_definition(candidate, rng, shape, normalise):
    matrix, vectors = general_matrix(rng, shape[0]), conditioned(rng, *shape) * rng.uniform(0.5, 2.0, shape[1])
    found = candidate.traces.exchangeable.xtrace(
        candidate.traces.operators.Operator(matrix), vectors, normalise=normalise
    )
    check_estimate(found, projected_samples(matrix, vectors, normalise), rtol=1e-7)


@general
def test_dependent_images_and_the_default(candidate, rng):
    """Equal vectors, vectors that the matrix maps to 0, and images of a low rank."""
    run, operator = candidate.traces.exchangeable.xtrace, candidate.traces.operators.Operator
    matrix, vectors = general_matrix(rng, 11, rank=8), conditioned(rng, 11, 6)
    vectors[:, 4] = vectors[:, 1]
    vectors[:, 2] = np.linalg.svd(matrix)[2][8:].T @ rng.normal(size=3)
    check_estimate(run(operator(matrix), vectors), projected_samples(matrix, vectors, True), rtol=1e-7)
    matrix = general_matrix(rng, 11, rank=1)  # one direction, which is left whatever vector is not used
    found = run(operator(matrix), vectors, normalise=False)
    check_estimate(found, np.full(6, np.trace(matrix)), rtol=1e-9)


@general
@pytest.mark.parametrize("normalise", [True, False])
def test_low_rank_is_exact(candidate, rng, normalise):
    """The vectors that are left suffice for a rank below their number, also if that is the size of the matrix."""
    run, operator = candidate.traces.exchangeable.xtrace, candidate.traces.operators.Operator
    for size, rank, count in ((14, 3, 4), (14, 3, 7), (4, 4, 5), (3, 3, 7), (5, 1, 2), (1, 1, 3)):
        matrix = general_matrix(rng, size, rank)
        found = run(operator(matrix), spread(rng, matrix, count), normalise=normalise)
        check_estimate(found, np.full(count, np.trace(matrix)), rtol=1e-7)
    found = run(operator(np.zeros((6, 6))), rng.normal(size=(6, 3)), normalise=normalise)
    np.testing.assert_array_equal(found.samples, np.zeros(3))
    assert (found.trace, found.error) == (0.0, 0.0)


@general
def test_normalised_vectors_are_exact_for_multiples_of_the_identity(candidate, rng):
    """And the lengths of the vectors do not matter, but to the samples that are not normalised."""
    run, operator = candidate.traces.exchangeable.xtrace, candidate.traces.operators.Operator
    value = rng.uniform(1.0, 3.0)
    found = run(operator(value * np.eye(10)), conditioned(rng, 10, 4))
    check_estimate(found, np.full(4, 10.0 * value), rtol=1e-9)
    axes = np.eye(10)[:, rng.permutation(10)[:4]]
    diagonal = np.diag(rng.uniform(1.0, 3.0, 10))
    check_estimate(run(operator(diagonal), axes), projected_samples(diagonal, axes, True), rtol=1e-9)
    matrix, vectors = general_matrix(rng, 10), conditioned(rng, 10, 4)
    lengths = 10.0 ** np.arange(-2.0, 2.0)
    check_estimate(run(operator(matrix), vectors * lengths), projected_samples(matrix, vectors, True), rtol=1e-7)
    plain = run(operator(matrix), vectors * lengths, normalise=False)
    check_estimate(plain, projected_samples(matrix, vectors * lengths, False), rtol=1e-7)
    for unit, length in ((1e-30, 1e-9), (1e30, 1e9)):  # little is not nothing
        found = run(operator(unit * matrix), length * vectors)
        check_estimate(found, projected_samples(unit * matrix, length * vectors, True), rtol=1e-7)


@general
def test_products_are_counted(candidate, rng):
    run, operator = candidate.traces.exchangeable.xtrace, candidate.traces.operators.Operator
    for size, rank, count in ((12, 12, 5), (12, 2, 6), (4, 4, 6)):
        matrix = general_matrix(rng, size, rank)
        given = operator(matrix)
        found = assert_unmodified(run, given, spread(rng, matrix, count))
        assert found.samples.shape == (count,)
        assert given.products <= count + min(rank, count)


@general
def test_vectors_of_other_types_and_shapes(candidate, rng):
    run, operator = candidate.traces.exchangeable.xtrace, candidate.traces.operators.Operator
    matrix = general_matrix(rng, 7)
    whole = rng.integers(-9, 10, (7, 3)) + 20 * np.eye(7, 3, dtype=np.int64)
    expected = projected_samples(matrix, whole.astype(np.float64), True)
    for given in (whole.tolist(), whole.astype(np.float32)):
        check_estimate(run(operator(matrix), given), expected, rtol=1e-7)
    for shape in ((7,), (6, 3), (7, 0), (7, 3, 1)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(operator(matrix), rng.normal(size=shape))


# xnystrace


@nystrom
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("shape", [(12, 5), (7, 7), (9, 1)])
def test_nystrom_samples_are_those_of_the_definition(candidate, rng, shape, normalise):
    matrix = semidefinite(rng, shape[0], rng.uniform(1.0, 10.0, shape[0]))
    vectors = conditioned(rng, *shape) * rng.uniform(0.5, 2.0, shape[1])
    for shift in (0.0, 1e-3, 0.5):
        found = candidate.traces.exchangeable.xnystrace(
            candidate.traces.operators.Operator(matrix), vectors, normalise=normalise, shift=shift
        )
        check_estimate(found, nystrom_samples(matrix, vectors, normalise, shift), rtol=1e-9)


@nystrom
@pytest.mark.parametrize("normalise", [True, False])
def test_semidefinite_matrices_of_low_rank(candidate, rng, normalise):
    """The default shift of 1e-10 costs about this share of the trace."""
    run, operator = candidate.traces.exchangeable.xnystrace, candidate.traces.operators.Operator
    for size, rank, count in ((15, 3, 4), (15, 2, 7), (15, 1, 2)):
        for unit in (1e-30, 1.0, 1e30):
            matrix = unit * semidefinite(rng, size, rng.uniform(1.0, 4.0, rank))
            vectors = spread(rng, matrix, count)
            found = run(operator(matrix), vectors, normalise=normalise)
            check_estimate(found, np.full(count, np.trace(matrix)), rtol=1e-6)


@nystrom
def test_the_shift_is_small_and_is_subtracted(candidate, rng):
    """A shift that is large compared with the smallest eigenvalues, from the matrix before the shift."""
    run, operator = candidate.traces.exchangeable.xnystrace, candidate.traces.operators.Operator
    matrix = semidefinite(rng, 10, 10.0 ** np.linspace(3.0, -3.0, 10))
    vectors = conditioned(rng, 10, 4)
    for shift in (1e-4, 1e-2, 10.0):
        found = run(operator(matrix), vectors, shift=shift)
        check_estimate(found, nystrom_samples(matrix, vectors, True, shift), rtol=1e-9)
    vectors = 1e6 * vectors  # the shift grows with the vectors
    default = run(operator(matrix), vectors)
    check_estimate(default, nystrom_samples(matrix, vectors, True, 1e-10), rtol=1e-9)


@nystrom
def test_normalised_nystrom_is_exact_for_the_identity(candidate, rng):
    run, operator = candidate.traces.exchangeable.xnystrace, candidate.traces.operators.Operator
    value, lengths = rng.uniform(1.0, 3.0), 10.0 ** np.arange(-1.0, 2.0)
    found = run(operator(value * np.eye(10)), conditioned(rng, 10, 3) * lengths)
    check_estimate(found, np.full(3, 10.0 * value), rtol=1e-8)


@nystrom
def test_nothing_to_estimate(candidate, rng):
    run, operator = candidate.traces.exchangeable.xnystrace, candidate.traces.operators.Operator
    found = run(operator(np.zeros((6, 6))), rng.normal(size=(6, 3)))
    assert_equivalent(found.samples, np.zeros(3), check_dtype=True)
    assert (found.trace, found.error) == (0.0, 0.0)
    found = run(operator(np.zeros((6, 6))), rng.normal(size=(6, 1)))
    assert (found.trace, found.error) == (0.0, np.inf)
    matrix, vectors = np.zeros((6, 6)), conditioned(rng, 6, 3)
    matrix[1:5, 1:5] = semidefinite(rng, 4, rng.uniform(1.0, 9.0, 4))
    check_estimate(run(operator(matrix), vectors), nystrom_samples(matrix, vectors, True, 1e-10), rtol=1e-7)


@nystrom
def test_what_is_refused(candidate, rng):
    run, operator = candidate.traces.exchangeable.xnystrace, candidate.traces.operators.Operator
    matrix, vectors = semidefinite(rng, 6, rng.uniform(1.0, 9.0, 6)), orthogonal(rng, 6)
    check_estimate(run(operator(matrix), vectors), np.full(6, np.trace(matrix)), rtol=1e-7)
    for bad in (rng.normal(size=(6, 7)), vectors[:5], vectors[0], vectors[:, :0]):
        with pytest.raises(ValueError):  # noqa: PT011
            run(operator(matrix), bad)
    with pytest.raises(ValueError):  # noqa: PT011
        run(operator(np.zeros((6, 6))), rng.normal(size=(6, 7)))
    indefinite = matrix - 100.0 * np.outer(vectors[:, 1], vectors[:, 1])
    for bad in (-matrix, indefinite):
        with pytest.raises(ValueError):  # noqa: PT011
            run(operator(bad), vectors[:, :3])


@nystrom
def test_nystrom_products_and_types(candidate, rng):
    run, operator = candidate.traces.exchangeable.xnystrace, candidate.traces.operators.Operator
    given = operator(semidefinite(rng, 9, rng.uniform(1.0, 9.0, 9)))
    found = assert_unmodified(run, given, conditioned(rng, 9, 4))
    assert found.samples.shape == (4,)
    assert given.products == 4
    matrix = semidefinite(rng, 7, rng.uniform(1.0, 9.0, 7))
    whole = rng.integers(-5, 6, (7, 3)) + 20 * np.eye(7, 3, dtype=np.int64)
    expected = nystrom_samples(matrix, whole.astype(np.float64), True, 1e-10)
    for other in (whole.tolist(), whole.astype(np.float32)):
        check_estimate(run(operator(matrix), other), expected, rtol=1e-8)


@pytest.mark.parametrize("definite", [pytest.param(True, marks=nystrom), pytest.param(False, marks=general)])
def test_the_report_is_that_of_the_authors(candidate, reference, rng, definite):
    """Of this size, no two vectors of signs are equal in a billion years."""
    matrix = semidefinite(rng, 40, 3.0 ** -np.arange(20.0)) + (0.01 if definite else 0.0) * np.eye(40)
    seed = int(rng.integers(10**6))
    tables = [side.traces.report.report(matrix, 8, seed, definite) for side in (candidate, reference)]
    assert_equivalent(tables[0], tables[1], rtol=1e-6)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
