"""Hidden tests of the task kto."""

import math

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

scoring = pytest.mark.interface("kto.objective.completion_logps")
pointing = pytest.mark.interface("kto.objective.reference_point")
losing = pytest.mark.interface("kto.objective.kto_loss")
weighing = pytest.mark.interface("kto.objective.balanced_weights")

# Logits are of size 1 to 1e5 and sequences have a few tokens: rounding is below 1e-10.
RTOL, ATOL = 1e-8, 1e-9


def sequences(rng, batch=4, length=7, vocabulary=6):
    """Logits, tokens and a mask with gaps; the second sequence has no completion."""
    logits = rng.normal(0.0, 2.0, (batch, length, vocabulary))
    tokens = rng.integers(0, vocabulary, (batch, length))
    mask = rng.uniform(size=(batch, length)) < 0.5
    mask[:, 3] = True
    mask[1] = False
    return logits, tokens, mask


def log_softmax(row):
    top = max(row)
    total = top + math.log(math.fsum(math.exp(each - top) for each in row))
    return [each - total for each in row]


def sums(logits, tokens, mask):
    return np.array(
        [
            math.fsum(log_softmax(logits[b, t - 1].tolist())[tokens[b, t]] for t in range(1, len(row)) if mask[b, t])
            for b, row in enumerate(tokens)
        ]
    )


class Model:
    """A causal model: logits are a function of the sum of what came before, and of the token itself."""

    def __init__(self, rng, vocabulary=6, size=3):
        self.inside = rng.normal(size=(vocabulary, size))
        self.outside = rng.normal(size=(size, vocabulary))
        self.direct = rng.normal(size=(vocabulary, vocabulary))
        self.given = []

    def __call__(self, tokens):
        self.given.append(np.array(tokens))
        return np.tanh(np.cumsum(self.inside[tokens], axis=1)) @ self.outside + self.direct[tokens]

    def score(self, prompt, completion):
        tokens = np.concatenate([prompt, completion]).astype(np.int64)[None]
        mask = np.arange(tokens.shape[1])[None] >= len(prompt)
        return sums(self(tokens), tokens, mask)[0]


def conversations(rng, count=5):
    """Prompts and completions of different lengths; the third completion is empty."""
    prompts = [rng.integers(0, 6, size) for size in rng.permutation(np.arange(1, count + 1))]
    completions = [rng.integers(0, 6, 0 if place == 2 else size) for place, size in enumerate(range(5, 5 - count, -1))]
    return prompts, completions


def mismatched(prompts, completions, policy, reference):
    """Log-ratio of each pair of a prompt and the next completion."""
    count = len(prompts)
    pairs = [(prompts[i], completions[(i + 1) % count]) for i in range(count)]
    return [policy.score(*pair) - reference.score(*pair) for pair in pairs]


def examples(rng, count=9):
    policy, reference = -4.0 - np.abs(rng.normal(-16.0, 8.0, (2, count)))
    return policy, reference, rng.permutation(np.arange(count) % 3 > 0)


def fields(found):
    return {name: getattr(found, name) for name in ("losses", "mean", "rewards", "gradients")}


# completion_logps


@scoring
def test_logps_are_sums_of_the_next_tokens(candidate, rng):
    for _ in range(5):  # rounding of single precision is sometimes small
        logits, tokens, mask = sequences(rng)
        mask[0, 0], mask[2, 0] = True, False  # of no influence
        found = assert_unmodified(candidate.kto.objective.completion_logps, logits, tokens, mask)
        assert_equivalent(found, sums(logits, tokens, mask), rtol=RTOL, atol=ATOL, check_dtype=True)


