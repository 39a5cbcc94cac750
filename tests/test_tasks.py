"""The bundled and the frontier tasks: complete, solved by their reference, and by nothing that only looks like an answer."""

from __future__ import annotations

import ast
import functools
import os
import re
import secrets
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.oracle.judge import KeptGraders, judge
from pytest_recode.program.interfaces import file_of, module_of, path_within
from pytest_recode.sandboxes import Sandbox, SandboxContext, bubblewrap, process
from pytest_recode.task import Files, Parts, Task
from pytest_recode.validation.brief import brief_findings
from pytest_recode.validation.checks import checks, proofs_of
from pytest_recode.validation.gradings import CommonGrader
from pytest_recode.validation.mutants import mutants
from pytest_recode.validation.validate import validate
from pytest_recode.verdict import Outcome, Verdict

ROOT = Path(__file__).parents[1]
FRONTIER = sorted((ROOT / "frontier").glob("*/task.yaml"))
MANIFESTS = [*sorted((ROOT / "tasks").glob("*/task.yaml")), *FRONTIER]
OWN = {"numpy", "scipy"} | sys.stdlib_module_names
CATEGORIES = {"T0", "T1", "T2", "T3", "T4"}

each_task = pytest.mark.parametrize("manifest", MANIFESTS, ids=lambda path: path.parent.name)


@functools.cache
def read(manifest: Path) -> tuple[Task, Parts]:
    (task,) = FORMAT.load(manifest)
    return task, task.load()


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    """With walls where this machine has them."""
    context = SandboxContext(run=f"tasks-{os.getpid()}", python=sys.executable)
    kind = process.KIND if bubblewrap.KIND.check(context) else bubblewrap.KIND
    made = kind.make(context)
    yield made
    made.close()


def account(verdict: Verdict) -> str:
    """What failed, for the person who reads the test's output."""
    failing = [case for case in verdict.cases if case.outcome is not Outcome.PASSED]
    return "\n".join([f"seed {verdict.seed}", *(f"{case.id}: {case.message}" for case in failing)])


def modules(files: Files) -> dict[str, ast.Module]:
    return {path: ast.parse(data) for path, data in files.items() if path.endswith(".py")}


def imported(tree: ast.Module, path: str) -> set[str]:
    """Dotted names of all that a file imports, relative imports resolved; `from a import b` gives `a` and `a.b`."""
    imports_of_file: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports_of_file |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = list(Path(path).parts)[: -node.level] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            imports_of_file |= {base, *(f"{base}.{alias.name}" for alias in node.names)}
    return imports_of_file


# what a task consists of


@pytest.mark.slow
def test_each_domain_has_tasks() -> None:
    domains = Counter(read(manifest)[0].domain for manifest in MANIFESTS)
    assert domains.keys() == {"ml", "nlp", "cv", "science"}
    assert min(domains.values()) >= 2


def test_frontier_tasks_are_marked_and_have_a_page_and_names_of_their_own() -> None:
    frontier = [read(manifest)[0] for manifest in FRONTIER]
    assert frontier
    assert all("frontier" in task.subsets for task in frontier)
    assert len({read(manifest)[0].id for manifest in MANIFESTS}) == len(MANIFESTS)
    for manifest in FRONTIER:
        assert len([path for path in read(manifest)[1].repo if path.endswith(".py")]) >= 60
        assert len(row_of(manifest)) == 6


def test_no_bundled_task_is_in_the_subset_frontier() -> None:
    assert not [
        manifest for manifest in MANIFESTS if manifest not in FRONTIER and "frontier" in read(manifest)[0].subsets
    ]


@each_task
def test_the_manifest_tells_everything(manifest: Path) -> None:
    task, _ = read(manifest)
    paper = task.paper
    assert task.id == manifest.parent.name
    assert all((task.title, task.tags, paper.title, paper.authors, paper.venue))
    assert paper.url.startswith("https://")
    assert paper.year is not None
    assert int(paper.date[:4]) <= paper.year  # a preprint may be older, and models may know it
    assert task.difficulty in {"easy", "medium", "hard"}
    assert task.license == "MIT"
    assert "numpy" in task.environment.preload
    assert task.environment.requirements is not None
    assert len(task.interfaces) >= 2


@each_task
def test_the_repository_is_one_and_the_targets_use_it(manifest: Path) -> None:
    task, parts = read(manifest)
    own = {module_of(path) for path in parts.repo if path.endswith(".py") and not path.endswith("__init__.py")}
    assert len(own) >= 3
    assert set(parts.reference) == set(task.targets)
    assert parts.paper is not None
    borrowed: set[str] = set()
    for path, tree in modules({**parts.repo, **parts.reference}).items():
        names = imported(tree, path)
        strangers = {name for name in names if name.split(".")[0] not in OWN | {each.split(".")[0] for each in own}}
        assert not strangers, path
        if path in task.targets:
            borrowed |= names & (own - {module_of(target) for target in task.targets})
    assert borrowed


