from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from pytest_recode.inside.grading.equivalence import Mismatch
from pytest_recode.sandboxes import Sandbox
from pytest_recode.testing import assert_equivalent
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade

nan, inf = math.nan, math.inf
large = 1.5e308 + 1.5e308j  # its magnitude is larger than any float


@pytest.mark.parametrize(
    ("actual", "expected"),
    [
        (1, 1),
        (1.0 + 1e-9, 1.0),
        (np.float64(1.0), 1.0),
        (1.0, np.float32(1.0)),
        (np.array(1.0), 1.0),
        (True, np.bool_(True)),
        (np.int32(3), 3),
        (10**400, 10**400),
        (1 + 1e-9j, 1 + 0j),
        (nan, nan),
        ([inf, -inf], [inf, -inf]),
        (complex(nan, 1), complex(nan, 1)),
        ("a", np.str_("a")),
        (b"a", b"a"),
        (None, None),
        ([1, (2, 3)], (1, [2, 3])),
        ({"a": 1, (1, 2): [2.0]}, {(1, 2): [2.0], "a": 1}),
        ({1, 2}, frozenset({1, 2})),
        (range(3), range(3)),
        (np.zeros((0, 3)), np.zeros((0, 3))),
        (np.array([1.0, 1e-17]), np.array([1.0, 0.0])),
        ([1.0, 1e-17], [1.0, 0.0]),
        ([[1.0, 1e-17]], [[1.0, 0.0]]),
        (1e-12, 0.0),
        (np.array([nan, 1.0]), np.array([nan, 1.0])),
        (np.float32([1.0]), np.float64([1.0])),
        (np.array([1.0], dtype=">f8"), np.array([1.0])),
        (np.array([2**64 - 1], dtype=np.uint64), np.array([2**64 - 1], dtype=np.uint64)),
        (np.array([1, 2], dtype=np.uint8), np.array([1, 2])),
        (np.array(["a", "bb"]), np.array(["a", "bb"], dtype="U9")),
        (np.array(["2020-01-01", "NaT"], dtype="M8[D]"), np.array(["2020-01-01", "NaT"], dtype="M8[D]")),
        (np.array(["2020-01-01", "NaT"], dtype="M8[s]"), np.array(["2020-01-01", "NaT"], dtype="M8[D]")),
        (np.array(["NaT"], dtype="m8"), np.array(["NaT"], dtype="m8[D]")),
        (np.array([1e308]), np.array([1e308])),
        (np.asfortranarray(np.eye(3)), np.eye(3)),
        (np.ones(2, np.longdouble), np.ones(2)),
        (large, large),
        ([large, 1.0], [large, 1.0]),
        (np.array([large, 1.0]), np.array([large, 1.0])),
        (np.array([large * (1 + 1e-9)]), np.array([large])),
        (np.array([np.longdouble("1e400")]), np.array([np.longdouble("1e400")])),
        ({frozenset({1, (2, 3)}): 1}, {frozenset({1, (2, 3)}): 1}),
        ({complex(nan, 1)}, {complex(float("nan"), 1)}),
        (slice(np.int64(1), [2.0]), slice(1, [2.0])),
        ({np.datetime64(5, "ns"), np.datetime64("NaT")}, {np.datetime64(5, "ns"), np.datetime64("NaT")}),
    ],
)
def test_equivalent(actual: Any, expected: Any) -> None:
    assert_equivalent(actual, expected)


