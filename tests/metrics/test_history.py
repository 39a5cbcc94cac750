"""Runs of equal settings in chronological order: `pytest-recode report --by date`, and the page of `pytest-recode html`."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.metrics.history import history
from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from pytest_recode.records.line_check import checked_record
from pytest_recode.schema.stored_forms import DamagedError
from tests.messages import assert_message
from tests.metrics.samples import record, run
from tests.projects import Command


def night(day: int, solved: Sequence[str], **more: Any) -> list[dict[str, Any]]:
    """Records of a run of the tasks a, b, c, d, of which one ended each second."""
    return [
        record(task, (4 if task in solved else 1,), ended=f"2026-11-{day:02}T02:00:0{place}+00:00", **more)
        for place, task in enumerate("abcd")
    ]


@pytest.fixture
def nights(tmp_path: Path) -> list[Path]:
    """Three runs, whose names are not in their order, and one with another feedback policy."""
    return [
        run(tmp_path / "monday", night(9, "ab")),
        run(tmp_path / "earlier", night(7, "a")),
        run(tmp_path / "later", night(10, "")),
        run(tmp_path / "other", night(8, "abcd", feedback="L4")),
    ]


def test_series_are_chronological_and_have_equal_settings(nights: list[Path]) -> None:
    found = history(rows([attempt for source in read(nights) for attempt in source.attempts]))
    series = {points[0].row.feedback: points for points in found}
    assert {policy: [point.row.source for point in points] for policy, points in series.items()} == {
        "L0": ["earlier", "monday", "later"],
        "L4": ["other"],
    }
    assert [point.ended for point in series["L0"]] == [f"2026-11-{day}T02:00:03+00:00" for day in ("07", "09", "10")]
    assert [point.share for point in series["L0"]] == [0.25, 0.5, 0.0]
    assert [point.change for point in series["L0"]] == [None, 0.25, -0.5]


def test_a_night_of_errors_is_a_line_and_no_change(tmp_path: Path) -> None:
    paths = [
        run(tmp_path / "one", night(1, "ab")),
        run(tmp_path / "two", [{**each, "outcome": "error"} for each in night(2, "", outcome="error")]),
        run(tmp_path / "three", night(3, "abc")),
    ]
    (points,) = history(rows([attempt for source in read(paths) for attempt in source.attempts]))
    assert [(point.share, point.change, point.numbers.errors) for point in points] == [
        (0.5, None, 0),
        (None, None, 4),
        (0.75, 0.25, 0),
    ]


def test_the_report_by_date(tmp_path: Path, nights: list[Path], command: Command) -> None:
    old = [{key: value for key, value in entry.items() if key != "ended"} for entry in night(1, "abcd")]
    run(tmp_path / "undated", old)
    done = command(tmp_path, "report", *[path.name for path in nights], "undated", "--by", "date")
    assert done.returncode == 0, done.stderr
    lines = [line for line in done.stdout.splitlines() if "2026-11-" in line]
    assert [line.split("2026-11-")[1].split()[:5] for line in lines if " L0 " in line or "L0" in line.split()] == [
        ["07", "02:00", "earlier", "1", "4"],
        ["09", "02:00", "monday", "2", "4"],
        ["10", "02:00", "later", "0", "4"],
    ]
    assert "no date, because an earlier version wrote the records: m, L0, with paper, recode (undated)" in done.stdout
    assert "Cost: tokens" not in done.stdout

    form = json.loads(command(tmp_path, "report", "earlier", "monday", "--format=json").stdout)
    (table,) = [table_fields for table_fields in form["tables"] if table_fields["name"] == "history"]
    assert [(line["recall"], line["change"]) for line in table["rows"]] == [(25.0, None), (50.0, 25.0)]
    assert "History" not in command(tmp_path, "report", "earlier", "monday").stdout

    both = command(tmp_path, "report", "earlier", "--by", "date", "--table", "costs")
    assert both.returncode != 0
    assert_message(both.stderr, "--by=date", "history", "remove --by or --table")


@pytest.mark.slow
def test_the_page_has_a_figure_of_runs_that_differ_in_the_run_alone(
    tmp_path: Path, nights: list[Path], command: Command
) -> None:
    names = [path.name for path in nights]
    assert command(tmp_path, "html", *names, "-o", "trend.html").returncode == 0
    page = (tmp_path / "trend.html").read_text("utf-8")
    assert '<a href="#history">History</a>' in page
    shown = page.partition('<section class="page" id="history"')[2].partition("</section>")[0]
    assert shown.count("<svg") == 3
    assert [shown.find(name) > 0 for name in names] == [True, True, True, False]

    assert command(tmp_path, "html", "monday", "other", "-o", "two.html").returncode == 0
    assert "#history" not in (tmp_path / "two.html").read_text("utf-8")

    done = command(tmp_path, "plot", *names, "-o", "figures")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "figures/history.svg").read_bytes().startswith(b"<?xml")


@pytest.mark.parametrize("ended", ["yesterday", "2026-13-01T00:00:00+00:00", "2026-11-03T02:14:09", 5, None])
def test_a_record_with_another_time_is_refused(ended: object) -> None:
    with pytest.raises(DamagedError, match=re.escape(f"ended is {'null' if ended is None else repr(ended)}:")):
        checked_record(record(ended=ended))
