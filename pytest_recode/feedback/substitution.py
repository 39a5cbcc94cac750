"""Find secrets encoded by substitution: one sign for each character, whatever the signs are.

A shifted alphabet, swapped letters, numbers, a word for each letter: all of them repeat a sign exactly where the text repeats a character. So
the shapes of windows are compared, in which each sign is replaced by the distance to its last occurrence; no list of alphabets is needed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_recode.feedback.decoded_text import View
from pytest_recode.feedback.leaks import Span

WINDOW = 32
"""Minimum length of a window whose shape is not a coincidence."""
DISTINCT = 10
"""Minimum number of different signs in a window, because rulers and tables of zeros have equal shapes."""
LETTERS = 10
"""Minimum number of separate consecutive letters that equal those of a secret."""
MOST = 200_000
"""Maximum characters of a secret whose shapes are stored."""

Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Shapes of a secret, in two readings: only its letters and digits, and everything except white space."""

    readings: tuple[str, ...]
    places: tuple[Mapping[int, int], ...]  # for each reading: hash of a shape -> its place


def shapes(texts: Iterable[str]) -> Shapes:
    whole = "\n\n".join(texts)[:MOST]
    readings = ("".join(re.findall(r"[^\W_]", whole)).casefold(), "".join(whole.split()))
    return Shapes(
        readings=readings,
        places=tuple({hash(shape): place for place, shape in _shapes(reading)} for reading in readings),
    )


def substituted(text: str, view: View, hidden: Shapes, known: Sequence[Sequence[str]]) -> tuple[Span, ...]:
    """The passages of `text`, in one of its views, whose shape the secret has. Known passages and unencoded parts of the secret
    are excluded; `leaks` counts the latter."""
    found: list[Span] = []
    for signs, places, numbers in _shaped(view.text):
        for reading, its in zip(hidden.readings, hidden.places, strict=True):
            for at, number in numbers:
                there = its.get(number)
                if there is None:
                    continue
                ours, theirs = signs[at : at + WINDOW], reading[there : there + WINDOW]
                moved = sum(one.casefold() != other.casefold() for one, other in zip(ours, theirs, strict=True))
                span = view.span(places[at], places[at + WINDOW - 1] + 1, WINDOW)
                plain = (*hidden.readings, *_plain(known)) if moved * 3 >= WINDOW else ()
                if plain and not _stands(ours, plain) and not _stands(text[span.start : span.end].split(), plain):
                    found.append(span)
    return tuple(found)


def spelled(view: View, hidden: Shapes, known: Sequence[Sequence[str]]) -> tuple[Span, ...]:
    """The passages of separate letters that are the letters of the secret, whose word boundaries are lost."""
    found: list[Span] = []
    for match in _APART.finditer(view.text):
        places = [place for place in range(*match.span()) if view.text[place].isalnum()]
        for at in range(len(places) - LETTERS + 1):
            window = places[at : at + LETTERS]
            letters = "".join([view.text[place] for place in window]).casefold()
            if letters in hidden.readings[0] and not any(letters in text.casefold() for text in _plain(known)):
                found.append(view.span(window[0], window[-1] + 1, 1))
    return tuple(found)


_APART = re.compile(r"(?<![^\W_])[^\W_](?:[\W_]{1,8}[^\W_](?![^\W_])){9,}")


@lru_cache(maxsize=64)
def _shaped(text: str) -> Sequence[tuple[Sequence[str], Sequence[int], Sequence[tuple[int, int]]]]:
    """The readings of a text, with the hashes of their shapes. Cached, because the text is compared with several secrets."""
    return [(signs, places, [(at, hash(shape)) for at, shape in _shapes(signs)]) for signs, places in _readings(text)]


def _readings(text: str) -> Iterator[tuple[Sequence[str], Sequence[int]]]:
    """Letters and digits, all signs, and pieces between white space, each with its place."""
    for pattern in (r"[^\W_]", r"\S", r"\S+"):
        matches = list(re.finditer(pattern, text))
        signs = [match[0] for match in matches]
        yield "".join(signs).lower() if pattern == r"[^\W_]" else signs, [match.start() for match in matches]


def _shapes(signs: Sequence[str]) -> Iterator[tuple[int, Shape]]:
    """The shape of each window of signs, except windows with few different signs."""
    last: dict[str, int] = {}
    back: list[int] = []  # distance to the last occurrence of the same sign; 0: not in the window
    following: dict[int, int] = {}  # next place of the sign at a place
    for place, sign in enumerate(signs):
        before = last.get(sign, -WINDOW)
        following[before] = place
        back.append(place - before if place - before < WINDOW else 0)
        last[sign] = place
    for at in range(len(signs) - WINDOW + 1):
        shape = tuple(back[at : at + WINDOW])
        if DISTINCT <= shape.count(0) < WINDOW - 3:
            yield at, shape
        if at in following:  # a sign that refers to the first one has no earlier occurrence in all later windows
            back[following[at]] = 0


def _stands(signs: Sequence[str], texts: Iterable[str]) -> bool:
    words = "".join(signs).casefold()
    letters = "".join(re.findall(r"[^\W_]", words))
    return any(words in text.casefold() or (letters and letters in text.casefold()) for text in texts)


def _plain(known: Iterable[Sequence[str]]) -> Iterator[str]:
    for tokens in known:
        yield "".join(tokens)
        yield "".join(token for token in tokens if token[0].isalnum())
