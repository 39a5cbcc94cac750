"""Transcripts: whole lines, names, and what can be recovered of an episode that was cut off."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.episode import Move, Turn
from pytest_recode.records import record
from pytest_recode.records.record import EpisodeFacts
from pytest_recode.records.transcript import Transcript, name
from pytest_recode.records.transcript_reader import earlier, ended, recover
from pytest_recode.usage import Usage
from pytest_recode.verdict import Case, Outcome, Verdict
from tests.metrics import samples

SPENT = Usage(prompt_tokens=3, completion_tokens=1, cost_usd=None)
CASES = tuple(
    Case(id=f"t::{outcome}", interface="a.f", outcome=outcome) for outcome in (Outcome.PASSED, Outcome.FAILED)
)
TURN = Turn(
    number=1,
    feedback=None,
    move=Move(steps=1, unparsed=1, usage=SPENT),
    verdict=Verdict(cases=CASES, seed=5),
    targets={"a.py": b"x"},
    seconds=0.5,
)


def facts() -> EpisodeFacts:
    """Of an episode of the task t."""
    whole = samples.record("t")
    known: EpisodeFacts = {key: whole[key] for key in EpisodeFacts.__annotations__ if key in whole}  # type: ignore[assignment]
    return known


def write(path: Path) -> Transcript:
    transcript = Transcript(path)
    transcript.episode(facts())
    transcript.usage("m", SPENT)
    transcript.turn(TURN)
    return transcript


def test_lines_are_json_with_event_and_time(tmp_path: Path) -> None:
    transcript = write(tmp_path / "episodes" / "a.jsonl")
    transcript.log("message", {"text": "a lone surrogate \ud800 and a line\nbreak"})
    transcript.close()
    lines = [json.loads(line) for line in transcript.path.read_text().splitlines()]
    assert [list(line)[:2] for line in lines] == [["event", "time"]] * 4
    assert [line["event"] for line in lines] == ["episode", "usage", "turn", "message"]
    assert lines[-1]["text"] == "a lone surrogate \ud800 and a line\nbreak"


def test_recover_takes_what_is_whole(tmp_path: Path) -> None:
    transcript = write(tmp_path / "a.jsonl")
    transcript.close()
    with transcript.path.open("a") as file:
        file.write('{"event": "turn", "tor')
    recovered = recover(transcript.path, outcome="error", stop="error", error={"kind": "worker", "message": "died"})
    assert recovered["task"] == "t"
    assert recovered["turns"] == [record.turn(TURN)]
    assert recovered["usage"] == record.usage(SPENT)
    assert (recovered["outcome"], recovered["solved_turn"]) == ("error", None)
    assert not recovered.keys() & {"event", "time", "targets", "verdict"}


def step(transcript: Transcript, turn: int, error: str = "", *, again: bool = False) -> None:
    transcript.log("step", {"turn": turn, "step": 1, "error": error, **({"asked_again": True} if again else {})})


def counts(steps: int, unparsed: int, asked_again: int = 0) -> dict[str, int]:
    return {"steps": steps, "unparsed": unparsed, "asked_again": asked_again}


def test_the_answers_of_turns_that_were_not_judged_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    transcript = Transcript(path)
    transcript.episode(facts())
    step(transcript, 1, "no action")
    transcript.turn(TURN)
    assert transcript.abandoned.counts() == counts(0, 0)
    step(transcript, 2, "no action", again=True)
    step(transcript, 2)
    step(transcript, 2, "no action")  # the run is killed in turn 2
    transcript.close()
    again = Transcript(path, earlier(path).abandoned)
    assert again.abandoned.counts() == counts(2, 2, 1)
    again.resumed(facts(), 1)
    step(again, 2)
    again.turn(replace(TURN, number=2, move=Move(steps=1)))
    assert again.abandoned.counts() == counts(2, 2, 1)
    again.turn(replace(TURN, number=3, shared="another"))
    step(again, 3, "no action")
    again.close()
    recovered = recover(path, outcome="error", stop="error", error=None)
    assert recovered["abandoned"] == counts(3, 3, 1)
    assert [(turn["steps"], turn["unparsed"]) for turn in recovered["turns"][:2]] == [(1, 1), (1, 0)]


def test_a_judged_turn_that_is_in_no_checkpoint_counts_as_abandoned_where_the_episode_begins_anew(
    tmp_path: Path,
) -> None:
    transcript = Transcript(tmp_path / "a.jsonl")
    for _ in range(2):
        transcript.episode(facts())
        step(transcript, 1, "no action")
        transcript.turn(TURN)
    assert transcript.abandoned.counts() == counts(1, 1)


def test_a_turn_whose_line_comes_after_a_kill_is_not_abandoned(tmp_path: Path) -> None:
    """It was on disk as a checkpoint alone."""
    transcript = Transcript(tmp_path / "a.jsonl")
    transcript.episode(facts())
    step(transcript, 1)
    transcript.resumed(facts(), 1)
    transcript.turn(TURN)
    assert transcript.abandoned.counts() == counts(0, 0)


def test_lines_of_an_agents_own_have_any_fields(tmp_path: Path) -> None:
    """Also under names that this project's lines have and that nothing reads to resume."""
    transcript = write(tmp_path / "a.jsonl")
    for event in ("step", "feedback", "retry", "thought"):
        transcript.log(event, {"turn": "the second", "files": 7})
    transcript.close()
    assert earlier(transcript.path).turns == {1}


def test_an_episode_without_lines_has_not_started(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl").touch()
    for path in (tmp_path / "missing.jsonl", tmp_path / "empty.jsonl"):
        assert ended(path) is None
        with pytest.raises(ValueError, match="no first line"):
            recover(path, outcome="error", stop="error", error=None)


def test_recover_needs_a_first_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"eve')
    with pytest.raises(ValueError, match="has no first line"):
        recover(tmp_path / "a.jsonl", outcome="error", stop="error", error=None)


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
    names = [name(nodeid) for nodeid in ids]
    assert len(set(names)) == len(ids)
    assert all("/" not in each and len(each.encode()) < 255 for each in names)
    assert names[0].startswith("a-episode-x-y-L0-")
    assert names[4].startswith("minp-min-p-sampling-episode-gpt-4.1-none-")
    assert names[5].startswith("minp-long-name-")
    assert "-episode-gpt-4.1-none-" in names[5]  # which model it is of stands in a long name too
    assert names[6].startswith("episode-x-L0-")
