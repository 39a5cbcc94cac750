"""Faults that show before any action is done: then nothing of the answer is done, in either protocol."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.prompts import CRLF, ESCAPED, targets_text
from pytest_recode.agents.protocol import parse
from pytest_recode.agents.step_checks import checked
from pytest_recode.agents.tool_execution import Result, execute
from pytest_recode.agents.tools import from_reply
from pytest_recode.agents.workspace import SandboxWorkspace
from tests.agents.conftest import Open
from tests.agents.scripted import a_brief, calls
from tests.messages import assert_message


def read(workspace: SandboxWorkspace, kind: str, given: Mapping[str, str], *, native: bool) -> Step | ProtocolError:
    """An answer that writes `first.py` and then does what is given, read and checked as `recode` does."""
    write = {"path": "first.py", "text": "x = 1\n"}
    if native:
        step = from_reply(calls(("write", json.dumps(write)), (kind, json.dumps(given))))
    else:
        lines = [f"{name} <<E_O_T\n{value}\nE_O_T" for name, value in given.items()]
        step = parse(
            "\n".join(["### Action: write\npath: first.py\ntext <<E\nx = 1\nE", f"### Action: {kind}", *lines])
        )
    return checked(step, workspace, native=native, calls=2 * native) if isinstance(step, Step) else step


OUTSIDE = "is outside the workspace: give a path relative to it. Nothing was done."


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("read", {"path": "/elsewhere/solver.py"}, f"`read`: /elsewhere/solver.py {OUTSIDE}"),
        ("write", {"path": "/etc/passwd", "text": "x"}, f"`write`: /etc/passwd {OUTSIDE}"),
        ("list", {"path": "/"}, f"`list`: / {OUTSIDE}"),
        ("grep", {"pattern": "x", "path": "/usr"}, f"`grep`: /usr {OUTSIDE}"),
        ("grep", {"pattern": "x" * 1001}, "`grep`: the pattern has 1001 characters, more than 1000."),
        ("read", {"path": "../x"}, "a path may not go up by `..`. Write it relative to the workspace, such as src/a.py."),
        ("edit", {"path": "a/../b", "old": "x", "new": "y"}, "a path may not go up by `..`."),
        ("write", {"path": "~/x.py", "text": "x"}, "`~` is not expanded here."),
        ("write", {"path": "src\\a.py", "text": "x"}, "a backslash parts no directories here. Write `/` between them"),
        ("write", {"path": "src/", "text": "x"}, "which names a directory, since it ends in `/`. Write the path of a file"),
        ("write", {"path": "src/.", "text": "x"}, "which is a directory. Write the path of a file"),
        ("write", {"path": "x" * 256, "text": "x"}, "a name in it has more than 255 bytes. Write a shorter one."),
        ("write", {"path": "a\x1b.py", "text": "x"}, "`path` of `write` holds a control character (U+001B). Leave it out."),
        ("read", {"path": "a\u200b.py"}, "`path` of `read` holds an invisible character (U+200B). Leave it out."),
        ("read", {"path": "solver.py", "lines": "some"}, "`lines` must be the first and the last line, such as 1-40 or 40-"),
        ("read", {"path": "solver.py", "lines": "0-3"}, "counted from 1, such as 1-40, and is `0-3`."),
        ("read", {"path": "solver.py", "lines": "9-3"}, "and is `9-3`: its first line, 9, is after its last, 3."),
        ("run", {"command": "ls", "timeout": "soon"}, "`timeout` must be a number of seconds, such as 30, and is `soon`."),
        ("run", {"command": "ls \x00"}, "holds a null character, which no command can hold: leave it out."),
        ("write", {"path": "b.txt", "text": "\ud800"}, "`text` of `write` holds half of a character (U+D800)"),
        ("edit", {"path": "solver.py", "old": "x", "new": "x"}, "are the same text, so that nothing would be changed."),
        (
            "write",
            {"path": "solver.py", "text": "```python interface=solver.solve\nx\n```\n"},
            "is the correction of one interface (`interface=solver.solve`)",
        ),
    ],
)  # fmt: skip
def test_a_fault_that_shows_before_is_told_before_anything_is_done(
    open_walled: Open, kind: str, given: dict[str, str], words: str, native: bool
) -> None:
    found = read(open_walled(), kind, given, native=native)
    assert isinstance(found, ProtocolError), found
    told = found.calls[1] if native else found.text
    assert words in told
    assert "Nothing was done." in told
    assert (f"Call the tool `{kind}` with" if native else f"### Action: {kind}\n") in told
    assert not native or found.calls[0] == ""


def test_each_call_that_cannot_be_used_gets_its_own_fault(open_walled: Open) -> None:
    reply = calls(
        ("write", '{"path": "n.txt"}'),
        ("write", '{"path": "/elsewhere/solver.py", "text": "a"}'),
        ("read", '{"path": "solver.py"}'),
        ("grep", '{"pattern": "x", "path": "/usr"}'),
        ("run", '{"command": "ls", "timeout": "soon"}'),
    )
    found = checked(from_reply(reply), open_walled(), native=True, calls=5)
    assert isinstance(found, ProtocolError), found
    assert [each[:30] for each in found.calls] == [
        "`write` needs `text`. Nothing ",
        "`write`: /elsewhere/solver.py ",
        "",
        "`grep`: /usr is outside the wo",
        "`timeout` must be a number of ",
    ]
    assert found.text == found.calls[0]


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("kind", "path", "meant"),
    [
        ("read", "/workspace/lib/helpers.py", "lib/helpers.py"),
        ("list", "/workspace", "."),
        ("list", "/workspace/lib/", "lib"),
    ],
)
def test_workspace_as_a_directory_is_the_workspace(
    open_walled: Open, kind: str, path: str, meant: str, native: bool
) -> None:
    found = read(open_walled(), kind, {"path": path}, native=native)
    assert isinstance(found, Step), found
    assert found.actions[-1].arguments["path"] == meant


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("lines", "told"), [("2", "Lines 2 to 2 of 3:\ntwo"), ("2\u20133", "Lines 2 to 3 of 3:\ntwo\nthree")]
)
def test_lines_are_read_as_they_are_asked_for(open_walled: Open, lines: str, told: str, native: bool) -> None:
    workspace = open_walled(files={"a.txt": b"one\ntwo\nthree\n"})
    found = read(workspace, "read", {"path": "a.txt", "lines": lines}, native=native)
    assert isinstance(found, Step), found
    assert execute(found.actions[1], workspace, str) == Result(True, told)


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(("pattern", "found_at"), [("TWO", "a.txt:2:Two"), ("(t", "a.txt:3:(T")])
def test_grep_can_ignore_case_whether_or_not_its_pattern_is_a_regular_expression(
    open_walled: Open, pattern: str, found_at: str, native: bool
) -> None:
    workspace = open_walled(files={"a.txt": b"one\nTwo\n(T\n"})
    found = read(workspace, "grep", {"pattern": pattern, "case_sensitive": "false"}, native=native)
    assert isinstance(found, Step), found
    assert execute(found.actions[1], workspace, str) == Result(True, found_at)


@pytest.mark.parametrize("native", [False, True])
def test_a_path_below_the_root_is_the_path_relative_to_it(open_workspace: Open, native: bool) -> None:
    workspace = open_workspace()
    root = workspace.run("pwd").output.strip()
    found = read(workspace, "read", {"path": f"{root}/lib/./helpers.py"}, native=native)
    assert isinstance(found, Step), found
    assert found.actions[1] == Action(kind="read", arguments={"path": "lib/helpers.py"})
    root_itself = read(workspace, "list", {"path": root}, native=native)
    assert isinstance(root_itself, Step), root_itself
    assert root_itself.actions[1].arguments == {"path": "."}


@pytest.mark.parametrize("native", [False, True])
def test_what_is_right_stays_as_it_is(open_walled: Open, native: bool) -> None:
    given = {"command": "ls", "timeout": "30"}
    found = read(open_walled(), "run", given, native=native)
    assert isinstance(found, Step), found
    assert found.actions[1] == Action(kind="run", arguments=given)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"a\x1b[2Jb\n", "a\\x1b[2Jb\n"),
        (b"a\x00b", "a\\x00b"),
        (b"a\rb\n", "a\\rb\n"),
        (b"a\r\nb\n", "a\\r\nb\n"),
        ("a\x85\u202eb\n".encode(), "a\\x85\\u202eb\n"),
    ],
)
def test_characters_that_do_not_print_are_shown_and_stay_in_the_file(
    open_walled: Open, data: bytes, shown: str
) -> None:
    workspace = open_walled(files={"solver.py": data})
    read_it = Action(kind="read", arguments={"path": "solver.py"})
    assert execute(read_it, workspace, str) == Result(True, f"{shown}\n{ESCAPED}")
    targets = workspace.targets()
    assert targets == {"solver.py": data}
    prompt = targets_text(a_brief(repo={"solver.py": data}), targets)
    assert shown.rstrip() in prompt
    assert prompt.count(ESCAPED) == 1
    found = execute(Action(kind="grep", arguments={"pattern": "b"}), workspace, str).text
    assert not any(each in found for each in "\x1b\x00\r\x85")


def test_a_file_whose_lines_end_in_crlf_is_shown_with_line_feeds(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"x = 1\r\ny = 2\r\n"})
    read_it = Action(kind="read", arguments={"path": "a.py"})
    assert execute(read_it, workspace, str) == Result(True, "x = 1\ny = 2\n\n[Its lines end in CRLF.]")
    edit = Action(kind="edit", arguments={"path": "a.py", "old": "x = 1\ny", "new": "x = 3\ny"})
    assert execute(edit, workspace, str).done
    assert workspace.read("a.py") == "x = 3\r\ny = 2\r\n"


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("x = 1", "x = 1\nz = 3", b"x = 1\r\nz = 3\r\ny = 2\r\n"),
        ("x = 1\n", "x = 1\nz = 3\n", b"x = 1\r\nz = 3\r\ny = 2\r\n"),
        ("x = 1", "x = 1\r\nz = 3", b"x = 1\r\nz = 3\r\ny = 2\r\n"),
        ("= 1\ny", "", b"x  = 2\r\n"),
    ],
)
def test_an_edit_of_lines_shown_with_line_feeds_gives_none_another_end(
    open_walled: Open, old: str, new: str, left: bytes
) -> None:
    workspace = open_walled(files={"solver.py": b"x = 1\r\ny = 2\r\n"})
    edit = Action(kind="edit", arguments={"path": "solver.py", "old": old, "new": new})
    assert execute(edit, workspace, str).done
    assert workspace.targets() == {"solver.py": left}


def test_an_edit_where_line_ends_differ_is_done_as_it_is(open_walled: Open) -> None:
    workspace = open_walled(files={"solver.py": b"x = 1\r\ny = 2\n"})
    edit = Action(kind="edit", arguments={"path": "solver.py", "old": "y = 2", "new": "y = 2\nz = 3"})
    assert execute(edit, workspace, str).done
    assert workspace.targets() == {"solver.py": b"x = 1\r\ny = 2\nz = 3\n"}


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("printf 'a\\r\\nb\\r\\n'", f"Exit status 0.\na\nb\n\n{CRLF}"),
        ("printf 'a\\r\\nb\\n'", f"Exit status 0.\na\\r\nb\n\n{ESCAPED}"),
        ("printf '\\\\x1b \\033'", f"Exit status 0.\n\\x1b \\x1b\n{ESCAPED}"),
        ("printf '\\\\x1b\\n'", "Exit status 0.\n\\x1b\n"),
        ("true", "Exit status 0.\n(no output)"),
    ],
)
def test_what_is_not_shown_as_it_is_in_the_output_of_a_command_is_told(
    open_walled: Open, command: str, told: str
) -> None:
    assert execute(Action(kind="run", arguments={"command": command}), open_walled(), str) == Result(True, told)


@pytest.mark.parametrize(
    ("data", "old", "told"),
    [
        ("k\x1b[0m\\n\n", "k\\x1b[0m\\n", "`\\x1b` is how the character U+001B is shown"),
        ("a\r\nb\n", "a\\r\nb", "`\\r` is how the character U+000D is shown"),
        ("a\u202eb\n", "a\\u202eb", "`\\u202e` is how the character U+202E is shown"),
        ("k\x1b[0m\n", "j\\x1b[0m", "It must be exact, blanks included."),
        ("k\\x41\n", "kA", "It must be exact, blanks included."),
        ("kA\n", "k\\x41", "It must be exact, blanks included."),
        (
            "# one\n# layer \u2013 sum\n",
            "layer - sum",
            "line 2 of the file has the character U+2013 where `old` has `-`",
        ),
        ("say('no')\n", "say(\u2018no\u2019)", "line 1 of the file has `'` where `old` has the character U+2018"),
        ("a = 1\n", "a =\u00a01", "line 1 of the file has the character U+0020 where `old` has the character U+00A0"),
    ],
)
def test_an_edit_that_differs_by_an_escape_or_a_character_that_looks_alike_is_told(
    open_walled: Open, data: str, old: str, told: str
) -> None:
    workspace = open_walled(files={"a.txt": data.encode()})
    result = execute(Action(kind="edit", arguments={"path": "a.txt", "old": old, "new": "x"}), workspace, str)
    assert not result.done
    assert_message(result.text, "the old text does not occur in a.txt", told)


@pytest.mark.parametrize(("text", "told"), [("x\n", "(1 line)"), ("x\ny\n", "(2 lines)"), ("", "(0 lines)")])
def test_lines_are_counted(open_walled: Open, text: str, told: str) -> None:
    assert told in execute(Action(kind="write", arguments={"path": "a.txt", "text": text}), open_walled(), str).text


@pytest.mark.parametrize("path", ["src/a.py, src/b.py", "README.md src/b.py", "a.py,b.py"])
def test_a_path_that_may_be_meant_as_several_is_shown_whole(open_walled: Open, path: str) -> None:
    result = execute(Action(kind="read", arguments={"path": path}), open_walled(files={"README.md": b"x\n"}), str)
    assert not result.done
    assert f"`read` takes one path, and `path` was `{path}`" in result.text


QUOTED = "I fixed it:\n\n```python\n{}\n```\n\nSubmitting."


def test_code_beside_a_submit_that_is_in_no_target_would_be_lost(open_walled: Open) -> None:
    reply = calls(("submit", "{}"), text=QUOTED.format("def solve(x):\n    return 3 * x"))
    found = checked(from_reply(reply), open_walled(), native=True, calls=1)
    assert isinstance(found, ProtocolError), found
    assert_message(
        found.text,
        "The code outside of your actions, in your text, reflection or planning (`return 3 * x`)",
        "no action writes it",
        "`write` or `edit`",
    )
    assert found.calls == (found.text,)


def test_code_beside_a_submit_that_quotes_a_target_is_no_loss(open_walled: Open) -> None:
    workspace = open_walled()
    stored = workspace.targets()["solver.py"].decode()
    found = checked(from_reply(calls(("submit", "{}"), text=QUOTED.format(stored))), workspace, native=True, calls=1)
    assert isinstance(found, Step), found


@pytest.mark.parametrize("native", [False, True])
def test_a_submit_before_other_actions_leaves_the_answer_undone(open_walled: Open, native: bool) -> None:
    write = ("write", '{"path": "solver.py", "text": "x = 1"}')
    text = '{"actions": [{"action": "submit"}, {"action": "write", "path": "solver.py", "text": "x = 1"}]}'
    step = from_reply(calls(("submit", "{}"), write)) if native else parse(text)
    found = checked(step, open_walled(), native=native, calls=2 * native)
    assert isinstance(found, ProtocolError), found
    assert_message(found.text, "`submit`", "before `write`", "Nothing was done", "the last action")
    assert len(found.calls) == 2 * native


def test_a_submit_that_is_given_twice_is_one(open_walled: Open) -> None:
    step = from_reply(calls(("submit", "{}"), ("submit", "{}")))
    assert isinstance(checked(step, open_walled(), native=True, calls=2), Step)


@pytest.mark.parametrize("native", [False, True])
def test_search_and_replace_is_no_text_of_a_file(open_walled: Open, native: bool) -> None:
    text = "<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE"
    found = read(open_walled(), "write", {"path": "a.py", "text": text}, native=native)
    assert isinstance(found, ProtocolError), found
    assert (
        "The text for a.py is a search and replace block, and `write` replaces the whole file. Use `edit`."
        in found.text
    )


CODE = "def solve(x):\n    return 3 * x"


@pytest.mark.parametrize(
    "text",
    [
        f"```\n{CODE}\n```",
        "1. Final:\n\n   ```python\n   def solve(x):\n       return 3 * x\n   ```",
        "> ```python\n> def solve(x):\n>     return 3 * x\n> ```",
        f"- Final:\n  ~~~py\n{CODE}\n  ~~~",
        f"Final solution (solver.py):\n\n{CODE}",
        f'<file path="solver.py">\n{CODE}\n</file>',
        f"```python\n{CODE}",
    ],
)
def test_code_beside_a_submit_is_seen_however_it_stands_there(open_walled: Open, text: str) -> None:
    workspace = open_walled()
    for reply in (
        calls(("submit", "{}"), text=text),
        calls(("submit", json.dumps({"answer": text}))),
        calls(("submit", json.dumps({"planning": text}))),
    ):
        found = checked(from_reply(reply), workspace, native=True, calls=1)
        assert isinstance(found, ProtocolError), (reply, found)
        assert "`return 3 * x`" in found.text


@pytest.mark.parametrize(
    "text", ["```bash\nls gp\n```", "```\n5 passed\n```", "It is `x = 1`: done.", "```text\nx = 1\n```", "class action"]
)
def test_what_is_no_python_code_is_no_loss(open_walled: Open, text: str) -> None:
    step = checked(from_reply(calls(("submit", "{}"), text=text)), open_walled(), native=True, calls=1)
    assert isinstance(step, Step), step


def test_what_is_no_regular_expression_is_looked_for_as_it_stands(open_walled: Open) -> None:
    workspace = open_walled()
    step = checked(from_reply(calls(("grep", '{"pattern": "def solve("}'))), workspace, native=True, calls=1)
    assert isinstance(step, Step), step
    assert workspace.grep(step.actions[0].arguments["pattern"]) == ("solver.py:1:def solve(x):",)
