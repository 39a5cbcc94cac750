"""Ctrl-C is noticed in a wait that it does not interrupt."""

from __future__ import annotations

import select
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import pytest

from pytest_recode.sandboxes import waiting

LONG = 600.0


class Interrupted(BaseException): ...


@contextmanager
def interrupted_elsewhere() -> Iterator[None]:
    """A signal that another thread takes, once this one waits or is about to: no system call of this thread ends by it."""

    def interrupt(number: int, frame: FrameType | None) -> None:
        raise Interrupted

    before = signal.signal(signal.SIGUSR1, interrupt)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    go = threading.Event()

    def take() -> None:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        go.wait()
        signal.pthread_kill(threading.get_ident(), signal.SIGUSR1)

    thread = threading.Thread(target=take)
    thread.start()
    timer = threading.Timer(0.3, go.set)
    timer.start()
    try:
        yield
    finally:
        go.set()
        thread.join()
        timer.join()
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
        signal.signal(signal.SIGUSR1, before)


def for_a_socket() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        waiting.ready(ours, select.POLLIN, LONG)


@pytest.mark.timeout(60)
def test_a_signal_that_interrupts_no_wait_is_noticed() -> None:
    with pytest.raises(Interrupted), interrupted_elsewhere():
        for_a_socket()


@pytest.mark.parametrize("seconds", [-1.0, 0.0, 0.01])
def test_nothing_came(seconds: float) -> None:
    near, far = socket.socketpair()
    with near, far:
        assert not waiting.ready(near, select.POLLIN, seconds)
        far.send(b"x")
        assert waiting.ready(near, select.POLLIN, seconds)
