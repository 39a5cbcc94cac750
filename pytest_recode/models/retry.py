"""Classify failures of model calls, and decide whether and when to retry."""

from __future__ import annotations

import email.utils
import json
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import dropwhile, takewhile
from typing import Any

from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models.context_window import is_too_long, stated_window
from pytest_recode.models.no_connection import no_connection
from pytest_recode.models.redaction import known_secrets, redacted
from pytest_recode.verdict import legible
from pytest_recode.wording import some_of

RETRIED = frozenset({ModelFault.RATE_LIMIT, ModelFault.TIMEOUT, ModelFault.CONNECTION, ModelFault.SERVER})

UNREACHABLE = "unreachable"
NOT_SENT = "not sent"
PARTIAL = "partial answer"

_MOST_SERVED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedTry:
    """A try without an answer. `retry_after` is the delay in seconds that the server requested, or None.

    `cause`: `detail` without what differs between calls that fail alike; "": `detail` itself. `window`: see `ModelError`.
    """

    fault: ModelFault
    detail: str  # one line
    retry_after: float | None = None
    unreachable: str = ""  # why there was no connection; "" if there was one
    unsent: bool = False  # the request could not be built
    partial: bool = False  # the provider failed in the middle of an answer
    stopped: bool = (
        False  # no server listens at this address of the user's own machine, and none has answered in this run
    )
    step: str = ""  # what the user can do; "" if unknown
    lasting: bool = False  # another try would fail alike
    silent: bool = False  # no complete answer within the time limit of a call
    missing: str = ""  # the package that litellm did not find; "" if none
    throttled: bool = False  # the provider takes no further request at the moment, and says so
    cause: str = ""
    window: int | None = None

    @property
    def reason(self) -> str:
        """What the ledger records of the request. What was not sent is not billed."""
        if self.unreachable or self.unsent:
            return UNREACHABLE if self.unreachable else NOT_SENT
        return PARTIAL if self.partial else self.fault.value


@dataclass(frozen=True, slots=True, kw_only=True)
class Retries:
    """The retry policy: exponential backoff from `base` seconds with jitter, at most `cap`, or the server's Retry-After.

    No try starts later than `patience` seconds after the first, or than `knocking` seconds after its end if there is no connection, because a
    wrong address stays wrong, or than `knocking_here` seconds if nothing listens on this machine, which the user can see. There are at most `silences` calls without a complete answer, because a server that hangs for minutes
    seldom answers the same request later, and each call may be billed.
    """

    tries: int = 6
    silences: int = 2
    base: float = 2.0
    cap: float = 120.0
    patience: float = 1800.0
    knocking: float = 60.0
    knocking_here: float = 5.0
    wait: Callable[[float], None] = time.sleep
    random: random.Random = field(default_factory=random.Random, repr=False)

    def seconds(self, tried: int, failure: FailedTry) -> float:
        """The delay after try number `tried` (from 1). Jitter only increases it, because Retry-After is a minimum."""
        if failure.retry_after is not None:
            return min(failure.retry_after, self.cap) + self.random.uniform(0, min(self.base, 1.0))
        return min(self.base * 2.0 ** (tried - 1), self.cap) * self.random.uniform(1.0, 1.5)

    def pause(self, tried: int, failure: FailedTry, passed: float, silent: int = 0) -> float | None:
        """Seconds to wait before the next try, or None if there is none.

        `passed`: seconds since the first try began, or since it ended where there is no connection. `silent`: tries without a complete answer within the time limit of a call.
        """
        if failure.fault not in RETRIED or failure.lasting or tried >= self.tries or silent >= self.silences:
            return None
        pause = self.seconds(tried, failure)
        return pause if passed + pause <= self.limit(failure) else None

    def limit(self, failure: FailedTry) -> float:
        """Seconds after the first try in which another one may start."""
        return self.patience if not failure.unreachable else self.knocking_here if failure.stopped else self.knocking

    def error(self, model: str, failure: FailedTry, tried: int, seconds: float, *, lost: bool = False) -> ModelError:
        """The error to raise after the last try; `lost`: the run had already given up on the address."""
        tries = excess = ""
        if lost and failure.silent and tried == 1:
            tries = " (tried once, because this run gave up on this model before)"
        elif lost and not failure.silent:
            tries = " (not retried, because this run gave up on this server before)"
        elif failure.fault in RETRIED and not failure.lasting:
            tries = f" (gave up after {tried} {'try' if tried == 1 else 'tries'} in {seconds:.0f} s)"
        if failure.retry_after is not None and failure.retry_after > self.cap:
            excess = f" (the server asked to wait {failure.retry_after:.0f} s; this run waits at most {self.cap:.0f} s)"
        detail = f"{failure.detail}{tries}{excess}"
        cause = f"{failure.cause or failure.detail}{excess}"
        return ModelError(failure.fault, model, detail, cause=cause, window=failure.window)


