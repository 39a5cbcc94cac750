"""A correction of level L4 suffices: a reader who follows it has the reference's program for that interface, and it holds no more.

Each candidate is the reference with one thing wrong that an interface depends on: for the bundled tasks, and for a task whose two
targets depend on each other in every way that Python has.
"""

from __future__ import annotations

import ast
import builtins
import functools
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random

import pytest

from pytest_recode.episode import Researcher
from pytest_recode.feedback.levels import corrections
from pytest_recode.program.interfaces import file_of
from pytest_recode.researchers.researcher import researcher
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Case, Exc
from tests.feedback.reader import followed
from tests.feedback.scene import case, turn
from tests.feedback.test_bundled_tasks import TASKS, read

FINGERPRINTS = Path(__file__).with_name("fingerprints.py")

SHAPES = '''\
"""Areas."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import units
from .units import MOST, SCALE, STEP, convert as converted

if TYPE_CHECKING:
    from collections.abc import Sequence

try:
    from math import tau
except ImportError:
    tau = 2 * math.pi

Number = int | float
LOW, HIGH = 0.5, 2.0
FACTOR = LOW * 3
_TABLE = {"a": 1.0}
_TABLE["b"] = 2.0
_CALLS = 0


def twice(function):
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        return 2 * function(*args, **kwargs)

    return wrapper


def count(by=STEP):
    global _CALLS
    _CALLS += by
    return _CALLS


def _clipped(value: Number) -> Number:
    return min(max(value, LOW), HIGH)


@twice
def area(radius: Number, scale: Number = SCALE, *, factor: Number = FACTOR) -> float:
    return tau / 2 * _clipped(radius) ** 2 * scale * factor


def total(values: Sequence[Number], most: Number = MOST) -> float:
    return min(sum(converted(value) for value in values) + units.offset() + _CALLS, most)


class Base:
    LIMIT = HIGH

    def checked(self, value):
        return min(value, self.LIMIT)


@dataclass
class Square(Base):
    side: Number = LOW

    @property
    def corner(self):
        return self._half() * _TABLE["b"]

    def _half(self):
        return self.checked(self.side) / 2

    def grow(self, by=FACTOR):
        self.side += by
        return self.side


@functools.singledispatch
def describe(value):
    return str(value)


@describe.register
def _(value: int):
    return f"integer {value}"


def looked_up(name):
    return globals()[{"low": "LOW", "table": "_TABLE"}[name]]


describe.limit = HIGH
'''

UNITS = """\
import math

SCALE = 10.0
STEP, MOST = 1, 1e9
_ORIGIN = math.e


def _shift(value):
    return value - _ORIGIN


def convert(value):
    return _shift(value) * SCALE


def offset():
    return abs(_ORIGIN)


def unused():
    return None
"""

WAYS = ("area", "total", "Square", "Square.corner", "describe", "looked_up", "count")


def ways() -> tuple[Task, Parts]:
    """A task with an interface for each way to depend on something."""
    parts = Parts(
        instruction="Write geometry/shapes.py and geometry/units.py.",
        paper=None,
        repo={"geometry/__init__.py": b"", "geometry/shapes.py": b"", "geometry/units.py": b""},
        reference={"geometry/shapes.py": SHAPES.encode(), "geometry/units.py": UNITS.encode()},
        tests={},
    )
    interfaces = (*(f"geometry.shapes.{name}" for name in WAYS), "geometry.units.convert")
    targets = ("geometry/shapes.py", "geometry/units.py")
    found = Task(
        id="ways",
        title="Ways",
        format="directory",
        manifest=Path("task.yaml"),
        targets=targets,
        interfaces=interfaces,
        load=lambda: parts,
    )
    return found, parts


@functools.cache
def loaded(name: str) -> tuple[Task, Parts]:
    if name == "ways":
        return ways()
    return read(next(each for each in TASKS if each.parent.name == name))


SHARES = 12
"""Tests of a task share its candidates."""
TRIED = 3
"""Candidates of each test with several things wrong."""
ADDED = ("bound again", "deleted at", "defined again", "other defaults", "a method from", "at the end")
"""Changes of which nothing needs to be shown: lines that have to go, or to move."""
CASES = (("ways", False), *((each.parent.name, author) for each in TASKS for author in (False, True)))
"""Tasks, and whether their authors write the feedback."""


# -- wrong candidates ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """`names`: those that are wrong or missing in its files."""

    what: str
    files: dict[str, str]
    names: frozenset[str] = frozenset()


@functools.cache
def candidates_of(name: str) -> tuple[Candidate, ...]:
    """Those of a task's reference."""
    return tuple(wrong(texts(loaded(name)[1].reference)))


