"""Turn SciCode's `problems_dev.jsonl` into Tasks. Reads the file in place and executes nothing in it.

A problem is a Task with a function for each step, and each step is a Task in which the authors' earlier steps are given.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.json_lines import WrongLine
from pytest_recode.formats.scicode.problem_lines import ProblemStep, ScicodeProblem, problems
from pytest_recode.formats.scicode.step_tests import MODULE, judged_shared, test_files, without_target
from pytest_recode.program.imports import absolute_imports
from pytest_recode.program.source import tree_of
from pytest_recode.task import Environment, Limits, Oracle, Paper, Parts, Slot, Task

TARGET = f"{MODULE}.py"
LIMITS = Limits(
    test_seconds=600.0, grading_seconds=3600.0, command_seconds=120.0, episode_seconds=4 * 3600.0, memory_mb=8192
)
"""The benchmark limits the three or four tests of a step to 1800 s together. The authors' step 10.11 needs 2.3 GiB."""
PROBLEMS, STEPS = "problems", "steps"
"""The subsets: `--recode-subset`."""
DIFFERENT_TARGETS = {
    "70.8 test 4": "the stored target differs from what the authors' code gives: phases of 1e10 amplify rounding errors",
    **{
        f"78.3 test {number}": "the stored target has another shape than what the authors' code gives: it chooses a time step by measured time"
        for number in (1, 2, 3)
    },
}
"""Tests that the authors' code fails with the benchmark's stored targets. Here, the target is what that code gives."""


def load(path: Path) -> tuple[Task, ...]:
    """A Task for each problem, in the order of the file, and then one for each step.

    An error in one line becomes a Task with that error as its `fault`, so that the other problems can run. Raises `UserError` if no line can be read.
    """
    whole: list[Task] = []
    single: list[Task] = []
    for problem in problems(path):
        if isinstance(problem, WrongLine):
            whole.append(unreadable(FORMAT.name, path, problem.name, problem.fault))
            continue
        try:
            of_problem = [_problem_task(path, problem), *(_step_task(path, problem, step) for step in problem.steps)]
        except UserError as error:
            whole.append(unreadable(FORMAT.name, path, _id(problem), f"{path}: {error}"))
            continue
        whole.append(of_problem[0])
        single += of_problem[1:]
    return (*whole, *single)


def _id(problem: ScicodeProblem) -> str:
    return f"problem-{int(problem.id):02}"


def _problem_task(manifest: Path, problem: ScicodeProblem) -> Task:
    return _task(
        manifest,
        problem,
        problem.steps,
        id=_id(problem),
        title=problem.name.replace("_", " "),
        load=partial(problem_parts, problem),
        subsets=(PROBLEMS,),
        facts={"problem": problem.id, "name": problem.name, "steps": len(problem.steps)},
    )


def _step_task(manifest: Path, problem: ScicodeProblem, step: ProblemStep) -> Task:
    return _task(
        manifest,
        problem,
        (step,),
        id=f"step-{int(problem.id):02}.{int(step.number.partition('.')[2]):02}",
        title=f"{problem.name.replace('_', ' ')}: {step.name}",
        load=partial(step_parts, problem, step),
        subsets=(STEPS,),
        facts={"problem": problem.id, "name": problem.name, "step": step.number, "function": step.name},
    )


def _task(
    manifest: Path, problem: ScicodeProblem, steps: Sequence[ProblemStep], *, facts: dict[str, object], **rest: Any
) -> Task:
    """Raises `UserError` if a test's target cannot be computed."""
    shared = judged_shared(steps)
    notes = dict(_notes(steps))
    return Task(
        format=FORMAT.name,
        manifest=manifest,
        targets=(TARGET,),
        interfaces=tuple(f"{MODULE}.{step.name}" for step in steps),
        paper=PAPER,
        domain="science",
        environment=Environment(preload=_packages(problem.imports)),
        limits=LIMITS,
        license="Apache-2.0",
        oracle=Oracle(isolation="shared" if shared else "separate"),
        facts={
            **facts,
            "tests": sum(len(step.tests) for step in steps),
            **({"shared_because": shared} if shared else {}),
            **({"tests_to_know": notes} if notes else {}),
        },
        **rest,
    )


def _packages(imports: str) -> tuple[str, ...]:
    """The modules of import statements, without those of the standard library."""
    tree = tree_of(imports.encode())
    names = absolute_imports(tree.body if tree else ())
    return tuple(dict.fromkeys(name for name in names if name.partition(".")[0] not in sys.stdlib_module_names))


