"""The fingerprint of a set of tasks."""

from __future__ import annotations

import re

from pytest_recode.records.task_set import task_set

SET = [("a", "1"), ("b", "2")]


def test_it_is_short_and_has_the_number_of_tasks() -> None:
    assert re.fullmatch(r"[0-9a-f]{8} \(2 tasks\)", task_set(SET))
    assert task_set([("a", "1")]).endswith("(1 task)")


def test_order_and_attempts_do_not_matter() -> None:
    assert task_set([("b", "2"), ("a", "1"), ("a", "1")]) == task_set(SET)


def test_other_tasks_or_files_are_another_set() -> None:
    others = [
        [("a", "1")],
        [("a", "1"), ("b", "3")],
        [("a", "2"), ("b", "1")],
        [*SET, ("c", "1")],
        [("a", "1b"), ("", "2")],
    ]
    assert len({task_set(other) for other in (SET, *others)}) == 6


def test_tasks_without_a_digest_are_left_out() -> None:
    assert task_set([*SET, ("c", "")]) == task_set(SET)
    assert task_set([("c", "")]) == ""
