"""Find episodes of a run by id, by an expression as for pytest's `-k`, or by the path of a transcript.

Called by `pytest-recode show` and `pytest-recode html`, also during the run.
"""

from __future__ import annotations

import ast
import re
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from pytest_recode.faults import UserError
from pytest_recode.records.record import EpisodeFacts, Record
from pytest_recode.records.results import latest
from pytest_recode.records.run_directory import CONTROLLER, RESULTS, TRANSCRIPTS, reading
from pytest_recode.records.transcript_reader import first_line
from pytest_recode.wording import guess

RUNS = "recode-out"
"""Where pytest puts the directories of runs, unless --recode-out names another."""
REMEDY = "restore it, or give the path of a transcript"
"""For a damaged results.jsonl."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """An episode of a run. `record` is None while it is played, and if it was interrupted."""

    path: Path
    facts: EpisodeFacts
    record: Record | None

    @property
    def nodeid(self) -> str:
        return self.facts["nodeid"]


def latest_run(place: Path) -> Path:
    """The run below `place`/recode-out that was started or resumed last. Raises `UserError` if there is none."""
    with reading(place):
        runs = [path.parent for path in (place / RUNS).glob(f"*/{TRANSCRIPTS}")]
        if not runs:
            raise UserError(f"{place / RUNS}: contains no run; give the directory of a run")
        return max(runs, key=_started)


_RUN_ID = re.compile(rb"(\d{8}-\d{6})-\w+\s*")


def _started(run: Path) -> tuple[str, int, str]:
    """When the latest session of a run started, for comparisons, then what decides between equal times.

    The id of the session has this time, also in a copy of the directory. A merged run has no id: the time of its results counts.
    """
    results = run / RESULTS
    changed = (results if results.exists() else run / TRANSCRIPTS).stat().st_mtime_ns
    try:
        with (run / CONTROLLER).open("rb") as file:
            match = _RUN_ID.fullmatch(file.read(200))
    except OSError:
        match = None
    stamp = match[1].decode() if match else time.strftime("%Y%m%d-%H%M%S", time.gmtime(changed // 10**9))
    return stamp, changed, run.name


def episodes_of(run: Path, ids: Sequence[str] = ()) -> list[Chosen]:
    """The episodes of a run's directory in the order of their records, then those without a record. Raises `UserError`.

    `ids`: for `choose`. If all are node ids with a record, other episodes may be missing, because their records are not parsed.
    """
    named = _recorded(run, ids) if ids else []
    if named and set(ids) <= {episode.nodeid for episode in named}:
        return named
    check_directory(run)
    recorded = _recorded(run)
    return [*recorded, *without_record(run, {episode.path for episode in recorded})]


def check_directory(run: Path) -> None:
    """Raise `UserError` if there is no such directory."""
    if not run.is_dir():
        raise UserError(f"{run}: no such directory; give the directory of a run, or the path of a transcript")


def without_record(run: Path, recorded: Collection[Path]) -> list[Chosen]:
    """The episodes of a run's directory that have a transcript and no record. `recorded`: the transcripts of the others. Raises `UserError` if
    there are neither."""
    episodes = [
        Chosen(path=path, facts=cast("EpisodeFacts", facts), record=None)
        for path in sorted((run / TRANSCRIPTS).glob("*.jsonl"))
        if path not in recorded and (facts := first_line(path)) is not None
    ]
    if not episodes and not recorded:
        below = {path.parent.parent for path in run.glob(f"*/{TRANSCRIPTS}/*.jsonl")}
        hint = (
            f"; did you mean {max(below, key=_started)}?"
            if below
            else "; give the directory of a run, or the path of a transcript"
        )
        raise UserError(f"{run}: contains no episode{hint}")
    return episodes


def _recorded(run: Path, ids: Sequence[str] = ()) -> list[Chosen]:
    """The episodes with a record; `ids`: at least those with these node ids."""
    records, _ = latest(run / RESULTS, REMEDY, having=ids)
    return [Chosen(path=run / record["transcript"], facts=record, record=record) for record in records]


def choose(run: Path, episodes: Sequence[Chosen], ids: Sequence[str], expression: str) -> list[Chosen]:
    """Those of `episodes`, of `run`, that one of `ids` names and that match `expression`; "" and no ids: all. Raises `UserError` if nothing is
    left.

    An id is a node id, the part of it behind `::`, a task, or the name of a transcript.
    """
    chosen = list(episodes)
    for episode_id in ids:
        if not any(episode_id in names(episode) for episode in episodes):
            raise UserError(
                f"{episode_id}: no such episode in {run}{guess_of(episode_id, episodes)}; the tasks are {tasks(episodes)}"
            )
    if ids:
        chosen = [episode for episode in chosen if any(episode_id in names(episode) for episode_id in ids)]
    if expression:
        matches = matcher(expression)
        chosen = [episode for episode in chosen if matches(episode.nodeid)]
        if not chosen:
            raise UserError(f"-k {expression!r}: matches no episode of {run}; without -k, all are listed")
    return chosen


def tasks(episodes: Sequence[Chosen]) -> str:
    """The tasks of the episodes, for a message: at most eight."""
    found = list(dict.fromkeys(each.facts["task"] for each in episodes))
    return ", ".join(found[:8]) + (" …" if len(found) > 8 else "")


def guess_of(unknown: str, episodes: Sequence[Chosen]) -> str:
    """A question after an id that no episode has; "" if none is similar."""
    return guess(unknown, sorted(set().union(*map(names, episodes))))


def names(episode: Chosen) -> set[str]:
    """All ids of an episode."""
    nodeid = episode.nodeid
    return {nodeid, nodeid.rpartition("::")[2], episode.facts["task"], episode.path.name, episode.path.stem}


_TOKEN = re.compile(r"[()]|[^\s()]+")
_OPERATORS = ("(", ")", "and", "or", "not")
_ALLOWED = (ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.Name, ast.Load)


def matcher(expression: str) -> Callable[[str], bool]:
    """Whether a text contains the words of an expression: `a and not (b or c)`, without regard to case, as pytest's -k does.

    Python evaluates it, as an expression of names that stand for the words. Raises `UserError` for an expression that is not well formed.
    """
    tokens = _TOKEN.findall(expression)
    names = {token: f"word{number}" for number, token in enumerate(tokens) if token not in _OPERATORS}
    try:
        tree = ast.parse(" ".join(names.get(token, token) for token in tokens), mode="eval")
        valid = all(isinstance(node, _ALLOWED) for node in ast.walk(tree))
    except SyntaxError:
        valid = False
    if not valid:
        raise UserError(f"-k {expression!r}: is not an expression; write words with and, or, not and parentheses")
    program = compile(tree, "-k", "eval")

    def matches(text: str) -> bool:
        return bool(eval(program, {}, {name: word.lower() in text.lower() for word, name in names.items()}))

    return matches
