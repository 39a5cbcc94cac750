"""What a record has about the waits of an episode for its machine."""

from __future__ import annotations

from typing import Annotated, TypedDict

from pytest_recode.schema.rules import Count, NonNegative


class QueuedRecord(TypedDict):
    """How often and how long an episode waited until the machine had room for its programs."""

    gradings: Annotated[Count, "gradings that waited"]
    commands: Annotated[Count, "commands of the agent that waited"]
    seconds: Annotated[NonNegative, "seconds of all these waits"]
