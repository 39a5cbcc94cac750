"""What tables read from transcripts: calls, audits of feedback, pairs of turns; from the files, or from episodes that were read before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.episode import Audit, Feedback
from pytest_recode.metrics import adoption, calls, leakage
from pytest_recode.records.transcript_lines import RetryLine, TurnLine, UsageLine
from pytest_recode.records.transcript_turns import PlayedEpisode


@dataclass(frozen=True, slots=True, kw_only=True)
class TranscriptReader:
    """Functions of the path of a transcript. `audits` and `pairs` return None if there is none to read."""

    calls: Callable[[Path | None], Sequence[UsageLine | RetryLine]]
    audits: Callable[[Path | None], Sequence[tuple[str, Audit]] | None]
    pairs: Callable[[Path | None], Sequence[adoption.FeedbackPair] | None]


FROM_FILES = TranscriptReader(calls=calls.read, audits=leakage.read, pairs=adoption.read)


class ReadTranscripts:
    """The parts of episodes that tables read, so that no transcript is read twice. `with_pairs`: also turns with their code, which take most memory."""

    def __init__(self, *, with_pairs: bool) -> None:
        self._with_pairs = with_pairs
        self._calls: dict[Path | None, tuple[UsageLine | RetryLine, ...]] = {}
        self._audits: dict[Path | None, tuple[tuple[str, Audit], ...]] = {}
        self._pairs: dict[Path | None, tuple[adoption.FeedbackPair, ...]] = {}

    def add(self, path: Path, episode: PlayedEpisode) -> None:
        feedback = [turn.feedback for turn in episode.turns if turn.feedback is not None]
        self._calls[path] = (*episode.calls, *episode.retries)
        self._audits[path] = tuple((each.source, each.audit) for each in feedback)
        if self._with_pairs:
            lines: list[TurnLine | Feedback] = [*feedback]
            lines += [turn.judged for turn in episode.turns if turn.judged is not None]
            self._pairs[path] = adoption.pairs(lines)

    @property
    def reader(self) -> TranscriptReader:
        return TranscriptReader(
            calls=lambda path: self._calls.get(path, ()), audits=self._audits.get, pairs=self._pairs.get
        )
