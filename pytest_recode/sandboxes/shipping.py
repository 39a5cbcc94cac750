"""How a program gets inside: as text, with its bytecode, over standard input, to `inside/boot.py`."""

from __future__ import annotations

import base64
import json
import marshal
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

_INSIDE = Path(__file__).parent.parent / "inside"


@dataclass(frozen=True, slots=True, kw_only=True)
class WarmKey:
    """What a warm parent, or a spare container, is good for."""

    program: str
    modules: tuple[tuple[str, str], ...]
    entry: str
    preload: tuple[str, ...]  # the environment's, then the program's
    persistent: bool
    python: str
    seed: bytes = b""

    @classmethod
    def of(cls, program: Program, environment: Environment, python: str) -> WarmKey:
        return cls(
            program=program.name,
            modules=tuple(program.modules.items()),
            entry=program.entry,
            preload=(*environment.preload, *program.preload),
            persistent=program.persistent,
            python=python,
            seed=program.seed,
        )


@cache
def source(name: str) -> str:
    """The text of a module of `inside/`."""
    return (_INSIDE / f"{name}.py").read_text(encoding="utf-8")


@cache
def bytecode(module: str, text: str) -> str:
    """Of one of `inside/` with this text, as base64; "" of another's. Python keeps it on disk: to compile what a grader consists
    of takes a sandbox longer than to start."""
    name = module.removeprefix("_").removeprefix("recode_")
    path = _INSIDE / f"{name}.py"
    if not path.is_file() or source(name) != text:
        return ""
    code = SourceFileLoader(module, str(path)).get_code(module)
    assert code is not None
    return base64.b64encode(marshal.dumps(_of_file(code, f"<{module}>"))).decode()


def _of_file(code: CodeType, filename: str) -> CodeType:
    parts = (_of_file(part, filename) if isinstance(part, CodeType) else part for part in code.co_consts)
    return code.replace(co_filename=filename, co_consts=tuple(parts))


def boot_message(main: str, key: WarmKey, setup: Mapping[str, Any]) -> bytes:
    """What `inside/boot.py` reads: the sandbox's own modules, which of them to run, and with what.

    `main` is "zygote" or "container"; `setup` is completed with what `zygote.warm` wants.
    """
    names = ["walls", "syscalls", "sockets", "cell", *(["jail"] if key.persistent else []), "serving", "zygote"]
    names += [main] if main not in names else []
    program = {"modules": key.modules, "entry": key.entry, "preload": key.preload, "seed": key.seed.decode("latin-1")}
    modules = [(f"recode_{name}", source(name)) for name in names]
    message = {
        "modules": modules,
        "magic": MAGIC_NUMBER.hex(),
        "compiled": {name: code for name, text in (*modules, *key.modules) if (code := bytecode(name, text))},
        "main": f"recode_{main}",
        "setup": {**setup, "program": program},
    }
    text = json.dumps(message).encode()
    return len(text).to_bytes(8, "big") + text


def limits_message(limits: Limits, *, persistent: bool) -> dict[str, Any]:
    """What `inside/cell.py` calls `Limits`."""
    return {
        "memory_mb": limits.memory_mb,
        "disk_mb": limits.disk_mb,
        "pids": limits.pids,
        "persistent": persistent,
    }
