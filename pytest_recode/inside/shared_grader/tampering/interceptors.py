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

from . import audit_policy, comparison_guards, deny_rules, library_wrappers


class Monitor(Protocol):
    """`audit_monitor.Watch`, as far as it is asked here."""

    on: bool
    kept: dict[int, tuple[dict[str, Any], bool]]

    def candidates(self, path: str) -> bool: ...
    def actor(self, event: str, depth: int) -> Optional[types.FrameType]: ...
    def seen(self, what: str, frame: types.FrameType) -> None: ...
    def accept(self, module: types.ModuleType, name: str, value: Any) -> None: ...
    def seeks(self, name: str) -> bool: ...
    def own_source(self, path: str) -> bool: ...
    def unread(self, path: str) -> None: ...
    def marked(self, path: str, source: bytes) -> Any: ...
    def before(self, module: types.ModuleType, path: str) -> None: ...
    def after(self, module: types.ModuleType, path: str) -> None: ...


_HEAP = 1 << 9
"""Of a class that Python code made; the others are the interpreter's."""


def builtins_for(watch: Monitor) -> dict[str, Any]:
    """For the candidate's modules: they look at the names they are given."""
    space = vars
    take, put, drop, bring = getattr, setattr, delattr, builtins.__import__

    def seen(what: str) -> None:
        frame = watch.actor("", 2)
        if what and frame is not None and watch.on:
            watch.seen(what, frame)

    def getattr_(holder: Any, name: Any, *default: Any) -> Any:
        what = audit_policy.named(holder, name)
        if what:
            seen(what)
        return take(holder, name, *default)

    def setattr_(holder: Any, name: Any, value: Any) -> None:
        what = audit_policy.setting(holder, name, watch.candidates, value)
        if what:
            seen(what)
        put(holder, name, value)

    def delattr_(holder: Any, name: Any) -> None:
        what = audit_policy.setting(holder, name, watch.candidates)
        if what:
            seen(what)
        drop(holder, name)

    def import_(name: str, *rest: Any, **named: Any) -> Any:
        what = audit_policy.importing(name) if not (named.get("level") or (len(rest) > 3 and rest[3])) else ""
        if what:
            seen(what)
        return bring(name, *rest, **named)

    def vars_(*holder: Any) -> Any:
        if holder and type(holder[0]) is super:
            seen(f"vars() of super {deny_rules.LOOKS}")
        if holder and isinstance(holder[0], type) and not holder[0].__flags__ & _HEAP:
            seen(f"vars() of {holder[0].__name__} {deny_rules.LOOKS}")
        if not holder:
            return sys._getframe(1).f_locals
        return dict(space(*holder)) if id(holder[0]) in watch.kept else space(*holder)

    made = {"vars": vars_, "getattr": getattr_, "setattr": setattr_, "delattr": delattr_, "__import__": import_}
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
    return {**vars(builtins), **made}


def module_class(watch: Monitor, sealed: Iterable[str] = ()) -> Any:
    """The class of modules that see what is set in them; of `sealed` names, even by `ModuleType.__setattr__`."""

    def guard(module: Any, name: str, value: Any) -> None:
        kept, strict = watch.kept.get(id(module), ({}, True))
        if not watch.on or name not in kept or value is kept[name]:
            return
        if strict or watch.candidates(comparison_guards.file_of(value)):
            frame = watch.actor("", 2)
            if frame is not None:
                watch.seen(f"{module.__name__}.{name} set at run time {deny_rules.CHANGES}", frame)
            elif library_wrappers.rebinds(sys._getframe(2), module, kept[name], value, watch.candidates):
                watch.accept(module, name, value)

    there: Any = vars(types.ModuleType)["__dict__"]

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
            space: dict[str, Any] = there.__get__(self)
            return dict(space) if watch.on and watch.actor("", 1) is not None else space

    def seal(name: str) -> property:
        def get(module: Any) -> Any:
            try:
                return there.__get__(module)[name]
            except KeyError:
                raise AttributeError(f"module {module.__name__!r} has no attribute {name!r}") from None

        def put(module: Any, value: Any) -> None:
            guard(module, name, value)
            there.__get__(module)[name] = value

        def drop(module: Any) -> None:
            get(module)
            put(module, guard)
            del there.__get__(module)[name]

        return property(get, put, drop)

    for name in sealed:
        setattr(Module, name, seal(name))
    Module.__name__ = Module.__qualname__ = "module"
    Module.__module__ = "builtins"
    copyreg.pickle(Module, _by_name)
    return Module


