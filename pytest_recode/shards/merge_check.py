"""Check that shards are parts of one experiment, and find what is missing. Called by `pytest-recode merge` before it writes anything."""

from __future__ import annotations

import filecmp
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.records.record import EpisodeFacts
from pytest_recode.records.run_directory import reading
from pytest_recode.shard import Shard
from pytest_recode.shards.merge_parts import ShardDirectory
from pytest_recode.shards.shard_file import FormatSettings, changed_lists

_VECTORS = "retrieval/"
"""Files that several shards may have: each asks for the vectors of the repositories that it needs, which are equal for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Parts that can be merged, by shard, and the files to copy, by their path in the merged directory.

    `missing`: shards that were not given. `not_played`: node ids that a shard selected and never started.
    """

    parts: tuple[ShardDirectory, ...]
    files: Mapping[str, Path]
    missing: tuple[Shard, ...]
    not_played: tuple[str, ...]

    @property
    def count(self) -> int:
        return self.parts[0].shard.count


def checked(parts: Sequence[ShardDirectory]) -> Merge:
    """Check `parts`, at least one. Raises `UserError` for the first reason why they are not parts of one run."""
    parts = sorted(parts, key=lambda part: part.shard.number)
    for part in parts[1:]:
        _check_alike(parts[0], part)
    for one, other in combinations(parts, 2):
        if one.shard == other.shard:
            raise UserError(f"{one.path} and {other.path} are both shard {one.shard}: give one of them")
        _check_lists(one, other)
    _check_overlaps(parts)
    _check_digests(parts)
    numbers = {part.shard.number for part in parts}
    count = parts[0].shard.count
    begun = {facts["nodeid"] for part in parts for facts in part.begun}
    return Merge(
        parts=tuple(parts),
        files=_files(parts),
        missing=tuple(Shard(number=number, count=count) for number in range(1, count + 1) if number not in numbers),
        not_played=tuple(nodeid for part in parts for nodeid in part.about["episodes"] if nodeid not in begun),
    )


def _check_alike(first: ShardDirectory, other: ShardDirectory) -> None:
    """Check what every shard of a run has in common with the first one."""
    if first.shard.count != other.shard.count:
        raise _differ(first, other, "the number of shards", first.shard.count, other.shard.count)
    for key, one, two in _settings(first, other):
        if one != two:
            raise _differ(first, other, key, one, two)


def _settings(first: ShardDirectory, other: ShardDirectory) -> Iterator[tuple[str, Any, Any]]:
    """Each setting that must be equal: its name, and its values in both parts."""
    one, two = first.about, other.about
    yield "the version of pytest-recode", one["version"], two["version"]
    yield "the models", sorted(one["models"]), sorted(two["models"])
    for name in sorted(one["formats"].keys() & two["formats"].keys()):  # a shard may have tasks of some formats only
        left, right = one["formats"][name], two["formats"][name]
        yield "attempts", left["attempts"], right["attempts"]
        yield "feedback", sorted(left["feedback"]), sorted(right["feedback"])
        yield "paper", _paper(left), _paper(right)
        for key in sorted(left["others"].keys() & right["others"].keys()):
            yield key.replace("_", "-"), left["others"][key], right["others"][key]


def _paper(own: FormatSettings) -> list[str]:
    return sorted("with" if each else "without" for each in own["paper"])


def _differ(first: ShardDirectory, other: ShardDirectory, key: str, one: object, two: object) -> UserError:
    return UserError(
        f"{other} is of another run than {first}: {key} {_text(two)}, not {_text(one)}: merge the shards of one run, or compare"
        " the runs with pytest-recode report"
    )


def _text(value: object) -> str:
    return ", ".join(map(str, value)) or "none" if isinstance(value, list) else str(value)


def _check_lists(one: ShardDirectory, other: ShardDirectory) -> None:
    if changed := changed_lists(one.about, other.about):
        raise UserError(
            f"{other} is of another run than {one}: the list of tasks {changed[0]} has other tasks, so they were dealt to the shards in"
            " another way: play all shards with the same tasks"
        )


def _check_overlaps(parts: Sequence[ShardDirectory]) -> None:
    """An episode in two parts has two results, and no rule may choose one of them."""
    owners: dict[Hashable, tuple[ShardDirectory, str]] = {}
    twice: list[tuple[ShardDirectory, ShardDirectory, str]] = []
    for part in parts:
        for facts in part.begun:
            first, _ = owners.setdefault(_identity(facts), (part, facts["nodeid"]))
            if first is not part:
                twice.append((first, part, facts["nodeid"]))
    if twice:
        one, other, nodeid = twice[0]
        more = f" (and {len(twice) - 1} more)" if len(twice) > 1 else ""
        raise UserError(
            f"{nodeid}{more} is in {one} and in {other}: an episode has one result: leave one of the two directories out"
        )


def _identity(facts: EpisodeFacts) -> Hashable:
    """What names an episode, whatever the root directory of its session."""
    replay = facts.get("replay")
    return (
        *(
            facts["format"],
            facts["task"],
            facts["agent"],
            facts["model"],
            facts["feedback"],
            facts["paper"],
            facts["attempt"],
        ),
        replay and (replay["nodeid"], replay["turn"]),
    )


def _check_digests(parts: Sequence[ShardDirectory]) -> None:
    """Attempts at one task may be in several shards, which must have had the same files of it."""
    digests: dict[tuple[str, str], tuple[ShardDirectory, str]] = {}
    for part in parts:
        for facts in part.begun:
            if digest := facts.get("digest"):
                first, known = digests.setdefault((facts["format"], facts["task"]), (part, digest))
                if known != digest:
                    raise UserError(
                        f"the files of the task {facts['task']} differ in {first} and {part}: its results are of two tasks: play the"
                        " shards with the same tasks"
                    )


def _files(parts: Sequence[ShardDirectory]) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for part in parts:
        for name, path in part.files.items():
            first = files.setdefault(name, path)
            if first != path and not name.startswith(_VECTORS) and not _equal(first, path):
                raise UserError(
                    f"{first} and {path} differ, and a run has only one such file: leave one of the two out"
                )
    # vectors that one shard has completed, and another has not
    return {name: path for name, path in files.items() if not (name.endswith(".part") and f"{name[:-5]}.json" in files)}


def _equal(one: Path, other: Path) -> bool:
    with reading(one):
        return filecmp.cmp(one, other, shallow=False)
