import itertools
from collections import Counter

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

END = "</w>"
SIGNS = ".*+(|\\$</\x01\U0001f600\uff01"
"""Characters that have a meaning elsewhere, or an unusual place in the order of all."""


def make_words(rng, count, letters="abcd", longest=7):
    """Short words over few letters: full of ties and of repeated characters."""
    return ["".join(rng.choice(list(letters), size=rng.integers(1, longest + 1))) for _ in range(count)]


def make_counts(rng, count=25, letters="abcd"):
    return {word: int(rng.integers(1, 6)) for word in make_words(rng, count, letters)}


def pair_counts(split, counts):
    frequency = Counter()
    for word, parts in split.items():
        for pair in itertools.pairwise(parts):
            frequency[pair] += counts[word]
    return frequency


def merge(parts, pair):
    merged = []
    for part in parts:
        if merged and (merged[-1], part) == pair:
            merged[-1] = merged[-1] + part + "\0"  # marked: it cannot be merged a second time
        else:
            merged.append(part)
    return [part.replace("\0", "") for part in merged]


@pytest.mark.interface("bpe.learn")
def test_every_merge_is_the_most_frequent_pair_of_its_step(candidate, rng):
    counts = make_counts(rng)
    learned = candidate.bpe.learn(counts, 20)
    assert len(learned) == 20
    split = {word: [*word, END] for word in counts}
    for pair in learned:
        assert type(pair) is tuple
        frequency = pair_counts(split, counts)
        most = max(frequency.values())
        assert pair == min(each for each in frequency if frequency[each] == most)
        split = {word: merge(parts, pair) for word, parts in split.items()}


@pytest.mark.interface("bpe.learn")
def test_the_papers_example_has_its_ending_after_three_operations(candidate):
    counts = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
    assert candidate.bpe.learn(counts, 3) == [("e", "s"), ("es", "t"), ("est", END)]


@pytest.mark.interface("bpe.learn")
def test_merges_are_the_authors_whatever_the_order_of_the_words(candidate, reference, rng):
    for letters in ("a", "ab", "abcdef", SIGNS):
        counts = make_counts(rng, 30, letters)
        expected = reference.bpe.learn(counts, 40)
        assert_equivalent(candidate.bpe.learn(counts, 40), expected)
        shuffled = {word: counts[word] for word in rng.permutation(list(counts)).tolist()}
        assert_equivalent(candidate.bpe.learn(shuffled, 40), expected)


