"""SciCode's own way of running answers beside this project: the authors' answers, empty ones, and answers with one small mistake.

Upstream writes an answer and the tests of a step into one script and looks at its exit status
(eval/scripts/test_generated_code.py). Its file of targets (1 GB) is not needed: the targets are what the authors' answer gives for
the same expressions, in a script of the same form.

Usage: python benchmarks/scicode.py DIRECTORY [--problems 1 29] [--mutants 20], or RECODE_SCICODE in place of DIRECTORY, which has
problems_dev.jsonl. The interpreter needs numpy and SciPy. Nothing is written into DIRECTORY. The status is 1 where the two
do not agree about a step.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from measure import cost, pytest_command

from pytest_recode.formats.scicode import FORMAT
from pytest_recode.formats.scicode.problem_lines import ProblemStep, ScicodeProblem, problems
from pytest_recode.formats.scicode.step_tests import SUPPORT, read_tests, statements
from pytest_recode.oracle.judge import judge
from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap
from pytest_recode.task import Parts, Task
from pytest_recode.validation.mutants import mutants

SLOW = ("6", "7", "10", "44", "47", "51", "78")
"""Problems whose steps take seconds to minutes: no mutants of them, so that the comparison ends."""
SECONDS = 600.0
OF_MUTANTS = 30.0
"""Limits of a test here, and four times that of a step's script there. A mistake in a loop may run forever."""

COMPARISONS = "scicode/compare/cmp.py"
SCRIPT = """\
{answer}
import pickle
targets = pickle.load(open({targets!r}, "rb"))
{tests}
"""
MAKE = """\
{answer}
import pickle
from copy import deepcopy
targets = None
found = []
{tests}
pickle.dump(found, open({targets!r}, "wb"))
"""


class Answer(NamedTuple):
    task: Task
    parts: Parts
    problem: ScicodeProblem
    name: str
    code: bytes
    seconds: float = SECONDS


