"""The exception that a test gets where the candidate raised one.

Runs in the grader process of separate judging. Raised by `separate_grader/candidate_link.py`, read by
`case_outcome.py`. Must not hold an object of the candidate's; it carries text only.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations


class CandidateError(Exception):
    """An exception that the code under test raised.

    It is also an instance of the builtin exceptions that the candidate's own type derives from, so that
    `pytest.raises(ValueError)` catches a ValueError. `frames` are the candidate's own, outermost first.
    """

    type: str = ""
    message: str = ""
    frames: tuple[str, ...] = ()
    undefined: bool = False
    """Whether the test asked a module for a name that it does not define."""

    def __init__(self, type: str, message: str, frames: tuple[str, ...]) -> None:  # noqa: A002
        self.type = type
        self.message = message
        self.frames = frames

    def __str__(self) -> str:
        return self.message


def mark_undefined(error: BaseException) -> None:
    """Note that this exception answers the look-up of a name in a module; no other one than AttributeError says that it is missing."""
    if isinstance(error, CandidateError) and isinstance(error, AttributeError):
        error.undefined = True
