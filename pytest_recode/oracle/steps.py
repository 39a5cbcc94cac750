"""Turns parts of a grader's steps (`inside/wire/messages.py`) into values of the verdict. Runs on the host."""

from __future__ import annotations

from pytest_recode.inside.wire import messages
from pytest_recode.verdict import Exc, legible


def exception_of(report: messages.ExceptionReport | None) -> Exc | None:
    """The exception of a case, with what does not print escaped: the candidate chooses these texts."""
    if report is None:
        return None
    frames = tuple(legible(frame, keep="") for frame in report["frames"])
    return Exc(type=legible(report["type"], keep=""), message=legible(report["message"]), frames=frames)
