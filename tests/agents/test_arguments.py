"""Arguments of an action: faults that show before any action is done, and then nothing of the answer is done."""

from __future__ import annotations

import pytest

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.step_checks import checked
from pytest_recode.agents.tool_execution import ActionOutcome, execute
from pytest_recode.agents.tools import from_reply
from pytest_recode.agents.workspace import SandboxWorkspace
from tests.agents.conftest import Open
from tests.agents.scripted import Act, acts, answer

FIRST = ("write", {"path": "first.py", "text": "x = 1\n"})


def read(workspace: SandboxWorkspace, act: Act, *, native: bool = True) -> Step | ProtocolError:
    """An answer that writes `first.py` and then acts, read and checked as `recode` does."""
    reply = answer(FIRST, act, native=native)
    step = from_reply(acts(text=reply) if isinstance(reply, str) else reply, native=native)
    return checked(step, workspace, targets=["solver.py"], calls=2 * native) if isinstance(step, Step) else step


def done(workspace: SandboxWorkspace, kind: str, **arguments: object) -> ActionOutcome:
    """The result of one call."""
    step = from_reply(acts((kind, arguments)))
    assert isinstance(step, Step), step
    return execute(step.actions[0], workspace, str)


OUTSIDE = "is outside the workspace: give a path relative to it"
UP = "may not go up by"


@pytest.mark.parametrize(
    ("kind", "arguments", "words"),
    [
        ("read", {"path": "/elsewhere/solver.py"}, f"`read`: /elsewhere/solver.py {OUTSIDE}"),
        ("write", {"path": "/etc/passwd", "text": "x"}, f"`write`: /etc/passwd {OUTSIDE}"),
        ("list", {"path": "/"}, f"`list`: / {OUTSIDE}"),
        ("grep", {"pattern": "x", "path": "/usr"}, f"`grep`: /usr {OUTSIDE}"),
        ("read", {"path": "../x"}, UP),
        ("write", {"path": "a/../../b", "text": "y"}, UP),
        ("list", {"path": ".."}, UP),
        ("grep", {"pattern": "x" * 1001}, "`grep`: the pattern has 1001 characters, more than 1000."),
        ("grep", {"pattern": "def solve("}, "`grep`: 'def solve(' is no regular expression of Python's"),
        ("grep", {"pattern": "x", "include": "*.py"}, "`grep` has no argument `include`; its arguments are `pattern`"),
        ("write", {"path": "src/", "text": "x"}, "which is a directory. Write the path of a file"),
        ("write", {"path": "src/.", "text": "x"}, "which is a directory. Write the path of a file"),
        ("write", {"path": " ", "text": "x"}, "`path` of `write` is empty"),
        ("write", {"path": "x" * 256, "text": "x"}, "a name in it has more than 255 bytes. Write a shorter one."),
        ("write", {"path": "\u00fc" * 128, "text": "x"}, "a name in it has more than 255 bytes."),
        ("write", {"path": "a\x1b.py", "text": "x"}, "holds an invisible character (U+001B). Leave it out."),
        ("write", {"path": "a\x00.py", "text": "x"}, "holds an invisible character (U+0000). Leave it out."),
        ("read", {"path": "a\u200b.py"}, "`path` of `read` holds an invisible character (U+200B). Leave it out."),
        ("read", {"path": "a.py", "lines": "some"}, "`lines` must be the first and the last line"),
        ("read", {"path": "a.py", "lines": "0-3"}, "counted from 1, such as 1-40 or 40-, and is `0-3`."),
        ("read", {"path": "a.py", "lines": "9-3"}, "and is `9-3`."),
        ("read", {"path": "a.py", "lines": "-5-1"}, "and is `-5-1`."),
        ("read", {"path": "a.py", "lines": "1-2-3"}, "and is `1-2-3`."),
        ("read", {"path": "a.py", "lines": [1, 2]}, "`lines` of `read` must be a string"),
        ("run", {"command": "ls", "timeout": "soon"}, "`timeout` must be a number of seconds, such as 30"),
        ("run", {"command": "ls", "timeout": 0}, "and is `0`."),
        ("run", {"command": "ls", "timeout": -1}, "and is `-1`."),
        ("run", {"command": "ls", "timeout": "2m"}, "and is `2m`."),
        ("run", {"command": "ls", "timeout": True}, "and is `true`."),
        ("run", {"command": "ls", "timeout": [5]}, "`timeout` of `run` must be a string."),
        ("run", {"command": "ls \x00"}, "holds a null character, which no command can hold: leave it out."),
        ("run", {"command": "\n"}, "`command` of `run` is empty"),
        ("write", {"path": "b.txt", "text": "\ud800"}, "`text` of `write` holds half of a character (U+D800)"),
        ("write", {"path": "b.txt"}, "`write` needs `text`."),
        ("write", {"path": "b.txt", "text": None}, "`write` needs `text`."),
        ("edit", {"path": "a.py", "old": "", "new": "x"}, "`old` of `edit` is empty"),
        ("edit", {"path": "a.py", "old": "x", "new": "x"}, "are the same text, so that nothing would be changed."),
        ("edit", {"path": "a", "old": "b", "new": "c", "replace_all": "first"}, "must be true or false, and is `first`"),
        ("edit", {"path": "a", "old": "b", "new": "c", "replace_all": 2}, "must be true or false, and is `2`"),
        ("submit", {"mode": "now"}, "`submit` has no argument `mode`; it takes none."),
    ],
)  # fmt: skip
def test_a_fault_that_shows_before_is_told_before_anything_is_done(
    open_walled: Open, kind: str, arguments: dict[str, object], words: str
) -> None:
    error = read(open_walled(), (kind, arguments))
    assert isinstance(error, ProtocolError), error
    assert error.calls[0] == ""
    assert words in error.calls[1]
    assert "Nothing was done." in error.calls[1]
    assert error.text == error.calls[1]


