"""What a report is made of, from files: records of runs, and the file of results that ResearchCodeBench publishes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.metrics.attempt import DATES, Attempt, Failure, Replay, Row, Shared, Snippet, TurnScore
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

    Raises `UserError`, one line, for what is neither.
    """
    found = [path for path in dict.fromkeys(paths) if len(paths) == 1 or not _bare(path)]
    files = list({path.resolve(): path for path in map(_file, found)}.values())
    names = [path.resolve().parent.name for path in files]
    return tuple(
        Source(path=str(path), attempts=(), notes=(f"{path}: holds no results.jsonl: it is left out",))
        for path in dict.fromkeys(paths)
        if path not in found
    ) + tuple(
        _source(path, name if names.count(name) == 1 else str(path.parent))
        for path, name in zip(files, names, strict=True)
    )


def from_record(
    record: Mapping[str, Any], source: str, *, directory: Path | None = None, shared: bool = True
) -> Attempt:
    """A line of results.jsonl (schema 1) that lies in `directory`; `shared`: whether another episode has paid for what it shares."""
    facts, settings = record.get("facts") or {}, record["settings"]
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
            setup=", ".join(
                [
                    f"feedback model {record['feedback_model'] or 'none'}",
                    *(f"{key} {value}" for key, value in sorted(settings.items()) if key not in NO_MATTER),
                ]
            ),
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
        tokens=costs["prompt_tokens"] + costs["completion_tokens"],
        cost_usd=costs["cost_usd"],
        shared=_shared(record) if shared else Shared(),
        nodeid=record["nodeid"],
        transcript=directory / record["transcript"] if directory and record["transcript"] else None,
        replay=_replay(record),
    )


