"""Detects and refuses acts of a candidate at run time that a solution does not need.

Runs in the shared judge, in one process with the candidate. Called from an audit hook, from replaced builtins of
candidate modules, and from guarded modules of the judge. Must not call a method of a candidate's value, and must not
be re-entered.

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
import time
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Optional

from . import audit_policy, deny_rules, interceptors, library_wrappers, module_snapshot

_NOT_CANDIDATE_TEXTS = ("<frozen ", "<_recode.", "<tests>", "<__array_function__")
"""File names of code that has no file and is not the candidate's."""

_CLOCK_LAG = 20_000_000
"""Nanoseconds that the clock of a file system may be behind."""

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
        self.guarded: dict[int, tuple[dict[str, Any], bool]] = {}
        """For each guarded module, by id: attributes that must not change, and whether that holds for any new value."""
        self._wrapped: list[tuple[str, Any, Any]] = []
        """Attributes that a library replaced itself: name, the value before, and the new one."""
        self._snapshots = module_snapshot.ModuleSnapshots()
        self._repository_modules: dict[str, types.ModuleType] = {}

    def begin(self) -> None:
        """Start to monitor. The hooks stay installed, because an audit hook cannot be removed."""
        self.active = True
        self._began = time.time_ns() - _CLOCK_LAG
        self._modules_before = set(sys.modules)
        self._builtins = interceptors.builtins_for(self)
        sys.meta_path.insert(0, interceptors.finder(self))
        interceptors.intercept_imports(self)
        interceptors.intercept_signals(self)
        interceptors.intercept_lookups(self)
        sys.addaudithook(self._audit)

    def end(self) -> None:
        self.active = False

    def changes(self) -> list[str]:
        """One line for each change of the repository's modules since their import."""
        rebound = [
            f"{name} was replaced"
            for name, before, now in self._wrapped
            if not library_wrappers.wraps(now, before, self.is_candidate_file)
        ]
        changed = self._snapshots.changes(self.is_candidate_file, sorted(self._repository_paths))
        return [*rebound, *self._replaced_modules(), *changed]

    def replacements(self) -> list[str]:
        """One line for each function, class or other attribute of the repository's modules that is another object now."""
        return list(self._snapshots.replacements(self.is_candidate_file, sorted(self._repository_paths)))

    def _replaced_modules(self) -> Iterator[str]:
        """Modules that replace modules of the repository in `sys.modules`, or would be imported in their place."""
        for name, module in self._repository_modules.items():
            if sys.modules.get(name, module) is not module:
                yield f"sys.modules[{name!r}] was replaced"
        stems = {os.path.basename(path)[: -len(".py")] for path in self._repository_paths if path.endswith(".py")}
        new = [n for n in sys.modules if n not in self._modules_before and n not in self._repository_modules]
        for name in new:
            above, _, last = name.rpartition(".")
            if last in stems and (not above or above in self._repository_modules):
                spec = getattr(sys.modules[name], "__spec__", None)
                if spec is None or (isinstance(spec.origin, str) and self.is_candidate_file(spec.origin)):
                    yield f"sys.modules[{name!r}] was added"

    def guard(self, module: types.ModuleType, names: dict[str, Any], strict: bool = True, seal: bool = False) -> None:
        """Check assignments to attributes of a module from now on.

        `names`: attributes that must not change. Without `strict`, only values of the candidate's are findings. `seal`:
        check assignments that bypass `__setattr__` too, which makes reading the attributes a little slower.
        """
        if type(module) is types.ModuleType:
            # not a copy of `names`: in a fork that would copy the pages of thousands of objects
            self.guarded[id(module)] = names, strict
            module.__class__ = interceptors.module_class(self, names) if seal else self._guarded_class

    def accept(self, module: types.ModuleType, name: str, value: Any) -> None:
        """Accept a function that a library wrapped itself. From now on the attribute must keep this value."""
        names, _ = self.guarded[id(module)]
        self._wrapped.append((f"{module.__name__}.{name}", names[name], value))
        names[name] = value

    @property
    def _guarded_class(self) -> Any:
        if not hasattr(self, "_class"):
            self._class = interceptors.module_class(self)
        return self._class

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

    def actor(self, event: str, depth: int) -> Optional[types.FrameType]:
        """The candidate's frame that acts, without code that acts for its caller; None where other code acts.

        `depth`: the number of frames between this method and the code in question.
        """
        frame: Optional[types.FrameType] = sys._getframe(depth + 1)
        anywhere = event in audit_policy.ANYWHERE_ON_STACK
        while anywhere and frame is not None and frame.f_code.co_filename not in self._candidate_paths:
            frame = frame.f_back
        carriers = audit_policy.CARRIERS.get(event, ())
        while frame is not None and carriers:
            file = frame.f_code.co_filename
            if not (file.endswith(carriers) or f"{file}:{frame.f_code.co_name}".endswith(carriers)):
                break
            frame = frame.f_back
        return frame if frame is not None and self.is_candidate_file(frame.f_code.co_filename) else None

    # findings

    def report_act(self, finding: str, frame: types.FrameType) -> None:
        """Report an act once. Raises `PermissionError` unless the reference has the finding too."""
        if finding not in self._reported:
            self._reported.add(finding)
            path = self._displayed(frame.f_code.co_filename)
            self._report(f"{path}, line {frame.f_lineno}: {finding}" if self._refuse else finding)
        if self._refuse and finding not in self._accepted_findings:
            raise PermissionError(finding)

    def _displayed(self, path: str) -> str:
        return path[len(self._cwd) :] if path.startswith(self._cwd) else path

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
            frame = self.actor(event, 1)
            if frame is None:
                return
            arguments = tuple(map(audit_policy.exact, raw_arguments))
            finding = audit_policy.event_finding(
                event, arguments, self._hidden, self.is_candidate_file, self._repository_paths
            )
            if finding:
                self.report_act(finding, frame)
        finally:
            if collects:
                gc.enable()
            self._checking.discard(thread)

    def check_hidden_import(self, name: str) -> bool:
        """Report an import of a hidden module by the candidate, and return whether it is one. The import finds nothing."""
        if name not in self._hidden or not self.active:
            return False
        frame = self.actor("import", 2)
        if frame is not None:
            with contextlib.suppress(PermissionError):  # the import raises `ModuleNotFoundError`
                self.report_act(f"import of {name}, {deny_rules.HIDDEN_MODULE}", frame)
        return frame is not None

    # imports

    def before_import(self, module: types.ModuleType, path: str) -> None:
        if path in self._candidate_paths:
            module.__dict__["__builtins__"] = self._builtins

    def is_task_source(self, path: str) -> bool:
        """Whether a file is the repository's or the candidate's. It is never loaded from bytecode, which any code may have
        written."""
        return path in self._candidate_paths or path in self._repository_paths

    def refuse_new_file(self, path: str) -> None:
        """Raise `PermissionError` for a file that was written after the candidate's files were checked."""
        if not path or not self.active or self.is_task_source(path):
            return
        if not self.is_candidate_file(path) and _change_time(path) < self._began:
            return
        finding = f"import of {os.path.basename(path)}, which was written while the tests ran and cannot be checked"
        if finding not in self._reported:
            self._reported.add(finding)
            self._report(finding)
        if self._refuse and finding not in self._accepted_findings:
            raise PermissionError(finding)

    def after_import(self, module: types.ModuleType, path: str) -> None:
        """Take the snapshot of a repository module, and guard its functions and classes."""
        if self.is_task_source(path):
            self._repository_modules[module.__name__] = module
        is_repository = path in self._repository_paths and path not in self._candidate_paths
        if is_repository or (path in self._candidate_paths and not self._refuse):
            self._snapshots.add(module)
        if is_repository:
            names = {name: value for name, value in vars(module).items() if _is_defined_in(value, module.__name__)}
            self.guard(module, names, seal=True)


def _change_time(path: str) -> int:
    """When the file was last changed, in nanoseconds, by a time that no program can set."""
    try:
        return os.stat(path).st_ctime_ns
    except OSError:
        return 0


def _is_defined_in(value: Any, module: str) -> bool:
    return isinstance(value, (types.FunctionType, type)) and getattr(value, "__module__", "") == module
