"""Whether a text is Python. Texts come from models: nothing of them is run, and none may end this process."""

from __future__ import annotations

import ast
import warnings

MAX_PARSED = 1_000_000
"""Characters; a longer text is not looked at."""


def syntax_error(text: str) -> str | None:
    """None where `text` is Python; else where and why it is not, such as "line 3: invalid syntax". A text that cannot be looked at
    (too long, too deeply nested) counts as no Python."""
    if len(text) > MAX_PARSED:
        return f"it has more than {MAX_PARSED:,} characters"
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text.removeprefix("\ufeff"))  # Python skips a byte order mark at the beginning of a file
    except SyntaxError as error:
        return f"line {error.lineno or 1}: {error.msg}"
    except (ValueError, RecursionError, MemoryError) as error:
        return str(error) or "it is nested too deeply"
    late = _late_future(tree)
    return f"line {late}: from __future__ imports must be at the beginning of the file" if late else None


def _late_future(tree: ast.Module) -> int:
    """The line of a `from __future__` import behind other statements, which only a compiler refuses; 0 without one."""
    first = True
    for number, node in enumerate(tree.body):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        if future and not first:
            return node.lineno
        docstring = number == 0 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        first = first and (future or docstring)
    return 0


def holds_code(text: str) -> bool:
    """Whether `text` is Python that does something: more than comments and names, which a line of prose may be as well."""
    if syntax_error(text) is not None:
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        body = ast.parse(text.removeprefix("\ufeff")).body
    return any(not isinstance(node, ast.Expr) or isinstance(node.value, ast.Call) for node in body)


def ends_in_a_string(text: str) -> bool:
    """Whether `text` stops within a string of several lines: so does every beginning of Python that a line of backticks ends, since
    such a line stands nowhere else. The text may be indented, as that for a part of a file is."""
    read = (text, f"if True:\n{text}") if text[:1] in (" ", "\t", "\n") else (text,)
    return any("unterminated triple-quoted" in (syntax_error(each) or "") for each in read)