@pytest.mark.parametrize(
    ("act", "words"),
    [
        (("write", {"path": "/etc/passwd", "text": "x\n"}), f"`write`: /etc/passwd {OUTSIDE}. Nothing was done."),
        (("write", {"path": "../b.py", "text": "x\n"}), UP),
        (("write", {"path": f"{'x' * 256}.py", "text": "x\n"}), "a name in it has more than 255 bytes"),
        (("edit", {"path": "a.py", "old": "x\n", "new": "x\n"}), "are the same text"),
        (("run", {"command": " "}), "`command` of `run` is empty"),
        (("search", {"query": "\n"}), "`query` of `search` is empty"),
    ],
)
def test_a_fault_in_a_block_is_told_before_anything_is_done(open_walled: Open, act: Act, words: str) -> None:
    error = read(open_walled(), act, native=False)
    assert isinstance(error, ProtocolError), error
    assert words in error.text
    assert "Nothing was done." in error.text
    assert error.calls == ()


@pytest.mark.parametrize("native", [False, True])
def test_a_path_below_the_root_is_the_path_relative_to_it(open_workspace: Open, native: bool) -> None:
    workspace = open_workspace()
    root = workspace.run("pwd").output.strip()
    found = read(workspace, ("write", {"path": f"{root}/lib/./new.py", "text": "x\n"}), native=native)
    assert isinstance(found, Step), found
    assert found.actions[1] == Action(kind="write", arguments={"path": "lib/new.py", "text": "x\n"})
    itself = read(workspace, ("list", {"path": root}))
    assert isinstance(itself, Step), itself
    assert itself.actions[1].arguments == {"path": "."}


