"""Find runs of tokens that a text repeats from a secret."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

RUN = 8
"""Minimum number of consecutive tokens that is not coincidence: `float(np.sum(plan` has 8."""
LEAST = 4
"""Shorter runs are ignored, because any two texts on the same subject share some."""

# Words, numbers, and every other sign separately; the same for prose and Python, because either can repeat the other.
_TOKEN = re.compile(r"[^\W\d]\w*|\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|[^\w\s]")

# Letters of other alphabets that look like Latin ones, and that NFKC does not change.
LOOK_ALIKE = str.maketrans(
    "асеорхуіјѕһԁԛԝνοαρικτυεβАВЕКМНОРСТХЅІЈΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aceopxyijshdqwvoapiktuebABEKMHOPCTXSIJABEZHIKMNOPTYX"
)

Gram = tuple[str, ...]
IsLeak = Callable[[int, int, int], bool]


class Token(NamedTuple):
    """A token. `text` is folded to one case, alphabet and width."""

    text: str
    start: int
    end: int


class Span(NamedTuple):
    """A passage, by the positions of its first character and after its last one, with its number of tokens."""

    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Secret:
    """A text, indexed for searching it in others."""

    tokens: tuple[str, ...]
    places: Mapping[Gram, Sequence[int]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """Runs of a secret in a text: the length of the longest in tokens, and the positions of those with at least `RUN`, which do not overlap."""

    longest: int
    spans: tuple[Span, ...]


def secret(texts: Iterable[str]) -> Secret:
    """Index several texts. Runs do not continue from one text into the next."""
    tokens: list[str] = []
    for text in texts:
        tokens += words_of(text)
        tokens.append("")  # no token is equal to it
    places: dict[Gram, list[int]] = {}
    for place, gram in enumerate(_grams(tokens, LEAST)):
        places.setdefault(gram, []).append(place)
    return Secret(tokens=tuple(tokens), places=places)


def repeated(text: str, hidden: Secret, known: Iterable[Sequence[str]], *, run: int = RUN) -> Repeated:
    """The runs that `text` repeats from `hidden` and that none of `known` (texts, as `words_of`) has.

    Of a long run, only the parts count in which no `run` consecutive tokens are known: repeating a file of which all but one line is known
    reveals that line. A run counts only if at least half of the tokens that make it a leak are words or numbers, because
    brackets reveal nothing.
    """
    tokens = tokenised(text)
    words = [token.text for token in tokens]
    is_leak = _leak_check(words)
    lengths = _longest(words, hidden)
    if not any(is_leak(place, length, LEAST) for place, length in enumerate(lengths)):
        return Repeated(longest=0, spans=())
    known_lengths = _known(words, [place for place, length in enumerate(lengths) if length], known)
    passages = [each for each in _passages(lengths, known_lengths, run) if is_leak(*each, LEAST)]
    short = (
        length
        for place, length in enumerate(lengths)
        if run > length > known_lengths[place] and is_leak(place, length, LEAST)  # a longer one is a passage, or known
    )
    return Repeated(
        longest=max((length for _, length in passages), default=max(short, default=0)),
        spans=tuple(
            Span(tokens[place].start, tokens[place + length - 1].end, length)
            for place, length in passages
            if is_leak(place, length, run)
        ),
    )


def leaked(text: str, hidden: str, known: str, *, run: int = RUN) -> tuple[str, ...]:
    """The maximal runs of at least `run` tokens of `text` that `hidden` has and `known` does not have."""
    found = repeated(text, secret([hidden]), [words_of(known)], run=run).spans
    return tuple(dict.fromkeys(" ".join(_TOKEN.findall(text[span.start : span.end])) for span in found))


def tokenised(text: str) -> list[Token]:
    return [Token(_folded(match[0]), match.start(), match.end()) for match in _TOKEN.finditer(text)]


def words_of(text: str) -> list[str]:
    """The folded tokens of `text`, as text."""
    return [_folded(token) for token in _TOKEN.findall(text)]


@lru_cache(maxsize=1 << 16)
def _folded(token: str) -> str:
    if token.isascii():
        return token.lower()
    return unicodedata.normalize("NFKC", token).casefold().translate(LOOK_ALIKE)


def _passages(lengths: Sequence[int], known_lengths: Sequence[int], run: int) -> Iterator[tuple[int, int]]:
    """Start and length of the passages covered by `run` consecutive tokens that are in `lengths` and not in `known_lengths`, without overlaps."""
    start = stop = 0
    for place, length in enumerate(lengths):
        if length < run or known_lengths[place] >= run:
            continue
        if place >= stop:
            if stop:
                yield start, stop - start
            start = place
        stop = place + run
    if stop:
        yield start, stop - start


def _leak_check(words: Sequence[str]) -> IsLeak:
    """A function that decides whether a passage has enough words and numbers for a run of `run` tokens to be a leak."""
    counts = list(accumulate((word[0].isalnum() or word[0] == "_" for word in words), initial=0))

    def is_leak(place: int, length: int, run: int) -> bool:
        return length >= LEAST and (counts[place + length] - counts[place]) * 2 >= run

    return is_leak


def _longest(words: Sequence[str], hidden: Secret) -> list[int]:
    """For each place, the number of consecutive words from there that are in the secret; 0 for fewer than `LEAST`."""
    ends: dict[int, int] = {}
    return [
        max(
            (
                _alike(words, place, hidden.tokens, start, ends)
                for start in hidden.places.get(tuple(words[place : place + LEAST]), ())
            ),
            default=0,
        )
        for place in range(len(words))
    ]


def _known(words: Sequence[str], indices: Sequence[int], known: Iterable[Sequence[str]]) -> list[int]:
    """The same for known texts, which may be a whole repository; only places that can affect the result are examined."""
    places: dict[Gram, list[int]] = {}
    for place in indices:
        places.setdefault(tuple(words[place : place + LEAST]), []).append(place)
    firsts = {gram[0] for gram in places}
    lengths = [0] * len(words)
    for tokens in known:
        ends: dict[int, int] = {}
        for start, first in enumerate(tokens):
            if first not in firsts:
                continue
            for place in places.get(tuple(tokens[start : start + LEAST]), ()):
                lengths[place] = max(lengths[place], _alike(words, place, tokens, start, ends))
    return lengths


def _alike(words: Sequence[str], place: int, tokens: Sequence[str], start: int, ends: dict[int, int]) -> int:
    """The number of equal consecutive tokens from two places whose first `LEAST` tokens are equal.

    `ends`: for each distance of the two places, the end of the last run found at that distance. Places come in order.
    """
    apart = start - place
    end = ends.get(apart, 0)
    if end <= place:
        end, most = place + LEAST, min(len(words), len(tokens) - apart)
        while end < most and words[end] == tokens[end + apart]:
            end += 1
        ends[apart] = end
    return end - place


def _grams(tokens: Sequence[str], run: int) -> Iterator[Gram]:
    return (tuple(tokens[index : index + run]) for index in range(len(tokens) - run + 1))
