"""The registry: entries of the registering hooks, and lookup by name."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import UserError
from pytest_recode.installed import TYPES, imported, misspelt_group, part
from pytest_recode.plugin.collection.offers import check_hook_names, offers
from pytest_recode.registered import ANY_MODEL, origin, own

if TYPE_CHECKING:
    from pytest_recode.agents import AgentKind
    from pytest_recode.episode import Policy
    from pytest_recode.feedback import PolicyKind
    from pytest_recode.formats import Format
    from pytest_recode.models import ModelKind
    from pytest_recode.sandboxes import SandboxKind


@dataclass(frozen=True, slots=True, kw_only=True)
class Registry:
    """All registered names. Import paths are resolved when a name is chosen. `sources`: who registers each, in words; "" for the project."""

    offers: Mapping[str, Mapping[str, Any]]
    sources: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    _parts: dict[tuple[str, str], Any] = field(default_factory=dict)

    def format(self, manifest: str) -> Format | None:
        found: Format | None = self._load("formats", manifest) if manifest in self.offers["formats"] else None
        return found

    def agent(self, name: str) -> AgentKind:
        """Look up a registered name, a name with a registered prefix (`command:`), or `package.module:Name`: an AgentKind, or a callable that
        makes an Agent from an AgentContext."""
        registered = self.registered_agent(name)
        if registered.endswith(":"):
            kind: AgentKind = self._load("agents", registered, name.removeprefix(registered))
        elif ":" in name:
            kind = part("agents", name, imported(name, f"--recode-agent={name}"))
        else:
            kind = self._choose("agents", name, "agent", "or package.module:Name")
        return kind

    def registered_agent(self, name: str) -> str:
        """The prefix under which an agent is registered, such as `command:`; the name itself if there is none."""
        first, colon, _ = name.partition(":")
        return f"{first}:" if colon and f"{first}:" in self.offers["agents"] else name

    def sandbox(self, name: str) -> SandboxKind:
        kind: SandboxKind = self._choose("sandboxes", name, "sandbox", "or auto")
        return kind

    def sandboxes(self, chosen: str) -> dict[str, SandboxKind]:
        """The candidates for a choice: all sandboxes for `auto`, otherwise the named one."""
        names = self.offers["sandboxes"] if chosen == "auto" else (chosen,)
        return {name: self.sandbox(name) for name in names}

    def model(self, name: str) -> ModelKind:
        """Look up by exact name, then by prefix (`sim/`), then the kind for every other name."""
        kind: ModelKind = self._choose("models", self.registered_model(name), "model", "")
        return kind

    def registered_model(self, name: str) -> str:
        """The name or prefix under which a model is registered; the name itself if its prefix has other models only."""
        offers = self.offers["models"]
        prefix = name.partition("/")[0] + "/"
        if name not in offers and prefix in {known.partition("/")[0] + "/" for known in offers if "/" in known}:
            return prefix if prefix in offers else name
        return name if name in offers else ANY_MODEL

    def own(self, what: str, name: str) -> bool:
        """Whether `name` is built in and no plugin has replaced it."""
        return name in own(what) and self.offers[what].get(name) == own(what)[name]

    def replaced(self, what: str, name: str) -> dict[str, str]:
        """The part and who registers it, such as {"agent recode": "the distribution lab"}, if it replaces one of the project's own."""
        if name not in own(what) or self.own(what, name):
            return {}
        return {f"{TYPES[what].noun} {name}": self.sources[what][name]}

    def policy(self, spec: str) -> Policy:
        """The policy for `L3`, `escalate:start=1,patience=2` or similar."""
        from pytest_recode.feedback.policies import parse

        return parse(spec, self.policy_kind(spec))

    def policy_kind(self, spec: str) -> PolicyKind:
        kind: PolicyKind = self._choose("policies", spec.partition(":")[0], "feedback policy", "")
        return kind

    def check_policies(self, specs: Sequence[str]) -> None:
        """Raise `UserError` if one is no policy, or if two are the same one, whose episodes would be played twice."""
        made = [self.policy(spec) for spec in specs]
        for number, policy in enumerate(made):
            if (first := made.index(policy)) != number:
                raise UserError(
                    f"--recode-feedback={specs[number]} is the same policy as {specs[first]}: keep one, or use --recode-attempts=2"
                    " for two episodes of each"
                )

    def _choose(self, what: str, name: str, noun: str, also: str) -> Any:
        if name not in self.offers[what]:
            raise UserError(unknown(noun, name, self.offers[what], also))
        return self._load(what, name)

    def _load(self, what: str, name: str, rest: str | None = None) -> Any:
        """`rest`: the text after a prefix."""
        key = what, f"{name}{rest or ''}"
        if key not in self._parts:
            source = self.sources.get(what, {}).get(name, "")
            self._parts[key] = part(what, name, self.offers[what][name], source, rest)
        return self._parts[key]


def unknown(noun: str, name: str, choices: Iterable[str], also: str = "") -> str:
    """The message for an unknown name."""
    names = [choice for choice in choices if choice != ANY_MODEL]
    same = {choice.lower(): choice for choice in names}
    near = difflib.get_close_matches(name.lower(), same, 1)
    guess = f" (did you mean {same[near[0]]}?)" if near else ""
    return f"unknown {noun} {name!r}{guess}: choose from {', '.join(names)}{', ' + also if also else ''}"


def collect(manager: pytest.PytestPluginManager) -> Registry:
    """Collect the entries of every plugin. The last registered plugin takes precedence, so plugins can replace built-in names.

    Raises `UserError` and `pytest.UsageError`.
    """
    check_hook_names(manager)
    misspelt_group()
    parts: dict[str, dict[str, Any]] = {what: {} for what in TYPES}
    sources: dict[str, dict[str, str]] = {what: {} for what in TYPES}
    for what in TYPES:
        for offer in offers(manager, what):
            parts[what].update(offer.parts)
            sources[what].update(
                {name: offer.source or origin(what, name, place) for name, place in offer.parts.items()}
            )
    return Registry(offers=parts, sources=sources)
