"""Hidden tests of sampling."""

import itertools

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

competing = pytest.mark.interface("watermark.tournament.winner_distribution")
marking = pytest.mark.interface("watermark.tournament.Watermarker")


def distribution(rng, *shape):
    weights = rng.uniform(0.1, 1.0, shape)
    return weights / weights.sum(axis=-1, keepdims=True)


def matches(probs, values, candidates):
    """One layer, as a sum over all matches."""
    result = np.zeros(len(probs))
    for match in itertools.product(range(len(probs)), repeat=candidates):
        best = [x for x in match if values[x] == max(values[y] for y in match)]
        for x in best:
            result[x] += np.prod(probs[list(match)]) / len(best)
    return result


def settings(code, rng, **options):
    keys = tuple(int(key) for key in rng.integers(-(2**62), 2**62, options.pop("depth", 4)))
    return code.watermark.settings.Settings(keys, **options)


def both(candidate, reference, rng, responses=1, **options):
    """A watermarker of each side, with the same keys."""
    state = rng.bit_generator.state
    made = []
    for code in (candidate, reference):
        rng.bit_generator.state = state
        made.append(code.watermark.tournament.Watermarker(settings(code, rng, **options), responses))
    return made


# winner_distribution


@competing
@pytest.mark.parametrize("candidates", [2, 3, 4])
def test_winners_are_those_of_all_matches(candidate, rng, candidates):
    """Values with ties, negative ones among them, in two layers that differ."""
    probs, g = distribution(rng, 5), rng.integers(-2, 2, (5, 2))
    g[:, 0] = rng.permutation([-2, -1, -1, 0, 1])
    expected = matches(matches(probs, g[:, 0], candidates), g[:, 1], candidates)
    found = assert_unmodified(candidate.watermark.tournament.winner_distribution, probs, g, candidates)
    assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)


@competing
def test_two_candidates_are_the_default_and_do_not_distort(candidate, rng):
    """The average over all g-values of two layers is the distribution itself; leading axes are rows of their own."""
    values = np.array(list(itertools.product([0.0, 1.0], repeat=4)))
    first, second = np.broadcast_arrays(values[:, None], values[None])
    probs = distribution(rng, 4)
    tiled = np.broadcast_to(probs, first.shape)
    found = candidate.watermark.tournament.winner_distribution(tiled, np.stack([first, second], axis=-1))
    assert found.shape == (16, 16, 4)
    np.testing.assert_allclose(found.mean(axis=(0, 1)), probs, rtol=1e-9)
    once = tiled * (1.0 + first - (tiled * first).sum(axis=-1, keepdims=True))
    np.testing.assert_allclose(
        found, once * (1.0 + second - (once * second).sum(axis=-1, keepdims=True)), rtol=1e-9, atol=1e-12
    )


@competing
def test_every_row_has_its_own_tournament(candidate, reference, rng):
    probs, g = distribution(rng, 3, 2, 6), rng.integers(0, 2, (3, 2, 6, 4))
    found = candidate.watermark.tournament.winner_distribution(probs, g)
    assert_equivalent(found, reference.watermark.tournament.winner_distribution(probs, g), rtol=1e-9)
    for place in np.ndindex(3, 2):
        assert_equivalent(
            candidate.watermark.tournament.winner_distribution(probs[place], g[place]), found[place], rtol=1e-9
        )


@competing
@pytest.mark.parametrize("depth", [1, 30])
def test_zero_probabilities_stay_zero_at_any_depth(candidate, reference, rng, depth):
    """In the first row, no token of the smallest or of the largest value can be drawn."""
    probs, g = distribution(rng, 4, 9), rng.integers(0, 2, (4, 9, depth)).astype(float)
    g[0, :, 0] = [0, 0, 1, 1, 1, 1, 2, 2, 3]
    probs[0, [0, 1, 3, 6, 7, 8]] = 0.0
    probs[1, 1:] = 0.0  # a single token
    probs[2, g[2, :, 0] == g[2, 0, 0]] = 0.0
    probs[3, :5] = 0.0
    if not probs[2].any():
        probs[2, 3] = 1.0
    probs /= probs.sum(axis=1, keepdims=True)
    for candidates in (2, 3):
        found = candidate.watermark.tournament.winner_distribution(probs, g, candidates)
        expected = reference.watermark.tournament.winner_distribution(probs, g, candidates)
        assert_equivalent(found, expected, rtol=1e-9, atol=1e-250)
        assert not found[probs == 0.0].any()
        np.testing.assert_allclose(found.sum(axis=1), np.ones(4), rtol=1e-9)


