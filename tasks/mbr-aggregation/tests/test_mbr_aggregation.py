"""Hidden tests of the task mbr-aggregation."""

from collections import Counter

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

counting = pytest.mark.interface("decoding.mbr.statistics")
averaging = pytest.mark.interface("decoding.mbr.aggregate")
scoring = pytest.mark.interface("decoding.mbr.chrf")
estimating = pytest.mark.interface("decoding.mbr.utilities")
deciding = pytest.mark.interface("decoding.mbr.decode")

# Sums of a few hundred float64 numbers of one sign: rounding is far below a relative 1e-9.
CLOSE = {"rtol": 1e-9, "atol": 1e-12}
SPACES = [" ", "\t", "\n", "\u3000", "\u00a0"]


def word(rng, most=5):
    return "".join(rng.choice(list("abcdAé語\u0301"), rng.integers(1, most + 1)))


def variants(rng, count, words=7):
    """Texts that share most of their words."""
    base = [word(rng) for _ in range(words)]
    texts = []
    for _ in range(count):
        chosen = [word(rng) if rng.uniform() < 0.3 else each for each in base if rng.uniform() < 0.9]
        texts.append("".join(each + rng.choice(SPACES) for each in chosen))
    return texts


def counts_of(text, order):
    text = "".join(each for each in text if not each.isspace())
    return [Counter(text[k : k + n] for k in range(len(text)) if k + n <= len(text)) for n in range(1, order + 1)]


def mean_of(parts):
    return [
        {gram: sum(each[place].get(gram, 0) for each in parts) / len(parts) for gram in set().union(*column)}
        for place, column in enumerate(zip(*parts, strict=True))
    ]


def chrf_by_hand(ours, theirs, beta):
    pairs = []
    for h, r in zip(ours, theirs, strict=True):
        if sum(h.values()) > 0 and sum(r.values()) > 0:
            matches = sum(min(h[gram], r[gram]) for gram in set(h) & set(r))
            pairs.append((matches / sum(h.values()), matches / sum(r.values())))
    p, r = np.mean(pairs, axis=0) if pairs else (0.0, 0.0)
    return 0.0 if p + r == 0 else float((1 + beta**2) * p * r / (beta**2 * p + r))


def utilities_by_hand(hypotheses, references, order, beta, sizes):
    total, start = np.zeros(len(hypotheses)), 0
    for size in sizes:
        mean = mean_of([counts_of(text, order) for text in references[start : start + size]])
        total += [size * chrf_by_hand(counts_of(text, order), mean, beta) for text in hypotheses]
        start += size
    return total / start


def settings_of(side, *values):
    return side.decoding.settings.Settings(*values)


# statistics


@counting
def test_counts_of_characters_without_whitespace(candidate, rng):
    for text in (*variants(rng, 3), "aaa\u2003aa", "aA\u2003Aa", word(rng)):
        order = rng.integers(2, 8).item()
        found = candidate.decoding.mbr.statistics(text, order)
        expected = [dict(each) for each in counts_of(text, order)]
        assert isinstance(found, list)
        assert_equivalent([dict(each) for each in found], expected, rtol=0.0, atol=0.0)
        assert {type(count) for each in found for count in each.values()} == {int}


@counting
def test_counts_of_short_and_empty_texts(candidate, rng):
    letters = rng.permutation(list("xyzé")).tolist()
    for text in ("", " \n\u3000", letters[0], letters[0] + " " + letters[1]):
        found = candidate.decoding.mbr.statistics(text, 4)
        assert_equivalent([dict(each) for each in found], [dict(each) for each in counts_of(text, 4)])


# aggregate


@averaging
def test_means_of_counts(candidate, rng):
    """Also of texts without characters, and of counts that are means themselves."""
    texts = [*variants(rng, 4), "", rng.choice(SPACES)]
    parts = [[dict(each) for each in counts_of(texts[place], 5)] for place in rng.permutation(6)]
    parts[rng.integers(6)][0]["q"] = 0  # an entry, too
    found = assert_unmodified(candidate.decoding.mbr.aggregate, parts)
    assert_equivalent([dict(each) for each in found], mean_of(parts), **CLOSE)
    assert all(isinstance(count, float) for each in found for count in each.values())
    again = candidate.decoding.mbr.aggregate([found, *parts[:2]])
    assert_equivalent([dict(each) for each in again], mean_of([mean_of(parts), *parts[:2]]), **CLOSE)


@averaging
def test_aggregates_of_one_text_and_of_none(candidate, rng):
    part = [dict(each) for each in counts_of(variants(rng, 1)[0] + "a", 3)]
    found = candidate.decoding.mbr.aggregate([part])
    assert_equivalent([dict(each) for each in found], mean_of([part]), **CLOSE)
    assert [dict(each) for each in candidate.decoding.mbr.aggregate([[{}, {}], [{}, {}]])] == [{}, {}]
    with pytest.raises(ValueError):  # noqa: PT011
        candidate.decoding.mbr.aggregate([])


# chrf


