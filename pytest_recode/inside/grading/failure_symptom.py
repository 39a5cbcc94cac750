"""Classifies an exception that failed a test: other values, another shape, another type, or a missing exception.

Runs in the graders' processes, the separate grader's and the shared judge's. Called after a case has failed. Must not
call a method of a candidate's value, and must not decide a verdict: the result is a word in the record and in
feedback.

Reads the source of the failing statement and the local variables of the test.

Stdlib and `value_kinds.py`, Python 3.9+.
"""

from __future__ import annotations

import ast
import functools
import linecache
import os
import re
import sys
import types
from collections.abc import Iterator
from typing import Any, Optional

from . import value_kinds

OTHER = "assertion"
"""The kind where nothing more is known: a property that the result must have does not hold."""

_LIBRARY = f"{os.path.dirname(os.__file__)}{os.sep}"
_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
_Signs = tuple[tuple[str, tuple[str, ...]], ...]
_ASSERTED: _Signs = (
    ("no-exception", ("DID NOT RAISE", " not raised")),
    ("no-warning", ("DID NOT WARN", " not triggered")),
    ("shape", ("The values for attribute 'shape' do not match", "(shapes ")),
    ("dtype", ("The values for attribute 'dtype' do not match", "to be of the same type")),
    ("length", ("The length of the sequences mismatch",)),
    ("not-finite", ("nan location mismatch", "inf location mismatch")),
    ("mismatch", ("Not equal to tolerance", "Arrays are not", "Items are not equal", "are not almost equal")),
    ("mismatch", ("Tensor-likes are not", "Scalars are not", "Arrays are not equal")),
)
"""Phrases in the messages of pytest's, unittest's, numpy's and torch's assertions. The first that matches decides."""
_MISUSED: _Signs = (
    (
        "shape",
        ("must match the size of tensor", "could not be broadcast", "shape mismatch", "shapes cannot be multiplied"),
    ),
    ("shape", ("an inhomogeneous shape", "must have the same shape")),
    ("length", ("not enough values to unpack", "too many values to unpack")),
    (
        "dtype",
        (
            "has no attribute",
            "unsupported operand type",
            "object is not",
            "must be Tensor, not",
            "must be real number, not",
            "not supported between instances",
            "did not match Double",
            "did not match Float",
            "expected scalar type",
            "can't convert",
            "cannot unpack non-iterable",
            "indices must be integers",
            "has no len()",
            "not supported for the input types",
        ),
    ),
)
"""Phrases in the messages of Python, numpy and torch where a test uses a result of another shape or type than it expects."""
_MISUSE_ERRORS = (AttributeError, TypeError, ValueError, RuntimeError)
_COMPARING = frozenset(
    (
        *("allclose", "isclose", "equal", "array_equal", "array_equiv"),
        *("assert_close", "assert_allclose", "assert_array_equal", "assert_equal"),
    )
)
_TYPES = frozenset(
    ("isinstance", "issubclass", "type", "is_tensor", "is_floating_point", "is_complex", "issubdtype", "dtype")
)
_SHAPES = frozenset(("shape", "ndim", "dim", "size", "numel"))
_FINITE = frozenset(("isfinite", "isnan", "isinf"))
_LIBRARIES = frozenset(("np", "numpy", "math", "cmath", "torch"))
_EQUAL = frozenset(
    f"assert{what}"
    for what in (
        *("Equal", "Equals", "AlmostEqual", "AlmostEquals", "ListEqual", "TupleEqual", "DictEqual", "SetEqual"),
        *("SequenceEqual", "CountEqual", "MultiLineEqual"),
    )
)
_COUNTED = re.compile(r"^Mismatched elements: \d+ / (\d+)", re.MULTILINE)
_RAISING = frozenset(("raises", "assertRaises", "assertRaisesRegex"))
_DISTANCE = frozenset(("abs", "absolute", "norm", "max", "amax", "sum", "mean", "item", "float", "fabs", "sqrt"))


def symptom(error: BaseException) -> str:
    """The kind of a failure, as in `Case.kind`. An exception in this module only loses the kind."""
    try:
        return _symptom(error)
    except BaseException:  # noqa: BLE001  a candidate's object may raise anything
        return OTHER


def of_raised(error: BaseException) -> str:
    """The kind of a failure by an exception of the candidate: "other-exception" where the test asks for another one, or "exception"."""
    try:
        return "other-exception" if any(_asks_for_one(frame, line) for frame, line in _frames(error)) else "exception"
    except BaseException:  # noqa: BLE001  a candidate's object may raise anything
        return "exception"


@functools.lru_cache(maxsize=8)
def statements(source: str) -> tuple[ast.stmt, ...]:
    """The statements of a file in the order of `ast.walk`. Raises `SyntaxError`."""
    return tuple(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.stmt))


