"""Which rows or episodes a command shows: those whose model and agent were chosen by a part of their names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_recode.faults import UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class RowFilter:
    """Texts of which one must be in the name of the model, and one in that of the agent, in any case of letters; none: every name."""

    models: Sequence[str] = ()
    agents: Sequence[str] = ()

    def shows(self, model: str, agent: str) -> bool:
        return _has(model, self.models) and _has(agent, self.agents)

    @property
    def given(self) -> bool:
        return bool(self.models or self.agents)

    def __str__(self) -> str:
        """As options of a command line."""
        return " ".join([*(f"--model={text}" for text in self.models), *(f"--agent={text}" for text in self.agents)])

    def nothing(self, what: str, models: Iterable[str], agents: Iterable[str]) -> UserError:
        """The error that no `what` is left of those with these models and agents."""
        known = [f"the models are {', '.join(dict.fromkeys(models))}"] if self.models else []
        known += [f"the agents are {', '.join(dict.fromkeys(agents))}"] if self.agents else []
        return UserError(f"{self}: no such {what}; {'; '.join(known)}")


def _has(name: str, texts: Sequence[str]) -> bool:
    return not texts or any(text.lower() in name.lower() for text in texts)