def from_published(stats: Mapping[str, Any], source: str = "published") -> tuple[Attempt, ...]:
    """The overall_stats.json of ResearchCodeBench: paper -> model -> snippet -> completions. Its own sums are not read."""
    configs = {key: scores["llm_cfg"] for key, scores in stats["overall_scores"].items()}
    attempts = []
    for paper, found in stats["results"].items():
        dates = _dates(found["paper_metadata"])
        if dates.items() >= _MIXED_UP.get(paper, {"": ""}).items() and "last_commit_date" not in dates:
            dates |= _PAPERS_YAML[paper]
        for key, results in found["results"].items():
            row = Row(
                source=source,
                published=True,
                model=configs[key]["pretty_name"],
                agent="one-shot",
                feedback="none",
                paper=True,
                format="researchcodebench",
            )
            for name, completions in results["results"].items():
                for number, one in enumerate(completions, 1):
                    attempts.append(
                        Attempt(
                            row=row,
                            task=f"{paper}/{name}",
                            number=number,
                            outcome="solved" if one["passed"] else "unsolved",
                            solved_turn=1 if one["passed"] else None,
                            snippet=Snippet(paper=paper, name=name, lines=one["snippet_code_line_count"], dates=dates),
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


def _source(path: Path, name: str) -> Source:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise UserError(f"{path}: no such file: give {_KINDS}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from None
    whole = _json(data)
    if isinstance(whole, dict) and {"results", "overall_scores"} <= whole.keys():
        return _published(path, whole)
    if not data.strip():
        return Source(path=str(path), attempts=(), notes=(f"{path}: is empty: no episode of it had ended",))
    return _run(path, name, data)


def _json(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError:  # JSON's and the encoding's alike
        return None


def _published(path: Path, stats: Mapping[str, Any]) -> Source:
    try:
        return Source(path=str(path), attempts=from_published(stats))
    except (KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path}: looks like ResearchCodeBench's overall_stats.json, but lacks {error}") from None


def _run(path: Path, name: str, data: bytes) -> Source:
    lines = data.split(b"\n")
    notes, last = [], lines.pop()
    if last.strip():
        # A line is one write with its newline: what has none was cut off, even where it reads as JSON by chance
        if _json(last) is None:
            if not lines and last[: len(_BEGIN)] != _BEGIN[: len(last)]:
                raise UserError(f"{path}: is neither JSON nor JSON lines: give {_KINDS}")
            notes.append(f"{path}: the last line is cut off (a killed run): it is left out")
        else:
            lines.append(last)
    notes += _unreadable(path)
    records = list(_records(path, lines))
    payers = {record["nodeid"] for _, record in records}
    attempts: dict[str, Attempt] = {}
    for number, record in records:
        try:
            payer = _payer(record)
            attempt = from_record(record, name, directory=path.parent, shared=payer in payers)
        except (KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{path}, line {number}: is no record of schema {SCHEMA}: lacks {error}") from None
        # Where the episode that paid has left no record, the first that shared its turn stands for it
        payers.add(payer)
        if record["nodeid"] in attempts:
            notes.append(f"{path}: {record['nodeid']} is there twice: the later record counts")
        attempts[record["nodeid"]] = attempt
    return Source(path=str(path), attempts=tuple(attempts.values()), notes=tuple(notes))


def _unreadable(path: Path) -> list[str]:
    """Beside the records of a run: the tasks that had no episode, since nobody could read them."""
    beside = path.parent / "unreadable.jsonl"
    lines = beside.read_bytes().splitlines() if beside.is_file() else []
    tasks = list(dict.fromkeys(str(found.get("task")) for line in lines if isinstance(found := _json(line), dict)))
    if not tasks:
        return []
    named = ", ".join(tasks[:5]) + (f" and {len(tasks) - 5} more" if len(tasks) > 5 else "")
    return [
        f"{path.parent}: could not be read when it ran, and in no number here: {named}; --tasks counts them as missing"
    ]


def _records(path: Path, lines: Sequence[bytes]) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        record = _json(line)
        if not isinstance(record, dict):
            raise UserError(f"{path}, line {number}: is no JSON object: give {_KINDS}")
        if "schema" not in record or "nodeid" not in record:
            raise UserError(f"{path}, line {number}: is no record of a run: give {_KINDS}")
        if record["schema"] != SCHEMA:
            raise UserError(
                f"{path}, line {number}: schema {record['schema']}: this version reads {SCHEMA}: update pytest-recode"
            )
        yield number, record


def _payer(record: Mapping[str, Any]) -> str:
    """The node id of the episode that paid for this one's first turn, or ""."""
    turns = record.get("turns")
    return (turns[0].get("shared") or "") if turns else ""


def _shared(record: Mapping[str, Any]) -> Shared:
    if not _payer(record):
        return Shared()
    usage = record["turns"][0]["usage"]
    return Shared(tokens=usage["prompt_tokens"] + usage["completion_tokens"], cost_usd=usage["cost_usd"])


def _replay(record: Mapping[str, Any]) -> Replay | None:
    found = record.get("replay")
    return found and Replay(run=found["run"], nodeid=found["nodeid"], turn=found["turn"], level=found["level"])


def _turn(turn: Mapping[str, Any]) -> TurnScore:
    feedback = turn.get("feedback") or {}
    return TurnScore(
        level=turn["level"],
        passed=turn["passed"],
        total=turn["total"],
        tampering=bool(turn.get("tampering")),
        categories=tuple(item["category"] or "" for item in feedback.get("items", ())),
        source=feedback.get("source", ""),
        failures=tuple(
            Failure(kind=case.get("kind") or "", exception=case.get("exception"))
            for case in turn["cases"]
            if case["outcome"] != "passed"
        ),
    )


def _snippet(facts: Mapping[str, Any]) -> Snippet | None:
    if not {"paper", "snippet", "lines"} <= facts.keys():
        return None
    return Snippet(paper=facts["paper"], name=facts["snippet"], lines=facts["lines"], dates=_dates(facts))


def task_key(task: str, facts: Mapping[str, Any]) -> str:
    """The name of a task in reports, by its id and the facts of its format: what published results have too."""
    snippet = _snippet(facts)
    return f"{snippet.paper}/{snippet.name}" if snippet else task


def _dates(facts: Mapping[str, Any]) -> dict[str, str]:
    return {key: str(facts[key]) for key in DATES if facts.get(key) not in (None, "", "null")}
