"""AlgoTune's hidden tests: which solvers are faster, which are not, and which only look so. References wait, so that margins are wide."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_recode.formats.algotune import FORMAT
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment
from pytest_recode.verdict import Verdict
from tests.formats.algotune_benchmark import BY_LIBRARY, SECONDS, benchmark

SPEED = "test_speed.py::test_speed"

COPY = (
    "from baseline import TASK\n\nclass Solver:\n    def solve(self, problem):\n        {}return TASK.solve(problem)\n"
)
SLOWER = f"import time\n{COPY.format(f'time.sleep({SECONDS * 2}); ')}"
FAR_SLOWER = f"import time\n{COPY.format(f'time.sleep({SECONDS * 10 + 1}); ')}"
WRONG = BY_LIBRARY.replace('problem["values"]', '[v + (v == max(problem["values"])) for v in problem["values"]]')
LIST_LIKE = """\
import time
from baseline import TASK

class Late(dict):
    def items(self):
        return TASK.solve(self.problem).items()

class Solver:
    def solve(self, problem):
        late = Late()
        late.problem = problem
        return late
"""
LATER = """\
import threading
from baseline import TASK

class Solver:
    def solve(self, problem):
        solution = {"sums": []}
        threading.Thread(target=lambda: solution["sums"].extend(TASK.solve(problem)["sums"])).start()
        return solution
"""
REMEMBERS = """\
from baseline import TASK

SEEN = {}

class Solver:
    def solve(self, problem):
        key = tuple(problem["values"])
        if key not in SEEN:
            SEEN[key] = TASK.solve(problem)
        return SEEN[key]
"""
CLOCK = f"""\
import time, sys
from baseline import TASK
import baseline

real = time.perf_counter
time.perf_counter = lambda: 0.0
baseline.timed = lambda problem: (time.sleep(1), 0.0)

class Solver:
    def solve(self, problem):
        time.sleep({SECONDS})
        return TASK.solve(problem)
"""


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory, process_sandbox: Sandbox) -> object:
    manifest = benchmark(tmp_path_factory.mktemp("algotune")) / "prefix_sums" / "description.txt"
    [task] = FORMAT.load(manifest)
    task = replace(task, environment=Environment(preload=("numpy",)))

    def grade(code: str) -> Verdict:
        return judge(task, task.load(), {"solver.py": code.encode()}, process_sandbox)

    return grade


def failed(verdict: Verdict) -> list[str]:
    return [case.id for case in verdict.cases if case.outcome.value != "passed"]


def test_a_faster_solver_solves_the_task(graded: object) -> None:
    verdict = graded(BY_LIBRARY)  # type: ignore[operator]
    assert verdict.solved
    assert len(verdict.cases) == 11
    assert verdict.scores["valid instances"] == 1.0
    assert (
        verdict.scores["speed-up, lower bound"] <= verdict.scores["speed-up"] <= verdict.scores["speed-up, upper bound"]
    )
    assert verdict.scores["speed-up"] > 1.1


@pytest.mark.parametrize(
    "code", [SLOWER, REMEMBERS.replace("SEEN[key] =", "import time; time.sleep(0.03); SEEN[key] ="), CLOCK]
)
@pytest.mark.mostly_slow
def test_a_valid_solver_that_is_slower_does_not(graded: object, code: str) -> None:
    verdict = graded(code)  # type: ignore[operator]
    assert failed(verdict) == [SPEED]
    assert verdict.scores["valid instances"] == 1.0
    assert verdict.scores["speed-up"] < 1.0


@pytest.mark.parametrize("code", [WRONG, LATER, FAR_SLOWER])
@pytest.mark.slow
def test_an_invalid_or_far_slower_one_has_no_speed_up(graded: object, code: str) -> None:
    verdict = graded(code)  # type: ignore[operator]
    assert SPEED in failed(verdict)
    assert "speed-up" not in verdict.scores
    assert verdict.scores["valid instances"] < 1.0


@pytest.mark.slow
def test_work_that_a_result_puts_off_is_in_its_time(graded: object) -> None:
    """A dict that computes what it holds when it is read: it is read within the call, or is no plain dict."""
    verdict = graded(LIST_LIKE)  # type: ignore[operator]
    assert SPEED in failed(verdict)
    assert verdict.scores.get("speed-up", 0.0) < 1.1


@pytest.mark.slow
def test_no_solver_solves_nothing(graded: object) -> None:
    verdict = graded("")  # type: ignore[operator]
    assert len(failed(verdict)) == 11
    assert verdict.scores == {}
