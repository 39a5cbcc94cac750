"""numpy's functions, and `assert_unmodified`, get the data of an object that derives from a plain type, and do not ask the candidate."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade, only

HEAD = "import numpy as np\nfrom pytest_recode.testing import assert_unmodified\n\n"


@pytest.mark.parametrize(
    "assertion",
    [
        "np.isclose(np.sum(found), 1.0)",
        "np.mean(found) == 0.5",
        "np.all(found)",
        "np.max(found) == 0.5",
        "np.shape(found) == (2,)",
        "np.size(found) == 2",
        "np.ndim(found) == 2",
        "np.argmax(found) == 1",
        "(np.cumsum(found) == [0.5, 1.0]).all()",
        "(np.round(found, 2) == [0.5, 0.5]).all()",
    ],
)
def test_no_function_of_numpy_is_answered_by_the_candidate(assertion: str, bare: Sandbox) -> None:
    tests = f"{HEAD}def test_f(candidate):\n    found = candidate.m.f()\n    assert {assertion}\n"
    code = """
        import numpy as np

        class Liar(list):
            shape, size, ndim = (2,), 2, 2
            sum = lambda self, *a, **k: 1.0
            mean = max = lambda self, *a, **k: 0.5
            all = lambda self, *a, **k: True
            argmax = lambda self, *a, **k: 1
            cumsum = lambda self, *a, **k: np.array([0.5, 1.0])
            round = lambda self, *a, **k: np.array([0.5, 0.5])

        def f():
            return Liar([0.0])
    """
    assert only(grade(bare, tests, code, "def f(): return [0.5, 0.5]")).outcome is Outcome.FAILED


def test_arguments_of_a_callable_that_is_data_too(bare: Sandbox) -> None:
    tests = f"{HEAD}def test_f(candidate):\n    assert assert_unmodified(candidate.m.f, [3, 1]) == [1, 3]\n"
    code = "class F(tuple):\n    def __call__(self, x):\n        x.sort()\n        return x\n\nf = F()\n"
    assert only(grade(bare, tests, code, "def f(x): return sorted(x)")).outcome is Outcome.FAILED


def test_the_same_functions_of_an_honest_object(bare: Sandbox) -> None:
    tests = f"{HEAD}def test_f(candidate):\n    found = candidate.m.f()\n    assert np.sum(found) == np.concatenate([found, [2.0]]).sum() - 2\n"
    tests += "    assert np.mean(found, axis=0) == 0.5\n    assert found.last() == 0.75\n"
    code = "class Row(list):\n    def last(self):\n        return self[-1]\n\ndef f():\n    return Row([0.25, 0.75])\n"
    case = only(grade(bare, tests, code))
    assert case.outcome is Outcome.PASSED, case.message
