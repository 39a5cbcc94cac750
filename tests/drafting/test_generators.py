"""Inputs that are drawn have the types, the structure and the equal sizes of recorded ones."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

from pytest_recode.drafting.draft import drawing_source
from pytest_recode.drafting.generators import NotDrawable, source_of
from pytest_recode.drafting.plans import PLANS, DrawingPlan, drawn_sizes, fixed_sizes
from pytest_recode.drafting.recorded_values import RecordedCall, Unreadable, read_call, read_value
from pytest_recode.inside.recording.descriptions import CannotDescribe, describe

RNG = np.random.default_rng(5)
SPD = np.array([a @ a.T + np.eye(4) for a in RNG.normal(size=(6, 4, 4))])
HERMITIAN = SPD + 1j * np.triu(np.full((4, 4), 0.1), 1) - 1j * np.tril(np.full((4, 4), 0.1), -1)


def call_of(*values: Any, **named: Any) -> RecordedCall:
    message = {
        "function": "f",
        "args": [describe(value) for value in values],
        "kwargs": {name: describe(value) for name, value in named.items()},
        "names": [f"x{number}" for number in range(len(values))],
        "modified": [],
        "effects": [],
        "result": "",
    }
    return read_call(message, ("f",))


def drawn(call: RecordedCall, plan: DrawingPlan, seed: int, fixed: frozenset[int] = frozenset()) -> tuple[Any, Any]:
    names: dict[str, Any] = {}
    exec(drawing_source([source_of("draw", call, plan, drawn_sizes(call, plan, fixed))]), names)
    return names["draw"](np.random.default_rng(seed))  # type: ignore[no-any-return]


VALUES = {
    "positive definite": SPD,
    "hermitian": HERMITIAN,
    "correlation": np.array([[1.0, 0.3, 0.2], [0.3, 1.0, 0.1], [0.2, 0.1, 1.0]]),
    "identity": np.eye(5),
    "symmetric": np.array([[0.0, 2.0, 3.0], [2.0, 0.0, -4.5], [3.0, -4.5, 0.0]]),
    "probabilities": RNG.dirichlet(np.ones(6), 4),
    "joint probabilities": np.outer(RNG.dirichlet(np.ones(3)), RNG.dirichlet(np.ones(5))),
    "ascending": np.sort(RNG.normal(size=9)),
    "constant": np.full(7, 0.25),
    "unit rows": RNG.normal(size=(5, 3)) / 9.0,
    "lower triangular": np.linalg.cholesky(SPD),
    "orthogonal": np.linalg.qr(RNG.normal(size=(4, 4)))[0],
    "integral": np.array([3.0, 1.0, 8.0, 4.0, 9.0, 12.0, 7.0, 2.0, 30.0]),
    "labels": np.array([0, 1, 2, 1, 0, 2, 1, 0]),
    "permutation": np.array([2, 0, 1, 3, 4]),
    "indices": np.array([1, 4, 9, 12, 30]),
    "booleans": np.array([True, False, True, True]),
    "float32": RNG.normal(size=(3, 8)).astype(np.float32),
    "int16": np.arange(5, dtype=np.int16) * 7 % 5,
    "missing": np.array([1.5, np.nan, 2.5, 4.25, -1.0, np.nan, 3.0, 0.5]),
    "list of floats": [0.5, 1.25, 7.0, 3.5, 0.0],
    "list of lists": [[1.5, 2.0], [3.0, 4.25], [0.0, 1.0]],
}
VALUES["unit rows"] /= np.linalg.norm(VALUES["unit rows"], axis=1, keepdims=True)


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("plan", [PLANS[0], PLANS[8]], ids=["vary", "kept"])
def test_structure_dtype_and_range_are_kept(name: str, plan: DrawingPlan) -> None:
    value = VALUES[name]
    call = call_of(value)
    recorded = describe(value)
    sizes = set()
    for seed in range(20):
        [sample], _ = drawn(call, plan, seed)
        assert type(sample) is type(value)
        again = describe(sample)
        assert again["dtype"] == recorded["dtype"]
        assert len(again["shape"]) == len(recorded["shape"])
        # what a drawn array has beside, such as an ascending order, is chance
        traits = set(recorded["traits"]) - ({"nan"} if name == "missing" else set())
        assert traits <= set(again["traits"]), (sample, again)
        if "quantiles" in recorded and not traits & {
            "positive_definite",
            "orthogonal",
            "sums_to_one",
            "total_one",
            "unit_rows",
        }:
            low, high = recorded["quantiles"][0], recorded["quantiles"][-1]
            assert again["quantiles"][0] >= low - 1e-4 - 1e-4 * abs(low)
            assert again["quantiles"][-1] <= high + 1e-4 + 1e-4 * abs(high)
        sizes.add(tuple(again["shape"]))
    assert (len(sizes) == 1) == (plan.sizes == "kept")


def test_equal_sizes_stay_equal_and_a_number_that_is_a_size_stays_one() -> None:
    call = call_of(RNG.normal(size=(9, 4)), RNG.normal(size=(4, 9)), [1.5] * 3 + [2.0], components=9, scale=0.7)
    shapes = set()
    for seed in range(20):
        (first, second, third), named = drawn(call, PLANS[0], seed)
        assert first.shape == second.shape[::-1]
        assert len(third) == first.shape[1]
        assert named["components"] == first.shape[0]
        assert 0.6 < named["scale"] < 0.8
        assert named["scale"] != 0.7
        shapes.add(first.shape)
    assert len(shapes) > 5


def test_related_sizes_stay_related() -> None:
    plan = next(each for each in PLANS if each.sizes == "related")
    for seed in range(10):
        (knots, values), _ = drawn(call_of(RNG.normal(size=8), RNG.normal(size=7)), plan, seed)
        assert len(knots) == len(values) + 1


def test_sizes_that_never_differ_are_kept() -> None:
    calls = [call_of(RNG.normal(size=(count, 3))) for count in (5, 8)]
    assert fixed_sizes(calls) == {3}
    assert fixed_sizes(calls[:1]) == frozenset()
    for seed in range(10):
        [points], _ = drawn(calls[0], PLANS[0], seed, fixed_sizes(calls))
        assert points.shape[1] == 3


def test_texts_choices_and_seeds() -> None:
    call = call_of("euclidean", "the cat sat on the mat", None, True, random_state=3, order=2, weights={"a": 0.3})
    draws = [drawn(call, PLANS[0], seed) for seed in range(10)]
    assert {args[0] for args, _ in draws} == {"euclidean"}
    assert len({args[1] for args, _ in draws}) > 5
    assert all(set(args[1].split()) <= {"the", "cat", "sat", "on", "mat"} for args, _ in draws)
    assert {args[2:] for args, _ in draws} == {(None, True)}
    assert len({named["random_state"] for _, named in draws}) == 10
    assert {named["order"] for _, named in draws} == {2}
    assert all(0.28 < named["weights"]["a"] < 0.32 for _, named in draws)


def test_the_closest_plan_is_the_recorded_call() -> None:
    values = (VALUES["integral"], np.array(["a", "b"]), [0.5, np.inf], np.float32(2.5), (1, 7.5), {3, 4}, b"x", 2 + 1j)
    args, _ = drawn(call_of(*values), PLANS[-1], 0)
    for value, sample in zip(values, args, strict=True):
        assert type(sample) is type(value)
        np.testing.assert_array_equal(sample, value) if isinstance(value, np.ndarray | list) else None
        assert isinstance(value, np.ndarray | list) or sample == value


def test_an_array_that_is_too_large_to_be_kept_is_only_drawn() -> None:
    call = call_of(RNG.normal(size=5000))
    assert len(drawn(call, PLANS[0], 0)[0][0]) <= 50
    with pytest.raises(NotDrawable):
        source_of("draw", call, PLANS[-1], drawn_sizes(call, PLANS[-1], frozenset()))


@pytest.mark.parametrize(
    "value", [object(), len, np.array([object()]), np.ma.masked_array([1]).mask.dtype, [{1: object()}]]
)
def test_what_cannot_travel_is_not_described(value: object) -> None:
    with pytest.raises(CannotDescribe):
        describe(value)


GOOD = {"kind": "array", "dtype": "<f8", "shape": [2], "traits": [], "data": [1.0, 2.0]}


@pytest.mark.parametrize(
    "change",
    [
        {"dtype": '<f8"); import os; ("'},
        {"dtype": "O"},
        {"shape": ["__import__('os')"]},
        {"shape": [-1]},
        {"traits": ["x y"]},
        {"data": [{"a": 1}]},
        {"choices": ["1"]},
        {"kind": "pickle"},
    ],
)
def test_a_description_that_would_become_code_is_refused(change: dict[str, Any]) -> None:
    read_value(GOOD)
    with pytest.raises((Unreadable, TypeError, ValueError)):
        read_value({**GOOD, **change})


@pytest.mark.parametrize("name", ['x"""\nimport os\n"""', "1x", "*", "*x", ""])
def test_a_name_that_would_become_code_is_refused(name: str) -> None:
    good = {"function": "f", "args": [GOOD], "kwargs": {}, "names": ["x"], "modified": [], "effects": [], "result": ""}
    read_call(good, ("f",))
    with pytest.raises(Unreadable):
        read_call({**copy.deepcopy(good), "names": [name]}, ("f",))
    with pytest.raises(Unreadable):
        read_call({**copy.deepcopy(good), "kwargs": {name: GOOD}}, ("f",))
