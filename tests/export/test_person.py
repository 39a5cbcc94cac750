"""`pytest-recode export` of an episode that a person played: an agent without a model, tokens and messages of its own."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from atif import Trajectory
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tests.export.collector import Collector, attributes
from tests.export.conftest import records
from tests.plugin.terminals import terminal
from tests.projects import Command, make_task

PROMPT = "submit or give up: "
OPTIONS = ("tasks", "--recode-agent=person", "--recode-sandbox=process", "--recode-feedback=L2", "--recode-out=run")
HALF = "def twice(x):\n    return x + x\n\n\ndef half(x):\n    return x\n"


@pytest.fixture(scope="module")
def by_hand(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with `run`, in which a person is wrong once, then submits what does not parse, and then gives up."""
    place = tmp_path_factory.mktemp("by-hand")
    make_task(place, "tiny")
    (place / "pytest.ini").write_text("[pytest]\n")
    (place / "temporary").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(place / "temporary"))
        with terminal(place, *OPTIONS) as person:
            [found] = re.findall(r"^  (/\S+)$", person.until(PROMPT), re.MULTILINE)
            answer = Path(found, "answer.py")
            answer.write_text(HALF)
            person.type("submit\n")
            person.until(PROMPT)
            answer.write_text("def half(x:\n")
            person.type("submit\n")
            person.until(PROMPT)  # held back
            answer.write_text(f"{HALF}\n# no idea\n")
            person.type("give up\n")
            assert person.end() == pytest.ExitCode.TESTS_FAILED, person.seen
    return place


def test_the_trajectory_of_a_person_is_valid_and_has_no_model(by_hand: Path, command: Command) -> None:
    done = command(by_hand, "export", "run", "--to", "atif")
    assert done.returncode == 0, done.stderr
    [path] = (by_hand / "trajectories").iterdir()
    one = json.loads(path.read_text())
    Trajectory.model_validate(one)
    assert path.name.startswith("tiny-person-L2-")
    assert one["agent"]["name"] == "person"
    assert "model_name" not in one["agent"]
    assert [step["source"] for step in one["steps"]] == ["user", "agent"] * 2
    own = [step for step in one["steps"] if step["source"] == "agent"]
    assert [call["function_name"] for step in own for call in step["tool_calls"]] == ["submit", "give up"]
    assert [step["llm_call_count"] for step in own] == [0, 0]
    assert not any("metrics" in step or "reasoning_content" in step for step in own)
    assert "usage" not in one["extra"]
    assert one["final_metrics"] == {"total_steps": 4}
    assert [step["extra"]["verdict"]["passed"] for step in own] == [1, 1]
    assert (one["extra"]["outcome"], one["extra"]["stop"]) == ("unsolved", "given-up")


@pytest.mark.slow
def test_the_spans_of_a_person_have_no_call_and_no_tokens(by_hand: Path, command: Command) -> None:
    with Collector() as collector:
        done = command(by_hand, "export", "run", "--to", "otel", "-o", collector.url)
    assert done.returncode == 0, done.stderr
    assert [span.name for span in collector.spans] == [
        "invoke_agent person",
        "execute_tool submit",
        "execute_tool give up",
    ]
    for span in collector.spans:
        invented = ("gen_ai.usage.", "gen_ai.request.model", "gen_ai.provider.name", "recode.cost_usd")
        assert not [name for name in attributes(span) if name.startswith(invented)]
        assert span.status.code == Status.STATUS_CODE_UNSET
        assert span.start_time_unix_nano <= span.end_time_unix_nano
    root = attributes(collector.spans[0])
    assert (root["gen_ai.agent.name"], root["recode.stop"]) == ("person", "given-up")
    assert len(collector.spans[0].events) == 2


@pytest.mark.slow
@pytest.mark.parametrize("transcript", [True, False])
def test_the_log_of_a_person_names_no_model_and_has_no_output_of_one(
    by_hand: Path, command: Command, tmp_path: Path, transcript: bool
) -> None:
    reader = pytest.importorskip("inspect_ai.log")
    run = tmp_path / "run"
    (run / "episodes").mkdir(parents=True)
    for path in ["results.jsonl", *(f"episodes/{each.name}" for each in (by_hand / "run/episodes").iterdir())]:
        if transcript or path == "results.jsonl":
            (run / path).write_bytes((by_hand / "run" / path).read_bytes())
    done = command(tmp_path, "export", "run", "--to", "inspect")
    assert done.returncode == 0, done.stderr
    [path] = (tmp_path / "logs").iterdir()
    log = reader.read_eval_log(str(path))
    assert (log.eval.model, log.eval.solver, log.stats.model_usage) == ("none/none", "person", {})
    assert "-person-L2-" in path.name
    [sample] = log.samples
    assert (sample.model_usage, sample.output.completion, sample.output.choices) == ({}, "", [])
    assert sample.scores["solved"].value == "I"
    assert [message.role for message in sample.messages] == ["user", "assistant", "tool"] * 2 * transcript
    assert not any(message.model for message in sample.messages if message.role == "assistant")
    [record] = records(run).values()
    assert sample.total_time == record["seconds"]
