"""Hidden tests of the task entropy-patches."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

entropy = pytest.mark.interface("patching.patcher.byte_entropies")
starting = pytest.mark.interface("patching.patcher.patch_starts")
batching = pytest.mark.interface("patching.patcher.patch_batch")

# 1e-9 is promised; the sums of a few terms of one sign here cost less than that.
CLOSE = 1e-8
NEWLINE = 10


def batch(rng, sequences=6, size=40):
    """Ragged sequences with some newlines; padding holds newlines, and NaN for entropies."""
    lengths = rng.permutation(np.concatenate([[0, 1, size], rng.integers(size // 2, size, sequences - 3)]))
    data = rng.choice([NEWLINE, 9, 11, 65, 255], (sequences, size), p=[0.1, 0.1, 0.1, 0.4, 0.3])
    entropies = rng.uniform(0.0, 4.0, (sequences, size))
    for row in range(sequences):
        data[row, lengths[row] :] = NEWLINE
        entropies[row, lengths[row] :] = np.nan
    return entropies, data, lengths


def by_hand(entropies, data, lengths, rule, threshold, reset, max_length):
    """Starts byte by byte."""
    found = np.zeros(data.shape, dtype=bool)
    for row, length in enumerate(lengths):
        size = 0
        for t in range(length):
            measure = entropies[row, t]
            if rule == "monotonic" and t > 0:
                measure -= entropies[row, t - 1]
            start = t == 0 or measure > threshold or (reset and data[row, t - 1] == NEWLINE) or size == max_length
            found[row, t] = start
            size = 1 if start else size + 1
    return found


# byte_entropies


@entropy
def test_entropies_are_those_of_the_softmax(candidate, rng):
    for shape in ((4, 7), (2, 3, 5, 11)):
        logits = rng.normal(0.0, 2.0, shape)
        p = np.exp(logits) / np.exp(logits).sum(axis=-1, keepdims=True)
        expected = -(p * np.log(p)).sum(axis=-1)[..., :-1]
        assert_equivalent(candidate.patching.patcher.byte_entropies(logits), expected, rtol=CLOSE, check_dtype=True)


@entropy
def test_the_last_row_is_not_used_and_the_first_is(candidate, rng):
    logits = np.zeros((3, 4, 8))
    logits[:, 0, 1:] = -np.inf
    logits[:, -1] = rng.normal(0.0, 3.0, (3, 8))
    found = candidate.patching.patcher.byte_entropies(logits)
    np.testing.assert_allclose(found, np.tile([0.0, np.log(8), np.log(8)], (3, 1)), rtol=CLOSE)


@entropy
def test_a_nearly_certain_byte_has_a_small_entropy(candidate, rng):
    """All others are equally improbable, so the entropy has a closed form without cancellation."""
    gaps = np.array([2.0, 20.0, 40.0, 70.0, 300.0, 600.0]) * rng.uniform(0.9, 1.1, 6)
    logits = np.zeros((7, 9))
    logits[np.arange(6), rng.integers(9, size=6)] = gaps
    others = 8.0 * np.exp(-gaps)
    expected = np.log1p(others) + others * gaps / (1.0 + others)
    for shift in (0.0, 64.0 * rng.integers(-9, 9)):
        # Adding the shift rounds a gap by less than 1e-13.
        np.testing.assert_allclose(candidate.patching.patcher.byte_entropies(logits + shift), expected, rtol=CLOSE)


@entropy
def test_entropies_of_every_size(candidate, rng):
    """From even bytes to a certain one: no formula for nearly certain bytes alone does for all."""
    gaps = rng.uniform(0.0, 60.0, 120)
    logits = np.zeros((121, 9))
    logits[np.arange(120), rng.integers(9, size=120)] = gaps
    others = 8.0 * np.exp(-gaps)
    expected = np.log1p(others) + others * gaps / (1.0 + others)
    np.testing.assert_allclose(candidate.patching.patcher.byte_entropies(logits), expected, rtol=2e-9)


@entropy
def test_bytes_that_cannot_come_contribute_nothing(candidate, rng):
    logits = np.full((8, 10), -np.inf)
    for row in range(8):
        logits[row, rng.permutation(10)[: row + 1]] = rng.uniform(-5.0, 5.0)
    found = candidate.patching.patcher.byte_entropies(logits)
    np.testing.assert_allclose(found, np.log(np.arange(1, 8)), rtol=CLOSE)


@entropy
def test_logits_of_any_size_and_type(candidate, rng):
    run = candidate.patching.patcher.byte_entropies
    near = rng.normal(0.0, 1.0, (5, 6)).astype(np.float32)
    expected = run(near.astype(np.float64))
    assert_equivalent(run(near), expected, rtol=CLOSE, check_dtype=True)
    assert_equivalent(run(near.tolist()), expected, rtol=CLOSE, check_dtype=True)
    far = np.array([[6e4, -6e4, 6e4], [-1.0, -1.0, -1.0], [5e4, 5e4, 5e4], [0.0, 0.0, 0.0]], dtype=np.float16)
    far[:] = far[:, rng.permutation(3)]
    np.testing.assert_allclose(run(far), np.log([2.0, 3.0, 3.0]), rtol=CLOSE)
    np.testing.assert_allclose(run(2.0 * far.astype(np.float64)), np.log([2.0, 3.0, 3.0]), rtol=CLOSE)
    whole = np.array([[100, 0, 0, 100], [-128, -128, -128, -128], [0, 0, 0, 0]], dtype=np.int8)  # differences wrap
    np.testing.assert_allclose(run(whole), np.log([2.0, 4.0]), rtol=CLOSE)


@entropy
def test_shapes_without_bytes_and_shapes_that_are_refused(candidate, rng):
    run = candidate.patching.patcher.byte_entropies
    assert_equivalent(run(rng.normal(size=(3, 1, 5))), np.zeros((3, 0)), check_dtype=True)
    assert_equivalent(run(rng.normal(size=(0, 3, 5))), np.zeros((0, 2)), check_dtype=True)
    np.testing.assert_array_equal(run(rng.normal(size=(2, 4, 1))), np.zeros((2, 3)))  # a byte that must come
    for shape in ((5,), (0, 5), (3, 0, 5)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(rng.normal(size=shape))


@entropy
def test_logits_are_not_modified(candidate, reference, rng):
    logits = rng.normal(0.0, 9.0, (2, 5, 12))
    found = assert_unmodified(candidate.patching.patcher.byte_entropies, logits)
    assert_equivalent(found, reference.patching.patcher.byte_entropies(logits), rtol=CLOSE)


# patch_starts


@starting
@pytest.mark.parametrize("rule", ["global", "monotonic"])
def test_starts_follow_the_rule(candidate, rng, rule):
    entropies, data, lengths = batch(rng)
    for reset, max_length in ((False, None), (True, None), (False, 3), (True, 4), (True, 1), (True, 100)):
        threshold = rng.uniform(0.5, 3.0)
        settings = candidate.patching.settings.PatchSettings(rule, threshold, reset, max_length)
        found = candidate.patching.patcher.patch_starts(entropies, data, lengths, settings)
        expected = by_hand(entropies, data, lengths, rule, threshold, reset, max_length)
        assert_equivalent(found, expected, check_dtype=True)


@starting
def test_what_equals_the_threshold_starts_nothing(candidate, rng):
    base = rng.integers(1, 8) / 4.0  # quarters: differences are exact
    above, below = np.nextafter(base, 9.0), np.nextafter(base, 0.0)
    data, lengths = np.full((1, 5), 65), [5]
    settings = candidate.patching.settings.PatchSettings("global", base)
    found = candidate.patching.patcher.patch_starts([[base, base, above, below, 0.0]], data, lengths, settings)
    np.testing.assert_array_equal(found, [[True, False, True, False, False]])
    settings = candidate.patching.settings.PatchSettings("monotonic", 0.25)
    steps = [[1.0, 1.25, 1.5, np.nextafter(1.75, 2.0), 0.0]]
    found = candidate.patching.patcher.patch_starts(steps, data, lengths, settings)
    np.testing.assert_array_equal(found, [[True, False, False, True, False]])
    settings = candidate.patching.settings.PatchSettings("monotonic", -0.5)
    found = candidate.patching.patcher.patch_starts([[3.0, 2.5, 2.25, 1.75, 1.0]], data, lengths, settings)
    np.testing.assert_array_equal(found, [[True, False, True, False, False]])


@starting
def test_single_precision_is_worked_on_in_double(candidate, rng):
    """A threshold that lies between a number and its neighbours in single precision."""
    value = np.float32(rng.uniform(2.0, 3.0))
    entropies = np.array([[0.0, value, 0.0]], dtype=np.float32)
    for rule in ("global", "monotonic"):
        for threshold, start in ((float(value) - 1e-9, True), (float(value) + 1e-9, False)):
            settings = candidate.patching.settings.PatchSettings(rule, threshold)
            found = candidate.patching.patcher.patch_starts(entropies, np.full((1, 3), 65), [3], settings)
            np.testing.assert_array_equal(found, [[True, start, False]])


@starting
@pytest.mark.parametrize("rule", ["global", "monotonic"])
def test_whole_entropies_and_bytes_of_other_types(candidate, rng, rule):
    """Differences of unsigned numbers are negative; bytes may be floats."""
    _, data, lengths = batch(rng)
    whole = rng.integers(0, 9, data.shape)
    settings = candidate.patching.settings.PatchSettings(rule, 2.5, max_length=4)
    expected = by_hand(whole, data, lengths, rule, 2.5, True, 4)
    for given in (
        (whole.astype(np.uint8), data.astype(np.uint8), lengths.astype(np.uint8)),
        (whole.tolist(), data.astype(np.float64), lengths.tolist()),
        (whole.astype(np.float32), data.astype(np.float32).tolist(), lengths.astype(np.int32)),
    ):
        found = candidate.patching.patcher.patch_starts(*given, settings)
        assert_equivalent(found, expected, check_dtype=True)


@starting
@pytest.mark.parametrize("rule", ["global", "monotonic"])
def test_a_line_begins_with_a_patch(candidate, rng, rule):
    text = b"\nab\n\n\rc\x0bd\n" + bytes(rng.integers(97, 123, 3).tolist())
    data = np.frombuffer(text, dtype=np.uint8)[None]
    quiet = np.zeros(data.shape)
    for reset, expected in ((True, [0, 1, 4, 5, 10]), (False, [0])):
        settings = candidate.patching.settings.PatchSettings(rule, 0.5, reset)
        found = candidate.patching.patcher.patch_starts(quiet, data, [data.size], settings)
        np.testing.assert_array_equal(np.flatnonzero(found), expected)
    found = candidate.patching.patcher.patch_starts(quiet, data, [10], candidate.patching.settings.PatchSettings())
    np.testing.assert_array_equal(np.flatnonzero(found), [0, 1, 4, 5])


@starting
def test_the_length_counts_from_every_start(candidate, rng):
    """A start for another reason, two bytes after a forced one, moves the forced ones that follow."""
    limit = rng.integers(4, 9).item()
    size = 5 * limit
    other = limit + 2
    entropies = np.zeros((2, size))
    entropies[0, other] = 5.0
    settings = candidate.patching.settings.PatchSettings(threshold=1.0, max_length=limit)
    found = candidate.patching.patcher.patch_starts(entropies, np.full((2, size), 65), [size, size], settings)
    np.testing.assert_array_equal(np.flatnonzero(found[0]), [0, limit, *range(other, size, limit)])
    np.testing.assert_array_equal(np.flatnonzero(found[1]), np.arange(0, size, limit))


@starting
def test_settings_and_shapes_that_are_refused(candidate, rng):
    run, settings = candidate.patching.patcher.patch_starts, candidate.patching.settings.PatchSettings
    entropies, data = rng.uniform(0.0, 1.0, (2, 4)), np.full((2, 4), 65)
    for bad in (settings(rule="local"), settings(max_length=0), settings(rule="monotonic", max_length=-2)):
        for given in ((entropies, data, [4, 3]), (np.zeros((0, 0)), np.zeros((0, 0)), [])):
            with pytest.raises(ValueError):  # noqa: PT011
                run(*given, bad)
    for given in ((entropies, data[:, :1], [1, 1]), (entropies[:, :1], data, [4, 4]), (entropies[:1], data, [4, 4])):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*given, settings(reset=False))
    for lengths in ([4], [4, 5], [-1, 4]):
        with pytest.raises(ValueError):  # noqa: PT011
            run(entropies, data, lengths, settings())
    found = run(entropies.tolist(), data.tolist(), [4, 0], settings(threshold=1.0))
    np.testing.assert_array_equal(found, [[True, False, False, False], [False] * 4])
    for shape in ((0, 0), (0, 3), (2, 0)):
        found = run(np.zeros(shape), np.zeros(shape), np.zeros(shape[0], dtype=int), settings(max_length=2))
        assert_equivalent(found, np.zeros(shape, dtype=bool), check_dtype=True)


@starting
@pytest.mark.parametrize("rule", ["global", "monotonic"])
def test_entropies_and_bytes_are_not_modified(candidate, rng, rule):
    entropies, data, lengths = batch(rng)
    settings = candidate.patching.settings.PatchSettings(rule, 1.0, max_length=5)
    entropies = np.nan_to_num(entropies, nan=9.0)
    found = assert_unmodified(candidate.patching.patcher.patch_starts, entropies, data, lengths, settings)
    np.testing.assert_array_equal(found, by_hand(entropies, data, lengths, rule, 1.0, True, 5))


# patch_batch


@batching
def test_lengths_and_indices_of_random_starts(candidate, rng):
    _, _, lengths = batch(rng)
    starts = rng.uniform(size=(6, 40)) < 0.3
    starts[:, 0] = True
    starts[lengths == 1] = True  # most starts at padding
    bounds = [np.flatnonzero(row[:length]) for row, length in zip(starts, lengths, strict=True)]
    sizes = np.zeros((6, max(map(len, bounds))), dtype=np.int64)
    index = np.full((6, 40), -1, dtype=np.int64)
    for row, (begins, length) in enumerate(zip(bounds, lengths, strict=True)):
        ends = [*begins[1:], length]
        for patch, (begin, end) in enumerate(zip(begins, ends[: len(begins)], strict=True)):
            sizes[row, patch] = end - begin
            index[row, begin:end] = patch
    for given in (starts, starts.tolist(), 2 * starts.astype(np.int64), 0.5 * starts, -1.0 * starts):
        patches = candidate.patching.patcher.patch_batch(given, lengths)
        assert_equivalent([patches.lengths, patches.index], [sizes, index], check_dtype=True)
    for given in (lengths.astype(np.uint8), lengths.tolist()):
        patches = candidate.patching.patcher.patch_batch(starts, given)
        assert_equivalent([patches.lengths, patches.index], [sizes, index], check_dtype=True)


@batching
def test_batches_without_bytes(candidate):
    for shape in ((0, 0), (0, 4), (3, 0), (2, 5)):
        starts = np.ones(shape, dtype=bool)
        patches = candidate.patching.patcher.patch_batch(starts, np.zeros(shape[0], dtype=np.int64))
        expected = [np.zeros((shape[0], 0), dtype=np.int64), np.full(shape, -1, dtype=np.int64)]
        assert_equivalent([patches.lengths, patches.index], expected, check_dtype=True)


@batching
def test_starts_and_lengths_that_are_refused(candidate, rng):
    run = candidate.patching.patcher.patch_batch
    starts = rng.uniform(size=(3, 6)) < 0.5
    starts[:, 0] = [True, False, True]
    patches = run(starts, [6, 0, 2])
    np.testing.assert_array_equal(patches.lengths.sum(axis=1), [6, 0, 2])
    for lengths in ([6, 1, 2], [6, 0], [6, 0, 7], [-1, 0, 2]):
        with pytest.raises(ValueError):  # noqa: PT011
            run(starts, lengths)
    with pytest.raises(ValueError):  # noqa: PT011
        run(starts[0], [6])


@batching
def test_starts_are_not_modified(candidate, rng):
    starts = rng.uniform(size=(4, 9)) < 0.5
    starts[:, 0] = True
    lengths = rng.integers(1, 5, 4)
    patches = assert_unmodified(candidate.patching.patcher.patch_batch, starts, lengths)
    np.testing.assert_array_equal(patches.lengths.sum(axis=1), lengths)


@batching
def test_the_driver_divides_texts_as_that_of_the_authors(candidate, reference, rng):
    texts = [bytes(rng.integers(0, 12, size).tolist()) for size in (30, 0, 1, 17)]
    table = rng.normal(0.0, 2.0, (13, 12))
    found = []
    for side in (candidate, reference):
        settings = side.patching.settings.PatchSettings("monotonic", 0.25, max_length=6)
        patches = side.patching.segment.segment(texts, side.patching.model.BigramModel(table), settings)
        pieces = side.patching.segment.pieces(texts, patches)
        assert [b"".join(each) for each in pieces] == texts
        found.append([patches.lengths, patches.index])
    assert_equivalent(found[0], found[1], check_dtype=True)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
