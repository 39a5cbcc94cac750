"""An action as the model wrote it, before its name and arguments are checked."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_recode.agents.values import (
    Value,
)


@dataclass(slots=True, kw_only=True)
class Call:
    """One action as written. `line` counts from 1; `values` are the texts that end with a marker line."""

    name: str
    line: int
    arguments: dict[str, object] = field(default_factory=dict)
    parts: dict[str, str] = field(default_factory=dict)
    values: dict[str, Value] = field(default_factory=dict)