@scoring
def test_what_is_not_scored_has_no_influence(candidate, rng):
    logits, tokens, mask = sequences(rng)
    expected = sums(logits, tokens, mask)
    scored = np.zeros(mask.shape, dtype=bool)
    scored[:, 1:] = mask[:, 1:]
    used = np.zeros(mask.shape, dtype=bool)
    used[:, :-1] = mask[:, 1:]
    for value, token in ((np.nan, -100), (np.inf, 6), (-np.inf, 10**6)):
        spoiled = np.where(used[..., None], logits, value)
        found = candidate.kto.objective.completion_logps(spoiled, np.where(scored, tokens, token), mask)
        assert_equivalent(found, expected, rtol=RTOL, atol=ATOL, check_dtype=True)


@scoring
def test_large_logits_and_tokens_that_cannot_follow(candidate, rng):
    logits, tokens, mask = sequences(rng)
    mask[:, 0] = False
    run = candidate.kto.objective.completion_logps
    large = 1e5 * rng.choice([-1.0, 1.0], (4, 7, 1)) + logits
    assert_equivalent(run(large, tokens, mask), sums(large, tokens, mask), rtol=RTOL, atol=ATOL)
    other = (tokens[:, 1:, None] + 1) % 6
    np.put_along_axis(logits[:, :-1], other, -np.inf, axis=-1)
    expected = sums(logits, tokens, mask)
    assert np.isfinite(expected).all()
    assert_equivalent(run(logits, tokens, mask), expected, rtol=RTOL, atol=ATOL)
    logits[0, 2, tokens[0, 3]] = -np.inf
    expected[0] = -np.inf
    assert_equivalent(run(logits, tokens, mask), expected, rtol=RTOL, atol=ATOL)


@scoring
def test_other_types_and_sequences_of_one_token_or_none(candidate, rng):
    logits, tokens, mask = sequences(rng)
    run = candidate.kto.objective.completion_logps
    single = logits.astype(np.float32)
    expected = sums(single.astype(np.float64), tokens, mask)
    for given in (
        (single, tokens.astype(np.uint8), mask.astype(np.int64)),
        (single.tolist(), tokens.tolist(), mask.astype(np.float64).tolist()),
    ):
        assert_equivalent(run(*given), expected, rtol=RTOL, atol=ATOL, check_dtype=True)
    whole = rng.integers(-128, 128, logits.shape).astype(np.int8)
    assert_equivalent(run(whole, tokens, mask), sums(whole.astype(float), tokens, mask), rtol=RTOL, atol=ATOL)
    assert_equivalent(run(logits[:, :1], tokens[:, :1], np.ones((4, 1))), np.zeros(4), check_dtype=True)
    assert_equivalent(run(logits[..., :1], 0 * tokens, mask), np.zeros(4), check_dtype=True)
    assert_equivalent(run(logits[:0], tokens[:0], mask[:0]), np.zeros(0), check_dtype=True)


@scoring
def test_shapes_and_tokens_that_do_not_fit(candidate, rng):
    logits, tokens, mask = sequences(rng)
    run = candidate.kto.objective.completion_logps
    negative, high = tokens.copy(), tokens.copy()
    negative[0, 3], high[3, 3] = -1, 6
    for bad in (
        (logits[0], tokens[0], mask[0]),
        (logits[0], tokens[:1].repeat(7, axis=0)[:, :6], mask[:1].repeat(7, axis=0)[:, :6]),
        (logits[..., None], tokens, mask),
        (logits, tokens[:, :-1], mask),
        (logits, tokens, mask[:, :-1]),
        (logits, tokens, mask[:1]),
        (logits[:, :-1], tokens, mask),
        (logits, negative, mask),
        (logits, high, mask),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad)
    high[3, 3], negative[0, 3] = 5, 0
    assert_equivalent(run(logits, high, mask), sums(logits, high, mask), rtol=RTOL, atol=ATOL)
    assert_equivalent(run(logits, negative, mask), sums(logits, negative, mask), rtol=RTOL, atol=ATOL)


# reference_point


