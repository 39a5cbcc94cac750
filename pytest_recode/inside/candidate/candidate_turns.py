"""Decides which thread of the code under test may use the pipe to the grader.

Runs in the candidate process. Called by `candidate_server.py`. Must not let two threads use the pipe at a time, and must not
block a thread that a request needs for its answer.

The grader waits for one thing at a time: the answer to its innermost request, or a call of a function of the test
instead. While such a function runs, it may send a request that is nested in that call.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

NO_CALL = "a function of the test can be called only while a call of the test is running"


class CandidateTurn:
    """A request, or a call of a function of the test. `runs`: whether code under test runs that answers a request."""

    def __init__(self, runs: bool) -> None:
        self.runs = runs


class CandidateTurns:
    """The open requests and the open calls of functions of the test, the innermost last."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: list[CandidateTurn] = []
        self._waiting: deque[CandidateTurn] = deque()  # in this order, so that each thread gets its turn
        self._writer = 0  # the thread that encodes and sends a message

    def start_request(self) -> CandidateTurn:
        turn = CandidateTurn(runs=True)
        with self._changed:
            self._open.append(turn)
            self._changed.notify_all()
        return turn

    @contextmanager
    def answer_to(self, turn: CandidateTurn) -> Iterator[None]:
        """Wait until the functions of the test have returned that threads of this request have called, and hold the
        pipe for its answer."""
        with self._changed:
            turn.runs = False
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._open[-1] is turn)
            try:
                yield
            finally:
                self._open.remove(turn)
                self._changed.notify_all()

    @contextmanager
    def function_of_test(self) -> Iterator[None]:
        """Wait until the grader expects a message, and hold the pipe until the function has returned.

        Raises `RuntimeError` where no request is being answered.
        """
        turn = CandidateTurn(runs=False)
        with self._changed:
            if self._writer == threading.get_ident():
                raise RuntimeError(NO_CALL)  # by a property that is read for the message
            self._waiting.append(turn)
            try:
                self._changed.wait_for(lambda: self._waiting[0] is turn and self._may_call())
            finally:
                self._waiting.remove(turn)
                self._changed.notify_all()
            if not self._any_runs():
                raise RuntimeError(NO_CALL)
            self._open.append(turn)
        try:
            yield
        finally:
            with self._changed:
                self._open.remove(turn)
                self._changed.notify_all()

    def _may_call(self) -> bool:
        return not self._any_runs() or self._open[-1].runs

    def _any_runs(self) -> bool:
        return any(turn.runs for turn in self._open)

    @contextmanager
    def writing(self) -> Iterator[None]:
        self._writer = threading.get_ident()
        try:
            yield
        finally:
            self._writer = 0
