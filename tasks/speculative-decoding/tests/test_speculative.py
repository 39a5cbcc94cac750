import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified


def distributions(rng, *shape):
    weights = rng.gamma(0.7, size=shape) + 1e-3
    return weights / weights.sum(axis=-1, keepdims=True)


class Recorder:
    """A language model that depends on its whole input, and notes what it is asked."""

    def __init__(self, rng, size, sharpness=2.0):
        self.first, self.second = rng.normal(size=(2, size, size)) * sharpness
        self.asked = []
        self.lists = True

    def __call__(self, tokens):
        self.lists &= isinstance(tokens, list)
        tokens = [int(token) for token in tokens]
        self.asked.append(tokens)
        before = np.array([tokens[0], *tokens[:-1]])
        return self.first[np.array(tokens)] + 0.5 * self.second[before]


def greedy(model, prompt, count):
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(np.argmax(model(tokens)[-1])))
    return tokens[len(prompt) :]


def run(code, target, draft, prompt, seed, **settings):
    settings = code.lm.settings.Settings(**settings)
    result = assert_unmodified(code.speculative.generate, target, draft, prompt, settings, seed)
    assert {type(result.tokens), *(type(token) for token in result.tokens)} <= {list, int}
    return [result.tokens, result.rounds, result.drafted, result.accepted]


@pytest.mark.interface("speculative.residual")
def test_residual_makes_up_for_what_rejection_removes(candidate, reference, rng):
    for shape in ((6,), (4, 6), (2, 3, 5)):
        target, draft = distributions(rng, *shape), distributions(rng, *shape)
        target[..., 0] = 0.0
        target /= target.sum(axis=-1, keepdims=True)
        actual = candidate.speculative.residual(target, draft)
        kept = np.minimum(target, draft)
        rejected = 1.0 - kept.sum(axis=-1, keepdims=True)
        np.testing.assert_allclose(kept + rejected * actual, target, rtol=1e-7, atol=1e-12)
        assert_equivalent(actual, reference.speculative.residual(target, draft), rtol=1e-7)
    single = target.astype(np.float32), draft.astype(np.float32)
    actual = candidate.speculative.residual(*single)
    assert_equivalent(actual, reference.speculative.residual(*single), rtol=1e-7, check_dtype=True)
    assert_equivalent(candidate.speculative.residual(target.tolist(), draft.tolist()).shape, (2, 3, 5))


@pytest.mark.interface("speculative.residual")
def test_residual_of_equal_and_nearly_equal_distributions(candidate, rng):
    target, draft = distributions(rng, 3, 5), distributions(rng, 3, 5)
    draft[1] = target[1]
    draft[2] = target[2]
    draft[2, 3] = np.nextafter(target[2, 3], 0.0)
    actual = candidate.speculative.residual(target, draft)
    assert_equivalent(actual[1], target[1], rtol=1e-12)
    assert_equivalent(actual[2], np.eye(5)[3], rtol=1e-12)
    np.testing.assert_allclose(actual.sum(axis=-1), 1.0, rtol=1e-12)
    assert np.all(actual[0][draft[0] >= target[0]] == 0.0)


@pytest.mark.interface("speculative.verify")
def test_a_token_is_kept_just_below_the_threshold_and_not_above(candidate, rng):
    target, draft = distributions(rng, 2, 6), distributions(rng, 1, 6)
    token = int(np.argmax(draft[0] - target[0]))
    threshold = target[0, token] / draft[0, token]
    below = candidate.speculative.verify(target, draft, [token], [threshold * (1.0 - 1e-9), 0.5])
    above = candidate.speculative.verify(target, draft, [token], [threshold * (1.0 + 1e-9), 0.5])
    assert type(below[0]) is type(below[1]) is int
    assert (below[0], above[0]) == (1, 0)
    assert below[1] == np.searchsorted(np.cumsum(target[1]), 0.5)
    excess = np.maximum(target[0] - draft[0], 0.0)
    assert above[1] == np.searchsorted(np.cumsum(excess), 0.5 * excess.sum())
    favoured = int(np.argmax(target[0] - draft[0]))
    assert candidate.speculative.verify(target, draft, [favoured], [1.0 - 1e-12, 0.5])[0] == 1
    target[0, favoured], draft[0, favoured] = 0.0, 0.5
    target[0], draft[0] = (each / each.sum() for each in (target[0], draft[0]))
    assert candidate.speculative.verify(target, draft, [favoured], [0.0, 0.5])[0] == 0


