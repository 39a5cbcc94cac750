"""Hidden tests of the task min-p."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

truncation = pytest.mark.interface("decoding.sampler.kept")
distribution = pytest.mark.interface("decoding.sampler.probabilities")
drawing = pytest.mark.interface("decoding.sampler.sample")

# A quotient of two sums of a few positive terms: far below what is allowed.
CLOSE = 1e-9


def softmax(logits):
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def by_hand(logits, temperature=1.0, top_p=1.0, min_p=0.0, min_tokens=1):
    """The rules for one row of moderate logits, token by token."""
    p = softmax(np.asarray(logits) / temperature)
    ranked = sorted(range(len(p)), key=lambda token: (-logits[token], token))
    found, before = np.zeros(len(p), dtype=bool), 0.0
    for rank, token in enumerate(ranked):
        stays = (top_p == 1.0 or before < top_p) and p[token] >= min_p * p[ranked[0]]
        found[token] = p[token] > 0.0 and (stays or rank < min_tokens)
        before += p[token]
    return found


def with_ratios(rng, p):
    """Logits of the probabilities `p` in a random order, and the order."""
    order = rng.permutation(len(p))
    return np.log(np.array(p))[order] + rng.uniform(-5.0, 5.0), order


# kept


@truncation
@pytest.mark.parametrize(
    ("top_p", "min_p", "min_tokens"), [(1.0, 0.1, 1), (0.8, 0.0, 1), (0.7, 0.2, 1), (0.5, 0.6, 5), (0.0, 1.0, 3)]
)
def test_what_is_kept_follows_the_rules(candidate, rng, top_p, min_p, min_tokens):
    logits = rng.normal(0.0, 2.0, (2, 4, 13))
    for temperature in (0.4, 1.0, 2.5):
        settings = candidate.decoding.settings.SamplerSettings(temperature, top_p, min_p, min_tokens)
        expected = [[by_hand(row, temperature, top_p, min_p, min_tokens) for row in rows] for rows in logits]
        found = candidate.decoding.sampler.kept(logits, settings)
        assert_equivalent(found, np.array(expected), check_dtype=True)


@truncation
def test_top_p_comes_before_min_p_and_after_the_temperature(candidate, rng):
    """Any other order keeps two tokens, or four."""
    settings = candidate.decoding.settings.SamplerSettings
    logits, order = with_ratios(rng, [0.4, 0.3, 0.2, 0.1])
    found = candidate.decoding.sampler.kept(logits, settings(top_p=0.75, min_p=0.3))
    np.testing.assert_array_equal(found, order < 3)
    found = candidate.decoding.sampler.kept(2.0 * logits, settings(temperature=2.0, top_p=0.75, min_p=0.3))
    np.testing.assert_array_equal(found, order < 3)
    found = candidate.decoding.sampler.kept(logits, settings(top_p=0.69, min_p=0.3))
    np.testing.assert_array_equal(found, order < 2)


@truncation
def test_equal_logits(candidate, rng):
    """Min-p keeps all of them, top-p and the least number those with the lower indices."""
    run, settings = candidate.decoding.sampler.kept, candidate.decoding.settings.SamplerSettings
    logits = np.full(1000, rng.uniform(-3.0, 0.0))  # many: numpy may sort short arrays stably in any case
    equal = np.sort(rng.permutation(1000)[:700])
    logits[equal] = rng.uniform(1.0, 3.0)
    np.testing.assert_array_equal(np.flatnonzero(run(logits, settings(min_p=1.0))), equal)
    np.testing.assert_array_equal(np.flatnonzero(run(logits, settings(min_p=1.0, top_p=0.0))), equal[:1])
    np.testing.assert_array_equal(np.flatnonzero(run(logits, settings(top_p=0.0, min_tokens=5))), equal[:5])
    np.testing.assert_array_equal(np.flatnonzero(run(logits, settings(temperature=0.0, min_tokens=5))), equal[:1])
    flat = np.zeros(8)
    np.testing.assert_array_equal(np.flatnonzero(run(flat, settings(top_p=0.4))), np.arange(4))
    close = 2.0 + 1e-9 * rng.permutation(8)
    assert np.flatnonzero(run(close, settings(min_p=1.0))).tolist() == [np.argmax(close)]
    assert np.flatnonzero(run(close, settings(temperature=0.0))).tolist() == [np.argmax(close)]
    best = np.sort(np.argsort(-close)[:3])
    np.testing.assert_array_equal(np.flatnonzero(run(close, settings(top_p=0.3))), best)


@truncation
def test_logits_next_to_each_other_are_not_equal(candidate, rng):
    """Neighbours among float64 numbers: their quotients by the temperature, and their probabilities, may be equal."""
    run, settings = candidate.decoding.sampler.kept, candidate.decoding.settings.SamplerSettings
    steps = rng.permuted(np.tile(np.arange(8), (64, 1)), axis=1)
    logits = rng.uniform(0.105, 0.12, (64, 1)) + steps * np.spacing(0.1)
    for temperature in (1e-300, 0.4, 1.0, 1.6):
        assert_equivalent(run(logits, settings(temperature, min_p=1.0)), steps == 7, check_dtype=True)
        assert_equivalent(run(logits, settings(temperature, top_p=0.0, min_tokens=3)), steps > 4, check_dtype=True)
    assert_equivalent(run(logits, settings(temperature=0.0)), steps == 7, check_dtype=True)
    # All but the largest one have the probability 0, and at 1e-310 quotients of -inf
    for temperature in (1e-300, 1e-310):
        assert_equivalent(run(steps, settings(temperature, min_p=1.0, min_tokens=3)), steps > 4, check_dtype=True)


@truncation
def test_without_truncation_every_possible_token_is_kept(candidate, rng):
    """However improbable, and whatever rounding does to the sums."""
    run, settings = candidate.decoding.sampler.kept, candidate.decoding.settings.SamplerSettings
    logits = rng.permutation(np.concatenate([[0.0, -50.0, -900.0, -1e5], rng.normal(0.0, 1.0, 36)]))
    np.testing.assert_array_equal(run(logits, settings()), np.ones(40, dtype=bool))
    logits[::3] = -np.inf
    for temperature in (1e-300, 1.0, 1e300):
        np.testing.assert_array_equal(run(logits, settings(temperature)), logits > -np.inf)
    np.testing.assert_array_equal(run(logits, settings(min_tokens=100, min_p=1.0)), logits > -np.inf)
    ratio = np.exp(-(logits.max() - logits))
    np.testing.assert_array_equal(run(logits, settings(min_p=1e-12)), ratio > 1e-12)


@truncation
def test_extreme_temperatures_and_logits(candidate, rng):
    run, settings = candidate.decoding.sampler.kept, candidate.decoding.settings.SamplerSettings
    logits = 20000 * rng.permutation(9) - 80000
    for given in (logits, logits.astype(np.float64), logits.tolist()):
        assert_equivalent(run(given, settings(1e-300, top_p=0.9)), logits == 8e4, check_dtype=True)
        assert_equivalent(run(given, settings(min_p=0.1)), logits == 8e4, check_dtype=True)
        hot = run(given, settings(1e300, top_p=0.5, min_p=0.9))
        assert_equivalent(hot, logits >= 0, check_dtype=True)  # five of nine: 4/9 is less than a half
    near = rng.integers(-3000, 3000, 30) / 1024.0  # the shifts are exact
    expected = run(near, settings(top_p=0.7, min_p=0.1))
    for shift in (2.0**17, -(2.0**17)):
        np.testing.assert_array_equal(run(near + shift, settings(top_p=0.7, min_p=0.1)), expected)
    single = np.array([[2.0, 2.0 - 2.0**-22, -1e30]], dtype=np.float32)
    assert_equivalent(run(single, settings(min_p=1.0 - 1e-8)), np.array([[True, False, False]]), check_dtype=True)
    assert_equivalent(run(single, settings(min_p=1.0 - 1e-6)), np.array([[True, True, False]]), check_dtype=True)


@truncation
def test_logits_that_are_refused(candidate, rng):
    settings = candidate.decoding.settings.SamplerSettings
    logits = rng.normal(size=(2, 5))
    for value in (np.nan, np.inf):
        bad = logits.copy()
        bad[1, 2] = value
        for temperature in (0.0, 1.0):
            with pytest.raises(ValueError):  # noqa: PT011
                candidate.decoding.sampler.kept(bad, settings(temperature))
    bad = logits.copy()
    bad[0] = -np.inf
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.decoding.sampler.kept(bad, settings())
    np.testing.assert_array_equal(candidate.decoding.sampler.kept(logits, settings()), np.ones((2, 5), dtype=bool))


@truncation
def test_logits_are_not_modified(candidate, reference, rng):
    logits = rng.normal(0.0, 3.0, (3, 20))
    logits[:, 4] = -np.inf
    given = {"temperature": 1.5, "top_p": 0.9, "min_p": 0.05}
    settings = candidate.decoding.settings.SamplerSettings(**given)
    found = assert_unmodified(candidate.decoding.sampler.kept, logits, settings)
    expected = reference.decoding.sampler.kept(logits, reference.decoding.settings.SamplerSettings(**given))
    assert_equivalent(found, expected, check_dtype=True)


# probabilities


@distribution
def test_probabilities_are_those_of_the_kept_tokens(candidate, rng):
    logits = rng.normal(0.0, 2.0, (3, 2, 11))
    for temperature, top_p, min_p, min_tokens in ((0.7, 0.9, 0.1, 1), (2.0, 1.0, 0.2, 1), (1.0, 0.3, 0.0, 4)):
        expected = np.zeros(logits.shape)
        for row, out in zip(logits.reshape(-1, 11), expected.reshape(-1, 11), strict=True):
            keep = by_hand(row, temperature, top_p, min_p, min_tokens)
            out[keep] = softmax(row[keep] / temperature)
        settings = candidate.decoding.settings.SamplerSettings(temperature, top_p, min_p, min_tokens)
        found = candidate.decoding.sampler.probabilities(logits, settings)
        assert_equivalent(found, expected, rtol=CLOSE, check_dtype=True)
        assert np.array_equal(found > 0.0, expected > 0.0)


@distribution
def test_a_mask_acts_before_everything_else(candidate, rng):
    """Tokens that are not allowed hold the largest logits, or no number at all."""
    run, settings = candidate.decoding.sampler.probabilities, candidate.decoding.settings.SamplerSettings
    logits = rng.normal(0.0, 1.5, (4, 12))
    allowed = np.ones((4, 12), dtype=bool)
    for row in allowed:
        row[rng.permutation(12)[:4]] = False
    spoiled = logits.copy()
    spoiled[~allowed] = rng.permutation(np.tile([np.nan, np.inf, 1e5, 50.0], 4))
    for given in ((1.0, 0.8, 0.1, 2), (0.5, 1.0, 0.3, 1), (0.0, 1.0, 0.0, 1)):
        found = run(spoiled, settings(*given), allowed)
        for row, mask, result in zip(logits, allowed, found, strict=True):
            np.testing.assert_array_equal(result[~mask], np.zeros(4))
            np.testing.assert_allclose(result[mask], run(row[mask], settings(*given)), rtol=CLOSE)
    row = np.arange(12) != rng.integers(12)
    found = run(logits, settings(min_p=0.1), row)
    np.testing.assert_allclose(found, run(logits, settings(min_p=0.1), np.tile(row, (4, 1)).tolist()), rtol=CLOSE)
    np.testing.assert_array_equal(found[:, ~row], np.zeros((4, 1)))


@distribution
def test_greedy_and_nearly_greedy_decoding(candidate, rng):
    logits = rng.permutation(np.concatenate([[7.0, 7.0], rng.uniform(-5.0, 6.0, 8)]))
    first, second = np.flatnonzero(logits == 7.0)
    one, half = np.zeros(10), np.zeros(10)
    one[first], half[[first, second]] = 1.0, 0.5
    run, settings = candidate.decoding.sampler.probabilities, candidate.decoding.settings.SamplerSettings
    assert_equivalent(run(logits, settings(temperature=0.0)), one, check_dtype=True)
    assert_equivalent(run(logits, settings(0.0, top_p=0.0, min_tokens=10)), one, check_dtype=True)
    assert_equivalent(run(logits, settings(temperature=1e-300)), half, rtol=CLOSE, check_dtype=True)
    assert_equivalent(run(logits, settings(temperature=1e300)), np.full(10, 0.1), rtol=CLOSE, check_dtype=True)


@distribution
def test_types_and_sizes_of_logits(candidate, rng):
    run, settings = candidate.decoding.sampler.probabilities, candidate.decoding.settings.SamplerSettings
    single = rng.normal(0.0, 1.0, (2, 6)).astype(np.float32)
    expected = softmax(single.astype(np.float64) / 0.7)
    for given in (single, single.tolist()):
        assert_equivalent(run(given, settings(0.7)), expected, rtol=CLOSE, check_dtype=True)
    half = rng.permutation(np.array([6e4, 6e4, -6e4, 0.0])).astype(np.float16)
    assert_equivalent(run(half, settings()), (half > 1.0) / 2.0, rtol=CLOSE, check_dtype=True)
    assert_equivalent(run([rng.integers(9).item()], settings(top_p=0.0)), np.ones(1), check_dtype=True)
    assert run(np.zeros((0, 4)), settings(top_p=0.5)).shape == (0, 4)


@distribution
def test_masks_and_logits_that_are_refused(candidate, rng):
    run, settings = candidate.decoding.sampler.probabilities, candidate.decoding.settings.SamplerSettings
    logits = rng.normal(size=(2, 5))
    logits[0, :2] = -np.inf
    for allowed in ([True, True, False, False, False], [[True] * 5, [False] * 5]):
        with pytest.raises(ValueError):  # noqa: PT011
            run(logits, settings(), allowed)
    logits[1, 3] = np.nan
    with pytest.raises(ValueError):  # noqa: PT011
        run(logits, settings())
    np.testing.assert_allclose(run(logits, settings(), [True, True, True, False, True]).sum(axis=-1), [1.0, 1.0])


@distribution
def test_logits_and_masks_are_not_modified(candidate, reference, rng):
    logits = rng.normal(0.0, 3.0, (3, 20))
    allowed = rng.uniform(size=(3, 20)) < 0.7
    allowed[:, 0] = True
    given = {"temperature": 1.5, "top_p": 0.9, "min_p": 0.05}
    settings = candidate.decoding.settings.SamplerSettings(**given)
    found = assert_unmodified(candidate.decoding.sampler.probabilities, logits, settings, allowed)
    settings = reference.decoding.settings.SamplerSettings(**given)
    expected = reference.decoding.sampler.probabilities(logits, settings, allowed)
    assert_equivalent(found, expected, rtol=CLOSE, check_dtype=True)


# sample


@drawing
def test_tokens_are_those_of_the_inverse_cumulative_distribution(candidate, rng):
    """The middle of the interval of each token, for weights of any sum."""
    for total in (1.0, 0.2, 30.0):
        weights = rng.uniform(0.1, 1.0, (3, 5, 7))
        weights *= rng.uniform(size=weights.shape) < 0.8
        weights[..., 2] = 0.5
        weights *= total / weights.sum(axis=-1, keepdims=True)
        tokens = np.zeros((3, 5), dtype=np.int64)
        uniforms = np.zeros((3, 5))
        for place in np.ndindex(3, 5):
            row = weights[place]
            token = rng.choice(np.flatnonzero(row))
            tokens[place] = token
            uniforms[place] = (row[:token].sum() + rng.uniform(0.01, 0.99) * row[token]) / total
        found = candidate.decoding.sampler.sample(weights, uniforms)
        assert_equivalent(found, tokens, check_dtype=True)


@drawing
def test_the_ends_of_the_interval(candidate, rng):
    """Eighths: all sums are exact. Tokens without weight stand at both ends and in between."""
    weights = np.tile([0.0, 1.0, 0.0, 0.0, 4.0, 3.0, 0.0], (8, 1)) * 2.0 ** rng.integers(-5, 5, (8, 1))
    numbers = [0.0, np.nextafter(0.125, 0.0), 0.125, 0.5, np.nextafter(0.625, 0.0), 0.625, 0.9, np.nextafter(1.0, 0.0)]
    for scale in (1.0, 2.0**-900, 2.0**900):
        found = candidate.decoding.sampler.sample(scale * weights, numbers)
        assert_equivalent(found, np.array([1, 1, 4, 4, 4, 5, 5, 5]), check_dtype=True)
    several = rng.uniform(0.0, 1.0, (200, 9))
    several[:, 7:] = 0.0
    several /= several.sum(axis=1, keepdims=True)  # many of the sums miss 1 by rounding
    found = candidate.decoding.sampler.sample(several, np.full(200, np.nextafter(1.0, 0.0)))
    np.testing.assert_array_equal(found, np.full(200, 6))


@drawing
def test_one_row_no_rows_and_other_types(candidate, rng):
    run = candidate.decoding.sampler.sample
    token = rng.integers(1, 6).item()
    weights = (np.arange(6) == token).astype(np.float64)
    assert int(run(weights, rng.uniform())) == token
    assert int(run((3 * weights).astype(np.int8).tolist(), 0.0)) == token
    bytes_of = np.full((1, 6), 200, dtype=np.uint8)  # sums wrap
    assert_equivalent(run(bytes_of, [(token + 0.5) / 6.0]), np.array([token]), check_dtype=True)
    single = np.array([2.0**24, 1.0, 1.0, 1.0, 1.0, 1.0], dtype=np.float32)  # ones are lost in single precision
    assert int(run(single, (2.0**24 + token - 0.5) / (2.0**24 + 5.0))) == token
    assert_equivalent(run(np.zeros((0, 4)), np.zeros(0)), np.zeros(0, dtype=np.int64), check_dtype=True)


@drawing
def test_numbers_and_weights_that_are_refused(candidate, rng):
    run = candidate.decoding.sampler.sample
    weights = rng.uniform(0.1, 1.0, (2, 3, 4))
    assert run(weights, np.zeros((2, 3))).shape == (2, 3)
    for shape in ((), (3,), (2,), (1, 3), (2, 3, 1), (2, 3, 4)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(weights, np.zeros(shape))
    with pytest.raises(ValueError):  # noqa: PT011
        run(1.0, 0.5)
    for number in (1.0, -1e-9, np.nan):
        numbers = np.full((2, 3), 0.5)
        numbers[1, 1] = number
        with pytest.raises(ValueError):  # noqa: PT011
            run(weights, numbers)
    weights[0, 2] = 0.0
    with pytest.raises(ValueError):  # noqa: PT011
        run(weights, np.zeros((2, 3)))


@drawing
def test_weights_and_numbers_are_not_modified(candidate, rng):
    weights, numbers = np.eye(4)[rng.permutation(4)], rng.uniform(size=4)
    found = assert_unmodified(candidate.decoding.sampler.sample, weights, numbers)
    np.testing.assert_array_equal(found, np.argmax(weights, axis=1))


@drawing
def test_the_driver_decodes_as_that_of_the_authors(candidate, reference, rng):
    table, uniforms = rng.normal(0.0, 2.0, (9, 9)), rng.uniform(size=(3, 12))
    last, allowed = rng.integers(9, size=3), np.arange(9) != 4
    found = []
    for side in (candidate, reference):
        settings = side.decoding.settings.SamplerSettings(1.3)
        model = side.decoding.model.BigramModel(table)
        found.append(side.decoding.generate.generate(model, last, settings, uniforms, allowed))
    assert_equivalent(found[0], found[1], check_dtype=True)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
