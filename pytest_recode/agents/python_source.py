"""Check whether a text is Python. Texts come from models: they are never executed, and none may crash this process."""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

MAX_PARSED = 1_000_000
"""Characters; a longer text is not checked."""


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """Why a text is not Python: the place and the reason, such as "line 3: invalid syntax". `line` is 0 if no line is at fault."""

    text: str
    line: int = 0


def syntax_error(text: str) -> str | None:
    """None if `text` is Python; otherwise the place and the reason. A text that cannot be checked (too long, too deeply nested) counts as
    invalid."""
    fault = syntax_fault(text)
    return None if fault is None else fault.text


def syntax_fault(text: str) -> SyntaxFault | None:
    """As `syntax_error`, with the line at fault."""
    if len(text) > MAX_PARSED:
        return SyntaxFault(f"it has more than {MAX_PARSED:,} characters")
    try:
        tree = _parsed(text)
    except SyntaxError as error:
        line = min(error.lineno or 1, text.count("\n") + 1)
        return SyntaxFault(f"line {error.lineno or 1}: {error.msg}", line)
    except (ValueError, RecursionError, MemoryError) as error:
        return SyntaxFault(str(error) or "it is nested too deeply")
    late = _late_future(tree)
    if late:
        return SyntaxFault(f"line {late}: from __future__ imports must be at the beginning of the file", late)
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceNames:
    """The names of a text: what it `defines` at its top, with methods; all that it `binds` anywhere, by an import or an assignment."""

    defines: frozenset[str]
    binds: frozenset[str]


def names_in(text: str, module: str = "") -> SourceNames:
    """The names of a text or an indented excerpt. What it imports from `module`, the file that it may be itself, it does not bind. Of a text
    that is not Python only the definitions are known."""
    text = textwrap.dedent(text)
    if syntax_error(text) is not None:
        defined = frozenset(_DEFINED.findall(text))
        return SourceNames(defines=defined, binds=defined)
    defines = frozenset(_with_methods(text))
    binds = set(defines)
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Load):
                binds.add(node.id)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").rpartition(".")[2] == module:
            continue
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            binds.update(alias.asname or alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.arg):
            binds.add(node.arg)
        elif not isinstance(node, ast.alias) and isinstance(name := getattr(node, "name", None), str):
            binds.add(name)
    return SourceNames(defines=defines, binds=frozenset(binds))


def without(before: SourceNames, after: SourceNames) -> frozenset[str]:
    """What `before` defines and `after` neither defines nor binds. Nothing if `after` imports all names of a module (`*`)."""
    return frozenset() if "*" in after.binds else before.defines - after.binds


_DEFINED = re.compile(r"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+(\w+)", re.MULTILINE)


def _with_methods(source: str) -> Iterator[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    for node in _parsed(source).body:
        if isinstance(node, kinds):
            yield node.name
        if isinstance(node, ast.ClassDef):
            yield from (f"{node.name}.{member.name}" for member in node.body if isinstance(member, kinds))


def _parsed(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text.removeprefix("\ufeff"))  # Python skips a byte order mark at the beginning of a file


def _late_future(tree: ast.Module) -> int:
    """The line of a `from __future__` import after other statements, which only the compiler rejects; 0 if there is none."""
    first = True
    for number, node in enumerate(tree.body):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if future and not first:
            return node.lineno
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        first = first and (future or docstring)
    return 0


def ends_in_a_string(text: str) -> bool:
    """Whether `text` ends within a string of several lines. A line of backticks can only occur within such a string, so truncated code
    ends in one. The text may be indented, like the text for a part of a file."""
    read = (text, f"if True:\n{text}") if text[:1] in (" ", "\t", "\n") else (text,)
    return any("unterminated triple-quoted" in (syntax_error(each) or "") for each in read)
