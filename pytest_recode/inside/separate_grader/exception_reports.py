"""The exception that a test gets for the report of one that the candidate raised.

Runs in the grader process. Called by `candidate_link.py`. Must not look anything up by a name of the report's except
builtin exceptions: the report is the candidate's.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable
from typing import Any

from ..grading.candidate_error import CandidateError

__tracebackhide__ = True  # tracebacks end at the test's own line; pytest parses each file that a traceback shows

MAX_TEXT, MAX_LINE, MAX_FRAMES = 2000, 600, 25  # of an exception: characters, characters of a frame, frames


def is_report(report: Any) -> bool:
    """Whether this is an exception as `candidate/candidate_server.py` reports it. A text may be a numpy string: it derives from str."""
    if type(report) is not dict or not {"type", "message", "frames", "bases", "callback"} <= report.keys():
        return False
    texts = isinstance(report["type"], str) and isinstance(report["message"], str)
    lists = all(type(report[name]) is list and all_text(report[name]) for name in ("frames", "bases"))
    return texts and lists and ("group" not in report or _is_group(report["group"]))


def _is_group(group: Any) -> bool:
    if type(group) is not dict or not {"message", "exceptions"} <= group.keys():
        return False
    inner = group["exceptions"]
    return isinstance(group["message"], str) and type(inner) is list and bool(inner) and all(map(is_report, inner))


def all_text(values: Iterable[Any]) -> bool:
    return all(isinstance(value, str) for value in values)


def exception(report: dict[str, Any], inner: list[BaseException]) -> CandidateError:
    """The exception of a checked report. `inner`: the exceptions of a group, made in the same way."""
    kind, text = str(report["type"])[:200], str(report["message"])[:MAX_TEXT]
    frames = tuple(str(frame)[:MAX_LINE] for frame in report["frames"][:MAX_FRAMES])
    builtin = builtin_bases([str(name) for name in report["bases"]])
    space: dict[str, Any] = {"__module__": "builtins"}  # so that a failure shows the name that the candidate uses
    message = text
    if inner:  # `str` of a group counts its exceptions, and its `message` does not
        message = str(report["group"]["message"])[:MAX_TEXT]
        space.update(__new__=lambda cls, *_: builtin[0].__new__(cls, message, inner), __str__=lambda _: text)
    bases: tuple[type, ...] = (CandidateError, *(base for base in builtin if base is not Exception))
    name = kind if kind.isidentifier() else CandidateError.__name__
    try:
        error: CandidateError = type(name, bases, space)(kind, message, frames)
    except (TypeError, ValueError):  # a builtin that cannot be combined or made
        return CandidateError(kind, text, frames)
    if isinstance(error, SyntaxError):
        error.msg = text  # a traceback prints this attribute, not `str`
    if isinstance(error, AttributeError):
        error.name = None  # otherwise a traceback would look for similar names in the candidate's object
    return error


def builtin_bases(names: list[str]) -> tuple[type[BaseException], ...]:
    """The builtin Exceptions among `names`, without those from which another one derives; Exception where none is left.

    Of a group, only the type of the group. Never StopIteration: in a test's `all(map(candidate.f, xs))` it would pass
    for the end of `xs`.
    """
    found = [getattr(builtins, name, None) for name in names]
    kinds = dict.fromkeys(kind for kind in found if isinstance(kind, type) and issubclass(kind, Exception))
    ends = (StopIteration, StopAsyncIteration)
    nearest = [
        kind
        for kind in kinds
        if not issubclass(kind, ends) and not any(other is not kind and issubclass(other, kind) for other in kinds)
    ]
    groups = getattr(builtins, "BaseExceptionGroup", ())  # Python 3.11
    return tuple([kind for kind in nearest if issubclass(kind, groups)] or nearest) or (Exception,)
