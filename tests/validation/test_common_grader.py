"""One grader for all answers of a task finds what grading each answer alone finds, also with tests that keep something."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.sandboxes import Sandbox, SandboxContext, process
from pytest_recode.task import Task
from pytest_recode.validation.checks import checks
from pytest_recode.validation.gradings import CommonGrader
from pytest_recode.validation.result import Validation
from pytest_recode.validation.validate import validate
from tests.plugin.conftest import FILES, MANIFEST

SQUARE = "from constants import TWO\n\n\ndef twice(x):\n    return x * x\n\n\ndef half(x):\n    return x / TWO\n"
SUM = SQUARE.replace("x * x", "x + x")


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    made = process.KIND.make(SandboxContext(run=f"common-{os.getpid()}", python=sys.executable, image=""))
    yield made
    made.close()


def task_with(place: Path, tests: str, cases: str = "") -> Task:
    """The task of `FILES` with these tests, and with x * x as a wrong and as a right answer, besides x + x."""
    requirement = f"requirement: Write answer.py\ninterface: answer.twice\n{cases}"
    files = {
        **FILES,
        "task.yaml": MANIFEST.format(id="tiny", domain="ml"),
        "tests/test_answer.py": f"import os\nimport random\nimport pytest\n{tests}{HALF}",
        "proofs/wrong/square/requirement.yaml": requirement,
        "proofs/wrong/square/answer.py": SQUARE,
        "proofs/right/a-sum/answer.py": SUM,
        "proofs/right/square/answer.py": SQUARE,
    }
    for path, text in files.items():
        (place / path).parent.mkdir(parents=True, exist_ok=True)
        (place / path).write_text(text)
    (task,) = FORMAT.load(place / "task.yaml")
    return task


HALF = """
@pytest.mark.interface("answer.half")
def test_half(candidate):
    assert candidate.answer.half(3.0) == 1.5
