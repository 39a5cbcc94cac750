"""Export to OpenTelemetry: a trace per episode, with the spans and attributes of the GenAI semantic conventions, sent by OTLP (HTTP, protobuf).

https://github.com/open-telemetry/semantic-conventions-genai. The conventions record evaluations as events. These are events of the span here, and not of
a log, because many backends take only traces.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_recode import VERSION
from pytest_recode.export.target import ExportedEpisode, Target, Written, clean, counted_usage, identity, solved
from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import Event, ReadableSpan
    from opentelemetry.trace import SpanContext

    from pytest_recode.records.transcript_lines import TurnLine, UsageLine
    from pytest_recode.records.transcript_turns import ActionResult, PlayedEpisode, PlayedStep, PlayedTurn

ENDPOINTS = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT")
_PATH = "/v1/traces"
_BATCH = 256
"""Spans in a request: collectors limit its size."""
_PROVIDERS = {
    "azure": "azure.ai.openai",
    "azure_ai": "azure.ai.inference",
    "bedrock": "aws.bedrock",
    "gemini": "gcp.gemini",
    "mistral": "mistral_ai",
    "moonshot": "moonshot_ai",
    "vertex_ai": "gcp.vertex_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""Prefixes of model names whose provider has another name in the conventions."""


def spans(episode: ExportedEpisode) -> list[ReadableSpan]:
    """The spans of an episode with a transcript: `invoke_agent`, and below it a `chat` per model call and an `execute_tool` per action.

    Trace and span ids are digests of the episode's identity, so another export has the same.
    """
    from opentelemetry.trace import Link, StatusCode
    from opentelemetry.trace.status import Status

    played = episode.played
    assert played is not None, "the target needs transcripts"
    record = episode.record
    root = _context(episode.identity, "invoke_agent")
    links = []
    if episode.payer is not None:
        payer = _context(identity(episode.payer), "invoke_agent")
        links = [Link(payer, {"recode.turn": 1, "recode.relation": "played the first turn"})]
    error = record["error"]
    usage = counted_usage(record)
    attributes = {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": record["agent"],
        "gen_ai.agent.version": record.get("agent_version") or None,
        "gen_ai.provider.name": _provider(record["model"]),
        "gen_ai.request.model": record["model"],
        "gen_ai.conversation.id": record["nodeid"],
        "gen_ai.usage.input_tokens": usage and usage["prompt_tokens"],
        "gen_ai.usage.output_tokens": usage and usage["completion_tokens"],
        "error.type": error["kind"] if error else None,
        "recode.run": episode.run,
        "recode.task": record["task"],
        "recode.attempt": record["attempt"],
        "recode.feedback": record["feedback"],
        "recode.outcome": record["outcome"],
        "recode.stop": record.get("stop"),
        "recode.solved_turn": record["solved_turn"],
        "recode.cost_usd": usage and usage["cost_usd"],
        "recode.simulated": record["simulated"],
        "recode.removed": list(episode.without) or None,
    }
    status = Status(StatusCode.ERROR, clean(error["message"])) if error else Status()
    whole = _span(
        f"invoke_agent {record['agent']}",
        root,
        None,
        attributes,
        (played.begun, max(played.begun, played.now[1])),
        events=[_evaluation(turn.judged) for turn in played.turns if turn.judged],
        links=links,
        status=status,
    )
    return [whole, *_children(episode.identity, root, played)]


def _children(identity: str, root: SpanContext, played: PlayedEpisode) -> Iterator[ReadableSpan]:
    """The spans of calls and actions of the turns that this episode played itself; a shared turn's are in its player's trace."""
    for turn in played.turns:
        answers = {id(step.call): step for step in turn.steps if step.call is not None}
        for number, call in enumerate(turn.usages, 1):
            context = _context(identity, f"turn {turn.number} chat {number}")
            yield _chat(context, root, turn, call, answers.get(id(call)))
        if turn.judged is not None and turn.judged["shared"]:
            continue
        for step in turn.steps:
            for number, action in enumerate(step.actions, 1):
                name = f"turn {turn.number} step {step.number} action {number}"
                yield _tool(_context(identity, name), root, turn, step, action, number)


