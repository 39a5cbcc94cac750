"""litellm itself: imported when first needed, silenced, timed; and what a call costs.

Importing it takes seconds, so nothing here does until a model is checked or made; it never fetches anything.
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
    """The package, imported once, quiet."""
    # Read while it is imported: its own table of prices instead of a download, and no .env file of whatever directory
    # this happens to run in.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS", "True")
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
    with warnings.catch_warnings(), _uncollected():
        warnings.simplefilter("ignore")  # of its dependencies; under -W error they would end the run
        import litellm as package
    package.telemetry = False
    package.suppress_debug_info = True
    package.disable_hf_tokenizer_download = True
    for name in ("LiteLLM", "LiteLLM Proxy", "LiteLLM Router"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)  # what matters of it is raised
    return package


@contextmanager
def _uncollected() -> Iterator[None]:
    """Looking for garbage among some thousand modules takes a fifth of the time that importing them does, and finds none: nor is it
    looked for among them later."""
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
    """The names in litellm's table of prices, read in a moment and without importing it; None where that is not in its place."""
    found = importlib.util.find_spec("litellm")
    for folder in (found and found.submodule_search_locations) or ():
        try:
            return frozenset(json.loads((Path(folder) / _PRICES).read_bytes()))
        except (OSError, ValueError):
            continue
    return None


_PRICES = "model_prices_and_context_window_backup.json"


_NOTICED = 1.0
"""Seconds within which Ctrl-C is: one that comes just before a wait begins would be noticed only at its end."""


def within(seconds: float, call: Callable[[], T], late: Callable[[], None], after: float) -> T:
    """`call()`, or `TimeoutError`. The client's own limit restarts with every byte that a server drips. `late()` is called where there
    is no answer `after` so many seconds."""
    box: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def run() -> None:
        try:
            box.put((call(), None))
        except BaseException as error:  # noqa: BLE001  raised again where it was asked for
            box.put((None, error))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # litellm's, as above
        threading.Thread(target=run, name="recode-model-call", daemon=True).start()
        deadline = time.monotonic() + seconds
        told = False
        while (left := deadline - time.monotonic()) > 0:
            with suppress(queue.Empty):
                value, error = box.get(timeout=min(left, _NOTICED))
                break
            if not told and seconds - left >= after:
                told = True
                late()
        else:
            raise TimeoutError
    if error is not None:
        raise error
    return value  # type: ignore[return-value]


def timeout(seconds: float, connect: float) -> Any:
    """For the client: `connect` seconds for a connection, and `seconds` between two bytes."""
    import httpx

    return httpx.Timeout(seconds, connect=connect)


def window(entry: Entry) -> int | None:
    """Tokens that a prompt and its answer may have together, by litellm's table; None where it has none for this model.

    Read from the table itself: litellm's function for it asks the servers of some providers.
    """
    table = litellm().model_cost
    provider, _, name = entry.model.partition("/")
    info = table.get(entry.model) or {}
    if not info and table.get(name, {}).get("litellm_provider") == provider:
        info = table[name]
    found = info.get("max_input_tokens") or info.get("max_tokens")
    return found if isinstance(found, int) and found > 0 else None


def priced(entry: Entry) -> bool:
    """Whether calls of this model can be counted in dollars."""
    return cost(entry, 1000, 1000, None) is not None


def cost(entry: Entry, prompt: int, completion: int, response: Any) -> float | None:
    """US dollars: by the entry's own price, else as the provider billed it, else by litellm's table; None: not known.

    The table holds zeros for names whose price it has lost, so that zero means unknown there.
    """
    if entry.price is not None:
        return (prompt * entry.price.prompt + completion * entry.price.completion) / 1e6
    billed = getattr(getattr(response, "usage", None), "cost", None)
    if isinstance(billed, (int, float)) and billed > 0:
        return float(billed)
    client = litellm()
    try:
        sample = sum(client.cost_per_token(model=entry.model, prompt_tokens=1000, completion_tokens=1000))
    except Exception:  # noqa: BLE001  a bare Exception says that a model is not in the table
        return None
    if sample <= 0:
        return None
    if response is not None:  # with its cached and reasoning tokens
        return float(client.completion_cost(completion_response=response, model=entry.model))
    return float(sum(client.cost_per_token(model=entry.model, prompt_tokens=prompt, completion_tokens=completion)))


def vectors_of(response: Any, count: int) -> list[list[float]] | None:
    """Of an answer to `embedding`, in the order of its texts; None where it is none."""
    try:
        rows = sorted(response.data, key=lambda each: each["index"])
        found = [[float(number) for number in each["embedding"]] for each in rows]
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    whole = all(row and all(map(math.isfinite, row)) for row in found)
    return found if len(found) == count and whole and len({len(row) for row in found}) == 1 else None
