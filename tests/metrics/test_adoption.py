"""Adoption by rule, on turns written by hand: every number here is counted on fingers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.episode import Feedback, FeedbackItem
from pytest_recode.faults import UserError
from pytest_recode.metrics.adoption import Advice, FeedbackPair, by_rule, code_of, named, rate, read
from tests.messages import assert_message
from tests.metrics import samples
from tests.metrics.samples import feedback_line, turn_line

BEFORE = '''\
import math

EPS = 1e-9


def mean(values, weights=None):
    """Of values."""
    return total(values) / len(values)


def total(values):
    return sum(values)


class Running:
    def __init__(self):
        self.sum = 0.0

    def push(self, value):
        self.sum += self.scaled(value)

    def scaled(self, value):
        return value

    def value(self):
        return self.sum
'''
WORDS = {
    "category": "T2",
    "description": "The mean is off.",
    "analysis": "The weights are not used.",
    "suggestion": "Divide by the total of `weights`, as `norm_of` gives it.",
    "correction": "def mean(values, weights=None):\n    return sum(v * w for v, w in zip(values, weights))\n",
}


def cases(*passed: bool, interface: str = "stats.mean") -> list[dict[str, Any]]:
    return [
        {
            "id": f"t::{place}",
            "interface": interface,
            "outcome": "passed" if good else "failed",
            "kind": "" if good else "mismatch",
            "exception": None,
        }
        for place, good in enumerate(passed)
    ]


def pair(
    before: str = BEFORE,
    after: str = BEFORE,
    *,
    level: str = "L3",
    interface: str = "stats.mean",
    was: tuple[bool, ...] = (False, False),
    now: tuple[bool, ...] = (False, False),
    **words: str,
) -> FeedbackPair:
    def turn(code: str, passed: tuple[bool, ...]) -> dict[str, Any]:
        return {"targets": {"stats.py": code}, "cases": cases(*passed, interface=interface)}

    item = FeedbackItem(interface=interface, **{**WORDS, **words})
    feedback = Feedback(level=int(level[1:]), text="", turn=1, items=(item,))
    return FeedbackPair(feedback=feedback, before=turn(before, was), after=turn(after, now))


def adopted(*args: Any, **more: Any) -> str:
    [advice] = by_rule(pair(*args, **more))
    return advice.adopted


@pytest.mark.parametrize(
    "after",
    [
        BEFORE,
        BEFORE.replace('"""Of values."""', '"""The mean, of values."""  # and a comment'),
        BEFORE.replace("EPS = 1e-9", "EPS = 1e-6"),
        BEFORE.replace("return self.sum", "return self.sum + 1"),
        BEFORE + "\n\ndef other(norm_of, weights):\n    return weights\n",
    ],
    ids=["nothing", "docstring and comment", "a constant it does not use", "another interface", "more code beside it"],
)
def test_code_of_the_interface_that_is_the_same_program_adopted_nothing(after: str) -> None:
    assert adopted(BEFORE, after) == "no"


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("sum(values) / norm_of(weights)", "yes"),
        ("sum(values) / math.fsum(values)", "partial"),
    ],
)
def test_half_of_the_names_that_are_new_must_be_there(body: str, answer: str) -> None:
    """`weights` was there before; of what the words bring up, `norm_of` alone is new."""
    assert adopted(BEFORE, BEFORE.replace("total(values) / len(values)", body)) == answer


def test_names_are_those_that_the_level_shows() -> None:
    item = FeedbackItem(interface="stats.mean", **WORDS)
    assert named(item, "L2") == set()
    assert named(item, "L3") == {"weights", "norm_of"}
    assert named(item, "L4") == {"weights", "norm_of", "mean", "values", "sum", "v", "w", "zip"}


def test_without_new_names_a_change_is_adoption() -> None:
    assert adopted(BEFORE, BEFORE.replace("/ len", "// len"), level="L2") == "yes"


def test_what_the_interface_uses_is_its_code_too() -> None:
    assert adopted(BEFORE, BEFORE.replace("return sum(values)", "return math.fsum(values)"), level="L1") == "yes"


def test_the_correction_as_it_was_shown_is_adoption() -> None:
    with_it = BEFORE.replace("return total(values) / len(values)", "return sum(v * w for v, w in zip(values, weights))")
    extra = {"suggestion": "Use `a`, `b`, `c`, `d`, `e`, `f`, `g` and `h`."}
    assert adopted(BEFORE, with_it, level="L3", **extra) == "partial"
    assert adopted(BEFORE, with_it, level="L4", **extra) == "yes"


@pytest.mark.parametrize(
    ("change", "answer"),
    [(("return value\n", "return 2 * value\n"), "yes"), (("return self.sum", "return self.sum + 1"), "no")],
    ids=["a method that it calls", "one that it does not"],
)
def test_of_a_class_a_method_has_what_it_names(change: tuple[str, str], answer: str) -> None:
    after = BEFORE.replace(*change)
    assert adopted(BEFORE, after, interface="stats.Running.push", level="L1") == answer


def test_code_that_does_not_parse_is_compared_as_text() -> None:
    assert adopted("def mean(:", "def mean(:", level="L1") == "no"
    assert adopted("def mean(:", BEFORE, level="L1") == "yes"


def test_an_interface_that_no_target_defines_is_all_of_them() -> None:
    assert adopted(BEFORE, BEFORE.replace("1e-9", "1e-6"), interface="TestMean.test_a", level="L1") == "yes"
    assert adopted(interface="TestMean.test_a", level="L1") == "no"


def test_a_target_that_is_gone_is_a_change() -> None:
    given = pair()
    gone = FeedbackPair(feedback=given.feedback, before=given.before, after={**given.after, "targets": {}})
    assert [advice.adopted for advice in by_rule(gone)] == ["partial"]


@pytest.mark.parametrize(
    ("was", "now", "answer"),
    [
        ((False, False), (True, True), "yes"),
        ((False, True), (True, True), "yes"),
        ((False, False), (True, False), "partial"),
        ((False, True), (True, False), "no"),
        ((False, True), (False, False), "no"),
        ((False, False), (), "no"),
    ],
)
def test_resolved_is_what_the_hidden_cases_say(was: tuple[bool, ...], now: tuple[bool, ...], answer: str) -> None:
    [advice] = by_rule(pair(was=was, now=now))
    assert advice == Advice(interface="stats.mean", level="L3", category="T2", adopted="no", resolved=answer)


def turn(number: int, code: str = BEFORE) -> dict[str, Any]:
    return turn_line({**samples.turn(number, 0, 1), "cases": cases(False)}, {"stats.py": code})


def feedback(number: int, level: str = "L1") -> dict[str, Any]:
    return feedback_line(number, level, [{"interface": "stats.mean", **WORDS}])


def test_pairs_are_of_feedback_that_had_a_turn_and_said_something(tmp_path: Path) -> None:
    lines = [
        turn(1),
        feedback(1, "L0"),
        turn(2),
        feedback(2, "L1"),
        feedback(2, "L2"),
        turn(3, "x = 1\n"),
        feedback(3, "L3"),
    ]
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines) + '{"event": "tu')
    pairs = read(path)
    assert pairs is not None
    [judged] = pairs
    assert (judged.level, judged.before["turn"], judged.after["turn"]) == ("L2", 2, 3)
    assert read(None) is None


def test_a_damaged_line_of_a_transcript_is_named(tmp_path: Path) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(json.dumps(turn(1)) + "\n" + json.dumps(feedback(1))[:60] + "\n" + json.dumps(turn(2)) + "\n")
    with pytest.raises(UserError) as caught:
        read(path)
    assert_message(
        str(caught.value), f"{path}, line 2", "is damaged", "JSONDecodeError", "restore it", "remove the transcript"
    )


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"items": 7}, "items is 7: must be a list"),
        ({"level": "L9"}, "level is 'L9': must be L0 or L1"),
        ({"audit": {}}, "audit: lacks 'reference_run'"),
        ({"turn": None}, "turn is null: must be a whole number from 1"),
    ],
)
def test_a_wrong_value_in_a_transcript_is_named(tmp_path: Path, changed: dict[str, Any], problem: str) -> None:
    path = tmp_path / "e.jsonl"
    path.write_text(json.dumps(turn(1)) + "\n" + json.dumps({**feedback(1), **changed}) + "\n")
    with pytest.raises(UserError) as caught:
        read(path)
    assert_message(str(caught.value), f"{path}, line 2", "is damaged", problem, "restore it", "remove the transcript")


def test_rates_are_counts() -> None:
    def one(adopted: str, resolved: str) -> Advice:
        return Advice(interface="a", level="L1", category="T1", adopted=adopted, resolved=resolved)

    found = rate([one("yes", "yes"), one("yes", "no"), one("partial", "yes"), one("no", "partial"), one("no", "yes")])
    assert (found.items, found.adopted, found.adopted_partly) == (5, 2, 1)
    assert (found.resolved, found.resolved_partly, found.both) == (3, 1, 2)


def test_items_of_one_task_hang_together() -> None:
    """Ten items of one task, all adopted, and ten of another, none: that is two observations and not twenty."""
    items = [
        Advice(interface="a", level="L1", category="T1", adopted=adopted, resolved="no", task=task)
        for task, adopted in (("a", "yes"), ("b", "no"))
        for _ in range(10)
    ]
    low, high = rate(items).interval
    assert low < 0.1
    assert high > 0.9


def test_names_in_the_code_are_those_of_arguments_too() -> None:
    names = code_of({"stats.py": BEFORE}, "stats.mean").names
    assert {"mean", "values", "weights", "total", "len", "sum"} <= names
    assert "Running" not in names
