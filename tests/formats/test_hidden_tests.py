"""What is read off hidden tests before a model is paid: never what the judge would take."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.directory import FORMAT
from pytest_recode.formats.directory.hidden_tests import problem
from tests.formats.task_directory import MANIFEST, write
from tests.messages import assert_message

BOTH = ("m.f", "m.g")
CHOICES = 'mark it @pytest.mark.interface("…") with one of m.f, m.g'
UNSAID = "def test_it(candidate): assert candidate.m.f(1)\n"


def told(files: dict[str, str] | str, interfaces: tuple[str, ...] = BOTH) -> str:
    tests = {"test_x.py": files} if isinstance(files, str) else files
    return problem({path: text.encode() for path, text in tests.items()}, interfaces)


def test_a_test_that_does_not_say_what_it_tests_is_found_in_the_judges_words() -> None:
    assert told(UNSAID) == f"test_x.py::test_it does not say which interface it tests: {CHOICES}"
    assert told({"more/test_m.py": UNSAID}) == f"more/test_m.py::test_it could test more than one interface: {CHOICES}"
    assert told(f"import math\n{UNSAID}") == told(UNSAID) == told("\n" + UNSAID)
    marked = "import pytest\n\n@pytest.mark.interface('m.h')\n" + UNSAID
    assert told(marked) == "test_x.py::test_it: interface('m.h') is none of the task's interfaces: m.f, m.g"
    varied = "import pytest\n\n@pytest.mark.interface('m.h')\n@pytest.mark.parametrize('x', [1.0, 2])\n" + UNSAID
    assert told(varied) == told(marked)


TWICE = "def test_f(candidate): ...\n"


@pytest.mark.parametrize(
    ("text", "name", "lines"),
    [
        (TWICE + "\n" + TWICE, "test_f", "1 and 3"),
        (
            "import pytest\n\n@pytest.mark.slow\n" + TWICE + "@pytest.mark.parametrize('x', [1])\n" + TWICE,
            "test_f",
            "4 and 6",
        ),
        ("class TestF:\n    def test_a(self): ...\n    def test_a(self): ...\n", "TestF::test_a", "2 and 3"),
        ("class TestF:\n    def test_a(self): ...\nclass TestF:\n    def test_b(self): ...\n", "TestF", "1 and 3"),
    ],
)
def test_a_test_that_is_defined_twice_is_found(text: str, name: str, lines: str) -> None:
    for files in (text, {"test_x.py": text, "conftest.py": ""}):
        problem = told(files, ("m.f",))
        assert_message(problem, f"test_x.py::{name} is defined twice", f"lines {lines}", "rename one, or remove it")


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nif sys.version_info > (3, 12):\n    " + TWICE + "else:\n    " + TWICE,
        TWICE + "test_one = test_f\n" + TWICE,
        "from helper import case\n\n@case(1)\n" + TWICE + "@case(2)\n" + TWICE,
        "class TestA:\n    def test_f(self): ...\nclass TestB:\n    def test_f(self): ...\n" + TWICE,
        "def check():\n    " + TWICE + "    test_f(1)\n" + TWICE,
        "TEXT = '''\n" + TWICE + TWICE + "'''\n" + TWICE,
    ],
)
def test_a_name_that_is_used_twice_for_a_reason_is_no_mistake(text: str) -> None:
    assert told(text, ("m.f",)) == ""


@pytest.mark.parametrize(
    "text", ["", "# none yet\n", '"""None."""\nimport pytest\nX = 1\n\ndef check_f(candidate): ...\n']
)
def test_files_without_a_test_are_found(text: str) -> None:
    line = "no hidden test was found there; write them as test_*.py::test_*"
    assert told(text) == told(text, ("m.f",)) == told({"test_x.py": text, "helper.py": UNSAID}) == line
    assert told({"build/test_y.py": UNSAID, "test_x.py": text}) == line  # pytest does not go there
    assert told({"test_x.py": text, "y_test.py": "def test_f(candidate): ...\n"}) == ""


@pytest.mark.parametrize(
    "text",
    [
        "def test_f_of_zero(candidate): ...\n",
        "import pytest\n\n@pytest.mark.interface('m.g')\n" + UNSAID,
        "import pytest\n\npytestmark = pytest.mark.interface('m.g')\n\n" + UNSAID,
        "import pytest\n\n@pytest.mark.interface('m.g')\nclass TestG:\n    def test_it(self, candidate): ...\n",
        "import pytest\n\nG = pytest.mark.interface('m.g')\n\n@G\n" + UNSAID,
        "import pytest\n\n@pytest.mark.parametrize('x', [pytest.param(1, marks=pytest.mark.interface('m.g'))])\n"
        + UNSAID,
        "import pytest\nfrom helper import CASES\n\n@pytest.mark.parametrize('x', CASES)\n" + UNSAID,
        "import pytest\n\nNAME = 'm.g'\n\n@pytest.mark.interface(NAME)\n" + UNSAID,
        "import pytest\n\n@pytest.mark.interface('m.g')\n@pytest.mark.interface('no')\n" + UNSAID,
        UNSAID + "\ntest_it = pytest.mark.interface('m.g')(test_it)\n",
        UNSAID + "\ndel test_it\n",
        UNSAID + "\ntest_it.__test__ = False\n",
        UNSAID + "\nfor name in ('test_it',):\n    globals()[name] = 1\n",
        "from helper import *\n" + UNSAID,
        "def test_f(:\n",  # no Python here; it may be where it runs
        "from helper import check as test_it\n",
        "import unittest\n\nclass Cases(unittest.TestCase): ...\n",
        "if True:\n    def test_f(candidate): ...\n",
        "for n in range(3):\n    exec(f'def te{n}st(): ...')\n",
    ],
)
def test_what_only_the_judge_can_know_is_left_to_it(text: str) -> None:
    assert told(text) == ""


@pytest.mark.parametrize(
    "other",
    [
        {"conftest.py": "def pytest_collection_modifyitems(items): ...\n"},
        {"deep/conftest.py": ""},
        {"helper.py": "import sys\nsys.modules['test_x'].test_f = 1\n"},
        {"helper.py": "import inspect\ninspect.currentframe().f_back.f_globals['test_f'] = 1\n"},
    ],
)
@pytest.mark.parametrize("text", ["", UNSAID])
def test_what_another_file_may_change_is_left_to_the_judge(other: dict[str, str], text: str) -> None:
    assert told({"test_x.py": text, **other}) == ""


def test_the_task_directory_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, files={"tests/test_stats.py": "import pytest\n"})
    with pytest.raises(UserError) as caught:
        FORMAT.load(path)[0].load()
    assert str(caught.value) == f"{tmp_path / 'tests'}: no hidden test was found there; write them as test_*.py::test_*"
    assert "interfaces" not in MANIFEST  # with one there is nothing to say
    write(tmp_path, files={"tests/test_stats.py": UNSAID})
    FORMAT.load(path)[0].load()
