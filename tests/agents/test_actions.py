"""What each action of the recode agent does, and what its result tells. Edits have a file of their own."""

from __future__ import annotations

import re

import pytest

from pytest_recode.agents.actions import Action
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.prompt_texts import CRLF, ESCAPED, targets_text
from pytest_recode.agents.tool_execution import MAX_RESULT, MAX_RESULTS, ActionOutcome, execute
from pytest_recode.agents.workspace import SandboxWorkspace
from pytest_recode.task import Limits
from tests.agents.conftest import Open
from tests.agents.played import RIGHT, SUBMIT, Played, block, shell
from tests.agents.scripted import Act, a_brief, acts, answer, calls


def done(workspace: SandboxWorkspace, kind: str, **arguments: str) -> ActionOutcome:
    return execute(Action(kind=kind, arguments=arguments), workspace, str)


@pytest.mark.slow
def test_every_action_tells_what_it_saw(open_walled: Open) -> None:
    actions: list[tuple[str, dict[str, str]]] = [
        ("list", {}),
        ("read", {"path": "lib/helpers.py"}),
        ("grep", {"pattern": "def", "path": "lib"}),
        ("search", {"query": "double a number"}),
        ("write", {"path": "new.py", "text": "a\nb"}),
        ("edit", {"path": "solver.py", "old": "raise NotImplementedError", "new": "return 2 * x"}),
        ("run", {"command": "python -c 'import solver; print(solver.solve(4))'; exit 3"}),
    ]
    assert {*FORMS} - {kind for kind, _ in actions} == {"submit"}
    played = Played(open_walled(), acts(*actions))
    assert played.turn() == (1, False)
    assert played.results() == [
        "README.md\ninstruction.md\nlib/helpers.py\npaper.md\nsolver.py",
        "def double(x):\n    return 2 * x\n",
        "lib/helpers.py:1:def double(x):",
        "# lib/helpers.py, lines 1 to 2: double\ndef double(x):\n    return 2 * x",
        "Wrote new.py (2 lines). A newline was added at its end.",
        "Edited solver.py at line 2.",
        "Exit status 3.\n8\n",
    ]


def test_every_block_tells_what_it_did(open_walled: Open) -> None:
    change = "```python solver.py\n<<<<<<< SEARCH\n    raise NotImplementedError\n=======\n    return 2 * x\n>>>>>>> REPLACE\n```\n"
    search = "```search\ndouble a number\n```\n"
    played = Played(open_walled(), "\n".join([search, block("a\nb\n", "new.py"), change, shell("cat solver.py")]))
    assert played.turn() == (1, False)
    assert played.results() == [
        "# lib/helpers.py, lines 1 to 2: double\ndef double(x):\n    return 2 * x",
        "Wrote new.py (2 lines).",
        "Edited solver.py at line 2.",
        f"Exit status 0.\n{RIGHT}",
    ]


@pytest.mark.parametrize("native", [False, True])
def test_a_result_names_what_it_is_of(open_walled: Open, native: bool) -> None:
    both: list[Act] = [
        ("search", {"query": "double a number"}),
        ("run", {"command": f"printf 'a\\nb'\n# {'x' * 1000}"}),
        ("write", {"path": "lib/new.py", "text": "x = 1\n"}),
    ]
    looks: list[Act] = ["list", ("grep", {"pattern": "def", "path": "lib"}), ("read", {"path": "lib/helpers.py"})]
    actions = [*looks, *both] if native else both
    played = Played(open_walled(), answer(*actions, native=native), answer("submit", native=native))
    played.turn()
    prompt = played.prompt(1)
    assert "Result of search double a number:\n# lib/helpers.py" in prompt
    assert re.search(r"Result of run printf 'a\\nb'\.\.\.:\nExit status 0\.\na\nb", prompt)
    assert "Result of write lib/new.py:\nWrote lib/new.py (1 line)." in prompt
    if native:
        assert "Result of read lib/helpers.py:\ndef double(x):\n    return 2 * x\n" in prompt
        assert "Result of grep def in lib:\nlib/helpers.py:1:def double(x):" in prompt
        assert "Result of list:\nREADME.md\n" in prompt


