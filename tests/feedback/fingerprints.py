"""What interfaces of modules do, as text: their code and everything that it reaches, from the imported modules themselves.

Modules are imported as `ast.unparse` writes them, because line breaks within a statement change its bytecode (Python 3.13 does not
combine instructions of different lines). Exceptions have the lines of the files as they are.

A program: for each line of its input, [[files, interfaces, targets], ...] as JSON, it prints a line with a list of fingerprints, or the
exception of the import, for each.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import importlib
import json
import sys
import tempfile
import traceback
import types
from pathlib import Path
from typing import Any

_SKIPPED = {
    "__module__",
    "__dict__",
    "__weakref__",
    "__doc__",
    "__annotations__",
    "__firstlineno__",
    "__static_attributes__",
}


def main() -> None:
    sys.dont_write_bytecode = True
    for line in sys.stdin:
        print(json.dumps(_fingerprints(json.loads(line))), flush=True)


def _fingerprints(asked: list[tuple[dict[str, str], list[str], list[str]]]) -> list[list[str]]:
    found = []
    for files, interfaces, targets in asked:
        own = {target.removesuffix(".py").replace("/", ".") for target in targets}
        marks = _imported({path: _in_one_layout(text) for path, text in files.items()}, interfaces, own)
        if any("\n" in mark for mark in marks):
            marks = [
                raised if "\n" in mark else mark
                for mark, raised in zip(marks, _imported(files, interfaces, own), strict=True)
            ]
        found.append(marks)
    return found


def _in_one_layout(text: str) -> str:
    try:
        return ast.unparse(ast.parse(text))
    except SyntaxError:
        return text


def _imported(files: dict[str, str], interfaces: list[str], own: set[str]) -> list[str]:
    with tempfile.TemporaryDirectory() as folder:
        for path, text in files.items():
            place = Path(folder, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        before = set(sys.modules)
        sys.path.insert(0, folder)
        importlib.invalidate_caches()
        try:
            return [_told(interface, own, folder) for interface in interfaces]
        finally:
            sys.path.remove(folder)
            for name in set(sys.modules) - before:
                if str(getattr(sys.modules[name], "__file__", "")).startswith(folder):
                    del sys.modules[name]


def fingerprint(interface: str, own: set[str], folder: str) -> str:
    module, names = (
        importlib.import_module(max((each for each in own if interface.startswith(f"{each}.")), key=len)),
        [],
    )
    names = interface.removeprefix(f"{module.__name__}.").split(".")
    value: Any = module
    for name in names:
        value = getattr(value, name)
    return hashlib.sha256("\n".join(_of(value, set(), folder)).encode()).hexdigest()


def _told(interface: str, own: set[str], folder: str) -> str:
    try:
        return fingerprint(interface, own, folder)
    except Exception as error:  # noqa: BLE001  whatever an import raises
        return _raised(error, folder)


def _raised(error: Exception, folder: str) -> str:
    """The exception with its frames below `folder`, as a verdict has them."""
    frames = [
        f"{frame.filename.removeprefix(folder).lstrip('/')}:{frame.lineno} in {frame.name}: {frame.line}"
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename.startswith(folder)
    ]
    return "\n".join([type(error).__name__, " ".join(str(error).split()), *frames])


def _of(value: Any, seen: set[int], folder: str) -> list[str]:
    if id(value) in seen:
        return ["seen"]
    if isinstance(value, types.FunctionType):
        seen.add(id(value))
        if not value.__code__.co_filename.startswith(folder):
            return [f"function {value.__module__}.{value.__qualname__}"]
        lines = ["function", *_code(value.__code__), *_of(value.__defaults__, seen, folder)]
        lines += _of(value.__kwdefaults__, seen, folder)
        lines += [line for cell in value.__closure__ or () for line in _of(cell.cell_contents, seen, folder)]
        for name in sorted(_names(value.__code__)):
            if name in value.__globals__:
                used = value.__globals__[name]
                if isinstance(used, types.ModuleType) and str(getattr(used, "__file__", "")).startswith(folder):
                    used = {each: vars(used)[each] for each in sorted(value.__code__.co_names) if each in vars(used)}
                lines += [f"global {name}", *_of(used, seen, folder)]
        return [*lines, *_of({k: v for k, v in vars(value).items() if k != "__wrapped__"}, seen, folder)]
    if isinstance(value, type):
        seen.add(id(value))
        lines = [f"class {value.__name__}", *(line for base in value.__bases__ for line in _of(base, seen, folder))]
        if not str(getattr(sys.modules.get(value.__module__), "__file__", "")).startswith(folder):
            return lines
        for name, each in sorted(vars(value).items()):
            if name not in _SKIPPED:
                lines += [f"attribute {name}", *_of(each, seen, folder)]
        return lines
    if isinstance(value, classmethod | staticmethod):
        return _of(value.__func__, seen, folder)
    if isinstance(value, property):
        return _of(value.fget, seen, folder)
    if hasattr(value, "__wrapped__"):
        return ["wrapped", *_of(value.__wrapped__, seen, folder), *_registry(value, seen, folder)]
    if isinstance(value, types.ModuleType):
        return [f"module {value.__name__}"]
    if isinstance(value, dict):
        return [line for key, each in value.items() for line in (repr(key), *_of(each, seen, folder))]
    if isinstance(value, tuple | list):
        return [line for each in value for line in _of(each, seen, folder)]
    text = repr(value)
    return [type(value).__name__ if " at 0x" in text else text]


def _registry(value: Any, seen: set[int], folder: str) -> list[str]:
    return [
        line for key, each in getattr(value, "registry", {}).items() for line in (repr(key), *_of(each, seen, folder))
    ]


def _code(code: types.CodeType) -> list[str]:
    lines = [code.co_code.hex(), repr(code.co_names), repr(code.co_varnames), repr(code.co_freevars)]
    for each in code.co_consts:
        lines += _code(each) if isinstance(each, types.CodeType) else [repr(each)]
    return lines


def _names(code: types.CodeType) -> set[str]:
    inner = (_names(each) for each in code.co_consts if isinstance(each, types.CodeType))
    used = {each.argval for each in dis.get_instructions(code) if each.opname in {"LOAD_GLOBAL", "LOAD_NAME"}}
    return used.union(*inner)


if __name__ == "__main__":
    main()
