"""Import litellm on first use, with its output and downloads disabled; limit the time of its calls; compute their cost.

Importing litellm takes seconds, so it is imported only when a model is checked or created.
"""

from __future__ import annotations

import asyncio
import functools
import gc
import importlib.metadata
import logging
import math
import os
import warnings
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.models.table import ModelEntry, Price

COMPROMISED = "!=1.82.7,!=1.82.8,!=1.107.*"
"""The releases of litellm that are not among those that carried malware, or followed one that did."""


def check_release() -> None:
    """Raise `UserError` if the installed litellm is a release that carried malware. Does not import it."""
    from packaging.specifiers import SpecifierSet

    try:
        installed = importlib.metadata.version("litellm")
    except importlib.metadata.PackageNotFoundError:
        return
    if not SpecifierSet(COMPROMISED).contains(installed, prereleases=True):
        raise UserError(
            f"litellm {installed} is refused: releases of this number carried malware. Install another (pip install 'litellm{COMPROMISED}'),"
            " and replace every key and password that this machine has had since; docs/how-to/install-safely.md says how to pin packages"
        )


@functools.cache
def litellm() -> Any:
    """The litellm package, imported once, with its output disabled. Raises `UserError` for a release that carried malware."""
    check_release()
    # litellm reads these while it is imported: use its bundled table of prices instead of a download, and read no .env file of
    # the current directory.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    with warnings.catch_warnings(), _uncollected():
        warnings.simplefilter("ignore")  # warnings of its dependencies would end the run under -W error
        import litellm as package
    package.telemetry = False
    package.suppress_debug_info = True
    package.disable_hf_tokenizer_download = True
    package.disable_aiohttp_transport = True  # with httpx, the reason for a failed connection is part of the exception
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # errors are raised as exceptions
    return package


@contextmanager
def _uncollected() -> Iterator[None]:
    """Disable garbage collection during the import, and exclude the imported objects from later collections.

    Collection would take a fifth of the import time and find nothing.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collects:
            gc.enable()


def timeout(seconds: float, connect: float) -> Any:
    """A timeout for the client: `connect` seconds for a connection, and `seconds` between two bytes."""
    import httpx

    return httpx.Timeout(seconds, connect=connect)


async def within(seconds: float, call: Callable[[], Awaitable[Any]], late: Callable[[], None], after: float) -> Any:
    """Return `await call()`, or raise `TimeoutError` after `seconds`. Calls `late()` if there is no answer `after` so many seconds.

    The client's own limit does not suffice, because it restarts with every byte that the server sends.
    """
    reminder = asyncio.get_running_loop().call_later(after, late)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of litellm and its dependencies
            async with asyncio.timeout(seconds):
                return await call()
    finally:
        reminder.cancel()


def window(entry: ModelEntry) -> int | None:
    """The context window in tokens: the entry's, else that of litellm's table; None if neither has one.

    Reads the table directly, because litellm's function for it sends requests to some providers.
    """
    if entry.context is not None:
        return entry.context
    info = _info(entry)
    found = info.get("max_input_tokens") or info.get("max_tokens")
    return found if isinstance(found, int) and found > 0 else None


def _info(entry: ModelEntry) -> Mapping[str, Any]:
    """The model's entry in litellm's table; empty if it has none."""
    table = litellm().model_cost
    provider, _, name = entry.model.partition("/")
    info: Mapping[str, Any] = table.get(entry.model) or {}
    if not info and table.get(name, {}).get("litellm_provider") == provider:
        info = table[name]
    return info


def priced(entry: ModelEntry) -> bool:
    """Whether the price of this model is known."""
    return cost(entry, 1000, 1000, None) is not None


def list_price(entry: ModelEntry) -> Price | None:
    """The price without discounts, by the entry or by litellm's table; None if unknown. Of calls of usual length: some models have
    a higher price for long prompts."""
    prompt, completion = cost(entry, 1000, 0, None), cost(entry, 0, 1000, None)
    return None if prompt is None or completion is None else Price(prompt=1000 * prompt, completion=1000 * completion)


def cost(entry: ModelEntry, prompt: int, completion: int, response: Any) -> float | None:
    """The cost in US dollars, by the entry's price, else by the provider's bill, else by litellm's table; None if unknown.

    In the table, a price of zero means that the price is unknown.
    """
    if entry.price is not None:
        return (prompt * entry.price.prompt + completion * entry.price.completion) / 1e6
    billed = getattr(getattr(response, "usage", None), "cost", None)
    if isinstance(billed, (int, float)) and not isinstance(billed, bool) and 0 < billed < math.inf:
        return float(billed)
    client = litellm()
    try:
        sample = sum(client.cost_per_token(model=entry.model, prompt_tokens=1000, completion_tokens=1000))
    except Exception:  # noqa: BLE001  litellm raises Exception for a model that is not in the table
        return None
    if sample <= 0:
        return None
    if response is not None:  # counts cached and reasoning tokens
        return float(client.completion_cost(completion_response=response, model=entry.model))
    return float(sum(client.cost_per_token(model=entry.model, prompt_tokens=prompt, completion_tokens=completion)))


def highest_cost(entry: ModelEntry, prompt: int, asked: int = 0) -> tuple[int, float]:
    """The most tokens that a call with so many prompt tokens may take, and their cost in US dollars; 0 if the price is unknown.

    `asked`: the limit of the answer that an agent asks for, which counts for a model without a limit of its own.
    """
    answer = longest_answer(entry, asked)
    return prompt + answer, cost(entry, prompt, answer, None) or 0.0


def longest_answer(entry: ModelEntry, asked: int = 0) -> int:
    """The maximum number of tokens of an answer: the request's own limit, else that of litellm's table, else what is usual or `asked` for."""
    return answer_limit(entry) or listed_answer(entry) or max(asked, _USUAL_ANSWER)


def listed_answer(entry: ModelEntry) -> int | None:
    """The maximum number of tokens of an answer in litellm's table; None if it has none."""
    listed = _info(entry).get("max_output_tokens")
    return listed if isinstance(listed, int) and listed > 0 else None


