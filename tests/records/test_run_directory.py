"""Whole files of a run are replaced at once, in UTF-8, and no other file is touched."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.faults import RecordsError
from pytest_recode.records.run_directory import replaced


def test_a_file_is_replaced_and_those_beside_it_stay(tmp_path: Path) -> None:
    beside = {name: tmp_path / name for name in ("summary.new", "summary.json", "summary.md.new")}
    for name, path in beside.items():
        path.write_text(name)
    replaced(tmp_path / "summary.md", "1 … 2")
    replaced(tmp_path / "summary.md", "3 … 4")
    assert (tmp_path / "summary.md").read_bytes() == "3 … 4".encode()
    assert {name: path.read_text() for name, path in beside.items()} == {name: name for name in beside}
    assert len(list(tmp_path.iterdir())) == 4


def test_what_cannot_be_written_leaves_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "summary.md").mkdir()
    with pytest.raises(RecordsError, match=r"summary\.md"):
        replaced(tmp_path / "summary.md", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["summary.md"]
