"""Answers that a run has paid for and may need again: DIR/answers/*.jsonl. Used in the gateway.

An answer is stored before its episode gets it. The episode may be stopped, or its worker may die, before the turn of the answer has a
checkpoint. The turn then starts again, in a resumed run or in an episode that shares the first turn, and sends the same requests: they
are answered from here, and no provider is asked. The files have the names of episodes' transcripts, or, for the first turn, of the key of
`records/first_turn.py`. A line is

    {"call": ID, "key": KEY, "turn": 1, "player": […], "body": {…}, "waited": 0.0, "answering": 1.5}

KEY is that of a cassette (`cassette.py`); the player is an episode in a session. The recorder of an episode removes its files when they
are not needed any more.
"""

from __future__ import annotations

import asyncio
import re
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from pytest_recode.faults import UserError
from pytest_recode.gateway import FIRST_TURN, TURN
from pytest_recode.models import Caller, Timing
from pytest_recode.records.run_directory import ANSWERS, Lines, reading
from pytest_recode.records.transcript import name as transcript_name
from pytest_recode.schema.rules import INLINE, Name, Number
from pytest_recode.schema.stored_forms import DamagedError, dump, load, parsed


@dataclass(frozen=True, slots=True, kw_only=True)
class _AnswerLine:
    call: Name
    key: Name
    turn: Number
    player: tuple[str, ...]
    body: Mapping[str, Any]
    timing: Annotated[Timing, INLINE]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptAnswer:
    """A stored answer: the id of its call, the body in OpenAI's format, and its times."""

    call: str
    body: Mapping[str, Any]
    timing: Timing


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the answer to a request is kept: the name of the file, the number of the turn, and the key of the request."""

    file: str
    turn: int
    key: str


def place_of(caller: Caller, body: Mapping[str, Any], key: str) -> Place | None:
    """None for a call that belongs to no turn of an episode: its answer is not kept."""
    turn, first_turn = body.get(TURN), body.get(FIRST_TURN)
    if type(turn) is not int or turn < 1 or not caller.episode:
        return None
    if isinstance(first_turn, str) and _FIRST_TURN_KEY.fullmatch(first_turn):
        return Place(file=f"{first_turn}.jsonl", turn=1, key=key)
    return Place(file=transcript_name(caller.episode), turn=turn, key=key)


_FIRST_TURN_KEY = re.compile(r"[0-9a-f]{32}")


class KeptAnswers:
    """The answers in the directory `out`. `run`: the id of this session."""

    def __init__(self, out: Path, run: str) -> None:
        self._folder = out / ANSWERS
        self._run = run
        self._left: dict[tuple[str, str], dict[Place, deque[KeptAnswer]]] = {}  # by file and episode
        self._asked: dict[Place, list[tuple[str, asyncio.Future[KeptAnswer | None]]]] = {}
        """Calls of the provider, with the episodes that made them."""

    async def take(self, caller: Caller, place: Place) -> KeptAnswer | None:
        """The oldest answer that another player got to this request, which is given once; None if there is none.

        Waits for an answer that is on its way to another player, whose worker has died: players of one turn take turns. Raises
        `UserError` for a damaged file.
        """
        of = (place.file, caller.episode)
        if of not in self._left:
            self._left[of] = self._read(place.file, caller)
        if found := self._left[of].get(place):
            return found.popleft()
        for episode, answer in tuple(self._asked.get(place, ())):
            if episode != caller.episode and (kept := await asyncio.shield(answer)) is not None:
                return kept
        return None

    @contextmanager
    def asking(self, caller: Caller, place: Place) -> Iterator[asyncio.Future[KeptAnswer | None]]:
        """Wrap a call of the provider. Give its answer to the future, if there is one."""
        answer: asyncio.Future[KeptAnswer | None] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(place, []).append((caller.episode, answer))
        try:
            yield answer
        finally:
            if not answer.done():
                answer.set_result(None)
            self._asked[place].remove((caller.episode, answer))
            if not self._asked[place]:
                del self._asked[place]

    def keep(self, caller: Caller, place: Place, answer: KeptAnswer) -> None:
        """Store an answer. Raises `RecordsError`."""
        line = _AnswerLine(
            call=answer.call,
            key=place.key,
            turn=place.turn,
            player=self._player(caller),
            body=answer.body,
            timing=answer.timing,
        )
        file = Lines(self._folder / place.file)  # not left open: a worker removes it
        try:
            file.append(dump(line))
        finally:
            file.close()

    def _player(self, caller: Caller) -> tuple[str, str]:
        return (self._run, caller.episode)

    def _read(self, name: str, caller: Caller) -> dict[Place, deque[KeptAnswer]]:
        """The answers of other players in a file."""
        path = self._folder / name
        answers: dict[Place, deque[KeptAnswer]] = {}
        if not path.exists():
            return answers
        with reading(path):
            texts = path.read_bytes().split(b"\n")[:-1]
        for number, text in enumerate(texts, 1):
            try:
                line = load(_AnswerLine, parsed(text))
            except DamagedError as error:
                raise UserError(
                    f"{path}, line {number}: is damaged ({error}): restore it, or remove the file, and its answers are asked for again"
                ) from None
            if line.player != self._player(caller):
                answer = KeptAnswer(call=line.call, body=line.body, timing=line.timing)
                place = Place(file=name, turn=line.turn, key=line.key)
                answers.setdefault(place, deque()).append(answer)
        return answers
