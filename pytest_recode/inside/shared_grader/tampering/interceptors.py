"""Replaced builtins for candidate modules, guarded module classes and an import finder, which report to the monitor.

Runs in the shared judge, in one process with the candidate. Installed by `audit_monitor.py`, then called from
candidate code, from libraries and from the import system. Must not expose the monitor to the candidate, and must
behave like the original where nothing is found.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import builtins
import copyreg
import functools
import importlib
import importlib.machinery
import inspect
import io
import os
import re
import string
import sys
import types
import zipimport
from collections.abc import Iterable
from typing import Any, Optional, Protocol

from . import audit_policy, deny_rules, library_wrappers


class Monitor(Protocol):
    """The part of `audit_monitor.AuditMonitor` that is used here."""

    active: bool
    guarded: dict[int, tuple[dict[str, Any], bool]]

    def is_candidate_file(self, path: str) -> bool: ...
    def actor(self, event: str, depth: int) -> Optional[types.FrameType]: ...
    def report_act(self, finding: str, frame: types.FrameType) -> None: ...
    def accept(self, module: types.ModuleType, name: str, value: Any) -> None: ...
    def check_hidden_import(self, name: str) -> bool: ...
    def is_task_source(self, path: str) -> bool: ...
    def refuse_new_file(self, path: str) -> None: ...
    def before_import(self, module: types.ModuleType, path: str) -> None: ...
    def after_import(self, module: types.ModuleType, path: str) -> None: ...


_HEAP = 1 << 9
"""Flag of classes that Python code created; the others are the interpreter's."""


def builtins_for(monitor: Monitor) -> dict[str, Any]:
    """Builtins for the candidate's modules, which check names that are made at run time."""
    real_vars = vars
    real_getattr, real_setattr, real_delattr, real_import = getattr, setattr, delattr, builtins.__import__

    def report(what: str) -> None:
        frame = monitor.actor("", 2)
        if what and frame is not None and monitor.active:
            monitor.report_act(what, frame)

    def getattr_(holder: Any, name: Any, *default: Any) -> Any:
        what = audit_policy.lookup_finding(holder, name)
        if what:
            report(what)
        return real_getattr(holder, name, *default)

    def setattr_(holder: Any, name: Any, value: Any) -> None:
        what = audit_policy.assignment_finding(holder, name, monitor.is_candidate_file, value)
        if what:
            report(what)
        real_setattr(holder, name, value)

    def delattr_(holder: Any, name: Any) -> None:
        what = audit_policy.assignment_finding(holder, name, monitor.is_candidate_file)
        if what:
            report(what)
        real_delattr(holder, name)

    def import_(name: str, *rest: Any, **named: Any) -> Any:
        what = audit_policy.import_finding(name) if not (named.get("level") or (len(rest) > 3 and rest[3])) else ""
        if what:
            report(what)
        return real_import(name, *rest, **named)

    def vars_(*holder: Any) -> Any:
        if holder and type(holder[0]) is super:
            report(f"vars() of super {deny_rules.LOOKS}")
        if holder and isinstance(holder[0], type) and not holder[0].__flags__ & _HEAP:
            report(f"vars() of {holder[0].__name__} {deny_rules.LOOKS}")
        if not holder:
            return sys._getframe(1).f_locals
        return dict(real_vars(*holder)) if id(holder[0]) in monitor.guarded else real_vars(*holder)

    replacements = {"vars": vars_, "getattr": getattr_, "setattr": setattr_, "delattr": delattr_, "__import__": import_}
    for name, function in replacements.items():
        function.__name__ = function.__qualname__ = name
    return {**vars(builtins), **replacements}


def module_class(monitor: Monitor, sealed: Iterable[str] = ()) -> Any:
    """A class for modules that check assignments to their attributes; for `sealed` names, even those that bypass
    `__setattr__`."""

    def guard(module: Any, name: str, value: Any) -> None:
        names, strict = monitor.guarded.get(id(module), ({}, True))
        if not monitor.active or name not in names or value is names[name]:
            return
        if strict or monitor.is_candidate_file(library_wrappers.file_of(value)):
            frame = monitor.actor("", 2)
            if frame is not None:
                monitor.report_act(f"{module.__name__}.{name} set at run time {deny_rules.CHANGES}", frame)
            elif library_wrappers.rebinds(sys._getframe(2), module, names[name], value, monitor.is_candidate_file):
                monitor.accept(module, name, value)

    namespace: Any = vars(types.ModuleType)["__dict__"]

    class Module(types.ModuleType):
        __slots__ = ()

        def __setattr__(self, name: str, value: Any) -> None:
            guard(self, name, value)
            super().__setattr__(name, value)

        def __delattr__(self, name: str) -> None:
            guard(self, name, guard)
            super().__delattr__(name)

        @property
        def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
            attributes: dict[str, Any] = namespace.__get__(self)
            return dict(attributes) if monitor.active and monitor.actor("", 1) is not None else attributes

    def seal(name: str) -> property:
        def get(module: Any) -> Any:
            try:
                return namespace.__get__(module)[name]
            except KeyError:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None

        def put(module: Any, value: Any) -> None:
            guard(module, name, value)
            namespace.__get__(module)[name] = value

        def drop(module: Any) -> None:
            get(module)
            put(module, guard)
            del namespace.__get__(module)[name]

        return property(get, put, drop)

    for name in sealed:
        setattr(Module, name, seal(name))
    Module.__name__ = Module.__qualname__ = "module"
    Module.__module__ = "builtins"
    copyreg.pickle(Module, _by_name)
    return Module