@competing
def test_tiny_masses_keep_their_digits(candidate, rng):
    """Nearly all mass in one group: what is left below it, or in a group on top of it, is exact to many digits."""
    run = candidate.watermark.tournament.winner_distribution
    for tiny in (1e-13, 1e-40):
        small = tiny * rng.uniform(1.0, 2.0, 2)
        probs = np.array([small[0], 1.0 - small.sum(), small[1]])
        for candidates in (2, 3):
            found = run(probs, np.array([[0.0], [1.0], [1.0]]), candidates)
            assert_equivalent(found[0], small[0] ** candidates, rtol=1e-9, atol=0.0)
            assert_equivalent(
                found[2], small[1] * (1.0 - small[0] ** candidates) / (1.0 - small[0]), rtol=1e-9, atol=0.0
            )
            found = run(probs, np.array([[0.0], [0.0], [1.0]]), candidates)
            rest = 1.0 - small[1]
            assert_equivalent(found[2], small[1] * sum(rest**power for power in range(candidates)), rtol=1e-9, atol=0.0)
            assert_equivalent(found[0], small[0] * rest ** (candidates - 1), rtol=1e-9, atol=0.0)


@competing
def test_tiny_masses_keep_their_digits_after_thirty_layers(candidate, rng):
    """Two tokens that always have different values, and odds that follow from the recursion of the smaller one."""
    ratio = rng.uniform(1.0, 2.0) * 1e-14
    wins = np.concatenate([[0, 1, 1, 0], np.ones(26, dtype=int)])
    small = ratio / (1.0 + ratio)
    probs = np.array([small, 1.0 - small])
    for win in wins:
        small = small * (2.0 - small) if win else small * small
    g = np.stack([wins, 1 - wins])
    found = candidate.watermark.tournament.winner_distribution(probs, g)
    assert_equivalent(found[0], small, rtol=1e-9, atol=0.0)


@competing
def test_a_large_vocabulary_with_many_different_values(candidate, reference, rng):
    probs, g = distribution(rng, 20000), rng.uniform(size=(20000, 2))
    found = candidate.watermark.tournament.winner_distribution(probs, g)
    assert_equivalent(found, reference.watermark.tournament.winner_distribution(probs, g), rtol=1e-9, atol=0.0)


