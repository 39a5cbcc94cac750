"""Policies as functions of the turns played, and the message for every invalid one."""

from __future__ import annotations

import pytest

from pytest_recode.episode import Policy, Turn
from pytest_recode.faults import UserError
from pytest_recode.plugin.collection import defaults
from pytest_recode.plugin.collection.registry import Registry
from tests.feedback.scene import case, turn
from tests.messages import assert_message

REGISTRY = Registry(offers={"policies": defaults.pytest_recode_policies()})
"""With nothing but the project's own."""


def policy_of(spec: str) -> Policy:
    """As `--recode-feedback` has it."""
    return REGISTRY.policy(spec)


def turns(*passed: str) -> list[Turn]:
    """Turns by the letters of the cases that pass in each, of a, b, c and d."""
    return [
        turn("", *(case(name=letter, passed=letter in letters) for letter in "abcd"), number=number)
        for number, letters in enumerate(passed, 1)
    ]


def levels(spec: str, *passed: str) -> list[int | None]:
    """The level after each of these turns."""
    policy = policy_of(spec)
    played = turns(*passed)
    return [policy(played[:number]) for number in range(1, len(played) + 1)]


@pytest.mark.parametrize("level", range(5))
def test_a_fixed_level_stays(level: int) -> None:
    assert levels(f"L{level}", "", "a", "", "ab") == [level] * 4


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("escalate", [0, 1, 2, 3, 4, 4, 4]),
        ("escalate:start=2", [2, 3, 4, 4, 4, 4, 4]),
        ("escalate:start=L2", [2, 3, 4, 4, 4, 4, 4]),
        ("escalate:max=1", [0, 1, 1, 1, 1, 1, 1]),
        ("escalate:patience=2", [0, 0, 1, 1, 2, 2, 3]),
        ("escalate: start = 1 , max=3,patience=3", [1, 1, 1, 2, 2, 2, 3]),
        ("escalate:start=4,max=4", [4] * 7),
    ],
)
def test_escalate_rises_with_the_failed_turns(spec: str, expected: list[int]) -> None:
    assert levels(spec, *[""] * 7) == expected


@pytest.mark.parametrize(
    ("passed", "expected"),
    [
        (("", "", "", "", "", ""), [0, 1, 2, 3, 4, 4]),
        (("a", "ab", "abc", "", "", ""), [0, 0, 0, 1, 2, 3]),
        (("ab", "c", "ab", "abc", "d"), [0, 0, 1, 2, 2]),
        (("a", "b", "a", "b", "a"), [0, 0, 1, 2, 3]),
    ],
    ids=["nothing passes", "progress, then none", "another case is progress", "to and fro is none"],
)
def test_adaptive_rises_where_no_new_case_passes(passed: tuple[str, ...], expected: list[int]) -> None:
    assert levels("adaptive", *passed) == expected


def test_adaptive_takes_a_start_and_an_end() -> None:
    assert levels("adaptive:start=1,max=2", "", "", "", "a", "") == [1, 2, 2, 2, 2]


def test_none_gives_no_feedback() -> None:
    assert levels("none", "", "") == [None, None]


def test_the_answer_depends_on_the_turns_alone() -> None:
    """An episode asks for the level twice a turn, and may be looked at from its middle."""
    for spec, later in (("escalate", 3), ("adaptive", 2)):
        policy = policy_of(spec)
        played = turns("", "", "a", "")
        assert [policy(played), policy(played[:2]), policy(played)] == [later, 1, later]


NAMES = "L0, L1, L2, L3, L4, adaptive, escalate, none"


@pytest.mark.parametrize(
    ("spec", "subject", "parts"),
    [
        ("", "feedback policy ''", (NAMES,)),
        ("L5", "feedback policy 'L5'", (NAMES,)),
        ("l3", "feedback policy 'l3'", ("did you mean L3", NAMES)),
        ("escalte", "feedback policy 'escalte'", ("did you mean escalate", NAMES)),
        ("L3:start=1", "feedback policy 'L3'", ("unknown option 'start'", "none", "name")),
        ("none:max=1", "feedback policy 'none'", ("unknown option 'max'", "none", "name")),
        ("escalate:begin=1", "feedback policy 'escalate'", ("unknown option 'begin'", "start, max, patience")),
        ("adaptive:patience=1", "feedback policy 'adaptive'", ("unknown option 'patience'", "start, max")),
        ("escalate:start=5", "feedback policy 'escalate'", ("start", "a level, 0 to 4", "'5'")),
        ("escalate:max=-1", "feedback policy 'escalate'", ("max", "a level, 0 to 4", "'-1'")),
        ("escalate:start=x", "feedback policy 'escalate'", ("start", "a level, 0 to 4", "'x'")),
        ("escalate:start=²", "feedback policy 'escalate'", ("start", "a level, 0 to 4", "'²'")),
        ("escalate:patience=0", "feedback policy 'escalate'", ("patience", "from 1 to 1000", "'0'")),
        ("escalate:patience=L1", "feedback policy 'escalate'", ("patience", "from 1 to 1000", "'L1'")),
        ("escalate:start=3,max=2", "feedback policy 'escalate'", ("start=3", "max=2", "give a start")),
        ("escalate:", "feedback policy 'escalate:'", ("''", "option=value", "escalate:start=1,max=3")),
        ("escalate:2", "feedback policy 'escalate:2'", ("'2'", "option=value", "escalate:start=1,max=3")),
        ("escalate:max=3,max=4", "feedback policy 'escalate:max=3,max=4'", ("'max'", "twice", "keep one")),
    ],
)
def test_a_bad_policy_is_one_line_with_the_choices(spec: str, subject: str, parts: tuple[str, ...]) -> None:
    with pytest.raises(UserError) as caught:
        policy_of(spec)
    assert_message(str(caught.value), subject, *parts)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("L2", "escalate:start=2,max=2"),
        ("L4", "escalate:start=L4,patience=3"),
        ("L4", "adaptive:start=4"),
        ("escalate", "escalate:start=0,max=4,patience=1"),
        ("escalate:start=1,max=3", "escalate:max=L3,start=L1"),
        ("adaptive", "adaptive:max=4"),
    ],
)
def test_two_spellings_of_a_policy_are_refused_together(one: str, other: str) -> None:
    with pytest.raises(UserError) as caught:
        REGISTRY.check_policies(["L1", one, other])
    assert_message(str(caught.value), f"--recode-feedback={other}", f"the same policy as {one}", "keep one")


def test_policies_that_start_alike_are_not_the_same() -> None:
    specs = ("L2", "escalate:start=2", "adaptive:start=2", "escalate:start=2,max=3", "escalate:start=2,patience=2")
    REGISTRY.check_policies([*specs, "L0", "L4", "none", "escalate", "adaptive"])
