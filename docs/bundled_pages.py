"""Generated pages on the bundled tasks: their papers, and their measured difficulty. Used by `docs/generate.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from pytest_recode.formats import directory
from pytest_recode.render import measured_difficulty
from pytest_recode.task import BlindAttempt, Task

ROOT = Path(__file__).parents[1]
TASKS, FRONTIER = ROOT / "tasks", ROOT / "frontier"
"""The forty, and the tasks that are made for strong models."""

_FIELDS = {
    "ml": "machine learning",
    "nlp": "natural language processing",
    "cv": "computer vision",
    "science": "computational science",
}

Page = Callable[..., str]
Rows = Callable[[Sequence[str], Sequence[Sequence[str]]], str]


def _tasks(place: Path) -> list[Task]:
    """The tasks of a directory, by field and name."""
    loaded = [task for path in sorted(place.glob("*/task.yaml")) for task in directory.load(path)]
    return sorted(loaded, key=lambda task: (list(_FIELDS).index(task.domain), task.id))


def papers(page: Page, table: Rows) -> str:
    rows = []
    for task in _tasks(TASKS):
        paper = task.paper
        source = f"[{paper.title}]({paper.url})" if paper.url else paper.title
        modules = len(list((task.manifest.parent / "repo").rglob("*.py")))
        counts = (len(task.interfaces), len(task.targets), modules)
        rows.append((task.id, _FIELDS[task.domain], f"{source}, {paper.year}", task.difficulty, *map(str, counts)))
    return page(
        "Papers of the bundled tasks",
        "For people who choose among the tasks in `tasks/`: field, paper with its year, difficulty in its author's word, the number of functions\n"
        "and classes to implement, of files to write them in, and of Python files of the repository. Hard tasks have several targets in a\n"
        "repository of ten or more modules. [Bundled tasks](bundled-tasks.md) says how strong their hidden tests are, and [their\n"
        "difficulty](bundled-difficulty.md) what solvers did.",
        table(("task", "field", "paper", "difficulty", "interfaces", "targets", "modules"), rows),
    )


def difficulty(page: Page, table: Rows) -> str:
    parts = {"## The tasks": _tasks(TASKS), "## The frontier tasks": _tasks(FRONTIER)}
    blocks = []
    for heading, its in parts.items():
        if its:
            blocks += [heading, _counted(its), table(_HEADS, [_row(task) for task in its])]
    return page("Difficulty of the bundled tasks", _INTRODUCTION, _PURPOSE, *blocks)


_HEADS = ("task", "field", "author's word", "solved at turn 1", "the other attempts", "solvers", "dates")

_INTRODUCTION = (
    "For people who want to know what the bundled tasks can show of a model. The difficulty of a task is measured: blind solvers, who saw\n"
    "only instruction, paper and repository, tried it, and `measured` in its `task.yaml` has what each of them did. `difficulty` (easy, medium,\n"
    "hard) is only the word of its author, which the measurements do not confirm."
)

_PURPOSE = (
    "Each task in `tasks/` has had one blind attempt (n = 1), the answer `from-the-brief` among its right answers, and each of these passed at\n"
    "once. One attempt shows that what an agent sees is enough to solve the task. It does not rank the tasks, and\n"
    "it is no solve rate. But a strong model may well solve all of them at the first turn, and a set whose first turn is always solved can show\n"
    "neither what feedback does nor which of two such models is better. These tasks are for\n"
    "\n"
    "- testing the tool: agents, sandboxes, judging, feedback of every level;\n"
    "- studies of feedback with small and middle models, whose first turns fail;\n"
    "- regression tests of agents and prompts: a task that was solved and no longer is.\n"
    "\n"
    "They are not for ranking strong models. For these, read *solved at turn 1*, *pass^k* and the other\n"
    "[numbers of effort](metrics.md#recode-h-arxiv-251006186-and-episodes-in-general) before the solved share, and ask\n"
    "[what a set can detect](bundled-tasks.md#what-the-set-can-detect) before the run."
)


def _counted(tasks: Sequence[Task]) -> str:
    every = [one for task in tasks for one in task.measured]
    if not every:
        return "No blind attempt at one of these tasks is recorded yet: how difficult they are is not known."
    return f"{measured_difficulty.at_first_words(every)} blind attempts at {len(tasks)} tasks solved the task at the first turn."


def _row(task: Task) -> tuple[str, ...]:
    measured: Sequence[BlindAttempt] = task.measured
    return (
        task.id,
        _FIELDS[task.domain],
        task.difficulty,
        measured_difficulty.at_first_words(measured),
        measured_difficulty.later_words(measured),
        ", ".join(dict.fromkeys(one.solver for one in measured)),
        ", ".join(sorted({one.date for one in measured})),
    )
