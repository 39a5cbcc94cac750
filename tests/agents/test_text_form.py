"""The text form of an answer: whatever a model writes is done exactly as it was written, or not at all."""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.markdown import MAX_ANSWER, fences
from pytest_recode.agents.text_form import beside_calls, read_text, render

NATURAL = json.loads((Path(__file__).parent / "natural_answers.json").read_text("utf-8"))
"""Answers to the system prompt and "write solve(x)", in the styles of ten families of models, written from the prompt alone."""
STUB = "def solve(x):\n    raise NotImplementedError\n"


def written(step: Step) -> str:
    """solver.py after the answer."""
    text = STUB
    for action in step.actions:
        if action.arguments.get("path") == "solver.py":
            given = action.arguments
            assert action.kind == "write" or text.count(given["old"]) == 1
            text = given["text"] if action.kind == "write" else text.replace(given["old"], given["new"])
    return text


def named(answer: dict[str, Any]) -> str:
    return f"{answer['family']}: {answer['style']}"


@pytest.mark.parametrize("answer", [case for case in NATURAL if case["follows"]], ids=named)
def test_an_answer_in_the_form_is_done_as_it_is_meant(answer: dict[str, Any]) -> None:
    step = read_text(answer["answer"])
    assert isinstance(step, Step), step
    if any(
        "solver.py" in each.arguments.get("command", "") and "<<" in each.arguments["command"] for each in step.actions
    ):
        return  # the file is written by a command
    assert written(step) == answer["text"]
    assert (step.actions[-1].kind == "submit") == answer["submits"]


@pytest.mark.parametrize("answer", [each for each in NATURAL if not each["follows"]], ids=named)
def test_of_an_answer_in_another_form_no_code_is_altered(answer: dict[str, Any]) -> None:
    step = read_text(answer["answer"])
    if isinstance(step, Step):
        assert written(step) in (
            STUB,
            answer["text"],
            f"{answer['text']}\nSUBMIT\n",
        )  # the last as it stands in its block
    else:
        assert "Nothing was done." in step.text


TEXT = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\r\0"), max_size=300)
CODE = st.lists(
    st.sampled_from(["```", "````", "```python a.py", "~~~", "SUBMIT", "", "x = 1", "=======", "> a", "    y", "- z"])
)
LINES = (TEXT | CODE.map("\n".join)).map(lambda text: f"{text}\n")
PATHS = st.text(string.ascii_letters + "_-", min_size=1).map(lambda name: f"src/{name}.py")


def edits(path: str, old: str, new: str) -> Action:
    return Action(kind="edit", arguments={"path": path, "old": old, "new": new}, whole_lines=True)


def plain(text: str) -> bool:
    """Whether no line of a text is one of the marks of a change."""
    marks = {"<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE"}
    return not any(line.rstrip() in marks for line in text.split("\n"))


ACTIONS = st.one_of(
    st.builds(lambda path, text: Action(kind="write", arguments={"path": path, "text": text}), PATHS, LINES),
    st.builds(edits, PATHS, LINES.filter(plain), LINES.filter(plain)).filter(
        lambda act: act.arguments["old"] != act.arguments["new"] and act.arguments["old"].strip() != ""
    ),
    st.builds(
        lambda text: Action(kind="run", arguments={"command": text}), LINES.filter(lambda text: text.strip() != "")
    ),
    st.builds(
        lambda text: Action(kind="search", arguments={"query": text.strip()}), TEXT.filter(lambda t: t.strip() != "")
    ),
)


@given(actions=st.lists(ACTIONS, min_size=1, max_size=7), submits=st.booleans())
def test_what_is_rendered_is_read_as_it_was(actions: list[Action], submits: bool) -> None:
    words = {"", "submit", "SUBMIT"}
    for act in actions:
        texts = [act.arguments.get(name, "") for name in ("text", "command", "query")]
        if any(text.strip().strip(string.punctuation).strip() in words for text in texts if text):
            return  # a block that consists of the word is a hand-in
        if act.kind == "write" and "<<<<<" in act.arguments["text"]:
            return
    step = Step(observation="a", planning="b", actions=(*actions, *([Action(kind="submit")] if submits else [])))
    assert read_text(render(step)) == step


