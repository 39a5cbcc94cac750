"""Hidden tests that cannot give a verdict: `GraderError`, in one clear text, and never a failed case."""

from __future__ import annotations

import re
import sys

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment
from pytest_recode.verdict import Outcome
from tests.messages import assert_message
from tests.oracle.conftest import grade, only

CODE = "def f(x): return x\n\n\ndef g(x): return x\n"
ONE = "def test_f(candidate):\n    assert candidate.m.f(1) == 1\n"


def fault(sandbox: Sandbox, tests: dict[str, str] | str, **more: object) -> str:
    with pytest.raises(GraderError) as info:
        grade(sandbox, tests, CODE, **more)  # type: ignore[arg-type]
    return str(info.value)


def test_no_tests(bare: Sandbox) -> None:
    assert fault(bare, {}) == "/tasks/t/tests: there are no hidden tests; write them as tests/test_*.py"
    none = "/tasks/t/tests: no hidden test was found there; write them as test_*.py::test_*"
    assert fault(bare, {"helper.py": "x = 1\n"}) == none
    assert fault(bare, "def check_f(candidate): ...\n") == none


def test_tests_that_cannot_be_collected(sandbox: Sandbox) -> None:
    text = fault(sandbox, {"test_m.py": ONE, "test_n.py": "import nonesuch\n"})
    assert text.startswith("/tasks/t/tests: the hidden tests cannot be collected\ntest_n.py: ")
    assert "No module named 'nonesuch'" in text
    assert "SyntaxError" in fault(bare := sandbox, "def test_f(:\n")
    assert "OSError: no" in fault(bare, {"test_m.py": ONE, "conftest.py": "raise OSError('no')\n"})


def test_an_unknown_marker(bare: Sandbox) -> None:
    assert "'slow' not found in `markers`" in fault(bare, "import pytest\n@pytest.mark.slow\ndef test_f(): ...\n")


def test_an_unknown_fixture(sandbox: Sandbox) -> None:
    message = (
        "/tasks/t/tests: test_m.py::test_f asks for the fixture `nonesuch`, which does not exist: "
        "correct the name (there are candidate, reference, rng, score, and those of pytest), or define the fixture in the hidden tests"
    )
    assert fault(sandbox, f"{ONE.replace('test_f', 'test_e')}\ndef test_f(nonesuch): ...\n") == message
    used = "import pytest\n@pytest.fixture\ndef mine(nonesuch): ...\ndef test_f(candidate, mine): ...\n"
    assert fault(sandbox, used) == message
    assert "`rgn`, which does not exist (did you mean rng?): " in fault(sandbox, ONE.replace("candidate", "rgn"))


@pytest.mark.skipif(pytest.version_tuple >= (9,), reason="pytest 9 has the fixture subtests")
def test_a_fixture_of_a_newer_pytest(bare: Sandbox) -> None:
    text = fault(bare, "def test_f(candidate, subtests): ...\n")
    assert_message(text, "test_m.py::test_f", "`subtests`", f"{sys.executable} has pytest 8", "install pytest 9")


def test_values_that_are_no_fixtures(bare: Sandbox) -> None:
    tests = {
        "conftest.py": """
            def pytest_generate_tests(metafunc):
                if "generated" in metafunc.fixturenames:
                    metafunc.parametrize("generated", [1, 2])
        """,
        "test_m.py": """
            import unittest
            from unittest import mock
            import pytest

            @pytest.fixture
            def doubled(request):
                return 2 * request.param

            @pytest.fixture(autouse=True)
            def around(request, tmp_path): ...

            @pytest.mark.parametrize("doubled, plain", [(1, 2)], indirect=["doubled"])
            def test_both(candidate, doubled, plain, generated, request, usual=3):
                assert candidate.m.f(doubled) == plain

            @pytest.mark.usefixtures("around")
            @mock.patch("math.pi", 3)
            @mock.patch("math.tau")
            def test_patched(tau, candidate):
                assert candidate.m.f(1) == 1

            class TestClass(unittest.TestCase):
                @pytest.fixture(autouse=True)
                def given(self, candidate):
                    self.candidate = candidate

                def test_f(self, usual=2):
                    assert self.candidate.m.f(1) == 1
        """,
    }
    assert grade(bare, tests, CODE).solved


