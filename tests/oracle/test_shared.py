"""The judge that shares a process with the candidate, on the papers of tests/papers: who is at fault, and what is told."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from pytest_recode.faults import GraderError
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.slots import emptied
from pytest_recode.verdict import Outcome, Verdict
from tests.oracle.conftest import by_script, files
from tests.oracle.shared_papers import MERGE, TASKS, UNKNOWN, WEIGHTED, WEIGHTS, failed, graded, task

RIGHT = "    return float(weights(len(values), kind, half_life) @ np.asarray(values))\n"
BLOCKS = [name for name in TASKS if TASKS[name].id.startswith("running-moments/")]


def messages(verdict: Verdict) -> str:
    return "\n".join(case.message for case in verdict.cases)


@pytest.mark.slow
def test_the_reference_is_solved(every_sandbox: Sandbox) -> None:
    verdict = graded(every_sandbox, "weighted mean")
    assert verdict.solved
    assert verdict.isolation == "shared"
    assert verdict.tampering == ()
    assert [case.id for case in verdict.cases] == [MERGE, WEIGHTED, UNKNOWN, WEIGHTS]


@pytest.mark.parametrize("name", BLOCKS)
def test_every_block_with_the_authors_lines_and_without(walls: Sandbox, name: str) -> None:
    assert graded(walls, name).solved
    parts = TASKS[name].load()
    assert parts.slot is not None
    path = parts.slot.path
    verdict = judge(task(name), parts, {path: emptied(parts.repo[path].decode(), parts.slot).encode()}, walls)
    # The rounding that the floor is there for does not come about with these values: a weak oracle, on purpose.
    assert verdict.solved is (name == "floor at zero")
    assert verdict.tampering == ()


@pytest.mark.parametrize("name", ["threshold", "shrink"])
def test_a_reference_that_does_not_pass_cannot_be_judged(sandbox: Sandbox, name: str) -> None:
    with pytest.raises(GraderError, match="cannot be judged here") as caught:
        graded(sandbox, name)
    assert "3.034854258770293 != 3.03" in str(caught.value)
    assert "TestShrink.test_threshold" in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "kind", "frame"),
    [
        ("    return values[10**6]\n", "IndexError", "moments.py:39 in weighted_mean: return values[10**6]"),
        ("    return undefined\n", "NameError", "moments.py:39 in weighted_mean: return undefined"),
        ("    return (1\n", "SyntaxError", "moments.py:39: return (1"),
        ("return 1\n", "IndentationError", "moments.py:39: return 1"),
        ("    import no_such_module\n", "ModuleNotFoundError", "moments.py:39 in weighted_mean: import no_such_module"),
        (
            "    raise AssertionError('own')\n",
            "AssertionError",
            "moments.py:39 in weighted_mean: raise AssertionError('own')",
        ),
        ("    raise SystemExit(3)\n", "SystemExit", "moments.py:39 in weighted_mean: raise SystemExit(3)"),
    ],
)
@pytest.mark.mostly_slow
def test_what_the_candidate_raises_is_told_by_its_own_frames(
    sandbox: Sandbox, answer: str, kind: str, frame: str
) -> None:
    verdict = graded(sandbox, "weighted mean", answer)
    case = next(case for case in verdict.cases if case.id == WEIGHTED)
    assert case.outcome is Outcome.FAILED
    assert case.kind == "exception"
    assert case.exception is not None
    assert (case.exception.type, case.exception.frames) == (kind, (frame,))
    assert "paper2code_test" not in "".join(case.exception.frames) + case.exception.message
    assert verdict.tampering == ()


def test_an_import_that_fails_fails_every_case(bare: Sandbox) -> None:
    verdict = graded(bare, "weighted mean", f"{RIGHT}\n1 / 0\n")
    assert failed(verdict) == [MERGE, WEIGHTED, UNKNOWN, WEIGHTS]
    assert {case.exception.type for case in verdict.cases if case.exception} == {"ZeroDivisionError"}
    assert {case.exception.frames for case in verdict.cases if case.exception} == {
        ("moments.py:41 in <module>: 1 / 0",)
    }


def test_a_wrong_value_is_an_assertion_and_tells_no_exception(bare: Sandbox) -> None:
    [case] = [case for case in graded(bare, "weighted mean", "    return 1.0\n").cases if case.id == WEIGHTED]
    assert (case.kind, case.exception) == ("mismatch", None)
    assert "1.2859547920896834" in case.message  # for people: the agent is not shown it


@pytest.mark.slow
def test_a_candidate_that_does_not_end(sandbox: Sandbox) -> None:
    verdict = graded(sandbox, "weighted mean", "    import time\n\n    time.sleep(99)\n", test_seconds=3)
    [case] = [case for case in verdict.cases if case.id == WEIGHTED]
    assert (case.outcome, case.kind) == (Outcome.FAILED, "timeout")
    assert case.message == "the tests did not end within 3 s"
    assert verdict.tampering == ()


def test_a_candidate_that_uses_too_much_memory(walls: Sandbox) -> None:
    verdict = graded(walls, "weighted mean", "    held = bytearray(2 << 30)\n    return float(len(held))\n")
    [case] = [case for case in verdict.cases if case.id == WEIGHTED]
    assert case.outcome is Outcome.FAILED
    assert case.exception is None or case.exception.type == "MemoryError"


def test_words_in_the_output_say_nothing(sandbox: Sandbox) -> None:
    noise = "    import sys\n    print('Traceback: Error: 4 failed', file=sys.stderr)\n    print('Exception: failed')\n"
    assert graded(sandbox, "weighted mean", noise + RIGHT).solved


SCRIPT = """\
    import random
    import unittest
    import numpy as np
    from answer import f
    from answer_ref import f as right

    class TestAnswer(unittest.TestCase):
        def test_f(self):
            BODY

        def test_more(self):
            for x in range(3):
                with self.subTest(x=x):
                    self.assertEqual(f(x), right(x))
    """
REFERENCE = "def f(x):\n    return 2 * x\n"


def small(sandbox: Sandbox, answer: str, body: str = "self.assertEqual(f(1), right(1))", **rest: Any) -> Verdict:
    """A script of its own, with `answer_ref.py` for the tests alone."""
    seed = rest.pop("seed", None)
    reference = rest.pop("reference", REFERENCE)
    made, parts = by_script(SCRIPT.replace("BODY", body), REFERENCE, reference, **rest)
    return judge(made, parts, files({"answer.py": answer}, ""), sandbox, seed=seed)


@pytest.mark.slow
def test_the_set_of_cases_is_the_references(bare: Sandbox) -> None:
    """A candidate whose classes are no tests of the script's, and one that fails in a subtest."""
    assert small(bare, REFERENCE).solved
    more = "\nimport math\nclass TestMine:\n    def test_mine(self): pass\n"
    assert [case.id for case in small(bare, REFERENCE + more).cases] == ["TestAnswer.test_f", "TestAnswer.test_more"]
    assert failed(small(bare, "def f(x):\n    return 2\n")) == ["TestAnswer.test_more"]