@pointing
def test_the_point_is_the_mean_over_mismatched_pairs(candidate, rng):
    """Pairs of both signs, whose sum is clear of 0; exchanged models give the other sign, and the point is 0."""
    while True:
        prompts, completions = conversations(rng)
        policy, reference = Model(rng), Model(rng)
        ratios = mismatched(prompts, completions, policy, reference)
        if min(ratios) < -0.1 and max(ratios) > 0.1 and abs(sum(ratios)) > 0.1:
            break
    expected = math.fsum(ratios) / len(ratios)
    if expected < 0.0:
        policy, reference, expected = reference, policy, -expected
    policy.given.clear()
    found = assert_unmodified(candidate.kto.objective.reference_point, prompts, completions, policy, reference)
    assert type(found) is float
    np.testing.assert_allclose(found, expected, rtol=RTOL)
    assert all(tokens.dtype == np.int64 and tokens.ndim == 2 for tokens in policy.given)
    found = candidate.kto.objective.reference_point(prompts, completions, reference, policy)
    assert type(found) is float
    assert found == 0.0


@pointing
def test_the_smallest_batches(candidate, rng):
    """Two examples exchange their completions; one has nothing to be paired with; numbers must agree."""
    run = candidate.kto.objective.reference_point
    prompts, completions = conversations(rng, count=3)
    policy, reference = Model(rng), Model(rng)
    ratios = mismatched(prompts[:2], completions[:2], policy, reference)
    for models, sign in (((policy, reference), 1.0), ((reference, policy), -1.0)):
        found = run(prompts[:2], completions[:2], *models)
        np.testing.assert_allclose(found, max(0.0, sign * math.fsum(ratios) / 2), rtol=RTOL, atol=ATOL)
    even = [rng.integers(0, 6, 3) for _ in range(8)]  # all of one length
    ratios = mismatched(even[:4], even[4:], policy, reference)
    for models, sign in (((policy, reference), 1.0), ((reference, policy), -1.0)):
        found = assert_unmodified(run, even[:4], even[4:], *models)
        np.testing.assert_allclose(found, max(0.0, sign * math.fsum(ratios) / 4), rtol=RTOL, atol=ATOL)
    for bad in (
        (prompts[:1], completions[:1]),
        ([], []),
        (prompts, []),
        (prompts, completions[:2]),
        (prompts[:2], completions),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad, policy, reference)


# kto_loss


@losing
def test_losses_rewards_and_their_mean(candidate, rng):
    policy, reference, desirable = examples(rng)
    beta, z0, good, bad = rng.uniform(0.1, 0.5), rng.uniform(0.5, 3.0), rng.uniform(1.1, 2.0), rng.uniform(0.3, 0.9)
    found = assert_unmodified(
        candidate.kto.objective.kto_loss,
        policy,
        reference,
        desirable,
        z0,
        beta=beta,
        desirable_weight=good,
        undesirable_weight=bad,
    )
    ratios = policy - reference
    values = np.where(
        desirable, good / (1.0 + np.exp(-beta * (ratios - z0))), bad / (1.0 + np.exp(-beta * (z0 - ratios)))
    )
    losses = np.where(desirable, good, bad) - values
    assert_equivalent(found.losses, losses, rtol=1e-6, atol=1e-12, check_dtype=True)
    assert_equivalent(found.mean, math.fsum(losses.tolist()) / 9, rtol=RTOL)
    assert type(found.mean) is float
    assert_equivalent(found.rewards, beta * ratios, rtol=RTOL, check_dtype=True)


