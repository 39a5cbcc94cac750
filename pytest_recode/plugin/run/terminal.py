"""The terminal in which pytest runs, for a person who answers there: as the agent, or as the researcher."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.agents import Terminal


def of_agent(config: pytest.Config) -> Terminal:
    """The terminal as an agent gets it."""
    from pytest_recode.agents import Terminal

    return Terminal(opened=partial(uncaptured, config), write=print, read=input)


def check(config: pytest.Config, option: str, instead: str) -> None:
    """Raise `UserError` if standard input or output is not a terminal. `option` needs one; `instead` is the other choice."""
    with uncaptured(config):
        reads, writes = (stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))
    if reads and not writes:
        raise UserError(
            f"{option} needs a terminal, and the output of this run is piped or redirected: start it without `| …` and `> …`, or"
            f" {instead}"
        )
    if writes and not reads:
        raise UserError(
            f"{option} needs a terminal, and the input of this run is piped or redirected: start it without `… |` and `< …`, or"
            f" {instead}"
        )
    if not reads:
        raise UserError(f"{option} needs a terminal, and this run has none: start it in one, or {instead}")


@contextmanager
def uncaptured(config: pytest.Config) -> Iterator[None]:
    """Standard input and output as they were before pytest captured them."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        yield
        return
    with capture.global_and_fixture_disabled():  # resumes capture only if it was active
        capture.suspend_global_capture(in_=True)
        yield
