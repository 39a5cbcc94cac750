"""Arguments that limit an action: some lines of a file, a time limit of one command."""

from __future__ import annotations

import json

import pytest

from pytest_recode.agents.actions import Action, ProtocolError
from pytest_recode.agents.tool_execution import execute
from pytest_recode.agents.tools import from_reply, from_tool_call
from pytest_recode.models import ToolCall
from tests.agents.conftest import Open
from tests.agents.scripted import calls


def done(open_walled: Open, name: str, arguments: dict[str, object]) -> tuple[bool, str]:
    """As a model with native tools calls it."""
    read = from_tool_call(ToolCall(id="1", name=name, arguments=json.dumps(arguments)))
    assert not isinstance(read, ProtocolError), read
    result = execute(read[0], open_walled(files={"a.py": b"one\ntwo\nthree\n", "empty.py": b""}), str)
    return result.done, result.text


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("2-3", "Lines 2 to 3 of 3:\ntwo\nthree"),
        ([1, 2], "Lines 1 to 2 of 3:\none\ntwo"),
        ([2, -1], "Lines 2 to 3 of 3:\ntwo\nthree"),
        ("[2, 2]", "Lines 2 to 2 of 3:\ntwo"),
        ("3-", "Lines 3 to 3 of 3:\nthree"),
        ([1, 400], "Lines 1 to 3 of 3:\none\ntwo\nthree"),
        ("", "one\ntwo\nthree\n"),
    ],
)
def test_some_lines_are_read(open_walled: Open, lines: object, told: str) -> None:
    assert done(open_walled, "read", {"path": "a.py", "view_range": lines}) == (True, told)


def test_lines_that_the_file_does_not_have_are_refused(open_walled: Open) -> None:
    assert done(open_walled, "read", {"path": "a.py", "lines": "4-9"}) == (
        False,
        "Refused: a.py has 3 lines, and no line 4.",
    )


@pytest.mark.parametrize("lines", ["0-3", "3-2", "0", "-1", "first", "1-2-3", "-5-1"])
def test_lines_that_are_none_are_an_error_before_anything_is_done(lines: str) -> None:
    write, read = {"path": "b.py", "text": "x"}, {"path": "a.py", "lines": lines}
    told = from_reply(calls(("write", json.dumps(write)), ("read", json.dumps(read))))
    assert isinstance(told, ProtocolError)
    assert "such as 1-40" in told.text
    assert "Nothing was done. Call the tool `read`" in told.text


@pytest.mark.parametrize("timeout", [0, "2m", "5 python a.py"])
def test_a_time_limit_that_is_none_is_an_error_before_anything_is_done(timeout: object) -> None:
    write, run = {"path": "b.py", "text": "x"}, {"command": "ls", "timeout": timeout}
    told = from_reply(calls(("write", json.dumps(write)), ("run", json.dumps(run))))
    assert isinstance(told, ProtocolError)
    assert told.text.startswith("`timeout` must be a number of seconds, such as 30")
    assert "Nothing was done. Call the tool `run`" in told.text


def test_a_command_has_the_time_limit_that_is_asked_for(open_walled: Open) -> None:
    ok, told = done(open_walled, "run", {"command": "echo begun; sleep 1000", "timeout": 1})
    assert ok
    assert "its `timeout`" in told
    assert "begun" in told
    assert done(open_walled, "bash", {"command": "echo so", "timeout": "5 s"}) == (True, "Exit status 0.\nso\n")


@pytest.mark.parametrize("given", [{"timeout": True}, {"timeout": [5]}, {"timeout_ms": "soon"}, {"timeout_ms": 0}])
def test_what_is_no_time_is_refused(given: dict[str, object]) -> None:
    read = from_tool_call(ToolCall(id="1", name="run", arguments=json.dumps({"command": "ls", **given})))
    assert isinstance(read, ProtocolError)
    assert "Nothing was done." in read.text


@pytest.mark.parametrize("old", ["save_every  ==  2:\n    go()", "  save_every == 2:\n    go()"])
def test_an_old_text_that_is_wrong_in_its_blanks_is_told_the_nearest_line(open_walled: Open, old: str) -> None:
    workspace = open_walled(files={"a.py": b"x = 1\n    save_every == 2:\n        go()\n"})
    result = execute(Action(kind="edit", arguments={"path": "a.py", "old": old, "new": "y"}), workspace, str)
    assert not result.done
    assert "(line 2 is like its first line: '    save_every == 2:')" in result.text
