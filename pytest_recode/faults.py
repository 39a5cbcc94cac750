"""The typed faults. Every one is somebody's, and none may pass for another.

A *candidate's* fault is no exception at all: it is a failed case in a `Verdict`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum


class UserError(Exception):
    """The user's or the task author's fault, found before anything is spent.

    The text is one line: the thing, the valid choices, the next step.
    """


class ModelFault(StrEnum):
    """Why a model could not be asked."""

    AUTH = "auth"  # a missing, bad or unpaid key
    UNKNOWN = "unknown-model"
    RATE_LIMIT = "rate-limit"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    SERVER = "server"  # 5xx
    REQUEST = "bad-request"  # the provider refuses this very request (context too long, bad parameter)


class ModelError(Exception):
    """The model could not be asked: never a model's failure to solve.

    `fatal` faults (a bad key, an unknown model) hold for every later call as well, so that a run says
    them once and asks no more.
    """

    def __init__(self, fault: ModelFault, model: str, detail: str) -> None:
        super().__init__(f"model {model}: {fault.value}: {detail}")
        self.fault = fault
        self.model = model
        self.detail = detail

    @property
    def fatal(self) -> bool:
        return self.fault in {ModelFault.AUTH, ModelFault.UNKNOWN}


class BudgetSpent(Exception):
    """`--recode-max-cost` is reached: no further call may start."""


class RecordsError(Exception):
    """A file of the run's directory cannot be written. It ends the run: what has no record must not be paid, nor pass."""


class Stopped(KeyboardInterrupt):
    """The run was asked to stop. Not an `Exception`: nothing that handles faults may go on after it."""

    __module__ = "builtins"  # pytest prints the name of an interrupt with its module


class Interrupt(BaseException):
    """Ends an episode from outside, raised in the main thread in the middle of whatever it does."""


@contextmanager
def interrupts_first() -> Iterator[None]:
    """Raise an interrupt again where an `Exception` took its place: one that came up while sandboxes were ended because of it."""
    try:
        yield
    except RecordsError:  # ends the whole run
        raise
    except Exception as error:
        cut = error.__context__
        while cut is not None and not isinstance(cut, Interrupt | KeyboardInterrupt):
            cut = cut.__context__
        if cut is None:
            raise
        raise cut from None


class SandboxError(Exception):
    """A sandbox could not start or died by itself; a command that fails inside one is no such error."""


class GraderError(Exception):
    """The hidden tests could not give a verdict: they are broken, empty, or the grader died."""
