"""Properties: any text, in any spelling, arrives as it is or is an error. There is no third outcome."""

from __future__ import annotations

import ast
import functools
import sysconfig
import textwrap
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.agents import partial_file, recode_h_protocol
from pytest_recode.agents.actions import Action, ProtocolError, Step
from pytest_recode.agents.fences import files
from pytest_recode.agents.outside_code import Known
from pytest_recode.agents.protocol import parse, render
from pytest_recode.agents.step_checks import lost
from pytest_recode.task import Slot
from tests.agents.scripted import a_brief
from tests.agents.spellings import AS_JSON, EXACT, FAULTY, FRAMED, PATH, VERBATIM
from tests.examples import examples

LINES = [
    *("", " ", "\t", "x = 1", "    return x", "try:", "pass", '"""', "'''", '    """Doc.', '    """', "text: |", "text:", 'text: """'),
    *("```", "```python", "````", "~~~", "~~~~", "``` ", "   ```", "    ```", "```python other.py", "```\r"),
    *("### Action: submit", "### Action: write", "Action: submit", "**Action**: submit", "1. **Action**: submit", "# Action: submit"),
    *("### Reflection", "### Observation", "**Plan**", "### Reflection <<EOF", "path: b.py", "path: solver.py", "- path: b.py"),
    *("EOF", " EOF", "E_O_F", "PY", "END_OF_TEXT", "text <<EOF", "text <<END_OF_TEXT", "cat <<'EOF'", "command: ls <<EOF"),
    *("</text>", "</write>", "<submit/>", "</parameter>", "</function>", "</tool_call>", "<tool_call>", "<parameter=text>", "</content>"),
    *('{"action": "submit"}', '"}', '", "path": "b.py', "}", "]", "[", "{", "\\", "\\n", '\\"""', "\\u0041", "&lt;", "a &amp;& b"),
    *("<think>", "</think>", "\x0b", "\x0c", "a\rb", "x\r", "\u2028", "\u0085", "\x00", "\ufeff", "é 漢字 😀", "li\u017ft", "#", "-", "---"),
    *("<<<<<<< SEARCH", "=======", ">>>>>>> REPLACE", "That is all.", "import numpy as np", "def f(a, b=(1, 2)):"),
]  # fmt: skip

nasty_lines = st.one_of(st.sampled_from(LINES), st.text(max_size=12).map(lambda text: text.replace("\n", " ")))
nasty_text = st.lists(nasty_lines, max_size=8).map("\n".join)


@functools.cache
def sources() -> list[str]:
    """Python as it is written: pieces of the standard library."""
    found = []
    for name in ("doctest", "textwrap", "shlex", "cgi", "string", "argparse", "ast", "pydoc", "optparse"):
        path = Path(sysconfig.get_path("stdlib")) / f"{name}.py"
        if path.exists():
            text = path.read_text("utf-8")
            nodes = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef | ast.ClassDef)]
            found += [ast.get_source_segment(text, node) or "x = 1" for node in nodes]
    return found


in_a_string = nasty_text.filter(lambda text: "'''" not in text and "\\" not in text and "\0" not in text).map(
    lambda text: f"x = r'''\n{text}\n'''\ny = 2"
)
in_comments = nasty_text.filter(lambda text: "\0" not in text and "\r" not in text).map(
    lambda text: "x = 1\n" + textwrap.indent(text, "#", lambda _: True).replace("\x0c", "") + "\ny = 2"
)

python = st.one_of(in_a_string, in_comments, st.deferred(lambda: st.sampled_from(sources())))


def parses(text: str) -> bool:
    try:
        ast.parse(text)
    except (SyntaxError, ValueError):
        return False
    return True


def is_code(line: str) -> bool:
    """Whether a line can be lost: comments, ellipses, prompts and the markers of a change, without its texts, hold no code."""
    return bool(line.strip()) and not line.strip().startswith(("#", "...", ">>>", "<<<<<<< "))


def outcome(answer: str, text: str, *, path: str = PATH) -> str:
    read = parse(answer)
    if isinstance(read, ProtocolError):
        assert "Nothing was done." in read.text or read.text.startswith("Your answer was empty"), read.text
        return "error"
    assert read.actions == (Action(kind="write", arguments={"path": path, "text": text}), Action(kind="submit")), (
        answer,
        read.actions,
    )
    return "exact"