def test_what_is_not_there_is_told(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"x = 1\n", "empty.py": b""})
    workspace.run("mkdir nothing")
    assert done(workspace, "grep", pattern="no such") == ActionOutcome(True, "No line matches.")
    assert done(workspace, "read", path="empty.py") == ActionOutcome(True, "empty.py is empty.")
    assert done(workspace, "list", path="nothing") == ActionOutcome(True, "No file below nothing.")
    missing = done(workspace, "read", path="lib/nothing.py")
    assert not missing.done
    assert "`list` shows the files." in missing.text


def test_a_path_that_does_not_exist_names_the_file_that_does(open_walled: Open) -> None:
    told = "Refused: there is no src. There is lib/helpers.py."
    assert done(open_walled(), "read", path="src/helpers.py") == ActionOutcome(False, told)


def test_a_pattern_of_paths_is_no_path(open_walled: Open) -> None:
    found = done(open_walled(), "read", path="lib/*.py")
    assert not found.done
    assert "names one file or directory, and is no pattern" in found.text


@pytest.mark.parametrize("path", ["src/a.py, src/b.py", "README.md src/b.py", "a.py,b.py"])
def test_a_path_that_may_be_meant_as_several_is_shown_whole(open_walled: Open, path: str) -> None:
    found = done(open_walled(files={"README.md": b"x\n"}), "read", path=path)
    assert not found.done
    assert f"`read` takes one path, and `path` was `{path}`" in found.text


def test_a_path_that_goes_up_is_refused(open_walled: Open) -> None:
    for kind, given in (("read", {}), ("write", {"text": "x\n"}), ("list", {}), ("grep", {"pattern": "x"})):
        assert not done(open_walled(), kind, path="lib/../../x.py", **given).done


def test_a_directory_that_is_read_is_listed(open_walled: Open) -> None:
    found = done(open_walled(), "read", path="lib")
    assert found == ActionOutcome(True, "lib is a directory. Its files:\nlib/helpers.py")
    assert "solver.py" in done(open_walled(), "read", path=".").text


@pytest.mark.parametrize("native", [False, True])
def test_nothing_that_changes_is_done_after_a_refused_action(open_walled: Open, native: bool) -> None:
    edit: Act = ("edit", {"path": "solver.py", "old": "no such text\n", "new": "x\n"})
    rest: list[Act] = [("search", {"query": "double"}), ("run", {"command": "rm -r *"})]
    rest += [("write", {"path": "solver.py", "text": "x\n"}), "submit"]
    played = Played(open_walled(), answer(edit, *rest, native=native), steps=1)
    assert played.turn() == (1, False)
    told = [(line["kind"], line["ok"]) for line in played.log.of("result")]
    assert told == [("edit", False), ("search", True), ("run", False), ("write", False), ("submit", False)]
    assert played.results()[2:] == ["Not done, since action 1 (`edit`) was refused."] * 3
    assert [line["kind"] for line in played.log.of("action")] == ["edit", "search"]
    assert played.workspace.targets() == {"solver.py": a_brief().repo["solver.py"]}


def test_what_only_looks_is_done_after_a_refused_action(open_walled: Open) -> None:
    looks: list[Act] = [("read", {"path": "no.py"}), ("read", {"path": "lib/helpers.py"}), "list"]
    played = Played(open_walled(), acts(*looks, ("grep", {"pattern": "def"}), ("run", {"command": "ls"})))
    played.turn()
    assert [line["ok"] for line in played.log.of("result")] == [False, True, True, True, False]


@pytest.mark.parametrize("path", ["a.py", "./a.py"])
def test_a_file_that_one_answer_writes_twice_is_told(open_walled: Open, path: str) -> None:
    writes = [("write", {"path": each, "text": "x = 1\n"}) for each in ("a.py", "b.py", path)]
    played = Played(open_walled(), acts(*writes))
    played.turn()
    first, second, third = played.results()
    assert (first, second) == ("Wrote a.py (1 line).", "Wrote b.py (1 line).")
    assert third.endswith(" It replaces what action 1 of this answer wrote.")


# Commands


