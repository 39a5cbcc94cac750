"""Feedback: which level comes next (policies), and what a researcher says at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_recode.episode import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyKind:
    """How a policy is registered: `make` gets the options after the colon (`escalate:start=1,max=3`) as a dict of text.

    Raises `UserError` naming the option and the choices.
    """

    make: Callable[[dict[str, str]], Policy]
