"""Causes: which failing interfaces another failing interface uses, so that feedback claims no fault where there may be none.

A verdict names failing interfaces, not the place of the fault: a function also fails its hidden tests if a function that it calls
is wrong, or if its hidden tests call one. Runs on the host, on the programs of candidate and reference, the names that each
case used (`Case.uses`) and the frames of the candidate's exceptions. Nothing is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from pytest_recode.feedback.import_failures import import_failure
from pytest_recode.feedback.symptoms import failed
from pytest_recode.program import source
from pytest_recode.program.dependencies import RepositoryProgram
from pytest_recode.program.fixes import Own, Versions, fix
from pytest_recode.program.interfaces import file_of, path_within
from pytest_recode.task import Task
from pytest_recode.verdict import Case, Verdict

_FRAME = re.compile(r"(?P<file>.+?):(?P<line>\d+) in ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Causes:
    """The other failing interfaces that may cause all failing cases of one interface.

    `sure`: its own code is the same program as the reference's, and that of the one in `names` is not, so the fault is there.
    `mutual`: one of `names` also uses this interface, so neither comes first. `called`: its own code uses all of `names`.
    """

    names: tuple[str, ...]
    sure: bool = False
    mutual: bool = False
    called: bool = False


def causes(task: Task, versions: Versions, verdict: Verdict) -> dict[str, Causes]:
    """Possible causes by failing interface. Interfaces with a failing case that uses no other failing interface have no entry."""
    failing = verdict.failing_interfaces
    if len(failing) < 2:
        return {}
    interfaces = list(dict.fromkeys([*(case.interface for case in verdict.cases), *task.interfaces]))
    code = _Interfaces(task.targets, versions, interfaces, failing)
    reached = {name: code.reached(name) for name in interfaces}
    used = {name: _used(name, verdict, code, reached) for name in failing}
    right = {name for name in failing if used[name] and code.same(name) and _alone(name, verdict, code)}
    by_name = {}
    for name in failing:
        wrong = tuple(other for other in used[name] if other not in right)
        if roots := _roots(wrong or used[name], used):
            by_name[name] = Causes(
                names=roots,
                sure=name in right and len(wrong) == 1 and not code.same(wrong[0]),
                mutual=any(name in used[root] for root in roots),
                called=_closure({name}, reached).issuperset(roots),
            )
    order = causes_first(failing, by_name)
    return {name: replace(cause, names=tuple(sorted(cause.names, key=order.index))) for name, cause in by_name.items()}


def cause_in_words(name: str, cause: Causes) -> str:
    """A sentence that explains why feedback claims no fault of the own code of `name`."""
    fail, that = ("fails", "that") if len(cause.names) == 1 else ("fail", "those")
    order = "the fault may be there and not here" if cause.mutual else f"correct {that} first"
    uses = f"`{name}` uses" if cause.called else f"`{name}` or its hidden tests may use"
    return f"{uses} {listed(cause.names)}, which {fail} too; {order}"


def after_causes(names: Sequence[str]) -> str:
    """When text about an interface applies that may fail because of `names` only."""
    return f"still fails after {listed(names)} {'is' if len(names) == 1 else 'are'} right"


def advice_in_words(names: Sequence[str], advice: str) -> str:
    """`advice` on an interface that may fail because of `names` only."""
    return f"If this {after_causes(names)}: {advice}" if advice else ""


def listed(names: Sequence[str]) -> str:
    """`a`, `b` and `c`: without their modules, unless two would then have one name."""
    short = [name.rpartition(".")[2] for name in names]
    *most, last = (f"`{name}`" for name in (short if len(set(short)) == len(short) else names))
    return f"{', '.join(most)} and {last}" if most else last


def causes_first(names: Sequence[str], causes_of: Mapping[str, Causes]) -> list[str]:
    """`names`, each after its causes among them; otherwise in their order."""
    ordered: list[str] = []

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in ordered or name in above:
            return
        for cause in causes_of[name].names if name in causes_of else ():
            if cause in names:
                add(cause, (*above, name))
        ordered.append(name)

    for name in names:
        add(name, ())
    return ordered


def _used(name: str, verdict: Verdict, code: _Interfaces, reached: Mapping[str, Set[str]]) -> tuple[str, ...]:
    """The failing interfaces that its failing cases use; () if one of these uses none."""
    union: set[str] = set()
    for case in failed(verdict, name):
        if import_failure(case, code.targets) is not None:  # it ended before it used anything
            return ()
        direct = case.uses if case.uses is not None else (name,)
        if name not in direct:  # it is used through code of the repository, which may use any interface
            direct = verdict.failing_interfaces
        start = {name, *(other for other in direct if other in reached), *code.in_frames(case)}
        others = _closure(start, reached) & set(verdict.failing_interfaces) - {name}
        if not others:
            return ()
        union |= others
    return tuple(other for other in reached if other in union)


def _roots(names: tuple[str, ...], used: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """`names` without those that may fail because of another of them. Those that use each other stay."""
    return tuple(each for each in names if all(each in used[other] for other in used[each] if other in names)) or names


def _alone(name: str, verdict: Verdict, code: _Interfaces) -> bool:
    """Whether the failing cases use only this and other failing interfaces, and code that equals the reference's."""
    known = {name, *verdict.failing_interfaces}
    for case in failed(verdict, name):
        if case.uses is None:
            return False
        direct = case.uses if name in case.uses else code.interfaces
        if not all(each in known or code.same(each) for each in direct):
            return False
    return True


