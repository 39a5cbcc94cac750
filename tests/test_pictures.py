"""The pictures of a terminal in the README: the command that draws them works, and they show today's output."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs import picture
from pytest_recode.cli.report_tables import makers, rows_of
from pytest_recode.render.summary_tables import AGENTS_ONLY, COLUMNS, LINES_ONLY
from tests.metrics import samples

ROOT = Path(__file__).resolve().parents[1]
AGAIN = "draw it again with python -m docs.picture"


def test_a_picture_has_what_the_terminal_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = picture.shown("pytest-recode --help").splitlines()
    assert any("pytest-recode" in line for line in lines)
    path = tmp_path / "picture.svg"
    picture.draw(str(path), "pytest-recode --help", lines)
    drawn = picture.text_of(path.read_text("utf-8"))
    assert drawn[0] == "$ pytest-recode --help"
    assert set(filter(None, map(str.strip, lines))) <= set(map(str.strip, drawn))


def test_the_summary_in_the_picture_is_today_s() -> None:
    lines = picture.text_of((ROOT / "docs/terminal.svg").read_text("utf-8"))
    assert lines[0] == f"$ {picture.RUN}"
    heads = [head for head in COLUMNS if head not in (AGENTS_ONLY, LINES_ONLY)]
    assert [line.split() for line in lines if line.startswith("model  ")] == [" ".join(heads).split()], AGAIN


def test_the_report_in_the_picture_is_today_s(tmp_path: Path) -> None:
    lines = picture.text_of((ROOT / "docs/report.svg").read_text("utf-8"))
    assert lines[0] == f"$ {picture.REPORT}"
    played = [samples.record(task, (0, 4), model=model) for task in "ab" for model in "mn"]
    tables = makers(rows_of([samples.run(tmp_path / "run", played)]), known={})
    [episodes, comparisons] = [tables[name]() for name in ("episodes", "comparisons")]
    assert any(line.startswith(episodes.title) for line in lines), AGAIN
    assert any(line.startswith(comparisons.title) for line in lines), AGAIN
    heads = {word for column in episodes.columns for word in column.head.split()}
    shown = {word for line in lines if line.startswith("model  ") for word in line.split()}
    assert shown
    assert shown <= heads, AGAIN
