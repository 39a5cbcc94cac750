"""Monitors a candidate while the tests run, and compares the judge with its snapshot afterwards.

Runs in the shared judge, in one process with the candidate. Called by `judge.main` around the tests, and by
`reference_run.py` to learn what the reference does itself. Must not stay reachable for candidate code: the judge's
modules leave `sys.modules` before the tests run.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable
from typing import Optional

from .tampering import audit_monitor, judge_snapshot

_MAX_LINES = 20


class TamperingCheck:
    def __init__(
        self,
        snapshot: judge_snapshot.JudgeSnapshot,
        candidate_paths: Iterable[str],
        repository_paths: Iterable[str],
        hidden_modules: Iterable[str],
        report: Callable[[str], None],
        accepted: Iterable[str] = (),
        *,
        refuse: bool = True,
    ) -> None:
        """Start to monitor.

        Paths are relative to the working directory: of the candidate's files, and of the repository's other files.
        `accepted`: findings that the reference has too; they are reported, but nothing is refused for them. `refuse`:
        raise an exception in place of an act that is a finding.
        """
        self._directory = directory = os.getcwd()
        self._report, self._accepted = report, frozenset(accepted)
        self._snapshot = snapshot
        self._reported: set[str] = set()
        self._max_lines = _MAX_LINES if refuse else None  # of the reference, every finding is needed
        candidate, repository = (
            [f"{directory}/{path}" for path in each] for each in (candidate_paths, repository_paths)
        )
        self._monitor = audit_monitor.AuditMonitor(
            candidate, repository, hidden_modules, report, self._accepted, refuse
        )
        self._stamps = {path: _stamp(path) for path in repository}
        for module, names in self._snapshot.modules:
            self._monitor.guard(module, names)
        for module, names in self._snapshot.libraries.modules:
            self._monitor.guard(module, names, strict=False)
        for name in [name for name in sys.modules if f"{name}.".startswith("_recode.")]:
            del sys.modules[name]  # so that no other code finds them
        self._monitor.begin()

    def look(self) -> None:
        """Report what is changed now: before the reference is called, which may use it, and it may be changed back."""
        self._report_new(self._monitor.replacements())
        self._report_new(self._snapshot.replacements(self._monitor.is_candidate_file))

    def close(self) -> None:
        """Stop to monitor, and report what has changed."""
        self._monitor.end()
        with contextlib.suppress(Exception):  # the candidate may have replaced parts of it
            warnings.resetwarnings()
            warnings.simplefilter("ignore")  # a filter of the candidate's must not make the checks fail
        written = [path for path, stamp in self._stamps.items() if _stamp(path) != stamp]
        writes = [f"{os.path.relpath(path, self._directory)} was written to" for path in written]
        for findings in (self._snapshot.changes(self._monitor.is_candidate_file), self._monitor.changes(), writes):
            self._report_new(findings)

    def _report_new(self, findings: Iterable[str]) -> None:
        new = [finding for finding in findings if finding not in self._accepted and finding not in self._reported]
        self._reported.update(new)
        for finding in new[: self._max_lines]:
            self._report(finding)


def _stamp(path: str) -> Optional[tuple[int, ...]]:
    """Values of which every write to a file changes one: the time of a change cannot be set."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_ctime_ns
