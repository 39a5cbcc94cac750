"""The model that a name stands for: one of the user's own aliases, or a model that litellm lists.

A user's file is YAML, alias -> fields (docs/reference/models.md):

    my-llama: {model: hosted_vllm/llama-3.3-70b, api_base: "http://gpu:8000/v1", price: {prompt: 0, completion: 0}}
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.models import catalog
from pytest_recode.models.address import is_address
from pytest_recode.wording import guess


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    completion: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEntry:
    """The model of a name. `price` and `tools` override litellm's table; None leaves it in effect."""

    model: str  # litellm's name, with its provider
    api_base: str | None = None
    api_key_env: str = ""  # the environment variable with the key; "" is the provider's usual one
    params: Mapping[str, Any] = field(default_factory=dict)  # added to every request
    cutoff: str = ""  # the knowledge cutoff as its maker states it: "2024-05" or "2024-05-31"; "" unknown
    price: Price | None = None
    tools: bool | None = None  # whether the model takes native tool calls
    context: int | None = None  # its context window in tokens, which overrides litellm's; None leaves that in effect
    rpm: int | None = None  # limits of the account, see RateLimit
    tpm: int | None = None
    concurrency: int | None = None


_FIELDS = (
    "model",
    "api_base",
    "api_key_env",
    "params",
    "cutoff",
    "price",
    "tools",
    "context",
    "rpm",
    "tpm",
    "concurrency",
)
# Fields that the run sets in every request; `params` must not contain them.
_OWN_PARAMS = frozenset(
    {"model", "messages", "tools", "response_format", "stream", "n", "timeout", "api_base", "base_url"}
    | {"num_retries", "max_retries", "drop_params"}
)
_SECRET = re.compile(r"(api[-_]?key|secret|passw|authorization|access[-_]?token|bearer|credential)", re.IGNORECASE)
_CUTOFF = re.compile(r"(\d{4}(-\d{2}){0,2})?")


def resolve(name: str, user_table: Mapping[str, Mapping[str, Any]], api_base: str | None = None) -> ModelEntry:
    """What `name` stands for: the user's table first, then the model that litellm lists, else `name` itself (unchecked).

    A user's entry takes missing values from the model that it names. `api_base`: the address of the run, if not the provider's.
    """
    fields = user_table.get(name)
    if fields is None:
        return replace(_known(name, own=api_base is not None), api_base=api_base)
    values = dict(fields)
    values["api_base"] = values.get("api_base") or api_base
    base = _known(values["model"], own=values["api_base"] is not None)
    values["model"] = base.model
    values["params"] = {**base.params, **values.get("params", {})}
    if isinstance(values.get("price"), Mapping):
        values["price"] = Price(**values["price"])
    return replace(base, **values)


def key_variables(user_table: Mapping[str, Mapping[str, Any]]) -> frozenset[str]:
    """The environment variables that the tables name for keys."""
    own = (entry.get("api_key_env") for entry in user_table.values())
    return frozenset(filter(None, (*own, *(key for keys in catalog.lacking().keys.values() for key in keys))))


def _known(name: str, *, own: bool) -> ModelEntry:
    """`own`: the model is on a server of the user, which has names of its own; only litellm's exact names are recognized there."""
    if name.startswith("sim/"):
        return ModelEntry(model=name)
    more = catalog.lacking()
    makers = more.keys
    listing = alias = None
    if own:
        listing = catalog.find(name) if "/" not in name and name in catalog.names() else None
    elif "/" not in name or name.partition("/")[0] in makers:  # other hosts let users choose names
        alias = more.models.get(catalog.plain(name), {}).get("model") if "/" not in name else None
        listing = None if alias else catalog.find(name)
    model = alias or name
    if listing is not None:
        model = listing.full_name if listing.provider in makers else listing.name
    return ModelEntry(
        model=model,
        params=more.params.get(model.partition("/")[0], {}),
        cutoff=str(more.models.get(catalog.model_name(model), {}).get("cutoff", "")),
    )


def load_table(path: Path) -> dict[str, dict[str, Any]]:
    """Read and check a user's table. Raises a `UserError` that names the file, the alias, the key and the allowed values."""
    import yaml

    try:
        table = yaml.safe_load(path.read_text("utf-8"))
    except FileNotFoundError:
        raise UserError(f"{path}: no such file: --recode-models-file takes a YAML file of alias -> fields") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: is not YAML: {' '.join(str(error).split())}") from None
    if table is None:
        return {}
    if not isinstance(table, dict):
        raise UserError(f"{path}: must map aliases to fields, such as `my-model: {{model: openai/gpt-6-sol}}`")
    return {_alias(path, alias): _fields(f"{path}: {alias}", fields) for alias, fields in table.items()}