def reads_images(entry: ModelEntry) -> bool:
    """Whether the model reads images. Of one that litellm's table does not have, this is assumed."""
    info = _info(entry)
    return not info or bool(info.get("supports_vision"))


def is_claude(entry: ModelEntry) -> bool:
    """Whether Anthropic made the model, whoever serves it: its API refuses options that others take. Only the name says so where another
    provider serves it."""
    return litellm().get_llm_provider(entry.model)[1] == "anthropic" or "claude" in entry.model


def answer_limit(entry: ModelEntry) -> int | None:
    """The limit of an answer that each request has, in tokens; None if it has none."""
    own = entry.params.get("max_completion_tokens") or entry.params.get("max_tokens")
    return own if isinstance(own, int) else None


_USUAL_ANSWER = 8192
"""Maximum tokens of an answer of a model that litellm's table does not have."""


def takes_temperature(entry: ModelEntry, temperature: float) -> bool:
    """Whether requests to this model include `temperature`. Those to a model of the user's own server do."""
    client = litellm()
    try:
        model, provider, *_ = client.get_llm_provider(entry.model)
    except client.exceptions.BadRequestError:
        return True
    given = {"model": model, "custom_llm_provider": provider, "temperature": temperature, "drop_params": True}
    return "temperature" in client.utils.get_optional_params(**given)


def vectors_of(response: Any, count: int) -> list[list[float]] | None:
    """The vectors in a response to `embedding`, in the order of the texts; None if the response is invalid."""
    try:
        rows = sorted(response.data, key=lambda row: row["index"])
        vectors = [[float(number) for number in row["embedding"]] for row in rows]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    whole = all(row and all(map(math.isfinite, row)) for row in vectors)
    return vectors if len(vectors) == count and whole and len({len(row) for row in vectors}) == 1 else None
