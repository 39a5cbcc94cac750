"""Removes API keys from what providers send, before it is stored or shown: some of them quote the key that they refuse."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote

_SECRET = re.compile(r"(KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_SHORTEST = 8
"""Characters of a value below which it is no key, but a word that may be part of any text."""


def known_secrets(names: Iterable[str] = ()) -> Mapping[str, str]:
    """The secrets of the environment, as they and their URLs are written, with the name of their variable; the longest first.

    `names`: variables that have keys although their names do not say so.
    """
    further = frozenset(names)
    secrets: dict[str, str] = {}
    for name in os.environ:
        value = os.environ.get(name, "").strip()  # another thread may have removed it
        if len(value) >= _SHORTEST and (name in further or _SECRET.search(name)):
            secrets |= {value: name, quote(value, safe=""): name}
    return dict(sorted(secrets.items(), key=lambda entry: -len(entry[0])))


def redacted(text: str, values: Mapping[str, str]) -> str:
    """`text` with `<NAME>` in place of each value of `known_secrets`."""
    for value, name in values.items():
        text = text.replace(value, f"<{name}>")
    return text


def redacted_json(value: Any, values: Mapping[str, str]) -> Any:
    """A JSON value whose texts are `redacted`."""
    if isinstance(value, str):
        return redacted(value, values)
    if isinstance(value, Mapping):
        return {key: redacted_json(entry, values) for key, entry in value.items()}
    if isinstance(value, list):
        return [redacted_json(entry, values) for entry in value]
    return value