def test_what_is_skipped_did_not_pass(bare: Sandbox) -> None:
    body = "f(1) if f(1) == 2 else self.skipTest('no')"
    verdict = small(bare, "def f(x):\n    return 3 * x\n", body)
    assert failed(verdict) == ["TestAnswer.test_f", "TestAnswer.test_more"]
    assert verdict.cases[0].message == "skipped (no), which does not count as a pass"


@pytest.mark.parametrize(
    "body", ["self.skipTest('no')", "import time; time.sleep(99)", "self.fail('by itself')", "raise SystemExit"]
)
@pytest.mark.mostly_slow
def test_a_script_that_its_reference_does_not_pass(sandbox: Sandbox, body: str) -> None:
    with pytest.raises(GraderError, match="cannot be judged here"):
        small(sandbox, REFERENCE, body, test_seconds=3)


def test_a_script_without_tests(bare: Sandbox) -> None:
    with pytest.raises(GraderError, match="cannot be judged here"):
        small(bare, REFERENCE, "pass\n\ndel TestAnswer\nclass TestAnswer:\n    pass")


def test_a_right_answer_after_a_wrong_one_and_the_other_way_round(sandbox: Sandbox) -> None:
    wrong = "def f(x):\n    return 0\n"
    assert [small(sandbox, answer).solved for answer in (wrong, REFERENCE, wrong, REFERENCE)] == [False, True] * 2


