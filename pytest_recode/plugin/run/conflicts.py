"""Conflicts: options that have no effect in combination.

An option without effect on the command line is an error. An ini file is shared by all kinds of runs, so its values without effect are
removed from the settings.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from pytest_recode.settings import FROM_STORED_RUN, ONE_STEP, Settings


class Conflict(NamedTuple):
    """`options` have no effect in runs for which `where` is true. `words` is the message, with the given option as `{option}` and
    fields of the settings; `without` are the values of fields that only the ini file sets."""

    options: tuple[str, ...]
    where: Callable[[Settings], bool]
    words: str
    without: Mapping[str, Any] = MappingProxyType({})


_OF_MEMORY = ("memory-threshold", "memory-keep", "search-model")
_OF_EPISODES = (
    *("agent", "attempts", "turns", "steps", *_OF_MEMORY, "test-output", "feedback", "feedback-model", "feedback-from"),
    *(
        "no-paper",
        "with-paper",
        "temperature",
        "max-cost",
        "limit",
        "max-wait",
        "cassette",
        "cassette-mode",
        "api-base",
        "out",
        "resume",
        "replay-feedback",
    ),
)
_OF_STORED = (
    *(field.replace("_", "-") for field in FROM_STORED_RUN if field != "paper"),
    *("attempts", "feedback-model", "feedback-from", "no-paper", "with-paper"),
)
"""Settings that a replay takes from the original run."""

_CONFLICTS = (
    Conflict(
        ("with-paper",),
        lambda run: run.paper and not run.ablation,
        "--recode-with-paper requires --recode-no-paper (together, they play each episode both ways): without both, prompts have the paper",
    ),
    Conflict(
        _OF_STORED,
        lambda run: run.replay_feedback is not None,
        "--recode-{option} cannot be set with --recode-replay-feedback, which uses the stored run's: leave one of the two out",
    ),
    Conflict(
        ("resume",),
        lambda run: run.resume and run.out is None,
        "--recode-resume requires the directory of a run: name it with --recode-out=DIR",
        {"resume": False},
    ),
    Conflict(
        ("model",),
        lambda run: run.validate,
        "--recode-validate calls no model: leave out --recode-model, or leave out --recode-validate to attempt the tasks",
        {"models": ()},
    ),
    Conflict(
        ("validate-seeds",),
        lambda run: not run.validate,
        "--recode-validate-seeds requires --recode-validate: add it, or leave out --recode-validate-seeds",
        {"validate_seeds": 3},
    ),
    Conflict(
        ("watch",),
        lambda run: not run.validate,
        "--recode-watch requires --recode-validate: add it, or leave out --recode-watch",
        {"watch": False},
    ),
    Conflict(
        ("validate-json",),
        lambda run: not run.validate,
        "--recode-validate-json requires --recode-validate: add it, or leave out --recode-validate-json",
        {"validate_json": None},
    ),
    Conflict(
        ("validate-seeds",),
        lambda run: run.seed is not None,
        "--recode-seed sets a single seed: leave out --recode-validate-seeds, or leave out --recode-seed",
        {"validate_seeds": 3},
    ),
    Conflict(
        ("fail-under",),
        lambda run: run.validate,
        "--recode-fail-under needs episodes, and --recode-validate plays none: leave one of the two out",
        {"fail_under": None},
    ),
    Conflict(
        ("baseline", "fail-on", "markdown", "otel"),
        lambda run: run.validate or run.replay_feedback is not None,
        "--recode-{option} is about episodes, and this run plays none: leave it out, or leave out --recode-validate and"
        " --recode-replay-feedback",
        {"baseline": None, "fail_on": ("worse",), "markdown": None, "otel": None},
    ),
    Conflict(
        ("fail-on",),
        lambda run: run.baseline is None,
        "--recode-fail-on requires a baseline: name it with --recode-baseline=FILE",
        {"fail_on": ("worse",)},
    ),
    Conflict(
        _OF_EPISODES,
        lambda run: run.validate,
        "--recode-{option} needs episodes, and --recode-validate plays none: leave one of the two out",
        {"feedback_model": None, "feedback_from": "auto", "max_cost": None, "max_cost_of": (), "cassette": None},
    ),
    Conflict(
        ("model",),
        lambda run: run.agent in {"reference", "noop", "person"},
        "--recode-agent={run.agent} calls no model: leave out --recode-model, or choose --recode-agent=recode",
        {"models": ()},
    ),
    Conflict(
        ("steps",),
        lambda run: run.agent in ONE_STEP,
        "--recode-agent={run.agent} has one step per turn: leave out --recode-steps, or choose --recode-agent=recode",
    ),
    Conflict(
        _OF_MEMORY,
        lambda run: run.agent in ONE_STEP,
        "--recode-agent={run.agent} has no memory to summarize and no search: leave out --recode-{option}, or choose"
        " --recode-agent=recode",
    ),
    Conflict(
        ("test-output",),
        lambda run: run.test_output != "none" and run.feedbacks == ("none",),
        "--recode-test-output is part of feedback, and --recode-feedback=none has none: leave one of the two out",
    ),
    Conflict(
        ("turns",),
        lambda run: run.feedbacks == ("none",),
        "--recode-turns has no effect with --recode-feedback=none, which ends after the first turn: leave one of the two out",
    ),
    Conflict(
        ("feedback-model",),
        lambda run: run.feedbacks == ("none",),
        "--recode-feedback-model has nothing to write with --recode-feedback=none: leave one of the two out",
        {"feedback_model": None},
    ),
    Conflict(
        ("cassette-mode",),
        lambda run: run.cassette is None,
        "--recode-cassette-mode requires the directory of a cassette: name it with --recode-cassette=DIR",
        {"cassette_mode": "auto"},
    ),
    Conflict(
        ("docker-host",),
        lambda run: bool(run.docker_hosts) and run.sandbox not in ("auto", "docker"),
        "--recode-docker-host has no effect with --recode-sandbox={run.sandbox}: leave one of the two out",
        {"docker_hosts": ()},
    ),
    Conflict(
        ("feedback-scope", "feedback-code", "feedback-writer"),
        lambda run: run.feedback_model is None,
        "--recode-{option} requires --recode-feedback-model: add it, or leave out --recode-{option}",
    ),
    Conflict(
        ("feedback-from",),
        lambda run: run.feedback_from != "auto" and run.feedbacks == ("none",),
        "--recode-feedback-from={run.feedback_from} has nothing to ask with --recode-feedback=none: leave one of the two out",
        {"feedback_from": "auto"},
    ),
)


def checked(config: pytest.Config, made: Settings) -> Settings:
    """Remove settings without effect from the ini file. Raises `pytest.UsageError` with one line for those on the command line."""
    _check_twice(made)
    _check_levels(made)
    _check_hosts(made)
    typed = {
        str(arg).partition("=")[0].removeprefix("--recode-")
        for arg in config.invocation_params.args
        if str(arg).startswith("--recode-")
    }
    for conflict in _CONFLICTS:
        if not conflict.where(made):
            continue
        for option in conflict.options:
            if option in typed:
                raise pytest.UsageError(conflict.words.format(option=option, run=made))
        made = replace(made, **conflict.without)
    _check_researcher(config, made)
    _check_limited(made, typed)
    return made


def _check_limited(made: Settings, typed: set[str]) -> None:
    """A limit on the command line that no model of the run has is a mistake. An ini file may limit the models of other runs."""
    models = [model for model in (*made.models, made.feedback_model, made.search_model) if model]
    known = ", ".join(models) or "none"
    for option, names in (
        ("limit", [name for name, _ in made.limits]),
        ("max-cost", [name for name, _ in made.max_cost_of]),
    ):
        for name in names if option in typed and not made.replay_feedback else ():
            if not any(fnmatch.fnmatchcase(model, name) if option == "limit" else model == name for model in models):
                raise pytest.UsageError(
                    f"--recode-{option}={name}=… is for no model of this run: write a name of {known}"
                    f"{', or a pattern that matches one' if option == 'limit' else ''}"
                )


def _check_twice(made: Settings) -> None:
    for name, values in (("model", made.models), ("feedback", made.feedbacks)):
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice:
            raise pytest.UsageError(
                f"--recode-{name}={twice} is given twice: keep one, or use --recode-attempts=2 for two episodes of each"
            )


def _check_hosts(made: Settings) -> None:
    if not made.docker_hosts:
        return
    from pytest_recode.sandboxes.addresses import problem, shown

    for host in made.docker_hosts:
        if wrong := problem(host):
            raise pytest.UsageError(f"--recode-docker-host={shown(host)} {wrong}")
        if made.docker_hosts.count(host) > 1:
            raise pytest.UsageError(f"--recode-docker-host={host} is given twice: keep one")


def _check_levels(made: Settings) -> None:
    if made.replay_feedback is not None and not all(re.fullmatch("L[0-4]", policy) for policy in made.feedbacks):
        raise pytest.UsageError(
            "--recode-replay-feedback cuts stored feedback to a level: choose levels with --recode-feedback=L0 … L4"
        )


def _check_researcher(config: pytest.Config, made: Settings) -> None:
    """Check whether a person can be the researcher in this session."""
    if made.feedback_from == "auto":
        return
    if made.feedback_model:
        raise pytest.UsageError(
            f"--recode-feedback-from={made.feedback_from} and --recode-feedback-model={made.feedback_model} both write the feedback:"
            " leave one of the two out"
        )
    if made.feedback_from == "person" and config.getoption("dist", "no") != "no":
        raise pytest.UsageError(
            "--recode-feedback-from=person asks in this terminal, which workers cannot use: leave out -n,"
            " or answer by files with --recode-feedback-from=files"
        )
