"""Hidden modules that only the tests can import, from memory.

Runs in the shared judge, in one process with the candidate. Called by import statements of hidden code, through its
own `__import__`, and by the runners. Must not leave a hidden source on disk, a hidden module in `sys.modules` under
its name, or a change in the shared builtins.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import builtins
import linecache
import os
import secrets
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Optional

_texts: dict[str, str] = {}
_loading: dict[str, types.ModuleType] = {}
_OF_ANNOTATIONS = ("typing", "dataclasses")


class Hidden:
    """Sources by path. They may be imported by code whose builtins are theirs: that of such a module, or of the tests.

    Nothing leads to them from where other code can look: no entry of `sys.modules`, no change of the builtins that all share.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        roots: Sequence[str] = (".",),
        place: str = "",
        shown: str = "",
        others: Iterable[str] = (),
        alone: Iterable[str] = (),
    ) -> None:
        """`roots` as of `sys.path`: a file has a name below each. `place`: where the modules think that they lie; `shown`:
        where tracebacks say so. `others`: the repository's other files; `alone`: names that nobody else's modules have."""
        self.sources: dict[str, tuple[str, bytes]] = {}
        for root in roots:
            prefix = "" if root == "." else f"{root}/"
            for path, data in files.items():
                if path.startswith(prefix) and path.endswith(".py"):
                    self.sources.setdefault(_name(path[len(prefix) :]), (path, data))
        self.stand_ins: dict[str, types.ModuleType] = {}
        """Modules of everybody's that hidden code gets in another version, by their names."""
        self.builtins = {**vars(builtins), "__import__": self.imported}
        self.compilers: dict[str, Callable[[bytes, str, dict[str, Any]], Any]] = {}
        """Of files that are not compiled as they are, by their paths: a source, where it lies, and the namespace it will run in."""
        self._place, self._shown = place, shown
        self._files = {path: data for path, data in files.items() if path.endswith(".py")}
        self._others, self._alone = frozenset(others), frozenset(alone)
        self._loaded: dict[str, types.ModuleType] = {}
        self._import: Callable[..., Any] = builtins.__import__

    def admit(self, namespace: dict[str, Any]) -> None:
        """Before its code is run: what is imported by it and by the functions it defines passes here first."""
        namespace["__builtins__"] = self.builtins

    def has(self, full: str) -> bool:
        """Whether it is a hidden module's name: below a root, or a directory that is on `sys.path` now. Raises
        `ModuleNotFoundError` where a hidden module alone could have it: what the candidate calls so is not asked for."""
        if full in self.sources:
            return True
        beside = self._directories(full) if self._place else {}
        top = full.partition(".")[0]
        for entry in list(sys.path) if beside else ():
            directory = os.path.abspath(entry) if type(entry) is str else ""
            if directory in beside:
                self.sources[full] = beside[directory]
                return True
            if {f"{directory}/{top}.py", f"{directory}/{top}/__init__.py"} & self._others:
                return False
        if full in self._alone:
            raise ModuleNotFoundError(f"No module named {full!r}", name=full)
        return False

    def _directories(self, full: str) -> dict[str, tuple[str, bytes]]:
        """From where files would have that name, and what they hold."""
        tail = "/" + full.replace(".", "/")
        found = {}
        for path, data in self._files.items():
            stem = f"{self._place}/{path[: -len('.py')]}"
            stem = stem[: -len("/__init__")] if stem.endswith("/__init__") else stem
            if stem.endswith(tail):
                found[stem[: -len(tail)]] = (path, data)
        return found

    def imported(
        self,
        name: str,
        globals: Optional[Mapping[str, Any]] = None,  # noqa: A002  the builtin's own names
        locals: Optional[Mapping[str, Any]] = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        full = absolute(name, globals, level)
        top = full.partition(".")[0]
        if full in self.stand_ins:
            return self.stand_ins[full if fromlist else top]
        if self.has(full):
            module = self.load(full)
            return module if fromlist or "." not in full else self._package(top)
        if fromlist:
            below = [f"{full}.{entry}" for entry in fromlist if self.has(f"{full}.{entry}")]
            if below:
                own = {entry.rpartition(".")[2]: self.load(entry) for entry in below}
                rest = [entry for entry in fromlist if entry not in own]
                package = self._import(name, globals, locals, tuple(rest) or ("__name__",), level)
                return Overlay(package, own)
        found = self._import(name, globals, locals, fromlist, level)
        # `import package.hidden` and `import package.other` bind the same name
        both = not fromlist and any(loaded.startswith(f"{top}.") for loaded in self._loaded)
        return self._package(top) if both else found

    def _package(self, top: str) -> types.ModuleType:
        below = {full: module for full, module in self._loaded.items() if full.startswith(f"{top}.")}
        return _Package(top, below, self._import)

    def load(self, full: str) -> types.ModuleType:
        """Under a name that nobody guesses. In `sys.modules` is something of that name, and only while it runs."""
        if full not in self._loaded:
            module = types.ModuleType(f"{full}_{secrets.token_hex(8)}")
            self._loaded[full] = module
            try:
                self.fill(module, full)
            except BaseException:
                del self._loaded[full]
                raise
        return self._loaded[full]

    def fill(self, module: types.ModuleType, full: str) -> None:
        """Run the source of that name in a module."""
        path, data = self.sources[full]
        module.__file__ = f"{self._place}/{path}" if self._place else path
        module.__package__ = full.rpartition(".")[0] if not path.endswith("__init__.py") else full
        file = f"{self._shown}/{path}" if self._shown else path
        self.admit(module.__dict__)
        remember(file, data)
        _loading[module.__name__] = module
        sys.modules[module.__name__] = _Apparent(module.__name__)
        try:
            make = self.compilers.get(path, _compiled)
            exec(make(data, file, module.__dict__), module.__dict__)
        finally:
            sys.modules.pop(module.__name__, None)
            del _loading[module.__name__]


def _compiled(source: bytes, file: str, namespace: dict[str, Any]) -> Any:
    return compile(source, file, "exec", dont_inherit=True)


class _Apparent(types.ModuleType):
    """A hidden module while it runs, as `sys.modules` has it: a dataclass looks there for what its annotations mean. No more of it
    is to be found, as the candidate may be imported meanwhile, and look there too."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        space = vars(_loading[self.__name__]) if self.__name__ in _loading else {}
        return {name: value for name, value in space.items() if _of_annotations(value)}


def _of_annotations(value: Any) -> bool:
    of = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return of in _OF_ANNOTATIONS


class _Package(types.ModuleType):
    """What `import package.hidden` binds: the package, with the hidden modules below it."""

    def __init__(self, top: str, modules: Mapping[str, types.ModuleType], real: Callable[..., Any]) -> None:
        super().__init__(top)
        self.__dict__["_real"] = real(top)
        for full, module in modules.items():
            place: Any = self
            *way, last = full.split(".")[1:]
            for name in way:
                if name not in place.__dict__:
                    place.__dict__[name] = Overlay(getattr(place, name), {})
                place = place.__dict__[name]
            place.__dict__[last] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)


class Overlay(types.ModuleType):
    """A module as the tests see it: with what they alone see in it, such as hidden modules that are imported from a package."""

    def __init__(self, package: Any, own: Mapping[str, Any]) -> None:
        super().__init__(package.__name__)
        self.__dict__.update(own, _real=package)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)


def remember(path: str, data: bytes) -> None:
    """Its lines, for tracebacks."""
    _texts[path] = data.decode("utf-8", "replace")


def lines(path: str) -> list[str]:
    """Of what was run from there; none where that is no hidden module."""
    return _texts.get(path, "").splitlines(True)


@contextmanager
def quoted() -> Iterator[None]:
    """While tracebacks are written: what lies on no disk can be quoted. At no other time, as anybody may read there."""
    linecache.cache.update({path: (len(text), None, text.splitlines(True), path) for path, text in _texts.items()})
    try:
        yield
    finally:
        for path in _texts:
            linecache.cache.pop(path, None)


def name_of(path: str, root: str = ".") -> str:
    """The dotted name of a file below one of the roots."""
    return _name(path if root == "." else path[len(root) + 1 :])


def _name(path: str) -> str:
    parts = path[: -len(".py")].split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def absolute(name: str, namespace: Optional[Mapping[str, Any]], level: int) -> str:
    if not level:
        return name
    package = str((namespace or {}).get("__package__") or "")
    above = package.rsplit(".", level - 1)[0] if level > 1 else package
    return f"{above}.{name}" if name and above else name or above
