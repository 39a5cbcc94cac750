"""The open results.jsonl of a run. Only the controller has one; workers send it their records on reports."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from pytest_recode.faults import RecordsError
from pytest_recode.plugin.run.directory import compact
from pytest_recode.records.record import Record
from pytest_recode.records.run_directory import RESULTS, Lines


class ResultsFile:
    """Opened for the first record of this session. Every method except `close` raises `RecordsError`."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self._lines: Lines | None = None
        self._repeated = False  # whether an episode has an error in the file, and a later record

    def append(self, record: Record, *, retried: bool) -> None:
        """`retried`: an earlier run wrote an error of the same episode."""
        self._repeated |= retried
        if self._lines is None:
            self._lines = Lines(self._out / RESULTS)
        self._lines.append(record)

    def check(self) -> None:
        """Check that the file is still there."""
        if self._lines is not None:
            self._lines.check()

    def finish(self) -> None:
        """Check the file, and remove the errors of retried episodes. Raises `UserError` if a line is damaged."""
        self.check()
        if self._repeated:
            self.close()
            compact(self._out)

    def close(self) -> None:
        if self._lines is not None:
            with suppress(RecordsError):  # reported by check() before
                self._lines.close()
            self._lines = None
