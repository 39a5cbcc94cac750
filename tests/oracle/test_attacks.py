"""Candidates that are wrong and try to pass: none of their cases may.

Each attack was seen on oracles of other benchmarks, or is made for this one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_recode.inside.wire import messages
from pytest_recode.oracle.judge import Fresh, judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Limits, Parts, Task
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import ENVIRONMENT, grade

REFERENCE = "import numpy as np\n\n\ndef f(x):\n    return np.cumsum(x**2) + 1\n"
TESTS = """
    import math
    import unittest
    import numpy as np
    import pytest
    from pytest_recode.testing import assert_equivalent

    def test_f_is_the_authors(candidate, reference, rng):
        x = rng.normal(size=5)
        assert_equivalent(candidate.m.f(x), reference.m.f(x))

    def test_f_by_numpy(candidate, reference, rng):
        x = rng.normal(size=5)
        np.testing.assert_allclose(candidate.m.f(x), reference.m.f(x), rtol=1e-6)
        np.testing.assert_array_equal(candidate.m.f(x) > 0, True)

    def test_f_by_plain_asserts(candidate, reference, rng):
        x = rng.normal(size=5)
        actual, expected = candidate.m.f(x), reference.m.f(x)
        assert np.allclose(actual, expected)
        assert math.isclose(actual[-1], expected[-1])
        assert list(actual) == pytest.approx(list(expected))
        assert actual.shape == (5,)

    def test_f_by_unittest(candidate, reference, rng):
        x = rng.normal(size=5)
        unittest.TestCase().assertAlmostEqual(candidate.m.f(x)[-1], reference.m.f(x)[-1])
"""

LIAR = """
    import numpy as np

    class Liar(BASE):
        def yes(self, *args, **kwargs):
            return True
        __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __bool__ = __contains__ = yes
        __ne__ = lambda self, other: False
        __hash__ = lambda self: 0
        __float__ = __abs__ = lambda self: 0.0
        __int__ = __index__ = __len__ = lambda self: 5
        __sub__ = __rsub__ = __add__ = __getitem__ = lambda self, other: self
        __iter__ = lambda self: iter([self] * 5)
        __array__ = lambda self, *a, **k: np.zeros(5)
        __array_ufunc__ = lambda self, *a, **k: np.bool_(True)
        __array_function__ = lambda self, *a, **k: True
        shape = (5,)
        dtype = np.dtype(float)
        ndim = 1

    def f(x):
        return MADE
"""

PATCHES = """
    import math, unittest, numpy, numpy.testing, builtins, sys

    yes = lambda *a, **k: True
    math.isclose = numpy.allclose = numpy.isclose = numpy.array_equal = yes
    numpy.testing.assert_allclose = numpy.testing.assert_array_equal = yes
    unittest.TestCase.assertAlmostEqual = yes
    builtins.abs = lambda x: 0
    for name, module in list(sys.modules.items()):
        for other in ("Mismatch", "assert_equivalent", "_Comparison", "combined", "approx"):
            if hasattr(module, other):
                setattr(module, other, yes)
    try:
        import _pytest.runner, pytest
        _pytest.runner.CallInfo.from_call = classmethod(yes)
        pytest.approx = yes
    except ImportError:
        pass

    def f(x):
        return numpy.zeros(5)
"""

WALKS = """
    import gc, inspect, sys, types
    import numpy as np

    def answers(x):
        frame = sys._getframe()
        while frame:
            for name, value in list(frame.f_locals.items()) + list(frame.f_globals.items()):
                if name in ("expected", "reference", "desired"):
                    yield value
            frame = frame.f_back
        for thing in gc.get_objects():
            if isinstance(thing, types.FunctionType) and thing.__name__ == "f" and thing is not f:
                yield thing(x)
            if isinstance(thing, np.ndarray) and thing.shape == (5,) and thing is not x:
                yield thing

    def f(x):
        for answer in answers(x):
            if isinstance(answer, np.ndarray) and answer.shape == (5,):
                return answer
        return np.zeros(5)
"""

SEARCHES = """
    import glob, importlib, os, sys
    import numpy as np

    def stolen(x):
        for root in ("/", "/proc/1/root", "/proc/1/cwd", "/proc/self/cwd/..", *glob.glob("/proc/[0-9]*/cwd")):
            for place, dirs, names in os.walk(root):
                dirs[:] = [d for d in dirs if d not in ("proc", "sys", "usr", "lib", "venv", ".pyenv", "dev")]
                for name in names:
                    path = os.path.join(place, name)
                    try:
                        text = open(path).read()
                    except Exception:
                        continue
                    if "np.cumsum(x" + "**2)" in text:
                        space = {}
                        exec(text, space)
                        return space["f"](x)

    def f(x):
        for name in ("reference", "reference.m", "m_ref", "tests", "test_m"):
            try:
                return importlib.import_module(name).f(x)
            except Exception:
                pass
        answer = stolen(x)
        return np.zeros(5) if answer is None else answer
