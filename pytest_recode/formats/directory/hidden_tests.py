"""Find errors in hidden tests by reading them, so that they are reported before any model call is paid for.

Reports what the grader is certain to reject, and a test that is defined twice, of which the grader sees only the last. Tests that may be
marked, created or removed while they are imported (by a conftest.py, a decorator, a class, a name that is used twice) are left to the grader.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath

from pytest_recode.inside.grading.interface_names import interface_named, not_among
from pytest_recode.program.source import tree_of

_COLLECTED = re.compile(r"test_.*\.py|.*_test\.py", re.DOTALL)
_NOT_ENTERED = re.compile(r".*\.egg|\..*|_darcs|build|CVS|dist|node_modules|venv|\{arch\}", re.DOTALL)
_SURELY_A_TEST = re.compile(rb"^(async )?def test|^class ", re.MULTILINE)
_DEFINES_A_TEST = re.compile(rb"^([ \t]*)(?:async def|def|class) +([tT]est\w*)", re.MULTILINE)
_UNDECORATED = re.compile(rb"(?:\A|(?:\A|\n)(?![@)])[^\n]*\n)\n*def test_")
_MARKED = re.compile(rb"\.interface\(\s*[\"']([^\"']*)[\"']\s*\)")
_REACHES_ELSEWHERE = re.compile(rb"pytest_plugins|modules|frame|__import__|import_module")
MAY_CHANGE_NAMES = frozenset(
    {"exec", "eval", "compile", "globals", "locals", "vars", "setattr", "delattr", "__dict__", "__getattr__"}
    | {"pytestmark", "__test__"}
)


def problem(tests: Mapping[str, bytes], interfaces: tuple[str, ...]) -> str:
    """The first error in hidden tests (contents by path below tests/), in the words of the grader; "" if there is none."""
    for path, data in tests.items():
        if path.endswith(".py") and (twice := _defined_twice(data)):
            return f"{path}::{twice}"
    if any(path.rpartition("/")[2] == "conftest.py" or _REACHES_ELSEWHERE.search(tests[path]) for path in tests):
        return ""
    files = {path: data for path, data in tests.items() if _is_collected(PurePosixPath(path))}
    if not any(map(_may_hold_a_test, files.values())):
        return "no hidden test was found there; write them as test_*.py::test_*"
    if len(interfaces) > 1:
        for path, data in files.items():
            for found in _without_interface(PurePosixPath(path).stem, data, list(interfaces)):
                return f"{path}::{found}"
    return ""


def _defined_twice(data: bytes) -> str:
    """A test or a class of tests that a second definition replaces, with both lines and what to do; "" if there is none.

    Only definitions in the same block, whose name nothing else uses: a decorator may store the first.
    """
    heads = Counter(_DEFINES_A_TEST.findall(data))
    if max(heads.values(), default=0) < 2 or (module := tree_of(data)) is None:  # parsing takes 10 ms and more
        return ""
    names = Counter(names_in(module))
    if names.keys() & (MAY_CHANGE_NAMES - {"pytestmark", "__test__"}):
        return ""
    for scope, body in _blocks(module):
        first: dict[str, int] = {}
        for node in body:
            if not isinstance(node, _DEFINITION) or not node.name.startswith(("test", "Test")):
                continue
            if node.name in first and names[node.name] == _defined(module, node.name):
                where = f"lines {first[node.name]} and {node.lineno}"
                return (
                    f"{scope}{node.name} is defined twice ({where}), so the first never runs: rename one, or remove it"
                )
            if all(map(_is_mark, node.decorator_list)):
                first[node.name] = node.lineno
    return ""


_DEFINITION = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _blocks(module: ast.Module) -> Iterator[tuple[str, list[ast.stmt]]]:
    """The bodies of a module and of its classes, each with "" or the ids of the classes around it."""
    blocks: list[tuple[str, list[ast.stmt]]] = [("", module.body)]
    while blocks:
        scope, body = blocks.pop(0)
        yield scope, body
        blocks += [(f"{scope}{node.name}::", node.body) for node in body if isinstance(node, ast.ClassDef)]


def _defined(module: ast.Module, name: str) -> int:
    return sum(isinstance(node, _DEFINITION) and node.name == name for node in ast.walk(module))


def _is_mark(decorator: ast.expr) -> bool:
    """Whether this is `@pytest.mark.…`, which stores no test."""
    return ast.unparse(decorator).startswith("pytest.mark.")


def _marks_no_interface(decorator: ast.expr) -> bool:
    """Whether this is another mark of literals, such as `@pytest.mark.parametrize("x", [1, 2])`: values with a name may hold marks."""
    names = {node.id for node in ast.walk(decorator) if isinstance(node, ast.Name)}
    return _is_mark(decorator) and names == {"pytest"} and "interface" not in ast.unparse(decorator)


def _is_collected(path: PurePosixPath) -> bool:
    return bool(_COLLECTED.fullmatch(path.name)) and not any(map(_NOT_ENTERED.fullmatch, path.parts[:-1]))


def _may_hold_a_test(data: bytes) -> bool:
    if _SURELY_A_TEST.search(data):
        return True
    module = tree_of(data)
    names = MAY_CHANGE_NAMES if module is None else set(names_in(module))
    return any(name in MAY_CHANGE_NAMES or name.startswith(("test", "Test", "*")) for name in names)


def _without_interface(stem: str, data: bytes, interfaces: list[str]) -> Iterator[str]:
    """Messages for the tests of a file whose interface cannot be determined."""
    # Parsing takes 10 ms and more, and is not needed if each test has a valid marker
    if not _UNDECORATED.search(data) and all(
        name.decode(errors="replace") in interfaces for name in _MARKED.findall(data)
    ):
        return
    module = tree_of(data)
    names = Counter(() if module is None else names_in(module))
    if module is None or names.keys() & MAY_CHANGE_NAMES or "*" in names:
        return
    for function in module.body:
        if not isinstance(function, ast.FunctionDef) or not function.name.startswith("test_"):
            continue
        named = [(_mark(decorator), decorator) for decorator in function.decorator_list]
        marks = [name for name, _ in named if name is not None]
        others = [decorator for name, decorator in named if name is None]
        if len(marks) > 1 or names[function.name] > 1 or not all(map(_marks_no_interface, others)):
            continue
        if not marks:
            _, reason = interface_named(function.name, stem, interfaces)
            if reason:
                yield f"{function.name} {reason}"
        elif marks[0] not in interfaces:
            yield f"{function.name}: {not_among(marks[0], interfaces)}"


def names_in(tree: ast.AST) -> Iterator[str]:
    """Every occurrence of a name in a file or a part of it, including string constants, which may be used as names."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.arg(arg=name):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=other):
                yield other or name
            case ast.Constant(value=str(text)):
                yield text


def _mark(decorator: ast.expr) -> str | None:
    """The name in `@pytest.mark.interface("name")`, or None for any other decorator."""
    match decorator:
        case ast.Call(
            func=ast.Attribute(value=ast.Attribute(value=ast.Name(id="pytest"), attr="mark"), attr="interface"),
            args=[ast.Constant(value=str(name))],
            keywords=[],
        ):
            return name
    return None
