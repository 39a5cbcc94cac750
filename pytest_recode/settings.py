"""Settings: what one run was asked to do. Made from options by the plugin, read by everything else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.task import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """One run's options, checked. Counts are at least 1, money is in US dollars, `fail_under` in per cent.

    `given` names the fields that the user spoke of; the others may have other values for a format's tasks.
    """

    models: tuple[str, ...] = ()
    feedbacks: tuple[str, ...] = ("escalate",)
    feedback_model: str | None = None
    feedback_scope: str = "failing"  # or "all"
    feedback_code: str = "L4"  # or "L1", "L2", "L3"
    feedback_from: str = "auto"  # or "person", "files"
    agent: str = "recode"
    attempts: int = 1
    turns: int = 10
    steps: int = 3
    memory_threshold: int | None = None  # messages; None: the agent's own limit
    memory_keep: int | None = None
    search_model: str | None = None
    test_output: str = "none"  # or "full"
    sandbox: str = "auto"
    python: str = ""
    image: str = ""
    environments: tuple[Environment, ...] = ()  # by the names that benchmarks have for them
    out: Path | None = None
    api_base: str | None = None
    temperature: float | None = None
    max_cost: float | None = None
    models_file: Path | None = None
    paper: bool = True
    ablation: bool = False  # each episode once more, without the paper
    reindent: bool = False
    call_seconds: float = 600.0
    test_seconds: float | None = None
    validate: bool = False
    validate_seeds: int = 3
    fail_under: float | None = None
    seed: int | None = None
    resume: bool = False
    replay_feedback: Path | None = None  # the directory of a run
    given: frozenset[str] = frozenset()


NO_MATTER = frozenset({"version", "image", "researcher_prompt", "call_seconds"})
"""What of its setup a run may be gone on with, and counted as one with others, where it differs: an update in between, a rebuilt
image, or another limit of a model call, which makes errors and no verdicts."""


def for_format(settings: Settings, defaults: Mapping[str, Any]) -> Settings:
    """The settings for the tasks of a format (or for an agent) that has defaults of its own: what the user gave wins over them."""
    ours = {name: value for name, value in defaults.items() if name not in settings.given}
    return replace(settings, **ours) if ours else settings


ONE_STEP = frozenset({"reference", "noop", "one-shot"})
"""Agents of this project that make one step a turn, whatever --recode-steps says."""
NO_FEEDBACK = "none"
"""The policy under which an episode ends after its first turn."""


def fixed(agent: str, policy: str) -> dict[str, Any]:
    """Fields of Settings that an agent or a policy decides by itself: `turns` of an episode without feedback, `steps` of an agent that
    makes one."""
    return {**({"turns": 1} if policy == NO_FEEDBACK else {}), **({"steps": 1} if agent in ONE_STEP else {})}


def as_played(settings: Settings) -> Settings:
    """The settings of an episode, with the numbers of turns and steps that an agent is told.

    Where a run has episodes without feedback beside others, they share the first turn, so that all are told the same.
    """
    policy = settings.feedbacks[0] if len(settings.feedbacks) == 1 else ""
    return replace(settings, **fixed(settings.agent, policy))


def check_memory(settings: Settings) -> None:
    """Raises `UserError` where a summary would have nothing to sum up. Depends on the agent, whose defaults must be in."""
    threshold, keep = settings.memory_threshold, settings.memory_keep
    if keep is not None and threshold is not None and keep >= threshold:
        raise UserError(
            f"--recode-memory-keep={keep} keeps all that --recode-memory-threshold={threshold} allows: give both, the first one"
            " smaller, such as 10 and 15"
        )