"""

FORGES = """
    import gc, json, os, struct
    import numpy as np

    def frame(kind, message):
        for module in list(__import__("sys").modules.values()):
            if hasattr(module, "put_frame"):
                parts = []
                module.put_frame(lambda data: parts.append(bytes(data)), kind, message)
                return b"".join(parts)

    def f(x):
        forged = b"".join(frame(b"H", step) for step in STEPS)
        for fd in range(0, 256):
            try:
                os.write(fd, KIND)
            except OSError:
                pass
        return np.zeros(5)
"""

LINGERS = """
    import ctypes, os, signal, sys, time
    import numpy as np

    def f(x):
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                for _ in range(200):
                    for pid in os.listdir("/proc"):
                        if pid.isdigit() and int(pid) != os.getpid():
                            for fd in range(64):
                                try:
                                    with open(f"/proc/{pid}/fd/{fd}", "wb", buffering=0) as file:
                                        file.write(b"4 passed in 0.01s")
                                except OSError:
                                    pass
                    time.sleep(0.01)
            os._exit(0)
        return np.zeros(5)
"""

REMEMBERS = """
    import os
    import numpy as np

    calls = []

    def f(x):
        calls.append(x)
        for place in ("/tmp", "/var/tmp", "/dev/shm", os.getcwd(), os.path.expanduser("~")):
            try:
                with open(os.path.join(place, "memory"), "a") as file:
                    file.write(repr(x))
            except OSError:
                pass
        return calls[0] if len(calls) > 1 else np.zeros(5)
"""

STEPS: list[Any] = [
    *(
        messages.finished_using(f"test_m.py::{case}", messages.PASSED, ["m.f"], {})
        for case in ("test_f_is_the_authors", "test_f_by_numpy", "test_f_by_plain_asserts", "test_f_by_unittest")
    ),
    messages.DONE,
]
"""What a grader would send of a right answer."""

OUTCOMES = """
    import sys
    import numpy as np

    class Skipped(BaseException):
        pass

    class Exit(BaseException):
        pass

    def f(x):
        MADE
