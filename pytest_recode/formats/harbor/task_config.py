"""The values of a checked `task.toml`, as far as they decide about a verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NO_NETWORK, PUBLIC = "no-network", "public"


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentConfig:
    """`[environment]`, or `[verifier.environment]`. MiB; None where the file says nothing."""

    image: str = ""
    workdir: str = ""
    memory_mb: int | None = None
    storage_mb: int | None = None
    variables: tuple[tuple[str, str], ...] = ()
    network: str = PUBLIC
    other_keys: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskConfig:
    """A checked `task.toml`. `agent_network` and `verifier_network`: what the two phases ask for."""

    path: Path
    name: str
    version: str
    description: str
    keywords: tuple[str, ...]
    metadata: Mapping[str, Any]
    environment: EnvironmentConfig
    agent_seconds: float | None
    agent_network: str
    verifier_seconds: float
    verifier_network: str
    verifier_variables: tuple[tuple[str, str], ...]
    verifier_environment: EnvironmentConfig | None
    separate: bool
    solution_variables: tuple[tuple[str, str], ...]
    artifacts: tuple[str, ...]
    users: Mapping[str, str | int]
    steps: tuple[StepConfig, ...] = ()
    last_decides: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepConfig:
    """An entry of `[[steps]]`. `task`: the file as it is for this step alone; `verifier_environment`: the step's own."""

    name: str
    task: TaskConfig
    verifier_environment: EnvironmentConfig | None
    least: Mapping[str, float]