def written(spelling: str, text: str) -> str:
    """The file as it is meant in this spelling: JSON holds it as it is; lines end in a newline each. A YAML literal does not say how many
    blank lines end it, its first line sets the indentation where no number does, and a line break next to each tag belongs to the tags."""
    if spelling in AS_JSON:
        return text
    if spelling.startswith("YAML"):
        lines = text.split("\n")
        if spelling != "YAML literal, four blanks":
            first = next((line for line in lines if line.strip(" ")), "")
            lines = [line[len(first) - len(first.lstrip(" ")) :] for line in lines]
        while lines and not lines[-1]:
            lines.pop()
        return "\n".join(lines) + ("\n" if lines and "stripped" not in spelling else "")
    if spelling in VERBATIM:
        if text.startswith("\n") and not text.rpartition("\n")[2].strip(" \t"):  # a line break next to each tag
            text = text[1:].rpartition("\n")[0]
            return text if text.endswith("\n") or not text else f"{text}\n"
        return text
    if spelling in FRAMED:
        return text if text.endswith("\n") or not text else f"{text}\n"
    return f"{text}\n"


@examples(200)
@given(text=python.filter(parses), spelling=st.sampled_from([*EXACT]))
def test_python_in_any_spelling(text: str, spelling: str) -> None:
    if "CRLF" in spelling and "\r" in text:
        return
    outcome(EXACT[spelling](text), written(spelling, text))


@examples(400)
@given(text=nasty_text, spelling=st.sampled_from([*EXACT]))
def test_any_text_in_any_spelling(text: str, spelling: str) -> None:
    if "CRLF" in spelling and "\r" in text:
        return
    outcome(EXACT[spelling](text), written(spelling, text))


@examples(150)
@given(text=nasty_text, spelling=st.sampled_from([*EXACT]))
def test_any_text_in_a_file_that_is_no_python(text: str, spelling: str) -> None:
    if ("CRLF" in spelling and "\r" in text) or "solver.py" in text:
        return
    answer = EXACT[spelling](text).replace("solver.py", "notes.md")
    outcome(answer, written(spelling, text), path="notes.md")


@examples(300)
@given(text=st.one_of(python.filter(parses), nasty_text), spelling=st.sampled_from([*EXACT]), share=st.floats(0, 1))
def test_an_answer_that_is_cut_anywhere_writes_nothing_else(text: str, spelling: str, share: float) -> None:
    """Also where a provider does not say that it was cut off. Only of a YAML literal nobody can tell."""
    if spelling.startswith("YAML"):
        return
    whole = EXACT[spelling](text)
    read = parse(whole[: int(len(whole) * share)])
    if isinstance(read, Step):
        for action in read.actions:
            if action.kind == "write" and not ("CRLF" in spelling and "\r" in text):
                assert action.arguments["text"] in (text, written(spelling, text)), whole


@examples(150)
@given(text=nasty_text, spelling=st.sampled_from([*FAULTY]))
def test_a_faulty_spelling_never_submits(text: str, spelling: str) -> None:
    if spelling.endswith("without an end") and any(line.strip(" `") in ("", "EOF") for line in text.split("\n")):
        return  # it has one
    if spelling.startswith("plain lines") and text.strip()[:3] in ('"""', "'''", "```", "~~~"):
        return  # they are none
    first = next((line for line in text.split("\n") if line.strip()), "")
    if spelling == "literal without indentation" and first[:1] in (" ", "\t"):
        return  # it is indented
    if spelling == "code outside, then submit" and (
        "action" in text.lower() or not any(map(is_code, text.split("\n")))
    ):
        return  # it is an action in a fence, or nothing is lost
    if spelling == "named code outside, then submit" and not any(map(is_code, text.split("\n"))):
        return  # nothing is lost
    if spelling == "quotes with text behind" and not text.partition("\n")[0].strip():
        return  # none is behind them
    read = parse(FAULTY[spelling](text))
    if isinstance(read, Step) and not lost(read, Known(targets=(PATH,)), native=False):
        writes = [action for action in read.actions if action.kind == "write"]
        assert all(action.arguments["text"] in (text, f"{text}\n") for action in writes), read
        if any(action.kind == "submit" for action in read.actions):
            assert writes or spelling in ("thoughts without an end",), read


@examples(200)
@given(
    data=st.data(),
    text=st.deferred(lambda: st.sampled_from(sources())),
    fence=st.sampled_from(["", "```\n", "```python\n"]),
)
def test_a_comment_in_code_opens_no_action(data: st.DataObject, text: str, fence: str) -> None:
    lines = text.split("\n")
    at = data.draw(st.integers(0, len(lines)))
    comment = data.draw(
        st.sampled_from(["# Action: submit", "# Action: submit\n", "# Action\nsubmit", "#Action: list"])
    )
    code = "\n".join([*lines[:at], comment, *lines[at:]])
    read = parse(f"{fence}{code}\n{fence[:3]}\n")
    assert isinstance(read, ProtocolError), (code, read)


