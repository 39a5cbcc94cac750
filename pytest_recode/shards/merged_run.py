"""Write the directory of a run that was played in shards: `pytest-recode merge`.

The directory is written next to its final path, under a hidden name and with `results.jsonl` last, and renamed when it is complete. So a merge that
is killed leaves nothing that a report or a resumed run would take for a run, and the next merge to the same place removes it.
"""

from __future__ import annotations

import glob
import json
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pytest_recode import VERSION
from pytest_recode.faults import UserError
from pytest_recode.records import locks
from pytest_recode.records.ledger_lines import RunLine, ledger_line
from pytest_recode.records.results import parse_json, rewrite
from pytest_recode.records.run_directory import LEDGER, MERGED, RESULTS, UNREADABLE, reading, writing
from pytest_recode.schema.stored_forms import DamagedError
from pytest_recode.shards.merge_check import Merge
from pytest_recode.shards.merge_parts import ShardDirectory


def check_place(out: Path, merge: Merge) -> None:
    """Raise `UserError` unless `out` is a new or an empty directory, outside of the parts."""
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise UserError(f"--out={out} is not a directory: give a new or an empty one")
    if out.is_dir() and any(out.iterdir()):
        raise UserError(f"--out={out} contains files, and merge overwrites nothing: give a new or an empty directory")
    for part in merge.parts:
        if out.resolve().is_relative_to(part.path.resolve()):
            raise UserError(f"--out={out} is in {part}: give a directory outside of the shards")


def write(merge: Merge, out: Path) -> None:
    """Write the merged run to `out`, which `check_place` has accepted. Raises `RecordsError`, and `UserError` for a damaged ledger."""
    ledger = b"".join(_ledger(merge))
    unreadable = dict.fromkeys(line for part in merge.parts for line in _lines(part.path / UNREADABLE))
    with writing(out), _appearing(out) as place:
        for name, path in merge.files.items():
            (place / name).parent.mkdir(exist_ok=True)
            with _opened(path) as source, (place / name).open("wb") as copy:
                shutil.copyfileobj(source, copy)
        if ledger:
            (place / LEDGER).write_bytes(ledger)
        if unreadable:
            (place / UNREADABLE).write_bytes(b"".join(unreadable))
        (place / MERGED).write_text(_description(merge), encoding="utf-8")
        rewrite(place / RESULTS, [record for part in merge.parts for record in part.records])


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    with reading(path):
        file = path.open("rb")
    with file:
        yield file


@contextmanager
def _appearing(out: Path) -> Iterator[Path]:
    """A new directory that becomes `out` at the end of the block, at once, and vanishes if the block fails."""
    out.parent.mkdir(parents=True, exist_ok=True)
    for left in out.parent.glob(f".{glob.escape(out.name)}.*.merging"):
        _remove_left(left)
    place = out.parent / f".{out.name}.{secrets.token_hex(4)}.merging"
    place.mkdir()
    with locks.closing(os.open(place, os.O_RDONLY | os.O_CLOEXEC)) as lock:
        locks.acquire(lock)  # shows other merges that this one runs
        try:
            yield place
            place.rename(out)  # fails if something has been written to `out`
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise


def _remove_left(place: Path) -> None:
    """Remove what a killed merge left."""
    with locks.closing(os.open(place, os.O_RDONLY | os.O_CLOEXEC)) as lock:
        if locks.try_acquire(lock):
            shutil.rmtree(place)


def _ledger(merge: Merge) -> Iterator[bytes]:
    """The lines of all ledgers. A line between two of them says that a later run begins, as in a run that was resumed: faults and
    unreachable addresses of one shard do not apply to the next."""
    first = True
    for part in merge.parts:
        lines = _lines(part.path / LEDGER)
        for number, line in enumerate(lines, 1):
            try:
                if (stored := parse_json(line)) is not None:
                    ledger_line(stored)
            except DamagedError as error:
                raise UserError(f"{part.path / LEDGER}, line {number}: {error}: restore it") from None
        if lines and not first:
            begins: RunLine = {"run": part.run}
            yield json.dumps(begins).encode() + b"\n"
        first &= not lines
        yield from lines


def _lines(path: Path) -> list[bytes]:
    """The lines of a file with their newlines; none without the file. An incomplete last one of a killed run gets a newline, too."""
    if not path.is_file():
        return []
    with reading(path):
        data = path.read_bytes()
    return [line if line.endswith(b"\n") else line + b"\n" for line in data.splitlines(keepends=True)]


def _description(merge: Merge) -> str:
    def described(part: ShardDirectory) -> dict[str, object]:
        return {"shard": str(part.shard), "directory": str(part.path), "run": part.run, "episodes": len(part.records)}

    content = {
        "schema": 1,
        "version": VERSION,
        "parts": [described(part) for part in merge.parts],
        "missing": [str(shard) for shard in merge.missing],
    }
    return json.dumps(content, indent=1) + "\n"
