"""Waiting for a socket, so that Ctrl-C is always noticed."""

from __future__ import annotations

import select
import socket
import time

NOTICED = 1.0
"""Seconds within which Ctrl-C is. One that comes after Python has last looked for signals, and before the system call, does not
end that call: it would be noticed when the wait is over, minutes later."""


def ready(wire: socket.socket, event: int, seconds: float) -> bool:
    """Whether `event` (of `select.poll`) came within so many seconds; 0 or less looks once."""
    poll = select.poll()
    poll.register(wire, event)
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        if poll.poll(min(max(left, 0.0), NOTICED) * 1000):
            return True
        if left <= NOTICED:
            return False
