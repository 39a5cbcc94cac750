"""A failing assertion says what it was about, as with pytest: to people, and to nobody else."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome, Verdict
from tests.chat_server import Answer, ChatServer, Request, say
from tests.plugin.conftest import words
from tests.recode_h.scene import FILES, RIGHT, graded, task_of, write

Run = Callable[..., pytest.RunResult]
Results = Callable[..., list[dict[str, Any]]]

IMPORTS = "        import pytest\n" + FILES["test.py"].partition("        def test_double")[0]
TESTS = (
    IMPORTS
    + """\
        SECRET = 1234567.5

        def test_double():
            assert double(7) == right_double(7), "of seven"

        def test_triple():
            x = SECRET
            assert triple(x) == pytest.approx(right_triple(x))
        """
)


def failing(verdict: Verdict) -> list[str]:
    return [case.id for case in verdict.cases if case.outcome is Outcome.FAILED]


@pytest.mark.slow
def test_what_an_assertion_was_about_is_said(every_sandbox: Sandbox, tmp_path: Path) -> None:
    verdict = graded(every_sandbox, task_of(write(tmp_path, {"test.py": TESTS})), RIGHT.replace("x + x + x", "x"))
    assert failing(verdict) == ["test_triple"]
    assert "assert 1234567.5 == 3703702.5 ± " in verdict.cases[1].message
    assert "Obtained: 1234567.5" in verdict.cases[1].message
    assert (verdict.cases[1].kind, verdict.cases[1].exception) == ("mismatch", None)
    verdict = graded(
        every_sandbox, task_of(write(tmp_path / "2", {"test.py": TESTS})), RIGHT.replace("x + x\n", "x\n", 1)
    )
    assert failing(verdict) == ["test_double"]
    for text in ("of seven", "assert 7 == 14", "where 7 = double(7)", "and   14 = right_double(7)"):
        assert text in verdict.cases[0].message


@pytest.mark.slow
def test_it_is_said_in_classes_of_unittest_and_of_long_values_in_short(bare: Sandbox, tmp_path: Path) -> None:
    tests = (
        "        import unittest\n"
        + IMPORTS
        + """\
        class TestAll(unittest.TestCase):
            def test_double(self):
                assert list(range(double(300))) == list(range(right_double(300)))

        def test_triple():
            assert triple("x%s" * 3000) == right_triple("x%s" * 3000)
        """
    )
    answer = "def double(x):\n    return x\n\n\ntriple = double\n"
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": tests})), answer)
    assert failing(verdict) == ["test_double", "test_triple"]
    assert "Right contains 300 more items, first extra item: 300" in verdict.cases[0].message
    assert "assert 'x%sx%sx" in verdict.cases[1].message
    assert all(len(case.message) < 1500 for case in verdict.cases)


@pytest.mark.slow
def test_it_is_said_in_the_same_words_every_time(bare: Sandbox, tmp_path: Path) -> None:
    canonical = """\
        class Seven:
            def __eq__(self, other):
                return other is not None

        def double(x):
            return Seven()

        def triple(x):
            return 3 * x
        """
    task = task_of(write(tmp_path, {"canonical.py": canonical}))
    first, second = (graded(bare, task, RIGHT.replace("x + x", "None", 1)).cases[0].message for _ in range(2))
    assert "assert None == <pkg.canonical….Seven object at …>" in first
    assert first == second


REPRS = {
    "raises": "raise ValueError",
    "raises what ends a process": "raise SystemExit(0)",
    "interrupts": "raise KeyboardInterrupt",
    "skips": "import pytest; pytest.skip('no')",
    "exits": "import pytest; pytest.exit('no', 0)",
    "lies": "return '14'",
    "is no text": "return 14",
    "is a text of its own": "return Text('14')",
    "is a format": "return '%s %(py0)s %d {} \\n{ \\n}'",
    "hangs": "import time; time.sleep(99)",
}
OBJECT = """\
class Text(str):
    def replace(self, *given):
        raise SystemExit(0)

    __str__ = __format__ = __mod__ = __add__ = __getitem__ = __len__ = splitlines = replace


