"""Error classes from the exceptions themselves."""

from __future__ import annotations

import pytest

from pytest_recode.metrics.attempt import CaseFailure
from pytest_recode.metrics.errors import classes, commonest, of_attempt, of_failure
from pytest_recode.metrics.record_attempts import Equal, from_record
from tests.metrics.samples import record, turn


@pytest.mark.parametrize(
    ("kind", "exception", "expected"),
    [
        ("exception", "NameError", "name"),
        ("exception", "UnboundLocalError", "name"),
        ("exception", "TypeError", "type"),
        ("exception", "IndentationError", "syntax"),
        ("exception", "ModuleNotFoundError", "import"),
        ("exception", "builtins.AttributeError", "attribute"),
        ("exception", "KeyError", "index/key"),
        ("exception", "IndexError", "index/key"),
        ("assertion", "AssertionError", "functional"),
        ("mismatch", None, "functional"),
        ("not-finite", None, "functional"),
        ("shape", None, "functional"),
        ("exception", "RuntimeError", "other"),
        ("exception", "torch.linalg.LinAlgError", "other"),
        ("exception", "print", "other"),  # a candidate names its types as it likes
        ("timeout", None, "other"),
        ("died", None, "other"),
        ("", None, "other"),
    ],
)
def test_the_class_of_a_failed_case(kind: str, exception: str | None, expected: str) -> None:
    assert of_failure(CaseFailure(kind=kind, exception=exception)) == expected


def test_the_commonest_and_of_several_the_first_to_happen() -> None:
    assert commonest(["functional", "functional", "type"]) == "functional"
    assert commonest(["functional", "type"]) == "type"
    assert commonest([]) == "other"


def test_only_the_last_turn_of_the_unsolved_counts() -> None:
    failed = [turn(1, 3, failure={"kind": "exception", "exception": "NameError"}), turn(2, 3)]
    tampered = [turn(1, 4, tampering=["numpy.allclose was replaced"])]
    ended = [
        from_record(one, "run")
        for one in (
            record("a", turns=failed),
            record("b", (4,)),
            record("c", (1,), outcome="error"),
            record("d", turns=tampered, outcome="unsolved"),
        )
    ]
    assert [of_attempt(one) for one in ended] == ["functional", None, None, "other"]
    counts = classes(ended)
    assert {name: n for name, n in counts.items() if n} == {"functional": 1, "other": 1}
    assert len(counts) == 8


@pytest.mark.parametrize("outcome", ["error", "solved"])
def test_an_unsolved_attempt_counts_beside_one_that_ended_otherwise_after_an_equal_turn(outcome: str) -> None:
    equal = Equal()
    last = [turn(1, 3, failure={"kind": "exception", "exception": "NameError"})]
    pair = [record("a", turns=last, outcome="unsolved"), record("b", turns=last, outcome=outcome)]
    for ordered in (pair, pair[::-1]):
        found = [from_record(one, "run", equal=equal) for one in ordered]
        assert found[0].turns[-1] is found[1].turns[-1]
        assert classes(found)["name"] == 1
