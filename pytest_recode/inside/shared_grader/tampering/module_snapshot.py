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
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple, Optional

from . import class_versions as versions
from . import library_wrappers, mutation_scan

_PLAIN = (bool, int, float, complex, str, bytes)
_CONSTANTS = (*_PLAIN, tuple, frozenset)
_METHODS = (types.FunctionType, classmethod, staticmethod, property)
_CALLABLE = (types.FunctionType, types.BuiltinFunctionType, type, functools.partial, types.ModuleType)
_RECORDED_TYPES = (*_METHODS, *_CALLABLE, *_CONSTANTS, dict, list, set)
_MAX_ENTRIES = 2_000
_MAX_BYTES = 1 << 16
_MAX_DEPTH = 4
_MISSING = object()


class _NamespaceSnapshot(NamedTuple):
    """The attributes of a module or a class, and the states of values that can change in place."""

    path: str
    holder: Any
    stored: dict[str, Any]
    states: dict[str, Any]
    bases: tuple[type, ...] = ()
    versions: tuple[Optional[int], ...] = ()
    """The version tags of a class and of its bases."""


class ModuleSnapshots:
    """Snapshots of the repository's modules that are not the candidate's."""

    def __init__(self) -> None:
        self._snapshots: list[_NamespaceSnapshot] = []
        self._checked: dict[int, set[str]] = {}
        """Attributes that `replacements` has checked, by the number of their snapshot."""
        self._scan: Optional[mutation_scan.MutationScan] = None

    def add(self, module: types.ModuleType) -> None:
        """Take the snapshot of a module, just after its import."""
        name = module.__name__
        self._snapshots.append(_snapshot(name, module, vars(module)))
        for value in list(vars(module).values()):
            if _is(value, type) and value.__module__ == name:
                self._snapshots.append(_snapshot(f"{name}.{value.__qualname__}", value, vars(value)))

    def replacements(self, is_candidate: Callable[[str], bool], sources: Iterable[str]) -> Iterator[str]:
        """As `changes`, of attributes that are other objects now. Quick if called again: each is checked once."""
        for number, snapshot in enumerate(self._snapshots):
            now, checked = vars(snapshot.holder), self._checked.setdefault(number, set())
            new = {name for name, value in snapshot.stored.items() if now.get(name) is not value} - checked
            for name, what in _differences(snapshot, is_candidate) if new else ():
                if name in new:
                    checked.add(name)
                    self._scan = self._scan or mutation_scan.MutationScan(sources)
                    if not self._scan.may_change(name, what == "changed"):
                        yield f"{snapshot.path}.{name} was {what}"

    def changes(self, is_candidate: Callable[[str], bool], sources: Iterable[str]) -> Iterator[str]:
        """One line for each change. `sources`: the repository's files that are not the candidate's. They are read where
        something has changed, because they may have changed it."""
        scan = mutation_scan.MutationScan(sources)
        for snapshot in self._snapshots:
            differences = list(_differences(snapshot, is_candidate))
            for name, what in differences:
                if not scan.may_change(name, what == "changed"):
                    yield f"{snapshot.path}.{name} was {what}"
            if snapshot.versions and not differences and _is_unchanged(snapshot):
                own, *bases = snapshot.versions
                now, *bases_now = map(versions.version, snapshot.holder.__mro__)
                if (
                    own != now
                    and bases == bases_now
                    and not scan.may_change_class(each.__name__ for each in snapshot.holder.__mro__)
                ):
                    yield f"{snapshot.path} was changed and restored"


def _snapshot(path: str, holder: Any, content: Any) -> _NamespaceSnapshot:
    stored = {name: value for name, value in content.items() if _is_recorded(name, value)}
    states = {name: state for name, value in stored.items() if (state := _state(value)) is not None}
    if not isinstance(holder, type):
        return _NamespaceSnapshot(path, holder, stored, states)
    tags = tuple(map(versions.version, holder.__mro__))
    return _NamespaceSnapshot(path, holder, dict(content), states, holder.__bases__, tags)


def _is_recorded(name: str, value: Any) -> bool:
    return _is(value, _METHODS if name.startswith("__") else _RECORDED_TYPES) or (name[:2] != "__" and _is_array(value))


def _is(value: Any, types_: Any) -> bool:
    """`isinstance` by the type alone: `__class__` of a proxy is not read."""
    return issubclass(type(value), types_)


