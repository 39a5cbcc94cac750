"""How the rows of a report's tables are told apart, where several of one model are reported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recode.metrics.reading import read
from pytest_recode.metrics.rows import rows
from pytest_recode.render import report_episodes, report_faults, report_snippets, table_formats
from pytest_recode.render.report_table import Rows, Table
from tests.metrics.samples import record, run, snippet


def read_rows(tmp_path: Path, **runs: list[dict[str, Any]]) -> Rows:
    sources = read([run(tmp_path / name, records) for name, records in runs.items()])
    return rows([attempt for source in sources for attempt in source.attempts])


@pytest.mark.parametrize("name", ["episodes", "costs", "errors"])
def test_two_benchmarks_in_one_run_are_told_apart(tmp_path: Path, name: str) -> None:
    def columns(grouped: Rows) -> tuple[Table, list[str]]:
        table = {**report_episodes.tables(grouped, {}), **report_faults.tables(grouped, {})}[name]()
        assert table is not None
        return table, [column.head for column in table.columns]

    setting = {"agent": "one-shot", "feedback": "none"}
    task, block = record("a", (1,), **setting), snippet("p", "b", 2, solved=False)
    table, heads = columns(read_rows(tmp_path / "two", one=[task, block]))
    assert "benchmark" in heads
    text = table_formats.text([table], [])
    assert " directory " in text
    assert " researchcodebench " in text
    assert "benchmark" not in columns(read_rows(tmp_path / "one", one=[task]))[1]


def test_what_an_ablation_changed_names_its_pair(tmp_path: Path) -> None:
    grouped = read_rows(
        tmp_path,
        told=[snippet("p", "b", 2, solved=True)],
        first=[snippet("p", "b", 2, solved=False, paper=False)],
        second=[snippet("p", "b", 2, solved=False, paper=False, seconds=2.0)],
    )
    tables = report_snippets.tables(grouped, everything=grouped, detail=(), hard_threshold=0.1, known={})
    table = tables["ablation"]()
    assert table is not None
    lines = [line for line in table_formats.text([table], []).split("\n") if "solved only with the paper" in line]
    assert [line.partition(": ")[0] for line in lines] == [
        f"m, none, with paper, one-shot (told) / m, none, without paper, one-shot ({name})"
        for name in ("first", "second")
    ]
