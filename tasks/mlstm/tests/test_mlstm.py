"""Hidden tests of the task mlstm."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

stepping = pytest.mark.interface("xlstm.cell.step")
decaying = pytest.mark.interface("xlstm.sequence.log_decay")
whole = pytest.mark.interface("xlstm.sequence.parallel")
chunking = pytest.mark.interface("xlstm.sequence.chunkwise")

KINDS = ("sigmoid", "exp")


def tokens(rng, *axes, keys=3, values=4):
    """Arguments of a sequence, with gates that need no stabilisation; the last of `axes` is the number of tokens."""
    return [
        rng.normal(size=(*axes, keys)),
        rng.normal(size=(*axes, keys)),
        rng.normal(size=(*axes, values)),
        rng.normal(size=axes) * 1.5 - 0.5,
        rng.normal(size=axes),
    ]


def positive(arguments):
    """The same sequence without cancellation in any sum: exponents of size 1e7 have errors of 1e-9."""
    query, key, value, *gates = arguments
    return [np.abs(query) + 0.1, np.abs(key) + 0.1, np.abs(value) + 0.1, *gates]


def token(arguments, t):
    """Arguments of the token t."""
    query, key, value, *gates = arguments
    return [query[..., t, :], key[..., t, :], value[..., t, :], *(gate[..., t] for gate in gates)]


def between(arguments, start, stop):
    """Arguments of the tokens from `start` on, before `stop`."""
    query, key, value, *gates = arguments
    part = slice(start, stop)
    return [query[..., part, :], key[..., part, :], value[..., part, :], *(gate[..., part] for gate in gates)]


def forgetting(f, kind):
    """The forget gate itself, for pre-activations that permit it."""
    return np.exp(f) if kind == "exp" else 1.0 / (1.0 + np.exp(-f))


def recurrence(arguments, kind, memory=0.0, normalizer=0.0):
    """Equations (3) and (4), evaluated directly: hidden values, memory and normaliser at the end."""
    query, key, value, i, f = arguments
    hidden = []
    for t in range(i.shape[-1]):
        gate, new = forgetting(f[..., t], kind), np.exp(i[..., t])
        k = key[..., t, :] / np.sqrt(key.shape[-1])
        normalizer = gate[..., None] * normalizer + new[..., None] * k
        memory = gate[..., None, None] * memory + new[..., None, None] * value[..., t, :, None] * k[..., None, :]
        overlap = np.abs(np.sum(normalizer * query[..., t, :], axis=-1))
        hidden.append((memory @ query[..., t, :, None])[..., 0] / np.maximum(overlap, 1.0)[..., None])
    return np.stack(hidden, axis=-2), memory, normalizer


def state_of(code, memory, normalizer, stabilizer):
    return code.xlstm.state.State(memory, normalizer, stabilizer)


def parts(state):
    return [state.memory, state.normalizer, state.stabilizer]


def full(state):
    """Memory and normaliser of (3)."""
    scale = np.exp(state.stabilizer)
    return [scale[..., None, None] * state.memory, scale[..., None] * state.normalizer]


def not_finite(parts):
    """The parts of a state with NaN or infinity in each of its arrays, also where nothing is stored."""
    memory, normalizer, stabilizer = parts
    nothing = np.where(np.arange(stabilizer.size) == 0, -np.inf, stabilizer)
    last = np.arange(memory.shape[-1]) == 1
    return [
        [np.where(last, np.nan, memory), normalizer, stabilizer],
        [memory, np.where(last, np.inf, normalizer), stabilizer],
        [memory, normalizer, np.full(stabilizer.shape, np.inf)],
        [np.where((nothing == -np.inf)[:, None, None] & last, np.nan, memory), normalizer, nothing],
        [memory, np.where((nothing == -np.inf)[:, None] & last, np.nan, normalizer), nothing],
    ]


def steps(code, arguments, kind, state=None):
    """Hidden values of all tokens, one by one, and the state after them."""
    hidden = []
    for t in range(arguments[3].shape[-1]):
        here, state = code.xlstm.cell.step(state, *token(arguments, t), kind)
        hidden.append(here)
    return np.stack(hidden, axis=-2), state


def faint(rng):
    """A sequence with a large value of a weight that is less than any float64, and its hidden values."""
    arguments = positive(tokens(rng, 3, 5))
    query, key, value, *_ = arguments
    value *= 1e90
    small = rng.uniform(-850.0, -750.0, 3)
    arguments[3][:], arguments[4][:] = -np.inf, -3.0
    arguments[3][:, 0] = small
    overlaps = np.einsum("btk,bk->bt", query, key[:, 0]) / np.sqrt(3)
    logs = small[:, None] - 3.0 * np.arange(5) + np.log(overlaps)
    return arguments, np.exp(logs[..., None] + np.log(value[:, :1]))


# step


@stepping
@pytest.mark.parametrize("kind", KINDS)
def test_steps_follow_the_recurrence(candidate, rng, kind):
    arguments = tokens(rng, 2, 3, 6)
    hidden, state = steps(candidate, arguments, kind)
    expected, memory, normalizer = recurrence(arguments, kind)
    assert_equivalent(hidden, expected, rtol=1e-6, check_dtype=True)
    assert_equivalent(full(state), [memory, normalizer], rtol=1e-6, check_dtype=True)
    log_forget, stabilizer = np.log(forgetting(arguments[4], kind)), np.full((2, 3), -np.inf)
    for t in range(6):
        stabilizer = np.maximum(log_forget[..., t] + stabilizer, arguments[3][..., t])
    assert_equivalent(state.stabilizer, stabilizer, rtol=1e-9)


@stepping
def test_the_default_gate_is_the_sigmoid_and_no_axes_are_needed(candidate, rng):
    arguments = tokens(rng, 4, keys=1, values=2)
    hidden, state = None, None
    for t in range(4):
        hidden, state = candidate.xlstm.cell.step(state, *token(arguments, t))
    expected, memory, normalizer = recurrence(arguments, "sigmoid")
    assert_equivalent(hidden, expected[-1], rtol=1e-6)
    assert_equivalent(full(state), [memory, normalizer], rtol=1e-6)


@stepping
def test_steps_with_huge_gates(candidate, reference, rng):
    """One token after another outweighs all before it, or is nothing beside them, or all of them are next to nothing."""
    arguments = positive(tokens(rng, 3, 7))
    arguments[3] = np.where(rng.uniform(size=(3, 7)) < 0.3, arguments[3], rng.uniform(-1e6, 1e6, (3, 7)))
    arguments[4] = np.where(rng.uniform(size=(3, 7)) < 0.3, arguments[4], rng.uniform(-1e6, 1e6, (3, 7)))
    arguments[3][0, :3], arguments[3][1, :2], arguments[3][2] = [1e6, -1e6, 0.0], [-1e6, -800.0], -1e6
    arguments[4][1, 1], arguments[4][2] = (
        rng.uniform(0.0, 9e5),
        -1.0,
    )  # an exponential gate of 1e6 would undo that of -1e6
    for kind in KINDS:
        pair = [steps(code, arguments, kind) for code in (candidate, reference)]
        assert_equivalent(pair[0][0], pair[1][0], rtol=1e-6, atol=1e-12)
        assert_equivalent(parts(pair[0][1]), parts(pair[1][1]), rtol=1e-6)
        assert np.isfinite(pair[0][0]).all()
        np.testing.assert_allclose(pair[0][0][0, 0], arguments[2][0, 0], rtol=1e-6)  # one token: its value
        np.testing.assert_array_equal(pair[0][0][1, :2], np.zeros((2, 4)))
        np.testing.assert_array_equal(pair[0][0][2], np.zeros((7, 4)))


@stepping
def test_a_value_counts_whose_weight_alone_is_too_small_for_a_number(candidate, rng):
    arguments, expected = faint(rng)
    assert_equivalent(steps(candidate, arguments, "exp")[0], expected, rtol=1e-6)


@stepping
def test_the_bound_of_the_overlap_is_that_of_the_recurrence(candidate, rng):
    """On both sides of the bound, for the same stored state under several stabilisers."""
    query, key, value = (np.abs(each) + 0.1 for each in tokens(rng, 5, 1)[:3])
    overlap = np.sum(query * key, axis=-1)[:, 0] / np.sqrt(3)
    for size in (0.5, 0.9, 1.1, 2.0):
        gate = np.log(size / overlap)
        hidden, _ = candidate.xlstm.cell.step(None, query[:, 0], -key[:, 0], value[:, 0], gate, np.zeros(5))
        assert_equivalent(hidden, -value[:, 0] * min(size, 1.0), rtol=1e-6)


@stepping
@pytest.mark.parametrize("kind", KINDS)
def test_a_state_counts_with_its_stabiliser(candidate, rng, kind):
    arguments = tokens(rng, 4, 1)
    memory, normalizer = rng.normal(size=(4, 4, 3)), rng.normal(size=(4, 3))
    expected, memories, normalizers = recurrence(arguments, kind, memory, normalizer)
    for shift in (np.zeros(4), rng.uniform(-30.0, 30.0, 4)):
        scale = np.exp(-shift)
        state = state_of(candidate, scale[:, None, None] * memory, scale[:, None] * normalizer, shift)
        hidden, after = candidate.xlstm.cell.step(state, *token(arguments, 0), kind)
        assert_equivalent(hidden, expected[:, 0], rtol=1e-6)
        assert_equivalent(full(after), [memories, normalizers], rtol=1e-6)
        log_forget = np.log(forgetting(arguments[4][:, 0], kind))
        assert_equivalent(after.stabilizer, np.maximum(log_forget + shift, arguments[3][:, 0]), rtol=1e-9)


@stepping
def test_tokens_that_write_nothing_and_tokens_that_forget_everything(candidate, rng):
    arguments = tokens(rng, 2, 4)
    arguments[3][:, 0], arguments[4][0, 2] = -np.inf, -np.inf
    run = candidate.xlstm.cell.step
    hidden, state = run(None, *token(arguments, 0), "exp")
    zeros = [np.zeros((2, 4, 3)), np.zeros((2, 3)), np.full(2, -np.inf)]
    assert_equivalent([hidden, *parts(state)], [np.zeros((2, 4)), *zeros])
    hidden, state = run(
        state_of(candidate, rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3)), zeros[2]), *token(arguments, 0), "exp"
    )
    assert_equivalent([hidden, *parts(state)], [np.zeros((2, 4)), *zeros])
    _, state = run(state, *token(arguments, 1), "exp")
    kept = full(state)
    silent = token(arguments, 2)
    silent[3][:] = -np.inf
    silent[4][1] = 0.5
    hidden, state = run(state, *silent, "exp")
    assert_equivalent([part[0] for part in (hidden, *parts(state))], [np.zeros(4), *(part[0] for part in zeros)])
    assert_equivalent([part[1] for part in full(state)], [np.exp(0.5) * part[1] for part in kept], rtol=1e-6)
    hidden, state = run(state, *token(arguments, 3), "exp")
    alone, memory, normalizer = recurrence([part[:1] for part in between(arguments, 3, 4)], "exp")
    assert_equivalent(hidden[:1], alone[:, 0], rtol=1e-6)
    assert_equivalent([part[:1] for part in full(state)], [memory, normalizer], rtol=1e-6)


@stepping
def test_malformed_tokens_and_states_are_refused_and_good_ones_are_not(candidate, rng):
    good = token(tokens(rng, 2, 1), 0)
    query, key, value, i, f = good
    state = [rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3)), np.zeros(2)]
    for bad in ((query, key[:, :2], value, i, f), (query, key, value[:1], i, f), (query, key, value, i[:1], f)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.xlstm.cell.step(None, *bad)
    for given in (good, [part[:0] for part in good]):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.xlstm.cell.step(None, *given, "relu")
    for bad in (
        [state[0][:1], *state[1:]],
        [state[0].swapaxes(1, 2), *state[1:]],
        [*state[:2], 0.0],
        *not_finite(state),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.xlstm.cell.step(state_of(candidate, *bad), *good)
    expected, memory, normalizer = recurrence([part[:, None] for part in good], "exp", *state[:2])
    listed = state_of(candidate, *(part.tolist() for part in state))
    hidden, after = candidate.xlstm.cell.step(listed, *(part.tolist() for part in good), "exp")
    assert_equivalent([hidden, *full(after)], [expected[:, 0], memory, normalizer], rtol=1e-6)
    zeros = [np.zeros((0, 2, 4)), np.zeros((0, 2, 4, 3)), np.zeros((0, 2, 3)), np.zeros((0, 2))]
    for before in (None, state_of(candidate, *zeros[1:])):
        hidden, after = candidate.xlstm.cell.step(before, *token(tokens(rng, 0, 2, 1), 0))
        assert_equivalent([hidden, *parts(after)], zeros, check_dtype=True)


@stepping
def test_a_query_of_zeros_reads_zeros(candidate, rng):
    query, key, value, *_ = token(tokens(rng, 3, 1), 0)
    query[1] = 0.0
    hidden, _ = candidate.xlstm.cell.step(None, query, key, value, np.full(3, 2e3), np.zeros(3))
    sign = np.sign(np.sum(query * key, axis=-1))
    assert_equivalent(hidden, sign[:, None] * value, rtol=1e-6)


# log_decay


@decaying
@pytest.mark.parametrize("length", [0, 1, 6])
def test_every_weight_is_the_sum_of_its_gates(candidate, rng, length):
    log_input, log_forget = rng.normal(size=(2, 3, length)), rng.normal(size=(2, 3, length))
    found = candidate.xlstm.sequence.log_decay(log_input, log_forget)
    expected = np.full((2, 3, length, length), -np.inf)
    for t in range(length):
        for s in range(t + 1):
            expected[..., t, s] = log_input[..., s] + log_forget[..., s + 1 : t + 1].sum(axis=-1)
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)
    nothing = np.zeros((2, 0, length))
    assert_equivalent(candidate.xlstm.sequence.log_decay(nothing, nothing), np.zeros((2, 0, length, length)))


@decaying
def test_resets_and_huge_gates_cost_no_digits_elsewhere(candidate, rng):
    log_input, log_forget = rng.normal(size=(3, 9)), rng.normal(size=(3, 9)) - 1.0
    plain = candidate.xlstm.sequence.log_decay(log_input, log_forget)
    assert np.isfinite(plain[:, 8]).all()
    across = np.zeros((9, 9), dtype=bool)
    across[4:, :4] = True
    for size in (-np.inf, -1e15, 1e15, -1e8):
        reset, other = log_forget.copy(), log_input.copy()
        reset[:2, 4] = size
        other[1:, 6] = size
        found = candidate.xlstm.sequence.log_decay(other, reset)
        assert_equivalent(found[0][~across], plain[0][~across], rtol=1e-9, atol=1e-9)
        assert_equivalent(np.delete(found[2], 6, axis=1), np.delete(plain[2], 6, axis=1), rtol=1e-9, atol=1e-9)
        left = ~across & (np.arange(9) != 6)
        assert_equivalent(found[1][left], plain[1][left], rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(found[:2, 4:, :4], np.full((2, 5, 4), size), rtol=1e-6)
        np.testing.assert_allclose(found[1:, 6:, 6], np.full((2, 3), size), rtol=1e-6)
    from_the_start = np.full(9, -np.inf)
    nothing = candidate.xlstm.sequence.log_decay(log_input[0], from_the_start)
    assert_equivalent(nothing, np.where(np.eye(9, dtype=bool), log_input[0], -np.inf), rtol=1e-9)


@decaying
def test_gates_of_any_type_are_summed_in_double_precision(candidate, rng):
    log_input, log_forget = rng.normal(size=5).astype(np.float32), rng.integers(-9, 9, size=5)
    small = (rng.normal(size=5) * 1e3).astype(np.float32)
    for gates in ((log_input, log_forget), (log_input, small), (log_input.tolist(), small.tolist())):
        i, f = (np.array(each, dtype=np.float64) for each in gates)
        expected = np.array(
            [[i[s] + f[s + 1 : t + 1].sum() if s <= t else -np.inf for s in range(5)] for t in range(5)]
        )
        found = candidate.xlstm.sequence.log_decay(*gates)
        assert_equivalent(found, expected, rtol=1e-9, atol=1e-9, check_dtype=True)
    for bad in (
        (log_input, small[:4]),
        (log_input, small[:1]),
        (log_input[:0], small[:1]),
        (log_input[:0, None], small[:0]),
        (log_input[:, None], small),
        (log_input[0], small[0]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.xlstm.sequence.log_decay(*bad)


# parallel


@whole
@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_follows_the_recurrence(candidate, rng, kind):
    for axes in ((8,), (2, 3, 7), (1,)):
        arguments = tokens(rng, *axes)
        found = candidate.xlstm.sequence.parallel(*arguments, kind)
        assert_equivalent(found, recurrence(arguments, kind)[0], rtol=1e-6, check_dtype=True)
    if kind == "sigmoid":
        assert_equivalent(candidate.xlstm.sequence.parallel(*arguments), found, rtol=1e-9)
    for axes in ((2, 0), (0, 3), (2, 0, 3)):
        found = candidate.xlstm.sequence.parallel(*tokens(rng, *axes), kind)
        assert_equivalent(found, np.zeros((*axes, 4)), check_dtype=True)


@whole
def test_a_sequence_with_huge_gates(candidate, reference, rng):
    arguments = positive(tokens(rng, 4, 9))
    arguments[3] = np.where(rng.uniform(size=(4, 9)) < 0.3, arguments[3], rng.uniform(-1e6, 1e6, (4, 9)))
    arguments[4] = np.where(rng.uniform(size=(4, 9)) < 0.3, arguments[4], rng.uniform(-1e6, 1e6, (4, 9)))
    arguments[3][0, 0], arguments[3][1], arguments[3][2, :2] = 1e6, -1e6, [-1e6, -800.0]
    arguments[4][1], arguments[4][2, 1] = -1.0, rng.uniform(0.0, 9e5)  # one of 1e6 would undo that of -1e6
    arguments[3][3, :2], arguments[3][3, 2:], arguments[4][3] = -np.inf, 2e3, -1.0
    arguments[0][3, 4] = 0.0
    for kind in KINDS:
        found = candidate.xlstm.sequence.parallel(*arguments, kind)
        assert_equivalent(found, reference.xlstm.sequence.parallel(*arguments, kind), rtol=1e-6, atol=1e-12)
        np.testing.assert_allclose(found[0, 0], arguments[2][0, 0], rtol=1e-6)
        np.testing.assert_array_equal(found[1], np.zeros((9, 4)))
        np.testing.assert_array_equal(found[2, :2], np.zeros((2, 4)))
        np.testing.assert_array_equal(found[3, [0, 1, 4]], np.zeros((3, 4)))


@whole
def test_a_value_of_a_sequence_counts_whose_weight_alone_is_too_small_for_a_number(candidate, rng):
    arguments, expected = faint(rng)
    assert_equivalent(candidate.xlstm.sequence.parallel(*arguments, "exp"), expected, rtol=1e-6)


@whole
def test_a_reset_divides_a_sequence_in_two(candidate, rng):
    """However the gate forgets: by -inf, or by a number beside which no other is seen."""
    arguments = tokens(rng, 2, 9)
    for kind in KINDS:
        found = recurrence(between(arguments, 0, 5), kind)[0], recurrence(between(arguments, 5, 9), kind)[0]
        for size in (-np.inf, -1e6):
            arguments[4][:, 5] = size
            actual = candidate.xlstm.sequence.parallel(*arguments, kind)
            assert_equivalent(actual, np.concatenate(found, axis=1), rtol=1e-6)


@whole
def test_tokens_that_write_nothing_are_as_good_as_absent(candidate, rng):
    """They neither write nor, with an exponential gate of 1, forget; before the first one that writes, all is zero."""
    arguments = tokens(rng, 2, 8)
    absent = [0, 1, 4, 7]
    arguments[3][:, absent], arguments[4][:, absent] = -np.inf, 0.0
    found = candidate.xlstm.sequence.parallel(*arguments, "exp")
    query, key, value, i, f = arguments
    present = [2, 3, 5, 6]
    short = [query[:, present], key[:, present], value[:, present], i[:, present], f[:, present]]
    assert_equivalent(found[:, present], recurrence(short, "exp")[0], rtol=1e-6)
    assert_equivalent(found[:, :2], np.zeros((2, 2, 4)))
    assert np.isfinite(found).all()


@whole
def test_malformed_sequences_are_refused_and_good_ones_are_not(candidate, rng):
    arguments = tokens(rng, 2, 5)
    query, key, value, i, f = arguments
    unknown = np.where(i == i.max(), np.nan, i)
    for bad in (
        (query, key[:, :4], value, i, f),
        (query, key, value[:, :4], i, f),
        (query, key, value, i[:1], f),
        (query, key, value, i, f[:, :1]),
        (query, key, value, unknown, f),
        (query, key, value, i, np.where(f == f.max(), np.inf, f)),
        (query[0, 0], key[0, 0], value[0, 0], i[0, 0], f[0, 0]),
        (*arguments, "tanh"),
        (*between(arguments, 0, 0), "tanh"),
        (*between(arguments, 0, 0)[:3], i, f),
        (query[:, :0], key[:, :0], value[:, :1], i[:, :0], f[:, :0]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            candidate.xlstm.sequence.parallel(*bad)
    expected = recurrence(arguments, "exp")[0]
    assert_equivalent(
        candidate.xlstm.sequence.parallel(*(part.tolist() for part in arguments), "exp"), expected, rtol=1e-6
    )
    single = [part.astype(np.float32) for part in arguments]
    expected = recurrence([part.astype(np.float64) for part in single], "exp")[0]
    found = candidate.xlstm.sequence.parallel(*single, "exp")
    assert_equivalent(found, expected, rtol=1e-9, atol=1e-10, check_dtype=True)


# chunkwise


@chunking
@pytest.mark.parametrize("kind", KINDS)
def test_chunks_of_every_length_follow_the_recurrence(candidate, rng, kind):
    arguments = tokens(rng, 2, 3, 7)
    expected, memory, normalizer = recurrence(arguments, kind)
    log_forget, stabilizer = np.log(forgetting(arguments[4], kind)), np.full((2, 3), -np.inf)
    for t in range(7):
        stabilizer = np.maximum(log_forget[..., t] + stabilizer, arguments[3][..., t])
    for chunk in (1, 2, 3, 7, 10):
        hidden, state = candidate.xlstm.sequence.chunkwise(*arguments, chunk, None, kind)
        assert_equivalent(hidden, expected, rtol=1e-6, check_dtype=True)
        assert_equivalent(full(state), [memory, normalizer], rtol=1e-6, check_dtype=True)
        assert_equivalent(state.stabilizer, stabilizer, rtol=1e-9)


@chunking
@pytest.mark.parametrize("kind", KINDS)
def test_a_sequence_continues_from_a_state(candidate, rng, kind):
    arguments = tokens(rng, 3, 8)
    memory, normalizer = rng.normal(size=(3, 4, 3)), rng.normal(size=(3, 3))
    expected, memories, normalizers = recurrence(arguments, kind, memory, normalizer)
    run = candidate.xlstm.sequence.chunkwise
    for shift in (np.zeros(3), rng.uniform(-30.0, 30.0, 3)):
        scale = np.exp(-shift)
        state = state_of(candidate, scale[:, None, None] * memory, scale[:, None] * normalizer, shift)
        first, middle = run(*between(arguments, 0, 5), 3, state, kind)
        second, last = run(*between(arguments, 5, 8), 2, middle, kind)
        assert_equivalent(np.concatenate([first, second], axis=1), expected, rtol=1e-6)
        assert_equivalent(full(last), [memories, normalizers], rtol=1e-6)
        total = np.log(forgetting(arguments[4], kind))
        level = shift
        for t in range(8):
            level = np.maximum(total[:, t] + level, arguments[3][:, t])
        assert_equivalent(last.stabilizer, level, rtol=1e-9)


@chunking
def test_chunks_with_huge_gates(candidate, reference, rng):
    arguments = positive(tokens(rng, 4, 9))
    arguments[3] = np.where(rng.uniform(size=(4, 9)) < 0.3, arguments[3], rng.uniform(-1e6, 1e6, (4, 9)))
    arguments[4] = np.where(rng.uniform(size=(4, 9)) < 0.3, arguments[4], rng.uniform(-1e6, 1e6, (4, 9)))
    arguments[3][1], arguments[4][1] = -1e6, -1.0
    arguments[3][2, 4], arguments[0][3, 5], arguments[3][3, 5] = 1e6, 0.0, 1e6
    arguments[4][2, 4] = -np.inf
    for kind in KINDS:
        for chunk in (3, 4):
            pair = [code.xlstm.sequence.chunkwise(*arguments, chunk, None, kind) for code in (candidate, reference)]
            assert_equivalent(pair[0][0], pair[1][0], rtol=1e-6, atol=1e-12)
            assert_equivalent(parts(pair[0][1]), parts(pair[1][1]), rtol=1e-6)
            np.testing.assert_array_equal(pair[0][0][1], np.zeros((9, 4)))
            np.testing.assert_allclose(pair[0][0][2, 4], arguments[2][2, 4], rtol=1e-6)
            np.testing.assert_array_equal(pair[0][0][3, 5], np.zeros(4))


@chunking
def test_a_value_of_a_chunk_counts_whose_weight_alone_is_too_small_for_a_number(candidate, rng):
    arguments, expected = faint(rng)
    assert_equivalent(candidate.xlstm.sequence.chunkwise(*arguments, 2, None, "exp")[0], expected, rtol=1e-6)


@chunking
@pytest.mark.parametrize("place", [0, 2, 3, 5, 6])
def test_a_reset_forgets_the_state_and_what_chunks_before_it_wrote(candidate, rng, place):
    arguments = tokens(rng, 2, 7)
    memory, normalizer, stabilizer = rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3)), rng.uniform(-2.0, 2.0, 2)
    scale = np.exp(stabilizer)
    start = scale[:, None, None] * memory, scale[:, None] * normalizer
    before = recurrence(between(arguments, 0, place), "exp", *start) if place else None
    after = recurrence(between(arguments, place, 7), "exp")
    arguments[4][:, place] = -np.inf
    state = state_of(candidate, memory, normalizer, stabilizer)
    hidden, last = candidate.xlstm.sequence.chunkwise(*arguments, 3, state, "exp")
    assert_equivalent(hidden[:, place:], after[0], rtol=1e-6)
    assert_equivalent(full(last), [after[1], after[2]], rtol=1e-6)
    if before is not None:
        assert_equivalent(hidden[:, :place], before[0], rtol=1e-6)


@chunking
def test_chunks_in_which_nothing_is_stored(candidate, rng):
    arguments = tokens(rng, 2, 7)
    arguments[3][:, :4] = -np.inf
    run = candidate.xlstm.sequence.chunkwise
    zeros = [np.zeros((2, 4, 3)), np.zeros((2, 3)), np.full(2, -np.inf)]
    hidden, state = run(*between(arguments, 0, 4), 2)
    assert_equivalent([hidden, *parts(state)], [np.zeros((2, 4, 4)), *zeros])
    garbage = state_of(candidate, rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3)), zeros[2])
    hidden, state = run(*arguments, 2, garbage)
    expected, memory, normalizer = recurrence(between(arguments, 4, 7), "sigmoid")
    assert_equivalent(hidden, np.concatenate([np.zeros((2, 4, 4)), expected], axis=1), rtol=1e-6)
    assert_equivalent(full(state), [memory, normalizer], rtol=1e-6)
    arguments[4][:, 6], arguments[3][:, 6] = -np.inf, -np.inf
    hidden, state = run(*arguments, 4)
    assert_equivalent([hidden[:, 6], *parts(state)], [np.zeros((2, 4)), *zeros])


@chunking
def test_malformed_chunks_are_refused_and_no_tokens_change_nothing(candidate, rng):
    arguments = tokens(rng, 2, 3)
    run = candidate.xlstm.sequence.chunkwise
    stored = [rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3)), rng.normal(size=2)]
    query, key, value, i, f = arguments
    for bad in (
        (*arguments, 0),
        (*arguments, -2),
        (*arguments, 2, None, "gate"),
        (query, key, value[:, :2], i, f, 2),
        (query[0, 0], key[0, 0], value[0, 0], i[0, 0], f[0, 0], 2),
        (*arguments, 2, state_of(candidate, stored[0], stored[1], stored[2][:1])),
        (*arguments, 2, state_of(candidate, stored[0][:1], stored[1][:1], stored[2][:1])),
        *((*arguments, 2, state_of(candidate, *each)) for each in not_finite(stored)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)
    none = between(arguments, 0, 0)
    for bad in (
        (*none, 0),
        (*none, -2),
        (*none, 2, None, "gate"),
        (*none[:2], value, *none[3:], 2),
        (*none[:3], i, f, 2),
        (*none, 2, state_of(candidate, stored[0].swapaxes(1, 2), *stored[1:])),
        *((*none, 2, state_of(candidate, *each)) for each in not_finite(stored)),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)
    hidden, state = run(*none, 2, state_of(candidate, *stored))
    assert_equivalent([hidden, *parts(state)], [np.zeros((2, 0, 4)), *stored], rtol=1e-9)
    _, state = run(*none, 2)
    assert_equivalent(parts(state), [np.zeros((2, 4, 3)), np.zeros((2, 3)), np.full(2, -np.inf)])
    _, state = run(*none, 2, state_of(candidate, *(part.astype(np.float32) for part in stored)))
    assert_equivalent(parts(state), [part.astype(np.float32).astype(float) for part in stored], check_dtype=True)
    zeros = [np.zeros((0, 2, 3, 4)), np.zeros((0, 2, 4, 3)), np.zeros((0, 2, 3)), np.zeros((0, 2))]
    for before in (None, state_of(candidate, *zeros[1:])):
        hidden, state = run(*tokens(rng, 0, 2, 3), 2, before)
        assert_equivalent([hidden, *parts(state)], zeros, check_dtype=True)
    for more in ((0,), (2, None, "gate")):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*tokens(rng, 0, 2, 3), *more)
    listed = [part.tolist() for part in arguments]
    hidden, _ = run(*listed, 2, state_of(candidate, *(part.tolist() for part in stored)), "exp")
    scale = np.exp(stored[2])
    expected = recurrence(arguments, "exp", scale[:, None, None] * stored[0], scale[:, None] * stored[1])[0]
    assert_equivalent(hidden, expected, rtol=1e-6, check_dtype=True)


@chunking
def test_twenty_thousand_tokens_need_no_square_matrix(candidate, reference, rng):
    arguments = tokens(rng, 20_000, keys=2, values=1)
    arguments[4] += 3.0
    pair = [code.xlstm.sequence.chunkwise(*arguments, 64) for code in (candidate, reference)]
    assert pair[0][0].shape == (20_000, 1)
    np.testing.assert_allclose(pair[0][0], pair[1][0], rtol=1e-5, atol=1e-6)
    assert_equivalent(full(pair[0][1]), full(pair[1][1]), rtol=1e-6)


@chunking
def test_the_layer_runs_and_decodes(candidate, reference, rng):
    projections = [rng.normal(size=(2, 5, size)) for size in (3, 3, 4, 4)]
    gates = [rng.normal(size=(2, 5)) for _ in range(2)]
    inputs = rng.normal(size=(3, 6, 5))

    def outputs(code, kind):
        layer = code.xlstm.layer.Layer(*projections, *gates, kind)
        first, state = layer.run(inputs[:, :5], 2)
        last, state = layer.decode(inputs[:, 5], state)
        return [first, last, *full(state)]

    for kind in KINDS:
        assert_equivalent(outputs(candidate, kind), outputs(reference, kind), rtol=1e-6)


@pytest.mark.parametrize(
    "function",
    [
        pytest.param("step", marks=stepping),
        pytest.param("log_decay", marks=decaying),
        pytest.param("parallel", marks=whole),
        pytest.param("chunkwise", marks=chunking),
    ],
)
def test_arguments_are_not_modified(candidate, reference, rng, function):
    arguments = tokens(rng, 2, 5)
    stored = [rng.normal(size=(2, 4, 3)), rng.normal(size=(2, 3)), rng.normal(size=2)]
    arguments[3][0, 0] = arguments[4][1, 0] = stored[2][0] = -np.inf
    state = state_of(candidate, *(part.copy() for part in stored))

    def answer(code, call, state):
        run = getattr(code.xlstm.cell if function == "step" else code.xlstm.sequence, function)
        if function == "step":
            hidden, after = call(run, state, *token(arguments, 0))
            return [hidden, *parts(after)]
        if function == "chunkwise":
            hidden, after = call(run, *arguments, 2, state)
            return [hidden, *parts(after)]
        return call(run, *(arguments[3:] if function == "log_decay" else arguments))

    def plain(run, *args):
        return run(*args)

    expected = answer(reference, plain, state_of(reference, *stored))
    assert_equivalent(answer(candidate, assert_unmodified, state), expected, rtol=1e-6)
    assert_equivalent(parts(state), stored, rtol=0.0, atol=0.0)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
