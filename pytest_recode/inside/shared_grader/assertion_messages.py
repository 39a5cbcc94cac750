"""Explains failed assertions of a test file as pytest does: `assert 1.5 == 2.0`, and how the two sides differ.

Runs in the shared judge, in one process with the candidate. Its code is compiled into the tests by the runners and
called when an assertion has failed. Must not change whether an assertion fails, and must not put its text into the
exception, which candidate code may catch; errors while the text is made cost the text only. Assertions that contain
`:=` are not explained, because some versions of pytest evaluate `:=` more than once.

Stdlib and pytest, Python 3.9+.
"""

from __future__ import annotations

import ast
import re
import types
import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

try:  # pytest has no public way to do this for sources that are not on disk
    import _pytest.assertion as assertion
    from _pytest.assertion import rewrite, util
except ImportError:  # another version of pytest: only the explanations are lost
    assertion = rewrite = util = None  # type: ignore[assignment]

_MARK = "@py"  # the prefix of every name that pytest adds
_HELPERS, _BUILTINS = f"{_MARK}test_ar", f"{_MARK}_builtins"
_LINES, _CHARACTERS = 8, 640
"""Limits of an explanation, as in pytest."""

_VARYING = re.compile(r"0x[0-9a-f]{8,}|(?<=\w)_[0-9a-f]{16}\b")
"""Addresses, and suffixes of the names of hidden modules: they differ in every grading."""
_Failure = AssertionError
_exact, _locals = str.__str__, locals
_explanations: deque[tuple[AssertionError, str]] = deque(maxlen=50)


def compiled(source: bytes, file: str, namespace: dict[str, Any]) -> Any:
    """Compile a module so that its assertions are explained. The code has to be run in `namespace`."""
    plain = compile(source, file, "exec", dont_inherit=True)
    try:
        tree = ast.parse(source, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rewrite.rewrite_asserts(_Withheld().visit(tree), source, file)
        tree.body = [node for node in tree.body if not _imports_helpers(node)]
        code = compile(_Restored().visit(tree), file, "exec", dont_inherit=True)
    except Exception:  # noqa: BLE001  another version of pytest: only the explanations are lost
        return plain
    namespace.update({_HELPERS: _Helpers(), _BUILTINS: _Builtins})
    return code


@contextmanager
def explained() -> Iterator[None]:
    """Put the explanations into the exceptions while a report is written. Afterwards they are removed, because candidate
    code may hold one of the exceptions."""
    before = [(error, error.args) for error, _ in _explanations]
    for error, text in _explanations:
        error.args = (text,)
    try:
        yield
    finally:
        for error, args in reversed(before):
            error.args = args


def clear() -> None:
    _explanations.clear()


def _imports_helpers(node: ast.stmt) -> bool:
    """Whether it is an import that pytest added. The helpers are passed instead, because an import can be redirected."""
    return isinstance(node, ast.Import) and any((name.asname or "").startswith(_MARK) for name in node.names)


class _Placeholder(ast.Pass):
    """Replaces an assertion while pytest rewrites the others."""

    assertion: ast.Assert


class _Withheld(ast.NodeTransformer):
    """Replaces assertions that contain `:=` by placeholders.

    pytest 8.3 evaluates `:=` again for the next part of a comparison, and for the same name in later assertions.
    """

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        if not any(isinstance(part, ast.NamedExpr) for part in ast.walk(node)):
            return node
        placeholder = ast.copy_location(_Placeholder(), node)
        placeholder.assertion = node
        return placeholder


class _Restored(ast.NodeTransformer):
    """Replaces `raise AssertionError(text)` as pytest writes it by `raise helpers.failure(text)`, and placeholders by
    their assertions."""

    def visit__Placeholder(self, node: _Placeholder) -> ast.Assert:
        return node.assertion

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        call = node.exc
        text = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
        helper = text.func if isinstance(text, ast.Call) else None
        if isinstance(helper, ast.Attribute) and isinstance(helper.value, ast.Name) and helper.value.id == _HELPERS:
            helper.attr = "failure"
            node.exc = text
        return node


class _Builtins:
    locals = staticmethod(_locals)


def _guarded(make: Callable[..., Any], fallback: str = "…") -> Callable[..., str]:
    """A function that returns the text of `make`, or `fallback` where a candidate's object raises."""

    def text(*arguments: Any) -> str:
        try:
            return _exact(make(*arguments))
        except BaseException:  # noqa: BLE001  the assertion has failed, and that has to be reported
            return fallback

    return text


class _Helpers:
    """The functions that pytest's rewritten assertions call after a failure."""

    _message: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return _guarded(lambda *arguments: getattr(rewrite, name)(*arguments))

    def _format_assertmsg(self, message: Any) -> str:
        self._message = (message,)
        return _format_message(message)

    @staticmethod
    def _call_reprcompare(operators: Any, results: Any, texts: Any, values: Any) -> str:
        return _details(operators, results, values) or _exact(texts[_failed(results)])

    @staticmethod
    def _should_repr_global_name(value: Any) -> bool:
        try:
            return rewrite._should_repr_global_name(value) is True
        except BaseException:  # noqa: BLE001  as above
            return False

    def failure(self, explanation: str) -> AssertionError:
        """The exception to raise. Its text is that of plain Python."""
        message, self._message = self._message, ()
        error = _Failure(*message)
        _explanations.append((error, _VARYING.sub("…", _format(explanation))))
        return error


_format = _guarded(lambda text: util.format_explanation(text))
_format_message = _guarded(lambda message: rewrite._format_assertmsg(message), "")


def _failed(results: Any) -> int:
    """The index of the comparison in `a < b < c` that failed, or the last, where evaluating one raises."""
    try:
        return next((at for at, holds in enumerate(results) if not holds), len(results) - 1)
    except BaseException:  # noqa: BLE001  as above
        return len(results) - 1


def _compared(operators: Any, results: Any, values: Any) -> str:
    """As pytest's own function, without the configuration, which would lead to the tests."""
    at = _failed(results)
    lines = assertion.pytest_assertrepr_compare(_CONFIG, operators[at], values[at], values[at + 1])
    if not lines:
        return ""
    shown = [line.replace("\n", "\\n") for line in _cut([_exact(line) for line in lines])]
    return "\n~".join(shown).replace("%", "%%")


def _cut(lines: list[str]) -> list[str]:
    left, shown = _CHARACTERS, []
    for line in lines[:_LINES]:
        shown.append(line[: max(left, 0)])
        left -= len(line)
    return shown if len(lines) <= _LINES and left >= 0 else [*filter(None, shown), "...Full output truncated"]


_details = _guarded(_compared, "")


_WRITER = types.SimpleNamespace(_highlight=lambda source, *_, **__: source)
_CONFIG: Any = types.SimpleNamespace(
    pluginmanager=types.SimpleNamespace(has_plugin=lambda *_: False),
    get_terminal_writer=lambda: _WRITER,
    getini={"assertion_text_diff_style": "ndiff"}.get,
    getoption=lambda *_: 0,
    get_verbosity=lambda *_: 0,
)
"""A configuration that has only what explanations of pytest 7, 8 and 9 depend on."""
