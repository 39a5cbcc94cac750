"""A process of a run takes real signals: which Ctrl-C is the one that stopped the run, and which one ends the wait."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator

import pytest

from pytest_recode.faults import Stopped
from pytest_recode.stopping import Stops

_LONG = 60  # seconds: a broken test ends some time


@pytest.fixture
def notified() -> list[str]:
    return []


@pytest.fixture
def stops(notified: list[str]) -> Iterator[Stops]:
    """One that waits for the answer to a request."""
    stops = Stops()
    with stops.signals(bool, notified.append):
        stops.enter()
        yield stops
        with pytest.raises(Stopped):
            stops.settle()


def stopped_by_the_controller(stops: Stops, notified: list[str]) -> None:
    stops.follow(lambda: None)
    for thread in threading.enumerate():
        if thread.name == "recode-stop":
            thread.join(_LONG)
    assert notified, "the main thread has noticed"


def ends_the_wait(number: signal.Signals) -> bool:
    try:
        signal.raise_signal(number)
    except KeyboardInterrupt:
        return True
    return False


def test_the_ctrl_c_of_the_process_group_comes_after_the_controllers_word(stops: Stops, notified: list[str]) -> None:
    stopped_by_the_controller(stops, notified)
    assert not ends_the_wait(signal.SIGINT)
    assert ends_the_wait(signal.SIGINT)
    assert stops.reason == "stopped with the run"


def test_the_ctrl_c_of_the_process_group_comes_before_the_controllers_word(stops: Stops, notified: list[str]) -> None:
    assert not ends_the_wait(signal.SIGINT)
    stopped_by_the_controller(stops, notified)
    assert ends_the_wait(signal.SIGINT)
    assert stops.reason == "stopped by Ctrl-C"
    assert len(notified) == 1


def test_a_sigterm_of_the_process_group_never_ends_the_wait(stops: Stops, notified: list[str]) -> None:
    stopped_by_the_controller(stops, notified)
    for _ in range(3):
        assert not ends_the_wait(signal.SIGTERM)
    assert len(notified) == 1
