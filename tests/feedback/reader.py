"""A reader who does what a feedback of level L4 says, and nothing else: replaces or adds each definition shown, and follows the suggestion."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from pytest_recode.feedback.levels import corrections

_LINES = r"lines? (?P<first>\d+)(?: to \d+)? of (?P<file>\S+\.py)"
_REMOVE = re.compile(rf"[Rr]emove {_LINES}")
_TAKE_OUT = re.compile(rf"[Tt]ake `(?P<name>\w+)` out of {_LINES}")
_RENAME = re.compile(rf"[Rr]ename `(?P<name>\w+)` in {_LINES}")
_ABOVE = re.compile(r"[Bb]ind `(?P<name>\w+)` above line (?P<first>\d+) of (?P<file>\S+\.py)")


def followed(files: Mapping[str, str], text: str) -> dict[str, str]:
    """The candidate's files after its author followed `text`."""
    suggestions = "\n".join(re.findall(r"^Suggestion: (.*)", text, re.MULTILINE))
    code: dict[str, list[str]] = {}
    for each in corrections(text):
        code.setdefault(each.file, []).append(each.code)
    return {file: _followed(file, before, suggestions, code.get(file, [])) for file, before in files.items()}


def _followed(file: str, before: str, suggestions: str, codes: list[str]) -> str:
    try:
        body = list(ast.parse(before).body)
    except SyntaxError:
        body = []

    def at(match: re.Match[str]) -> ast.stmt:
        (found,) = (node for node in body if _first(node) <= int(match["first"]) <= (node.end_lineno or 0))
        return found

    def given(pattern: re.Pattern[str]) -> list[re.Match[str]]:
        return [match for match in pattern.finditer(suggestions) if match["file"] == file]

    removed = [at(match) for match in given(_REMOVE)]
    moved = [(match["name"], at(match)) for match in given(_ABOVE)]
    shared = {(match["name"], id(at(match))) for match in given(_TAKE_OUT)}
    for match in given(_RENAME):
        at(match).__dict__.update(_renamed(at(match), match["name"]).__dict__)
    body = [node for node in body if not any(node is each for each in removed)]
    added: list[ast.stmt] = []
    for code in codes:
        for node in ast.parse(code).body:
            _lay_in(body, node, shared, added)
    for node in added:
        if node in body:
            _place(body, node)
    for name, above in moved:
        (one,) = (node for node in body if name in _binds(node))
        body.remove(one)
        body.insert(body.index(above), one)
    return ast.unparse(ast.Module(body=body, type_ignores=[]))


def _lay_in(body: list[ast.stmt], node: ast.stmt, shared: set[tuple[str, int]], added: list[ast.stmt]) -> None:
    names = _binds(node)
    if isinstance(node, ast.ImportFrom) and node.module == "__future__":
        body.insert(0, node)
        return
    old = [each for each in body if _binds(each) & names]
    beside = any((name, id(each)) in shared for each in old[:1] for name in names)
    if beside or any(isinstance(each, ast.Import | ast.ImportFrom) and len(each.names) > 1 for each in old[:1]):
        body.insert(body.index(old[0]) + 1, node)
    elif old:
        body[body.index(old[0])] = node
        added[:] = [node if each is old[0] else each for each in added]
        body[:] = [each for each in body if each is node or each not in old[1:] or not _binds(each) <= names]
    elif isinstance(node, ast.Import | ast.ImportFrom):
        body.insert(_top(body), node)
    else:
        body.append(node)
        added.append(node)


def _place(body: list[ast.stmt], node: ast.stmt) -> None:
    """Move what was added as far up as what it uses on import allows; what binds no name stays at the end."""
    if not _binds(node):
        return
    body.remove(node)
    used = _used_on_import(node)
    below = [index + 1 for index, each in enumerate(body) if _binds(each) & used]
    body.insert(max([_top(body), *below]), node)


def _used_on_import(node: ast.stmt) -> set[str]:
    parts: list[ast.AST] = [node]
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs, node.args.vararg, node.args.kwarg]
        annotations = [node.returns, *(each.annotation for each in arguments if each is not None)]
        given = [*node.args.defaults, *node.args.kw_defaults, *annotations]
        parts = [*node.decorator_list, *(each for each in given if each is not None)]
    elif isinstance(node, ast.ClassDef):
        inner = {name for each in node.body for name in _used_on_import(each)}
        return inner.union(*map(_names, [*node.decorator_list, *node.bases]))
    return set().union(*map(_names, parts))


def _names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _top(body: list[ast.stmt]) -> int:
    """Below the docstring and `from __future__`."""
    return next(
        (
            index
            for index, node in enumerate(body)
            if not (isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"))
        ),
        len(body),
    )


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {each.asname or each.name.partition(".")[0] for each in node.names}
    found = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store):
            found.add(each.id)
        elif isinstance(each, ast.alias):
            found.add(each.asname or each.name)
        elif isinstance(each, ast.FunctionDef | ast.ClassDef):
            found.add(each.name)
    return found


def _renamed(node: ast.stmt, name: str) -> ast.stmt:
    text = re.sub(rf"\b{name}\b", f"{name}_of_mine", ast.unparse(node))
    (renamed,) = ast.parse(text).body
    return ast.copy_location(renamed, node)


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))])