def _frames(error: BaseException) -> Iterator[tuple[types.FrameType, int]]:
    """The frames that are neither a library's nor this project's, with their lines, from the outermost."""
    tb = error.__traceback__
    while tb is not None:
        file = tb.tb_frame.f_code.co_filename
        name = tb.tb_frame.f_globals.get("__name__", "")
        library = file.startswith((_LIBRARY, "<frozen")) or any(part in file for part in _INSTALLED)
        if not library and not (isinstance(name, str) and name.startswith(("_recode.", "pytest_recode."))):
            yield tb.tb_frame, tb.tb_lineno
        tb = tb.tb_next


def _asks_for_one(frame: types.FrameType, line: int) -> bool:
    """Whether a line is within `with pytest.raises(...)`, or calls a function through it."""
    for node in statements("".join(linecache.getlines(frame.f_code.co_filename))):
        calls: list[ast.expr] = []
        if isinstance(node, (ast.With, ast.AsyncWith)) and node.body[0].lineno <= line <= (node.end_lineno or 0):
            calls = [item.context_expr for item in node.items]
        elif isinstance(node, ast.Expr) and node.lineno <= line <= (node.end_lineno or 0):
            calls = [node.value]
        if any(isinstance(call, ast.Call) and _name(call.func) in _RAISING for call in calls):
            return True
    return False


def _symptom(error: BaseException) -> str:
    by_text = _of_text(error)
    frame = _test_frame(error)
    if frame is None:
        return by_text or OTHER
    statement = _statement(frame[0].f_code.co_filename, frame[1])
    if by_text in ("", "mismatch", "length") and statement is not None and not _compares_elements(error, statement):
        stated = _of_statement(statement, {**frame[0].f_globals, **frame[0].f_locals})
        if stated != "not-finite" or isinstance(
            error, AssertionError
        ):  # otherwise it is not known what would have been found
            by_text = stated or by_text
    return by_text or OTHER


def _compares_elements(error: BaseException, statement: ast.stmt) -> bool:
    """Whether numpy found several elements to differ, so that a length or a size in the statement, one number, is not what it compares."""
    text = error.args[0] if error.args else ""
    counted = _COUNTED.search(text) if isinstance(text, str) else None
    whole = {node.attr for node in ast.walk(statement) if isinstance(node, ast.Attribute)} & {"shape", "dtype"}
    return counted is not None and int(counted[1]) > 1 and not whole


def _of_text(error: BaseException) -> str:
    kind = type(error)
    if kind.__module__.endswith("equivalence") and kind.__name__ == "Mismatch":
        return str(getattr(error, "kind", ""))
    if isinstance(error, (AssertionError, *_outcomes())):
        signs = _ASSERTED
    elif isinstance(error, _MISUSE_ERRORS):
        signs = _MISUSED
    else:
        return ""
    text = getattr(error, "msg", None) or (error.args[0] if error.args else "")
    text = str.__getitem__(text, slice(4000)) if isinstance(text, str) else ""
    return next((found for found, words in signs if any(word in text for word in words)), "")


def _outcomes() -> tuple[Any, ...]:
    outcomes = sys.modules.get("_pytest.outcomes")
    return () if outcomes is None else (outcomes.OutcomeException,)


def _test_frame(error: BaseException) -> Optional[tuple[types.FrameType, int]]:
    """The innermost frame that is neither a library's nor this project's, and its line.

    None where it is in a function of the tests that other code called: it checks its arguments, not a result.
    """
    innermost = None
    files: list[str] = []
    for frame, line in _frames(error):
        innermost, file = (frame, line), frame.f_code.co_filename
        files += [file] if files[-1:] != [file] else []
    return None if files[-1:] and files[-1] in files[:-1] else innermost


def _statement(file: str, line: int) -> Optional[ast.stmt]:
    """The innermost statement at a line."""
    statement: Optional[ast.stmt] = None
    for node in statements("".join(linecache.getlines(file))):
        if not node.lineno <= line <= (node.end_lineno or node.lineno):
            continue
        if statement is None or node.lineno >= statement.lineno:
            statement = node
    return statement


def _of_statement(node: ast.stmt, values: dict[str, Any]) -> str:
    if isinstance(node, ast.Assert):
        return _of_expression(node.test, values)
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return ""
    call, name = node.value, _name(node.value.func)
    if name in ("assertTrue", "assert_", "assertFalse") and call.args:
        asserted = call.args[0]
        return _of_expression(ast.UnaryOp(ast.Not(), asserted) if name == "assertFalse" else asserted, values)
    if name in _EQUAL and len(call.args) >= 2:
        return _compared(call.args[0], call.args[1], values, exact=True)
    if name in ("assertIsInstance", "assertNotIsInstance"):
        return "dtype"
    if name == "assert_equivalent" and call.args:
        return _about(call.args[0])
    return _of_expression(call, values) if name in _COMPARING else ""


