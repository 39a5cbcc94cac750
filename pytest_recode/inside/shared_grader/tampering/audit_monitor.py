"""Detects and refuses what a candidate does at run time that a solution does not need.

Runs in the shared judge, in one process with the candidate. Called from an audit hook, from replaced builtins of
candidate modules, and from guarded modules of the judge. Must not call a method of a candidate's value, and must not
be re-entered.

Every check determines whose code acts: libraries, tests and the repository's other files may do what a candidate may
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

from . import (
    audit_policy,
    evaluated_strings,
    executed_findings,
    interceptors,
    library_wrappers,
    module_snapshot,
    static_checks,
)

_OTHERS_TEXTS = ("<frozen ", "<_recode.", "<tests>", "<__array_function__")

_CLOCK = 20_000_000
"""Nanoseconds that the clock of a file system may be behind."""

_IMPORTING = ("<frozen importlib", "<_recode.")
"""Whose code is run then is a module's own, or the judge's."""
_EXPLICIT = {"__init__", "__new__", "__post_init__", "__call__", "__enter__", "__exit__", "__iter__", "__next__"}
"""Special methods that answer no comparison."""
_FRESH = (
    "multiprocessing.popen_spawn_posix",
    "multiprocessing.popen_forkserver",
    "joblib.externals.loky.backend.popen_loky_posix",
)
"""By which a text runs in another process, where nobody watches."""

Say = Callable[[str], None]


class Watch:
    """`mine`: absolute paths of the candidate's files; `others`: of what is not, in the places that can be written.

    `known` is what the reference does too. With `refuse` an act does not come about. `tests`: files of the tests, as tracebacks show them.
    """

    def __init__(
        self,
        mine: Iterable[str],
        others: Iterable[str],
        hidden: Iterable[str],
        say: Say,
        known: Iterable[str] = (),
        refuse: bool = True,
        tests: Iterable[str] = (),
    ) -> None:
        self._tests = frozenset(tests)
        self._readings: dict[str, static_checks.Reading] = {}
        self._marked: dict[str, tuple[bytes, Any]] = {}
        self._reached: dict[str, list[executed_findings.Finding]] = {}
        self._blind = False
        """Whether the tests may have run a candidate's text that has no marks in it."""
        self._mine, self._others = set(mine), set(others)
        self._hidden = frozenset(hidden)
        self._say, self._told, self._refuse = say, set(known), refuse
        self._known = frozenset(known)
        trusted = {os.path.abspath(path) for path in sys.path if path} | {sys.prefix, sys.base_prefix}
        self._places = tuple(
            {f"{os.path.realpath(place)}/" for place in (os.getcwd(), "/tmp", os.path.expanduser("~"))}
        )
        self._trusted = tuple(f"{path}/" for path in trusted - {os.getcwd()})
        self._cwd = f"{os.getcwd()}/"
        self._whose: dict[str, bool] = {}
        self._busy: set[int] = set()
        """Threads that look, and are not to be seen looking."""
        self.on = False
        self.kept: dict[int, tuple[dict[str, Any], bool]] = {}
        self._accepted: list[tuple[str, Any, Any]] = []
        self._holdings = module_snapshot.Holdings()
        self._loaded: dict[str, types.ModuleType] = {}
        """The repository's, by their names."""

    def begin(self) -> None:
        """For good: an audit hook cannot be taken back."""
        self.on = True
        self._began = time.time_ns() - _CLOCK
        self._before = set(sys.modules)
        self._builtins = interceptors.builtins_for(self)
        sys.meta_path.insert(0, interceptors.finder(self))
        interceptors.see_imports(self)
        interceptors.see_signals(self)
        interceptors.see_lookups(self)
        sys.addaudithook(self._audit)

    def end(self) -> None:
        self.on = False

    def changes(self) -> list[str]:
        """What the repository's modules hold, and did not when they were imported."""
        self.unreached()
        rebound = [
            f"{name} was replaced"
            for name, before, now in self._accepted
            if not library_wrappers.wraps(now, before, self.candidates)
        ]
        return [*rebound, *self._put_in_place(), *self._holdings.changes(self.candidates, sorted(self._others))]

    def _put_in_place(self) -> Iterator[str]:
        """Modules that stand where those of the repository's were loaded, or would have been."""
        for name, module in self._loaded.items():
            if sys.modules.get(name, module) is not module:
                yield f"sys.modules[{name!r}] was replaced"
        stems = {os.path.basename(path)[: -len(".py")] for path in self._others if path.endswith(".py")}
        for name in [name for name in sys.modules if name not in self._before and name not in self._loaded]:
            above, _, last = name.rpartition(".")
            if last in stems and (not above or above in self._loaded):
                spec = getattr(sys.modules[name], "__spec__", None)
                if spec is None or (isinstance(spec.origin, str) and self.candidates(spec.origin)):
                    yield f"sys.modules[{name!r}] was put there"

    def keep(self, module: types.ModuleType, names: dict[str, Any], strict: bool = True, seal: bool = False) -> None:
        """From now on the module sees what is set in it: `names` are to stay as they are, or at least not to be the candidate's.

        `seal`: by whatever way; each is then a little slower to be had from the module.
        """
        if type(module) is types.ModuleType:
            # the names as they are: a copy would touch, and in a fork copy, thousands of objects
            self.kept[id(module)] = names, strict
            module.__class__ = interceptors.module_class(self, names) if seal else self._keeper

    def accept(self, module: types.ModuleType, name: str, value: Any) -> None:
        """What a library made of its own, in the place of what was noted: from now on it is to stay."""
        names, _ = self.kept[id(module)]
        self._accepted.append((f"{module.__name__}.{name}", names[name], value))
        names[name] = value

    @property
    def _keeper(self) -> Any:
        if not hasattr(self, "_class"):
            self._class = interceptors.module_class(self)
        return self._class

    # what was read

    def expect(self, path: str, source: bytes, reading: static_checks.Reading) -> None:
        """Of a candidate's file, before it runs: what was found in it counts where it is reached."""
        self._readings[path] = reading
        self._reached[path] = []
        if reading.tree is None:
            self._say_all(path, reading.findings)
            return

        def reached(finding: executed_findings.Finding) -> None:
            seen = self._reached[path]
            if self.on and finding not in seen:
                before = static_checks.told(seen, reading.known)
                seen.append(finding)
                self._say_lines(path, static_checks.told(seen, reading.known)[len(before) :])

        with contextlib.suppress(SyntaxError):  # it cannot run
            try:
                code = executed_findings.compiled(reading.tree, path, reading.findings, reached, self.for_tests)
                self._marked[path] = source, code
            except (ValueError, RecursionError, MemoryError):
                self._say_all(path, reading.findings)

    def marked(self, path: str, source: bytes) -> Any:
        """The code of a candidate's file with its marks, None where there is none."""
        before, code = self._marked.get(path, (b"", None))
        if path in self._readings and (code is None or before != source):
            self._blind = True
            return None
        return code

    def unreached(self) -> None:
        """After the tests: where a text may have run without its marks, all that was found in it counts."""
        blind = self._blind or any(name in sys.modules and name not in self._before for name in _FRESH)
        for path, reading in self._readings.items() if blind else ():
            self._say_all(path, reading.findings)

    def _say_all(self, path: str, findings: list[executed_findings.Finding]) -> None:
        self._say_lines(path, static_checks.told(findings, self._readings[path].known))

    def _say_lines(self, path: str, lines: Iterable[str]) -> None:
        place = path[len(self._cwd) :] if path.startswith(self._cwd) else path
        for text in [f"{place}, {line}" for line in lines]:
            if text not in self._told:
                self._told.add(text)
                self._say(text)

    def for_tests(self, method: types.FrameType) -> bool:
        """Whether a method was called on behalf of the tests, and not by a function of the candidate's that they called."""
        entry: types.FrameType = method
        frame = method.f_back
        while frame is not None and frame.f_code.co_filename not in self._tests:
            place = frame.f_code.co_filename
            if place in self._mine or (place.startswith("<") and self.candidates(place)):
                entry = frame
            frame = frame.f_back
        name = entry.f_code.co_name
        return entry is method or name == "<lambda>" or (name.startswith("__") and name not in _EXPLICIT)

    # whose

    def candidates(self, path: str) -> bool:
        """Whether code of this file is the candidate's: also of one that it wrote, and what was made of a text."""
        if path.startswith("<"):
            return not path.startswith(_OTHERS_TEXTS)
        if path not in self._whose:
            foreign = path in self._others or not path.startswith(self._places)
            inside = path.startswith(self._trusted) and not path.startswith(self._cwd)
            self._whose[path] = path in self._mine or not (foreign or inside)
        return self._whose[path]

    def _is_tests(self, path: str) -> bool:
        return path in self._tests or path.endswith("/runpy.py")

    def actor(self, event: str, depth: int) -> Optional[types.FrameType]:
        """The frame of the candidate's that acts here, not counting who does it for others; None where it is not the candidate."""
        frame: Optional[types.FrameType] = sys._getframe(depth + 1)
        while event in audit_policy.DEEP and frame is not None and frame.f_code.co_filename not in self._mine:
            frame = frame.f_back
        carriers = audit_policy.BY.get(event, ())
        while frame is not None and carriers:
            place = frame.f_code.co_filename
            if not (place.endswith(carriers) or f"{place}:{frame.f_code.co_name}".endswith(carriers)):
                break
            frame = frame.f_back
        return frame if frame is not None and self.candidates(frame.f_code.co_filename) else None

    # what

    def seen(self, what: str, frame: types.FrameType) -> None:
        """Say it, once. Raises `PermissionError` where the reference does no such thing."""
        if what not in self._told:
            self._told.add(what)
            place = frame.f_code.co_filename
            place = place[len(self._cwd) :] if place.startswith(self._cwd) else place
            self._say(f"{place}, line {frame.f_lineno}, when run: {what}" if self._refuse else what)
        if self._refuse and what not in self._known:
            raise PermissionError(what)

    def _audit(self, event: str, given: tuple[Any, ...]) -> None:
        if event not in audit_policy.WHY and event not in audit_policy.ASKED and not event.startswith("ctypes."):
            return
        thread = threading.get_ident()
        if thread in self._busy or not self.on:
            return
        if event == "exec" and self._is_tests(sys._getframe(1).f_code.co_filename):
            self._blind = True
        self._busy.add(thread)
        collects = gc.isenabled()
        gc.disable()  # a finalizer would run unseen
        try:
            frame = self.actor(event, 1)
            if frame is None:
                self._text(event, given)
                return
            what = audit_policy.meaning(
                event, tuple(map(audit_policy.exact, given)), self._hidden, self.candidates, self._others
            )
            if what:
                self.seen(what, frame)
        finally:
            if collects:
                gc.enable()
            self._busy.discard(thread)

    def _text(self, event: str, given: tuple[Any, ...]) -> None:
        """Of a text that a library runs: whether the candidate is nearest of those that it may do so for, and what it comes to."""
        frame = sys._getframe(2)
        if event != "exec" or type(given[0]) is not types.CodeType:
            return
        written = evaluated_strings.WRITER in frame.f_code.co_filename
        nearest: Optional[types.FrameType] = frame
        while nearest is not None and not self.candidates(nearest.f_code.co_filename):
            place = nearest.f_code.co_filename
            if written and evaluated_strings.COMPILER in place:
                return
            if place.startswith(_IMPORTING) or place in self._tests or place in self._others:
                return
            nearest = nearest.f_back
        what = evaluated_strings.objection(given[0], self._hidden) if nearest is not None else ""
        if nearest is not None and what:
            self.seen(what, nearest)

    def seeks(self, name: str) -> bool:
        """Whether it is a module of the tests', which an import does not find; the candidate's attempt is said."""
        if name not in self._hidden or not self.on:
            return False
        frame = self.actor("import", 2)
        if frame is not None:
            with contextlib.suppress(PermissionError):  # let it be told that there is no such module
                self.seen(f"import of {name}, which is the tests' alone", frame)
        return frame is not None

    # what is imported

    def loaded(self, module: types.ModuleType, path: str) -> None:
        """One of the repository's own modules that are not the candidate's: its functions and classes are to stay."""
        self.keep(
            module, {name: value for name, value in vars(module).items() if _own(value, module.__name__)}, seal=True
        )

    def before(self, module: types.ModuleType, path: str) -> None:
        if path in self._mine:
            module.__dict__["__builtins__"] = self._builtins

    def own_source(self, path: str) -> bool:
        """Whether it is a file of the repository's, or the candidate's: never loaded from bytecode, which anybody may have put there."""
        return path in self._mine or path in self._others

    def unread(self, path: str) -> None:
        """Of a file that is loaded: that it was there when the candidate was read. Raises `PermissionError` if not."""
        if (
            not path
            or not self.on
            or self.own_source(path)
            or not (self.candidates(path) or _changed(path) >= self._began)
        ):
            return
        what = f"import of {os.path.basename(path)}, which was written while it ran and cannot be read here"
        if what not in self._told:
            self._told.add(what)
            self._say(what)
        if self._refuse and what not in self._known:
            raise PermissionError(what)

    def after(self, module: types.ModuleType, path: str) -> None:
        if path in self._others or path in self._mine:
            self._loaded[module.__name__] = module
        others = path in self._others and path not in self._mine
        if others or (path in self._mine and not self._refuse):
            self._holdings.note(module)
        if others:
            self.loaded(module, path)


def _changed(path: str) -> int:
    """When, by a time that nobody can set."""
    try:
        return os.stat(path).st_ctime_ns
    except OSError:
        return 0


def _own(value: Any, module: str) -> bool:
    return isinstance(value, (types.FunctionType, type)) and getattr(value, "__module__", "") == module