actions = st.one_of(
    st.builds(lambda text: Action(kind="write", arguments={"path": "a.py", "text": text}), nasty_text),
    st.builds(
        lambda old, new: Action(kind="edit", arguments={"path": "a.py", "old": old, "new": new}),
        nasty_text.filter(str.strip),
        nasty_text.map("{} # new".format),
    ),
    st.builds(
        lambda text: Action(kind="run", arguments={"command": text}),
        nasty_text.map(lambda text: text.replace("\x00", "")).filter(str.strip),
    ),
    st.builds(lambda text: Action(kind="grep", arguments={"pattern": text}), nasty_text.filter(str.strip)),
    st.just(Action(kind="submit")),
)


@examples(300)
@given(
    step=st.builds(
        Step,
        observation=nasty_text,
        reflection=nasty_text,
        planning=nasty_text,
        actions=st.lists(actions, min_size=1, max_size=8).map(tuple),
    )
)
def test_what_is_rendered_is_read_back(step: Step) -> None:
    assert parse(render(step)) == step, render(step)


EDITS = {
    "blocks": "### Action: edit\npath: a.py\nold <<O_L_D\n{}\nO_L_D\nnew <<N_E_W\n{}\nN_E_W\n",
    "fences": "### Action: edit\npath: a.py\nold:\n```python\n{}\n```\nnew:\n```python\n{}\n```\n",
    "other names": "### Action: str_replace\npath: a.py\nold_str:\n```\n{}\n```\nnew_str:\n```\n{}\n```\n",
    "quotes": "### Action: edit\npath: a.py\nold: '''\n{}\n'''\nnew: '''\n{}\n'''\n",
    "tags": "<edit>\n<path>a.py</path>\n<old>\n{}\n</old>\n<new>\n{}\n</new>\n</edit>\n",
    "lines": "### Action: edit\npath: a.py\nold: {}\nnew: {}\n",
    "conflict": "### Action: edit\npath: a.py\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n",
    "conflict in a fence": "### Action: edit\npath: a.py\n```python\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```\n",
}
COMMANDS = {
    "line": "### Action: run\ncommand: {}\n",
    "block": "### Action: bash\ncommand <<C_M_D\n{}\nC_M_D\n",
    "fence": "### Action: run\n```bash\n{}\n```\n",
    "here-document": "### Action: run\ncommand: cat > a.py <<'E_O_F'\n{}\nE_O_F\n",
    "tags": "<run>\n<command>\n{}\n</command>\n</run>\n",
}


def acts(line: str) -> bool:
    return "action" in line.lower() or line.startswith(("### ", "<", "{", "["))


@examples(400)
@given(old=nasty_text, new=nasty_text, spelling=st.sampled_from([*EDITS]))
def test_any_edit(old: str, new: str, spelling: str) -> None:
    if spelling == "lines" and ("\n" in old + new):
        return
    head, middle, foot = EDITS[spelling].split("{}")
    read = parse(
        f"{head}{old}{middle}{new}{foot}### Action: submit\n"
        if spelling != "tags"
        else f"{head}{old}{middle}{new}{foot}<submit/>"
    )
    if isinstance(read, Step):
        edit = Action(kind="edit", arguments={"path": "a.py", "old": old, "new": new})
        assert read.actions == (edit, Action(kind="submit")), read


@examples(300)
@given(text=nasty_text, spelling=st.sampled_from([*COMMANDS]))
def test_any_command(text: str, spelling: str) -> None:
    if spelling == "line" and "\n" in text:
        return
    head, foot = COMMANDS[spelling].split("{}")
    read = parse(f"{head}{text}{foot}" + ("<submit/>" if spelling == "tags" else "### Action: submit\n"))
    if isinstance(read, Step):
        command = f"cat > a.py <<'E_O_F'\n{text}\nE_O_F" if spelling == "here-document" else text
        command = text.strip() if spelling == "line" else command
        assert read.actions == (Action(kind="run", arguments={"command": command}), Action(kind="submit")), read


BLOCKS = {
    "python": "```python\n{}\n```\n",
    "named": "Here it is.\n\n```python solver.py\n{}\n```\nThat is all.\n",
    "tildes": "~~~python solver.py\n{}\n~~~",
    "name above": "**solver.py**\n\n```py\n{}\n```",
    "four": "````python solver.py\n{}\n````\n",
    "an example behind": "```python solver.py\n{}\n```\nUse it:\n```python\nsolve(3)\n```\n",
    "an example before": "As in\n```python\nsolve(3)\n```\n```python solver.py\n{}\n```\n",
    "two files": "```python solver.py\n{}\n```\n```python other.py\nx = 1\n```\n",
}