def _of_expression(node: ast.expr, values: dict[str, Any]) -> str:
    """What an asserted expression checks about the result: values, shape or type; "" for anything else."""
    if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
        aspects = {_of_expression(each, values) for each in node.values}
        if "shape" in aspects and any(_shapes_differ(each, values) for each in node.values):
            return "shape"
        return aspects.pop() if len(aspects) == 1 else ""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], (ast.Eq, ast.Is)):
            return _compared(left, right, values, exact=True)
        if isinstance(node.ops[0], (ast.Lt, ast.LtE)) and _is_distance(left):
            return "mismatch"
        return "dtype" if _about(left) == "dtype" else ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.Not, ast.Invert)):
        return "not-finite" if _of_expression(node.operand, values) == "not-finite" else ""
    if isinstance(node, ast.Call):
        name = _name(node.func)
        if name in _COMPARING and len(node.args) >= 2:
            return _compared(node.args[0], node.args[1], values, exact=False)
        if name in _TYPES:
            return "dtype"
        if name in _FINITE and _name(getattr(node.func, "value", node)) in _LIBRARIES:
            return "not-finite"
        if name in ("all", "any", "item", "bool") and isinstance(node.func, ast.Attribute) and not node.args:
            return _of_expression(node.func.value, values)
        if name in ("all", "any", "bool") and len(node.args) == 1 and not isinstance(node.args[0], ast.GeneratorExp):
            return _of_expression(node.args[0], values)
    return ""


def _compared(one: ast.expr, other: ast.expr, values: dict[str, Any], *, exact: bool) -> str:
    found = _about(one) or _about(other)
    if found:
        return found
    if isinstance(one, ast.Tuple) and isinstance(other, ast.Tuple) and len(one.elts) == len(other.elts):
        kinds = {_about(left) or _about(right) for left, right in zip(one.elts, other.elts)}  # noqa: B905 - Python 3.9
        if kinds - {""}:  # `(x.shape, x.dtype) == ...`: it is not known which of them differ
            return kinds.pop() if len(kinds) == 1 else ""
    known = [_value(node, values) for node in (one, other)]
    return _differing(known[0][0], known[1][0], exact) if all(known) else "mismatch"


def _value(node: ast.expr, values: dict[str, Any]) -> tuple[Any, ...]:
    """The value of a variable or a literal, in a tuple; () for an expression that would have to be evaluated."""
    if isinstance(node, ast.Name):
        return (values[node.id],) if node.id in values else ()
    try:
        return (ast.literal_eval(node),)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ()


def _about(node: ast.expr) -> str:
    """The kind "dtype", "shape" or "length" if an expression reads that of a value; "" otherwise."""
    name = _name(node.func if isinstance(node, ast.Call) else node)
    if isinstance(node, ast.Subscript):
        return _about(node.value) if _about(node.value) == "shape" else ""
    if isinstance(node, (ast.List, ast.Dict)):
        kinds = {_about(each) for each in (node.elts if isinstance(node, ast.List) else node.values)}
        return kinds.pop() if len(kinds) == 1 else ""
    if isinstance(node, (ast.ListComp, ast.DictComp)):
        return _about(node.elt if isinstance(node, ast.ListComp) else node.value)
    if name in _TYPES:
        return "dtype"
    if name in _SHAPES and isinstance(node, (ast.Attribute, ast.Call)):
        return "shape"
    return "length" if isinstance(node, ast.Call) and name == "len" else ""


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_distance(node: ast.expr) -> bool:
    """`abs(a - b)`, `np.abs(a - b).max()`, `(a - b).norm()`."""
    while isinstance(node, ast.Call) and _name(node.func) in _DISTANCE:
        if isinstance(node.func, ast.Attribute) and not node.args:
            node = node.func.value
        elif node.args:
            node = node.args[0]
        else:
            return False
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)


def _shapes_differ(node: ast.expr, values: dict[str, Any]) -> bool:
    if isinstance(node, ast.Compare):
        sides = [node.left, node.comparators[0]]
        bases = [side.value for side in sides if isinstance(side, ast.Attribute)]
        names = [base.id for base in bases if isinstance(base, ast.Name) and base.id in values]
        return len(names) == 2 and _differing(values[names[0]], values[names[1]], exact=False) == "shape"
    return False


def _differing(one: Any, other: Any, exact: bool) -> str:
    """How two values differ. Only values of exact plain types are inspected."""
    kinds = [value_kinds.sent_type(each) for each in (one, other)]
    arrays = [type(each) in _array_types() for each in (one, other)]
    if all(arrays):
        return "shape" if tuple(one.shape) != tuple(other.shape) else "mismatch"
    sequences = [kind in (list, tuple) for kind in kinds]
    if exact and (any(arrays) or kinds[0] is not kinds[1]) and not _numbers(one, other):
        return "dtype"
    if all(sequences) and len(one) != len(other):
        return "length"
    if kinds == [dict, dict] and one.keys() != other.keys():
        return "keys"
    return "mismatch"


def _numbers(*values: Any) -> bool:
    return all(value_kinds.sent_type(value) in (bool, int, float, complex) for value in values)


def _array_types() -> tuple[Any, ...]:
    places = (("numpy", "ndarray"), ("torch", "Tensor"))
    return tuple(getattr(sys.modules.get(module), name, None) for module, name in places)