BOTH = ("m.f", "m.g")


def test_which_interface_a_case_tests_is_unclear(bare: Sandbox) -> None:
    assert fault(bare, "def test_it(candidate): ...\n", interfaces=BOTH) == (
        "/tasks/t/tests: test_m.py::test_it could test more than one interface: "
        'mark it @pytest.mark.interface("…") with one of m.f, m.g'
    )
    assert fault(bare, {"test_x.py": "def test_it(candidate): ...\n"}, interfaces=BOTH) == (
        "/tasks/t/tests: test_x.py::test_it does not say which interface it tests: "
        'mark it @pytest.mark.interface("…") with one of m.f, m.g'
    )
    marked = "import pytest\n@pytest.mark.interface('m.h')\ndef test_it(candidate): ...\n"
    assert fault(bare, marked, interfaces=BOTH) == (
        "/tasks/t/tests: test_m.py::test_it: interface('m.h') is none of the task's interfaces: m.f, m.g"
    )


def test_how_a_case_says_which_interface_it_tests(bare: Sandbox) -> None:
    tests = {
        "test_m.py": """
            import pytest

            def test_f(candidate): assert candidate.m.f(1) == 1
            def test_f_of_zero(candidate): assert candidate.m.f(0) == 0
            def test_f_all_of_it(candidate): assert candidate.m.f(0) == 0
            @pytest.mark.parametrize("x", [1, 2])
            def test_g(candidate, x): assert candidate.m.f(x) == x
            @pytest.mark.interface("m.g")
            def test_f_marked(candidate): assert candidate.m.f(1) == 1

            @pytest.mark.interface("n.h")
            class TestClass:
                def test_a(self, candidate): assert candidate.m.f(1) == 1
                @pytest.mark.interface("m.f")
                def test_b(self, candidate): assert candidate.m.f(1) == 1
        """,
        "test_n.py": "def test_anything(candidate): assert candidate.m.f(1) == 1\n",
        "more/test_o.py": """
            import pytest
            pytestmark = pytest.mark.interface("m.g")
            def test_anything(candidate): assert candidate.m.f(1) == 1
        """,
    }
    verdict = grade(bare, tests, CODE, interfaces=("m.f", "m.f_all", "m.g", "n.h"))
    assert {case.id: case.interface for case in verdict.cases} == {
        "more/test_o.py::test_anything": "m.g",
        "test_m.py::test_f": "m.f",
        "test_m.py::test_f_of_zero": "m.f",
        "test_m.py::test_f_all_of_it": "m.f_all",
        "test_m.py::test_g[1]": "m.g",
        "test_m.py::test_g[2]": "m.g",
        "test_m.py::test_f_marked": "m.g",
        "test_m.py::TestClass::test_a": "n.h",
        "test_m.py::TestClass::test_b": "m.f",
        "test_n.py::test_anything": "n.h",
    }
    assert verdict.solved


def test_a_value_that_a_test_passes_cannot_travel(bare: Sandbox) -> None:
    text = "the test passes a value that cannot be sent: an object of type builtins.object"
    assert text in fault(bare, "def test_f(candidate): candidate.m.f(object())\n")
    caught = """
        import numpy as np
        import pytest

        def test_f(candidate):
            with pytest.raises({}):
                candidate.m.f({})
    """
    for kind, value in (
        ("Exception", "object()"),
        ("ValueError", "np.array([1.0, None])"),
        ("Exception", "np.array([1.0, None])"),
    ):
        assert "the test passes a value that cannot be sent: " in fault(bare, caught.format(kind, value))


def test_a_value_that_cannot_travel_once_the_candidate_has_answered(bare: Sandbox) -> None:
    """The answer may be the cause (`ids.tolist()` of dates): no way from a failure to an error."""
    late = "def test_f(candidate):\n    assert candidate.m.f(1) == 1\n    candidate.m.f([object()])\n"
    caught = f"import pytest\n{late}".replace("    candidate", "    with pytest.raises(Exception): candidate")
    returned = "def test_f(candidate): candidate.m.f(lambda: object())\n"
    for tests, code in ((late, CODE), (caught, CODE), (returned, "def f(g): g()\n")):
        case = only(grade(bare, tests, code))
        assert case.outcome is Outcome.FAILED
        assert "that cannot be sent: an object of type builtins.object" in case.message


