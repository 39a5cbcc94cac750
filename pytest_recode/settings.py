"""Settings: what one run was asked to do. Made from options by the plugin, read by everything else."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One run's options, checked. Counts are at least 1, money is in US dollars, `fail_under` in per cent."""

    models: tuple[str, ...] = ()
    feedbacks: tuple[str, ...] = ("escalate",)
    feedback_model: str | None = None
    agent: str = "recode"
    attempts: int = 1
    turns: int = 10
    steps: int = 3
    sandbox: str = "auto"
    python: str = ""
    image: str = ""
    out: Path | None = None
    api_base: str | None = None
    temperature: float | None = None
    max_cost: float | None = None
    models_file: Path | None = None
    paper: bool = True
    validate: bool = False
    fail_under: float | None = None
    seed: int | None = None