class Answer:
    def __repr__(self):
        REPR
"""


@pytest.mark.parametrize("name", REPRS)
@pytest.mark.mostly_slow
def test_what_an_object_says_of_itself_is_words_alone(bare: Sandbox, tmp_path: Path, name: str) -> None:
    answer = OBJECT.replace("REPR", REPRS[name]) + "\n\n" + RIGHT.replace("x + x + x", "Answer()")
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": TESTS})), answer, test_seconds=3)
    assert [case.outcome.value for case in verdict.cases] == ["passed", "failed"]
    if name != "hangs":
        assert (verdict.cases[1].kind, verdict.cases[1].exception) == ("mismatch", None)


REPLACED = {
    "_saferepr": "rewrite",
    "_format_explanation": "rewrite",
    "_call_reprcompare": "rewrite",
    "_should_repr_global_name": "rewrite",
    "assertrepr_compare": "util",
    "_reprcompare": "util",
}


@pytest.mark.parametrize("name", REPLACED)
@pytest.mark.parametrize(
    "instead", ["raise SystemExit(0)", "return type('Never', (), {'__str__': lambda self: 1 / 0})()"]
)
@pytest.mark.mostly_slow
def test_what_finds_the_words_does_not_decide(bare: Sandbox, tmp_path: Path, name: str, instead: str) -> None:
    more = f"""\
import pkgutil

module = pkgutil.resolve_name("_py" + "test.assertion.{REPLACED[name]}")


def instead(*given, **named):
    {instead}


vars(module)["{name}"] = instead


"""
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": TESTS})), more + RIGHT.replace("x + x + x", "0"))
    assert failing(verdict)[-1] == "test_triple"
    assert not verdict.solved


HEARD = (
    IMPORTS
    + """\
        def check(x, y):
            assert x + 1234567 == y

        def test_double():
            assert double(7, check) is None

        def test_triple():
            assert triple(7) == right_triple(7)
        """
)
HEARS = {
    "by its text": "raise ValueError(str(error) + repr(error) + str(error.args)) from None",
    "as its own": "raise error.with_traceback(None)",
    "later": "kept.append(error)",
}


@pytest.mark.parametrize("name", HEARS)
def test_an_answer_that_catches_an_assertion_hears_no_more_than_in_plain_python(
    bare: Sandbox, tmp_path: Path, name: str
) -> None:
    canonical = FILES["canonical.py"].replace("double(x):", "double(x, check):").replace("return times(x, 2)", "pass")
    answer = f"""\
kept = []


def double(x, check):
    try:
        check(x, 0)
    except AssertionError as error:
        {HEARS[name]}
    raise KeyError


def triple(x):
    raise ValueError([(str(each), each.args) for each in kept])
