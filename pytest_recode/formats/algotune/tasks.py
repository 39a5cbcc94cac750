"""Turn a directory of AlgoTune into a Task: a description, a generator of instances, a reference solver, a check of solutions.

Judging is separate: the grader has the reference, the instances and the clock, and the candidate's process has solver.py. Executes nothing of the
benchmark. Source: github.com/oripress/AlgoTune (MIT), layout of March 2026.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.algotune.known_solvers import (
    KnownSolver,
    fastest_solver,
    imported,
    methods_named,
    published_speed_ups,
)
from pytest_recode.formats.document import text_of
from pytest_recode.formats.links import refuse_links
from pytest_recode.task import Files, Limits, Paper, Parts, Task

MANIFEST = "description.txt"
SIZES = Path("reports", "generation.json")
LARGEST = 4 * 1024 * 1024
LIMITS = Limits(test_seconds=600.0, grading_seconds=1800.0, command_seconds=300.0, memory_mb=8192)
PAPER = Paper(
    title="AlgoTune: Can Language Models Speed Up General-Purpose Numerical Programs?", year=2025, arxiv="2507.15887"
)
TARGET = "solver.py"
INTERFACES = ("solver.Solver", "solver.Solver.solve")
MOST_METHODS = 12
TIMED_INSTANCES = 20
GOAL = 1.1
"""The speed-up from which on a solver counts as faster."""

INSTRUCTION = """\
Write `solver.py` with a class `Solver` that has a method `solve(self, problem)`. It must return a valid solution of each problem, and return it \
faster than the reference does.

`AlgoTuneTasks/{name}/{name}.py` is the benchmark's own file of this task: `generate_problem(n, random_seed)` makes a problem, `solve` is the reference, \
and `is_solution(problem, solution)` decides whether a solution is valid. The hidden tests use new problems with n = {size}. `python baseline.py` tries \
your solver on five problems.

- One `Solver()` solves many problems. What its `__init__` takes is not measured, nor are its first two calls.
- A solution is plain data: numbers, texts, lists, tuples, dicts and numpy arrays, as the reference returns it.
- A call may take at most ten times as long as the reference's.
- The speed-up is the harmonic mean, over {timed} problems, of the seconds of the reference by yours. You solve each problem once; the reference solves it \
before you and after you, on the same machine, and its smaller time counts. You are done when the speed-up is {goal} or more and the lower bound of its \
interval is above 1.
- `solver.py` is the only file that is taken over.

The benchmark's description of the task:

{description}
"""


SPARSE = frozenset(
    {
        "matrix_exponential_sparse",
        "sparse_eigenvectors_complex",
        "sparse_lowest_eigenvalues_posdef",
        "sparse_lowest_eigenvectors_posdef",
    }
)
"""The tasks whose problems are no plain data, of all 154 (commit 9e27099)."""


def claims(manifest: Path) -> bool:
    """Whether the file is in a directory of a task: with a Python file of the directory's name, below AlgoTuneTasks."""
    directory = manifest.absolute().parent
    return directory.parent.name == "AlgoTuneTasks" and (directory / f"{directory.name}.py").is_file()


def load(manifest: Path) -> tuple[Task, ...]:
    """The task of a directory; none if it is no task's. Raises `UserError` if its size is unknown or one of its files cannot be read."""
    if not claims(manifest):
        return ()
    directory = manifest.absolute().parent
    name, root = directory.name, directory.parent.parent
    refuse_links(directory.parent, f"{name}/{MANIFEST}", f"{name}/{name}.py")
    text_of(manifest, most=LARGEST)
    if name in SPARSE:
        why = f"{manifest}: the problems of {name} hold sparse matrices of scipy, which no sandbox can be sent: leave the task out with -k 'not {name}'"
        return (unreadable(FORMAT.name, manifest, name, why),)
    source = text_of(directory / f"{name}.py", most=LARGEST)
    used = imported(source)
    if used is None:
        raise UserError(f"{directory / f'{name}.py'}: is not Python: restore it")
    size = instance_size(root, name)
    known = fastest_solver(root, name, used)
    task = Task(
        id=name,
        title=name.replace("_", " "),
        format=FORMAT.name,
        manifest=manifest,
        targets=(TARGET,),
        interfaces=INTERFACES,
        load=partial(read_parts, manifest, size, known),
        reference=partial(reference_of, known),
        paper=PAPER,
        domain="algorithms",
        limits=LIMITS,
        license="MIT",
        facts={
            "size": size,
            "known_solver": known.model if known else None,
            "known_speed_up": known.speed_up if known else None,
            "published": dict(sorted(published_speed_ups(root).get(name, {}).items())),
        },
    )
    return (task,)