@pytest.mark.interface("bpe.learn")
def test_learning_ends_where_it_should(candidate, reference, rng):
    counts = make_counts(rng)
    complete = reference.bpe.learn(counts, 10_000, 1)
    assert_equivalent(candidate.bpe.learn(counts, 10_000, 1), complete)
    assert_equivalent(candidate.bpe.learn(counts, 5), complete[:5])
    assert candidate.bpe.learn(counts, 0) == []
    assert candidate.bpe.learn({}, 5) == []
    letter = str(rng.choice(list("xyz")))
    assert candidate.bpe.learn({letter: 4}, 5, 4) == [(letter, END)]
    assert candidate.bpe.learn({letter: 4}, 5, 5) == []
    assert candidate.bpe.learn({letter: 1}, 5) == []
    assert candidate.bpe.learn({letter: 4}, 5, 0) == [(letter, END)]  # no pair is left, whatever the minimum
    assert candidate.bpe.learn({}, 5, 0) == []
    assert candidate.bpe.learn({2 * letter: 0}, 5, 0) == [(letter, END), (letter, letter + END)]
    assert candidate.bpe.learn({2 * letter: 0}, 5, 1) == []
    for bad in (
        (counts, -1),
        ({}, -1),
        ({letter: -1}, 5),
        ({letter: -1}, 0),
        ({letter: 5, 2 * letter: -1}, 5),
        ({"": 2, letter: 3}, 5),
        ({"": 2}, 0),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.bpe.learn(*bad)


@pytest.mark.interface("bpe.segment")
def test_unseen_words_are_split_as_the_authors_do(candidate, reference, rng):
    learned = reference.bpe.learn({**make_counts(rng, 40), **make_counts(rng, 20, SIGNS)}, 40)
    theirs, ours = candidate.text.merges.Merges.of(learned), reference.text.merges.Merges.of(learned)
    text = [*make_words(rng, 20, "abcde", 12), *make_words(rng, 10, SIGNS, 12)]
    for word in text:
        parts = candidate.bpe.segment(word, theirs)
        assert "".join(parts) == word + END
        assert_equivalent(parts, reference.bpe.segment(word, ours))
    sentence = " ".join(text)
    expected = reference.text.report.symbols_per_word(sentence, ours)
    assert_equivalent(candidate.text.report.symbols_per_word(sentence, theirs), expected)


@pytest.mark.interface("bpe.segment")
def test_the_lowest_rank_of_the_moment_wins_in_any_order_of_merges(candidate, reference, rng):
    pool = ["a", "b", "aa", "ab", "ba", "aab", "aba", END]
    pairs = list(itertools.product(pool[:-1], pool))
    for _ in range(5):
        order = [pairs[index] for index in rng.permutation(len(pairs))[:25]]
        theirs, ours = candidate.text.merges.Merges.of(order), reference.text.merges.Merges.of(order)
        for word in make_words(rng, 5, "ab", 12):
            assert_equivalent(candidate.bpe.segment(word, theirs), reference.bpe.segment(word, ours))


@pytest.mark.interface("bpe.segment")
def test_one_occurrence_is_merged_at_a_time_and_the_leftmost_first(candidate):
    def parts(word, *pairs):
        return candidate.bpe.segment(word, candidate.text.merges.Merges.of(pairs))

    assert parts("aaa", ("a", "a")) == ["aa", "a", END]
    assert parts("aaaa", ("aa", "a"), ("a", "a")) == ["aaa", "a", END]  # not aa aa: the first aa calls for its merge
    assert parts("abab", ("ab", "a"), ("a", "b")) == ["aba", "b", END]


@pytest.mark.interface("bpe.segment")
def test_each_occurrence_has_a_number_of_its_own_in_each_step(candidate, rng):
    """Of a b a b the first occurrence is dropped and the second merged; in the next step the first is dropped again."""
    seed, numbers = 0, np.zeros(4)
    while not max(numbers[0], numbers[2]) < numbers[1]:
        seed = int(rng.integers(1 << 30))
        numbers = np.random.default_rng(seed).random(4)
    merges, stream = candidate.text.merges.Merges.of([("a", "b")]), candidate.text.stream.Uniforms(seed)
    assert candidate.bpe.segment("abab", merges, float(numbers[1]), stream) == ["a", "b", "ab", END]
    assert float(stream.take(1)[0]) == numbers[3]


@pytest.mark.interface("bpe.segment")
@pytest.mark.parametrize("dropout", [0.1, 0.5, 0.9])
def test_dropout_follows_the_stream(candidate, reference, rng, dropout):
    learned = reference.bpe.learn(make_counts(rng, 40), 30)
    seed = int(rng.integers(1 << 30))

    def results(code, words):
        merges, stream = code.text.merges.Merges.of(learned), code.text.stream.Uniforms(seed)
        found = [code.bpe.segment(word, merges, dropout, stream) for word in words]
        return [found, float(stream.take(1)[0])]

    words = make_words(rng, 12, "abcd", 10)
    assert_equivalent(results(candidate, words), results(reference, words), rtol=1e-12)


@pytest.mark.interface("bpe.segment")
def test_a_number_equal_to_the_dropout_keeps_its_position(candidate, rng):
    merges = candidate.text.merges.Merges.of([("a", "b")])
    seed = int(rng.integers(1 << 30))
    first = float(np.random.default_rng(seed).random())
    for dropout, parts in ((first, ["ab", END]), (np.nextafter(first, 1.0), ["a", "b", END])):
        stream = candidate.text.stream.Uniforms(seed)
        assert candidate.bpe.segment("ab", merges, float(dropout), stream) == parts


@pytest.mark.interface("bpe.segment")
def test_dropout_at_its_ends_and_malformed_arguments(candidate, reference, rng):
    learned = reference.bpe.learn(make_counts(rng, 40), 30)
    seed = int(rng.integers(1 << 30))
    merges, stream = candidate.text.merges.Merges.of(learned), candidate.text.stream.Uniforms(seed)
    word = "".join(learned[0]).replace(END, "") + "".join(rng.choice(list("abcd"), size=9))
    assert candidate.bpe.segment(word, merges, 1.0, stream) == [*word, END]
    ours, theirs = stream, reference.text.stream.Uniforms(seed)  # numbers are taken even if all positions are dropped
    reference.bpe.segment(word, reference.text.merges.Merges.of(learned), 1.0, theirs)
    assert float(ours.take(1)[0]) == float(theirs.take(1)[0])
    fresh = candidate.text.stream.Uniforms(seed)
    whole = candidate.bpe.segment(word, merges)
    assert len(whole) <= len(word)
    assert candidate.bpe.segment(word, merges, 0.0, fresh) == whole
    assert float(fresh.take(1)[0]) == np.random.default_rng(seed).random()
    ours, theirs = candidate.text.stream.Uniforms(seed), reference.text.stream.Uniforms(seed)
    assert candidate.bpe.segment(word, merges, 1e-12, ours) == whole  # small, but not zero: numbers are taken
    reference.bpe.segment(word, reference.text.merges.Merges.of(learned), 1e-12, theirs)
    assert float(ours.take(1)[0]) == float(theirs.take(1)[0])
    none = candidate.text.merges.Merges.of([])
    assert candidate.bpe.segment(word, none, 0.5, fresh) == [*word, END]
    for bad in (
        ("", merges),
        ("", none),
        (word, merges, 0.5),
        (word, none, 0.5),
        (word, merges, -0.1, fresh),
        (word, merges, 1.1, fresh),
        (word, none, 1.1, fresh),
        (word, merges, float("nan"), fresh),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.bpe.segment(*bad)


def tokenizer(code, learned, known):
    return code.bpe.Tokenizer(code.text.merges.Merges.of(learned), code.text.vocabulary.Vocabulary.of(known))


@pytest.mark.interface("bpe.Tokenizer")
def test_text_survives_the_round_trip(candidate, reference, rng):
    learned = reference.bpe.learn(make_counts(rng, 40), 25)
    known = [*"abcd", END, *("".join(pair) for pair in learned)]
    made = tokenizer(candidate, learned, known)
    text = " ".join(make_words(rng, 20, "abcd", 10))
    ids = made.encode("  " + text.replace(" ", " \n\t") + " ")
    assert ids.dtype == np.int64
    assert 0 < len(ids) < len(text)
    assert made.decode(ids) == text
    assert made.decode(ids.tolist()) == text
    assert_equivalent(ids, tokenizer(reference, learned, known).encode(text))


@pytest.mark.interface("bpe.Tokenizer")
def test_symbols_outside_the_vocabulary_are_taken_apart(candidate, reference, rng):
    learned = reference.bpe.learn(make_counts(rng, 40), 30)
    merged = ["".join(pair) for pair in learned]
    text = " ".join(make_words(rng, 20, "abcd", 10))
    some = [*"abcd", END, *rng.permutation(merged)[:10].tolist()]
    made = tokenizer(candidate, learned, some)
    ids = made.encode(text)
    assert ids.min() > 0
    assert made.decode(ids) == text
    assert_equivalent(ids, tokenizer(reference, learned, some).encode(text))
    few = [*"abc", *rng.permutation(merged)[:10].tolist()]
    ids = tokenizer(candidate, learned, few).encode(text)
    assert ids.min() == 0
    assert_equivalent(ids, tokenizer(reference, learned, few).encode(text))


@pytest.mark.interface("bpe.Tokenizer")
def test_unknown_characters_empty_texts_and_bad_ids(candidate, reference, rng):
    learned = reference.bpe.learn(make_counts(rng, 40), 25)
    known = [*"abcd", END, *("".join(pair) for pair in learned)]
    made = tokenizer(candidate, learned, known)
    word = "".join(rng.choice(list("abcd"), size=5))
    ids = made.encode(f"{word}é{word} ü")
    assert_equivalent(ids, tokenizer(reference, learned, known).encode(f"{word}é{word} ü"))
    assert ids.tolist().count(0) == 2
    assert made.decode(ids) == f"{word}<unk>{word} <unk>"
    for nothing in ("", " \n "):
        assert_equivalent(made.encode(nothing), np.zeros(0, dtype=np.int64), check_dtype=True)
    assert made.decode([]) == ""
    for bad in ([len(known) + 1], [1, -1]):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            made.decode(bad)


@pytest.mark.interface("bpe.learn")
def test_counts_are_not_modified(candidate, rng):
    counts = {**make_counts(rng), "unseen": 0}
    assert len(assert_unmodified(candidate.bpe.learn, counts, 5)) == 5


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
