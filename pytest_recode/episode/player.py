"""Play one episode: set the stage, run the loop, keep the books."""

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
from pytest_recode.records.checkpoint import Checkpoint, FirstTurn, Keeper, Past, Resumable, first_turn, key_of, past_of
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
    """Play `plan` and return its record; the transcript is on disk as it goes. Turns that an earlier run left in `out` are not
    played again, nor is a first turn that an episode with another policy has played. `clock` is fresh, for whoever wants to
    look at it meanwhile.

    A fault that is not the candidate's makes a record with outcome "error". Raises `RecordsError` where that or anything else cannot
    be written, `UserError` where what an earlier run left cannot be read. What is no `Exception` (an interrupt, a time-out
    from outside) passes through, after the transcript says so and the sandbox is free.
    """
    with _books(plan, cast, settings, sandbox, ledger, out, on_turn, clock or Clock()) as books:
        try:
            with interrupts_first():
                parts = plan.task.load()
                books.begin(plan, settings, digest(parts))
                sandbox.ready(plan.task.environment)
                stage = Stage(
                    plan=plan,
                    parts=parts,
                    cast=cast,
                    settings=settings,
                    sandbox=sandbox,
                    meter=books.meter,
                    transcript=books.transcript,
                    out=out,
                )
                with stage.workspace() as workspace:
                    return books.record(_played(stage, workspace, books, out))
        except RecordsError:  # no record to be had
            raise
        except Exception as error:  # noqa: BLE001  every fault becomes a record, with its kind; nothing is dropped
            stop = Stop.BUDGET if isinstance(error, BudgetSpent) else Stop.ERROR
            return books.record(stop, fault(error))


def _played(stage: Stage, workspace: SandboxWorkspace, books: _Books, out: Path) -> Stop:
    agent = stage.agent()
    scene = partial(
        loop.run,
        brief=stage.brief(),
        agent=agent,
        workspace=workspace,
        judge=stage.judge(),
        researcher=stage.researcher(books.past.feedback, books.feedback),
        policy=stage.cast.policy,
        seconds=stage.plan.task.limits.episode_seconds,
        on_turn=partial(books.turn_over, agent, workspace),
        clock=stage.clock,
    )
    if (replay := stage.plan.replay) is not None:
        _go_on(stage, replay.before[-1], agent, workspace, replay.file, "restore it, or replay another run")
        before = tuple(checkpoint.turn for checkpoint in replay.before)
        return scene(turns=replay.turn, seconds=math.inf, before=before).stop
    if books.past.checkpoints:
        kept = out / "checkpoints" / transcript_name(stage.plan.nodeid)
        _go_on(stage, books.past.checkpoints[-1], agent, workspace, kept, "restore it, or give another --recode-out")
    elif books.keeper is not None and isinstance(agent, Resumable):
        with first_turn(out, key_of(_of_first_turn(books.facts, stage.settings)), stage.clock) as place:
            if place.found is None:
                stage.check()
                scene(turns=1, on_turn=partial(books.first_turn_over, agent, workspace, place))
            else:
                mend = "remove it, and this first turn is played anew"
                _go_on(stage, place.found, agent, workspace, place.path, mend)
                books.over(_as_seen_by(stage.plan.nodeid, place.found))
    elif books.keeper is not None:
        stage.check()
    return scene(turns=stage.settings.turns, before=tuple(books.turns)).stop


def _as_seen_by(nodeid: str, first: Checkpoint) -> Checkpoint:
    """A first turn is not shared for the episode that paid for it: it was killed after it had kept the turn for all."""
    return replace(first, turn=replace(first.turn, shared="")) if first.turn.shared == nodeid else first


def _go_on(
    stage: Stage, checkpoint: Checkpoint, agent: Agent, workspace: SandboxWorkspace, kept: Path, mend: str
) -> None:
    """Raises `UserError` where the agent cannot be what it was: `kept` is the file that says so, `mend` what to do."""
    if isinstance(agent, Resumable) and checkpoint.agent is not None and checkpoint.changes is not None:
        try:
            agent.restore(checkpoint.agent)
        except (ModelError, BudgetSpent, RecordsError, SandboxError, UserError):
            raise
        except Exception as error:
            raise UserError(
                f"{kept}: turn {checkpoint.turn.number}: the agent {stage.settings.agent} cannot go on from the state that is kept"
                f" there ({type(error).__name__}: {' '.join(str(error).split())}{_place(error)}): {mend}"
            ) from error
        workspace.lay(checkpoint.changes)


_OURS = f"{Path(__file__).parents[1]}/"


