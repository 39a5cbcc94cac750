"""A grader that collects the tests once for many answers gives each of them the verdict that it gets alone."""

from __future__ import annotations

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Verdict
from tests.oracle.conftest import grade

REFERENCE = "import random\n\n\ndef f(x):\n    return x\n\n\ndef drawn():\n    return random.random()\n"
TESTS = """
    import random
    from pathlib import Path

    import numpy as np
    import pytest

    FACTOR = random.randint(1, 10**9)
    SEEN = []
    WRITTEN = Path(__file__).with_name("written.txt")
    WRITTEN.write_text(str(FACTOR))


    @pytest.fixture(scope="module")
    def shift(reference):
        return reference.m.f(FACTOR)


    def test_random_inputs(candidate, reference, rng):
        x = rng.normal(size=3)
        np.testing.assert_allclose(candidate.m.f(x), reference.m.f(x))


    def test_what_the_module_drew(candidate, shift):
        assert candidate.m.f(FACTOR) == shift


    def test_its_files(candidate):
        assert candidate.m.f(int(WRITTEN.read_text())) == FACTOR
        assert Path(__file__).with_name("data.txt").read_text() == "data"


    def test_its_state(candidate):
        SEEN.append(candidate.m.f(1))
        assert SEEN == [1]


    def test_what_is_raised(candidate):
        with pytest.raises(ValueError):
            raise ValueError(candidate.m.f("no"))
"""
ANSWERS = {
    "right": REFERENCE,
    "wrong": "def f(x):\n    return 2 * x\n",
    "raising": "def f(x):\n    raise KeyError(x)\n",
    "dying": "import os\n\n\ndef f(x):\n    return x if isinstance(x, str) else os._exit(3)\n",
    "empty": "",
    "broken": "def f(x:\n",
}
FILES = {"test_m.py": TESTS, "data.txt": "data"}


def found(verdict: Verdict) -> list[tuple[object, ...]]:
    return [(case.id, case.outcome, case.kind, case.ran, case.exception, case.uses) for case in verdict.cases]


@pytest.mark.parametrize("kind", ["bubblewrap", "process", pytest.param("docker", marks=pytest.mark.slow)])
def test_every_answer_gets_the_verdict_that_it_gets_alone(kind: str, request: pytest.FixtureRequest) -> None:
    sandbox: Sandbox = request.getfixturevalue(f"{kind}_sandbox")
    for seed in (1, 2):
        for name, answer in ANSWERS.items():
            alone, prepared = (
                found(grade(sandbox, FILES, answer, REFERENCE, seed=seed, prepared=each)) for each in (False, True)
            )
            assert prepared == alone, name
            assert len(alone) == 5


@pytest.mark.parametrize("only", [("test_m.py::test_b",), ("test_m.py::test_b", "test_m.py::test_d")])
def test_a_part_of_the_cases(walls: Sandbox, only: tuple[str, ...]) -> None:
    tests = "".join(f"def test_{name}(candidate):\n    assert candidate.m.f(1) == 1\n" for name in "abcd")
    verdict = grade(walls, tests, "def f(x):\n    return x\n", seed=1, prepared=True, only=only)
    assert [case.id for case in verdict.cases if case.ran] == list(only)
    assert [case.id for case in verdict.cases if case.outcome == "passed"] == list(only)


def test_the_tests_are_collected_before_the_fork(walls: Sandbox) -> None:
    """The answers to the first two are the same, although the module would draw other ones in each process."""
    tests = """
        import secrets

        DRAWN = secrets.token_hex()


        def test_it(candidate):
            assert candidate.m.f(DRAWN) == "", DRAWN
    """

    def drawn(seed: int, prepared: bool) -> str:
        verdict = grade(walls, tests, "def f(x):\n    return x\n", seed=seed, prepared=prepared)
        return verdict.cases[0].message

    assert drawn(1, True) == drawn(1, True)
    assert drawn(1, True) != drawn(2, True)
    assert drawn(1, False) != drawn(1, False)


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ("import nowhere\n", "No module named 'nowhere'"),
        ("def test_it(candidate)\n    pass\n", "SyntaxError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("def helper():\n    pass\n", "no hidden test was found"),
    ],
)
def test_tests_that_cannot_be_collected(walls: Sandbox, tests: str, said: str) -> None:
    for prepared in (False, True):
        with pytest.raises(GraderError, match=said):
            grade(walls, tests, REFERENCE, prepared=prepared, seed=3)


def test_hooks_of_the_tests_see_the_collection(walls: Sandbox) -> None:
    tests = {
        "conftest.py": "def pytest_generate_tests(metafunc):\n    metafunc.parametrize('x', [1, 2, 3])\n",
        "test_m.py": "def test_it(candidate, x):\n    assert candidate.m.f(x) == x\n",
    }
    assert len(grade(walls, tests, REFERENCE, prepared=True, seed=1).cases) == 3
