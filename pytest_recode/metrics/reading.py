"""Read the input files of a report: results.jsonl of runs, and the results that ResearchCodeBench publishes."""

from __future__ import annotations

import gc
import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, OriginalTurn, Row, Shared
from pytest_recode.metrics.published_results import fault, from_published
from pytest_recode.metrics.record_attempts import Equal, from_record, payer
from pytest_recode.metrics.run_notes import interrupted, unreadable
from pytest_recode.records.record import Record
from pytest_recode.records.results import RECORD_START, MalformedLineError, parse_json, parse_record
from pytest_recode.records.run_directory import TRANSCRIPTS

_KINDS = "a results.jsonl, a directory that contains one, or the overall_stats.json of ResearchCodeBench"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportInput:
    """One input file: its attempts, and notes for the reader."""

    path: str
    attempts: tuple[Attempt, ...]
    notes: tuple[str, ...] = ()


def read(paths: Sequence[Path]) -> tuple[ReportInput, ...]:
    """Read every file once; its type is detected from its contents. A run is named after its directory, or its path if two have the same name.

    A copy of another file is omitted, with a note. Raises `UserError` for other and damaged files.
    """
    chosen = [path for path in dict.fromkeys(paths) if len(paths) == 1 or not _bare(path)]
    sources = [
        ReportInput(path=str(path), attempts=(), notes=(f"{path}: has no results.jsonl and is omitted",))
        for path in dict.fromkeys(paths)
        if path not in chosen
    ]
    files: list[_InputFile] = []
    for path in {path.resolve(): path for path in map(_file, chosen)}.values():
        file = _opened(path, alone=len(chosen) == 1)
        first = next((other.path for other in files if other.digest == file.digest and not file.blank), None)
        if first is None:
            files.append(file)
        else:
            sources.append(
                ReportInput(path=str(path), attempts=(), notes=(f"{path}: is a copy of {first} and is omitted",))
            )
    names = _names([file.path for file in files])
    several = sum(file.stats is not None for file in files) > 1
    for file, name in zip(files, names, strict=True):
        if file.stats is not None:
            sources.append(_published(file, f"published ({name})" if several else "published"))
        elif file.blank:
            empty = f"{file.path}: is empty: no episode of the run has ended"
            sources.append(ReportInput(path=str(file.path), attempts=(), notes=(empty, *interrupted(file.path, ()))))
        else:
            sources.append(_run(file.path, name))
    return tuple(sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class _InputFile:
    """An input file. `digest`: of its contents, to recognise copies; empty if it is the only file. `stats`: its parsed `data`, if these are published results; a run's file is read line by line, and its `data` is empty."""

    path: Path
    digest: bytes
    blank: bool
    data: bytes = b""
    stats: Mapping[str, Any] | None = None


def _names(files: Sequence[Path]) -> list[str]:
    """Name each file after its directory; if that is not unique, by the directory's path, or by its own path."""
    choices = [(path.resolve().parent.name, str(path.parent), str(path)) for path in files]
    return [
        next((name for i, name in enumerate(names) if [each[i] for each in choices].count(name) == 1), names[-1])
        for names in choices
    ]


def _bare(path: Path) -> bool:
    """Whether `path` is a run that was killed before its first record, or that only validated tasks; it is omitted from recode-out/*."""
    return path.is_dir() and not (path / "results.jsonl").exists() and not any(path.glob("*/results.jsonl"))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = path / "results.jsonl"
    if found.exists():
        return found
    below = sorted(str(path / run.parent.name) for run in path.glob("*/results.jsonl"))
    hint = f": did you mean {below[-1]}, or {path}/*?" if below else f": give {_KINDS}"
    raise UserError(f"{path}: contains no results.jsonl{hint}")


def _opened(path: Path, *, alone: bool) -> _InputFile:
    with _reading(path), path.open("rb") as file:
        records = file.read(len(RECORD_START)) == RECORD_START
        file.seek(0)
        if records:
            digest = b"" if alone else hashlib.file_digest(file, "sha256").digest()
            return _InputFile(path=path, digest=digest, blank=False)
        data = file.read()
    source = _InputFile(path=path, digest=hashlib.sha256(data).digest(), blank=not data.strip())
    whole = parse_json(data)
    published = isinstance(whole, dict) and {"results", "overall_scores"} <= whole.keys()
    return replace(source, data=data, stats=whole) if published else source


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise UserError(f"{path}: no such file: give {_KINDS}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None


def _published(file: _InputFile, source: str) -> ReportInput:
    assert file.stats is not None
    wrong = fault(file.data, file.stats)
    if wrong:
        raise UserError(f"{file.path}: looks like ResearchCodeBench's overall_stats.json, but {wrong}")
    # The benchmark's script run_greedy_wo_paper.sh names the directory so; the file itself does not say it
    without = any("wo_paper" in part for part in file.path.resolve().parts)
    notes = (
        (f"{file.path}: its path contains wo_paper, so it counts as published without the paper in the prompt",)
        if without
        else ()
    )
    return ReportInput(path=str(file.path), attempts=from_published(file.stats, source, paper=not without), notes=notes)


def _run(path: Path, name: str) -> ReportInput:
    """The attempts of a run. Records are read and converted one by one, because they take several times as much memory."""
    notes: list[str] = []
    notes += unreadable(path)
    equal = Equal()
    with _uncollected():
        transcripts = _transcripts(path.parent)
        pairs = [
            (from_record(record, name, transcripts=transcripts, equal=equal), payer(record))
            for record in _records(path, notes)
        ]
    paid = {attempt.nodeid for attempt, _ in pairs}
    attempts: dict[str, Attempt] = {}
    for attempt, paid_by in pairs:
        # If the episode that paid has no record, the first one that shared its turn counts as the payer
        own = attempt if paid_by in paid else replace(attempt, shared=Shared())
        paid.add(paid_by)
        if attempt.nodeid in attempts:
            notes.append(f"{path}: {attempt.nodeid} occurs twice: the later record counts")
        attempts[attempt.nodeid] = own
    notes += interrupted(path, attempts.values())
    return ReportInput(path=str(path), attempts=tuple(_each_once(path, attempts.values(), notes)), notes=tuple(notes))


def _transcripts(run: Path) -> dict[str, Path]:
    """The transcripts of a run, by their path in its records. One look at the directory is faster than one at each file."""
    directory = run / TRANSCRIPTS
    if not directory.is_dir():
        return {}
    with _reading(directory), os.scandir(directory) as entries:
        return {f"{TRANSCRIPTS}/{entry.name}": directory / entry.name for entry in entries if entry.is_file()}


@contextmanager
def _uncollected() -> Iterator[None]:
    """Pause the collector of cyclic garbage, which takes a tenth of the time: records have no cycles."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _each_once(path: Path, attempts: Iterable[Attempt], notes: list[str]) -> Iterable[Attempt]:
    """Keep one record of each task and attempt of a run.

    Two node ids with equal task files are one episode, played from another root directory. With other files, they are two tasks
    of the same name, which no number may combine.
    """
    latest: dict[tuple[Row, str, int, OriginalTurn | None], Attempt] = {}
    for attempt in attempts:
        key = (attempt.row, attempt.task, attempt.number, attempt.replay)
        other = latest.get(key)
        if other is not None:
            both = f"{other.nodeid} and {attempt.nodeid}"
            if other.digest and attempt.digest and other.digest != attempt.digest:
                raise UserError(
                    f"{path}: {both} are two tasks named {attempt.task}: give them different ids, or report them separately"
                )
            notes.append(f"{path}: {both} are one task and attempt, recorded twice: the later record counts")
        latest[key] = attempt
    return latest.values()


def _records(path: Path, notes: list[str]) -> Iterator[Record]:
    """Yield every record, checked. A truncated last line is omitted, with a note."""
    with _reading(path), path.open("rb", buffering=1 << 20) as file:
        for number, line in enumerate(file, 1):
            # A line is one write with its newline: a line without one is truncated, unless it is valid JSON by chance
            if not line.endswith(b"\n") and parse_json(line) is None:
                if number == 1 and line[: len(RECORD_START)] != RECORD_START[: len(line)]:
                    raise UserError(f"{path}: is neither JSON nor JSON lines: give {_KINDS}")
                notes.append(f"{path}: the last line is truncated (a killed run) and is omitted")
            elif line.strip():
                try:
                    yield parse_record(line)
                except MalformedLineError as error:
                    remedy = error.remedy or (f"give {_KINDS}" if error.foreign else "restore it, or delete the line")
                    raise UserError(f"{path}, line {number}: {error.problem}: {remedy}") from None
