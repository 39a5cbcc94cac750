"""A grader that judges several answers gives each of them the verdict that it gets alone."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.oracle.judge import KeptGraders
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Verdict
from tests.oracle.conftest import grade

REFERENCE = "def f(x):\n    return x\n"
TESTS = """
    import random
    from pathlib import Path

    import numpy as np
    import pytest

    FACTOR = random.randint(1, 10**9)
    WRITTEN = Path(__file__).with_name("written.txt")
    WRITTEN.write_text(str(FACTOR))


    @pytest.fixture(scope="module")
    def shift(reference):
        return reference.m.f(FACTOR)


    @pytest.fixture(scope="module")
    def of_the_candidate(request):
        return []


    def test_random_inputs(candidate, reference, rng):
        x = rng.normal(size=3)
        np.testing.assert_allclose(candidate.m.f(x), reference.m.f(x))


    def test_what_the_module_drew(candidate, shift):
        assert candidate.m.f(FACTOR) == shift


    class TestState:
        @pytest.fixture(scope="class")
        def seen(self):
            return []

        def test_its_files(self, candidate, seen):
            seen.append(1)
            assert candidate.m.f(int(WRITTEN.read_text())) == FACTOR
            assert Path(__file__).with_name("data.txt").read_text() == "data"

        def test_its_fixtures(self, candidate, seen, of_the_candidate):
            seen.append(candidate.m.f(1))
            of_the_candidate.append(seen[-1])
            assert seen[-1:] == of_the_candidate == [1]


    def test_what_is_raised(candidate, of_the_candidate):
        of_the_candidate.append(candidate.m.f(2))
        assert of_the_candidate[-1:] == [2] and len(of_the_candidate) < 3
        with pytest.raises(ValueError):
            raise ValueError(candidate.m.f("no"))
