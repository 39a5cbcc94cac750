"""Words for people: a candidate's text reaches them as text."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_recode.faults import ModelFault
from pytest_recode.render.words import causes, error_kind_text, essence, waits, weaker
from pytest_recode.verdict import legible
from tests.messages import assert_message


def test_what_would_drive_a_terminal_is_escaped() -> None:
    assert legible("a\x1b[2J\x1b]0;owned\x07b") == "a\\x1b[2J\\x1b]0;owned\\x07b"


def test_lone_surrogates_are_escaped_and_words_are_not() -> None:
    assert legible("größe 研究\n\t\ud800") == "größe 研究\n\t\\ud800"


def test_what_turns_the_reading_direction_is_escaped() -> None:
    assert legible("a\u202eb") == "a\\u202eb"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("    with pytest.raises(ValueError):  # noqa: PT011", "    with pytest.raises(ValueError):"),
        ("    assert f(1) == 2  # type: ignore[no-untyped-call]  # noqa", "    assert f(1) == 2"),
        ("    assert f(1) == 2  # the type of a sum", "    assert f(1) == 2  # the type of a sum"),
        ("    assert f('# noqa') == 2", "    assert f('# noqa') == 2"),
    ],
)
def test_a_failing_line_is_shown_without_comments_for_linters(line: str, shown: str) -> None:
    assert essence(f"def test():\n>{line}\nE   AssertionError: no") == [f">{shown}", "E   AssertionError: no"]


@pytest.mark.parametrize(
    ("waited", "seconds", "reported"),
    [(59.0, 60.0, False), (60.0, 600.0, True), (60.0, 601.0, False), (300.0, 500.0, True)],
)
def test_long_waits_are_told(waited: float, seconds: float, reported: bool) -> None:
    lines = waits([{"waited": waited / 2, "seconds": seconds / 2}] * 2)
    assert len(lines) == reported
    if reported:
        assert_message(lines[0], f"{waited / 60:.0f} min", "--table=calls")


def test_the_names_of_many_episodes_with_tampering_are_cut() -> None:
    records = [
        {
            "nodeid": f"t/task.yaml::m-{n}",
            "isolation": "shared",
            "turns": [{}],
            "tampering": n > 0,
            "unverifiable": n == 0,
            "flagged": ("a.py, line 1: import of gc", "second") if n in (1, 2) else (),
            "test_output_shown": n == 1,
        }
        for n in range(8)
    ]
    assert weaker(records) == [
        "isolation: shared 8: verdicts of shared judging are weaker (docs/explanation/oracle.md)",
        "hidden tests: 1 episode with their output in the feedback (--recode-test-output=full), which quotes tests and inputs:"
        " do not compare it with runs without",
        "not verifiable: 1 solved episode: m-0: their tests do not notice shifted values (docs/explanation/oracle-shared.md)",
        "tampering: 7 episodes: m-1, m-2, m-3, m-4, m-5 and 2 more",
        "passed but flagged: 2 episodes: every case passed, and only findings of the shared judge make it unsolved;"
        " read them (docs/explanation/oracle-shared.md)",
        "  m-1: a.py, line 1: import of gc (and 1 more)",
        "  m-2: a.py, line 1: import of gc (and 1 more)",
    ]


def test_episodes_with_the_same_cause_share_a_line() -> None:
    """Whatever their messages say of the tries; a record of an earlier version has no cause."""
    errors = [
        {
            "kind": "model:server",
            "message": "model m: server: down (gave up after 6 tries in 63 s)",
            "cause": "model m: server: down",
        },
        {
            "kind": "model:server",
            "message": "model m: server: down (gave up after 5 tries in 60 s)",
            "cause": "model m: server: down",
        },
        {"kind": "model:server", "message": "model m: server: down"},
        {"kind": "model:server", "message": "model m: server: (gave up after all)"},
    ]
    records = [{"task": f"t{place}", "error": error} for place, error in enumerate(errors)]
    assert causes(records) == ["  3 episodes of t0, t1, t2: model m: server: down"]


def test_an_episode_without_a_verdict_has_none_of_any_kind() -> None:
    record = {
        "nodeid": "t::m",
        "isolation": "shared",
        "turns": [],
        "tampering": False,
        "unverifiable": False,
        "flagged": (),
        "test_output_shown": False,
    }
    assert weaker([record]) == []


DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    "kind", ["budget", "sandbox", "grader", "user", "worker", "internal", *(f"model:{fault}" for fault in ModelFault)]
)
def test_every_kind_of_fault_is_said_in_words_that_the_documentation_has_too(kind: str) -> None:
    text = error_kind_text(kind)
    assert text.endswith(f" ({kind})")
    assert f"| `{kind}` | {text.removesuffix(f' ({kind})')} |" in re.sub(
        r" +", " ", (DOCS / "reference" / "errors.md").read_text()
    )


def test_a_kind_of_another_version_stands_for_itself() -> None:
    assert error_kind_text("weather") == "weather"
