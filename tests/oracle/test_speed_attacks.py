"""Solvers that only look fast or valid to AlgoTune's hidden tests, and right ones of an unusual form. References wait, so that margins are wide."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_recode.formats.algotune import FORMAT
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox
from pytest_recode.task import Environment
from pytest_recode.verdict import Verdict
from tests.formats.algotune_benchmark import PREFIXES, SECONDS, benchmark
from tests.oracle.test_speed import SPEED, failed

Grade = Callable[..., Verdict]
WAIT = f"        time.sleep({SECONDS})\n"
CHECK = """\
        import numpy as np
        sums = np.array(list(solution["sums"]), dtype=float)
        return all(
            not abs(4 * after - 4 * before - 4 * value) > 1e-9 for after, before, value in zip(sums[1:], sums, problem["values"][1:])
        )
"""
LAX = (PREFIXES[PREFIXES.index('        sums = solution["sums"]') :], CHECK)
"""Another check, which refuses what differs by more than a tolerance."""
LOADED = f"""\
        import fcntl
        with open({{path!r}}) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                time.sleep({SECONDS * 4})
"""
"""A reference that is slower while a candidate's process lives that has this lock: it stands for one that uses all processors."""
LARGE = """\
        return {"sums": sums, "parts": [[number, number] for number in range(20_000)]}
"""


@pytest.fixture(scope="module")
def grade(tmp_path_factory: pytest.TempPathFactory, process_sandbox: Sandbox) -> Grade:
    def graded(code: str, *changes: tuple[str, str]) -> Verdict:
        manifest = benchmark(tmp_path_factory.mktemp("algotune")) / "prefix_sums" / "description.txt"
        path = manifest.with_name("prefix_sums.py")
        source = path.read_text()
        for before, after in changes:
            assert before in source
            source = source.replace(before, after)
        path.write_text(source)
        [task] = FORMAT.load(manifest)
        task = replace(task, environment=Environment(preload=("numpy",)))
        return judge(task, task.load(), {"solver.py": code.encode()}, process_sandbox)

    return graded


@pytest.fixture
def lock() -> Iterator[str]:
    """A file that every user can open."""
    with tempfile.NamedTemporaryFile(prefix="recode-lock-") as file:
        Path(file.name).chmod(0o644)
        yield file.name


def returning(expression: str, before: str = "") -> str:
    return f"""\
import itertools, time
from collections import OrderedDict
import numpy as np
{before}
class Solver:
    def solve(self, problem):
        sums = list(itertools.accumulate(problem["values"]))
        return {expression}
"""


@pytest.mark.slow
def test_a_candidate_that_slows_the_reference_down_is_not_faster(grade: Grade, lock: str) -> None:
    code = f"""\
import fcntl, itertools, time

file = open({lock!r})
fcntl.flock(file, fcntl.LOCK_EX)

class Solver:
    def solve(self, problem):
        time.sleep({SECONDS * 2})
        return {{"sums": list(itertools.accumulate(problem["values"]))}}
"""
    verdict = grade(code, (WAIT, WAIT + LOADED.format(path=lock)))
    assert failed(verdict) == [SPEED]
    assert verdict.scores["speed-up"] < 1.0


@pytest.mark.parametrize("more", ["", ', "more": [0.5] * 60_000'], ids=["smaller", "with what is copied slowly"])
@pytest.mark.slow
def test_a_solution_that_travels_faster_than_the_references_is_not_found_faster(grade: Grade, more: str) -> None:
    code = returning(
        f'{{"sums": sums, "parts": parts{more}}}',
        f"parts = np.arange(40_000).reshape(-1, 2)\nreal = itertools.accumulate\n"
        f"itertools.accumulate = lambda values: time.sleep({SECONDS * 2}) or real(values)\n",
    )
    verdict = grade(code, ('        return {"sums": sums}\n', LARGE))
    assert failed(verdict) == [SPEED]
    assert verdict.scores["speed-up"] < 1.0


@pytest.mark.slow
def test_what_a_lax_check_lets_through_is_no_solution(grade: Grade) -> None:
    """Each of the ten cases of one solution gets another of these."""
    forms = """\
FORMS = itertools.cycle([
    lambda sums: [float("nan")] * len(sums),
    lambda sums: [None] * len(sums),
    lambda sums: np.array(["nan"] * len(sums)),
    lambda sums: [b"nan"] * len(sums),
    lambda sums: [1e308] * len(sums),
    lambda sums: iter(sums),
    lambda sums: (value for value in sums),
])
"""
    verdict = grade(returning('{"sums": next(FORMS)(sums)}', forms), LAX)
    assert len(failed(verdict)) == 11
    assert "speed-up" not in verdict.scores


@pytest.mark.slow
def test_right_solutions_of_an_unusual_form_are_valid(grade: Grade) -> None:
    forms = """\
FORMS = itertools.cycle([
    lambda sums: {"sums": np.array(sums, dtype=float)},
    lambda sums: {"sums": [np.asarray(value) for value in sums]},
    lambda sums: OrderedDict(more=True, sums=tuple(np.float32(value) for value in sums), name="nano"),
    lambda sums: {"sums": np.matrix(sums).A1[::-1][::-1]},
    lambda sums: {"sums": [str(value) for value in sums], 3: 2**1000 % 10**50},
])
"""
    verdict = grade(returning("next(FORMS)(sums)", forms), LAX)
    assert failed(verdict) == []


@pytest.mark.slow
def test_a_reference_with_infinite_numbers_allows_them(grade: Grade) -> None:
    own = '        return {"sums": sums, "bound": float("inf")}\n'
    verdict = grade(returning('{"sums": sums, "bound": np.inf}'), ('        return {"sums": sums}\n', own))
    assert failed(verdict) == []
