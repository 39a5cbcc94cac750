"""Find the sentences of an instruction that no wrong answer quotes as the requirement that it violates. Pure functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_FENCE = re.compile(r" {0,3}(```|~~~)")
_HEADING = re.compile(r" {0,3}#{1,6} ")
_COMMENT = re.compile(r" {0,3}<!--.*-->\s*")
_ITEM = re.compile(r"\s*([-*+]|\d+[.)])\s+")
_END = re.compile(r"(?<=[.!?]) (?=[^a-z])")


def unquoted(instruction: str, quotations: Iterable[str]) -> tuple[str, ...]:
    """The sentences, in their order and with white space folded, of which no quotation has a part.

    A quotation counts wherever it occurs. Headings, comments on a line of their own and fenced code are no sentences. Not every sentence is a requirement: which
    ones need a wrong answer is for the author to say.
    """
    text = _folded(instruction)
    quoted = [span for each in quotations for span in _places(text, _folded(each))]
    sentences, start = [], 0
    for sentence in _sentences(instruction):
        start = max(text.find(sentence, start), start)
        end = start + len(sentence)
        if not any(first < end and start < last for first, last in quoted):
            sentences.append(sentence)
        start = end
    return tuple(sentences)


def _folded(words: str) -> str:
    return " ".join(words.split())


def _places(text: str, quotation: str) -> Iterator[tuple[int, int]]:
    start = text.find(quotation) if quotation else -1
    while start >= 0:
        yield start, start + len(quotation)
        start = text.find(quotation, start + len(quotation))


def _sentences(instruction: str) -> Iterator[str]:
    for block in _blocks(instruction):
        yield from _END.split(_folded(block))


def _blocks(instruction: str) -> Iterator[str]:
    """Paragraphs and items of lists, without their marks."""
    block: list[str] = []
    fenced = False
    for line in instruction.splitlines():
        fence, item = _FENCE.match(line), _ITEM.match(line)
        apart = not line.strip() or bool(_HEADING.match(line) or _COMMENT.fullmatch(line))
        if block and (fence or item or apart):
            yield " ".join(block)
            block = []
        fenced = fenced != bool(fence)
        if not (fence or fenced or apart):
            block.append(line[item.end() :] if item else line)
    if block:
        yield " ".join(block)