def _chat(
    context: SpanContext, root: SpanContext, turn: PlayedTurn, call: UsageLine, step: PlayedStep | None
) -> ReadableSpan:
    from opentelemetry.trace import SpanKind

    model = call["model"]
    answer = _answer(turn, step) if step else None
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": _provider(model),
        "gen_ai.request.model": model,
        "gen_ai.usage.input_tokens": call["prompt_tokens"],
        "gen_ai.usage.output_tokens": call["completion_tokens"],
        "gen_ai.response.finish_reasons": [step.finish] if step and step.finish else None,
        "gen_ai.output.messages": answer,
        "recode.turn": turn.number,
        "recode.step": step.number if step else None,
        "recode.cost_usd": call["cost_usd"],
        "recode.replayed": True if call.get("replayed") else None,
        "recode.recorded_cost_usd": call.get("recorded_usd"),
    }
    return _span(f"chat {model}", context, root, attributes, _interval(turn, call), kind=SpanKind.CLIENT)


def _answer(turn: PlayedTurn, step: PlayedStep) -> str | None:
    """The assistant's message of a step, in the form of the conventions: reasoning, text, tool calls."""
    message = next((each for each in turn.messages if each.role == "assistant" and each.step == step.number), None)
    if message is None:
        return None
    parts = [{"type": "reasoning", "content": step.thoughts}] if step.thoughts else []
    calls = [{"type": "tool_call", **call} for call in message.tool_calls if isinstance(call, dict)]
    texts = [{"type": "text", "content": message.content}] if message.content or not calls else []
    answer = {"role": "assistant", "parts": [*parts, *texts, *calls]}
    return json.dumps(
        clean([{**answer, **({"finish_reason": step.finish} if step.finish else {})}]), ensure_ascii=False
    )


def _interval(turn: PlayedTurn, call: UsageLine) -> tuple[float, float]:
    """Start and end of a call. Its line says when it was answered; without the seconds that took, it began at the last message before it."""
    end = float(call["time"])
    if "answering" in call:
        return end - call["answering"], end
    asked = max((each.time for each in turn.messages if each.role != "assistant" and each.time <= end), default=end)
    return asked, end


def _tool(
    context: SpanContext, root: SpanContext, turn: PlayedTurn, step: PlayedStep, action: ActionResult, number: int
) -> ReadableSpan:
    from opentelemetry.trace.status import Status, StatusCode

    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": action.kind,
        "gen_ai.tool.type": "function",
        "gen_ai.tool.call.id": f"turn-{turn.number}-step-{step.number}-action-{number}",
        "gen_ai.tool.call.arguments": json.dumps(clean(action.arguments), ensure_ascii=False)
        if action.arguments
        else None,
        "gen_ai.tool.call.result": action.text if action.ok is not None else None,
        "error.type": "not_executed" if action.ok is False else None,
        "recode.turn": turn.number,
        "recode.step": step.number,
    }
    ended = action.begun if action.ended is None else action.ended
    status = Status(StatusCode.ERROR) if action.ok is False else Status()
    return _span(f"execute_tool {action.kind}", context, root, attributes, (action.begun, ended), status=status)


def _evaluation(judged: TurnLine) -> Event:
    """The verdict of a turn. Its score is the share of hidden cases that pass; its label is "pass" if the turn solves the task, else "fail"."""
    from opentelemetry.sdk.trace import Event

    interfaces = sorted({case["interface"] for case in judged["cases"] if case["outcome"] != "passed"})
    explanation = f"{judged['passed']} of {judged['total']} hidden cases passed"
    attributes = {
        "gen_ai.evaluation.name": "hidden tests",
        "gen_ai.evaluation.score.value": judged["passed"] / judged["total"] if judged["total"] else None,
        "gen_ai.evaluation.score.label": "pass" if solved(judged) else "fail",
        "gen_ai.evaluation.explanation": explanation + (f"; failing: {', '.join(interfaces)}" if interfaces else ""),
        "recode.turn": judged["turn"],
        "recode.level": judged["level"],
        "recode.passed": judged["passed"],
        "recode.total": judged["total"],
        "recode.tampering": list(judged["tampering"]) or None,
        "recode.seed": str(judged["seed"]),  # of 64 bits, and an attribute is signed
        "recode.shared": judged["shared"],
    }
    return Event("gen_ai.evaluation.result", _attributes(attributes), timestamp=_nanoseconds(judged["time"]))


