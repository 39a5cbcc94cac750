"""Play one episode in a worker: assemble its parts, run the loop, write transcript and checkpoints, return the record."""

from __future__ import annotations

import math
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recode.agents import Agent
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.clock import Clock
from pytest_recode.episode import Feedback, Stop, Turn, loop
from pytest_recode.episode.assembly import Cast, Meter, Plan, Stage
from pytest_recode.episode.setup import check_files, check_setup, setup
from pytest_recode.faults import (
    BudgetSpent,
    GraderError,
    ModelError,
    RecordsError,
    SandboxError,
    Stopped,
    UserError,
    interrupts_first,
)
from pytest_recode.models import Ledger, Usage
from pytest_recode.models.table import resolve
from pytest_recode.records import record
from pytest_recode.records.checkpoint import (
    Checkpoint,
    CheckpointWriter,
    FirstTurn,
    Resumable,
    StoredEpisode,
    first_turn,
    first_turn_key,
    stored_episode,
)
from pytest_recode.records.record import EpisodeFacts, ErrorRecord, Record
from pytest_recode.records.transcript import Earlier, Transcript, earlier
from pytest_recode.records.transcript import name as transcript_name
from pytest_recode.sandboxes import Sandbox
from pytest_recode.settings import Settings, fixed
from pytest_recode.task import digest
from pytest_recode.verdict import legible

OnTurn = Callable[[Turn], None]


def play(
    plan: Plan,
    cast: Cast,
    settings: Settings,
    sandbox: Sandbox,
    ledger: Ledger,
    out: Path,
    on_turn: OnTurn,
    clock: Clock | None = None,
) -> Record:
    """Play `plan` and return its record.

    The transcript is written while the episode runs. Turns that an earlier run stored in `out` are not played again, nor is a
    first turn that an episode with another policy has played. `clock` must be new; the caller may read it during the episode.

    A fault that is not the candidate's results in a record with outcome "error". Raises `RecordsError` if a file cannot be
    written, and `UserError` if a file of an earlier run cannot be read. A `BaseException` that is no `Exception` (an interrupt,
    an external time-out) is noted in the transcript and raised again, after the sandbox was released.
    """
    with _recorder(plan, cast, settings, sandbox, ledger, out, on_turn, clock or Clock()) as recorder:
        try:
            with interrupts_first():
                parts = plan.task.load()
                recorder.begin(plan, settings, digest(parts))
                sandbox.ready(plan.task.environment)
                stage = Stage(
                    plan=plan,
                    parts=parts,
                    cast=cast,
                    settings=settings,
                    sandbox=sandbox,
                    meter=recorder.meter,
                    transcript=recorder.transcript,
                    out=out,
                )
                with stage.workspace() as workspace:
                    return recorder.record(_run_episode(stage, workspace, recorder, out))
        except RecordsError:  # no record can be written
            raise
        except Exception as error:  # noqa: BLE001  every fault becomes a record, with its kind; nothing is dropped
            stop = Stop.BUDGET if isinstance(error, BudgetSpent) else Stop.ERROR
            return recorder.record(stop, fault(error))


def _run_episode(stage: Stage, workspace: SandboxWorkspace, recorder: _EpisodeRecorder, out: Path) -> Stop:
    agent = stage.agent()
    run_loop = partial(
        loop.run,
        brief=stage.brief(),
        agent=agent,
        workspace=workspace,
        judge=stage.judge(),
        researcher=stage.researcher(recorder.stored.feedback, recorder.feedback),
        policy=stage.cast.policy,
        seconds=stage.plan.task.limits.episode_seconds,
        on_turn=partial(recorder.turn_over, agent, workspace),
        clock=stage.clock,
    )
    if (replay := stage.plan.replay) is not None:
        _resume(stage, replay.before[-1], agent, workspace, replay.file, "restore it, or replay another run")
        before = tuple(checkpoint.turn for checkpoint in replay.before)
        return run_loop(turns=replay.turn, seconds=math.inf, before=before).stop
    if recorder.stored.checkpoints:
        kept = out / "checkpoints" / transcript_name(stage.plan.nodeid)
        _resume(
            stage, recorder.stored.checkpoints[-1], agent, workspace, kept, "restore it, or give another --recode-out"
        )
    elif recorder.checkpoints is not None and isinstance(agent, Resumable):
        with first_turn(out, first_turn_key(_of_first_turn(recorder.facts, stage.settings)), stage.clock) as slot:
            if slot.found is None:
                stage.check()
                run_loop(turns=1, on_turn=partial(recorder.first_turn_over, agent, workspace, slot))
            else:
                remedy = "remove it, and this first turn is played again"
                _resume(stage, slot.found, agent, workspace, slot.path, remedy)
                recorder.over(_as_seen_by(stage.plan.nodeid, slot.found))
    elif recorder.checkpoints is not None:
        stage.check()
    return run_loop(turns=stage.settings.turns, before=tuple(recorder.turns)).stop


