"""How messages of every package put lists, costs, and guesses of what was meant, into words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches


def some_of(names: Sequence[str], most: int) -> str:
    """The first `most` names, and how many more there are: "a, b and 3 more"."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def any_of(names: Sequence[str]) -> str:
    """The names as a choice: "a, b or c"."""
    return " or ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def guess(name: str, known: Sequence[str], *, quote: str = "", prefix: str = "") -> str:
    """A question after an unknown `name`, such as " (did you mean soft-nms?)"; "" if no known name is similar.

    `prefix`: which all names have, and which is shown but not compared.
    """
    near = get_close_matches(name, known, 1)
    return f" (did you mean {quote}{prefix}{near[0]}{quote}?)" if near else ""


def dollars(usd: float) -> str:
    """An amount in cents; "<0.01" for less than a cent, which is not nothing."""
    return "<0.01" if 0 < usd < 0.01 else f"{usd:.2f}"


def scores_text(scores: Mapping[str, float]) -> str:
    """What a judge measured: "speed-up 1.42, valid 1"."""
    return ", ".join(f"{name} {value:.4g}" for name, value in scores.items())
