"""How much of their time the workers of a run were busy, and which options would do the same with fewer of them."""

from __future__ import annotations

import math
import os
import time
from typing import Any

import pytest

IDLE = 0.25
"""The part of its time below which a worker mostly waited."""
_FEWEST = 4
"""Workers below which nothing is worth saying."""
_SHORTEST = 60.0
"""Seconds of a run below which nothing is: its workers mostly started."""
_KEY = "recode_busy"
_USES = pytest.StashKey[list[tuple[float, float]]]()


class WorkerUse:
    """Registered in a worker: sends its CPU seconds and its seconds to the controller when it ends."""

    def __init__(self) -> None:
        self._began = time.monotonic()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config: Any = session.config
        config.workeroutput[_KEY] = (time.process_time(), time.monotonic() - self._began)


def add(node: Any) -> None:
    """Controller: keep what the worker sent."""
    sent = getattr(node, "workeroutput", {}).get(_KEY)
    if sent is not None:
        node.config.stash.setdefault(_USES, []).append(tuple(sent))


def advice(config: pytest.Config, in_flight: int) -> str:
    """A line for the summary if the workers mostly waited, and fewer of them with more episodes each would do the same; "" otherwise."""
    return fewer(config.stash.get(_USES, []), in_flight, len(os.sched_getaffinity(0)))


def fewer(uses: list[tuple[float, float]], in_flight: int, processors: int) -> str:
    """`uses`: CPU seconds and seconds of each worker; `processors` of this machine."""
    workers = len(uses)
    if workers < _FEWEST:
        return ""
    busy, seconds = (sum(values) for values in zip(*uses, strict=True))
    if seconds < _SHORTEST * workers or busy > IDLE * seconds:
        return ""
    # Twice as many as would be busy all the time: their episodes come in bursts
    number = min(max(math.ceil(2 * busy * workers / seconds), 1), max(processors, 1))
    if number >= workers:
        return ""
    each = math.ceil(workers * in_flight / number)
    options = f"-n {number} --recode-in-flight={each}" if number > 1 else f"--recode-in-flight={each} without -n"
    return (
        f"workers: {workers} processes worked {100 * busy / seconds:.0f} % of the time and waited the rest; {options} plays as many"
        " episodes at the same time with less memory (docs/how-to/play-many-episodes.md)"
    )
