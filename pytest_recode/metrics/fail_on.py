"""The conditions under which a comparison with a baseline fails: `--recode-fail-on`, and `--fail-on` of `pytest-recode gate`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from pytest_recode.faults import UserError

DEFAULT = ("worse",)
CHOICES = "worse, any-lost-task, cost:+20%, turns:+1"
_GROWTH = re.compile(r"(cost|turns):\+([0-9]{1,6}(?:\.[0-9]{1,6})?)(%?)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """`kind`: "worse", "any-lost-task", "cost" or "turns". `limit`: how much more is allowed; of cost as a share of the baseline's
    (+20% is 1/5), of turns as a number of them."""

    kind: str
    limit: Fraction = Fraction(0)

    def __str__(self) -> str:
        if self.kind == "cost":
            return f"cost:+{float(100 * self.limit):.10g}%"
        return f"turns:+{float(self.limit):.10g}" if self.kind == "turns" else self.kind


def conditions(texts: Sequence[str], option: str) -> tuple[Condition, ...]:
    """Read texts, each with one or more conditions separated by commas. Raises `UserError`, which names `option`."""
    parsed: dict[Condition, None] = {}
    for text in texts:
        for part in text.split(","):
            match = _GROWTH.fullmatch(part.strip())
            if part.strip() in ("worse", "any-lost-task"):
                parsed[Condition(kind=part.strip())] = None
            elif match and (match[3] == "%") == (match[1] == "cost"):
                limit = Fraction(match[2])
                parsed[Condition(kind=match[1], limit=limit / 100 if match[3] else limit)] = None
            else:
                raise UserError(
                    f"{option}={text}: {part.strip()!r} is not a condition: choose from {CHOICES} (any numbers)"
                )
    return tuple(parsed)
