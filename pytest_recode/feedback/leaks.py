"""Find runs of tokens that a text repeats from a secret."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
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

Secret = Mapping[int, set[int]]
"""The hashes of all sequences of consecutive tokens of a text, by their length. The longest length is that of a run."""


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
class Repeated:
    """Runs of a secret in a text: the length of the longest in tokens, and the positions of those with at least `RUN`, which do not overlap."""

    longest: int
    spans: tuple[Span, ...]


def secret(
    texts: Iterable[str], known: Iterable[Sequence[str]] = (), lengths: Iterable[int] = range(LEAST, RUN + 1)
) -> Secret:
    """Index several texts, without what `known` (texts, as `words_of`) has. Runs do not continue from one text into the next."""
    tokens = [words_of(text) for text in texts]
    return _without({length: {gram for each in tokens for gram in _grams(each, length)} for length in lengths}, known)


def repeated(text: str, hidden: Secret, known: Iterable[Sequence[str]] = ()) -> Repeated:
    """The runs that `text` repeats from `hidden` and that none of `known` (texts, as `words_of`) has.

    Of a long run, only the parts count in which no run of the minimum length is known: repeating a file of which all but one line is known
    reveals that line. A run counts only if at least half of the tokens that make it a leak are words or numbers, because
    brackets reveal nothing.
    """
    tokens = tokenised(text)
    words = [token.text for token in tokens]
    grams = {length: list(_grams(words, length)) for length in hidden}
    leaks = _without({length: hidden[length].intersection(grams[length]) for length in hidden}, known)
    run = max(hidden)

    def tells(place: int, length: int, least: int) -> bool:
        passage = words[place : place + length]
        return sum(word[0].isalnum() or word[0] == "_" for word in passage) * 2 >= least

    passages = [each for each in _covered([gram in leaks[run] for gram in grams[run]], run) if tells(*each, run)]
    shorter = (
        length
        for length in sorted(hidden, reverse=True)
        if any(gram in leaks[length] and tells(place, length, LEAST) for place, gram in enumerate(grams[length]))
    )
    return Repeated(
        longest=max((length for _, length in passages), default=0) or next(shorter, 0),
        spans=tuple(Span(tokens[place].start, tokens[place + length - 1].end, length) for place, length in passages),
    )


def leaked(text: str, hidden: str, known: str, *, run: int = RUN) -> tuple[str, ...]:
    """The maximal runs of at least `run` tokens of `text` that `hidden` has and `known` does not have."""
    spans = repeated(text, secret([hidden], lengths=[run]), [words_of(known)]).spans
    return tuple(dict.fromkeys(" ".join(_TOKEN.findall(text[span.start : span.end])) for span in spans))


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


def _without(grams: dict[int, set[int]], known: Iterable[Sequence[str]]) -> dict[int, set[int]]:
    for tokens in known:
        for length, those in grams.items():
            if those:
                those.difference_update(_grams(tokens, length))
    return grams


def _grams(tokens: Sequence[str], length: int) -> Iterator[int]:
    """The hash of each `length` consecutive tokens: a repository has too many to keep them all as text."""
    return map(hash, zip(*(tokens[start:] for start in range(length)), strict=False))


def _covered(leaks: Sequence[bool], run: int) -> Iterator[tuple[int, int]]:
    """Start and length of the passages that the runs at these places cover, without overlaps."""
    start = stop = 0
    for place, is_leak in enumerate(leaks):
        if is_leak:
            if place >= stop:
                if stop:
                    yield start, stop - start
                start = place
            stop = place + run
    if stop:
        yield start, stop - start