def _as_seen_by(nodeid: str, first: Checkpoint) -> Checkpoint:
    """Unset `shared` for the episode that paid for the turn: it stored the first turn, and was killed before its own checkpoint."""
    return replace(first, turn=replace(first.turn, shared="")) if first.turn.shared == nodeid else first


def _resume(
    stage: Stage, checkpoint: Checkpoint, agent: Agent, workspace: SandboxWorkspace, kept: Path, remedy: str
) -> None:
    """Restore agent and workspace from a checkpoint.

    Raises `UserError` if the agent cannot be restored. Its message names the file `kept` and the `remedy`.
    """
    if isinstance(agent, Resumable) and checkpoint.agent is not None and checkpoint.changes is not None:
        try:
            agent.restore(checkpoint.agent)
        except (ModelError, BudgetSpent, RecordsError, SandboxError, UserError):
            raise
        except Exception as error:
            raise UserError(
                f"{kept}: turn {checkpoint.turn.number}: the agent {stage.settings.agent} cannot resume from the state that is stored"
                f" there ({type(error).__name__}: {' '.join(str(error).split())}{_place(error)}): {remedy}"
            ) from error
        workspace.lay(checkpoint.changes)


_OURS = f"{Path(__file__).parents[1]}/"


def _place(error: Exception) -> str:
    """File and line that raised `error`; "" for code of this project. A third-party agent may be at fault, and not the state."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "" if frame.filename.startswith(_OURS) else f", at {frame.filename}:{frame.lineno}"


@dataclass(slots=True, kw_only=True)
class _EpisodeRecorder:
    """Writes transcript and checkpoints of one episode, and makes its record.

    `checkpoints` is None if the agent calls no model, so that a resumed run saves nothing, and in a replay.
    """

    facts: EpisodeFacts
    transcript: Transcript
    meter: Meter
    checkpoints: CheckpointWriter | None
    left: Earlier
    stored: StoredEpisode
    on_turn: OnTurn
    start: float
    turns: list[Turn] = field(default_factory=list)
    start_logged: bool = False  # whether the facts of the episode are in the transcript

    def begin(self, plan: Plan, settings: Settings, digest: str) -> None:
        """Start the transcript. Raises `UserError` if the stored turns are of other settings or other task files."""
        if self.turns:  # an episode without a complete turn starts again
            if not self.left.facts:
                raise UserError(
                    f"{self.transcript.path}: has turns, but not the first line, which names the episode: restore it, or give another --recode-out"
                )
            check_setup(self.left.facts, plan, settings, digest)
        if plan.replay is not None:
            check_files(plan.replay.facts, plan, digest)
        self.facts = {**self.facts, "digest": digest}
        self.log_start()
        for turn in self.turns:
            if turn.number not in self.left.turns:
                self.log(turn)  # the earlier run was killed between checkpoint and transcript

    def log_start(self) -> None:
        begun = {"turns": len(self.turns)} if self.turns else {}
        self.transcript.log("resumed" if begun else "episode", {**self.facts, **begun})
        self.start_logged = True

    def turn_over(self, agent: Agent, workspace: SandboxWorkspace, turn: Turn) -> None:
        self.over(self._checkpoint(agent, workspace, turn))

    def first_turn_over(self, agent: Agent, workspace: SandboxWorkspace, slot: FirstTurn, turn: Turn) -> None:
        """Store the first turn for all episodes, then this episode's own checkpoint.

        In the other order, a kill between the two would leave a turn that the other episodes pay for again.
        """
        checkpoint = self._checkpoint(agent, workspace, turn)
        slot.keep(checkpoint, by=self.facts["nodeid"])
        self.over(checkpoint)

    def _checkpoint(self, agent: Agent, workspace: SandboxWorkspace, turn: Turn) -> Checkpoint:
        if self.checkpoints is not None and isinstance(agent, Resumable):
            return Checkpoint(turn=turn, agent=agent.state(), changes=workspace.changes())
        return Checkpoint(turn=turn, agent=None, changes=None)

    def over(self, checkpoint: Checkpoint) -> None:
        if self.checkpoints is not None:
            self.checkpoints.turn(checkpoint)  # first, so that a turn that was reported is never played again
        self.turns.append(checkpoint.turn)
        self.log(checkpoint.turn)
        self.on_turn(checkpoint.turn)

    def log(self, turn: Turn) -> None:
        targets = {path: data.decode("utf-8", "backslashreplace") for path, data in turn.targets.items()}
        verdict = record.verdict(turn.verdict)
        self.transcript.log("turn", {**record.turn(turn), "targets": targets, "verdict": verdict})

    def feedback(self, given: Feedback) -> None:
        if self.checkpoints is not None:
            self.checkpoints.feedback(given)

    def record(self, stop: Stop, error: ErrorRecord | None = None) -> Record:
        if not self.start_logged:
            self.log_start()
        played, solved = self.turns, stop is Stop.SOLVED
        shared = sum((turn.usage for turn in played if turn.shared), Usage())
        spent = self.meter.total + shared if self.meter.total != Usage() else record.total(played)
        outcome = "error" if error else "solved" if solved else "unsolved"
        turns = [record.turn(turn) for turn in played]
        made: Record = {
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
            "isolation": played[-1].verdict.isolation if played else self.facts["isolation"],
            "error": error,
        }
        self.transcript.log("end", made)
        return made


@contextmanager
def _recorder(
    plan: Plan,
    cast: Cast,
    settings: Settings,
    sandbox: Sandbox,
    ledger: Ledger,
    out: Path,
    on_turn: OnTurn,
    clock: Clock,
) -> Iterator[_EpisodeRecorder]:
    """Open transcript and checkpoints, and read what an earlier run stored in them."""
    name = transcript_name(plan.nodeid)
    left = earlier(out / "episodes" / name)
    if left.facts is not None and left.facts.get("nodeid", plan.nodeid) != plan.nodeid:
        raise UserError(
            f"{out / 'episodes' / name}: is of the episode {left.facts['nodeid']}, not of {plan.nodeid}: restore this episode's own"
            " file, or give another --recode-out"
        )
    stored = stored_episode(out / "checkpoints" / name, plan.nodeid)
    transcript = Transcript(out / "episodes" / name, left.abandoned)
    kept = cast.agent.needs_model and plan.replay is None
    checkpoints = CheckpointWriter(out / "checkpoints" / name, plan.nodeid) if kept else None
    facts = _facts(plan, settings, cast, sandbox, transcript.path.relative_to(out).as_posix())
    recorder = _EpisodeRecorder(
        facts=facts,
        transcript=transcript,
        meter=Meter(ledger=ledger, transcript=transcript, clock=clock, total=left.usage),
        checkpoints=checkpoints,
        left=left,
        stored=stored,
        on_turn=on_turn,
        start=time.monotonic() - sum(turn.seconds for turn in stored.turns),
        turns=list(stored.turns),
    )
    try:
        yield recorder
    except BaseException as error:
        with suppress(RecordsError):  # the run ends for the error that came first
            if not recorder.start_logged:
                recorder.log_start()
            by = str(error) if isinstance(error, (RecordsError, Stopped)) else type(error).__name__
            transcript.log("interrupted", {"by": by, "turns": len(recorder.turns)})
        raise
    finally:
        transcript.close()
        if checkpoints is not None:
            checkpoints.close()


def fault(error: Exception) -> ErrorRecord:
    """Map an exception to the record's error kind and message. Only unexpected exceptions (kind "internal") get a traceback."""
    kinds = {
        ModelError: "model",
        BudgetSpent: "budget",
        SandboxError: "sandbox",
        GraderError: "grader",
        UserError: "user",
    }
    for kind, name in kinds.items():
        if isinstance(error, kind):
            detail = f":{error.fault.value}" if isinstance(error, ModelError) else ""
            return {"kind": name + detail, "message": legible(str(error))}
    return {"kind": "internal", "message": legible("".join(traceback.format_exception(error)))}


