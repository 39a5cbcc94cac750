"""A time limit counts the time in which a program ran or slept, not that in which it was ready to run and others used the CPUs.

Runs on the host. Called by `switchboard.py`, `separate.py` and `shared.py` wherever a limit decides about a case.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from pytest_recode.faults import MachineError
from pytest_recode.sandboxes import Connection, send_all

MOST = 10.0
"""How many times its limit a program may wait for others in one case before nothing can be said about it."""
MOST_SECONDS = 60.0
"""The least value of that."""
_LEAST = 0.05  # of the limit: less than that decides nothing
_EARLY = 0.1  # of the limit: when a program is first asked how long it had to wait
_EARLY_SECONDS = 1.0  # the largest value of that

T = TypeVar("T")


class Patience:
    """A `Connection` to a running program. A deadline that passes is put off by the time that the program had to wait for others.

    So its own time decides, on a busy machine too: the deadline is put off until it has used it up. `limit`: the seconds of one case.
    `credit` gets the seconds that are added, so that other limits are put off as well. `others`: whether only other programs can be
    what it waits for, and not one of the same grading. Only then is too long a wait a fault of the machine.

    The time that counts is that of one case in which the host waits for this program: how long it waited before is asked as soon as a case
    takes longer than most.
    """

    def __init__(
        self,
        connection: Connection,
        name: str,
        limit: float,
        credit: Callable[[float], None],
        *,
        others: Callable[[], bool] = lambda: True,
    ) -> None:
        self._connection = connection
        self._name = name
        self._limit = limit
        self._credit = credit
        self._others = others
        self._case = ""
        self._held = 0.0  # how long the host has waited for the program in this case
        self._asked: float | None = None  # `_held` when the program was asked last in this case
        self._waited = 0.0  # what it answered; never less than before
        self._credited = 0.0  # in this case
        self._deadline = 0.0
        self._added = 0.0  # to that deadline

    def begin(self, case: str) -> None:
        """The host is going to wait for the program in this case. No time of another case is added."""
        if case != self._case:
            self._case, self._held, self._asked, self._credited = case, 0.0, None, 0.0

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        send_all(self, data, deadline)

    def write(self, data: bytes | memoryview, deadline: float) -> int:
        return self._patiently(lambda until: self._connection.write(data, until), deadline)

    def receive(self, size: int, deadline: float) -> bytes:
        return self._patiently(lambda until: self._connection.receive(size, until), deadline)

    def waited(self) -> float:
        return self._connection.waited()

    def kill(self) -> str:
        return self._connection.kill()

    def _patiently(self, wait: Callable[[float], T], deadline: float) -> T:
        if deadline != self._deadline:
            self._deadline, self._added = deadline, 0.0
        while True:
            began = time.monotonic()
            until = last = deadline + self._added
            if self._asked is None:
                until = min(last, began + min(self._limit * _EARLY, _EARLY_SECONDS) - self._held)
            try:
                return wait(until)
            except TimeoutError as error:
                timeout = error
            finally:
                self._held += time.monotonic() - began
            more = self._more()
            if until < last:
                continue
            if more < self._limit * _LEAST:
                raise timeout
            self._added += more
            self._credited += more
            self._credit(more)
            if self._credited > max(self._limit * MOST, MOST_SECONDS):
                raise self._too_busy() if self._others() else timeout

    def _more(self) -> float:
        """How long the program had to wait for others since this was asked before in this case. The first time: 0.0."""
        began = time.monotonic()
        waited = max(self._connection.waited(), self._waited)
        self._held += time.monotonic() - began
        more = 0.0 if self._asked is None else min(waited - self._waited, self._held - self._asked)
        self._asked, self._waited = self._held, waited
        return more

    def _too_busy(self) -> MachineError:
        return MachineError(
            f"the {self._name} was ready to run for {self._credited:.1f} s in which other programs used the CPUs, so its limit of"
            f" {self._limit:g} s says nothing: use fewer workers (-n), or end what else runs on this machine"
        )