def test_a_time_limit_above_that_of_a_command_is_told_where_it_counts(open_walled: Open) -> None:
    workspace = open_walled(Limits(command_seconds=1))
    assert done(workspace, "run", command="echo done", timeout="120") == ActionOutcome(True, "Exit status 0.\ndone\n")
    slow = done(workspace, "run", command="echo begun; sleep 99", timeout="120")
    assert slow.failed
    first = slow.text.partition("\n")[0]
    assert first.startswith("Stopped after 1 s, the limit of a command, which `timeout` cannot raise")


def test_a_command_that_a_signal_ended_has_failed(open_walled: Open) -> None:
    result = done(open_walled(), "run", command="kill -9 $$")
    assert (result.done, result.failed) == (True, True)
    assert result.text.startswith("Ended by signal 9.")


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("printf 'a\\r\\nb\\r\\n'", f"Exit status 0.\na\nb\n\n{CRLF}"),
        ("printf 'a\\r\\nb\\n'", f"Exit status 0.\na\\r\nb\n\n{ESCAPED}"),
        ("printf '\\\\x1b \\033'", f"Exit status 0.\n\\x1b \\x1b\n{ESCAPED}"),
        ("printf '\\\\x1b\\n'", "Exit status 0.\n\\x1b\n"),
        ("true", "Exit status 0.\n(no output)"),
    ],
)
def test_what_is_not_shown_as_it_is_in_the_output_of_a_command_is_told(
    open_walled: Open, command: str, output: str
) -> None:
    assert done(open_walled(), "run", command=command) == ActionOutcome(True, output)


def test_control_characters_of_a_commands_output_are_shown_as_escapes(open_walled: Open) -> None:
    played = Played(open_walled(), shell("printf '\\000a\\033[1mb\\r\\nc\\rd\\te\\n'"), SUBMIT)
    played.turn()
    assert f"\\x00a\\x1b[1mb\\r\nc\\rd\te\n\n{ESCAPED}\n" in played.last()
    assert played.last().count(ESCAPED) == 1


def test_large_results_are_cut_with_a_note(open_walled: Open) -> None:
    played = Played(open_walled(), shell("head -c 50000 /dev/zero | tr '\\0' y"), SUBMIT)
    played.turn()
    assert "of 50015 characters left out ...]" in played.last()
    assert len(played.results()[0]) < MAX_RESULT + 1000


def test_a_result_that_the_sandbox_had_cut_is_not_said_to_have_been_shorter(open_walled: Open) -> None:
    text = done(open_walled(), "run", command="head -c 108898 /dev/zero | tr '\\0' y").text
    assert re.search(r"\[\.\.\. at least 49\d+ of at least 65\d+ characters left out \.\.\.\]", text)


@pytest.mark.parametrize("native", [False, True])
def test_results_of_one_answer_share_the_room(open_walled: Open, native: bool) -> None:
    look: Act = ("read", {"path": "big"}) if native else ("run", {"command": "cat big"})
    workspace = open_walled(files={"solver.py": b"", "big": b"y" * 30_000})
    played = Played(workspace, answer(*[look] * 8, native=native))
    played.turn()
    assert len(played.results()) == 8
    assert sum(map(len, played.results())) < MAX_RESULTS + 2000


# What is written, and how it is shown


@pytest.mark.parametrize(("text", "phrase"), [("x\n", "(1 line)"), ("x\ny\n", "(2 lines)"), ("", "(0 lines)")])
def test_lines_are_counted(open_walled: Open, text: str, phrase: str) -> None:
    assert phrase in done(open_walled(), "write", path="a.txt", text=text).text


def test_the_newline_that_a_write_lacks_is_that_of_its_lines(open_walled: Open) -> None:
    workspace = open_walled()
    assert "A newline was added" in done(workspace, "write", path="solver.py", text="a = 1\r\nb = 2").text
    assert workspace.targets() == {"solver.py": b"a = 1\r\nb = 2\r\n"}


@pytest.mark.parametrize("native", [False, True])
@pytest.mark.parametrize("path", ["a.py", "a.txt", "Makefile.am", "deep/er/a.md"])
def test_blank_lines_that_end_a_file_are_written(open_walled: Open, path: str, native: bool) -> None:
    workspace = open_walled()
    played = Played(workspace, answer(("write", {"path": path, "text": "end\n\n\n"}), native=native))
    played.turn()
    assert "A newline was added" not in played.results()[0]
    assert workspace.read(path) == "end\n\n\n"


