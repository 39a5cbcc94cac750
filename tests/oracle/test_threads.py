"""Hidden tests that use the candidate from several threads or processes: each gets the answers to its own calls."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Outcome
from tests.oracle.conftest import grade, only

CODE = """
    def f(x):
        return 2 * x

    def apply(function, x):
        return function(x) + 1

    def fail(x):
        raise ValueError(str(x))
"""


@pytest.mark.slow
def test_each_thread_gets_its_own_answers(sandbox: Sandbox) -> None:
    tests = """
        from concurrent.futures import ThreadPoolExecutor

        def test_calls(candidate):
            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(candidate.m.f, range(200))) == [2 * x for x in range(200)]

        def test_callbacks(candidate):
            def run(x):
                return candidate.m.apply(lambda y: candidate.m.f(y) + x, x)
            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(run, range(40))) == [3 * x + 1 for x in range(40)]

        def test_exceptions(candidate):
            def run(x):
                try:
                    candidate.m.fail(x)
                except ValueError as error:
                    return str(error)
            with ThreadPoolExecutor(8) as pool:
                assert list(pool.map(run, range(40))) == [str(x) for x in range(40)]
    """
    verdict = grade(sandbox, tests, CODE)
    assert verdict.solved, [case.message for case in verdict.cases]


def test_a_function_that_the_candidate_calls_may_wait_for_other_threads(bare: Sandbox) -> None:
    tests = """
        from concurrent.futures import ThreadPoolExecutor

        def test_f(candidate):
            def total(x):
                with ThreadPoolExecutor(4) as pool:
                    return sum(pool.map(lambda y: candidate.m.apply(candidate.m.f, y), range(x)))
            assert candidate.m.apply(total, 10) == 101
    """
    case = only(grade(bare, tests, CODE, test_seconds=20))
    assert case.outcome is Outcome.PASSED, case.message


def test_the_calls_of_a_thread_that_outlives_its_test_belong_to_this_test(bare: Sandbox) -> None:
    tests = """
        import threading

        def test_1(candidate):
            started = threading.Event()
            def run():
                started.set()
                for x in range(10_000):
                    candidate.m.f(x)
            threading.Thread(target=run, daemon=True).start()
            started.wait()
            assert candidate.m.f(1) == 2

        def test_2(candidate):
            assert [candidate.m.f(x) for x in range(50)] == [2 * x for x in range(50)]
    """
    verdict = grade(bare, tests, CODE, test_seconds=20)
    assert verdict.solved, [case.message for case in verdict.cases]


def test_a_forked_process_gets_no_answers(bare: Sandbox) -> None:
    tests = """
        import multiprocessing

        def ask(candidate, queue):
            try:
                queue.put(candidate.m.f(1))
            except Exception as error:
                queue.put(str(error))

        def test_f(candidate):
            assert candidate.m.f(1) == 2
            context = multiprocessing.get_context("fork")
            queue = context.Queue()
            process = context.Process(target=ask, args=(candidate, queue))
            process.start()
            text = queue.get()
            process.join()
            assert text == "the test uses the candidate in a process that it has forked: use threads instead"
            assert candidate.m.f(2) == 4
    """
    case = only(grade(bare, tests, CODE, test_seconds=20))
    assert case.outcome is Outcome.PASSED, case.message


PARALLEL = """
    from concurrent.futures import ThreadPoolExecutor

    def apply(function, x):
        return function(x)

    def parallel(function, xs):
        with ThreadPoolExecutor(4) as pool:
            return list(pool.map(function, xs))
"""


@pytest.mark.parametrize("outer", ["apply", "parallel"])
def test_threads_of_a_nested_call_may_call_functions_of_the_test(outer: str, sandbox: Sandbox) -> None:
    tests = f"""
        def test_rows(candidate):
            def row(n):
                return candidate.m.parallel(lambda y: candidate.m.apply(abs, -y) + 1, range(n))
            wanted = [[y + 1 for y in range(n)] for n in range(6)]
            if "{outer}" == "parallel":
                assert candidate.m.parallel(row, range(6)) == wanted
            else:
                assert [candidate.m.apply(row, n) for n in range(6)] == wanted
    """
    case = only(grade(sandbox, tests, PARALLEL, interfaces=("m",), test_seconds=20))
    assert case.outcome is Outcome.PASSED, case.message


def test_a_thread_that_calls_a_function_of_an_earlier_test(bare: Sandbox) -> None:
    code = """
        import threading

        ended = []

        def start(function):
            def run():
                while True:
                    try:
                        function(1)
                    except RuntimeError as error:
                        if "earlier test" in str(error):
                            ended.append(str(error))
                            return
            threading.Thread(target=run, daemon=True).start()
            return function(1)

        def wait():
            while not ended:
                pass
            return ended

        def call(function):
            return function(1)
    """
    tests = """
        def test_1(candidate):
            assert candidate.m.start(lambda x: x + 1) == 2

        def test_2(candidate):
            assert candidate.m.wait() == ["a function of an earlier test cannot be called"]
            assert candidate.m.call(lambda x: x + 2) == 3
    """
    verdict = grade(bare, tests, code, interfaces=("m",), test_seconds=20)
    assert verdict.solved, [case.message for case in verdict.cases]


def test_a_property_that_is_read_for_the_answer_cannot_call_a_function_of_the_test(bare: Sandbox) -> None:
    code = """
        class Counter(tuple):
            @property
            def count(self):
                return self.function(1)

        def f(function):
            Counter.function = staticmethod(function)
            return Counter((1, 2))

        def again(function):
            return function(f(function))
    """
    tests = """
        def test_f(candidate):
            assert candidate.m.f(lambda x: 1) == (1, 2)
            assert candidate.m.again(len) == 2
    """
    case = only(grade(bare, tests, code, interfaces=("m",), test_seconds=20))
    assert case.outcome is Outcome.PASSED, case.message