def _notes(steps: Sequence[ProblemStep]) -> Iterator[tuple[str, str]]:
    """What is known of single tests, by name."""
    for step in steps:
        literal = without_target(step)
        for number in range(1, len(step.tests) + 1):
            name = f"{step.number} test {number}"
            if number in literal:
                yield name, "has no target: it compares with values that it contains"
            elif name in DIFFERENT_TARGETS:
                yield name, DIFFERENT_TARGETS[name]


WHOLE = """\
# {title}

{description}

{signature}

Write `{target}`, which solves this problem in {steps}. It is imported as a module, and tests call each function. Later functions may \
call earlier ones. Keep the signatures and the order of the returned values. Use only these imports:

```python
{imports}
```
"""
ONE = """\
# {title}

`{target}` solves a problem in steps, and one step is missing: `{name}`. In its place stands a comment. Write the function there; the rest of the file \
stays as it is. Do not repeat the imports and the functions of earlier steps, and use only these imports:

```python
{imports}
```
{section}{earlier}"""
STEP = """
## Step {number}: `{name}`

{description}

```python
{header}
```
"""
EARLIER = """
## The earlier steps, which are given

{steps}
"""


def problem_parts(problem: ScicodeProblem) -> Parts:
    """All steps are to be written, in one file of stubs."""
    count = len(problem.steps)
    text = WHOLE.format(
        title=problem.name.replace("_", " "),
        description=problem.description,
        signature=problem.signature,
        target=TARGET,
        steps="one step" if count == 1 else f"{count} steps",
        imports=problem.imports,
    )
    return Parts(
        instruction=text + "".join(_section(step) for step in problem.steps),
        paper=_background(problem, problem.steps),
        repo={TARGET: _file(problem, [step.stub for step in problem.steps])},
        reference={TARGET: _file(problem, [step.code for step in problem.steps])},
        tests=test_files(problem, problem.steps, shared=bool(judged_shared(problem.steps))),
    )


def step_parts(problem: ScicodeProblem, step: ProblemStep) -> Parts:
    """One step is to be written; the authors' code of the earlier ones is given."""
    before = problem.steps[: problem.steps.index(step)]
    codes = [earlier.code for earlier in before]
    descriptions = "\n\n".join(f"`{earlier.name}`: {earlier.description}" for earlier in before)
    placeholder = f"# TODO: write the function {step.name} here."
    repo = _file(problem, [*codes, placeholder])
    place = repo.decode().split("\n").index(placeholder)
    return Parts(
        instruction=ONE.format(
            title=f"{problem.name.replace('_', ' ')}: {step.name}",
            target=TARGET,
            name=step.name,
            imports=problem.imports,
            section=_section(step),
            earlier=EARLIER.format(steps=descriptions) if before else "",
        ),
        paper=_background(problem, (*before, step)),
        repo={TARGET: repo},
        reference={TARGET: _file(problem, [*codes, step.code])},
        tests=test_files(problem, (step,), shared=bool(judged_shared((step,)))),
        slot=Slot(path=TARGET, start=place, stop=place + 1, indent=""),
    )


def _section(step: ProblemStep) -> str:
    return STEP.format(number=step.number, name=step.name, description=step.description, header=step.header)


def _background(problem: ScicodeProblem, steps: Sequence[ProblemStep]) -> str | None:
    """The scientists' background of the problem and of these steps; None if there is none."""
    texts = [problem.background, *(f"## {step.name}\n\n{step.background}" for step in steps if step.background)]
    return "\n\n".join(filter(None, texts)) + "\n" if any(texts) else None


def _file(problem: ScicodeProblem, codes: Sequence[str]) -> bytes:
    return "\n\n\n".join([problem.imports, *(code.strip("\n") for code in codes)]).encode() + b"\n"


PAPER = Paper(
    title="SciCode: A Research Coding Benchmark Curated by Scientists",
    year=2024,
    arxiv="2407.13168",
    url="https://scicode-bench.github.io",
    venue="NeurIPS 2024",
    date="2024-07-18",
)
FORMAT = Format(
    name="scicode",
    manifest="problems_dev.jsonl",
    load=load,
    defaults={"subset": PROBLEMS, "temperature": 0.0},
    data_set=True,
)
"""The default temperature is that of the benchmark."""
