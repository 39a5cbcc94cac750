"""Events that the gateway sends to a worker during a call: one line of JSON each. The last one has the answer or the error.

{"event": "try"}                                      a request was sent to the provider
{"event": "wait", "what": "rate limit"}               the call waits
{"event": "retry", "fault", "detail", "pause"}        a request failed; seconds until the next one
{"event": "warning", "text"}                          a line for the user
{"event": "alive"}                                    to an agent's own call only: nothing else has been sent for some seconds
{"event": "answer", "body", "waited", "answering"}    the body in OpenAI's format; seconds; `call`: the id of the call, or
                                                      `replayed`: true and `recorded_usd`, if the answer is from a cassette;
                                                      to an agent's own call also `answer`, in its dialect, and `asked_model`
{"event": "error", "kind", …}                         see `dump_error`
"""

from __future__ import annotations

import traceback
from typing import Any

from pytest_recode.faults import (
    BudgetSpent,
    CassetteError,
    GatewayError,
    ModelError,
    ModelFault,
    RecordsError,
    Stopped,
    UserError,
)

Event = dict[str, Any]

ENDED = "the gateway of this run ended during the call: resume the run to ask again"
STOPPED = "stopped with the run"


class MalformedRequest(ValueError):
    """A request of an agent that is none of the dialect in which it was sent, with the reason in one line."""


_KINDS: dict[str, type[BaseException]] = {
    "budget": BudgetSpent,
    "cassette": CassetteError,
    "user": UserError,
    "records": RecordsError,
    "stopped": Stopped,
    "request": MalformedRequest,
}


def dump_error(error: BaseException) -> Event:
    if isinstance(error, ModelError):
        fields = {"fault": error.fault.value, "model": error.model, "detail": error.detail, "cause": error.cause}
        return {"event": "error", "kind": "model", **fields, "window": error.window}
    for kind, known in _KINDS.items():
        if isinstance(error, known):
            return {"event": "error", "kind": kind, "message": str(error)}
    return {"event": "error", "kind": "internal", "message": "".join(traceback.format_exception(error))}


def error_of(event: Event) -> BaseException:
    """The exception that `dump_error` was given; a `GatewayError` for an unexpected one."""
    if event["kind"] == "model":
        error = ModelError(ModelFault(event["fault"]), event["model"], event["detail"], window=event.get("window"))
        error.cause = event["cause"]
        return error
    return _KINDS.get(event["kind"], GatewayError)(event["message"])
