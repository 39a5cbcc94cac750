"""What an answer that cannot be used costs, and what the model is told of it. Pure."""

from __future__ import annotations

from pytest_recode.agents.actions import ProtocolError

MAX_ASKED_AGAIN = 3
"""Answers in a row that cannot be used and are no step. A model that cannot write the form at all must come to an end."""


def cost_text(in_a_row: int) -> str:
    """What an unusable answer cost; `in_a_row`: the number of those that cost no step, 0 if this one cost one."""
    if not in_a_row:
        return "This answer cost a step."
    left = MAX_ASKED_AGAIN - in_a_row
    then = f"up to {left} more in a row would cost none either" if left else "the next such answer costs one"
    return f"This answer cost no step; {then}."


def refusals(read: ProtocolError, cost: str) -> list[str]:
    """A text for each tool call of an unusable answer. The cost of the answer is stated once."""
    texts, cost = [], f"{cost} "
    first = next((number for number, wrong in enumerate(read.calls, 1) if wrong), 0)
    for wrong in read.calls:
        texts.append(f"{cost}{wrong}" if wrong else f"Not done: call {first} of this answer could not be used.")
        cost = "" if wrong else cost
    return texts
