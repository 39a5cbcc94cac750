"""An episode as a sample of Inspect: messages, scores, usage, and an event for each graded turn."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from pytest_recode.export.target import ExportedEpisode, clean, counted_usage, file_name, iso, solved, verdict
from pytest_recode.export.transcript_messages import ConversationMessage, conversation
from pytest_recode.records.transcript_reader import case_messages

if TYPE_CHECKING:
    from inspect_ai.event import Event
    from inspect_ai.log import EvalSample
    from inspect_ai.model import ChatMessage, ModelUsage
    from inspect_ai.scorer import Score

    from pytest_recode.records.record import Record, TurnRecord, UsageRecord
from pytest_recode.records.transcript_turns import PlayedEpisode

NO_MODEL = "none/none"
"""Inspect's name for the model of an evaluation without one."""
SOLVED = "solved"


def inspect_sample(episode: ExportedEpisode) -> EvalSample:
    from inspect_ai.log import EvalError, EvalSample
    from inspect_ai.model import ModelOutput

    record, played = episode.record, episode.played
    messages = [message for said in conversation(played) for message in _messages(said, episode)] if played else []
    error = record["error"]
    waited = record.get("waited")
    turns = _turns(episode)
    last = next((each for each in reversed(messages) if each.role == "assistant"), None)
    # An agent without a model, such as a person, has messages, and no output of a model
    output = ModelOutput.from_content(record["model"], last.text) if last and record["model"] else ModelOutput()
    return EvalSample(
        id=clean(record["task"]),
        epoch=record["attempt"],
        uuid=file_name([], episode.identity, ""),
        input=clean(played.brief) if played else "",
        target="",
        messages=messages,
        output=output,
        scores=_scores(record, turns),
        events=list(_events(played)) if played else [],
        metadata=clean(_metadata(episode)),
        model_usage=_usage(played) if played else _recorded_usage(record),
        started_at=iso(played.begun) if played else None,
        completed_at=iso(played.now[1]) if played else None,
        total_time=record["seconds"],
        working_time=None if waited is None else max(0.0, record["seconds"] - waited),
        error=EvalError(message=clean(f"{error['kind']}: {error['message']}"), traceback="", traceback_ansi="")
        if error
        else None,
        turn_count=len(turns),
    )


def _turns(episode: ExportedEpisode) -> list[TurnRecord]:
    return episode.record["turns"]


def _metadata(episode: ExportedEpisode) -> dict[str, Any]:
    record = episode.record
    names = (
        "nodeid",
        "outcome",
        "stop",
        "solved_turn",
        "passed_but_flagged",
        "isolation",
        "sandbox",
        "digest",
        "facts",
    )
    found = {name: record.get(name) for name in (*names, "paper_date", "cutoff", "replay")}
    return {name: value for name, value in found.items() if value not in (None, "", {})}


def _scores(record: Record, turns: Sequence[TurnRecord]) -> dict[str, Score]:
    """`solved` for the episode, unless it ended with an error, and `turn_1` … for each graded turn: the share of hidden cases that passed."""
    from inspect_ai.scorer import CORRECT, INCORRECT, Score

    scores = {}
    if record["outcome"] != "error":
        won = record["outcome"] == "solved"
        explanation = f"solved in turn {record['solved_turn']}" if won else f"not solved in {len(turns)} turns"
        scores[SOLVED] = Score(value=CORRECT if won else INCORRECT, explanation=explanation)
    return scores | {f"turn_{turn['turn']}": _score(turn) for turn in turns}


def _score(turn: TurnRecord, messages: dict[str, str] | None = None) -> Score:
    """`messages`: those of the cases, by id."""
    from inspect_ai.scorer import Score

    level = turn["level"] or "none"
    explanation = f"{turn['passed']} of {turn['total']} hidden cases passed; feedback before the turn: {level}"
    failed = {name: text for name, text in (messages or {}).items() if text}
    if failed:
        explanation += "".join(f"\n\n{name}\n\n{_verbatim(text)}" for name, text in failed.items())
    return Score(
        value=turn["passed"] / turn["total"] if turn["total"] else 0.0,
        explanation=clean(explanation),
        metadata=clean({**verdict(turn), "solved": solved(turn)}),
    )


