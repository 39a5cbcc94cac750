"""`pytest-recode export --to otel`: the spans that a collector gets, over HTTP and decoded."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.export.collector import Collector, attributes
from tests.export.conftest import records, rewrite, transcript
from tests.messages import assert_message
from tests.projects import Command


def sent(place: Path, command: Command, *args: object) -> list[Span]:
    with Collector() as collector:
        done = command(place, "export", "run", "--to", "otel", "-o", collector.url, *args)
    assert done.returncode == 0, done.stderr
    assert set(collector.paths) == {"/v1/traces"}
    assert f"{len(collector.spans)} spans" in done.stdout
    return collector.spans


@pytest.fixture(scope="module")
def spans(played: Path, command: Command) -> list[Span]:
    return sent(played, command)


def named(spans: list[Span], operation: str) -> list[Span]:
    return [span for span in spans if attributes(span)["gen_ai.operation.name"] == operation]


def by_episode(spans: list[Span]) -> dict[str, Span]:
    return {attributes(span)["gen_ai.conversation.id"]: span for span in named(spans, "invoke_agent")}


def test_an_episode_is_a_trace_of_calls_and_actions(played: Path, spans: list[Span]) -> None:
    by_id = records(played / "run")
    roots = by_episode(spans)
    assert set(roots) == set(by_id)
    assert len({span.trace_id for span in spans}) == len(by_id)
    for nodeid, root in roots.items():
        record, lines = by_id[nodeid], transcript(played / "run", by_id[nodeid])
        own = [span for span in spans if span.trace_id == root.trace_id and span != root]
        assert all(span.parent_span_id == root.span_id for span in own)
        assert root.parent_span_id == b""
        assert root.name == "invoke_agent recode"
        usages = [line for line in lines if line["event"] == "usage"]
        chats = named(own, "chat")
        assert [span.name for span in chats] == [f"chat {line['model']}" for line in usages]
        assert [attributes(span)["gen_ai.usage.input_tokens"] for span in chats] == [
            line["prompt_tokens"] for line in usages
        ]
        tools = named(own, "execute_tool")
        results = [line for line in lines if line["event"] == "result"]
        assert [span.name for span in tools] == [f"execute_tool {line['kind']}" for line in results]
        assert [attributes(span)["gen_ai.tool.call.result"] for span in tools] == [line["text"] for line in results]
        assert attributes(root)["gen_ai.usage.input_tokens"] == record["usage"]["prompt_tokens"]
        assert attributes(root)["recode.outcome"] == record["outcome"]


def test_times_are_those_of_the_transcript(played: Path, spans: list[Span]) -> None:
    for nodeid, root in by_episode(spans).items():
        lines = transcript(played / "run", records(played / "run")[nodeid])
        assert root.start_time_unix_nano == round(lines[0]["time"] * 1e9)
        assert root.end_time_unix_nano == round(lines[-1]["time"] * 1e9)
        own = [span for span in spans if span.parent_span_id == root.span_id]
        ends = [round(line["time"] * 1e9) for line in lines if line["event"] == "usage"]
        assert [span.end_time_unix_nano for span in named(own, "chat")] == ends
        for span in own:
            assert root.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
            assert span.end_time_unix_nano <= root.end_time_unix_nano


@pytest.mark.slow
def test_a_call_began_when_its_answer_was_awaited(project: Path, command: Command) -> None:
    """Calls by the gateway say how long; of others, the message before them does."""
    run = project / "run"
    record = next(each for each in records(run).values() if not each["turns"][0]["shared"])
    lines = transcript(run, record)
    calls = [line for line in lines if line["event"] == "usage"]
    calls[0]["answering"] = 0.125
    rewrite(run / record["transcript"], lines)
    rewrite(run / "results.jsonl", [record])
    first, second, *_ = named(sent(project, command), "chat")
    assert first.start_time_unix_nano == round((calls[0]["time"] - 0.125) * 1e9)
    before = lines[: lines.index(calls[1])]
    asked = [line["time"] for line in before if line["event"] == "message" and line["role"] != "assistant"]
    assert second.start_time_unix_nano == round(max(asked) * 1e9)


def test_every_graded_turn_is_an_evaluation(played: Path, spans: list[Span]) -> None:
    for nodeid, root in by_episode(spans).items():
        record = records(played / "run")[nodeid]
        events = [attributes(event) for event in root.events]
        assert [event.name for event in root.events] == ["gen_ai.evaluation.result"] * len(record["turns"])
        for event, turn in zip(events, record["turns"], strict=True):
            assert event["gen_ai.evaluation.name"] == "hidden tests"
            assert event["gen_ai.evaluation.score.value"] == turn["passed"] / turn["total"]
            assert event["gen_ai.evaluation.score.label"] == ("pass" if turn["passed"] == turn["total"] else "fail")
            assert event.get("recode.level") == turn["level"]


def test_a_shared_first_turn_is_a_link_to_the_episode_that_played_it(played: Path, spans: list[Span]) -> None:
    roots = by_episode(spans)
    sharing = {nodeid: record["turns"][0]["shared"] for nodeid, record in records(played / "run").items()}
    assert sum(map(bool, sharing.values())) == 2
    for nodeid, payer in sharing.items():
        links = [(link.trace_id, link.span_id) for link in roots[nodeid].links]
        assert links == ([(roots[payer].trace_id, roots[payer].span_id)] if payer else [])


def test_another_export_has_the_same_spans(project: Path, command: Command, spans: list[Span]) -> None:
    """Also after the run was moved."""
    assert sorted(span.SerializeToString(deterministic=True) for span in sent(project, command)) == sorted(
        span.SerializeToString(deterministic=True) for span in spans
    )
    assert len({span.span_id for span in spans}) == len(spans)


def test_an_error_is_the_status_of_its_span(project: Path, command: Command) -> None:
    run = project / "run"
    [record, *_] = records(run).values()
    record |= {"outcome": "error", "solved_turn": None, "stop": "error"}
    record["error"] = {"kind": "rate-limit", "message": "no answer in 5 tries"}
    rewrite(run / "results.jsonl", [record])
    root = by_episode(sent(project, command))[record["nodeid"]]
    assert root.status.code == Status.STATUS_CODE_ERROR
    assert root.status.message == "no answer in 5 tries"
    assert attributes(root)["error.type"] == "rate-limit"


def test_values_that_no_span_can_have(project: Path, command: Command) -> None:
    """Lone surrogates, times of more than 64 bits, seeds of 64, and the largest number of tokens."""
    run = project / "run"
    [record, *_] = records(run).values()
    lines = transcript(run, record)
    for line in lines:
        if line["event"] == "turn":
            line["seed"] = 2**64 - 1
        if line["event"] == "result":
            line["text"] = "\ud800 end"
        if line["event"] == "usage":
            line |= {"prompt_tokens": 2**53 - 1, "time": -1e300}
    rewrite(run / record["transcript"], lines)
    rewrite(run / "results.jsonl", [record])
    spans = sent(project, command)
    chats, tools = named(spans, "chat"), named(spans, "execute_tool")
    assert chats
    assert {attributes(span)["gen_ai.usage.input_tokens"] for span in chats} == {2**53 - 1}
    assert {span.end_time_unix_nano for span in chats} == {0}
    assert {attributes(span)["gen_ai.tool.call.result"] for span in tools} == {"? end"}
    seeds = {attributes(event)["recode.seed"] for span in by_episode(spans).values() for event in span.events}
    assert seeds == {str(2**64 - 1)}


def with_environment(place: Path, python: tuple[str, ...], **variables: str) -> Any:
    whole = [*python, "-m", "pytest_recode.cli", "export", "run", "--to", "otel"]
    environ = {name: text for name, text in os.environ.items() if not name.startswith("OTEL_")}
    return subprocess.run(whole, cwd=place, env={**environ, **variables}, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_endpoint_of_the_environment(played: Path, quick_python: tuple[str, ...], spans: list[Span]) -> None:
    with Collector() as collector:
        done = with_environment(played, quick_python, OTEL_EXPORTER_OTLP_ENDPOINT=collector.url)
    assert done.returncode == 0, done.stderr
    assert len(collector.spans) == len(spans)
    without = with_environment(played, quick_python)
    assert (without.returncode, without.stdout) == (2, "")
    assert_message(without.stderr, "nowhere to send to", "give -o http://HOST:4318")


@pytest.mark.slow
def test_an_endpoint_that_does_not_take_them(played: Path, command: Command) -> None:
    with Collector(status=404) as collector:
        done = command(played, "export", "run", "--to", "otel", "-o", collector.url)
    assert (done.returncode, done.stdout) == (2, "")
    assert_message(done.stderr, f"{collector.url}/v1/traces: did not take the spans", "check that an OTLP endpoint")
    assert done.stderr.count("\n") == 1
    wrong = command(played, "export", "run", "--to", "otel", "-o", "traces/")
    assert_message(wrong.stderr, "-o traces/: is not the URL", "give http://HOST:4318")


def test_answers_have_the_form_of_the_conventions(spans: list[Span]) -> None:
    messages = [attributes(span)["gen_ai.output.messages"] for span in named(spans, "chat")]
    for text in messages:
        [message] = json.loads(text)
        assert message["role"] == "assistant"
        assert message["parts"][0]["type"] == "text"
        assert message["parts"][0]["content"].startswith("### Observation")
