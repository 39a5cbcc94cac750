"""Choose the agents, models and policies of an episode by the names in its settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_recode.agents import AgentKind, InstalledProgram, ProgramNeeds, Terminal
    from pytest_recode.episode.assembly import Cast
    from pytest_recode.models import GatewayAddress
    from pytest_recode.plugin.collection.registry import Registry
    from pytest_recode.researchers.human_researcher import Ask
    from pytest_recode.settings import Settings


def cast(
    settings: Settings,
    registry: Registry,
    model: str | None,
    policy: str,
    person: Ask | None,
    terminal: Terminal | None,
    gateway: GatewayAddress | None,
    sandbox: str,
    formats: Iterable[str],
) -> Cast:
    """The cast of one episode. `person` gives the feedback; None: no person. `terminal`: for an agent that is a person. `gateway`: None if the run has none.

    `sandbox`: its registered name. `formats`: the manifests of the task's format.
    """
    from pytest_recode.episode.assembly import Cast

    agent = registry.agent(settings.agent)
    return Cast(
        agent=agent,
        program=None if agent.program is None else program(agent.program, settings, None),
        model=registry.model(model) if model else None,
        policy=registry.policy(policy),
        feedback_model=registry.model(settings.feedback_model) if settings.feedback_model else None,
        search_model=registry.model(settings.search_model) if settings.search_model else None,
        table=model_table(settings),
        person=person,
        terminal=terminal,
        gateway=gateway,
        sandbox=sandbox,
        replaced=replaced(settings, registry, [sandbox], formats),
    )


def program(needs: ProgramNeeds, settings: Settings, notify: Callable[[str], None] | None) -> InstalledProgram:
    """The program of a command-line agent. `notify`: as for `ProgramNeeds.find`. Raises `UserError`."""
    from pytest_recode.agents.installed_programs import given_program

    paths = dict(text.partition("=")[::2] for text in settings.agent_paths)
    return given_program(needs.name, paths[needs.name]) if needs.name in paths else needs.find(notify)


def for_agents(settings: Settings, defaults: Mapping[str, Any], registry: Registry) -> tuple[Settings, ...]:
    """The settings of the episodes of each agent, for tasks of a format with these defaults. An agent's own defaults come below the
    format's, and what an agent fixes above the user's. Raises `UserError`."""
    from pytest_recode.settings import for_format

    agents = for_format(settings, defaults).agents
    return tuple(_for_agent(settings, defaults, name, registry.agent(name)) for name in agents)


def _for_agent(settings: Settings, defaults: Mapping[str, Any], name: str, kind: AgentKind) -> Settings:
    from pytest_recode.settings import for_format

    own = replace(for_format(settings, {**kind.defaults, **defaults}), **kind.fixes)
    return replace(own, agents=(name,), models=own.models if kind.needs_model else ())


def replaced(
    settings: Settings, registry: Registry, sandboxes: Iterable[str], formats: Iterable[str]
) -> dict[str, str]:
    """The parts of a run that replace built-in ones, each with who registers it. `formats`: manifests."""
    models = filter(None, (*settings.models, settings.feedback_model, settings.search_model))
    chosen = {
        "agents": [registry.registered_agent(agent) for agent in settings.agents],
        "sandboxes": sandboxes,
        "policies": [spec.partition(":")[0] for spec in settings.feedbacks],
        "models": [registry.registered_model(model) for model in models],
        "formats": formats,
    }
    return {
        part: source
        for what, names in chosen.items()
        for name in names
        for part, source in registry.replaced(what, name).items()
    }


def model_table(settings: Settings) -> Mapping[str, Mapping[str, Any]]:
    """The user's table of models. Raises `UserError`."""
    if settings.models_file is None:
        return {}
    from pytest_recode.models.table import load_table

    return load_table(settings.models_file)


def lacks_model(settings: Settings, registry: Registry) -> str | None:
    """None if episodes can run; otherwise the reason why they are skipped, with the option to set."""
    if settings.validate or settings.models or not all(registry.agent(name).needs_model for name in settings.agents):
        return None
    return "no model is given: set --recode-model=NAME, for example --recode-model=sim/graduate (offline)"


def needs_gateway(settings: Settings, registry: Registry) -> bool:
    """Whether the run's gateway calls one of the models."""
    names = filter(None, (*settings.models, settings.feedback_model, settings.search_model))
    return not settings.validate and any(registry.model(name).gateway for name in names)


def only_gateway_calls(settings: Settings, registry: Registry) -> bool:
    """Whether no model is called in a worker: those that a plugin registers are."""
    names = filter(None, (*settings.models, settings.feedback_model, settings.search_model))
    return all(registry.model(name).gateway or registry.model(name).offline for name in names)


def all_offline(settings: Settings, registry: Registry, by_format: Iterable[Settings]) -> bool:
    """Whether a run has only built-in offline agents and models, and so executes only this project's code.

    `by_format`: the settings of each format and agent, which may be others. A person's code is not this project's.
    """
    models = [model for model in (*settings.models, settings.feedback_model, settings.search_model) if model]
    agents = {*settings.agents, *(each.agent for each in by_format)}
    own = (registry.own("agents", agent) and not registry.agent(agent).needs_person for agent in agents)
    return (settings.validate or all(own)) and all(
        registry.own("models", model) and registry.model(model).offline for model in models
    )
