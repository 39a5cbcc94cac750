"""The models that litellm lists: provider, price and date of retirement, read from its file of prices without importing litellm, which takes seconds.

`lacking.yaml` beside this module has what litellm's file lacks.
"""

from __future__ import annotations

import datetime
import difflib
import functools
import importlib.util
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FILE = "model_prices_and_context_window_backup.json"
_CLASS = 4
"""Models whose prices differ by at most this factor are of one class, if their names do not say so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A model at one provider. `name` is litellm's, with or without the provider; prices are in US dollars per token, 0 unknown."""

    name: str
    provider: str
    mode: str = "chat"
    prompt_price: float = 0.0
    completion_price: float = 0.0
    retired: datetime.date | None = None
    source: str = ""  # the page that states the date of retirement
    successor: str = ""  # the model that its maker recommends instead

    def live(self, today: datetime.date) -> bool:
        return self.retired is None or today < self.retired

    @property
    def full_name(self) -> str:
        """The name with its provider."""
        return self.name if self.name.startswith(f"{self.provider}/") else f"{self.provider}/{self.name}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lacking:
    """What litellm's file lacks: by provider, the variables with its key and parameters of every request; by model, everything else."""

    keys: Mapping[str, tuple[str, ...]]
    params: Mapping[str, Mapping[str, Any]]
    models: Mapping[str, Mapping[str, Any]]  # by `plain` name


@functools.cache
def lacking() -> Lacking:
    import yaml

    data = yaml.safe_load(Path(__file__).with_name("lacking.yaml").read_text("utf-8"))
    providers = data["providers"]
    return Lacking(
        keys={name: tuple(fields["keys"]) for name, fields in providers.items()},
        params={name: fields.get("params", {}) for name, fields in providers.items()},
        models={plain(name): fields for name, fields in data["models"].items()},
    )


@functools.cache
def _file() -> Mapping[str, Mapping[str, Any]]:
    """litellm's file of models; empty if it is not found."""
    found = importlib.util.find_spec("litellm")
    for folder in (found and found.submodule_search_locations) or ():
        try:
            return dict(json.loads((Path(folder) / _FILE).read_bytes()))
        except (OSError, ValueError):
            continue
    return {}


def names() -> Set[str]:
    """All names that litellm lists; empty if its file is not found."""
    return _file().keys()


@functools.cache
def listings() -> Mapping[str, Listing]:
    """The models that litellm lists, by its names, without aliases such as `gpt-sol-latest`."""
    return {
        name: _listing(name, fields)
        for name, fields in _file().items()
        if fields.get("litellm_provider") and name != "sample_spec" and "alias_of" not in fields
    }


def _listing(name: str, fields: Mapping[str, Any]) -> Listing:
    try:
        retired = datetime.date.fromisoformat(fields.get("deprecation_date", ""))
    except ValueError:
        retired = None
    return Listing(
        name=name,
        provider=fields["litellm_provider"],
        mode=fields.get("mode") or "",
        prompt_price=fields.get("input_cost_per_token") or 0.0,
        completion_price=fields.get("output_cost_per_token") or 0.0,
        retired=retired,
        source=fields.get("deprecation_source", ""),
        successor=fields.get("successor_model", ""),
    )


def plain(name: str) -> str:
    """A name in the spelling that all its spellings share: `Claude_Opus.5.5` and `claude-opus-5-5`."""
    return re.sub(r"[\s._-]+", "-", name.lower()).strip("-")


def model_name(name: str) -> str:
    """The plain name of a model without provider and date of release: `claude-sonnet-4-5` of `anthropic/claude-sonnet-4-5-20250929`."""
    return re.sub(r"[-@](20\d\d-?\d\d-?\d\d|\d{4}|default|latest)$", "", plain(name.rpartition("/")[2]))


@functools.cache
def _by_plain_name() -> Mapping[str, tuple[Listing, ...]]:
    """Listings by their plain name with the provider, and by that of the model alone."""
    groups: dict[str, list[Listing]] = {}
    for listing in listings().values():
        for key in {plain(listing.full_name), plain(listing.name.rpartition("/")[2])}:
            groups.setdefault(key, []).append(listing)
    return {key: tuple(value) for key, value in groups.items()}