@each_task
def test_the_hidden_tests_import_neither_side_and_come_in_both_styles(manifest: Path) -> None:
    _, parts = read(manifest)
    styles: set[bool] = set()
    for path, tree in modules(parts.tests).items():
        assert {name.split(".")[0] for name in imported(tree, path)} <= OWN | {"pytest", "pytest_recode"}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                styles.add("reference" in [argument.arg for argument in node.args.args])
    assert styles == {True, False}


@each_task
def test_the_instruction_names_every_interface(manifest: Path) -> None:
    task, parts = read(manifest)
    for interface in task.interfaces:
        assert interface.rsplit(".", 1)[-1] in parts.instruction


@each_task
def test_the_feedback_is_complete(manifest: Path) -> None:
    task, parts = read(manifest)
    assert parts.feedback is not None
    assert set(parts.feedback) == set(task.interfaces)
    for words in parts.feedback.values():
        assert words["category"] in CATEGORIES
        assert all(words[field].strip() for field in ("description", "analysis", "suggestion"))
        ast.parse(dedent(words["correction"]))


# what solves it


@pytest.mark.slow
@each_task
def test_the_reference_solves_it_whatever_the_seed(manifest: Path, sandbox: Sandbox) -> None:
    task, parts = read(manifest)
    for _ in range(3):
        verdict = judge(task, parts, parts.reference, sandbox)
        assert verdict.solved, account(verdict)
    assert len(verdict.cases) >= 6
    assert {case.interface for case in verdict.cases} == set(task.interfaces)


def laid_in(task: Task, parts: Parts, change: Callable[[str, list[ast.stmt], int], None]) -> Files:
    """The reference after `change(interface, body, position)` of each interface's definition, where it stands."""
    trees = {path: ast.parse(parts.reference[path]) for path in task.targets}
    for interface in task.interfaces:
        target = file_of(interface, task.targets)
        assert target is not None
        body = trees[target].body
        names = path_within(interface, target)
        assert names, f"{interface} is a module: name what is in it"
        for depth, name in enumerate(names):
            (position,) = (n for n, node in enumerate(body) if getattr(node, "name", None) == name)
            node = body[position]
            assert isinstance(node, ast.FunctionDef | ast.ClassDef)
            if depth < len(names) - 1:
                body = node.body
        change(interface, body, position)
    return {path: ast.unparse(ast.fix_missing_locations(tree)).encode() for path, tree in trees.items()}


@pytest.mark.slow
@each_task
def test_the_corrections_of_the_feedback_repair_every_interface(manifest: Path, sandbox: Sandbox) -> None:
    task, parts = read(manifest)
    assert parts.feedback is not None
    corrections = {name: ast.parse(dedent(words["correction"])).body for name, words in parts.feedback.items()}

    def correct(interface: str, body: list[ast.stmt], position: int) -> None:
        body[position : position + 1] = corrections[interface]

    verdict = judge(task, parts, laid_in(task, parts, correct), sandbox)
    assert verdict.solved, account(verdict)


# what does not


@pytest.mark.slow
@each_task
def test_the_untouched_repository_passes_no_case(manifest: Path, sandbox: Sandbox) -> None:
    task, parts = read(manifest)
    untouched = {path: parts.repo[path] for path in task.targets if path in parts.repo}
    verdict = judge(task, parts, untouched, sandbox)
    assert verdict.passed == 0
    assert set(verdict.failing_interfaces) == set(task.interfaces)


LAZY = '''
def _lazy(function):
    """What a candidate returns that knows shapes and types of all results, and when to raise, and nothing else."""
    import dataclasses
    import functools
    import numpy as np

    def blank(value, fill):
        if isinstance(value, np.ndarray):
            return np.full_like(value, 0 if value.dtype.kind in "biu" else fill)
        if isinstance(value, (bool, str, bytes)):
            return type(value)()
        if isinstance(value, (int, float, complex, np.generic)):
            return type(value)(0 if isinstance(value, (int, np.integer)) else fill)
        if dataclasses.is_dataclass(value):
            changed = {each.name: blank(getattr(value, each.name), fill) for each in dataclasses.fields(value)}
            return dataclasses.replace(value, **changed)
        if isinstance(value, (list, tuple)):
            return type(value)([blank(each, fill) for each in value])
        if isinstance(value, dict):
            return {key: blank(each, fill) for key, each in value.items()}
        return value

    def first(args, kwargs):
        own = "." in function.__qualname__  # a method: its first argument is itself
        return next(iter([*args[own:], *kwargs.values()]), None)

    @functools.wraps(function)
    def lazy(*args, **kwargs):
        RETURN

    return lazy
'''
WAYS = {
    "zeros of the right shape": "return blank(function(*args, **kwargs), 0.0)",
    "NaN of the right shape": "return blank(function(*args, **kwargs), float('nan'))",
    "zeros like the input": "return blank(first(args, kwargs), 0.0)",
    "its input": "return first(args, kwargs)",
    "None": "return None",
}


