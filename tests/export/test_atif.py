"""`pytest-recode export --to atif`: what a trajectory says, and that a validator of the format takes it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from atif import (
    Trajectory,  # an independent implementation, of ATIF v1.8; that of Harbor needs Python 3.12 and all of Harbor
)

from tests.export.conftest import records, rewrite, transcript
from tests.projects import Command


def exported(place: Path, command: Command, *args: object) -> dict[str, dict[str, Any]]:
    """The trajectories, by node id."""
    done = command(place, "export", "run", "--to", "atif", "-o", "out", *args)
    assert done.returncode == 0, done.stderr
    written = [json.loads(path.read_text("utf-8")) for path in (place / "out").iterdir()]
    for each in written:
        Trajectory.model_validate(each)
    return {each["extra"]["nodeid"]: each for each in written}


@pytest.fixture(scope="module")
def trajectories(played: Path, command: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    out = tmp_path_factory.mktemp("atif")
    (out / "run").symlink_to(played / "run")
    return exported(out, command)


@pytest.mark.slow
def test_each_episode_is_a_trajectory(played: Path, trajectories: dict[str, dict[str, Any]]) -> None:
    by_id = records(played / "run")
    assert set(trajectories) == set(by_id)
    for nodeid, one in trajectories.items():
        record = by_id[nodeid]
        assert one["schema_version"] == "ATIF-v1.8"
        assert one["agent"]["name"] == record["agent"]
        assert one["agent"]["model_name"] == record["model"]
        assert {key: one["extra"][key] for key in ("task", "outcome", "attempt", "usage")} == {
            key: record[key] for key in ("task", "outcome", "attempt", "usage")
        }
    assert len({one["trajectory_id"] for one in trajectories.values()}) == len(by_id)


def test_a_step_has_the_answer_its_calls_and_what_they_returned(
    played: Path, trajectories: dict[str, dict[str, Any]]
) -> None:
    for nodeid, record in records(played / "run").items():
        lines = transcript(played / "run", record)
        answers = [line["content"] for line in lines if line["event"] == "message" and line["role"] == "assistant"]
        steps = trajectories[nodeid]["steps"]
        own = [step for step in steps if step["source"] == "agent" and "is_copied_context" not in step]
        assert [step["message"] for step in own] == answers
        results = [line for line in lines if line["event"] == "result"]
        observed = [result for step in own for result in step["observation"]["results"]]
        assert [result["content"] for result in observed] == [line["text"] for line in results]
        names = [call["function_name"] for step in own for call in step["tool_calls"]]
        assert names == [line["kind"] for line in results]
        usages = [line for line in lines if line["event"] == "usage"]
        assert [step["metrics"]["prompt_tokens"] for step in own] == [line["prompt_tokens"] for line in usages]


def test_the_last_answer_of_a_turn_has_its_verdict(played: Path, trajectories: dict[str, dict[str, Any]]) -> None:
    for nodeid, record in records(played / "run").items():
        verdicts = [step["extra"]["verdict"] for step in trajectories[nodeid]["steps"] if "verdict" in step["extra"]]
        assert [(step_verdict["turn"], step_verdict["passed"], step_verdict["total"]) for step_verdict in verdicts] == [
            (turn["turn"], turn["passed"], turn["total"]) for turn in record["turns"]
        ]
        assert [step_verdict.get("level") for step_verdict in verdicts] == [turn["level"] for turn in record["turns"]]
        assert [case["id"] for case in verdicts[0]["cases"]] == [case["id"] for case in record["turns"][0]["cases"]]


def test_a_shared_first_turn_is_there_and_marked_as_copied(
    played: Path, trajectories: dict[str, dict[str, Any]]
) -> None:
    shared = {nodeid: record["turns"][0]["shared"] for nodeid, record in records(played / "run").items()}
    sharing = {nodeid: payer for nodeid, payer in shared.items() if payer}
    assert len(sharing) == 2
    for nodeid, payer in sharing.items():
        copied = [step for step in trajectories[nodeid]["steps"] if step["extra"]["turn"] == 1]
        played_steps = [step for step in trajectories[payer]["steps"] if step["extra"]["turn"] == 1]
        assert all(step["is_copied_context"] for step in copied)
        assert not any("is_copied_context" in step for step in played_steps)
        assert [step["message"] for step in copied] == [step["message"] for step in played_steps]


def test_native_tool_calls_and_thoughts(project: Path, command: Command) -> None:
    """A model that takes tools gets each result as a message of role "tool": the result is in the transcript twice, and once in the trajectory."""
    run = project / "run"
    nodeid, record = next((nodeid, each) for nodeid, each in records(run).items() if not each["turns"][0]["shared"])
    lines = transcript(run, record)
    for line in lines:
        if line["event"] == "message" and line["content"].startswith("Result of"):
            line |= {"role": "tool", "tool_call_id": "call-1"}
        if line["event"] == "step":
            line["thoughts"] = "a thought"
    rewrite(run / record["transcript"], lines)
    rewrite(run / "results.jsonl", [record])
    steps = exported(project, command)[nodeid]["steps"]
    assert not any(step["message"].startswith("Result of") for step in steps)
    acting = [step for step in steps if step["source"] == "agent"]
    assert {step["reasoning_content"] for step in acting} == {"a thought"}
    observed = [result["content"] for step in acting for result in step["observation"]["results"]]
    assert observed == [line["text"] for line in lines if line["event"] == "result"]


def test_what_a_record_does_not_have_is_left_out(project: Path, command: Command) -> None:
    """No price, no level, no digest; an agent without a model and messages."""
    run = project / "run"
    recorded = records(run)
    nodeid, record = next((nodeid, each) for nodeid, each in recorded.items() if not each["turns"][0]["shared"])
    lines = transcript(run, record)
    bare = [line for line in lines if line["event"] not in ("message", "step", "action", "result", "usage")]
    for line in [*bare, record]:
        if "nodeid" in line:
            line.update(model=None, agent="reference", digest=None)
        if isinstance(line.get("usage"), dict):
            line["usage"]["cost_usd"] = None
    rewrite(run / record["transcript"], bare)
    rewrite(run / "results.jsonl", [record])
    one = exported(project, command)[nodeid]
    assert "model_name" not in one["agent"]
    assert "digest" not in one["extra"]
    assert one["final_metrics"] == {"total_steps": len(one["steps"])}
    acting = [step for step in one["steps"] if step["source"] == "agent"]
    assert [step["llm_call_count"] for step in acting] == [0] * len(record["turns"])
    assert not any({"metrics", "tool_calls", "observation"} & step.keys() for step in acting)
    assert [step["message"] for step in one["steps"] if step["source"] == "user"] == [
        line["text"] for line in bare if line["event"] == "feedback"
    ]