def _by_name(module: Any) -> tuple[Any, ...]:
    return importlib.import_module, (module.__name__,)


def finder(monitor: Monitor) -> Any:
    """A finder that finds nothing, and reports where the candidate imports a hidden module. Any code can reach it in
    `sys.meta_path`, so it has no attribute that leads to the monitor."""

    class Finder:
        __slots__ = ()

        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG004  as they are given
            monitor.check_hidden_import(name)

    return Finder()


def intercept_lookups(monitor: Monitor) -> None:
    """Check `importlib.import_module`: importing a loaded module raises no audit event. This cannot be undone."""
    real = importlib.import_module

    @functools.wraps(real)
    def import_module(name: str, package: Any = None) -> Any:
        what = audit_policy.import_finding(name) if isinstance(name, str) else ""
        frame = monitor.actor("lookup", 1) if what and monitor.active else None
        if frame is not None:
            monitor.report_act(what, frame)
        return real(name, package)

    importlib.import_module = import_module
    _intercept_members(monitor)
    _intercept_kernels(monitor)


def _intercept_kernels(monitor: Monitor) -> None:
    """Check `torch.library.Library`, by which code replaces kernels of torch's own operators."""
    library: Any = getattr(sys.modules.get("torch.library"), "Library", None)
    if library is None:
        return
    make = library.__init__

    @functools.wraps(make)
    def init(self: Any, namespace: Any, *rest: Any, **named: Any) -> None:
        frame = (
            monitor.actor("kernel", 1)
            if monitor.active and audit_policy.exact(namespace) in deny_rules.NAMESPACES
            else None
        )
        if frame is not None:
            monitor.report_act(f"kernels of torch's {namespace} set at run time {deny_rules.CHANGES}", frame)
        make(self, namespace, *rest, **named)

    del init.__wrapped__
    library.__init__ = init


def _intercept_members(monitor: Monitor) -> None:
    """Check `inspect.getmembers` and `string.Formatter`, which look up names for their callers."""
    members, field = inspect.getmembers, string.Formatter.get_field

    @functools.wraps(members)
    def getmembers(*positional: Any, **named: Any) -> Any:
        pairs = members(*positional, **named)
        is_candidate = monitor.active and monitor.actor("lookup", 1) is not None
        return [pair for pair in pairs if pair[0] not in deny_rules.ATTRIBUTES] if is_candidate else pairs

    @functools.wraps(field)
    def get_field(self: Any, name: str, *rest: Any) -> Any:
        what = next(filter(None, (audit_policy.lookup_finding(None, part) for part in re.split(r"\W", str(name)))), "")
        frame = monitor.actor("format", 1) if what and monitor.active else None
        if frame is not None:
            monitor.report_act(what, frame)
        return field(self, name, *rest)

    for holder, function in ((inspect, getmembers), (string.Formatter, get_field)):
        del function.__wrapped__
        setattr(holder, function.__name__, function)


def intercept_signals(monitor: Monitor) -> None:
    """Check `signal.signal`: a handler gets the frame that it interrupts. This cannot be undone."""
    system: Any = sys.modules["_signal"]
    handle = system.signal

    def signal(number: int, handler: Any) -> Any:
        frame = monitor.actor("signal", 1)
        if frame is not None and monitor.active:
            monitor.report_act(f"signal.signal {deny_rules.OF_MODULE['signal', 'signal']}", frame)
        return handle(number, handler)

    system.signal = signal


def intercept_imports(monitor: Monitor) -> None:
    """Check every file that is loaded, by an import or by `spec_from_file_location`. This cannot be undone."""
    _intercept_source_loader(monitor)
    for loader, name in (
        (zipimport.zipimporter, "load_module"),
        (importlib.machinery.ExtensionFileLoader, "create_module"),
    ):
        setattr(loader, name, _checking_first(monitor, getattr(loader, name)))


def _intercept_source_loader(monitor: Monitor) -> None:
    """Sources, bytecode and archives are loaded by one method, which their loaders inherit."""
    loader: Any = next(each for each in importlib.machinery.SourceFileLoader.__mro__ if "exec_module" in vars(each))
    load, build = loader.exec_module, compile

    def exec_module(self: Any, module: types.ModuleType) -> None:
        path = _path_of(self)
        monitor.refuse_new_file(path)
        monitor.before_import(module, path)
        if monitor.is_task_source(path):
            with io.FileIO(path) as file:
                data = file.readall()
            code = build(data, self.path, "exec", dont_inherit=True)
            exec(code, module.__dict__)
        else:
            load(self, module)
        monitor.after_import(module, path)

    loader.exec_module = exec_module


def _checking_first(monitor: Monitor, load: Any) -> Any:
    @functools.wraps(load)
    def loading(self: Any, *arguments: Any) -> Any:
        monitor.refuse_new_file(_path_of(self))
        return load(self, *arguments)

    del loading.__wrapped__
    return loading


def _path_of(loader: Any) -> str:
    path = getattr(loader, "path", None) or getattr(loader, "archive", "")
    return os.path.realpath(path) if path else ""
