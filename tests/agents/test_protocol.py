"""The text protocol: whatever is rendered is read back, and damaged answers are told what was wrong."""

from __future__ import annotations

import random
import re

import pytest

from pytest_recode.agents.actions import form_of
from pytest_recode.agents.forms import TEXTS
from pytest_recode.agents.protocol import FORMS, Action, ProtocolError, Step, parse, render
from tests.messages import assert_message

NASTY = [
    "", " ", "\t", "try:", "else:", "action:", "Action: submit", "### Action: submit", "### Action", "## Observation",
    "**Action:** read", "**Planning**", "### Planning <<END_OF_TEXT", "END_OF_TEXT", "END_OF_TEXT_2", " END_OF_TEXT ",
    "text <<END_OF_TEXT", "old <<X", "path: a.py", "```", "```python", "~~~", "<think>", "</think>", "@action", "word:",
    "EOF", "\x0b", "\x0c", "a\rb", "x\r", "\u2028", "\u0085", "\x00", "\udc80", "é ß 漢字", "<<END",
    "reflect: [action]",
    "    return np.exp(-cost / epsilon)", "# Action: submit", "'''", '"""', "li\u017ft",
    "Observation:", "- path: x", "submit",
]  # fmt: skip


VALUES = {
    "path": [
        "a.py", "src/a.py", "data (1).csv", "my notes.md", "a b/c d.txt", "Makefile", ".env", "-x", "a,b.py", "x = 1", "<a>",
        "a.py (new)", "C # notes.md", "a.py b.py", "[1].txt", "{x}.json", "a;b", "$HOME.txt", "a*b?.py", "漢字.txt", "text <<E",
    ],
    "lines": ["1-40", "3-", "[1, 2]", "2 to 5", "7..7"],
    "replace_all": ["true"],
    "timeout": ["5", "0.5", "30 s", "10 seconds"],
}  # fmt: skip
"""Arguments that have a form of their own."""


def nasty(rng: random.Random, lines: int) -> str:
    return "\n".join(rng.choice(NASTY) for _ in range(rng.randrange(lines)))


def a_step(rng: random.Random) -> Step:
    actions = []
    for _ in range(rng.randrange(1, 5)):
        kind = rng.choice(list(FORMS))
        arguments = {}
        for name in FORMS[kind].takes:
            if name in FORMS[kind].optional and rng.random() < 0.5:
                continue
            value = nasty(rng, 6)
            if name == "command":
                value = value.replace("\x00", "")
            if name not in ("text", "new"):
                value = "x" + value if not value.strip() else value
            arguments[name] = rng.choice(VALUES[name]) if name in VALUES else value
        if arguments.get("old", 0) == arguments.get("new", 1):
            arguments["new"] += "x"
        actions.append(Action(kind=kind, arguments=arguments))
    parts = {name: nasty(rng, 6) for name in ("observation", "reflection", "planning")}
    return Step(**parts, actions=tuple(actions))


