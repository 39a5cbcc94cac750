"""Explains failed assertions of a test file as pytest does: `assert 1.5 == 2.0`, and how the two sides differ.

Runs in the shared judge, in one process with the candidate. Its code is compiled into the tests by the runners and
called when an assertion has failed. Must not change whether an assertion fails, and must not put its text into the
exception, which candidate code may catch; errors while the text is made cost the text only.

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

try:  # pytest has no public way to do it for what lies on no disk
    import _pytest.assertion as assertion
    from _pytest.assertion import rewrite, util
except ImportError:  # of another pytest: the words are not worth a verdict
    assertion = rewrite = util = None  # type: ignore[assignment]

_MARK = "@py"  # begins every name that pytest adds
_HELPERS, _BUILTINS = f"{_MARK}test_ar", f"{_MARK}_builtins"
_LINES, _CHARACTERS = 8, 640
"""Of an explanation, as pytest's own defaults."""

_PASSING = re.compile(r"0x[0-9a-f]{8,}|(?<=\w)_[0-9a-f]{16}\b")
"""Addresses, and what is added to the names of hidden modules: other ones in every grading."""
_Failure = AssertionError
_exact, _locals = str.__str__, locals
_said: deque[tuple[AssertionError, str]] = deque(maxlen=50)


def compiled(source: bytes, file: str, namespace: dict[str, Any]) -> Any:
    """The code of a module whose assertions say more, to be run in this namespace."""
    plain = compile(source, file, "exec", dont_inherit=True)
    try:
        tree = ast.parse(source, file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rewrite.rewrite_asserts(tree, source, file)
        tree.body = [node for node in tree.body if not _imports_helpers(node)]
        code = compile(_Raises().visit(tree), file, "exec", dont_inherit=True)
    except Exception:  # noqa: BLE001  whatever another pytest does: the words are not worth a verdict
        return plain
    namespace.update({_HELPERS: _Helpers(), _BUILTINS: _Builtins})
    return code


@contextmanager
def told() -> Iterator[None]:
    """While an account for people is written, the exceptions say all; then no more, as anybody may have kept one."""
    were = [(error, error.args) for error, _ in _said]
    for error, text in _said:
        error.args = (text,)
    try:
        yield
    finally:
        for error, args in reversed(were):
            error.args = args


def forget() -> None:
    _said.clear()


def _imports_helpers(node: ast.stmt) -> bool:
    """They are handed over instead: what an import finds, others can put there."""
    return isinstance(node, ast.Import) and any((name.asname or "").startswith(_MARK) for name in node.names)


class _Raises(ast.NodeTransformer):
    """`raise AssertionError(words)` of pytest's becomes `raise helpers.failure(words)`."""

    def visit_Raise(self, node: ast.Raise) -> ast.Raise:
        call = node.exc
        words = call.args[0] if isinstance(call, ast.Call) and len(call.args) == 1 else None
        made = words.func if isinstance(words, ast.Call) else None
        if isinstance(made, ast.Attribute) and isinstance(made.value, ast.Name) and made.value.id == _HELPERS:
            made.attr = "failure"
            node.exc = words
        return node


class _Builtins:
    locals = staticmethod(_locals)


def _guarded(make: Callable[..., Any], instead: str = "…") -> Callable[..., str]:
    """Words, whatever comes of asking a candidate's object for them."""

    def words(*given: Any) -> str:
        try:
            return _exact(make(*given))
        except BaseException:  # noqa: BLE001  the assertion has failed, and is to say so
            return instead

    return words


class _Helpers:
    """What pytest's statements ask for, where an assertion has failed."""

    _message: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        return _guarded(lambda *given: getattr(rewrite, name)(*given))

    def _format_assertmsg(self, message: Any) -> str:
        self._message = (message,)
        return _worded(message)

    @staticmethod
    def _call_reprcompare(operators: Any, results: Any, words: Any, values: Any) -> str:
        return _details(operators, results, values) or _exact(words[_failed(results)])

    @staticmethod
    def _should_repr_global_name(value: Any) -> bool:
        try:
            return rewrite._should_repr_global_name(value) is True
        except BaseException:  # noqa: BLE001  as above
            return False

    def failure(self, explanation: str) -> AssertionError:
        """What is raised: it says what it would in plain Python."""
        message, self._message = self._message, ()
        error = _Failure(*message)
        _said.append((error, _PASSING.sub("…", _formatted(explanation))))
        return error


_formatted = _guarded(lambda text: util.format_explanation(text))
_worded = _guarded(lambda message: rewrite._format_assertmsg(message), "")


def _failed(results: Any) -> int:
    """Which of the comparisons in `a < b < c` it was, or the last, where one cannot be asked."""
    try:
        return next((at for at, holds in enumerate(results) if not holds), len(results) - 1)
    except BaseException:  # noqa: BLE001  as above
        return len(results) - 1


def _compared(operators: Any, results: Any, values: Any) -> str:
    """As pytest's own, without the configuration that leads to the tests."""
    at = _failed(results)
    lines = assertion.pytest_assertrepr_compare(_ASKED, operators[at], values[at], values[at + 1])
    if not lines:
        return ""
    kept = [line.replace("\n", "\\n") for line in _cut([_exact(line) for line in lines])]
    return "\n~".join(kept).replace("%", "%%")


def _cut(lines: list[str]) -> list[str]:
    room, kept = _CHARACTERS, []
    for line in lines[:_LINES]:
        kept.append(line[: max(room, 0)])
        room -= len(line)
    return kept if len(lines) <= _LINES and room >= 0 else [*filter(None, kept), "...Full output truncated"]


_details = _guarded(_compared, "")


_WRITER = types.SimpleNamespace(_highlight=lambda source, *_, **__: source)
_ASKED: Any = types.SimpleNamespace(
    pluginmanager=types.SimpleNamespace(has_plugin=lambda *_: False),
    get_terminal_writer=lambda: _WRITER,
    getini={"assertion_text_diff_style": "ndiff"}.get,
    getoption=lambda *_: 0,
    get_verbosity=lambda *_: 0,
)
"""A configuration with nothing in it but what an explanation depends on, in pytest 7, 8 or 9."""
