"""Read the directories of shards before `merged_run.py` makes them one run. Called by `pytest-recode merge`; only reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pytest_recode.faults import UserError
from pytest_recode.records.line_check import checked_line
from pytest_recode.records.record import EpisodeFacts, Record
from pytest_recode.records.results import read
from pytest_recode.records.run_directory import (
    CONTROLLER,
    LEDGER,
    MERGED,
    RESULTS,
    TRANSCRIPTS,
    UNREADABLE,
    reading,
    written_to,
)
from pytest_recode.records.transcript import name
from pytest_recode.records.transcript_reader import first_line
from pytest_recode.schema.stored_forms import DamagedError
from pytest_recode.shard import Shard, parse_shard
from pytest_recode.shards import shard_file
from pytest_recode.shards.shard_file import SHARD_FILE, ShardFile

_COPIED = (
    *(f"{TRANSCRIPTS}/*.jsonl", "checkpoints/*.jsonl", "first-turns/*.json", "retrieval/*.json", "retrieval/*.part"),
    *("answers/*.jsonl", "feedback/*", "adoption/*"),
)
_NOT_NEEDED = (RESULTS, LEDGER, UNREADABLE, SHARD_FILE, CONTROLLER, "in-use", "*/*.lock", "*.new", "*/*.new")
"""Files that a merged run has its own of, or that only processes of the shard's run need."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardDirectory:
    """The directory of one shard. `run` is the id of its last session.

    `interrupted`: the first lines of the transcripts of episodes without a record. `files`: those to copy, by their path in the
    directory. `others`: paths of files that no run writes.
    """

    path: Path
    shard: Shard
    about: ShardFile
    run: str
    records: Sequence[Record]
    interrupted: Sequence[EpisodeFacts]
    files: Mapping[str, Path]
    others: Sequence[str]

    def __str__(self) -> str:
        return f"{self.path} (shard {self.shard})"

    @property
    def begun(self) -> Iterator[EpisodeFacts]:
        """The facts of every episode that has a record or a transcript."""
        yield from self.records
        yield from self.interrupted


def read_part(path: Path) -> ShardDirectory:
    """Read and check the directory of a shard. Raises `UserError`."""
    with reading(path):
        return _part(path)


def _part(path: Path) -> ShardDirectory:
    give = "give the directories of runs with --recode-shard"
    if not path.is_dir():
        raise UserError(f"{path}: there is no such directory: {give}")
    if (path / MERGED).exists():
        raise UserError(f"{path}: has been merged from shards: give the directories of the shards")
    if not (path / RESULTS).is_file():
        below = sorted(path.glob(f"*/{SHARD_FILE}"))
        hint = f"did you mean {path}/*?" if below else give
        raise UserError(f"{path}: contains no {RESULTS}: {hint}")
    about = shard_file.read(path)
    if about is None:
        raise UserError(
            f"{path}: has no {SHARD_FILE}, so it is a whole run and not a shard: {give}; pytest-recode report reads several whole runs"
        )
    if written_to(path):
        raise UserError(f"{path}: its run has not ended: wait for its end, then merge")
    records = read(path / RESULTS, f"restore it, or play shard {about['shard']} again")
    names = [
        each.relative_to(path).as_posix() for each in sorted(path.rglob("*")) if each.is_symlink() or not each.is_dir()
    ]
    copied = {name: path / name for name in names if _matches(name, _COPIED) and _is_plain(path / name)}
    begun = {
        facts["nodeid"]: facts
        for name, file in copied.items()
        if name.startswith(f"{TRANSCRIPTS}/")
        for facts in _begun(file)
    }
    for record in records:
        _check_record(path, record, about, begun)
    recorded = {record["nodeid"] for record in records}
    return ShardDirectory(
        path=path,
        shard=parse_shard(about["shard"]),
        about=about,
        run=_run(path),
        records=records,
        interrupted=[facts for nodeid, facts in begun.items() if nodeid not in recorded],
        files=copied,
        others=[name for name in names if name not in copied and not _matches(name, _NOT_NEEDED)],
    )


def _check_record(path: Path, record: Record, about: ShardFile, begun: Mapping[str, EpisodeFacts]) -> None:
    nodeid = record["nodeid"]
    if record.get("shard") != about["shard"]:
        raise UserError(
            f"{path / RESULTS}: {nodeid} was played in shard {record.get('shard')}, and {SHARD_FILE} says {about['shard']}: put each"
            " shard's own files there"
        )
    if nodeid not in begun:
        raise UserError(
            f"{path / RESULTS}: {nodeid} has no transcript ({record['transcript']}): copy the whole directory of the run"
        )


def _begun(file: Path) -> Iterator[EpisodeFacts]:
    """The facts of the episode of a transcript; none if its run was killed in its first line."""
    facts = first_line(file)
    if facts is None:
        return
    try:
        facts = checked_line(facts, ("episode", "resumed"))
    except DamagedError as error:
        raise UserError(f"{file}, line 1: is damaged ({error}): restore it") from None
    if name(facts["nodeid"]) != file.name:
        raise UserError(
            f"{file}: is of the episode {facts['nodeid']}, whose file is {name(facts['nodeid'])}: restore this episode's own file"
        )
    yield facts


def _is_plain(file: Path) -> bool:
    """Whether it is a file as runs write them. Copying a link would copy what is not the run's."""
    return file.is_file() and not file.is_symlink()


def _matches(name: str, patterns: Sequence[str]) -> bool:
    inside = PurePosixPath(name)
    return any(len(inside.parts) == pattern.count("/") + 1 and inside.match(pattern) for pattern in patterns)


def _run(path: Path) -> str:
    try:
        return (path / CONTROLLER).read_text("utf-8", "replace").strip()
    except OSError:  # an empty shard has none
        return ""
