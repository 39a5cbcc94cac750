"""Native tool calls: the same actions, and the same care with what a model writes."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pytest_recode.agents.actions import FORMS, Action, ProtocolError, Step
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


def test_a_model_with_tools_may_still_write_text() -> None:
    step = from_reply(Reply(text="### Action: submit"))
    assert step == Step(actions=(Action(kind="submit"),))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply(text=""), "Your answer calls no tool. Call one of: list, read, search, grep, write, edit, run, submit."),
        (Reply(text="I cannot help."), "Your answer calls no tool."),
        (Reply(text="### Action: write\npath: a"), "`write` needs `text`."),
        (calls(("delete", "{}")), "There is no tool 'delete'. Choose from: list, read,"),
        (calls(("read", "{path: a}")), "The arguments of `read` are no JSON (Expecting property name"),
        (calls(("read", '["a"]')), "The arguments of `read` are no JSON object but an array. Nothing was done."),
        (calls(("read", "null")), "The arguments of `read` are no JSON object but null."),
        (calls(("read", "[" * 100_000)), "The arguments of `read` are no JSON ("),
        (calls(("read", '{"path": 3}')), "`path` of `read` must be a string, not a number. Nothing was done."),
        (calls(("read", '{"file": "a"}')), "`read` does not take `file`; it takes path."),
        (calls(("read", "{}")), "`read` needs `path`."),
        (calls(("submit", "{}"), ("read", "{}")), "`read` needs `path`."),
        (calls(*[("submit", "{}")] * 9), "Your answer calls 9 tools; at most 8 are called at once. Nothing was done."),
    ],
)
def test_what_cannot_be_used_is_told(reply: Reply, words: str) -> None:
    read = from_reply(reply)
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith(words)
