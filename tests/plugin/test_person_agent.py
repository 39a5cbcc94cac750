"""A person as the agent: in a terminal, with files in a directory."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.messages import assert_message

from .conftest import AGENTS, FILES, words
from .terminals import Terminal, terminal

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]

PLAY = ("--recode-agent=person", "--recode-sandbox=process")
KEPT = (*PLAY, "--recode-out=out")
ANSWERS: dict[str, str] = {}
exec(AGENTS.partition("class")[0].partition("import Move")[2], ANSWERS)
RIGHT, HALF = ANSWERS["RIGHT"], ANSWERS["HALF"]
PROMPT = "submit or give up: "


@pytest.fixture(autouse=True)
def temporary(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the directories of persons are."""
    place = pytester.path / "temporary"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    return place


def directory(person: Terminal) -> Path:
    """What the terminal says is the directory to work in. Reads to the prompt."""
    shown = person.until(PROMPT)
    [found] = re.findall(r"^  (/\S+)$", shown, re.MULTILINE)
    return Path(found)


def test_a_wrong_answer_gets_feedback_and_a_right_one_solves(
    make_task: MakeTask, pytester: pytest.Pytester, results: Results
) -> None:
    make_task()
    with terminal(pytester.path, *KEPT, "--recode-feedback=L1") as person:
        place = directory(person)
        assert "Twice x is x + x." in person.seen
        assert "Write answer.py with twice(x) and half(x)." in person.seen
        assert "answer.twice\nanswer.half" in person.seen
        assert {path.name for path in place.iterdir()} == {"answer.py", "constants.py", "paper.md", "instruction.md"}
        (place / "answer.py").write_text(HALF)
        person.type("submit\n")
        shown = person.until(PROMPT)
        assert "turn 2 of 10" in shown
        assert "hidden tests: 1 of 2 fail" in shown
        assert "answer.half" in shown
        (place / "answer.py").write_text(RIGHT)
        (place / "notes.txt").write_text("mine")
        person.type("Submit \n")
        assert person.end() == pytest.ExitCode.OK
        assert "Turn 2: 2 of 2 hidden tests pass: solved." in person.seen
    [record] = results()
    assert (record["agent"], record["model"], record["outcome"], record["solved_turn"]) == ("person", None, "solved", 2)
    assert record["usage"] == {"prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0}
    assert [turn["steps"] for turn in record["turns"]] == [1, 1]
    assert (place / "notes.txt").read_text() == "mine"
