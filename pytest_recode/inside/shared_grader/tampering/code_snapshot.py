"""Snapshot of the functions on which verdicts rest: the judge's own, and those of libraries that the reference uses.

Runs in the shared judge, in one process with the candidate. Taken before candidate code runs, compared before each call of
the reference, before and after each case, and after the tests. Must not call a method of a candidate's value.

Libraries change much by themselves: torch wraps `torch.manual_seed` when its compiler is first imported. So of these, only
numbers, and functions that are the candidate's or hold one of its functions, are reported.

Stdlib, torch where it was imported, Python 3.9+.
"""

from __future__ import annotations

import ast
import functools
import os
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

_JUDGE = ("unittest", "pytest", "_pytest", "pluggy", "_recode")
"""Packages that decide cases. Nothing else changes their functions."""
_EXCLUDED = ("warnings", "logging", "matplotlib", "sys", "os", "typing", "__future__", "pytest_recode", *_JUDGE)
"""Modules that are configured by assignment, and whose results no test compares; and those that the judge offers to tests."""
_ALWAYS = ("builtins", "math", "operator")
_NUMBERS = (int, float, complex)
_NAMESPACES = ("aten", "prims", "torchvision", "quantized")
"""Namespaces of torch's own operators."""
_VALUES = b" tensor dataframe series"
"""Classes of values that functions of libraries return to those who do not name them."""
_DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
_MOST_HELD = 200

IsCandidateFile = Callable[[str], bool]
"""Whether the code of a file is the candidate's."""


class _CodeNames(NamedTuple):
    """What a module or a class defined at the time of the snapshot."""

    path: str
    holder: Any
    stored: dict[str, Any]
    codes: dict[str, Any]
    """Of its functions, which keep their identity when their code is replaced."""


class CodeSnapshot:
    """The state before candidate code runs."""

    def __init__(self, external_imports: Iterable[str] = (), source: bytes = b"") -> None:
        """`external_imports`: names of library modules that the reference may use; `source`: the text of repository and
        tests, which shows which of their submodules and classes it uses."""
        self._judge: list[_CodeNames] = []
        places = [getattr(sys.modules.get(name), "__file__", None) for name in ("_pytest", "pluggy")]
        self._judge_places = tuple(os.path.dirname(place) for place in places if place)
        """Directories of packages that replace methods of their own: pytest does so for plugins of older versions."""
        for name, module in list(sys.modules.items()):
            if name.partition(".")[0] in _JUDGE and type(module) is types.ModuleType:
                self._judge += [_module_names(module), *_classes(module)]
        self._modules: list[_CodeNames] = []
        self._classes: list[_CodeNames] = []
        used, seen = source.lower() + _VALUES, set[str]()
        for name in (*_ALWAYS, *external_imports):
            found = sys.modules.get(name)
            for module in [found, *_used_submodules(found, source)] if type(found) is types.ModuleType else []:
                if module.__name__.partition(".")[0] not in _EXCLUDED and module.__name__ not in seen:
                    seen.add(module.__name__)
                    self._modules.append(_module_names(module))
                    self._classes += _classes(module, used)

    def changes(self, is_candidate: IsCandidateFile) -> Iterator[str]:
        """One line for each function, method or number of a library that is the candidate's now."""
        for names in (*self._modules, *self._classes):
            yield from _other_code(names)
        for path, module, stored, _ in self._modules:
            if sys.modules.get(path) is not module:
                yield f"sys.modules[{path!r}] was replaced"
            now = vars(module)
            for name, value in stored.items():
                current = now.get(name)
                if current is not value and (type(value) in _NUMBERS or is_candidates(current, is_candidate)):
                    yield f"{path}.{name} was replaced"
        for path, cls, stored, _ in self._classes:
            for name, current in list(vars(cls).items()):
                if current is not stored.get(name) and is_candidates(current, is_candidate):
                    yield f"{path}.{name} was replaced"
        for path, hooks in _hooks():
            if any(is_candidates(hook, is_candidate) for hook in hooks):
                yield f"{path} was changed"

    def changes_of_judge(self) -> Iterator[str]:
        """One line for each function, class or method of the judge's that is another one now, and for each that a class has now."""
        for names in self._judge:
            yield from _other_code(names)
            path, holder, stored, _ = names
            now = vars(holder)
            if isinstance(holder, type):
                added = [name for name in now if name not in stored and not name.startswith("_abc")]
                for name in added:
                    files = map(_file_of, _functions_of(now[name]))
                    if not all(file.startswith(self._judge_places) for file in files):
                        yield f"{path}.{name} was added"
            for name, value in stored.items():
                current = now.get(name)
                if current is not value and not _file_of(current).startswith(self._judge_places):
                    yield f"{path}.{name} was replaced"


def changes_of_repository(
    paths: Iterable[str], is_candidate: IsCandidateFile, modules: Mapping[str, Any] = sys.modules
) -> Iterator[str]:
    """One line for each function, class or method that a file of the repository's defines, in whose place its module has one
    of the candidate's. `paths`: the files that are not the candidate's."""
    files = {path for path in paths if path.endswith(".py")}
    for name, module in list(modules.items()):
        path = getattr(module, "__file__", None)
        if type(module) is types.ModuleType and path in files:
            yield from (f"{name}.{what} was replaced" for what in _replaced(_definitions(path), module, is_candidate))


def _replaced(definitions: Iterable[Any], holder: Any, is_candidate: IsCandidateFile) -> Iterator[str]:
    for node in definitions:
        current = vars(holder).get(node.name)
        if is_candidates(current, is_candidate):
            yield node.name
        elif isinstance(node, ast.ClassDef) and type(current) is type:
            methods = [each for each in node.body if isinstance(each, _DEFINITIONS)]
            yield from (f"{node.name}.{name}" for name in _replaced(methods, current, is_candidate))


