"""How a program gets inside: as text, over standard input, to `inside/boot.py`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
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


def boot_message(main: str, key: WarmKey, setup: Mapping[str, Any]) -> bytes:
    """What `inside/boot.py` reads: the sandbox's own modules, which of them to run, and with what.

    `main` is "zygote" or "container"; `setup` is completed with what `zygote.warm` wants.
    """
    names = ["walls", "syscalls", "sockets", "cell", *(["jail"] if key.persistent else []), "serving", "zygote"]
    names += [main] if main not in names else []
    program = {"modules": key.modules, "entry": key.entry, "preload": key.preload, "seed": key.seed.decode("latin-1")}
    message = {
        "modules": [(f"recode_{name}", source(name)) for name in names],
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
