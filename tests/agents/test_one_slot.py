"""The one-shot agent where a task asks for a part of a file: what is asked, what is taken, where it is laid."""

from __future__ import annotations

import textwrap
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.agents import AgentKind, recode
from pytest_recode.agents.one_shot import KIND
from pytest_recode.agents.prompt_texts import FOR_THE_BLOCK
from pytest_recode.agents.slot_answer import read
from pytest_recode.episode import Feedback, Move
from pytest_recode.slots import emptied, held, laid, parses, reindented
from pytest_recode.task import Brief, Slot
from tests.agents.conftest import Open
from tests.agents.scripted import USAGE, Logged, Scripted, a_brief, a_context
from tests.examples import examples

FILE = """\
def solve(values):
    if values:
        # TODO: Implement block "the sum"
        # Approximately 2 line(s) of code.
    return 0.0
"""
SLOT = Slot(path="solver.py", start=2, stop=4, indent=" " * 8, context=("lib/helpers.py",))
REPO = {"solver.py": FILE.encode(), "lib/helpers.py": b"SCALE = 2\n", "README.md": b"Read me.\n"}
RIGHT = "        total = sum(values)\n        return total"


def slot_brief() -> Brief:
    return a_brief(repo=REPO, slot=SLOT)


def filled(lines: str) -> str:
    return f"def solve(values):\n    if values:\n{lines}\n    return 0.0\n"


def test_the_prompt_holds_paper_context_and_file_in_this_order(open_walled: Open) -> None:
    model, workspace = Scripted([f"```python\n{RIGHT}\n```"]), open_walled(files=REPO)
    KIND.make(a_context(model)).act(slot_brief(), None, workspace)
    [system, user] = model.asked[0]
    assert (system.role, user.role) == ("system", "user")
    places = [user.content.index(words) for words in ("The paper says", "SCALE = 2", "def solve", "What to write")]
    assert places == sorted(places)
    assert '    # TODO: Implement block "the sum"\n    # Approximately 2 line(s) of code.' in user.content
    assert "At exactly their indentation: 8 blanks." in user.content
    for words in ("Read me.", "Interfaces", "turn 1", "solver.solve"):
        assert words not in user.content


def test_without_the_paper_nothing_speaks_of_it(open_walled: Open) -> None:
    model, workspace = Scripted([f"```python\n{RIGHT}\n```"]), open_walled(files=REPO)
    KIND.make(a_context(model)).act(replace(slot_brief(), paper=None), None, workspace)
    assert "aper" not in model.asked[0][1].content.replace("approximately", "")


@pytest.mark.parametrize(
    "answer",
    [
        f"```python\n{RIGHT}\n```",
        f"First:\n```python\nx = 0\n```\nBetter:\n```python\n{RIGHT}\n```\nIt gives\n```\n3\n```",
        f"```py\n{RIGHT}\n```",
        f"Maybe\n```python\nx = 0\n</think>\n```\nNo.\n</think>\n```python\n{RIGHT}\n```",
        f"Maybe\n     ```python\n     x = 0\n     ```\nNo.\n</think>\n     ```python\n{RIGHT}\n     ```",
        f"~~~python\n{RIGHT}\n~~~",
        f"1. So:\n\n     ```python\n{RIGHT}\n     ```",
        f"```python solver.py\n{RIGHT}\n```\n```bash\nls\n```",
    ],
)
def test_the_last_whole_python_block_is_laid_in(open_walled: Open, answer: str) -> None:
    model, workspace, log = Scripted([answer]), open_walled(files=REPO), Logged()
    move = KIND.make(a_context(model, log=log)).act(slot_brief(), None, workspace)
    assert move == Move(steps=1, submitted=True, usage=USAGE)
    assert workspace.targets()["solver.py"].decode() == filled(RIGHT)
    assert "reindented" not in log.of("step")[0]