@functools.lru_cache(maxsize=None)
def _definitions(path: str) -> list[Any]:
    try:
        with open(path, "rb") as file:
            return [node for node in ast.parse(file.read()).body if isinstance(node, _DEFINITIONS)]
    except (OSError, SyntaxError, ValueError, RecursionError):
        return []  # a change of the file is another finding


def _module_names(module: types.ModuleType) -> _CodeNames:
    return _code_names(
        module.__name__, module, {name: value for name, value in vars(module).items() if _is_code(name, value)}
    )


def _code_names(path: str, holder: Any, stored: dict[str, Any]) -> _CodeNames:
    codes = {name: code for name, value in stored.items() if (code := _code_of(value)) is not None}
    return _CodeNames(path, holder, stored, codes)


def _other_code(names: _CodeNames) -> Iterator[str]:
    for name, code in names.codes.items():
        if names.stored[name].__code__ is not code:
            yield f"{names.path}.{name} has other code"


def _code_of(value: Any) -> Any:
    return value.__code__ if type(value) is types.FunctionType else None


def _functions_of(value: Any) -> list[Any]:
    """The functions of what may be a method."""
    if type(value) is types.FunctionType:
        return [value]
    if type(value) in (classmethod, staticmethod):
        return [value.__func__]
    if type(value) is property:
        return [each for each in (value.fget, value.fset, value.fdel) if each is not None]
    return []


def _is_code(name: str, value: Any) -> bool:
    if type(value) in _NUMBERS:
        return not name.startswith("_")  # it may be a counter
    return callable(value) and not name.startswith("__")


def _classes(module: types.ModuleType, used: bytes = b"") -> Iterator[_CodeNames]:
    """The classes of a module whose names are in a text, if there is one, and their bases: torch's tensors inherit operators."""
    top = module.__name__.partition(".")[0]
    classes = [value for value in vars(module).values() if isinstance(value, type)]
    own = [cls for cls in classes if cls.__module__.partition(".")[0] == top]
    own = [cls for cls in own if not used or cls.__name__.lower().encode() in used]
    for cls in dict.fromkeys(base for each in own for base in each.__mro__ if base is not object):
        stored = {name: value for name, value in vars(cls).items() if not name.startswith("_abc")}
        yield _code_names(f"{cls.__module__}.{cls.__qualname__}", cls, stored)


def _used_submodules(module: Any, source: bytes) -> Iterator[types.ModuleType]:
    for name, value in list(vars(module).items()):
        is_submodule = type(value) is types.ModuleType and value.__name__ == f"{module.__name__}.{name}"
        if is_submodule and f".{name}".encode() in source:
            yield value


def _hooks() -> Iterator[tuple[str, list[Any]]]:
    """Finders of modules, and hooks that torch calls for every module, the reference's too."""
    yield "sys.meta_path", list(sys.meta_path)
    yield "sys.path_hooks", list(sys.path_hooks)
    module = sys.modules.get("torch.nn.modules.module")
    for name, value in list(vars(module).items()) if module is not None else ():
        if name.startswith("_global_") and isinstance(value, dict):
            yield f"torch.nn.modules.module.{name}", list(value.values())


def is_candidates(thing: Any, is_candidate: IsCandidateFile) -> bool:
    """Whether a function, or an object that is called, is the candidate's or holds a function of the candidate's."""
    left, seen = [thing], set[int]()
    while left and len(seen) < _MOST_HELD:
        value = left.pop()
        if id(value) not in seen:
            seen.add(id(value))
            if is_candidate(_file_of(value)):
                return True
            left += _held(value)
    return bool(left)


def _file_of(thing: Any) -> str:
    """The file of a function's code, or of the module of a class or of an object's class; "" where there is none."""
    if type(thing) is types.FunctionType:
        return thing.__code__.co_filename
    cls = thing if isinstance(thing, type) else type(thing)
    module = sys.modules.get(str(type.__getattribute__(cls, "__module__")))
    return str(getattr(module, "__file__", None) or "")


def _held(thing: Any) -> Iterator[Any]:
    """The values in a function or a container. Other objects are not inspected."""
    kind = type(thing)
    if kind is types.FunctionType:
        for cell in thing.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:  # empty
                continue
        yield from (*(thing.__defaults__ or ()), *(thing.__kwdefaults__ or {}).values(), *vars(thing).values())
    elif kind is types.MethodType:
        yield from (thing.__func__, thing.__self__)
    elif kind in (functools.partial, functools.partialmethod):
        yield from (thing.func, *thing.args, *thing.keywords.values())
    elif kind in (classmethod, staticmethod):
        yield thing.__func__
    elif kind is property:
        yield from (thing.fget, thing.fset)
    elif kind in (dict, types.MappingProxyType):
        yield from thing.values()
    elif kind in (list, tuple, set, frozenset):
        yield from thing


def refuse_kernels(act: Callable[[str], None]) -> None:
    """Call `act` where code is about to replace kernels of torch's own operators. This cannot be undone."""
    library: Any = getattr(sys.modules.get("torch.library"), "Library", None)
    if library is None:
        return
    make = library.__init__

    def init(self: Any, namespace: Any, *rest: Any, **named: Any) -> None:
        if str.__str__(namespace) in _NAMESPACES:
            act("kernels of torch's operators set at run time")
        make(self, namespace, *rest, **named)

    library.__init__ = init