def lazy(task: Task, parts: Parts, way: str) -> Files:
    """Every function of every interface answers in one of the `WAYS`; all else is the reference."""

    def decorate(_: str, body: list[ast.stmt], position: int) -> None:
        node = body[position]
        inner = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inner:
            if isinstance(each, ast.FunctionDef) and each.name not in {"__init__", "__post_init__"}:
                each.decorator_list.append(ast.Name("_lazy", ast.Load()))

    files = {}
    for path, data in laid_in(task, parts, decorate).items():
        tree = ast.parse(data)
        (start, *_) = (
            n
            for n, node in enumerate(tree.body)
            if not isinstance(node, ast.Expr) and getattr(node, "module", "") != "__future__"
        )
        tree.body[start:start] = ast.parse(LAZY.replace("RETURN", WAYS[way])).body
        files[path] = ast.unparse(tree).encode()
    return files


@pytest.mark.slow
@each_task
def test_a_lazy_candidate_does_not_solve_it(manifest: Path, sandbox: Sandbox) -> None:
    """In one grader, which takes less than half of the time; it is believed because the reference passes in it."""
    task, parts = read(manifest)
    seed = secrets.randbits(48)
    with closing(KeptGraders()) as graders:
        assert judge(task, parts, parts.reference, sandbox, seed=seed, graders=graders).solved
        for way in WAYS:
            verdict = judge(task, parts, lazy(task, parts, way), sandbox, seed=seed, graders=graders)
            assert not verdict.solved, way
            assert set(verdict.failing_interfaces) == set(task.interfaces), way
            assert way != "None" or verdict.passed == 0


@pytest.mark.slow
def test_no_brief_has_code_of_the_reference_or_the_tests() -> None:
    found = {manifest.parent.name: brief_findings(*read(manifest)) for manifest in MANIFESTS}
    assert {task: each for task, each in found.items() if any(each)} == {}


# what its proofs say


SHARES = 3
"""Tests of a task share its wrong answers, so that workers can. Each grades the reference twice before its share."""


@pytest.mark.slow
@each_task
@pytest.mark.parametrize(("name", "share"), [("right", 0), *(("wrong", share) for share in range(SHARES))])
def test_right_answers_pass_and_wrong_ones_fail_in_a_case_about_their_requirement(
    manifest: Path, name: str, share: int, sandbox: Sandbox
) -> None:
    """Under one seed, so that this says the same every time; `--recode-validate-seeds` takes many secret ones."""
    task, parts = read(manifest)
    proofs = proofs_of(task, "right" if name == "right" else "wrong")
    assert proofs.right or len(proofs.wrong) >= 20
    assert {wrong.interface for wrong in proofs.wrong} == set(task.interfaces if name == "wrong" else ())
    [check] = [check for check in checks(task) if check.name == name]
    answers = check.answers(task, parts, proofs)
    assert len(answers) == len(proofs.right if name == "right" else proofs.wrong)
    taken = answers[share::SHARES] if name == "wrong" else answers
    graded: list[None] = []
    part = replace(check, answers=lambda *_: taken)
    with closing(CommonGrader(task, sandbox)) as common:
        assert validate(part, common, seed=20261123, graded=lambda: graded.append(None)).problem == ""
    assert len(graded) >= len(taken) > 0  # and the reference, before wrong ones


def row_of(manifest: Path) -> list[str]:
    """The cells of the task's row: hidden cases, right answers, wrong answers, mutants, of these detected, seeds."""
    name = "frontier-tasks.md" if manifest in FRONTIER else "bundled-tasks.md"
    page = (ROOT / "docs/reference" / name).read_text("utf-8")
    [row] = [line for line in page.splitlines() if re.match(rf"\| {manifest.parent.name} (\|.*){{7}}$", line)]
    return [cell.strip() for cell in row.split("|")][2:8]


@each_task
def test_the_page_of_the_bundled_tasks_counts_their_answers(manifest: Path) -> None:
    task, _ = read(manifest)
    right, wrong = proofs_of(task, "right").right, proofs_of(task, "wrong").wrong
    found = [len(list((manifest.parent / "proofs" / kind).iterdir())) for kind in ("right", "wrong")]
    assert [int(cell) for cell in row_of(manifest)[1:3]] == found == [len(right), len(wrong)]


@pytest.mark.slow
@each_task
def test_the_page_of_the_bundled_tasks_counts_their_mutants(manifest: Path) -> None:
    task, parts = read(manifest)
    known = {mutant.name for mutant in mutants(parts.reference, task.interfaces)} - set(
        proofs_of(task, "equivalent").equivalent
    )
    *_, tried, detected, _ = row_of(manifest)
    assert int(tried) == len(known)
    assert detected == "not measured" or 0.97 * len(known) <= int(detected) <= len(known)