def _alias(path: Path, alias: object) -> str:
    if not isinstance(alias, str) or not re.fullmatch(r"[\w.:/@+-]+", alias):
        raise UserError(f"{path}: {alias!r} is not a valid model name: use letters, digits and any of . _ - : / @ +")
    if alias.startswith("sim/"):
        raise UserError(
            f"{path}: {alias!r}: names that start with sim/ are reserved for the built-in simulated models: choose another name"
        )
    return alias


def _fields(where: str, fields: object) -> dict[str, Any]:
    if isinstance(fields, str):
        fields = {"model": fields}
    if not isinstance(fields, dict):
        raise UserError(f"{where}: must be a model's name or a mapping of {', '.join(_FIELDS)}")
    for key in fields:
        if key not in _FIELDS:
            if _SECRET.search(str(key)):
                raise UserError(f"{where}: {_keyless(str(key))}")
            raise UserError(f"{where}: unknown key {key!r}{guess(str(key), _FIELDS)}: allowed are {', '.join(_FIELDS)}")
    if "model" not in fields:
        raise UserError(f"{where}: missing key 'model': the name of a model such as openai/gpt-6-sol")
    return {key: _CHECKS[key](f"{where}: {key}", value) for key, value in fields.items()}


def _text(where: str, value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise UserError(f"{where}: must be a text, not {value!r}")
    return value.strip()


def _url(where: str, value: object) -> str:
    if not is_address(text := _text(where, value)):
        raise UserError(
            f"{where}: must be an address such as http://127.0.0.1:8000/v1 (with a port up to 65535), not {text!r}"
        )
    return text


def _variable(where: str, value: object) -> str:
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", text := _text(where, value)):
        raise UserError(f"{where}: must be the name of an environment variable, such as MY_API_KEY, not the key itself")
    return text


def _params(where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise UserError(f"{where}: must be a mapping of request parameters, such as {{max_tokens: 32000}}")
    for name in value:
        if name in _OWN_PARAMS:
            raise UserError(f"{where}: {name!r} is set by the run itself: remove it")
    if secret := _secret_in(value):
        raise UserError(f"{where}: {_keyless(secret)}")
    return {str(name): setting for name, setting in value.items()}


def _secret_in(value: object) -> str:
    """The first key, at any depth, whose name suggests a secret; "" if there is none."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if found := str(name) if _SECRET.search(str(name)) else _secret_in(inner):
                return found
    if isinstance(value, list):
        return next(filter(None, map(_secret_in, value)), "")
    return ""


def _keyless(key: str) -> str:
    return f"{key!r} looks like a secret: keys come from the environment only; name the variable with api_key_env"


def _cutoff(where: str, value: object) -> str:
    if isinstance(value, datetime.date):  # YAML reads 2024-05-31 as a date
        return value.isoformat()[:10]
    text = str(value) if isinstance(value, (str, int)) else ""
    if not _CUTOFF.fullmatch(text) or (not text and value != ""):
        raise UserError(f"{where}: must be a date such as 2024-05 or 2024-05-31, not {value!r}")
    return text


def _price(where: str, value: object) -> dict[str, float]:
    if (
        not isinstance(value, dict)
        or set(value) != {"prompt", "completion"}
        or not all(isinstance(x, (int, float)) and x >= 0 for x in value.values())
    ):
        raise UserError(f"{where}: must be {{prompt: X, completion: Y}}, US dollars per million tokens, not {value!r}")
    return {key: float(x) for key, x in value.items()}


def _flag(where: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise UserError(f"{where}: must be true or false, not {value!r}")
    return value


def _positive(where: str, value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UserError(f"{where}: must be a whole number from 1, not {value!r}")
    return value


_CHECKS: Mapping[str, Any] = {
    "model": _text,
    "api_base": _url,
    "api_key_env": _variable,
    "params": _params,
    "cutoff": _cutoff,
    "price": _price,
    "tools": _flag,
    "context": _positive,
    "rpm": _positive,
    "tpm": _positive,
    "concurrency": _positive,
}
