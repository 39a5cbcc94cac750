"""Which rows are compared with which, and what a comparison says of them."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.metrics.compare import compare
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from pytest_recode.render import report_pairs, table_formats
from pytest_recode.render.report_table import Rows, Table, common
from tests.messages import assert_message
from tests.metrics.samples import own_run, record, run, snippet, stats

TASKS = "abcdefgh"


def read_rows(*paths: Path) -> Rows:
    return rows([attempt for source in read(paths) for attempt in source.attempts])


def comparisons(grouped: Rows, base: str = "") -> Table:
    chosen = report_pairs.base_row(grouped, base) if base else None
    table = report_pairs.tables(grouped, {}, (), base=chosen)["comparisons"]()
    assert table is not None
    return table


def played(model: str, level: str, solved: int, **more: Any) -> list[dict[str, Any]]:
    return [
        record(task, (4,) if n < solved else (0,), model=model, feedback=level, **more) for n, task in enumerate(TASKS)
    ]


def pairs(table: Table) -> list[tuple[str, str]]:
    return [tuple(re.sub(r", with paper.*", "", str(row[side])) for side in ("first", "second")) for row in table.rows]  # type: ignore[misc]


def test_models_at_each_level_and_levels_of_each_model(tmp_path: Path) -> None:
    grid = [one for model in "mno" for level in ("L0", "L4") for one in played(model, level, 4)]
    assert set(pairs(comparisons(read_rows(run(tmp_path / "run", grid))))) == {
        ("m, L0", "n, L0"),
        ("m, L0", "o, L0"),
        ("m, L4", "n, L4"),
        ("m, L4", "o, L4"),
        ("m, L0", "m, L4"),
        ("n, L0", "n, L4"),
        ("o, L0", "o, L4"),
    }


def test_a_base_is_compared_with_every_other_row(tmp_path: Path) -> None:
    grid = [one for model in "mn" for level in ("L0", "L4") for one in played(model, level, 4)]
    grouped = read_rows(run(tmp_path / "run", grid))
    assert pairs(comparisons(grouped, "n, L4")) == [(other, "n, L4") for other in ("m, L0", "m, L4", "n, L0")]
    with pytest.raises(UserError) as several:
        report_pairs.base_row(grouped, "m")
    assert_message(str(several.value), "--base=m", "2 rows", "m, L0", "m, L4")
    with pytest.raises(UserError) as unknown:
        report_pairs.base_row(grouped, "x")
    assert_message(str(unknown.value), "--base=x", "no such row", "m, L0")


def test_a_first_row_that_differs_from_all_others_in_several_things(tmp_path: Path) -> None:
    """As the run of the first tutorial does from that of the second."""
    earlier = played("m", "escalate", 8)[:2]
    grouped = read_rows(
        run(tmp_path / "first", earlier),
        run(tmp_path / "levels", [one for level in ("L0", "L4") for one in played("n", level, 4)]),
    )
    for of in (grouped, common(grouped)):
        assert pairs(comparisons(of)) == [
            ("n, L0", "n, L4"),
            ("m, escalate", "n, L0"),
            ("m, escalate", "n, L4"),
        ]


def test_ten_turns_against_three_are_named(tmp_path: Path) -> None:
    setting = record()["settings"]
    grouped = read_rows(
        run(tmp_path / "ten", played("m", "L0", 6)),
        run(tmp_path / "three", played("n", "L0", 2, settings={**setting, "turns": 3}, isolation="process")),
    )
    [row] = comparisons(grouped).rows
    assert row["differ"] == "model m / n; turns 10 / 3; isolation separate / process"
    assert "turns 10" in row["first"]
    assert "turns 3" in table_formats.text([comparisons(grouped)], [])


def test_other_files_of_a_task_are_named(tmp_path: Path) -> None:
    grouped = read_rows(
        run(tmp_path / "one", played("m", "L0", 6, digest="1")), run(tmp_path / "two", played("m", "L0", 2, digest="2"))
    )
    [row] = comparisons(grouped).rows
    sets = r"task set ([0-9a-f]{8}) \(8 tasks\) / (?!\1)[0-9a-f]{8} \(8 tasks\)"
    assert re.fullmatch(rf"{sets}. files of 8 tasks \(a, b, c and 5 more\)", str(row["differ"]))


def test_attempts_are_no_tasks(tmp_path: Path) -> None:
    """Five tasks of three attempts, all of which one model solves and the other fails: as 15 pairs p would be 6.1e-5."""
    grouped = read_rows(
        run(
            tmp_path / "run",
            [
                record(task, passed, model=model, attempt=attempt)
                for model, passed in (("m", (0,)), ("n", (4,)))
                for task in "abcde"
                for attempt in (1, 2, 3)
            ],
        )
    )
    [row] = comparisons(grouped).rows
    assert (row["p"], row["pairs"], row["only_first"], row["units"]) == (0.0625, 5, 5, "5 tasks")
    assert row["difference_interval"][0] <= 0


def test_attempts_that_one_side_lacks_leave_the_task_compared(tmp_path: Path) -> None:
    mine = [
        record("a", (4,), attempt=1),
        record("a", (0,), attempt=2),
        record("b", (4,)),
        record("c", (), outcome="error"),
    ]
    theirs = [record("a", (0,), model="n"), record("b", (4,), model="n"), record("c", (4,), model="n")]
    [row] = comparisons(read_rows(run(tmp_path / "run", [*mine, *theirs]))).rows
    assert (row["pairs"], row["unpaired"], row["both"], row["only_first"]) == (2, 1, 1, 1)
    assert (row["first_share"], row["second_share"], row["difference"]) == (75.0, 50.0, 25.0)


@pytest.mark.parametrize("order", ["mn", "nm"])
def test_the_better_row_is_the_first_and_a_base_the_second(tmp_path: Path, order: str) -> None:
    solved = {"m": 2, "n": 6}
    grouped = read_rows(run(tmp_path / "run", [one for model in order for one in played(model, "L0", solved[model])]))
    table = comparisons(grouped)
    [row] = table.rows
    assert pairs(table) == [("n, L0", "m, L0")]
    assert (row["first_share"], row["second_share"], row["difference"]) == (75.0, 25.0, 50.0)
    assert (row["won"], row["lost"]) == (["c", "d", "e", "f"], [])
    assert {"better", "other", "better - other"} <= {column.head for column in table.columns}
    for base, difference in (("m, L0", 50.0), ("n, L0", -50.0)):
        table = comparisons(grouped, base)
        [row] = table.rows
        assert (str(row["second"]).startswith(base), row["difference"]) == (True, difference)
        assert {"row", "base", "row - base"} <= {column.head for column in table.columns}


def test_several_comparisons_are_adjusted(tmp_path: Path) -> None:
    grouped = read_rows(
        run(
            tmp_path / "run",
            [*played("m", "L0", 0), *played("n", "L0", 8), *played("o", "L0", 6), *played("p", "L0", 1)],
        )
    )
    by_model = {str(row["first"])[0]: (row["p"], row["p_holm"]) for row in comparisons(grouped).rows}
    assert by_model == {"n": (2 / 256, 6 / 256), "o": (2 / 64, 4 / 64), "p": (1.0, 1.0)}
    one = comparisons(read_rows(run(tmp_path / "two", [*played("m", "L0", 0), *played("n", "L0", 8)])))
    assert "p_holm" not in {column.key for column in one.columns}


@pytest.fixture
def published(tmp_path: Path) -> Path:
    path = tmp_path / "stats.json"
    path.write_text(json.dumps(stats()))
    return path


def test_an_own_model_against_the_published_one_of_its_name(tmp_path: Path, published: Path) -> None:
    """By snippet and by papers, and by the first turn, which is all that was published."""
    mine = own_run("openai/gpt-4.1", "GPT_4_1_MINI")
    later = next(one for one in mine if one["outcome"] == "unsolved")
    later["turns"].append({**later["turns"][0], "turn": 2, "level": "L0", "passed": 4, "failed": 0})
    later |= {"outcome": "solved", "solved_turn": 2}
    [row] = comparisons(read_rows(run(tmp_path / "mine", mine), published)).rows
    assert row["first"].startswith("GPT-4.1, none")
    assert row["second"].startswith("openai/gpt-4.1, none")
    assert (row["pairs"], row["units"], row["solved_in"]) == (212, "20 papers", "first turn")
    assert (row["first_share"], row["second_share"]) == (pytest.approx(50.0), pytest.approx(100 * 90 / 212))
    assert row["both"] + row["only_first"] == 106
    assert "temperature 0 / none" in row["differ"]


@pytest.mark.slow
def test_a_model_that_was_not_published_is_compared_with_all(tmp_path: Path, published: Path) -> None:
    grouped = read_rows(run(tmp_path / "mine", own_run("mine-1", "GPT_4_1_MINI")), published)
    assert len(comparisons(grouped).rows) == 32
    assert len(comparisons(grouped, "O3 (High)").rows) == 32
    assert all(row["p"] <= row["p_holm"] for row in comparisons(grouped).rows)


def test_few_papers_are_compared_by_snippets(tmp_path: Path) -> None:
    blocks = [snippet(paper, str(n), 2, solved=m == "n", model=m) for m in "mn" for paper in "AB" for n in range(4)]
    [row] = comparisons(read_rows(run(tmp_path / "run", blocks))).rows
    assert (row["units"], row["p"]) == ("8 snippets", 2 / 256)


def test_a_near_miss_is_not_rounded_into_a_contradiction() -> None:
    shown = [
        table_formats.shown("interval", (0.02, 8.0)),
        table_formats.shown("interval", (-8.0, -0.004)),
        table_formats.shown("interval", (0.0, 8.0)),
    ]
    assert shown == ["0.02 to 8.0", "-8.0 to -0.004", "0.0 to 8.0"]
    assert [table_formats.shown("p", p) for p in (0.0499, 0.05, 0.0501, 0.0625, 6.1e-5)] == [
        "0.0499",
        "0.05",
        "0.0501",
        "0.062",
        "6.1e-05",
    ]


def test_a_row_without_feedback_is_compared_with_each_policy(tmp_path: Path) -> None:
    """It has one turn, whatever --recode-turns says, and this is no difference of its own."""
    grid = [one for model in "mn" for policy in ("none", "L0", "L4") for one in played(model, policy, 4)]
    found = read_rows(run(tmp_path / "run", grid))
    assert [row.differs for row in found] == [""] * 6
    table = comparisons(found)
    assert set(pairs(table)) == {
        *((f"m, {policy}", f"n, {policy}") for policy in ("none", "L0", "L4")),
        *((f"{model}, none", f"{model}, {level}") for model in "mn" for level in ("L0", "L4")),
        *((f"{model}, L0", f"{model}, L4") for model in "mn"),
    }
    assert {row["differ"] for row in table.rows} >= {"feedback none / L0", "feedback none / L4"}


@pytest.mark.parametrize("played", [(0, 4, 4, 4), (4, 4, 0, 4), (0, 0, 4, 4), (4, 4, 4, 4)])
def test_a_comparison_the_other_way_around_is_the_same_test(tmp_path: Path, played: tuple[int, ...]) -> None:
    """The better row of a pair is the first: it is not tested again for that."""
    ours = run(tmp_path / "one", [record(f"t{place}", (cases,)) for place, cases in enumerate(played)])
    other = run(tmp_path / "two", [record(f"t{place}", (4 * (place == 1),)) for place in range(len(played))])
    first, second = (source.attempts for source in read([ours, other]))
    there, back = compare(first, second), compare(second, first)
    assert there is not None
    assert there.swapped() == back
