"""A failed test's exception says what is wrong with the result: real assertions of pytest, unittest, numpy and plain Python."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from pytest_recode.inside.grading.failure_symptom import of_raised, symptom
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade, only

SETTING = """\
import types, unittest, warnings
import numpy as np
import pytest
from pytest_recode.inside.grading.equivalence import assert_equivalent

case = unittest.TestCase()
a, b, wide = np.zeros(3), np.ones(3), np.ones((3, 2))
odd, endless = np.array([1.0, np.nan, 1.0]), np.full(3, np.inf)
one, two = [1.0], [1.0, 2.0]


def run():
"""

STATEMENTS = {
    "with pytest.raises(ValueError):\n    abs(1)": "no-exception",
    "with case.assertRaises(ValueError):\n    abs(1)": "no-exception",
    "case.assertRaises(ValueError, abs, 1)": "no-exception",
    "with pytest.warns(UserWarning):\n    abs(1)": "no-warning",
    "assert_equivalent(a, b)": "mismatch",
    "assert_equivalent(wide, b)": "shape",
    "assert_equivalent([0.0, 0.0, 0.0], b)": "dtype",
    "assert_equivalent(one, two)": "length",
    "assert_equivalent({'x': 1}, {'y': 1})": "keys",
    "assert_equivalent(wide.shape, (2, 3))": "shape",
    "assert_equivalent(len(one), 2)": "length",
    "np.testing.assert_allclose(a, b)": "mismatch",
    "np.testing.assert_allclose(np.ones(2), b)": "shape",
    "np.testing.assert_array_equal(a, b)": "mismatch",
    "np.testing.assert_allclose(a, [len(each) for each in wide])": "mismatch",
    "np.testing.assert_array_equal(wide.sum(axis=1), types.SimpleNamespace(size=b).size)": "mismatch",
    "np.testing.assert_array_equal(wide.size, 5)": "shape",
    "np.testing.assert_array_equal(wide.shape, (2, 3))": "shape",
    "np.testing.assert_almost_equal(1.0, 2.0)": "mismatch",
    "np.testing.assert_allclose(odd, b)": "not-finite",
    "np.testing.assert_allclose(b, endless)": "not-finite",
    "np.testing.assert_array_equal(b, -endless)": "not-finite",
    "assert_equivalent(odd, b)": "not-finite",
    "assert_equivalent(2.0, float('inf'))": "not-finite",
    "assert np.isfinite(odd).all()": "not-finite",
    "assert np.all(np.isfinite(odd))": "not-finite",
    "assert not np.isnan(odd).any()": "not-finite",
    "assert not np.any(np.isnan(odd))": "not-finite",
    "assert (~np.isnan(odd)).all()": "not-finite",
    "assert not np.allclose(a, a)": "assertion",
    "case.assertFalse(np.isnan(odd).any())": "not-finite",
    "case.assertFalse(np.allclose(a, a))": "assertion",
    "assert np.isfinite(None)": "dtype",
    "assert np.isfinite({}['loss'])": "assertion",
    "assert not np.isnan(one[5])": "assertion",
    "assert np.isfinite(np.array([[1.0], two])).all()": "shape",
    "assert types.SimpleNamespace(isfinite=len).isfinite([])": "assertion",
    "np.testing.assert_equal(a, b)": "mismatch",
    "case.assertTrue(np.allclose(a, b), 'they differ')": "mismatch",
    "case.assertTrue((a == b).all().item())": "mismatch",
    "case.assertTrue(np.array_equal(a, wide))": "shape",
    "case.assertTrue(bool(np.all(a == b)))": "mismatch",
    "case.assertEqual(a.shape, wide.shape)": "shape",
    "case.assertEqual(wide.shape[0], 2)": "shape",
    "case.assertEqual(one, two)": "length",
    "case.assertEqual(one, (1.0,))": "dtype",
    "case.assertEqual(len(one), len(two))": "length",
    "case.assertEqual(a.dtype, np.int64)": "dtype",
    "case.assertIsInstance(one, dict)": "dtype",
    "case.assertTrue(isinstance(one, dict))": "dtype",
    "case.assertAlmostEqual(1.0, 2.0)": "mismatch",
    "case.assertEqual(type(one), tuple)": "dtype",
    "assert a.shape == (4,)": "shape",
    "assert a.dtype == np.int64": "dtype",
    "assert isinstance(one, tuple), 'the shape'": "dtype",
    "assert len(one) == 2": "length",
    "assert 1.0 == pytest.approx(2.0)": "mismatch",
    "assert one == [3.0]": "mismatch",
    "assert abs(1.0 - 2.0) < 1e-6": "mismatch",
    "assert np.abs(a - b).max() < 1e-6": "mismatch",
    "assert np.abs(a).max() > 1": "assertion",
    "assert all(x > 2 for x in one)": "assertion",
    "assert 3 in one": "assertion",
    "assert False, 'shapes do not match'": "assertion",
    "assert (a.shape, a.dtype) == ((3,), np.int64)": "assertion",
    "assert (a.shape, wide.shape) == ((3,), (2, 3))": "shape",
    "assert {'x': a.dtype} == {'x': np.int64}": "dtype",
    "assert {n: x.dtype for n, x in {'x': a}.items()} == dict.fromkeys('x', np.int64)": "dtype",
    "assert [a.shape, wide.shape] == [(3,), (2, 3)]": "shape",
    "assert [x.shape for x in (a, wide)] == [(3,), (2, 3)]": "shape",
    "assert [a.shape, a.dtype] == [(3,), np.int64]": "mismatch",
    "assert (a.sum(), 2.0) == (0.0, 3.0)": "mismatch",
    "assert a.shape == wide.shape and np.allclose(a, b)": "shape",
    "one.shape": "dtype",
    "one @ a": "assertion",
    "len(3)": "dtype",
    "x, y = one": "length",
    "x, y = 3": "dtype",
    "a + np.ones(2)": "shape",
    "raise KeyError('x')": "assertion",
    "raise ValueError('the test is wrong')": "assertion",
    "pytest.fail('as it is')": "assertion",
}


def raised(statement: str, place: Path) -> BaseException:
    file = place / f"test_{len(statement)}.py"  # a name of its own: `linecache` remembers
    file.write_text(SETTING + textwrap.indent(statement, "    ") + "\n")
    namespace: dict[str, object] = {"__name__": "test_it"}
    exec(compile(file.read_text(), str(file), "exec"), namespace)
    try:
        namespace["run"]()  # type: ignore[operator]
    except (Exception, pytest.fail.Exception) as error:  # noqa: BLE001
        return error
    raise RuntimeError(f"{statement}: raised nothing")


@pytest.mark.parametrize(("statement", "kind"), STATEMENTS.items(), ids=STATEMENTS)
def test_the_symptom_of_a_failing_statement(statement: str, kind: str, tmp_path: Path) -> None:
    assert symptom(raised(statement, tmp_path)) == kind


def test_a_result_is_asked_nothing_of_its_own(tmp_path: Path) -> None:
    """A class of the candidate's may answer as it likes: only values of known types are looked at."""
    liar = "class Liar(list):\n    @property\n    def shape(self):\n        raise SystemExit\n    __len__ = shape\n"
    error = raised(f"{liar}mine = Liar()\ncase.assertTrue(np.array_equal(mine, b) if False else mine is b)", tmp_path)
    assert symptom(error) == "assertion"
    error = raised(f"{liar}mine = Liar()\nassert mine is b", tmp_path)
    assert symptom(error) == "dtype"