@losing
def test_gradients_are_the_derivatives_of_the_mean(candidate, rng):
    """By central differences: an error of about 1e-8 of the largest."""
    policy, reference, desirable = examples(rng, count=5)
    policy = reference + rng.uniform(-4.0, 4.0, 5)
    z0, options = rng.uniform(0.5, 2.0), {"beta": 0.7, "desirable_weight": 1.3, "undesirable_weight": 0.6}
    run = candidate.kto.objective.kto_loss
    found = run(policy, reference, desirable, z0, **options).gradients
    step, expected = 1e-4, np.zeros(5)
    for place in range(5):
        shift = step * (np.arange(5) == place)
        up, down = (run(policy + sign * shift, reference, desirable, z0, **options).mean for sign in (1.0, -1.0))
        expected[place] = (up - down) / (2.0 * step)
    assert_equivalent(found, expected, rtol=1e-5, atol=1e-8, check_dtype=True)
    assert_equivalent(np.sign(found), np.where(desirable, -1.0, 1.0))


@losing
def test_defaults_and_other_types(candidate, rng):
    policy, reference, desirable = examples(rng)
    run = candidate.kto.objective.kto_loss
    single = policy.astype(np.float32), reference.astype(np.float32)
    double = [each.astype(np.float64) for each in single]
    expected = fields(
        run(*double, desirable, 1.5, beta=0.1, desirable_weight=1.0, undesirable_weight=1.0),
    )
    for given in (
        (*single, desirable.astype(np.int64)),
        (double[0].tolist(), double[1].tolist(), desirable.astype(np.float64).tolist()),
    ):
        assert_equivalent(fields(run(*given, 1.5)), expected, rtol=RTOL, check_dtype=True)
    whole = fields(run([-3, -9], [-5, -4], [1, 0], 1, beta=1))
    small = 1.0 / (1.0 + math.exp(1.0)), 1.0 / (1.0 + math.exp(6.0))
    assert_equivalent(whole["losses"], np.array(small), rtol=RTOL, check_dtype=True)
    assert_equivalent(whole["rewards"], np.array([2.0, -5.0]), rtol=RTOL, check_dtype=True)


@losing
def test_small_and_extreme_losses_are_accurate(candidate, rng):
    """Far on the right side the loss is exp(-x), and so is the gradient; on the wrong side it is the weight."""
    gaps = np.concatenate([rng.uniform(40.0, 680.0, 6), [1e6]])
    larger, zeros = -np.abs(rng.normal(-50.0, 5.0, 14)), np.zeros(7)
    desirable = np.repeat([True, False], 7)
    z0, factor, good, bad = rng.uniform(0.1, 2.0), 0.5, 1.25, 0.75
    weights = np.where(desirable, good, bad)
    options = {"beta": factor, "desirable_weight": good, "undesirable_weight": bad}
    run = candidate.kto.objective.kto_loss
    for side in (1.0, -1.0):
        ratios = side * np.concatenate([gaps, -gaps]) / factor
        base = larger - np.maximum(ratios + z0, 0.0)
        policy = base + ratios + z0
        found = run(policy, base, desirable, z0, **options)
        # What rounding left of the gaps: the exponential turns an absolute error of x into a relative one.
        x = np.abs(policy - base - z0) * factor
        small = weights * np.exp(-x)
        losses, gradients = (small if side > 0.0 else weights), np.where(desirable, -1.0, 1.0) * factor * small / 14
        assert_equivalent(found.losses, losses, rtol=RTOL, atol=0.0, check_dtype=True)
        assert_equivalent(found.gradients, gradients, rtol=RTOL, atol=0.0, check_dtype=True)
        assert math.isclose(found.mean, losses.sum() / 14, rel_tol=1e-9)
    found = run(np.full(14, -np.inf), base, desirable, z0, **options)
    assert_equivalent(found.losses, np.concatenate([good + zeros, zeros]), check_dtype=True)
    assert_equivalent(found.gradients, np.zeros(14), check_dtype=True)
    assert_equivalent(found.rewards, np.full(14, -np.inf), check_dtype=True)


