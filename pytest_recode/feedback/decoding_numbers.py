"""Decode escapes, character codes, and bytes in base 16, 32, 64 or 85 in a text. Used by `decoding`."""

from __future__ import annotations

import html
import math
import re
import unicodedata
from base64 import b32decode, b64decode
from collections.abc import Callable, Iterator, Sequence

from pytest_recode.feedback.decoded_text import LEAST, View, ordered

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


def escapes(view: View) -> Iterator[View]:
    r"""`%28`, `\x28`, `\u0028`, `U+0028`, `&#40;`, `&lpar;`, `\050`, `\N{LEFT PARENTHESIS}`, decoded; other characters stay as they are."""
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


def character_codes(view: View) -> Iterator[View]:
    """Character codes in base 2, 8 or 10."""
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
    """Readable text from `codes`: the code of each character, with its start and end in `view`."""
    yield from _readable(
        View(
            "".join(chr(code) if code < 0x110000 else "\0" for code, _, _ in codes),
            [min(view.starts[start:end]) for _, start, end in codes],
            [max(view.ends[start:end]) for _, start, end in codes],
            view.whole,
        )
    )


def hexadecimal(view: View) -> Iterator[View]:
    for match in _HEX.finditer(view.text):
        order = [
            place for pair in re.finditer("(?:0[xX])?([0-9A-Fa-f]{2})", match[0]) for place in range(*pair.span(1))
        ]
        digits = ordered(view.part(*match.span()), order)
        yield from _bytes_of(digits, bytes.fromhex(digits.text), 2)


def base64(view: View) -> Iterator[View]:
    for text in (view, *_without_breaks(view)):
        yield from _in_base(text, re.compile(r"[A-Za-z0-9+/_-]{10,}"), 4, 3, _from_base64)


def base32(view: View) -> Iterator[View]:
    for text in (view, *_without_breaks(view)):
        yield from _in_base(text, re.compile(r"[A-Za-z2-7]{12,}"), 8, 5, _from_base32)


def base85(view: View) -> Iterator[View]:
    yield from _in_base(view, re.compile(r"[!-~]{10,}"), 5, 4, _from_base85)
    yield from _in_base(view, re.compile(r"[!-uz]{10,}"), 5, 4, _from_ascii85)


def _without_breaks(view: View) -> Iterator[View]:
    """The text without white space, because digits may be broken into lines and groups."""
    if re.search(r"\S\s+\S", view.text):
        yield ordered(view, [place for place, char in enumerate(view.text) if not char.isspace()])


def _in_base(
    view: View, digits: re.Pattern[str], group: int, size: int, decode: Callable[[str], bytes]
) -> Iterator[View]:
    """Decode each run of digits, at every offset at which a group of digits may start."""
    for match in digits.finditer(view.text):
        for offset in range(group):
            run = view.part(match.start() + offset, match.end())
            yield from _bytes_of(run, decode(run.text), group / size)


def _from_base64(digits: str) -> bytes:
    digits = digits.translate(_URL_SAFE)
    digits = digits[:-1] if len(digits) % 4 == 1 else digits
    return b64decode(digits + "=" * (-len(digits) % 4))


def _from_base32(digits: str) -> bytes:
    rest = len(digits) % 8
    digits = digits[: len(digits) - rest + max(each for each in (0, 2, 4, 5, 7) if each <= rest)].upper()
    return b32decode(digits + "=" * (-len(digits) % 8))


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
    """The readable pieces of `data`, each byte of which is encoded by `ratio` digits."""
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
    """The readable pieces of `view`."""
    for match in _READABLE.finditer(view.text):
        yield view.part(*match.span())