def find(name: str) -> Listing | None:
    """The listing that a name in any spelling stands for, with its provider or without.

    Without a provider, a model's maker comes first. None if only others host it, because the user must say which of them.
    """
    if name in listings() and listings()[name].provider in lacking().keys:
        return listings()[name]
    # litellm spells some models in two ways
    matches = sorted(_by_plain_name().get(plain(name), ()), key=lambda one: one.name != name)
    if "/" in name:
        return matches[0] if matches else None
    of_makers = [one for maker in lacking().keys for one in matches if one.provider == maker]
    return of_makers[0] if of_makers else listings().get(name)


def listed_as(model: str) -> Listing | None:
    """The listing of a model with its provider: litellm lists some by the name alone, such as `gpt-5`, or `us.anthropic.…` of Bedrock."""
    provider, _, name = model.partition("/")
    for known in (model, name):
        if (listing := listings().get(known)) is not None and (known == model or listing.provider.startswith(provider)):
            return listing
    return None


def hosts(name: str, today: datetime.date) -> list[Listing]:
    """The live listings of a model at any provider, whatever release of it."""
    wanted = model_name(name)
    return [
        one for one in listings().values() if one.mode == "chat" and one.live(today) and model_name(one.name) == wanted
    ]


def close(name: str, others: Iterable[str], today: datetime.date, count: int = 5) -> list[str]:
    """At most `count` names that resemble `name`: those of `others`, then models that litellm lists, the newest first."""
    plain_name = plain(name.rpartition("/")[2])
    names = {plain(other): other for other in others}
    for listing in _undated(one for one in listings().values() if one.live(today) and one.mode == "chat"):
        if listing.provider in lacking().keys:
            names.setdefault(model_name(listing.name), listing.name.rpartition("/")[2])
    matches = difflib.get_close_matches(plain_name, names, n=count, cutoff=0.6)
    own = {plain(other) for other in others}
    return [names[one] for one in sorted(matches, key=lambda one: (one in own, _version(one)), reverse=True)]


def nearest(model: str, successor: str, day: datetime.date, count: int = 3) -> list[str]:
    """Models of the same maker and class that are live on `day`: the successor that the maker names, then models of the same family,
    else those with a similar price, the newest first. `model`: a name with its provider."""
    provider = model.partition("/")[0]
    live = [
        one
        for one in _undated(listings().values())
        if one.provider == provider and one.mode == "chat" and one.live(day) and one.full_name != model
    ]
    same = sorted(
        (one for one in live if _family(one.name) == _family(model)), key=lambda one: _version(one.name), reverse=True
    )
    candidates = [*_successors(successor, day), *same]
    if not candidates and (price := getattr(listed_as(model), "completion_price", 0.0)):
        similar = (one for one in live if price / _CLASS <= one.completion_price <= price * _CLASS)
        candidates = sorted(similar, key=lambda one: _version(one.name), reverse=True)
    return list(dict.fromkeys(one.name.rpartition("/")[2] for one in candidates))[:count]


def _successors(name: str, day: datetime.date) -> Iterator[Listing]:
    """The first live one of the successors of each other."""
    seen: set[str] = set()
    while (listing := listings().get(name)) is not None and name not in seen:
        if listing.live(day):
            yield listing
            return
        seen.add(name)
        name = listing.successor


def _undated(entries: Iterable[Listing]) -> Iterator[Listing]:
    """Without releases by date of models that are listed without a date, too."""
    for one in entries:
        name = one.name.rpartition("/")[2]
        if plain(name) == model_name(name):
            yield one


def _family(name: str) -> tuple[str, ...]:
    """The words of a name without its version: `("claude", "sonnet")`."""
    return tuple(re.findall(r"[a-z]+", re.sub(r"\d+[a-z]?\b|\d+", " ", model_name(name))))


def _version(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", model_name(name)))