def _by_name(module: Any) -> tuple[Any, ...]:
    return importlib.import_module, (module.__name__,)


def finder(watch: Monitor) -> Any:
    """Finds nothing, and says so where the candidate seeks what is the tests' alone. Anybody can get hold of it: it leads nowhere."""

    class Finder:
        __slots__ = ()

        @staticmethod
        def find_spec(name: str, path: Any = None, target: Any = None) -> None:  # noqa: ARG004  as they are given
            watch.seeks(name)

    return Finder()


def see_lookups(watch: Monitor) -> None:
    """Of a module that is there already, an import is no event. For good."""
    bring = importlib.import_module

    @functools.wraps(bring)
    def import_module(name: str, package: Any = None) -> Any:
        what = audit_policy.importing(name) if isinstance(name, str) else ""
        frame = watch.actor("lookup", 1) if what and watch.on else None
        if frame is not None:
            watch.seen(what, frame)
        return bring(name, package)

    importlib.import_module = import_module
    _see_members(watch)


def _see_members(watch: Monitor) -> None:
    """By `inspect.getmembers` and `string.Formatter` names are looked up for whoever asks."""
    members, field = inspect.getmembers, string.Formatter.get_field

    @functools.wraps(members)
    def getmembers(*given: Any, **named: Any) -> Any:
        found = members(*given, **named)
        apart = watch.on and watch.actor("lookup", 1) is not None
        return [pair for pair in found if pair[0] not in deny_rules.ATTRIBUTES] if apart else found

    @functools.wraps(field)
    def get_field(self: Any, name: str, *rest: Any) -> Any:
        what = next(filter(None, (audit_policy.named(None, part) for part in re.split(r"\W", str(name)))), "")
        frame = watch.actor("format", 1) if what and watch.on else None
        if frame is not None:
            watch.seen(what, frame)
        return field(self, name, *rest)

    for holder, function in ((inspect, getmembers), (string.Formatter, get_field)):
        del function.__wrapped__
        setattr(holder, function.__name__, function)


def see_signals(watch: Monitor) -> None:
    """A handler is given the frame that it interrupts. For good."""
    system: Any = sys.modules["_signal"]
    handle = system.signal

    def signal(number: int, handler: Any) -> Any:
        frame = watch.actor("signal", 1)
        if frame is not None and watch.on:
            watch.seen("signal.signal interrupts its judge", frame)
        return handle(number, handler)

    system.signal = signal


def see_imports(watch: Monitor) -> None:
    """However a file comes to be loaded: by an import, or from where it lies (`spec_from_file_location`). For good."""
    _see_sources(watch)
    for loader, name in (
        (zipimport.zipimporter, "load_module"),
        (importlib.machinery.ExtensionFileLoader, "create_module"),
    ):
        setattr(loader, name, _seeing_first(watch, getattr(loader, name)))


def _see_sources(watch: Monitor) -> None:
    """What loads sources, bytecode and archives is one method, which they inherit."""
    loader: Any = next(each for each in importlib.machinery.SourceFileLoader.__mro__ if "exec_module" in vars(each))
    load, build = loader.exec_module, compile

    def exec_module(self: Any, module: types.ModuleType) -> None:
        path = _lies_at(self)
        watch.unread(path)
        watch.before(module, path)
        if watch.own_source(path):
            with io.FileIO(path) as file:
                data = file.readall()
            code = watch.marked(path, data) or build(data, self.path, "exec", dont_inherit=True)
            exec(code, module.__dict__)
        else:
            load(self, module)
        watch.after(module, path)

    loader.exec_module = exec_module


def _seeing_first(watch: Monitor, load: Any) -> Any:
    @functools.wraps(load)
    def loading(self: Any, *given: Any) -> Any:
        watch.unread(_lies_at(self))
        return load(self, *given)

    del loading.__wrapped__
    return loading


def _lies_at(loader: Any) -> str:
    path = getattr(loader, "path", None) or getattr(loader, "archive", "")
    return os.path.realpath(path) if path else ""
