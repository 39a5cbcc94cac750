"""Feedback from a person (`--recode-feedback-from`), in pytest's terminal or by files in the directory of the run."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from pytest_recode.plugin.run import terminal

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_recode.researchers.human_researcher import Ask, FeedbackRequest, Words

LOG = logging.getLogger("pytest_recode")
ASKED = pytest.StashKey[bool]()
"""True after a person was asked in this session."""


def ask(who: str, config: pytest.Config, out: Path) -> Ask | None:
    """The way to ask a person for feedback; None for `auto`, which asks no person."""
    if who == "person":
        from pytest_recode.researchers.dialogue import dialogue

        def in_terminal(request: FeedbackRequest) -> Words:
            first = ASKED not in config.stash
            config.stash[ASKED] = True
            draft = out / "feedback" / f"{request.name}.said.json"
            with terminal.uncaptured(config):
                return dialogue(request, write=print, read=input, stored=draft, first=first)

        return in_terminal
    if who == "files":
        from pytest_recode.formats.directory.parts import read_feedback
        from pytest_recode.researchers.by_file import by_file

        return by_file(out / "feedback", read_feedback, LOG.warning)
    return None
