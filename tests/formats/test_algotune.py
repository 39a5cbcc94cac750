"""AlgoTune's layout: what is a task, what its files are, and the errors of damaged ones."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats import claimed
from pytest_recode.formats.algotune import FORMAT
from pytest_recode.formats.algotune.known_solvers import methods_named
from pytest_recode.formats.format_conformance import check_format
from pytest_recode.task import Task, brief
from tests.formats.algotune_benchmark import BY_LIBRARY, benchmark
from tests.messages import assert_message


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    return benchmark(tmp_path)


def loaded(tasks: Path, name: str = "prefix_sums") -> Task:
    [task] = FORMAT.load(tasks / name / "description.txt")
    return task


@pytest.mark.parametrize("name", ["prefix_sums", "suffix_sums"])
def test_the_format_keeps_the_rules(tasks: Path, name: str) -> None:
    check_format(FORMAT, tasks / name / "description.txt")


def test_a_description_elsewhere_is_nobodys(tasks: Path) -> None:
    own = tasks / "prefix_sums" / "description.txt"
    assert claimed(FORMAT, own)
    for directory in (tasks.parent / "notes" / "prefix_sums", tasks / "notes"):
        directory.mkdir(parents=True)
        (directory / "description.txt").write_text("a description")
        assert not claimed(FORMAT, directory / "description.txt")


def test_the_reference_is_the_fastest_published_solver_that_needs_no_other_library(tasks: Path) -> None:
    task = loaded(tasks)
    assert task.load().reference == {"solver.py": BY_LIBRARY.encode()}
    assert task.facts == {
        "size": 50,
        "known_solver": "o4-mini",
        "known_speed_up": 1.75,
        "published": {"gpt-5": 3.0, "o4-mini": 1.75},
    }


def test_without_one_the_reference_is_the_benchmarks_own(tasks: Path) -> None:
    task = loaded(tasks, "suffix_sums")
    assert b"TASK.solve(problem)" in task.load().reference["solver.py"]
    assert (task.facts["known_solver"], task.facts["published"]) == (None, {})
    assert task.load().feedback is None


def test_an_agent_sees_the_task_and_no_published_solver(tasks: Path) -> None:
    task = loaded(tasks)
    seen = brief(task, task.load())
    assert sorted(seen.repo) == [
        *("AlgoTuneTasks/__init__.py", "AlgoTuneTasks/base.py"),
        *("AlgoTuneTasks/prefix_sums/__init__.py", "AlgoTuneTasks/prefix_sums/prefix_sums.py"),
        *("baseline.py", "size.py"),
    ]
    text = seen.instruction + "".join(data.decode() for data in seen.repo.values())
    assert "accumulate" not in text
    assert "Return all sums of the first values" in seen.instruction
    assert "n = 50" in seen.instruction


def test_a_task_whose_problems_cannot_be_sent_is_an_error_of_one_line(tasks: Path) -> None:
    directory = (tasks / "suffix_sums").rename(tasks / "matrix_exponential_sparse")
    (directory / "suffix_sums.py").rename(directory / "matrix_exponential_sparse.py")
    fault = loaded(tasks, directory.name).fault
    assert_message(
        fault, str(directory / "description.txt"), "sparse matrices of scipy", "-k 'not matrix_exponential_sparse'"
    )


def test_what_a_published_solver_uses_is_said_by_name() -> None:
    code = "import numpy as np\nimport scipy.fft\nfrom scipy.linalg import lapack as l\nfrom typing import Any\nnp.fft.rfft(x)\nscipy.fft.dct(x)\nself.a.b()\n"
    assert methods_named(code) == ("scipy.linalg.lapack", "numpy.fft.rfft")


@pytest.mark.parametrize(
    ("file", "text", "fault"),
    [
        (
            "reports/generation.json",
            None,
            "no such file, and it has the size of the instances; restore it from AlgoTune's repository",
        ),
        ("reports/generation.json", "{", "is not JSON"),
        ("reports/generation.json", "[]", "is not a mapping of tasks to sizes; restore it"),
        (
            "reports/generation.json",
            '{"prefix_sums": {"n": "50"}}',
            "has no size n of the task 'prefix_sums'; restore it",
        ),
        ("reports/agent_summary.json", "{", "is not AlgoTune's summary"),
        ("reports/agent_summary.json", '{"prefix_sums": {"gpt-5": "2.0"}}', "is not AlgoTune's summary"),
        ("AlgoTuneTasks/prefix_sums/prefix_sums.py", "def (", "is not Python: restore it"),
    ],
)
def test_a_damaged_file_is_one_line(tasks: Path, file: str, text: str | None, fault: str) -> None:
    path = tasks.parent / file
    if text is None:
        path.unlink()
    else:
        path.write_text(text)
    with pytest.raises(UserError) as error:
        loaded(tasks)
    assert str(path) in str(error.value)
    assert fault in str(error.value)
    assert "\n" not in str(error.value)
