"""Calls of unknown tools in tags are no prose: nothing of such an answer is executed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.agents.action_names import argument_of, kind_of
from pytest_recode.agents.actions import ProtocolError, Step
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.outside_code import Known
from pytest_recode.agents.protocol import parse
from pytest_recode.agents.step_checks import lost
from pytest_recode.agents.tools import from_reply
from pytest_recode.models import Reply, ToolCall
from tests.agents.scripted import USAGE
from tests.messages import assert_message

RUN = "<run>\n<command>ls</command>\n</run>"
UNKNOWN = {
    "apply_diff": "<apply_diff>\n<path>a.py</path>\n<diff>\n-x\n+y\n</diff>\n</apply_diff>",
    "delete_file": "<delete_file><path>a.py</path></delete_file>",
    "undo_edit": '<undo_edit path="a.py"/>',
    "insert_line": '<insert_line path="a.py" line="1">x</insert_line>',
    "apply_patch": "<apply_patch>\n*** Update File: a.py\n-x\n+y\n</apply_patch>",
    "patch": "<patch>\n<file>a.py</file>\n<changes>x</changes>\n</patch>",
    "refresh_all": "<refresh_all/>",
    "file": '<file path="a.py">\nx = 1\n</file>',
    "code": '<code filename="a.py">\nx = 1\n</code>',
    "python": "<python>\nprint(1)\n</python>",
    "ask_followup_question": "<ask_followup_question><question>So?</question></ask_followup_question>",
    "use_mcp_tool": "<use_mcp_tool>\n<server_name>fs</server_name>\n</use_mcp_tool>",
    "new_task": "<new_task>\n<mode>code</mode>\n</new_task>",
    "commit": "<commit>\n<message>Done</message>\n</commit>",
    "file_content": "<file_content>\nx = 1\n</file_content>",
    "move_file": '<move_file source="a.py" destination="b.py"/>',
}
JSON = (
    '{"tool": "delete_file", "path": "a.py"}',
    '{"tool_name": "glob", "pattern": "*.py"}',
    '{"function": "append_to_file", "path": "a.py", "content": "x"}',
    '{"name": "apply_patch", "patch": "x"}',
    '{"path": "a.py", "content": "x = 1\\n"}',
    '{"plan": ["write it"], "file": "a.py", "content": "x = 1\\n"}',
    '{"command": ["bash", "-lc", "ls"]}',
)
DATA = ('{"name": "solver", "file": "a.py"}', '{"function": "solve", "status": "passes"}', '{"a": 1}', "{}", "[1, 2]")
CHANGES = (
    "--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    "--- a/a.py\n+++ b/a.py\n@@ -1 +0 @@\n-x = 1\n",
    "diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x = 1\n+x = 2\n",
    "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n",
    "cat > a.py <<'EOF'\nx = 2\nEOF\n",
)
PROSE = (
    "<scratchpad>\nls again\n</scratchpad>",
    "<answer>\nDone.\n</answer>",
    "<details><summary>Why</summary>It fails.</details>",
    "<pre><code>x = 1</code></pre>",
    "`<apply_diff><path>a.py</path></apply_diff>` is not there.",
    "```html\n<section><path>a.py</path></section>\n```",
    "<T> is a type.",
    '<code class="x">x = 1</code>',
)


@pytest.mark.parametrize("name", UNKNOWN)
@pytest.mark.parametrize(
    "frame", ["{}\n\n{run}", "{run}\n\n{}", "### Action: run\ncommand: ls\n\n{}", "```xml\n{}\n```\n\n{run}"]
)
def test_nothing_of_the_answer_is_executed(name: str, frame: str) -> None:
    found = parse(f"<observation>ok</observation>\n\n{frame.format(UNKNOWN[name], run=RUN)}\n")
    assert isinstance(found, ProtocolError)


@pytest.mark.parametrize("name", UNKNOWN)
def test_the_message_names_the_tool_and_those_there_are(name: str) -> None:
    found = parse(f"<observation>ok</observation>\n\n{UNKNOWN[name]}\n\n<submit></submit>\n")
    assert isinstance(found, ProtocolError)
    said, _, form = found.text.partition(" Write it like this:\n\n")
    assert form[:12] in ("", "### Action: ")
    assert_message(said, "Line 3", f"There is no action `{name}`", "The actions are list, read", "Nothing was done")


@pytest.mark.parametrize("name", UNKNOWN)
def test_beside_calls_of_tools(name: str) -> None:
    call = ToolCall(id="1", name="run", arguments='{"command": "ls"}')
    found = from_reply(Reply(text=UNKNOWN[name], tool_calls=(call,), usage=USAGE))
    assert isinstance(found, ProtocolError)


@pytest.mark.parametrize("prose", PROSE)
def test_other_tags_are_prose(prose: str) -> None:
    found = parse(f"{prose}\n\n{RUN}\n")
    assert isinstance(found, Step), found
    assert [action.kind for action in found.actions] == ["run"]


def test_tools_of_other_agents_are_understood_in_tags() -> None:
    found = parse("<search_files>\n<path>lm</path>\n<regex>x</regex>\n</search_files>\n")
    assert isinstance(found, Step), found
    assert [(action.kind, dict(action.arguments)) for action in found.actions] == [
        ("grep", {"pattern": "x", "path": "lm"})
    ]


@given(
    st.from_regex(r"[a-z]{2,8}_[a-z]{2,8}", fullmatch=True),
    st.sampled_from(["path", "command", "file_path", "content"]),
)
def test_an_element_with_an_argument_is_executed_or_refused(name: str, argument: str) -> None:
    """Of two actions, one of which may be unknown, never one alone."""
    found = parse(f"<{name}>\n<{argument}>a.py</{argument}>\n</{name}>\n\n{RUN}\n")
    known = kind_of(name) is not None and any(argument_of(kind, argument) for kind in FORMS)
    assert isinstance(found, ProtocolError) or (known and len(found.actions) == 2)


@pytest.mark.parametrize("said", JSON)
@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("native", [True, False])
def test_json_with_an_action_that_is_none_is_no_prose(said: str, fenced: bool, native: bool) -> None:
    said = f"```json\n{said}\n```" if fenced else said
    found = beside_a_run(said, native=native)
    assert isinstance(found, ProtocolError), found


@pytest.mark.parametrize("said", DATA)
@pytest.mark.parametrize("native", [True, False])
def test_json_of_data_is_prose(said: str, native: bool) -> None:
    assert isinstance(beside_a_run(said, native=native), Step)


@pytest.mark.parametrize("said", CHANGES)
@pytest.mark.parametrize("fenced", [True, False])
@pytest.mark.parametrize("native", [True, False])
def test_a_change_in_another_notation_is_no_prose(said: str, fenced: bool, native: bool) -> None:
    said = f"```\n{said}```" if fenced else said
    step = beside_a_run(f"I do this:\n\n{said}", native=native)
    assert isinstance(step, Step), step
    fault = lost(step, Known(), native=native)
    assert_message(
        fault, "outside of your actions", "would be lost", "Nothing was done", "`edit`" if "cat" not in said else ""
    )


@pytest.mark.parametrize("said", CHANGES)
def test_a_change_that_was_shown_is_a_quotation(said: str) -> None:
    step = beside_a_run(f"It was:\n\n{said}", native=False)
    assert isinstance(step, Step), step
    assert not lost(step, Known().also(["x = 2", "-x = 1"]), native=False)


def beside_a_run(said: str, *, native: bool) -> Step | ProtocolError:
    """What is read of a text beside a run of `ls`: in the text protocol in the part before it, with native calls as text."""
    if not native:
        return parse(f"### Planning\n{said}\n\n### Action: run\ncommand: ls\n")
    call = ToolCall(id="1", name="run", arguments='{"command": "ls"}')
    return from_reply(Reply(text=said, tool_calls=(call,), usage=USAGE))
