"""Code within a sentence is left out of it, and nothing that people write in sentences is taken for code."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from pytest_recode.feedback.inline_code import left_out
from pytest_recode.feedback.model_answers import WORDS, code_lines
from pytest_recode.feedback.researcher import derived, from_task
from tests.feedback.scene import case, parts, task, turn
from tests.feedback.test_bundled_tasks import CANDIDATES, TASKS, candidate, failed, read

ELSEWHERE = "def mean(values, weights=None):\n    return 1\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Set x = np.sqrt(second); y = x ** 4 / 4; return y", "Set #; #; return y"),
        ("Do return second**2 / 4 instead of it.", "Do # instead of it."),
        ("Then total += w for each.", "Then # for each."),
        ("Let n = len(x.T), then y = x[0] and z = -x.T.", "Let #, then # and #."),
        ("Take (as x = f(y) ** 2 in the paper) that.", "Take (as # in the paper) that."),
        ("So y = [v / 2 for v in vs if v > 0] in the end.", "So # in the end."),
        ("Then return sorted(xs, key=lambda x: -x) there.", "Then # there."),
        ("It is keep = scores > x.min() that is wrong.", "It is # that is wrong."),
        ("Use np.sqrt(second) there, or mean(x, axis=0).", "Use # there, or #."),
        ("Use (x ** 4 + 1) / 4 there.", "Use # there."),
        ('He wrote "y = x // n", or *y = x // n*.', 'He wrote "#", or *#*.'),
        ("Look: y = f(a, 'b c') + 1. Then go on.", "Look: #. Then go on."),
        ("Let y = x/np.sqrt(n) be that.", "Let # be that."),
        ("One\nand y = x // n there\ntwo", "One\nand # there\ntwo"),
    ],
)
def test_code_in_a_sentence_is_left_out_of_it(text: str, shown: str) -> None:
    assert left_out(text) == shown.replace("#", "(code left out)")


@pytest.mark.parametrize(
    "text",
    [
        *("Set eps = 1e-4, axis=-1 and weights=None; lr = 1 - 0.9.", "It is x = y there, H = W = 224."),
        *(
            "That is x squared over 4, x ** 4 / 4, (n - 1) / 2 or log(1 - p).",
            "N(0, I), KL(p, q), exp(-C / epsilon), f'(x)",
        ),
        *("5 % of the 10%-20% of it, a/b, n/k, mean/variance/skew, train+val+test", "top-k/top-p, x-axis/y-axis"),
        *("O(n log n), O(n * count), O(n**2 * m)", "in [0, 1], (0, 1], [0, 1 - eps), 0 <= x <= 1"),
        *("shape (n, d + 1), or (2 * n + 1, d)", "28 x 28 x 1; 3x3/5x5; 28/28 * 2 - 1 + 3"),
        *("the *sum* of **all** values, in **two** passes **over** them", "x - which is - as such - good; a -- b -- c"),
        *("see src/a/b.py and https://a.b/c?d=e+f-g*h", "Use `a` + `b` * `c` - `d` / `e`, not `np.sqrt`."),
        *(
            "with std = 1/sqrt(fan_in), and y = x / n",
            "the loss is mean((y - f(x))^2) over the batch, not (a + b * c) / n - d",
        ),
        *(
            "multiply q and k^T / sqrt(d) as in Eq. (3)",
            "l = 0.8 - 0.6 * exp(-0.3 * (l - 1)), and keep = scores > least",
        ),
        *("don't use the state's total, it's x", "return the mean (not the sum), or return `x` / `n`"),
        *("an answer that is [left out] or (code left out) of it", "what it returns is x / n"),
    ],
)
def test_what_people_write_stays(text: str) -> None:
    assert left_out(text) == text


@pytest.mark.parametrize("piece", ["1=1=", "a+", "(a+b ", "f(", "'a ", "a-a(", "a.b/", "O((a)", "x = ( y "])
def test_no_text_takes_for_ever(piece: str) -> None:
    start = time.monotonic()
    left_out((piece * 8000)[:8000])
    assert time.monotonic() - start < 10


def test_it_is_left_out_of_what_an_agent_reads_and_named_to_a_person() -> None:
    words = "Keep both; set x = np.sqrt(second) then."
    given = from_task(task(), parts(), {"stats.mean": {"suggestion": words}})([turn(ELSEWHERE, case())], 3)
    assert given.items[0].suggestion == "Keep both; set (code left out) then."
    assert "np.sqrt" not in given.text
    assert code_lines(words) == [words]


@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
@pytest.mark.mostly_slow(one_in=9)
def test_authors_and_derived_words_hold_none(manifest: Path, name: str) -> None:
    bundled, its = read(manifest)
    played = failed(bundled, its, candidate(bundled, its, name))
    for who in (from_task(bundled, its, its.feedback or {}), derived(bundled, its)):
        for item in who([played], 3).items:
            assert not any("code left out" in getattr(item, field) for field in WORDS)
