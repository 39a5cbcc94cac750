"""Hidden tests of the task gated-delta."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

token = pytest.mark.interface("delta.rule.step")
transform = pytest.mark.interface("delta.rule.ut_transform")
chunks = pytest.mark.interface("delta.rule.chunkwise")
pack = pytest.mark.interface("delta.rule.packed")

# Triangular systems of a dozen tokens, whose factors are at most 2: rounding stays far below.
CLOSE = {"rtol": 1e-6, "atol": 1e-9}


def sequence(rng, lead, length, keys=3, values=4, decay=1.0):
    """Queries, keys, values and gates; keys have lengths other than 1."""
    shape = (*lead, length)
    return (
        rng.normal(size=(*shape, keys)),
        3.0 * rng.normal(size=(*shape, keys)),
        rng.normal(size=(*shape, values)),
        -decay * rng.uniform(0.0, 1.0, shape),
        rng.uniform(0.1, 1.9, shape),
    )


def at(arrays, place):
    """The arguments of one token, or of a part of the tokens."""
    query, key, value, log_decay, beta = arrays
    return query[..., place, :], key[..., place, :], value[..., place, :], log_decay[..., place], beta[..., place]


def directions(vectors):
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)


def recurrence(arrays, state=None, scale=None):
    """(1) and (2) as they are written, with matrices, for one sequence."""
    query, key, value, log_decay, beta = arrays
    query, key, width = directions(query), directions(key), key.shape[-1]
    state = np.zeros((value.shape[-1], width)) if state is None else state
    scale = width**-0.5 if scale is None else scale
    output = np.zeros(value.shape)
    for t in range(len(key)):
        transition = np.exp(log_decay[t]) * (np.eye(width) - beta[t] * np.outer(key[t], key[t]))
        state = state @ transition + beta[t] * np.outer(value[t], key[t])
        output[t] = scale * state @ query[t]
    return output, state


def system(key, log_decay, beta):
    """The matrix that (6) inverts, element by element."""
    key, size = directions(key), len(key)
    found = np.eye(size)
    for r in range(size):
        for s in range(r):
            found[r, s] = beta[r] * np.exp(log_decay[s + 1 : r + 1].sum()) * (key[r] @ key[s])
    return found


# step


@token
def test_a_value_replaces_the_one_under_the_same_key(candidate, rng):
    """Keys at right angles keep their values; strength 1 replaces all of a value, other strengths a part of what has decayed."""
    keys = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    held = rng.normal(size=(4, 3))
    state, value = held @ keys.T, rng.normal(size=4)
    for strength in (0.0, 0.3, 1.0, 2.0):
        decay = rng.uniform(0.2, 0.9)
        place = rng.integers(3)
        output, new = candidate.delta.rule.step(
            state, 7.0 * keys[:, place], 5.0 * keys[:, place], value, np.log(decay), strength, 1.0
        )
        expected = decay * held
        expected[:, place] += strength * (value - expected[:, place])
        assert_equivalent(new @ keys, expected, **CLOSE)
        assert_equivalent(output, expected[:, place], **CLOSE, check_dtype=True)


@token
def test_one_token_after_the_other(candidate, rng):
    """With leading axes, each of which is a sequence of its own."""
    arrays = sequence(rng, (2, 3), 6)
    state = None
    outputs = []
    for t in range(6):
        output, state = candidate.delta.rule.step(state, *at(arrays, t))
        outputs.append(output)
    for place in np.ndindex(2, 3):
        expected, last = recurrence([each[place] for each in arrays])
        assert_equivalent(np.stack([each[place] for each in outputs]), expected, **CLOSE)
        assert_equivalent(state[place], last, **CLOSE)


@token
def test_zeros_as_key_and_query(candidate, rng):
    state, value = rng.normal(size=(2, 3)), rng.normal(size=2)
    nothing, key = np.zeros(3), rng.normal(size=3)
    output, new = candidate.delta.rule.step(state, key, nothing, value, -0.5, 1.0)
    assert_equivalent(new, np.exp(-0.5) * state, **CLOSE)
    assert_equivalent(output, np.exp(-0.5) * state @ directions(key) / np.sqrt(3.0), **CLOSE)
    output, _ = candidate.delta.rule.step(state, nothing, key, value, 0.0, 1.0)
    assert_equivalent(output, np.zeros(2), rtol=0.0, atol=0.0)


@token
def test_types_and_malformed_tokens(candidate, rng):
    query, key, value = (rng.integers(-9, 9, size).tolist() for size in (3, 3, 2))
    key[0] = 1
    query[0] = 2
    state = rng.integers(-9, 9, (2, 3)).astype(np.float32)
    call = candidate.delta.rule.step
    output, new = call(state, query, key, value, 0, 1)
    exact = np.array(key) / np.linalg.norm(key)
    expected = state + np.outer(value - state @ exact, exact)
    assert_equivalent(new, expected, rtol=1e-9, atol=1e-9, check_dtype=True)
    assert_equivalent(output, expected @ directions(np.array(query)) / np.sqrt(3.0), rtol=1e-9, atol=1e-9)
    for bad in (
        (state.T, query, key, value, 0, 1),
        (state[None], query, key, value, 0, 1),
        (state, query[:2], key, value, 0, 1),
        (state, query, key, value, 0.1, 1),
        (state, query, key, value, 0, 2.1),
        (state, query, key, value, [0], 1),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*bad)
    for lead in ((0,), (2, 0)):
        found = call(None, *at(sequence(rng, lead, 1), 0))
        assert_equivalent(found, (np.zeros((*lead, 4)), np.zeros((*lead, 4, 3))), check_dtype=True)


@token
def test_a_token_does_not_modify_the_state(candidate, rng):
    arrays, state = at(sequence(rng, (2,), 1), 0), rng.normal(size=(2, 4, 3))
    _, new = assert_unmodified(candidate.delta.rule.step, state, *arrays)
    assert new.shape == (2, 4, 3)
    assert not np.allclose(new, state)


# ut_transform


@transform
def test_transform_solves_the_triangular_system(candidate, rng):
    for length in (1, 2, 7):
        _, key, _, log_decay, beta = sequence(rng, (3,), length)
        found = candidate.delta.rule.ut_transform(key, log_decay, beta)
        assert found.shape == (3, length, length)
        for n in range(3):
            expected = np.linalg.solve(system(key[n], log_decay[n], beta[n]), np.diag(beta[n]))
            assert_equivalent(found[n], expected, **CLOSE, check_dtype=True)


@transform
@pytest.mark.parametrize("decay", [100.0, 9000.0])
def test_ratios_of_strong_decays(candidate, rng, decay):
    """Only neighbours between which nothing decays are felt, whatever was lost before."""
    _, key, _, log_decay, beta = sequence(rng, (), 8)
    log_decay = np.where(np.arange(8) % 2, -rng.uniform(0.0, 1.0, 8), -decay)
    found = candidate.delta.rule.ut_transform(key, log_decay, beta)
    expected = np.linalg.solve(system(key, log_decay, beta), np.diag(beta))
    assert np.abs(np.diag(expected, -1)[::2]).min() > 0.0
    assert_equivalent(found, expected, **CLOSE)


@transform
def test_transform_of_malformed_chunks(candidate, rng):
    _, key, _, log_decay, beta = sequence(rng, (), 4)
    call = candidate.delta.rule.ut_transform
    for bad in (
        (key[:3], log_decay, beta),
        (key, log_decay[:1], beta),
        (key[0], log_decay[0], beta[0]),
        (key, -log_decay, beta),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*bad)
    whole = np.array([[3, 4], [4, 3]], dtype=np.uint8)
    found = assert_unmodified(call, whole.tolist(), [0, 0], [1, 1])
    assert_equivalent(found, np.array([[1.0, 0.0], [-0.96, 1.0]]), **CLOSE, check_dtype=True)
    nothing = sequence(rng, (2, 0), 4)
    assert_equivalent(call(nothing[1], *nothing[3:]), np.zeros((2, 0, 4, 4)), check_dtype=True)


# chunkwise


@chunks
@pytest.mark.parametrize("chunk", [1, 3, 5, 10, 64])
def test_chunks_are_the_recurrence(candidate, rng, chunk):
    """Ten tokens: the last chunk is full, or shorter, or there is one only."""
    arrays, state = sequence(rng, (2,), 10), rng.normal(size=(2, 4, 3))
    output, last = candidate.delta.rule.chunkwise(*arrays, chunk, state)
    for n in range(2):
        expected = recurrence([each[n] for each in arrays], state[n])
        assert_equivalent((output[n], last[n]), expected, **CLOSE, check_dtype=True)


@chunks
def test_without_a_state_and_with_another_scale(candidate, rng):
    arrays = sequence(rng, (), 7)
    for scale in (None, 0.0, rng.uniform(1.5, 3.0)):
        found = candidate.delta.rule.chunkwise(*arrays, 3, scale=scale)
        assert_equivalent(found, recurrence(arrays, scale=scale), **CLOSE)


@chunks
def test_a_sequence_in_two_calls(candidate, rng):
    arrays = sequence(rng, (2, 2), 11)
    whole = candidate.delta.rule.chunkwise(*arrays, 4)
    first, state = candidate.delta.rule.chunkwise(*at(arrays, slice(5)), 4)
    second, last = candidate.delta.rule.chunkwise(*at(arrays, slice(5, None)), 4, state)
    assert_equivalent((np.concatenate([first, second], axis=-2), last), whole, **CLOSE)


@chunks
def test_decays_that_leave_nothing(candidate, rng):
    """Sums of logarithms far below what exp can tell from zero, in the middle and at the ends of chunks."""
    arrays, state = sequence(rng, (), 12), rng.normal(size=(4, 3))
    for lost in ([0], [5], [2, 3], [11], range(12)):
        log_decay = arrays[3].copy()
        log_decay[list(lost)] = -rng.uniform(800.0, 1e4, len(lost))
        given = (*arrays[:3], log_decay, arrays[4])
        found = candidate.delta.rule.chunkwise(*given, 6, state)
        assert_equivalent(found, recurrence(given, state), **CLOSE)


@chunks
def test_no_tokens_and_malformed_sequences(candidate, rng):
    arrays, state = sequence(rng, (2,), 0), rng.normal(size=(2, 4, 3))
    call = candidate.delta.rule.chunkwise
    single = state.astype(np.float32)
    for given, expected in (
        (state, state),
        (None, np.zeros((2, 4, 3))),
        (single, single.astype(np.float64)),
        (state.tolist(), state),
    ):
        found = call(*arrays, 5, given)
        assert_equivalent(found, (np.zeros((2, 0, 4)), expected), rtol=0.0, atol=0.0, check_dtype=True)
    for bad in (
        (*arrays, 0),
        (*arrays, -1),
        (*arrays, 2, state[0]),
        (*arrays, 2, np.swapaxes(state, -1, -2)),
        (arrays[0], arrays[1][..., :2], *arrays[2:], 2),
        (*arrays[:4], np.ones((2, 1)), 2),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*bad)
    for length in (0, 3):
        none = sequence(rng, (2, 0), length)
        found = call(*none, 2, state[:0].reshape(2, 0, 4, 3))
        assert_equivalent(found, (np.zeros((2, 0, length, 4)), np.zeros((2, 0, 4, 3))), check_dtype=True)
        with pytest.raises(ValueError):  # noqa: PT011
            call(*none, 0)
    query, key, value, log_decay, beta = arrays = sequence(rng, (2,), 3)
    for bad in (
        (*arrays, 0),
        (*arrays, -1),
        (*arrays, 2, state[0]),
        (*arrays, 2, np.swapaxes(state, -1, -2)),
        (query, key[..., :2], value, log_decay, beta, 2),
        (query, key, value[:1], log_decay, beta, 2),
        (query, key, value, log_decay + 2.0, beta, 2),
        (*at(sequence(rng, (), 1), 0), 2),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*bad)
    output, _ = assert_unmodified(call, *arrays, 2, state)
    assert output.shape == (2, 3, 4)


# packed


@pack
@pytest.mark.parametrize("stated", [True, False])
def test_packed_sequences_do_not_meet(candidate, rng, stated):
    """Sequences without tokens at the start, in the middle and at the end keep their states."""
    offsets = [0, 0, 4, 5, 5, 12, 12]
    arrays = sequence(rng, (2,), 12)
    states = rng.normal(size=(6, 2, 4, 3)) if stated else np.zeros((6, 2, 4, 3))
    given = (states,) if stated else ()
    output, new = candidate.delta.rule.packed(*arrays, offsets, 3, *given)
    assert new.shape == (6, 2, 4, 3)
    for n in range(6):
        part = at(arrays, slice(offsets[n], offsets[n + 1]))
        for row in range(2):
            expected = recurrence([each[row] for each in part], states[n, row])
            found = output[row, offsets[n] : offsets[n + 1]], new[n, row]
            assert_equivalent(found, expected, **CLOSE, check_dtype=True)


@pack
def test_packed_with_a_scale_and_of_other_types(candidate, rng):
    arrays = tuple(each.astype(np.float32) for each in sequence(rng, (), 6))
    exact = tuple(each.astype(np.float64) for each in arrays)
    offsets = np.array([0, 4, 6], dtype=np.uint8)
    for given in (arrays, tuple(each.tolist() for each in arrays)):
        output, states = candidate.delta.rule.packed(*given, offsets, 2, scale=2.5)
        for n, part in enumerate((slice(4), slice(4, 6))):
            expected = recurrence(at(exact, part), scale=2.5)
            assert_equivalent((output[part], states[n]), expected, rtol=1e-9, atol=1e-12, check_dtype=True)


@pack
def test_offsets_and_states_that_do_not_fit(candidate, rng):
    arrays, states = sequence(rng, (), 6), rng.normal(size=(2, 4, 3))
    call = candidate.delta.rule.packed
    for bad in ([1, 6], [0, 5], [0, 7], [0, 4, 2, 6], [0], [], 6, [0, 2.5, 6], [[0, 6]], [0, 8, 6], [-6, 6]):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*arrays, bad, 2)
    for bad in ([1, 6], [0, 5], [0, 7], [0, 4, 2, 6], [0, 8, 6]):
        for dtype in (np.uint8, np.uint64):  # differences of these are never negative
            with pytest.raises(ValueError):  # noqa: PT011
                call(*arrays, np.array(bad, dtype=dtype), 2)
    for bad in (states[:1], states[0], np.swapaxes(states, -1, -2)):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*arrays, [0, 2, 6], 2, bad)
    none = at(arrays, slice(0))
    for chunk in (0, -2):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*arrays, [0, 2, 6], chunk)
        with pytest.raises(ValueError):  # noqa: PT011
            call(*none, [0, 0, 0], chunk)
    for bad in (([0], 2), ([0, 1], 2), ([], 2), ([0, 0], 2, states)):
        with pytest.raises(ValueError):  # noqa: PT011
            call(*none, *bad)
    output, new = call(*none, [0, 0, 0], 2, states.tolist())
    assert_equivalent((output, new), (np.zeros((0, 4)), states), rtol=0.0, atol=0.0, check_dtype=True)
    output, new = call(*sequence(rng, (0, 2), 6), [0, 2, 6], 2)
    assert_equivalent((output, new), (np.zeros((0, 2, 6, 4)), np.zeros((2, 0, 2, 4, 3))), check_dtype=True)
    with pytest.raises(ValueError):  # noqa: PT011
        call(*sequence(rng, (0, 2), 6), [0, 2, 5], 2)
    output, new = call(*arrays, [0, 6], 2, states[:1])
    assert_equivalent((output, new[0]), recurrence(arrays, states[0]), **CLOSE)
    output, new = assert_unmodified(call, *arrays, [0, 2, 6], 2, states)
    assert output.shape == (6, 4)
    assert not np.allclose(new, states)


@pack
def test_the_driver_continues_its_prompts(candidate, reference, rng):
    weights = [rng.normal(size=size) for size in ((5, 3), (5, 3), (5, 4), (5,), (5,))]
    prompts = [rng.normal(size=(length, 5)) for length in (4, 0, 9)]
    tokens, found = rng.normal(size=(3, 5)), []
    for side in (candidate, reference):
        layer = side.delta.layer.Layer(*weights)
        outputs, states = layer.prefill(prompts, 4)
        found.append((list(outputs), layer.decode(tokens, states)))
    assert [len(each) for each in found[1][0]] == [4, 0, 9]
    assert_equivalent(found[0], found[1], **CLOSE)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