@given(
    st.lists(CODE.map("\n".join) | TEXT | st.sampled_from(["```bash\n", "```\n", "<think>", "</think>", "1. ", "> "]))
)
def test_any_text_is_read(pieces: list[str]) -> None:
    text = "\n".join(pieces)
    read = read_text(text)
    assert isinstance(read, Step | ProtocolError)
    for act in read.actions if isinstance(read, Step) else ():
        for value in act.arguments.values():
            assert all(line.strip() in text for line in value.split("\n")), "nothing is made up"


@pytest.mark.parametrize("inner", ["```\nexample\n```", "```\na\n```\n\n```\nb\n```", "```python\nexample\n```"])
def test_a_text_with_fences_needs_a_longer_one(inner: str) -> None:
    """A text that ended too early is never written."""
    text = f'"""Doc.\n\n{inner}\n"""\nx = 1\n'
    read = read_text(f"```python a.py\n{text}```\n\nSUBMIT")
    assert isinstance(read, ProtocolError)
    whole = read_text(f"````python a.py\n{text}````\n\nSUBMIT")
    assert isinstance(whole, Step)
    assert whole.actions[0].arguments["text"] == text


SEARCH = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE\n"


@pytest.mark.parametrize(
    ("answer", "phrases"),
    [
        ("", ["Your answer was empty.", "```python src/model.py", "SUBMIT"]),
        ("I cannot help.", ["Your answer has no action. Nothing was done. Answer in this form:", "```bash"]),
        ("Action: SUBMIT", ["no action. SUBMIT is not alone on the last line of your answer"]),
        ("````markdown\n```python a.py\nx\n```\n````", ["(```markdown) is none, nor is a block within it."]),
        ("```text\nx\n```", ["The block that line 1 opens (```text) is none. Nothing was done."]),
        ("```search a.py\nsolve\n```", ["a `search` block has nothing behind `search`.", "Nothing was done."]),
        ("```bash a.py\nls\n```", ["a `bash` block has nothing behind `bash`.", "path alone"]),
        ("```sh:run.sh\nls\n```", ["a `sh` block has nothing behind `sh`."]),
        ("```shell title=a\nls\n```", ["a `shell` block has nothing behind `shell`."]),
        ("```python a.py\n<<<<< SEARCH\nx\n=====\ny\n>>>>> REPLACE\n```", ["`<<<<<<< SEARCH`", "Nothing was done."]),
        (f"```python a.py\n# the change\n{SEARCH}```", ["nothing before, between or behind"]),
        (f"```python\n{SEARCH}```", ["If it was meant as a change, open it with the file's path"]),
        (
            "```python\nx = 1\n```",
            ["no action", "The block that line 1 opens (```python) is no action: no file has its code"],
        ),
        ("Now:\n```python a.py\nx = 1\n", ["The code fence that line 2 opens is not closed"]),
        ("```bash\nls\n```\n```\nx\n```", ["the block that line 4 opens", "use four"]),
        ("```python a.py\n<<<<<<< SEARCH\nx\n```", ["`<<<<<<< SEARCH`, `=======` and `>>>>>>> REPLACE`"]),
        (f"```python a.py\n{SEARCH}x = 3\n```", ["nothing before, between or behind"]),
        ("```python a.py\n<<<<<<< SEARCH\n=======\nx\n>>>>>>> REPLACE\n```", ["`old` of `edit` is empty"]),
        ("```python a.py\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> main\n```", ["<<<<<<< SEARCH"]),
        ("```bash\n```", ["`command` of `run` is empty"]),
        ("```python src/\nx = 1\n```", ["no action"]),
        ("```diff a.py\n-x\n+y\n```", ["no action"]),
        ("<think>\n```bash\nls\n```", ["nothing but thoughts"]),
        ("```bash\nls\n```\n" * 9, ["9 actions; at most 8"]),
        ('{"action": "submit"}', ["no action. A call that is written into the text, as JSON or in tags, is none."]),
        ("<tool_call>submit</tool_call>\nDone.", ["no action. A call that is written into the text"]),
        ("a</think>\nb\n</thinking>\n```bash\nls\n```", ["unclear where your thoughts end"]),
        ("```bash\nls\0\n```", ["null character"]),
        ("x" * (MAX_ANSWER + 1), ["at most 1000000 are read"]),
    ],
)
def test_what_cannot_be_used_is_told(answer: str, phrases: list[str]) -> None:
    read = read_text(answer)
    assert isinstance(read, ProtocolError), read
    assert all(words in read.text for words in phrases), read.text


