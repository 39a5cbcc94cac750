"""Typed faults: each names who caused it (user, model or infrastructure), so that none is mistaken for another.

A fault of the *candidate* is not an exception but a failed case in a `Verdict`.
"""

from __future__ import annotations

import errno
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path


class UserError(Exception):
    """A fault of the user or of the task's author, found before money is spent.

    The message is one line: the subject, what is wrong with it, the valid choices and the next step.
    """


class ModelFault(StrEnum):
    """Why a model could not be called."""

    AUTH = "auth"  # a missing or invalid key
    SPENT = "budget-at-provider"  # the account has no credit, or has used up its quota for hours
    UNKNOWN = "unknown-model"  # the provider has never had, or no longer has, the model
    NO_TOOLS = "no-tools"  # the provider serves the model without native tool calls
    RATE_LIMIT = "rate-limit"
    TIMEOUT = "timeout"
    CONNECTION = "connection"
    SERVER = "server"  # 5xx
    CONTEXT = "context"  # the prompt, with room for the answer, does not fit into the model's context window
    REQUEST = "bad-request"  # the provider rejects this request, such as for a bad parameter
    GATEWAY = "gateway"  # the process of this run that calls the models ended during the call


class ModelError(Exception):
    """The model could not be called. It never stands for a model's failure to solve a task.

    `fatal` faults (an invalid key, a spent account, an unknown model) would also affect every later call, so a run reports them once and makes no
    further calls.
    """

    def __init__(
        self, fault: ModelFault, model: str, detail: str, *, cause: str | None = None, window: int | None = None
    ) -> None:
        """`cause`: `detail` without what differs between calls that fail alike, such as the number of tries; None: `detail` itself.

        `window`: the size of the context window in tokens, if the fault is `CONTEXT` and the provider states it.
        """
        super().__init__(_model_message(fault, model, detail))
        self.fault = fault
        self.model = model
        self.detail = detail
        self.cause = _model_message(fault, model, detail if cause is None else cause)
        self.window = window

    @property
    def fatal(self) -> bool:
        return self.fault in {ModelFault.AUTH, ModelFault.SPENT, ModelFault.UNKNOWN, ModelFault.NO_TOOLS}


def _model_message(fault: ModelFault, model: str, detail: str) -> str:
    return f"model {model}: {fault.value}: {detail}"


class AgentError(Exception):
    """An agent broke its contract, such as by another return value than a Move. The message is one line that names it."""


class ProgramFault(StrEnum):
    """Why the program of a command-line agent could not play a turn."""

    SESSION_LOST = "session-lost"
    NO_CALL = "no-model-call"
    FAILED = "failed"


class ProgramError(Exception):
    """The program of a command-line agent could not play a turn. The message is one line."""

    def __init__(self, fault: ProgramFault, agent: str, turn: int, detail: str) -> None:
        self.fault = fault
        super().__init__(f"agent {agent}, turn {turn}: {fault.value}: {detail}")


class GatewayError(Exception):
    """An unexpected exception in the process that calls the models. The message is its traceback."""


class CassetteError(Exception):
    """A request is not recorded in the cassette that a run replays."""


class BudgetSpent(Exception):
    """`--recode-max-cost` is reached: no further call may start."""


class RecordsError(Exception):
    """A file in the run's directory cannot be written. It ends the run, because nothing may be paid for, or pass, without a record."""


class Stopped(KeyboardInterrupt):
    """The run is stopping. Not an `Exception`, so that no handler of faults continues the run."""

    __module__ = "builtins"  # pytest prints the name of an interrupt with its module


class Interrupt(BaseException):
    """Ends an episode from outside. It can be raised at any point of the main thread."""


@contextmanager
def interrupts_first() -> Iterator[None]:
    """Raise an interrupt again if an `Exception` replaced it, such as one raised while its handling ends sandboxes."""
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
    """A sandbox could not start, or ended by itself. A command that fails inside a sandbox is not such an error."""


class MachineError(SandboxError):
    """The machine has run out of what every program needs: no file, task or candidate is at fault."""


_OPEN_FILES = "raise the limit on open files (ulimit -n), or use fewer workers (-n)"
MACHINE_STEPS = {
    errno.EMFILE: _OPEN_FILES,
    errno.ENFILE: _OPEN_FILES,
    errno.ENOMEM: "free memory, or use fewer workers (-n)",
    errno.EAGAIN: "raise the limit on processes (ulimit -u), or use fewer workers (-n)",
    errno.ENOSPC: "free space there, or name another disk with TMPDIR",
    errno.EDQUOT: "free space there, raise the quota, or name another disk with TMPDIR",
}
"""What to do about an `OSError` of which the machine is the cause, by its number."""


def machine_error(error: OSError, what: str) -> MachineError | None:
    """The error to raise instead of `error` if the machine is its cause; `what` failed. None for any other cause."""
    if error.errno not in MACHINE_STEPS:
        return None
    where = f": {error.filename}" if error.filename and str(error.filename) not in what else ""
    return MachineError(f"{what} ({error.strerror}{where}): {MACHINE_STEPS[error.errno]}")


_PACKAGE = f"{Path(__file__).parent}/"


def raised(error: BaseException) -> str:
    """An exception of code of others on one line: its type, its message, and the last line of that code."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith(("<", _PACKAGE))
    ]
    place = f", at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}{f': {text}' if text else ''}{place}"


class GraderError(Exception):
    """The hidden tests could not give a verdict: they are broken, empty, or the grader died."""
