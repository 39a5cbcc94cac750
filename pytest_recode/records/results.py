"""The file results.jsonl of a run: read, and written anew. `run_directory.Lines` appends to it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.records.record import Record
from pytest_recode.records.run_directory import replaced


def read(path: Path) -> list[Record]:
    """`latest`, without the count."""
    return latest(path)[0]


def latest(path: Path) -> tuple[list[Record], int]:
    """The records of a results.jsonl, of each episode the latest, and how many older ones there are. None without a file.

    A torn last line is left out. Raises `UserError` where something else wrote in it.
    """
    if not path.exists():
        return [], 0
    data = path.read_bytes()
    found: dict[str, Record] = {}
    older = 0
    for line, text in enumerate(data[: data.rfind(b"\n") + 1].splitlines(), 1):
        try:
            record: Record = json.loads(text)
            nodeid = record["nodeid"]
        except (ValueError, LookupError, TypeError) as error:
            raise UserError(f"{path}:{line}: is damaged ({error}): restore it, or give another --recode-out") from None
        older += found.pop(nodeid, None) is not None
        found[nodeid] = record
    return list(found.values()), older


def rewrite(path: Path, records: Sequence[Record]) -> None:
    """In one step, so that a run that is killed here loses nothing. Raises `RecordsError`."""
    replaced(path, "".join(json.dumps(record, ensure_ascii=True) + "\n" for record in records))
