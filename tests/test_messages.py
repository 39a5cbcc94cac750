"""The helper that checks messages: what it accepts, and what its failures say."""

from __future__ import annotations

import pytest

from tests.messages import assert_message

TEXT = "task.yaml:5: limits.pids: must be a whole number from 1 to 65536, not 1.5"


def test_the_subject_the_choices_and_the_next_step_are_enough() -> None:
    assert_message(TEXT, "task.yaml:5", "limits.pids", "from 1 to 65536", "1.5")
    assert_message(TEXT, "limits.pids", "1.5", "whole  number")


@pytest.mark.parametrize(
    ("subject", "parts", "failure"),
    [
        ("task.yaml:6", ("1.5",), "does not name its subject 'task.yaml:6'"),
        (
            "task.yaml:5",
            ("1.5", "one of", "float"),
            "after its subject 'task.yaml:5', this message lacks 'one of', 'float'",
        ),
        ("limits.pids", ("task.yaml:5",), "after its subject 'limits.pids', this message lacks 'task.yaml:5'"),
        ("task.yaml:5", ("6553",), "lacks '6553'"),
        ("task.yaml", ("5",), None),
        ("ask.yaml", ("5",), "does not name its subject 'ask.yaml'"),
    ],
)
def test_a_failure_names_what_is_missing_and_shows_the_message(
    subject: str, parts: tuple[str, ...], failure: str | None
) -> None:
    if failure is None:
        assert_message(TEXT, subject, *parts)
        return
    with pytest.raises(AssertionError) as caught:
        assert_message(TEXT, subject, *parts)
    assert failure in str(caught.value)
    assert TEXT in str(caught.value)


def test_a_message_of_two_lines_and_a_check_of_nothing_are_refused() -> None:
    with pytest.raises(AssertionError, match="must be one line"):
        assert_message("a:\nb", "a", "b")
    with pytest.raises(TypeError, match="next step"):
        assert_message("a", "a")
