"""The promise that no level shows hidden tests, and none below L4 the reference, measured on every bundled task."""

from __future__ import annotations

import ast
import functools
from collections import Counter
from pathlib import Path

import pytest

from pytest_recode.episode import Move, Turn
from pytest_recode.feedback.audit import audited, secrets
from pytest_recode.feedback.leaks import leaked
from pytest_recode.feedback.levels import LEVELS, corrections
from pytest_recode.feedback.model_answers import WORDS, words_only
from pytest_recode.feedback.symptoms import PHRASES, SYMPTOMS
from pytest_recode.formats.directory import FORMAT
from pytest_recode.formats.directory.parts import FIELDS
from pytest_recode.program import source
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.researchers.researcher import derived, from_task
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Case, Exc, Outcome, Verdict
from tests.feedback.literals import leaked_literals

TASKS = sorted((Path(__file__).parents[2] / "tasks").glob("*/task.yaml"))
RAISED = Exc(type="ValueError", message="operands do not fit", frames=("target.py:3 in f: raise ValueError",))
CANDIDATES = ("the repository's", "empty", "the reference, inverted", "no Python")
RESEARCHERS = ("task", "derived")


@functools.cache
def read(manifest: Path) -> tuple[Task, Parts]:
    (task,) = FORMAT.load(manifest)
    return task, task.load()


def candidate(task: Task, parts: Parts, name: str) -> Files:
    """Wrong in one of the usual ways."""
    made = {
        "the repository's": {path: parts.repo[path] for path in task.targets if path in parts.repo},
        "empty": dict.fromkeys(task.targets, b""),
        "the reference, inverted": {
            path: data.replace(b" + ", b" - ").replace(b"axis=1", b"axis=0") for path, data in parts.reference.items()
        },
        "no Python": dict.fromkeys(task.targets, b"def f(:\n"),
    }
    return made[name]


def failed(task: Task, parts: Parts, files: Files) -> Turn:
    """A turn in which every interface fails in every way that there is."""
    secret = "\n".join(data.decode() for data in parts.tests.values())
    cases = [
        Case(
            id=f"{name}-{interface}-{kind}",
            interface=interface,
            outcome=Outcome.FAILED,
            kind=kind,
            message=secret,
            exception=RAISED if kind == "exception" else None,
        )
        for name in parts.tests
        for interface in task.interfaces
        for kind in SYMPTOMS
    ]
    return Turn(number=1, feedback=None, move=Move(), verdict=Verdict(cases=tuple(cases), seed=1), targets=files)


def text_of(files: Files) -> str:
    return "\n".join(data.decode(errors="replace") for data in files.values())


def test_there_are_eight_tasks() -> None:
    assert len(TASKS) >= 8


@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
def test_the_author_wrote_every_field_of_every_interface(manifest: Path) -> None:
    task, parts = read(manifest)
    assert parts.feedback is not None
    assert set(parts.feedback) == set(task.interfaces)
    for words in parts.feedback.values():
        assert set(words) == set(FIELDS)


@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
def test_no_piece_of_an_authors_words_is_left_out_as_code(manifest: Path) -> None:
    """A sentence with a gap, such as "a check (code left out) lets NaN pass", says nothing."""
    _, parts = read(manifest)
    for fields in (parts.feedback or {}).values():
        for name in WORDS:
            assert words_only(fields[name]).split() == fields[name].split()


@pytest.mark.slow
@pytest.mark.parametrize("who", RESEARCHERS)
@pytest.mark.parametrize("name", CANDIDATES)
@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
def test_no_level_shows_what_it_must_not(manifest: Path, name: str, who: str) -> None:
    task, parts = read(manifest)
    files = candidate(task, parts, name)
    brief = (parts.instruction, parts.paper or "", text_of(parts.repo), text_of(files), *task.interfaces)
    known = "\n".join((*brief, *PHRASES))  # our own phrases tell nothing of a task
    tests, reference = text_of(parts.tests), text_of(parts.reference)
    answer = derived(task, parts) if who == "derived" else from_task(task, parts, parts.feedback or {})
    found = {}
    for level in LEVELS:
        text = answer([failed(task, parts, files)], level).text
        allowed = f"{known}\n{reference}" if level == 4 else known
        repeated = leaked(text, tests, allowed)
        for source_of_tests in parts.tests.values():
            repeated += leaked_literals(text, source_of_tests.decode(), allowed)
        if level < 4:
            repeated += leaked(text, reference, known)
        if repeated:
            found[level] = repeated
    assert found == {}


@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
def test_the_measure_would_find_the_tests_and_the_reference(manifest: Path) -> None:
    """The control: what the test above asserts to be empty is not empty where there is a leak."""
    task, parts = read(manifest)
    known = "\n".join((parts.instruction, parts.paper or "", text_of(parts.repo), *task.interfaces))
    assert leaked(text_of(parts.tests), text_of(parts.tests), known)
    assert any(leaked_literals(data.decode(), data.decode(), known) for data in parts.tests.values())
    assert leaked(text_of(parts.reference), text_of(parts.reference), known)


@pytest.mark.parametrize("who", RESEARCHERS)
@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
@pytest.mark.mostly_slow
def test_l4_corrects_every_failing_interface(manifest: Path, who: str) -> None:
    """Each correction is Python for a target. One in the interface's own file defines it; others have what it uses of another target. No
    definition is printed twice."""
    task, parts = read(manifest)
    answer = derived(task, parts) if who == "derived" else from_task(task, parts, parts.feedback or {})
    text = answer([failed(task, parts, candidate(task, parts, "the repository's"))], 4).text
    given = corrections(text)
    own = [each for each in given if each.file == file_of(each.interface, task.targets)]
    assert [each.interface for each in own] == list(task.interfaces)
    printed = Counter(
        (each.file, name)
        for each in given
        for node in ast.parse(each.code).body
        if not isinstance(node, ast.Import | ast.ImportFrom)
        for name in source.bound(node)
    )
    assert [*printed.values()] == [1] * len(printed)
    for correction in given:
        assert correction.file in task.targets
        code = source.parse(correction.code.encode())
        assert not code.problem
        path = path_within(correction.interface, correction.file)
        assert correction not in own or not path or source.definition(code, path) is not None


@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
@pytest.mark.mostly_slow
def test_the_audit_cuts_nothing_of_what_the_rules_say(manifest: Path) -> None:
    """Each interface fails alone, and each but one, although the code is right: what is said then is names and advice."""
    task, parts = read(manifest)
    (right, *_) = sorted((manifest.parent / "proofs/right").iterdir())
    code = {path: (right / path).read_bytes() for path in task.targets}
    hidden = secrets(parts, task.oracle)
    for name in task.interfaces:
        for failing in ({name}, set(task.interfaces) - {name}):
            cases = tuple(
                Case(
                    id=each,
                    interface=each,
                    outcome=Outcome.FAILED if each in failing else Outcome.PASSED,
                    kind="mismatch" if each in failing else "",
                    uses=(),
                )
                for each in task.interfaces
            )
            if not failing:
                continue
            turn = Turn(number=1, feedback=None, move=Move(), verdict=Verdict(cases=cases, seed=1), targets=code)
            items = from_task(task, parts, parts.feedback or {})([turn], 4).items
            kept, _ = audited(items, hidden, code)
            for before, after in zip(items, kept, strict=True):
                for part in ("description", "analysis", "suggestion"):
                    assert getattr(after, part) == getattr(before, part)
