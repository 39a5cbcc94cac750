"""Feedback: policies choose its level after a failed turn, and each level has its text."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pytest_recode.episode import Policy


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyKind:
    """A registered policy. `make` receives the options after the colon (`escalate:start=1,max=3`) as a dict of text.

    It raises a `UserError` that names the option and the choices.
    `concurrent`: several episodes in threads of one process may use it at the same time (--recode-in-flight).
    """

    make: Callable[[dict[str, str]], Policy]
    concurrent: bool = False