@pytest.mark.parametrize(
    "answer",
    [
        *("", "I refuse.", "```\nx = 1\n```", "```python\nx = 1", "y" * 1_000_001),
        f"```python\n{RIGHT}\n```\nOr rather:\n```python\nx = 1",
    ],
)
def test_an_answer_without_a_block_is_told_and_changes_nothing(open_walled: Open, answer: str) -> None:
    model, workspace = Scripted([answer, f"```python\n{RIGHT}\n```"]), open_walled(files=REPO)
    agent = KIND.make(a_context(model))
    assert agent.act(slot_brief(), None, workspace).submitted is False
    assert workspace.targets() == {"solver.py": FILE.encode()}
    assert agent.act(slot_brief(), Feedback(level=0, text="No.", turn=1), workspace).submitted is True
    told = model.asked[1][-1].content
    assert "has no whole block of code that begins with ```python" in told or "at most 1000000 are read" in told
    assert workspace.targets()["solver.py"].decode() == filled(RIGHT)


def test_each_turn_replaces_the_answer(open_walled: Open) -> None:
    wrong = "        return 1"
    model = Scripted([f"```python\n{wrong}\n```", f"```python\n{RIGHT}\n```"])
    workspace = open_walled(files=REPO)
    agent = KIND.make(a_context(model))
    agent.act(slot_brief(), None, workspace)
    assert workspace.targets()["solver.py"].decode() == filled(wrong)
    agent.act(slot_brief(), Feedback(level=1, text="It is the sum.", turn=1), workspace)
    _, _, own, now = model.asked[1]
    assert own.content == f"```python\n{wrong}\n```"
    assert "# Feedback on turn 1\n\nIt is the sum." in now.content
    assert "turn 2 of 10" in now.content
    assert workspace.targets()["solver.py"].decode() == filled(RIGHT)


@pytest.mark.parametrize(("level", "stated"), [(3, False), (4, True)])
@pytest.mark.parametrize("kind", [KIND, recode.KIND])
def test_what_a_correction_stands_for_is_said(open_walled: Open, kind: AgentKind, level: int, stated: bool) -> None:
    model, workspace = Scripted([f"```python\n{RIGHT}\n```"] * 12), open_walled(files=REPO)
    agent = kind.make(a_context(model, steps=1))
    agent.act(slot_brief(), None, workspace)
    assert FOR_THE_BLOCK not in model.asked[0][-1].content
    agent.act(slot_brief(), Feedback(level=level, text="It is the sum.", turn=1), workspace)
    assert (f"It is the sum.\n\n{FOR_THE_BLOCK}" in "\n".join(each.content for each in model.asked[-1])) is stated
    agent.act(replace(slot_brief(), slot=None), Feedback(level=4, text="It is the sum.", turn=2), workspace)
    assert FOR_THE_BLOCK not in model.asked[-1][-1].content


@pytest.mark.parametrize("reindent", [False, True])
def test_an_answer_at_another_depth_is_moved_where_the_user_allows_it(open_walled: Open, reindent: bool) -> None:
    shallow = textwrap.dedent(RIGHT)
    model, workspace, log = Scripted([f"```python\n{shallow}\n```"]), open_walled(files=REPO), Logged()
    context = replace(a_context(model, log=log), reindent=reindent)
    move = KIND.make(context).act(slot_brief(), None, workspace)
    assert move.reindented is reindent
    assert log.of("step")[0].get("reindented", False) is reindent
    assert workspace.targets()["solver.py"].decode() == filled(RIGHT if reindent else shallow)