"""

ATTACKS = {
    "zeros": "import numpy as np\ndef f(x): return np.zeros(5)",
    "nan": "import numpy as np\ndef f(x): return np.full(5, np.nan)",
    "its input": "def f(x): return x",
    "none": "def f(x): return None",
    "empty": "import numpy as np\ndef f(x): return np.zeros(0)",
    "liar object": LIAR.replace("BASE", "object").replace("MADE", "Liar()"),
    "liar float": LIAR.replace("BASE", "float").replace("MADE", "Liar(0)"),
    "liar str": LIAR.replace("BASE", "str").replace("MADE", "Liar('5')"),
    "liar list": LIAR.replace("BASE", "list").replace("MADE", "Liar([0.0] * 5)"),
    "liar dict": LIAR.replace("BASE", "dict").replace("MADE", "Liar()"),
    "liar array": LIAR.replace("class Liar(BASE)", "class Liar(np.ndarray)").replace("MADE", "np.zeros(5).view(Liar)"),
    "liar class": LIAR.replace("BASE", "object").replace("MADE", "Liar"),
    "a list of liars": LIAR.replace("BASE", "object").replace("MADE", "[Liar()] * 5"),
    "an array of liars": LIAR.replace("BASE", "object").replace("MADE", "np.array([Liar()] * 5, dtype=object)"),
    "a module": "import sys\ndef f(x): return sys.modules['m']",
    "a generator": "def f(x):\n    yield from [0.0] * 5",
    "a function of its own": "def f(x): return f",
    "an exception as a value": "def f(x): return AssertionError()",
    "patches the comparison": PATCHES,
    "walks frames and the heap": WALKS,
    "searches the disk and imports the reference": SEARCHES,
    "forges the grader's report": FORGES.replace("KIND", "forged").replace("STEPS", repr(STEPS)),
    "forges an end": FORGES.replace("KIND", "frame(b'E', None)").replace("STEPS", "[]"),
    "leaves a daemon": LINGERS,
    "remembers": REMEMBERS,
    "os._exit": OUTCOMES.replace("MADE", "__import__('os')._exit(0)"),
    "sys.exit": OUTCOMES.replace("MADE", "sys.exit(0)"),
    "atexit": "import atexit, os\natexit.register(os._exit, 0)\ndef f(x): return None",
    "skip": OUTCOMES.replace("MADE", "raise Skipped('skip')"),
    "pytest.skip": OUTCOMES.replace("MADE", "import pytest; pytest.skip('no')"),
    "pytest.xfail": OUTCOMES.replace("MADE", "import pytest; pytest.xfail('no')"),
    "pytest.exit": OUTCOMES.replace("MADE", "import pytest; pytest.exit('no', 0)"),
    "unittest.SkipTest": OUTCOMES.replace("MADE", "import unittest; raise unittest.SkipTest('no')"),
    "StopIteration": OUTCOMES.replace("MADE", "raise StopIteration"),
    "GeneratorExit": OUTCOMES.replace("MADE", "raise GeneratorExit"),
    "prints a report": "def f(x): print('==== 4 passed in 0.01s ====')",
}


@pytest.mark.invariant("candidate-apart-from-tests")
@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.mostly_slow
def test_no_case_passes(walls: Sandbox, attack: str) -> None:
    verdict = grade(walls, TESTS, ATTACKS[attack], REFERENCE, test_seconds=20)
    assert [case.outcome for case in verdict.cases] == [Outcome.FAILED] * 4, [case.message for case in verdict.cases]
    assert not verdict.solved


@pytest.mark.parametrize("step", STEPS, ids=lambda step: str(step["op"]))
def test_forged_steps_are_steps(step: Any) -> None:
    """They are refused for whom they come from, not for what they are."""
    assert messages.grader_step(step) == step


@pytest.mark.slow
def test_the_right_answer_passes(every_sandbox: Sandbox) -> None:
    assert grade(every_sandbox, TESTS, REFERENCE).solved
    assert grade(every_sandbox, TESTS, REFERENCE, fresh=Fresh.CASE).solved
    assert grade(every_sandbox, TESTS, REFERENCE, fresh=Fresh.GRADING).solved


def test_an_exception_is_no_end_of_an_iteration(bare: Sandbox) -> None:
    """`all(map(candidate.f, …))` would be true of nothing."""
    tests = "def test_f(candidate):\n    assert all(map(candidate.m.f, [1, 2]))\n"
    verdict = grade(bare, tests, "def f(x): raise StopIteration")
    assert verdict.cases[0].outcome is Outcome.FAILED


PLANTED = {
    "conftest.py": b"import pytest\n@pytest.hookimpl(wrapper=True)\ndef pytest_runtest_makereport(item, call):\n"
    b"    report = yield\n    report.outcome = 'passed'\n    return report\n",
    "tests/conftest.py": b"def pytest_collection_modifyitems(items): items.clear()\n",
    "tests/__init__.py": b"raise SystemExit(0)\n",
    "pytest.ini": b"[pytest]\naddopts = --collect-only\n",
    "pytest.py": b"raise SystemExit(0)\n",
    "sitecustomize.py": b"import os\nos._exit(0)\n",
    "numpy.py": b"raise SystemExit(0)\n",
    "evil.pth": b"import os; os._exit(0)\n",
    "evil.dist-info/entry_points.txt": b"[pytest11]\nevil = evil\n",
    "evil.py": b"def pytest_runtest_logreport(report): report.outcome = 'passed'\n",
}


@pytest.mark.invariant("only-targets-cross")
@pytest.mark.parametrize("names", [("m.py",), ("m.py", *PLANTED)], ids=["left behind", "even if they were targets"])
def test_what_is_planted_beside_the_answer(walls: Sandbox, names: tuple[str, ...]) -> None:
    parts = Parts(
        instruction="",
        paper=None,
        repo={},
        reference={"m.py": REFERENCE.encode()},
        tests={"test_m.py": b"def test_f(candidate, reference):\n    assert candidate.m.f(2) == 5\n"},
    )
    task = Task(
        id="t",
        title="t",
        format="directory",
        manifest=Path("/tasks/t/task.yaml"),
        targets=names,
        interfaces=("m.f",),
        load=lambda: parts,
        environment=ENVIRONMENT,
        limits=Limits(),
    )
    wrong, right = b"def f(x): return 0\n", b"def f(x): return 5\n"
    assert judge(task, parts, {"m.py": wrong, **PLANTED}, walls).passed == 0
    assert judge(task, parts, {"m.py": right, **PLANTED}, walls).solved


@pytest.mark.invariant("candidate-apart-from-tests")
def test_what_one_interface_is_told_another_does_not_know(walls: Sandbox) -> None:
    """The tests of `score` hand the right answer of `f` over: `f` must not be able to give it back."""
    tests = """
        import pytest

        @pytest.mark.interface("m.score")
        def test_score(candidate, reference):
            assert candidate.m.score(reference.m.f(3)) == 0

        @pytest.mark.interface("m.f")
        def test_f(candidate, reference):
            assert candidate.m.f(3) == reference.m.f(3)
    """
    code = """
        import os
        told = []

        def score(x):
            told.append(x)
            for place in ("/tmp", "/dev/shm", os.path.expanduser("~"), "."):
                try: open(os.path.join(place, "told"), "w").write(str(x))
                except OSError: pass
            if os.fork() == 0:
                import time; time.sleep(100)
            return 0

        def f(x):
            for place in ("/tmp", "/dev/shm", os.path.expanduser("~"), "."):
                try: told.append(int(open(os.path.join(place, "told")).read()))
                except OSError: pass
            return told[-1] if told else None
    """
    reference = "def score(x): return 0\ndef f(x): return x**5\n"
    verdict = grade(walls, tests, code, reference, interfaces=("m.f", "m.score"))
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED, Outcome.FAILED]


def test_a_function_of_an_earlier_test_cannot_be_called(bare: Sandbox) -> None:
    tests = """
        def test_1(candidate):
            assert candidate.m.f(lambda: 41) == 0

        def test_2(candidate):
            assert candidate.m.f(lambda: 42) == 0
    """
    code = """
        kept = []

        def f(g):
            kept.append(g)
            return 0 if len(kept) == 1 else kept[0]() - 41
    """
    verdict = grade(bare, tests, code)
    assert [(case.outcome, case.kind) for case in verdict.cases] == [
        (Outcome.PASSED, ""),
        (Outcome.FAILED, "exception"),
    ]


def test_an_object_of_an_earlier_test_cannot_be_used(bare: Sandbox) -> None:
    tests = """
        kept = []

        def test_1(candidate):
            kept.append(candidate.m.f(1))

        def test_2(candidate):
            candidate.m.f(kept[0])
    """
    cases = grade(bare, tests, "def f(x): return object()").cases
    assert [case.outcome for case in cases] == [Outcome.PASSED, Outcome.FAILED]


def test_changes_to_what_it_is_given_stay_there(bare: Sandbox) -> None:
    tests = """
        import numpy as np

        def test_f(candidate):
            x = np.ones(3)
            candidate.m.f(x)
            assert (x == 1).all()
    """
    assert grade(bare, tests, "def f(x):\n    x[:] = 0\n    return x").solved


def test_the_seed_is_a_secret_and_repeats_the_verdict(bare: Sandbox) -> None:
    tests = """
        import random
        import numpy as np

        def test_f(candidate, rng):
            assert candidate.m.f(1) == 0, f"drawn {rng.integers(10**9)} {random.random()} {np.random.random()}"
    """
    code = "import random\nimport numpy\ndef f(x): return random.random(), numpy.random.random()"
    first = grade(bare, tests, code)
    again = grade(bare, tests, code, seed=first.seed)
    other = grade(bare, tests, code)
    assert first.cases[0].message == again.cases[0].message != ""
    assert other.seed != first.seed
    assert other.cases[0].message != first.cases[0].message


STATEFUL_TESTS = """
    import os
    import pytest

    kept = []

    def test_1(candidate):
        kept.append(candidate.m.f(1))
        assert kept[0] in (1, "raise", "exit", "loop")

    def test_2(candidate):
        if "raise" in kept: raise MemoryError
        if "exit" in kept: os._exit(1)
        while "loop" in kept: pass
        assert candidate.m.f(2) == 2

    def test_3(candidate):
        assert candidate.m.f(3) == 3
