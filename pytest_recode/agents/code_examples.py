"""Decide whether code beside the actions of an answer can be no part of the targets: an example of their use, or a paraphrase of them.

Called by `outside_code` in the pytest process. Pure: code is parsed and never executed.
"""

from __future__ import annotations

import ast
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence, Set

from pytest_recode.agents.python_source import syntax_error

MAX_SOURCE = 200_000
"""Characters of a target whose expressions are compared."""
MAX_LINES, MAX_LINE = 20, 400
"""Lines, and characters of a line, of an expression that is compared: the time for all of them is linear in the target's length."""


def is_example(text: str, targets: Sequence[str], interfaces: Sequence[str], sources: Sequence[str] = ()) -> bool:
    """Whether code only uses the targets: it defines nothing, and it imports the only target, or shows what interfaces return, or is an
    import of a target that no other one lacks: `sources`, the texts of the targets, have no name that it would give them."""
    body = _statements(text)
    if any(isinstance(each, _DEFINITIONS) for node in body for each in ast.walk(node)):
        return False
    names = {interface.rpartition(".")[2] for interface in interfaces}
    made = {name for node in body for name in _made(node, names)}
    shows = [node for node in body if _shows(node, names) or _uses(node, made)]
    imports = any(_imports_target(node, targets) for node in body)
    if imports and (len(targets) == 1 or shows):
        return all(isinstance(node, _OF_AN_EXAMPLE) for node in body)
    if imports and sources and all(_imports_target(node, targets) for node in body):
        return not any(_lacks(source, _imported(body)) for source in sources)
    return bool(shows) and all(node in shows or _made(node, names) for node in body)


def is_module(text: str) -> bool:
    """Whether code looks like a whole file: it imports something and defines a function or class."""
    body = _statements(text)
    return any(isinstance(node, (ast.Import, ast.ImportFrom)) for node in body) and any(
        isinstance(node, _DEFINITIONS) for node in body
    )


def is_elided(line: str) -> bool:
    """Whether a line leaves something out: `raise ValueError(...)`. An ellipsis in an index is code."""
    return _ELLIPSIS.search(_INDEX_OR_STRING.sub("", line)) is not None


_ELLIPSIS = re.compile(r"\.\.\.|\u2026")
_INDEX_OR_STRING = re.compile(r"\[[^\[\]]*\]|\"[^\"]*\"|'[^']*'")


def is_paraphrase(text: str, sources: Sequence[str]) -> bool:
    """Whether each statement of the code has an expression that a target has as well, with other names of variables."""
    body = _statements(text)
    values = [node.value for node in body if isinstance(node, _WITH_A_VALUE) and node.value is not None]
    if not values or len(values) < len(body) or not all(map(_computes, values)):
        return False
    known = {shape for source in sources for shape in _shapes(source)}
    return all(_shape(value) in known for value in values)


def _statements(text: str) -> list[ast.stmt]:
    """The statements of code; none if it is no Python."""
    source = textwrap.dedent(text)
    if syntax_error(source) is not None:
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source.removeprefix("\ufeff")).body


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_OF_AN_EXAMPLE = (
    *(ast.Import, ast.ImportFrom, ast.Expr, ast.Assert, ast.Assign, ast.AnnAssign, ast.AugAssign),
    *(ast.For, ast.While, ast.If, ast.With, ast.Try, ast.Pass),
)
_WITH_A_VALUE = (ast.Assign, ast.AnnAssign, ast.Return, ast.Expr)
_OPERATIONS = (ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare)


def _imports_target(node: ast.stmt, targets: Sequence[str]) -> bool:
    modules: list[str] = []
    if isinstance(node, ast.Import):
        modules = [each.name for each in node.names]
    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
        modules = [node.module, *(f"{node.module}.{each.name}" for each in node.names)]
    names = [target.removesuffix(".py").removesuffix("/__init__").replace("/", ".") for target in targets]
    return any(f".{name}".endswith(f".{module}") for module in modules for name in names)


def _imported(body: Sequence[ast.stmt]) -> Set[str]:
    """The names that import statements give."""
    aliases = [each for node in body if isinstance(node, (ast.Import, ast.ImportFrom)) for each in node.names]
    return {each.asname or each.name.partition(".")[0] for each in aliases}


def _lacks(source: str, names: Set[str]) -> bool:
    """Whether a text uses one of the names that it does not define at its top level, or imports all names of a module, or is no Python."""
    if len(source) > MAX_SOURCE or syntax_error(source) is not None:
        return True
    body = _statements(source)
    nodes = [each for node in body for each in ast.walk(node)]
    if "*" in names or any(isinstance(each, ast.ImportFrom) and each.names[0].name == "*" for each in nodes):
        return True
    used = {each.id for each in nodes if isinstance(each, ast.Name)} & names
    defined = {each.name for each in body if isinstance(each, _DEFINITIONS)} | _imported(body)
    return not used <= defined


def _shows(node: ast.stmt, names: Set[str]) -> bool:
    """Whether a statement prints or asserts something, or calls an interface and drops what it returns."""
    if isinstance(node, ast.Assert):
        return any(isinstance(each, ast.Call) and _called(each) in names for each in ast.walk(node))
    called = _called(node.value) if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else ""
    return called == "print" or called in names


def _made(node: ast.stmt, names: Set[str]) -> list[str]:
    """The variables that a statement gives an object of an interface that is a class: `tokenizer = Tokenizer(merges)`."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return []
    if (called := _called(node.value)) not in names or not called[:1].isupper():
        return []
    return [each.id for each in node.targets if isinstance(each, ast.Name)]


def _uses(node: ast.stmt, made: Set[str]) -> bool:
    """Whether a statement calls a method of one of these variables and drops what it returns."""
    call = node.value if isinstance(node, ast.Expr) else None
    function = call.func if isinstance(call, ast.Call) else None
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in made


def _called(node: ast.Call) -> str:
    function = node.func
    return (
        function.id if isinstance(function, ast.Name) else function.attr if isinstance(function, ast.Attribute) else ""
    )


def _computes(node: ast.AST) -> bool:
    """Whether an expression has an operation and more, so that it is not found everywhere, and is no longer than people write."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0)
    if last - first > MAX_LINES or (last == first and node.end_col_offset - node.col_offset > MAX_LINE):  # type: ignore[attr-defined]
        return False
    inner = [each for each in ast.walk(node) if isinstance(each, (*_OPERATIONS, ast.Call, ast.Subscript, ast.Lambda))]
    return len(inner) > 1 and any(isinstance(each, _OPERATIONS) for each in inner)


def _shapes(source: str) -> Iterator[str]:
    for node in _statements(source) if len(source) <= MAX_SOURCE else ():
        for each in ast.walk(node):
            if isinstance(each, ast.expr) and _computes(each):
                yield _shape(each)


def _shape(node: ast.AST, names: dict[str, str] | None = None) -> str:
    """An expression with a number for each variable, or attribute of one, in the order in which they occur. Functions keep their names."""
    names = {} if names is None else names
    if isinstance(node, ast.Name | ast.Attribute | ast.arg):
        plain = node.arg if isinstance(node, ast.arg) else ast.unparse(node)
        return names.setdefault(plain, str(len(names)))
    if isinstance(node, ast.Call):
        called = _called(node) or _shape(node.func, names)
        return f"{called}({', '.join(_shape(each, names) for each in (*node.args, *node.keywords))})"
    fields = []
    for _, value in ast.iter_fields(node):
        for each in value if isinstance(value, list) else [value]:
            fields.append(_shape(each, names) if isinstance(each, ast.AST) else repr(each))
    return f"{type(node).__name__}({', '.join(fields)})"
