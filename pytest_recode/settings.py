"""Settings: the checked options of one run. The plugin creates them; all packages read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.task import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """Limits of the calls of one model. None: no limit, or for `concurrency` an adaptive one.

    `rpm`: requests per minute. `tpm`: tokens per minute, prompt and completion. `concurrency`: calls at the same time.
    """

    rpm: int | None = None
    tpm: int | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Part `number`, from 1, of the `count` parts into which separate sessions divide a run. As text: "3/8"."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


_MOST_SHARDS = 10_000


def parse_shard(text: str) -> Shard:
    """Read a text such as "3/8". Raises `ValueError` for any other text, and for numbers out of range."""
    match = re.fullmatch("([0-9]{1,5})/([0-9]{1,5})", text)
    shard = Shard(number=int(match[1]), count=int(match[2])) if match else None
    if shard is None or not 1 <= shard.number <= shard.count <= _MOST_SHARDS:
        raise ValueError(f"{text!r} is not a shard")
    return shard


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The checked options of one run. Counts are at least 1, money is in US dollars, `fail_under` is in per cent.

    `explicit`: the fields that the user set. A format or an agent may have other defaults for the rest.
    """

    models: tuple[str, ...] = ()
    feedbacks: tuple[str, ...] = ("escalate",)
    feedback_model: str | None = None
    feedback_scope: str = "failing"  # or "all"
    feedback_code: str = "L4"  # or "L1", "L2", "L3"
    feedback_writer: str = "with-reference"  # or "without-reference"
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
    docker_hosts: tuple[str, ...] = ()  # addresses of daemons; (): the one that DOCKER_HOST names
    environments: tuple[Environment, ...] = ()  # the mapping of --recode-env, by the benchmarks' names
    out: Path | None = None
    shard: Shard | None = None  # None: the whole run
    api_base: str | None = None
    temperature: float | None = None
    max_cost: float | None = None
    max_cost_of: tuple[tuple[str, float], ...] = ()  # of single models, by name
    limits: tuple[tuple[str, RateLimit], ...] = ()  # by pattern of model names; the first that matches counts
    max_wait: float = 1800.0
    cassette: Path | None = None
    cassette_mode: str = "auto"  # or "record", "replay"
    progress: str = "auto"  # or "off", "plain", "live"
    models_file: Path | None = None
    paper: bool = True
    ablation: bool = False  # run each episode also without the paper
    reindent: bool = False
    call_seconds: float = 600.0
    test_seconds: float | None = None
    validate: bool = False
    validate_seeds: int = 3
    validate_json: Path | None = None
    watch: bool = False
    fail_under: float | None = None
    baseline: Path | None = None
    fail_on: tuple[str, ...] = ("worse",)  # conditions of `metrics/fail_on.py`
    markdown: Path | None = None
    otel: str | None = None  # the URL of an OTLP endpoint
    seed: int | None = None
    resume: bool = False
    replay_feedback: Path | None = None  # the directory of a run
    explicit: frozenset[str] = frozenset()


def decided_at_end(settings: Settings) -> bool:
    """Whether tests at the end decide if the run passes, so that an unsolved episode is no failed test."""
    return settings.fail_under is not None or settings.baseline is not None


NOT_COMPARED = frozenset({"version", "image", "researcher_prompt", "call_seconds"})
"""Fields of the setup that may differ between runs that are resumed or pooled: the version, a rebuilt image, and the time limit of a
model call, which causes errors but no verdicts."""


FROM_STORED_RUN = (
    *("agent", "turns", "steps", "temperature", "paper", "reindent", "test_seconds"),
    *("memory_threshold", "memory_keep", "search_model", "test_output"),
)
"""Fields that a replay of stored turns takes from the run that stored them."""


def for_format(settings: Settings, defaults: Mapping[str, Any]) -> Settings:
    """The settings with the defaults of a format or an agent, except for fields that the user set."""
    unset = {name: value for name, value in defaults.items() if name not in settings.explicit}
    return replace(settings, **unset) if unset else settings


ONE_STEP = frozenset({"reference", "noop", "one-shot", "person"})
"""Built-in agents that make one step in each turn, whatever --recode-steps is."""
NO_FEEDBACK = "none"
"""The policy that ends an episode after its first turn."""


def fixed(agent: str, policy: str) -> dict[str, Any]:
    """Fields of Settings that an agent or a policy fixes: `turns` of an episode without feedback, `steps` of a one-step agent."""
    return {**({"turns": 1} if policy == NO_FEEDBACK else {}), **({"steps": 1} if agent in ONE_STEP else {})}


def as_played(settings: Settings) -> Settings:
    """The settings of an episode, with the numbers of turns and steps that its prompts name.

    If a run has episodes with and without feedback, they share the first turn, so that their prompts must name the same numbers.
    """
    policy = settings.feedbacks[0] if len(settings.feedbacks) == 1 else ""
    return replace(settings, **fixed(settings.agent, policy))


def check_memory(settings: Settings) -> None:
    """Raise `UserError` if a summary of the memory would have no messages to summarize. Agent defaults must already be applied."""
    threshold, keep = settings.memory_threshold, settings.memory_keep
    if keep is not None and threshold is not None and keep >= threshold:
        raise UserError(
            f"--recode-memory-keep={keep} must be smaller than --recode-memory-threshold={threshold}: set both, for example to"
            " 10 and 15"
        )
