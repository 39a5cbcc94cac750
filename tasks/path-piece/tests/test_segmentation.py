"""Hidden tests of segmentation."""

import numpy as np
import pytest

from pytest_recode.testing import assert_equivalent

segmenting = pytest.mark.interface("pathpiece.segmentation.segment")
encoding = pytest.mark.interface("pathpiece.segmentation.encode")


def text(rng, size, letters=b"ab"):
    return bytes(rng.choice(list(letters), size).tolist())


def words(rng, count, letters=b"ab", widest=5):
    """Different tokens of two bytes or more."""
    found = {}
    while len(found) < count:
        found[text(rng, int(rng.integers(2, widest + 1)), letters)] = None
    return list(found)


def vocabulary(code, tokens, max_width=16):
    return code.pathpiece.vocabulary.Vocabulary.of(tokens, max_width)


def fewest(data, tokens):
    """The least number of tokens for all that follows each boundary, from the end."""
    least = [0]
    for start in range(len(data) - 1, -1, -1):
        ends = [start + 1, *(start + len(token) for token in tokens if data.startswith(token, start))]
        least.append(1 + min(least[len(data) - end] for end in ends))
    return least[::-1]


def spelled(ids, tokens):
    """The pieces that ids stand for."""
    return [bytes([number]) if number < 256 else tokens[number - 256] for number in ids.tolist()]


# segment


@segmenting
@pytest.mark.parametrize("tie", ["longest", "random"])
def test_there_are_no_fewer_tokens(candidate, rng, tie):
    """Greedy segmentation, from either end, needs more of them in many of these texts."""
    tokens = words(rng, 12, b"abc")
    theirs, stream = vocabulary(candidate, tokens), candidate.pathpiece.stream.Uniforms(int(rng.integers(1 << 30)))
    for size in (1, 2, 7, *[50] * 8):
        data = text(rng, size, b"abc")
        found = candidate.pathpiece.segmentation.segment(data, theirs, tie, stream)
        assert found.dtype == np.int64
        assert found.shape == (fewest(data, tokens)[0],)
        assert b"".join(spelled(found, tokens)) == data
    traps = vocabulary(candidate, [b"ab", b"bcc", b"aab", b"bc"])
    for data in (b"abcc", b"aabc"):  # with "ab" first, or "bc" last, it takes three
        assert len(candidate.pathpiece.segmentation.segment(data, traps, tie, stream)) == 2


@segmenting
def test_the_widest_last_token_wins_a_tie(candidate, reference, rng):
    """At every end that the way back reaches, no wider token leaves as few for what is before it."""
    tokens = words(rng, 18)
    theirs, ours = vocabulary(candidate, tokens), vocabulary(reference, tokens)
    for _ in range(5):
        data = text(rng, 30)
        found = candidate.pathpiece.segmentation.segment(data, theirs)
        assert_equivalent(found, reference.pathpiece.segmentation.segment(data, ours))
        assert_equivalent(candidate.pathpiece.segmentation.segment(data, theirs, "longest", None), found)
        end = len(data)
        for piece in spelled(found, tokens)[::-1]:
            left = fewest(data[: end - len(piece)], tokens)[0]
            for token in tokens:
                if len(token) > len(piece) and data[:end].endswith(token):
                    assert fewest(data[: end - len(token)], tokens)[0] > left
            end -= len(piece)
        assert end == 0
    single = vocabulary(candidate, [b"aa"])
    np.testing.assert_array_equal(candidate.pathpiece.segmentation.segment(b"aaa", single), [97, 256])


@segmenting
def test_random_ties_follow_the_stream(candidate, reference, rng):
    """The choice at each end, and how many numbers are taken."""
    for letters in (b"a", b"ab"):
        tokens = [letters[:1] * width for width in (2, 3, 4)] if letters == b"a" else words(rng, 18)
        theirs, ours = vocabulary(candidate, tokens), vocabulary(reference, tokens)
        seed = int(rng.integers(1 << 30))
        mine, yours = candidate.pathpiece.stream.Uniforms(seed), reference.pathpiece.stream.Uniforms(seed)
        for size in (31, 1, 30):
            data = text(rng, size, letters)
            found = candidate.pathpiece.segmentation.segment(data, theirs, "random", mine)
            assert_equivalent(found, reference.pathpiece.segmentation.segment(data, ours, "random", yours))
        assert float(mine.take(1)[0]) == float(yours.take(1)[0])


@segmenting
def test_random_ties_are_chosen_in_ascending_order_of_width(candidate, rng):
    """A run of six bytes: its ends 1 to 4 leave no choice, end 5 has the widths 1 to 4, and end 6 those from 2 to 4."""
    letter = text(rng, 1, b"xyz")
    tokens = [letter * width for width in (3, 2, 4)]
    theirs = vocabulary(candidate, tokens, 4)
    for _ in range(6):
        seed = int(rng.integers(1 << 30))
        stream = candidate.pathpiece.stream.Uniforms(seed)
        numbers = np.random.default_rng(seed).random(3)
        found = candidate.pathpiece.segmentation.segment(letter * 6, theirs, "random", stream)
        assert len(spelled(found, tokens)[-1]) == 2 + int(numbers[1] * 3)
        assert float(stream.take(1)[0]) == numbers[2]


