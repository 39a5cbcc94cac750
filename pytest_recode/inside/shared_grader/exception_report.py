"""Reports an exception to the host without the tests' messages or sources.

Runs in the shared judge, in one process with the candidate. Called by the runners and by `shared_judge.py` after a case or a
run has failed. Must not reveal the text or the values of hidden tests.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import dis
import traceback
import types
from pathlib import Path
from typing import Any, Optional

from ..grading import failure_symptom
from ..wire import messages
from .concealment import memory_modules

MAX_MESSAGE = 4_000  # characters of a case's message
MAX_FRAMES = 20
HIDDEN = "<tests>"
"""The directory in which tracebacks show hidden files. It does not exist."""

_repository: list[str] = []


def set_repository(directory: Path) -> None:
    """Set the repository's directory, for a runner that changes the working directory before it runs tests."""
    _repository[:] = [str(directory)]


def failure_report(exc: BaseException) -> messages.FailureReport:
    """Describe an exception that failed a case.

    `exception` is set where code raised it, not an assertion of the tests. It has the candidate's own frames only.
    """
    with memory_modules.sources_in_linecache():
        return _failure_report(exc)


def _failure_report(exc: BaseException) -> messages.FailureReport:
    directory = _repository[0] if _repository else str(Path.cwd())
    frames, candidate_raised = [], False  # whether the innermost frame of candidate and tests is the candidate's
    for frame in traceback.extract_tb(exc.__traceback__):
        if frame.filename.startswith((f"{directory}/", f"{HIDDEN}/")):
            candidate_raised = not frame.filename.startswith(HIDDEN) and Path(frame.filename).exists()
            if candidate_raised:
                path = frame.filename[len(directory) + 1 :]
                frames.append(f"{path}:{frame.lineno} in {_cut(frame.name, 200)}: {_cut(frame.line or '', 200)}")
    if isinstance(exc, SyntaxError) and exc.filename:
        frames.append(
            f"{exc.filename.replace(directory + '/', '')}:{exc.lineno}: {_cut((exc.text or '').strip(), 200)}"
        )
    text = "".join(traceback.format_exception(type(exc), exc, _traceback_from_tests(exc, directory)))[-MAX_MESSAGE:]
    assertion = not candidate_raised and _may_quote_tests(exc, directory)
    report: Optional[messages.ExceptionReport] = None
    if not assertion:
        report = {
            "type": _cut(type(exc).__name__, 200),
            "message": _cut(_text_of(exc), MAX_MESSAGE),
            "frames": frames[-MAX_FRAMES:],
        }
    if not candidate_raised and _undefined(exc):
        kind = "undefined"
    else:
        kind = failure_symptom.symptom(exc) if assertion else failure_symptom.of_raised(exc)
    return {
        "kind": kind,
        "message": text,
        "exception": report,
    }


def _undefined(exc: BaseException) -> bool:
    """Whether the interpreter found a name missing in a module (Python 3.10; `obj` is set for such look-ups only)."""
    return type(exc) is AttributeError and type(getattr(exc, "obj", None)) is types.ModuleType


_FROM_INTERPRETER = (ImportError, AttributeError, TypeError, NameError)
"""Exceptions whose text the interpreter itself often makes: for a missing name, or a call with wrong arguments."""


def _may_quote_tests(exc: BaseException, directory: str) -> bool:
    """Whether the text of an exception that was raised in the tests may be the tests' own."""
    if isinstance(exc, SyntaxError):
        return False
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if not isinstance(exc, _FROM_INTERPRETER) or tb is None:
        return True
    file = tb.tb_frame.f_code.co_filename
    if file.startswith((f"{directory}/", f"{HIDDEN}/")) and not Path(file).exists():
        return tb.tb_frame.f_code.co_code[tb.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return not isinstance(exc, ImportError)


def _cut(text: str, most: int) -> str:
    """The first characters, without calling a method of a candidate's subclass of `str`."""
    return str.__getitem__(text, slice(most))


def _text_of(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:  # noqa: BLE001  the candidate's own class may raise here
        return "<its message cannot be read>"


def _traceback_from_tests(exc: BaseException, directory: str) -> Any:
    """The traceback without the frames of the judge and pytest that led to the tests."""
    tb = exc.__traceback__
    while tb is not None and not tb.tb_frame.f_code.co_filename.startswith((f"{directory}/", f"{HIDDEN}/")):
        tb = tb.tb_next
    return tb or exc.__traceback__
