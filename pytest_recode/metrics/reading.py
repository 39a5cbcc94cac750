"""Read the files that a report is made of: results.jsonl of runs, and the results that ResearchCodeBench publishes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import Attempt, Replay, Row
from pytest_recode.metrics.published_results import fault, from_published
from pytest_recode.metrics.record_attempts import from_record, payer
from pytest_recode.metrics.run_notes import interrupted, unreadable
from pytest_recode.records.record import Record
from pytest_recode.records.results import RECORD_START, MalformedLineError, parse_json, parse_record

_KINDS = "a results.jsonl, a directory that holds one, or the overall_stats.json of ResearchCodeBench"


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One file: what it holds, and what a reader must know of it."""

    path: str
    attempts: tuple[Attempt, ...]
    notes: tuple[str, ...] = ()


def read(paths: Sequence[Path]) -> tuple[Source, ...]:
    """Every file, once, told apart by what is in it. Runs get the name of their directory, or its path where two have one name.

    A copy of another file is left out, with a note. Raises `UserError`, one line, for what is neither, and for what is damaged.
    """
    chosen = [path for path in dict.fromkeys(paths) if len(paths) == 1 or not _bare(path)]
    sources = [
        Source(path=str(path), attempts=(), notes=(f"{path}: holds no results.jsonl: it is left out",))
        for path in dict.fromkeys(paths)
        if path not in chosen
    ]
    files: list[_File] = []
    for path in {path.resolve(): path for path in map(_file, chosen)}.values():
        file = _opened(path)
        first = next((other.path for other in files if other.data == file.data and file.data.strip()), None)
        if first is None:
            files.append(file)
        else:
            sources.append(
                Source(path=str(path), attempts=(), notes=(f"{path}: is a copy of {first}: it is left out",))
            )
    names = _names([file.path for file in files])
    several = sum(file.stats is not None for file in files) > 1
    for file, name in zip(files, names, strict=True):
        if file.stats is not None:
            sources.append(_published(file, f"published ({name})" if several else "published"))
        elif not file.data.strip():
            empty = f"{file.path}: is empty: no episode of it had ended"
            sources.append(Source(path=str(file.path), attempts=(), notes=(empty, *interrupted(file.path, ()))))
        else:
            sources.append(_run(file.path, name, file.data))
    return tuple(sources)


@dataclass(frozen=True, slots=True, kw_only=True)
class _File:
    path: Path
    data: bytes
    stats: Mapping[str, Any] | None  # where it is published results


def _names(files: Sequence[Path]) -> list[str]:
    """Of each file the name of its directory; of those that share it the path of the directory, or their own."""
    names = [(path.resolve().parent.name, str(path.parent), str(path)) for path in files]
    return [
        next((name for place, name in enumerate(mine) if [other[place] for other in names].count(name) == 1), mine[-1])
        for mine in names
    ]


def _bare(path: Path) -> bool:
    """Of recode-out/*, a run that was killed before its first record or only checked tasks: it stops no other."""
    return path.is_dir() and not (path / "results.jsonl").exists() and not any(path.glob("*/results.jsonl"))


def _file(path: Path) -> Path:
    if not path.is_dir():
        return path
    found = path / "results.jsonl"
    if found.exists():
        return found
    below = sorted(str(path / run.parent.name) for run in path.glob("*/results.jsonl"))
    hint = f": did you mean {below[-1]}, or {path}/*?" if below else f": give {_KINDS}"
    raise UserError(f"{path}: holds no results.jsonl{hint}")


def _opened(path: Path) -> _File:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file: give {_KINDS}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    whole = parse_json(data)
    published = isinstance(whole, dict) and {"results", "overall_scores"} <= whole.keys()
    return _File(path=path, data=data, stats=whole if published else None)


def _published(file: _File, source: str) -> Source:
    assert file.stats is not None
    wrong = fault(file.data, file.stats)
    if wrong:
        raise UserError(f"{file.path}: looks like ResearchCodeBench's overall_stats.json, but {wrong}")
    # As its script run_greedy_wo_paper.sh names the directory; nothing in the file says it
    without = any("wo_paper" in part for part in file.path.resolve().parts)
    notes = (f"{file.path}: published without the paper in the prompt, as its path says (wo_paper)",) if without else ()
    return Source(path=str(file.path), attempts=from_published(file.stats, source, paper=not without), notes=notes)


def _run(path: Path, name: str, data: bytes) -> Source:
    lines = data.split(b"\n")
    notes, last = [], lines.pop()
    if last.strip():
        # A line is one write with its newline: what has none was cut off, even where it reads as JSON by chance
        if parse_json(last) is None:
            if not lines and last[: len(RECORD_START)] != RECORD_START[: len(last)]:
                raise UserError(f"{path}: is neither JSON nor JSON lines: give {_KINDS}")
            notes.append(f"{path}: the last line is cut off (a killed run): it is left out")
        else:
            lines.append(last)
    notes += unreadable(path)
    records = list(_records(path, lines))
    paid = {record["nodeid"] for _, record in records}
    attempts: dict[str, Attempt] = {}
    for _, record in records:
        paid_by = payer(record)
        attempt = from_record(record, name, directory=path.parent, shared=paid_by in paid)
        # Where the episode that paid has left no record, the first that shared its turn stands for it
        paid.add(paid_by)
        if record["nodeid"] in attempts:
            notes.append(f"{path}: {record['nodeid']} is there twice: the later record counts")
        attempts[record["nodeid"]] = attempt
    notes += interrupted(path, attempts)
    return Source(path=str(path), attempts=tuple(_each_once(path, attempts.values(), notes)), notes=tuple(notes))


def _each_once(path: Path, attempts: Iterable[Attempt], notes: list[str]) -> Iterable[Attempt]:
    """Of a run: what other node ids say of the same task and attempt is the same episode, from another root directory; of other
    files, it is another task of the same name, and no number can hold both."""
    found: dict[tuple[Row, str, int, Replay | None], Attempt] = {}
    for attempt in attempts:
        key = (attempt.row, attempt.task, attempt.number, attempt.replay)
        other = found.get(key)
        if other is not None:
            both = f"{other.nodeid} and {attempt.nodeid}"
            if other.digest and attempt.digest and other.digest != attempt.digest:
                raise UserError(
                    f"{path}: {both} are two tasks of one name, {attempt.task}: give them ids of their own, or report them apart"
                )
            notes.append(f"{path}: {both} are one task and attempt, recorded twice: the later record counts")
        found[key] = attempt
    return found.values()


def _records(path: Path, lines: Sequence[bytes]) -> Iterator[tuple[int, Record]]:
    """Every record with the number of its line, checked."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            yield number, parse_record(line)
        except MalformedLineError as error:
            remedy = error.remedy or (f"give {_KINDS}" if error.foreign else "restore it, or delete the line")
            raise UserError(f"{path}, line {number}: {error.problem}: {remedy}") from None
