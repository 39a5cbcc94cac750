"""The facts and settings of a record, and the check that a resumed run has the same settings.

Every setting that an episode depends on is recorded, as its declaration says: resumed runs and reports compare runs by them.
"""

from __future__ import annotations

import typing
from dataclasses import replace
from typing import Any

from pytest_recode import VERSION
from pytest_recode.episode.assembly import Cast, EpisodePlan
from pytest_recode.faults import UserError
from pytest_recode.models.table import resolve
from pytest_recode.oracle.verifier import ISOLATION, SHARED, can_share
from pytest_recode.records import record
from pytest_recode.records.record import EpisodeFacts
from pytest_recode.records.setup_record import SettingsRecord
from pytest_recode.researchers import prompts
from pytest_recode.sandboxes import Sandbox
from pytest_recode.settings import NOT_COMPARED, OPTIONS, Settings, fixed
from pytest_recode.task import Task


def setup(settings: Settings) -> SettingsRecord:
    """The settings that an episode depends on and that are not part of its name."""
    fields = [option.field for option in OPTIONS.values() if option.recorded == "settings"]
    values = {
        "version": VERSION,
        "researcher_prompt": prompts.VERSION,
        **{name: getattr(settings, name) for name in fields},
    }
    return typing.cast("SettingsRecord", values)


def check_files(then: EpisodeFacts, plan: EpisodePlan, digest: str) -> None:
    """Raises `UserError` if the task differed in the run with the facts `then`."""
    if then["digest"] != digest:
        raise UserError(
            f"{then['nodeid']} was begun with other files of the task {plan.task.id}: restore them, or give another --recode-out"
        )


def check_setup(then: EpisodeFacts, plan: EpisodePlan, settings: Settings, digest: str) -> None:
    """Raises `UserError` if an earlier run played this episode (facts `then`) with other settings or another version of the task;
    `digest` is that of the task's parts."""
    check_files(then, plan, digest)
    check_settings(then, settings)


def check_settings(then: EpisodeFacts, settings: Settings) -> None:
    """Raises `UserError` if the record or facts `then` are of a run with other settings."""
    now: dict[str, Any] = {**setup(settings), "agent": settings.agent, "feedback-model": settings.feedback_model}
    was: dict[str, Any] = {
        "feedback_writer": "with-reference",
        "impossible": False,
        **then["settings"],
        "agent": then["agent"],
        "feedback-model": then.get("feedback_model"),
    }
    for each in (now, was):  # records of earlier versions have the numbers that were asked for
        each |= fixed(then["feedback"])
    for key in now.keys() - NOT_COMPARED:
        if was.get(key, now[key]) != now[key]:  # an earlier version may not have had it
            raise UserError(
                f"{then['nodeid']} was played with {key.replace('_', '-')} {was.get(key)}, and this run asks for {now[key]}:"
                " give the options of that run, or another --recode-out"
            )


def episode_facts(plan: EpisodePlan, settings: Settings, cast: Cast, sandbox: Sandbox, transcript: str) -> EpisodeFacts:
    """The facts known when the episode begins, except the digest of the task's files. `transcript`: its path in the run's directory."""
    facts: EpisodeFacts = {
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
        "shard": str(settings.shard) if settings.shard else None,
        "paper": settings.paper,
        "paper_date": plan.task.paper.date,
        "cutoff": resolve(plan.model, cast.table).cutoff if plan.model else "",
        "settings": setup(replace(settings, **fixed(plan.policy))),
        "sandbox": cast.sandbox or sandbox.name,
        "sandbox_host": sandbox.host or None,
        "memory_limit": sandbox.memory_limit,
        "isolation": _isolation(plan.task, settings, sandbox),
        "transcript": transcript,
        "digest": None,
        "replay": None if plan.replay is None else plan.replay.record(),
    }
    if cast.program is not None:
        facts["agent_version"] = cast.program.version
    if cast.replaced:
        facts["replaced"] = dict(cast.replaced)
    return facts


def _isolation(task: Task, settings: Settings, sandbox: Sandbox) -> str:
    if task.oracle.isolation == "verifier":
        return SHARED if settings.shared_verifier and can_share(task) else ISOLATION
    return sandbox.isolation if task.oracle.isolation == "separate" else task.oracle.isolation


_OF_FEEDBACK = (
    "researcher_prompt",
    "feedback_from",
    "feedback_scope",
    "feedback_code",
    "feedback_writer",
    "test_output",
)
"""Settings that matter only once there is feedback."""


def first_turn_facts(facts: EpisodeFacts, settings: Settings) -> dict[str, Any]:
    """The facts that a first turn depends on: not the settings of feedback, but the number of turns, which is in the prompt."""
    left_out = {"nodeid", "feedback", "feedback_model", "transcript", "shard", "sandbox_host", "memory_limit"}
    own: dict[str, Any] = {key: value for key, value in facts.items() if key not in left_out}
    return {
        **own,
        "settings": {**own["settings"], **dict.fromkeys(_OF_FEEDBACK), "turns": settings.turns, "call_seconds": None},
    }
