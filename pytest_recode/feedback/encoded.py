"""Find encoded passages of a text that contain a secret, and sequences of characters that are not natural language."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pytest_recode.feedback.decoded_text import View
from pytest_recode.feedback.decoding import levels
from pytest_recode.feedback.leaks import RUN, Secret, Span, repeated, secret
from pytest_recode.feedback.substitution import Shapes, shapes, spelled, substituted

RUN_OF_BYTES = 5
"""Minimum tokens of a secret in text decoded from bytes, whose first and last tokens may be damaged. Not a coincidence."""

# A sequence that no sentence has, and that could hide an answer. Chinese and Japanese separate sentences only by their own stops.
_UNBROKEN = re.compile(r"[^\s\u2026\u3000-\u301f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]{120,}")
_MIXED = re.compile(r"[A-Za-z0-9]{24,}")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
PIECE = 2.4
"""Minimum mean length of the words and numbers in a name; those in digits of base 16 and 64 are shorter."""
_NO_WORD = re.compile(r"[b-df-hj-np-tv-xz]{10}", re.IGNORECASE)


@dataclass(frozen=True)
class Hidden:
    """A secret, prepared for the search in every form."""

    texts: tuple[str, ...]

    @cached_property
    def plain(self) -> Secret:
        return secret(self.texts)

    @cached_property
    def shapes(self) -> Shapes:
        return shapes(self.texts)


def encoded(text: str, hidden: Hidden, known: Sequence[Sequence[str]]) -> tuple[Span, ...]:
    """The passages that contain the secret in another form, and that none of `known` (texts, as `words_of`) contains; up to the white space around."""
    return _found(text, hidden, known) if _anything(text, hidden) else ()


@lru_cache(maxsize=1 << 10)
def _anything(text: str, hidden: Hidden) -> bool:
    """Whether the text contains anything encoded. Cached, because turns repeat the same text, and only the known texts change."""
    return bool(_found(text, hidden, ()))


def _found(text: str, hidden: Hidden, known: Sequence[Sequence[str]]) -> tuple[Span, ...]:
    found: list[Span] = []
    for steps, level in enumerate(decoded(text)):
        for view in level:
            if view.text != text:
                spans = repeated(view.text, hidden.plain, known, run=RUN if view.whole else RUN_OF_BYTES).spans
                found += [whole(text, view.span(*span)) for span in spans]
            if steps < 2:
                found += [whole(text, span) for span in substituted(text, view, hidden.shapes, known)]
                found += [whole(text, span) for span in spelled(view, hidden.shapes, known)]
    return tuple(found)


@lru_cache(maxsize=4)
def decoded(text: str) -> tuple[Sequence[View], ...]:
    """The decoded texts, cached because they are compared with several secrets."""
    return tuple(levels(text))


def no_language(text: str, known: Sequence[Sequence[str]]) -> Iterator[Span]:
    """Sequences of characters that are neither words nor names, unless the agent knows them; they can contain anything."""
    for match in _MIXED.finditer(text):
        piece = match[0]
        short = len(piece) < PIECE * len(_PIECES.findall(piece))
        if (short or _NO_WORD.search(piece)) and not any(piece.casefold() in tokens for tokens in known):
            yield whole(text, Span(match.start(), match.end(), 1))


def unbroken(text: str) -> Iterator[Span]:
    """Sequences of characters that are longer than any word, formula or address."""
    for match in _UNBROKEN.finditer(text):
        yield Span(match.start(), match.end(), 1)


def whole(text: str, span: Span) -> Span:
    """Extend a span to the beginning of its first and the end of its last word."""
    start, end = span.start, span.end
    while start and not text[start - 1].isspace():
        start -= 1
    while end < len(text) and not text[end].isspace():
        end += 1
    return Span(start, end, span.tokens)
