"""What a report is made of, from files: records of runs, and the file of results that ResearchCodeBench publishes."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, cast

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import DATES, Attempt, Failure, Replay, Row, Shared, Snippet, TurnScore
from pytest_recode.metrics.published import year_of
from pytest_recode.metrics.record_check import fault, published_fault
from pytest_recode.metrics.run_notes import interrupted, parsed, unreadable
from pytest_recode.records.record import Record, TurnRecord, findings
from pytest_recode.settings import NO_MATTER

SCHEMA = 1
_BEGIN = b'{"schema"'
_KINDS = "a results.jsonl, a directory that holds one, or the overall_stats.json of ResearchCodeBench"

# The published file gives one paper's last commit as its first; its papers.yaml of two days later has both.
_MIXED_UP = {"minp": {"first_commit_date": "2025-03-15"}}
_PAPERS_YAML = {"minp": {"first_commit_date": "2024-11-13", "last_commit_date": "2025-03-15"}}


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


def from_record(record: Record, source: str, *, directory: Path | None = None, shared: bool = True) -> Attempt:
    """A line of results.jsonl (schema 1) that lies in `directory`; `shared`: whether another episode has paid for what it shares."""
    facts = record.get("facts") or {}
    snippet = _snippet(facts)
    costs = record["usage"]
    return Attempt(
        row=Row(
            source=source,
            model=record["model"] or record["agent"],
            agent=record["agent"],
            feedback=record["feedback"],
            paper=record["paper"],
            format=record["format"],
            simulated=record["simulated"],
            settings=_settings(record),
        ),
        task=task_key(record["task"], facts),
        number=record["attempt"],
        outcome=record["outcome"],
        solved_turn=record["solved_turn"] if record["outcome"] == "solved" else None,
        turns=tuple(map(_turn, record["turns"])),
        snippet=snippet,
        cutoff=record.get("cutoff") or "",
        isolation=record["isolation"],
        tampering=sum(bool(turn.get("tampering")) for turn in record["turns"]),
        flagged=findings(record["outcome"], record["turns"]),
        answers=_sum_of(record, "steps"),
        unparsed=_sum_of(record, "unparsed"),
        tokens=costs["prompt_tokens"] + costs["completion_tokens"],
        cost_usd=costs["cost_usd"],
        shared=_shared(record) if shared else Shared(),
        nodeid=record["nodeid"],
        made=_made(record),
        digest=record.get("digest") or "",
        seeds=frozenset(turn["seed"] for turn in record["turns"] if "seed" in turn),
        year=_year(record),
        transcript=directory / record["transcript"] if directory and record["transcript"] else None,
        replay=_replay(record),
    )


def _settings(record: Record) -> tuple[tuple[str, str], ...]:
    """What makes runs incomparable, in the words of options; what says nothing for this agent or policy is left out."""
    found: dict[str, object] = {key: value for key, value in record["settings"].items() if key not in NO_MATTER}
    if record["agent"] in _ONE_STEP:
        found = {key: value for key, value in found.items() if key not in _OF_STEPS}
    if record["feedback"] == "none":
        found["turns"] = 1
    else:
        found["researcher"] = record["feedback_model"]
    return tuple(sorted((key.replace("_", " "), _words(value)) for key, value in found.items()))


def _made(record: Record) -> tuple[tuple[str, str], ...]:
    """What runs of one row may have otherwise, and a reader must know where they have."""
    settings: Mapping[str, object] = record["settings"]
    found = {key.replace("_", " "): settings[key] for key in sorted(NO_MATTER) if key in settings}
    if record["feedback"] == "none" or not record["feedback_model"]:
        found.pop("researcher prompt", None)
    found |= {"sandbox": record.get("sandbox"), "isolation": record["isolation"] if record["turns"] else ""}
    return tuple((key, _words(value)) for key, value in found.items() if value is not None and value != "")


_ONE_STEP = {"one-shot", "reference", "noop"}
_OF_STEPS = {"steps", "memory_threshold", "memory_keep", "search_model"}


def _words(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "none" if value is None or value == "" else f"{value:g}" if isinstance(value, float) else str(value)


def _year(record: Record) -> int | None:
    """Of the task's paper: as the task says, or as RECODE-H's own scripts sort its annotations."""
    if record["format"] == "recode-h":
        return year_of((record.get("facts") or {}).get("annotation"))
    match = re.match(r"\d{4}", record.get("paper_date") or "")
    return int(match[0]) if match else None


def _sum_of(record: Record, key: Literal["steps", "unparsed"]) -> int | None:
    """Over the turns that no other episode played, and over those that were not judged; None where a turn does not have it."""
    counts = [turn.get(key) for turn in record["turns"] if not turn.get("shared")]
    known = [count for count in counts if isinstance(count, int)]
    abandoned = record.get("abandoned")
    more = abandoned.get(key, 0) if abandoned else 0
    return sum(known) + more if len(known) == len(counts) else None


def from_published(stats: Mapping[str, Any], source: str = "published", *, paper: bool = True) -> tuple[Attempt, ...]:
    """The overall_stats.json of ResearchCodeBench: paper -> model -> snippet -> completions. Its own sums are not read.

    `paper`: whether the models were shown it, which the file does not say. Models of one name are told apart by their keys.
    """
    configs = {key: scores["llm_cfg"] for key, scores in stats["overall_scores"].items()}
    names = [config["pretty_name"] for config in configs.values()]
    attempts = []
    for folder, found in stats["results"].items():
        dates = _dates(found["paper_metadata"])
        if dates.items() >= _MIXED_UP.get(folder, {"": ""}).items() and "last_commit_date" not in dates:
            dates |= _PAPERS_YAML[folder]
        for key, results in found["results"].items():
            name = configs[key]["pretty_name"]
            row = Row(
                source=source,
                published=True,
                model=name if names.count(name) == 1 else f"{name} [{key}]",
                agent="one-shot",
                feedback="none",
                paper=paper,
                format="researchcodebench",
                settings=(("temperature", "0"), ("turns", "1")),
            )
            for snippet, completions in results["results"].items():
                for number, one in enumerate(completions, 1):
                    attempts.append(
                        Attempt(
                            row=row,
                            task=f"{folder}/{snippet}",
                            number=number,
                            outcome="solved" if one["passed"] else "unsolved",
                            solved_turn=1 if one["passed"] else None,
                            snippet=Snippet(
                                paper=folder, name=snippet, lines=one["snippet_code_line_count"], dates=dates
                            ),
                            cutoff=configs[key].get("knowledge_cutoff_date") or "",
                            isolation="shared",
                        )
                    )
    return tuple(attempts)


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
    whole = parsed(data)
    published = isinstance(whole, dict) and {"results", "overall_scores"} <= whole.keys()
    return _File(path=path, data=data, stats=whole if published else None)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise UserError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is there twice in one object")
    return found


def _published(file: _File, source: str) -> Source:
    assert file.stats is not None
    try:
        parsed(file.data, object_pairs_hook=_once)
        wrong = published_fault(file.stats)
    except UserError as error:
        wrong = str(error)
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
        if parsed(last) is None:
            if not lines and last[: len(_BEGIN)] != _BEGIN[: len(last)]:
                raise UserError(f"{path}: is neither JSON nor JSON lines: give {_KINDS}")
            notes.append(f"{path}: the last line is cut off (a killed run): it is left out")
        else:
            lines.append(last)
    notes += unreadable(path)
    records = list(_records(path, lines))
    payers = {record["nodeid"] for _, record in records}
    attempts: dict[str, Attempt] = {}
    for _, record in records:
        payer = _payer(record)
        attempt = from_record(record, name, directory=path.parent, shared=payer in payers)
        # Where the episode that paid has left no record, the first that shared its turn stands for it
        payers.add(payer)
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
        where = f"{path}, line {number}"
        record = parsed(line)
        if record is None and line.lstrip().startswith(_BEGIN):
            raise UserError(f"{where}: is damaged, no JSON: restore it, or delete the line")
        if not isinstance(record, dict):
            raise UserError(f"{where}: is no JSON object: give {_KINDS}")
        if "schema" not in record or "nodeid" not in record:
            raise UserError(f"{where}: is no record of a run: give {_KINDS}")
        if type(record["schema"]) is not int or record["schema"] != SCHEMA:
            raise UserError(
                f"{where}: schema {json.dumps(record['schema'])}: this version reads {SCHEMA}: update pytest-recode"
            )
        if wrong := fault(record):
            raise UserError(f"{where}: is no record of schema {SCHEMA}: {wrong}")
        yield number, cast("Record", record)


def _payer(record: Record) -> str:
    """The node id of the episode that paid for this one's first turn, or ""."""
    turns = record.get("turns")
    return (turns[0].get("shared") or "") if turns else ""


