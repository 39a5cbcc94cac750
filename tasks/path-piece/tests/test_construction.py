"""Hidden tests of the construction of a vocabulary."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent, assert_unmodified

counting = pytest.mark.interface("pathpiece.construction.count_tokens")
growing = pytest.mark.interface("pathpiece.construction.increases")
shrinking = pytest.mark.interface("pathpiece.construction.shrink")


def text(rng, size, letters=b"ab"):
    return bytes(rng.choice(list(letters), size).tolist())


def words(rng, count, letters=b"ab", widest=5):
    """Different tokens of two bytes or more."""
    found = {}
    while len(found) < count:
        found[text(rng, int(rng.integers(2, widest + 1)), letters)] = None
    return list(found)


def make_corpus(rng, count=20, letters=b"abc", longest=25):
    return {text(rng, int(rng.integers(1, longest)), letters): int(rng.integers(0, 9)) for _ in range(count)}


def vocabulary(code, tokens, max_width=16):
    return code.pathpiece.vocabulary.Vocabulary.of(tokens, max_width)


def fewest(data, tokens):
    """The least number of tokens of a text, from the end."""
    least = [0]
    for start in range(len(data) - 1, -1, -1):
        ends = [start + 1, *(start + len(token) for token in tokens if data.startswith(token, start))]
        least.append(1 + min(least[len(data) - end] for end in ends))
    return least[-1]


def total(corpus, tokens):
    return sum(times * fewest(piece, tokens) for piece, times in corpus.items())


def occurrences(data, token):
    return sum(data.startswith(token, start) for start in range(len(data)))


# count_tokens


@counting
def test_the_counts_are_those_of_the_segmentations(candidate, reference, rng):
    corpus, tokens = {**make_corpus(rng), b"": 3}, words(rng, 15, b"abc")
    theirs = vocabulary(candidate, tokens)
    found = assert_unmodified(candidate.pathpiece.construction.count_tokens, corpus, theirs)
    expected = reference.pathpiece.construction.count_tokens(corpus, vocabulary(reference, tokens))
    assert_equivalent(found, expected, check_dtype=True)
    assert found.sum() == total(corpus, tokens)
    spelled = sum(int(number) * len(token) for number, token in zip(found, theirs.tokens, strict=True))
    assert spelled == sum(times * len(piece) for piece, times in corpus.items())


@counting
def test_large_counts_empty_corpora_and_negative_counts(candidate, rng):
    run, theirs = candidate.pathpiece.construction.count_tokens, vocabulary(candidate, [b"aa"])
    times = int(rng.integers(10**14, 10**15))
    found = run({b"aaaaa": times, b"b": 1}, theirs)
    assert found[256] == 2 * times
    assert found[97] == times
    assert found.sum() == 3 * times + 1
    letter, size, times = text(rng, 1), int(rng.integers(5, 20)) * 2 + 1, 10**15 - 1 - 2 * int(rng.integers(1000))
    found = run({letter * size: times}, vocabulary(candidate, [], 1))
    assert int(found[letter[0]]) == size * times  # odd and above 2**53: no float64
    assert_equivalent(run({}, theirs), np.zeros(257, dtype=np.int64), check_dtype=True)
    for bad in ({b"aa": -1}, {b"": -1, b"a": 2}):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(bad, theirs)


# increases


@growing
def test_increases_are_those_of_the_authors(candidate, reference, rng):
    """Vocabularies with few tokens and with many, and of different widths."""
    for letters, count, widest in ((b"ab", 25, 5), (b"abc", 40, 4), (b"a", 5, 6), (b"abc", 8, 7)):
        corpus = {**make_corpus(rng, 10, letters), b"": 2}
        tokens = words(rng, count, letters, widest)
        theirs = vocabulary(candidate, tokens, widest)
        found = assert_unmodified(candidate.pathpiece.construction.increases, corpus, theirs)
        expected = reference.pathpiece.construction.increases(corpus, vocabulary(reference, tokens, widest))
        assert_equivalent(found, expected, check_dtype=True)
        np.testing.assert_array_equal(found[:256], np.full(256, -1))
        assert (found[256:] >= 0).all()


@growing
def test_the_increase_is_that_of_removing_a_token_that_occurs_once(candidate, rng):
    """In most of many small corpora there are such tokens, and there the estimate is no estimate."""
    checked = 0
    while checked < 30:
        corpus = dict.fromkeys([text(rng, 14, b"abcd"), text(rng, 9, b"abcd")], 1)
        pieces = list(corpus)
        tokens = words(rng, 10, b"abcd", 3)
        tokens += [piece[at : at + width] for piece in pieces for at in (1, 4) for width in (3, 4, 5)]
        tokens = list(dict.fromkeys(tokens))
        once = [token for token in tokens if sum(occurrences(piece, token) for piece in pieces) == 1]
        if not once:
            continue
        found = candidate.pathpiece.construction.increases(corpus, vocabulary(candidate, tokens))
        before = total(corpus, tokens)
        for token in once:
            after = total(corpus, [other for other in tokens if other != token])
            assert found[256 + tokens.index(token)] == after - before
            checked += 1


@growing
def test_a_wider_token_can_make_a_detour_on_either_side(candidate, rng):
    """Of six bytes in two tokens of three, a token that covers one of them and reaches into the other one costs 1, not 2."""
    data, times = bytes(rng.permutation(list(b"abcdefgh"))[:6].tolist()), int(rng.integers(2, 9))
    run, halves = candidate.pathpiece.construction.increases, [data[:3], data[3:]]
    for wider, left, right in (([], 2, 2), ([data[2:]], 1, 1), ([data[:4]], 1, 1), ([b"hgfedcba"], 2, 2)):
        found = run({data: times}, vocabulary(candidate, [*halves, *wider], 8))
        assert found[256:].tolist() == [left * times, right * times, 0][: 2 + len(wider)]
    found = run({data[1:3]: times}, vocabulary(candidate, [data[1:3], data[:3], data[1:4], data[:4]]))
    assert found[256:].tolist() == [times, 0, 0, 0]  # a token that does not fit between the ends is no detour


@growing
def test_occurrences_add_up_and_weigh_as_much_as_their_pieces(candidate, reference, rng):
    """A run of one letter: the token is used several times in a piece, and each occurrence counts."""
    letter, times = text(rng, 1, b"xyz"), [int(number) for number in rng.integers(10**10, 10**11, 2)]
    theirs = vocabulary(candidate, [letter * 2])
    found = candidate.pathpiece.construction.increases({letter * 6: times[0], letter * 4 + b"-": times[1]}, theirs)
    assert int(found[256]) == 3 * times[0] + 2 * times[1]
    size, often = int(rng.integers(5, 20)) * 2 + 1, 10**15 - 1 - 2 * int(rng.integers(1000))
    found = candidate.pathpiece.construction.increases({letter * 2 * size: often}, theirs)
    assert int(found[256]) == size * often  # odd and above 2**53: no float64
    theirs = vocabulary(candidate, [letter * 2, letter * 3])
    found = candidate.pathpiece.construction.increases({letter * 2: times[0], letter * 3: 0}, theirs)
    assert found[256:].tolist() == [times[0], 0]


@growing
def test_long_pieces_empty_corpora_and_negative_counts(candidate, reference, rng):
    run, tokens = candidate.pathpiece.construction.increases, words(rng, 20, b"ab", 4)
    corpus = {text(rng, 5000): 1}
    found = run(corpus, vocabulary(candidate, tokens, 4))
    assert_equivalent(found, reference.pathpiece.construction.increases(corpus, vocabulary(reference, tokens, 4)))
    expected = np.zeros(276, dtype=np.int64)
    expected[:256] = -1
    for nothing in ({}, {b"abab": 0}, {b"": 4}):
        assert_equivalent(run(nothing, vocabulary(candidate, tokens)), expected, check_dtype=True)
    for bad in ({b"aa": -1}, {b"": -1, b"a": 2}):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(bad, vocabulary(candidate, tokens))


# shrink


@shrinking
@pytest.mark.parametrize("batch", [1, 4, 100])
def test_the_tokens_that_are_left_are_those_of_the_authors(candidate, reference, rng, batch):
    corpus, tokens = make_corpus(rng, 12), words(rng, 25, b"abc", 4)
    theirs = vocabulary(candidate, tokens, 6)
    found = assert_unmodified(candidate.pathpiece.construction.shrink, corpus, theirs, 266, batch)
    expected = reference.pathpiece.construction.shrink(corpus, vocabulary(reference, tokens, 6), 266, batch)
    assert_equivalent(list(found.tokens), list(expected.tokens))
    assert len(found.tokens) == 266
    assert found.max_width == 6


@shrinking
def test_of_equal_increases_the_wider_and_then_the_later_token_goes(candidate, rng):
    """Nothing is used: the increases are all zero."""
    tokens = [b"ab", b"abc", b"abcd", b"ac", b"acd", b"bcd", b"bd"]
    tokens = [tokens[index] for index in rng.permutation(7)]
    order = sorted(range(7), key=lambda index: (len(tokens[index]), index))
    for batch in (1, 3):
        for size in range(256, 264):
            found = candidate.pathpiece.construction.shrink({b"xyz": 5}, vocabulary(candidate, tokens), size, batch)
            kept = sorted(order[: size - 256])
            assert_equivalent(list(found.tokens[256:]), [tokens[index] for index in kept])


@shrinking
def test_large_increases_differ_by_one(candidate, rng):
    """As float64, they are equal: a multiple of four above 2**53, and one more. Of equal ones, the second would go."""
    first, second = (bytes([letter]) * 2 for letter in rng.permutation(list(b"abcd"))[:2])
    size, times = int(rng.integers(10, 20)), 10**15 - 4 * int(rng.integers(1, 1000))
    corpus = {first * size: times, second * size: times, second: 1}
    found = candidate.pathpiece.construction.shrink(corpus, vocabulary(candidate, [first, second]), 257, 1)
    assert_equivalent(list(found.tokens[256:]), [second])


@shrinking
def test_increases_are_those_of_the_moment(candidate, rng):
    """Two tokens that replace each other: each can go, but not both. In one batch, both go."""
    letters = [bytes([letter]) for letter in rng.permutation(list(b"abcdefgh"))[:6]]
    a, b, c, d, e, f = letters
    tokens = [a + b, b + c, d + e + f]
    corpus = {a + b + c: 10, d + e + f: 3}
    one = candidate.pathpiece.construction.shrink(corpus, vocabulary(candidate, tokens), 257, 1)
    assert len(one.tokens) == 257
    assert one.tokens[256] == a + b
    both = candidate.pathpiece.construction.shrink(corpus, vocabulary(candidate, tokens), 257, 2)
    assert both.tokens[256:] == (d + e + f,)


@shrinking
def test_the_driver_trains_the_same_vocabulary(candidate, reference, rng):
    documents = [b" ".join(text(rng, int(size), b"abc") for size in rng.integers(1, 6, 15)) for _ in range(4)]
    for spaces in ("first", "space"):
        found = candidate.pathpiece.train.train(documents, 275, 50, 10, spaces)
        expected = reference.pathpiece.train.train(documents, 275, 50, 10, spaces)
        assert_equivalent(list(found.tokens), list(expected.tokens))


@shrinking
def test_vocabularies_that_are_small_enough_and_malformed_arguments(candidate, rng):
    tokens = words(rng, 10)
    run, corpus, theirs = (
        candidate.pathpiece.construction.shrink,
        make_corpus(rng, 5, b"ab"),
        vocabulary(candidate, tokens),
    )
    for size in (266, 267, 1000):
        assert_equivalent(list(run(corpus, theirs, size, 3).tokens), list(theirs.tokens))
    assert_equivalent(list(run(corpus, theirs, 256, 3).tokens), list(theirs.tokens[:256]))
    for bad in ((255, 3), (-1, 3), (260, 0), (260, -2), (300, 0)):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            run(corpus, theirs, *bad)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
