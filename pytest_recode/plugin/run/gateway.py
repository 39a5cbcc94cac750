"""Start the gateway of a run with the run's settings."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.gateway import GatewayConfig
from pytest_recode.gateway.supervisor import GatewayProcess, new_address
from pytest_recode.plugin.run.casting import model_table
from pytest_recode.settings import Settings

CALLS_OF_A_PROGRAM = 8
"""Calls that a command-line agent may have in flight, unless others have more: those of its sub-agents."""


def start(
    settings: Settings, out: Path, run: str, calls: int, notify: Callable[[str], None], *, models: bool
) -> GatewayProcess:
    """`calls`: how many may be in flight, for each model. `models`: whether the run calls models through it; it serves the directory `out` of `run` in any case. Raises `UserError` for a table of models that cannot be read."""
    config = GatewayConfig(
        address=new_address(),
        out=str(out),
        run=run,
        models=models,
        workers=calls,
        max_cost=settings.max_cost,
        max_cost_of=dict(settings.max_cost_of),
        max_wait=settings.max_wait,
        limits=dict(settings.limits),
        cassette=str(settings.cassette) if settings.cassette is not None else None,
        cassette_mode=settings.cassette_mode,
        options=_options(settings),
        call_seconds=settings.call_seconds,
        api_base=settings.api_base,
        table=model_table(settings),
    )
    return GatewayProcess(config, notify)


_IN_PROMPTS = (
    *(
        "turns",
        "steps",
        "temperature",
        "reindent",
        "memory_threshold",
        "memory_keep",
        "search_model",
        "test_output",
    ),
    *("feedback_model", "feedback_scope", "feedback_code", "feedback_writer", "feedback_from"),
)
"""Settings that change the requests of an episode, by the names of their options."""


def _options(settings: Settings) -> dict[str, Any]:
    several = len(settings.agents) > 1
    return {
        "--recode-model": list(settings.models),
        "--recode-feedback": list(settings.feedbacks),
        "--recode-agent": list(settings.agents) if several else settings.agent,
        **{f"--recode-{name.replace('_', '-')}": getattr(settings, name) for name in _IN_PROMPTS},
        "--recode-no-paper": not settings.paper,
    }


def calls(config: pytest.Config, in_flight: int, *, programs: bool) -> int:
    """The number of calls of a model that may be in flight. `programs`: whether command-line agents play."""
    return workers(config, in_flight) * (CALLS_OF_A_PROGRAM if programs else 1)


def workers(config: pytest.Config, in_flight: int) -> int:
    """The number of episodes that may call models at the same time: those of pytest-xdist's workers, or of this process."""
    given: Any = config.getoption("tx", None) or ["popen"]
    return in_flight * sum(int(each.partition("*")[0]) if "*" in each else 1 for each in given)
