"""Wait for a socket or a pipe without delaying Ctrl-C, and notice if this process was stopped meanwhile."""

from __future__ import annotations

import math
import select
import socket
import time
from typing import IO

NOTICED = 1.0
"""Seconds within which Ctrl-C is handled. A signal that arrives between Python's last check and the system call does not interrupt
the call, and would be handled only at the end of the wait, minutes later."""

STOPPED = 5.0
"""A wait that ends this many seconds late ends so because this process was stopped (Ctrl-Z, `kill -STOP`), or its machine suspended. A busy
machine delays it by much less."""

_latest_stop = -math.inf


def stopped_since(start: float) -> bool:
    """Whether this process was stopped after `start`, a time of `time.monotonic`. What was slow meanwhile need not be slow."""
    return _latest_stop > start


def ready(wire: socket.socket | IO[bytes], event: int, seconds: float) -> bool:
    """Whether `event` (of `select.poll`) occurs within `seconds`; 0 or less polls once."""
    poll = select.poll()
    poll.register(wire, event)
    deadline = time.monotonic() + seconds
    while True:
        began = time.monotonic()
        left = deadline - began
        events = poll.poll(min(max(left, 0.0), NOTICED) * 1000)
        _note(began, time.monotonic())
        if events:
            return True
        if left <= NOTICED:
            return False


def _note(began: float, ended: float) -> None:
    global _latest_stop  # one for the process: all of its threads are stopped together
    if ended - began > NOTICED + STOPPED:
        _latest_stop = ended
