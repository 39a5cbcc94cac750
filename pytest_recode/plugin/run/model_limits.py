"""Read the options on limits of single models: --recode-limit and --recode-max-cost."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import fields

import pytest

from pytest_recode.usage import RateLimit

_KEYS = tuple(field.name for field in fields(RateLimit))


def limits(texts: Sequence[str], option: str) -> tuple[tuple[str, RateLimit], ...]:
    """Read `PATTERN=rpm:50,tpm:40000,concurrency:8`, without any of the three. Raises `pytest.UsageError`."""
    rate_limits: list[tuple[str, RateLimit]] = []
    for text in texts:
        pattern, _, rest = text.rpartition("=")
        values: dict[str, int] = {}
        for part in rest.split(","):
            key, _, value = part.strip().partition(":")
            if (
                not pattern
                or key not in _KEYS
                or key in values
                or not value.isascii()
                or not value.isdigit()
                or not int(value)
            ):
                raise pytest.UsageError(
                    f"{option}={text} is not a limit: write a pattern of model names, such as claude-*=rpm:50,tpm:40000,concurrency:8,"
                    " with one or more of the three and whole numbers from 1"
                )
            values[key] = int(value)
        rate_limits.append((pattern, RateLimit(**values)))
    return tuple(rate_limits)


def budgets(texts: Sequence[str], option: str) -> tuple[float | None, tuple[tuple[str, float], ...]]:
    """Read `USD` for the whole run, and `MODEL=USD` for single models. Raises `pytest.UsageError`."""
    whole: float | None = None
    single: dict[str, float] = {}
    for text in texts:
        model, equals, amount = text.rpartition("=")
        try:
            usd = float(amount)
        except ValueError:
            usd = math.nan
        if not (math.isfinite(usd) and usd > 0) or (equals and not model):
            raise pytest.UsageError(
                f"{option}={text} is not an amount of US dollars above 0, or MODEL=USD for a single model"
            )
        if model in single or (not model and whole is not None):
            raise pytest.UsageError(f"{option} is given twice for {model or 'the whole run'}: keep one")
        if model:
            single[model] = usd
        else:
            whole = usd
    return whole, tuple(single.items())
