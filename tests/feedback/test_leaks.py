"""The measure itself: it must find what is repeated, and only that."""

from __future__ import annotations

import pytest

from pytest_recode.feedback.leaks import leaked, repeated, secret, words_of
from tests.feedback.literals import leaked_literals

SECRET = "def cost(plan, used):\n    return float(np.sum(plan[used] * problem.ground_cost[used]))\n"
LINE = "return float(np.sum(plan[used] * problem.ground_cost[used]))"


@pytest.mark.parametrize(
    "text",
    [
        LINE,
        f"Write `{LINE}` instead.",
        LINE.replace("(", "( ").replace("*", "\n    *"),
        SECRET,
    ],
    ids=["alone", "in a sentence", "laid out otherwise", "all of it"],
)
def test_a_line_of_the_secret_is_found(text: str) -> None:
    (found,) = leaked(text, SECRET, "")
    assert "return float ( np . sum ( plan [ used ] * problem . ground_cost" in found


def test_each_run_is_told_as_long_as_it_is_and_once() -> None:
    other = "a b c d e f g h i j"
    text = f"{LINE}; and then {other}, and again {LINE}"
    assert leaked(text, f"{SECRET}\n{other}", "") == (
        "return float ( np . sum ( plan [ used ] * problem . ground_cost [ used ] ) )",
        "a b c d e f g h i j",
    )


def test_a_run_must_be_long_enough() -> None:
    text = "float(np.sum(plan, axis=0))"
    assert leaked(text, SECRET, "", run=7) == ("float ( np . sum ( plan",)
    assert leaked(text, SECRET, "", run=8) == ()


def test_what_is_known_anyway_is_no_leak() -> None:
    assert leaked(LINE, SECRET, f"# the instruction says: {LINE}") == ()


LETTERS = "a b c d e f g h i j k l m n o p q r s t u v w x y z"


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ([], LETTERS),
        (
            [LETTERS[:26], LETTERS[26:]],
            "g h i j k l m n o p q r s t",
        ),  # a to m, n to z: 7 on each side of where they meet
        ([LETTERS[6:22]], LETTERS),  # d to k: what begins at c or e is known to nobody, and has all of it
        ([LETTERS[6:46]], "a b c d e f g h i j q r s t u v w x y z"),  # d to w
        ([LETTERS[:38], LETTERS[24:]], ""),  # a to s, m to z: no 8 are in neither
    ],
)
def test_of_a_run_counts_what_nobody_knows(known: list[str], found: str) -> None:
    it = repeated(LETTERS, secret([LETTERS]), [words_of(text) for text in known])
    assert " ".join(LETTERS[span.start : span.end] for span in it.spans) == found
    assert sum(span.tokens for span in it.spans) == len(found.split())
    assert it.longest == max((span.tokens for span in it.spans), default=0)


def test_brackets_alone_are_nobodys_secret() -> None:
    assert leaked("f(((((((((([[[[[[]]]]]]))))))))))", "g(((((((((([[[[[[]]]]]]))))))))))", "") == ()


def test_a_changed_token_in_every_few_is_no_repetition() -> None:
    assert leaked("return float(np.mean(plan[kept] * task.ground[kept]))", SECRET, "") == ()


TESTS = 'def test_a(candidate):\n    assert candidate.f(3.14159, -27182.8, 1e-7, 100, True, "some label") == 0.125\n'


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("it should be 0.125", ("0.125",)),
        ("near 3.14159, not 3.1", ("3.14159",)),
        ("as 314159e-5 says", ("3.14159",)),
        ("the 27_182.8 there", ("27182.8",)),
        ("for (some label) it fails", ("some label",)),
        ("100 of 1e-7 cases, True", ()),
        ("0.1250001 and 10.125 and x0.125", ()),
        ("some labels", ()),
    ],
)
def test_inputs_and_expected_values_are_found(text: str, found: tuple[str, ...]) -> None:
    assert leaked_literals(text, TESTS, "") == found


def test_values_that_the_brief_has_are_no_leak() -> None:
    assert leaked_literals("0.125, some label", TESTS, "the default is .125; 'some label' is one of them") == ()
