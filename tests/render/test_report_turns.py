"""The table of turns until solved: which pairs it has, and which row is the better one."""

from __future__ import annotations

from typing import Any, cast

from pytest_recode.metrics.record_attempts import from_record
from pytest_recode.metrics.rows import rows
from pytest_recode.records.record import Record
from pytest_recode.render.report_pairs import base_row
from pytest_recode.render.report_turns import table
from tests.metrics.samples import record


def played(**solved_at: int) -> list[dict[str, Any]]:
    """Episodes of models that solve eight tasks in this turn."""
    return [
        record(f"t{number}", (*[0] * (turn - 1), 4), model=model)
        for model, turn in solved_at.items()
        for number in range(8)
    ]


def grouped(records: list[dict[str, Any]]) -> Any:
    return rows([from_record(cast(Record, one), "run") for one in records])


def test_the_better_row_needs_fewer_turns() -> None:
    found = table(grouped(played(slow=3, swift=1)), None)
    assert found is not None
    [line] = found.rows
    assert line["first"].startswith("swift")
    assert (line["first_turns"], line["second_turns"], line["difference"], line["limit"]) == (1, 3, -2, 10)
    assert line["p"] == 2 / 2**8
    assert line["low"] <= -2 <= line["high"] < 0


def test_the_base_is_the_second_row() -> None:
    every = grouped(played(middle=2, slow=3, swift=1))
    found = table(every, base_row(every, "slow"))
    assert found is not None
    assert [(line["difference"], line["p_holm"]) for line in found.rows] == [(-1, 4 / 2**8), (-2, 4 / 2**8)]
    best = table(every, base_row(every, "swift"))
    assert best is not None
    assert [line["difference"] for line in best.rows] == [1, 2]


def test_one_turn_has_no_table() -> None:
    once = [record(f"t{number}", (4,), model=model, feedback="none") for model in "mn" for number in range(8)]
    for one in once:
        one["settings"]["turns"] = 1
    assert table(grouped(once), None) is None
    assert table(grouped(played(alone=2)), None) is None
