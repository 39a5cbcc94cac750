"""What `--without` removes from a report that is shared."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_recode.episode import Feedback
from pytest_recode.records.record import EpisodeFacts
from pytest_recode.records.transcript_turns import PlayedEpisode, PlayedTurn

PARTS = {
    "tests": "the messages of hidden tests, which quote their source, and feedback that quotes them",
    "reference": "corrections (feedback L4, or from the level of --recode-feedback-code on), and all code and text that a model wrote after one; all code of simulated models, whose answers"
    " are parts of the reference, and the feedback on such code, which quotes it",
    "prompts": "briefs, and all messages to and from the models",
}
"""The parts that can be removed, with what they contain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Without:
    """The parts that are removed."""

    tests: bool = False
    reference: bool = False
    prompts: bool = False

    @property
    def parts(self) -> tuple[str, ...]:
        return tuple(name for name in PARTS if getattr(self, name))


def shows_tests(facts: EpisodeFacts) -> bool:
    """Whether feedback and prompts of the episode quote the output of hidden tests (--recode-test-output=full)."""
    return facts["settings"].get("test_output", "full") != "none"


_CODE_LEVELS = ("L1", "L2", "L3", "L4")
"""Values of --recode-feedback-code; any other is taken for the first."""


def corrects(feedback: Feedback, facts: EpisodeFacts) -> bool:
    """Whether a feedback may contain code of the reference: L4 does, and with --recode-feedback-code also lower levels."""
    code = facts["settings"].get("feedback_code")
    return f"L{feedback.level}" >= (code if code in _CODE_LEVELS else "L1")


def knows_reference(episode: PlayedEpisode, turn: PlayedTurn) -> bool:
    """Whether the code of a turn may contain the reference: its author has it, or feedback with corrections came before."""
    facts = episode.facts
    if facts["simulated"] or facts["model"] is None:
        return True
    return any(
        each.feedback is not None and corrects(each.feedback, facts)
        for each in episode.turns
        if each.number < turn.number
    )