def wrong(files: Mapping[str, str]) -> Iterator[Candidate]:
    """Candidates with one thing wrong."""
    for file, text in files.items():
        body = ast.parse(text).body
        for at, node in enumerate(body):
            for what, changed in _changed(body, at):
                label = f"{file}:{getattr(node, 'name', None) or ast.unparse(node).splitlines()[0][:40]}: {what}"
                names = set() if what.startswith(ADDED) else _bound(node)
                yield Candidate(what=label, files={**files, file: _text(changed)}, names=frozenset(names))
        for name in sorted(_builtins(body)):
            shadow = ast.parse(f"def {name}(*arguments):\n    return None").body
            yield Candidate(what=f"{file}: hides {name}", files={**files, file: _text(_below_imports(body, shadow))})


def _changed(body: list[ast.stmt], at: int) -> Iterator[tuple[str, list[ast.stmt]]]:
    node = body[at]
    if isinstance(node, ast.Expr) or (isinstance(node, ast.ImportFrom) and node.module == "__future__"):
        return
    yield "missing", [*body[:at], *body[at + 1 :]]
    names = sorted(_bound(node))
    later = [ast.parse(f"{name} = None").body[0] for name in names]
    yield "other values", [*body[:at], *later, *body[at + 1 :]]
    yield "bound again at the end", [*body, *later]
    yield "deleted at the end", [*body, *(ast.parse(f"del {name}").body[0] for name in names)]
    if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
        yield "at the end", [*body[:at], *body[at + 1 :], node]
        yield "other values first", [*body[:at], *later, *body[at + 1 :], node]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        broken = ast.parse(ast.unparse(node)).body[0]
        broken.body = ast.parse("pass").body  # type: ignore[attr-defined]
        yield "without its body", [*body[:at], broken, *body[at + 1 :]]
        yield "defined again", [*body, broken]
        conditional = ast.parse("if True:\n    pass").body[0]
        conditional.body = [broken]  # type: ignore[attr-defined]
        yield "defined again in a condition", [*body, conditional]
    if isinstance(node, ast.FunctionDef):
        touched = ast.parse(f"{node.name}.__defaults__ = (7,) * 9").body
        yield "other defaults, set from outside", [*body, *touched]
        decorated = ast.parse(ast.unparse(node)).body[0]
        decorated.decorator_list = [ast.parse("staticmethod").body[0].value]  # type: ignore[attr-defined]
        yield "decorated", [*body[:at], decorated, *body[at + 1 :]]
    if isinstance(node, ast.ClassDef):
        yield "a method from outside", [*body, *ast.parse(f"{node.name}.__eq__ = None").body]


