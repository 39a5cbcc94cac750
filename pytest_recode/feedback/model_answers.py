"""The fields of a researcher's record: categories, and the separation of text and code."""

from __future__ import annotations

import re
from dataclasses import dataclass

MEANINGS = {
    "T0": "structure: a piece is missing, or laid out otherwise than the design asks",
    "T1": "correctness: it cannot run; syntax, names, types, an exception",
    "T2": "alignment: it runs, and contradicts what paper or instruction say",
    "T3": "knowledge: it needs something that neither says; a convention of the field, an unstated choice of the authors",
    "T4": "repository: code that is there is written again, or used wrongly",
}
CATEGORIES = tuple(MEANINGS)
WORDS = ("description", "analysis", "suggestion")
FIELDS = ("category", *WORDS, "correction")


WITHOUT_REFERENCE = "without-reference"


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """What a model researcher may comment on, and how. The defaults are this project's; RECODE-H's researcher has the other values."""

    scope: str = "failing"  # or "all": also differences of passing interfaces
    code_from: int = 4  # lowest level whose text may contain code; 1: all text may
    writer: str = "with-reference"  # or `WITHOUT_REFERENCE`: whether who writes the words sees the reference
    test_output: bool = False  # whether agent and researcher read the hidden tests' own output

    @property
    def may_have_code(self) -> frozenset[str]:
        """The text fields in which code is allowed."""
        return frozenset(name for level, name in enumerate(WORDS, 1) if level >= self.code_from)

    @property
    def corrections(self) -> bool:
        """Whether the model writes corrections, as RECODE-H's researcher does. Otherwise they are derived: the reference's code."""
        return bool(self.may_have_code)


STYLE = Style()
"""This project's."""

_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[\w.\-/]+(?:\(\))?|[^\w\s]{1,2}")
LEFT_OUT = "(code left out)"


def words_only(text: str) -> str:
    """`text` without what Markdown marks as code: fenced blocks, and inline code beyond a name."""
    text = _INLINE.sub(lambda match: match[0] if _NAME.fullmatch(match[1]) else LEFT_OUT, _FENCED.sub("", text))
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def code_in(text: str) -> list[str]:
    """The passages of `text` that `words_only` removes."""
    inline = [match[0] for match in _INLINE.finditer(_FENCED.sub("", text)) if not _NAME.fullmatch(match[1])]
    return [*(match[0] for match in _FENCED.finditer(text)), *inline]
