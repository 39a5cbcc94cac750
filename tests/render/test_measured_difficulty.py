"""The measured difficulty in words."""

from __future__ import annotations

from pytest_recode.render.measured_difficulty import at_first_words, later_words, sentence
from pytest_recode.task import BlindAttempt


def blind(turns: int, *, solved: bool = True, level: str = "", date: str = "2026-11-26") -> BlindAttempt:
    return BlindAttempt(solver=f"solver of {turns}", date=date, solved=solved, turns=turns, level=level)


FOUR = (
    blind(10, solved=False, level="L4", date="2026-11-28"),
    blind(1),
    blind(4, level="L3"),
    blind(2, level="L0"),
)


def test_nothing_is_known_without_an_attempt() -> None:
    assert (at_first_words(()), later_words(()), sentence(())) == ("not measured", "", "not measured")


def test_what_four_solvers_did() -> None:
    assert at_first_words(FOUR) == "1 of 4"
    assert later_words(FOUR) == "turn 2 with L0, turn 4 with L3, unsolved in 10 turns with L4"
    assert sentence(FOUR) == (
        "1 of 4 blind attempts solved it at turn 1; the others: turn 2 with L0, turn 4 with L3, unsolved in 10 turns with L4"
        " (2026-11-26 to 2026-11-28)"
    )


def test_one_solver() -> None:
    assert sentence((blind(1),)) == "1 of 1 blind attempts solved it at turn 1 (2026-11-26)"
    assert later_words((blind(1, solved=False),)) == "unsolved in 1 turn"