def failure(error: Exception) -> FailedTry | None:
    """The FailedTry that an exception from litellm stands for, or None if it is a defect of this program."""
    import openai

    if not isinstance(error, (openai.OpenAIError, UnicodeError, json.JSONDecodeError)):
        return None
    chain = list(_chain(error))
    if lost := no_connection(chain):
        reason = _plain(lost.reason)
        return FailedTry(
            fault=ModelFault.CONNECTION,
            detail=f"cannot be reached ({reason})",
            unreachable=reason,
            step=lost.step,
            lasting=lost.lasting,
        )
    missing = next((part.name or "" for part in chain if isinstance(part, ModuleNotFoundError)), "")
    if missing or _unsent(chain):
        return FailedTry(fault=ModelFault.REQUEST, detail=_detail(error), unsent=True, missing=missing)
    fault, retry_after = _fault(error), _retry_after(error)
    status = getattr(error, "status_code", None)
    return FailedTry(
        fault=fault,
        detail=_detail(error),
        retry_after=retry_after,
        # Anthropic sends 529 if it is overloaded. A 503 may also be a server that is down, unless it says when to come back.
        throttled=fault is ModelFault.RATE_LIMIT or status == 529 or (status == 503 and retry_after is not None),
        window=stated_window(map(_body, chain), _detail(error)) if fault is ModelFault.CONTEXT else None,
    )


def wants_tls(failed: FailedTry) -> FailedTry:
    """A lost connection to a server that speaks TLS at an `http://` address."""
    what, step = "it speaks TLS", "use an address with https:// instead of http://"
    return replace(failed, detail=f"cannot be reached ({what})", unreachable=what, step=step, lasting=True)


def _unsent(chain: Sequence[BaseException]) -> bool:
    """Whether the client could not build the request: a header or an address that HTTP does not have."""
    import httpx

    return any(isinstance(part, (UnicodeEncodeError, httpx.LocalProtocolError, httpx.InvalidURL)) for part in chain)


_NO_CREDIT = frozenset(
    {"insufficient_quota", "exceeded_current_quota", "exceeded_current_quota_error", "arrearage", "billing_error"}
    | {"billing_not_active", "billing_hard_limit_reached", "insufficient_balance", "insufficient_credits"}
)
"""Codes and types of an error with which providers say that an account has no credit."""
_NO_CREDIT_TEXT = ("insufficient_quota", "credit balance is too low", "insufficient balance", "insufficient credits")
_QUOTA_OF_A_DAY = re.compile(
    r"\blimit: 0\b(?!\.)|\b(tokens|requests) per day\b|PerDay|\bdaily (limit|quota)", re.IGNORECASE
)
"""In a 429: a quota that is used up for hours, or that the account does not have at all."""
_MODERATED = ("moderation", "flagged", "content policy", "content_policy", "safety")
_BAD_KEY = ("api key not valid", "api_key_invalid", "invalid api key", "incorrect api key")

_NO_MODEL_CODES = {"model_not_found", "model_decommissioned", "invalid_model"}  # OpenAI, Groq, Mistral
# OpenRouter and DeepSeek send no code of their own
_NO_MODEL = re.compile(r"\bis not a valid model id\b|\bmodel not exist\b")
_NO_TOOLS = re.compile(r"\bno endpoints found that support tool use\b")


def _fault(error: Exception) -> ModelFault:
    import httpx
    import openai

    text = str(error).partition(_TRACEBACK)[0].lower()  # the rest contains the model's reply, which may mention keys
    codes = {code.lower() for part in _chain(error) for code in _codes(part)}
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else 0
    if status == 402 or codes & _NO_CREDIT or any(words in text for words in _NO_CREDIT_TEXT):
        return ModelFault.SPENT
    if status == 429 and _QUOTA_OF_A_DAY.search(text):
        return ModelFault.SPENT
    if status == 403 and any(words in text for words in _MODERATED):
        return ModelFault.REQUEST  # this prompt alone
    if status in (401, 403) or any(words in text for words in _BAD_KEY):
        return ModelFault.AUTH
    if status == 404 and _NO_TOOLS.search(text):
        return ModelFault.NO_TOOLS
    if status in (404, 410) or codes & _NO_MODEL_CODES or (status == 400 and _NO_MODEL.search(text)):
        return ModelFault.UNKNOWN
    if is_too_long(error, codes, status, text):
        return ModelFault.CONTEXT
    # litellm reports a lost connection as status 500; the wrapped exception distinguishes the two
    for part in _chain(error):
        if isinstance(part, (httpx.TimeoutException, openai.APITimeoutError)):
            return ModelFault.TIMEOUT
        if isinstance(part, httpx.TransportError):
            return ModelFault.CONNECTION
    if status == 429:
        return ModelFault.RATE_LIMIT
    if status == 408:
        return ModelFault.TIMEOUT
    if 400 <= status < 500 and status not in (409, 425):
        return ModelFault.REQUEST
    return ModelFault.SERVER


