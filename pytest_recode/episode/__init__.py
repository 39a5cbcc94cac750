"""An episode: its values, which every package may name; the loop, the assembly of its parts and the player are modules of their own."""

from pytest_recode.episode.values import (
    TESTS_SAID,
    Audit,
    Episode,
    Feedback,
    FeedbackItem,
    Judge,
    Move,
    OnTurn,
    Policy,
    Researcher,
    Stop,
    Turn,
)

__all__ = [
    "TESTS_SAID",
    "Audit",
    "Episode",
    "Feedback",
    "FeedbackItem",
    "Judge",
    "Move",
    "OnTurn",
    "Policy",
    "Researcher",
    "Stop",
    "Turn",
]
