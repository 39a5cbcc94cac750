"""Calls of the tools that other agents have."""

from __future__ import annotations

import json

import pytest

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.protocol import parse
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
        ("write", {**TEXT, "command": "create"}, "write", TEXT),
        ("edit", {**SWAP, "command": "str_replace"}, "edit", SWAP),
        ("read", {**A, "command": "view"}, "read", A),
        ("read", {**A, "lines": "L10-L20"}, "read", {**A, "lines": "L10-L20"}),
        ("grep", {"pattern": "x", "-i": True}, "grep", {"pattern": "x", "ignore_case": "true"}),
        ("grep", {"pattern": "x", "case_sensitive": False}, "grep", {"pattern": "x", "ignore_case": "true"}),
        (
            "grep",
            {"pattern": "x", "ignoreCase": True, "caseSensitive": "false"},
            "grep",
            {"pattern": "x", "ignore_case": "true"},
        ),
        ("grep", {"pattern": "x", "-i": False}, "grep", {"pattern": "x"}),
        ("list", {"max_depth": 2}, "list", {}),
        ("run", {**LS, "timeout": "None"}, "run", LS),
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
        ("read", {**A, "offset": 33.0}, "read", {**A, "lines": "33-"}),
        (
            "read",
            {**A, "start_line_one_indexed": 2, "end_line_one_indexed_inclusive": 3, "should_read_entire_file": False},
            "read",
            {**A, "lines": "2-3"},
        ),
        ("read", {**A, "lines": "2-3", "start_line": 2, "end_line": 3}, "read", {**A, "lines": "2-3"}),
        ("read", {**A, "view_range": [2, -1], "start_line": 2}, "read", {**A, "lines": "2-"}),
        ("read", {**A, "lines": 3}, "read", {**A, "lines": "3"}),
        ("read", {**A, "lines": "3"}, "read", {**A, "lines": "3"}),
        ("read", {**A, "lines": [3]}, "read", {**A, "lines": "3"}),
        ("read", {**A, "lines": ["3", "5"]}, "read", {**A, "lines": "3-5"}),
        ("read", {**A, "lines": [3.0, -1]}, "read", {**A, "lines": "3-"}),
        ("read", {"absolute_path": "a.py"}, "read", A),
        ("list_dir", {"relative_workspace_path": "src", "explanation": "Look."}, "list", {"path": "src"}),
        ("grep_search", {"query": "x", "case_sensitive": True, "isRegexp": True}, "grep", {"pattern": "x"}),
        ("replace", {**A, "instruction": "Swap.", "old_string": "b", "new_string": "c"}, "edit", SWAP),
        ("write_file", {**TEXT, "instructions": "Say x."}, "write", TEXT),
        ("run", {**LS, "security_risk": "LOW"}, "run", LS),
        ("submit", {"security_risk": "LOW"}, "submit", {}),
        ("str_replace_editor", {"command": "str_replace", **A, "old_str": "b"}, "edit", {**A, "old": "b", "new": ""}),
        (
            "str_replace_editor",
            {"command": "str_replace", **A, "old_str": "b", "new_str": None},
            "edit",
            {**A, "old": "b", "new": ""},
        ),
        ("read", {**A, "lines": {"start": 1, "end": 40}}, "read", {**A, "lines": "1-40"}),
        ("read", {**A, "lines": "3-end"}, "read", {**A, "lines": "3-"}),
        ("read", {"paths": ["a.py"]}, "read", A),
        ("read", {"filePath": "a.py"}, "read", A),
        ("edit", {**A, "oldText": "b", "newText": "c"}, "edit", SWAP),
        ("edit", {**A, "oldString": "b", "newString": "c"}, "edit", SWAP),
        ("edit", {**A, "original": "b", "updated": "c"}, "edit", SWAP),
        ("run", {"command": ["bash", "-lc", "ls | wc"]}, "run", {"command": "ls | wc"}),
        ("run", {"command": "```bash\nls -la\npwd\n```"}, "run", {"command": "ls -la\npwd"}),
        ("run", {"command": '["bash", "-lc", "ls | wc"]'}, "run", {"command": "ls | wc"}),
        ("run", {"command": "[ -f a.py ] && ls"}, "run", {"command": "[ -f a.py ] && ls"}),
        ("run_in_terminal", {**LS, "explanation": "x", "isBackground": False}, "run", LS),
        ("replace_string_in_file", {"filePath": "a.py", "oldString": "b", "newString": "c"}, "edit", SWAP),
        ("write_file", {**TEXT, "create_directories": True}, "write", TEXT),
        ("run", {"command": ["cd a && ls"]}, "run", {"command": "cd a && ls"}),
        ("run", {**LS, "workdir": "/"}, "run", {"command": "cd / || exit\nls"}),
        ("run<|channel|>commentary", LS, "run", LS),
        ("functions.run<|constrain|>json", LS, "run", LS),
        ("run", {"command": "`ls`"}, "run", LS),
        ("run", {"command": '"ls"'}, "run", LS),
        ("run", {"command": "`ls`; `pwd`"}, "run", {"command": "`ls`; `pwd`"}),
        ("exec_command", {"cmd": "ls", "yield_time_ms": 1000, "max_output_tokens": 6000}, "run", LS),
        ("Bash", {**LS, "dangerouslyDisableSandbox": False}, "run", LS),
        ("run", {**LS, "workdir": "/workspace"}, "run", LS),
        ("run", {**LS, "cwd": "/workspace/src/"}, "run", {"command": "cd src || exit\nls"}),
        ("run", {**LS, "cwd": "/workspaces"}, "run", {"command": "cd /workspaces || exit\nls"}),
        ("run", {**LS, "workdir": "a b"}, "run", {"command": "cd 'a b' || exit\nls"}),
        ("run_shell_command", {**LS, "dir_path": "/tmp/work"}, "run", {"command": "cd /tmp/work || exit\nls"}),
        ("read", {**A, "file_path": "a.py"}, "read", A),
        ("list_directory", {"dir_path": "src"}, "list", {"path": "src"}),
        ("Grep", {"pattern": "x", "-n": True, "head_limit": 20}, "grep", {"pattern": "x"}),
        ("Grep", {"pattern": "x", "glob": "*.py"}, "grep", {"pattern": "x", "include": "*.py"}),
        ("Grep", {"pattern": "x", "include": "", "path": "src"}, "grep", {"pattern": "x", "path": "src"}),
        (
            "search_files",
            {"regex": "x", "path": "src", "file_pattern": "**/*.{py,pyi}"},
            "grep",
            {"pattern": "x", "path": "src", "include": "**/*.{py,pyi}"},
        ),
        ("submit", {"summary": "Done.", "path": "a.py"}, "submit", {}),
        ("run", {"command": ["echo", "a b"]}, "run", {"command": "echo 'a b'"}),
        ("shell", {**LS, "timeout_ms": 1500}, "run", {**LS, "timeout": "1.5"}),
        ("run", {**LS, "timeoutMs": 10_000, "timeout": None}, "run", {**LS, "timeout": "10"}),
        ("read", {**A, "lines": "all"}, "read", A),
        ("read", {"args": A}, "read", A),
        ("read", {"input": {**A, "thought": "Look."}}, "read", A),
        ("exec_command", {"cmd": "ls"}, "run", LS),
        ("container.exec", {"cmd": ["bash", "-lc", "ls"]}, "run", LS),
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
        ("edit", {**SWAP, "command": "insert"}, "`edit` does not take `command`, except as `str_replace`"),
        ("run", {**LS, "cwd": ["src"]}, "`run` does not take `cwd`, except as `.`"),
        (
            "run",
            {**LS, "cwd": "src", "workdir": "lib"},
            "`run` does not take `cwd`, except as `.` or `workdir`, except as `.`",
        ),
        (
            "read",
            {**A, "file_path": "b.py"},
            "`path` of `read` is given twice, as `path` and `file_path`, with different values.",
        ),
        ("edit", {**A, "old": "", "new": "c"}, "`old` of `edit` is empty. To make a new file, use `write`."),
        ("run_python", {"code": "x"}, "There is no tool `run_python`; use `run`."),
        ("run", {**LS, "requires_approval": True}, "`run` does not take `requires_approval`"),
        ("read", {"paths": ["a.py", "b.py"]}, "`read` does not take `paths`"),
        ("read", {**A, "start": "def f"}, '`start` of `read` must be the number of a line, and is `"def f"`.'),
        ("read", {**A, "start": 2.5}, "`start` of `read` must be the number of a line, and is `2.5`."),
        ("read", {**A, "lines": "1-2", "limit": 3}, "The lines of `read` are given in two ways, and `limit` is one"),
        ("read", {**A, "start_line": 2, "limit": 3}, "The lines of `read` are given in two ways, and `limit` is one"),
        (
            "read",
            {**A, "view_range": [1, 2], "start_line": 5, "end_line": 6},
            "The lines of `read` are given in two ways, and",
        ),
        (
            "read",
            {**A, "lines": [5, 2]},
            "`lines` must be the first and the last line, such as 1-40, and is `5-2`: its first",
        ),
        (
            "read",
            {**A, "lines": [1, 2, 3]},
            "`lines` of `read` must be the first and the last line, such as 1-40, and is",
        ),
        ("read", {**A, "lines": 0}, "`lines` must be the first and the last line, counted from 1"),
        ("read", {**A, "lines": []}, "`lines` of `read` is empty."),
        ("run", {"command": []}, "`command` of `run` is empty."),
        (
            "run",
            {"command": ["ls", 1]},
            '`command` of `run` must be a string or an array of a program and its arguments, and is `["ls", 1]`',
        ),
        (
            "run",
            {"command": ["echo one", "echo two"]},
            "`command` of `run` must be a string or an array of a program and its arguments, and is",
        ),
        ("run", {**LS, "timeout": 5, "timeout_ms": 5000}, "`run` does not take `timeout_ms`"),
        ("run", {**LS, "env": "x", "shell_type": "zsh"}, "`run` does not take `env` or `shell_type`; its arguments"),
        (
            "run",
            {"command": 3},
            "`command` of `run` must be a string or an array of a program and its arguments, not a number.",
        ),
        ("grep", {"query": "x", "isRegexp": False}, "`grep` does not take `isRegexp`, except as `true`"),
        (
            "grep",
            {"pattern": "x", "multiline": True},
            "`grep` does not take `multiline`; its arguments are `pattern`, `path` (`case_sensitive`, `ignore_case`, `include` too)",
        ),
        ("grep", {"pattern": "x", "ignore_case": "maybe"}, "`ignore_case` must be true or false, and is `maybe`"),
        (
            "grep",
            {"pattern": "x", "ignore_case": True, "case_sensitive": True},
            "`ignore_case` and `case_sensitive` of `grep` contradict each other",
        ),
        ("edit", {**SWAP, "instruction": ["x"]}, "`edit` does not take `instruction`"),
        (
            "str_replace_editor",
            {"command": "str_replace", **A, "old_str": "b", "insert_text": "c"},
            "`edit` does not take `insert_text`",
        ),
        *(
            ("grep", {"pattern": "x", "include": files}, "`include` of `grep` must be a pattern of files, such as *.py")
            for files in ("!*.py", "*.py,*.md", "[ab].py", "/src/*.py", "../*.py", "*.{py", "a b")
        ),
        (
            "grep",
            {"pattern": "x", "path": "src", "glob": "lib/*.py"},
            "`include` of `grep` names directories, and so does",
        ),
        ("edit", {**A, "old": "b"}, "`edit` needs `new`"),
        ("submit", {"command": "ls"}, "`submit` does not take `command`"),
        ("str_replace_editor", {"command": "insert", **A}, "`str_replace_editor` with the command `insert` is not one"),
        ("think", {"thought": "So."}, "There is no tool `think`. Give thoughts and plans as the arguments"),
        ("todo_write", {"todos": []}, "There is no tool `todo_write`. Give thoughts and plans as the arguments"),
        ("multi_edit", A, "There is no tool `multi_edit`; use `edit`, once for each change. The tools are list,"),
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


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (A, "`str_replace_editor` needs `command`, which is one of `view`, `create`, `str_replace`. Nothing was done."),
        (
            {"command": "undo_edit", **A},
            "`str_replace_editor` has no command `undo_edit`; its commands are `view`, `create`, `str_replace`. Nothing was done.",
        ),
        ({"command": 3}, "`str_replace_editor` has no command `3`; its commands are"),
    ],
)
def test_an_editor_without_a_known_command_is_told_its_commands(given: dict[str, object], words: str) -> None:
    read = from_reply(calls(("str_replace_editor", json.dumps(given))))
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith(words)
    assert "`old`" not in read.text
    assert "None" not in read.text


