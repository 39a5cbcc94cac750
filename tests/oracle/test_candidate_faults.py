"""A candidate that does not answer: its case fails in clear words; the next case and the next grading know nothing."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome, Verdict
from tests.oracle.conftest import grade

GOOD = "def f(x):\n    return x + 1\n"
TESTS = """
    import pytest

    @pytest.mark.parametrize("x", [1, 2, 3])
    def test_f(candidate, x):
        assert candidate.m.f(x) == x + 1
"""


def second_case_only(verdict: Verdict) -> tuple[str, str]:
    """Kind and message of the second of three cases; the others have passed."""
    outcomes = [case.outcome for case in verdict.cases]
    assert outcomes == [Outcome.PASSED, Outcome.FAILED, Outcome.PASSED], [case.message for case in verdict.cases]
    return verdict.cases[1].kind, verdict.cases[1].message.partition("\n")[0]


def run(sandbox: Sandbox, body: str, **limits: float) -> tuple[str, str]:
    lines = body.replace("\n", "\n        ")
    code = f"import os, sys, time\ndef f(x):\n    if x == 2:\n        {lines}\n    return x + 1\n"
    result = second_case_only(grade(sandbox, TESTS, code, **limits))
    assert grade(sandbox, TESTS, GOOD).solved
    return result


@pytest.mark.slow
def test_an_endless_loop(every_sandbox: Sandbox) -> None:
    assert run(every_sandbox, "while True: pass", test_seconds=1.0) == (
        "timeout",
        "the candidate did not answer within 1 s",
    )


@pytest.mark.slow
def test_exit(every_sandbox: Sandbox) -> None:
    assert run(every_sandbox, "os._exit(0)") == ("died", "the candidate exited with status 0 in the middle of a call")


@pytest.mark.invariant("errors-are-not-unsolved")
def test_suicide(sandbox: Sandbox) -> None:
    kind, message = run(sandbox, "os.kill(os.getpid(), 11)")
    assert (kind, message) == ("died", "the candidate was killed by signal 11 in the middle of a call")


@pytest.mark.mostly_slow
def test_it_fills_memory(every_sandbox: Sandbox) -> None:
    kind, message = run(every_sandbox, "big = []\nwhile True: big.append(bytearray(1 << 24))", memory_mb=300)
    assert (kind, message) in [
        ("died", "the candidate was killed: out of memory (300 MiB)"),
        ("exception", "call: candidate = <the candidate>, x = 2"),  # a limit that Python feels: MemoryError
    ]


def test_it_prints_a_gigabyte(sandbox: Sandbox) -> None:
    code = """
        import os, sys

        def f(x):
            block = "x" * (1 << 24)
            for _ in range(32):
                print(block)
                sys.stderr.write(block)
                os.write(1, block.encode())
            return x + 1
    """
    assert grade(sandbox, TESTS, code).solved


def test_it_forks_and_the_child_comes_back_too(sandbox: Sandbox) -> None:
    code = "import os\ndef f(x):\n    os.fork()\n    return x + 1\n"
    assert grade(sandbox, TESTS, code).solved


@pytest.mark.slow
def test_it_closes_the_pipe(every_sandbox: Sandbox) -> None:
    kind, message = run(every_sandbox, "os.closerange(3, 1000)\ntime.sleep(1000)", test_seconds=5.0)
    assert (kind, message) == ("died", "the candidate closed its pipe in the middle of a call")


SPAM = "for fd in range(3, 64):\n    try: os.write(fd, {0})\n    except OSError: pass\n"


@pytest.mark.parametrize(
    "data",
    [
        "b'garbage' * 100",
        "b'rcd1A' + bytes(20)",
        "b'rcd1A' + bytes(8) + b'\\xff' * 12",
        "b'rcd1H' + bytes(8) + bytes(12)",
    ],
)
def test_it_writes_garbage_into_the_pipe(sandbox: Sandbox, data: str) -> None:
    kind, message = run(sandbox, SPAM.format(data))
    assert kind == "protocol"
    assert message.startswith("the candidate sent garbage instead of an answer: ")


def test_it_writes_without_end_into_the_pipe(bare: Sandbox) -> None:
    kind, message = run(
        bare, "while True:\n    " + SPAM.format("bytes(1 << 16)").replace("\n", "\n    "), test_seconds=3
    )
    assert kind == "protocol"
    assert message == "the candidate sent garbage instead of an answer: bytes that are no frame"


def test_it_writes_garbage_after_its_answer(bare: Sandbox) -> None:
    """It is the next question that the garbage would answer."""
    tests = """
        def test_f(candidate):
            assert candidate.m.f(1) == 2
            while True:
                assert candidate.m.f(1) == 2
    """
    code = """
        import os, threading, time

        def late():
            for fd in range(3, 64):
                try: os.write(fd, b"garbage")
                except OSError: pass

        def f(x):
            if threading.active_count() == 1:
                threading.Timer(0.05, late).start()
            return x + 1
    """
    [case] = grade(bare, tests, code).cases
    assert (case.outcome, case.kind) == (Outcome.FAILED, "protocol")


def test_it_repeats_its_answer(bare: Sandbox) -> None:
    code = """
        import gc

        def f(x):
            for server in gc.get_objects():
                if type(server).__name__ == "_Server":
                    server.send({"value": x + 1})
                    server.send({"value": x + 1})
            return x + 1
    """
    tests = """
        def test_f(candidate):
            assert candidate.m.f(1) == 2
            assert candidate.m.f(1) == 2
    """
    [case] = grade(bare, tests, code).cases
    assert (case.outcome, case.kind) == (Outcome.FAILED, "protocol")
    assert "the candidate sent garbage instead of an answer: a frame out of order" in case.message


@pytest.mark.invariant("candidate-output-is-data")
def test_its_answer_is_too_large(walls: Sandbox) -> None:
    assert run(walls, "return bytes(70 << 20)", memory_mb=256) == (
        "protocol",
        "the candidate sent garbage instead of an answer: a frame of more than 64 MiB",
    )


def test_its_answer_is_nested_too_deep(bare: Sandbox) -> None:
    kind, message = run(bare, "a = []\nfor _ in range(500): a = [a]\nreturn a")
    assert kind == "protocol"
    assert message.endswith("a value nested more than 100 deep cannot be sent")


@pytest.mark.slow
def test_a_generator_without_end(bare: Sandbox) -> None:
    code = "def f(x):\n    while True: yield x + 1\n"
    tests = "def test_f(candidate):\n    assert sum(candidate.m.f(1)) > 0\n"
    [case] = grade(bare, tests, code, test_seconds=1).cases
    assert (case.outcome, case.kind) == (Outcome.FAILED, "timeout")


def test_deep_recursion_is_an_exception(bare: Sandbox) -> None:
    kind, _ = run(bare, "return f(2)")
    assert kind == "exception"


def test_it_cannot_be_imported(bare: Sandbox) -> None:
    for code, type_name, frame in (
        ("def f(x:\n", "SyntaxError", "m.py:1: def f(x:"),
        ("import numpy\nraise OSError('no disk')\n", "OSError", "m.py:2 in <module>: raise OSError('no disk')"),
        ("import sys\nsys.exit(0)\n", "SystemExit", "m.py:2 in <module>: sys.exit(0)"),
    ):
        verdict = grade(bare, TESTS, code)
        assert [case.outcome for case in verdict.cases] == [Outcome.FAILED] * 3
        exception = verdict.cases[0].exception
        assert exception is not None
        assert (exception.type, exception.frames[-1]) == (type_name, frame)
        lines = [line.split() for line in verdict.cases[0].message.split("\n") if line.startswith("E ")]
        assert lines == [["E", *f"{type_name}: {exception.message}".split()]]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(x:\n", "SyntaxError"),
        ("raise ValueError('no')\n", "ValueError"),
        ("import nothing_of_this_name\n", "ImportError"),
    ],
)
@pytest.mark.parametrize("module", ["m", "pkg.m"])
def test_a_module_that_cannot_be_imported_raises_nothing_that_a_test_asks_for(
    bare: Sandbox, code: str, expected: str, module: str
) -> None:
    tests = f"import pytest\n\ndef test_f(candidate):\n    with pytest.raises({expected}):\n        candidate.{module}.f(-1)\n"
    right = {
        f"{module.replace('.', '/')}.py": f"def f(x):\n    raise {expected}\n",
        **({"pkg/__init__.py": ""} if "." in module else {}),
    }
    wrong = {**right, f"{module.replace('.', '/')}.py": code}
    assert grade(bare, tests, right, interfaces=(f"{module}.f",)).solved
    [case] = grade(bare, tests, wrong, right, interfaces=(f"{module}.f",)).cases
    assert (case.outcome, case.kind) == (Outcome.FAILED, "exception")
    assert "a module of the candidate cannot be imported" in case.message


def test_it_exits_at_import(bare: Sandbox) -> None:
    verdict = grade(bare, TESTS, "import os\nos._exit(0)\n")
    assert [(case.outcome, case.kind) for case in verdict.cases] == [(Outcome.FAILED, "died")] * 3


def test_it_lacks_the_interface(bare: Sandbox) -> None:
    verdict = grade(bare, TESTS, "def g(x): return x\n")
    assert verdict.cases[0].kind == "undefined"
    assert verdict.cases[0].exception is not None
    assert verdict.cases[0].exception.type == "AttributeError"


def test_an_exception_is_told_by_the_candidates_frames_alone(sandbox: Sandbox) -> None:
    code = {
        "m.py": "from helper import g\n\n\ndef f(x):\n    return g(lambda: x / 0)\n",
        "helper.py": "import functools\n\n\n"
        "def g(function):\n    return functools.reduce(lambda a, b: function(), [1, 2])\n",
    }
    verdict = grade(sandbox, TESTS, code)
    exception = verdict.cases[0].exception
    assert exception is not None
    assert (exception.type, exception.message) == ("ZeroDivisionError", "division by zero")
    assert exception.frames == (
        "m.py:5 in f: return g(lambda: x / 0)",
        "helper.py:5 in g: return functools.reduce(lambda a, b: function(), [1, 2])",
        "helper.py:5 in <lambda>: return functools.reduce(lambda a, b: function(), [1, 2])",
        "m.py:5 in <lambda>: return g(lambda: x / 0)",
    )


def test_a_failure_is_told_by_the_tests_own_lines_alone(bare: Sandbox) -> None:
    """Not by those of what lies between it and the candidate."""
    tests = """
        from pytest_recode.testing import assert_equivalent

        def test_raises(candidate):
            candidate.m.f(0)

        def test_differs(candidate):
            assert_equivalent(candidate.m.f(1), 2)
    """
    verdict = grade(bare, tests, "def f(x):\n    return 1 // x\n")
    raised, differs = (case.message.splitlines() for case in verdict.cases)
    assert raised[0] == "call: candidate = <the candidate>"
    assert [line for line in raised if "candidate.m.f(0)" in line]
    assert "E       ZeroDivisionError: integer division or modulo by zero" in raised
    assert differs[0] == "call: candidate = <the candidate>"
    assert [line for line in differs if "assert_equivalent(candidate.m.f(1), 2)" in line]
    assert "E       Mismatch: result is 1, expected 2" in differs
    assert not [line for line in (*raised, *differs) if line.startswith("<_recode")]


def test_what_a_callback_raises_is_not_told_as_the_candidates(bare: Sandbox) -> None:
    tests = """
        def test_f(candidate):
            def secret(x):
                raise ValueError("the answer is 42")
            candidate.m.f(secret)
    """
    code = "def f(g):\n    try: g(1)\n    except ValueError as e: raise RuntimeError('caught ' + str(e))\n"
    [case] = grade(bare, tests, code).cases
    assert case.exception is not None
    assert case.exception.message == "caught raised by a function of the test"


@pytest.mark.slow
def test_data_on_which_the_test_loops_is_the_candidates_fault(bare: Sandbox) -> None:
    """A candidate cannot turn a failure into an error of the grader's by what it returns."""
    tests = """
        import os
        import pytest

        @pytest.mark.parametrize("x", [1, 2, 3])
        def test_f(candidate, x):
            value = candidate.m.f(x)
            while value == "loop":
                pass
            if value == "die":
                os._exit(1)
            assert value == x + 1
    """
    kind, message = second_case_only(grade(bare, tests, "def f(x): return 'loop' if x == 2 else x + 1", test_seconds=1))
    assert (kind, message) == (
        "timeout",
        "the test did not end within 1 s, after the test received the candidate's answers",
    )
    kind, message = second_case_only(grade(bare, tests, "def f(x): return 'die' if x == 2 else x + 1"))
    assert (kind, message) == (
        "died",
        "the grader exited with status 1, after the test received the candidate's answers",
    )


