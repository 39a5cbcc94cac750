"""Edits of the recode agent: where the old text is found, what is told where it is not, and what an edit must not do by accident."""

from __future__ import annotations

import pytest

from pytest_recode.agents.actions import Action, Step
from pytest_recode.agents.text_form import read_text
from pytest_recode.agents.tool_execution import ActionOutcome, execute
from pytest_recode.agents.workspace import SandboxWorkspace
from tests.agents.conftest import Open
from tests.agents.played import RIGHT, Played
from tests.agents.scripted import Act, acts, answer
from tests.messages import assert_message


def edit(workspace: SandboxWorkspace, path: str, old: str, new: str, **more: str) -> ActionOutcome:
    """As a call gives it: any piece of the file."""
    return execute(Action(kind="edit", arguments={"path": path, "old": old, "new": new, **more}), workspace, str)


def change(workspace: SandboxWorkspace, path: str, old: str, new: str) -> ActionOutcome:
    """As a block gives it: whole lines."""
    step = read_text(f"```{path}\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n```\n")
    assert isinstance(step, Step), step
    return execute(step.actions[0], workspace, str)


@pytest.mark.parametrize("native", [False, True])
def test_several_places_of_a_file_are_edited_by_one_answer(open_walled: Open, native: bool) -> None:
    edits: list[Act] = [
        ("edit", {"path": "solver.py", "old": "def solve(x):\n", "new": "def solve(y):\n"}),
        ("edit", {"path": "solver.py", "old": "    raise NotImplementedError\n", "new": "    return 2 * y\n"}),
    ]
    played = Played(open_walled(), answer(*edits, native=native))
    played.turn()
    assert played.results() == ["Edited solver.py at line 1.", "Edited solver.py at line 2."]
    assert played.workspace.targets() == {"solver.py": b"def solve(y):\n    return 2 * y\n"}


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ("x", "the old text occurs 2 times in lib/helpers.py. Give more lines around it, so that it is unique, or "
              "`replace_all: true` to replace it in every place."),
        ("y", "the old text does not occur in lib/helpers.py. It must be exact, blanks included."),
        ("return 2 * x\n# end", "(line 2 is like its first line: '    return 2 * x'). It must be exact"),
    ],
)  # fmt: skip
def test_an_edit_that_is_not_unique_is_refused(open_walled: Open, old: str, words: str) -> None:
    workspace = open_walled()
    before = workspace.read("lib/helpers.py")
    result = edit(workspace, "lib/helpers.py", old, "z")
    assert not result.done
    assert words in result.text
    assert workspace.read("lib/helpers.py") == before


def test_the_lines_of_a_block_are_no_end_of_a_longer_line(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"my_x = 2\nx = 1\nif x:\n    x = 1\n"})
    assert change(workspace, "a.py", "x = 1\n", "x = 2\n") == ActionOutcome(True, "Edited a.py at line 2.")
    assert workspace.read("a.py") == "my_x = 2\nx = 2\nif x:\n    x = 1\n"
    assert change(workspace, "a.py", "x = 2\n", "").done
    assert workspace.read("a.py") == "my_x = 2\nif x:\n    x = 1\n"


@pytest.mark.parametrize("old", ["return 2 * x\n", "   return 2 * x\n", "def double(x):\n  return 2 * x\n"])
def test_lines_without_their_indentation_are_told_so(open_walled: Open, old: str) -> None:
    workspace = open_walled()
    result = change(workspace, "lib/helpers.py", old, "return x + x\n")
    assert not result.done
    assert "line 2" in result.text
    assert "'    return 2 * x'" in result.text


@pytest.mark.parametrize("data", [b"y = 1\nmy_x = 1\n", b"y = 1\r\nmy_x = 1\r\n"])
def test_a_line_that_is_the_end_of_another_one_is_told_so(open_walled: Open, data: bytes) -> None:
    result = change(open_walled(files={"a.py": data}), "a.py", "x = 1\n", "x = 2\n")
    assert not result.done
    assert_message(result.text, "a.py", "line 2", "my_x = 1")


def test_lines_that_are_not_there_are_refused_whatever_the_line_ends(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"y = 1\r\nmy_x = 1\n"})
    assert not change(workspace, "a.py", "x = 1\n", "x = 2\n").done
    assert not change(workspace, "a.py", "1\nmy_x = 1\n", "x = 2\n").done


def test_a_block_that_occurs_twice_is_told_to_have_more_lines(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"x = 1\ny = 1\nx = 1\n"})
    result = change(workspace, "a.py", "x = 1\n", "x = 2\n")
    assert not result.done
    assert "occurs 2 times in a.py. Give more lines around it" in result.text
    assert "replace_all" not in result.text, "a block has no such argument"


@pytest.mark.parametrize(("end", "left"), [("\n", b"x = 1\ny = 3\n"), ("\r\n", b"x = 1\r\ny = 3\r\n")])
def test_a_block_finds_the_last_line_of_a_file_without_a_newline(open_walled: Open, end: str, left: bytes) -> None:
    workspace = open_walled(files={"solver.py": f"x = 1{end}y = 2".encode()})
    assert change(workspace, "solver.py", "y = 2\n", "y = 3\n").done
    assert workspace.targets() == {"solver.py": left}