@pytest.mark.parametrize("seed", range(20))
def test_what_is_rendered_is_read_back(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(150):
        step = a_step(rng)
        assert parse(render(step)) == step, render(step)


# As models write it


def the_action(text: str) -> tuple[str, dict[str, str]]:
    step = parse(text)
    assert isinstance(step, Step), step
    assert len(step.actions) == 1, step.actions
    return step.actions[0].kind, dict(step.actions[0].arguments)


def test_the_documented_form() -> None:
    step = parse(
        "### Observation\nIt fails.\n### Reflection\nThe axis.\n### Planning\nMend it.\n"
        "### Action: edit\npath: a.py\nold <<OLD\nx.sum(0)\nOLD\nnew <<NEW\nx.sum(1)\nNEW\n### Action: submit\n"
    )
    edit = Action(kind="edit", arguments={"path": "a.py", "old": "x.sum(0)", "new": "x.sum(1)"})
    assert step == Step(
        observation="It fails.",
        reflection="The axis.",
        planning="Mend it.",
        actions=(edit, Action(kind="submit", arguments={})),
    )


@pytest.mark.parametrize(
    "text",
    [
        "### Action: read\npath: a.py",
        "### Action: read a.py",
        "### Action: read `a.py`",
        "### Action\nread a.py\n",
        "### Action\n\n```\nread a.py\n```\n",
        "## ACTION: READ\n- path: a.py\n",
        "**Action:** read\npath: a.py",
        "**Action**: read a.py",
        "**Action: read**\nfile: 'a.py'",
        "Action: read a.py",
        "Plan: look\nAction: read\npath: a.py",
        "```\n### Action: read\npath: a.py\n```",
        "Sure, here it is.\n\n### Action: read\npath: a.py\n\nThat shows the file.",
        "<think>\n### Action: submit\n</think>\n### Action: read\npath: a.py",
        "### Action: read\r\npath: a.py\r\n",
        "### Action: read\npath <<P\na.py\nP\n",
        "### Reflection\nMy next action is to read.\naction: none yet\ntry:\n### Action: read\npath: a.py",
        "### Planning\n### Action items\n1. read\n### Action: read\npath: a.py",
    ],
)
def test_forms_that_are_understood(text: str) -> None:
    assert the_action(text) == ("read", {"path": "a.py"})


@pytest.mark.parametrize(
    "text",
    [
        "### Action: write\npath: a.py\ntext <<END\ntry:\n    x = 1\nEND",
        "### Action: write\npath: a.py\ntext << 'END'\ntry:\n    x = 1\nEND\n",
        "### Action: write\npath: a.py\ncode: <<END\ntry:\n    x = 1\n  END  \n",
        "### Action: write a.py\n```python\ntry:\n    x = 1\n```\n",
        "### Action\nwrite a.py\n\n~~~\ntry:\n    x = 1\n~~~\n",
    ],
)
def test_forms_of_a_text_that_are_understood(text: str) -> None:
    assert the_action(text) == ("write", {"path": "a.py", "text": "try:\n    x = 1\n"})


@pytest.mark.parametrize("name", ["a.py", "`a.py`", "**a.py**", "src/a.py", "path: a.py"])
@pytest.mark.parametrize("fence", ["", "```python", "~~~"])
def test_the_file_of_a_search_and_replace_may_stand_above_it(name: str, fence: str) -> None:
    texts = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE"
    fenced = f"{fence}\n{texts}\n{fence[:3]}" if fence else texts
    path = name.strip("*`").removeprefix("path: ")
    assert the_action(f"### Action: edit\n\n{name}\n{fenced}\n") == (
        "edit",
        {"path": path, "old": "x = 1", "new": "x = 2"},
    )


def test_a_command_may_be_fenced_or_a_heredoc_of_the_shell() -> None:
    assert the_action("### Action: run\n```bash\nls\npwd\n```") == ("run", {"command": "ls\npwd"})
    assert the_action("### Action: run\ncommand: cat > a <<'EOF'\nx = 1\n\nEOF") == (
        "run",
        {"command": "cat > a <<'EOF'\nx = 1\n\nEOF"},
    )
    assert isinstance(parse("### Action: run\ncommand: cat <<EOF"), ProtocolError)
    assert the_action("### Action: run\ncommand <<CMD\ncat <<EOF\nx\nEOF\nCMD") == (
        "run",
        {"command": "cat <<EOF\nx\nEOF"},
    )


@pytest.mark.parametrize(
    "command",
    [
        "cd src\npython3 -m pytest -q",
        "cat > a.py <<'EOF'\nx = 1\n\nEOF\npython3 a.py; ls -la",
        "cat > a.py <<'EOF'\nx = 1\nEOF\npython3 - <<PY\nimport a\n# run\nPY\necho \"done $?\"",
        "ls\npython3 -c '\nimport a\nprint(a.x)\n'",
        "mkdir -p out\ncp a.py \\\n  out/\nls out",
    ],
)
def test_lines_of_commands_directly_below_a_command_belong_to_it(command: str) -> None:
    assert the_action(f"### Action: run\ncommand: {command}\n") == ("run", {"command": command})
    assert the_action(f"### Action: run\n\n{command}\n") == ("run", {"command": command})
    timed = the_action(f"### Action: run\ncommand: {command}\ntimeout: 20\n")
    assert timed == ("run", {"command": command, "timeout": "20"})


@pytest.mark.parametrize(
    "line", ["cat shows nothing new.", "Run it:", "x = 1", "\npython3 a.py", "foo --bar", "ls,", "finding it"]
)
def test_other_lines_below_a_command_are_an_error(line: str) -> None:
    assert isinstance(parse(f"### Action: run\ncommand: ls\n{line}\n"), ProtocolError)


@pytest.mark.parametrize("command", ["`ls`", "<<END\nls\nEND", "|\n  ls"])
def test_a_command_between_marks_is_complete(command: str) -> None:
    assert isinstance(parse(f"### Action: run\ncommand: {command}\npython3 a.py\n"), ProtocolError)


@pytest.mark.parametrize(
    "text",
    [
        "<attempt_completion>\n<result>\nAll done.\n</result>\n</attempt_completion>",
        "<submit><message>All done.</message></submit>",
        "### Action: submit\nmessage: All done.",
        "### Action: finish\nsummary <<END\nAll done.\nEND",
        '{"action": "task_complete", "args": {"result": "All done."}}',
        '### Action: submit\n{"answer": "All done."}',
    ],
)
def test_the_words_of_a_submit_are_part_of_the_reflection(text: str) -> None:
    step = parse(text)
    assert isinstance(step, Step), step
    assert step.actions == (Action(kind="submit"),)
    assert step.reflection == "All done."


@pytest.mark.parametrize("name", ["code", "content", "diff"])
def test_a_submit_takes_no_code(name: str) -> None:
    assert isinstance(parse(f"<submit><{name}>\nx = 1\n</{name}></submit>"), ProtocolError)
    assert isinstance(parse(f"### Action: submit\n{name}: x = 1"), ProtocolError)


def test_code_in_the_words_of_a_submit_is_quoted_code() -> None:
    step = parse("### Action: submit\nmessage <<END\nI wrote:\n```python\nx = 1\n```\nEND")
    assert isinstance(step, Step)
    assert step.outside


RUN = "### Action: run\ncommand: ls\n"
RUN_JSON = '{"action": "run", "command": "ls"}\n'


@pytest.mark.parametrize(("form", "after"), [(RUN, "### Action: submit\n"), (RUN_JSON, '{"action": "submit"}\n')])
@pytest.mark.parametrize("heading", ["### Planning", "### Observation\nx\n### Reflection", "**Planning**"])
def test_an_action_in_a_fence_of_a_part_may_be_a_quotation_where_others_follow(
    form: str, after: str, heading: str
) -> None:
    part = f"{heading}\nI will check it with\n\n```\n{form}```\n\n"
    found = parse(f"{part}{after}")
    assert isinstance(found, ProtocolError), found
    assert_message(found.text, "The code fence in line", "whether the fence is a quotation", "Nothing was done.")
    for whole, kinds in ((part, ["run"]), (f"{part}```\n{after}```\n", ["run", "submit"])):
        step = parse(whole)
        assert isinstance(step, Step), step
        assert [each.kind for each in step.actions] == kinds


def test_actions_with_and_without_a_fence_outside_of_parts_are_done() -> None:
    step = parse(f"I look first.\n```\n{RUN}```\n### Action: submit\n")
    assert isinstance(step, Step)
    assert [each.kind for each in step.actions] == ["run", "submit"]


def test_prose_behind_an_action_is_prose_where_it_can_be_nothing_else() -> None:
    for before in (
        "### Action: read\npath: a.py\n",
        "### Action: submit\n",
        "### Action: write a.py\n```python\nx = 1\n```",
        "### Action: edit a.py\nold: x\nnew <<E\ny\nE\n",
        "### Action: run\ncommand: ls\n",
        "### Action: search\nquery: solver\n",
        "### Action: list\n",
    ):
        step = parse(f"{before}\nThat is all.\n")
        assert isinstance(step, Step), (before, step)
        assert len(step.actions) == 1
    for before in (
        "### Action: read\npath: a.py",
        "### Action: run\ncommand: ls",
        "### Action: search\nquery: solver",
        "### Action: run\ncommand: |\n  ls\n",
        "### Action: write a.md\n```\nx = 1\n```",
        "### Action: write a.py\n```python\nx = (\n```\n",
        "### Action: edit a.py\nold: x\nnew: y\n",
        "### Action: list",
    ):
        read = parse(f"{before}\nThat is all.\n")
        assert isinstance(read, ProtocolError), before
        assert "would be lost" in read.text


def test_a_part_after_the_actions_is_read_where_no_action_follows() -> None:
    step = parse("### Observation\na\n### Action: read\npath: a.py\n### Observation\nI wait for the result.\n")
    assert isinstance(step, Step)
    assert step.observation == "a\n\nI wait for the result."


# What cannot be used

WRITE = (
    "### Action: write\npath: (file, relative to the workspace)\ntext <<END_OF_TEXT\n(its whole content)\nEND_OF_TEXT"
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "Your answer was empty. Answer in this form:\n\n### Observation\n"),
        (" \n\n", "Your answer was empty."),
        ("I'm sorry, I can't help with that.", "Your answer has no action: no line such as `### Action: read`."),
        ("### Reflection\nThe next action: read it.", "Your answer has no action"),
        ("### Action: delete a.py", f"There is no action `delete`; use `run`. The actions are {', '.join(FORMS)}."),
        ("### Action: raed\npath: a.py", "There is no action `raed`; use `read`."),
        ("### Planning\n### Action\nis what comes next.\n### Action: read\npath: a.py", "There is no action `is`."),
        (
            "### Observation\na\n### Action: read\npath: a.py\n### Observation\nIt holds x.\n### Action: submit\n",
            "Your answer continues with another part or with a result in line 5 and then acts again (line 7), before it has seen any result.",
        ),
        ("### Action: read", "`read` needs `path`. Nothing was done. Write it like this:\n\n### Action: read\npath: ("),
        ("### Action: write\npath: a.py", f"`write` needs `text`. Nothing was done. Write it like this:\n\n{WRITE}"),
        ("### Action: write\ntext <<E\nx\nE", "`write` needs `path`."),
        ("### Action: edit\npath: a\nold <<E\nE\nnew <<F\nF", "`old` of `edit` is empty."),
        ("### Action: submit\nmode: a.py", "`submit` does not take `mode` (line 2); it takes nothing."),
        ("### Action: read\npath: a\npath: b", "`path` of `read` is given twice."),
        (
            "### Action: write\npath: a.py\ntext <<END\nimport numpy\n",
            "The block that line 3 opens (`text <<END`) has no last line `END`: "
            "the answer was cut off, or the line is missing. "
            "End the block with a line that holds only `END`, or write less at once. Nothing was done.",
        ),
        ("### Planning <<P\nx", "The block that line 1 opens (`### Planning <<P`) has no last line `P`"),
        (
            "### Action: write a.py\n```python\nimport numpy\n",
            "The code fence that line 2 opens is not closed: the answer was cut off, or the closing line is missing.",
        ),
        (
            "### Action: write a.py\n```python\nx = '''\n```\n'''\n```\n",
            "Line 5 (`'''`) in `write` is neither an argument nor within one, and would be lost.",
        ),
        ("### Action: submit\n" * 9, "Your answer has 9 actions; at most 8 are done at once. Nothing was done."),
        ("x" * 1_000_001, "Your answer has 1000001 characters; at most 1000000 are read. Write less at once. Nothing"),
        ("\x00\x01\udcff", "Your answer has no action"),
    ],
)
def test_what_cannot_be_used_is_told(text: str, words: str) -> None:
    read = parse(text)
    assert isinstance(read, ProtocolError), read
    assert read.text.startswith(words)