def instance_size(root: Path, name: str) -> int:
    """The n with which the reference takes about 0.1 s on the benchmark's machine. Raises `UserError`."""
    path = root / SIZES
    if not path.is_file():
        raise UserError(
            f"{path}: no such file, and it has the size of the instances; restore it from AlgoTune's repository"
        )
    sizes = _sizes(path, path.stat().st_mtime_ns)
    size = sizes.get(name, {}).get("n") if isinstance(sizes.get(name, {}), dict) else None
    if type(size) is not int or size < 1:
        raise UserError(f"{path}: has no size n of the task {name!r}; restore it from AlgoTune's repository")
    return size


@lru_cache(maxsize=4)
def _sizes(path: Path, _changed: int) -> Mapping[str, Any]:
    try:
        sizes = json.loads(text_of(path, most=LARGEST))
    except ValueError as error:
        raise UserError(f"{path}: is not JSON ({error}); restore it from AlgoTune's repository") from None
    if not isinstance(sizes, dict):
        raise UserError(f"{path}: is not a mapping of tasks to sizes; restore it from AlgoTune's repository")
    return sizes


def reference_of(known: KnownSolver | None) -> Files:
    """The fastest known solver, else one that is the reference itself, which is not faster."""
    code = (
        known.code
        if known
        else "from baseline import TASK\n\n\nclass Solver:\n    def solve(self, problem):\n        return TASK.solve(problem)\n"
    )
    return {TARGET: code.encode()}


def read_parts(manifest: Path, size: int, known: KnownSolver | None) -> Parts:
    """Read the files of one task. Raises `UserError`."""
    directory = manifest.absolute().parent
    name = directory.name
    description = text_of(manifest, most=LARGEST).strip()
    source = text_of(directory / f"{name}.py", most=LARGEST)
    package = f"AlgoTuneTasks/{name}"
    settings = f'"""Of which task, and how large its problems are."""\n\nTASK_NAME = {name!r}\nINSTANCE_SIZE = {size}\n'
    return Parts(
        instruction=INSTRUCTION.format(name=name, size=size, timed=TIMED_INSTANCES, goal=GOAL, description=description),
        paper=None,
        repo={
            "AlgoTuneTasks/__init__.py": b"",
            "AlgoTuneTasks/base.py": shipped("task_base.py"),
            f"{package}/__init__.py": b"",
            f"{package}/{name}.py": source.encode(),
            "baseline.py": shipped("baseline.py"),
            "size.py": settings.encode(),
        },
        reference=reference_of(known),
        tests={
            "test_speed.py": shipped("test_speed.py"),
            "goal.py": f"TIMED_INSTANCES = {TIMED_INSTANCES}\nGOAL = {GOAL}\n".encode(),
        },
        feedback=feedback_of(known),
    )


def feedback_of(known: KnownSolver | None) -> Mapping[str, Mapping[str, str]] | None:
    """The feedback on a solver that is valid and slow: what a faster one uses, and its code."""
    if known is None:
        return None
    methods = methods_named(known.code)[:MOST_METHODS]
    uses = f" It uses {', '.join(methods)}." if methods else ""
    return {
        INTERFACES[1]: {
            "suggestion": f"A known solver is {known.speed_up:.2f} times as fast as the reference.{uses}",
            "correction": known.code,
        }
    }


def shipped(name: str) -> bytes:
    return (Path(__file__).parent / "shipped" / f"{name}.txt").read_bytes()


FORMAT = Format(name="algotune", manifest=MANIFEST, load=load, claims=claims, single=True, data_set=True)