@pytest.mark.interface("speculative.verify")
def test_lists_and_single_precision_are_judged_in_double_precision(candidate, rng):
    """At the threshold: a product that is rounded to single precision falls on the other side of it. The last number
    draws token 0 from both rows of the target, but not from the residual."""
    target, draft = np.array([[0.25, 0.75], [0.5, 0.5]]), np.array([[0.625, 0.375]])
    just_below, just_above = 0.4 * (1.0 - 1e-9), 0.4 * (1.0 + 1e-9)
    last = float(rng.uniform(0.05, 0.2))
    for cast in (np.ndarray.tolist, np.float32, np.float64):
        for uniform, expected in ((just_below, (1, 0)), (just_above, (0, 1))):
            found = candidate.speculative.verify(cast(target), cast(draft), [0], [uniform, last])
            assert tuple(found) == expected
    assert tuple(candidate.speculative.verify([[0.5, 0.5]], [], [], [last])) == (0, 0)


@pytest.mark.interface("speculative.verify")
def test_every_place_of_the_first_rejection(candidate, reference, rng):
    seen = set()
    for first in range(5):
        target, draft = distributions(rng, 5, 7), distributions(rng, 4, 7)
        proposed = rng.integers(7, size=4)
        uniforms = np.append(np.zeros(4), rng.random())
        if first < 4:
            target[first, proposed[first]] = 0.0
            target[first] /= target[first].sum()
        actual = candidate.speculative.verify(target, draft, proposed, uniforms)
        assert tuple(actual) == reference.speculative.verify(target, draft, proposed, uniforms)
        seen.add(actual[0])
    assert seen == {0, 1, 2, 3, 4}


@pytest.mark.interface("speculative.verify")
def test_the_last_number_draws_whichever_token_is_rejected(candidate, rng):
    """Half of the residual is token 0, half is token 1: the last number draws the one that no other number draws."""
    target = np.array([[0.5, 0.5, 0.0, 0.0]] * 5)
    draft = np.array([[0.0, 0.0, 0.5, 0.5], [0.5, 0.5, 0.0, 0.0]])
    for first in range(4):
        rows = draft[[1] * first + [0] + [1] * (3 - first)]
        proposed = [0] * first + [2] + [0] * (3 - first)
        low, high = rng.uniform(0.05, 0.45, size=4), rng.uniform(0.55, 0.95)
        for others, last in ((low, high), (low + 0.5, float(low[0]))):
            found = candidate.speculative.verify(target, rows, proposed, [*others, last])
            assert tuple(found) == (first, int(last >= 0.5))


