"""Resolve a model name to its provider in litellm and to its API key."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import replace

from pytest_recode.faults import UserError
from pytest_recode.models import ModelContext
from pytest_recode.models.client import listed, litellm
from pytest_recode.models.table import Entry, close_names, names, resolve

NO_KEY = "none"
"""The key for a user's own server without a key, because litellm requires one."""


def entry_of(context: ModelContext) -> Entry:
    """The entry of a name, with a provider that litellm knows. An alias's api_base takes precedence over the run's. Raises `UserError`."""
    check_listed(context)
    entry = _resolved(context)
    if _known(entry.model):
        return entry
    if entry.api_base is None:
        raise UserError(_unknown(context, entry))
    return replace(entry, model=f"openai/{entry.model}")


def check_listed(context: ModelContext) -> None:
    """Raise `UserError` for a name that litellm cannot know, without importing litellm, which takes seconds."""
    entry = _resolved(context)
    names = listed()
    plain = "/" not in entry.model and ":" not in entry.model
    if (
        plain
        and entry.api_base is None
        and "litellm" not in sys.modules
        and names is not None
        and entry.model not in names
    ):
        raise UserError(_unknown(context, entry))


def _resolved(context: ModelContext) -> Entry:
    entry = resolve(context.name, context.table)
    return replace(entry, api_base=entry.api_base or context.api_base)


def _known(model: str) -> bool:
    """Whether litellm knows a model: any name with a provider, else only listed names, because it accepts any `claude-…`."""
    client = litellm()
    try:
        client.get_llm_provider(model)
    except client.exceptions.BadRequestError:
        return False
    return "/" in model or ":" in model or model in client.model_cost


def _unknown(context: ModelContext, entry: Entry) -> str:
    near = close_names(entry.model, context.table)
    alias = f" (which {context.name} stands for)" if entry.model != context.name else ""
    guess = f" (did you mean {' or '.join(near)}?)" if near else ""
    known = (
        "docs/reference/models.md lists the short names"
        if near
        else f"short names are {', '.join(names(context.table))}"
    )
    return (
        f"unknown model {entry.model!r}{alias}{guess}: {known}; "
        "any litellm name with its provider works, such as openai/gpt-5; for a local server, add --recode-api-base"
    )


# Providers that also support other means of authentication than a key in the environment.
_OTHER_SIGN_IN = frozenset({"azure", "azure_ai", "bedrock", "sagemaker", "vertex_ai", "watsonx", "github_copilot"})


def key_of(name: str, entry: Entry) -> tuple[str | None, str]:
    """The key to send (None if litellm finds it) and its environment variable ("" if unknown).

    Raises `UserError` if the key is missing.
    """
    client = litellm()
    if entry.api_key_env:
        if key := os.environ.get(entry.api_key_env):
            return key, entry.api_key_env
        missing = [entry.api_key_env]
    else:
        provider = client.get_llm_provider(entry.model)[1]
        found = client.validate_environment(entry.model)["missing_keys"]
        missing = [key for key in found if key.endswith("_API_KEY") and provider not in _OTHER_SIGN_IN]
    if not missing:
        return None, _usual(client.get_llm_provider(entry.model)[1])
    if entry.api_base is not None and not entry.api_key_env:
        return NO_KEY, missing[0]
    raise UserError(
        f"model {name} needs {' or '.join(missing)}, which is not set: export it, "
        "or try the offline model --recode-model=sim/graduate"
    )


def _usual(provider: str) -> str:
    """The environment variable with a provider's key: `XAI_API_KEY` for xai, `TOGETHERAI_…` for together_ai."""
    plain = re.sub(r"[\W_]", "", provider.lower())
    wanted = [
        f"{plain}apikey",
        f"{plain}aiapikey",
        f"{plain}authtoken",
        *(["googleapikey"] if plain == "gemini" else []),
    ]
    found = {re.sub(r"[\W_]", "", name.lower()): name for name in os.environ}
    return next((found[name] for name in wanted if name in found), "")
