"""Decode a text in many ways (reversed, rot13, separated letters, escapes, codes, base 64 …), to find secrets that are encoded in it.

Every decoded text keeps the origin of its characters, so that a passage found in it can be cut from the original. Decoding text that is
not encoded gives nonsense, which is harmless, because decoded text is only compared with secrets.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from pytest_recode.feedback.decoded_text import LEAST, View, ordered
from pytest_recode.feedback.decoding_numbers import base32, base64, base85, character_codes, escapes, hexadecimal
from pytest_recode.feedback.leaks import LOOK_ALIKE

DEPTH = 3
"""The number of nested encodings that are decoded."""

_SPELLED = re.compile(r"(?:LETTER|CAPITAL|SYMBOL) ([A-Z])$")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ROT13 = str.maketrans(
    _LETTERS + _LETTERS.upper(),
    _LETTERS[13:] + _LETTERS[:13] + (_LETTERS[13:] + _LETTERS[:13]).upper(),
)

_QUOTED = re.compile(r"""(`+|["'])(?![`\s])(?P<piece>[^`\n]{1,40}?)\1(?![`\w])""")
_GAP, _PIECES = (
    24,
    6,
)  # characters between two quoted pieces, and minimum number of pieces, of a passage that is quoted piece by piece
_MARKER = re.compile(r"^[ \t]*(?:[-*+\u2022]|\(?\d{1,3}[.):]|\|)[ \t]+", re.MULTILINE)
_FILLERS, _OFTEN = 3, 6  # filler words between all others: how many are tried, and how often one must occur
_SEPARATED = re.compile(r"(?<![^\W_])(?s:.)([\W_]{1,6}?)(?:(?s:.)\1){2,}(?s:.)(?![^\W_])")


def levels(text: str) -> Iterator[Sequence[View]]:
    """Yield `text`, and then the texts it can be decoded to in 1, 2, … steps."""
    level: Sequence[View] = [View(text, range(len(text)), range(1, len(text) + 1))]
    yield level
    seen = {(level[0].text, 0)}
    for step in range(DEPTH):
        found = []
        for each in itertools.chain.from_iterable(map(_decoded, level)):
            key = (each.text, min(each.starts, default=0))
            if len(each.text) >= LEAST and key not in seen:
                seen.add(key)
                found.append(each)
        yield [*found, *_apiece(level[0])] if step == 0 else found  # separated words are not encoded further
        level = found


def _decoded(view: View) -> Iterator[View]:
    return itertools.chain.from_iterable(decode(view) for decode in _DECODERS)


def _plain(view: View) -> Iterator[View]:
    """The text in plain letters: of one width and alphabet, without accents and without invisible characters."""
    if view.text.isascii():
        return
    texts, starts, ends = [], [], []
    for char, start, end in zip(view.text, view.starts, view.ends, strict=True):
        plain = char if char.isascii() else _in_ascii(char)
        texts.append(plain)
        starts += [start] * len(plain)
        ends += [end] * len(plain)
    yield View("".join(texts), starts, ends, view.whole)


@lru_cache(maxsize=1 << 12)
def _in_ascii(char: str) -> str:
    category = unicodedata.category(char)
    if category in {"Cf", "Mn", "Me"}:
        return ""
    if category.startswith("Z"):
        return " "
    found = unicodedata.normalize("NFKD", char).translate(LOOK_ALIKE)
    found = "".join(each for each in found if not unicodedata.combining(each))
    if not found.isascii() and (spelled := _SPELLED.search(unicodedata.name(char, ""))):
        return spelled[1].lower()
    return found


def _rot13(view: View) -> Iterator[View]:
    yield View(view.text.translate(_ROT13), view.starts, view.ends, view.whole)


def _reversed(view: View) -> Iterator[View]:
    yield View(view.text[::-1], view.starts[::-1], view.ends[::-1], view.whole)


def _reversed_words(view: View) -> Iterator[View]:
    for pattern in (r"\S+", r"\w+"):
        order: list[int] = []
        at = 0
        for match in re.finditer(pattern, view.text):
            order += [*range(at, match.start()), *range(match.end() - 1, match.start() - 1, -1)]
            at = match.end()
        order += range(at, len(view.text))
        yield ordered(view, order)


def _separated(view: View) -> Iterator[View]:
    """Characters with the same separator between them, such as spaces, slashes or line breaks."""
    between = {match[1] for match in _SEPARATED.finditer(view.text)}
    for each in sorted(between):
        pattern = rf"(?<![^\W_])(?:(?s:.){re.escape(each)})+(?s:.)(?![^\W_])"  # also words of two letters
        order: list[int] = []
        at = 0
        for match in re.finditer(pattern, view.text):
            order += [*range(at, match.start()), *range(match.start(), match.end(), 1 + len(each))]
            at = match.end()
        order += range(at, len(view.text))
        yield ordered(view, order)


def _apiece(view: View) -> Iterator[View]:
    """Words separated in the same way: each in quotes, in a list item or cell, or with the same filler word between them."""
    passage: list[re.Match[str]] = []
    for match in [*_QUOTED.finditer(view.text), None]:
        if passage and (match is None or match.start() - passage[-1].end() > _GAP):
            if len(passage) >= _PIECES:
                yield _joined(view, passage)
            passage = []
        passage += [match] if match is not None else []
    for pattern in (_MARKER, re.compile(r"\|")):
        if len(pattern.findall(view.text)) >= _PIECES:
            yield _without(view, pattern)
    words = Counter(re.findall(r"\S+", view.text))
    for word, times in words.most_common(_FILLERS):
        if times >= _OFTEN:
            yield _without(view, re.compile(rf"(?<!\S){re.escape(word)}(?!\S)"))


def _joined(view: View, passage: Sequence[re.Match[str]]) -> View:
    """The pieces, each followed by a space."""
    places = [place for match in passage for place in (*range(*match.span("piece")), match.end() - 1)]
    ends = {match.end() - 1 for match in passage}
    text = "".join([" " if place in ends else view.text[place] for place in places])
    return View(text, [view.starts[place] for place in places], [view.ends[place] for place in places], view.whole)


def _without(view: View, pattern: re.Pattern[str]) -> View:
    """The text with each match replaced by a space."""
    text, places, at = "", [], 0
    for match in pattern.finditer(view.text):
        text += view.text[at : match.start()] + " "
        places += [*range(at, match.start()), match.start()]
        at = match.end()
    places += range(at, len(view.text))
    ends = [view.ends[place] for place in places]
    return View(text + view.text[at:], [view.starts[place] for place in places], ends, view.whole)


_DECODERS: tuple[Callable[[View], Iterator[View]], ...] = (
    _plain,
    _rot13,
    _reversed,
    _reversed_words,
    _separated,
    escapes,
    character_codes,
    hexadecimal,
    base64,
    base32,
    base85,
)
