"""What lets a watch see: builtins of the candidate's modules, a class for modules of the judge, and a finder that gives them out.

Part of the shared judge. Self-contained: stdlib only, Python 3.9+.
"""

from __future__ import annotations

import builtins
import copyreg
import importlib
import importlib.machinery
import os
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_recode.inside import acts, forbidden
    from pytest_recode.inside import watch as watch_
else:
    import _recode_acts as acts
    import _recode_forbidden as forbidden

_HEAP = 1 << 9
"""Of a class that Python code made; the others are the interpreter's."""


def builtins_for(watch: watch_.Watch) -> dict[str, Any]:
    """For the candidate's modules: they look at the names they are given."""
    space = vars
    take, put, drop, bring = getattr, setattr, delattr, builtins.__import__

    def seen(what: str) -> None:
        frame = watch.actor("", 2)
        if what and frame is not None and watch.on:
            watch.seen(what, frame)

    def getattr_(holder: Any, name: Any, *default: Any) -> Any:
        what = acts.named(holder, name)
        if what:
            seen(what)
        return take(holder, name, *default)

    def setattr_(holder: Any, name: Any, value: Any) -> None:
        what = acts.setting(holder, name, watch.candidates, value)
        if what:
            seen(what)
        put(holder, name, value)

    def delattr_(holder: Any, name: Any) -> None:
        what = acts.setting(holder, name, watch.candidates)
        if what:
            seen(what)
        drop(holder, name)

    def import_(name: str, *rest: Any, **named: Any) -> Any:
        what = acts.importing(name) if not (named.get("level") or (len(rest) > 3 and rest[3])) else ""
        if what:
            seen(what)
        return bring(name, *rest, **named)

    def vars_(*holder: Any) -> Any:
        if holder and isinstance(holder[0], type) and not holder[0].__flags__ & _HEAP:
            seen(f"vars() of {holder[0].__name__} {forbidden.LOOKS}")
        if not holder:
            return sys._getframe(1).f_locals
        return dict(space(*holder)) if id(holder[0]) in watch.kept else space(*holder)

    made = {"vars": vars_, "getattr": getattr_, "setattr": setattr_, "delattr": delattr_, "__import__": import_}
    for name, function in made.items():
        function.__name__ = function.__qualname__ = name
    return {**vars(builtins), **made}


def module_class(watch: watch_.Watch) -> Any:
    """The class of modules that see what is set in them."""

    def guard(module: Any, name: str, value: Any) -> None:
        kept = watch.kept.get(id(module), {})
        if name in kept and value is not kept[name] and watch.on:
            frame = watch.actor("", 2)
            if frame is not None:
                watch.seen(f"{module.__name__}.{name} set at run time {forbidden.CHANGES}", frame)

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

    Module.__name__ = Module.__qualname__ = "module"
    Module.__module__ = "builtins"
    copyreg.pickle(Module, _by_name)
    return Module


def _by_name(module: Any) -> tuple[Any, ...]:
    return importlib.import_module, (module.__name__,)


class Finder:
    """Loads the repository's modules as the import system would, and lets the watch see them."""

    def __init__(self, watch: watch_.Watch) -> None:
        self._watch = watch
        self._stems = watch.stems

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if self._watch.seeks(name) or name.rpartition(".")[2] not in self._stems:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not importlib.machinery.SourceFileLoader:
            return None
        spec.loader = _Loader(spec.loader.name, spec.loader.path)
        spec.loader.watch = self._watch
        return spec


class _Loader(importlib.machinery.SourceFileLoader):
    watch: watch_.Watch

    def exec_module(self, module: types.ModuleType) -> None:
        path = os.path.realpath(self.path)
        self.watch.before(module, path)
        super().exec_module(module)
        self.watch.after(module, path)