def test_each_call_that_cannot_be_used_gets_its_own_fault(open_walled: Open) -> None:
    """The calls are read before the workspace is asked."""
    right, outside = ("read", {"path": "solver.py"}), ("grep", {"pattern": "x", "path": "/usr"})
    error = from_reply(acts(("write", {"path": "n.txt"}), right, ("run", {"command": "ls", "timeout": "soon"})))
    assert isinstance(error, ProtocolError), error
    assert [fault[:25] for fault in error.calls] == ["`write` needs `text`. Not", "", "`timeout` must be a numbe"]
    step = from_reply(acts(outside, right, ("read", {"path": "/x.py"})))
    assert isinstance(step, Step), step
    error = checked(step, open_walled(), targets=["solver.py"], calls=3)
    assert isinstance(error, ProtocolError), error
    assert [fault[:25] for fault in error.calls] == ["`grep`: /usr is outside t", "", "`read`: /x.py is outside "]
    assert error.text == error.calls[0]


@pytest.mark.parametrize(
    ("kind", "written", "arguments"),
    [
        ("list", {"path": None}, {}),
        ("grep", {"pattern": "x", "path": ""}, {"pattern": "x"}),
        ("read", {"path": " a.py ", "lines": 7}, {"path": "a.py", "lines": "7"}),
        ("run", {"command": "ls", "timeout": 2.5}, {"command": "ls", "timeout": "2.5"}),
        ("run", {"command": "ls", "timeout": 12345678}, {"command": "ls", "timeout": "12345678"}),
        ("edit", {"path": "a", "old": "b", "new": "", "replace_all": False}, {"path": "a", "old": "b", "new": ""}),
        (
            "edit",
            {"path": "a", "old": "b", "new": "", "replace_all": True},
            {"path": "a", "old": "b", "new": "", "replace_all": "true"},
        ),
        ("write", {"path": "a", "text": ""}, {"path": "a", "text": ""}),
        ("write", {"text": "\x00\udcff", "path": "a"}, {"path": "a", "text": "\x00\udcff"}),
    ],
)
def test_what_is_taken_as_it_is_given(kind: str, written: dict[str, object], arguments: dict[str, str]) -> None:
    step = from_reply(acts((kind, written)))
    assert isinstance(step, Step), step
    assert step.actions == (Action(kind=kind, arguments=arguments),)


@pytest.mark.parametrize(
    ("lines", "shown"),
    [
        ("2-3", "Lines 2 to 3 of 3:\ntwo\nthree"),
        ("2", "Lines 2 to 2 of 3:\ntwo"),
        (2, "Lines 2 to 2 of 3:\ntwo"),
        ("3-", "Lines 3 to 3 of 3:\nthree"),
        ("1-400", "Lines 1 to 3 of 3:\none\ntwo\nthree"),
        ("", "one\ntwo\nthree\n"),
    ],
)
def test_some_lines_are_read(open_walled: Open, lines: object, shown: str) -> None:
    workspace = open_walled(files={"a.txt": b"one\ntwo\nthree\n"})
    assert done(workspace, "read", path="a.txt", lines=lines) == ActionOutcome(True, shown)


def test_lines_that_the_file_does_not_have_are_refused(open_walled: Open) -> None:
    workspace = open_walled(files={"a.txt": b"one\ntwo\nthree\n", "empty.txt": b""})
    assert done(workspace, "read", path="a.txt", lines="4-9") == ActionOutcome(
        False, "Refused: a.txt has 3 lines, and no line 4."
    )
    assert done(workspace, "read", path="empty.txt", lines="1") == ActionOutcome(
        False, "Refused: empty.txt has 0 lines, and no line 1."
    )


def test_a_command_has_the_time_limit_that_is_asked_for(open_walled: Open) -> None:
    result = done(open_walled(), "run", command="echo begun; sleep 1000", timeout=1)
    assert (result.done, result.failed) == (True, True)
    assert "its `timeout`" in result.text
    assert "begun" in result.text
    assert done(open_walled(), "run", command="echo so", timeout="5") == ActionOutcome(True, "Exit status 0.\nso\n")