"""


@pytest.mark.parametrize("how", ["raise", "exit", pytest.param("loop", marks=pytest.mark.slow)])
def test_what_an_earlier_answer_spoils_is_judged_afresh(bare: Sandbox, how: str) -> None:
    """The answer to one test makes the next one fail before it asks: no way from a failure to an error."""
    verdict = grade(bare, STATEFUL_TESTS, f"def f(x): return {how!r}", "def f(x): return x", test_seconds=2)
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED, Outcome.FAILED, Outcome.FAILED]
    verdict = grade(
        bare, STATEFUL_TESTS, f"def f(x): return {how!r} if x == 1 else x", "def f(x): return x", test_seconds=2
    )
    assert [case.outcome for case in verdict.cases] == [Outcome.PASSED] * 3


@pytest.mark.slow
def test_memory_that_a_failed_test_leaves_behind(walls: Sandbox) -> None:
    tests = """
        import numpy as np

        def test_1(candidate):
            answers = [candidate.m.f(i) for i in range(3)]
            assert answers == [0, 1, 2]

        def test_2(candidate):
            x = np.ones(15 << 20)
            assert candidate.m.f(x.sum()) == x.sum()
    """
    verdict = grade(walls, tests, "def f(x): return bytes(50 << 20)", "def f(x): return x", memory_mb=256)
    assert [case.outcome for case in verdict.cases] == [Outcome.FAILED] * 2
    verdict = grade(walls, tests, "def f(x): return bytes(50 << 20) if x < 9 else x", "", memory_mb=256)
    assert [case.outcome for case in verdict.cases] == [Outcome.FAILED, Outcome.PASSED]


def test_a_second_collection_that_differs_is_no_way_to_an_error(bare: Sandbox) -> None:
    tests = """
        import os
        import numpy as np
        import pytest

        @pytest.mark.parametrize("x", list(map(float, np.random.default_rng().random(2))))
        def test_f(candidate, x):
            if candidate.m.f(x) == "exit":
                os._exit(1)
    """
    verdict = grade(bare, tests, "def f(x): return 'exit'", "def f(x): return x")
    assert [case.outcome for case in verdict.cases] == [Outcome.FAILED] * 2
    assert "collected different cases" in verdict.cases[1].message


def test_texts_that_a_candidate_chooses_print_nothing_else(bare: Sandbox) -> None:
    code = r"""
        import gc

        EVIL = "\x1b[2J\x1b]0;x\x07\r\x85\u2028\u202e\ud800"

        def f(x):
            [server] = [thing for thing in gc.get_objects() if type(thing).__name__ == "_Server"]
            server.exception_report = lambda error: {
                "type": EVIL + "\n", "bases": [], "message": "a\n" + EVIL, "frames": [EVIL + "\n"], "callback": None
            }
            raise ValueError

        def g(x):
            return type(EVIL[:-1] + "\n" + "g" * 1000, (), {})()
    """
    tests = """
        def test_1(candidate): candidate.m.f(1)
        def test_2(candidate): assert candidate.m.g(1) is None
    """
    first, second = grade(bare, tests, code).cases
    assert first.exception is not None
    escaped = r"\x1b[2J\x1b]0;x\x07\r\x85\u2028\u202e\ud800"
    assert first.exception.type == escaped + r"\n"
    assert first.exception.message == "a\n" + escaped
    assert first.exception.frames == (escaped + r"\n",)
    for case in (first, second):
        assert case.outcome is Outcome.FAILED
        assert case.message.replace("\n", "").isprintable()
    assert "g" * 101 not in second.message


@pytest.mark.parametrize(
    "expression",
    [
        "h.__doc__",
        "f.__doc__",
        "hasattr(h, '__array__')",
        "hasattr(h, '__array_interface__')",
        "hasattr(h, '__getitem__')",
    ],
)
def test_what_a_handle_would_answer_by_itself(bare: Sandbox, expression: str) -> None:
    tests = f"""
        def test_f(candidate):
            f = candidate.m.f
            h = f(1)
            try:
                {expression}
            except Exception:
                pass
    """
    [case] = grade(bare, tests, "def f(x): return object()").cases
    assert (case.outcome, case.kind) == (Outcome.FAILED, "protocol")


def test_what_assert_unmodified_cannot_detect(bare: Sandbox) -> None:
    """The candidate reports its copies of the arguments, so one that replaces the program around it can lie (oracle.md).
    The arguments of the test stay what they were.
    """
    tests = """
        from pytest_recode.testing import assert_unmodified

        def test_f(candidate):
            given = [3, 1]
            assert assert_unmodified(candidate.m.f, given) == [1, 3]
            assert given == [3, 1]
    """
    careless = "def f(x):\n    x.sort()\n    return x\n"
    liar = """
import copy, gc

[server] = [thing for thing in gc.get_objects() if type(thing).__name__ == "_Server"]
perform = server.perform

def lying(request):
    given = copy.deepcopy((request.get("args"), request.get("kwargs")))
    answer = perform(request)
    return (answer[0], *given) if request["op"] == "call_and_return_arguments" else answer

server.perform = lying
"""
    assert grade(bare, tests, careless).passed == 0
    assert grade(bare, tests, liar + careless).solved