@losing
def test_losses_of_every_size_are_accurate(candidate, rng):
    """Gains of 0 to 700 on both sides, of which the smaller ones are neither exponentials nor far from them."""
    gains = np.concatenate([rng.uniform(0.0, 45.0, 80), rng.uniform(45.0, 690.0, 20)]) * rng.choice([-1.0, 1.0], 100)
    desirable = rng.uniform(size=100) < 0.5
    sign = np.where(desirable, 1.0, -1.0)
    policy = np.minimum(sign * gains, 0.0)
    base = policy - sign * gains
    found = candidate.kto.objective.kto_loss(policy, base, desirable, 0.0, beta=1.0)
    gains = (sign * (policy - base)).tolist()
    losses = np.array([1.0 / (1.0 + math.exp(gain)) for gain in gains])
    slopes = np.array([1.0 / (2.0 + math.exp(gain) + math.exp(-gain)) for gain in gains])
    assert_equivalent(found.losses, losses, rtol=2e-9, atol=0.0, check_dtype=True)
    assert_equivalent(found.gradients, -sign * slopes / 100, rtol=2e-9, atol=0.0, check_dtype=True)


@losing
def test_arrays_and_options_that_do_not_fit(candidate, rng):
    policy, reference, desirable = examples(rng)
    run = candidate.kto.objective.kto_loss
    for bad in (
        (policy[:-1], reference, desirable),
        (policy, reference[:1], desirable),
        (policy, reference, desirable[:-1]),
        (policy, reference, True),
        (policy[None], reference[None], desirable[None]),
        (policy[:0], reference[:0], desirable[:0]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*bad, 0.5)
    for beta in (0.0, -0.1):
        with pytest.raises(ValueError):  # noqa: PT011
            run(policy, reference, desirable, 0.5, beta=beta)
    one = run(policy[:1], reference[:1], [True], -0.5, beta=1e-3)
    np.testing.assert_allclose(one.losses, 1.0 / (1.0 + np.exp(1e-3 * (policy[:1] - reference[:1] + 0.5))), rtol=RTOL)


# balanced_weights


@weighing
def test_total_weights_have_the_ratio_and_the_smaller_weight_is_one(candidate, rng):
    run = candidate.kto.objective.balanced_weights
    for good, bad in ((3, 11), (12, 5), (7, 7), (6, 5), (1, 1)):
        labels = rng.permutation(np.repeat([1, 0], [good, bad]))
        for ratio in (1.0, 1.5, rng.uniform(1.05, 1.45)):
            share = ratio * bad / good
            expected = (share, 1.0) if share >= 1.0 else (1.0, 1.0 / share)
            found = run(labels.astype(bool), ratio)
            assert_equivalent(found, expected, rtol=RTOL)
            assert [type(each) for each in found] == [float, float]
        whole = (bad / good, 1.0) if bad >= good else (1.0, good / bad)
        assert_equivalent(run(labels), whole, rtol=RTOL)
        assert_equivalent(run(labels.astype(np.uint8).tolist()), whole, rtol=RTOL)


@weighing
def test_one_kind_only_and_ratios_out_of_range(candidate, rng):
    run = candidate.kto.objective.balanced_weights
    labels = rng.permutation([True, True, False, False, False])
    for bad, ratio in (
        (np.ones(4, dtype=bool), 1.0),
        (np.zeros(4, dtype=bool), 1.0),
        (labels, 0.999),
        (labels, 1.501),
        (np.zeros(0, dtype=bool), 1.0),
    ):
        with pytest.raises(ValueError):  # noqa: PT011
            run(bad, ratio)
    assert_equivalent(run(labels, 1.5), (2.25, 1.0), rtol=RTOL)


@losing
def test_the_driver_gives_what_that_of_the_authors_gives(candidate, reference, rng):
    prompts, completions = conversations(rng)
    models = Model(rng), Model(rng)
    labels = rng.permutation([True, True, True, False, False])
    found = [
        side.kto.training.evaluate(prompts, completions, labels, *models, beta=0.3) for side in (candidate, reference)
    ]
    assert_equivalent(found[0], found[1], rtol=RTOL)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
