"""Imports source from memory: hidden modules that only the tests can import, and the lines that tracebacks quote.

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
from functools import partial
from typing import Any, Optional

_texts: dict[str, str] = {}
_loading: dict[str, types.ModuleType] = {}
_ANNOTATION_MODULES = ("typing", "dataclasses")

Compiler = Callable[[bytes, str, "dict[str, Any]"], Any]
"""Compiles a source, given the file name for tracebacks and the namespace in which it will run."""


class HiddenModules:
    """Modules that only code with `self.builtins` can import: the tests and the hidden modules themselves.

    Nothing that other code can reach leads to them: no entry of `sys.modules`, no change of the shared builtins.
    """

    def __init__(
        self,
        files: Mapping[str, bytes],
        *,
        roots: Sequence[str] = (".",),
        directory: str = "",
        displayed: str = "",
        repository_paths: Iterable[str] = (),
        exclusive: Iterable[str] = (),
    ) -> None:
        """Contents of files by path.

        `roots`: entries of `sys.path`; a file has a name below each. `directory`: the directory in the modules'
        `__file__`; `displayed`: the directory in tracebacks. `repository_paths`: the repository's other files.
        `exclusive`: names that no other module has.
        """
        self.sources = sources_below(files, roots)
        self.overrides: dict[str, types.ModuleType] = {}
        """Modules that hidden code gets in place of the ordinary ones, by name."""
        self.builtins = {**vars(builtins), "__import__": self.import_}
        self.compilers: dict[str, Compiler] = {}
        """Compilers of particular files, by path; other files are compiled as they are."""
        self._reference: frozenset[str] = frozenset()
        self._reference_builtins: dict[str, Any] = {}
        self._directory, self._displayed = directory, displayed
        self._files = {path: data for path, data in files.items() if path.endswith(".py")}
        self._repository_paths, self._exclusive = frozenset(repository_paths), frozenset(exclusive)
        self._loaded: dict[str, types.ModuleType] = {}
        self._import: Callable[..., Any] = builtins.__import__

    def import_reference(self, paths: Iterable[str], import_: Callable[..., Any]) -> None:
        """Let the files in `paths` import other than hidden modules by `import_`."""
        self._reference = frozenset(paths)
        self._reference_builtins = {**vars(builtins), "__import__": partial(self._import_by, import_)}

    def has(self, full: str) -> bool:
        """Whether a hidden module has this name, below a root or below a directory that is on `sys.path` now.

        Raises `ModuleNotFoundError` for an exclusive name that is not found: a module of the candidate's must not be
        imported by it.
        """
        if full in self.sources:
            return True
        candidates = self._directories(full) if self._directory else {}
        top = full.partition(".")[0]
        for entry in list(sys.path) if candidates else ():
            directory = os.path.abspath(entry) if type(entry) is str else ""
            if directory in candidates:
                self.sources[full] = candidates[directory]
                return True
            if {f"{directory}/{top}.py", f"{directory}/{top}/__init__.py"} & self._repository_paths:
                return False
        if full in self._exclusive:
            raise ModuleNotFoundError(f"No module named {full!r}", name=full)
        return False

    def _directories(self, full: str) -> dict[str, tuple[str, bytes]]:
        """The directories below which a hidden file would have this name, with its path and contents."""
        tail = "/" + full.replace(".", "/")
        matches = {}
        for path, data in self._files.items():
            stem = f"{self._directory}/{path[: -len('.py')]}"
            stem = stem[: -len("/__init__")] if stem.endswith("/__init__") else stem
            if stem.endswith(tail):
                matches[stem[: -len(tail)]] = (path, data)
        return matches

    def import_(self, *arguments: Any, **named: Any) -> Any:
        return self._import_by(self._import, *arguments, **named)

    def _import_by(
        self,
        real: Callable[..., Any],
        name: str,
        globals: Optional[Mapping[str, Any]] = None,  # noqa: A002  the names of the builtin
        locals: Optional[Mapping[str, Any]] = None,  # noqa: A002
        fromlist: Any = (),
        level: int = 0,
    ) -> Any:
        full = absolute_name(name, globals, level)
        top = full.partition(".")[0]
        if full in self.overrides:
            return self.overrides[full if fromlist else top]
        if self.has(full):
            module = self.load(full)
            return module if fromlist or "." not in full else self._package(top, real)
        if fromlist:
            below = [f"{full}.{entry}" for entry in fromlist if self.has(f"{full}.{entry}")]
            if below:
                own = {entry.rpartition(".")[2]: self.load(entry) for entry in below}
                rest = [entry for entry in fromlist if entry not in own]
                package = real(name, globals, locals, tuple(rest) or ("__name__",), level)
                return Overlay(package, own)
        imported = real(name, globals, locals, fromlist, level)
        # `import package.hidden` and `import package.other` bind the same name
        both = not fromlist and any(loaded.startswith(f"{top}.") for loaded in self._loaded)
        return self._package(top, real) if both else imported

    def _package(self, top: str, real: Callable[..., Any]) -> types.ModuleType:
        below = {full: module for full, module in self._loaded.items() if full.startswith(f"{top}.")}
        return _Package(top, below, real)

    def load(self, full: str) -> types.ModuleType:
        """Load a hidden module, under an unpredictable name. While it runs, `sys.modules` has a substitute of that name."""
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
        """Run the source of the hidden module `full` in `module`."""
        path, data = self.sources[full]
        module.__file__ = f"{self._directory}/{path}" if self._directory else path
        module.__package__ = full.rpartition(".")[0] if not path.endswith("__init__.py") else full
        file = f"{self._displayed}/{path}" if self._displayed else path
        _loading[module.__name__] = module
        sys.modules[module.__name__] = _LoadingModule(module.__name__)
        try:
            own = self._reference_builtins if path in self._reference else self.builtins
            run_source(module.__dict__, data, file, own, self.compilers.get(path, compiled))
        finally:
            sys.modules.pop(module.__name__, None)
            del _loading[module.__name__]


def compiled(source: bytes, file: str, namespace: dict[str, Any]) -> Any:
    return compile(source, file, "exec", dont_inherit=True)


class _LoadingModule(types.ModuleType):
    """Substitute in `sys.modules` for a hidden module while it runs. It shows only what a dataclass needs to evaluate
    annotations, because the module may import the candidate, which can look there too."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        space = vars(_loading[self.__name__]) if self.__name__ in _loading else {}
        return {name: value for name, value in space.items() if _is_for_annotations(value)}


