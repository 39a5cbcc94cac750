"""Find the names of hidden tests in a text: as they are, in another letter case or alphabet, encoded, or as separate words."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

from pytest_recode.feedback.encoded import decoded, whole
from pytest_recode.feedback.leaks import Span, tokenised, words_of

LEAST = 4
"""Minimum words of a name that is found with other signs between its words. A sentence may have three of them: "test the weights"."""

_TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)", re.MULTILINE | re.IGNORECASE)
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_BETWEEN = frozenset("-_`'\"*\u2010\u2013")
"""Signs that may stand between the words of a name, besides white space."""


@dataclass(frozen=True)
class Names:
    """The folded names of the hidden test functions, each of several words, because every sentence may have the word `test`."""

    exact: frozenset[str]
    apart: frozenset[tuple[str, ...]]  # the words of the names that have enough of them

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, sorted(self.exact)))})(?!\w)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Found:
    """A passage with a name. `words`: the tokens that it must have in a known text to be known. `plain`: whether it has the name itself."""

    span: Span
    words: tuple[str, ...]
    plain: bool


def names_of(texts: Iterable[str]) -> Names:
    """The names of the test functions that these files define."""
    words = {name: _words(name) for text in texts for name in _TEST.findall(text)}
    several = {name: each for name, each in words.items() if len(each) > 1}
    return Names(
        exact=frozenset(word for name in several for word in words_of(name)),
        apart=frozenset(each for each in several.values() if len(each) >= LEAST),
    )


def named(text: str, names: Names, known: Sequence[Sequence[str]]) -> tuple[Found, ...]:
    """The passages of `text` that contain a name, unless one of `known` (texts, as `words_of`) contains the same."""
    found = _named(text, names) if names.exact else ()
    return tuple(each for each in found if not any(_contains(tokens, each.words) for tokens in known))


def written(text: str, names: Names) -> Iterator[Found]:
    """The passages with a name as it is or as separate words, and not encoded: where no one hides anything."""
    yield from _plain(text, names)
    yield from _apart(text, names)


@lru_cache(maxsize=1 << 10)
def _named(text: str, names: Names) -> tuple[Found, ...]:
    """Cached, because turns repeat the same text, and only the known texts change."""
    found = [*written(text, names)]
    for view in (view for level in decoded(text) for view in level if view.text != text):
        for match in names.pattern.finditer(view.text):
            span = whole(text, view.span(*match.span(), 1))
            if not any(each.span.start < span.end and span.start < each.span.end for each in found):
                found.append(Found(span, tuple(words_of(match[0])), plain=False))
    return tuple(found)


def _plain(text: str, names: Names) -> Iterator[Found]:
    for token in tokenised(text):
        if token.text in names.exact:
            yield Found(Span(token.start, token.end, 1), (token.text,), plain=True)


def _apart(text: str, names: Names) -> Iterator[Found]:
    """Names with white space or signs between their words."""
    tokens = [each for each in tokenised(text) if each.text not in _BETWEEN | names.exact]
    parts = [_words(text[token.start : token.end]) for token in tokens]
    words = [word for part in parts for word in part]
    # Each word's token; a name neither begins nor ends within a token, which is then a longer name
    owners = [index for index, part in enumerate(parts) for _ in part]
    lengths = sorted({len(each) for each in names.apart}, reverse=True)
    end = 0
    for place in range(len(words)):
        for length in lengths:
            stop = place + length
            if place < end or tuple(words[place:stop]) not in names.apart:
                continue
            if owners[place - 1 : place] != [owners[place]] and owners[stop : stop + 1] != [owners[stop - 1]]:
                end = stop
                span = Span(tokens[owners[place]].start, tokens[owners[stop - 1]].end, length)
                yield Found(span, tuple(words_of(text[span.start : span.end])), plain=False)


def _words(name: str) -> tuple[str, ...]:
    """The folded words of a name: `test_the_mean`, `testTheMean`."""
    return tuple(word for part in _HUMP.sub("_", name).split("_") for word in words_of(part))


def _contains(tokens: Sequence[str], words: Sequence[str]) -> bool:
    first, length = words[0], len(words)
    return any(tokens[at : at + length] == [*words] for at, token in enumerate(tokens) if token == first)
