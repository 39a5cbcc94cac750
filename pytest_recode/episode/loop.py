"""The loop that plays an episode: feedback, move, verdict, until a stop."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from pytest_recode.agents import Agent, Workspace
from pytest_recode.episode.moves import checked_move
from pytest_recode.episode.values import Episode, Feedback, Judge, Move, OnTurn, Policy, Researcher, Stop, Turn
from pytest_recode.task import Brief


def run(
    *,
    brief: Brief,
    agent: Agent,
    workspace: Workspace,
    judge: Judge,
    researcher: Researcher,
    policy: Policy,
    turns: int,
    seconds: float,
    on_turn: OnTurn,
    check_move: Callable[[Move], Move] = checked_move,
    before: Sequence[Turn] = (),
    clock: Callable[[], float] = time.monotonic,
) -> Episode:
    """Play one episode to its end, starting after the turns `before`. Agent and workspace must be in the state after those turns.

    `check_move` raises an error for what `act` returned, before anything else uses it. Raises what the parts raise (`ModelError`, `BudgetSpent`, `SandboxError`, `GraderError`): an episode that could not be
    played is no Episode. The turns played so far have gone through `on_turn`.
    """
    start = clock() - sum(turn.seconds for turn in before)
    played = list(before)
    while (stop := _stop_reason(played, policy, turns, seconds - (clock() - start))) is None:
        began = clock()
        feedback = _feedback(played, policy, researcher)
        move = check_move(agent.act(brief, feedback, workspace))
        targets = workspace.targets()
        verdict = judge(targets)
        played.append(
            Turn(
                number=len(played) + 1,
                feedback=feedback,
                move=move,
                verdict=verdict,
                targets=targets,
                seconds=clock() - began,
            )
        )
        on_turn(played[-1])
    return Episode(task=brief.task, turns=tuple(played), stop=stop, seconds=clock() - start)


def _stop_reason(played: Sequence[Turn], policy: Policy, turns: int, seconds_left: float) -> Stop | None:
    if not played:
        return None
    if played[-1].verdict.solved:
        return Stop.SOLVED
    if played[-1].move.gave_up:
        return Stop.GIVEN_UP
    if len(played) >= turns or policy(played) is None:
        return Stop.TURNS
    if seconds_left <= 0:
        return Stop.TIME
    return None


def _feedback(played: Sequence[Turn], policy: Policy, researcher: Researcher) -> Feedback | None:
    level = policy(played) if played else None
    return None if level is None else researcher(played, level)
