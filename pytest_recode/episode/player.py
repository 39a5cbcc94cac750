"""Play one episode in a worker: assemble its parts, run the loop, write transcript and checkpoints, return the record."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_recode.agents import Agent, Finishing
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.clock import Clock
from pytest_recode.episode import OnTurn, Stop, loop
from pytest_recode.episode.assembly import Cast, EpisodePlan, Stage
from pytest_recode.episode.episode_queue import EpisodeQueue
from pytest_recode.episode.error_record import error_record
from pytest_recode.episode.moves import checked_move
from pytest_recode.episode.recorder import EpisodeRecorder, open_recorder
from pytest_recode.episode.setup import first_turn_facts
from pytest_recode.faults import (
    BudgetSpent,
    ModelError,
    RecordsError,
    SandboxError,
    UserError,
    interrupts_first,
    raised,
)
from pytest_recode.models import Ledger
from pytest_recode.oracle.verifier import with_image_files
from pytest_recode.records.checkpoint import Checkpoint, Resumable
from pytest_recode.records.first_turn import first_turn, first_turn_key
from pytest_recode.records.record import Record
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.records.transcript import name as transcript_name
from pytest_recode.sandboxes import Sandbox
from pytest_recode.settings import Settings


def play(
    plan: EpisodePlan,
    cast: Cast,
    settings: Settings,
    sandbox: Sandbox,
    ledger: Ledger,
    out: Path,
    on_turn: OnTurn,
    clock: Clock | None = None,
    files: RunFiles = LOCAL,
    queue: EpisodeQueue | None = None,
) -> Record:
    """Play `plan` and return its record.

    The transcript is written while the episode runs. Turns that an earlier run stored in `out` are not played again, nor is a
    first turn that an episode with another policy has played. `clock` must be new; the caller may read it during the episode. `queue`: of the
    same clock, where many episodes play at the same time.

    A fault that is not the candidate's results in a record with outcome "error". Raises `RecordsError` if a file cannot be
    written, and `UserError` if a file of an earlier run cannot be read. A `BaseException` that is no `Exception` (an interrupt,
    an external time-out) is noted in the transcript and raised again, after the sandbox was released.
    """
    clock = clock or Clock()
    queue = queue or EpisodeQueue(clock=clock)
    with open_recorder(plan, cast, settings, sandbox, ledger, out, on_turn, clock, queue, files) as recorder:
        try:
            with interrupts_first():
                parts = with_image_files(plan.task, plan.task.load(), sandbox)
                recorder.begin(plan, settings, parts)
                sandbox.ready(plan.task.environment)
                before = [checkpoint.turn for checkpoint in plan.replay.before] if plan.replay is not None else []
                stage = Stage(
                    plan=plan,
                    parts=parts,
                    cast=cast,
                    settings=settings,
                    sandbox=sandbox,
                    meter=recorder.meter,
                    transcript=recorder.transcript,
                    out=out,
                    played=lambda: [*before, *recorder.turns],
                    first_turn=lambda: recorder.first_turn,
                    queue=queue,
                    files=files,
                )
                with stage.workspace() as workspace:
                    return recorder.record(_run_episode(stage, workspace, recorder, out))
        except RecordsError:  # no record can be written
            raise
        except (Exception, SystemExit) as error:  # noqa: BLE001  every fault becomes a record, with its kind; nothing is dropped
            stop = Stop.BUDGET if isinstance(error, BudgetSpent) else Stop.ERROR
            return recorder.record(stop, error_record(error))


def _run_episode(stage: Stage, workspace: SandboxWorkspace, recorder: EpisodeRecorder, out: Path) -> Stop:
    agent, kind = stage.agent(workspace), stage.cast.agent
    run_loop = partial(
        loop.run,
        brief=stage.brief(),
        agent=stage.player(agent, workspace),
        check_move=partial(
            checked_move, agent=stage.settings.agent, most=None if kind.needs_person else stage.settings.steps
        ),
        workspace=workspace,
        judge=stage.judge(workspace),
        researcher=stage.researcher(recorder.stored.feedback, recorder.feedback),
        policy=stage.policy(),
        seconds=math.inf if kind.needs_person else stage.plan.task.limits.episode_seconds,
        on_turn=partial(recorder.turn_over, agent, workspace),
        clock=stage.clock,
    )
    if (replay := stage.plan.replay) is not None:
        _resume(stage, replay.before[-1], agent, workspace, replay.file, "restore it, or replay another run")
        before = tuple(checkpoint.turn for checkpoint in replay.before)
        return run_loop(turns=replay.turn, seconds=math.inf, before=before).stop
    if recorder.stored.checkpoints:
        file = out / "checkpoints" / transcript_name(stage.plan.nodeid)
        _resume(
            stage, recorder.stored.checkpoints[-1], agent, workspace, file, "restore it, or give another --recode-out"
        )
    elif recorder.checkpoints is not None and isinstance(agent, Resumable):
        key = first_turn_key(first_turn_facts(recorder.facts, stage.settings))
        with first_turn(out, key, stage.clock, stage.files) as slot:
            if slot.checkpoint is None:
                stage.check()
                recorder.first_turn = key
                run_loop(turns=1, on_turn=partial(recorder.first_turn_over, agent, workspace, slot))
            else:
                remedy = "remove it to play this first turn again"
                _resume(stage, slot.checkpoint, agent, workspace, slot.path, remedy)
                recorder.over(_as_seen_by(stage.plan.nodeid, slot.checkpoint))
    elif recorder.checkpoints is not None:
        stage.check()
    turns = stage.settings.turns * max(1, len(stage.plan.task.oracle.steps))
    episode = run_loop(turns=turns, before=tuple(recorder.turns))
    if isinstance(agent, Finishing):
        agent.finish(episode)
    return episode.stop


def _as_seen_by(nodeid: str, first: Checkpoint) -> Checkpoint:
    """Unset `shared` for the episode that paid for the turn: it stored the first turn, and was killed before its own checkpoint."""
    return replace(first, turn=replace(first.turn, shared="")) if first.turn.shared == nodeid else first


def _resume(
    stage: Stage, checkpoint: Checkpoint, agent: Agent, workspace: SandboxWorkspace, file: Path, remedy: str
) -> None:
    """Restore agent and workspace from a checkpoint.

    Raises `UserError` if the agent cannot be restored. Its message names the file `file` and the `remedy`.
    """
    if isinstance(agent, Resumable) and checkpoint.agent is not None and checkpoint.changes is not None:
        try:
            agent.restore(checkpoint.agent)
        except (ModelError, BudgetSpent, RecordsError, SandboxError, UserError):
            raise
        except Exception as error:
            raise UserError(
                f"{file}: turn {checkpoint.turn.number}: the agent {stage.settings.agent} cannot resume from the state that is stored"
                f" there ({raised(error)}): {remedy}"
            ) from error
        workspace.lay(checkpoint.changes)
