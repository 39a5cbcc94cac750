"""Records which findings of the static checks were executed: a finding in code that never runs does not count.

Runs in the shared judge, in one process with the candidate. `audit_monitor.py` compiles candidate files with it; the
marks are called from candidate code. Must not call a method of a candidate's value from a mark, and must not raise
from one.

Before each statement with a finding, and first in each method that may answer a comparison, the compiled code calls a
`Mark`. A statement counts once it is reached. A method counts once it is called on behalf of the tests, because what
a candidate compares for itself does not affect the verdict.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import ast
import secrets
import sys
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from . import static_class_checks

Action = Callable[[types.FrameType], None]


class Finding(NamedTuple):
    """A finding of the static checks. `nodes`: where it is in the source, all in one line."""

    what: str
    line: int
    nodes: tuple[ast.AST, ...]


class Mark:
    """A constant in the candidate's code, called to record that the code was reached. It has no state that code which finds
    it could change. A pickled copy records nothing."""

    __slots__ = ()

    def __call__(self) -> None:
        _actions[self](sys._getframe(1))

    def __reduce__(self) -> tuple[Any, ...]:
        return type, (None,)


_actions: dict[Mark, Action] = {}
_answered: dict[Mark, bool] = {}
"""For each marked comparison method: whether it was called on behalf of the tests."""


def answered(function: types.FunctionType) -> bool:
    """Whether the tests may have used a result of this method: yes, unless it has a mark that they did not reach."""
    own = [_answered[each] for each in function.__code__.co_consts if type(each) is Mark and each in _answered]
    return not own or any(own)


def compiled(
    tree: Any,
    file: str,
    findings: Sequence[Finding],
    reached: Callable[[Finding], None],
    for_tests: Callable[[types.FrameType], bool],
) -> Any:
    """Compile a module with marks; `tree` is changed. Raises as `compile` does.

    `reached` is called with a finding each time it is executed. `for_tests` is called with the frame of a method, and
    returns whether it was called on behalf of the tests.
    """
    homes, blocks = _homes(tree)
    methods = {
        id(each): each for node in ast.walk(tree) if isinstance(node, ast.ClassDef) for each in _markable_methods(node)
    }
    of_method: dict[int, list[Finding]] = {}
    of_home: dict[int, list[Finding]] = {}
    for finding in findings:
        for node in finding.nodes:
            if id(node) in methods:
                of_method.setdefault(id(node), []).append(finding)
            else:
                of_home.setdefault(id(homes[id(node)]), []).append(finding)
    marks: dict[str, Mark] = {}

    def mark(at: ast.AST, made: Mark) -> Any:
        name = f"mark {len(marks)} {secrets.token_hex(8)}"
        marks[name] = made
        call = ast.Call(func=ast.Constant(value=name), args=[], keywords=[])
        return ast.fix_missing_locations(ast.copy_location(call, at))

    for home in {id(each): each for each in homes.values() if isinstance(each, ast.Lambda)}.values():
        if id(home) in of_home:
            _insert_first(home, mark(home, _of_statement(of_home[id(home)], reached)))
    for method in methods.values():
        _insert_first(method, mark(method, _of_method(of_method.get(id(method), ()), reached, for_tests)))
    for block in blocks:
        first = _first(block)
        marked = [
            (max(at, first), mark(statement, _of_statement(of_home[id(statement)], reached)))
            for at, statement in enumerate(block)
            if id(statement) in of_home
        ]
        for at, call in reversed(marked):
            block.insert(at, ast.copy_location(ast.Expr(value=call), call))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about calling a string, which a mark replaces
        return _filled(compile(tree, file, "exec", dont_inherit=True), marks)


def _of_statement(findings: Sequence[Finding], reached: Callable[[Finding], None]) -> Mark:
    made = Mark()

    def act(frame: types.FrameType) -> None:
        for finding in findings:
            reached(finding)

    _actions[made] = act
    return made


def _of_method(
    findings: Sequence[Finding], reached: Callable[[Finding], None], for_tests: Callable[[types.FrameType], bool]
) -> Mark:
    made = Mark()

    def act(frame: types.FrameType) -> None:
        if not _answered[made] and for_tests(frame):
            _answered[made] = True
            for finding in findings:
                reached(finding)

    _actions[made], _answered[made] = act, False
    return made


def _homes(tree: ast.AST) -> tuple[dict[int, ast.AST], list[list[ast.stmt]]]:
    """The innermost statement or lambda that contains each node, and all lists of statements.

    The body of a loop belongs to the loop: how often it runs depends on data, so it counts when the loop is reached.
    """
    homes: dict[int, ast.AST] = {}
    blocks = []
    left = [(tree, tree)]
    while left:
        node, home = left.pop()
        homes[id(node)] = home
        for field, value in ast.iter_fields(node):
            around = node if isinstance(node, ast.Lambda) and field == "body" else home
            apart = not (isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and field == "body")
            children = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)]
            if children and isinstance(children[0], ast.stmt):
                blocks.append(value)
            left += [(each, each if apart and isinstance(each, ast.stmt) else around) for each in children]
    return homes, blocks


def _markable_methods(node: ast.ClassDef) -> Iterator[Any]:
    """Comparison methods whose first statement runs at each call: no generators, and no decorated functions."""
    for function in static_class_checks.methods_to_mark(node):
        decorated = getattr(function, "decorator_list", ())
        if not decorated and not isinstance(function, ast.AsyncFunctionDef) and not _is_generator(function):
            yield function


def _is_generator(function: Any) -> bool:
    left = [*function.body] if isinstance(function.body, list) else [function.body]
    while left:
        node = left.pop()
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            return True
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            left += ast.iter_child_nodes(node)
    return False


def _insert_first(function: Any, call: ast.expr) -> None:
    if isinstance(function, ast.Lambda):
        both = ast.BoolOp(op=ast.Or(), values=[call, function.body])  # a mark returns None
        function.body = ast.copy_location(both, function.body)
    else:
        function.body.insert(_first(function.body), ast.copy_location(ast.Expr(value=call), call))


def _first(block: Sequence[ast.stmt]) -> int:
    """The index of the first statement after a docstring and imports from `__future__`."""
    at = 0
    for at, each in enumerate(block):
        text = isinstance(each, ast.Expr) and isinstance(each.value, ast.Constant) and isinstance(each.value.value, str)
        if not (text and at == 0) and not (isinstance(each, ast.ImportFrom) and each.module == "__future__"):
            return at
    return at + 1


def _filled(code: types.CodeType, marks: dict[str, Mark]) -> types.CodeType:
    consts = (
        _filled(each, marks)
        if isinstance(each, types.CodeType)
        else marks.get(each, each)
        if type(each) is str
        else each
        for each in code.co_consts
    )
    return code.replace(co_consts=tuple(consts))