def test_callbacks_without_end(bare: Sandbox) -> None:
    tests = """
        def test_f(candidate):
            def again(x):
                return candidate.m.f(again)
            candidate.m.f(again)
    """
    [case] = grade(bare, tests, "def f(g): return g(1)", test_seconds=20).cases
    assert case.outcome is Outcome.FAILED
    assert "calls nested more than 50 deep" in case.message


def test_a_callback_from_a_thread(bare: Sandbox) -> None:
    code = """
        import threading

        def f(g):
            values = []
            threads = [threading.Thread(target=lambda x=x: values.append(g(x))) for x in range(8)]
            for thread in threads: thread.start()
            for thread in threads: thread.join()
            return sorted(values)
    """
    tests = """
        def test_f(candidate):
            assert candidate.m.f(lambda x: x + 1) == [1, 2, 3, 4, 5, 6, 7, 8]
    """
    [case] = grade(bare, tests, code).cases
    assert case.outcome is Outcome.PASSED, case.message


def test_a_callback_after_the_answer(bare: Sandbox) -> None:
    """Nobody is there to answer it: the candidate is told so, and what it does next is its own affair."""
    code = """
        import gc, threading

        def f(g):
            [server] = [thing for thing in gc.get_objects() if type(thing).__name__ == "_Server"]
            open_turns, server.turns._open = server.turns._open, []  # as it is once the answer is sent
            try:
                g(1)
            except RuntimeError as error:
                return str(error)
            finally:
                server.turns._open = open_turns
    """
    tests = """
        def test_f(candidate):
            said = candidate.m.f(lambda x: x)
            assert said == "a function of the test can be called only while a call of the test is running"
    """
    [case] = grade(bare, tests, code).cases
    assert case.outcome is Outcome.PASSED, case.message


def test_a_callback_from_another_process(bare: Sandbox) -> None:
    code = """
        import os

        def f(g):
            reading, writing = os.pipe()
            if os.fork() == 0:
                try:
                    g(1)
                except RuntimeError as error:
                    os.write(writing, str(error).encode())
                os._exit(0)
            os.close(writing)
            return os.read(reading, 1000)
    """
    tests = """
        def test_f(candidate):
            assert candidate.m.f(lambda x: x) == b"a function of the test cannot be called from another process"
    """
    [case] = grade(bare, tests, code).cases
    assert case.outcome is Outcome.PASSED, case.message


@pytest.mark.slow
def test_the_gradings_time_is_up(bare: Sandbox) -> None:
    verdict = grade(bare, TESTS, "import time\ndef f(x):\n    time.sleep(99)\n", test_seconds=1.0, grading_seconds=2.0)
    assert [case.kind for case in verdict.cases] == ["timeout"] * 3
    assert verdict.cases[2].message.partition("\n")[0] in (
        "not run: the grading's 2 s were used up",
        "the candidate did not answer within the grading's 2 s",
    )
