"""The ledger of a run's cost, shared by all its workers: one file of JSON lines, which workers read and write under a lock.

`ledger_lines.py` has the types of the lines and checks those that are read. Each request has one line. `{"model", "call": "begun"}` is written before the request is sent, and is overwritten in place by
`{"model", "prompt_tokens", "completion_tokens", "cost_usd"}`, or by `{"model", "unanswered"}` with the fault. So the cost of a request
can be recorded even if the disk is full by then. Other lines are `{"model", "fault", "detail"}` for each fatal fault,
`{"address", "reach"}` when a server (or one model there) stops answering, is given up, or answers again, and `{"run"}` when a later
run starts in the same directory; faults and addresses of the earlier run do not apply to it.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.episode_stops import CallStops
from pytest_recode.faults import ModelError, ModelFault, UserError
from pytest_recode.records import ledger_file, locks, record
from pytest_recode.records.cost_limits import CostLimits
from pytest_recode.records.ledger_lines import (
    LedgerLine,
    OpenLine,
    Reach,
    SpentLine,
    UnansweredLine,
    ledger_line,
)
from pytest_recode.records.run_directory import flush, writing
from pytest_recode.schema.stored_forms import DamagedError
from pytest_recode.stopping import Stops
from pytest_recode.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class _OpenCall:
    """The line of a call without an answer. `reserved_usd`: None if this is not a call of the gateway."""

    model: str
    length: int
    reserved_usd: float | None


class FileLedger:
    """A ledger in a file, which is created before the first request, or with `existing` by `begin` alone. `max_cost` is in US dollars;
    None is no limit.

    When the limit is passed, calls in progress of all workers continue, but no new call starts. `stops` is checked before each
    call. Every method raises `RecordsError` if the file cannot be written, and `UserError` for a line that is damaged.
    """

    def __init__(
        self,
        path: Path,
        max_cost: float | None = None,
        stops: CallStops | None = None,
        *,
        max_cost_of: Mapping[str, float] | None = None,
        existing: bool = False,
    ) -> None:
        self.path = path
        self._existing = existing
        self._stops = stops or Stops()
        self._begun: dict[str, list[int]] = {}  # offsets of this process's unanswered lines, by model
        self._open: dict[int, _OpenCall] = {}  # unanswered lines of all processes, by offset
        self._unbooked = 0
        self._replayed = Usage(cost_usd=0.0)
        self._replays = 0
        self._limits = CostLimits(max_cost, max_cost_of or {})
        self._read_to = 0
        self._total = Usage(cost_usd=0.0)
        self._faults: dict[str, ModelError] = {}
        self._reach: dict[str, Reach] = {}
        self._answered: set[str] = set()
        self._mutex = threading.Lock()  # flock does not exclude other threads of the same process

    def begin(self, run: str, *, calls: bool) -> None:
        """Start a run. Called once, by the controlling process. `calls`: the run may call models, so the file is created if it is missing.

        A ledger that is missing later was removed, and no other one takes its place: it would count from 0 dollars. The cost of earlier runs in this directory still counts. Their faults do not, because the user may have corrected keys, models
        and addresses.
        """
        if self.path.exists():
            self._read()
            self._append({"run": run})
        elif calls:
            with writing(self.path):
                os.close(os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644))

    @property
    def total(self) -> Usage:
        """Usage of the whole run so far; `cost_usd` is None if the price of any call is unknown."""
        self._read()
        return self._total if not self._limits.unpriced else self._total + Usage(cost_usd=None)

    @property
    def replayed(self) -> tuple[int, float | None]:
        """The number of answers from a cassette, and the US dollars that they cost when they were recorded; None if unknown."""
        self._read()
        return self._replays, self._replayed.cost_usd

    def replay(self, model: str, recorded_usd: float | None) -> None:
        """Write that an answer came from a cassette."""
        self._append({"model": model, "replayed": True, "recorded_usd": recorded_usd})

    @property
    def unbooked(self) -> int:
        """The number of requests that may have been billed without a recorded answer: interrupted, timed out, or in progress."""
        self._read()
        return self._unbooked + len(self._open)

    def before_call(self, model: str) -> None:
        """Write the call's line. Raises `ModelError` for a known fatal fault, `BudgetSpent` at or past the limit,
        `Stopped` in a run that stops.

        Also raises `UserError` if there is a limit and a call of unknown price was made, because what cannot be counted
        cannot be limited.
        """
        self._read()
        self._affordable(model)
        self._stops.enter()
        try:
            with self._opened(write=True) as file:
                place = self._write_open(file, {"model": model, "call": "begun"})
        except BaseException:
            self._stops.settled()
            raise
        self._begun.setdefault(model, []).append(place)

    def enter(self) -> None:
        """Call it before a request to the gateway, which writes the call's line. Raises what a stop raises."""
        self._stops.enter()

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return self._stops.waiting(wake)

    def begin_call(self, model: str, reserved_usd: float) -> int | None:
        """Write the line of a call that may cost up to `reserved_usd`, and return its place for `end_call`.

        Returns None if the calls in progress may use up the limit: wait until one of them has ended. So the total exceeds the limit
        by less than the reserved cost of one call. Raises what `before_call` raises, except `Stopped`.
        """
        with self._opened(write=True) as file:
            self._catch_up(file)
            self._affordable(model)
            if not self._reservable(model):
                return None
            place = self._write_open(file, {"model": model, "call": "begun", "reserved_usd": reserved_usd})
            flush(file, self.path)
            return place

    def end_call(self, place: int, model: str, answer: Usage | str) -> None:
        """Replace the line of a call by its usage, or by the reason why it has no answer.

        Raises `UserError`, after writing, if there is a limit and the price of this call is unknown.
        """
        if isinstance(answer, str):
            self._replace(place, {"model": model, "unanswered": answer}, flushed=True)
            return
        self._replace(place, {"model": model, **record.usage(answer)}, flushed=True)
        self._limits.check_price(model, answer)

    def end_lost_calls(self) -> None:
        """Mark the calls of an earlier gateway of this run as interrupted: nothing waits for their answers."""
        self._read()
        for place, call in tuple(self._open.items()):
            if call.reserved_usd is not None:
                self.end_call(place, call.model, "cut off")

    def _write_open(self, file: int, line: OpenLine) -> int:
        return ledger_file.write(file, ledger_file.padded(line, ledger_file.width(line["model"])))

    def _affordable(self, model: str) -> None:
        if known := self._faults.get(model):
            raise ModelError(known.fault, model, known.detail)
        self._limits.check(model)

    def _reservable(self, model: str) -> bool:
        """Whether the calls in progress leave a part of each limit, even if each costs what is reserved for it."""
        every = sum(call.reserved_usd or 0.0 for call in self._open.values())
        own = sum(call.reserved_usd or 0.0 for call in self._open.values() if call.model == model)
        return self._limits.allow(model, every, own)

    def spent(self, model: str, usage: Usage) -> None:
        """Write the call's usage to the file before returning, so that it survives the process.

        Raises `UserError`, after writing, if there is a limit and the price of this call is unknown.
        """
        line: SpentLine = {"model": model, **record.usage(usage)}
        if self._begun.get(model):
            self._end(line)
        else:
            self._append(line)
        self._limits.check_price(model, usage)

    def unanswered(self, model: str, why: str) -> None:
        """Raises `Stopped` if the run stops, which waited for this answer."""
        if self._begun.get(model):
            self._end({"model": model, "unanswered": re.sub(r"[^a-z -]", "", why)[:30]})
        self._stops.settle()

    def settle(self) -> None:
        self._stops.settle()

    def abandon(self, why: str) -> None:
        """Mark every open call of this process as interrupted: no thread waits for its answer."""
        for model, places in self._begun.items():
            while places:
                self._end({"model": model, "unanswered": why})

    def _end(self, line: SpentLine | UnansweredLine) -> None:
        """Overwrite the line that was written before the call with `line`."""
        self._replace(self._begun[line["model"]].pop(), line)

    def _replace(self, place: int, line: SpentLine | UnansweredLine, *, flushed: bool = False) -> None:
        with self._opened(write=True, new=False) as file:
            ledger_file.put(file, place, ledger_file.padded(line, ledger_file.width(line["model"])))
            if flushed:
                flush(file, self.path)

    def fault(self, error: ModelError) -> None:
        """Record a fatal fault, which every worker's next call of this model raises. Other faults are ignored."""
        if error.fatal:
            self._append({"model": error.model, "fault": error.fault.value, "detail": error.detail})

    def retry(self, error: ModelError, pause: float) -> None:
        """Does nothing, because a retry costs nothing."""

    def answered(self, model: str) -> bool:
        self._read()
        return model in self._answered

    def reached(self, where: str, now: Reach) -> Reach:
        """Record the state of `where`. Only the worker that causes a change gets a different previous state, so that one worker reports it."""
        self._read()
        if not self._changes(where, now):
            return self._known(where)
        with self._opened(write=True) as file:
            self._catch_up(file)
            before = self._known(where)
            if self._changes(where, now):
                line: LedgerLine = {"address": where, "reach": now.value}
                ledger_file.write(file, json.dumps(line))
        return before

    def _known(self, where: str) -> Reach:
        return self._reach.get(where, Reach.ANSWERS)

    def _changes(self, where: str, now: Reach) -> bool:
        before = self._known(where)
        return now is not before and (before, now) != (Reach.LOST, Reach.WAITING)

    def _append(self, line: LedgerLine) -> None:
        with self._opened(write=True) as file:
            ledger_file.write(file, json.dumps(line))

    def _read(self) -> None:
        with self._opened(write=False) as file:
            self._catch_up(file)

    def _catch_up(self, file: int | None) -> None:
        if file is None:
            return
        for place, call in tuple(self._open.items()):
            self._count(file, os.pread(file, call.length, place), place)
        data = os.pread(file, max(os.fstat(file).st_size - self._read_to, 0), self._read_to)
        whole = data[: data.rfind(b"\n") + 1]
        for line in whole.splitlines(keepends=True):
            self._count(file, line, self._read_to)
            self._read_to += len(line)

    def _count(self, file: int, line: bytes, place: int) -> None:
        try:
            stored = json.loads(line)
        except ValueError:
            return  # an incomplete line of a killed process
        try:
            entry = ledger_line(stored)
        except DamagedError as error:
            number = os.pread(file, place, 0).count(b"\n") + 1
            raise UserError(f"{self.path}, line {number}: {error}: restore it, or give another --recode-out") from None
        if "run" in entry:
            self._faults.clear()
            self._reach.clear()
            self._answered.clear()
            return
        if "call" in entry:
            self._open[place] = _OpenCall(
                model=entry["model"], length=len(line), reserved_usd=entry.get("reserved_usd")
            )
            return
        self._open.pop(place, None)
        if "replayed" in entry:
            self._replayed += Usage(cost_usd=entry["recorded_usd"])
            self._replays += 1
            return
        if "unanswered" in entry:
            self._unbooked += entry["unanswered"] in MAYBE_BILLED
            return
        if "fault" in entry:
            fault = ModelError(ModelFault(entry["fault"]), entry["model"], entry["detail"])
            self._faults.setdefault(entry["model"], fault)
            return
        if "reach" in entry:
            self._reach[entry["address"]] = Reach(entry["reach"])
            return
        self._limits.spent(entry["model"], entry["cost_usd"])
        self._answered.add(entry["model"])
        self._total += Usage(
            prompt_tokens=entry["prompt_tokens"],
            completion_tokens=entry["completion_tokens"],
            cost_usd=entry["cost_usd"] or 0.0,
        )

    @contextmanager
    def _opened(self, *, write: bool, new: bool = True) -> Iterator[Any]:
        """Open the file under its lock, which is exclusive for writing; None if there is no file to read."""
        with self._mutex, writing(self.path):
            creates = os.O_CREAT if new and not self._existing else 0
            flags = os.O_RDWR | creates if write else os.O_RDONLY
            try:
                file = os.open(self.path, flags | os.O_CLOEXEC, 0o644)
            except FileNotFoundError:
                if write:
                    raise
                yield None
                return
            with locks.locked(file, shared=not write):
                yield file


MAYBE_BILLED = frozenset({"timeout", "connection", "cut off", "partial answer"})
"""Reasons for a missing answer with which the provider may still have billed the request."""
