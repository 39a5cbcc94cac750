"""One episode in flight: it plays in a thread of its own, and its item is reported when it has ended."""

from __future__ import annotations

import errno
import logging
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from pytest_recode.clock import Clock
from pytest_recode.episode_stops import EpisodeStops
from pytest_recode.faults import MACHINE_STEPS, Stopped, UserError
from pytest_recode.plugin.run.limits import Limit, LimitReached, limits_of
from pytest_recode.plugin.run.observers import observe
from pytest_recode.plugin.run.run_ledger import run_ledger
from pytest_recode.sandboxes.episode_sandbox import EpisodeSandbox

if TYPE_CHECKING:
    from pytest_recode.episode import OnTurn, Turn
    from pytest_recode.models import Ledger
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.records.record import Record
    from pytest_recode.sandboxes import Sandbox


class FlightItem(Protocol):
    """The item of an episode."""

    name: str
    seconds: float | None

    @property
    def nodeid(self) -> str: ...

    @property
    def ihook(self) -> Any: ...

    def play(
        self, sandbox: Sandbox, ledger: Ledger, on_turn: OnTurn, clock: Clock, check: Callable[[], None]
    ) -> Record: ...


LOG = logging.getLogger("pytest_recode")
Call = Callable[[], None]
"""What a flight asks the main thread to do."""


class Flight:
    """Starts at once. `post` takes what the main thread has to do, and `ended` is posted last."""

    def __init__(
        self, item: FlightItem, run: Run, post: Callable[[Call], None], ended: Callable[[Flight], None]
    ) -> None:
        self.item = item
        self.seconds = 0.0
        self.began = time.time()
        self._run = run
        self._post, self._ended = post, ended
        self._clock = Clock()
        self._limits: list[tuple[Limit, float]] = []
        self._record: Record | None = None
        self._error: BaseException | None = None
        self.stops = EpisodeStops(run.stops)
        try:
            run.directory.use(run.stops)
            self._limits = [(limit, limit.clock()) for limit in limits_of(item, self._clock)]
            sandbox = EpisodeSandbox(run.sandbox.get(), self.stops.check)
            self._thread = threading.Thread(target=self._play, args=[sandbox], name=f"recode {item.name}", daemon=True)
            self._start()
        except Exception as error:  # noqa: BLE001  `result` raises it when the item is reported
            self._error = error
            post(lambda: ended(self))

    def _start(self) -> None:
        try:
            self._thread.start()
        except RuntimeError as error:
            raise UserError(
                f"no thread can be started for this episode ({error}): {MACHINE_STEPS[errno.EAGAIN]}, or lower --recode-in-flight"
            ) from error

    def watch(self) -> None:
        """End the episode if one of its time limits has passed, or if the run stops and no answer is awaited. Called by the main thread."""
        for limit, start in self._limits:
            if limit.clock() - start >= limit.seconds:
                self.stops.end(LimitReached(limit, self._clock))
        if self._run.stops.reason and not self.stops.busy:
            self.stop()

    def stop(self) -> None:
        """End the episode although an answer may be awaited."""
        self.stops.end(Stopped(self._run.stops.reason or "interrupted"))

    def join(self, seconds: float) -> bool:
        """Wait for the end of the thread; whether it has ended."""
        if self._thread.ident is not None:  # it was started
            self._thread.join(seconds)
        return not self._thread.is_alive()

    def result(self) -> Record:
        """The record of an episode that has ended. Raises what ended it without one."""
        if self._error is not None:
            raise self._error
        assert self._record is not None
        return self._record

    def failed(self, error: BaseException) -> None:
        """Let the episode raise this, which the main thread raised for it; one that has ended, its item."""
        self.stops.end(error)
        if self._record is not None:
            self._error = error

    def _play(self, sandbox: EpisodeSandbox) -> None:
        began = time.monotonic()
        ledger = run_ledger(self._run.out, self._run.settings, self.stops)
        try:
            self._record = self.item.play(sandbox, ledger, self._turn_finished, self._clock, self.stops.check)
        except BaseException as error:  # noqa: BLE001  `result` raises it in the main thread
            self._error = error
        finally:
            self._release(lambda: ledger.abandon("cut off"))
            self._release(sandbox.close)
            self.seconds = time.monotonic() - began
            self._post(lambda: self._ended(self))

    def _release(self, release: Call) -> None:
        try:
            release()
        except Exception as error:  # noqa: BLE001  it must not hide how the episode ended
            LOG.warning("%s: %s", self.item.nodeid, error)

    def _turn_finished(self, turn: Turn) -> None:
        self._post(lambda: self._tell(turn))

    def _tell(self, turn: Turn) -> None:
        try:
            observe(self._run, "pytest_recode_turn_finished", item=self.item, turn=turn)
        except Exception as error:  # noqa: BLE001  a fault of the project's own hooks, which its report shows
            self.failed(error)