def _closure(start: Set[str], reached: Mapping[str, Set[str]]) -> set[str]:
    closed = set(start)
    while (more := closed.union(*(reached[name] for name in closed))) != closed:
        closed = more
    return closed


def _is_used(file: str, path: Sequence[str], places: Set[tuple[str, str]], attributes: Set[str]) -> bool:
    """Whether code that uses these places uses the interface. Methods are reached through an object, by their names."""
    return (file, path[0]) in places and (len(path) == 1 or path[-1] in attributes or path[-1] == "__init__")


class _Interfaces:
    """The code of the interfaces, in the candidate's version and in the authors'."""

    def __init__(
        self, targets: Sequence[str], versions: Versions, interfaces: Sequence[str], failing: Sequence[str]
    ) -> None:
        self.targets, self.versions = targets, versions
        self.interfaces, self.failing = interfaces, failing
        self.homes: dict[str, tuple[str, tuple[str, ...]]] = {}
        for name in interfaces:
            file = file_of(name, targets)
            if file is not None and path_within(name, file):
                self.homes[name] = (file, path_within(name, file))

    def reached(self, interface: str) -> frozenset[str]:
        """The other failing interfaces that its code uses, directly or not."""
        if interface not in self.homes:
            return frozenset()
        file, path = self.homes[interface]
        program = self._without_other_methods(self.versions.candidate, interface)
        needs = program.needs([(file, path[0])], annotations=False)
        places = {(there, name) for there, need in needs.items() for name in need.names}
        attributes = set()
        for there, need in needs.items():
            for statement in (program.module(there).statements[at] for at in need.statements):
                attributes |= {each.attr for each in ast.walk(statement.node) if isinstance(each, ast.Attribute)}
                places.add(program.imported(there, statement) or (there, ""))  # also of a file that lacks the name
        return frozenset(
            name
            for name in self.failing
            if name in self.homes and name != interface and _is_used(*self.homes[name], places, attributes)
        )

    def same(self, interface: str) -> bool:
        """Whether its code, and the code of the repository that it uses except other failing interfaces, is the same program in both."""
        if interface not in self.homes:
            return False
        file, path = self.homes[interface]
        others: dict[str, set[str]] = {}
        for there, (name, *_) in (self.homes[other] for other in self.failing if other in self.homes):
            others.setdefault(there, set()).add(name)
        others.get(file, set()).discard(path[0])
        both = replace(
            self.versions,
            authors=self._without_other_methods(self.versions.authors, interface),
            candidate=self._without_other_methods(self.versions.candidate, interface),
        )
        comparison = fix(both, file, path, elsewhere=others, raising={})
        return comparison.own is Own.SAME and not comparison.differences

    def in_frames(self, case: Case) -> Iterator[str]:
        """The interfaces whose code is in the traceback of the candidate's exception."""
        for frame in case.exception.frames if case.exception is not None else ():
            if match := _FRAME.match(frame):
                for interface, (file, path) in self.homes.items():
                    node = source.definition(self.versions.candidate.module(file).parsed, path)
                    inside = node is not None and node.lineno <= int(match["line"]) <= (node.end_lineno or 0)
                    if inside and match["file"].endswith(file):
                        yield interface

    def _without_other_methods(self, program: RepositoryProgram, interface: str) -> RepositoryProgram:
        """For a method, the program without the other interfaces of its class: a method uses them only if it names them."""
        file, path = self.homes[interface]
        names = {
            at[-1] for there, at in self.homes.values() if there == file and at[:-1] == path[:-1] and at[-1] != path[-1]
        }
        return program.without(file, path[:-1], names) if len(path) > 1 else program
