"""Native tool calls: a tool for each action, calls taken as they are given, and a result for each call."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.forms import FORMS, PARTS
from pytest_recode.agents.tools import TOOLS, from_reply
from pytest_recode.models import Reply, ToolCall
from tests.agents.conftest import Open
from tests.agents.played import RIGHT, Played
from tests.agents.scripted import acts, calls


def test_each_action_is_a_tool_with_a_schema() -> None:
    assert [tool.name for tool in TOOLS] == list(FORMS)
    for tool in TOOLS:
        jsonschema.Draft202012Validator.check_schema(tool.parameters)
        assert set(tool.parameters["properties"]) == {*PARTS, *FORMS[tool.name].takes}
    edit = next(tool for tool in TOOLS if tool.name == "edit")
    assert edit.parameters["required"] == ["path", "old", "new"]
    json.dumps([dict(tool.parameters) for tool in TOOLS])


def test_no_description_is_sent_more_than_once() -> None:
    texts = [
        *(tool.description for tool in TOOLS),
        *(tool.parameters["properties"][part].get("description", tool.name) for tool in TOOLS for part in PARTS[:1]),
    ]
    assert len(texts) == len(set(texts))


def test_calls_become_a_step() -> None:
    look = ("read", {"path": "a.py", "observation": "It fails.", "planning": "Look."})
    assert from_reply(acts(look, "submit", text="The axis is wrong.")) == Step(
        observation="It fails.",
        reflection="The axis is wrong.",
        planning="Look.",
        actions=(Action(kind="read", arguments={"path": "a.py"}), Action(kind="submit")),
    )


def test_headings_in_the_text_are_parts() -> None:
    step = from_reply(acts("submit", text="### Observation\nA\n### Planning\nB"))
    assert isinstance(step, Step)
    assert (step.observation, step.reflection, step.planning) == ("A", "", "B")


def test_parts_of_several_calls_and_of_the_text_are_all_kept_once() -> None:
    step = from_reply(
        acts(
            ("read", {"path": "a.py", "observation": "It fails.", "reflection": "Why?"}),
            ("read", {"path": "b.py", "observation": "It fails.", "reflection": "The sum."}),
            text="Let me look.",
        )
    )
    assert isinstance(step, Step)
    assert step.observation == "It fails."
    assert step.reflection == "Let me look.\n\nWhy?\n\nThe sum."


@pytest.mark.parametrize("arguments", ["", "{}", '{"observation": null}'])
def test_a_call_may_have_no_arguments(arguments: str) -> None:
    assert from_reply(calls(("list", arguments))) == Step(actions=(Action(kind="list"),))


def test_a_line_break_within_a_string_of_the_arguments_is_one() -> None:
    step = from_reply(calls(("run", '{"command": "cd lib\nls"}')))
    assert step == Step(actions=(Action(kind="run", arguments={"command": "cd lib\nls"}),))


@pytest.mark.parametrize("text", ["```bash\nrm solver.py\n```", "```python solver.py\nx = 1\n```", "SUBMIT"])
def test_the_text_beside_calls_does_nothing(text: str) -> None:
    step = from_reply(acts("list", text=text))
    assert isinstance(step, Step)
    assert step.actions == (Action(kind="list"),)
    assert bool(step.unsaved) == ("python" in text)


@pytest.mark.parametrize(
    "text",
    [
        "I cannot help.",
        "SUBMIT",
        "```bash\nls\n```",
        '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>',
        '[TOOL_CALLS][{"name": "read", "arguments": {"path": "a.py"}}]',
        "",
    ],
)
def test_a_text_without_a_call_cannot_be_used(text: str) -> None:
    read = from_reply(Reply(text=text))
    assert isinstance(read, ProtocolError)
    assert read.text.startswith(f"Your answer calls no tool. Call one of: {', '.join(FORMS)}.")
    assert read.text.endswith("Nothing was done.")
    assert read.calls == ()


def test_a_file_in_the_text_beside_no_call_is_told_to_be_none() -> None:
    read = from_reply(Reply(text=f"I write it.\n\n```python solver.py\n{RIGHT}```\n\nDone!"))
    assert isinstance(read, ProtocolError)
    assert "The block that line 3 opens (```python solver.py) is no tool call: no file has its code." in read.text
    assert "call `write` with `path` solver.py and this text" in read.text
    assert "JSON" not in read.text


def test_a_call_in_the_text_is_told_to_be_none() -> None:
    read = from_reply(Reply(text='I look.\n<tool_call>{"name": "list"}</tool_call>'))
    assert isinstance(read, ProtocolError)
    assert "A call that is written into the text, as JSON or in tags, is none." in read.text
    assert "server" not in read.text, "which is the business of who runs it"


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (calls(("delete", "{}")), f"There is no tool `delete`. The tools are {', '.join(FORMS)}. Nothing was done."),
        (calls(("read", "{path: a}")), "The arguments of `read` are no JSON ("),
        (calls(("read", '{"path": "a"} {}')), "The arguments of `read` are no JSON ("),
        (calls(("read", '{"path": "a"')), "The arguments of `read` are no JSON ("),
        (calls(("read", '["a"]')), "The arguments of `read` are no JSON object. Nothing was done."),
        (
            calls(("read", json.dumps('{"path": "a"}'))),
            "The arguments of `read` are a string that may hold JSON; give the",
        ),
        (calls(("read", "null")), "The arguments of `read` are no JSON object. Nothing was done."),
        (calls(("read", "[" * 100_000)), "The arguments of `read` are nested too deeply."),
        (calls(("read", "1" * 10_000)), "The arguments of `read` are no JSON ("),
        (acts("read"), '`read` needs `path`. Nothing was done. Call `read` with these arguments: {"path": '),
        (acts("submit", "read"), "`read` needs `path`."),
        (acts(*["submit"] * 9), "Your answer calls 9 tools; at most 8 are called at once. Nothing was done."),
        (
            Reply(text="", tool_calls=(ToolCall(id="1", name="submit", arguments=""),), finish="length"),
            "Your answer was cut off at the model's limit of output. Nothing was done.",
        ),
    ],
)
def test_what_cannot_be_used_is_told(reply: Reply, words: str) -> None:
    read = from_reply(reply)
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith(words)
    assert len(read.calls) == len(reply.tool_calls)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999", "9" * 4_000])
def test_no_number_is_too_much(number: str) -> None:
    read = from_reply(calls(("run", f'{{"command": "ls", "timeout": {number}}}')))
    assert isinstance(read, ProtocolError), read
    assert "`timeout`" in read.text


def test_an_error_is_told_for_its_own_call() -> None:
    read = from_reply(acts(("read", {"path": "a.py"}), ("write", {"path": "a.py"}), "fly"))
    assert isinstance(read, ProtocolError)
    assert read.calls[0] == ""
    assert read.calls[1].startswith("`write` needs `text`. Nothing was done. Call `write` with these arguments: {")
    assert read.calls[2].startswith("There is no tool `fly`.")


def test_where_the_answer_as_a_whole_is_wrong_its_other_calls_are_not_blamed_on_each_other() -> None:
    read = from_reply(acts(*["submit"] * 9))
    assert isinstance(read, ProtocolError)
    assert read.calls[0].startswith("Your answer calls 9 tools; at most 8")
    assert read.calls[1:] == ("Not done, for the reason that the result of the first call gives.",) * 8


@pytest.mark.parametrize("piece", ["```python\n", "> ", "- ", "#", "def f(a):\n ", "<think>", "\n\n    "])
@pytest.mark.mostly_slow
def test_a_hostile_megabyte_beside_a_submit_is_read(piece: str) -> None:
    text = (piece * 1_000_000)[:999_000]
    assert isinstance(from_reply(acts("submit", text=text)), Step)


# In a turn


def test_tool_calls_and_their_results_go_back_as_such(open_walled: Open) -> None:
    write = ("write", {"path": "solver.py", "text": RIGHT.rstrip("\n"), "reflection": "Easy."})
    played = Played(open_walled(), acts(write, "list", text="Now."), acts("submit"), steps=3)
    assert played.turn() == (2, True)
    assert played.model.tools[0] == TOOLS
    roles = [message.role for message in played.model.asked[1]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    said, wrote, listed = played.model.asked[1][2:5]
    assert [call.name for call in said.tool_calls] == ["write", "list"]
    assert [call.id for call in said.tool_calls] == [wrote.tool_call_id, listed.tool_call_id]
    assert wrote.content == "Result of write solver.py:\nWrote solver.py (2 lines). A newline was added at its end."
    assert listed.content == "Result of list:\nREADME.md\ninstruction.md\nlib/helpers.py\npaper.md\nsolver.py"
    assert played.log.of("step")[0]["reflection"] == "Now.\n\nEasy."


def test_each_tool_call_gets_a_result_also_where_none_can_be_used(open_walled: Open) -> None:
    bad = calls(("read", "{oops"), ("list", "{}"))
    played = Played(open_walled(), bad, "plain words", acts("submit"), steps=1)
    assert played.turn() == (1, True)
    said, first, second = played.model.asked[1][2:5]
    kept = [json.loads(call.arguments) for call in said.tool_calls]
    assert kept == [{"unreadable": "{oops"}, {}], "a provider takes objects only, and nothing that was written is lost"
    assert "The arguments of `read` are no JSON" in first.content
    assert '"path": "(file, relative to the workspace)"' in first.content
    assert second.content == "Not done: call 1 of this answer could not be used."
    assert "Your answer calls no tool." in played.last()


def test_what_an_unusable_answer_cost_is_told_once(open_walled: Open) -> None:
    bad = acts(("read", {"path": "a.py"}), "fly", "walk")
    played = Played(open_walled(), bad, acts("submit"), steps=1)
    played.turn()
    calling, *results = played.model.asked[1][2:6]
    assert json.loads(calling.tool_calls[0].arguments) == {"path": "a.py"}
    assert [message.content.count("cost no step") for message in results] == [0, 1, 0]
    assert results[0].content == "Not done: call 2 of this answer could not be used."
    assert results[2].content.startswith("There is no tool `walk`")


def test_each_call_of_an_answer_with_too_many_gets_a_result(open_walled: Open) -> None:
    played = Played(open_walled(), acts(*["list"] * 100), acts("submit"), steps=1)
    assert played.turn() == (1, True)
    said, *told = played.model.asked[1][2:-1]
    assert [call.id for call in said.tool_calls] == [message.tool_call_id for message in told]
    assert len({call.id for call in said.tool_calls}) == len(told) == 64


@pytest.mark.slow
def test_huge_tool_calls_are_cut_and_stay_json(open_walled: Open) -> None:
    huge = acts(("write", {"path": "solver.py", "text": "x = 1\n" * 100_000}))
    played = Played(open_walled(), huge, acts("submit"))
    played.turn()
    sent = played.model.asked[1][2].tool_calls[0].arguments
    assert len(sent) < 60_000
    assert json.loads(sent)["path"] == "solver.py"
    assert played.workspace.targets() == {"solver.py": b"x = 1\n" * 100_000}


def test_an_argument_that_is_given_twice_is_told() -> None:
    read = from_reply(calls(("read", '{"path": "a.py", "path": "b.py"}')))
    assert isinstance(read, ProtocolError)
    assert read.text.startswith("The arguments of `read` have `path` twice.")