def test_a_case_that_asks_nothing_of_the_candidate(bare: Sandbox) -> None:
    for body in (
        "pass",
        "assert hasattr(candidate, 'nonesuch') and candidate.nonesuch is not None",
        "assert reference.m.f(1) == 1",
    ):
        text = fault(bare, f"def test_f(candidate, reference):\n    {body}\n")
        assert text.startswith("/tasks/t/tests: test_m.py::test_f gives no verdict: the test never uses the candidate")
    after = "def test_a(candidate): assert candidate.m.f(1) == 1\ndef test_b(candidate): pass\n"
    assert "test_b gives no verdict: the test never uses the candidate" in fault(bare, after)


def test_a_file_that_skips_itself(bare: Sandbox) -> None:
    for line in ("pytest.importorskip('nonesuch')", "pytest.skip('no', allow_module_level=True)"):
        text = fault(bare, {"test_m.py": ONE, "test_n.py": f"import pytest\n{line}\n{ONE}"})
        assert "test_n.py: skipped (" in text


def test_a_test_that_cannot_fail_as_it_is_written(bare: Sandbox) -> None:
    in_a_tuple = "def test_f(candidate):\n    assert (candidate.m.f(1) == 2, 'wrong')\n"
    text = fault(bare, in_a_tuple)
    assert "test_m.py" in text
    assert "assertion is always true" in text
    helper = {"helper.py": "def check(x):\n    assert (x == 2, 'wrong')\n", "test_m.py": f"import helper\n{ONE}"}
    assert "assertion is always true" in fault(bare, helper)


def test_what_is_drawn_while_tests_are_collected_repeats_with_the_seed(bare: Sandbox) -> None:
    tests = """
        import random
        import numpy as np
        import pytest

        @pytest.mark.parametrize("x", [random.random(), float(np.random.rand())])
        def test_f(candidate, x):
            assert candidate.m.f(x) == x
    """
    ids = [[case.id for case in grade(bare, tests, CODE, seed=seed).cases] for seed in (1, 1, 2)]
    assert ids[0] == ids[1]
    assert not set(ids[0]) & set(ids[2])


def test_the_test_itself_fails_before_it_asks_anything(bare: Sandbox) -> None:
    assert "test_m.py::test_f gives no verdict: call: " in fault(bare, "def test_f(candidate): 1 / 0\n")
    fixture = "import pytest\n@pytest.fixture\ndef bad(): raise OSError('no')\ndef test_f(candidate, bad): ...\n"
    assert "test_m.py::test_f gives no verdict: setup: " in fault(bare, fixture)


def test_the_reference_cannot_be_imported(bare: Sandbox) -> None:
    tests = "def test_f(candidate, reference):\n    assert candidate.m.f(1) == reference.m.f(1)\n"
    with pytest.raises(GraderError, match="the reference's module m cannot be imported: ImportError: no"):
        grade(bare, tests, CODE, "raise ImportError('no')\n")


def test_what_a_broken_reference_says_has_no_line_of_pytest(bare: Sandbox) -> None:
    reference = {"m.py": "from n import f\n", "n.py": "def g():\n    return 1 / 0\n\n\nf = g()\n"}
    with pytest.raises(GraderError) as info:
        grade(bare, "def test_f(candidate, reference):\n    assert candidate.m.f(1) == 1\n", CODE, reference)
    place = r'  File ".*/reference/{}", line {}, in .*\n    {}\n(?: *[~^]+\n)?'
    assert re.fullmatch(
        r"/tasks/t/tests: test_m.py::test_f gives no verdict: setup: the reference's module m cannot be imported: "
        r"ZeroDivisionError: division by zero\nTraceback \(most recent call last\):\n"
        + place.format(r"m\.py", 1, "from n import f")
        + place.format(r"n\.py", 5, r"f = g\(\)")
        + place.format(r"n\.py", 2, "return 1 / 0")
        + "ZeroDivisionError: division by zero",
        str(info.value),
    )