def unknown_step(own: bool, served: Sequence[str]) -> str:
    """What to do about a model that the server does not know. `own`: the server is the user's own; `served`: the models that it lists."""
    step = f"check the model's name{', or the address (--recode-api-base)' if own else ', or name another host of it'}"
    return f"{step}; this server lists {some_of(list(map(legible, served)), _MOST_SERVED)}" if served else step


def request_step(sent: Sequence[str], detail: str) -> str:
    """What the user can do about a refused request; "" if the refusal names neither a parameter in `sent`, nor the system role, nor another API."""
    if "/v1/responses" in detail:  # newer models of OpenAI, with tools
        return (
            "update litellm, which sends such requests there; or set `tools: false` for this model in --recode-models-file, so that the"
            " agent writes its actions as text"
        )
    if named := [name for name in sent if re.search(rf"\b{re.escape(name)}\b", detail)]:
        return (
            f"remove {' and '.join(named)} from what is sent (params in --recode-models-file, or --recode-temperature)"
        )
    if _SYSTEM_ROLE.search(detail):
        return "for a model without a system role, add params: {supports_system_message: false} in --recode-models-file"
    return ""


_SYSTEM_ROLE = re.compile(
    r"\bsystem\b.{0,20}\b(role|message|prompt|instruction)|\brole\b.{0,20}\bsystem\b", re.IGNORECASE
)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _codes(error: BaseException) -> Iterator[str]:
    """The codes and types of an error: the exception's own, and those in the provider's JSON."""
    body = _body(error)
    for code in (getattr(error, "code", None), *(body.get(key) for key in ("code", "type"))):
        if isinstance(code, str):
            yield code


def _body(error: BaseException) -> Mapping[str, Any]:
    """The provider's JSON; {} if there is none."""
    body = getattr(error, "body", None)
    return body if isinstance(body, dict) else _error_in(str(error))


# Prefixes and suffixes that litellm adds to a provider's message.
_BEFORE = re.compile(r"^((litellm\.)?\w+(Error|Exception|Timeout)(\s+\w+Error)?\s*[:-]\s*)+")
_BEHIND = re.compile(r"\.?\s*Handle with `litellm\.\w+`\.?\s*$")


def _detail(error: Exception) -> str:
    """The provider's message in one line, without litellm's additions and without secrets of the environment."""
    if any(isinstance(part, json.JSONDecodeError) for part in _chain(error)):
        return "the server's answer is not JSON"
    text = _untraced(_message_in(_BEHIND.sub("", _BEFORE.sub("", str(error).strip()))))
    return _plain(" ".join(text.split()) or type(error).__name__)


_TRACEBACK = "Traceback (most recent call last):"


def _untraced(text: str) -> str:
    """`text` with a traceback and everything after it replaced by the exception.

    For a reply that it cannot parse, litellm's message is its own traceback followed by the whole reply.
    """
    before, _, trace = text.partition(_TRACEBACK)
    if not trace:
        return text
    lines = dropwhile(lambda line: not line.strip() or line[0].isspace(), trace.split("\n"))  # frames are indented
    raised = " ".join(takewhile(str.strip, lines)).partition("For further information visit")[0]
    return ": ".join(filter(None, (before.strip(), raised.strip())))


def _message_in(text: str) -> str:
    """The message in a provider's JSON, or `text` itself if it is not JSON with a message."""
    message = _error_in(text).get("message")
    return message if isinstance(message, str) and message.strip() else text


def _error_in(text: str) -> Mapping[str, Any]:
    """The error in a provider's JSON, which litellm may have put its own words around; {} if there is none."""
    text = _BEHIND.sub("", _BEFORE.sub("", text.strip()))
    try:
        body = json.loads(text.removeprefix("b'").removesuffix("'"), strict=False)
    except (ValueError, RecursionError):
        return {}
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    error = body.get("error", body) if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {"message": error}


def _plain(text: str) -> str:
    """`text`, shortened and without secrets of the environment."""
    text = redacted(text, known_secrets())
    return text if len(text) <= 500 else f"{text[:500]} …"


def _retry_after(error: Exception) -> float | None:
    """Seconds, from Retry-After (a number or an HTTP date) or OpenAI's retry-after-ms; None if missing."""
    for part in _chain(error):
        for where in (part, getattr(part, "response", None)):
            for name in ("litellm_response_headers", "headers"):
                headers = getattr(where, name, None)
                if headers is None or not hasattr(headers, "get"):
                    continue
                seconds = _number(headers.get("retry-after-ms"), 1000) or _seconds(headers.get("retry-after"))
                if seconds is not None:
                    return seconds
    return None


def _number(value: object, divisor: float = 1.0) -> float | None:
    try:
        number = float(str(value)) / divisor
    except ValueError:
        return None
    return number if 0 <= number < 1e9 else None


def _seconds(value: object) -> float | None:
    if value is None or (number := _number(value)) is not None:
        return None if value is None else number
    try:
        date = email.utils.parsedate_to_datetime(str(value))
    except ValueError:
        return None
    return max(date.timestamp() - time.time(), 0.0)
