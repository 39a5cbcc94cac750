"""Decoding: the texts that a text stands for once letters are turned round, escapes resolved, digits of some base read as bytes.

Every view knows where each of its characters comes from, so that what is found in one can be cut from the text itself. A view of a text that is
no code is nonsense and does no harm: it is only ever compared with what must stay secret.
"""

from __future__ import annotations

import base64
import html
import itertools
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pytest_recode.feedback.leaks import LOOK_ALIKE, Span

DEPTH = 3
"""Encodings laid over one another that are undone."""
LEAST = 8
"""Characters: nothing shorter has the tokens that make a leak."""

_SPELLED = re.compile(r"(?:LETTER|CAPITAL|SYMBOL) ([A-Z])$")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ROT13 = str.maketrans(
    _LETTERS + _LETTERS.upper(),
    _LETTERS[13:] + _LETTERS[:13] + (_LETTERS[13:] + _LETTERS[:13]).upper(),
)
_URL_SAFE = str.maketrans("-_", "+/")
_READABLE = re.compile(rf"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]{{{LEAST},}}")

_ESCAPE = re.compile(
    r"(?P<bytes>(?:%[0-9A-Fa-f]{2})+|(?:\\x[0-9A-Fa-f]{2})+)"
    r"|(?:\\u\{?|\\U|[Uu]\+|&#[xX])(?P<hex>[0-9A-Fa-f]{2,8})(?:[;}]| (?=U\+)|)"
    r"|&#(?P<decimal>\d{2,7});?|\\(?P<octal>[0-7]{3})|\\N\{(?P<name>[^{}\n]{1,80})\}|(?P<entity>&[A-Za-z]{2,31};)"
)
_CODES = re.compile(r"(?<![\w.])(?:0[bo])?\d{1,8}(?:[^\w.]{1,3}(?:0[bo])?\d{1,8}){7,}(?![\w.])")
_BITS = re.compile(r"[01]{56,}")
_HEX = re.compile(r"(?:(?:0[xX])?[0-9A-Fa-f]{2}[^\w(){}\[\].]{0,3}){8,}")
_QUOTED = re.compile(r"""(`+|["'])(?![`\s])(?P<piece>[^`\n]{1,40}?)\1(?![`\w])""")
_GAP, _PIECES = 24, 6  # characters between two quoted pieces, and pieces, of a passage that is quoted piece by piece
_MARKER = re.compile(r"^[ \t]*(?:[-*+\u2022]|\(?\d{1,3}[.):]|\|)[ \t]+", re.MULTILINE)
_FILLERS, _OFTEN = 3, 6  # words that may stand between all others: so many are tried, each that comes so often
_SEPARATED = re.compile(r"(?<![^\W_])(?s:.)([\W_]{1,6}?)(?:(?s:.)\1){2,}(?s:.)(?![^\W_])")


