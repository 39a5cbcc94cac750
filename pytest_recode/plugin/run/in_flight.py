"""Plays many episodes in one process: each in a thread of its own, which mostly waits for a model.

The main thread starts them, watches their limits, and passes each finished one through pytest's own protocol, in the order in which they end. Hooks,
warnings and output come from it alone.
"""

from __future__ import annotations

import queue
import resource
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import pytest

from pytest_recode.faults import UserError
from pytest_recode.plugin.collection.items import EpisodeItem
from pytest_recode.plugin.run.flight import Call, Flight

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run

TICK = 0.25
"""Seconds between two looks at the limits of the episodes in flight."""
_ENDING = 20.0
"""Seconds for all of them to end after an interrupt."""
_FILES, _FILES_OF_EPISODE = 100, 6
"""Open files of a process, and of each of its episodes: measured are 50 and 4 to 5."""
_EVALUATED = ("skipif", "xfail")
"""Marks whose conditions pytest evaluates before an item runs."""


class ItemQueue(Protocol):
    """The indices of the items that this process runs."""

    @property
    def over(self) -> bool:
        """Whether no more will come."""

    def take(self) -> int | None:
        """The next one; None: there is none now."""

    def next(self) -> int | None:
        """What `take` would return."""

    def run(self, index: int, nextitem: Any) -> None:
        """Pass the item through pytest's protocol."""


class SessionQueue:
    """All items of a session without workers."""

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._indices = deque(range(len(session.items)))

    @property
    def over(self) -> bool:
        return not self._indices

    def take(self) -> int | None:
        return self._indices.popleft() if self._indices else None

    def next(self) -> int | None:
        return self._indices[0] if self._indices else None

    def run(self, index: int, nextitem: Any) -> None:
        item = self._session.items[index]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=nextitem)


class InFlight:
    """The plugin of a process that plays several episodes at the same time."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._number = 1
        self._calls: queue.SimpleQueue[Call] = queue.SimpleQueue()
        self._flights: dict[Flight, int] = {}

    def post(self, call: Call) -> None:
        """Let the main thread call it, in any thread."""
        self._calls.put(call)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        config = session.config
        if config.option.collectonly or config.pluginmanager.has_plugin("dsession"):
            return None
        self._number, _ = episodes_in_flight(self._run)
        if self._number == 1:
            return None
        if self._run.worker is not None:
            from pytest_recode.plugin.workers.worker_queue import worker_queue

            items: ItemQueue = worker_queue(session, lambda: self.post(_look))
        else:
            if session.testsfailed and not config.option.continue_on_collection_errors:
                return None  # pytest's own loop reports it
            items = SessionQueue(session)
        with self._run.stops.in_flight(lambda: [flight.stops.busy for flight in self._flights]):
            try:
                self._loop(session, items)
            finally:
                self._end()
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[None]) -> None:
        """The episode's own time, in place of that of its report."""
        flight = getattr(item, "flight", None)
        if flight is not None and call.when == "call":
            call.start, call.duration, call.stop = flight.began, flight.seconds, flight.began + flight.seconds

    def _loop(self, session: pytest.Session, items: ItemQueue) -> None:
        while True:
            self._start(session, items)
            if not self._flights and (items.over or self._closing(session)):
                break
            try:
                call = self._calls.get(timeout=TICK)
            except queue.Empty:
                call = _look
            call()
            for flight in list(self._flights):
                flight.watch()
        if self._run.worker is not None:  # the controller ends the session
            return
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop or (self._run.stops.reason and not items.over):
            raise session.Interrupted(session.shouldstop or self._run.stops.reason)

    def _closing(self, session: pytest.Session) -> bool:
        """Whether no new episode starts: those in flight end, and are reported."""
        return bool(self._run.stops.reason or session.shouldfail or session.shouldstop)

    def _start(self, session: pytest.Session, items: ItemQueue) -> None:
        while len(self._flights) < self._number and not self._closing(session):
            following = items.next()
            if following is not None and self._flights and self._waits(session.items[following]):
                return
            index = items.take()
            if index is None:
                return
            item = session.items[index]
            if self._flies(item):
                flight = Flight(item, self._run, self.post, lambda flight: self._report(session, items, flight))
                self._flights[flight] = index
                continue
            following = items.next()
            near = following is not None and _is_alone(item) and _is_alone(session.items[following])
            items.run(index, session.items[following] if near and following is not None else session)

    def _waits(self, item: pytest.Item) -> bool:
        """Whether it starts when no episode is in flight: signals, time limits and fixtures of an item that plays here are pytest's own. And one
        that a plugin repeats: once it has ended, its result is reported again."""
        return _is_alone(item) or any(flight.item.nodeid == item.nodeid for flight in self._flights)

    def _flies(self, item: pytest.Item) -> TypeGuard[EpisodeItem]:
        """Whether it plays in a thread. Not if pytest skips it, or if it has been played: its report is all that is left."""
        if not isinstance(item, EpisodeItem) or _is_alone(item) or item.get_closest_marker("skip"):
            return False
        return not self._run.directory.finished.get(item.nodeid) and self._run.plays(item.nodeid)

    def _report(self, session: pytest.Session, items: ItemQueue, flight: Flight) -> None:
        index = self._flights.pop(flight)
        item = session.items[index]
        assert isinstance(item, EpisodeItem)
        item.flight = flight
        try:
            # Which item is reported next is not known: only the session, which all have in common, stays set up
            items.run(index, session)
        finally:
            item.flight = None

    def _end(self) -> None:
        """End what is still in flight, because an interrupt or an error ended the loop."""
        for flight in self._flights:
            flight.stop()
        until = time.monotonic() + _ENDING
        for flight in self._flights:
            flight.join(max(until - time.monotonic(), 0.0))