"""
ANSWERS = {
    "right": REFERENCE,
    "wrong": "def f(x):\n    return 2 * x\n",
    "raising": "def f(x):\n    raise KeyError(x)\n",
    "wrong once": "def f(x):\n    return x if isinstance(x, int) else 0\n",
    "dying": "import os\n\n\ndef f(x):\n    return x if isinstance(x, str) else os._exit(3)\n",
    "hanging": "import time\n\n\ndef f(x):\n    return x if isinstance(x, int) else time.sleep(60)\n",
    "empty": "",
    "broken": "def f(x:\n",
    "right again": REFERENCE,
}
FILES = {"test_m.py": TESTS, "data.txt": "data"}
STILL_RUN = ("test_m.py::TestState::test_its_fixtures", "test_m.py::test_what_is_raised")


@pytest.fixture
def graders() -> Iterator[KeptGraders]:
    graders = KeptGraders()
    yield graders
    graders.close()


def found(verdict: Verdict) -> list[tuple[object, ...]]:
    return [(case.id, case.outcome, case.kind, case.ran, case.exception, case.uses) for case in verdict.cases]


HOOKS = "def pytest_generate_tests(metafunc):\n    pass\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "conftest", "still_run"),
    [
        ("process", "", STILL_RUN),
        ("bubblewrap", "", STILL_RUN[:1]),
        *product(("process", "bubblewrap", "docker"), ("", HOOKS), (None, (), STILL_RUN[:1], STILL_RUN)),
    ],
)
def test_every_answer_gets_the_verdict_that_it_gets_alone(
    kind: str, conftest: str, still_run: tuple[str, ...] | None, graders: KeptGraders, request: pytest.FixtureRequest
) -> None:
    """Also if a failure stops the others, in tests that pytest must tear down in the middle of a class."""
    sandbox: Sandbox = request.getfixturevalue(f"{kind}_sandbox")
    files = {**FILES, **({"conftest.py": conftest} if conftest else {})}
    stops = {} if still_run is None else {"stop_at_failure": True, "still_run": still_run}
    for name, answer in ANSWERS.items():
        # The limit includes the start of the candidate's process: only an answer that hangs gets a short one.
        test_seconds = 5 if name == "hanging" else 60
        alone, among_others = (
            found(grade(sandbox, files, answer, REFERENCE, seed=1, graders=each, test_seconds=test_seconds, **stops))
            for each in (None, graders)
        )
        assert among_others == alone, name
        assert len(alone) == 5


def test_a_part_of_the_cases(bare: Sandbox, graders: KeptGraders) -> None:
    tests = "".join(f"def test_{name}(candidate):\n    assert candidate.m.f(1) == 1\n" for name in "abcd")
    for letters in ("b", "db", "abcd", "a"):
        only = tuple(f"test_m.py::test_{letter}" for letter in letters)
        verdict = grade(bare, tests, REFERENCE, seed=1, graders=graders, only=only)
        assert [case.id for case in verdict.cases if case.ran] == sorted(only)
        assert [case.id for case in verdict.cases if case.outcome == "passed"] == sorted(only)


@pytest.mark.slow
def test_the_tests_are_collected_once_for_a_seed(bare: Sandbox, graders: KeptGraders) -> None:
    """The answers to the first two are the same, although the module draws other ones in each process."""
    tests = """
        import secrets

        DRAWN = secrets.token_hex()


        def test_it(candidate):
            assert candidate.m.f(DRAWN) == "", DRAWN
    """

    def drawn(seed: int, graders: KeptGraders | None) -> str:
        return grade(bare, tests, REFERENCE, seed=seed, graders=graders).cases[0].message

    first = drawn(1, graders)
    assert drawn(1, graders) == first
    assert drawn(2, graders) != first
    assert drawn(1, None) != drawn(1, None)


@pytest.mark.slow
def test_an_answer_that_ends_its_grader(bare: Sandbox, graders: KeptGraders) -> None:
    """The next answer gets a new one, and so does the rest of the cases."""
    tests = "".join(
        f"def test_{name}(candidate):\n    import os\n    candidate.m.f({number}) == {number} or os._exit(1)\n"
        for number, name in enumerate("abc")
    )
    wrong = "def f(x):\n    return 5 if x == 1 else x\n"
    for answer, outcomes in ((REFERENCE, "ppp"), (wrong, "pfp"), (REFERENCE, "ppp"), (wrong, "pfp"), (wrong, "pfp")):
        verdict = grade(bare, tests, answer, REFERENCE, seed=1, graders=graders)
        assert "".join(case.outcome[0] for case in verdict.cases) == outcomes


KEPT_BY_THE_TESTS = {
    "a list": "SEEN = []\ndef test_it(candidate):\n    SEEN.append(candidate.m.f(1))\n    assert SEEN == [1]\n",
    "an iterator": "PAIRS = iter([(1, 1), (2, 2)])\ndef test_it(candidate):\n    f = candidate.m.f\n    assert all(f(x) == y for x, y in PAIRS)\n",
    "a result": "FOUND = {}\ndef test_it(candidate):\n    f = candidate.m.f\n    if not FOUND:\n        FOUND[2] = f(2)\n    assert FOUND[2] == 2\n",
    "an instance": "class TestIt:\n    found = None\n    def test_it(self, candidate):\n        f = candidate.m.f\n        self.found = self.found or f(2)\n        assert self.found == 2\n",
    "failures of unittest": """
        import unittest
        import pytest

        class TestIt(unittest.TestCase):
            @pytest.fixture(autouse=True)
            def _candidate(self, candidate):
                self.f = candidate.m.f

            def tearDown(self):
                self.assertEqual(self.f(5), 5)

            def test_it(self):
                self.addCleanup(lambda: self.assertEqual(self.f(4), 4))
                self.assertEqual(self.f(3), 3)
    """,
}


@pytest.mark.parametrize("tests", KEPT_BY_THE_TESTS.values(), ids=KEPT_BY_THE_TESTS)
def test_no_test_finds_what_it_kept_of_an_earlier_answer(bare: Sandbox, graders: KeptGraders, tests: str) -> None:
    wrong = "def f(x):\n    return -x\n"
    solved = [
        grade(bare, tests, each, REFERENCE, seed=1, graders=graders).solved
        for each in (REFERENCE, REFERENCE, wrong, REFERENCE, wrong)
    ]
    assert solved == [True, True, False, True, False]


@pytest.mark.parametrize(
    ("tests", "message"),
    [
        ("import nowhere\n", "No module named 'nowhere'"),
        ("def test_it(candidate)\n    pass\n", "SyntaxError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("def helper():\n    pass\n", "no hidden test was found"),
        ("import os; os._exit(1)\n", "the grader exited with status 1"),
    ],
)
def test_tests_that_cannot_be_collected(bare: Sandbox, graders: KeptGraders, tests: str, message: str) -> None:
    for each in (None, graders, graders):
        with pytest.raises(GraderError, match=message):
            grade(bare, tests, REFERENCE, graders=each, seed=3)
