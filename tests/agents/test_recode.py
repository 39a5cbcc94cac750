"""The recode agent, with a scripted model and a real workspace."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from pytest_recode.agents import AgentContext
from pytest_recode.agents.actions import Action, Step
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.prompts import ESCAPED
from pytest_recode.agents.protocol import render
from pytest_recode.agents.recode import KIND, ReCode
from pytest_recode.agents.tool_execution import execute
from pytest_recode.agents.tools import TOOLS
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.episode import Feedback
from pytest_recode.faults import BudgetSpent, ModelError, ModelFault, UserError
from pytest_recode.models import Message, Reply, Usage
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment, Limits
from tests.agents.conftest import Open
from tests.agents.scripted import USAGE, Answer, Logged, Scripted, a_brief, a_context, calls
from tests.messages import assert_message

RIGHT = "def solve(x):\n    return 2 * x"
SUBMIT = "### Action: submit"


def write(text: str, path: str = "solver.py") -> str:
    return render(Step(planning="Write it.", actions=(Action(kind="write", arguments={"path": path, "text": text}),)))


class Played:
    """An agent of its own for one test, turn by turn."""

    def __init__(
        self,
        workspace: SandboxWorkspace,
        *answers: Answer,
        steps: int = 3,
        native: bool = False,
        window: int | None = None,
        **memory: int,
    ) -> None:
        self.model = Scripted(answers, native_tools=native, window=window)
        self.log = Logged()
        self.agent = KIND.make(replace(a_context(self.model, steps=steps, log=self.log), **memory))
        self.agent.held = True  # type: ignore[attr-defined]  # most of these submit targets that they left alone
        self.workspace = workspace
        self.brief = a_brief()

    def turn(self, feedback: Feedback | None = None) -> tuple[int, bool, Usage]:
        move = self.agent.act(self.brief, feedback, self.workspace)
        return move.steps, move.submitted, move.usage

    def last(self, call: int = -1) -> str:
        return self.model.asked[call][-1].content

    def results(self) -> list[str]:
        return [fields["text"] for fields in self.log.of("result")]


def feedback(text: str, turn: int = 1) -> Feedback:
    return Feedback(level=2, text=text, turn=turn)


# What it does


def test_it_writes_and_submits(open_workspace: Open) -> None:
    played = Played(open_workspace(), write(RIGHT), SUBMIT)
    assert played.turn() == (2, True, USAGE + USAGE)
    assert played.workspace.targets() == {"solver.py": RIGHT.encode() + b"\n"}


def resume(played: Played, **changed: bool) -> None:
    played.agent.restore(json.loads(json.dumps({**played.agent.state(), **changed})))


@pytest.mark.parametrize("native", [False, True])
def test_a_submission_of_untouched_targets_waits_once(open_walled: Open, native: bool) -> None:
    """Once in an episode, also if that is resumed, and not in the last step of a turn."""
    answer = calls(("submit", "{}")) if native else SUBMIT
    played = Played(open_walled(), *[answer] * 4, native=native)
    resume(played, held=False)
    assert played.turn()[:2] == (2, True)
    told = played.model.asked[1]
    held = "Not done. solver.py is still as the repository delivered it. Write your code there, or answer with `submit` again"
    assert any(held in message.content for message in told)
    resume(played)
    assert played.turn(feedback("No."))[:2] == (1, True)
    resume(played, held=False)
    played.agent.context = replace(played.agent.context, steps=1)  # type: ignore[attr-defined]
    assert played.turn(feedback("No.", 2))[:2] == (1, True)  # in its last step, they are handed in anyway


def test_every_action_tells_what_it_saw(open_walled: Open) -> None:
    actions = [
        Action(kind="list"),
        Action(kind="read", arguments={"path": "lib/helpers.py"}),
        Action(kind="grep", arguments={"pattern": "def", "path": "lib"}),
        Action(kind="search", arguments={"query": "double a number"}),
        Action(kind="write", arguments={"path": "new.py", "text": "a\nb"}),
        Action(kind="edit", arguments={"path": "solver.py", "old": "raise NotImplementedError", "new": "return 2 * x"}),
        Action(kind="run", arguments={"command": "python -c 'import solver; print(solver.solve(4))'; exit 3"}),
    ]
    assert [kind for kind in FORMS if kind not in {each.kind for each in actions}] == ["submit"]
    played = Played(open_walled(), render(Step(actions=tuple(actions))), steps=1)
    assert played.turn() == (1, False, USAGE)
    assert played.results() == [
        "README.md\ninstruction.md\nlib/helpers.py\npaper.md\nsolver.py",
        "def double(x):\n    return 2 * x\n",
        "lib/helpers.py:1:def double(x):",
        "# lib/helpers.py, lines 1 to 2: double\ndef double(x):\n    return 2 * x",
        "Wrote new.py (2 lines). A newline was added at its end.",
        "Edited solver.py at line 2.",
        "Exit status 3.\n8\n",
    ]


@pytest.mark.parametrize("native", [False, True])
def test_a_result_names_what_it_is_of(open_walled: Open, native: bool) -> None:
    actions = [
        Action(kind="read", arguments={"path": "lib/helpers.py"}),
        Action(kind="grep", arguments={"pattern": "def", "path": "lib"}),
        Action(kind="run", arguments={"command": f"printf 'a\\nb'\n# {'x' * 1000}"}),
        Action(kind="list"),
    ]
    if native:
        answer: Answer = calls(*((each.kind, json.dumps(dict(each.arguments))) for each in actions))
    else:
        answer = render(Step(actions=tuple(actions)))
    played = Played(open_walled(), answer, answer, steps=2, native=native)
    played.turn()
    said = "\n\n".join(message.content for message in played.model.asked[1])
    assert "Result of read lib/helpers.py:\ndef double(x):\n    return 2 * x\n" in said
    assert "Result of grep def in lib:\nlib/helpers.py:1:def double(x):" in said
    assert re.search(r"Result of run printf 'a\\nb'\.\.\.:\nExit status 0\.\na\nb", said)
    assert "Result of list:\nREADME.md\n" in said


def test_the_prompt_says_that_paper_and_instruction_are_files(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT)
    played.turn()
    first = played.model.asked[0][1].content
    assert "# Paper (paper.md)\n\nThe paper says: solve(x) is 2 x." in first
    assert "# Instruction (instruction.md)\n\nWrite solve(x)." in first
    listed = (
        "README.md\nlib/helpers.py\nsolver.py\n\nBeside these files, paper.md and instruction.md of the workspace hold"
    )
    assert f"# Files of the repository\n\n{listed} the text above, word for word." in first


def test_without_the_paper_the_prompt_does_not_send_anybody_to_it(walls: Sandbox) -> None:
    brief = a_brief(paper=None, instruction="The method is that of `paper.md`.")
    model = Scripted([SUBMIT, SUBMIT])
    with SandboxWorkspace(walls, brief, Environment(), Limits()) as workspace:
        KIND.make(a_context(model)).act(brief, None, workspace)
    first = model.asked[0][1].content
    assert "# Paper\n\nThe instruction refers to paper.md, which is not part of this run.\n\n# Instruction (" in first
    assert "Beside these files, instruction.md of the workspace holds the text above" in first


@pytest.mark.parametrize(
    ("old", "words"),
    [
        (
            "x",
            "Refused: the old text occurs 2 times in lib/helpers.py. Give more lines around it, so that it is unique, or "
            "`replace_all: true` to replace it in every place.",
        ),
        ("y", "Refused: the old text does not occur in lib/helpers.py. It must be exact, blanks included."),
        (
            "return 2 * x\n# end",
            "Refused: the old text does not occur in lib/helpers.py (line 2 is like its first line: '    return 2 * x'). "
            "It must be exact, blanks included.",
        ),
    ],
)
def test_an_edit_that_is_not_unique_is_refused(open_walled: Open, old: str, words: str) -> None:
    edit = Action(kind="edit", arguments={"path": "lib/helpers.py", "old": old, "new": "z"})
    played = Played(open_walled(), render(Step(actions=(edit, Action(kind="submit")))), SUBMIT)
    assert played.turn() == (2, True, USAGE + USAGE)
    assert played.results()[0] == words
    assert "Result of submit:\nNot done, since action 1 (`edit`) was refused." in played.last()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "def double(x):\n",
            "def double(x):  # twice",
            "`old` ends with a line break and `new` does not, so that lines 1 and 2 would",
        ),
        (
            "\n    return 2 * x",
            "    return x + x",
            "`old` begins with a line break and `new` does not, so that lines 1 and 2 would",
        ),
        ("):\n", "", "`old` ends with a line break"),
    ],
)
def test_an_edit_that_would_join_lines_is_refused(open_walled: Open, old: str, new: str, words: str) -> None:
    edit = Action(kind="edit", arguments={"path": "lib/helpers.py", "old": old, "new": new})
    played = Played(open_walled(), render(Step(actions=(edit, Action(kind="submit")))), SUBMIT)
    assert played.turn() == (2, True, USAGE + USAGE)
    assert words in played.results()[0]
    assert "Give `new` the same line break" in played.results()[0]


def test_an_edit_with_other_line_ends_is_told_so(open_walled: Open) -> None:
    given = {"path": "lib/helpers.py", "old": "def double(x):\r\n    return 2 * x", "new": "x = 1"}
    played = Played(open_walled(), calls(("edit", json.dumps(given))), SUBMIT, native=True)
    played.turn()
    assert "its lines end in line feeds alone, and those of `old` in CRLF" in played.results()[0]


@pytest.mark.parametrize(
    ("old", "new"), [("def double(x):\n", ""), ("\n    return 2 * x", ""), ("    return 2 * x\n", "    return x + x")]
)
def test_an_edit_may_remove_whole_lines(open_walled: Open, old: str, new: str) -> None:
    edit = Action(kind="edit", arguments={"path": "lib/helpers.py", "old": old, "new": new})
    played = Played(open_walled(), render(Step(actions=(edit, Action(kind="submit")))), SUBMIT)
    played.turn()
    assert played.results()[0].startswith("Edited lib/helpers.py")


def test_code_that_the_last_step_leaves_out_of_the_targets_is_noted(open_walled: Open) -> None:
    said = "### Planning\n```python\ndef solve(x):\n    return 5 * x\n```\n### Action: list\n"
    played = Played(open_walled(), said, said, said)
    assert played.turn()[:2] == (3, False)
    assert "Note: the code outside of your actions (`return 5 * x`) is in no target." in played.results()[-1]
    assert [("Note:" in each) for each in played.results()] == [False, False, True]


def test_submit_does_not_wait_in_the_last_step(open_walled: Open) -> None:
    """What the targets lack is noted once; there is no step left in which to write it."""
    look = "### Planning\n```python\ndef solve(x):\n    return 5 * x\n```\n### Action: list\n"
    played = Played(open_walled(), look, f"{look}### Action: submit\n", steps=2)
    assert played.turn()[:2] == (2, True)
    *_, last = played.results()
    assert last.startswith("The targets are handed in.")
    assert last.count("(`return 5 * x`) is in no target.") == 1


def test_a_command_in_a_directory_is_named_as_it_was_called(open_walled: Open) -> None:
    command = json.dumps({"command": "ls *.py", "directory": "lib"})
    played = Played(open_walled(), calls(("run", command)), calls(("submit", "{}")), native=True)
    played.turn()
    assert "Result of run ls *.py in lib:\nExit status 0.\nhelpers.py" in "\n".join(
        message.content for asked in played.model.asked for message in asked
    )


def test_an_edit_replaces_every_place_where_it_is_asked_to(open_walled: Open) -> None:
    given = {"path": "lib/helpers.py", "old": "x", "new": "value", "replace_all": "true"}
    actions = (
        Action(kind="edit", arguments=given),
        Action(kind="edit", arguments={**given, "old": "2 * ", "new": "3 * "}),
        Action(kind="run", arguments={"command": "cat lib/helpers.py"}),
    )
    played = Played(open_walled(), render(Step(actions=actions)), SUBMIT)
    assert played.turn() == (2, True, USAGE + USAGE)
    first, second, shown = played.results()[:3]
    assert first == "Edited lib/helpers.py in 2 places, the first at line 1."
    assert second == "Edited lib/helpers.py at line 2."
    assert "def double(value):\n    return 3 * value\n" in shown


def test_a_time_limit_above_that_of_a_command_is_told_where_it_counts(open_walled: Open) -> None:
    workspace = open_walled(Limits(command_seconds=1))
    slow = Action(kind="run", arguments={"command": "echo begun; sleep 99", "timeout": "120"})
    quick = Action(kind="run", arguments={"command": "echo done", "timeout": "120"})
    played = Played(workspace, render(Step(actions=(quick, slow))), SUBMIT)
    played.turn()
    first, second = played.results()[:2]
    assert first == "Exit status 0.\ndone\n"
    assert_message(second.partition("\n")[0], "Stopped after 1 s", "the limit of a command", "`timeout`")


def test_a_directory_that_is_read_is_listed(open_walled: Open) -> None:
    actions = tuple(Action(kind="read", arguments={"path": path}) for path in ("lib", "."))
    played = Played(open_walled(), render(Step(actions=actions)), SUBMIT)
    played.turn()
    assert played.results()[0] == "lib is a directory. Its files:\nlib/helpers.py"
    assert "solver.py" in played.results()[1]


NEW = "def solve(x):\n    return x + x\n"


@pytest.mark.parametrize("command", ["ls", "python -m py_compile solver.py 2>&1 | tail -1"])
@pytest.mark.parametrize("native", [False, True])
def test_code_that_no_action_wrote_is_not_handed_in_without_a_word(
    open_walled: Open, command: str, native: bool
) -> None:
    """A command beside the submit could have written it: the targets tell."""
    text = f"The new function:\n\n```python\n{NEW}```\n"
    if native:
        first: Answer = calls(("run", json.dumps({"command": command})), ("submit", "{}"), text=text)
    else:
        first = f"### Planning\n{text}\n### Action: run\ncommand: {command}\n### Action: submit"
    played = Played(open_walled(), first, write(NEW.removesuffix("\n")), SUBMIT, native=native)
    assert played.turn()[:2] == (3, True)
    assert played.results()[1].startswith(
        "Not done. The code outside of your actions, in your text, reflection or planning (`return x + x`), is in no target"
    )


@pytest.mark.parametrize(
    ("text", "noted"),
    [
        ("import os\nfrom __future__ import annotations\n", True),
        ('"""A module."""\n\nfrom __future__ import annotations\n\nimport os\n', False),
    ],
)
def test_an_import_of_the_future_that_comes_too_late_is_noted(open_walled: Open, text: str, noted: bool) -> None:
    played = Played(open_walled(), write(text), SUBMIT)
    played.turn()
    assert ("line 2: from __future__ imports must be at the beginning" in played.results()[0]) is noted


def test_code_that_a_command_runs_is_no_loss(open_walled: Open) -> None:
    check = "from solver import solve\nassert callable(solve)"
    reply = calls(
        ("run", json.dumps({"command": f"python - <<'E'\n{check}\nE"})),
        ("submit", "{}"),
        text=f"I run\n```python\n{check}\n```",
    )
    played = Played(open_walled(), reply, native=True)
    assert played.turn()[:2] == (1, True)


def test_code_that_a_command_writes_is_handed_in(open_walled: Open) -> None:
    command = f"cat > solver.py <<'E'\n{NEW}E"
    reply = calls(("run", json.dumps({"command": command})), ("submit", "{}"), text=f"It is:\n```python\n{NEW}```")
    played = Played(open_walled(), reply, native=True)
    assert played.turn()[:2] == (1, True)


BROKEN = Action(kind="write", arguments={"path": "solver.py", "text": "def solve(x:\n"})
PART = Action(
    kind="write", arguments={"path": "solver.py", "text": "# ... existing code ...\ndef twice(x):\n    return 2 * x\n"}
)
FAILS = Action(kind="run", arguments={"command": "apply_patch <<'P'\n*** Begin Patch\nP"})
STOPPED = Action(kind="run", arguments={"command": "sleep 100", "timeout": "0.1"})


def answer_of(*actions: Action, native: bool) -> Answer:
    if not native:
        return render(Step(actions=actions))
    return calls(*((each.kind, json.dumps(dict(each.arguments))) for each in actions))


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize(
    ("before", "told"),
    [
        (FAILS, ("Action 1 (`run`) failed",)),
        (STOPPED, ("Action 1 (`run`) failed",)),
        (BROKEN, ("solver.py is not valid Python", "line 1", "no hidden test could import it")),
        (PART, ("solver.py does not define `solve` any more", "replaces the whole file")),
    ],
)
def test_a_submit_waits_where_the_answer_did_not_do_what_it_was_for(
    open_walled: Open, before: Action, told: tuple[str, ...], native: bool
) -> None:
    submit = Action(kind="submit")
    both, alone = answer_of(before, submit, native=native), answer_of(submit, native=native)
    played = Played(open_walled(), both, alone, native=native)
    assert played.turn()[:2] == (2, True)
    waits = next(each["text"] for each in played.log.of("result") if each["kind"] == "submit")
    assert_message(waits, "Not done.", *told, "`submit` alone")


@pytest.mark.parametrize("before", [FAILS, BROKEN, PART])
def test_a_submit_in_the_last_step_does_not_wait(open_walled: Open, before: Action) -> None:
    played = Played(open_walled(), answer_of(before, Action(kind="submit"), native=False), steps=1)
    assert played.turn()[:2] == (1, True)


def test_a_submit_does_not_wait_for_a_name_that_is_no_definition_any_more(open_walled: Open) -> None:
    bound = Action(kind="write", arguments={"path": "solver.py", "text": "from math import sqrt as solve\n"})
    played = Played(open_walled(), answer_of(bound, Action(kind="submit"), native=False))
    assert played.turn()[:2] == (1, True)


def test_a_submit_after_a_command_that_succeeded_does_not_wait(open_walled: Open) -> None:
    """The target of the repository need not be valid: this answer changed nothing."""
    workspace = open_walled()
    workspace.write("solver.py", "def solve(x:\n")
    look = Action(kind="read", arguments={"path": "solver.py"})
    played = Played(workspace, answer_of(look, Action(kind="submit"), native=False))
    assert played.turn()[:2] == (1, True)
    tried = Action(kind="run", arguments={"command": "false\ntrue"})
    played = Played(open_walled(), answer_of(tried, Action(kind="submit"), native=False))
    assert played.turn()[:2] == (1, True)


def test_an_edit_of_a_file_of_equal_lines_is_told_where_it_differs(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.write("same.txt", "a\n" * 200_000)
    given = {"path": "same.txt", "old": "a\n" * 100_000 + "b", "new": "c"}
    result = execute(Action(kind="edit", arguments=given), workspace, str)
    assert not result.done
    assert "from line 1 on it is the same for 100000 lines, and then line 100001 is 'a', not 'b'" in result.text


def test_an_edit_that_changes_nothing_fails_and_says_so(open_walled: Open) -> None:
    edit = Action(kind="edit", arguments={"path": "solver.py", "old": "raise", "new": "raise"})
    played = Played(open_walled(), render(Step(actions=(edit, Action(kind="submit")))), SUBMIT)
    played.turn()
    assert (
        "`old` and `new` of `edit` are the same text, so that nothing would be changed. Nothing was done."
        in played.last()
    )
    assert "Edited" not in played.last()


def test_the_correction_of_one_interface_is_not_written_over_the_file(open_walled: Open) -> None:
    workspace = open_walled()
    before = workspace.read("solver.py")
    text = "```python file=solver.py interface=solver.solve\ndef solve(x): ...\n```"
    write = Action(kind="write", arguments={"path": "solver.py", "text": text})
    played = Played(workspace, render(Step(actions=(write,))), SUBMIT)
    played.turn()
    assert "The text for solver.py is the correction of one interface (`interface=solver.solve`)" in played.last()
    assert workspace.read("solver.py") == before


def test_a_byte_order_mark_at_the_beginning_of_a_file_is_python(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.write("solver.py", "\ufeffx = 1\n")
    edit = Action(kind="edit", arguments={"path": "solver.py", "old": "x = 1", "new": "x = 2"})
    played = Played(workspace, render(Step(actions=(edit,))), SUBMIT)
    played.turn()
    assert "Edited solver.py at line 1." in played.last()
    assert "not valid Python" not in played.last()


def test_a_file_that_is_not_there_comes_with_the_next_step(open_walled: Open) -> None:
    act = Action(kind="read", arguments={"path": "lib/nothing.py"})
    played = Played(open_walled(), render(Step(actions=(act,))), SUBMIT)
    played.turn()
    assert "Refused: there is no lib/nothing.py. `list` shows the files." in played.last()


def test_the_newline_that_a_write_lacks_is_that_of_its_lines(open_walled: Open) -> None:
    workspace = open_walled()
    given = {"path": "solver.py", "text": "a = 1\r\nb = 2"}
    Played(workspace, calls(("write", json.dumps(given))), native=True, steps=1).turn()
    assert workspace.targets() == {"solver.py": b"a = 1\r\nb = 2\r\n"}


def test_an_edit_keeps_the_line_ends_of_the_file(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.write("solver.py", "a\r\nb\r\nc\r\n")
    edit = Action(kind="edit", arguments={"path": "solver.py", "old": "a\nb", "new": "x\ny"})
    played = Played(workspace, render(Step(actions=(edit,))), SUBMIT)
    played.turn()
    assert workspace.targets() == {"solver.py": b"x\r\ny\r\nc\r\n"}
    assert "Edited solver.py at line 1. Its lines end in CRLF, and so do the new ones." in played.results()[0]


@pytest.mark.parametrize(
    ("before", "text", "words"),
    [
        (RIGHT, "", " Note: solver.py is empty now."),
        (
            RIGHT,
            "def solve(x):\n    return (",
            " Note: solver.py is not valid Python (line 2: '(' was never closed: `return (`); before this change it was valid.",
        ),
        ("def solve(", "def solve(:", " Note: solver.py is not valid Python (line 1: invalid syntax: `def solve(:`)."),
        ("def solve(", RIGHT, ""),
        (RIGHT, "x = '\0'", "); before this change it was valid."),
        (RIGHT, "x = " + "(" * 3000, "); before this change it was valid."),
        (RIGHT, "x = " + "-" * 200_000 + "1", "); before this change it was valid."),
    ],
)
def test_a_write_that_leaves_no_python_says_so(open_walled: Open, before: str, text: str, words: str) -> None:
    workspace = open_walled()
    workspace.write("solver.py", before)
    played = Played(workspace, write(text), steps=1)
    played.turn()
    assert words in played.results()[0]
    assert bool(words) is ("Note:" in played.results()[0])


def test_an_edit_says_what_it_did_beside_the_replacement(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"x = 1\ny = 2\n"})
    fenced = {"path": "a.py", "old": "```python\nx = 1\n```", "new": "```python\nx = 3\n```"}
    result = execute(Action(kind="edit", arguments=fenced), workspace, str)
    assert result.done
    assert_message(result.text, "a.py", "The code fences around the texts were left out.")
    result = execute(Action(kind="edit", arguments={"path": "a.py", "old": "x = 3", "new": ""}), workspace, str)
    assert result.done
    assert_message(result.text, "line 1 is empty now", "give `old` with its line break")
    result = execute(Action(kind="edit", arguments={"path": "a.py", "old": "y = 2\n", "new": ""}), workspace, str)
    assert "line 2 is empty" not in result.text
    assert workspace.read("a.py") == "\n"


def test_a_change_that_takes_a_function_away_says_so(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"def one(): ...\nclass Two: ...\nthree = 3\n", "b.py": b"def (\n"})
    write = Action(kind="write", arguments={"path": "a.py", "text": "def one(): return 1\n"})
    assert_message(execute(write, workspace, str).text, "a.py", "does not define `Two` any more")
    edit = Action(kind="edit", arguments={"path": "a.py", "old": "def one", "new": "async def uno"})
    assert_message(execute(edit, workspace, str).text, "a.py", "does not define `one` any more")
    same = Action(kind="edit", arguments={"path": "a.py", "old": "return 1", "new": "return 2"})
    assert "define" not in execute(same, workspace, str).text
    corrected = Action(kind="write", arguments={"path": "b.py", "text": "x = 1\n"})
    assert "define" not in execute(corrected, workspace, str).text


def test_an_edit_that_leaves_no_python_says_so(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.write("solver.py", RIGHT)
    edits = [("return 2 * x", "return (2 * x"), (RIGHT.replace("return 2", "return (2"), "")]
    actions = [Action(kind="edit", arguments={"path": "solver.py", "old": old, "new": new}) for old, new in edits]
    played = Played(workspace, *(render(Step(actions=(action,))) for action in actions), steps=2)
    played.turn()
    assert played.results()[0].startswith("Edited solver.py at line 2. Note: solver.py is not valid Python (")
    assert played.results()[1] == "Edited solver.py at line 1. Note: solver.py is empty now."


def test_a_fence_around_a_python_file_is_taken_off(open_walled: Open) -> None:
    workspace = open_walled()
    Played(workspace, write(f"```python\n{RIGHT}\n```"), write("```\nx\n```", "notes.md"), steps=2).turn()
    assert workspace.targets() == {"solver.py": RIGHT.encode() + b"\n"}
    assert workspace.read("notes.md") == "```\nx\n```\n"


def test_a_fence_around_the_new_text_of_an_edit_is_taken_off_where_it_would_leave_no_python(open_walled: Open) -> None:
    """Feedback shows corrections in a fence, and models copy it. A fence within a docstring is meant."""
    workspace, docstring = open_walled(), '"""Doubles.\n\nHere.\n"""'
    edits = (
        ("raise NotImplementedError", "```python\nreturn 2 * x\n```"),
        ("def solve(x):", f"{docstring}\n\n\ndef solve(x):"),
        ("Here.", "```\nsolve(2)\n```"),
    )
    answers = [
        render(Step(actions=(Action(kind="edit", arguments={"path": "solver.py", "old": old, "new": new}),)))
        for old, new in edits
    ]
    played = Played(workspace, *answers, steps=3)
    played.turn()
    whole = docstring.replace("Here.", edits[2][1])
    assert workspace.targets()["solver.py"].decode() == f"{whole}\n\n\ndef solve(x):\n    return 2 * x\n"
    assert played.results()[0].endswith(" The code fence around the new text was left out.")


def test_what_only_looks_is_done_after_a_refused_action(open_walled: Open) -> None:
    kinds = [("edit", {"path": "solver.py", "old": "no such text", "new": "x"}), ("read", {"path": "lib/helpers.py"})]
    kinds += [("run", {"command": "echo done"}), ("list", {}), ("submit", {})]
    actions = tuple(Action(kind=kind, arguments=arguments) for kind, arguments in kinds)
    played = Played(open_walled(), render(Step(actions=actions)), steps=1)
    assert played.turn()[1] is False
    done = [(line["kind"], line["ok"]) for line in played.log.of("result")]
    assert done == [("edit", False), ("read", True), ("run", False), ("list", True), ("submit", False)]
    assert played.log.of("result")[2]["text"] == "Not done, since action 1 (`edit`) was refused."


def test_a_path_that_does_not_exist_names_the_file_that_does(open_walled: Open) -> None:
    act = Action(kind="read", arguments={"path": "src/helpers.py"})
    played = Played(open_walled(), render(Step(actions=(act,))), steps=1)
    played.turn()
    assert played.results() == ["Refused: there is no src. There is lib/helpers.py."]


def test_code_without_an_action_is_said_to_be_in_no_file(open_walled: Open) -> None:
    played = Played(open_walled(), f"Here it is:\n\n{RIGHT}\n", SUBMIT)
    played.turn()
    assert "Your answer has no action: no line such as `### Action: read`. The code in it was written" in played.last()
    assert "### Action: write\npath: (file, relative to the workspace)\ntext <<END_OF_TEXT" in played.last()


def test_a_fence_whose_lines_end_in_crlf_is_taken_off(open_walled: Open) -> None:
    text = "```python\r\nx = 1\r\ny = 2\r\n```\r\n"
    workspace = open_walled()
    answer = calls(("write", json.dumps({"path": "solver.py", "text": text})))
    Played(workspace, answer, steps=1, native=True).turn()
    assert workspace.targets() == {"solver.py": b"x = 1\r\ny = 2\r\n"}


def test_nasty_code_arrives_as_it_was_meant(open_walled: Open) -> None:
    code = (
        "try:\n    import x\nexcept ImportError:\n    x = None\naction: int = 1\n"
        "### Action: submit\nEND_OF_TEXT\n'''\n```\n'''"
    )
    played = Played(open_walled(), write(code), steps=1)
    played.turn()
    assert played.workspace.targets() == {"solver.py": code.encode() + b"\n"}


def test_steps_that_run_out_hand_in_what_is_there(open_walled: Open) -> None:
    played = Played(open_walled(), write("one"), write("two"), write("three"), "never asked")
    assert played.turn()[:2] == (3, False)
    assert len(played.model.asked) == 3
    assert played.workspace.targets() == {"solver.py": b"three\n"}


def test_the_model_is_asked_before_any_sandbox_starts(open_walled: Open) -> None:
    workspace = open_walled()

    def bad_key(_: Sequence[Message]) -> str:
        assert workspace._connection is None
        raise ModelError(ModelFault.AUTH, "scripted", "no such key")

    with pytest.raises(ModelError):
        Played(workspace, bad_key).turn()
    assert workspace._connection is None


def test_a_spent_budget_passes_through(open_walled: Open) -> None:
    def spent(_: Sequence[Message]) -> str:
        raise BudgetSpent("no more")

    with pytest.raises(BudgetSpent):
        Played(open_walled(), spent).turn()


def test_without_a_model_it_cannot_be_made() -> None:
    with pytest.raises(UserError, match=r"^agent 'recode' needs a model: give one with --recode-model"):
        KIND.make(a_context(None))


# What it tells the model


def test_the_prompt_holds_the_brief_the_state_and_the_budget(open_walled: Open) -> None:
    played = Played(open_walled(), write("x = 1"), SUBMIT)
    played.turn()
    first, second = ("\n\n".join(message.content for message in asked) for asked in played.model.asked)
    for words in (
        "The paper says: solve(x) is 2 x.",
        "Write solve(x).",
        "# Targets (the files you must write)\n\nsolver.py",
        "solver.solve",
        "README.md\nlib/helpers.py\nsolver.py",
        "### Action: write",
        "None yet: this is the first turn.",
    ):
        assert words in first
        assert words in second
    assert "raise NotImplementedError" in first
    assert "## solver.py\n\n```\nx = 1\n```" in second
    assert (
        "Step 1 of 3 in turn 1 of 10. After step 3 the targets are handed in as they are; `submit` hands them" in first
    )
    assert "Step 2 of 3 in turn 1 of 10." in second
    assert "Result of write solver.py:\nWrote solver.py (1 line)." in second


def test_the_last_step_is_told(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT, steps=1)
    played.turn()
    assert played.last().endswith(
        "Step 1 of 1 in turn 1 of 10. "
        "This is the last step of the turn: after it the targets are handed in as they are."
    )


def test_without_a_paper_there_is_none(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT)
    played.brief = a_brief(paper=None)
    played.turn()
    assert "# Paper" not in played.model.asked[0][1].content


def test_feedback_of_each_turn_arrives_and_is_remembered(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT, SUBMIT, SUBMIT)
    played.turn()
    played.turn(feedback("The factor is wrong.", 1))
    assert "# Feedback on turn 1\n\nThe factor is wrong." in played.last()
    assert "Turn 1 is over: the work was handed in, and did not pass all hidden tests." in played.last()
    assert "in turn 2 of 10" in played.last()
    played.turn(feedback("The sign is wrong.", 2))
    assert "# Feedback on turn 2\n\nThe sign is wrong." in played.last()
    earlier = "\n".join(message.content for message in played.model.asked[-1])
    assert earlier.count("# Feedback on turn 1\n\nThe factor is wrong.") == 1
    assert earlier.index("The factor is wrong.") < earlier.index("Turn 2 is over") < earlier.index("The sign is wrong.")


def test_a_target_that_is_none_is_told(open_walled: Open) -> None:
    run = Action(kind="run", arguments={"command": "rm solver.py; ln -s README.md solver.py"})
    played = Played(open_walled(), render(Step(actions=(run,))), SUBMIT)
    played.turn()
    assert (
        "## solver.py\n\n(absent: it does not exist, or is no regular file, or is larger than 1 MiB)" in played.last()
    )


def test_messages_of_the_user_never_follow_each_other(open_walled: Open) -> None:
    played = Played(open_walled(), write("a"), "garbage", SUBMIT, SUBMIT)
    played.turn()
    played.turn(feedback("No."))
    for asked in played.model.asked:
        roles = [message.role for message in asked]
        assert roles[0] == "system"
        assert all(one != other for one, other in pairwise(roles)), roles


# Answers that cannot be used


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("", "Your answer was empty."),
        ("I'm sorry, but I can't assist with that.", "Your answer has no action"),
        ("\x00\udcff garbage \ud800", "Your answer has no action"),
        ("x" * 10_000_000, "Your answer has 10000000 characters; at most 1000000 are read."),
        (
            Reply(text="### Action: submit\n", finish="length"),
            "cut off at the model's limit of output. Nothing was done.",
        ),
        (
            "### Action: read\npath: ../../etc/passwd",
            "is `../../etc/passwd`: a path may not go up by `..`. Write it relative to the workspace, such as src/a.py. Nothing was done.",
        ),
    ],
    ids=["empty", "refusal", "garbage", "huge", "cut-off", "escape"],
)
def test_a_bad_answer_costs_no_step_and_is_answered(open_walled: Open, answer: str | Reply, words: str) -> None:
    played = Played(open_walled(), answer, SUBMIT)
    steps, submitted, _ = played.turn()
    assert (steps, submitted) == (1, True)
    assert [(line["step"], line.get("asked_again", False)) for line in played.log.of("step")] == [(1, True), (1, False)]
    assert words in played.last()
    assert sum(len(message.content) for message in played.model.asked[1]) < 60_000
    for message in played.model.asked[1]:
        message.content.encode()
        assert message.content


def test_an_answer_cut_off_by_the_provider_says_so(open_walled: Open) -> None:
    played = Played(open_walled(), Reply(text="### Action", finish="length", usage=USAGE), SUBMIT)
    played.turn()
    assert "This answer could not be used. It cost no step; 2 more may follow it at no step." in played.last()
    assert "Your answer was cut off at the model's limit of output. Nothing was done." in played.last()


def test_a_fourth_bad_answer_in_a_row_costs_a_step(open_walled: Open) -> None:
    """Each step is asked four times."""
    played = Played(open_walled(), *["no"] * 12)
    move = played.agent.act(a_brief(), None, played.workspace)
    assert (move.steps, move.submitted, move.unparsed, move.asked_again) == (3, False, 12, 9)
    costs = [
        message.content.partition(" Your answer")[0].removeprefix("This answer could not be used")
        for message in played.model.asked[4][2:]
        if message.content.startswith("This answer")
    ]
    assert costs == [
        ". It cost no step; 2 more may follow it at no step.",
        ". It cost no step; 1 more may follow it at no step.",
        ". It cost no step; the next one that cannot be used costs a step.",
        ", and cost a step.",
    ]


def test_an_answer_that_can_be_used_ends_the_row_of_bad_ones(open_walled: Open) -> None:
    look = "### Action: read\npath: solver.py\n"
    played = Played(open_walled(), "no", "no", "no", look, "no", "no", "no", SUBMIT)
    move = played.agent.act(a_brief(), None, played.workspace)
    assert (move.steps, move.submitted, move.unparsed, move.asked_again) == (2, True, 6, 6)


def test_bad_answers_leave_the_targets_and_start_no_sandbox(open_walled: Open) -> None:
    played = Played(open_walled(), *["no"] * 12)
    assert played.turn()[:2] == (3, False)
    assert played.workspace.targets() == {"solver.py": a_brief().repo["solver.py"]}
    assert played.workspace._connection is None


def test_large_results_are_cut_with_a_note(open_walled: Open) -> None:
    run = Action(kind="run", arguments={"command": "head -c 50000 /dev/zero | tr '\\0' y"})
    played = Played(open_walled(), render(Step(actions=(run,))), SUBMIT)
    played.turn()
    assert "of 50015 characters left out ...]" in played.last()
    assert len(played.results()[0]) < 17_000


def test_a_result_that_the_sandbox_had_cut_is_not_said_to_have_been_shorter(open_walled: Open) -> None:
    run = Action(kind="run", arguments={"command": "head -c 108898 /dev/zero | tr '\\0' y"})
    played = Played(open_walled(), render(Step(actions=(run,))), SUBMIT)
    played.turn()
    assert re.search(r"\[\.\.\. at least 49\d+ of at least 65\d+ characters left out \.\.\.\]", played.last())


def test_a_model_is_told_that_inputs_change_and_what_a_level_is(open_walled: Open) -> None:
    played = Played(open_walled(), SUBMIT)
    played.turn()
    system = played.model.asked[0][0].content
    assert "may draw new inputs each time, so the number of failing cases can change" in system
    assert "from L0, that tests fail, to L4" in system


@pytest.mark.parametrize(
    "answer",
    [
        "### Action: write\npath: a.txt\ntext <<E1\nend\n\n\nE1",
        "### Action: write a.txt\n```\nend\n\n\n```",
        '{"action": "write", "path": "a.txt", "text": "end\\n\\n\\n"}',
        "### Action: write\npath: a.py\ntext <<E1\n```python\nend\n\n\n```\nE1",
    ],
)
def test_blank_lines_that_end_a_file_are_written(answer: str, open_walled: Open) -> None:
    played = Played(
        open_walled(), answer, "### Action: read\npath: " + ("a.py" if "a.py" in answer else "a.txt"), steps=2
    )
    played.turn()
    wrote, text = (result["text"] for result in played.log.of("result"))
    assert "A newline was added" not in wrote
    assert text == "end\n\n\n"


def test_control_characters_of_a_commands_output_are_shown_as_escapes(open_walled: Open) -> None:
    command = "printf '\\000a\\033[1mb\\r\\nc\\rd\\te\\n'"
    played = Played(open_walled(), f"### Action: run\ncommand: {command}", SUBMIT)
    played.turn()
    assert f"\\x00a\\x1b[1mb\\r\nc\\rd\te\n\n{ESCAPED}\n" in played.last()
    assert played.last().count(ESCAPED) == 1


# Native tools


def arguments(**given: str) -> str:
    return json.dumps(given)


def test_tool_calls_and_their_results_go_back_as_such(open_walled: Open) -> None:
    both = calls(("write", arguments(path="solver.py", text=RIGHT, reflection="Easy.")), ("list", ""), text="Now.")
    played = Played(open_walled(), both, calls(("submit", "{}")), native=True)
    assert played.turn()[:2] == (2, True)
    assert played.model.tools[0] == TOOLS
    roles = [message.role for message in played.model.asked[1]]
    assert roles == ["system", "user", "assistant", "tool", "tool", "user"]
    answer, wrote, listed = played.model.asked[1][2:5]
    assert [call.name for call in answer.tool_calls] == ["write", "list"]
    assert (wrote.tool_call_id, wrote.content) == (
        "turn1answer1call0",
        "Result of write solver.py:\nWrote solver.py (2 lines). A newline was added at its end.",
    )
    assert (listed.tool_call_id, listed.content) == (
        "turn1answer1call1",
        "Result of list:\nREADME.md\ninstruction.md\nlib/helpers.py\npaper.md\nsolver.py",
    )
    assert played.log.of("step")[0]["reflection"] == "Now.\n\nEasy."
    assert "<<END_OF_TEXT" not in played.model.asked[0][0].content


def test_each_tool_call_gets_a_result_also_where_none_can_be_used(open_walled: Open) -> None:
    bad = calls(("read", "{oops"), ("list", "{}"))
    played = Played(open_walled(), bad, "plain words", calls(("submit", "")), native=True)
    assert played.turn()[:2] == (1, True)
    answer, first, second = played.model.asked[1][2:5]
    kept = [json.loads(call.arguments) for call in answer.tool_calls]
    assert kept == [{"unreadable": "{oops"}, {}], "a provider takes objects only, and nothing that was written is lost"
    assert "The arguments of `read` are no JSON" in first.content
    assert '"path": "(file, relative to the workspace)"' in first.content
    assert "### Action" not in first.content
    assert "Not done: call 1 of this answer could not be used." in second.content
    assert "Your answer calls no tool." in played.last()


def test_what_an_unusable_answer_cost_is_told_once(open_walled: Open) -> None:
    bad = calls(("read", '"{\\"path\\": \\"a.py\\"}"'), ("fly", "{}"), ("walk", "{}"))
    played = Played(open_walled(), bad, calls(("submit", "")), native=True)
    played.turn()
    answer, *told = played.model.asked[1][2:6]
    assert json.loads(answer.tool_calls[0].arguments) == {"path": "a.py"}, "as it was understood"
    assert [message.content.count("It cost no step") for message in told] == [0, 1, 0]
    assert told[2].content.startswith("There is no tool `walk`")


@pytest.mark.slow
def test_huge_tool_calls_are_cut_and_stay_json(open_walled: Open) -> None:
    huge = calls(("write", arguments(path="solver.py", text="x = 1\n" * 100_000)))
    played = Played(open_walled(), huge, calls(("submit", "")), native=True)
    played.turn()
    sent = played.model.asked[1][2].tool_calls[0].arguments
    assert len(sent) < 60_000
    assert json.loads(sent)["path"] == "solver.py"
    assert played.workspace.targets() == {"solver.py": b"x = 1\n" * 100_000}


# Memory


def script(summaries: list[str]) -> Answer:
    """An answer with a result for a step, and the next summary to whoever asks for one."""

    def answer(messages: Sequence[Message]) -> str:
        if "You keep the notes" not in messages[0].content:
            return "### Action: list\npath: lib"
        summaries.append(messages[1].content)
        return f"SUMMARY {len(summaries)}"

    return answer


@pytest.mark.parametrize("native", [False, True])
def test_the_summary_takes_the_place_of_what_it_sums_up(open_walled: Open, native: bool) -> None:
    asked_for: list[str] = []
    played = Played(open_walled(), *[script(asked_for)] * 40, steps=10, native=native, memory_threshold=15)
    steps, submitted, usage = played.turn()
    assert (steps, submitted) == (10, False)
    assert len(played.log.of("memory")) == len(asked_for) == 1
    assert usage == sum([USAGE] * 10, USAGE)  # ten steps and one summary
    memory = played.log.of("memory")[0]
    assert memory["messages"] == 16 - 10  # two thirds of the threshold stay
    assert memory["summary"] == "SUMMARY 1"
    assert memory["usage"] == {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.5}
    final = played.model.asked[-1]
    assert "The paper says: solve(x) is 2 x." in final[1].content
    assert "# Summary of your earlier work\n\nSUMMARY 1" in final[1].content
    assert not any("Summary of your earlier work" in message.content for message in played.model.asked[0])
    played.turn(feedback("Half right."))
    assert "# The summary so far\n\nSUMMARY 1" in asked_for[1]
    assert "# Feedback on turn 1\n\nHalf right." in played.last()


def test_large_messages_are_summarised_before_there_are_many(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str:
        return (
            "SUMMARY"
            if "You keep the notes" in messages[0].content
            else "### Action: run\ncommand: cat big " + "x" * 20_000
        )

    workspace = open_walled(files={"solver.py": b"", "big": b"y" * 30_000})
    played = Played(workspace, *[answer] * 20, steps=8)
    played.turn()
    assert played.log.of("memory")
    assert max(sum(len(message.content) for message in asked) for asked in played.model.asked) < 200_000
    assert "SUMMARY" in played.model.asked[-1][1].content


def test_results_of_one_answer_share_the_room(open_walled: Open) -> None:
    read = Action(kind="read", arguments={"path": "big"})
    workspace = open_walled(files={"solver.py": b"", "big": b"y" * 30_000})
    played = Played(workspace, render(Step(actions=(read,) * 8)), steps=1)
    played.turn()
    assert len(played.results()) == 8
    assert sum(map(len, played.results())) < 42_000


def test_a_summary_does_not_part_a_tool_call_from_its_result(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str | Reply:
        return "S" if "You keep the notes" in messages[0].content else calls(("list", ""), ("list", ""), ("list", ""))

    played = Played(open_walled(), *[answer] * 20, steps=12, native=True, memory_threshold=15)
    played.turn()
    assert played.log.of("memory")
    for asked in played.model.asked:
        ids = [call.id for message in asked for call in message.tool_calls]
        assert len(ids) == len(set(ids))
        open_calls: list[str] = []
        for message in asked:
            if message.role == "tool":
                assert message.tool_call_id == open_calls.pop(0)
            else:
                assert not open_calls
                open_calls = [call.id for call in message.tool_calls]


def test_an_empty_summary_is_replaced_by_what_was_done(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str:
        return "  " if "You keep the notes" in messages[0].content else "### Action: list lib"

    played = Played(open_walled(), *[answer] * 20, steps=10, memory_threshold=15)
    played.turn()
    assert "Result of list lib:" in played.log.of("memory")[0]["summary"]


def test_how_much_is_remembered_is_for_the_run_to_say(open_walled: Open) -> None:
    model, log = Scripted([script([])] * 40), Logged()
    context = AgentContext(model=model, steps=6, turns=10, log=log, memory_threshold=4, memory_keep=3)
    KIND.make(context).act(a_brief(), None, open_walled())
    # two messages a step, which stay together: at most three of the six before the fourth step are one step's
    assert [line["messages"] for line in log.of("memory")] == [4, 4]


def test_what_a_summary_drops_is_still_in_the_transcript(open_walled: Open) -> None:
    """Read back as a person would: the messages that were sent once and then replaced."""

    def answer(messages: Sequence[Message]) -> str:
        if "You keep the notes" in messages[0].content:
            return "S"
        step = re.findall(r"Step (\d+) of", messages[-1].content)[-1]
        return f"### Action: read file-{step}.py"

    model, log = Scripted([answer] * 40), Logged()
    context = AgentContext(model=model, steps=9, turns=10, log=log, memory_threshold=6, memory_keep=2)
    agent = KIND.make(context)
    agent.act(a_brief(), None, open_walled())
    assert "file-1.py" not in "".join(message.content for message in model.asked[-1])
    kept = [line["content"] for line in log.of("message") if line["step"] == 1]
    assert "### Action: read file-1.py" in kept
    assert any(content.startswith("Result of read file-1.py:\nRefused: ") for content in kept)
    assert isinstance(agent, ReCode)
    assert sum(line["messages"] for line in log.of("memory")) + len(agent.memory.entries) == 2 * 9


LONG = "def solve(x):\n" + "".join(f"    y{number} = x * {number}\n" for number in range(40)) + "    return 2 * x\n"


def times(text: str, asked: Sequence[Message]) -> int:
    """How often a prompt has this text."""
    given = [json.loads(call.arguments) for message in asked for call in message.tool_calls]
    values = [value for each in given for value in each.values()]
    return sum(each.count(text.strip()) for each in (*(message.content for message in asked), *values))


@pytest.mark.parametrize("native", [False, True])
def test_a_file_that_was_just_written_or_read_is_in_the_prompt_once(open_walled: Open, native: bool) -> None:
    def act(kind: str, **given: str) -> Answer:
        action = Action(kind=kind, arguments=given)
        return calls((kind, json.dumps(given))) if native else render(Step(actions=(action,)))

    played = Played(
        open_walled(),
        act("write", path="./solver.py", text=LONG),
        act("edit", path="solver.py", old="return 2 * x", new="return x + x"),
        act("read", path="solver.py"),
        act("run", command="sed -i 's/x + x/x * 2/' solver.py"),
        act("submit"),
        act("submit"),
        steps=5,
        native=native,
    )
    played.turn()
    edited = LONG.replace("return 2 * x", "return x + x")
    ran = LONG.replace("return 2 * x", "return x * 2")
    shown = [[times(text, asked) for text in (LONG, edited, ran)] for asked in played.model.asked]
    assert shown == [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [1, 1, 1]]
    assert (
        "## solver.py\n\n(not repeated here: it is exactly as in your latest successful `write` of it, above)"
        in played.last(1)
    )
    assert "## solver.py\n\n(not repeated here: it is exactly as in the latest result of `read`, above)" in played.last(
        3
    )
    played.turn(feedback("Half right."))
    assert times(ran, played.model.asked[-1]) == 1


def test_a_long_answer_whose_middle_is_cut_does_not_stand_for_the_file(open_walled: Open) -> None:
    played = Played(open_walled(), write(LONG + "# end\n" * 10_000), SUBMIT)
    played.turn()
    assert "characters left out" in played.last()
    assert "unchanged: its whole text" not in played.last()


def helpers(number: int) -> dict[str, bytes]:
    return {f"lib/part{each}.py": f"# part {each}\n{'value = 1' * 400}\n".encode() for each in range(number)}


def reads(*paths: str) -> Reply:
    return calls(*(("read", json.dumps({"path": path})) for path in paths))


def test_many_reads_in_few_answers_are_remembered(open_walled: Open) -> None:
    files = helpers(18)
    answers = [reads(*list(files)[start : start + 6]) for start in (0, 6, 12)]
    workspace = open_walled(files={"solver.py": b"", **files})
    played = Played(workspace, *answers, calls(("submit", "")), steps=4, native=True)
    played.turn()
    assert played.log.of("memory") == []
    said = "\n".join(message.content for message in played.model.asked[-1])
    assert all(data.decode() in said for data in files.values())


def test_files_that_a_summary_drops_stay_as_they_are_then(open_walled: Open) -> None:
    """But for what every prompt shows: targets, paper and instruction."""

    def summary(messages: Sequence[Message]) -> str:
        assert "You keep the notes" in messages[0].content
        return "SUMMARY"

    files = {"lib/a.py": b"a = 1\n" * 100, "lib/b.py": b"b = 1\n" * 100, "solver.py": LONG.encode()}
    played = Played(
        open_walled(files=files),
        reads("lib/a.py", "lib/b.py", "solver.py", "paper.md"),
        calls(("run", json.dumps({"command": "sed -i 's/b = 1/b = 2/' lib/b.py; cat lib/a.py > /dev/null"}))),
        calls(("list", "")),
        summary,
        calls(("read", json.dumps({"path": "lib/a.py"}))),
        calls(("submit", "")),
        steps=6,
        native=True,
        memory_threshold=8,
        memory_keep=2,
    )
    played.turn()
    [memory] = played.log.of("memory")
    assert memory["files"] == {"lib/b.py": "b = 2\n" * 100, "lib/a.py": "a = 1\n" * 100}
    after = played.model.asked[4][1].content
    title = "# Files you have read or changed, as they were when this summary was written"
    assert f"SUMMARY\n\n{title}\n\n## lib/b.py\n\n```\nb = 2\n" in after
    assert after.count("# Paper") == 1
    assert times(LONG, played.model.asked[4]) == 1  # as the target's present content


def test_a_memory_keeps_to_the_models_window(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str | Reply:
        said = sum(len(message.content) for message in messages)
        assert said / 4.5 < 8_000  # as many characters to a token as are assumed, where fewer were counted
        return "SUMMARY" if "You keep the notes" in messages[0].content else reads("lib/part0.py", "lib/part1.py")

    workspace = open_walled(files={"solver.py": b"", **helpers(2)})
    played = Played(workspace, *[answer] * 60, steps=20, native=True, window=8_000)
    played.turn()
    assert played.log.of("memory")
    unknown = Played(workspace, *[answer] * 3, steps=3, native=True)
    unknown.turn()
    assert unknown.log.of("memory") == []


@pytest.mark.parametrize("native", [False, True])
def test_a_summarys_writer_sees_every_hand_in_and_all_feedback(open_walled: Open, native: bool) -> None:
    seen: list[str] = []

    def answer(messages: Sequence[Message]) -> str | Reply:
        if "You keep the notes" in messages[0].content:
            seen.append(messages[1].content)
            return "SUMMARY"
        return calls(("submit", "{}")) if native else SUBMIT

    played = Played(open_walled(), *[answer] * 20, native=native, memory_threshold=7)
    for turn, text in enumerate(["", "The factor is wrong. " * 1000, "The sign is wrong.", "Nearly."]):
        played.turn(feedback(text, turn) if turn else None)
    [asked] = seen
    assert "[the end of turn 1: researcher]\nTurn 1 is over: the work was handed in, and did not pass all" in asked
    assert ("The factor is wrong. " * 1000).strip() in asked
    assert "Nearly." in asked  # what is worked on now, which stays
    assert "# Feedback on turn 3\n\nNearly." in played.last()
    assert asked.index("[turn 1, step 1: engineer]") < asked.index("[the end of turn 1: researcher]")


def test_feedback_that_is_worked_on_outlives_a_summary(open_walled: Open) -> None:
    def answer(messages: Sequence[Message]) -> str:
        return "SUMMARY" if "You keep the notes" in messages[0].content else "### Action: list"

    played = Played(open_walled(), *[answer] * 40, steps=6, memory_threshold=4)
    played.turn()
    played.turn(feedback("The sign is wrong."))
    for asked in played.model.asked:
        if "in turn 2 of 10" in asked[-1].content:
            assert times("# Feedback on turn 1\n\nThe sign is wrong.", asked) == 1


# The transcript


PARTS = ("observation", "reflection", "planning")


@pytest.mark.parametrize(
    ("answer", "parts"),
    [
        ("### Observation\nO\n### Reflection\nR\n### Planning\nP\n### Action: list", ("O", "R", "P")),
        ("### Planning\nP\n### Action: list", ("", "", "P")),
        ("### Action: list", ("", "", "")),
        ("Prose.\n### Action: list", ("Prose.", "", "")),
        ("### Observation\nO\n### Planning\nP", ("O", "", "P")),
        ("### Reflection\nR\n### Action: read", ("", "R", "")),
        ("I cannot.", ("", "I cannot.", "")),
        ("", ("", "", "")),
        (calls(("list", '{"observation": "O", "reflection": "R", "planning": "P"}')), ("O", "R", "P")),
        (calls(("list", '{"planning": "P"}')), ("", "", "P")),
        (calls(("list", "{}"), text="### Observation\nO\n### Reflection\nR"), ("O", "R", "")),
        (calls(("list", "{}"), text="Prose."), ("", "Prose.", "")),
        (calls(("list", "{}")), ("", "", "")),
        (calls(("list", "{oops"), text="### Planning\nP"), ("", "", "P")),
    ],
)
def test_the_four_stages_of_every_step_are_recorded(
    open_walled: Open, answer: str | Reply, parts: tuple[str, str, str]
) -> None:
    native = isinstance(answer, Reply)
    played = Played(open_walled(), *[answer] * 4, steps=1, native=native)
    played.turn()
    step = played.log.of("step")[-1]
    assert tuple(step[name] for name in PARTS) == parts
    assert step["actions"] == ([] if step["error"] else ["list"])
    assert set(step) == {"turn", "step", *PARTS, "actions", "note", "error", "usage", "finish"}


def test_the_transcript_tells_everything(open_walled: Open) -> None:
    answer = "### Observation\nO\n### Reflection\nR\n### Planning\nP\n### Action: read\npath: README.md"
    played = Played(open_walled(), answer, "no", SUBMIT)
    played.turn()
    read, bad, submit = played.log.of("step")
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "cost_usd": 0.5}
    assert read == {
        "turn": 1,
        "step": 1,
        "observation": "O",
        "reflection": "R",
        "planning": "P",
        "actions": ["read"],
        "note": "",
        "error": "",
        "usage": usage,
        "finish": "",
    }
    assert bad["error"].startswith("Your answer has no action")
    assert submit["actions"] == ["submit"]
    assert played.log.of("action") == [
        {"turn": 1, "step": 1, "number": 1, "kind": "read", "arguments": {"path": "README.md"}}
    ]
    assert [(line["step"], line["kind"], line["ok"]) for line in played.log.of("result")] == [
        (1, "read", True),
        (2, "submit", True),
    ]
    said = "\n\n".join(line["content"] for line in played.log.of("message"))
    for asked in played.model.asked:
        for message in asked:
            for piece in message.content.split("\n\n"):
                assert piece in said


@pytest.mark.parametrize("path", ["a.py", "./a.py"])
def test_a_file_that_one_answer_writes_twice_is_told(open_walled: Open, path: str) -> None:
    writes = [Action(kind="write", arguments={"path": each, "text": "x = 1\n"}) for each in ("a.py", "b.py", path)]
    played = Played(open_walled(), render(Step(actions=tuple(writes))), steps=1)
    played.turn()
    assert played.results() == [
        "Wrote a.py (1 line).",
        "Wrote b.py (1 line).",
        f"Wrote {path} (1 line). It replaces what action 1 of this answer wrote.",
    ]
