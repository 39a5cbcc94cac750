"""An episode: its values, which every package may use. The loop, the assembly of an episode's parts and the player are separate modules."""

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
