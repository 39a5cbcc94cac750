"""Usage: the tokens and the cost of model calls."""

from __future__ import annotations

from dataclasses import dataclass, field

from pytest_recode.schema.rules import Count, NonNegative


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """Tokens and dollars. `cost_usd` is None, never 0, if the price is unknown."""

    prompt_tokens: Count = 0
    completion_tokens: Count = 0
    cost_usd: NonNegative | None = 0.0

    def __add__(self, other: Usage) -> Usage:
        known = self.cost_usd is not None and other.cost_usd is not None
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cost_usd=(self.cost_usd or 0.0) + (other.cost_usd or 0.0) if known else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenParts:
    """Tokens of one call that its provider counts apart. Of the prompt: those read from the provider's cache, and those written to it. Of the
    answer: those of reasoning. 0 if it does not tell."""

    cache_read: int = 0
    cache_written: int = 0
    reasoning: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Timing:
    """Seconds of an answered call: `waited` for rate limits, other calls and retries, `answering` for the provider's answer."""

    waited: float = 0.0
    answering: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDetails:
    """What the gateway knows about an answer besides its usage.

    `call`: the id of the call, "" for an answer from a cassette. `replayed`: the answer is from a cassette, and cost `recorded_usd` US
    dollars when it was recorded (None: unknown).
    """

    call: str = ""
    timing: Timing = field(default_factory=Timing)
    replayed: bool = False
    recorded_usd: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RateLimit:
    """Limits of the calls of one model. None: no limit, or for `concurrency` an adaptive one.

    `rpm`: requests per minute. `tpm`: tokens per minute, prompt and completion. `concurrency`: calls at the same time.
    """

    rpm: int | None = None
    tpm: int | None = None
    concurrency: int | None = None