def _verbatim(text: str) -> str:
    """A block of Markdown, which is how the viewer shows explanations, that no text can end early."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence}text\n{text}\n{fence}"


def _messages(message: ConversationMessage, episode: ExportedEpisode) -> Iterator[ChatMessage]:
    """A message of the conversation; after an assistant's message with actions, their results."""
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        Content,
        ContentReasoning,
        ContentText,
    )
    from inspect_ai.tool import ToolCall, ToolCallError

    text, turn = clean(message.text), {"turn": message.turn.number}
    if message.role == "system":
        yield ChatMessageSystem(content=text, metadata=turn)
    elif message.role == "user":
        yield ChatMessageUser(content=text, metadata=turn)
    else:
        step = message.step
        actions = step.actions if step else ()
        number = step.number if step else 0
        calls = [
            ToolCall(
                id=f"turn-{message.turn.number}-step-{number}-action-{place}",
                function=clean(action.kind),
                arguments=clean(dict(action.arguments)),
            )
            for place, action in enumerate(actions, 1)
        ]
        thoughts = clean(step.thoughts) if step else ""
        content: list[Content] = [ContentReasoning(reasoning=thoughts)] if thoughts else []
        content.append(ContentText(text=text))
        yield ChatMessageAssistant(
            content=content, tool_calls=calls or None, model=episode.record["model"], metadata=turn
        )
        for call, action in zip(calls, actions, strict=True):
            if action.ok is not None:
                refused = None if action.ok else ToolCallError(type="unknown", message=clean(action.text))
                yield ChatMessageTool(
                    content=clean(action.text), tool_call_id=call.id, function=call.function, error=refused
                )


def _events(played: PlayedEpisode) -> Iterator[Event]:
    """A score for each graded turn, at the time of its verdict."""
    from datetime import UTC, datetime

    from inspect_ai.event import ScoreEvent

    for turn in played.turns:
        judged = turn.judged
        if judged is not None and iso(judged["time"]) is not None:
            failed = {case["id"] for case in judged["cases"] if case["outcome"] != "passed"}
            messages = {case: message for case, message in case_messages(judged).items() if case in failed}
            yield ScoreEvent(
                uuid=f"turn-{turn.number}",
                timestamp=datetime.fromtimestamp(judged["time"], UTC),
                working_start=max(0.0, judged["time"] - played.begun),
                score=_score(judged, messages),
                intermediate=turn is not played.turns[-1],
                scorer=f"turn_{turn.number}",
            )


def _usage(played: PlayedEpisode) -> dict[str, ModelUsage]:
    """Usage by model: every call of the transcript, and a first turn that another episode paid for, as in the record."""
    usages = [{clean(call["model"]): _model_usage(call)} for call in played.calls]
    model = played.facts["model"]
    shared = [turn.judged["usage"] for turn in played.turns if turn.judged is not None and turn.judged["shared"]]
    return sums([*usages, *({clean(model): _model_usage(each)} for each in shared if model is not None)])


def _recorded_usage(record: Record) -> dict[str, ModelUsage]:
    """The usage of an episode without a transcript, which does not tell the calls of models apart. Without a model, only that of the feedback is left."""
    usage = counted_usage(record)
    return (
        {} if usage is None else {clean(record["model"] or record["feedback_model"] or NO_MODEL): _model_usage(usage)}
    )


def _model_usage(usage: UsageRecord) -> ModelUsage:
    from inspect_ai.model import ModelUsage

    read, written = usage["prompt_tokens"], usage["completion_tokens"]
    return ModelUsage(
        input_tokens=read, output_tokens=written, total_tokens=read + written, total_cost=usage["cost_usd"]
    )


def sums(usages: Sequence[dict[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """The sum for each model; without a cost if that of a part is unknown."""
    totals: dict[str, ModelUsage] = {}
    for each in usages:
        for model, usage in each.items():
            if model not in totals:
                totals[model] = usage
                continue
            unknown = totals[model].total_cost is None or usage.total_cost is None
            totals[model] = totals[model] + usage
            if unknown:
                totals[model].total_cost = None
    return totals