LEAVES = """\
import os, sys
import numpy as np

def f(x):
    for place in (".", "/tmp", "/dev/shm", os.path.expanduser("~")):
        try:
            with open(os.path.join(place, "left behind"), "w") as file:
                file.write("x")
        except OSError:
            pass
    os.environ["LEFT_BEHIND"] = "x"
    np.left_behind = np.random.left_behind = "x"
    np.set_printoptions(precision=1)
    np.random.seed(1)
    sys.left_behind = "x"
    return 2 * x
"""
FINDS = """\
import os, sys
import numpy as np

def f(x):
    places = (".", os.path.expanduser("~"), PLACES)
    found = [place for place in places if os.path.exists(os.path.join(place, "left behind"))]
    found += ["environment"] * ("LEFT_BEHIND" in os.environ)
    found += [each.__name__ for each in (np, np.random, sys) if hasattr(each, "left_behind")]
    found += ["printing"] * (np.get_printoptions()["precision"] == 1)
    if found:
        raise RuntimeError(str(found))
    return 2 * x
"""


def test_nothing_of_one_grading_reaches_the_next(sandbox: Sandbox) -> None:
    # without walls /tmp is everybody's
    shared = '"/tmp", "/dev/shm"' if sandbox.isolation != "process" else '"."'
    assert failed(small(sandbox, LEAVES)) == []
    verdict = small(sandbox, FINDS.replace("PLACES", shared))
    assert failed(verdict) == [], messages(verdict)


def test_the_reference_is_run_once_for_a_repository(bare: Sandbox) -> None:
    """Three times, to be exact: in a fork to learn the cases; with shifted values; and once more to have things built. Then twice for each
    grading that passes: against the reference, and against shifted values."""
    with tempfile.TemporaryDirectory() as directory:
        log = Path(directory) / "runs"
        log.touch()
        for path, mode in ((log, 0o666), (log.parent, 0o711)):
            path.chmod(mode)  # if root runs the tests, the sandbox's programs have other users
        body = f"open({str(log)!r}, 'a').write('.') and self.assertEqual(f(1), right(1))"
        for count in (5, 7, 9):
            assert small(bare, REFERENCE, body).solved
            assert len(log.read_text()) == count


def test_the_same_seed_draws_the_same(sandbox: Sandbox) -> None:
    answer = (
        "import random\nimport numpy\ndef f(x):\n    raise ValueError(f'{random.random()} {numpy.random.random()}')\n"
    )
    one, same, other = (small(sandbox, answer, seed=seed).cases[0].exception for seed in (1, 1, 2))
    assert one is not None
    assert one == same
    assert one != other
    first, second = (small(sandbox, answer) for _ in range(2))
    assert first.seed != second.seed


def test_what_the_tests_alone_may_import_is_nowhere(sandbox: Sandbox) -> None:
    """Not beside the candidate, and not for it to import; the tests themselves may import it once they run, too."""
    body = "from answer_ref import f as late; self.assertEqual(f(1), late(1))"
    look = "import os\ndef f(x):\n    return 2 * x if sorted(os.listdir('.')) == ['answer.py'] else os.listdir('.')\n"
    verdict = small(sandbox, look, body)
    assert verdict.solved, messages(verdict)
    verdict = small(sandbox, "import answer_ref\nf = answer_ref.f\n", body)
    assert {case.exception.type for case in verdict.cases if case.exception} == {"ModuleNotFoundError"}
    assert "answer.py, line 1: import of answer_ref, a module that only the tests may use" in verdict.tampering


