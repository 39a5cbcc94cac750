"""The verdicts, and the number of tasks that would suffice, against the paired test itself, one repetition after the other."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_recode.metrics import gate_verdict
from pytest_recode.metrics.gate_verdict import ALLOWED, GateVerdict, sufficient, verdict
from pytest_recode.metrics.paired import Unit, interval_within, p_value, paired
from tests.examples import examples


def units(*changes: Fraction | int, weight: int = 1) -> list[Unit]:
    return [Unit(change=Fraction(change), weight=weight) for change in changes]


def of(lost: int, won: int, same: int) -> list[Unit]:
    return units(*[-1] * lost, *[1] * won, *[0] * same)


def told(sample: list[Unit], item: Fraction | None = None, *, rows: int = 1) -> GateVerdict:
    """By the public test alone."""
    one = paired(sample, item=item)
    return verdict(one.value, one.interval, min(1.0, one.p * rows))


@pytest.mark.parametrize(
    ("lost", "won", "same", "expected"),
    [
        (6, 0, 0, GateVerdict.WORSE),  # 2 / 2^6 < 0.05
        (5, 0, 0, GateVerdict.FEW),  # 2 / 2^5 > 0.05
        (5, 0, 500, GateVerdict.SAME),  # a loss, but of one point
        (6, 0, 500, GateVerdict.WORSE),
        (0, 6, 3, GateVerdict.BETTER),
        (0, 0, 5, GateVerdict.FEW),
        (0, 0, 60, GateVerdict.SAME),
        (10, 10, 0, GateVerdict.FEW),
        (3, 3, 120, GateVerdict.SAME),
    ],
)
def test_the_four_verdicts(lost: int, won: int, same: int, expected: GateVerdict) -> None:
    assert told(of(lost, won, same)) is expected


CHANGES = st.sampled_from([Fraction(n, 3) for n in (-3, -2, -1, 0, 0, 0, 1, 2, 3)])
UNITS = st.lists(
    st.tuples(CHANGES, st.integers(1, 3)).map(lambda one: Unit(change=one[0] * one[1], weight=one[1])),
    min_size=1,
    max_size=9,
)


@given(
    UNITS,
    st.sampled_from([None, Fraction(3, 2)]),
    st.sampled_from([ALLOWED, Fraction(1, 4), Fraction(1, 3), Fraction(3, 4)]),
)
@examples(300)
def test_whether_the_interval_lies_within_is_what_the_interval_says(
    sample: list[Unit], item: Fraction | None, bound: Fraction
) -> None:
    low, high = paired(sample, item=item).interval
    assert interval_within(sample, item, bound) == (-float(bound) <= low and high <= float(bound))
    assert p_value(sample) == paired(sample, item=item).p


@given(UNITS)
@examples(60)
def test_it_is_the_share_of_all_subsets(sample: list[Unit]) -> None:
    """Of the definition, by enumeration: a difference is rejected if fewer than 2.5 % of the subsets lie beyond it."""
    pairs = [(unit.change, Fraction(unit.weight)) for unit in sample] + [
        (Fraction(1), Fraction(1)),
        (Fraction(-1), Fraction(1)),
    ]
    beyond = {1: 0, -1: 0}
    for chosen in itertools.product((False, True), repeat=len(pairs)):
        subset = [pair for pair, taken in zip(pairs, chosen, strict=True) if taken]
        total, weight = sum(change for change, _ in subset), sum(size for _, size in subset)
        for sign in beyond:
            beyond[sign] += not subset or sign * total < -ALLOWED * weight
    value = sum(unit.change for unit in sample) / sum(unit.weight for unit in sample)
    expected = abs(value) <= ALLOWED and all(40 * count < 2 ** len(pairs) for count in beyond.values())
    assert interval_within(sample, None, ALLOWED) == expected


@given(st.integers(0, 4), st.integers(0, 4), st.integers(0, 30), st.sampled_from([1, 3]))
@examples(60)
def test_what_suffices_is_the_first_repetition_with_another_verdict(lost: int, won: int, same: int, rows: int) -> None:
    sample = of(lost, won, same)
    assume(sample and told(sample, rows=rows) is GateVerdict.FEW)
    few = len(sample)
    for times in range(2, 120 // few + 1):
        if told(sample * times, rows=rows) is not GateVerdict.FEW:
            assert sufficient(sample, None, tasks=few, rows=rows) == few * times
            return
    more = sufficient(sample, None, tasks=few, rows=rows)
    assert more is None or more > 120 // few * few


@pytest.mark.slow
@given(UNITS.filter(lambda sample: len(sample) < 6))
@examples(40)
def test_units_of_any_size_do_it_too(sample: list[Unit]) -> None:
    assume(told(sample) is GateVerdict.FEW)
    times = next((times for times in range(2, 9) if told(sample * times) is not GateVerdict.FEW), None)
    enough = sufficient(sample, None, tasks=len(sample))
    assert enough == times * len(sample) if times else enough is None or enough > 8 * len(sample)


def test_numbers_that_a_reader_can_check() -> None:
    assert sufficient(of(1, 0, 0), None, tasks=1) == 6  # six lost tasks without a gained one
    assert sufficient(of(1, 0, 4), None, tasks=5) == 30
    assert (
        sufficient(of(0, 0, 1), None, tasks=1)
        == 24
        == next(n for n in range(1, 99) if told(of(0, 0, n)) is GateVerdict.SAME)
    )
    assert sufficient(of(1, 1, 0), None, tasks=2) is not None
    with pytest.raises(ValueError, match="no task"):
        sufficient([], None, tasks=0)


def test_a_number_that_is_too_large_is_not_searched_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gate_verdict, "MOST_TASKS", 20)
    assert sufficient(of(1, 0, 4), None, tasks=5) is None
    assert sufficient(of(1, 0, 0), None, tasks=1) == 6
    assert sufficient(of(1, 0, 10), None, tasks=11) is None  # twice as many are too many
    assert sufficient(of(1, 0, 29), None, tasks=30) is None