def _is_alone(item: pytest.Item) -> bool:
    """Whether the main thread runs it: an ordinary test, or an episode with a mark that pytest evaluates before it runs."""
    return not isinstance(item, EpisodeItem) or any(map(item.get_closest_marker, _EVALUATED))


def _look() -> None:
    """Nothing: wakes the loop."""


def episodes_in_flight(run: Run) -> tuple[int, str]:
    """How many episodes this run plays at the same time in each process, and why not as many as the user asked for ("")."""
    settings = run.settings
    if settings.in_flight == 1:
        return 1, ""
    option = run.config.option
    if option.usepdb or option.capture == "no":
        return 1, f"with {'--pdb' if option.usepdb else '-s'}, only one can use the terminal"
    if run.person or settings.feedback_from == "person":
        return 1, "a person plays, or gives the feedback"
    if run.directory.remote is not None:
        return 1, "this worker is on another host"
    if run.worker is not None or run.config.pluginmanager.has_plugin("dsession"):
        from pytest_recode.plugin.workers.worker_queue import usable

        if not usable():
            return 1, "this pytest-xdist has no queue from which several items can be taken: upgrade it to 3.7 or later"
    for what, kind in _kinds(run):
        if not getattr(kind, "concurrent", False):
            return 1, f"{what} does not say that it can play several at once ({type(kind).__name__}(concurrent=True))"
    return settings.in_flight, ""


def _kinds(run: Run) -> list[tuple[str, Any]]:
    """The kinds that the episodes use, with their names for messages."""
    registry = run.registry
    by_format = run.collected.settings or [run.settings]
    agents = {f"the agent {name}": registry.agent(name) for settings in by_format for name in settings.agents}
    names = {
        name
        for settings in by_format
        for name in (*settings.models, settings.feedback_model, settings.search_model)
        if name
    }
    models = {f"the model {name}": registry.model(name) for name in sorted(names)}
    policies = {
        f"the policy {policy}": registry.policy_kind(policy) for settings in by_format for policy in settings.feedbacks
    }
    sandbox = {f"the sandbox {run.sandbox.name}": registry.sandbox(run.sandbox.name)}
    return [*agents.items(), *models.items(), *policies.items(), *sandbox.items()]


def file_limit_fault(number: int, soft: int, hard: int) -> str:
    """A line for the user if a process may not open as many files as its episodes need; "" otherwise."""
    needed = _FILES + number * _FILES_OF_EPISODE
    if soft >= needed:
        return ""
    fits = max((soft - _FILES) // _FILES_OF_EPISODE, 1)
    more = f"raise the limit with ulimit -n {needed}" if hard < 0 or hard >= needed else "raise the limit as root"
    return f"--recode-in-flight={number} needs {needed} open files, and this process may have {soft}: {more}, or use --recode-in-flight={fits}"


def check(run: Run) -> None:
    """Say why not as many episodes play at the same time as the user asked for. Raises `UserError` if this process may not open enough files."""
    number, why = episodes_in_flight(run)
    if why:
        run.notify(f"one episode at a time in each process, not {run.settings.in_flight}: {why}")
    if fault := file_limit_fault(number, *resource.getrlimit(resource.RLIMIT_NOFILE)):
        raise UserError(fault)