@examples(400)
@given(text=python.filter(parses), spelling=st.sampled_from([*BLOCKS]), share=st.one_of(st.just(1.0), st.floats(0, 1)))
def test_python_in_a_block_of_a_single_answer(text: str, spelling: str, share: float) -> None:
    """Whole, or cut off anywhere."""
    head, foot = BLOCKS[spelling].split("{}")
    answer = f"{head}{text}{foot}"
    found = files(answer[: int(share * len(answer))], (PATH,))
    if found.files:
        # Cut off where nobody says so, a text that holds a fence can end at it: what is left is no Python then.
        cut = share < 1 and (found.files == {PATH: "solve(3)"} or not parses(found.files[PATH]))
        assert cut or found.files == {PATH: text}, answer
    else:
        assert found.problems


SLOT = Slot(path=PATH, start=1, stop=3, indent="    ")
AROUND = 'def solve(values):\n    # TODO: Implement block "the sum"\n    # Approximately 2 line(s) of code.\n    return 0.0\n'
FOR_A_SLOT = {
    "python": "```python\n{}\n```\n",
    "tildes": "~~~python\n{}\n~~~",
    "four": "````python\n{}\n````\n",
    "in words": "I think so:\n\n```python\n{}\n```\n\nThat is all.\n",
    "second thoughts": "```python\n    x = 1\n```\nBetter:\n```python\n{}\n```\n",
    "its output": "```python\n{}\n```\nIt prints\n```\n3\n```\n",
    "in a list": "1. So:\n\n     ```python\n{}\n     ```\n",
    "another language behind": "```python\n{}\n```\n```bash\nls\n```\n",
}


@examples(400)
@given(
    text=python.filter(parses),
    depth=st.sampled_from(["", "    ", "        "]),
    spelling=st.sampled_from([*FOR_A_SLOT]),
    share=st.one_of(st.just(1.0), st.floats(0, 1)),
)
def test_python_in_a_block_for_a_part_of_a_file(text: str, depth: str, spelling: str, share: float) -> None:
    """Whole, or cut off anywhere: the lines arrive as they are, or the file is unchanged and the model learns why."""
    code = textwrap.indent(text, depth)
    head, foot = FOR_A_SLOT[spelling].split("{}")
    answer = f"{head}{code}{foot}"
    brief = a_brief(repo={PATH: AROUND.encode()}, slot=SLOT)
    found = partial_file.read(answer[: int(share * len(answer))], brief, SLOT, reindent=False)
    if found.text is None:
        assert found.problems
        return
    before, after = "def solve(values):\n", "\n    return 0.0\n"
    assert found.text.startswith(before)
    assert found.text.endswith(after)
    taken = found.text[len(before) : -len(after)]
    # Cut off where nobody says so, an earlier block may be the last whole one, or a text that holds a fence can end at it.
    cut = share < 1 and (taken == "    x = 1" or not parses(textwrap.dedent(taken)))
    assert cut or taken == code.removesuffix("\n"), answer


REPLACES = {
    "plain": "reflect: so\naction:\nREPLACE\n{}",
    "fence": "reflect: so\naction:\nREPLACE\n```python\n{}\n```",
    "four": "reflect: so\naction:\nREPLACE solver.py\n````\n{}\n````\n",
    "before the word": "reflect: so\naction:\n```python\nREPLACE\n{}\n```",
    "in words": "**reflect:** so\n\n**action:** REPLACE\n```python\n{}\n```\nThat is all.",
}


@examples(400)
@given(text=st.one_of(python.filter(parses), nasty_text.filter(str.strip)), spelling=st.sampled_from([*REPLACES]))
def test_any_text_in_a_replace_of_recode_h(text: str, spelling: str) -> None:
    if spelling == "plain" and text.lstrip()[:3] in ("```", "~~~"):
        return  # it is the other form, with a fence
    read = recode_h_protocol.parse(REPLACES[spelling].replace("{}", text), (PATH,))
    if isinstance(read, ProtocolError):
        assert "Nothing was done." in read.text
        return
    # the plain form ends with the answer, so that empty lines at its end are not part of the code
    code = text.rstrip("\n") if spelling == "plain" else text
    assert (read.verb, read.argument, read.code) == ("REPLACE", PATH, code), read