def _differences(snapshot: _NamespaceSnapshot, is_candidate: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    now = vars(snapshot.holder)
    for name, value in snapshot.stored.items():
        if not _is_recorded(name, value):
            continue
        found = now.get(name, _MISSING)
        if found is not value:
            if not (_equal(value, found) or library_wrappers.wraps(found, value, is_candidate)):
                yield name, "replaced"
        elif name in snapshot.states and not _is_same_state(snapshot.states[name], _state(value)):
            yield name, "changed"
    is_class = isinstance(snapshot.holder, type)
    if is_class and not same(snapshot.holder.__bases__, snapshot.bases):
        yield "__bases__", "replaced"
    for name in [name for name in now if name not in snapshot.stored]:
        inherited = is_class and any(name in vars(base) for base in snapshot.holder.__mro__[1:])
        shadows = inherited or (not is_class and hasattr(builtins, name) and not name.startswith("__"))
        if shadows and is_candidate(library_wrappers.file_of(_function(now[name]))):
            yield name, "added"


def _is_unchanged(snapshot: _NamespaceSnapshot) -> bool:
    now = vars(snapshot.holder)
    return now.keys() == snapshot.stored.keys() and all(now[name] is value for name, value in snapshot.stored.items())


def _function(value: Any) -> Any:
    return value.fget if isinstance(value, property) else bare(value)


def bare(value: Any) -> Any:
    """The function of a class method or a static one; anything else as it is."""
    return value.__func__ if _is(value, (classmethod, staticmethod)) else value


# The state of a value that can change in place is a tuple whose parts are compared by identity, or are such tuples.


class _State(tuple):  # type: ignore[type-arg]
    __slots__ = ()


def _state(value: Any, entries_left: Optional[list[int]] = None, depth: int = 0) -> Any:
    """The state of a value; None for one that cannot change, or is too large."""
    if _is(value, property):
        return _State((value.fget, value.fset, value.fdel, *map(_state, (value.fget, value.fset, value.fdel))))
    value = bare(value)
    if _is(value, types.FunctionType):
        return _State(inner(value, _FIXED))
    if _is(value, (dict, list, set)):
        return _table(value, [_MAX_ENTRIES] if entries_left is None else entries_left, depth)
    if _is_array(value) and value.nbytes <= _MAX_BYTES:
        return _State(("array", value.shape, value.tobytes()))
    return None


def _table(value: Any, entries_left: list[int], depth: int) -> Any:
    entries_left[0] -= len(value)
    if entries_left[0] < 0 or depth > _MAX_DEPTH:
        return None
    if _is(value, set):
        return _State(("set", frozenset(value)))
    pairs = dict.items(value) if _is(value, dict) else enumerate(list.__iter__(value))
    return _State(("table", {key: (entry, _state(entry, entries_left, depth + 1)) for key, entry in pairs}))


def _is_same_state(before: Any, now: Any) -> bool:
    if not isinstance(before, _State) or not isinstance(now, _State):
        return before is now
    if before[0] == "table" and now[0] == "table":
        return all(_is_same_entry(pair, now[1].get(key, (_MISSING, None))) for key, pair in before[1].items())
    if before[0] == "set" and now[0] == "set":
        return bool(before[1] <= now[1])
    if before[0] == "array":
        return before[1:] == now[1:]
    return len(before) == len(now) and all(map(_is_same_state, before, now))


def _is_same_entry(before: tuple[Any, Any], now: tuple[Any, Any]) -> bool:
    if before[0] is now[0]:
        return before[1] is None or now[1] is None or _is_same_state(before[1], now[1])
    return _equal(before[0], now[0])


def _equal(before: Any, now: Any) -> bool:
    return type(before) in _PLAIN and type(now) is type(before) and bool(before == now)


def _is_array(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and type(value) is numpy.ndarray and value.dtype != object


def inner(function: types.FunctionType, only: tuple[type, ...] = (object,)) -> tuple[Any, ...]:
    """The parts of a function, to be compared by identity. `only`: the types of closure contents that are included."""
    held = tuple(map(_content, function.__closure__ or ()))
    return (
        function.__code__,
        function.__defaults__,
        *(item for pair in sorted((function.__kwdefaults__ or {}).items()) for item in pair),
        getattr(function, "__wrapped__", None),
        *(content if isinstance(content, only) else None for content in held),
    )


_FIXED = (types.FunctionType, type)
"""Other contents, such as a counter or a cache, are changed by the function itself."""


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # empty
        return None


def same(now: tuple[Any, ...], before: tuple[Any, ...]) -> bool:
    return len(now) == len(before) and all(a is b for a, b in zip(now, before))  # noqa: B905  `strict` is of Python 3.10


# Libraries


class LibrarySnapshot:
    """Modules from outside the repository that tests and reference import. They change much by themselves, so only
    attributes that the candidate's code has replaced are reported."""

    def __init__(self, modules: Iterable[types.ModuleType]) -> None:
        self.modules = [(module, _callables(module)) for module in modules]
        self._classes: dict[type, tuple[Optional[int], frozenset[str]]] = {}
        for module, names in self.modules:
            top = module.__name__.partition(".")[0]
            for value in names.values():
                if isinstance(value, type) and str(value.__module__).partition(".")[0] == top:
                    self._classes[value] = (versions.version(value), frozenset(vars(value)))

    def changes(self, is_candidate: Callable[[str], bool]) -> Iterator[str]:
        yield from replaced_functions(self.modules, is_candidate)
        for cls, (version, own) in self._classes.items():
            if version is not None and versions.raw(cls) == version:
                continue
            for name, value in list(vars(cls).items()):
                inherited = any(name in vars(base) for base in cls.__mro__[1:])
                if (name in own or inherited) and is_candidate(library_wrappers.file_of(_function(value))):
                    yield f"{cls.__module__}.{cls.__qualname__}.{name} was replaced"


def replaced_functions(
    modules: Iterable[tuple[types.ModuleType, Mapping[str, Any]]], is_candidate: Callable[[str], bool]
) -> Iterator[str]:
    """One line for each of these functions in whose place a module has one of the candidate's."""
    for module, names in modules:
        now = vars(module)
        for name, value in names.items():
            current = now.get(name)
            if current is not value and is_candidate(library_wrappers.file_of(_function(current))):
                yield f"{module.__name__}.{name} was replaced"


def _callables(module: types.ModuleType) -> dict[str, Any]:
    return {
        name: value
        for name, value in vars(module).items()
        if not name.startswith("__") and callable(value) and not isinstance(value, types.ModuleType)
    }
