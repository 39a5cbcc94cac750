"""Reports an exception to the host without the tests' messages or sources.

Runs in the shared judge, in one process with the candidate. Called by the runners and by `judge.py` after a case or a
run has failed. Must not reveal the text or the values of hidden tests.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import dis
import traceback
from pathlib import Path
from typing import Any, Optional

from ..grading import symptoms
from .concealment import memory_modules

MAX_MESSAGE = 4_000  # characters of a case's account
MAX_FRAMES = 20
HIDDEN = "<tests>"
"""Where what only the tests may see seems to lie: there is no such directory."""

_home: list[str] = []


def settle(place: Path) -> None:
    """Where the repository lies, for a runner that goes elsewhere before it runs tests."""
    _home[:] = [str(place)]


def account(exc: BaseException) -> dict[str, Any]:
    """`exception` is told by the candidate's own frames, and only where it was raised by code, not by an assertion of the tests."""
    with memory_modules.quoted():
        return _account(exc)


def _account(exc: BaseException) -> dict[str, Any]:
    place = _home[0] if _home else str(Path.cwd())
    frames, theirs = [], False  # whether the candidate's is the innermost frame of those that are its or the tests'
    for frame in traceback.extract_tb(exc.__traceback__):
        if frame.filename.startswith((f"{place}/", f"{HIDDEN}/")):
            theirs = not frame.filename.startswith(HIDDEN) and Path(frame.filename).exists()
            if theirs:
                path = frame.filename[len(place) + 1 :]
                frames.append(f"{path}:{frame.lineno} in {_cut(frame.name, 200)}: {_cut(frame.line or '', 200)}")
    if isinstance(exc, SyntaxError) and exc.filename:
        frames.append(f"{exc.filename.replace(place + '/', '')}:{exc.lineno}: {_cut((exc.text or '').strip(), 200)}")
    text = "".join(traceback.format_exception(type(exc), exc, _from_the_tests_on(exc, place)))[-MAX_MESSAGE:]
    assertion = not theirs and _of_the_tests(exc, place)
    told: Optional[dict[str, Any]] = None
    if not assertion:
        told = {
            "type": _cut(type(exc).__name__, 200),
            "message": _cut(_words(exc), MAX_MESSAGE),
            "frames": frames[-MAX_FRAMES:],
        }
    return {"kind": symptoms.symptom(exc) if assertion else "exception", "message": text, "exception": told}


_INTERPRETERS = (ImportError, AttributeError, TypeError, NameError)


def _of_the_tests(exc: BaseException, place: str) -> bool:
    """Of one that the tests stumbled over: whether its text may be theirs. A name that is missing and a call with the wrong arguments
    are told of in the interpreter's own words."""
    if isinstance(exc, SyntaxError):
        return False
    tb = exc.__traceback__
    while tb is not None and tb.tb_next is not None:
        tb = tb.tb_next
    if not isinstance(exc, _INTERPRETERS) or tb is None:
        return True
    file = tb.tb_frame.f_code.co_filename
    if file.startswith((f"{place}/", f"{HIDDEN}/")) and not Path(file).exists():
        return tb.tb_frame.f_code.co_code[tb.tb_lasti] == dis.opmap["RAISE_VARARGS"]
    return not isinstance(exc, ImportError)


def _cut(text: str, most: int) -> str:
    """Its first characters, also where the candidate made a class of text that has its own."""
    return str.__getitem__(text, slice(most))


def _words(exc: BaseException) -> str:
    try:
        return str(exc)
    except Exception:  # noqa: BLE001  the candidate's own class may raise here, and the other cases are still to run
        return "<its text cannot be had>"


def _from_the_tests_on(exc: BaseException, place: str) -> Any:
    """The traceback without what led to the tests."""
    tb = exc.__traceback__
    while tb is not None and not tb.tb_frame.f_code.co_filename.startswith((f"{place}/", f"{HIDDEN}/")):
        tb = tb.tb_next
    return tb or exc.__traceback__
