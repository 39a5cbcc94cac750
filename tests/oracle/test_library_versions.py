"""A verdict has the versions of Python and of the libraries that its grader had loaded, and a candidate cannot change them."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess

import pytest

from pytest_recode.oracle.judge import KeptGraders
from pytest_recode.sandboxes import Sandbox
from tests.oracle.conftest import IMAGE, grade
from tests.oracle.shared_papers import graded

TESTS = "import numpy as np\n\ndef test_f(candidate):\n    assert candidate.m.f(np.float64(1)) == 2\n"
ANSWER = "def f(x):\n    return x + 1\n"
LYING = "import sys\n\nsys.modules['numpy'].__version__ = '9.9'\nsys.version = '9.9'\nplatform = sys.modules['platform']\nplatform.python_version = lambda: '9.9'\n"
HERE = {
    "python": platform.python_version(),
    "numpy": importlib.metadata.version("numpy"),
    "pytest": importlib.metadata.version("pytest"),
}


def test_what_the_tests_have_loaded(sandbox: Sandbox) -> None:
    """Nothing of pytest's own libraries, of Python's modules that have a version, nor of the tests."""
    tests = {"test_m.py": "import csv\nimport helper\n" + TESTS, "helper.py": "__version__ = '3'\n"}
    assert grade(sandbox, tests, ANSWER).versions == HERE


@pytest.mark.slow
def test_those_of_a_container_are_its_own(docker_sandbox: Sandbox) -> None:
    ask = "import numpy, platform; print(platform.python_version(), numpy.__version__)"
    command = ["docker", "run", "--rm", IMAGE, "python3", "-c", ask]
    python, numpy = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    versions = grade(docker_sandbox, TESTS, ANSWER).versions
    assert (versions["python"], versions["numpy"]) == (python, numpy)


@pytest.mark.slow
def test_a_candidate_changes_none(sandbox: Sandbox) -> None:
    lying = "import numpy, platform\n" + LYING + ANSWER
    assert grade(sandbox, TESTS, lying, ANSWER).versions == HERE
    assert graded(sandbox, "weighted mean", LYING).versions == graded(sandbox, "weighted mean").versions


def test_a_grader_of_several_answers_has_them_each_time(bare: Sandbox) -> None:
    graders = KeptGraders()
    try:
        versions = [grade(bare, TESTS, ANSWER, seed=1, graders=graders).versions for _ in range(3)]
    finally:
        graders.close()
    assert versions == [HERE] * 3


def test_a_shared_judge_has_those_of_its_own_process(bare: Sandbox) -> None:
    versions = graded(bare, "weighted mean").versions
    assert versions["python"] == HERE["python"]
    assert versions["numpy"] == HERE["numpy"]