@competing
def test_other_types_are_converted_and_malformed_input_is_refused(candidate, reference, rng):
    run = candidate.watermark.tournament.winner_distribution
    probs, g = distribution(rng, 2, 7), rng.integers(0, 2, (2, 7, 3))
    single = probs.astype(np.float32)
    expected = reference.watermark.tournament.winner_distribution(
        single.astype(float) / single.astype(float).sum(axis=1, keepdims=True), g
    )
    for given, values in ((single, g), (np.asfortranarray(single), g.astype(float)), (single.tolist(), g.tolist())):
        found = assert_unmodified(run, given, values)
        assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)
    assert_equivalent(run(probs * 1.0005, g), run(probs, g), rtol=1e-9)
    negative, missing = probs.copy(), probs.copy()
    negative[0, :2] += [-0.8, 0.8]
    missing[1, 3] = np.nan
    for bad in (
        (negative, g),
        (missing, g),
        (probs * 1.0015, g),
        (probs * 0.9985, g),
        (probs * [[1.0], [1.1]], g),
        (probs, g[0]),
        (np.tile(probs, (3, 1, 1)), np.tile(g, (3, 1, 1))),
        (probs, g[:, :6]),
        (probs[0], g),
        (probs, g, 1),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(*bad)


# Watermarker


@marking
@pytest.mark.parametrize("options", [{}, {"uniform": True, "window": 1}, {"candidates": 3, "window": 3, "depth": 1}])
def test_a_new_context_gets_its_tournament(candidate, reference, rng, options):
    """The g-values of all tokens after the last tokens of each row, in their order."""
    state = rng.bit_generator.state
    made = settings(reference, rng, **options)
    rng.bit_generator.state = state
    ours = candidate.watermark.tournament.Watermarker(settings(candidate, rng, **options))
    tokens = np.stack([rng.permutation(9)[:6], rng.permutation(9)[:6]])
    probs = distribution(rng, 2, 9)
    g = reference.watermark.seeding.g_values(made, tokens[:, -made.window :], np.tile(np.arange(9), (2, 1)))
    expected = reference.watermark.tournament.winner_distribution(probs, g, made.candidates)
    for given in ((tokens, probs), (tokens.tolist(), probs.tolist()), (tokens.astype(np.uint8), probs)):
        found = assert_unmodified(ours.distribution, *given)
        assert_equivalent(found, expected, rtol=1e-9, check_dtype=True)
        rng.bit_generator.state = state
        ours = candidate.watermark.tournament.Watermarker(settings(candidate, rng, **options))


@marking
def test_texts_shorter_than_the_window_have_no_watermark(candidate, reference, rng):
    ours, _ = both(candidate, reference, rng, window=3)
    tokens, probs = np.zeros((2, 3), dtype=np.int64), distribution(rng, 2, 8)
    for length in (0, 1, 2):
        for _ in range(2):
            found = ours.distribution(tokens[:, :length], probs.astype(np.float32))
            assert found.dtype == np.float64
            np.testing.assert_allclose(found, probs, rtol=1e-6)
            np.testing.assert_allclose(found.sum(axis=1), np.ones(2), rtol=1e-12)
    assert not np.allclose(ours.distribution(tokens, probs), probs, rtol=1e-3)


@marking
def test_a_repeated_context_gets_the_plain_distribution(candidate, reference, rng):
    """Only the same tokens in the same order are a repetition; what stands before them does not matter."""
    ours, theirs = both(candidate, reference, rng, window=2, uniform=True)
    texts = [[[5, 1, 2]], [[1, 2, 1]], [[7, 1, 2]], [[2, 2, 2]], [[1, 2]], [[2, 2]], [[0, 2, 1]], [[1, 2, 3]]]
    fresh = [True, True, False, True, False, False, False, True]
    for tokens, new in zip(texts, fresh, strict=True):
        probs = distribution(rng, 1, 8)
        found = ours.distribution(np.array(tokens), probs)
        assert_equivalent(found, theirs.distribution(np.array(tokens), probs), rtol=1e-9)
        assert np.allclose(found, probs, rtol=1e-9) is not new
    for again in (np.array([[1, 2]], dtype=np.int32), np.array([[2, 1]], dtype=np.uint8), [[1, 2]]):
        np.testing.assert_allclose(ours.distribution(again, probs), probs, rtol=1e-9)


@marking
@pytest.mark.parametrize("responses", [1, 2, 3])
def test_contexts_are_remembered_for_some_responses(candidate, reference, rng, responses):
    """Also those that were repeated: a context in every other response never gets out of a memory of three."""
    ours, theirs = both(candidate, reference, rng, responses, window=1, uniform=True)
    fresh = {
        1: [
            (0, True),
            (0, False),
            (None, None),
            (0, True),
            (1, True),
            (None, None),
            (1, True),
            (None, None),
            (0, True),
        ],
        2: [(0, True), (None, None), (0, False), (1, True), (None, None), (0, False), (None, None), (1, True)],
        3: [
            *[(0, True), (None, None), (1, True), (None, None), (0, False), (None, None), (None, None), (0, False)],
            *[(1, True), (None, None), (None, None), (None, None), (0, True)],
        ],
    }[responses]
    for token, new in fresh:
        if token is None:
            ours.start()
            theirs.start()
            continue
        probs, tokens = distribution(rng, 1, 8), np.array([[token]])
        found = ours.distribution(tokens, probs)
        assert_equivalent(found, theirs.distribution(tokens, probs), rtol=1e-9)
        assert np.allclose(found, probs, rtol=1e-9) is not new


@marking
def test_by_default_contexts_are_forgotten_with_their_response(candidate, rng):
    ours = candidate.watermark.tournament.Watermarker(settings(candidate, rng, window=1, uniform=True))
    probs, tokens = distribution(rng, 1, 8), np.array([[3]])
    first = ours.distribution(tokens, probs)
    np.testing.assert_allclose(ours.distribution(tokens, probs), probs, rtol=1e-9)
    ours.start()
    np.testing.assert_allclose(ours.distribution(tokens, probs), first, rtol=1e-9)
    assert not np.allclose(first, probs, rtol=1e-6, atol=0.0)


@marking
def test_rows_do_not_share_their_contexts(candidate, reference, rng):
    ours, _ = both(candidate, reference, rng, window=2, uniform=True)
    probs = np.tile(distribution(rng, 8), (3, 1))
    first = ours.distribution(np.array([[1, 2], [1, 2], [3, 1]]), probs)
    np.testing.assert_array_equal(first[0], first[1])
    assert not np.allclose(first, probs, rtol=1e-6, atol=0.0)
    assert not np.allclose(first[2], probs[2], rtol=1e-6, atol=0.0)
    second = ours.distribution(np.array([[3, 1], [1, 2], [1, 2]]), probs)
    np.testing.assert_allclose(second[[0, 2]], first[[2, 0]], rtol=1e-9)
    np.testing.assert_allclose(second[1], probs[1], rtol=1e-9)


@marking
def test_the_driver_generates_the_same_texts(candidate, reference, rng):
    """Few tokens and a long text: many contexts repeat, within a response and from one response to the next."""
    first, table, numbers = distribution(rng, 4), distribution(rng, 4, 4), rng.uniform(size=(3, 2, 25))
    results = []
    for code, watermarker in zip(
        (candidate, reference), both(candidate, reference, rng, 2, window=2, depth=30), strict=True
    ):
        model = code.watermark.bigrams.Bigrams(first, table)
        texts = []
        for each in numbers:
            texts.append(code.watermark.generate.respond(model, watermarker, each))
            watermarker.start()
        results.append(texts)
    assert_equivalent(results[0], results[1])


@marking
def test_a_watermarker_refuses_malformed_arguments(candidate, reference, rng):
    made, texts = settings(candidate, rng, window=2), np.array([[1, 2], [2, 3]])
    probs = distribution(rng, 2, 5)
    for responses in (0, -1):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.watermark.tournament.Watermarker(made, responses)
    ours = candidate.watermark.tournament.Watermarker(made, 1)
    for bad in ((texts[0], probs), (texts, probs[0]), (texts[:1], probs), (texts, 2.0 * probs), (texts[:, :1], -probs)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            ours.distribution(*bad)
    assert ours.distribution(texts[:, ::-1], probs).shape == (2, 5)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