@scoring
def test_chrf_of_whole_and_of_mean_counts(candidate, rng):
    texts = variants(rng, 8)
    for order, beta in ((6, 2.0), (4, rng.uniform(0.3, 3.0)), (1, 1.0)):
        parts = [[dict(each) for each in counts_of(text, order)] for text in texts]
        for reference in (parts[1], mean_of(parts[2:]), mean_of([parts[3], parts[4], [{}] * order])):
            expected = chrf_by_hand(parts[0], reference, beta)
            found = assert_unmodified(candidate.decoding.mbr.chrf, parts[0], reference, beta)
            assert type(found) is float
            assert_equivalent(found, expected, **CLOSE)
            assert_equivalent(
                candidate.decoding.mbr.chrf(reference, parts[0], beta), chrf_by_hand(reference, parts[0], beta), **CLOSE
            )
    default = candidate.decoding.mbr.chrf(parts[0], parts[1])
    assert_equivalent(default, chrf_by_hand(parts[0], parts[1], 2.0), **CLOSE)


@scoring
def test_chrf_of_repeated_characters(candidate, rng):
    """Precision is 1 for a text that is too short, recall is not; lengths beyond the shorter text do not count."""
    long, order = rng.integers(5, 12).item(), 6
    for short in (1, 2, long - 1, long):
        ours, theirs = ([dict(each) for each in counts_of("a" * size, order)] for size in (short, long))
        shares = [(short - n) / (long - n) for n in range(min(short, order))]
        share = sum(shares) / len(shares)
        assert_equivalent(candidate.decoding.mbr.chrf(ours, theirs), 5.0 * share / (4.0 + share), **CLOSE)
        assert_equivalent(candidate.decoding.mbr.chrf(theirs, ours), 5.0 * share / (4.0 * share + 1.0), **CLOSE)


@scoring
def test_chrf_without_anything_in_common(candidate, rng):
    some, other = word(rng), "".join(rng.choice(list("xyz"), 4))
    for one, two in ((some, other), (other, some), ("", some), (some, ""), ("", "")):
        found = candidate.decoding.mbr.chrf([dict(each) for each in counts_of(one, 6)], counts_of(two, 6))
        assert type(found) is float
        assert found == 0.0
    assert candidate.decoding.mbr.chrf([dict(each) for each in counts_of(some, 6)], counts_of(some, 6)) > 0.0


# utilities


@estimating
def test_utilities_against_aggregates(candidate, rng):
    """All references at once, each on its own, and parts of two sizes."""
    hypotheses, references = variants(rng, 5), variants(rng, 3) + variants(rng, 4)
    hypotheses[2], references[1] = references[5], ""
    for order, beta in ((6, 2.0), (3, 0.7)):
        for parts, sizes in ((1, [7]), (2, [4, 3]), (3, [3, 2, 2]), (5, [2, 2, 1, 1, 1]), (7, [1] * 7)):
            found = assert_unmodified(
                candidate.decoding.mbr.utilities, hypotheses, references, settings_of(candidate, order, beta), parts
            )
            expected = utilities_by_hand(hypotheses, references, order, beta, sizes)
            assert_equivalent(found, expected, **CLOSE, check_dtype=True)
    found = candidate.decoding.mbr.utilities(hypotheses, references, settings_of(candidate))
    assert_equivalent(found, utilities_by_hand(hypotheses, references, 6, 2.0, [7]), **CLOSE)


@estimating
def test_texts_without_characters(candidate, rng):
    run, settings = candidate.decoding.mbr.utilities, settings_of(candidate)
    references = variants(rng, 4)
    assert_equivalent(run([], references, settings), np.zeros(0), check_dtype=True)
    for parts in (1, 2, 4):
        assert_equivalent(run(["", " "], references, settings, parts), np.zeros(2))
        assert_equivalent(run(references, ["", "\t"] * 2, settings, parts), np.zeros(4))
    text = word(rng)  # half of it is missing on average, so that recall is 1 and precision a half
    assert_equivalent(run([text], [text, ""], settings), np.array([2.5 / 3.0]), **CLOSE)
    assert_equivalent(run([text], [text, ""], settings, 2), np.array([0.5]), **CLOSE)


@estimating
def test_impossible_parts(candidate, rng):
    run, settings = candidate.decoding.mbr.utilities, settings_of(candidate)
    texts = variants(rng, 3)
    assert run(texts, texts, settings, 3).shape == (3,)
    for references, parts in ((texts, 0), (texts, -1), (texts, 4), ([], 1), ([], 0)):
        for hypotheses in (texts, []):
            with pytest.raises(ValueError):  # noqa: PT011
                run(hypotheses, references, settings, parts)


# decode


def apart(texts, *utilities):
    """No two texts with different characters have close utilities."""
    _, places = np.unique(["".join(each.split()) for each in texts], return_index=True)
    return all(np.diff(np.sort(each[places])).min(initial=1.0) > 1e-7 for each in utilities)