@pytest.mark.interface("speculative.verify")
def test_random_rounds_are_the_authors(candidate, reference, rng):
    for gamma in (0, 1, 3, 3, 3, 6):
        target = distributions(rng, gamma + 1, 5)
        draft = 0.6 * target[:gamma] + 0.4 * distributions(rng, gamma, 5)
        args = (target, draft, rng.integers(5, size=gamma), rng.random(gamma + 1))
        assert_equivalent(tuple(candidate.speculative.verify(*args)), reference.speculative.verify(*args))
    for bad in (
        (target[1:], *args[1:]),
        (args[0], draft[1:], *args[2:]),
        (*args[:3], args[3][1:]),
        (np.concatenate([target, target[:1]]), *args[1:]),
        (args[0], np.concatenate([draft, draft[:1]]), *args[2:]),
        (*args[:3], np.append(args[3], 0.5)),
        (*args[:2], args[2][1:], args[3]),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.speculative.verify(*bad)


@pytest.mark.interface("speculative.speedup")
def test_speedup_is_that_of_the_theorem(candidate, rng):
    target, draft = distributions(rng, 4, 6), distributions(rng, 4, 6)
    alpha = np.minimum(target, draft).sum(axis=1).mean()
    gammas, cost = np.array([3, 0, 7, 3, 1]), rng.uniform(0.02, 0.3)
    expected = (1.0 - alpha ** (gammas + 1)) / ((1.0 - alpha) * (gammas * cost + 1.0))
    assert_equivalent(candidate.speculative.speedup(target, draft, gammas, cost), expected, rtol=1e-9)
    listed = candidate.speculative.speedup(target.tolist(), draft.tolist(), gammas.tolist(), cost)
    assert_equivalent(listed, expected, rtol=1e-9)
    for nothing in ([], np.zeros(0, dtype=np.int64)):
        assert_equivalent(candidate.speculative.speedup(target, draft, nothing, cost), np.zeros(0))
    free = candidate.speculative.speedup(target, draft, [5], 0)
    assert_equivalent(free, (1.0 - alpha ** np.array([6])) / (1.0 - alpha), rtol=1e-9)


@pytest.mark.interface("speculative.speedup")
def test_speedup_of_perfect_and_useless_drafts(candidate, rng):
    target, gammas, cost = distributions(rng, 3, 8), np.array([0, 2, 9]), rng.uniform(0.02, 0.3)
    price = gammas * cost + 1.0
    assert_equivalent(candidate.speculative.speedup(target, target, gammas, cost), (gammas + 1) / price, rtol=1e-9)
    close = target * (1.0 - 3e-16)
    assert_equivalent(candidate.speculative.speedup(target, close, gammas, cost), (gammas + 1) / price, rtol=1e-9)
    likeliest = target.argmax(axis=1)
    for exponent in range(1, 14):  # neither the closed form nor the value at 1 is accurate for all of these
        missing = 0.1 * rng.uniform(0.2, 0.9) * 0.1 ** (exponent - 1)
        nearly = target.copy()
        nearly[np.arange(3), likeliest] -= missing
        nearly[np.arange(3), (likeliest + 1) % 8] += missing
        tokens = [sum((1.0 - missing) ** power for power in range(gamma + 1)) for gamma in gammas]
        assert_equivalent(candidate.speculative.speedup(target, nearly, gammas, cost), tokens / price, rtol=1e-9)
    one, other = np.eye(8)[[0, 1, 2]], np.eye(8)[[3, 4, 5]]
    assert_equivalent(
        candidate.speculative.speedup(one, one, gammas, cost), (gammas + 1) / price, rtol=1e-9
    )  # exactly 1
    assert_equivalent(candidate.speculative.speedup(one, other, gammas, cost), 1.0 / price, rtol=1e-9)
    for bad in ((target, target, [1, -1], cost), (target, target, gammas, -cost)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.speculative.speedup(*bad)


@pytest.mark.interface("speculative.generate")
def test_greedy_decoding_gives_the_targets_text_for_any_draft(candidate, rng):
    target, draft = Recorder(rng, 6), Recorder(rng, 6)
    seed = int(rng.integers(1 << 30))
    expected = greedy(target, [2, 1], 10)
    for gamma in (0, 1, 4):
        settings = {"max_new_tokens": 10, "gamma": gamma, "temperature": 0.0}
        tokens, rounds, drafted, accepted = run(candidate, target, draft, [2, 1], seed, **settings)
        assert tokens == expected
        assert rounds + accepted == 10
        assert drafted >= accepted
    tokens, rounds, drafted, accepted = run(
        candidate, target, target, [2, 1], seed, max_new_tokens=10, gamma=4, temperature=0.0
    )
    assert (tokens, rounds, drafted, accepted) == (expected, 2, 8, 8)


@pytest.mark.interface("speculative.generate")
@pytest.mark.parametrize(
    "settings",
    [
        {"max_new_tokens": 24, "gamma": 3},
        {"max_new_tokens": 17, "gamma": 5, "temperature": 0.6, "top_k": 3},
        {"max_new_tokens": 30, "gamma": 4, "temperature": 1.5, "eos": 1},
    ],
    ids=["plain", "filtered", "eos"],
)
def test_generation_is_the_authors(candidate, reference, rng, settings):
    table = rng.normal(size=(5, 5))
    other = 0.7 * table + 0.3 * rng.normal(size=(5, 5))

    def texts(code):
        target, draft = code.lm.models.Bigram(table), code.lm.models.Bigram(other)
        return [run(code, target, draft, [0, 3], seed, **settings) for seed in seeds]

    seeds = rng.integers(1 << 30, size=8).tolist()
    assert_equivalent(texts(candidate), texts(reference))


@pytest.mark.interface("speculative.generate")
def test_no_number_is_taken_for_a_token_that_is_not_proposed(candidate, reference, rng):
    """The draft nearly always stops at once, and the target never wants to: a number too many in a round changes all that follows."""
    table = rng.normal(size=(5, 5))
    other = table.copy()
    table[:, 1] = -40.0
    other[:, 1] = 3.0
    settings = {"max_new_tokens": 20, "gamma": 4, "eos": 1}

    def texts(code):
        target, draft = code.lm.models.Bigram(table), code.lm.models.Bigram(other)
        return [run(code, target, draft, [0, 3], seed, **settings) for seed in seeds]

    seeds = rng.integers(1 << 30, size=3).tolist()
    assert_equivalent(texts(candidate), texts(reference))


@pytest.mark.interface("speculative.generate")
def test_models_are_called_as_rarely_as_promised(candidate, reference, rng):
    settings = {"max_new_tokens": 13, "gamma": 3}
    seed = int(rng.integers(1 << 30))
    target, draft = Recorder(rng, 4, 1.0), Recorder(rng, 4, 1.0)
    tokens, rounds, drafted, _ = run(candidate, target, draft, [3], seed, **settings)
    asked = [target.asked, draft.asked]
    target.asked, draft.asked = [], []
    run(reference, target, draft, [3], seed, **settings)
    assert asked == [target.asked, draft.asked]
    assert (len(asked[0]), len(asked[1])) == (rounds, drafted)
    assert len(tokens) == 13
    assert target.lists
    assert draft.lists
    assert max(len(each) for each in asked[0]) <= 13  # the prompt and at most twelve: nothing beyond the limit


@pytest.mark.interface("speculative.generate")
@pytest.mark.parametrize("eos", [2, 0])
def test_the_ends_of_the_text(candidate, rng, eos):
    seed = int(rng.integers(1 << 30))
    target, draft = Recorder(rng, 4, 1.0), Recorder(rng, 4, 1.0)
    target.first[:, eos] += 30.0  # both want to stop at once
    draft.first[:, eos] += 30.0
    for prompt in ([3, 1], [3, eos]):  # eos in the prompt ends nothing
        assert run(candidate, target, draft, prompt, seed, max_new_tokens=9, eos=eos) == [[eos], 1, 1, 1]
    draft.first[:, eos] -= 90.0
    assert run(candidate, target, draft, [3, 1], seed, max_new_tokens=9, eos=eos, gamma=3) == [[eos], 1, 3, 0]
    assert run(candidate, target, draft, [3, 1], seed, max_new_tokens=1, eos=eos) == [[eos], 1, 0, 0]
    asked = len(target.asked)
    assert run(candidate, target, draft, [0, 1], seed, max_new_tokens=0) == [[], 0, 0, 0]
    assert len(target.asked) == asked
    for limit in (3, 0):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(candidate, target, draft, [], seed, max_new_tokens=limit)


@pytest.mark.interface("speculative.residual")
def test_distributions_are_not_modified(candidate, reference, rng):
    target, draft = distributions(rng, 3, 5), distributions(rng, 3, 5)
    residual = assert_unmodified(candidate.speculative.residual, target, draft)
    assert_equivalent(residual, reference.speculative.residual(target, draft), rtol=1e-7)


@pytest.mark.interface("speculative.verify")
def test_what_is_verified_is_not_modified(candidate, rng):
    target, draft = distributions(rng, 4, 6), distributions(rng, 3, 6)
    accepted, _ = assert_unmodified(
        candidate.speculative.verify, target, draft, rng.integers(0, 6, 3), rng.uniform(size=4)
    )
    assert 0 <= accepted <= 3


@pytest.mark.interface("speculative.speedup")
def test_contexts_and_lengths_are_not_modified(candidate, rng):
    gammas = np.array([3, 0, 5])
    expected = assert_unmodified(
        candidate.speculative.speedup, distributions(rng, 4, 6), distributions(rng, 4, 6), gammas, 0.1
    )
    assert expected.shape == (3,)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
