"""Results that RECODE-H's authors published (arXiv 2510.06186), for comparison with a user's runs.

Incomplete: Recall@10 at three levels for five models (table 2, from notes on the paper), and the shares of error types for three
models (table 3). Every Recall is a whole number of 102 tasks.
"""

from __future__ import annotations

from collections.abc import Mapping

FORMAT = "recode-h"
"""The format whose tasks were played."""
TASKS = 102
TURNS = 10

SETTINGS: Mapping[str, str] = {"turns": "10", "steps": "3", "researcher": "o4-mini", "temperature": "0"}
"""Settings of the published runs, with the names of a row's settings."""

SOLVED: Mapping[str, Mapping[str, int]] = {
    "GPT-5": {"L0": 30, "L2": 57, "L4": 73},
    "DeepSeek-V3.1": {"L0": 11, "L2": 44, "L4": 72},
    "GPT-5-mini": {"L0": 20, "L2": 48, "L4": 68},
    "Gemini-2.5-pro": {"L0": 13, "L2": 38, "L4": 60},
    "Claude-Sonnet-4": {"L0": 15, "L2": 34, "L4": 49},
}
"""Number of the 102 tasks solved within ten turns; table 2."""

ERROR_TYPES: Mapping[str, tuple[float, float, float, float]] = {
    "GPT-5": (11.4, 34.0, 50.3, 4.4),
    "Claude-Sonnet-4": (26.5, 32.3, 33.8, 7.5),
    "DeepSeek-chat": (20.6, 31.6, 40.3, 7.5),
}
"""Percentages of T1 to T4, classified by a model; table 3: syntax and runtime, misread paper or instruction, missing knowledge,
repository."""


_YEARS: Mapping[int, str] = {
    2023: "1 3 23 24 25 29 41 43 44 76 81 89 91 92 99 103 104",
    2024: (
        "2 5 6 7 8 10 12 14 15 16 17 18 20 21 22 26 27 28 30 32 33 34 36 42 47 50 51 52 53 54 56 57 58 59 60 62 63 67 68 69 71 78"
        " 80 82 83 85 87 88 90 98 100 101 102"
    ),
    2025: "4 9 13 19 31 35 38 39 40 45 46 48 49 55 61 64 65 66 72 73 74 75 77 84 86 93 94 95 96 97",
}
"""Annotations by the publication year of their paper, from the authors' metric scripts (revision e5b99e8). Their lists contain 60
twice and omit 70 and 79."""

_YEAR_OF = {int(index): year for year, found in _YEARS.items() for index in found.split()}


def year_of(annotation: object) -> int | None:
    """The publication year of an annotation's paper; None if the authors' lists omit it."""
    return _YEAR_OF.get(annotation) if isinstance(annotation, int) else None
