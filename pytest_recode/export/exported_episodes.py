"""Read the episodes of runs for an export: their records, and their transcripts where these are files of the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_recode.export.redacted_episode import redacted, redacted_record
from pytest_recode.export.target import ExportedEpisode, row
from pytest_recode.faults import UserError
from pytest_recode.records.episode_choice import REMEDY, check_directory, without_record
from pytest_recode.records.record import Record
from pytest_recode.records.results import located, record_at
from pytest_recode.records.row_filter import RowFilter
from pytest_recode.records.run_directory import RESULTS, TRANSCRIPTS
from pytest_recode.records.transcript import name
from pytest_recode.records.transcript_turns import PlayedEpisode, read_episode
from pytest_recode.render.html.withheld import Without


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedEpisodes:
    """Episodes to export, and notes on those that are not, or not whole.

    `episodes`: read from disk one by one, those of a row one after the other; for a single pass. `notes`: complete after it.
    """

    count: int
    episodes: Iterator[ExportedEpisode]
    notes: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """A run. `chosen`: node id and position of the records to export, those of a row one after the other. `transcripts`: of all records, by node id."""

    path: Path
    chosen: Sequence[tuple[str, int]]
    transcripts: Mapping[str, str | None]


def read(runs: Sequence[Path], shows: RowFilter, without: Without) -> ExportedEpisodes:
    """Check every run once, and keep of its records where they are, because a run may be larger than the memory.

    Raises `UserError` if no episode is left.
    """
    notes: list[str] = []
    known: dict[tuple[str, str], None] = {}  # models and agents
    selection = [
        _run(run, shows, known, notes) for run in {_directory(run).resolve(): _directory(run) for run in runs}.values()
    ]
    count = sum(len(run.chosen) for run in selection)
    if not count:
        if shows.given and known:
            raise shows.nothing("episode", (model for model, _ in known), (agent for _, agent in known))
        raise UserError(f"{runs[0]}: no episode has ended: resume the run with --recode-resume, or give another")
    episodes = (episode for run in selection for episode in _episodes(run, without, notes))
    return ExportedEpisodes(count=count, episodes=episodes, notes=notes)


def _run(run: Path, shows: RowFilter, known: dict[tuple[str, str], None], notes: list[str]) -> _Run:
    """`known`: gets the models and agents of all records, and `notes` a note on episodes without one."""
    check_directory(run)
    results = run / RESULTS
    transcripts: dict[str, str | None] = {}
    rows: dict[tuple[object, ...], int] = {}
    chosen: dict[str, tuple[int, int]] = {}  # row and position
    for position, record in located(results, REMEDY) if results.exists() else ():
        nodeid = record["nodeid"]
        transcripts.pop(nodeid, None)
        chosen.pop(nodeid, None)
        transcripts[nodeid] = record["transcript"]
        names = (_model(record), record["agent"])
        known[names] = None
        if shows.shows(*names):
            chosen[nodeid] = rows.setdefault(row(record), len(rows)), position
    open_ones = len(without_record(run, {run / (path or "") for path in transcripts.values()}))
    if open_ones:
        are = "episode has not ended, or was" if open_ones == 1 else "episodes have not ended, or were"
        notes.append(f"{run}: {open_ones} {are} interrupted, and not exported")
    by_row = sorted(chosen.items(), key=lambda item: item[1][0])
    return _Run(path=run, chosen=[(nodeid, position) for nodeid, (_, position) in by_row], transcripts=transcripts)


def _directory(run: Path) -> Path:
    """The directory of a run; a results.jsonl stands for its own."""
    return run.parent if run.name == RESULTS and run.is_file() else run


def _model(record: Record) -> str:
    return record["model"] or record["agent"]


def _episodes(run: _Run, without: Without, notes: list[str]) -> Iterator[ExportedEpisode]:
    for nodeid, position in run.chosen:
        record = record_at(run.path / RESULTS, position, nodeid)
        yield _episode(run.path, record, run.transcripts.get, without, notes)


def just_ended(run: Path, record: Record, notes: list[str]) -> ExportedEpisode:
    """An episode of a run that goes on. The one that played its first turn may not have ended."""
    return _episode(run, record, lambda nodeid: f"{TRANSCRIPTS}/{name(nodeid)}", Without(), notes)


def _episode(
    run: Path, record: Record, path_of: Callable[[str], str | None], without: Without, notes: list[str]
) -> ExportedEpisode:
    """`path_of`: the path of another episode's transcript; None if the run has no such episode."""
    nodeid = record["nodeid"]
    played = payer = None
    try:
        played = _transcript(run, nodeid, record["transcript"])
    except UserError as error:
        notes.append(f"{nodeid}: without its transcript: {error}")
    if played is not None and (shared := _shared(played)) and (path := path_of(shared)) is not None:
        try:
            payer = _transcript(run, shared, path)
        except UserError as error:
            notes.append(f"{nodeid}: without the messages of its first turn: {error}")
    if payer is not None and played is not None:
        played = _with_first_turn(played, payer)
    return ExportedEpisode(
        run=run.resolve().name,
        record=redacted_record(record, without),
        played=played and redacted(played, without),
        payer=payer,
        without=without.parts,
    )


def _transcript(run: Path, nodeid: str, recorded: str | None) -> PlayedEpisode:
    """Read a transcript, if it is a file of the run: the path is a record's, and records are hostile. Raises `UserError`."""
    path = run / (recorded or "")
    try:
        own = path.is_file() and path.resolve().is_relative_to((run / TRANSCRIPTS).resolve())
    except (OSError, ValueError):  # a name that no file can have
        own = False
    if not own:
        raise UserError("it is missing, or is not a file of the run")
    episode = read_episode(path)
    if episode.facts["nodeid"] != nodeid:
        raise UserError(f"{path}: is that of {episode.facts['nodeid']}")
    return episode


def _shared(played: PlayedEpisode) -> str:
    """The id of the episode that played the first turn; "" if that is this one."""
    judged = played.turns[0].judged if played.turns else None
    return (judged["shared"] or "") if judged else ""


def _with_first_turn(played: PlayedEpisode, payer: PlayedEpisode) -> PlayedEpisode:
    """The episode with the messages and steps of its first turn, which only the transcript of `payer` has."""
    first = next((turn for turn in payer.turns if turn.number == 1), None)
    if first is None or played.turns[0].messages or played.turns[0].steps:
        return played
    mine = replace(played.turns[0], messages=first.messages, steps=first.steps)
    return replace(played, turns=(mine, *played.turns[1:]))
