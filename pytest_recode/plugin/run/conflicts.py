"""Conflicts: options that have no effect in combination.

An option without effect on the command line is an error. An ini file is shared by all kinds of runs, so its values without effect are
removed from the settings.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest

from pytest_recode.faults import UserError
from pytest_recode.plugin.run.usage_errors import usage_errors
from pytest_recode.settings import OPTIONS, Option, Settings

if TYPE_CHECKING:
    from pytest_recode.agents import AgentKind
    from pytest_recode.sandboxes import SandboxKind


class Conflict(NamedTuple):
    """`options` have no effect in runs for which `where` is true. `words` is the message, with the given option as `{option}` and
    fields of the settings."""

    options: tuple[str, ...]
    where: Callable[[Settings], bool]
    words: str


_OF_VALUES = (
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
    ),
    Conflict(
        ("feedback-from",),
        lambda run: run.feedback_from != "auto" and run.feedbacks == ("none",),
        "--recode-feedback-from={run.feedback_from} has nothing to ask with --recode-feedback=none: leave one of the two out",
    ),
)


def checked(config: pytest.Config, settings: Settings) -> Settings:
    """Remove settings without effect from the ini file. Raises `pytest.UsageError` with one line for those on the command line."""
    _check_twice(settings)
    _check_levels(settings)
    _check_hosts(settings)
    typed = _typed(config)
    kinds = _installed(settings)
    for option in OPTIONS.values():
        on_command_line = option.name in typed
        words = _without_effect(option, settings) or kinds.without_effect(option, settings, typed=on_command_line)
        if not words:
            continue
        if on_command_line:
            raise pytest.UsageError(words)
        more = {"max_cost_of": ()} if option.name == "max-cost" else {}
        settings = replace(settings, **{option.field: option.default, **more})
    _check_researcher(config, settings)
    _check_limited(settings, typed)
    _check_paths(settings, typed)
    return settings


def check_agents(config: pytest.Config, settings: Settings, agent: Callable[[str], AgentKind]) -> None:
    """As `checked`, of the options on the command line with all agents: those of hooks and of modules are known after the conftest files
    only. Raises `UserError`."""
    typed = _typed(config)
    kinds = _Kinds(agents={name: agent(name) for name in settings.agents}, sandbox=None)
    for option in OPTIONS.values():
        if option.name in typed and (words := kinds.without_effect(option, settings, typed=True)):
            raise UserError(words)


def _typed(config: pytest.Config) -> set[str]:
    """The names of the options on the command line."""
    words = map(str, config.invocation_params.args)
    return {word.partition("=")[0].removeprefix("--recode-") for word in words if word.startswith("--recode-")}


def _without_effect(option: Option, settings: Settings) -> str:
    """Why the option has no effect in a run with these settings, and what to do; "" if it has one."""
    if option.needs and not _set(OPTIONS[option.needs], settings):
        metavar = OPTIONS[option.needs].metavar
        needed = OPTIONS[option.needs].flag + (f"={metavar}" if metavar else "")
        return f"{option.flag} has an effect only with {needed}: add it, or leave out {option.flag}"
    for other in (OPTIONS[name] for name in option.excluded_by):
        if _set(other, settings):
            return f"{option.flag} has no effect with {other.flag}, which {other.excludes_because}: leave one of the two out"
    return next(
        (
            conflict.words.format(option=option.name, run=settings)
            for conflict in _OF_VALUES
            if option.name in conflict.options and conflict.where(settings)
        ),
        "",
    )


class _Kinds(NamedTuple):
    """The chosen agents by their names, and the sandbox. None: the default one, or one of a hook, a module or a command, which `check_agents` checks."""

    agents: Mapping[str, AgentKind | None]
    sandbox: SandboxKind | None

    def without_effect(self, option: Option, settings: Settings, *, typed: bool) -> str:
        """As `_without_effect`. An option of the command line (`typed`) must have an effect with every agent, one of the ini file with any.
        A model is for the agents that call one."""
        reasons = {name: _ignored(option, name, kind) for name, kind in self.agents.items()}
        ignoring = [name for name, reason in reasons.items() if reason]
        everywhere = len(ignoring) == len(reasons)
        if ignoring and (everywhere or (typed and option.field != "models")):
            other = f"choose --recode-agent={_DEFAULT_AGENT}" if everywhere else f"--recode-agent={ignoring[0]}"
            return f"{reasons[ignoring[0]]}: leave out {option.flag}, or {other}"
        if option.field == "docker_hosts" and self.sandbox is not None and not self.sandbox.hosts:
            return f"{option.flag} has no effect with --recode-sandbox={settings.sandbox}: leave one of the two out"
        return ""


[_DEFAULT_AGENT] = OPTIONS["agent"].default


def _ignored(option: Option, name: str, agent: AgentKind | None) -> str:
    """Why the agent `name` ignores the option; "" if it does not."""
    if agent is None:
        return ""
    if option.field == "models" and not agent.needs_model:
        return f"--recode-agent={name} calls no model"
    if option.field in agent.fixes:
        value = agent.fixes[option.field]
        has = f"always has {option.flag}={value}" if value is not None else f"never has {option.flag}"
        return f"--recode-agent={name} {has}"
    return ""


def _installed(settings: Settings) -> _Kinds:
    from pytest_recode.installed import Installed

    with usage_errors():
        chosen = Installed("agents") if "agents" in settings.explicit else {}
        return _Kinds(
            agents={name: chosen.get(name) for name in settings.agents},
            sandbox=Installed("sandboxes").get(settings.sandbox) if "sandbox" in settings.explicit else None,
        )


def _set(option: Option, settings: Settings) -> bool:
    """Whether the setting has another value than that of a run without the option."""
    return bool(getattr(settings, option.field) != option.default)


def _check_limited(settings: Settings, typed: set[str]) -> None:
    """A limit on the command line that no model of the run has is a mistake. An ini file may limit the models of other runs."""
    models = [model for model in (*settings.models, settings.feedback_model, settings.search_model) if model]
    known = ", ".join(models) or "none"
    for option, names in (
        ("limit", [name for name, _ in settings.limits]),
        ("max-cost", [name for name, _ in settings.max_cost_of]),
    ):
        for name in names if option in typed and not settings.replay_feedback else ():
            if not any(fnmatch.fnmatchcase(model, name) if option == "limit" else model == name for model in models):
                raise pytest.UsageError(
                    f"--recode-{option}={name}=… is for no model of this run: write a name of {known}"
                    f"{', or a pattern that matches one' if option == 'limit' else ''}"
                )


def _check_paths(settings: Settings, typed: set[str]) -> None:
    """A path on the command line of an agent that the run does not have is a mistake. An ini file may have those of other runs."""
    names = []
    for text in settings.agent_paths:
        name, _, path = text.partition("=")
        if not name or not path:
            raise pytest.UsageError(
                f"--recode-agent-path={text} is not NAME=PATH, as in codex=/usr/local/bin/codex: write the agent's name and its program"
            )
        if name in names:
            raise pytest.UsageError(f"--recode-agent-path={name}=… is given twice: keep one")
        if "agent-path" in typed and name not in settings.agents:
            raise pytest.UsageError(
                f"--recode-agent-path={name}=… is for no agent of this run ({', '.join(settings.agents)}): add --recode-agent={name}, or"
                " leave it out"
            )
        names.append(name)


def _check_twice(settings: Settings) -> None:
    for name, values in (("agent", settings.agents), ("model", settings.models), ("feedback", settings.feedbacks)):
        twice = next((value for value in values if values.count(value) > 1), None)
        if twice:
            raise pytest.UsageError(
                f"--recode-{name}={twice} is given twice: keep one, or use --recode-attempts=2 for two episodes of each"
            )


def _check_hosts(settings: Settings) -> None:
    if not settings.docker_hosts:
        return
    from pytest_recode.sandboxes.addresses import problem, shown

    for host in settings.docker_hosts:
        if wrong := problem(host):
            raise pytest.UsageError(f"--recode-docker-host={shown(host)} {wrong}")
        if settings.docker_hosts.count(host) > 1:
            raise pytest.UsageError(f"--recode-docker-host={host} is given twice: keep one")


def _check_levels(settings: Settings) -> None:
    if settings.replay_feedback is not None and not all(
        re.fullmatch("L[0-4]", policy) for policy in settings.feedbacks
    ):
        raise pytest.UsageError(
            "--recode-replay-feedback cuts stored feedback to a level: choose levels with --recode-feedback=L0 … L4"
        )


def _check_researcher(config: pytest.Config, settings: Settings) -> None:
    """Check whether a person can be the researcher in this session."""
    if settings.feedback_from == "auto":
        return
    if settings.feedback_model:
        raise pytest.UsageError(
            f"--recode-feedback-from={settings.feedback_from} and --recode-feedback-model={settings.feedback_model} both write the feedback:"
            " leave one of the two out"
        )
    if settings.feedback_from == "person" and config.getoption("dist", "no") != "no":
        raise pytest.UsageError(
            "--recode-feedback-from=person asks in this terminal, which workers cannot use: leave out -n,"
            " or answer by files with --recode-feedback-from=files"
        )
