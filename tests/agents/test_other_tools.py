"""Calls of the tools that other agents have."""

from __future__ import annotations

import json

import pytest

from pytest_recode.agents.actions import ProtocolError, Step
from pytest_recode.agents.tools import from_reply
from tests.agents.scripted import calls

A = {"path": "a.py"}
TEXT = {**A, "text": "x = 1"}
SWAP = {**A, "old": "b", "new": "c"}
LS = {"command": "ls"}


@pytest.mark.parametrize(
    ("name", "given", "kind", "arguments"),
    [
        ("write", {**TEXT, "line_count": 1, "overwrite": True}, "write", TEXT),
        ("edit", {**SWAP, "count": 1, "expected_replacements": 1}, "edit", SWAP),
        ("submit", {"message": "Done.", "result": None, "answer": ""}, "submit", {}),
        ("run", {**LS, "cwd": ".", "workdir": "", "directory": "./", "requires_approval": False}, "run", LS),
        ("read", {**A, "should_read_entire_file": True}, "read", A),
        ("search", {"query": "x", "top_k": 5, "k": 3, "max_results": 10}, "search", {"query": "x"}),
        ("grep", {"pattern": "x", "output_mode": "content"}, "grep", {"pattern": "x"}),
        ("read", {**A, "start_line": 2, "end_line": 40}, "read", {**A, "lines": "2-40"}),
        ("read", {**A, "startLine": "2", "endLine": -1}, "read", {**A, "lines": "2-"}),
        ("read", {**A, "start": 2, "end": None}, "read", {**A, "lines": "2-"}),
        ("read", {**A, "offset": 0, "limit": 10}, "read", {**A, "lines": "1-10"}),
        ("read", {**A, "offset": 5, "limit": 10}, "read", {**A, "lines": "5-14"}),
        ("read", {**A, "limit": None}, "read", A),
        ("read", {**A, "lines": {"start": 1, "end": 40}}, "read", {**A, "lines": "1-40"}),
        ("read", {**A, "lines": "3-end"}, "read", {**A, "lines": "3-"}),
        ("read", {"paths": ["a.py"]}, "read", A),
        ("read", {"filePath": "a.py"}, "read", A),
        ("edit", {**A, "oldText": "b", "newText": "c"}, "edit", SWAP),
        ("edit", {**A, "oldString": "b", "newString": "c"}, "edit", SWAP),
        ("edit", {**A, "original": "b", "updated": "c"}, "edit", SWAP),
        ("run", {"command": ["bash", "-lc", "ls | wc"]}, "run", {"command": "ls | wc"}),
        ("run", {"command": ["echo", "a b"]}, "run", {"command": "echo 'a b'"}),
        ("read", {"args": A}, "read", A),
        ("read", {"input": {**A, "thought": "Look."}}, "read", A),
        ("exec_command", {"cmd": "ls"}, "run", LS),
        ("run_terminal_cmd", {**LS, "is_background": False}, "run", LS),
        ("execute_command", {**LS, "requires_approval": False}, "run", LS),
        ("replace", {**A, "search": "b", "replace": "c"}, "edit", SWAP),
        ("codebase_search", {"query": "x"}, "search", {"query": "x"}),
        ("search_file_content", {"pattern": "x"}, "grep", {"pattern": "x"}),
        ("search_files", {"regex": "x", **A}, "grep", {"pattern": "x", **A}),
        ("final_answer", {}, "submit", {}),
        ("attempt_completion", {"result": "Done."}, "submit", {}),
        ("str_replace_editor", {"command": "view", **A, "view_range": [1, 2]}, "read", {**A, "lines": "1-2"}),
        ("str_replace_based_edit_tool", {"command": "create", **A, "file_text": "x = 1"}, "write", TEXT),
        ("str_replace_editor", {"command": "str_replace", **A, "old_str": "b", "new_str": "c"}, "edit", SWAP),
    ],
)
def test_what_has_one_reading_is_done(
    name: str, given: dict[str, object], kind: str, arguments: dict[str, str]
) -> None:
    step = from_reply(calls((name, json.dumps(given))))
    assert isinstance(step, Step), step
    assert [(each.kind, dict(each.arguments)) for each in step.actions] == [(kind, arguments)]


def test_the_message_of_a_submit_is_kept() -> None:
    step = from_reply(calls(("submit", '{"summary": "It is done."}')))
    assert isinstance(step, Step)
    assert step.reflection == "It is done."


@pytest.mark.parametrize(
    ("name", "given", "words"),
    [
        ("write", {**TEXT, "overwrite": False}, "`write` does not take `overwrite`, except as `true`"),
        ("edit", {**SWAP, "count": 2}, "`edit` does not take `count`, except as `1`"),
        ("run", {**LS, "cwd": "src"}, "`run` does not take `cwd`, except as `.`"),
        ("run", {**LS, "requires_approval": True}, "`run` does not take `requires_approval`"),
        ("read", {"paths": ["a.py", "b.py"]}, "`read` does not take `paths`"),
        ("read", {**A, "start": "def f"}, "`read` does not take `start`"),
        ("read", {**A, "lines": "1-2", "limit": 3}, "`read` does not take `limit`"),
        ("run", {"command": []}, "`command` of `run` must be a string, not an array"),
        ("edit", {**A, "old": "b"}, "`edit` needs `new`"),
        ("submit", {"command": "ls"}, "`submit` does not take `command`"),
        ("str_replace_editor", {"command": "insert", **A}, "`str_replace_editor` with the command `insert` is not one"),
        ("think", {"thought": "So."}, "There is no tool `think`. Give thoughts and plans as the arguments"),
        ("todo_write", {"todos": []}, "There is no tool `todo_write`. Give thoughts and plans as the arguments"),
        ("multi_edit", A, "There is no tool `multi_edit`; use `edit`. The tools are list,"),
        ("apply_patch", {"input": "*** Begin"}, "There is no tool `apply_patch`; use `edit`."),
        ("python", {"code": "1"}, "There is no tool `python`; use `run`."),
        ("glob", {"pattern": "*.py"}, "There is no tool `glob`; use `list`."),
        ("find", {}, "There is no tool `find`; use `list`."),
    ],
)
def test_what_would_change_the_meaning_is_refused(name: str, given: dict[str, object], words: str) -> None:
    read = from_reply(calls((name, json.dumps(given))))
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith(words)
    assert "Nothing was done." in read.text
    assert "Call the tool `" in read.text or name in ("think", "todo_write")
