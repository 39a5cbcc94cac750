"""Decides which thread of a hidden test may use the pipe to the candidate.

Runs in the grader process. Called by `candidate_link.py`. Must not let two threads use the pipe at a time: the
candidate answers one request after another, and the answer to one would be taken for that to another.

A request may be nested in another one, but only while a function of the test runs that the candidate has called.
The candidate waits for the result of that function then, and answers other requests in the meantime, of any thread.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager


class GraderTurns:
    """The open requests of one link, the innermost last. Only the innermost one uses the pipe."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: list[OpenRequest] = []
        self._waiting: deque[OpenRequest] = deque()  # in this order, so that each thread gets its turn
        self._process = os.getpid()
        self._closed = False

    def in_this_process(self) -> bool:
        """False in a process that the test has forked: it has the same pipe, but not this condition."""
        return os.getpid() == self._process

    @contextmanager
    def request(self) -> Iterator[OpenRequest]:
        """Wait until the candidate expects a request, and hold the pipe until its answer has arrived.

        Raises `Closed` between two cases.
        """
        thread = threading.get_ident()
        with self._changed:
            request = OpenRequest(thread, sum(each.thread == thread for each in self._open))
            self._waiting.append(request)
            self._changed.wait_for(lambda: self._waiting[0] is request and self._is_expected())
            self._waiting.popleft()
            self._changed.notify_all()
            if self._closed and not self._open:
                raise Closed
            self._open.append(request)
        try:
            yield request
        finally:
            with self._changed:
                self._open.remove(request)
                self._changed.notify_all()

    def _is_expected(self) -> bool:
        return not self._open or self._open[-1].calls_test

    @contextmanager
    def function_of_test(self, request: OpenRequest) -> Iterator[None]:
        """Let other requests use the pipe while a function of the test runs, and wait until they have ended."""
        with self._changed:
            request.calls_test = True
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._changed.wait_for(lambda: self._open[-1] is request)
                request.calls_test = False

    def close(self) -> None:
        """Allow no other request, and wait until none is open: a test may end before its threads do."""
        with self._changed:
            self._closed = True  # first: a thread that asks again and again would never leave the pipe idle
            self._changed.wait_for(lambda: not self._open)

    def open(self) -> None:
        """Allow requests: the next case begins."""
        with self._changed:
            self._closed = False


class Closed(Exception):
    """A request between two cases."""


class OpenRequest:
    """One request, from its start until its answer. `depth`: in how many requests of the same thread it is nested."""

    def __init__(self, thread: int, depth: int) -> None:
        self.thread = thread
        self.depth = depth
        self.calls_test = False  # whether a function of the test runs, which the candidate has called
