"""A time limit counts the time in which a program ran or slept, not that in which it was ready to run and others used the CPUs.

Runs on the host. Called by `switchboard.py`, `separate.py` and `shared.py` wherever a limit decides about a case.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from pytest_recode.faults import MachineError
from pytest_recode.sandboxes import Connection

MOST = 3.0
"""How many times its limit a program may wait for others before that is a fault of the machine."""
_LEAST = 0.05  # of the limit: less than that decides nothing


class Patience:
    """A `Connection` to a running program. When a deadline passes, `receive` waits on for as long as the program had to wait for others.

    `limit`: the seconds of one case. `credit` gets the seconds that are added, so that other limits are put off as well. One object
    belongs to one program, since time that was credited once is not credited again.
    """

    def __init__(self, connection: Connection, name: str, limit: float, credit: Callable[[float], None]) -> None:
        self._connection = connection
        self._name = name
        self._limit = limit
        self._credit = credit
        self._since = time.monotonic()  # of the last answer to how long it had to wait
        self._waited = 0.0  # that answer
        self._added = 0.0  # since `begin`
        self._decided = False  # whether `receive` has found that others are not the cause

    def begin(self) -> None:
        """Another wait begins, with a deadline that does not have what was added to earlier ones."""
        self._added, self._decided = 0.0, False

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        self._connection.send(data, deadline + self._added)

    def receive(self, size: int, deadline: float) -> bytes:
        while True:
            try:
                return self._connection.receive(size, deadline + self._added)
            except TimeoutError:
                more = self._more()
                if more < self._limit * _LEAST:
                    self._decided = True
                    raise
                self._added += more
                if self._added > self._limit * MOST:
                    raise self._too_busy(self._added) from None
                self._credit(more)

    def waited(self) -> float:
        return self._connection.waited()

    def kill(self) -> str:
        return self._connection.kill()

    def check(self) -> None:
        """Raise `MachineError` if the program was too slow because of others where nothing can wait on, as in the middle of a `send`."""
        more = 0.0 if self._decided else self._more()
        if more >= self._limit * _LEAST:
            raise self._too_busy(more)

    def _more(self) -> float:
        """How long the program had to wait for others since this was asked before."""
        now, waited = time.monotonic(), self._connection.waited()
        more = min(max(waited - self._waited, 0.0), now - self._since)
        self._since, self._waited = now, max(waited, self._waited)
        return more

    def _too_busy(self, seconds: float) -> MachineError:
        return MachineError(
            f"the {self._name} was ready to run for {seconds:.1f} s in which other programs used the CPUs, so its limit of"
            f" {self._limit:g} s says nothing: use fewer workers (-n), or end what else runs on this machine"
        )