"""
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": HEARD, "canonical.py": canonical})), answer)
    assert failing(verdict) == ["test_double", "test_triple"]
    for case in verdict.cases:
        assert case.exception is not None
        assert "1234" not in f"{case.exception.message} {case.exception.frames}"


def test_the_words_of_an_assertion_are_its_own_in_tests(bare: Sandbox, tmp_path: Path) -> None:
    tests = (
        IMPORTS
        + """\
        def test_double():
            with pytest.raises(AssertionError, match="^in plain words$"):
                assert double(7) == 15, "in plain words"
            with pytest.raises(AssertionError) as caught:
                assert (double(7), 0) == (right_double(7), 1), [1, 2]
            assert caught.value.args == ([1, 2],)

        def test_triple():
            count = 0
            assert 0 < (count := count + triple(1)) <= 3 and not (count != 3), f"{count}"
            assert count == 3
        """
    )
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": tests})), RIGHT)
    assert verdict.solved


@pytest.mark.slow
def test_no_level_of_feedback_shows_what_an_assertion_was_about(
    tmp_path: Path, recode: Run, results: Results, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The test's own output does, where it is asked for."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    fields = {
        "category": "T2",
        "description": "a",
        "analysis": "b",
        "suggestion": "c",
        "caused_by": "",
    }

    def script(request: Request) -> Answer:
        if request.body["model"] == "writer-1":
            return say(json.dumps({"feedbacks": [{"interface": "pkg.scale.triple", **fields}]}))
        return say(f"```python pkg/scale.py\n{RIGHT.replace('x + x + x', 'x')}\n```")

    manifest = write(tmp_path / "data", {"test.py": TESTS})
    for output, levels in (("none", range(5)), ("full", (0, 4))):
        with ChatServer(script) as server:
            result = recode(
                str(manifest), f"--recode-env=test_common1={sys.executable}", "--recode-agent=one-shot",
                "--recode-model=openai/tiny-1", "--recode-feedback-model=openai/writer-1",
                f"--recode-api-base={server.url}", "--recode-turns=2", f"--recode-out=out-{output}",
                f"--recode-test-output={output}", *(f"--recode-feedback=L{level}" for level in levels),
            )  # fmt: skip
        asked = [request.prompt for request in server.requests if request.body["model"] == "tiny-1"]
        later = [prompt for prompt in asked if "Feedback on turn 1" in prompt]
        assert len(later) == len(levels), words(result)
        for prompt in later:
            assert ("assert 1234567.5 == 3703702.5" in prompt) is (output == "full")
            assert output == "full" or not any(value in prompt for value in ("1234567", "3703702"))


HELPED = """\
    from pkg.canonical import triple as right_triple
    from pkg.scale import double, triple

    def check(got, want, tolerance=1e-6):
        gap = abs(got - want)
        # what a helper says of itself
        assert gap < tolerance, "too far"

    def test_double():
        check(double(3.0), 6.0)

    def test_triple():
        want = right_triple(7.0)
        check(triple(7.0), want)
        assert "never reached"
    """
OWN = """

class Answer:
    def __sub__(self, other):
        return other

    def __repr__(self):
        REPR
"""


@pytest.mark.slow
def test_an_account_shows_sources_up_to_the_failing_line_and_the_arguments(
    every_sandbox: Sandbox, tmp_path: Path
) -> None:
    task = task_of(write(tmp_path, {"test.py": HELPED}))
    case = graded(every_sandbox, task, RIGHT.replace("x + x + x", "x")).cases[1]
    shown = [line.rstrip() for line in case.message.splitlines()]
    for line in (
        "        want = right_triple(7.0)",
        ">       check(triple(7.0), want)",
        "got = 7.0, want = 21.0, tolerance = 1e-06",
        "    def check(got, want, tolerance=1e-6):",
        "        # what a helper says of itself",
        '>       assert gap < tolerance, "too far"',
        "E       assert 14.0 < 1e-06",
    ):
        assert any(each.endswith(line) for each in shown), (line, case.message)
    assert "never reached" not in case.message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "reported"),
    [
        ("return 'mine'", "got = mine, want = 21.0"),
        ("raise SystemExit", "got = …, want = 21.0"),
        ("raise KeyboardInterrupt", "got = …, want = 21.0"),
        (
            "import sys; return str([k for k in sys.modules['linecache'].cache if '<tests>' in k])",
            "got = [], want = 21.0",
        ),
    ],
)
def test_what_an_argument_says_of_itself_is_asked_while_no_source_can_be_read(
    bare: Sandbox, tmp_path: Path, words: str, reported: str
) -> None:
    answer = RIGHT.replace("x + x + x", "Answer()") + OWN.replace("REPR", words)
    verdict = graded(bare, task_of(write(tmp_path, {"test.py": HELPED})), answer)
    assert [case.outcome.value for case in verdict.cases] == ["passed", "failed"]
    assert reported in verdict.cases[1].message or "raised in repr()" in verdict.cases[1].message
