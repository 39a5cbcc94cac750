"""Wait for a socket or a pipe without delaying Ctrl-C."""

from __future__ import annotations

import select
import socket
import time
from typing import IO

NOTICED = 1.0
"""Seconds within which Ctrl-C is handled. A signal that arrives between Python's last check and the system call does not interrupt
the call, and would be handled only at the end of the wait, minutes later."""


def ready(wire: socket.socket | IO[bytes], event: int, seconds: float) -> bool:
    """Whether `event` (of `select.poll`) occurs within `seconds`; 0 or less polls once."""
    poll = select.poll()
    poll.register(wire, event)
    deadline = time.monotonic() + seconds
    while True:
        left = deadline - time.monotonic()
        if poll.poll(min(max(left, 0.0), NOTICED) * 1000):
            return True
        if left <= NOTICED:
            return False
