"""Hidden tests of the task soap."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

start = pytest.mark.interface("soap.optimizer.fresh")
turn = pytest.mark.interface("soap.optimizer.rotate")
collect = pytest.mark.interface("soap.optimizer.accumulate")
change = pytest.mark.interface("soap.optimizer.refresh")
step = pytest.mark.interface("soap.optimizer.update")

# Bases follow from eigenvectors and a few steps of QR: rounding grows by the condition of small random matrices.
CLOSE = {"rtol": 1e-6, "atol": 1e-8}


def orthonormal(rng, size):
    return np.linalg.qr(rng.normal(size=(size, size)))[0]


def definite(rng, size):
    """A symmetric matrix whose eigenvalues are well apart, and its eigenvectors, the largest first."""
    basis = orthonormal(rng, size)
    return basis * np.arange(2 * size, size, -1.0) @ basis.T, basis


def unsigned(bases):
    """Bases whose columns have a positive element of largest size."""
    found = []
    for basis in bases:
        if basis is not None:
            basis = basis * np.sign(basis[np.abs(basis).argmax(axis=0), np.arange(len(basis))])
        found.append(basis)
    return found


def read(state):
    """A state as plain data, without the signs that are free."""
    return {
        "step": state.step,
        "first": state.first,
        "second": state.second,
        "preconditioners": list(state.preconditioners),
        "bases": unsigned(state.bases),
    }


def run(side, parameter, gradients, options, lr=None):
    """Parameter and state after one update for each gradient."""
    config = side.soap.config.Config(**options)
    state = side.soap.optimizer.fresh(parameter.shape, config)
    for gradient in gradients:
        parameter, state = side.soap.optimizer.update(parameter, gradient, state, config, lr)
    return parameter, read(state)


def settings(rng, **others):
    return {
        "lr": rng.uniform(0.01, 0.1),
        "beta1": rng.uniform(0.5, 0.9),
        "beta2": rng.uniform(0.6, 0.9),
        "weight_decay": rng.uniform(0.1, 0.5),
        "frequency": 2,
        "collect": 3,
        **others,
    }


def adam(parameter, gradients, options):
    """Adam with decoupled decay: the parameter and both moments."""
    first, second = np.zeros(parameter.shape), np.zeros(parameter.shape)
    for t, gradient in enumerate(gradients, start=1):
        first = options["beta1"] * first + (1.0 - options["beta1"]) * gradient
        second = options["beta2"] * second + (1.0 - options["beta2"]) * gradient**2
        root = np.sqrt(second / (1.0 - options["beta2"] ** t)) + options.get("eps", 1e-8)
        ratio = first / (1.0 - options["beta1"] ** t) / root
        parameter = parameter - options["lr"] * (ratio + options["weight_decay"] * parameter)
    return parameter, first, second


# fresh


@start
def test_state_before_the_first_update(candidate, rng):
    """The axis of exactly the largest size is preconditioned, also one of size 1; a longer one is not."""
    size = rng.integers(4, 9).item()
    config = candidate.soap.config.Config(max_size=size)
    for shape in ((size, 2), (3, size + 1), (2, size + 3, size), (size + 1, size + 2), (1, size), (size + 1, 1)):
        state = read(candidate.soap.optimizer.fresh(shape, config))
        sizes = [each if each <= size else None for each in shape]
        expected = {
            "step": 0,
            "first": np.zeros(shape),
            "second": np.zeros(shape),
            "preconditioners": [None if each is None else np.zeros((each, each)) for each in sizes],
            "bases": [None if each is None else np.eye(each) for each in sizes],
        }
        assert_equivalent(state, expected, rtol=0.0, atol=0.0, check_dtype=True)


@start
def test_vectors_are_not_preconditioned(candidate, rng):
    config, size = candidate.soap.config.Config(), rng.integers(2, 9).item()
    assert candidate.soap.optimizer.fresh((size,), config).bases == (None,)
    assert candidate.soap.optimizer.fresh((size,), config).preconditioners == (None,)
    assert candidate.soap.optimizer.fresh((size, 2), config).bases[0].shape == (size, size)


# rotate


@turn
def test_each_axis_is_rotated_by_its_own_basis(candidate, rng):
    tensor = rng.normal(size=(3, 5, 2))
    a, b, c = (orthonormal(rng, size) for size in tensor.shape)
    call = candidate.soap.optimizer.rotate
    found = call(tensor, (a, b, c))
    assert_equivalent(found, np.einsum("xyz,xi,yj,zk->ijk", tensor, a, b, c), rtol=1e-9, atol=1e-12)
    assert_equivalent(call(found, (a, b, c), back=True), tensor, rtol=1e-9, atol=1e-12)
    assert_equivalent(call(tensor, (None, b, None)), np.einsum("xyz,yj->xjz", tensor, b), rtol=1e-9, atol=1e-12)
    assert_equivalent(call(tensor[0], (b, None), True), b @ tensor[0], rtol=1e-9, atol=1e-12)


@turn
def test_tensors_of_other_types(candidate, rng):
    whole = rng.integers(100, 128, (3, 4)).astype(np.uint8)
    bases = orthonormal(rng, 3), None
    expected = bases[0].T @ whole
    for given in (whole, whole.tolist(), whole.astype(np.float32)):
        found = candidate.soap.optimizer.rotate(given, bases)
        assert_equivalent(found, expected, rtol=1e-9, atol=1e-9, check_dtype=True)
    found = candidate.soap.optimizer.rotate(whole, (None, None))
    assert_equivalent(found, whole.astype(np.float64), check_dtype=True)


# accumulate


@collect
def test_preconditioners_average_products_over_all_other_axes(candidate, rng):
    gradient, decay = rng.normal(size=(3, 4, 2)), rng.uniform(0.1, 0.9)
    old = tuple(definite(rng, size)[0] for size in gradient.shape)
    found = assert_unmodified(candidate.soap.optimizer.accumulate, old, gradient, decay)
    for axis, terms in enumerate(("ajk,bjk->ab", "jak,jbk->ab", "jka,jkb->ab")):
        expected = decay * old[axis] + (1.0 - decay) * np.einsum(terms, gradient, gradient)
        assert_equivalent(found[axis], expected, rtol=1e-9, atol=1e-12)
    assert type(found) is tuple
    partial = candidate.soap.optimizer.accumulate((old[0], None, old[2]), gradient, decay)
    assert_equivalent(partial, (found[0], None, found[2]), rtol=1e-9, atol=1e-12)


@collect
def test_gradients_of_other_types(candidate, rng):
    whole = rng.integers(100, 128, (3, 4)).astype(np.uint8)
    single = rng.normal(size=(3, 4)).astype(np.float32)
    for given in (whole, single, single.tolist()):
        found = candidate.soap.optimizer.accumulate((np.zeros((3, 3)), None), given, 0.25)
        exact = np.array(given, dtype=np.float64)
        assert_equivalent(found, (0.75 * exact @ exact.T, None), rtol=1e-9, check_dtype=True)


# refresh


@change
def test_one_step_from_the_sorted_columns(candidate, rng):
    """Q is orthonormal, Q^T P Q_old is triangular for the sorted columns, and second moments follow their columns."""
    shape = 4, 3, 5
    matrices = tuple(definite(rng, size)[0] for size in shape)
    old, second = tuple(orthonormal(rng, size) for size in shape), rng.uniform(1.0, 2.0, shape)
    found, moved = assert_unmodified(candidate.soap.optimizer.refresh, matrices, old, second)
    orders = []
    for matrix, before, after in zip(matrices, old, found, strict=True):
        orders.append(np.argsort(-np.diag(before.T @ matrix @ before)))
        np.testing.assert_allclose(after.T @ after, np.eye(len(after)), atol=1e-12)
        triangle = after.T @ matrix @ before[:, orders[-1]]
        np.testing.assert_allclose(np.tril(triangle, -1), 0.0, atol=1e-9)
        assert not np.allclose(np.triu(triangle, 1), 0.0, atol=1e-4)
    assert type(found) is tuple
    assert_equivalent(moved, second[np.ix_(*orders)], rtol=0.0, atol=0.0)


@change
def test_equal_estimates_keep_their_order(candidate, rng):
    """Diagonal preconditioners, whose estimates are exact: bases are unit vectors, and axes without one stay."""
    size = 40
    values = rng.integers(1, 5, size).astype(np.float64)
    second = rng.uniform(1.0, 2.0, (3, size))
    found, moved = candidate.soap.optimizer.refresh((None, np.diag(values)), (None, np.eye(size)), second)
    order = np.argsort(-values, kind="stable")
    assert found[0] is None
    assert_equivalent(unsigned(found)[1], np.eye(size)[:, order], rtol=1e-12, atol=1e-12)
    assert_equivalent(moved, second[:, order], rtol=0.0, atol=0.0)


@change
def test_steps_converge_to_the_eigenvectors(candidate, rng):
    matrix, expected = definite(rng, 3)
    bases, second = (None, orthonormal(rng, 3)), np.ones((2, 3))
    for _ in range(4):  # a power of the matrix does that of many steps
        bases, second = candidate.soap.optimizer.refresh((None, np.linalg.matrix_power(matrix, 30)), bases, second)
    assert_equivalent(unsigned(bases)[1], unsigned([expected])[0], **CLOSE)


@change
def test_singular_preconditioners(candidate, rng):
    """The leading columns span what the preconditioner does, and all are orthonormal."""
    rows = rng.normal(size=(6, 2))
    old, second = orthonormal(rng, 6), rng.uniform(1.0, 2.0, (6, 2))
    for matrix in (rows @ rows.T, np.zeros((6, 6))):
        found, moved = candidate.soap.optimizer.refresh((matrix, None), (old, None), second)
        np.testing.assert_allclose(found[0].T @ found[0], np.eye(6), atol=1e-12)
        np.testing.assert_allclose(found[0][:, 2:].T @ matrix, 0.0, atol=1e-9)
        assert_equivalent(np.sort(moved, axis=0), np.sort(second, axis=0), rtol=0.0, atol=0.0)


# update


@step
def test_collecting_changes_preconditioners_only(candidate, rng):
    parameter, gradients, options = rng.normal(size=(3, 4)), rng.normal(size=(3, 3, 4)), settings(rng)
    for count in (1, 2, 3):
        new, state = run(candidate, parameter, gradients[:count], options)
        weights = (1.0 - options["beta2"]) * options["beta2"] ** np.arange(count - 1, -1, -1)
        left = np.einsum("t,taj,tbj->ab", weights, gradients[:count], gradients[:count])
        right = np.einsum("t,tja,tjb->ab", weights, gradients[:count], gradients[:count])
        assert_equivalent(new, parameter, rtol=0.0, atol=0.0, check_dtype=True)
        bases = [np.eye(3), np.eye(4)]
        if count == 3:
            bases = unsigned(np.linalg.eigh(each)[1][:, ::-1] for each in (left, right))
        expected = {
            "step": count,
            "first": np.zeros((3, 4)),
            "second": np.zeros((3, 4)),
            "preconditioners": [left, right],
            "bases": bases,
        }
        assert_equivalent(state, expected, **CLOSE, check_dtype=True)


@step
def test_updates_between_two_changes_of_the_bases(candidate, rng):
    """Adam in the first bases; the corrections count from the end of the collection."""
    parameter, gradients = rng.normal(size=(3, 4)), rng.normal(size=(6, 3, 4))
    options = settings(rng, frequency=4, eps=0.1)
    _, state = run(candidate, parameter, gradients[:3], options)
    left, right = state["bases"]
    new, state = run(candidate, parameter, gradients, options)
    rotated, _, second = adam(left.T @ parameter @ right, left.T @ gradients[3:] @ right, options)
    _, first, _ = adam(parameter, gradients[3:], options)
    assert_equivalent(new, left @ rotated @ right.T, **CLOSE)
    assert_equivalent(state["second"], second, **CLOSE)
    assert_equivalent(state["first"], first, rtol=1e-9, atol=1e-12)
    assert_equivalent(state["bases"], [left, right], **CLOSE)
    assert state["step"] == 6


@step
@pytest.mark.parametrize("shape", [(4, 3), (3, 2, 4), (3, 12)])
def test_updates_are_those_of_the_authors(candidate, reference, rng, shape):
    """Through several changes of the bases; the axis of twelve is too large for one."""
    parameter, gradients = rng.normal(size=shape), rng.normal(size=(8, *shape))
    options = settings(rng, max_size=8)
    found, expected = (run(side, parameter, gradients, options) for side in (candidate, reference))
    assert_equivalent(found, expected, **CLOSE, check_dtype=True)


@step
@pytest.mark.parametrize(("frequency", "collect"), [(1, 2), (3, 1), (1, 1)])
def test_the_smallest_frequency_and_collection(candidate, reference, rng, frequency, collect):
    """Bases that change with every update, and that follow from one gradient, whose singular values are well apart."""
    parameter, gradients = rng.normal(size=(3, 3)), rng.normal(size=(6, 3, 3))
    gradients[0] = orthonormal(rng, 3) * [3.0, 2.0, 1.0] @ orthonormal(rng, 3)
    options = settings(rng, frequency=frequency, collect=collect)
    for count in (collect, collect + 1, 6):
        found, expected = (run(side, parameter, gradients[:count], options) for side in (candidate, reference))
        assert_equivalent(found, expected, **CLOSE, check_dtype=True)


@step
def test_the_bases_change_after_the_update(candidate, rng):
    """With the statistics of the gradient that was just used, when t (without the collection) is a multiple."""
    parameter, gradients = rng.normal(size=(3, 4)), rng.normal(size=(7, 3, 4))
    options = settings(rng, frequency=3, collect=2)
    config = candidate.soap.config.Config(**options)
    state = candidate.soap.optimizer.fresh((3, 4), config)
    for k, gradient in enumerate(gradients, start=1):
        before, kept = state.bases, state.second
        parameter, state = candidate.soap.optimizer.update(parameter, gradient, state, config)
        if k == 5:
            second = options["beta2"] * kept
            second = second + (1.0 - options["beta2"]) * candidate.soap.optimizer.rotate(gradient, before) ** 2
            bases, second = candidate.soap.optimizer.refresh(state.preconditioners, before, second)
            assert_equivalent(unsigned(state.bases), unsigned(bases), **CLOSE)
            assert_equivalent(state.second, second, **CLOSE)
            assert not np.allclose(unsigned(before)[1], unsigned(bases)[1], atol=1e-4)
        elif k > 2:
            assert_equivalent(list(state.bases), list(before), rtol=0.0, atol=0.0)


@step
def test_vectors_and_long_axes_are_updated_by_adam(candidate, rng):
    """Nothing is preconditioned, so that nothing is collected."""
    for shape in ((6,), (9, 10)):
        parameter, gradients = rng.normal(size=shape), rng.normal(size=(4, *shape))
        options = settings(rng, max_size=8)
        new, state = run(candidate, parameter, gradients, options)
        expected, first, second = adam(parameter, gradients, options)
        assert_equivalent(new, expected, rtol=1e-9, atol=1e-9)
        assert_equivalent([state["first"], state["second"]], [first, second], rtol=1e-9, atol=1e-12)
        assert state["step"] == 4


@step
def test_without_a_collection_the_bases_start_as_identities(candidate, rng):
    parameter, gradients = rng.normal(size=(3, 3)), rng.normal(size=(4, 3, 3))
    options = settings(rng, collect=0, frequency=4)
    new, state = run(candidate, parameter, gradients, options)
    assert_equivalent(new, adam(parameter, gradients, options)[0], rtol=1e-9, atol=1e-9)
    left = state["preconditioners"][0]
    order = np.argsort(-np.diag(left))
    assert_equivalent(state["bases"][0], unsigned([np.linalg.qr(left[:, order])[0]])[0], **CLOSE)


@step
def test_rotated_gradients_give_rotated_updates(candidate, rng):
    shape, options = (3, 4), settings(rng, weight_decay=0.0)
    left, right = (orthonormal(rng, size) for size in shape)
    gradients = rng.normal(size=(8, *shape))
    plain, _ = run(candidate, np.zeros(shape), gradients, options)
    turned, _ = run(candidate, np.zeros(shape), left @ gradients @ right, options)
    assert np.abs(plain).max() > 1e-3
    assert_equivalent(turned, left @ plain @ right, **CLOSE)


@step
def test_missing_gradients_and_gradients_that_do_not_fit(candidate, rng):
    parameter, gradients, options = rng.normal(size=(3, 4)), rng.normal(size=(6, 3, 4)), settings(rng)
    expected = run(candidate, parameter, gradients, options)
    given = [None, *gradients[:2], None, *gradients[2:4], None, None, *gradients[4:]]
    assert_equivalent(run(candidate, parameter, given, options), expected, rtol=1e-9, atol=1e-12)
    for count in (0, 2, 5):  # before, at the end of and after the collection
        for bad in (gradients[0].T, gradients[0][:1], gradients[0].ravel(), gradients[:1]):
            with pytest.raises(ValueError):  # noqa: PT011
                run(candidate, parameter, [*gradients[:count], bad], options)
        for bad in (np.ones(1), 1.0, np.ones((1, 4)), np.ones((3, 4))):
            with pytest.raises(ValueError):  # noqa: PT011
                run(candidate, parameter[0], [*gradients[:count, 0], bad], options)


@step
def test_the_learning_rate_of_an_update(candidate, rng):
    parameter, gradients, options = rng.normal(size=(3, 4)), rng.normal(size=(4, 3, 4)), settings(rng)
    usual, state = run(candidate, parameter, gradients, options)
    for share in (0.0, 0.25, 3.0):
        new, again = run(candidate, parameter, gradients, options, share * options["lr"])
        assert_equivalent(new, parameter + share * (usual - parameter), **CLOSE)
        assert_equivalent(again, state, rtol=1e-9, atol=1e-12)


@step
def test_parameters_in_single_precision(candidate, rng):
    """They stay so, but nothing is computed in it: decay leaves five millionths, of which that would lose a hundredth."""
    parameter = rng.uniform(1.0, 2.0, (3, 4)).astype(np.float32)
    gradients = rng.normal(size=(5, 3, 4)).astype(np.float32)
    options = settings(rng, lr=0.5, weight_decay=2.0 - 1e-5)
    for given in (gradients, gradients.tolist()):
        _, found = run(candidate, parameter, given, options)
        _, expected = run(candidate, parameter.astype(np.float64), gradients.astype(np.float64), options)
        assert_equivalent(found, expected, rtol=1e-9, atol=1e-9, check_dtype=True)
    new, _ = run(candidate, parameter, np.zeros((4, 3, 4)), options)
    assert_equivalent(
        new, (5e-6 * parameter.astype(np.float64)).astype(np.float32), rtol=1e-6, atol=0.0, check_dtype=True
    )


@step
def test_nothing_is_modified(candidate, rng):
    parameter, gradients = rng.normal(size=(3, 4)), rng.normal(size=(5, 3, 4))
    config = candidate.soap.config.Config(**settings(rng))
    state = candidate.soap.optimizer.fresh((3, 4), config)
    for gradient in gradients:
        before = read(state)
        before = {**before, **{name: before[name].copy() for name in ("first", "second")}}
        before["preconditioners"] = [each.copy() for each in before["preconditioners"]]
        new, later = assert_unmodified(candidate.soap.optimizer.update, parameter, gradient, state, config)
        assert_equivalent(read(state), before, rtol=0.0, atol=0.0)
        parameter, state = new, later
    assert state.step == 5


@step
def test_the_driver_trains_as_the_authors(candidate, reference, rng):
    """A bias that joins late, and a factor with an axis that is too large."""
    begin = {"left": rng.normal(size=(9, 3)), "right": rng.normal(size=(3, 3)), "bias": np.zeros(3)}
    targets, options = rng.normal(size=(8, 9, 3)), settings(rng, max_size=6, collect=2)
    found = []
    for side in (candidate, reference):
        task = side.soap.problems.Factors(targets, bias_from=3)
        parameters, states = side.soap.train.train(task, begin, side.soap.config.Config(**options))
        found.append((parameters, {name: read(state) for name, state in states.items()}))
    assert found[1][1]["bias"]["step"] == 5
    assert_equivalent(found[0], found[1], **CLOSE)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