@pytest.mark.parametrize(
    ("kind", "actual", "expected"),
    [
        ("mismatch", 1, 2),
        ("mismatch", 1.0 + 1e-4, 1.0),
        ("mismatch", 0.0, 1e-12),
        ("mismatch", 10**400, 10**400 + 1),
        ("not-finite", nan, 1.0),
        ("not-finite", 1.0, nan),
        ("not-finite", inf, 1e308),
        ("mismatch", -inf, inf),
        ("not-finite", 1e308, inf),
        ("mismatch", complex(nan, 1), complex(nan, 2)),
        ("mismatch", complex(1, nan), complex(nan, 1)),
        ("mismatch", "a", "b"),
        ("mismatch", np.zeros(3), np.full(3, 1e-9)),
        ("not-finite", np.full(3, nan), np.zeros(3)),
        ("mismatch", np.array([2**63], dtype=np.uint64), np.array([-(2**63)])),
        ("mismatch", np.array([2**53 + 1]), np.array([2**53], dtype=np.uint64)),
        ("mismatch", np.array(["a"]), np.array(["b"])),
        ("mismatch", np.array(["2020-01-01T01"], dtype="M8[h]"), np.array(["2020-01-01"], dtype="M8[D]")),
        ("mismatch", np.array([1e308]), np.array([-1e308])),
        ("dtype", np.array([1], dtype="m8[s]"), np.array([1], dtype="m8[Y]")),
        ("mismatch", np.array([5], dtype="m8"), np.array([5], dtype="m8[D]")),
        # as nanoseconds, 10**10 s is 2**64 ns more than a number of 64 bits holds
        ("mismatch", np.array([10**10], dtype="M8[s]"), np.array([10**19 - 2**64], dtype="M8[ns]")),
        ("mismatch", np.array([10**19 - 2**64], dtype="M8[ns]"), np.array([10**10], dtype="M8[s]")),
        ("mismatch", np.str_("a\0"), "a"),
        ("mismatch", np.bytes_(b"a\0"), b"a"),
        ("mismatch", [0.0, 0.0], [1e-3, 1e-4]),
        ("mismatch", np.array([0j, 0j]), np.array([large, 1.0])),
        ("mismatch", np.array([0j]), np.array([large])),
        ("mismatch", np.array([large]), np.array([0j])),
        ("mismatch", [0j, 0j], [large, 1 + 0j]),
        ("mismatch", 0j, large),
        ("mismatch", large, 0j),
        ("mismatch", large, large.conjugate()),
        ("mismatch", 1.5e308 + 0j, -1.5e308j),
        ("mismatch", np.array([np.longdouble(0), 0]), np.array([np.longdouble("1e4000"), 1])),
        ("mismatch", slice(1, 2), slice(1, 3)),
        ("dtype", slice(1), slice(True)),
        ("dtype", slice(0, 1), slice(0.0, 1)),
        ("dtype", [1], slice(1)),
        ("dtype", 1, True),
        ("dtype", True, 1),
        ("dtype", 1, 1.0),
        ("dtype", 1.0, 1),
        ("dtype", 1.0, 1 + 0j),
        ("dtype", "1", 1),
        ("dtype", None, 0.0),
        ("dtype", 0, None),
        ("dtype", b"a", "a"),
        ("dtype", "a", b"a"),
        ("dtype", [1.0], np.array([1.0])),
        ("dtype", np.array([1.0]), [1.0]),
        ("dtype", {"a": 1}, [("a", 1)]),
        ("dtype", [1], {1}),
        ("dtype", np.array([1]), np.array([1.0])),
        ("dtype", np.array([True]), np.array([1])),
        ("dtype", np.array(["1"]), np.array([1])),
        ("dtype", np.array([None]), np.array([1.0])),
        ("dtype", object(), 1.0),
        ("dtype", object(), [1.0]),
        ("dtype", object(), {}),
        ("dtype", object(), None),
        ("dtype", object(), np.ones(1)),
        ("length", [1], [1, 2]),
        ("length", (), [1]),
        ("keys", {"a": 1}, {"b": 1}),
        ("keys", {1: "x"}, {True: "x"}),
        ("keys", {1, 2}, {1, 3}),
        ("keys", {frozenset({1})}, {frozenset({True})}),
        ("keys", {frozenset({1}): "x"}, {frozenset({1.0}): "x"}),
        ("keys", {(frozenset({(1, 2)}),): "x"}, {(frozenset({(1.0, 2)}),): "x"}),
        ("keys", {5}, {np.datetime64(5, "ns")}),
        ("shape", np.ones((1, 3)), np.ones(3)),
        ("shape", np.ones(1), 1.0),
        ("shape", np.zeros(0), np.zeros(3)),
        ("shape", np.zeros((3, 0)), np.zeros((0, 3))),
    ],
)
def test_not_equivalent(kind: str, actual: Any, expected: Any) -> None:
    with pytest.raises(Mismatch) as info:
        assert_equivalent(actual, expected)
    assert info.value.kind == kind


def test_options() -> None:
    assert_equivalent(1, 1.0, check_dtype=False)
    assert_equivalent(np.array([1]), np.array([1.0]), check_dtype=False)
    assert_equivalent(np.ones((1, 3)), np.ones((3, 1)), check_shape=False)
    assert_equivalent(np.zeros(2), np.full(2, 1e-3), atol=1e-2)
    assert_equivalent(1.05, 1.0, rtol=0.1)
    for options, text in (
        ({"check_dtype": True}, "result has dtype float32, expected float64"),
        ({"equal_nan": False}, "result[1] is nan, expected nan; 1 of 2 entries differ"),
        ({"rtol": 0.0}, "result[0] is 1.00000001"),
    ):
        dtype = np.float32 if "check_dtype" in options else np.float64
        with pytest.raises(Mismatch) as info:
            assert_equivalent(np.array([1.00000001, nan], dtype=dtype), np.array([1.0, nan]), **options)  # type: ignore[arg-type]
        assert str(info.value).startswith(text)
    with pytest.raises(Mismatch):
        assert_equivalent(np.ones((2, 3)), np.ones((3, 2)), check_shape=False)