def _shared(record: Record) -> Shared:
    if not _payer(record):
        return Shared()
    usage = record["turns"][0]["usage"]
    return Shared(tokens=usage["prompt_tokens"] + usage["completion_tokens"], cost_usd=usage["cost_usd"])


def _replay(record: Record) -> Replay | None:
    found = record.get("replay")
    return found and Replay(run=found["run"], nodeid=found["nodeid"], turn=found["turn"], level=found["level"])


def _turn(turn: TurnRecord) -> TurnScore:
    feedback = turn.get("feedback")
    return TurnScore(
        level=turn["level"],
        passed=turn["passed"],
        total=turn["total"],
        tampering=bool(turn.get("tampering")),
        categories=tuple(item["category"] or "" for item in feedback.get("items", ())) if feedback else (),
        source=feedback.get("source", "") if feedback else "",
        failures=tuple(
            Failure(kind=case.get("kind") or "", exception=case.get("exception"))
            for case in turn["cases"]
            if case["outcome"] != "passed"
        ),
    )


def _snippet(facts: Mapping[str, Any]) -> Snippet | None:
    if not {"paper", "snippet", "lines"} <= facts.keys():
        return None
    return Snippet(paper=str(facts["paper"]), name=str(facts["snippet"]), lines=facts["lines"], dates=_dates(facts))


def task_key(task: str, facts: Mapping[str, Any]) -> str:
    """The name of a task in reports, by its id and the facts of its format: what published results have too."""
    snippet = _snippet(facts)
    return f"{snippet.paper}/{snippet.name}" if snippet else task


def _dates(facts: Mapping[str, Any]) -> dict[str, str]:
    """As they compare: "2025-3-9" is "2025-03-09"."""
    return {
        key: "-".join(part.zfill(2) for part in str(facts[key]).split("-"))
        for key in DATES
        if facts.get(key) not in (None, "", "null")
    }