@pytest.mark.invariant("only-evidence-passes")
def test_skipped_and_expected_to_fail_are_no_passes(bare: Sandbox) -> None:
    assert "skipped (Skipped: no)" in fault(bare, "import pytest\ndef test_f(candidate): pytest.skip('no')\n")
    for tests in (
        "import pytest\n@pytest.mark.xfail\ndef test_f(candidate): assert candidate.m.f(1) == 2\n",
        "import pytest\n@pytest.mark.xfail\ndef test_f(candidate): assert candidate.m.f(1) == 1\n",
        "import pytest\ndef test_f(candidate):\n    candidate.m.f(1)\n    pytest.skip('no')\n",
        "import pytest\ndef test_f(candidate):\n    candidate.m.f(1)\n    pytest.xfail('no')\n",
    ):
        [case] = grade(bare, tests, CODE).cases
        assert case.outcome is Outcome.FAILED
        assert "does not count as a pass" in case.message


def test_a_failing_teardown_is_no_pass(bare: Sandbox) -> None:
    tests = """
        import pytest

        @pytest.fixture
        def checked(candidate):
            yield candidate
            assert candidate.m.f(1) == 2

        def test_f(checked):
            assert checked.m.f(1) == 1
    """
    [case] = grade(bare, tests, CODE).cases
    assert case.outcome is Outcome.FAILED
    assert case.message.startswith("teardown: ")


def test_the_grader_ends_by_itself(sandbox: Sandbox) -> None:
    text = fault(sandbox, "import os\ndef test_f(candidate): os._exit(3)\n")
    assert text == (
        "/tasks/t/tests: test_m.py::test_f: the grader exited with status 3; "
        "no answer of the candidate's can be the cause"
    )
    assert fault(sandbox, "import os\nos._exit(0)\n") == (
        "/tasks/t/tests: the grader exited with status 0; no answer of the candidate's can be the cause"
    )
    text = fault(sandbox, "import pytest\ndef test_f(candidate): pytest.exit('enough')\n")
    assert "gives no verdict" in text or "never ran" in text or "started" in text


def test_a_test_that_does_not_end(bare: Sandbox) -> None:
    text = fault(bare, "import time\ndef test_f(candidate):\n    time.sleep(99)\n", test_seconds=1.0)
    assert text == (
        "/tasks/t/tests: test_m.py::test_f: the test did not end within 1 s; "
        "no answer of the candidate's can be the cause"
    )


def test_the_candidate_outside_of_a_test(bare: Sandbox) -> None:
    tests = """
        import pytest

        @pytest.fixture(scope="module")
        def shared(candidate):
            return candidate.m.f(1)

        def test_f(shared): ...
    """
    assert "ScopeMismatch" in fault(bare, tests)


def test_rng_without_numpy(bare: Sandbox) -> None:
    tests = {
        "conftest.py": "import sys\nsys.modules['numpy'] = None\n",
        "test_m.py": "def test_f(candidate, rng): ...\n",
    }
    text = "the rng fixture needs numpy: install it"
    assert text in fault(bare, tests, environment=Environment())


def test_helpers_beside_the_tests(sandbox: Sandbox) -> None:
    tests = {
        "conftest.py": "import pytest\n@pytest.fixture\ndef two(): return 2\n",
        "helper.py": "def three(): return 3\n",
        "data/four.txt": "4",
        "test_m.py": """
            from pathlib import Path
            from helper import three

            def test_f(candidate, two, tmp_path, monkeypatch):
                four = int((Path(__file__).parent / "data" / "four.txt").read_text())
                assert [candidate.m.f(x) for x in (two, three(), four)] == [2, 3, 4]
        """,
    }
    assert grade(sandbox, tests, CODE).solved


RETURNING = {
    "a call": "def test_f(candidate):\n    return candidate.m.f(1)\n",
    "in a branch": "def test_f(candidate):\n    if candidate.m.f(1):\n        return 1\n",
    "of a class": "class TestIt:\n    def test_f(self, candidate):\n        return candidate.m.f(1) == 1\n",
}


@pytest.mark.parametrize("test", RETURNING)
def test_a_test_that_returns_a_value_is_no_test_whatever_the_candidate_answers(bare: Sandbox, test: str) -> None:
    """Otherwise a candidate chooses: its case passes where its value is None, and is an error where it is not."""
    with pytest.raises(GraderError, match="a test must not return a value"):
        grade(bare, RETURNING[test], "def f(x): return None\n")


