"""The fenced blocks of a text and the lines between them, as CommonMark has them. Texts come from models.

Called by `text_form` and by `one_shot`, whose answers are Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

PYTHON = frozenset({"python", "py", "python3"})
"""Languages that a fence of Python names."""

MAX_ANSWER = 1_000_000
"""Characters of one answer that are read: as much as a target may hold, so that nothing that could be graded is refused."""

_THOUGHTS = ("think", "thinking")
_THOUGHTS_END = re.compile(r"(?<!`)</think(?:ing)?>")
_CHANGE = re.compile(r"^<{5}", re.MULTILINE)
_INFO = re.compile(r"(?:(?P<language>[\w+#.-]+)[ \t:]+)?(?P<path>[^\s:=\"'`{}()]+)")
_PATH = re.compile(r"(?:[^/]*/)+[^/]+|.*\.\w*[A-Za-z]\w*|\.\w+")


class UnclearError(ValueError):
    """A text of which it is not clear what it holds. The text is told to the model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A fenced block. `info` is what its first line says behind the backticks, `line` the number of that line, from 1. `text` has its lines,
    each with its newline; in `raw` they still have the indentation of the block. `closed` is False if the text around it ends within it."""

    info: str
    text: str
    raw: str
    line: int
    closed: bool

    @property
    def language(self) -> str:
        """The first word of the info string in lower case; "" if there is none."""
        return re.split(r"[\s:]", self.info.lower(), maxsplit=1)[0]

    @property
    def path(self) -> str:
        """The file that the info string names: `python src/a.py`, `python:src/a.py` or `src/a.py`; "" if it names none."""
        match = _INFO.fullmatch(self.info)
        if match is None or not _PATH.fullmatch(match["path"]):
            return ""
        return match["path"].removeprefix("./")

    @property
    def is_diff(self) -> bool:
        """Whether it shows a diff, and is not the text of a file of diffs."""
        return self.language in ("diff", "patch") and not self.path.endswith((".diff", ".patch"))

    @property
    def is_change(self) -> bool:
        """Whether it shows lines to be replaced: one of its lines begins as the mark above them does, in whatever length."""
        return _CHANGE.search(self.text) is not None

    @property
    def opening(self) -> str:
        """What a message calls the block."""
        return f"the block that line {self.line} opens (```{self.info[:80]})"

    @property
    def unclosed(self) -> str:
        """What to tell the model of a block that is not closed."""
        return (
            f"The code fence that line {self.line} opens is not closed: the answer was cut off, or the closing line is missing, or a line is"
            " indented less than its fence."
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLine:
    """A line outside of fenced blocks. `heading`: whether it is the text of a heading."""

    text: str
    heading: bool = False


def read(text: str) -> tuple[Fence | TextLine, ...]:
    """The blocks and lines of a text in their order. A block within a quotation (`>`) is lines of it.

    Raises UnclearError for a text that is too long to be read, or that has nothing but thoughts.
    """
    if len(text) > MAX_ANSWER:
        raise UnclearError(
            f"Your answer has {len(text)} characters; at most {MAX_ANSWER} are read. Write less at once."
        )
    if "\0" in text:  # for which the parser puts another character
        raise UnclearError("Your answer holds a null character (U+0000). Leave it out.")
    return tuple(_parts(without_any_thoughts(text.removeprefix("\ufeff"))))


def fences(text: str) -> tuple[Fence, ...]:
    """The fenced blocks of a text. Raises UnclearError as `read` does."""
    return tuple(part for part in read(text) if isinstance(part, Fence))


def within(block: Fence) -> tuple[Fence, ...]:
    """The fenced blocks that the text of a block shows."""
    return tuple(part for part in _parts(block.text) if isinstance(part, Fence))


def without_any_thoughts(text: str) -> str:
    """As `without_thoughts`. If the text begins with no opening tag, since some templates have it in the prompt, all up to a closing tag
    outside of blocks is left out. Raises UnclearError also if there are several."""
    rest = without_thoughts(text)
    if rest != text or len(text) > MAX_ANSWER or not _THOUGHTS_END.search(text):
        return rest
    fenced = {row for token in _parser().parse(text) if token.type == "fence" for row in range(*token.map or ())}
    lines = (" " * len(line) if row in fenced else line for row, line in enumerate(text.split("\n")))
    ends = [found.end() for found in _THOUGHTS_END.finditer("\n".join(lines))]
    if len(ends) > 1:
        raise UnclearError(f"It is unclear where your thoughts end: {len(ends)} closing tags stand outside of blocks.")
    end = ends[0] if ends else 0
    return "\n" * text.count("\n", 0, end) + text[end:]


def without_thoughts(text: str) -> str:
    """A text without the thoughts in tags at its beginning, each line at its place. Raises UnclearError if they do not end."""
    for tag in _THOUGHTS:
        if text.lstrip().startswith(f"<{tag}>"):
            thoughts, end, rest = text.partition(f"</{tag}>")
            if not end:
                raise UnclearError(
                    f"Your answer begins with <{tag}> and has no </{tag}>: it holds nothing but thoughts."
                )
            return "\n" * thoughts.count("\n") + rest
    return text


def _parts(text: str) -> Iterator[Fence | TextLine]:
    lines = text.split("\n")
    quoted, heading, at = 0, False, 0
    for token in _parser().parse(text):
        quoted += (token.type == "blockquote_open") - (token.type == "blockquote_close")
        heading = token.type == "heading_open" or (heading and token.type != "heading_close")
        if token.map is None or quoted or token.type not in ("fence", "inline"):
            continue
        first, end = token.map
        yield from (TextLine(text=line) for line in lines[at:first])
        at = end
        if token.type == "inline":
            yield from (TextLine(text=line, heading=heading) for line in token.content.split("\n"))
            continue
        rows = token.content.count("\n") + (token.content[-1:] not in ("", "\n"))
        inner = end - first - 1 - rows  # 1 if a line closes it
        raw = "".join(f"{line}\n" for line in lines[first + 1 : end - max(inner, 0)])
        yield Fence(info=token.info.strip(), text=token.content, raw=raw, line=first + 1, closed=inner > 0)
    yield from (TextLine(text=line) for line in lines[at:])


@cache
def _parser() -> MarkdownIt:
    """Fences, headings, lists, quotations and paragraphs; nothing within a line, and no HTML, whose blocks would hide fences."""
    from markdown_it import MarkdownIt  # imported here: a process that reads no answer need not have it

    parser = MarkdownIt("commonmark").disable(["html_block", "reference", "hr"])
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