def _facts(plan: Plan, settings: Settings, cast: Cast, sandbox: Sandbox, transcript: str) -> EpisodeFacts:
    return {
        "schema": record.SCHEMA,
        "nodeid": plan.nodeid,
        "task": plan.task.id,
        "format": plan.task.format,
        "facts": dict(plan.task.facts),
        "agent": settings.agent,
        "model": plan.model,
        "simulated": cast.model is not None and cast.model.offline,
        "feedback": plan.policy,
        "feedback_model": settings.feedback_model,
        "attempt": plan.attempt,
        "paper": settings.paper,
        "paper_date": plan.task.paper.date,
        "cutoff": resolve(plan.model, cast.table).cutoff if plan.model else "",
        "settings": setup(replace(settings, **fixed(settings.agent, plan.policy))),
        "sandbox": sandbox.name,
        "isolation": "shared" if plan.task.oracle.isolation == "shared" else sandbox.isolation,
        "transcript": transcript,
        "digest": None,
        "replay": None if plan.replay is None else plan.replay.record(),
    }


_OF_FEEDBACK = ("researcher_prompt", "feedback_from", "feedback_scope", "feedback_code", "test_output")
"""Settings that matter only once there is feedback."""


def _of_first_turn(facts: EpisodeFacts, settings: Settings) -> dict[str, Any]:
    """The facts on which a first turn depends: without the settings of feedback, with the number of turns, which the agent is told."""
    left_out = {"nodeid", "feedback", "feedback_model", "transcript"}
    own: dict[str, Any] = {key: value for key, value in facts.items() if key not in left_out}
    return {
        **own,
        "settings": {**own["settings"], **dict.fromkeys(_OF_FEEDBACK), "turns": settings.turns, "call_seconds": None},
    }