def test_a_tolerance_that_no_float_can_hold_does_not_accept_everything() -> None:
    for actual, expected in ((-1.7e308, 1.7e308), (np.array([-1.7e308]), np.array([1.7e308]))):
        with pytest.raises(Mismatch):
            assert_equivalent(actual, expected, rtol=0.9, atol=1e308)


def test_the_message() -> None:
    expected = {"plan": [0, "x", np.array([[1.0, 2.0, 3.0, 4.0], [0.0, 1.0, 1.0, 1.0]])]}
    actual = {"plan": [0, "x", np.array([[1.0, 2.0, 3.0, 4.5], [0.5, 1.0, 1.0, 1.0]])]}
    with pytest.raises(Mismatch) as info:
        assert_equivalent(actual, expected)
    assert str(info.value) == (
        "result['plan'][2][0, 3] is 4.5, expected 4.0; 2 of 8 entries differ; largest absolute error 0.5 at [0, 3], "
        "largest relative error 0.125 at [0, 3]; tolerance rtol=1e-05, atol=4e-08"
    )
    with pytest.raises(Mismatch) as info:
        assert_equivalent({"a": 1.5}, {"a": 1.0})
    assert str(info.value) == (
        "result['a'] is 1.5, expected 1.0: absolute error 0.5, relative error 0.5, allowed 1e-05"
    )
    with pytest.raises(Mismatch, match=r"^result has other keys: it lacks 'b' and has extra 'c'$"):
        assert_equivalent({"a": 1, "c": 1}, {"a": 1, "b": 1})


def test_the_message_has_no_largest_error_where_no_difference_is_a_number() -> None:
    expected = np.array([1.0, 2.0, 3.0])
    for actual, target, rest in (
        ([1.0, nan, np.inf], expected, ", all of them NaN or infinite"),
        ([1.0, 2.0, -np.inf], [1.0, 2.0, np.inf], ", all of them NaN or infinite"),
        ([1.0, nan, 3.0], [1.0, 2.0, nan], ", all of them NaN or infinite in the result or in what is expected"),
        (
            [1.5, nan, 3.0],
            expected,
            "; largest absolute error 0.5 at [0], largest relative error 0.5 at [0]; tolerance",
        ),
    ):
        with pytest.raises(Mismatch) as info:
            assert_equivalent(np.array(actual), np.array(target))
        head, _, tail = str(info.value).partition(" entries differ")
        assert head.endswith(" of 3")
        assert tail == rest if "tolerance" not in rest else tail.startswith(rest)
    with pytest.raises(Mismatch, match=r"^result is nan, expected 1\.0$"):
        assert_equivalent(np.array(nan), np.array(1.0))


def test_an_expected_value_that_is_no_plain_data_is_the_authors_fault() -> None:
    for expected in (object(), iter([1]), np.array([None]), np.zeros(2, "i4,f8")):
        with pytest.raises(TypeError, match="is not plain data"):
            assert_equivalent(1.0, expected)
    for options in (
        {"rtol": 1.0},
        {"rtol": -1e-5},
        {"rtol": nan},
        {"atol": inf},
        {"atol": -1.0},
        {"check_dtype": "all"},
    ):
        with pytest.raises(ValueError, match="must be"):
            assert_equivalent(1.0, 1.0, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("np.array([1.5e308 + 1.5e308j, 1.0])", "np.array([0j, 0j])"),
        ("np.array([np.longdouble('1e4000'), 1])", "np.array([np.longdouble(0), 0])"),
        ("{frozenset({1, 2}): 'x'}", "{frozenset({True, 2.0}): 'x'}"),
        ("slice(0, 1)", "slice(False, True)"),
    ],
)
def test_a_wrong_answer_is_not_solved(right: str, wrong: str, bare: Sandbox) -> None:
    tests = """
        from pytest_recode.testing import assert_equivalent

        def test_f(candidate, reference):
            assert_equivalent(candidate.m.f(), reference.m.f())
    """
    code = "import numpy as np\n\ndef f(): return "
    assert grade(bare, tests, code + right).solved
    [case] = grade(bare, tests, code + wrong, code + right).cases
    assert case.outcome is Outcome.FAILED