def _is_for_annotations(value: Any) -> bool:
    name = value.__name__ if isinstance(value, types.ModuleType) else getattr(value, "__module__", None)
    return name in _ANNOTATION_MODULES


class _Package(types.ModuleType):
    """The result of `import package.hidden`: the package, with the hidden modules below it."""

    def __init__(self, top: str, modules: Mapping[str, types.ModuleType], real: Callable[..., Any]) -> None:
        super().__init__(top)
        self.__dict__["_real"] = real(top)
        for full, module in modules.items():
            parent: Any = self
            *above, last = full.split(".")[1:]
            for name in above:
                if name not in parent.__dict__:
                    parent.__dict__[name] = Overlay(getattr(parent, name), {})
                parent = parent.__dict__[name]
            parent.__dict__[last] = module

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)


class Overlay(types.ModuleType):
    """A module as the tests see it, with additional attributes such as hidden modules below a package."""

    def __init__(self, package: Any, own: Mapping[str, Any]) -> None:
        super().__init__(package.__name__)
        self.__dict__.update(own, _real=package)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_real"], name)


def run_source(
    namespace: dict[str, Any],
    source: bytes,
    file: str,
    module_builtins: Mapping[str, Any],
    compiler: Compiler = compiled,
) -> None:
    """Run a module's source in `namespace`, with builtins of its own: its imports call their `__import__`.

    `file`: the name that tracebacks show; they can quote the source (`sources_in_linecache`).
    """
    _texts[file] = source.decode("utf-8", "replace")
    namespace["__builtins__"] = module_builtins
    exec(compiler(source, file, namespace), namespace)


def lines(path: str) -> list[str]:
    """The lines of a source that was run under this name; none where no source was."""
    return _texts.get(path, "").splitlines(True)


@contextmanager
def sources_in_linecache() -> Iterator[None]:
    """Let tracebacks quote sources that are not on disk. Used only while a report is written, because candidate code can
    read `linecache` too."""
    linecache.cache.update({path: (len(text), None, text.splitlines(True), path) for path, text in _texts.items()})
    try:
        yield
    finally:
        for path in _texts:
            linecache.cache.pop(path, None)


def sources_below(
    files: Mapping[str, bytes], roots: Sequence[str] = (".",), package: str = ""
) -> dict[str, tuple[str, bytes]]:
    """Path and contents of each Python file, by the dotted names that it has below `roots` (entries of `sys.path`).

    `package`: the name of the package that a root itself is, "" where it is none. The first root wins.
    """
    sources: dict[str, tuple[str, bytes]] = {}
    for root in roots:
        prefix = "" if root == "." else f"{root}/"
        for path, data in files.items():
            if path.startswith(prefix) and path.endswith(".py"):
                sources.setdefault(module_name(path[len(prefix) :], package), (path, data))
    return sources


def name_below(path: str, root: str) -> str:
    """The dotted name of a file below `root`."""
    return module_name(path if root == "." else path[len(root) + 1 :])


def module_name(path: str, package: str = "") -> str:
    """The dotted name of the module in a file; `package`: the name of the directory that `path` is relative to."""
    parts = ([package] if package else []) + path[: -len(".py")].split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)


def absolute_name(name: str, namespace: Optional[Mapping[str, Any]], level: int) -> str:
    """The absolute name of the module that an import statement in `namespace` means, with `level` dots."""
    if not level:
        return name
    package = str((namespace or {}).get("__package__") or "")
    above = package.rsplit(".", level - 1)[0] if level > 1 else package
    return f"{above}.{name}" if name and above else name or above