"""
TWICE = '@pytest.mark.interface("answer.twice")\n'
STORES = (
    f"{TWICE}def test_twice(candidate):\n"
    "    found = candidate.answer.twice(3)\n"
    "    if not os.path.exists('stored'):\n"
    "        open('stored', 'w').write(str(found))\n"
    "    assert open('stored').read() == str(found)\n"
)
LEAVES = (
    f"{TWICE}def test_twice(candidate):\n"
    "    found = candidate.answer.twice({number})\n"
    "    assert not os.path.exists('left')\n"
    "    open('left', 'w').close()\n"
    "    assert found == 2 * {number}\n"
    "    os.unlink('left')\n"
)


def found(task: Task, sandbox: Sandbox, name: str, seeds: int = 1) -> Validation:
    """What one check finds, after the others of the task, in the same grader."""
    with closing(CommonGrader(task, sandbox)) as common:
        for check in checks(task):
            result = validate(check, common, seeds=seeds)
            if check.name == name:
                return result
    raise AssertionError(name)


@pytest.mark.slow
def test_a_file_that_a_case_leaves_is_not_found_by_the_next_answer(tmp_path: Path, sandbox: Sandbox) -> None:
    """Such tests accept every answer, and no earlier one must hide that."""
    task = task_with(tmp_path, STORES)
    assert "proofs/wrong/square solves the task" in found(task, sandbox, "wrong").problem
    assert found(task, sandbox, "right").problem == ""
    mutants = found(task, sandbox, "mutants-answer.twice")
    assert (mutants.noticed, mutants.tried) == (0, len(mutants.survivors))


@pytest.mark.slow
def test_a_file_that_only_wrong_answers_leave(tmp_path: Path, sandbox: Sandbox) -> None:
    """Of the mutants of `x * 2`, the tests cannot tell those that give 0 for 0."""
    task = task_with(tmp_path, LEAVES.format(number=0))
    assert "proofs/wrong/square solves the task" in found(task, sandbox, "wrong").problem
    mutants = found(task, sandbox, "mutants-answer.twice")
    assert 0 < mutants.noticed < mutants.tried
    assert found(task_with(tmp_path, LEAVES.format(number=3)), sandbox, "wrong").problem == ""


@pytest.mark.slow
@pytest.mark.parametrize("cases", ["", "cases: [test_twice]\n"])
def test_cases_that_need_an_earlier_case(tmp_path: Path, sandbox: Sandbox, cases: str) -> None:
    """Without it they would fail for every answer, so all cases run. Both are of one interface: others have a grader of their own."""
    earlier = f"KEPT = {{}}\n{TWICE}def test_first(candidate):\n    KEPT[1] = candidate.answer.twice(0)\n"
    task = task_with(
        tmp_path,
        f"{earlier}{TWICE}def test_twice(candidate):\n    assert candidate.answer.twice(0) == 0 * KEPT[1]\n",
        cases,
    )
    assert "proofs/wrong/square solves the task" in found(task, sandbox, "wrong").problem
    mutants = found(task, sandbox, "mutants-answer.twice")
    assert 0 < mutants.noticed < mutants.tried


@pytest.mark.slow
@pytest.mark.parametrize(
    "drawn",
    [
        "random.SystemRandom().randrange(2)",
        "random.randrange(2)",
        "(lambda local: local.setstate(random.getstate()) or local)(random.Random()).randrange(2)",
    ],
)
def test_what_is_drawn_while_tests_are_collected_differs_between_seeds(
    tmp_path: Path, sandbox: Sandbox, drawn: str
) -> None:
    """x * x is right for 2 and wrong for 3: the check of right answers must notice it among 24 seeds."""
    task = task_with(
        tmp_path,
        f"NUMBER = 2 + {drawn}\n{TWICE}def test_twice(candidate):\n    assert candidate.answer.twice(NUMBER) == 2 * NUMBER\n",
    )
    [right] = [check for check in checks(task) if check.name == "right"]
    with closing(CommonGrader(task, sandbox)) as common:
        assert "proofs/right/square fails" in validate(right, common, seeds=24).problem


@pytest.mark.slow
def test_hooks_of_a_conftest_belong_to_the_whole_session(tmp_path: Path, sandbox: Sandbox) -> None:
    tests = f"TOLERANCE = [0]\n{TWICE}def test_twice(candidate):\n    assert abs(candidate.answer.twice(3) - 6) <= TOLERANCE[0]\n"
    task = task_with(tmp_path, tests)
    hook = "def pytest_runtestloop(session):\n    session.items[0].module.TOLERANCE[0] = 5\n"
    assert found(task, sandbox, "wrong").problem == ""
    (tmp_path / "tests/conftest.py").write_text(hook)
    assert "proofs/wrong/square solves the task" in found(task, sandbox, "wrong").problem


@pytest.mark.slow
def test_temporary_directories_are_removed_after_each_answer(tmp_path: Path, sandbox: Sandbox) -> None:
    """Otherwise the disk is full after some of them, and the rest fail."""
    tests = (
        "import tempfile\n"
        f"{TWICE}def test_twice(candidate, tmp_path):\n"
        "    base = tmp_path.parent.parent\n"
        "    assert sum(path.is_dir() for path in base.glob('pytest-[0-9]*')) == 1\n"
        "    assert candidate.answer.twice(3) == 6\n"
    )
    task = task_with(tmp_path, tests)
    assert found(task, sandbox, "wrong").problem == ""
    mutants = found(task, sandbox, "mutants-answer.twice")
    assert mutants.noticed == mutants.tried > 1
    assert "square" in found(task, sandbox, "right").problem
    assert "a-sum" not in found(task, sandbox, "right").problem


@pytest.mark.slow
def test_a_constant_answer_beside_a_repository_that_keeps_something(tmp_path: Path, sandbox: Sandbox) -> None:
    """Each interface then has a process of its own, as in an episode: in a common one, both constants would fail."""
    using = "    candidate.registry.register('layer')\n"
    task = task_with(
        tmp_path,
        f"{TWICE}def test_twice(candidate):\n{using}    assert candidate.answer.twice(0.0) == 0.0\n"
        f'@pytest.mark.interface("answer.half")\ndef test_whole(candidate):\n{using}    assert candidate.answer.half(0.0) == 0.0\n',
    )
    path = task.manifest.parent / "tests/test_answer.py"
    path.write_text(path.read_text().removesuffix(HALF))
    (task.manifest.parent / "repo/registry.py").write_text(
        "NAMES = set()\n\n\ndef register(name):\n    if name in NAMES:\n        raise ValueError(name)\n    NAMES.add(name)\n"
    )
    problem = found(task, sandbox, "constant").problem
    for constant in ("0.0", "its first argument"):
        assert f"a target that answers {constant} to everything solves the task" in problem
