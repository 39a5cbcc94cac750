"""Import litellm on first use, with its output and downloads disabled; run its calls with a time limit; compute their cost.

Importing litellm takes seconds, so it is imported only when a model is checked or created.
"""

from __future__ import annotations

import functools
import gc
import importlib.util
import json
import logging
import math
import os
import queue
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

from pytest_recode.models.table import Entry

T = TypeVar("T")


@functools.cache
def litellm() -> Any:
    """The litellm package, imported once, with its output disabled."""
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


@functools.cache
def listed() -> frozenset[str] | None:
    """The names in litellm's table of prices, read without importing litellm; None if the file is not found."""
    found = importlib.util.find_spec("litellm")
    for folder in (found and found.submodule_search_locations) or ():
        try:
            return frozenset(json.loads((Path(folder) / _PRICES).read_bytes()))
        except (OSError, ValueError):
            continue
    return None


_PRICES = "model_prices_and_context_window_backup.json"


_NOTICED = 1.0
"""Seconds within which Ctrl-C is handled. One that arrives just before a wait starts would be handled only at its end."""


def within(seconds: float, call: Callable[[], T], late: Callable[[], None], after: float) -> T:
    """Return `call()`, or raise `TimeoutError` after `seconds`. Calls `late()` if there is no answer `after` so many seconds.

    The client's own limit does not suffice, because it restarts with every byte that the server sends.
    """
    box: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put((call(), None))
        except BaseException as error:  # noqa: BLE001  raised again in the calling thread
            box.put((None, error))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # litellm's, as above
        threading.Thread(target=run, name="recode-model-call", daemon=True).start()
        deadline = time.monotonic() + seconds
        reported = False
        while (left := deadline - time.monotonic()) > 0:
            with suppress(queue.Empty):
                value, error = box.get(timeout=min(left, _NOTICED))
                break
            if not reported and seconds - left >= after:
                reported = True
                late()
        else:
            raise TimeoutError
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def timeout(seconds: float, connect: float) -> Any:
    """A timeout for the client: `connect` seconds for a connection, and `seconds` between two bytes."""
    import httpx

    return httpx.Timeout(seconds, connect=connect)


def window(entry: Entry) -> int | None:
    """The context window in tokens, from litellm's table; None if the table has no entry for this model.

    Reads the table directly, because litellm's function for it sends requests to some providers.
    """
    table = litellm().model_cost
    provider, _, name = entry.model.partition("/")
    info = table.get(entry.model) or {}
    if not info and table.get(name, {}).get("litellm_provider") == provider:
        info = table[name]
    found = info.get("max_input_tokens") or info.get("max_tokens")
    return found if isinstance(found, int) and found > 0 else None


def priced(entry: Entry) -> bool:
    """Whether the price of this model is known."""
    return cost(entry, 1000, 1000, None) is not None


def cost(entry: Entry, prompt: int, completion: int, response: Any) -> float | None:
    """The cost in US dollars, by the entry's price, else by the provider's bill, else by litellm's table; None if unknown.

    In the table, a price of zero means that the price is unknown.
    """
    if entry.price is not None:
        return (prompt * entry.price.prompt + completion * entry.price.completion) / 1e6
    billed = getattr(getattr(response, "usage", None), "cost", None)
    if isinstance(billed, (int, float)) and billed > 0:
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


def vectors_of(response: Any, count: int) -> list[list[float]] | None:
    """The vectors in a response to `embedding`, in the order of the texts; None if the response is invalid."""
    try:
        rows = sorted(response.data, key=lambda each: each["index"])
        found = [[float(number) for number in each["embedding"]] for each in rows]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    whole = all(row and all(map(math.isfinite, row)) for row in found)
    return found if len(found) == count and whole and len({len(row) for row in found}) == 1 else None
