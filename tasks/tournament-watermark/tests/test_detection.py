"""Hidden tests of detection."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

observing = pytest.mark.interface("watermark.detection.observe")
averaging = pytest.mark.interface("watermark.detection.mean_score")
weighing = pytest.mark.interface("watermark.detection.bayesian_score")


def settings(code, keys, **options):
    return code.watermark.settings.Settings(tuple(int(key) for key in keys), **options)


def some(rng, batch, length, depth):
    """g-values of 0 and 1, and about three quarters of the positions."""
    return rng.integers(0, 2, (batch, length, depth)).astype(float), rng.uniform(size=(batch, length)) < 0.75


def parameters(rng, depth):
    return rng.normal(-1.0, 1.0, depth), rng.normal(0.0, 0.7, (depth, depth))


def log_odds(g, scored, beta, delta, prior):
    """Equations (5) and (6) as written, one g-value after the other."""
    result = np.full(len(g), np.log(prior / (1.0 - prior)))
    for b, t in np.argwhere(scored):
        for layer in range(g.shape[-1]):
            psi = 1.0 / (1.0 + np.exp(-beta[layer] - delta[layer, :layer] @ g[b, t, :layer]))
            result[b] += np.log((g[b, t, layer] + 0.5) * psi + 1.0 - psi)
    return result


# observe


@observing
@pytest.mark.parametrize("options", [{"window": 1}, {"window": 3, "uniform": True}])
def test_g_values_are_those_of_the_tokens_after_their_contexts(candidate, reference, rng, options):
    keys = rng.integers(-(2**62), 2**62, 5)
    tokens = np.stack([rng.permutation(30)[:9] for _ in range(3)])  # no token occurs again
    g, scored = assert_unmodified(candidate.watermark.detection.observe, settings(candidate, keys, **options), tokens)
    window, made = options["window"], settings(reference, keys, **options)
    assert scored.dtype == bool
    np.testing.assert_array_equal(scored, np.arange(9) >= window + np.zeros((3, 1)))
    expected = np.zeros((3, 9, 5))
    for row, at in np.argwhere(scored):
        context = tokens[row, at - window : at]
        expected[row, at] = reference.watermark.seeding.g_values(made, context, tokens[row, at : at + 1])[0]
    assert_equivalent(g, expected, rtol=0.0, atol=0.0, check_dtype=True)


@observing
def test_repeated_contexts_count_once(candidate, reference, rng):
    """Few tokens: most contexts of a row repeat. Rows do not share contexts, and the order of tokens matters."""
    keys = rng.integers(0, 2**62, 2)
    tokens = rng.integers(0, 3, (4, 40))
    tokens[2] = tokens[1]
    run = candidate.watermark.detection.observe
    g, scored = run(settings(candidate, keys, window=2, uniform=True), tokens)
    expected = reference.watermark.detection.observe(settings(reference, keys, window=2, uniform=True), tokens)
    assert_equivalent((g, scored), expected, rtol=0.0, atol=0.0)
    assert (scored.sum(axis=1) <= 9).all()
    assert not g[~scored].any()
    a, b, c = (int(token) for token in rng.permutation(50)[:3])
    _, scored = run(settings(candidate, keys, window=2), np.array([[a, b, c, b, a, b, c, a, b, c]]))
    np.testing.assert_array_equal(scored[0], [0, 0, 1, 1, 1, 1, 0, 0, 1, 0])


@observing
def test_padding_is_no_part_of_a_text(candidate, reference, rng):
    """On either side and in the middle, holding what is a token elsewhere: the text in between is observed as it is."""
    keys, text = rng.integers(0, 2**62, 3), rng.integers(0, 4, 12)
    made = settings(candidate, keys, window=2, uniform=True)
    run = candidate.watermark.detection.observe
    bare, counted = reference.watermark.detection.observe(settings(reference, keys, window=2, uniform=True), text[None])
    mask = np.zeros((5, 18), dtype=bool)
    mask[0, :12] = mask[1, 6:] = mask[2, rng.permutation(18)[:12]] = True
    mask[3, [*range(1, 7), *range(9, 15)]] = True  # the last row has no text at all
    tokens = rng.integers(-3, 4, mask.shape)
    tokens[:4][mask[:4]] = np.tile(text, 4)
    for given in (mask, mask.astype(np.int64), mask.astype(float).tolist()):
        g, scored = assert_unmodified(run, made, tokens, given)
        assert scored.dtype == bool
        assert not scored[~mask].any()
        assert not g[~scored].any()
        assert not scored[4].any()
        for row in range(4):
            np.testing.assert_array_equal(scored[row, mask[row]], counted[0])
            np.testing.assert_array_equal(g[row, mask[row]], bare[0])


@observing
def test_short_and_empty_texts_and_malformed_ones(candidate, rng):
    made = settings(candidate, rng.integers(0, 2**62, 30), window=4)
    run = candidate.watermark.detection.observe
    for shape in ((2, 0), (0, 6), (3, 1), (2, 4)):
        g, scored = run(made, np.ones(shape, dtype=np.int64))
        assert_equivalent(g, np.zeros((*shape, 30)), check_dtype=True)
        assert_equivalent(scored, np.zeros(shape, dtype=bool), check_dtype=True)
    tokens = rng.integers(0, 9, (2, 5))
    _, scored = run(made, tokens.astype(np.uint8).tolist())
    np.testing.assert_array_equal(scored, np.arange(5) == 4 + np.zeros((2, 1)))
    for bad in (
        (tokens[0],),
        (tokens[None],),
        (tokens, np.ones((2, 4))),
        (tokens, np.ones(5)),
        (tokens, np.ones((1, 5))),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(made, *bad)


@observing
def test_the_detector_sees_what_the_generator_did(candidate, reference, rng):
    """Many ones where the generator put its watermark, and not with other keys."""
    keys = rng.integers(0, 2**62, 4)
    model = reference.watermark.bigrams.Bigrams(np.full(16, 1 / 16), np.full((16, 16), 1 / 16))
    watermarker = reference.watermark.tournament.Watermarker(settings(reference, keys, window=2, candidates=8))
    texts = reference.watermark.generate.respond(model, watermarker, rng.uniform(size=(2, 60)))
    g, scored = candidate.watermark.detection.observe(settings(candidate, keys, window=2, candidates=8), texts)
    assert g[scored].mean() > 0.6
    other, counted = candidate.watermark.detection.observe(settings(candidate, keys + 1, window=2), texts)
    assert other[counted].mean() < g[scored].mean() - 0.05


# mean_score


@averaging
@pytest.mark.parametrize("depth", [1, 2, 30])
def test_means_and_weighted_means(candidate, rng, depth):
    g, scored = some(rng, 3, 20, depth)
    g += rng.normal(size=g.shape)
    scored[:, 0] = True
    weights = np.array([10.0 - 9.0 * layer / (depth - 1) for layer in range(depth)]) if depth > 1 else np.ones(1)
    run = candidate.watermark.detection.mean_score
    for weighted, expected in ((False, np.ones(depth)), (True, weights)):
        layers = np.array([row[counts].mean(axis=0) for row, counts in zip(g, scored, strict=True)])
        found = assert_unmodified(run, g, scored, weighted)
        assert_equivalent(found, layers @ expected / expected.sum(), rtol=1e-8, atol=1e-10, check_dtype=True)
    np.testing.assert_array_equal(run(g, scored), run(g, scored, False))


@averaging
def test_what_does_not_count_has_no_influence_on_a_mean(candidate, rng):
    g, scored = some(rng, 4, 15, 3)
    g += rng.uniform(0.1, 0.2, g.shape)
    scored[:2] = False
    scored[1:, 0] = True  # the first text has no position that counts, and the second one has one
    clean = np.where(scored[:, :, None], g, 0.0)
    g[~scored] = rng.choice([np.nan, np.inf, -np.inf, 7.0], g[~scored].shape)
    for weighted, weights in ((False, np.ones(3)), (True, np.array([10.0, 5.5, 1.0]))):
        found = candidate.watermark.detection.mean_score(g, scored.astype(np.int64), weighted)
        assert found[0] == 0.5
        layers = clean[1:].sum(axis=1) / scored[1:].sum(axis=1, keepdims=True)
        np.testing.assert_allclose(found[1:], layers @ weights / weights.sum(), rtol=1e-8)
    half = candidate.watermark.detection.mean_score(np.ones((3, 0, 5)), np.ones((3, 0), dtype=bool))
    assert_equivalent(half, np.full(3, 0.5), check_dtype=True)


@averaging
def test_means_of_other_types_and_malformed_ones(candidate, rng):
    g, scored = some(rng, 3, 40, 3)
    scored[:, 0] = True
    run = candidate.watermark.detection.mean_score
    for given in (g.astype(bool), g.astype(np.int8), g.tolist()):
        assert_equivalent(run(given, scored.tolist(), True), run(g, scored, True), rtol=1e-8, check_dtype=True)
    single = rng.uniform(size=g.shape).astype(np.float32)
    assert_equivalent(run(single, scored), run(single.astype(float), scored), rtol=1e-8, check_dtype=True)
    for bad in (
        (g[0], scored[0]),
        (g[:, :, 0], scored),
        (g, scored[:, :39]),
        (g, scored[:1]),
        (g, g),
        (g[:1, :1, 0], scored[:1, :1]),
        (g[:1, :1, :1, None], scored[:1, :1]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(*bad)


# bayesian_score


@weighing
@pytest.mark.parametrize("depth", [1, 2, 6])
def test_posterior_is_that_of_the_equations(candidate, rng, depth):
    g, scored = some(rng, 3, 8, depth)
    beta, delta = parameters(rng, depth)
    run = candidate.watermark.detection.bayesian_score
    for prior in (0.5, 0.1):
        expected = log_odds(g, scored, beta, delta, prior)
        posterior, odds = assert_unmodified(run, g, scored, beta, delta, prior)
        assert_equivalent(odds, expected, rtol=1e-8, atol=1e-8, check_dtype=True)
        assert_equivalent(posterior, 1.0 / (1.0 + np.exp(-expected)), rtol=1e-8, atol=1e-8, check_dtype=True)
    np.testing.assert_array_equal(run(g, scored, beta, delta), run(g, scored, beta, delta, 0.5))


@weighing
def test_what_does_not_count_has_no_influence_on_a_posterior(candidate, rng):
    g, scored = some(rng, 3, 12, 4)
    scored[0] = False
    beta, delta = parameters(rng, 4)
    prior = float(rng.uniform(0.2, 0.4))
    expected = log_odds(g, scored, beta, delta, prior)
    g[~scored] = rng.choice([np.nan, np.inf, 0.5], g[~scored].shape)
    delta[np.triu_indices(4)] = rng.choice([np.nan, np.inf, 3.0], 10)
    posterior, odds = candidate.watermark.detection.bayesian_score(g, scored.astype(np.int64), beta, delta, prior)
    np.testing.assert_allclose(odds, expected, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(posterior[0], prior, rtol=1e-8)


@weighing
def test_long_texts_and_extreme_logits_stay_finite(candidate, rng):
    """A logit of 1e4 makes the tokens of a match different for certain, one of -1e4 equal."""
    g = rng.integers(0, 2, (2, 3000, 30)).astype(float)
    g[0], scored = 1.0, np.ones((2, 3000), dtype=bool)
    beta, delta = np.where(np.arange(30) < 10, 1e4, -1e4), np.zeros((30, 30))
    posterior, odds = candidate.watermark.detection.bayesian_score(g, scored, beta, delta, 1e-3)
    ones = g[:, :, :10].sum(axis=(1, 2))
    expected = np.log(1e-3 / 0.999) + ones * np.log(1.5) + (30000 - ones) * np.log(0.5)
    np.testing.assert_allclose(odds, expected, rtol=1e-8)
    np.testing.assert_array_equal(posterior, [1.0, 0.0])
    delta[10:, 0] = 2e4  # the first layer decides about the later ones
    _, odds = candidate.watermark.detection.bayesian_score(g[:, :50], scored[:, :50], beta, delta)
    distinct = np.where(np.arange(30) < 10, 1.0, g[:, :50, :1])
    np.testing.assert_allclose(odds, np.log1p(distinct * (g[:, :50] - 0.5)).sum(axis=(1, 2)), rtol=1e-8)


@weighing
def test_posteriors_of_other_types_and_malformed_ones(candidate, rng):
    g, scored = some(rng, 2, 30, 3)
    scored[0, 0] = True
    beta, delta = parameters(rng, 3)
    run = candidate.watermark.detection.bayesian_score
    expected = log_odds(g, scored, beta.astype(np.float32).astype(float), delta, 0.5)
    for given in (g.astype(bool), g.astype(np.float32), g.tolist()):
        _, odds = run(given, scored.tolist(), beta.astype(np.float32), delta.tolist())
        assert_equivalent(odds, expected, rtol=1e-8, atol=1e-8, check_dtype=True)
    _, odds = run(g, scored, beta.astype(np.float32).tolist(), delta)
    assert_equivalent(odds, expected, rtol=1e-8, atol=1e-8)
    half = g.copy()
    half[0, 0, 1] = 0.5
    unknown = g.copy()
    unknown[0, 0, 1] = np.nan
    for bad in (
        (half, scored, beta, delta),
        (unknown, scored, beta, delta),
        (g[0], scored[0], beta, delta),
        (g, scored[:, :29], beta, delta),
        (g, scored, beta[:1], delta),
        (g, scored, beta, delta[0]),
        (g, scored, beta, delta[:2]),
        (g, scored, beta, delta, 0.0),
        (g, scored, beta, delta, 1.0),
        (g, scored, beta, delta, -0.5),
        (g, scored, beta, delta, 1.5),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(*bad)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
