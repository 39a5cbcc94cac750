"""Properties: two things that a model may write in one answer, in any two forms, in either order. Each is done or seen, never dropped.

One of the two is code that is to be in the target; the other is a call of another action. An answer is refused, or the code is written, or
the code is noticed as code that would be lost.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.outside_code import Known, lost_code, lost_file
from pytest_recode.agents.protocol import parse
from pytest_recode.agents.tools import from_reply
from pytest_recode.models import Reply
from tests.agents.scripted import calls
from tests.agents.spellings import PATH
from tests.agents.test_any_text import nasty_text, parses, python
from tests.examples import examples

Given = Mapping[str, str]
Form = Callable[[str, Given], str]
"""Writes one call."""


def token(begin: str, end: str) -> Form:
    return lambda name, given: f"{begin.replace('NAME', name)}{json.dumps(given)}{end}"


def tags(call: str, argument: str, foot: str) -> Form:
    def spelled(name: str, given: Given) -> str:
        inner = "".join(argument.replace("NAME", each).replace("VALUE", value) for each, value in given.items())
        return f"{call.replace('NAME', name)}{inner}{foot.replace('NAME', name)}"

    return spelled


def python_call(frame: str) -> Form:
    def spelled(name: str, given: Given) -> str:
        return frame.format(f"{name}({', '.join(f'{each}={value!a}' for each, value in given.items())})")

    return spelled


def heading(name: str, given: Given) -> str:
    lines = [f"### Action: {name}"]
    for each, value in given.items():
        lines += [f"{each}: {value}"] if each == "path" else [f"{each} <<E_N_D", value.removesuffix("\n"), "E_N_D"]
    return "\n".join(lines)


CALLS: dict[str, Form] = {
    "heading": heading,
    "JSON": lambda name, given: json.dumps({"action": name, "args": given}),
    "JSON in a fence": lambda name, given: f"```json\n{json.dumps({'name': name, 'arguments': given})}\n```",
    "tool_call": lambda name, given: f"<tool_call>\n{json.dumps({'name': name, 'arguments': given})}\n</tool_call>",
    "tool_call without an end": lambda name, given: f"<tool_call>\n{json.dumps({'name': name, 'arguments': given})}\n",
    "function": tags("<function=NAME>\n", "<parameter=NAME>\nVALUE\n</parameter>\n", "</function>"),
    "invoke": tags('<function_calls>\n<invoke name="NAME">\n', '<parameter name="NAME">VALUE</parameter>\n', "</invoke>\n</function_calls>"),
    "xai": tags('<xai:function_call name="NAME">', '<parameter name="NAME">VALUE</parameter>', "</xai:function_call>"),
    "DSML": tags(
        '<\uff5cDSML\uff5cfunction_calls><\uff5cDSML\uff5cinvoke name="NAME">',
        '<\uff5cDSML\uff5cparameter name="NAME" string="true">VALUE</\uff5cDSML\uff5cparameter>',
        "</\uff5cDSML\uff5cinvoke></\uff5cDSML\uff5cfunction_calls>",
    ),
    "GLM": tags("<tool_call>NAME\n", "<arg_key>NAME</arg_key>\n<arg_value>VALUE</arg_value>\n", "</tool_call>"),
    "names": tags("<NAME>\n", "<NAME>\nVALUE\n</NAME>\n", "</NAME>"),
    "CDATA": tags("<NAME>\n", "<NAME><![CDATA[VALUE]]></NAME>\n", "</NAME>"),
    "harmony": token("<|channel|>commentary to=functions.NAME <|constrain|>json<|message|>", "<|call|>"),
    "harmony without an end": token("<|start|>assistant<|channel|>commentary to=functions.NAME<|message|>", ""),
    "DeepSeek": token("<\uff5ctool\u2581calls\u2581begin\uff5c><\uff5ctool\u2581call\u2581begin\uff5c>NAME<\uff5ctool\u2581sep\uff5c>",
                      "<\uff5ctool\u2581call\u2581end\uff5c><\uff5ctool\u2581calls\u2581end\uff5c>"),
    "DeepSeek V3": token("<\uff5ctool\u2581call\u2581begin\uff5c>function<\uff5ctool\u2581sep\uff5c>NAME\n```json\n", "\n```<\uff5ctool\u2581call\u2581end\uff5c>"),
    "Kimi": token("<|tool_calls_section_begin|><|tool_call_begin|>functions.NAME:0<|tool_call_argument_begin|>",
                  "<|tool_call_end|><|tool_calls_section_end|>"),
    "Mistral": lambda name, given: f"[TOOL_CALLS][{json.dumps({'name': name, 'arguments': given})}]",
    "Mistral with [ARGS]": token("[TOOL_CALLS]NAME[ARGS]", ""),
    "Llama": lambda name, given: f"<|python_tag|>{json.dumps({'name': name, 'parameters': given})}<|eom_id|>",
    "Llama 4": python_call("[{}]"),
    "Gemini": python_call("```tool_code\nprint(default_api.{})\n```"),
    "Gemini in Python": python_call("```python\nprint(default_api.{})\n```"),
}  # fmt: skip

CODE: dict[str, Callable[[str], str]] = {
    "fence": lambda code: f"It is:\n```python\n{code}\n```",
    "fence without a language": lambda code: f"It is:\n```\n{code}\n```",
    "fence with a name": lambda code: f"It is:\n```python {PATH}\n{code}\n```",
    "fence below a name": lambda code: f"**{PATH}**\n```python\n{code}\n```",
    "fence with a comment": lambda code: f"```python\n# {PATH}\n{code}\n```",
    "fence in a list": lambda code: "1. So:\n\n   ```python\n" + "\n".join(f"   {line}" for line in code.split("\n")) + "\n   ```",
    "tildes": lambda code: f"~~~py\n{code}\n~~~",
    "here-document": lambda code: f"```bash\ncat > {PATH} <<'E_O_F'\n{code}\nE_O_F\n```",
    "here-document in a script": lambda code: f"```sh\ncd .\ntee {PATH} <<E_O_F\n{code}\nE_O_F\nls\n```",
    "diff": lambda code: "```diff\n" + f"--- a/{PATH}\n+++ b/{PATH}\n@@ -1 +1 @@\n-x\n" + "\n".join(f"+{line}" for line in code.split("\n")) + "\n```",
    "patch": lambda code: f"*** Begin Patch\n*** Update File: {PATH}\n@@\n" + "\n".join(f"+{line}" for line in code.split("\n")) + "\n*** End Patch",
    "patch in a fence": lambda code: f"```\n*** Begin Patch\n*** Update File: {PATH}\n" + "\n".join(f"+{line}" for line in code.split("\n")) + "\n*** End Patch\n```",
    "conflict": lambda code: f"{PATH}\n```python\n<<<<<<< SEARCH\nx\n=======\n{code}\n>>>>>>> REPLACE\n```",
}  # fmt: skip
CODE |= {
    name: (lambda code, form=form: form("write", {"path": PATH, "text": f"{code}\n"})) for name, form in CALLS.items()
}  # type: ignore[misc]

OTHERS: dict[str, tuple[str, Given]] = {"submit": ("submit", {}), "read": ("read", {"path": "a.py"})}


def seen(step: Step | ProtocolError, code: str, other: str, *, before: bool = True) -> str:
    """What becomes of an answer with code and another action: "refused", "written", or "dropped"."""
    if isinstance(step, ProtocolError):
        return "refused"
    kind, given = OTHERS[other]
    expected = [
        Action(kind="write", arguments={"path": PATH, "text": f"{code}\n"}),
        Action(kind=kind, arguments=dict(given)),
    ]
    if any(each.kind == "write" for each in step.actions):
        assert [*step.actions] == (expected if before else expected[::-1]), step
        return "written"
    assert [*step.actions] == expected[1:], step
    known = Known(targets=(PATH,), interfaces=("solver.solve",))
    if lost_file(step.outside, step.actions, known) is not None:
        return "refused"
    return "refused" if step.actions[-1].kind == "submit" and lost_code(step.outside, known) else "dropped"


def check(content: str, call: str, other: str, code: str, *, before: bool, native: bool) -> None:
    name, given = OTHERS[other]
    if native:
        reply = calls((name, json.dumps(given)), text=CODE[content](code))
        outcome = seen(from_reply(reply), code, other)
        assert outcome != "written", reply
    else:
        pieces = [CODE[content](code), CALLS[call](name, given)]
        text = "\n\n".join(pieces if before else pieces[::-1])
        outcome = seen(parse(text), code, other, before=before)
        assert outcome == seen(from_reply(Reply(text=text)), code, other, before=before), text
    # Without a submission, code in a fence that names no file may be an example
    example = other == "read" and content in ("fence", "fence without a language", "fence in a list", "tildes")
    assert outcome != "dropped" or example, (content, call, other, before, native)


LOST = "import numpy as np\n\n\ndef solve(x):\n    return 2 * np.abs(x)"
PAIRS = [*itertools.product(CODE, CALLS, OTHERS, (True, False))]


@pytest.mark.parametrize("content", CODE)
@pytest.mark.parametrize("other", OTHERS)
def test_code_beside_a_native_call_is_seen(content: str, other: str) -> None:
    check(content, "", other, LOST, before=True, native=True)


def test_code_beside_a_call_in_any_form_is_seen() -> None:
    for content, call, other, before in PAIRS:
        check(content, call, other, LOST, before=before, native=False)


def test_a_write_and_a_submission_in_the_same_form_are_both_done() -> None:
    for form in CALLS:
        if form in ("tool_call without an end", "harmony without an end", "DeepSeek V3"):
            continue  # with nothing behind them
        text = f"{CODE[form](LOST)}\n{CALLS[form]('submit', {})}"
        read = parse(text)
        assert isinstance(read, Step), (form, read)
        assert [each.kind for each in read.actions] == ["write", "submit"], form
        assert seen(read, LOST, "submit") == "written"


code_that_is_lost = st.one_of(
    python.filter(parses),
    nasty_text.filter(lambda text: "\r" not in text).map(lambda text: f"{LOST}\n{text}\n"),
    st.just(LOST),
).map(lambda text: f"{text.rstrip()}\nz = solve_again(z)")


@examples(1500)
@given(
    code=code_that_is_lost,
    content=st.sampled_from([*CODE]),
    call=st.sampled_from([*CALLS]),
    other=st.sampled_from([*OTHERS]),
    before=st.booleans(),
    native=st.booleans(),
)
def test_any_code_beside_a_call_in_any_form_is_seen(
    code: str, content: str, call: str, other: str, before: bool, native: bool
) -> None:
    if content == "fence without a language" and not parses(code):
        return  # nothing tells it from the output of a command
    check(content, call, other, code, before=before, native=native)


@examples(300)
@given(
    text=nasty_text,
    content=st.sampled_from([*CODE]),
    call=st.sampled_from([*CALLS]),
    seed=st.integers(0, 2**16),
)
def test_pieces_of_two_forms_that_are_mixed_write_nothing_else(text: str, content: str, call: str, seed: int) -> None:
    """Lines of two forms in any order: what is written is the code, or nothing."""
    lines = [*CODE[content](LOST).split("\n"), *CALLS[call]("submit", {}).split("\n"), *text.split("\n")]
    at = random.Random(seed).randrange(len(lines))
    mixed = "\n".join([*lines[at:], *lines[:at]])
    read = from_reply(Reply(text=mixed))
    if isinstance(read, Step):
        writes = [each for each in read.actions if each.kind == "write"]
        assert all(dict(each.arguments) == {"path": PATH, "text": f"{LOST}\n"} for each in writes), mixed
