"""Monitors a candidate while the tests run, and compares libraries and files with their earlier state.

Runs in the shared judge, in one process with the candidate. Called by `judge.main` around the tests, and by
`reference_run.py` to learn what the reference does itself. Must not stay reachable for candidate code: the judge's
modules leave `sys.modules` before the tests run.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Optional

from .tampering import audit_monitor, code_snapshot

_MAX_LINES = 20


class TamperingCheck:
    def __init__(
        self,
        snapshot: code_snapshot.CodeSnapshot,
        candidate_paths: Iterable[str],
        repository_paths: Iterable[str],
        hidden_modules: Iterable[str],
        report: Callable[[str], None],
        accepted: Iterable[str] = (),
        own_modules: Optional[Mapping[str, Any]] = None,
        *,
        refuse: bool = True,
    ) -> None:
        """Start to monitor.

        Paths are relative to the working directory: of the candidate's files, and of the repository's other files.
        `accepted`: findings that the reference has too; they are reported, but nothing is refused for them. `own_modules`:
        the reference's, as they are loaded. `refuse`: raise an exception in place of an act that is a finding.
        """
        self._directory = directory = os.getcwd()
        self._report, self._accepted = report, frozenset(accepted)
        self._snapshot, self._own_modules = snapshot, {} if own_modules is None else own_modules
        self._reported: set[str] = set()
        self._max_lines = _MAX_LINES if refuse else None  # of the reference, every finding is needed
        candidate, repository = (
            [f"{directory}/{path}" for path in each] for each in (candidate_paths, repository_paths)
        )
        self._monitor = audit_monitor.AuditMonitor(
            candidate, repository, hidden_modules, report, self._accepted, refuse
        )
        self._stamps = {path: _stamp(path) for path in repository}
        for name in [name for name in sys.modules if f"{name}.".startswith("_recode.")]:
            del sys.modules[name]  # so that no other code finds them
        code_snapshot.refuse_kernels(self._monitor.check_kernels)
        self._monitor.begin()

    def look(self) -> None:
        """Report what is changed now: before the reference is called, which may use it, and it may be changed back."""
        is_candidate = self._monitor.is_candidate_file
        self._report_new(self._snapshot.changes(is_candidate))
        self._report_new(code_snapshot.changes_of_repository(self._stamps, is_candidate, self._own_modules))

    def look_at_cases(self) -> None:
        """Report what is changed now of what decides a case: the judge's own, and what the tests may call themselves."""
        self._report_new(self._snapshot.changes_of_judge())
        self._report_new(code_snapshot.changes_of_repository(self._stamps, self._monitor.is_candidate_file))

    def close(self) -> None:
        """Stop to monitor, and report what has changed."""
        self._monitor.end()
        self.look()
        self.look_at_cases()
        written = [path for path, stamp in self._stamps.items() if _stamp(path) != stamp]
        self._report_new([f"{os.path.relpath(path, self._directory)} was written to" for path in written])

    def _report_new(self, findings: Iterable[str]) -> None:
        known = self._accepted | self._reported
        new = [finding for finding in dict.fromkeys(findings) if finding not in known]
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
