"""The tokens and the cost of one call, as the provider reports them, or estimated."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from pytest_recode.models import TokenParts, Usage
from pytest_recode.models.litellm_client import cost
from pytest_recode.models.table import ModelEntry

MOST_TOKENS = 10**9
"""Tokens of one call above which a server's count is taken for an error."""


def reported_usage(
    name: str, entry: ModelEntry, response: Any, prompt_size: int, answer_size: int, warn: Callable[[str], None]
) -> Usage:
    """The usage that the provider reports, else an estimate of four characters for each token. Sizes are in characters."""
    reported = getattr(response, "usage", None)
    prompt = getattr(reported, "prompt_tokens", None) or 0
    completion = getattr(reported, "completion_tokens", None) or 0
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in (prompt, completion)):
        warn(
            f"model {name}: the server reports impossible numbers of tokens ({prompt!s:.20} and {completion!s:.20}): they are estimated"
        )
        prompt = completion = 0
    if not prompt and not completion:
        prompt, completion = math.ceil(prompt_size / 4), math.ceil(answer_size / 4)
        response = None
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cost_usd=cost(entry, prompt, completion, response))


def reported_parts(response: Any, usage: Usage) -> TokenParts:
    """The parts of `usage` that the provider reports: those of which there are no more than of the whole."""
    reported = getattr(response, "usage", None)
    prompt, answer = (getattr(reported, f"{name}_tokens_details", None) for name in ("prompt", "completion"))
    read = _count(usage.prompt_tokens, (prompt, "cached_tokens"), (reported, "cache_read_input_tokens"))
    return TokenParts(
        cache_read=read,
        cache_written=_count(
            usage.prompt_tokens - read, (prompt, "cache_creation_tokens"), (reported, "cache_creation_input_tokens")
        ),
        reasoning=_count(usage.completion_tokens, (answer, "reasoning_tokens")),
    )


def _count(most: int, *places: tuple[Any, str]) -> int:
    """The first number that there is at one of these places, which litellm fills differently for different providers."""
    found = (getattr(fields, name, None) for fields, name in places)
    return next((count for count in found if type(count) is int and 0 < count <= most), 0)
