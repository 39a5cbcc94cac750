"""Record one episode in the worker that plays it: its transcript, its checkpoints, and in the end its record."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pytest_recode.agents import Agent
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.clock import Clock
from pytest_recode.episode import Feedback, OnTurn, Stop, Turn
from pytest_recode.episode.assembly import Cast, EpisodePlan
from pytest_recode.episode.episode_queue import EpisodeQueue
from pytest_recode.episode.meter import Meter
from pytest_recode.episode.setup import check_files, check_setup, episode_facts
from pytest_recode.faults import RecordsError, Stopped, UserError
from pytest_recode.models import Ledger, Usage
from pytest_recode.records import record
from pytest_recode.records.checkpoint import Checkpoint, Relocatable, Resumable, StoredEpisode
from pytest_recode.records.checkpoint_file import CheckpointWriter, stored_episode
from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.records.first_turn import FirstTurn
from pytest_recode.records.record import EpisodeFacts, Record
from pytest_recode.records.run_directory import ANSWERS, TRANSCRIPTS
from pytest_recode.records.run_files import RunFiles
from pytest_recode.records.transcript import Transcript
from pytest_recode.records.transcript import name as transcript_name
from pytest_recode.records.transcript_reader import Earlier, earlier
from pytest_recode.sandboxes import Sandbox
from pytest_recode.settings import Settings
from pytest_recode.task import Files, Parts, digest


@dataclass(slots=True, kw_only=True)
class EpisodeRecorder:
    """Writes transcript and checkpoints of one episode, and makes its record.

    `checkpoints` is None if the agent calls no model and is no person, so that a resumed run saves nothing, and in a replay. `answers`: the directory
    in which the gateway keeps answers; None without a gateway. `first_turn`: the key of a first turn while it is being played.
    """

    facts: EpisodeFacts
    transcript: Transcript
    meter: Meter
    checkpoints: CheckpointWriter | None
    left: Earlier
    stored: StoredEpisode
    on_turn: OnTurn
    start: float
    files: RunFiles
    queue: EpisodeQueue
    answers: Path | None
    first_turn: str = ""
    turns: list[Turn] = field(default_factory=list)
    start_logged: bool = False  # whether the facts of the episode are in the transcript
    repo: Files = field(default_factory=dict)  # as the task delivers it

    def begin(self, plan: EpisodePlan, settings: Settings, parts: Parts) -> None:
        """Start the transcript. Raises `UserError` if the stored turns are of other settings or other task files."""
        self.repo, task_files = parts.repo, digest(parts)
        if self.turns:  # an episode without a complete turn starts again
            if not self.left.facts:
                raise UserError(
                    f"{self.transcript.path}: has turns, but not the first line, which names the episode: restore it, or give another --recode-out"
                )
            check_setup(self.left.facts, plan, settings, task_files)
        if plan.replay is not None:
            check_files(plan.replay.facts, plan, task_files)
        self.facts = {**self.facts, "digest": task_files}
        self.log_start()
        for turn in self.turns:
            if turn.number not in self.left.turns:
                self._log_turn(turn)  # the earlier run was killed between checkpoint and transcript

    def log_start(self) -> None:
        if self.turns:
            self.transcript.resumed(self.facts, len(self.turns))
        else:
            self.transcript.episode(self.facts)
        self.start_logged = True

    def turn_over(self, agent: Agent, workspace: SandboxWorkspace, turn: Turn) -> None:
        self.over(self._checkpoint(agent, workspace, turn))

    def first_turn_over(self, agent: Agent, workspace: SandboxWorkspace, slot: FirstTurn, turn: Turn) -> None:
        """Store the first turn for all episodes, unless they could not continue it, then this episode's own checkpoint.

        In the other order, a kill between the two would leave a turn that the other episodes pay for again.
        """
        checkpoint = self._checkpoint(agent, workspace, turn)
        if not isinstance(agent, Relocatable) or agent.continues_elsewhere:
            slot.store(checkpoint, by=self.facts["nodeid"])
        self._forget_answers(self.first_turn)
        self.first_turn = ""
        self.over(checkpoint)

    def _checkpoint(self, agent: Agent, workspace: SandboxWorkspace, turn: Turn) -> Checkpoint:
        if self.checkpoints is not None and isinstance(agent, Resumable):
            return Checkpoint(turn=turn, agent=agent.state(), changes=workspace.changes())
        return Checkpoint(turn=turn, agent=None, changes=None)

    def over(self, checkpoint: Checkpoint) -> None:
        if self.checkpoints is not None:
            self.checkpoints.turn(checkpoint)  # first, so that a turn that was reported is never played again
        self.turns.append(checkpoint.turn)
        self._log_turn(checkpoint.turn)
        self.on_turn(checkpoint.turn)

    def _log_turn(self, turn: Turn) -> None:
        self.transcript.turn(turn, [path for path, data in turn.targets.items() if self.repo.get(path) == data])

    def feedback(self, feedback: Feedback) -> None:
        if self.checkpoints is not None:
            self.checkpoints.feedback(feedback)

    def record(self, stop: Stop, error: ErrorRecord | None = None) -> Record:
        if not self.start_logged:
            self.log_start()
        played, solved = self.turns, stop is Stop.SOLVED
        shared = sum((turn.usage for turn in played if turn.shared), Usage())
        spent = self.meter.total + shared if self.meter.total != Usage() else record.total(played)
        outcome = "error" if error else "solved" if solved else "unsolved"
        turns = [record.turn(turn) for turn in played]
        result: Record = {
            **self.facts,
            "outcome": outcome,
            "stop": stop.value,
            "solved_turn": played[-1].number if solved else None,
            "passed_but_flagged": record.passed_but_flagged(outcome, turns),
            "turns": turns,
            "abandoned": self.transcript.abandoned.counts(),
            "usage": record.usage(spent),
            "seconds": round(time.monotonic() - self.start, 3),
            "waited": round(self.meter.clock.waited, 3),
            "queued": self.queue.record,
            "ended": datetime.now(UTC).isoformat(timespec="seconds"),
            "isolation": played[-1].verdict.isolation if played else self.facts["isolation"],
            "error": error,
        }
        self.transcript.end(result)
        if error is None:
            self._forget_answers(self.transcript.path.stem)
            if self.checkpoints is not None:
                self.checkpoints.finish()
        return result

    def _forget_answers(self, name: str) -> None:
        if self.answers is not None:
            self.files.remove(self.answers / f"{name}.jsonl")


@contextmanager
def open_recorder(
    plan: EpisodePlan,
    cast: Cast,
    settings: Settings,
    sandbox: Sandbox,
    ledger: Ledger,
    out: Path,
    on_turn: OnTurn,
    clock: Clock,
    queue: EpisodeQueue,
    files: RunFiles,
) -> Iterator[EpisodeRecorder]:
    """Open transcript and checkpoints, and read what an earlier run stored in them."""
    name = transcript_name(plan.nodeid)
    left = earlier(out / TRANSCRIPTS / name, files)
    if left.facts is not None and left.facts["nodeid"] != plan.nodeid:
        raise UserError(
            f"{out / 'episodes' / name}: is of the episode {left.facts['nodeid']}, not of {plan.nodeid}: restore this episode's own"
            " file, or give another --recode-out"
        )
    stored = stored_episode(out / "checkpoints" / name, plan.nodeid, files)
    in_workspace = settings.shared_verifier and plan.task.oracle.verifier is not None  # of which only files are stored
    stores = (cast.agent.needs_model or cast.agent.needs_person) and plan.replay is None and not in_workspace
    with ExitStack() as opened:
        transcript = Transcript(out / TRANSCRIPTS / name, left.abandoned, files)
        opened.callback(transcript.close)
        checkpoints = CheckpointWriter(out / "checkpoints" / name, plan.nodeid, files, stored) if stores else None
        if checkpoints is not None:
            opened.callback(checkpoints.close)
        recorder = EpisodeRecorder(
            facts=episode_facts(plan, settings, cast, sandbox, transcript.path.relative_to(out).as_posix()),
            transcript=transcript,
            meter=Meter(ledger=ledger, transcript=transcript, clock=clock, total=left.usage, counted=set(left.calls)),
            checkpoints=checkpoints,
            left=left,
            stored=stored,
            on_turn=on_turn,
            start=time.monotonic() - sum(turn.seconds for turn in stored.turns),
            turns=list(stored.turns),
            files=files,
            queue=queue,
            answers=out / ANSWERS if cast.gateway is not None else None,
        )
        try:
            yield recorder
        except BaseException as error:
            with suppress(RecordsError):  # the run ends for the error that came first
                if not recorder.start_logged:
                    recorder.log_start()
                by = str(error) if isinstance(error, (RecordsError, Stopped)) else type(error).__name__
                transcript.interrupted(by, len(recorder.turns))
            raise