def clear_samples(rng, parts, order):
    """Hypotheses, two of them twice, and references; their utilities, which can be told apart, and the coarse ranking.

    A hypothesis that is too short for any reference is better against means of counts than against each reference.
    """
    for _ in range(1000):
        one, two = ("".join(rng.permutation(list(letters))[:3]) for letters in ("abcde", "vwxyz"))
        references = [each * 4 + rng.choice(list("fgh")) for each in (one, two)] * 3
        noise = ["".join(rng.choice([one, "f", "g", " ", two[:2]], rng.integers(3, 9))) for _ in range(5)]
        texts = [one * 2, one * 4, *noise, one * 4, noise[0]]
        texts = [texts[place] for place in rng.permutation(9)]
        coarse = utilities_by_hand(texts, references, order, 2.0, [6] if parts == 1 else [3, 3])
        fine = utilities_by_hand(texts, references, order, 2.0, [1] * 6)
        ranking = np.argsort(-coarse, kind="stable")
        if apart(texts, coarse, fine) and np.argmax(fine[ranking[:4]]) != 0:
            return texts, references, coarse, fine, ranking
    raise RuntimeError("no samples that differ")


@deciding
@pytest.mark.parametrize("parts", [1, 2])
def test_the_fine_utility_decides_among_the_best(candidate, rng, parts):
    texts, references, coarse, fine, ranking = clear_samples(rng, parts, order=3)
    settings = settings_of(candidate, 3)
    for keep in (1, 2, 4, 9, 20, None):
        decision = assert_unmodified(candidate.decoding.mbr.decode, texts, references, settings, keep, parts)
        kept = ranking[:keep]
        assert_equivalent(decision.candidates, kept, check_dtype=True)
        assert_equivalent(decision.coarse, coarse, **CLOSE, check_dtype=True)
        assert_equivalent(decision.fine, fine[kept], **CLOSE, check_dtype=True)
        best = kept[np.argmax(fine[kept])].item()
        assert type(decision.best) is int
        assert (decision.best, decision.text) == (best, texts[best])
    whole = candidate.decoding.mbr.decode(texts, references, settings)
    if parts == 1:
        assert_equivalent(whole.candidates, ranking)


@deciding
def test_equal_utilities(candidate, rng):
    """The same text many times, and texts that have nothing in common with any reference."""
    settings = settings_of(candidate)
    text = " bc " + variants(rng, 1)[0] + "abc"
    hypotheses = ["xyz", text, "zzz", text, text, "", "x"]
    order = [1, 3, 4, 0, 2, 5, 6]
    for keep in (2, 3, 5, None):
        decision = candidate.decoding.mbr.decode(hypotheses, [text, text + "a"], settings, keep)
        np.testing.assert_array_equal(decision.candidates, order[:keep])
        assert (decision.best, decision.text) == (1, text)
    decision = candidate.decoding.mbr.decode(["x", "y z", ""] * 7, [text], settings, 5)
    np.testing.assert_array_equal(decision.candidates, np.arange(5))
    assert (decision.best, decision.text) == (0, "x")
    ranks = {word(rng) + "abc": 0, "abc": 1, "x": 2}  # the first is the reference, the second a part of it
    mixed = rng.permutation(list(ranks) * 30).tolist()
    decision = candidate.decoding.mbr.decode(mixed, list(ranks)[:1], settings, 70)
    np.testing.assert_array_equal(decision.candidates, sorted(range(90), key=lambda place: ranks[mixed[place]])[:70])
    near = [text * 4 + "x" * extra for extra in rng.permutation(20)]  # close, but not equal
    decision = candidate.decoding.mbr.decode(near, [text * 4], settings, 6)
    np.testing.assert_array_equal(decision.candidates, np.argsort([len(each) for each in near])[:6])


@deciding
def test_impossible_decisions(candidate, rng):
    run, settings = candidate.decoding.mbr.decode, settings_of(candidate)
    texts = variants(rng, 3)
    assert run(texts[:1], texts, settings, 1, 3).text == texts[0]
    for given in (([], texts), ([], texts, 1), (texts, texts, 0), (texts, texts, -1)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*given[:2], settings, *given[2:])
    for given in ((texts, []), (texts, texts, 2, 4), (texts, texts, None, 0)):
        with pytest.raises(ValueError):  # noqa: PT011
            run(*given[:2], settings, *given[2:])


@deciding
def test_translations_are_those_of_the_authors(candidate, reference, rng):
    samples, truths = [], []
    while len(samples) < 3:
        texts = variants(rng, 6)
        sizes = [3, 3], [1] * 6
        if apart(texts, *(utilities_by_hand(texts, texts, 4, 1.5, each) for each in sizes)):
            samples.append(texts)
            truths.append(texts[0] + word(rng))
    found = []
    for side in (candidate, reference):
        settings = settings_of(side, 4, 1.5)
        decisions = side.decoding.translate.translate(samples, settings, 3, 2)
        found.append([[each.best for each in decisions], side.decoding.translate.score(decisions, truths, settings)])
    assert_equivalent(found[0], found[1], rtol=1e-9)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
