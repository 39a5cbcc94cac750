"""The fastest solver of a task among the results that AlgoTune's repository has, where the user has them."""

from __future__ import annotations

import ast
import json
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats.document import text_of
from pytest_recode.program.imports import absolute_imports
from pytest_recode.program.source import tree_of

SUMMARY = Path("reports", "agent_summary.json")
LARGEST = 4 * 1024 * 1024

DIRECTORIES: Mapping[str, str] = {
    "claude-opus-4-1-20250805": "Claude Opus 4.1",
    "claude-opus-4-20250514": "Claude Opus 4",
    "claude-opus-4.5": "Claude Opus 4.5",
    "claude-opus-4.6": "Claude Opus 4.6",
    "deepseek-reasoner": "R1",
    "gemini-2.5-pro": "Gemini 2.5 Pro",
    "gemini-3-pro-preview": "Gemini 3 Pro Preview",
    "gemini-3.1-pro-preview": "Gemini 3.1 Pro Preview",
    "glm-4.5": "GLM-4.5",
    "gpt-5": "GPT-5",
    "gpt-5-mini": "GPT-5-mini",
    "gpt-5-pro (medium)": "GPT-5 Pro (medium)",
    "gpt-5.2": "GPT-5.2",
    "gpt-5.4": "GPT-5.4",
    "gpt-oss-120b": "GPT-OSS-120b",
    "o4-mini": "o4-mini",
    "qwen3-coder": "Qwen3 Coder",
}
"""The directory below results/ of each model of the summary."""

_EVERYWHERE = frozenset({"numpy", "scipy", "AlgoTuneTasks"})


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownSolver:
    """A solver that is published with the benchmark. `speed_up`: as published."""

    model: str
    speed_up: float
    code: str


def published_speed_ups(root: Path) -> Mapping[str, Mapping[str, float]]:
    """The published speed-ups by task and model; {} if the summary is missing. "N/A" is left out. Raises `UserError` if it is damaged."""
    path = root / SUMMARY
    return _summary(path, path.stat().st_mtime_ns) if path.is_file() else {}


@lru_cache(maxsize=4)
def _summary(path: Path, _changed: int) -> Mapping[str, Mapping[str, float]]:
    try:
        tasks = json.loads(text_of(path, most=LARGEST))
        return {
            task: {model: number for model, fields in models.items() if (number := _number(fields["final_speedup"]))}
            for task, models in tasks.items()
        }
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UserError(f"{path}: is not AlgoTune's summary ({error}): restore it, or remove it") from None


def _number(text: str) -> float:
    """A published speed-up; 0.0 if there is none."""
    number = 0.0 if text == "N/A" else float(text)
    return number if math.isfinite(number) else 0.0


def fastest_solver(root: Path, task: str, imports: frozenset[str]) -> KnownSolver | None:
    """The solver with the largest published speed-up that is one file and imports nothing but `imports`, numpy, scipy and Python's own."""
    by_model = published_speed_ups(root).get(task, {})
    for model in sorted(by_model, key=lambda name: -by_model[name]):
        directory = root / "results" / DIRECTORIES.get(model, model) / task
        path = directory / "solver.py"
        if not path.is_file() or path.is_symlink() or len(list(directory.iterdir())) > 1:
            continue
        code = text_of(path, most=LARGEST)
        used = imported(code)
        if used is not None and used <= imports | _EVERYWHERE | sys.stdlib_module_names:
            return KnownSolver(model=model, speed_up=by_model[model], code=code)
    return None


def imported(code: str) -> frozenset[str] | None:
    """The top-level modules that a program imports; None if it is no Python."""
    tree = tree_of(code)
    return None if tree is None else frozenset(name.partition(".")[0] for name in absolute_imports(ast.walk(tree)))


def methods_named(code: str) -> tuple[str, ...]:
    """What a solver imports from libraries, as dotted names, in the order of the file: what its method is called."""
    names: dict[str, None] = {}
    tree = tree_of(code)
    if tree is None:
        return ()
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            aliases |= {
                alias.asname or alias.name: alias.name for alias in node.names if alias.asname or "." not in alias.name
            }
        elif (
            isinstance(node, ast.ImportFrom)
            and node.module
            and not node.level
            and node.module not in ("typing", "__future__")
        ):
            names |= dict.fromkeys(f"{node.module}.{alias.name}" for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (dotted := _dotted(node.func)):
            first, _, rest = dotted.partition(".")
            if rest and first in aliases and aliases[first].partition(".")[0] not in ("typing", "logging"):
                names[f"{aliases[first]}.{rest}"] = None
    return tuple(names)


def _dotted(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        owner = _dotted(node.value)
        return f"{owner}.{node.attr}" if owner else ""
    return node.id if isinstance(node, ast.Name) else ""
