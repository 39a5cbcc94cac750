"""Which transcripts the tables of feedback read: those that can have feedback, because a transcript is large."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.metrics.transcripts import TranscriptReader
from pytest_recode.render import report_feedback
from tests.metrics.samples import record
from tests.render.test_report_rows import read_rows


@pytest.mark.parametrize(
    ("feedback", "passed", "read"),
    [
        ("none", (1,), {"adoption": 0, "leaks": 0}),
        ("L2", (1,), {"adoption": 0, "leaks": 1}),
        ("L2", (1, 4), {"adoption": 1, "leaks": 1}),
    ],
)
def test_only_transcripts_that_can_have_feedback_are_read(
    tmp_path: Path, feedback: str, passed: tuple[int, ...], read: dict[str, int]
) -> None:
    paths: dict[str, list[Path | None]] = {"adoption": [], "leaks": []}
    transcripts = TranscriptReader(calls=lambda _: (), audits=paths["leaks"].append, pairs=paths["adoption"].append)
    tables = report_feedback.tables(
        read_rows(tmp_path, run=[record("a", passed, feedback=feedback)]), transcripts=transcripts
    )
    for name in paths:
        assert tables[name]() is None
    assert {name: len(found) for name, found in paths.items()} == read
