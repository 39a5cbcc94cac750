"""Resolve a model name to its provider in litellm and to its API key."""

from __future__ import annotations

import datetime
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import replace

from pytest_recode.faults import UserError
from pytest_recode.models import ModelContext, catalog
from pytest_recode.models.litellm_client import check_release, litellm
from pytest_recode.models.retirement import check_retirement
from pytest_recode.models.table import ModelEntry, resolve
from pytest_recode.records.cost_limits import unpriced
from pytest_recode.wording import any_of

NO_KEY = "none"
"""The key for a user's own server without a key, because litellm requires one."""


def entry_of(context: ModelContext) -> ModelEntry:
    """The entry of a name, with a provider that litellm knows. An alias's api_base takes precedence over the run's. Raises `UserError`."""
    glance(context)
    entry = resolve(context.name, context.table, context.api_base)
    if _known(entry.model):
        return entry
    if entry.api_base is None:
        raise UserError(_unknown(context, entry))
    return replace(entry, model=f"openai/{entry.model}")


def glance(context: ModelContext) -> str:
    """Check what takes no time, without importing litellm, which takes seconds. Returns a line for the user, or "".

    Raises `UserError` for a name that litellm cannot know, a retired model, a missing key, an unknown
    price with a cost limit, and a litellm that carried malware.
    """
    check_release()
    entry = resolve(context.name, context.table, context.api_base)
    if entry.api_base is not None:
        _check_key(context.name, entry)
        _check_price(context, entry)
        return ""
    warning = check_retirement(context.name, entry.model, datetime.datetime.now(tz=datetime.UTC).date())
    plain = "/" not in entry.model and ":" not in entry.model
    registered = getattr(sys.modules.get("litellm"), "model_cost", {})  # this process may have added models
    if plain and catalog.names() and entry.model not in catalog.names() and entry.model not in registered:
        raise UserError(_unknown(context, entry))
    _check_key(context.name, entry)
    _check_price(context, entry)
    return warning


def _known(model: str) -> bool:
    """Whether litellm knows a model: any name with a provider, else only listed names, because it accepts any `claude-…`."""
    client = litellm()
    try:
        client.get_llm_provider(model)
    except client.exceptions.BadRequestError:
        return False
    return "/" in model or ":" in model or model in client.model_cost


def _unknown(context: ModelContext, entry: ModelEntry) -> str:
    today = datetime.datetime.now(tz=datetime.UTC).date()
    alias = f" (which {context.name} stands for)" if entry.model != context.name else ""
    near = catalog.close(entry.model, context.table, today)
    guess = f" (did you mean {', '.join(near)}?)" if near else ""
    served = [one.full_name for one in catalog.hosts(entry.model, today)] if "/" not in entry.model else []
    host = f"name its provider, such as {any_of(served[:3])}" if served else "name a model that litellm lists"
    return (
        f"unknown model {entry.model!r}{alias}{guess}: {host}; any model works with its provider, such as openai/gpt-6-sol; "
        "for a local server, add --recode-api-base; for names of your own, --recode-models-file"
    )


# Providers that also support other means of authentication than a key in the environment.
_OTHER_SIGN_IN = frozenset({"azure", "azure_ai", "bedrock", "sagemaker", "vertex_ai", "watsonx", "github_copilot"})


def key_of(name: str, entry: ModelEntry) -> tuple[str | None, str]:
    """The key to send (None if litellm finds it) and its environment variable ("" if unknown).

    Raises `UserError` if the key is missing.
    """
    _check_key(name, entry)
    if entry.api_key_env:
        return os.environ[entry.api_key_env], entry.api_key_env
    client = litellm()
    provider = client.get_llm_provider(entry.model)[1]
    unset = client.validate_environment(entry.model)["missing_keys"]
    missing = [key for key in unset if key.endswith("_API_KEY") and provider not in _OTHER_SIGN_IN]
    if not missing:
        return None, _usual(provider)
    if entry.api_base is not None:
        return NO_KEY, missing[0]
    raise UserError(no_key(name, missing))


def _check_key(name: str, entry: ModelEntry) -> None:
    """Raise `UserError` for a missing key, as far as its variable is known without litellm."""
    if entry.api_key_env:
        accepted: Sequence[str] = [entry.api_key_env]
    elif entry.api_base is None:
        accepted = catalog.lacking().keys.get(entry.model.partition("/")[0], ())
    else:
        accepted = ()
    if accepted and not any(os.environ.get(variable, "").strip() for variable in accepted):
        raise UserError(no_key(name, accepted))


def _check_price(context: ModelContext, entry: ModelEntry) -> None:
    """Raise `UserError` for a cost limit with an unknown price, as far as that is known without litellm, which computes those of some hosts."""
    if context.max_cost is None or entry.price is not None or ":" in entry.model:
        return
    listing = catalog.listed_as(entry.model) or catalog.listings().get(entry.model)
    of_maker = "/" not in entry.model or entry.model.partition("/")[0] in catalog.lacking().keys
    unlisted = listing is None and of_maker and entry.model not in catalog.names()
    if unlisted or (listing is not None and listing.prompt_price + listing.completion_price <= 0):
        raise UserError(unpriced(context.name, context.max_cost))


def no_key(name: str, variables: Sequence[str]) -> str:
    """The message that no variable has a key. A CI system sets a secret that does not exist to an empty text."""
    empty = [variable for variable in variables if variable in os.environ]
    fault = (
        f"but {empty[0]} is empty, as with a secret that does not exist: give it a value"
        if empty
        else "which is not set: export it"
    )
    return f"model {name} needs {any_of(variables)}, {fault}, or try the offline model --recode-model=sim/graduate"


def _usual(provider: str) -> str:
    """The environment variable with a provider's key: `XAI_API_KEY` for xai, `TOGETHERAI_…` for together_ai."""
    plain = re.sub(r"[\W_]", "", provider.lower())
    spellings = [
        f"{plain}apikey",
        f"{plain}aiapikey",
        f"{plain}authtoken",
        *(["googleapikey"] if plain == "gemini" else []),
    ]
    variables = {re.sub(r"[\W_]", "", name.lower()): name for name in os.environ}
    return next((variables[name] for name in spellings if name in variables), "")
