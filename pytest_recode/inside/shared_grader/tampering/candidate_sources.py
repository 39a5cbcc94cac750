"""Reports the findings of the static checks whose code was executed.

Runs in the shared judge, in one process with the candidate. Owned by `audit_monitor.py`; marks in candidate code call
it by way of `executed_findings.py`. Must not call a method of a candidate's value, and must not raise from a mark.

If candidate code may have run without marks, all findings of the candidate's files count.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from . import executed_findings, static_checks

_EXPLICIT = {"__init__", "__new__", "__post_init__", "__call__", "__enter__", "__exit__", "__iter__", "__next__"}
"""Special methods that are not part of a comparison."""
_NEW_PROCESSES = (
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.popen_forkserver",
    "joblib.externals.loky.backend.popen_loky_posix",
)
"""Modules that run candidate code in another process, where nothing is monitored."""


class CandidateSources:
    def __init__(
        self,
        report_line: Callable[[str, str], None],
        is_active: Callable[[], bool],
        is_candidate_file: Callable[[str], bool],
        candidate_paths: Iterable[str],
        test_paths: Iterable[str],
    ) -> None:
        """`report_line`: called with a path and the text of a finding in it."""
        self._report_line, self._is_active, self._is_candidate_file = report_line, is_active, is_candidate_file
        self._candidate_paths, self._test_paths = frozenset(candidate_paths), frozenset(test_paths)
        self._analyses: dict[str, static_checks.Analysis] = {}
        self._marked: dict[str, tuple[bytes, Any]] = {}
        self._executed: dict[str, list[executed_findings.Finding]] = {}
        self.unmarked_code_ran = False
        """Whether the tests may have run code of the candidate's that has no marks."""

    def add(self, path: str, source: bytes, analysis: static_checks.Analysis) -> None:
        """Add a candidate file before it runs. A finding in it counts when its code is executed."""
        self._analyses[path] = analysis
        self._executed[path] = []
        if analysis.tree is None:
            self._report_all(path, analysis.findings)
            return

        def reached(finding: executed_findings.Finding) -> None:
            executed = self._executed[path]
            if self._is_active() and finding not in executed:
                before = static_checks.unknown_lines(executed, analysis.known)
                executed.append(finding)
                self._report_lines(path, static_checks.unknown_lines(executed, analysis.known)[len(before) :])

        with contextlib.suppress(SyntaxError):  # such a file cannot run
            try:
                code = executed_findings.compiled(analysis.tree, path, analysis.findings, reached, self._is_for_tests)
                self._marked[path] = source, code
            except (ValueError, RecursionError, MemoryError):
                self._report_all(path, analysis.findings)

    def marked_code(self, path: str, source: bytes) -> Any:
        """The code of a candidate's file with its marks; None where there is none."""
        before, code = self._marked.get(path, (b"", None))
        if path in self._analyses and (code is None or before != source):
            self.unmarked_code_ran = True
            return None
        return code

    def report_unmarked(self, modules_before: Iterable[str]) -> None:
        """After the tests: report all findings if code may have run without marks."""
        known = set(modules_before)
        unmarked = self.unmarked_code_ran or any(name in sys.modules and name not in known for name in _NEW_PROCESSES)
        for path, analysis in self._analyses.items() if unmarked else ():
            self._report_all(path, analysis.findings)

    def _report_all(self, path: str, findings: list[executed_findings.Finding]) -> None:
        self._report_lines(path, static_checks.unknown_lines(findings, self._analyses[path].known))

    def _report_lines(self, path: str, lines: Iterable[str]) -> None:
        for line in list(lines):
            self._report_line(path, line)

    def _is_for_tests(self, method: types.FrameType) -> bool:
        """Whether a method was called on behalf of the tests, and not by a candidate's function that they called."""
        entry: types.FrameType = method
        frame = method.f_back
        while frame is not None and frame.f_code.co_filename not in self._test_paths:
            file = frame.f_code.co_filename
            if file in self._candidate_paths or (file.startswith("<") and self._is_candidate_file(file)):
                entry = frame
            frame = frame.f_back
        name = entry.f_code.co_name
        return entry is method or name == "<lambda>" or (name.startswith("__") and name not in _EXPLICIT)
