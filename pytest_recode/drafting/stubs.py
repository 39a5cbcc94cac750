"""Replace functions of a module by stubs: signature, docstring and everything around them stay as they are."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Sequence

_BODY = "raise NotImplementedError"

Function = ast.FunctionDef | ast.AsyncFunctionDef


def functions_of(tree: ast.Module) -> dict[str, Function]:
    """The functions of a module by name; of several with one name, the last."""
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def stubbed(source: str, names: Sequence[str]) -> str:
    """`source` with the bodies of these functions replaced. They must exist."""
    lines = source.splitlines(keepends=True)
    functions = functions_of(ast.parse(source))
    for node in sorted((functions[name] for name in names), key=lambda node: -node.lineno):
        end = node.end_lineno or node.lineno
        line, column = _end_of_header(lines, node)
        first = node.body[0]
        header = "".join(lines[node.lineno - 1 : line - 1]) + lines[line - 1][:column]
        docstring = ""
        if _is_text(first) and first.end_lineno is not None:
            if first.lineno > line:
                docstring = "".join(lines[line : first.end_lineno]).rstrip() + "\n"
            else:
                docstring = "    " + ast.get_source_segment(source, first, padded=False).strip() + "\n"  # type: ignore[union-attr]
        text = lines[first.lineno - 1]
        indent = text[: len(text) - len(text.lstrip())] if first.lineno > line else "    "
        lines[node.lineno - 1 : end] = [f"{header}\n{docstring}{indent}{_BODY}\n"]
    return "".join(lines)


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def _end_of_header(lines: Sequence[str], node: Function) -> tuple[int, int]:
    """Line (from 1) and column behind the colon that ends the signature."""
    depth = 0
    text = "".join(lines[node.lineno - 1 :])
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.OP:
            if token.string in "([{":
                depth += 1
            elif token.string in ")]}":
                depth -= 1
            elif token.string == ":" and depth == 0:
                return node.lineno - 1 + token.end[0], token.end[1]
    raise ValueError(f"{node.name}: a signature without an end")


def signature(source: str, name: str) -> str:
    """The signature of a function as it is written, without decorators: `f(x, *, y=1)`."""
    node = functions_of(ast.parse(source))[name]
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return f"{name}({ast.unparse(node.args)}){returns}"


def docstring(source: str, name: str) -> str:
    return ast.get_docstring(functions_of(ast.parse(source))[name]) or ""