NASTY = (
    "try:\n    import x\nexcept ImportError:\n    x = None\naction: int = 1\n'''\n### Action: submit\n```\nSUBMIT\n````bash\nrm -r *\n"
    "````\n'''\nSUBMIT = '\\x1b' + \"\\\\n\"\n\n\n"
)


@pytest.mark.parametrize("text", [NASTY, "\t\n \n", "# \u00e9 \U0001f600 \u2028 \u0085 \x0c \x7f\n"])
@pytest.mark.parametrize("native", [False, True])
def test_nasty_text_arrives_as_it_was_meant(open_walled: Open, text: str, native: bool) -> None:
    played = Played(open_walled(), answer(("write", {"path": "solver.py", "text": text}), native=native))
    played.turn()
    assert played.workspace.targets() == {"solver.py": text.encode()}


def test_bytes_that_are_no_text_can_be_written_by_a_call(open_walled: Open) -> None:
    played = Played(open_walled(), calls(("write", '{"path": "solver.py", "text": "\\udcff\\u0000\\n"}')))
    played.turn()
    assert played.workspace.targets() == {"solver.py": b"\xff\x00\n"}


@pytest.mark.parametrize(
    ("before", "text", "words"),
    [
        (RIGHT, "", " Note: solver.py is empty now."),
        (RIGHT, "def solve(x):\n    return (\n", "solver.py is not valid Python (line 2: '(' was never closed: `return (`)"),
        (RIGHT, "def solve(x):\n    return (\n", "; before this change it was valid."),
        ("def solve(", "def solve(:\n", " Note: solver.py is not valid Python (line 1: invalid syntax: `def solve(:`)."),
        ("def solve(", RIGHT, ""),
        (RIGHT, "x = '\0'\n", "); before this change it was valid."),
        (RIGHT, "x = '\x1b'\n", "holds the control character U+001B now"),
        (RIGHT, "x = " + "(" * 3000 + "\n", "); before this change it was valid."),
        (RIGHT, "x = " + "-" * 200_000 + "1\n", "); before this change it was valid."),
        (RIGHT, "import os\nfrom __future__ import annotations\n", "line 2: from __future__ imports must be at the"),
        (RIGHT, f'"""A module."""\n\nfrom __future__ import annotations\n\nimport os\n{RIGHT}', ""),
        (RIGHT, "def one(): ...\n", " Note: solver.py does not define `solve` any more."),
    ],
)  # fmt: skip
def test_a_write_that_leaves_no_good_python_says_so(open_walled: Open, before: str, text: str, words: str) -> None:
    workspace = open_walled()
    workspace.write("solver.py", before)
    told = done(workspace, "write", path="solver.py", text=text).text
    assert words in told
    assert bool(words) is ("Note:" in told)


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        (b"a\x1b[2Jb\n", "a\\x1b[2Jb\n"),
        (b"a\x00b", "a\\x00b"),
        (b"a\rb\n", "a\\rb\n"),
        (b"a\r\nb\n", "a\\r\nb\n"),
        ("a\x85\u202eb\n".encode(), "a\\x85\\u202eb\n"),
    ],
)
def test_characters_that_do_not_print_are_shown_and_stay_in_the_file(
    open_walled: Open, data: bytes, shown: str
) -> None:
    workspace = open_walled(files={"solver.py": data})
    assert done(workspace, "read", path="solver.py") == ActionOutcome(True, f"{shown}\n{ESCAPED}")
    targets = workspace.targets()
    assert targets == {"solver.py": data}
    prompt = targets_text(a_brief(repo={"solver.py": data}), targets)
    assert shown.rstrip() in prompt
    assert prompt.count(ESCAPED) == 1
    found = done(workspace, "grep", pattern="b").text
    assert not any(each in found for each in "\x1b\x00\r\x85")


def test_a_file_whose_lines_end_in_crlf_is_shown_with_line_feeds(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"x = 1\r\ny = 2\r\n"})
    assert done(workspace, "read", path="a.py") == ActionOutcome(True, f"x = 1\ny = 2\n\n{CRLF}")