def test_what_the_reference_does_is_not_held_against_a_candidate(sandbox: Sandbox) -> None:
    odd = "import sys\nimport ctypes\n\ndef f(x):\n    return 2 * x + (sys._getframe() is None) + 0 * ctypes.sizeof(ctypes.c_int)\n"
    assert small(sandbox, odd, reference=odd).solved
    verdict = small(sandbox, odd)
    assert verdict.passed < 2
    assert verdict.tampering


def test_an_object_that_equals_anything_beside_a_right_value(bare: Sandbox) -> None:
    """docs/explanation/oracle-shared.md says so. Where this fails, it is held now, and the page is to be changed."""
    liar = "class Liar:\n    def __eq__(self, other): return True\n\n\ndef g():\n    return Liar()\n"
    body = "import answer, answer_ref; self.assertEqual((f(1), answer.g()), (right(1), answer_ref.g()))"
    made, parts = by_script(SCRIPT.replace("BODY", body), f"{REFERENCE}\ndef g():\n    return 1\n")
    assert judge(made, parts, files({"answer.py": f"{REFERENCE}\n{liar}"}, ""), bare).solved


PATCHES = {
    "what expects exceptions": """\
        import unittest

        unittest.case._AssertRaisesContext.__exit__ = lambda self, *given: True
        """,
    "what expects exceptions, and back": """\
        import unittest

        for Context in [unittest.case._AssertRaisesContext]:
            real = Context.__exit__

        def leave(self, kind, *rest):
            Context.__exit__ = real
            return True

        Context.__exit__ = leave
        """,
    "what expects exceptions, in another case": """\
        import unittest

        for Context in [unittest.case._AssertRaisesContext]:
            real = Context.__exit__

        def leave(self, kind, *rest):
            Context.__exit__ = real
            return True

        def f(x):
            if x == 1:
                Context.__exit__ = leave
            return 2 * x
        """,
    "what collects failures": """\
        import contextlib
        import unittest

        @contextlib.contextmanager
        def quiet(self, case, **named):
            with contextlib.suppress(Exception):
                yield

        unittest.case._Outcome.testPartExecutor = quiet
        """,
}
"""What decides a case that compares no values is changed, which no shifted value shows."""


@pytest.mark.parametrize("name", PATCHES)
@pytest.mark.mostly_slow
def test_cases_that_compare_no_values_are_decided_by_the_judge(bare: Sandbox, name: str) -> None:
    right = "def f(x):\n    if x < 0:\n        raise ValueError\n    return 2 * x\n"
    body = "self.assertEqual(f(1), right(1))\n\n        def test_refused(self):\n            with self.assertRaises(ValueError): f(-1)"
    made, parts = by_script(SCRIPT.replace("BODY", body), right, right)
    answer = dedent(PATCHES[name])
    verdict = judge(made, parts, files({"answer.py": REFERENCE + "\n" + answer}, ""), bare)
    assert not verdict.solved
    assert any("unittest.case._" in finding for finding in verdict.tampering)


def test_a_missing_target(bare: Sandbox) -> None:
    chosen = task("weighted mean")
    parts = chosen.load()
    verdict = judge(chosen, replace(parts), {}, bare)
    assert failed(verdict) == [MERGE, WEIGHTED, UNKNOWN, WEIGHTS]


def test_warnings_that_a_candidate_makes_errors_are_none_of_the_tests(sandbox: Sandbox) -> None:
    """As with unittest's own runner: what tests and reference warn of is no failure of an honest candidate."""
    answer = "import warnings\nwarnings.simplefilter('error')\n" + REFERENCE
    verdict = small(sandbox, answer, "import warnings; warnings.warn('old'); self.assertEqual(f(1), right(1))")
    assert (verdict.solved, verdict.tampering) == (True, ()), messages(verdict)
