"""Detects and refuses acts of a candidate at run time that a solution does not need.

Runs in the shared judge, in one process with the candidate. Called from an audit hook. Must not call a method of a
candidate's value, and must not be re-entered.

Every check determines which code acts: libraries, tests and the repository's other files may do what a candidate may
not. A finding is reported and refused at once.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
import threading
import types
from collections.abc import Callable, Iterable
from typing import Any, Optional

from . import audit_policy

_NOT_CANDIDATE_TEXTS = ("<frozen ", "<_recode.", "<tests>", "<__array_function__")
"""File names of code that has no file and is not the candidate's."""

Report = Callable[[str], None]


class AuditMonitor:
    """Monitors one process from `begin` to `end`."""

    def __init__(
        self,
        candidate_paths: Iterable[str],
        repository_paths: Iterable[str],
        hidden_modules: Iterable[str],
        report: Report,
        accepted: Iterable[str] = (),
        refuse: bool = True,
    ) -> None:
        """Absolute paths of the candidate's files, and of repository files that are not the candidate's, in writable
        directories. `accepted`: findings that the reference has too. `refuse`: raise an exception in place of an act.
        """
        self._candidate_paths, self._repository_paths = set(candidate_paths), set(repository_paths)
        self._hidden = frozenset(hidden_modules)
        self._report, self._reported, self._refuse = report, set(accepted), refuse
        self._accepted_findings = frozenset(accepted)
        trusted = {os.path.abspath(path) for path in sys.path if path} | {sys.prefix, sys.base_prefix}
        self._writable = tuple(
            {f"{os.path.realpath(directory)}/" for directory in (os.getcwd(), "/tmp", os.path.expanduser("~"))}
        )
        self._trusted = tuple(f"{path}/" for path in trusted - {os.getcwd()})
        self._cwd = f"{os.getcwd()}/"
        self._is_candidate: dict[str, bool] = {}
        """Cache of `is_candidate_file`."""
        self._checking: set[int] = set()
        """Threads in the audit hook: the events of the check itself are ignored."""
        self.active = False

    def begin(self) -> None:
        """Start to monitor. The hook stays installed, because an audit hook cannot be removed."""
        self.active = True
        sys.addaudithook(self._audit)

    def end(self) -> None:
        self.active = False

    # which code acts

    def is_candidate_file(self, path: str) -> bool:
        """Whether the code of this file is the candidate's: also of a file that it wrote, or code compiled from a string."""
        if path.startswith("<"):
            return not path.startswith(_NOT_CANDIDATE_TEXTS)
        if path not in self._is_candidate:
            foreign = path in self._repository_paths or not path.startswith(self._writable)
            trusted = path.startswith(self._trusted) and not path.startswith(self._cwd)
            self._is_candidate[path] = path in self._candidate_paths or not (foreign or trusted)
        return self._is_candidate[path]

    def _actor(self, event: str, depth: int) -> Optional[types.FrameType]:
        """The candidate's frame that acts, without code that acts for its caller; None where other code acts.

        `depth`: the number of frames between this method and the code in question.
        """
        frame: Optional[types.FrameType] = sys._getframe(depth + 1)
        carriers = audit_policy.CARRIERS.get(event, ())
        while frame is not None and carriers:
            file = frame.f_code.co_filename
            if not (file.endswith(carriers) or f"{file}:{frame.f_code.co_name}".endswith(carriers)):
                break
            frame = frame.f_back
        return frame if frame is not None and self.is_candidate_file(frame.f_code.co_filename) else None

    # findings

    def _report_act(self, finding: str, frame: types.FrameType) -> None:
        """Report an act once. Raises `PermissionError` unless the reference has the finding too."""
        if finding not in self._reported:
            self._reported.add(finding)
            path = self._displayed(frame.f_code.co_filename)
            self._report(f"{path}, line {frame.f_lineno}: {finding}" if self._refuse else finding)
        if self._refuse and finding not in self._accepted_findings:
            raise PermissionError(finding)

    def _displayed(self, path: str) -> str:
        return path[len(self._cwd) :] if path.startswith(self._cwd) else path

    def check_kernels(self, finding: str) -> None:
        """Report that kernels of torch's are about to be replaced, if the candidate does it."""
        frame = self._actor("kernels", 1) if self.active else None
        if frame is not None:
            self._report_act(finding, frame)

    def _audit(self, event: str, raw_arguments: tuple[Any, ...]) -> None:
        """The audit hook. The depths of frames below count from this method."""
        is_relevant = event in audit_policy.REASONS or event in audit_policy.CHECKED_EVENTS
        if not is_relevant and not event.startswith("ctypes."):
            return
        thread = threading.get_ident()
        if thread in self._checking or not self.active:
            return
        self._checking.add(thread)
        collects = gc.isenabled()
        gc.disable()  # a finalizer would run unmonitored
        try:
            frame = self._actor(event, 1)
            if frame is None:
                return
            arguments = tuple(map(audit_policy.exact, raw_arguments))
            finding = audit_policy.event_finding(
                event, arguments, self._hidden, self.is_candidate_file, self._repository_paths
            )
            if finding:
                # the import of a hidden module raises `ModuleNotFoundError`
                with contextlib.suppress(PermissionError) if event == "import" else contextlib.nullcontext():
                    self._report_act(finding, frame)
        finally:
            if collects:
                gc.enable()
            self._checking.discard(thread)
