"""Words for people: a candidate's text reaches them as text."""

from __future__ import annotations

from pytest_recode.render.words import printable


def test_what_would_drive_a_terminal_is_escaped() -> None:
    assert printable("a\x1b[2J\x1b]0;owned\x07b") == "a\\x1b[2J\\x1b]0;owned\\x07b"


def test_lone_surrogates_are_escaped_and_words_are_not() -> None:
    assert printable("größe 研究\n\t\ud800") == "größe 研究\n\t\\ud800"


def test_what_turns_the_reading_direction_is_escaped() -> None:
    assert printable("a\u202eb") == "a\\u202eb"
