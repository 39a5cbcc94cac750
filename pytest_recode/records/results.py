"""The file results.jsonl of a run: its lines are parsed and checked here, for resuming and for reports.

`run_directory.Lines` appends to the file.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.records.line_check import checked_record
from pytest_recode.records.record import SCHEMA, Record
from pytest_recode.records.run_directory import reading, replaced
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.schema.stored_forms import DamagedError

RECORD_START = b'{"schema"'
"""The beginning of each line of a results.jsonl."""


class MalformedLineError(Exception):
    """A line that is not a record. The caller adds the file name.

    `foreign`: nothing indicates that a run wrote the line, so the file may be of another kind. `remedy`: the next step, if it
    does not depend on the caller.
    """

    def __init__(self, problem: str, *, foreign: bool = False, remedy: str = "") -> None:
        super().__init__(problem)
        self.problem, self.foreign, self.remedy = problem, foreign, remedy


def parse_json(data: bytes, **hooks: Any) -> Any:
    """Parse strict JSON. Returns None for anything else, including NaN and Infinity, which Python would accept."""
    try:
        if hooks:
            return json.loads(data, parse_constant=_reject, **hooks)
        return _DECODER.decode(data.decode(json.detect_encoding(data), "surrogatepass"))
    except (ValueError, RecursionError):  # a UnicodeDecodeError is a ValueError
        return None


def _reject(name: str) -> None:
    raise ValueError(f"{name} is not valid JSON")


_DECODER = json.JSONDecoder(parse_constant=_reject)
"""`json.loads` would make one for each line."""


def parse_record(line: bytes) -> Record:
    """Parse and check a line of a results.jsonl. Raises `MalformedLineError`."""
    record = parse_json(line)
    if record is None and line.lstrip().startswith(RECORD_START):
        raise MalformedLineError("is damaged: not JSON")
    if not isinstance(record, dict):
        raise MalformedLineError("is not a JSON object", foreign=True)
    if "schema" not in record or "nodeid" not in record:
        raise MalformedLineError("is not a record of a run", foreign=True)
    if type(record["schema"]) is not int or record["schema"] != SCHEMA:
        found = json.dumps(record["schema"])
        raise MalformedLineError(f"schema {found}: this version reads {SCHEMA}", remedy="update pytest-recode")
    try:
        return checked_record(record)
    except DamagedError as error:
        raise MalformedLineError(f"is not a record of schema {SCHEMA}: {error}") from None


_REMEDY = "restore it, or give another --recode-out"


def read(path: Path, remedy: str = _REMEDY, files: RunFiles = LOCAL) -> list[Record]:
    """Read the latest record of each episode. Raises `UserError` like `latest`."""
    return latest(path, remedy, files)[0]


def latest(
    path: Path, remedy: str = _REMEDY, files: RunFiles = LOCAL, having: Collection[str] = ()
) -> tuple[list[Record], int]:
    """Read the latest record of each episode, and count the older ones. Without a file: ([], 0).

    `having`: parse only lines that contain one of these texts; empty: all lines.

    A last line without a newline is ignored: the run was killed while it wrote the line. Raises `UserError` for any other line
    that is not a record; its message ends with `remedy`.
    """
    try:
        data = files.read(path)
    except FileNotFoundError:
        return [], 0
    # A text is either escaped as this package does, or written as it is
    parts = [form for each in having for form in (json.dumps(each)[1:-1].encode(), each.encode("utf-8", "replace"))]
    records: dict[str, Record] = {}
    older = 0
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        if not line.strip() or (parts and not any(part in line for part in parts)):
            continue
        record = _parsed(path, number, line, remedy)
        older += records.pop(record["nodeid"], None) is not None
        records[record["nodeid"]] = record
    return list(records.values()), older


def located(path: Path, remedy: str = _REMEDY) -> Iterator[tuple[int, Record]]:
    """Yield the records of a file one by one, older ones of an episode included, each with the position of its line for `record_at`.

    Raises `UserError` like `latest`.
    """
    position = 0
    with reading(path), path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n") and line.strip():
                yield position, _parsed(path, number, line, remedy)
            position += len(line)


def record_at(path: Path, position: int, nodeid: str) -> Record:
    """Read the record of `nodeid` again, which `located` found at `position`. Raises `UserError` if it is no longer there."""
    with reading(path), path.open("rb") as file:
        file.seek(position)
        line = file.readline()
    try:
        record = parse_record(line)
    except MalformedLineError:
        record = None
    if record is None or record["nodeid"] != nodeid:
        raise UserError(f"{path}: was rewritten while it was read: repeat the command")
    return record


def _parsed(path: Path, number: int, line: bytes, remedy: str) -> Record:
    try:
        return parse_record(line)
    except MalformedLineError as error:
        raise UserError(f"{path}, line {number}: {error.problem}: {error.remedy or remedy}") from None


def rewrite(path: Path, records: Sequence[Record]) -> None:
    """Replace the file atomically, so that a run that is killed here loses nothing. Raises `RecordsError`."""
    replaced(path, "".join(json.dumps(record, ensure_ascii=True) + "\n" for record in records))