@segmenting
def test_the_longest_rule_takes_no_numbers(candidate, rng):
    tokens, seed = words(rng, 18), int(rng.integers(1 << 30))
    stream = candidate.pathpiece.stream.Uniforms(seed)
    data, theirs = text(rng, 40), vocabulary(candidate, tokens)
    found = candidate.pathpiece.segmentation.segment(data, theirs, "longest", stream)
    assert b"".join(spelled(found, tokens)) == data
    np.testing.assert_array_equal(found, candidate.pathpiece.segmentation.segment(data, theirs))
    assert float(stream.take(1)[0]) == np.random.default_rng(seed).random()


@segmenting
def test_any_bytes_and_any_width(candidate, reference, rng):
    """All 256 bytes, a vocabulary of nothing else, tokens of the largest width, and texts shorter than it."""
    data = rng.permutation(np.arange(256, dtype=np.uint8)).tobytes()
    found = candidate.pathpiece.segmentation.segment(data, vocabulary(candidate, [], 1))
    np.testing.assert_array_equal(found, list(data))
    for width in (2, 7, 16, 20):
        token = data[50 : 50 + width]
        found = candidate.pathpiece.segmentation.segment(data, vocabulary(candidate, [token], width))
        np.testing.assert_array_equal(found, [*data[:50], 256, *data[50 + width :]])
        short = candidate.pathpiece.segmentation.segment(token[:-1], vocabulary(candidate, [token], width))
        np.testing.assert_array_equal(short, list(token[:-1]))


@segmenting
def test_long_texts_empty_texts_and_unknown_rules(candidate, reference, rng):
    tokens = words(rng, 20)
    theirs, stream = vocabulary(candidate, tokens, 5), candidate.pathpiece.stream.Uniforms(1)
    data = text(rng, 5000)
    found = candidate.pathpiece.segmentation.segment(data, theirs)
    assert_equivalent(found, reference.pathpiece.segmentation.segment(data, vocabulary(reference, tokens, 5)))
    for tie in ("longest", "random"):
        nothing = candidate.pathpiece.segmentation.segment(b"", theirs, tie, stream)
        assert_equivalent(nothing, np.zeros(0, dtype=np.int64), check_dtype=True)
    for bad in (
        (data[:9], theirs, "first", stream),
        (b"", theirs, "shortest"),
        (data[:9], theirs, "random"),
        (b"", theirs, "random"),
    ):
        with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
            candidate.pathpiece.segmentation.segment(*bad)


# encode


@encoding
@pytest.mark.parametrize("spaces", ["first", "space", "none"])
@pytest.mark.parametrize("digits", [False, True])
def test_no_token_crosses_a_boundary(candidate, reference, rng, spaces, digits):
    letters = "aé 1".encode()
    tokens = [*words(rng, 30, letters, 4), *words(rng, 30, b"a 1", 3), "é".encode(), " é".encode()]
    given = "".join(rng.choice(list("aé  12"), 60))
    theirs, ours = vocabulary(candidate, tokens), vocabulary(reference, tokens)
    found = candidate.pathpiece.segmentation.encode(given, theirs, spaces, digits)
    assert_equivalent(found, reference.pathpiece.segmentation.encode(given, ours, spaces, digits), check_dtype=True)
    assert b"".join(theirs.tokens[number] for number in found.tolist()) == given.encode()


@encoding
def test_a_space_begins_a_piece_by_default(candidate, rng):
    tokens = [b"b a", b" a", b"a ", b"12", b"aa"]
    theirs = vocabulary(candidate, tokens)
    ids = candidate.pathpiece.segmentation.encode("b a aa12", theirs)
    assert spelled(ids, tokens) == [b"b", b" a", b" ", b"aa", b"12"]
    ids = candidate.pathpiece.segmentation.encode("b a aa12", theirs, "none", True)
    assert spelled(ids, tokens) == [b"b a", b" ", b"aa", b"1", b"2"]


@encoding
def test_the_pieces_share_one_stream(candidate, reference, rng):
    tokens = [b"a" * width for width in (2, 3, 4)]
    theirs, ours = vocabulary(candidate, tokens), vocabulary(reference, tokens)
    seed = int(rng.integers(1 << 30))
    mine, yours = candidate.pathpiece.stream.Uniforms(seed), reference.pathpiece.stream.Uniforms(seed)
    given = " ".join("a" * int(size) for size in rng.integers(5, 9, 12))
    found = candidate.pathpiece.segmentation.encode(given, theirs, "space", False, "random", mine)
    assert_equivalent(found, reference.pathpiece.segmentation.encode(given, ours, "space", False, "random", yours))
    assert float(mine.take(1)[0]) == float(yours.take(1)[0])


@encoding
def test_empty_texts_and_malformed_arguments_of_encode(candidate, rng):
    theirs = vocabulary(candidate, words(rng, 5))
    for spaces in ("first", "space", "none"):
        nothing = candidate.pathpiece.segmentation.encode("", theirs, spaces)
        assert_equivalent(nothing, np.zeros(0, dtype=np.int64), check_dtype=True)
    for given in ("ab", ""):
        for options in ({"spaces": "last"}, {"tie": "first"}, {"tie": "random"}):
            with pytest.raises(ValueError):  # noqa: PT011 - the words are the author's own
                candidate.pathpiece.segmentation.encode(given, theirs, **options)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
