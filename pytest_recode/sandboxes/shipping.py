"""Send a program to a sandbox: its source and bytecode go over standard input to `inside/runtime/bootstrap.py`."""

from __future__ import annotations

import base64
import json
import marshal
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import CodeType
from typing import Any

from pytest_recode.sandboxes import Program
from pytest_recode.task import Environment, Limits

PACKAGE_OF_PROGRAMS = "inside"
_INSIDE = Path(__file__).parent.parent / PACKAGE_OF_PROGRAMS
_NAME = "_recode.{}"
"""The name of a module of `inside/` in a sandbox. The prefix avoids clashes with modules of a repository."""
_RUNTIME = "runtime"
_IMPORT = re.compile(r"^from (\.+)([\w.]*) import (\([^)]*\)|.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmKey:
    """What a warm parent or a spare container was started for. Launches with equal keys can use it."""

    program: str
    modules: tuple[tuple[str, str], ...]
    entry: str
    preload: tuple[str, ...]  # the environment's, then the program's
    persistent: bool
    python: str
    preparation: bytes = b""
    shown: tuple[str, ...] = ()
    places: tuple[str, ...] = ()

    @classmethod
    def of(cls, program: Program, environment: Environment, python: str) -> WarmKey:
        return cls(
            program=program.name,
            modules=tuple(program.modules.items()),
            entry=program.entry,
            preload=(*environment.preload, *program.preload),
            persistent=program.persistent,
            python=python,
            preparation=program.preparation,
            shown=program.shown,
            places=program.places,
        )


@cache
def source(module: str) -> str:
    """The source of a module below `inside/`, by its name relative to it: "wire.codec"."""
    return _path(module).read_text(encoding="utf-8")


def _path(module: str) -> Path:
    return _INSIDE / f"{module.replace('.', '/')}.py"


@cache
def modules_for(entry: str) -> Mapping[str, str]:
    """Sources of `entry` and of all modules that it imports, by their names in a sandbox, in the order of their imports.

    `entry` is relative to `inside/`. Modules of `runtime`, which every sandbox has, are omitted unless the entry is one.
    """
    found: dict[str, str] = {}
    _collect(entry, found, skip="" if entry.startswith(_RUNTIME) else _RUNTIME)
    return found


def _collect(module: str, sources: dict[str, str], skip: str) -> None:
    for name in imports(module):
        if _NAME.format(name) not in sources and not (skip and name.startswith(skip)):
            _collect(name, sources, skip)
    sources[_NAME.format(module)] = source(module)


def imports(module: str) -> list[str]:
    """The modules below `inside/` that `module` imports by unindented relative imports. A regular expression is faster than parsing."""
    modules = []
    for dots, base, names in _IMPORT.findall(source(module)):
        above = module.split(".")[: -len(dots)]
        package = ".".join([*above, *filter(None, [base])])
        if package and _path(package).is_file():
            modules.append(package)
        else:
            modules += [
                ".".join(filter(None, [package, name])) for name in re.findall(r"\w+", re.sub(r" as \w+", "", names))
            ]
    return modules


def program(name: str, entry: str, *, persistent: bool = False) -> Program:
    """The Program whose entry is a module of `inside/`."""
    modules = modules_for(entry)
    return Program(name=name, modules=modules, entry=_NAME.format(entry), persistent=persistent)


@cache
def bytecode(module: str, text: str) -> str:
    """The bytecode of a module of `inside/` with this source, as base64; "" for other modules.

    Python caches it on disk. Compiling the modules of a grader in a sandbox would take longer than starting the sandbox.
    """
    name = module.removeprefix(_NAME.format(""))
    path = _path(name)
    if name == module or not path.is_file() or source(name) != text:
        return ""
    code = SourceFileLoader(module, str(path)).get_code(module)
    assert code is not None
    return base64.b64encode(marshal.dumps(_of_file(code, f"<{module}>"))).decode()


def _of_file(code: CodeType, filename: str) -> CodeType:
    parts = (_of_file(part, filename) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=filename, co_consts=tuple(parts))


def boot_message(main: str, key: WarmKey, setup: Mapping[str, Any]) -> bytes:
    """The message that `inside/runtime/bootstrap.py` reads: the modules of the runtime, which one to run, and its arguments.

    `main` is "fork_server" or "container_init"; the program for `fork_server.warm` is added to `setup`.
    """
    modules = {**modules_for(f"{_RUNTIME}.{main}")}
    if key.persistent:
        modules |= modules_for(f"{_RUNTIME}.command_runner")
    program = {
        "modules": key.modules,
        "entry": key.entry,
        "preload": key.preload,
        "preparation": key.preparation.decode("latin-1"),
    }
    message = {
        "modules": list(modules.items()),
        "magic": MAGIC_NUMBER.hex(),
        "compiled": {name: code for name, text in (*modules.items(), *key.modules) if (code := bytecode(name, text))},
        "main": _NAME.format(f"{_RUNTIME}.{main}"),
        "setup": {**setup, "program": program},
    }
    text = json.dumps(message).encode()
    return len(text).to_bytes(8, "big") + text


def limits_message(limits: Limits, *, persistent: bool) -> dict[str, Any]:
    """The limits as `Limits` of `inside/runtime/monitor.py` reads them."""
    return {
        "memory_mb": limits.memory_mb,
        "disk_mb": limits.disk_mb,
        "pids": limits.pids,
        "persistent": persistent,
    }
