"""What targets have in common: the values they get and return, and the parts of a record that each writes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.records.record import Record, TurnRecord, UsageRecord
    from pytest_recode.records.transcript_turns import PlayedEpisode


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedEpisode:
    """An episode that has ended. `played` is None if it has no readable transcript: `record` is all there is.

    `run`: the name of its run's directory. `payer`: the episode that played its first turn, whose steps and messages that turn has here. `without`: what
    was removed from it (`--without`).
    """

    run: str
    record: Record
    played: PlayedEpisode | None
    payer: PlayedEpisode | None = None
    without: tuple[str, ...] = ()

    @property
    def identity(self) -> str:
        """Distinguishes the episode from all others, also of other runs, and is the same in every export."""
        return identity(self.played) if self.played else f"{self.run}\n{self.record['nodeid']}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a target wrote: how many episodes, and where, as a line for the user."""

    episodes: int
    place: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A format to export to.

    `output`: the default of `-o`; "" if there is none.
    `packages`: import name -> name on PyPI of what `write` imports; `extra` of this project installs them. `needs_transcript`: `write` gets only episodes
    with a transcript. `write` gets the episodes, for a single pass in which those of a row follow one another, and the value of `-o`, and raises
    `UserError`. It keeps no episode: a run may be larger than the memory.
    """

    packages: Mapping[str, str]
    extra: str
    output: str
    needs_transcript: bool
    write: Callable[[Iterable[ExportedEpisode], str], Written]


def identity(episode: PlayedEpisode) -> str:
    """A text that only this episode has: its node id, and when it was played."""
    return f"{episode.facts['nodeid']}\n{episode.begun:.3f}"


def row(record: Record) -> tuple[object, ...]:
    """What episodes of the same row of a report have in common."""
    settings = sorted((name, str(value)) for name, value in record["settings"].items())
    paper, form = record["paper"], record["format"]
    return (record["model"], record["agent"], record["feedback"], record["feedback_model"], paper, form, *settings)


def counted_usage(record: Record) -> UsageRecord | None:
    """The tokens and cost of an episode; None if no model was called: a person, or another agent without one, has no tokens, which is not a count of zero."""
    usage = record["usage"]
    return usage if record["model"] is not None or usage["prompt_tokens"] or usage["completion_tokens"] else None


def iso(seconds: float) -> str | None:
    """A time of a record (seconds since 1970) as ISO 8601 in UTC; None if no calendar has it."""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return None


def clean(value: Any) -> Any:
    """A JSON value without lone surrogates, which a model may write, and no format takes; "?" replaces them."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {clean(key): clean(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [clean(each) for each in value]
    return value


def verdict(turn: TurnRecord) -> dict[str, Any]:
    """What a graded turn says, without texts: its level, number of cases, the cases, findings, seed."""
    fields: dict[str, Any] = {
        "turn": turn["turn"],
        "level": turn["level"],
        "passed": turn["passed"],
        "failed": turn["failed"],
        "total": turn["total"],
        "cases": [
            {key: value for key, value in case.items() if key != "junit" and value not in (None, "")}
            for case in turn["cases"]
        ],
        "tampering": turn.get("tampering"),
        "seed": turn.get("seed"),
        "seconds": turn.get("seconds"),
        "shared": turn.get("shared"),
    }
    feedback = turn.get("feedback")
    if feedback is not None:
        fields["feedback"] = {name: feedback[name] for name in ("source", "model") if feedback.get(name)}
    return {key: value for key, value in fields.items() if value not in (None, [])}


def solved(turn: TurnRecord) -> bool:
    """Whether a turn solved its task: every case passed, and the judge found nothing."""
    return 0 < turn["total"] == turn["passed"] and not turn.get("tampering")


def file_name(texts: Sequence[str], identity: str, suffix: str) -> str:
    """A name for a file: readable parts of `texts`, and a digest of `identity`.

    The texts come from records, so nothing of them remains but letters, digits, dots, hyphens and underscores, and they cannot form a path.
    """
    plain = (re.sub(r"[^A-Za-z0-9._-]+", "-", text)[:60].strip(".-") for text in texts)
    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:10]
    return "-".join([*filter(None, plain), digest]) + suffix


@contextmanager
def new_files(directory: Path) -> Iterator[Callable[[str], Path]]:
    """Create a directory for files. The value creates an empty file of a name in it. If the block fails, these files are removed, so that the
    export can be repeated.

    Raises `UserError` if the directory or a file cannot be created, or exists already: nothing is overwritten.
    """
    created: list[Path] = []

    def create(name: str) -> Path:
        path = directory / name
        try:
            path.open("xb").close()
        except FileExistsError:
            raise UserError(f"{path} exists, and is not overwritten: remove it, or give another -o") from None
        created.append(path)
        return path

    try:
        directory.mkdir(parents=True, exist_ok=True)
        yield create
    except BaseException as error:
        for path in created:
            path.unlink(missing_ok=True)
        if isinstance(error, OSError):
            place = error.filename or directory
            raise UserError(f"{place} cannot be written ({error.strerror or error}): give another -o") from None
        raise
