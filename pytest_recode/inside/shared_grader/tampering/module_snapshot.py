"""Snapshot of the functions, classes, tables and constants of modules that the reference may use too.

Runs in the shared judge, in one process with the candidate. `audit_monitor.py` records each module after its import
and compares it after the tests. Must not call a method of a candidate's value: states are compared by identity and
plain types.

Only what existed is compared, so an entry added to a registry is no finding. Changes that the repository's own code
may make (`mutation_scan.py`) are ignored.

Stdlib, numpy where it was imported, Python 3.9+.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, Optional

from . import class_versions as versions
from . import comparison_guards, library_wrappers, mutation_scan

_PLAIN = (bool, int, float, complex, str, bytes)
_CONSTANTS = (*_PLAIN, tuple, frozenset)
_METHODS = (types.FunctionType, classmethod, staticmethod, property)
_CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type, functools.partial, types.ModuleType)
_NOTED = (*_METHODS, *_CALLABLE, *_CONSTANTS, dict, list, set)
_MOST_ENTRIES = 2_000
_MOST_BYTES = 1 << 16
_DEPTH = 4
_ODD = object()


class _Space(NamedTuple):
    """Of a module or a class: what was in it, and for what can change in place, how it was."""

    place: str
    holder: Any
    kept: dict[str, Any]
    states: dict[str, Any]
    bases: tuple[type, ...] = ()
    versions: tuple[Optional[int], ...] = ()
    """Of the class, and of those that it derives from."""


class Holdings:
    """Of the repository's modules that are not the candidate's."""

    def __init__(self) -> None:
        self._spaces: list[_Space] = []

    def note(self, module: types.ModuleType) -> None:
        """Just after its import."""
        name = module.__name__
        self._spaces.append(_space(name, module, vars(module)))
        for value in list(vars(module).values()):
            if _is(value, type) and value.__module__ == name:
                self._spaces.append(_space(f"{name}.{value.__qualname__}", value, vars(value)))

    def changes(self, candidates: Callable[[str], bool], sources: Iterable[str]) -> Iterator[str]:
        """One line for each. `sources`: the files of the repository's that are not the candidate's; they are read where something
        has changed, as it may have been their doing."""
        others = mutation_scan.Sources(sources)
        for space in self._spaces:
            told = list(_differences(space, candidates))
            for name, what in told:
                if not others.rewrite(name, what == "changed"):
                    yield f"{space.place}.{name} was {what}"
            if space.versions and not told and _as_it_was(space):
                own, *above = space.versions
                now, *above_now = map(versions.version, space.holder.__mro__)
                if (
                    own != now
                    and above == above_now
                    and not others.store_on(each.__name__ for each in space.holder.__mro__)
                ):
                    yield f"{space.place} was changed, and changed back"


def _space(place: str, holder: Any, content: Any) -> _Space:
    kept = {name: value for name, value in content.items() if _counts(name, value)}
    states = {name: state for name, value in kept.items() if (state := _state(value)) is not None}
    if not isinstance(holder, type):
        return _Space(place, holder, kept, states)
    counts = tuple(map(versions.version, holder.__mro__))
    return _Space(place, holder, dict(content), states, holder.__bases__, counts)


def _counts(name: str, value: Any) -> bool:
    return _is(value, _METHODS if name.startswith("__") else _NOTED) or (name[:2] != "__" and _is_array(value))


def _is(value: Any, types_: Any) -> bool:
    """By its type alone: what stands in for something else is not asked."""
    return issubclass(type(value), types_)


def _differences(space: _Space, candidates: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    now = vars(space.holder)
    for name, value in space.kept.items():
        if not _counts(name, value):
            continue
        found = now.get(name, _ODD)
        if found is not value:
            if not (_equal(value, found) or library_wrappers.wraps(found, value, candidates)):
                yield name, "replaced"
        elif name in space.states and not _alike(space.states[name], _state(value)):
            yield name, "changed"
    is_class = isinstance(space.holder, type)
    if is_class and not same(space.holder.__bases__, space.bases):
        yield "__bases__", "replaced"
    for name in [name for name in now if name not in space.kept]:
        inherited = is_class and any(name in vars(base) for base in space.holder.__mro__[1:])
        shadows = inherited or (not is_class and hasattr(builtins, name) and not name.startswith("__"))
        if shadows and candidates(comparison_guards.file_of(_function(now[name]))):
            yield name, "added"


def _as_it_was(space: _Space) -> bool:
    now = vars(space.holder)
    return now.keys() == space.kept.keys() and all(now[name] is value for name, value in space.kept.items())


def _function(value: Any) -> Any:
    return value.fget if isinstance(value, property) else bare(value)


def bare(value: Any) -> Any:
    """The function of a class method or a static one; anything else as it is."""
    return value.__func__ if _is(value, (classmethod, staticmethod)) else value


# How a thing is that can change in place: a tuple whose parts are compared by identity, or are such tuples.


class _State(tuple):  # type: ignore[type-arg]
    __slots__ = ()


def _state(value: Any, room: Optional[list[int]] = None, depth: int = 0) -> Any:
    """None for what cannot change."""
    if _is(value, property):
        return _State((value.fget, value.fset, value.fdel, *map(_state, (value.fget, value.fset, value.fdel))))
    value = bare(value)
    if _is(value, types.FunctionType):
        return _State(inner(value, _FIXED))
    if _is(value, (dict, list, set)):
        return _table(value, [_MOST_ENTRIES] if room is None else room, depth)
    if _is_array(value) and value.nbytes <= _MOST_BYTES:
        return _State(("array", value.shape, value.tobytes()))
    return None


def _table(value: Any, room: list[int], depth: int) -> Any:
    room[0] -= len(value)
    if room[0] < 0 or depth > _DEPTH:
        return None
    if _is(value, set):
        return _State(("set", frozenset(value)))
    pairs = dict.items(value) if _is(value, dict) else enumerate(list.__iter__(value))
    return _State(("table", {key: (entry, _state(entry, room, depth + 1)) for key, entry in pairs}))


def _alike(before: Any, now: Any) -> bool:
    if not isinstance(before, _State) or not isinstance(now, _State):
        return before is now
    if before[0] == "table" and now[0] == "table":
        return all(_entry_alike(pair, now[1].get(key, (_ODD, None))) for key, pair in before[1].items())
    if before[0] == "set" and now[0] == "set":
        return bool(before[1] <= now[1])
    if before[0] == "array":
        return before[1:] == now[1:]
    return len(before) == len(now) and all(map(_alike, before, now))


def _entry_alike(before: tuple[Any, Any], now: tuple[Any, Any]) -> bool:
    if before[0] is now[0]:
        return before[1] is None or now[1] is None or _alike(before[1], now[1])
    return _equal(before[0], now[0])


def _equal(before: Any, now: Any) -> bool:
    return type(before) in _PLAIN and type(now) is type(before) and bool(before == now)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and value.dtype != object


def inner(function: types.FunctionType, only: tuple[type, ...] = (object,)) -> tuple[Any, ...]:
    """What a function does: parts to compare by identity. `only`: of what its closure holds, what is of these types."""
    held = tuple(map(_content, function.__closure__ or ()))
    return (
        function.__code__,
        function.__defaults__,
        *(item for pair in sorted((function.__kwdefaults__ or {}).items()) for item in pair),
        getattr(function, "__wrapped__", None),
        *(content if isinstance(content, only) else None for content in held),
    )


_FIXED = (types.FunctionType, type)
"""A counter or a cache in a closure is changed by the function itself."""


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def same(now: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    return len(now) == len(before) and all(a is b for a, b in zip(now, before))  # noqa: B905  `strict` is of Python 3.10


# of libraries


class Libraries:
    """Modules from outside the repository that tests and reference import: of theirs only what the candidate's code stands in for is
    said, as they change much by themselves."""

    def __init__(self, modules: Iterable[types.ModuleType]) -> None:
        self.modules = [(module, _callables(module)) for module in modules]
        self._classes: dict[type, tuple[Optional[int], frozenset[str]]] = {}
        for module, names in self.modules:
            top = module.__name__.partition(".")[0]
            for value in names.values():
                if isinstance(value, type) and str(value.__module__).partition(".")[0] == top:
                    self._classes[value] = (versions.version(value), frozenset(vars(value)))

    def changes(self, candidates: Callable[[str], bool]) -> Iterator[str]:
        for module, names in self.modules:
            now = vars(module)
            for name, value in names.items():
                found = now.get(name)
                if found is not value and candidates(comparison_guards.file_of(_function(found))):
                    yield f"{module.__name__}.{name} was replaced"
        for cls, (version, own) in self._classes.items():
            if version is not None and versions.raw(cls) == version:
                continue
            for name, value in list(vars(cls).items()):
                inherited = any(name in vars(base) for base in cls.__mro__[1:])
                if (name in own or inherited) and candidates(comparison_guards.file_of(_function(value))):
                    yield f"{cls.__module__}.{cls.__qualname__}.{name} was replaced"


def _callables(module: types.ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__") and callable(value) and not isinstance(value, types.ModuleType)
    }