@pytest.mark.parametrize(
    ("answer", "kinds"),
    [
        ("SUBMIT", ["submit"]),
        ("All is done.\n**Submit.**\n", ["submit"]),
        ("### Submit", ["submit"]),
        ("```submit\n```", ["submit"]),
        ("```\nSUBMIT\n```", ["submit"]),
        ("```bash\nsubmit\n```", ["submit"]),
        ("1. write\n2. submit\n\n```bash\nls\n```", ["run"]),
        ("```bash\nls\n```\nSUBMIT\n\nThat is all.", ["run"]),
        ("~~~sh\nls\n~~~", ["run"]),
        ("1. Look:\n\n   ```bash\n   ls\n   ```\n\n2. Hand in:\n\nSUBMIT", ["run", "submit"]),
        ("> ```bash\n> ls\n> ```\n\nSUBMIT", ["submit"]),
        ("It is:\n```python\nx = 1\n```\n```bash\nls\n```", ["run"]),
        ("\ufeff```bash\r\nls\r\n```\r\nSUBMIT\r\n", ["run", "submit"]),
        ("```search\ngradient\n```", ["search"]),
        (f"```a.py\n{SEARCH}\n{SEARCH}```", ["edit", "edit"]),
    ],
)
def test_what_acts(answer: str, kinds: list[str]) -> None:
    read = read_text(answer)
    assert isinstance(read, Step), read
    assert [act.kind for act in read.actions] == kinds


@pytest.mark.parametrize(
    ("info", "path"),
    [
        ("python src/a.py", "src/a.py"),
        ("python:src/a.py", "src/a.py"),
        ("./a.py", "a.py"),
        ("data/table.csv", "data/table.csv"),
        ("src/Makefile", "src/Makefile"),
        ("python", ""),
        ("python3.11", ""),
        ("c++", ""),
        ("python title=a.py", ""),
        ('python title="a.py"', ""),
        ("python a.py (new)", ""),
        ("12:15:src/a.py", ""),  # how an editor quotes lines
        ("python file=a.py", ""),
    ],
)
def test_the_file_of_a_block(info: str, path: str) -> None:
    [fence] = fences(f"```{info}\nx\n```")
    assert fence.path == path


@pytest.mark.parametrize(
    "end", ["</think>", "So I look.</think>", "</thinking>", "The tag `</think>` is next.\n</think>"]
)
def test_thoughts_that_began_in_the_prompt_are_left_out(end: str) -> None:
    """Their opening tag is part of the prompt in the templates of some models."""
    text = 'END = """\n</think>\n"""\n'
    step = read_text(
        f"Maybe:\n```bash\nrm -r .\n```\n```python\nx = 1\n```\n{end}\n\nI write.\n```python a.py\n{text}```"
    )
    assert isinstance(step, Step)
    assert (step.reflection, step.unsaved) == ("I write.", "")
    assert [act.arguments for act in step.actions] == [{"path": "a.py", "text": text}]


def test_a_line_keeps_its_number_behind_thoughts() -> None:
    read = read_text("Hm.\n</think>\n```python\nx = 1\n```")
    assert isinstance(read, ProtocolError)
    assert "The block that line 3 opens" in read.text


def test_the_parts_of_a_step() -> None:
    answer = "Before.\n### Observation\nO\n## **Reflection:**\nR\n### Planning\nP\n\n```bash\nls\n```\n\nSUBMIT"
    read = read_text(answer)
    assert isinstance(read, Step)
    assert (read.observation, read.reflection, read.planning) == ("O", "Before.\nR", "P")


def test_code_that_no_action_has_is_named() -> None:
    read = read_text("As it is:\n```python\nx = 1\n```\n```bash\nls\n```")
    assert isinstance(read, Step)
    assert read.unsaved.startswith("The block that line 2 opens (```python) is no action: no file has its code.")
    assert beside_calls("```\noutput\n```")[1] == ""
    assert beside_calls("```diff\n+x\n```")[1] != ""
    assert "call `write` with `path` a.py and this text" in beside_calls("```python a.py\nx\n```")[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece", ["```\n", "> ", "- ", "- a\n", "1. ```\n", "<div>\n", "    a\n", "[a]: ", "# ", "*", "`"]
)
def test_a_hostile_megabyte_is_read(piece: str) -> None:
    """In a time that grows with its length: the limit of the tests' runner would end one that does not."""
    assert isinstance(read_text(piece * (900_000 // len(piece))), Step | ProtocolError)
