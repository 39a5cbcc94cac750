"""What a verifier's files say, as Harbor 0.26 reads them."""

from __future__ import annotations

import pytest

from pytest_recode.oracle.reward_files import NamedCase, NoRewardError, cases_of, contradiction, reaches, rewards_of


@pytest.mark.parametrize(
    ("files", "rewards"),
    [
        ({"reward.txt": b"1\n"}, {"reward": 1.0}),
        ({"reward.txt": b" 0.25 "}, {"reward": 0.25}),
        ({"reward.txt": b"1e-3"}, {"reward": 0.001}),
        ({"reward.json": b'{"reward": 1}'}, {"reward": 1.0}),
        ({"reward.json": b'{"correct": 1, "fast": 0.5}'}, {"correct": 1.0, "fast": 0.5}),
        ({"reward.json": b'{"reward": true}'}, {"reward": 1.0}),
        ({"reward.json": b'{"reward": 0}', "reward.txt": b"1"}, {"reward": 0.0}),
        ({"reward.json": b'{"reward": 1}', "reward.txt": b""}, {"reward": 1.0}),
    ],
)
def test_rewards(files: dict[str, bytes], rewards: dict[str, float]) -> None:
    assert rewards_of(files) == rewards


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({}, "neither"),
        ({"other.txt": b"1"}, "neither"),
        ({"reward.txt": b""}, "empty"),
        ({"reward.txt": b"\n"}, "no number"),
        ({"reward.txt": b"solved"}, "no number"),
        ({"reward.txt": b"1\n0"}, "no number"),
        ({"reward.txt": b"\xff1"}, "no number"),
        ({"reward.txt": b"nan"}, "not finite"),
        ({"reward.txt": b"inf"}, "not finite"),
        ({"reward.json": b""}, "empty"),
        ({"reward.json": b"", "reward.txt": b"1"}, "empty"),
        ({"reward.json": b"{"}, "not JSON"),
        ({"reward.json": b"1"}, "no object"),
        ({"reward.json": b"{}"}, "no object"),
        ({"reward.json": b"[1]"}, "no object"),
        ({"reward.json": b'{"reward": "1"}'}, "no number"),
        ({"reward.json": b'{"reward": null}'}, "no number"),
        ({"reward.json": b'{"reward": NaN}'}, "not finite"),
        ({"reward.json": b'{"reward": 1e999}'}, "not finite"),
        ({"reward.json": b'{"reward": ' + b"9" * 400 + b"}"}, "not finite"),
        ({"reward.json": b"[" * 100_000}, "not JSON"),
    ],
)
def test_what_is_no_reward(files: dict[str, bytes], why: str) -> None:
    with pytest.raises(NoRewardError, match=why):
        rewards_of(files)


@pytest.mark.parametrize(
    ("rewards", "solved"),
    [
        ({"reward": 1.0}, True),
        ({"reward": 0.99}, False),
        ({"reward": 1.0, "style": 0.0}, True),
        ({"reward": 0.0, "style": 1.0}, False),
        ({"score": 1.0}, True),
        ({"correct": 1.0, "fast": 1.0}, True),
        ({"correct": 1.0, "fast": 0.5}, False),
    ],
)
def test_the_reward_decides_or_else_all_of_them(rewards: dict[str, float], solved: bool) -> None:
    assert reaches(rewards, 1.0) is solved


def test_two_rewards_that_disagree_are_noticed() -> None:
    assert "reward.json says 1 and reward.txt 0" in contradiction({"reward.json": b'{"reward": 1}', "reward.txt": b"0"})
    assert contradiction({"reward.json": b'{"reward": 1}', "reward.txt": b"1.0"}) == ""
    assert contradiction({"reward.json": b'{"a": 1, "b": 0}', "reward.txt": b"0.5"}) == ""
    assert contradiction({"reward.json": b'{"reward": 1}'}) == ""


CTRF = b'{"results": {"tests": [{"name": "t.py::test a", "status": "passed"}, {"name": "t.py::test_b", "status": "failed", "message": "no"}, {"name": "t.py::test_c", "status": "skipped"}, {"name": "t.py::test_b", "status": "passed"}]}}'
JUNIT = b'<?xml version="1.0"?><testsuites><testsuite><testcase classname="t" name="a"/><testcase classname="t" name="b"><failure message="no">why</failure></testcase><testcase name="c"><skipped/></testcase></testsuite></testsuites>'


def test_named_cases_of_both_kinds_of_report() -> None:
    assert cases_of({"ctrf.json": CTRF}) == (
        NamedCase(name="t.py::test_a", passed=True),
        NamedCase(name="t.py::test_b", passed=False, message="no"),
        NamedCase(name="t.py::test_b#2", passed=True),
    )
    assert cases_of({"junit.xml": JUNIT}) == (
        NamedCase(name="t::a", passed=True),
        NamedCase(name="t::b", passed=False, message="no\nwhy"),
    )


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"{",
        b"[]",
        b'{"results": 1}',
        b'{"results": {"tests": [1, {"name": 2, "status": "passed"}]}}',
        b"[" * 100_000,
    ],
)
def test_a_report_that_is_none_has_no_cases(data: bytes) -> None:
    assert cases_of({"ctrf.json": data, "junit.xml": data}) == ()


def test_entities_are_not_expanded() -> None:
    bomb = b'<!DOCTYPE a [<!ENTITY b "' + b"x" * 1000 + b'">]><testsuite><testcase name="&b;"/></testsuite>'
    assert cases_of({"junit.xml": bomb}) == ()