@pytest.mark.parametrize(
    ("statement", "kind"),
    {
        "with pytest.raises(ValueError):\n    one[5]": "other-exception",
        "with pytest.raises(ValueError, match='x'), warnings.catch_warnings():\n    one[5]": "other-exception",
        "with case.assertRaises(ValueError):\n    one[5]": "other-exception",
        "pytest.raises(ValueError, one.__getitem__, 5)": "other-exception",
        "one[5]": "exception",
        "with warnings.catch_warnings():\n    one[5]": "exception",
        "with pytest.raises(ValueError):\n    raise ValueError\none[5]": "exception",
    }.items(),
)
def test_an_exception_where_another_one_is_asked_for(statement: str, kind: str, tmp_path: Path) -> None:
    assert of_raised(raised(statement, tmp_path)) == kind


WRONG_RESULTS = {
    "other-exception": ("with pytest.raises(ValueError):\n        candidate.m.f(-1)", "def f(x):\n    return [][x]\n"),
    "exception": ("assert candidate.m.f(-1) == 1", "def f(x):\n    return [][x]\n"),
    "undefined": ("with pytest.raises(ValueError):\n        candidate.m.f(-1)", "def g(x):\n    return x\n"),
    "no-exception": ("with pytest.raises(ValueError):\n        candidate.m.f(-1)", "def f(x):\n    return x\n"),
    "dtype": ("assert candidate.m.f(1).shape == (1,)", "def f(x):\n    return [x]\n"),
    "shape": ("assert candidate.m.f(1).shape == (1,)", "import numpy as np\ndef f(x):\n    return np.zeros((1, 1))\n"),
    "length": ("low, high = candidate.m.f(1)", "def f(x):\n    return (x,)\n"),
    "mismatch": ("assert candidate.m.f(1) == 2", "def f(x):\n    return x\n"),
}


@pytest.mark.parametrize("kind", WRONG_RESULTS)
def test_a_case_says_what_is_wrong_with_a_result(bare: Sandbox, kind: str) -> None:
    statement, wrong = WRONG_RESULTS[kind]
    case = only(grade(bare, f"import pytest\n\ndef test_it(candidate):\n    {statement}\n", wrong))
    assert (case.outcome, case.kind) == (Outcome.FAILED, kind)


def test_an_attribute_that_the_candidate_looks_up_is_no_undefined_interface(bare: Sandbox) -> None:
    wrong = "import math\ndef f(x):\n    return math.no_such(x)\n"
    case = only(grade(bare, "def test_it(candidate):\n    assert candidate.m.f(1) == 1\n", wrong))
    assert case.kind == "exception"
