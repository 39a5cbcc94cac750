"""Transcripts: whole lines, names, and what can be recovered of an episode that was cut off."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_recode.records import transcript

USAGE = {"prompt_tokens": 3, "completion_tokens": 1, "cost_usd": None}
TURN = {
    "turn": 1, "level": None, "feedback": None, "passed": 1, "failed": 1, "total": 2, "cases": [], "tampering": [], "seed": 5, "reindented": False,
            "shared": None, "usage": USAGE, "seconds": 0.5,
}  # fmt: skip


def write(path: Path) -> transcript.Transcript:
    made = transcript.Transcript(path)
    made.log("episode", {"task": "t", "isolation": "separate"})
    made.log("usage", {"model": "m", **USAGE})
    made.log("turn", {**TURN, "targets": {"a.py": "x"}, "verdict": {}})
    return made


def test_lines_are_json_with_event_and_time(tmp_path: Path) -> None:
    made = write(tmp_path / "episodes" / "a.jsonl")
    made.log("message", {"text": "a lone surrogate \ud800 and a line\nbreak"})
    made.close()
    lines = [json.loads(line) for line in made.path.read_text().splitlines()]
    assert [line["event"] for line in lines] == ["episode", "usage", "turn", "message"]
    assert lines[-1]["text"] == "a lone surrogate \ud800 and a line\nbreak"


def test_recover_takes_what_is_whole(tmp_path: Path) -> None:
    made = write(tmp_path / "a.jsonl")
    made.close()
    with made.path.open("a") as file:
        file.write('{"event": "turn", "tor')
    record = transcript.recover(made.path, outcome="error", stop="error", error={"kind": "worker", "message": "died"})
    assert record["task"] == "t"
    assert record["turns"] == [TURN]
    assert record["usage"] == USAGE
    assert (record["outcome"], record["solved_turn"]) == ("error", None)


def step(made: transcript.Transcript, turn: int, error: str = "") -> None:
    made.log("step", {"turn": turn, "step": 1, "error": error})


def test_the_answers_of_turns_that_were_not_judged_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    made = transcript.Transcript(path)
    made.log("episode", {"task": "t", "isolation": "separate"})
    step(made, 1, "no action")
    made.log("turn", {**TURN, "steps": 1, "unparsed": 1})
    assert made.abandoned.counts() == {"steps": 0, "unparsed": 0}
    step(made, 2)
    step(made, 2, "no action")  # the run is killed in turn 2
    made.close()
    again = transcript.Transcript(path, transcript.earlier(path).abandoned)
    assert again.abandoned.counts() == {"steps": 2, "unparsed": 1}
    again.log("resumed", {"task": "t", "isolation": "separate", "turns": 1})
    step(again, 2)
    again.log("turn", {**TURN, "turn": 2, "steps": 1, "unparsed": 0})
    assert again.abandoned.counts() == {"steps": 2, "unparsed": 1}
    again.log("turn", {**TURN, "turn": 3, "shared": "another"})
    step(again, 3, "no action")
    again.close()
    record = transcript.recover(path, outcome="error", stop="error", error=None)
    assert record["abandoned"] == {"steps": 3, "unparsed": 2}
    assert [(turn["steps"], turn["unparsed"]) for turn in record["turns"][:2]] == [(1, 1), (1, 0)]


def test_a_judged_turn_that_is_in_no_checkpoint_counts_as_abandoned_where_the_episode_begins_anew(
    tmp_path: Path,
) -> None:
    made = transcript.Transcript(tmp_path / "a.jsonl")
    facts = {"task": "t", "isolation": "separate"}
    for _ in range(2):
        made.log("episode", facts)
        step(made, 1, "no action")
        made.log("turn", {**TURN, "steps": 1, "unparsed": 1})
    assert made.abandoned.counts() == {"steps": 1, "unparsed": 1}


def test_a_turn_whose_line_comes_after_a_kill_is_not_abandoned(tmp_path: Path) -> None:
    """It was on disk as a checkpoint alone."""
    made = transcript.Transcript(tmp_path / "a.jsonl")
    made.log("episode", {"task": "t"})
    step(made, 1)
    made.log("resumed", {"task": "t", "turns": 1})
    made.log("turn", TURN)
    assert made.abandoned.counts() == {"steps": 0, "unparsed": 0}


def test_recover_needs_a_first_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"eve')
    with pytest.raises(ValueError, match="has no first line"):
        transcript.recover(tmp_path / "a.jsonl", outcome="error", stop="error", error=None)


def test_names_are_files_and_differ() -> None:
    ids = [
        "tasks/a/task.yaml::episode[x/y-L0]",
        "tasks/a/task.yaml::episode[x-y-L0]",
        "tasks/ü b/task.yaml::episode[" + "m" * 300 + "]",
        "研究" * 30 + "/task.yaml::episode[" + "模型" * 50 + "-L0]",
        "pset/papers.yaml::minp/min-p sampling/episode[gpt-4.1-none]",
        "pset/papers.yaml::minp/" + "long name " * 20 + "/episode[gpt-4.1-none]",
        "task.yaml::episode[x-L0]",
    ]
    names = [transcript.name(nodeid) for nodeid in ids]
    assert len(set(names)) == len(ids)
    assert all("/" not in name and len(name.encode()) < 255 for name in names)
    assert names[0].startswith("a-episode-x-y-L0-")
    assert names[4].startswith("minp-min-p-sampling-episode-gpt-4.1-none-")
    assert names[5].startswith("minp-long-name-")
    assert "-episode-gpt-4.1-none-" in names[5]  # which model it is of stands in a long name too
    assert names[6].startswith("episode-x-L0-")
