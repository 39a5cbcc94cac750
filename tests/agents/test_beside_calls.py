"""The text beside native tool calls: prose under a heading is no action, an action that is none of the calls is an error."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.outside_code import Known
from pytest_recode.agents.protocol import parse
from pytest_recode.agents.step_checks import checked
from pytest_recode.agents.tools import from_reply
from pytest_recode.models import Reply
from tests.agents.conftest import Open
from tests.agents.scripted import calls
from tests.messages import assert_message

EDIT = ("edit", '{"path": "a.py", "old": "x", "new": "y"}')
RUN = ("run", '{"command": "ls"}')


@pytest.mark.parametrize(
    "text",
    [
        "## Action\nFix `divergence` now; it must use the dual value.",
        "## Action\nRun a quick check.",
        "### Action\n\nFix it.",
        "## Action 1: look\nI look at it.",
        "## Actions\nI run it",
        "### Action:\nLet me check.",
        "#### 4. Action\nEdit the file, then look again.",
        "<action>Let me check.</action>",
        "<action>\nLet me check.\n</action>",
        "<tool_call>",
        "## Action\n`run`",
        "## Action\nSubmitting the work.",
        "## Action: Submit the work",
        "## Action\nSubmit the targets, as they are now.",
        "## Action\nI will call `write` with the whole file.",
        "## Action\nWrite `a.py`.",
        "## Action\nwrite a.py",
        "## Action\nSearch for the helper.",
        "## Action\nread the file again",
        "## Action\nList the files",
        "**Action:** Read the README first.",
        "Action: run the tests again.",
        "# Action\nReplace the old line:\n```python\nx = 1\n```",
        "## Action\n```python\nx = 1\n```",
        'It answers\n{"name": "sinkhorn", "input": {"x": 1}}',
        '{"action": "I look at it first"}',
        'Now `<tool_call>{"name": "run", "arguments": {}}</tool_call>` and `x: {"name": "run", "arguments": {}}` are quoted.',
        "It prints `[TOOL_CALLS][{` and then `<|python_tag|>{`.",
        "A `<tool_call>{}</tool_call>` is none, nor is a vector<list> or a <read> in prose.",
        'It is\n```python\nrows = [{"name": "search", "k": 1}]\n```',
    ],
)
@pytest.mark.parametrize("call", [EDIT, RUN])
def test_prose_beside_calls_is_no_action(text: str, call: tuple[str, str]) -> None:
    step = from_reply(calls(call, text=f"## Observation\nIt fails.\n{text}"))
    assert isinstance(step, Step), step
    assert step.observation.startswith("It fails.")
    assert [each.kind for each in step.actions] == [call[0]]


@pytest.mark.parametrize(
    "text",
    [
        "### Action: read\npath: a.py",
        "### Action: read a.py",
        "Action: read\npath: a.py",
        "## Action\nread `src/a.py`",
        "## Action\nread(path='a.py')",
        '## Action\nread\nAction Input: {"path": "a.py"}',
        '### Action: read\n{"path": "a.py"}',
        "### Action: read\n<path>a.py</path>",
        "### Action: write\npath: a",
        "### Action: write\n```python a.py\nx = 1\n```",
        "### Action: submit",
        "## Action\nsubmit",
        "### Action: list",
        "### Action: grep x = 1",
        "### Action: search divergence",
        '{"action": "write", "path": "a", "text": ""}',
        'I do\n```json\n{"name": "write", "arguments": {"path": "a", "text": ""}}\n```',
        '{"type": "function", "name": "write", "parameters": {"path": "a", "text": ""}}',
        '{"write": {"path": "a", "text": ""}}',
        '{"action": "write", "path": "a", "text": "',
        "<write>\n<path>a",
        '<read path="a.py" />',
        "<action>\nread a.py\n</action>",
        '<tool_call>\n{"name": "read", "arguments": {"path": "a.py"}}\n</tool_call>',
        '<tool_call>{"name": "write", "arguments": {"path": "a", "text": "x"}}</tool_call>',
        '<tool_call> {"name": "write", "arguments": {"path": "a", "text": "x"}} </tool_call>',
        '<tool_call>{"name": "fly", "arguments": {}}</tool_call><tool_call>{"name": "read", "arguments": {"path": "a"}}</tool_call>',
        '<tool_call>{"name": "str_replace_editor", "arguments": {"command": "create", "path": "a", "file_text": ""}}</tool_call>',
        'I look. <tool_call>{"name": "read", "arguments": {"path": "a.py"}}</tool_call>',
        'I look: {"name": "read", "arguments": {"path": "a.py"}}',
        'I look at `b`: {"name": "write", "arguments": {"path": "a.py", "text": "`x` and `y`"}}',
        '<tool_call>{"name": "write", "arguments": {"path": "a", "text": "x',
        '<tool_call>{"name": "write",\n"arguments": {"path": "a", "text": "x"}}</tool_call>',
        '<function_calls><invoke name="read"><parameter name="path">a.py</parameter></invoke></function_calls>',
        "<tool_call><function=read><parameter=path>a.py</parameter></function></tool_call>",
        '<|python_tag|>{"name": "run", "parameters": {"command": "echo x > a"}}<|eom_id|>',
        '<|python_tag|>run.call(command="echo x > a")',
        '[TOOL_CALLS][{"name": "write", "arguments": {"path": "a", "text": "x"}}]',
        '[TOOL_CALLS] {"name": "write", "arguments": {"path": "a", "text": "x"}}',
        '[TOOL_CALLS]write[ARGS]{"path": "a", "text": "x"}',
        '<|tool_call|>\n[{"name": "write", "arguments": {"path": "a", "text": "x"}}]',
    ],
)
def test_an_action_beside_calls_that_is_none_of_them_is_an_error(text: str) -> None:
    read = from_reply(calls(RUN, text=f"It fails.\n{text}"))
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith("Your answer calls tools, and its text holds actions as well, in line ")
    assert "Nothing was done. Act by tool calls alone." in read.text


@pytest.mark.parametrize(
    "text",
    [
        '<tool_call>{"name": "run", "arguments": {"command": "ls"}}</tool_call>',
        '<|python_tag|>{"name": "run", "parameters": {"command": "ls"}}<|eom_id|>',
        '[TOOL_CALLS][{"name": "run", "arguments": {"command": "ls"}}]',
        "### Action: run\ncommand: ls",
        '{"action": "run", "command": "ls"}',
        "<run>ls</run>",
        "```bash\nls\n```",
    ],
)
def test_an_action_that_is_one_of_the_calls_is_done_once(text: str) -> None:
    step = from_reply(calls(EDIT, RUN, text=text))
    assert isinstance(step, Step), step
    assert step.actions == (
        Action(kind="edit", arguments={"path": "a.py", "old": "x", "new": "y"}),
        Action(kind="run", arguments={"command": "ls"}),
    )


def test_more_actions_than_calls_are_an_error() -> None:
    assert isinstance(from_reply(calls(RUN, text="<run>ls</run>\n<run>ls</run>")), ProtocolError)


def test_code_that_is_quoted_beside_a_submit_is_no_file() -> None:
    step = from_reply(calls(("submit", "{}"), text="It holds\n```python\nx = 1\n```"))
    assert isinstance(step, Step), step
    assert step.actions == (Action(kind="submit"),)


READ = ("read", '{"path": "a.py"}')
CODE = "It is\n```python src/a.py\nx = 1\n```"


OTHER = ("write", '{"path": "src/b.py", "text": "x = 1"}')


def read(open_walled: Open, reply: Reply) -> Step | ProtocolError:
    return checked(from_reply(reply), open_walled(), native=True, calls=len(reply.tool_calls))


@pytest.mark.parametrize(
    "call",
    [
        *[("submit", "{}"), READ, RUN, OTHER],
        *[("run", json.dumps({"command": command})) for command in ("pytest -q tests", "python src/a.py", "cat a.py")],
        *[
            ("run", json.dumps({"command": command}))
            for command in (
                "python -m py_compile src/a.py 2>&1 | tail -3",
                "python src/a.py > out.txt; cat out.txt",
            )
        ],
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        CODE,
        "`src/a.py`:\n\n```python\ny = 1\n```",
        "### src/a.py\n```\ny = 1\n```",
        "Code:\n```python\n# src/a.py\ny = 1\n```",
        "```bash\ncat > src/a.py <<'EOF'\ny = 1\nEOF\n```",
        "```sh\ntee src/a.py <<EOF\ny = 1\nEOF\nls\n```",
        "```diff\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x = 1\n+y = 1\n```",
        "```\n*** Begin Patch\n*** Update File: src/a.py\n@@\n-x = 1\n+y = 1\n*** End Patch\n```",
        "src/a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\ny = 1\n>>>>>>> REPLACE\n```",
        "Here is the updated `src/a.py`:\n```python\ny = 1\nimport json\n\n\ndef f():\n    return y\n```",
    ],
)
def test_the_code_of_a_file_that_no_call_writes_is_an_error(
    open_walled: Open, call: tuple[str, str], text: str
) -> None:
    found = read(open_walled, calls(call, text=text.replace("x = 1", "y = 1") if text == CODE else text))
    assert isinstance(found, ProtocolError), found
    change = any(mark in text for mark in ("```diff", "*** Begin", "<<<<<<<"))
    what = ("would be lost", "`edit`") if change else ("no action writes that file", "`write`")
    assert_message(found.text, "src/a.py", "`y = 1`", "Nothing was done", *what)


@pytest.mark.parametrize(
    "call",
    [
        ("edit", '{"path": "a.py", "old": "x", "new": "y"}'),
        ("write", '{"path": "src/a.py", "text": "x = 1"}'),
        ("run", '{"command": "cd src; cat > a.py <<E\\nx = 1\\nE"}'),
        ("run", '{"command": "sed -i s/x/y/ src/a.py"}'),
    ],
)
def test_the_code_of_a_file_beside_a_call_that_writes_is_a_quotation(open_walled: Open, call: tuple[str, str]) -> None:
    step = read(open_walled, calls(call, READ, text=CODE))
    assert isinstance(step, Step), step
    assert [each.kind for each in step.actions] == [call[0], "read"]


@pytest.mark.parametrize("language", ["python", "", "diff"])
def test_lines_of_a_file_under_its_name_are_a_quotation(open_walled: Open, language: str) -> None:
    workspace = open_walled()
    lines = workspace.read("lib/helpers.py").rstrip("\n")
    lines = "\n".join(f"+{line}" for line in lines.split("\n")) if language == "diff" else lines
    step = read(open_walled, calls(READ, text=f"`lib/helpers.py`:\n```{language}\n{lines}\n```"))
    assert isinstance(step, Step), step


@pytest.mark.parametrize(
    "command", ["echo 'x = 1' > solver.py", "sed -i 's/2/3/' solver.py", "printf x | tee solver.py"]
)
def test_a_command_in_the_text_that_writes_a_target_is_an_error(open_walled: Open, command: str) -> None:
    step = from_reply(calls(("submit", "{}"), text=f"I do it:\n```bash\n{command}\n```"))
    found = checked(step, open_walled(), native=True, calls=1, known=Known(targets=("solver.py",)))
    assert isinstance(found, ProtocolError), found
    assert_message(found.text, "solver.py", command[:40], "`run`")


@pytest.mark.parametrize(
    "command", ["python -m pytest -q 2>&1 | tail -3", "python solver.py > out.txt", "ls > /dev/null"]
)
def test_a_command_in_the_text_that_writes_no_target_is_a_quotation(open_walled: Open, command: str) -> None:
    step = from_reply(calls(("submit", "{}"), text=f"I ran:\n```bash\n{command}\n```"))
    found = checked(step, open_walled(), native=True, calls=1, known=Known(targets=("solver.py",)))
    assert isinstance(found, Step), found


@pytest.mark.parametrize("text", ["It is\n```\nx\n```", "It holds\n~~~~\n```python a.py\n~~~~"])
def test_a_fence_that_names_no_file_is_a_quotation(text: str) -> None:
    assert isinstance(from_reply(calls(READ, text=text)), Step)


@pytest.mark.parametrize(
    "text", ["<tool_call>" * 90_000, '<tool_call>{"a": ' * 60_000, "[TOOL_CALLS]" * 80_000, "<|python_tag|>x " * 60_000]
)
def test_a_huge_text_beside_calls_is_read(text: str) -> None:
    assert isinstance(from_reply(calls(READ, text=text)), Step | ProtocolError)


def test_an_answer_without_calls_says_so() -> None:
    read = from_reply(Reply(text="## Action\nFix it."))
    assert isinstance(read, ProtocolError)
    assert read.text.startswith("Your answer calls no tool. Call one of: ")


LEAKED = {
    "harmony": "<|channel|>analysis<|message|>I look.<|end|><|start|>assistant<|channel|>commentary to=functions.run "
    '<|constrain|>json<|message|>{"command":"ls"}<|call|>',
    "DeepSeek-V3": "<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>run\n"
    '```json\n{"command": "ls"}\n```<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>',
    "DeepSeek-V3.1": "I look.<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>run<\uff5ctool\u2581sep\uff5c>"
    '{"command": "ls"}<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>',
}


@pytest.mark.parametrize("family", LEAKED)
def test_a_call_that_a_server_left_in_the_text_is_done(family: str) -> None:
    step = from_reply(Reply(text=LEAKED[family]))
    assert isinstance(step, Step), step
    assert step.actions == (Action(kind="run", arguments={"command": "ls"}),)


def test_several_calls_in_the_text_are_done_in_order() -> None:
    one = "<\uff5ctool\u2581call\u2581begin\uff5c>{}<\uff5ctool\u2581sep\uff5c>{}<\uff5ctool\u2581call\u2581end\uff5c>"
    step = from_reply(Reply(text=one.format("read", '{"path": "a.py"}') + "\n" + one.format("submit", "{}")))
    assert isinstance(step, Step), step
    assert [each.kind for each in step.actions] == ["read", "submit"]


@pytest.mark.parametrize("family", LEAKED)
@pytest.mark.parametrize("change", [lambda text: f"{text} and more", lambda text: text.replace('"ls"', "ls")])
def test_calls_in_the_text_that_are_not_whole_are_not_done(family: str, change: Callable[[str], str]) -> None:
    assert isinstance(from_reply(Reply(text=change(LEAKED[family]))), ProtocolError)


def test_what_is_not_done_of_a_text_without_calls_is_told() -> None:
    for text, words in (
        (
            "It is:\n```python\ndef f():\n    pass\n```",
            ("The code in your text", "written to no file", "`write` or `edit`"),
        ),
        ("THOUGHT: I look.\n```bash\nls\n```", ("The command in your text", "not run", "`run`")),
        (
            "The whole file:\n```python\nx = 1\n```\nNow I check it:\n```bash\npython a.py\n```",
            ("The command in your text was not run", "The code in your text was written to no file"),
        ),
        (
            "read_file(absolute_path='a.py')",
            ("`read_file(absolute_path='a.py')`", "a call in Python", "Call one of: list, read"),
        ),
    ):
        found = from_reply(Reply(text=text))
        assert isinstance(found, ProtocolError)
        assert_message(found.text, "Your answer calls no tool.", *words)


MARKS = [
    *(
        "[TOOL_CALLS]",
        "<|python_tag|>",
        "<|python_tag|>print(1)",
        "<|new_template|>",
        "<\uff5cnew\uff5c>x",
        "*** Begin Patch",
    ),
    *("<xai:function_call", "print(default_api.fly(x=1))", "<|tool_call_begin|>functions.read:0", "[ARGS]{}"),
]


@pytest.mark.parametrize("mark", MARKS)
def test_a_token_of_a_chat_template_that_is_no_whole_call_is_an_error(mark: str) -> None:
    for found in (from_reply(calls(RUN, text=f"I see.\n{mark}")), from_reply(Reply(text=f"I see.\n{mark}"))):
        assert isinstance(found, ProtocolError), found
        assert "Nothing was done." in found.text or "calls no tool" in found.text
        assert "###" not in found.text
    below = parse(f"### Planning\nI see.\n{mark}\n### Action: submit")
    assert isinstance(below, ProtocolError), below
    assert isinstance(from_reply(calls(RUN, text=f"I see `{mark}`.")), Step)
    assert isinstance(parse(f"### Planning\nI see `{mark}`.\n### Action: submit"), Step)


@pytest.mark.parametrize(
    "text",
    [
        "Done.<|eot_id|>",
        "<|channel|>analysis<|message|>Look.<|end|>",
        "<|start|>assistant<|channel|>final<|message|>Look.",
    ],
)
def test_a_token_that_only_frames_prose_is_none(text: str) -> None:
    assert isinstance(from_reply(calls(RUN, text=text)), Step)
