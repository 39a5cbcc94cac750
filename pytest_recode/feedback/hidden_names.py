"""Find the names of hidden tests in a text, in any letter case."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from pytest_recode.feedback.leaks import Span, tokenised, words_of

_TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)", re.MULTILINE | re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+|[A-Z][a-z0-9]*")


def names_of(texts: Iterable[str]) -> frozenset[str]:
    """The folded names of the test functions that these files define, each of several words: every sentence may have the word `test`."""
    names = (name for text in texts for name in _TEST.findall(text))
    return frozenset(folded for name in names if len(_WORD.findall(name)) > 1 for folded in words_of(name))


def named(text: str, names: frozenset[str], known: Sequence[Sequence[str]] = ()) -> Iterator[Span]:
    """The passages of `text` that are a name, unless one of `known` (texts, as `words_of`) has the same."""
    for token in tokenised(text):
        if token.text in names and not any(token.text in tokens for tokens in known):
            yield Span(token.start, token.end, 1)