def test_an_edit_replaces_every_place_where_it_is_asked_to(open_walled: Open) -> None:
    workspace = open_walled()
    result = edit(workspace, "lib/helpers.py", "x", "value", replace_all="true").text
    assert result == "Edited lib/helpers.py in 2 places, the first at line 1."
    result = edit(workspace, "lib/helpers.py", "2 * ", "3 * ", replace_all="true").text
    assert result == "Edited lib/helpers.py at line 2."
    assert workspace.read("lib/helpers.py") == "def double(value):\n    return 3 * value\n"


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("def double(x):\n", "def double(x):  # twice", "`old` ends with a line break and `new` does not, so that lines 1 and 2"),
        ("\n    return 2 * x", "    return x + x", "`old` begins with a line break and `new` does not, so that lines 1 and 2"),
        ("):\n", "", "`old` ends with a line break"),
    ],
)  # fmt: skip
def test_an_edit_that_would_join_lines_is_refused(open_walled: Open, old: str, new: str, words: str) -> None:
    workspace = open_walled()
    before = workspace.read("lib/helpers.py")
    result = edit(workspace, "lib/helpers.py", old, new)
    assert not result.done
    assert words in result.text
    assert "Give `new` the same line break" in result.text
    assert workspace.read("lib/helpers.py") == before


@pytest.mark.parametrize(
    ("old", "new"), [("def double(x):\n", ""), ("\n    return 2 * x", ""), ("    return 2 * x\n", "    return x + x")]
)
def test_an_edit_may_remove_whole_lines(open_walled: Open, old: str, new: str) -> None:
    assert edit(open_walled(), "lib/helpers.py", old, new).text.startswith("Edited lib/helpers.py")


@pytest.mark.parametrize(
    ("old", "new"), [("def double(x):\n", ""), ("    return 2 * x\n", "\n"), ("def double(x):\n    return 2 * x\n", "")]
)
def test_a_block_may_remove_lines(open_walled: Open, old: str, new: str) -> None:
    workspace = open_walled()
    assert change(workspace, "lib/helpers.py", old, new).done
    assert workspace.read("lib/helpers.py") == "def double(x):\n    return 2 * x\n".replace(old, new)


def test_a_line_that_an_edit_leaves_empty_is_told(open_walled: Open) -> None:
    files = {"a.py": b"x = 1\n\ny = 2\n"}
    assert "line 3 is empty now" in edit(open_walled(files=files), "a.py", "y = 2", "").text
    assert "empty" not in change(open_walled(files=files), "a.py", "x = 1\n", "").text, "line 2 was empty before"


def test_an_edit_of_a_file_of_equal_lines_is_told_where_it_differs(open_walled: Open) -> None:
    workspace = open_walled()
    workspace.write("same.txt", "a\n" * 200_000)
    result = edit(workspace, "same.txt", "a\n" * 100_000 + "b", "c")
    assert not result.done
    assert "from line 1 on it is the same for 100000 lines, and then line 100001 is 'a', not 'b'" in result.text


@pytest.mark.parametrize("old", ["save_every  ==  2:\n    go()", "  save_every == 2:\n    go()"])
def test_an_old_text_that_is_wrong_in_its_blanks_is_told_the_nearest_line(open_walled: Open, old: str) -> None:
    workspace = open_walled(files={"a.py": b"x = 1\n    save_every == 2:\n        go()\n"})
    result = edit(workspace, "a.py", old, "y")
    assert not result.done
    assert "(line 2 is like its first line: '    save_every == 2:')" in result.text


def test_an_old_text_with_the_numbers_of_its_lines_is_told_so(open_walled: Open) -> None:
    result = edit(open_walled(), "lib/helpers.py", "1\tdef double(x):\n2\t    return 2 * x", "z")
    assert not result.done
    assert "with the numbers of its lines. Leave the numbers out" in result.text


def test_an_edit_that_was_done_already_is_told_so(open_walled: Open) -> None:
    result = edit(open_walled(), "lib/helpers.py", "return x + x", "return 2 * x")
    assert not result.done
    assert "The new text is there already, at line 2" in result.text


