"""What a person said before the run was cut off holds for the very same turn, and for no other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.episode import FeedbackItem
from pytest_recode.researchers.dialogue import dialogue
from pytest_recode.researchers.human_researcher import FeedbackRequest, Words

DRAFTS = tuple(
    FeedbackItem(interface=name, category="T2", description="d", analysis="a", suggestion="s", correction="")
    for name in ("a.f", "a.g")
)
REQUEST = FeedbackRequest(
    name="x-turn-1",
    title="x, turn 1, level L1: 2 of 2 fail",
    task="task.yaml",
    verdict="all fail",
    difference="+x = 1",
    drafts=DRAFTS,
    fields=("category", "description"),
    check=lambda *_: "",
    lost=lambda *_: "",
)


def asked(request: FeedbackRequest, kept: Path, *typed: str) -> tuple[Words | None, str]:
    """What was made of the lines, None where Ctrl-C came after them; all that was shown."""
    lines: Iterator[str] = iter(typed)
    shown: list[str] = []

    def read(prompt: str) -> str:
        shown.append(prompt)
        try:
            return next(lines)
        except StopIteration:
            raise KeyboardInterrupt from None

    try:
        return dialogue(request, shown.append, read, stored=kept, first=True), "\n".join(shown)
    except KeyboardInterrupt:
        return None, "\n".join(shown)


OTHERS = [
    replace(REQUEST, difference="+x = 2"),
    replace(REQUEST, fields=("category", "description", "analysis")),
    replace(REQUEST, title="x, turn 1, level L1: 1 of 2 fail"),
]


def test_what_was_said_holds_for_the_same_turn(tmp_path: Path) -> None:
    kept = tmp_path / "feedback/x-turn-1.said.json"
    assert asked(REQUEST, kept, "t3", "Half.", "", "t4")[0] is None
    words, shown = asked(REQUEST, kept, "", "")
    assert words == {"a.f": {"category": "T3", "description": "Half."}, "a.g": {}}
    assert "Interface: a.f (1 of 2): answered before" in shown
    assert not kept.exists()


@pytest.mark.parametrize("other", OTHERS, ids=["code", "level", "verdict"])
def test_and_for_no_other(tmp_path: Path, other: FeedbackRequest) -> None:
    kept = tmp_path / "feedback/x-turn-1.said.json"
    assert asked(REQUEST, kept, "t3", "Half.", "", "t4")[0] is None
    words, shown = asked(other, kept)
    assert words is None
    assert "answered before" not in shown