def _provider(model: str | None) -> str | None:
    """The provider that a model's name begins with; None if it names none, because a record does not have it otherwise."""
    prefix, slash, _ = (model or "").partition("/")
    return _PROVIDERS.get(prefix, prefix) if slash else None


def _context(identity: str, name: str) -> SpanContext:
    from opentelemetry.trace import SpanContext, TraceFlags

    trace, span = (
        hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in (identity, f"{identity}\n{name}")
    )
    return SpanContext(
        trace_id=int.from_bytes(trace[:16], "big"),
        span_id=int.from_bytes(span[:8], "big"),
        is_remote=False,
        trace_flags=TraceFlags(TraceFlags.SAMPLED),
    )


def _span(
    name: str,
    context: SpanContext,
    parent: SpanContext | None,
    attributes: Mapping[str, Any],
    interval: tuple[float, float],
    **more: Any,
) -> ReadableSpan:
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import ReadableSpan
    from opentelemetry.sdk.util.instrumentation import InstrumentationScope

    begin, end = map(_nanoseconds, interval)
    return ReadableSpan(
        name=clean(name),
        context=context,
        parent=parent,
        resource=Resource({"service.name": "pytest-recode", "service.version": VERSION}),
        attributes=_attributes(attributes),
        start_time=begin,
        end_time=max(begin, end),
        instrumentation_scope=InstrumentationScope("pytest_recode", VERSION),
        **more,
    )


def _attributes(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Without unknown values. Numbers of a record fit, but for seeds: its checks limit them."""
    return {name: clean(value) for name, value in fields.items() if value is not None}


def _nanoseconds(seconds: float) -> int:
    """A time of a span; 0 if it is outside of what a span can have."""
    return round(seconds * 1e9) if 0 <= seconds < (1 << 64) / 1e9 else 0


def endpoint(output: str, option: str = "-o ") -> str:
    """The URL that takes traces. `option`: which the user gave `output` with. Raises `UserError`."""
    named = os.environ.get(ENDPOINTS[0], "")
    base = output or os.environ.get(ENDPOINTS[1], "")
    if not output and named:
        return named
    if not base:
        raise UserError(
            f"--to=otel: has nowhere to send to: give -o http://HOST:4318, the OTLP endpoint (HTTP), or set {ENDPOINTS[1]}"
        )
    parts = urlsplit(base)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise UserError(f"{option}{base}: is not the URL of an OTLP endpoint (HTTP): give http://HOST:4318")
    return base if parts.path.endswith(_PATH) else base.rstrip("/") + _PATH


def batches(episodes: Iterable[ExportedEpisode]) -> Iterator[list[ReadableSpan]]:
    """The spans of the episodes in the order of the episodes, as many in each request as collectors take."""
    pending: list[ReadableSpan] = []
    for episode in episodes:
        pending += spans(episode)
        while len(pending) >= _BATCH:
            yield pending[:_BATCH]
            del pending[:_BATCH]
    if pending:
        yield pending


def _write(episodes: Iterable[ExportedEpisode], output: str) -> Written:
    import logging

    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    url = endpoint(output)
    logging.getLogger("opentelemetry").addHandler(logging.NullHandler())  # a failure is one line, below
    exporter = OTLPSpanExporter(endpoint=url)
    sent = traces = 0
    for batch in batches(episodes):
        if exporter.export(batch) is not SpanExportResult.SUCCESS:
            raise UserError(
                f"{url}: did not take the spans ({sent} sent): check that an OTLP endpoint (HTTP) listens there;"
                " an export may be repeated, because its ids stay the same"
            )
        sent += len(batch)
        traces += sum(span.parent is None for span in batch)
    return Written(episodes=traces, place=f"{url}, {sent} spans")


TARGET = Target(
    packages={
        "opentelemetry.sdk": "opentelemetry-sdk",
        "opentelemetry.exporter.otlp.proto.http": "opentelemetry-exporter-otlp-proto-http",
    },
    extra="otel",
    output="",
    needs_transcript=True,
    write=_write,
)