@dataclass(frozen=True, slots=True)
class View:
    """A text, and for each character where that begins and ends in the text which it was decoded from.

    `whole`: whether it is as that was written. Else it is of bytes, whose first and last ones what stands around them may have spoilt.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    whole: bool = True

    def part(self, start: int, end: int) -> View:
        return View(self.text[start:end], self.starts[start:end], self.ends[start:end], self.whole)

    def span(self, start: int, end: int, tokens: int) -> Span:
        """Where that piece comes from, as a passage of the first text."""
        return Span(min(self.starts[start:end]), max(self.ends[start:end]), tokens)


def levels(text: str) -> Iterator[Sequence[View]]:
    """`text`, and what it can be decoded to, by the number of steps."""
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
        yield [*found, *_apiece(level[0])] if step == 0 else found  # who tells words one by one encodes no further
        level = found


def _decoded(view: View) -> Iterator[View]:
    return itertools.chain.from_iterable(decode(view) for decode in _DECODERS)


def _plain(view: View) -> Iterator[View]:
    """In plain letters: of one width and alphabet, without accents, and without what nobody sees."""
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


# -- letters, turned round or moved ----------------------------------------------------------------------------------


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
        yield _ordered(view, order)


def _separated(view: View) -> Iterator[View]:
    """Characters with the same between all of them: spaces, strokes, line breaks."""
    between = {match[1] for match in _SEPARATED.finditer(view.text)}
    for each in sorted(between):
        pattern = rf"(?<![^\W_])(?:(?s:.){re.escape(each)}){{2,}}(?s:.)(?![^\W_])"
        order: list[int] = []
        at = 0
        for match in re.finditer(pattern, view.text):
            order += [*range(at, match.start()), *range(match.start(), match.end(), 1 + len(each))]
            at = match.end()
        order += range(at, len(view.text))
        yield _ordered(view, order)


def _apiece(view: View) -> Iterator[View]:
    """Words with the same between all of them: each in quotes, each an item of a list or a cell, or with one and the same word between."""
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
    """The pieces, with a space behind each."""
    places = [place for match in passage for place in (*range(*match.span("piece")), match.end() - 1)]
    ends = {match.end() - 1 for match in passage}
    text = "".join([" " if place in ends else view.text[place] for place in places])
    return View(text, [view.starts[place] for place in places], [view.ends[place] for place in places], view.whole)


def _without(view: View, pattern: re.Pattern[str]) -> View:
    """With a space in the place of each match."""
    text, places, at = "", [], 0
    for match in pattern.finditer(view.text):
        text += view.text[at : match.start()] + " "
        places += [*range(at, match.start()), match.start()]
        at = match.end()
    places += range(at, len(view.text))
    ends = [view.ends[place] for place in places]
    return View(text + view.text[at:], [view.starts[place] for place in places], ends, view.whole)


def _ordered(view: View, order: Sequence[int]) -> View:
    return View(
        "".join([view.text[place] for place in order]),
        [view.starts[place] for place in order],
        [view.ends[place] for place in order],
        view.whole,
    )


# -- numbers of characters -------------------------------------------------------------------------------------------


def _escapes(view: View) -> Iterator[View]:
    r"""`%28`, `\x28`, `\u0028`, `U+0028`, `&#40;`, `&lpar;`, `\050`, `\N{LEFT PARENTHESIS}`, among others that stand for themselves."""
    texts: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    at = 0
    for match in _ESCAPE.finditer(view.text):
        meant = _escaped(match)
        if meant is None:
            continue
        texts += [view.text[at : match.start()], meant]
        starts += [*view.starts[at : match.start()], *[min(view.starts[match.start() : match.end()])] * len(meant)]
        ends += [*view.ends[at : match.start()], *[max(view.ends[match.start() : match.end()])] * len(meant)]
        at = match.end()
    if at:
        yield View(
            "".join((*texts, view.text[at:])), [*starts, *view.starts[at:]], [*ends, *view.ends[at:]], view.whole
        )


def _escaped(match: re.Match[str]) -> str | None:
    if match["bytes"]:
        return bytes.fromhex(re.sub(r"%|\\x", "", match["bytes"])).decode(errors="replace")
    if match["entity"]:
        return html.unescape(match["entity"])
    if match["name"]:
        try:
            return unicodedata.lookup(match["name"])
        except KeyError:
            return None
    number = match["hex"] or match["decimal"] or match["octal"]
    code = int(number, 16 if match["hex"] else 10 if match["decimal"] else 8)
    return chr(code) if code < 0xD800 else None


def _codes(view: View) -> Iterator[View]:
    """Numbers of characters, in base 2, 8 or 10."""
    for match in _CODES.finditer(view.text):
        numbers = list(re.compile(r"(?:0[bo])?(\d+)").finditer(view.text, *match.span()))
        for base in (2, 8, 10):
            if all(set(number[1]) <= set("0123456789"[:base]) for number in numbers):
                yield from _numbered(view, [(int(number[1], base), *number.span()) for number in numbers])
    for match in _BITS.finditer(view.text):
        for size in (8, 7):
            places = range(match.start(), match.end() - size + 1, size)
            yield from _numbered(view, [(int(view.text[at : at + size], 2), at, at + size) for at in places])


def _numbered(view: View, codes: Sequence[tuple[int, int, int]]) -> Iterator[View]:
    """`codes`: of each character its number, and where that stands."""
    yield from _readable(
        View(
            "".join(chr(code) if code < 0x110000 else "\0" for code, _, _ in codes),
            [min(view.starts[start:end]) for _, start, end in codes],
            [max(view.ends[start:end]) for _, start, end in codes],
            view.whole,
        )
    )


# -- bytes, in digits of some base -----------------------------------------------------------------------------------


def _hex(view: View) -> Iterator[View]:
    for match in _HEX.finditer(view.text):
        order = [
            place for pair in re.finditer("(?:0[xX])?([0-9A-Fa-f]{2})", match[0]) for place in range(*pair.span(1))
        ]
        digits = _ordered(view.part(*match.span()), order)
        yield from _bytes_of(digits, bytes.fromhex(digits.text), 2)


def _base64(view: View) -> Iterator[View]:
    for text in (view, *_without_breaks(view)):
        yield from _in_base(text, re.compile(r"[A-Za-z0-9+/_-]{10,}"), 4, 3, _from_base64)


def _base32(view: View) -> Iterator[View]:
    for text in (view, *_without_breaks(view)):
        yield from _in_base(text, re.compile(r"[A-Za-z2-7]{12,}"), 8, 5, _from_base32)


def _base85(view: View) -> Iterator[View]:
    yield from _in_base(view, re.compile(r"[!-~]{10,}"), 5, 4, _from_base85)
    yield from _in_base(view, re.compile(r"[!-uz]{10,}"), 5, 4, _from_ascii85)


def _without_breaks(view: View) -> Iterator[View]:
    """Without white space: digits may be broken into lines and groups."""
    if re.search(r"\S\s+\S", view.text):
        yield _ordered(view, [place for place, char in enumerate(view.text) if not char.isspace()])


def _in_base(
    view: View, digits: re.Pattern[str], group: int, size: int, decode: Callable[[str], bytes]
) -> Iterator[View]:
    """Of each run of digits, wherever in it a group of them begins."""
    for match in digits.finditer(view.text):
        for offset in range(group):
            run = view.part(match.start() + offset, match.end())
            yield from _bytes_of(run, decode(run.text), group / size)


def _from_base64(digits: str) -> bytes:
    digits = digits.translate(_URL_SAFE)
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    return base64.b64decode(digits + "=" * (-len(digits) % 4))


def _from_base32(digits: str) -> bytes:
    rest = len(digits) % 8
    digits = digits[: len(digits) - rest + max(each for each in (0, 2, 4, 5, 7) if each <= rest)].upper()
    return base64.b32decode(digits + "=" * (-len(digits) % 8))


_VALUES_85 = {
    char: value
    for value, char in enumerate(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
    )
}


def _from_base85(digits: str) -> bytes:
    return _groups_of_5([_VALUES_85.get(char, -1) for char in digits])


def _from_ascii85(digits: str) -> bytes:
    return _groups_of_5([ord(char) - 33 for char in digits])


def _groups_of_5(values: Sequence[int]) -> bytes:
    found = bytearray()
    for at in range(0, len(values), 5):
        group = values[at : at + 5]
        number = 0
        for value in (*group, *[84] * (5 - len(group))):
            number = number * 85 + value
        if min(group) < 0 or number >= 1 << 32:
            number = 0
        found += number.to_bytes(4, "big")[: max(len(group) - 1, 0)]
    return bytes(found)


def _bytes_of(digits: View, data: bytes, ratio: float) -> Iterator[View]:
    """The pieces of text in bytes, each of which took `ratio` digits."""
    text = data.decode("utf-8", "surrogateescape")
    last = len(digits.text)
    for match in _READABLE.finditer(text):
        starts, ends = [], []
        at = len(text[: match.start()].encode("utf-8", "surrogateescape"))
        for char in match[0]:
            size = len(char.encode())
            begin, end = min(int(at * ratio), last - 1), min(math.ceil((at + size) * ratio), last)
            starts.append(min(digits.starts[begin:end]))
            ends.append(max(digits.ends[begin:end]))
            at += size
        yield View(match[0], starts, ends, whole=False)


def _readable(view: View) -> Iterator[View]:
    """The pieces of it that are text."""
    for match in _READABLE.finditer(view.text):
        yield view.part(*match.span())


_DECODERS: tuple[Callable[[View], Iterator[View]], ...] = (
    _plain,
    _rot13,
    _reversed,
    _reversed_words,
    _separated,
    _escapes,
    _codes,
    _hex,
    _base64,
    _base32,
    _base85,
)
