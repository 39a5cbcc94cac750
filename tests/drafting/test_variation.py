"""The checklist of a draft names what its hidden tests never vary."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np

from pytest_recode.drafting.choosing import most_different
from pytest_recode.drafting.draft import DraftedCase
from pytest_recode.drafting.generators import source_of
from pytest_recode.drafting.plans import PLANS, DrawingPlan, drawn_sizes, fixed_sizes
from pytest_recode.drafting.recorded_values import RecordedCall
from pytest_recode.drafting.relations import constant_relations
from pytest_recode.drafting.variation import unvaried_arguments, unvaried_sizes
from tests.drafting.test_generators import call_of

SOURCE = "def f(x0, x1, x2=2, *, method='exact', tolerance=1e-9, more=None): ...\n"
[FUNCTION] = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)]
RNG = np.random.default_rng(3)
POINTS = [RNG.normal(size=(count, 3)) for count in (7, 9, 12)]


def cases(calls: Sequence[RecordedCall], plan: DrawingPlan = PLANS[0]) -> list[DraftedCase]:
    drafts = []
    for call in calls:
        sizes = drawn_sizes(call, plan, fixed_sizes(calls))
        source = source_of("draw", call, plan, sizes)
        drafts.append(DraftedCase(name="draw", source=source, call=call, words="", sizes=sizes.names, modified=False))
    return drafts


def test_arguments_with_one_value_in_all_cases_are_named() -> None:
    found = cases([call_of(points, 0.25 * n, 3, method="fast") for n, points in enumerate(POINTS, 1)])
    assert unvaried_arguments(FUNCTION, found) == [
        "x2=3",
        "method='fast'",
        "tolerance (its default)",
        "more (its default)",
    ]


def test_an_argument_with_two_values_is_varied() -> None:
    """Its default is one of them."""
    given = [{"method": "fast", "tolerance": 0.0}, {"method": "exact", "more": 1, "tolerance": 0.0}]
    calls = [call_of(points, 0.3, 2, **named) for points, named in zip(POINTS[:2], given, strict=True)]
    assert unvaried_arguments(FUNCTION, cases(calls)) == ["x2=2", "tolerance=0.0"]


def test_an_argument_that_stays_equal_to_a_drawn_size_is_varied() -> None:
    [found] = cases([call_of(POINTS[0], 0.3, 7)])
    assert "x2=7" not in unvaried_arguments(FUNCTION, [found])


def test_relations_that_hold_in_all_cases_are_named() -> None:
    """Of integers and axes; a number that is drawn near the recorded one is in no relation to a size."""
    calls = [
        call_of(RNG.normal(size=count), RNG.normal(size=(count, 5)), count, order, 2 * order, 31 + count)
        for count, order in ((9, 1), (14, 2), (21, 2))
    ]
    assert constant_relations(cases(calls)) == ["x2 = axis 0 of x0", "x4 = 2 * x3"]


def test_a_relation_of_sizes_is_named_if_the_inputs_keep_it() -> None:
    calls = [call_of(RNG.normal(size=count), RNG.normal(size=2 * count + 1)) for count in (9, 14)]
    found = {plan.sizes: constant_relations(cases(calls, plan)) for plan in PLANS}
    always = ["axis 0 of x1 = 2 * axis 0 of x0 + 1"]
    assert found == {"vary": [], "related": always, "near": [], "kept": always}


def test_the_calls_that_are_chosen_differ_in_kind_and_then_in_numbers() -> None:
    calls = [call_of(0.5, 3), call_of(0.5, 4), call_of(0.5, 4), call_of(0.7, 5), call_of(0.5, None), call_of(0.5, 3)]
    assert most_different(calls, 3) == [calls[0], calls[4], calls[3]]
    assert most_different(calls, 9)[3:4] == [calls[1]]


def test_sizes_that_no_case_varies_are_named() -> None:
    calls = [call_of(points, RNG.normal(size=(len(points), 1)), [points[:2], points[:4]]) for points in POINTS]
    assert unvaried_sizes(cases(calls)) == [
        "axis 1 of x0 (3)",
        "axis 1 of x1 (1)",
        "axis 0 of array 1 in x2 (2)",
        "axis 1 of array 1 in x2 (3)",
        "axis 0 of array 2 in x2 (4)",
        "axis 1 of array 2 in x2 (3)",
    ]


def test_recorded_arrays_are_named_as_arguments_and_not_by_their_sizes() -> None:
    recorded = cases([call_of(np.arange(20.0), 0.3, 2)], PLANS[-1])
    assert unvaried_arguments(FUNCTION, recorded)[0] == "x0 (the recorded value)"
    assert unvaried_sizes(recorded) == []
    kept = next(plan for plan in PLANS if plan.sizes == "kept")
    assert unvaried_sizes(cases([call_of(np.linspace(0.1, 3.7, 20), 0.3, 2)], kept)) == ["axis 0 of x0 (20)"]
