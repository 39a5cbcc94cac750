"""Shard: one of the parts into which separate sessions divide a run."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shard:
    """Part `number`, from 1, of the `count` parts into which separate sessions divide a run. As text: "3/8"."""

    number: int
    count: int

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


_MOST_SHARDS = 10_000


def parse_shard(text: str) -> Shard:
    """Read a text such as "3/8". Raises `ValueError` for any other text, and for numbers out of range."""
    match = re.fullmatch("([0-9]{1,5})/([0-9]{1,5})", text)
    shard = Shard(number=int(match[1]), count=int(match[2])) if match else None
    if shard is None or not 1 <= shard.number <= shard.count <= _MOST_SHARDS:
        raise ValueError(f"{text!r} is not a shard")
    return shard