def main() -> None:
    args = arguments()
    tasks = {str(task.facts["problem"]): task for task in FORMAT.load(args.manifest) if "problems" in task.subsets}
    chosen = [each for each in problems(args.manifest) if isinstance(each, ScicodeProblem) and each.id in args.problems]
    with tempfile.TemporaryDirectory() as name:
        here = Path(name)
        collecting = cost(pytest_command(str(args.manifest.parent), "--collect-only"), here)
        print(
            f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start; collecting 15 problems {collecting.wall:.2f} s"
        )
        library = here / COMPARISONS
        library.parent.mkdir(parents=True)
        support = Path(sys.modules[read_tests.__module__].__file__ or "").with_name(SUPPORT)
        library.write_text(support.read_text("utf-8"), "utf-8")
        start = time.perf_counter()
        for problem in chosen:
            make_targets(here, problem)
        print(f"targets by the authors' answers: {time.perf_counter() - start:.1f} s", flush=True)
        sandbox = bubblewrap.KIND.make(SandboxContext(run=f"benchmark-{os.getpid()}", python=sys.executable))
        try:
            agreed = [compare(here, answer, sandbox) for answer in answers(tasks, chosen, args.mutants)]
        finally:
            sandbox.close()
    total = Counter[str]()
    for counts in agreed:
        total.update(counts)
    print(
        f"{len(agreed)} answers, {total['steps']} steps: {total['passed']} passed both ways, {total['apart']} verdicts differ;"
        f" upstream {total['upstream ms'] / 1000:.1f} s, pytest-recode {total['own ms'] / 1000:.1f} s"
    )
    sys.exit(1 if total["apart"] else 0)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("directory", nargs="?", type=Path, default=os.environ.get("RECODE_SCICODE"))
    parser.add_argument("--problems", nargs="+", metavar="NUMBER", help="default: all")
    parser.add_argument("--mutants", type=int, default=20, metavar="N", help="of the problems that are fast")
    args = parser.parse_args()
    if args.directory is None:
        parser.error("give DIRECTORY, or set RECODE_SCICODE")
    args.manifest = Path(args.directory).absolute() / FORMAT.manifest
    if not args.manifest.is_file():
        parser.error(f"{args.manifest}: no such file; it is in SciCode's repository at commit 69a8cfc, in eval/data")
    known = [each.id for each in problems(args.manifest) if isinstance(each, ScicodeProblem)]
    if unknown := set(args.problems or ()) - set(known):
        parser.error(f"no such problem: {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    args.problems = args.problems or known
    return args


def answers(tasks: dict[str, Task], chosen: Sequence[ScicodeProblem], count: int) -> Iterator[Answer]:
    """The authors' answer and an empty one to each problem, and `count` answers with a mistake, always the same."""
    wrong: list[Answer] = []
    for problem in chosen:
        task = tasks[problem.id]
        parts = task.load()
        [reference] = parts.reference.values()
        yield Answer(task, parts, problem, "reference", reference)
        yield Answer(task, parts, problem, "empty", b"")
        if problem.id not in SLOW:
            wrong += [
                Answer(task, parts, problem, each.name, each.source, OF_MUTANTS)
                for each in mutants(parts.reference, task.interfaces)
            ]
    yield from random.Random(7).sample(wrong, min(count, len(wrong)))


def compare(here: Path, answer: Answer, sandbox: Sandbox) -> dict[str, int]:
    start = time.perf_counter()
    there = {step.number: passes(here, answer, step) for step in answer.problem.steps}
    middle = time.perf_counter()
    limits = replace(answer.task.limits, test_seconds=answer.seconds)
    [target] = answer.task.targets
    verdict = judge(replace(answer.task, limits=limits), answer.parts, {target: answer.code}, sandbox)
    end = time.perf_counter()
    failing = set(verdict.failing_interfaces)
    own = {step.number: f"solution.{step.name}" not in failing for step in answer.problem.steps}
    apart = [number for number in own if own[number] != there[number]]
    print(
        f"{answer.task.id} {answer.name[:90]}: {sum(own.values())} of {len(own)} steps pass;"
        f" upstream {middle - start:.1f} s, pytest-recode {end - middle:.1f} s",
        flush=True,
    )
    for number in apart:
        print(f"  {number}: {there[number]} upstream, {own[number]} here")
    return {
        "steps": len(own),
        "passed": sum(own[number] and there[number] for number in own),
        "apart": len(apart),
        "upstream ms": int(1000 * (middle - start)),
        "own ms": int(1000 * (end - middle)),
    }


def make_targets(here: Path, problem: ScicodeProblem) -> None:
    for step in problem.steps:
        # `statements` collects the targets where `targets` is None
        tests = "\n".join(statements(read_tests(step)))
        code = "\n\n".join([problem.imports, *(each.code for each in before(problem, step))])
        ended = run(
            here,
            MAKE.format(
                answer=code,
                tests=f"from scicode.compare.cmp import cmp_tuple_or_list\n{tests}",
                targets=str(file_of(here, step)),
            ),
        )
        if ended:
            sys.exit(f"step {step.number}: the authors' code fails")


def passes(here: Path, answer: Answer, step: ProblemStep) -> bool:
    """Upstream's way: the answer's code of this and earlier steps, then every test as it is written, with `target` set before it."""
    count, texts = 0, []
    for text, test in zip(step.tests, read_tests(step), strict=True):
        mine = [f"targets[{count + index}]" for index in range(len(test.targets))]
        count += len(mine)
        # `f(x)[0]` and `target[0]`: the targets of one test are then the same value
        texts += [f"target = {mine[0] if mine else None}", text]
    code = upto(answer, step)
    return (
        run(here, SCRIPT.format(answer=code, targets=str(file_of(here, step)), tests="\n".join(texts)), answer.seconds)
        == 0
    )


def upto(answer: Answer, step: ProblemStep) -> str:
    """The answer without functions of later steps; what is not Python stays as it is."""
    later = {each.name for each in answer.problem.steps} - {each.name for each in before(answer.problem, step)}
    try:
        tree = ast.parse(answer.code)
    except SyntaxError:
        return answer.code.decode()
    tree.body = [node for node in tree.body if getattr(node, "name", None) not in later]
    return f"{answer.problem.imports}\n{ast.unparse(tree)}"


def before(problem: ScicodeProblem, step: ProblemStep) -> Sequence[ProblemStep]:
    return problem.steps[: problem.steps.index(step) + 1]


def file_of(here: Path, step: ProblemStep) -> Path:
    return here / f"{step.number}.targets"


def run(here: Path, script: str, seconds: float = SECONDS) -> int:
    file = here / "script.py"
    file.write_text(script, "utf-8")
    environment = {**os.environ, "PYTHONPATH": str(here)}
    try:
        return subprocess.run(
            [sys.executable, str(file)],
            cwd=here,
            env=environment,
            capture_output=True,
            timeout=seconds * 4,
            check=False,
        ).returncode
    except subprocess.TimeoutExpired:
        return -1


if __name__ == "__main__":
    main()
