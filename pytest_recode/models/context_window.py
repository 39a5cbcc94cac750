"""What a server states of a model's context window: in its list of models, and when it refuses a prompt."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_recode.models.client import litellm
from pytest_recode.models.providers import NO_KEY
from pytest_recode.models.table import Entry

if TYPE_CHECKING:
    from pytest_recode.models.provider import ProviderModel

_SECONDS = 3.0
"""Time limit of the question: a server that is busy or starting is asked no further, and its refusals state the window."""
_SMALLEST, _LARGEST = 128, 10**8
"""Tokens of a window; other numbers are taken for something else."""

_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})  # of OpenAI, llama.cpp
_TEXT = re.compile(r"\bcontext (length|size|window|limit)\b|\bmaximum model length\b", re.IGNORECASE)
"""In a 400: of servers whose words litellm does not know, such as LM Studio and older releases of vLLM."""
_WINDOW = (
    re.compile(r"[<>]=? ?(\d+)"),
    re.compile(
        r"(?:context (?:length|size|window|limit)|maximum model length|tokens allowed|\blimit)\D{0,30}?(\d+)", re.I
    ),
)
"""The number in a refusal: `210000 tokens > 200000 maximum`, `maximum context length is 8192 tokens`."""
_OF_MODEL = ("max_model_len", "context_length", "context_window", "loaded_context_length", "max_context_length")
"""Keys of a listed model: vLLM's and SGLang's, then those of hosts and desktop servers."""
_OF_META = ("n_ctx", "n_ctx_train")  # of llama.cpp: of the server, of the model


def with_served_window(model: ProviderModel) -> ProviderModel:
    """The model with the context window that a server of the user's own states, and the models that it lists. Sends it one request."""
    key = None if model.api_key == NO_KEY else model.api_key or os.environ.get(model.key_env)
    models = _served(model.entry, key)
    names = tuple(dict.fromkeys(each["id"] for each in models if isinstance(each.get("id"), str)))
    return replace(model, window=_listed(models, model.entry.model) or model.window, served=names)


def _served(entry: Entry, key: str | None) -> list[Mapping[str, Any]]:
    """The list of models of a user's own server; empty if it has none. Sends one request, and only if the user has not stated the window."""
    import httpx

    if entry.api_base is None or entry.context is not None:
        return []
    try:
        response = httpx.get(
            f"{entry.api_base.rstrip('/')}/models",
            headers={"Authorization": f"Bearer {key}"} if key else {},
            timeout=_SECONDS,
        )
        models = response.json()["data"] if response.status_code == 200 else []
    except (httpx.HTTPError, httpx.InvalidURL, ValueError, TypeError, LookupError):
        return []  # what is wrong there, the first call says
    return [each for each in models if isinstance(each, Mapping)] if isinstance(models, list) else []


def _listed(listed: Sequence[Mapping[str, Any]], name: str) -> int | None:
    """The window of the model with this name, or of the only one: some servers call it otherwise."""
    named = [each for each in listed if each.get("id") in (name, name.partition("/")[2])]
    if not named and len(listed) != 1:
        return None
    model = (named or listed)[0]
    meta = model.get("meta")
    stated = [model.get(key) for key in _OF_MODEL]
    stated += [meta.get(key) for key in _OF_META] if isinstance(meta, Mapping) else []
    return next(filter(None, map(_window, stated)), None)


def is_too_long(error: Exception, codes: Iterable[str], status: int, text: str) -> bool:
    """Whether a provider refuses a prompt because it, and room for the answer, do not fit into the window."""
    return (
        isinstance(error, litellm().exceptions.ContextWindowExceededError)
        or bool(_CODES.intersection(codes))
        or (status in (400, 413, 422) and _TEXT.search(text) is not None)
    )


def stated_window(bodies: Iterable[Mapping[str, Any]], text: str) -> int | None:
    """The window in tokens that a refusal states, in a field of its own (llama.cpp) or in words; None if it states none."""
    if window := next(filter(None, (_window(body.get("n_ctx")) for body in bodies)), None):
        return window
    plain = re.sub(r"(?<=\d)[,_](?=\d{3})", "", text)
    numbers = (number for pattern in _WINDOW for number in pattern.findall(plain))
    return next(filter(None, (_window(int(number[:12])) for number in numbers)), None)


def _window(value: object) -> int | None:
    return value if type(value) is int and _SMALLEST <= value <= _LARGEST else None


def too_long_step(window: int | None, characters: int, answer: int | None) -> tuple[str, str]:
    """What to tell the user about a prompt of so many `characters` that was refused: its size, and what to do.

    `answer`: the limit of the answer that the request had, in tokens.
    """
    size = f"the prompt has some {characters // 4:,} tokens"
    if answer is not None:
        size = f"{size}, and max_tokens reserves {answer:,} for the answer"
    fit = f"of {window:,} tokens" if window is not None else "of the model"
    lower = ", lower max_tokens" if answer is not None else ""
    step = (
        f"the context window {fit} is too small for it: serve the model with a larger one, and give that as `context:` in"
        f" --recode-models-file{lower}, or choose another model"
    )
    return size, step