def _bound(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {each.asname or each.name for each in node.names}
    if isinstance(node, ast.If | ast.Try):
        return {name for each in node.body for name in _bound(each)}
    targets = node.targets if isinstance(node, ast.Assign) else []
    named = (each for target in targets for each in ast.walk(target))
    return {each.id for each in named if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _builtins(body: list[ast.stmt]) -> set[str]:
    """Functions of Python that are called."""
    called = (each.func for node in body for each in ast.walk(node) if isinstance(each, ast.Call))
    names = {each.id for each in called if isinstance(each, ast.Name)}
    return {name for name in names & set(dir(builtins)) if name.islower()} - {"globals"}


def _below_imports(body: list[ast.stmt], more: list[ast.stmt]) -> list[ast.stmt]:
    at = max((index for index, node in enumerate(body) if isinstance(node, ast.Import | ast.ImportFrom)), default=-1)
    return [*body[: at + 1], *more, *body[at + 1 :]]


def _text(body: list[ast.stmt]) -> str:
    return ast.unparse(ast.Module(body=body, type_ignores=[]))


# -- what they do --------------------------------------------------------------------------------------------------


Fingerprints = Callable[[Task, Parts, list[dict[str, str]]], list[list[str]]]


@pytest.fixture(scope="module")
def fingerprints() -> Iterator[Fingerprints]:
    """Of each candidate what each interface does, found by one process, which imports numpy and scipy once."""
    with subprocess.Popen(
        [sys.executable, str(FINGERPRINTS)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        given, answers = process.stdin, process.stdout

        def found(task: Task, parts: Parts, candidates: list[dict[str, str]]) -> list[list[str]]:
            repo = {path: data.decode() for path, data in parts.repo.items() if path.endswith(".py")}
            asked = [[{**repo, **each}, list(task.interfaces), list(task.targets)] for each in candidates]
            print(json.dumps(asked), file=given, flush=True)
            read: list[list[str]] = json.loads(answers.readline())
            return read

        yield found


def told(answer: Researcher, files: Mapping[str, str], failing: Mapping[str, str]) -> str:
    """The feedback on a candidate, whose failing interfaces do what their marks say."""
    cases = [failed(interface, mark) for interface, mark in failing.items()]
    played = replace(turn(None, *cases), targets={path: text.encode() for path, text in files.items()})
    return answer([played], 4).text


def failed(interface: str, mark: str) -> Case:
    kind, exception = "mismatch", None
    if "\n" in mark:
        name, message, *frames = mark.split("\n")
        kind, exception = "exception", Exc(type=name, message=message, frames=tuple(frames))
    return replace(case(interface, kind, exception=exception), uses=(interface,))


def texts(files: Files) -> dict[str, str]:
    return {path: data.decode() for path, data in files.items()}


@pytest.mark.slow
@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize(
    ("name", "author"), CASES, ids=[f"{name}-{'task' if author else 'derived'}" for name, author in CASES]
)
def test_who_follows_a_correction_has_the_references_program(
    fingerprints: Fingerprints, name: str, author: bool, share: int
) -> None:
    task, given = loaded(name)
    parts = given if author else replace(given, feedback=None)
    reference = texts(parts.reference)
    candidates = candidates_of(name)[share::SHARES]
    variants = [reference, *(by_author(task, parts, reference, interface) for interface in task.interfaces)]
    marks = fingerprints(task, parts, [*variants, *(each.files for each in candidates)])
    right = {name: {marks[0][at], marks[1 + at][at]} for at, name in enumerate(task.interfaces)}
    assert not any("\n" in mark for each in right.values() for mark in each)
    answer = researcher(task, parts)
    asked = [
        (each, interface, told(answer, each.files, {interface: mark}))
        for each, found in zip(candidates, marks[len(variants) :], strict=True)
        for interface, mark in zip(task.interfaces, found, strict=True)
        if mark not in right[interface]
    ]
    assert asked
    after = [followed(each.files, text) for each, _, text in asked]
    problems = []
    for (each, interface, text), files, found in zip(asked, after, fingerprints(task, parts, after), strict=True):
        mark = found[task.interfaces.index(interface)]
        if mark not in right[interface]:
            problems.append(f"{interface}, {each.what}: does not suffice: {mark}\n{text}")
        if more := shown(text) - each.names - (written(parts, interface) if author else set()):
            problems.append(f"{interface}, {each.what}: holds more than what is wrong: {more}\n{text}")
        again = told(answer, files, {interface: mark})
        if corrections(again) or "Nothing needs to be changed in the code of" not in again:
            problems.append(f"{interface}, {each.what}: is given again\n{text}\n{again}")
    assert not problems, "\n\n#### ".join(["", *problems])


@pytest.mark.mostly_slow
@pytest.mark.parametrize("seed", range(16))
@pytest.mark.parametrize("name", ["ways", "nerf-rendering", "sinkhorn", "sparse-gp"])
def test_who_follows_all_corrections_of_a_turn_has_all_of_the_reference(
    fingerprints: Fingerprints, name: str, seed: int
) -> None:
    """With several things wrong, all of which are reported. An import ends at the first of them, so there is a turn for each."""
    task, given = loaded(name)
    parts = replace(given, feedback=None)
    reference = texts(parts.reference)
    random = Random(seed)
    candidates = [reference]
    for _ in range(TRIED):
        one = random.choice(candidates_of(name))
        candidates.append(random.choice(list(wrong(one.files))).files)
    answer = researcher(task, parts)
    before = [""] * len(candidates)
    for _ in range(2):
        marks = fingerprints(task, parts, candidates)
        for at, (files, found) in enumerate(zip(candidates, marks, strict=True)):
            right = dict(zip(task.interfaces, marks[0], strict=True))
            failing = {
                interface: mark
                for interface, mark in zip(task.interfaces, found, strict=True)
                if mark != right[interface]
            }
            if failing:
                text = told(answer, files, failing)
                assert text != before[at]
                before[at], candidates[at] = text, followed(files, text)
    marks = fingerprints(task, parts, candidates)
    assert {at: before[at] for at, mark in enumerate(marks) if mark != marks[0]} == {}


def by_author(task: Task, parts: Parts, reference: Mapping[str, str], interface: str) -> dict[str, str]:
    """The reference with the correction of the task's author for an interface, which Python takes if it comes last."""
    code = (parts.feedback or {}).get(interface, {}).get("correction", "")
    file = file_of(interface, task.targets)
    assert file is not None
    return {**reference, file: f"{reference[file]}\n{code}"}


def written(parts: Parts, interface: str) -> set[str]:
    """The names that the author's correction of an interface binds."""
    body = ast.parse((parts.feedback or {}).get(interface, {}).get("correction", "")).body
    return {name for node in body for name in _bound(node)}


def shown(text: str) -> set[str]:
    """The names that the corrections in a feedback bind."""
    return {name for each in corrections(text) for node in ast.parse(each.code).body for name in _bound(node)}
