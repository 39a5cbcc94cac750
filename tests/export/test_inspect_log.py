"""`pytest-recode export --to inspect`: logs as Inspect reads them. Slow, because inspect_ai is 150 MB and takes seconds to import."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.export.conftest import records, rewrite, transcript
from tests.projects import Command

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

pytestmark = pytest.mark.slow


def exported(place: Path, command: Command, *args: object) -> dict[str, EvalLog]:
    """The logs, by policy."""
    reader = pytest.importorskip("inspect_ai.log")
    done = command(place, "export", "run", "--to", "inspect", *args)
    assert done.returncode == 0, done.stderr
    logs = [reader.read_eval_log(str(path)) for path in (place / "logs").glob("*.eval")]
    return {log.eval.task_args["feedback"]: log for log in logs}


@pytest.fixture(scope="module")
def logs(played: Path, command: Command, tmp_path_factory: pytest.TempPathFactory) -> dict[str, EvalLog]:
    out = tmp_path_factory.mktemp("inspect")
    (out / "run").symlink_to(played / "run")
    return exported(out, command)


def samples(log: EvalLog) -> dict[str, EvalSample]:
    assert log.samples
    return {sample.metadata["nodeid"]: sample for sample in log.samples}


def test_a_row_is_a_log_and_an_episode_a_sample(played: Path, logs: dict[str, EvalLog]) -> None:
    assert set(logs) == {"L0", "L4"}
    for level, log in logs.items():
        by_id = {nodeid: each for nodeid, each in records(played / "run").items() if each["feedback"] == level}
        assert log.eval.model == "sim/graduate"
        assert log.eval.solver == "recode"
        assert log.eval.tags == ["simulated"]
        assert set(samples(log)) == set(by_id)
        assert [(sample.id, sample.epoch) for sample in samples(log).values()] == [
            (by_id[nodeid]["task"], 1) for nodeid in samples(log)
        ]
        assert log.results is not None
        solved = [record["outcome"] for record in by_id.values()].count("solved")
        assert log.results.scores[0].metrics["accuracy"].value == solved / len(by_id)


def test_scores_of_every_graded_turn(played: Path, logs: dict[str, EvalLog]) -> None:
    for log in logs.values():
        for nodeid, sample in samples(log).items():
            record = records(played / "run")[nodeid]
            assert sample.scores is not None
            assert sample.scores["solved"].value == ("C" if record["outcome"] == "solved" else "I")
            assert set(sample.scores) == {"solved", *(f"turn_{turn['turn']}" for turn in record["turns"])}
            for turn in record["turns"]:
                score = sample.scores[f"turn_{turn['turn']}"]
                assert score.value == turn["passed"] / turn["total"]
                assert score.metadata is not None
                assert score.metadata.get("level") == turn["level"]
                assert [case["id"] for case in score.metadata["cases"]] == [case["id"] for case in turn["cases"]]
            failures = [line for line in transcript(played / "run", record) if line["event"] == "turn"]
            told = [event.score.explanation for event in sample.events if event.event == "score"]
            assert len(told) == len(failures)
            for text, line in zip(told, failures, strict=True):
                messages = [case["message"] for case in line["verdict"]["cases"] if case["outcome"] != "passed"]
                assert all(message in (text or "") for message in messages)


def test_messages_calls_usage_and_times(played: Path, logs: dict[str, EvalLog]) -> None:
    for log in logs.values():
        for nodeid, sample in samples(log).items():
            record = records(played / "run")[nodeid]
            lines = transcript(played / "run", record)
            own = [message for message in sample.messages if (message.metadata or {}).get("turn") == 2]
            first = [line["event"] for line in lines].index("turn")
            said = [line for line in lines[first:] if line["event"] == "message"]
            assert [(message.role, message.text) for message in own] == [
                (line["role"], line["content"]) for line in said
            ]
            assert sample.messages[0].role == "system"
            tools = [message for message in sample.messages if message.role == "tool"]
            results = [line["text"] for line in lines if line["event"] == "result"]
            assert [message.text for message in tools][-len(results) :] == results
            usage = sample.model_usage["sim/graduate"]
            assert (usage.input_tokens, usage.output_tokens) == (
                record["usage"]["prompt_tokens"],
                record["usage"]["completion_tokens"],
            )
            assert usage.total_cost == record["usage"]["cost_usd"]
            assert sample.total_time == record["seconds"]
            assert sample.error is None


def edited(project: Path, change: Any) -> dict[str, Any]:
    """The run with only its first record, changed in its results and its transcript."""
    run = project / "run"
    record = next(line for line in records(run).values() if not line["turns"][0]["shared"])
    lines = transcript(run, record)
    for line in [record, *lines]:
        change(line)
    rewrite(run / record["transcript"], lines)
    rewrite(run / "results.jsonl", [record])
    return record


def test_an_error_is_the_sample_s_and_in_no_share(project: Path, command: Command) -> None:
    def change(line: dict[str, Any]) -> None:
        if "outcome" in line:
            line |= {"outcome": "error", "solved_turn": None, "stop": "error"}
            line["error"] = {"kind": "rate-limit", "message": "no answer in 5 tries"}

    record = edited(project, change)
    [log] = exported(project, command).values()
    [sample] = samples(log).values()
    assert sample.error is not None
    assert sample.error.message == "rate-limit: no answer in 5 tries"
    assert sample.scores is not None
    assert "solved" not in sample.scores
    assert log.results is not None
    assert log.results.scores[0].metrics == {}
    assert (log.results.total_samples, log.results.completed_samples) == (1, 0)
    assert sample.metadata["outcome"] == record["outcome"]


def test_an_episode_without_a_transcript_has_its_scores(project: Path, command: Command) -> None:
    run = project / "run"
    for path in (run / "episodes").iterdir():
        path.unlink()
    found = exported(project, command)
    for log in found.values():
        for nodeid, sample in samples(log).items():
            record = records(run)[nodeid]
            assert sample.messages == []
            assert sample.started_at is None
            assert sample.scores is not None
            assert len(sample.scores) == 1 + len(record["turns"])


def test_two_tasks_of_one_id_are_two_samples(project: Path, command: Command) -> None:
    run = project / "run"
    by_id = records(run)
    for record in by_id.values():
        record["task"] = "one"
    rewrite(run / "results.jsonl", [*by_id.values()])
    for log in exported(project, command).values():
        assert [sample.id for sample in log.samples or []] in [["one", nodeid] for nodeid in by_id]
        assert set(samples(log)) < set(by_id)
        assert log.eval.dataset.samples == 2


def test_unknown_prices_and_hostile_texts(project: Path, command: Command) -> None:
    def change(line: dict[str, Any]) -> None:
        if "nodeid" in line:
            line |= {"task": "../../one\ud800", "model": "../x/y", "feedback": "L0"}
        for usage in (line.get("usage"), line):
            if isinstance(usage, dict) and "cost_usd" in usage:
                usage["cost_usd"] = None
        if line.get("event") == "usage":
            line["model"] = "../x/y"
        if line.get("event") == "turn":
            line["verdict"]["cases"][0]["message"] = "````\n# heading\n```"

    edited(project, change)
    [log] = exported(project, command).values()
    [sample] = samples(log).values()
    assert sample.id == "../../one?"
    assert sample.model_usage["../x/y"].total_cost is None
    [path] = (project / "logs").iterdir()
    assert path.name.endswith(".eval")
    scores = [event for event in sample.events if event.event == "score"]
    assert "`````text\n````\n# heading\n```\n`````" in (scores[0].score.explanation or "")