def test_a_test_may_return_early_and_its_helpers_may_return(bare: Sandbox) -> None:
    test = (
        "def test_f(candidate):\n    def twice(x):\n        return 2 * x\n\n"
        "    assert (lambda x: x)(candidate.m.f(1)) == 1\n    if twice(1) == 2:\n        return\n    return None\n"
    )
    assert grade(bare, test, CODE).solved


LOST = {
    "a class with __init__": (
        f"class TestIt:\n    def __init__(self): ...\n    def test_a(self, candidate): ...\n{ONE}",
        ("test_m.py::TestIt has `__init__`", "test_a", "a fixture or `setup_method`", "`__test__ = False`"),
    ),
    "a class with an inherited __new__": (
        f"class Base:\n    def __new__(cls): ...\nclass TestIt(Base):\n    def test_a(self, candidate): ...\n{ONE}",
        ("test_m.py::TestIt has `__new__`", "test_a"),
    ),
    "a class in a class": (
        f"class TestIt:\n    class TestIn:\n        def __init__(self): ...\n        def test_a(self): ...\n{ONE}",
        ("test_m.py::TestIt::TestIn has `__init__`", "a fixture or `setup_method`"),
    ),
    "an object": (
        f"class Check:\n    def __call__(self, candidate): ...\ntest_a = Check()\n{ONE}",
        ("test_m.py::test_a is an object of type Check", "write it as `def test_…`", "rename it"),
    ),
    "a lambda": (
        "test_a = lambda candidate: candidate.m.f(1)\n",
        ("test_m.py::test_a is a lambda", "write it as `def test_…`", "`assert`"),
    ),
    "a lambda in a class": (
        "class TestIt:\n    test_a = staticmethod(lambda candidate: candidate.m.f(1))\n",
        ("test_m.py::TestIt::test_a is a lambda", "write it as `def test_…`"),
    ),
    "a partial lambda": (
        "import functools\ntest_a = functools.partial(lambda x, candidate: candidate.m.f(x), 1)\n",
        ("test_m.py::test_a is a lambda", "write it as `def test_…`"),
    ),
    "a coroutine": (
        "async def test_a(candidate):\n    assert candidate.m.f(1) == 1\n",
        ("test_m.py::test_a is `async def`", "write it as plain `def`"),
    ),
    "a partial function that returns": (
        "import functools\ndef check(x, candidate):\n    return candidate.m.f(x)\ntest_a = functools.partial(check, 1)\n",
        ("test_m.py::test_a: `return candidate.m.f(x)`", "use `assert`"),
    ),
}


@pytest.mark.parametrize("tests", LOST)
def test_a_test_that_pytest_would_not_run_is_named_whatever_the_candidate_answers(bare: Sandbox, tests: str) -> None:
    text, words = LOST[tests]
    with pytest.raises(GraderError) as info:
        grade(bare, text, "def f(x): return None\n")
    assert_message(str(info.value), *words)
    assert "\n" not in str(info.value)


def test_names_like_those_of_tests_that_are_none(bare: Sandbox) -> None:
    tests = """
        import functools
        import unittest
        from dataclasses import dataclass

        @dataclass
        class TestInput:
            x: float

        class TestHelper:
            __test__ = False
            def __init__(self, x): self.x = x
            def test_of(self, candidate): assert candidate.m.f(self.x) == self.x

        class Helper:
            def __init__(self, x): self.x = x
            def test_of(self, candidate): assert candidate.m.f(self.x) == self.x

        test_input = TestInput(3.0)

        def check(x, candidate):
            assert candidate.m.f(x) == x

        def test_all(candidate):
            TestHelper(1).test_of(candidate)
            Helper(2).test_of(candidate)

        test_partial = functools.partial(check, 1)

        class TestCases(unittest.TestCase):
            def __init__(self, *args):
                super().__init__(*args)
    """
    verdict = grade(bare, tests, CODE)
    assert [case.id for case in verdict.cases] == ["test_m.py::test_all", "test_m.py::test_partial"]
    assert verdict.solved


def test_a_value_returned_by_generated_code_fails_the_case(bare: Sandbox) -> None:
    """Only the run shows it, after the candidate has answered: no way from a failure to an error."""
    tests = "exec('def test_a(candidate):\\n    return candidate.m.f(1)')\n"
    case = only(grade(bare, tests, CODE))
    assert case.outcome is Outcome.FAILED
    assert "a test must not return a value" in case.message