@pytest.mark.parametrize(
    ("data", "old", "advice"),
    [
        ("k\x1b[0m\\n\n", "k\\x1b[0m\\n", "`\\x1b` is how the character U+001B is shown"),
        ("a\r\nb\n", "a\\r\nb", "`\\r` is how the character U+000D is shown"),
        ("a\u202eb\n", "a\\u202eb", "`\\u202e` is how the character U+202E is shown"),
        ("k\x1b[0m\n", "j\\x1b[0m", "It must be exact, blanks included."),
        ("k\\x41\n", "kA", "It must be exact, blanks included."),
        ("kA\n", "k\\x41", "It must be exact, blanks included."),
        ("# one\n# layer \u2013 sum\n", "layer - sum", "line 2 of the file has the character U+2013 where `old` has `-`"),
        ("say('no')\n", "say(\u2018no\u2019)", "line 1 of the file has `'` where `old` has the character U+2018"),
        ("a = 1\n", "a =\u00a01", "line 1 of the file has the character U+0020 where `old` has the character U+00A0"),
    ],
)  # fmt: skip
def test_an_edit_that_differs_by_an_escape_or_a_character_that_looks_alike_is_told(
    open_walled: Open, data: str, old: str, advice: str
) -> None:
    result = edit(open_walled(files={"a.txt": data.encode()}), "a.txt", old, "x")
    assert not result.done
    assert "the old text does not occur in a.txt" in result.text
    assert advice in result.text


# Line ends


def test_an_edit_with_other_line_ends_is_told_so(open_walled: Open) -> None:
    result = edit(open_walled(), "lib/helpers.py", "def double(x):\r\n    return 2 * x", "x = 1")
    assert not result.done
    assert "its lines end in line feeds alone, and those of `old` in CRLF" in result.text


def test_an_edit_keeps_the_line_ends_of_the_file(open_walled: Open) -> None:
    workspace = open_walled(files={"solver.py": b"a\r\nb\r\nc\r\n"})
    told = edit(workspace, "solver.py", "a\nb", "x\ny").text
    assert workspace.targets() == {"solver.py": b"x\r\ny\r\nc\r\n"}
    assert told.startswith("Edited solver.py at line 1. Its lines end in CRLF, and so do the new ones.")


@pytest.mark.parametrize(
    ("old", "new", "left"),
    [
        ("x = 1", "x = 1\nz = 3", b"x = 1\r\nz = 3\r\ny = 2\r\n"),
        ("x = 1\n", "x = 1\nz = 3\n", b"x = 1\r\nz = 3\r\ny = 2\r\n"),
        ("x = 1", "x = 1\r\nz = 3", b"x = 1\r\nz = 3\r\ny = 2\r\n"),
        ("= 1\ny", "", b"x  = 2\r\n"),
    ],
)
def test_an_edit_of_lines_shown_with_line_feeds_gives_none_another_end(
    open_walled: Open, old: str, new: str, left: bytes
) -> None:
    workspace = open_walled(files={"solver.py": b"x = 1\r\ny = 2\r\n"})
    assert edit(workspace, "solver.py", old, new).done
    assert workspace.targets() == {"solver.py": left}


def test_a_block_keeps_the_line_ends_of_the_file(open_walled: Open) -> None:
    workspace = open_walled(files={"solver.py": b"x = 1\r\ny = 2\r\n"})
    assert change(workspace, "solver.py", "y = 2\n", "y = 2\nz = 3\n").done
    assert workspace.targets() == {"solver.py": b"x = 1\r\ny = 2\r\nz = 3\r\n"}


def test_an_edit_where_line_ends_differ_is_done_as_it_is(open_walled: Open) -> None:
    workspace = open_walled(files={"solver.py": b"x = 1\r\ny = 2\n"})
    assert edit(workspace, "solver.py", "y = 2", "y = 2\nz = 3").done
    assert workspace.targets() == {"solver.py": b"x = 1\r\ny = 2\nz = 3\n"}


# What an edit leaves


def test_a_change_that_takes_a_function_away_says_so(open_walled: Open) -> None:
    workspace = open_walled(files={"a.py": b"def one(): ...\nclass Two: ...\nthree = 3\n"})
    assert "a.py does not define `Two` any more" in edit(workspace, "a.py", "class Two", "class Three").text
    assert "a.py does not define `one` any more" in change(workspace, "a.py", "def one(): ...\n", "").text
    assert "define" not in edit(workspace, "a.py", "three = 3", "three = 4").text


def test_an_edit_that_leaves_no_python_says_so(open_walled: Open) -> None:
    workspace = open_walled(files={"solver.py": RIGHT.encode()})
    result = edit(workspace, "solver.py", "return 2 * x", "return (2 * x").text
    assert result.startswith("Edited solver.py at line 2. Note: solver.py is not valid Python (")
    result = change(workspace, "solver.py", RIGHT.replace("return 2", "return (2"), "").text
    assert result == "Edited solver.py at line 1. Note: solver.py is empty now."


def test_a_byte_order_mark_at_the_beginning_of_a_file_is_python(open_walled: Open) -> None:
    workspace = open_walled(files={"solver.py": "\ufeffx = 1\n".encode()})
    assert edit(workspace, "solver.py", "x = 1", "x = 2") == ActionOutcome(True, "Edited solver.py at line 1.")


def test_a_file_that_is_not_there_cannot_be_edited(open_walled: Open) -> None:
    played = Played(open_walled(), acts(("edit", {"path": "new.py", "old": "x", "new": "y"})))
    played.turn()
    assert played.results() == ["Refused: there is no new.py. `list` shows the files."]
