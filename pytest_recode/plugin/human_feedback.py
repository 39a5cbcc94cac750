"""Feedback from a person (`--recode-feedback-from`), in pytest's terminal or by files in the directory of the run."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_recode.feedback.person import Ask, Request, Words

LOG = logging.getLogger("pytest_recode")
ASKED = pytest.StashKey[bool]()
"""True after a person was asked in this session."""


def ask(who: str, config: pytest.Config, out: Path) -> Ask | None:
    """The way to ask a person for feedback; None for `auto`, which asks no person."""
    if who == "person":
        from pytest_recode.feedback.dialogue import dialogue

        def in_terminal(request: Request) -> Words:
            first = ASKED not in config.stash
            config.stash[ASKED] = True
            draft = out / "feedback" / f"{request.name}.said.json"
            with _terminal(config):
                width = shutil.get_terminal_size().columns
                return dialogue(request, write=print, read=input, stored=draft, width=width, first=first)

        return in_terminal
    if who == "files":
        from pytest_recode.feedback.by_file import by_file
        from pytest_recode.formats.directory.parts import read_feedback

        return by_file(out / "feedback", read_feedback, LOG.warning)
    return None


def check_terminal(config: pytest.Config) -> None:
    """Raise `UserError` if standard input or output is not a terminal."""
    with _terminal(config):
        there = sys.stdin is not None and sys.stdin.isatty() and sys.stdout is not None and sys.stdout.isatty()
    if not there:
        raise UserError(
            "--recode-feedback-from=person needs a terminal, and this run has none: start it in one,"
            " or answer by files with --recode-feedback-from=files"
        )


@contextmanager
def _terminal(config: pytest.Config) -> Iterator[None]:
    """Standard input and output as they were before pytest captured them."""
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        yield
        return
    capture.suspend_global_capture(in_=True)
    try:
        yield
    finally:
        capture.resume_global_capture()
