"""The fields of a researcher's record: categories, and the separation of text and code."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from pytest_recode.program import source

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


class CorrectionPart(StrEnum):
    """The kind of a correction: whole definitions, the method that its interface names, or a piece of them."""

    WHOLE = ""
    METHOD = " (a method, which replaces that of its class)"
    PIECE = " (a piece: what it leaves out stays)"


_DOTS = re.compile(r"#.*(?:\.\.\.|…)")
"""A comment that replaces code: "# ... existing code ..."."""


def part_of(code: str, path: Sequence[str] = (), before: source.FileVersion | None = None) -> CorrectionPart:
    """Classify a correction: whole definitions, imports and plain values, or a part of them.

    `path`: of its interface within the file ("Class", "method"). `before`: the candidate's file. A class of the correction that lacks
    public methods or decorators of the candidate's class would remove them.
    """
    tree = source.parse(code.encode(errors="replace")).tree
    body = tree.body if tree is not None else []
    definitions = [node for node in body if isinstance(node, source.Definition)]
    if not definitions:
        plain = all(isinstance(node, ast.Import | ast.ImportFrom) or _is_plain_value(node) for node in body)
        return CorrectionPart.WHOLE if plain else CorrectionPart.PIECE
    elided = _DOTS.search(code) or any(_leaves_out(inner) for node in definitions for inner in ast.walk(node))
    if elided or any(
        _takes_away(node, source.definition(before, [node.name])) for node in definitions if before is not None
    ):
        return CorrectionPart.PIECE
    if not any(map(_is_method, definitions)):
        return CorrectionPart.WHOLE
    alone = len(path) > 1 and [node.name for node in definitions] == [path[-1]] and len(body) == 1
    return CorrectionPart.METHOD if alone else CorrectionPart.PIECE


def _is_plain_value(node: ast.stmt) -> bool:
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    return value is not None and not any(isinstance(part, ast.Name | ast.Call) for part in ast.walk(value))


def _leaves_out(node: ast.AST) -> bool:
    """Whether three dots replace statements: next to other statements, or as the body of a function that is neither an overload nor abstract."""
    if not isinstance(node, source.Definition):
        return False
    dots = [
        isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and each.value.value is ...
        for each in node.body
    ]
    documented = len(dots) - (ast.get_docstring(node) is not None)
    stub = isinstance(node, ast.ClassDef) or bool(node.decorator_list)
    return any(dots) and not (documented == 1 and stub)


def _takes_away(node: source.Definition, before: source.Definition | None) -> bool:
    if not isinstance(node, ast.ClassDef) or not isinstance(before, ast.ClassDef):
        return False
    ours, theirs = ({each.name for each in one.body if isinstance(each, source.Definition)} for one in (node, before))
    lost = {name for name in theirs - ours if not name.startswith("_") or name == "__init__"}
    return bool(lost) or bool(before.decorator_list and not node.decorator_list)


def _is_method(node: ast.stmt) -> bool:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    first = [*node.args.posonlyargs, *node.args.args][:1]
    return bool(first) and first[0].arg in ("self", "cls")


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