def _place(error: Exception) -> str:
    """Where it was raised, if by code that is not this project's: the state may be sound, and an agent of somebody's own at fault."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return "" if frame.filename.startswith(_OURS) else f", at {frame.filename}:{frame.lineno}"


@dataclass(slots=True, kw_only=True)
class _Books:
    """What is written of one episode. `keeper` is None where nothing is paid for that a later run could save."""

    facts: EpisodeFacts
    transcript: Transcript
    meter: Meter
    keeper: Keeper | None
    left: Earlier
    past: Past
    on_turn: OnTurn
    start: float
    turns: list[Turn] = field(default_factory=list)
    headed: bool = False  # whether the transcript says what it is of

    def begin(self, plan: Plan, settings: Settings, digest: str) -> None:
        """Raises `UserError` where this is not the episode that an earlier run began."""
        if self.turns:  # what was cut off before its first turn begins anew
            if not self.left.facts:
                raise UserError(
                    f"{self.transcript.path}: does not say what it is of, and has turns: restore it, or give another --recode-out"
                )
            check_setup(self.left.facts, plan, settings, digest)
        if plan.replay is not None:
            check_files(plan.replay.facts, plan, digest)
        self.facts = {**self.facts, "digest": digest}
        self.head()
        for turn in self.turns:
            if turn.number not in self.left.turns:
                self.log(turn)  # it was on disk as a checkpoint alone

    def head(self) -> None:
        begun = {"turns": len(self.turns)} if self.turns else {}
        self.transcript.log("resumed" if begun else "episode", {**self.facts, **begun})
        self.headed = True

    def turn_over(self, agent: Agent, workspace: SandboxWorkspace, turn: Turn) -> None:
        self.over(self._checkpoint(agent, workspace, turn))

    def first_turn_over(self, agent: Agent, workspace: SandboxWorkspace, place: FirstTurn, turn: Turn) -> None:
        """Kept for all episodes before this episode's own checkpoint. The other way round, a kill between the two would
        leave a turn that this episode goes on from and the others pay for again."""
        checkpoint = self._checkpoint(agent, workspace, turn)
        place.keep(checkpoint, by=self.facts["nodeid"])
        self.over(checkpoint)

    def _checkpoint(self, agent: Agent, workspace: SandboxWorkspace, turn: Turn) -> Checkpoint:
        if self.keeper is not None and isinstance(agent, Resumable):
            return Checkpoint(turn=turn, agent=agent.state(), changes=workspace.changes())
        return Checkpoint(turn=turn, agent=None, changes=None)

    def over(self, checkpoint: Checkpoint) -> None:
        if self.keeper is not None:
            self.keeper.turn(checkpoint)  # first of all: what was told of is not played again
        self.turns.append(checkpoint.turn)
        self.log(checkpoint.turn)
        self.on_turn(checkpoint.turn)

    def log(self, turn: Turn) -> None:
        targets = {path: data.decode("utf-8", "backslashreplace") for path, data in turn.targets.items()}
        verdict = record.verdict(turn.verdict)
        self.transcript.log("turn", {**record.turn(turn), "targets": targets, "verdict": verdict})

    def feedback(self, given: Feedback) -> None:
        if self.keeper is not None:
            self.keeper.feedback(given)

    def record(self, stop: Stop, error: ErrorRecord | None = None) -> Record:
        if not self.headed:
            self.head()
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
def _books(
    plan: Plan,
    cast: Cast,
    settings: Settings,
    sandbox: Sandbox,
    ledger: Ledger,
    out: Path,
    on_turn: OnTurn,
    clock: Clock,
) -> Iterator[_Books]:
    """Opened where an earlier run left them, if one did."""
    name = transcript_name(plan.nodeid)
    left = earlier(out / "episodes" / name)
    if left.facts is not None and left.facts.get("nodeid", plan.nodeid) != plan.nodeid:
        raise UserError(
            f"{out / 'episodes' / name}: is of the episode {left.facts['nodeid']}, and not of {plan.nodeid}: put this episode's own"
            " file there, or give another --recode-out"
        )
    past = past_of(out / "checkpoints" / name, plan.nodeid)
    transcript = Transcript(out / "episodes" / name, left.abandoned)
    kept = cast.agent.needs_model and plan.replay is None
    keeper = Keeper(out / "checkpoints" / name, plan.nodeid) if kept else None
    facts = _facts(plan, settings, cast, sandbox, transcript.path.relative_to(out).as_posix())
    books = _Books(
        facts=facts,
        transcript=transcript,
        meter=Meter(ledger=ledger, transcript=transcript, clock=clock, total=left.usage),
        keeper=keeper,
        left=left,
        past=past,
        on_turn=on_turn,
        start=time.monotonic() - sum(turn.seconds for turn in past.turns),
        turns=list(past.turns),
    )
    try:
        yield books
    except BaseException as error:
        with suppress(RecordsError):  # the run ends for the error that came first
            if not books.headed:
                books.head()
            by = str(error) if isinstance(error, (RecordsError, Stopped)) else type(error).__name__
            transcript.log("interrupted", {"by": by, "turns": len(books.turns)})
        raise
    finally:
        transcript.close()
        if keeper is not None:
            keeper.close()


def fault(error: Exception) -> ErrorRecord:
    """Whose fault, and the words. A traceback only for what nobody foresaw."""
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
    """The facts without those of an answer to a failed turn, and with the number of turns that the agent is told."""
    left_out = {"nodeid", "feedback", "feedback_model", "transcript"}
    own: dict[str, Any] = {key: value for key, value in facts.items() if key not in left_out}
    return {
        **own,
        "settings": {**own["settings"], **dict.fromkeys(_OF_FEEDBACK), "turns": settings.turns, "call_seconds": None},
    }
