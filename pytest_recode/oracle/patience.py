"""A time limit counts the time in which a program ran or slept, not that in which it was ready to run and others used the CPUs.

Runs on the host. Called by `switchboard.py`, `separate.py` and `shared.py` wherever a limit decides about a case.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from pytest_recode.faults import MachineError
from pytest_recode.inside.runtime import starvation
from pytest_recode.sandboxes import Connection, send_all
from pytest_recode.task import Limits

MOST = 10.0
"""How many times its limit a program may wait for others in one case before nothing can be said about it."""
MOST_SECONDS = 60.0
"""The least value of that."""
_LEAST = 0.05  # of the limit: less than that is no reason to ask again
_OFTEN = 0.01  # of the limit of a grading: how long short cases take together before their program is asked
_OFTEN_SECONDS = 1.0  # the least value of that

T = TypeVar("T")


class Patience:
    """A `Connection` to a running program. A deadline that passes is put off by the time that the program had to wait for others.

    So its own time decides, on a busy machine too: the deadline is put off until it has used it up. `credit` gets the seconds that are
    added in a case, so that other limits are put off as well; `credit_grading` those of earlier cases, which were too short to ask.
    `used` returns the CPU seconds that another program of the same grading has used since a time, or None if that is unknown: it can
    be what this one waits for. Only if others took most of the time is too long a wait a fault of the machine.

    The time that counts is that of one case in which the host waits for this program.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        limits: Limits,
        credit: Callable[[float], None],
        credit_grading: Callable[[float], None],
        *,
        used: Callable[[float], float | None] = lambda _: 0.0,
    ) -> None:
        self._connection = connection
        self._name = name
        self._limit = limits.test_seconds
        self._often = max(limits.grading_seconds * _OFTEN, _OFTEN_SECONDS)
        self._credit = credit
        self._credit_grading = credit_grading
        self._used = used
        self._case = ""
        self._since: float | None = None  # when the host began to wait for the program in this case
        self._held = 0.0  # how long it has waited in this case
        self._credited = 0.0  # in this case
        self._margin = True  # whether this case may still have the last one
        self._deadline = 0.0
        self._added = 0.0  # to that deadline
        self._began = time.monotonic()
        self._all_held = self._all_credited = 0.0  # in all cases
        self._unasked = 0.0  # of the time held, since the program was asked about all cases

    def begin(self, case: str) -> None:
        """The host is going to wait for the program in this case. No time of another case is added."""
        if case != self._case:
            self.settle()
            self._case, self._since, self._held, self._credited, self._margin = case, None, 0.0, 0.0, True

    def settle(self) -> None:
        """Credit the grading with what the program had to wait in cases that were too short to ask, if they were many."""
        if self._unasked < self._often:
            return
        self._unasked = 0.0
        waited = starvation.waited(self._connection.waited(), self._began)
        more = min(waited, self._all_held) - self._all_credited
        if more > 0:
            self._all_credited += more
            self._credit_grading(more)

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        send_all(self, data, deadline)

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        return self._patiently(lambda until: self._connection.write(data, until), deadline)

    def receive(self, size: int, deadline: float) -> bytes:
        return self._patiently(lambda until: self._connection.receive(size, until), deadline)

    def waited(self) -> Sequence[starvation.Sample]:
        return self._connection.waited()

    def used(self, since: float) -> float | None:
        """The CPU seconds that the program has used since a time, at most; None if that is unknown."""
        return starvation.used(self._connection.waited(), since)

    def kill(self) -> str:
        return self._connection.kill()

    def _patiently(self, wait: Callable[[float], T], deadline: float) -> T:
        if deadline != self._deadline:
            self._deadline, self._added = deadline, 0.0
        last = False
        while True:
            began = time.monotonic()
            if self._since is None:
                self._since = began
            try:
                return wait(deadline + self._added)
            except TimeoutError as error:
                if last:
                    raise
                timeout = error
            finally:
                self._hold(began)
            more = self._more(self._since)
            last = more < self._limit * _LEAST  # but it is heard once more: it may have answered while it was asked
            if (
                last and self._margin and self._credited + more > 0
            ):  # the way to it and back is slow, too, and not measured
                more += self._limit * _LEAST
                self._margin = False
            self._added += more
            self._credited += more
            self._all_credited += more
            self._credit(more)
            if self._credited > (most := max(self._limit * MOST, MOST_SECONDS)):
                used = self._used(self._since)
                if used is None or used > most:
                    raise timeout
                if self._credited - used > most:
                    raise self._too_busy()

    def _hold(self, began: float) -> None:
        held = time.monotonic() - began
        self._held += held
        self._all_held += held
        self._unasked += held

    def _more(self, since: float) -> float:
        """How long the program had to wait for others in this case, less what has been added for it."""
        began = time.monotonic()
        waited = starvation.waited(self._connection.waited(), since)
        self._hold(began)
        return max(min(waited, self._held) - self._credited, 0.0)

    def _too_busy(self) -> MachineError:
        return MachineError(
            f"the {self._name} was ready to run for {self._credited:.1f} s in which other programs used the CPUs, so its limit of"
            f" {self._limit:g} s says nothing: use fewer workers (-n), or end what else runs on this machine"
        )
