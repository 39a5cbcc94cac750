"""The list of models of a user's own server: their names, and the context window of the one that is called."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_recode.models.context_window import valid_window
from pytest_recode.models.provider import ProviderModel
from pytest_recode.models.providers import NO_KEY
from pytest_recode.models.table import ModelEntry

_SECONDS = 3.0
"""Time limit of the question: a server that is busy or starting is asked no further, and its refusals state the window."""
_OF_MODEL = ("max_model_len", "context_length", "context_window", "loaded_context_length", "max_context_length")
"""Keys of a listed model: vLLM's and SGLang's, then those of hosts and desktop servers."""
_OF_META = ("n_ctx", "n_ctx_train")  # of llama.cpp: of the server, of the model


def with_served_window(model: ProviderModel) -> ProviderModel:
    """The model with the context window that a server of the user's own states, and the models that it lists. Sends it one request."""
    key = None if model.api_key == NO_KEY else model.api_key or os.environ.get(model.key_env)
    models = _served(model.entry, key)
    names = tuple(dict.fromkeys(each["id"] for each in models if isinstance(each.get("id"), str)))
    return replace(model, window=_listed(models, model.entry.model) or model.window, served=names)


def _served(entry: ModelEntry, key: str | None) -> list[Mapping[str, Any]]:
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
    return next(filter(None, map(valid_window, stated)), None)
