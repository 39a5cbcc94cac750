"""Native tool calls: the same actions, and the same care with what a model writes."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.forms import FORMS, PARTS
from pytest_recode.agents.prompts import system_text
from pytest_recode.agents.tools import TOOLS, from_reply
from pytest_recode.models import Reply
from tests.agents.scripted import calls


def test_each_action_is_a_tool_with_a_schema() -> None:
    assert [tool.name for tool in TOOLS] == list(FORMS)
    for tool in TOOLS:
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        assert set(tool.parameters["properties"]) == {"observation", "reflection", "planning", *FORMS[tool.name].takes}
    edit = next(tool for tool in TOOLS if tool.name == "edit")
    assert edit.parameters["required"] == ["path", "old", "new"]
    json.dumps([dict(tool.parameters) for tool in TOOLS])


def test_no_description_is_sent_more_than_once() -> None:
    told = [
        *(tool.description for tool in TOOLS),
        *(each["description"] for tool in TOOLS for name, each in tool.parameters["properties"].items() if name in PARTS
          and "description" in each),
    ]  # fmt: skip
    assert len(told) == len(set(told))
    assert "observation, reflection and planning" in system_text(native_tools=True, command_seconds=60)


def test_calls_become_a_step() -> None:
    step = from_reply(
        calls(
            ("read", '{"path": "a.py", "observation": "It fails.", "planning": "Look."}'),
            ("submit", "{}"),
            text="The axis is wrong.",
        )
    )
    assert step == Step(
        observation="It fails.",
        reflection="The axis is wrong.",
        planning="Look.",
        actions=(Action(kind="read", arguments={"path": "a.py"}), Action(kind="submit")),
    )


def test_headings_in_the_text_are_parts() -> None:
    step = from_reply(calls(("submit", ""), text="### Observation\nA\n### Planning\nB"))
    assert isinstance(step, Step)
    assert (step.observation, step.reflection, step.planning) == ("A", "", "B")


def test_null_is_not_given() -> None:
    step = from_reply(calls(("list", '{"path": null, "observation": null}')))
    assert step == Step(actions=(Action(kind="list"),))


@pytest.mark.parametrize(
    ("name", "given", "kind", "arguments"),
    [
        ("submit", "null", "submit", {}),
        ("submit", '""', "submit", {}),
        ("submit", '{"reason": "It is done."}', "submit", {}),
        ("run", '{"command": "ls", "description": "Look around."}', "run", {"command": "ls"}),
        ("grep", '{"pattern": "x", "path": ""}', "grep", {"pattern": "x"}),
        (
            "edit",
            '{"path": "a", "old": "b", "new": "", "replace_all": false}',
            "edit",
            {"path": "a", "old": "b", "new": ""},
        ),
        (
            "edit",
            '{"path": "a", "old": "b", "new": "", "replaceAll": true}',
            "edit",
            {"path": "a", "old": "b", "new": "", "replace_all": "true"},
        ),
    ],
)
def test_what_other_agents_tools_are_given_is_understood(
    name: str, given: str, kind: str, arguments: dict[str, str]
) -> None:
    step = from_reply(calls((name, given)))
    assert isinstance(step, Step), step
    assert step.actions == (Action(kind=kind, arguments=arguments),)


def test_why_an_action_is_taken_is_part_of_the_step() -> None:
    step = from_reply(calls(("submit", '{"reason": "It is done."}')))
    assert isinstance(step, Step)
    assert step.reflection == "It is done."


def test_a_model_with_tools_may_still_write_text() -> None:
    step = from_reply(Reply(text="### Action: submit"))
    assert step == Step(actions=(Action(kind="submit"),))


@pytest.mark.parametrize(
    "reply",
    [
        calls(("read", '{"file_path": "a.py"}')),
        calls(("read_file", '{"path": "a.py"}')),
        calls(("functions.read", '{"path": "a.py", "thought": "Look."}')),
        calls(("read", '"{\\"path\\": \\"a.py\\"}"')),
        calls(("read", '{"path": "a.py"}'), text="### Action: read\nI look at the file first."),
        calls(("read", '{"path": "a.py"}'), text="### Action: read\npath: a.py"),
        calls(("read", '{"path": "a.py"}'), text="As in\n```python\nx = {}\n```"),
        Reply(
            text='<|python_tag|>{"type": "function", "name": "read", "parameters": {"path": "a.py"}}<|eom_id|>',
        ),
        Reply(text='<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>'),
        Reply(text='[TOOL_CALLS][{"name": "read", "arguments": {"path": "a.py"}}]'),
        Reply(text='[TOOL_CALLS] [{"name": "read", "arguments": {"path": "a.py"}, "id": "abc"}]</s>\n'),
    ],
)
def test_what_is_understood(reply: Reply) -> None:
    step = from_reply(reply)
    assert isinstance(step, Step), step
    assert step.actions == (Action(kind="read", arguments={"path": "a.py"}),)


def test_an_error_is_told_for_its_own_call() -> None:
    read = from_reply(calls(("read", '{"path": "a.py"}'), ("write", '{"path": "a.py"}'), ("fly", "{}")))
    assert isinstance(read, ProtocolError)
    assert read.calls[0] == ""
    assert read.calls[1].startswith(
        "`write` needs `text`. Nothing was done. Call the tool `write` with these arguments"
    )
    assert read.calls[2].startswith("There is no tool `fly`.")


def test_optional_arguments_are_told_as_such() -> None:
    read = from_reply(calls(("read", "{}")))
    assert isinstance(read, ProtocolError)
    assert "Call the tool `read` with these arguments (`lines` may be left out): {" in read.text
    assert "strings" not in read.text


def test_where_the_answer_as_a_whole_is_wrong_its_other_calls_are_not_blamed_on_each_other() -> None:
    read = from_reply(calls(*[("submit", "{}")] * 9))
    assert isinstance(read, ProtocolError)
    assert read.calls[0].startswith("Your answer calls 9 tools; at most 8")
    assert read.calls[1:] == ("Not done, for the reason that the result of the first call gives.",) * 8


@pytest.mark.parametrize(
    ("text", "fault", "kind"),
    [
        (
            '<function_calls>\n<invoke name="run">\n<parameter name="command">echo "1 &lt; 2"</parameter>\n</invoke>\n</function_calls>',
            'The text of `<parameter name="command">` in line 3 holds `&lt;`: it is unclear whether it is escaped.',
            "run",
        ),
        (
            "### Action: write\npath: a.py\ntext <<E\nx",
            "The block that line 3 opens (`text <<E`) has no last line `E`",
            "write",
        ),
        ("### Action: edit\npath: a.py\nold <<E\nx\nE", "`edit` needs `new`.", "edit"),
        ('{"action": "read", "args": {"path": "a.py"}} and more', "", "read"),
        ("### Action: read\npath: a.py\n### Action: submit now\nmore", "", "read"),
        ('[TOOL_CALLS]grep[ARGS]{"pattern": "x"', "The JSON of the call in line 1 cannot be read", "grep"),
        (
            '<tool_call>{"name": "list", "arguments": {}}</tool_call>\n### Action: read a.py',
            "in different forms",
            "list",
        ),
        ("*** Begin Patch\n*** Update File: a.py\n", "Line 1 (`*** Begin Patch`) has `*** Begin Patch`", "write"),
        ('<tool_call>{"name": "list", "arguments": {"path": "a"', "", "list"),
        ("<write>\n<path>a", "", "write"),
        ("### Action: submit\nwhat: now", "", "submit"),
        (
            "### Action\nsolver.py\n```python\nx = 1\n```\n\n### Action: submit",
            "line 2 names a file with code below it",
            "write",
        ),
    ],
)
def test_what_is_wrong_with_actions_as_text_is_told_in_the_words_of_tools(text: str, fault: str, kind: str) -> None:
    read = from_reply(Reply(text=text))
    assert isinstance(read, ProtocolError), read
    told = read.text.partition(" For example ")
    assert told[0].startswith("Your answer is a text without a native call, and cannot be used as actions: ")
    assert fault in told[0]
    assert not any(word in read.text for word in ("Write it", "block", "###") if word not in text and "<<" not in text)
    assert told[0].count("Nothing was done.") == 1
    assert told[2].startswith(f"`{kind}` with")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (
            Reply(text=""),
            f"Your answer was empty: it calls no tool. Call one of: {', '.join(FORMS)}.",
        ),
        (Reply(text="I cannot help."), "Your answer calls no tool."),
        (
            Reply(text="### Action: write\npath: a"),
            "Your answer is a text without a native call, and cannot be used as actions: `write` needs `text`. Nothing was done. Call one of: ",
        ),
        (calls(("delete", "{}")), f"There is no tool `delete`; use `run`. The tools are {', '.join(FORMS)}."),
        (
            calls(("read", '{"path": "a", "path": "b"}')),
            "The arguments of `read` are no JSON (the key `path` is given twice).",
        ),
        (calls(("read", '{"path": "a"} {}')), "The arguments of `read` are JSON followed by more text: ' {}'. Nothing"),
        (
            calls(("read", '{"path": "a", "mode": "r"}')),
            "`read` does not take `mode`; its arguments are `path`, `lines`. Nothing was done. Call the",
        ),
        (
            calls(("read", '{"path": "a", "file": "b"}')),
            "`path` of `read` is given twice, as `path` and `file`, with different values.",
        ),
        (
            calls(("submit", "{}"), text="### Action: write\npath: a"),
            "Your answer calls tools, and its text holds actions",
        ),
        (
            calls(("submit", "{}"), text='{"action": "write", "path": "a", "text": ""}'),
            "Your answer calls tools, and its",
        ),
        (calls(("submit", "{}"), text="<write>\n<path>a"), "Your answer calls tools, and its text holds actions"),
        (Reply(text="### Action: submit", finish="length"), "Your answer was cut off at the model's limit of output."),
        (calls(("read", "{path: a}")), "The arguments of `read` are no JSON (Expecting property name"),
        (
            calls(("edit", '{"path": "a", "old": "x\ny", "new": "\\epsilon\n"}')),
            "The arguments of `edit` are no JSON (Invalid \\escape at `\\epsilon`). Write each line break within a string as \\n, too.",
        ),
        (calls(("read", '["a"]')), "The arguments of `read` are no JSON object but an array. Nothing was done."),
        (calls(("read", "null")), "`read` needs `path`."),
        (
            calls(("submit", '{"mode": "now"}')),
            "`submit` does not take `mode`; it needs no arguments. To write a file, use `write` before it. Nothing was done. Call the tool "
            "`submit` without arguments.",
        ),
        (
            calls(("edit", '{"path": "a", "old": "b", "new": "c", "replace_all": "first"}')),
            "`replace_all` must be true or false, and is `first`. Nothing was done.",
        ),
        (
            calls(("edit", '{"path": "a", "old": "b", "new": "c", "replace_all": 2}')),
            "`replace_all` of `edit` must be true or false, not a number.",
        ),
        (calls(("read", "[" * 100_000)), "The arguments of `read` are no JSON ("),
        (calls(("read", '{"path": 3}')), "`path` of `read` must be a string, not a number. Nothing was done."),
        (calls(("read", "{}")), "`read` needs `path`."),
        (calls(("submit", "{}"), ("read", "{}")), "`read` needs `path`."),
        (calls(*[("submit", "{}")] * 9), "Your answer calls 9 tools; at most 8 are called at once. Nothing was done."),
    ],
)
def test_what_cannot_be_used_is_told(reply: Reply, words: str) -> None:
    read = from_reply(reply)
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith(words)


@pytest.mark.parametrize(
    "piece",
    [
        "<|channel|>commentary to=functions.run<|message|>{",
        "<|call|>",
        "<\uff5ctool\u2581call\u2581begin\uff5c>run<\uff5ctool\u2581sep\uff5c>",
        "<\uff5ctool\u2581call\u2581end\uff5c>",
        "```python\n",
        "> ",
        "def f(a):\n ",
        "def f(:#",
    ],
)
@pytest.mark.mostly_slow(one_in=4)
def test_a_hostile_megabyte_beside_a_submit_is_read(piece: str) -> None:
    text = (piece * 1_000_000)[:999_000]
    assert isinstance(from_reply(Reply(text=text)), Step | ProtocolError)
    assert isinstance(from_reply(calls(("submit", "{}"), text=text)), Step | ProtocolError)


def test_parts_of_several_calls_and_of_the_text_are_all_kept_once() -> None:
    step = from_reply(
        calls(
            ("read", '{"path": "a.py", "observation": "It fails.", "reflection": "Why?"}'),
            ("read", '{"path": "b.py", "observation": "It fails.", "reflection": "The sum."}'),
            ("submit", '{"summary": "Fixed the sum."}'),
            text="Let me look.",
        )
    )
    assert isinstance(step, Step)
    assert step.observation == "It fails."
    assert step.reflection == "Let me look.\n\nWhy?\n\nThe sum.\n\nFixed the sum."