def test_for_what_no_tool_does_none_is_named() -> None:
    read = from_reply(calls(("web_search", '{"query": "x"}')))
    assert isinstance(read, ProtocolError), read
    assert read.text == f"There is no tool `web_search`. The tools are {', '.join(FORMS)}. Nothing was done."


@pytest.mark.parametrize("name", ["planning", "observation", "reflection", "description"])
@pytest.mark.parametrize(
    ("thought", "text"),
    [
        (["a", "b"], "a\nb"),
        (["a", {"b": 1}, 2], 'a\n{"b": 1}\n2'),
        ({"step": "\u00fc"}, '{"step": "\u00fc"}'),
        (7, "7"),
        (True, "true"),
        (None, ""),
        ([], ""),
    ],
)
def test_a_thought_of_another_type_undoes_no_write(name: str, thought: object, text: str) -> None:
    step = from_reply(calls(("write", json.dumps({**TEXT, name: thought}))))
    assert isinstance(step, Step), step
    assert step.actions == (Action(kind="write", arguments=TEXT),)
    assert getattr(step, "reflection" if name == "description" else name) == text
    as_text = parse(json.dumps({"action": "write", "args": TEXT, name: thought}))
    assert isinstance(as_text, Step), as_text
    assert as_text.actions[0].kind == "write"
