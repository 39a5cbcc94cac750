"""Text decoded from another text, with the origin of each character, so that a passage found in it can be cut from the original."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.feedback.leaks import Span

LEAST = 8
"""Minimum length of a decoded text in characters: a shorter one has too few tokens to be a leak."""


@dataclass(frozen=True, slots=True)
class View:
    """A text, with the start and end of each character in the original text.

    `whole`: False for text decoded from bytes, whose first and last bytes may be wrong because of the surrounding text.
    """

    text: str
    starts: Sequence[int]
    ends: Sequence[int]
    whole: bool = True

    def part(self, start: int, end: int) -> View:
        return View(self.text[start:end], self.starts[start:end], self.ends[start:end], self.whole)

    def span(self, start: int, end: int, tokens: int) -> Span:
        """The passage of the original text that characters `start` to `end` were decoded from."""
        return Span(min(self.starts[start:end]), max(self.ends[start:end]), tokens)


def ordered(view: View, order: Sequence[int]) -> View:
    """The characters of `view` at the positions `order`."""
    return View(
        "".join([view.text[place] for place in order]),
        [view.starts[place] for place in order],
        [view.ends[place] for place in order],
        view.whole,
    )
