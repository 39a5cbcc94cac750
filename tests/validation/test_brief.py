"""Code of the reference and of the hidden tests in what an agent may read."""

from __future__ import annotations

from pathlib import Path
from textwrap import indent

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.validation.brief import LONG, Passage, brief_findings, passages
from tests.formats.task_directory import FILES, write
from tests.messages import assert_line, assert_message

STUB = 'def mean(values, trim=0.0):\n    """Trimmed mean."""\n    raise NotImplementedError\n'
BODY = """\
    ordered = sorted(float(value) for value in values if value == value)
    cut = int(trim * len(ordered))
    middle = ordered[cut : len(ordered) - cut]
    if not middle:
        raise ValueError("no values are left")
    return sum(middle) / len(middle)
"""
LINES = BODY.splitlines(keepends=True)
REFERENCE = f'def mean(values, trim=0.0):\n    """Trimmed mean."""\n    # the order decides\n{BODY}'
TEST = """\
def draw(count):
    return [((7 * index) % count - 3.0) / 2.0 for index in range(count) if index % 5 != 2 and index % 11 != 4 and index != count - 1]


def test_mean(candidate):
    values = draw(9)
    for trim in (0.0, 0.1, 0.25):
        ordered = sorted(values)
        assert abs(candidate.stats.mean(values, trim=trim) - sum(ordered) / len(ordered)) < 1e-9 * len(values)
"""
TASK = {"repo/stats.py": STUB, "reference/stats.py": REFERENCE, "tests/test_stats.py": TEST}
INSTRUCTION = FILES["instruction.md"]


def found(root: Path, files: dict[str, str | None]) -> tuple[str, str]:
    [task] = FORMAT.load(write(root, files={**TASK, **files}))
    return brief_findings(task, task.load())


@pytest.mark.parametrize(
    ("files", "place", "source"),
    [
        ({"instruction.md": f"{INSTRUCTION}\n```python\n{REFERENCE}```\n"}, "instruction.md:", "reference/stats.py:"),
        ({"instruction.md": INSTRUCTION + indent(BODY, "> ")}, "instruction.md:2", "reference/stats.py:4-9"),
        ({"paper.md": f"Like this:\n\n{indent(BODY, '+ ')}"}, "paper.md:3", "reference/stats.py:4-9"),
        ({"repo/stats.py": STUB + indent(BODY, "# ")}, "repo/stats.py:4", "reference/stats.py:4-9"),
        ({"repo/old/stats.py": f"def average(values, trim):\n{BODY}"}, "repo/old/stats.py:", "reference/stats.py:"),
        ({"instruction.md": f"{INSTRUCTION}\n{TEST}"}, "instruction.md:", "tests/test_stats.py:"),
    ],
)
def test_hidden_code_that_an_agent_may_read_is_a_problem(
    tmp_path: Path, files: dict[str, str | None], place: str, source: str
) -> None:
    problem, weak = found(tmp_path, files)
    assert weak == ""
    assert_line(problem, place, source, "tokens of code")
    assert problem.startswith("mean: ")


def test_a_passage_names_its_lines_its_beginning_and_the_next_step(tmp_path: Path) -> None:
    problem, _ = found(tmp_path, {"instruction.md": f"{INSTRUCTION}\nSo:\n\n{BODY}"})
    _, line = problem.splitlines()
    assert_message(line, "instruction.md:5", "reference/stats.py:4-9", "'ordered = sorted(", "in words or formulas")


def test_two_lines_in_the_instruction_are_weak_and_in_the_repository_nothing(tmp_path: Path) -> None:
    two = "".join(LINES[:2])
    problem, weak = found(tmp_path / "words", {"instruction.md": f"{INSTRUCTION}\n```\n{two}```\n"})
    assert problem == ""
    assert_message(weak, "instruction.md:4", "reference/stats.py:4-5", "in words or formulas")
    assert found(tmp_path / "code", {"repo/data.py": f"def f(values, trim):\n{two}"}) == ("", "")
    both = {"instruction.md": f"{INSTRUCTION}\n{two}", "repo/data.py": f"def f(values, trim):\n{two}"}
    assert found(tmp_path / "both", both) == ("", "")


def test_tests_that_share_code_with_the_repository_are_weak(tmp_path: Path) -> None:
    problem, weak = found(tmp_path, {"repo/data.py": TEST.partition("\n\n\n")[0] + "\n"})
    assert problem == ""
    assert_message(weak, "repo/data.py:1", "tests/test_stats.py:1-2", "remove it")


def test_what_a_brief_may_say(tmp_path: Path) -> None:
    """A signature, a formula, a call, and the docstring and the comments of the reference, in whatever words."""
    words = "Sort all values that are numbers, drop the share `trim` of them at both ends, and return the mean of all of the others that are left."
    reference = REFERENCE.replace("Trimmed mean.", words).replace("the order decides", words)
    instruction = f"{words} `mean(values, trim=0.0)` is `sum(middle) / len(middle)` of `middle = ordered[cut:-cut]`.\n"
    files = {"instruction.md": instruction, "reference/stats.py": reference, "repo/stats.py": STUB}
    assert found(tmp_path / "words", {**files, "repo/data.py": f'"""{words}"""\n'}) == ("", "")
    unfinished = {"repo/stats.py": REFERENCE.replace(LINES[1], "    cut = 0\n")}  # the agent completes it
    assert found(tmp_path / "stub", unfinished) == ("", "")


def test_at_most_five_passages_are_shown(tmp_path: Path) -> None:
    problem, _ = found(tmp_path, {f"repo/old{number}.py": f"def f(values, trim):\n{BODY}" for number in range(7)})
    assert problem.splitlines()[-1] == "and 2 more"
    assert len(problem.splitlines()) == 7


def test_files_that_are_no_text_or_no_python_are_compared_or_skipped(tmp_path: Path) -> None:
    files = {"reference/stats.py": "def (\n" + BODY, "instruction.md": BODY, "repo/data.bin": "\0"}
    [task] = FORMAT.load(write(tmp_path, files={**TASK, **files}))
    [passage] = passages(task, task.load())
    assert isinstance(passage, Passage)
    assert passage.tokens >= LONG
    assert (passage.line, passage.first, passage.last) == (1, 2, 7)
