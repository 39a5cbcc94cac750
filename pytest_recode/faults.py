"""The typed faults. Every one is somebody's, and none may pass for another.

A *candidate's* fault is no exception at all: it is a failed case in a `Verdict`.
"""

from __future__ import annotations

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


class SandboxError(Exception):
    """A sandbox could not start or died by itself; a command that fails inside one is no such error."""


class GraderError(Exception):
    """The hidden tests could not give a verdict: they are broken, empty, or the grader died."""
