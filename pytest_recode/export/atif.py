"""Export to ATIF, the Agent Trajectory Interchange Format of Harbor (Terminal-Bench): one JSON file per episode.

The format is defined by RFC 0001 of Harbor (https://github.com/harbor-framework/harbor, rfcs/0001-trajectory-format.md).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recode.export.target import (
    ExportedEpisode,
    Target,
    Written,
    clean,
    counted_usage,
    file_name,
    iso,
    new_files,
    verdict,
)
from pytest_recode.export.transcript_messages import ConversationMessage, conversation

if TYPE_CHECKING:
    from pytest_recode.records.record import UsageRecord
    from pytest_recode.records.transcript_turns import PlayedEpisode, PlayedStep

VERSION = "ATIF-v1.8"


def trajectory(episode: ExportedEpisode) -> dict[str, Any]:
    """The trajectory of an episode with a transcript, as JSON.

    A message is a step. An agent's step has its actions as tool calls, with their results as observation, and the last one of a turn has the
    verdict in `extra`. A first turn that another episode played is marked as copied.
    """
    played, record = _played(episode), episode.record
    steps = [{"step_id": number, **_step(said, played, number)} for number, said in enumerate(conversation(played), 1)]
    settings = record["settings"]
    configuration = {
        "feedback": record["feedback"],
        "feedback_model": record["feedback_model"],
        "paper": record["paper"],
        "settings": _known(settings),
    }
    agent = {
        "name": record["agent"],
        "version": record.get("agent_version", settings.get("version")) or "unknown",  # the format requires one
        "model_name": record["model"],
        "extra": _known(configuration),
    }
    extra = {
        "task": record["task"],
        "format": record["format"],
        "attempt": record["attempt"],
        "nodeid": record["nodeid"],
        "outcome": record["outcome"],
        "stop": record.get("stop"),
        "solved_turn": record["solved_turn"],
        "passed_but_flagged": record.get("passed_but_flagged"),
        "error": record["error"],
        "usage": counted_usage(record),
        "seconds": record["seconds"],
        "simulated": record["simulated"],
        "isolation": record["isolation"],
        "digest": record.get("digest"),
        "removed": list(episode.without) or None,
    }
    whole: dict[str, Any] = {
        "schema_version": VERSION,
        "session_id": episode.run,
        "trajectory_id": file_name([], episode.identity, ""),
        "agent": _known(agent),
        "steps": steps,
        "final_metrics": _final([step["metrics"] for step in steps if "metrics" in step], len(steps)),
        "extra": _known(extra),
    }
    cleaned: dict[str, Any] = clean(_known(whole))
    return cleaned


def _played(episode: ExportedEpisode) -> PlayedEpisode:
    assert episode.played is not None, "the target needs transcripts"
    return episode.played


def _known(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _step(message: ConversationMessage, played: PlayedEpisode, number: int) -> dict[str, Any]:
    judged = message.turn.judged
    copied = True if judged is not None and judged["shared"] else None
    extra: dict[str, Any] = {"turn": message.turn.number}
    fields: dict[str, Any] = {
        "timestamp": iso(message.time),
        "message": message.text,
        "is_copied_context": copied,
        "extra": extra,
    }
    if message.role != "assistant":
        return _known({"source": message.role, **fields})
    if message.last and judged is not None:
        extra["verdict"] = verdict(judged)
    step = message.step
    calls = 0 if played.facts["model"] is None else None if step is None or step.call is None else 1
    fields |= {"source": "agent", "llm_call_count": calls}
    if step is not None:
        extra |= _known({"finish": step.finish or None, "error": step.error or None})
        fields |= _acts(step, number)
        fields |= {"metrics": _metrics(step.call), "reasoning_content": step.thoughts or None} if calls else {}
    return _known(fields)


def _acts(step: PlayedStep, number: int) -> dict[str, Any]:
    """The tool calls of a step, and their observation."""
    ids = [f"step-{number}-call-{place}" for place in range(1, len(step.actions) + 1)]
    results = [
        {"source_call_id": call, "content": action.text, "extra": {"ok": action.ok}}
        for call, action in zip(ids, step.actions, strict=True)
        if action.ok is not None
    ]
    calls = [
        {"tool_call_id": call, "function_name": action.kind, "arguments": dict(action.arguments)}
        for call, action in zip(ids, step.actions, strict=True)
    ]
    return {"tool_calls": calls or None, "observation": {"results": results} if results else None}


def _metrics(call: UsageRecord | None) -> dict[str, Any] | None:
    if call is None:
        return None
    tokens = {"prompt_tokens": call["prompt_tokens"], "completion_tokens": call["completion_tokens"]}
    return _known({**tokens, "cost_usd": call["cost_usd"]})


def _final(metrics: Sequence[Mapping[str, Any]], steps: int) -> dict[str, Any]:
    """The sums over steps that the format asks for; of costs only if the price of every call is known."""
    if not metrics:
        return {"total_steps": steps}
    costs = [metric.get("cost_usd") for metric in metrics]
    totals = {
        "total_prompt_tokens": sum(metric["prompt_tokens"] for metric in metrics),
        "total_completion_tokens": sum(metric["completion_tokens"] for metric in metrics),
        "total_steps": steps,
    }
    return totals if None in costs else {**totals, "total_cost_usd": sum(costs)}


def _name(episode: ExportedEpisode) -> str:
    record = episode.record
    texts = [record["task"], record["model"] or record["agent"], record["feedback"]]
    return file_name(texts, episode.identity, ".json")


def _write(episodes: Iterable[ExportedEpisode], output: str) -> Written:
    directory = Path(output)
    names: set[str] = set()  # a copy of a run has the same episodes
    with new_files(directory) as create:
        for episode in episodes:
            name = _name(episode)
            if name not in names and any(conversation(_played(episode))):
                names.add(name)
                text = json.dumps(trajectory(episode), ensure_ascii=False, indent=1) + "\n"
                create(name).write_text(text, "utf-8")
    return Written(episodes=len(names), place=str(directory))


TARGET = Target(
    packages={},
    extra="",
    output="trajectories",
    needs_transcript=True,
    write=_write,
)
