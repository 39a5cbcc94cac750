"""Map an exception that ended an episode, or a check of a task, to the error of its record."""

from __future__ import annotations

import traceback

from pytest_recode.faults import (
    AgentError,
    BudgetSpent,
    CassetteError,
    GraderError,
    MachineError,
    ModelError,
    ProgramError,
    SandboxError,
    UserError,
    machine_error,
    raised,
)
from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.verdict import legible


def error_record(error: Exception | SystemExit) -> ErrorRecord:
    """The kind and the message. Only unexpected exceptions (kind "internal") get a traceback."""
    if isinstance(error, SystemExit):
        return {
            "kind": "internal",
            "message": legible(f"an agent, or another part, ended the process: {raised(error)}"),
        }
    if isinstance(error, ModelError):
        return _of_model(error)
    if isinstance(error, ProgramError):
        return {"kind": f"agent:{error.fault.value}", "message": legible(str(error))}
    if isinstance(error, OSError):
        error = machine_error(error, "the episode could not be played") or error
    kinds = {
        MachineError: "machine",
        BudgetSpent: "budget",
        CassetteError: "cassette",
        SandboxError: "sandbox",
        GraderError: "grader",
        UserError: "user",
        AgentError: "internal",
    }
    for kind, name in kinds.items():
        if isinstance(error, kind):
            return {"kind": name, "message": legible(str(error))}
    return {"kind": "internal", "message": legible("".join(traceback.format_exception(error)))}


def _of_model(error: ModelError) -> ErrorRecord:
    message, cause = legible(str(error)), legible(error.cause)
    record: ErrorRecord = {"kind": f"model:{error.fault.value}", "message": message}
    if cause != message:
        record["cause"] = cause
    return record
