"""The gateway: one process per run that calls all models, for all workers.

It alone holds litellm, API keys, prices, the run's ledger and rate limits. Workers send requests over a Unix socket (`client.py`), in
OpenAI's chat completions format. The controlling process starts the gateway, restarts it if it dies, and ends it (`supervisor.py`).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from pytest_recode.models import Caller, GatewayAddress
from pytest_recode.usage import RateLimit

TOKEN_PREFIX = "recode-"
NUMBER = "recode_number"
"""Key of a request's body: how many times the caller has sent this request, including this one. For cassettes."""

TURN = "recode_turn"
"""Key of a request's body: the number of the turn that the call belongs to. Without it, the answer is not kept for a resumed run."""
DIALECT = "recode_dialect"
"""Key of a request's body, for an agent's own call: the name of its dialect (`dialects/`)."""
FIRST_TURN = "recode_first_turn"
"""Key of a request's body, for calls of a first turn that episodes share: the key of this turn."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFacts:
    """Facts about a model that a caller needs before its first call.

    `window`: the context window in tokens, or None if unknown. `takes_temperature`: whether requests include the temperature that was
    asked about. `answer`: the limit of an answer in tokens that requests have, or None.
    """

    native_tools: bool
    window: int | None
    takes_temperature: bool
    answer: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """The configuration of a gateway. `workers`: the number of calls that may be in flight at the same time.

    `max_cost` is in US dollars, `max_wait`, `call_seconds` and `alive_seconds` are in seconds; the last is the time without an event
    after which an agent's own call gets one. `limits` are by pattern of model names, as in fnmatch; the
    first that matches counts. `table`: the user's own models.
    """

    address: GatewayAddress
    run: str = ""  # the id of the session
    out: str  # the path of its directory
    models: bool = True  # False: a gateway that only serves the directory to workers on other hosts
    workers: int = 1
    max_cost: float | None = None
    max_cost_of: Mapping[str, float] = field(default_factory=dict)
    max_wait: float = 1800.0
    call_seconds: float = 600.0
    alive_seconds: float = 4.0
    api_base: str | None = None
    table: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    limits: Mapping[str, RateLimit] = field(default_factory=dict)
    cassette: str | None = None  # path of its directory
    cassette_mode: str = "auto"
    options: Mapping[str, Any] = field(default_factory=dict)  # that change requests, with their values; for messages

    def dumped(self) -> str:
        """One line of JSON."""
        return json.dumps(asdict(self))

    @staticmethod
    def loaded(text: str) -> GatewayConfig:
        fields: dict[str, Any] = json.loads(text)
        fields["address"] = GatewayAddress(**fields["address"])
        fields["limits"] = {name: RateLimit(**limit) for name, limit in fields["limits"].items()}
        return GatewayConfig(**fields)


def token(secret: str, caller: Caller) -> str:
    """The caller's bearer token. It names the caller and is signed, so that a restarted gateway accepts it, too."""
    name = json.dumps([caller.episode, caller.attempt]).encode()
    return f"{TOKEN_PREFIX}{base64.urlsafe_b64encode(name).decode()}.{_signature(secret, name)}"


def caller_of(secret: str, credential: str) -> Caller | None:
    """The caller that `token` named; None if the token is not valid."""
    name, _, signature = credential.removeprefix(TOKEN_PREFIX).partition(".")
    try:
        text = base64.urlsafe_b64decode(name)
    except ValueError:
        return None
    if not hmac.compare_digest(_signature(secret, text).encode(), signature.encode("utf-8", "replace")):
        return None
    episode, attempt = json.loads(text)
    return Caller(episode=episode, attempt=attempt)


def worker_token(secret: str, worker: str) -> str:
    """The bearer token of a worker on another host, for the run's files and ledger, which no caller's token opens."""
    return f"{_WORKER}{worker}.{_signature(secret, _WORKER.encode() + worker.encode())}"


def worker_of(secret: str, credential: str) -> str | None:
    """The worker that `worker_token` named; None if the token is not valid."""
    if not credential.startswith(_WORKER):
        return None
    worker = credential.removeprefix(_WORKER).partition(".")[0]
    expected = worker_token(secret, worker)
    return worker if hmac.compare_digest(expected.encode(), credential.encode("utf-8", "replace")) else None


_WORKER = "recode-worker-"


def _signature(secret: str, name: bytes) -> str:
    return hmac.new(secret.encode(), name, hashlib.sha256).hexdigest()