@pytest.mark.parametrize(
    ("answer", "moved"),
    [
        ("x = 1\ny = 2", "    x = 1\n    y = 2"),
        ("        x = 1\n\n        y = 2", "    x = 1\n\n    y = 2"),
        ("    x = 1\n    y = 2", "    x = 1\n    y = 2"),
        ("x = 1\n    y = 2", "    x = 1\n    y = 2"),
        ("x = 1\n        y = 2", "    x = 1\n    y = 2"),
        ("for x in y:\n    z(x)\nreturn z", "    for x in y:\n        z(x)\n    return z"),
        ("for x in y:\n        z(x)\n    return z", "    for x in y:\n        z(x)\n    return z"),
        ("call(\n        1,\n    )\n    x = 1", "    call(\n        1,\n    )\n    x = 1"),
        ("if x:  # so\n    y = 1", "    if x:  # so\n        y = 1"),
        ("\n# why\nx = 1\n", "\n    # why\n    x = 1\n"),
        ("\tx = 1\n\ty = 2", "    x = 1\n    y = 2"),
        ("", ""),
        ("\n\n", "\n\n"),
    ],
)
def test_reindentation(answer: str, moved: str) -> None:
    assert reindented(answer, "    ") == moved


def test_what_is_right_is_not_moved() -> None:
    for answer in (RIGHT, f"{RIGHT}\n", RIGHT.replace("\n", "\n\n  \n")):
        assert reindented(answer, " " * 8) is answer


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(f"        x = {quotes}\nabc\n{quotes}\n        return x", id=f"a text at column 0, {quotes}")
        for quotes in ('"""', "f'''")
    ]
    + [
        pytest.param('        return "a\tb"', id="a tab in a text"),
        pytest.param("        y = x\n# a remark\n        return y", id="a comment at column 0"),
        pytest.param("        return (x +\n    1)", id="a line continued in a bracket"),
        pytest.param("        y = 1 + \\\n  2\n        return y", id="a line continued by a backslash"),
    ],
)
def test_lines_that_begin_no_statement_say_nothing_about_the_depth(answer: str) -> None:
    assert reindented(answer, " " * 8) == answer


def test_texts_stay_as_they_are_and_other_lines_move_along() -> None:
    answer = 'x = """\n  abc\n"""\ny = f(\n  1)\n# a remark\nreturn x'
    moved = '    x = """\n  abc\n"""\n    y = f(\n      1)\n    # a remark\n    return x'
    assert reindented(answer, "    ") == moved
    assert reindented(moved.replace("\n# ", "\n    # "), "    ") == moved


@given(st.text(alphabet="x =():'\"\\\n\t#[]f{}", max_size=40))
@examples(300)
def test_reindentation_takes_any_text_and_changes_only_the_beginnings_of_lines(answer: str) -> None:
    once = reindented(answer, "    ")
    assert [row.strip() for row in once.split("\n")] == [row.strip() for row in answer.split("\n")]


def test_laying_in_and_taking_out() -> None:
    assert laid(FILE, SLOT, f"{RIGHT}\n") == laid(FILE, SLOT, RIGHT) == filled(RIGHT)
    assert held(filled(RIGHT), FILE, SLOT) == RIGHT
    assert held(filled(RIGHT).replace("0.0", "0"), FILE, SLOT) is None
    assert held("", FILE, SLOT) is None
    assert not parses(FILE)
    assert emptied(FILE, SLOT).split("\n")[2:6] == [*FILE.split("\n")[2:4], "        pass", "    return 0.0"]
    whole = FILE.replace("    if values:\n", "    if values:\n        pass\n")
    assert emptied(whole, SLOT) == whole


@pytest.mark.parametrize("fence", ["{}```python\n", "{}~~~python\n"])
@pytest.mark.parametrize("depth", ["", "     "])
def test_a_fence_within_a_string_of_indented_code_does_not_end_it(fence: str, depth: str) -> None:
    opened = fence.format(depth)
    closed = opened.strip()[:3]
    answer = f"{opened}        x = r'''\n{closed} \n'''\n        return x\n{depth}{closed}\n"
    found = read(answer, slot_brief(), SLOT, reindent=False)
    assert found.text is None
    assert found.problems


def test_an_answer_that_is_too_long_is_told_and_no_part_of_it_counts() -> None:
    draft = "```python\n        total = sum(values)\n        return total\n```\n"
    found = read(draft + "x" * 1_000_000, slot_brief(), SLOT, reindent=False)
    assert found.text is None
    assert "at most 1000000 are read" in found.problems[0]