@pytest.mark.parametrize("fence", ["```python", "```"])
def test_the_form_of_an_edit_is_shown_for_a_change_below_a_file_name(fence: str) -> None:
    change = "<<<<<<< SEARCH\nx = 1\n=======\nx = 2\n>>>>>>> REPLACE"
    read = parse(f"I change the constant.\n\nsrc/a.py\n{fence}\n{change}\n```\n")
    assert isinstance(read, ProtocolError), read
    _, _, form = read.text.rpartition("### Action: ")
    assert form.startswith("edit\npath: src/a.py\n<<<<<<< SEARCH\n")
    shown = parse(f"### Action: {form}")
    assert isinstance(shown, Step), shown
    assert [each.kind for each in shown.actions] == ["edit"]


def test_a_damaged_answer_does_nothing_at_all() -> None:
    read = parse("### Action: write\npath: a\ntext <<E\nx\nE\n### Action: write\npath: b\ntext <<E\ny")
    assert isinstance(read, ProtocolError)


@pytest.mark.parametrize("character", [" ", "#", "`", "*", "<", "-", "\t", "'", "(", "action ", "### Action: x "])
@pytest.mark.mostly_slow(one_in=4)
def test_a_hostile_megabyte_is_read(character: str) -> None:
    line = (character * 1_000_000)[:999_000]
    for text in (line, f"### Action: {line}", f"### Action: run\ncommand: {line}", line.replace(" ", "\n")):
        assert isinstance(parse(text), Step | ProtocolError)


