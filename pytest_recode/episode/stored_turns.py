"""Replays: play a stored turn again with its feedback cut to another level. Each replay is one turn, not a new episode.

This is the purpose of RECODE-H's `replay-feedback-level`: agent, memory and workspace are in the state after the previous turn, the same
feedback is given at another level, and the turn is played and judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_recode.episode import Feedback, Researcher, Turn
from pytest_recode.faults import UserError
from pytest_recode.feedback.creation import recut
from pytest_recode.records.checkpoint import Checkpoint
from pytest_recode.records.checkpoint_file import stored_episode
from pytest_recode.records.record import EpisodeFacts, ReplayRecord
from pytest_recode.records.run_directory import TRANSCRIPTS
from pytest_recode.records.transcript import name
from pytest_recode.records.transcript_reader import earlier
from pytest_recode.settings import FROM_STORED_RUN, Settings
from pytest_recode.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """A stored turn to be played again from its starting point. `facts` are those of the episode.

    `shares`: the shares of the hidden cases that passed after the previous turn, and after this one as played.
    """

    run: str
    file: Path  # with its checkpoints
    facts: EpisodeFacts
    before: tuple[Checkpoint, ...]
    feedback: Feedback
    shares: tuple[float, float]

    @property
    def turn(self) -> int:
        return len(self.before) + 1

    def record(self) -> ReplayRecord:
        return {
            "run": self.run,
            "nodeid": self.facts["nodeid"],
            "turn": self.turn,
            "level": f"L{self.feedback.level}",
        }

    def settings(self, now: Settings) -> Settings:
        """The stored run's settings, except those that may differ (addresses, cost limits, the interpreter)."""
        stored = _stored_settings(self.facts)
        return replace(now, **{name: stored[name] for name in FROM_STORED_RUN})

    def researcher(self, task: Task) -> Researcher:
        def answer(turns: Sequence[Turn], level: int) -> Feedback:
            return recut(task, turns[-1], self.feedback, level)

        return answer


def replays(run: Path) -> tuple[Replay, ...]:
    """Every turn of a run that had feedback and can be replayed. Raises `UserError` if there is none."""
    folder = run / "checkpoints"
    if not run.is_dir():
        raise UserError(f"--recode-replay-feedback={run}: there is no such directory: give that of a run")
    if not folder.is_dir():
        raise UserError(
            f"--recode-replay-feedback={run}: holds no checkpoints: give the directory of a run whose agent asked a model"
        )
    turns = [each for path in sorted(folder.iterdir()) for each in _of_episode(run, path)]
    if not turns:
        raise UserError(f"--recode-replay-feedback={run}: no turn in it had feedback: there is nothing to replay")
    return tuple(turns)


def _of_episode(run: Path, path: Path) -> Iterator[Replay]:
    facts = earlier(run / TRANSCRIPTS / path.name).facts
    if not facts:
        return
    if name(facts["nodeid"]) != path.name:
        raise UserError(
            f"{run / 'episodes' / path.name}: is of the episode {facts['nodeid']}, whose file is {name(facts['nodeid'])}:"
            " put this episode's own file there, or replay another run"
        )
    lacking = [name for name in FROM_STORED_RUN if name not in _stored_settings(facts)]
    if lacking:
        raise UserError(
            f"{run / 'episodes' / path.name}: settings lacks {lacking[0]!r}, without which its turns cannot be replayed: restore it, or"
            " replay another run"
        )
    past = stored_episode(path, facts["nodeid"])
    for place, checkpoint in enumerate(past.checkpoints):
        feedback = checkpoint.turn.feedback
        if feedback is not None and place:
            yield Replay(
                run=run.resolve().name,
                file=path,
                facts=facts,
                before=past.checkpoints[:place],
                feedback=feedback,
                shares=(_passed(past.checkpoints[place - 1].turn), _passed(checkpoint.turn)),
            )


def _stored_settings(facts: EpisodeFacts) -> dict[str, Any]:
    return {**facts["settings"], "agents": (facts["agent"],), "paper": facts["paper"]}


def _passed(turn: Turn) -> float:
    return turn.verdict.passed / max(len(turn.verdict.cases), 1)
