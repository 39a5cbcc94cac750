"""The tokens with which a chat template ends an answer are no part of it, if a server leaves them in; in a text they are the text's."""

from __future__ import annotations

import pytest

from pytest_recode.agents.actions import ProtocolError, Step
from pytest_recode.agents.protocol import parse
from tests.messages import assert_line

TOKENS = (
    "<|im_end|>",
    "\n<|eot_id|>\n",
    "<|endoftext|> <|im_end|>",
    "\n<\uff5ctool\u2581calls\u2581end\uff5c>",
    "<\uff5cend\u2581of\u2581sentence\uff5c>",
)
WRITE = "### Action: write\npath: a.py\n"
ANSWERS = (
    "### Action: run\ncommand: echo ok",
    "### Action: read\npath: a.py\nlines: 1-5",
    "### Action: read\npath: a.py",
    f"{WRITE}text <<END\nx = 1\nEND",
    f"{WRITE}```python\nx = 1\n```",
    f"{WRITE}text <<END\nx = 1\nEND\n### Action: submit",
    '{"action": "read", "path": "a.py"}',
    "### Action: grep\npattern: x\ninclude: *.py",
)


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("answer", ANSWERS)
def test_an_answer_is_the_same_with_them(answer: str, token: str) -> None:
    whole = parse(answer)
    assert isinstance(whole, Step)
    assert parse(answer + token) == whole


def test_within_a_block_they_are_text() -> None:
    step = parse(f"{WRITE}text <<END\n<|endoftext|>\nEND<|im_end|>")
    assert isinstance(step, Step)
    assert step.actions[0].arguments["text"] == "<|endoftext|>\n"


@pytest.mark.parametrize("text", ["text: |\n  a\n  <|endoftext|>", "text: a<|endoftext|>"])
def test_where_they_may_be_either_nothing_is_done(text: str) -> None:
    error = parse(WRITE + text)
    assert isinstance(error, ProtocolError)
    assert_line(error.text, "ends in `<|endoftext|>`", "as a block")


@pytest.mark.parametrize(
    ("body", "command"),
    [
        ("```bash\n$ cat a.py\n$ python3 --version\n```", "cat a.py\npython3 --version"),
        ("command <<END\n$ ls\n  $ ./run 'a b'\nEND", "ls\n./run 'a b'"),
    ],
)
def test_lines_that_all_have_a_prompt_are_commands(body: str, command: str) -> None:
    step = parse(f"### Action: run\n{body}")
    assert isinstance(step, Step)
    assert step.actions[0].arguments["command"] == command


@pytest.mark.parametrize(
    "command", ["$ cat a.py\nx = 1\n$ ls", "$ cat <<E\n$ x\nE", "$ ls \\\n$ a", "$ echo 'a\n$ b' $ c\nd"]
)
def test_a_copy_of_a_terminal_is_no_command(command: str) -> None:
    error = parse(f"### Action: run\ncommand <<END\n{command}\nEND")
    assert isinstance(error, ProtocolError)
    assert_line(error.text, "begins with `$ `", "write the commands alone")


@pytest.mark.parametrize("written", ['"*.md"', "'*.md'", "`*.md`", "*.md"])
@pytest.mark.parametrize("name", ["include", "glob"])
def test_quotes_around_a_pattern_of_files_are_none_of_it(name: str, written: str) -> None:
    step = parse(f"### Action: grep\npattern: x\n{name}: {written}")
    assert isinstance(step, Step)
    assert step.actions[0].arguments["include"] == "*.md"
