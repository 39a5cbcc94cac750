"""The error of a record: an episode that could not be played to its end."""

from __future__ import annotations

from typing import Annotated, NotRequired, TypedDict

from pytest_recode.schema.rules import Rule

_KINDS = "(model|agent):[a-z-]+|time|budget|cassette|machine|sandbox|grader|user|worker|internal"


class ErrorRecord(TypedDict):
    kind: Annotated[
        str,
        Rule(schema={"pattern": f"^({_KINDS})$"}),
        "error kind; docs/reference/errors.md lists them",
    ]
    message: Annotated[str, "message that the terminal shows"]
    cause: NotRequired[
        Annotated[
            str,
            "the message without the number and duration of tries, where it names them; equal for errors with the same cause",
        ]
    ]
