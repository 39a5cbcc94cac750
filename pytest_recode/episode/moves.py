"""Check what an agent's `act` returned, before a verdict is asked for and a record written."""

from __future__ import annotations

from pytest_recode.episode.values import Move
from pytest_recode.faults import AgentError
from pytest_recode.schema.declared_types import described, problem


def checked_move(move: Move, *, agent: str = "", most: int | None = None) -> Move:
    """The same Move. Raises `AgentError` for another type, for a wrong field, and for more than `most` steps."""
    if not (wrong := problem(move, Move)) and most is not None and move.steps > most:
        wrong = f".steps={move.steps}: must be at most {most} (--recode-steps, AgentContext.steps)"
    if wrong:
        name = f"agent {agent}: " if agent else ""
        raise AgentError(f"{name}act() returned {described(move, wrong)}")
    return move