def test_many_unclosed_blocks_are_told() -> None:
    assert isinstance(parse("### Action: write\n```\nx\n```\n" * 15_000), ProtocolError)
    assert isinstance(parse("### Action: write\npath: a\n```\n" * 15_000), ProtocolError)


@pytest.mark.parametrize("kind", [kind for kind, form in FORMS.items() if form.path_is_file])
def test_a_directory_where_a_file_is_meant_is_an_error_of_the_answer(kind: str) -> None:
    texts = "".join(f"{name} <<E\n{name}\nE\n" for name in FORMS[kind].takes if name in TEXTS)
    read = parse(f"### Action: {kind}\npath: src/\n{texts}")
    assert isinstance(read, ProtocolError)
    first = read.text.partition("\n")[0]
    assert_message(first, f"`path` of `{kind}` is `src/`", "directory", "`list`" if kind == "read" else "src/a.py")


@pytest.mark.parametrize(
    "kind", [kind for kind, form in FORMS.items() if form.is_single_lines and "path" in form.takes]
)
@pytest.mark.parametrize("path", [" a.py", "\npath: a.py", "\na.py"])
def test_an_action_of_single_lines_may_be_followed_by_prose(kind: str, path: str) -> None:
    assert the_action(f"### Action: {kind}{path}\n\nThen I decide.") == (kind, {"path": "a.py"})


def test_the_form_that_an_error_shows_is_right() -> None:
    for kind in FORMS:
        shown = form_of(kind)
        for name, value in (
            ("lines", "1-40"),
            ("timeout", "30"),
            ("replace_all", "true"),
        ):  # what stands for them is no value
            shown = re.sub(rf"(?m)^{name}: .*", f"{name}: {value}", shown)
        assert the_action(shown)[0] == kind


@pytest.mark.parametrize(
    "answer",
    [
        "submit",
        "`submit`",
        "**Submit**",
        "### Submit",
        "submit()",
        " Submit.\n",
        "<think>\nall is done\n</think>\nsubmit",
    ],
)
def test_the_one_word_submit_is_the_action(answer: str) -> None:
    """The refusal of a `submit` asks for it in these words."""
    step = parse(answer)
    assert isinstance(step, Step)
    assert [action.kind for action in step.actions] == ["submit"]


@pytest.mark.parametrize("answer", ["submit it", "I submit", "submit?", "do not submit", "submit\nread", "submission"])
def test_other_sentences_are_none(answer: str) -> None:
    assert isinstance(parse(answer), ProtocolError)
