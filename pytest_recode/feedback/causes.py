"""Causes: which failing interfaces another failing interface uses, so that feedback claims no fault where there may be none.

A verdict names failing interfaces, not the place of the fault: a function also fails its hidden tests if a function that it calls
is wrong, or if its hidden tests call one. Runs on the host, on the syntax trees of candidate and repository, the names that each
case used (`Case.uses`) and the frames of the candidate's exceptions. Nothing is executed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from typing import TypeVar

from pytest_recode.feedback.import_failures import import_failure
from pytest_recode.program import source
from pytest_recode.program.imports import imported_from, package_of
from pytest_recode.program.interfaces import file_of, module_of, path_within
from pytest_recode.program.source import Definition, FileVersion
from pytest_recode.task import Files, Parts, Task
from pytest_recode.verdict import Case, Outcome, Verdict

_FRAME = re.compile(r"(?P<file>.+?):(?P<line>\d+) in ")

_T = TypeVar("_T")

Place = tuple[str, str]
"""A file of the repository and a top-level name in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Causes:
    """The other failing interfaces that may cause all failing cases of one interface.

    `sure`: its own code is the same program as the reference's, so the fault is in one of `names`.
    `mutual`: one of `names` also uses this interface, so neither comes first.
    `tested`: those of `names` that its hidden tests use, and its own code does not.
    `unsure`: those of `names` that only code of the repository may use, which may use any interface.
    """

    names: tuple[str, ...]
    sure: bool = False
    mutual: bool = False
    tested: frozenset[str] = frozenset()
    unsure: frozenset[str] = frozenset()


def causes(task: Task, parts: Parts, candidate: Files, verdict: Verdict) -> dict[str, Causes]:
    """Possible causes by failing interface. Interfaces with a failing case that uses no other failing interface have no entry."""
    failing = verdict.failing_interfaces
    if len(failing) < 2 or parts.slot is not None:
        return {}
    interfaces = list(dict.fromkeys([*(case.interface for case in verdict.cases), *task.interfaces]))
    program = _Program(task.targets, {**parts.repo, **candidate}, interfaces, set(failing))
    reached = {name: program.reached(name) for name in interfaces}
    used = {name: _used(name, verdict, program, reached) for name in failing}
    theirs = _Program(task.targets, {**parts.repo, **parts.reference}, interfaces, set(failing))
    right = {
        name
        for name in failing
        if used[name] and program.same(theirs, name) and _alone(name, verdict, program, theirs, interfaces)
    }
    found = {}
    for name in failing:
        wrong = tuple(each for each in used[name] if each not in right)
        if names := _roots(wrong or used[name], used):
            known = _known(name, verdict, program, reached)
            found[name] = Causes(
                names=names,
                sure=name in right and len(wrong) == 1,
                mutual=any(name in used[each] for each in names),
                tested=frozenset(names) & known - _closure({name}, reached),
                unsure=frozenset(names) - known,
            )
    order = causes_first(failing, found)
    return {name: replace(each, names=tuple(sorted(each.names, key=order.index))) for name, each in found.items()}


def cause_in_words(name: str, found: Causes) -> str:
    """A sentence that explains why feedback claims no fault of the own code of `name`."""
    own = [each for each in found.names if each not in found.tested | found.unsure]
    tested = [each for each in found.names if each in found.tested]
    unsure = [each for each in found.names if each in found.unsure]
    use = [f"`{name}` uses {listed(own)}"] if own else []
    use += [f"the hidden tests of `{name}` use {listed(tested)}"] if tested else []
    use += [f"the hidden tests of `{name}` use code of the repository that may use {listed(unsure)}"] if unsure else []
    fail, that = ("fails", "that") if len(found.names) == 1 else ("fail", "those")
    order = "the fault may be there and not here" if found.mutual else f"correct {that} first"
    return f"{', and '.join(use)}, which {fail} too; {order}"


def after_causes(names: Sequence[str]) -> str:
    """When text about an interface applies that may fail because of `names` only."""
    return f"still fails after {listed(names)} {'is' if len(names) == 1 else 'are'} right"


def advice_in_words(names: Sequence[str], advice: str) -> str:
    """`advice` on an interface that may fail because of `names` only."""
    return f"If this {after_causes(names)}: {advice}" if advice else ""


def listed(names: Sequence[str]) -> str:
    """`a`, `b` and `c`: without their modules, unless two would then have one name.

    The audit of feedback takes sentences of long dotted names for passages of the tests in another alphabet.
    """
    short = [name.rpartition(".")[2] for name in names]
    *most, last = (f"`{name}`" for name in (short if len(set(short)) == len(short) else names))
    return f"{', '.join(most)} and {last}" if most else last


def causes_first(names: Sequence[str], found: Mapping[str, Causes]) -> list[str]:
    """`names`, each after its causes among them; otherwise in their order."""
    ordered: list[str] = []

    def add(name: str, above: tuple[str, ...]) -> None:
        if name in ordered or name in above:
            return
        for cause in found[name].names if name in found else ():
            if cause in names:
                add(cause, (*above, name))
        ordered.append(name)

    for name in names:
        add(name, ())
    return ordered


def _used(name: str, verdict: Verdict, program: _Program, reached: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """The failing interfaces that its failing cases use; () if one of these uses none."""
    union: set[str] = set()
    for case in _failed(name, verdict):
        if import_failure(case, program.targets) is not None:  # it ended before it used anything
            return ()
        direct = case.uses if case.uses is not None else (name,)
        if name not in direct:  # it is used through code of the repository, which may use any interface
            direct = verdict.failing_interfaces
        start = {name, *(each for each in direct if each in reached), *program.in_frames(case)}
        found = _closure(start, reached) & set(verdict.failing_interfaces) - {name}
        if not found:
            return ()
        union |= found
    return tuple(each for each in reached if each in union)


def _roots(names: tuple[str, ...], used: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """`names` without those that may fail because of another of them. Those that use each other stay."""
    return tuple(each for each in names if all(each in used[other] for other in used[each] if other in names)) or names


def _failed(name: str, verdict: Verdict) -> list[Case]:
    return [case for case in verdict.cases if case.interface == name and case.outcome is Outcome.FAILED]


def _known(name: str, verdict: Verdict, program: _Program, reached: Mapping[str, frozenset[str]]) -> set[str]:
    """The interfaces that its code or its failing cases are known to use, directly or through other interfaces."""
    cases = _failed(name, verdict)
    asked = {each for case in cases for each in (*(case.uses or ()), *program.in_frames(case)) if each in reached}
    return _closure({name} | asked, reached)


def _alone(name: str, verdict: Verdict, program: _Program, theirs: _Program, interfaces: Sequence[str]) -> bool:
    """Whether the failing cases use only this and other failing interfaces, and code that equals the reference's."""
    known = {name, *verdict.failing_interfaces}
    for case in _failed(name, verdict):
        if case.uses is None:
            return False
        direct = case.uses if name in case.uses else interfaces
        if not all(each in known or program.same(theirs, each) for each in direct):
            return False
    return True


def _closure(start: Set[str], reached: Mapping[str, frozenset[str]]) -> set[str]:
    pending, found = list(start), set[str]()
    while pending:
        name = pending.pop()
        if name not in found:
            found.add(name)
            pending += reached[name]
    return found


class _Lazy(dict[str, _T]):
    """Values that are created at first access, because few files of a repository matter."""

    def __init__(self, make: Callable[[str], _T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, key: str) -> _T:
        self[key] = self._make(key)
        return self[key]


class _Program:
    """The repository with one version of the targets. Uses of `failing` interfaces are recorded, but not followed."""

    def __init__(self, targets: Sequence[str], files: Files, interfaces: Sequence[str], failing: Set[str]) -> None:
        self.failing = failing
        self.targets = [target for target in targets if target.endswith(".py")]
        self.modules = {module_of(path): path for path in files if path.endswith(".py")}
        self.sources = _Lazy(lambda path: source.parse(files.get(path)))
        self.bindings = _Lazy(lambda path: _bindings(self.sources[path]))
        self.homes: dict[str, tuple[str, tuple[str, ...]]] = {}
        for name in interfaces:
            file = file_of(name, self.targets)
            if file is not None and path_within(name, file):
                self.homes[name] = (file, path_within(name, file))

    def reached(self, interface: str) -> frozenset[str]:
        """The other failing interfaces that its code uses, directly or through code of the repository."""
        return frozenset(self._walk(interface)[1])

    def same(self, other: _Program, interface: str) -> bool:
        """Whether its code, and the code of the repository that it uses except other failing interfaces, is the same program in both."""
        if interface not in self.homes or any(self.sources[target].tree is None for target in self.targets):
            return False
        own, theirs = (program._walk(interface)[0] for program in (self, other))
        return (
            bool(own)
            and own == theirs
            and all(_loose(self.sources[target]) == _loose(other.sources[target]) for target in self.targets)
        )

    def in_frames(self, case: Case) -> Iterator[str]:
        """The interfaces whose code is in the traceback of the candidate's exception."""
        for frame in case.exception.frames if case.exception is not None else ():
            if match := _FRAME.match(frame):
                for interface, (file, path) in self.homes.items():
                    node = source.definition(self.sources[file], path)
                    inside = node is not None and node.lineno <= int(match["line"]) <= (node.end_lineno or 0)
                    if inside and match["file"].endswith(file):
                        yield interface

    def _walk(self, interface: str) -> tuple[dict[Place, list[str]], set[str]]:
        """The code of `interface` (the statements of each top-level name, as text), and the interfaces that it uses."""
        if interface not in self.homes:
            return {}, set()
        file, path = self.homes[interface]
        start = source.definition(self.sources[file], path)
        if start is None:
            return {}, set()
        again = [each for each in self.bindings[file].get(path[0], []) if not isinstance(each, Definition)]
        code: dict[Place, list[str]] = {(file, ".".join(path)): [source.dumped(each) for each in (start, *again)]}
        named: set[str] = set()
        pending: list[tuple[str, ast.AST]] = [(file, start)]
        if len(path) > 1:
            pending += [(file, node) for node in self._rest_of_class(file, path)]
            code[file, path[0]] = [source.dumped(node) for _, node in pending[1:]]
        while pending:
            here, node = pending.pop()
            for place in self._places(here, node):
                hit = self._interfaces_at(place, node) - {interface}
                named |= hit
                if place not in code and not hit and place != (file, path[0]):
                    nodes = self.bindings[place[0]].get(place[1], [])
                    code[place] = [source.dumped(each) for each in nodes]
                    pending += [(place[0], each) for each in nodes]
        if len(path) > 1:  # methods are reached through an object
            attributes = {each.attr for each in ast.walk(start) if isinstance(each, ast.Attribute)}
            for name, (where, at) in self.homes.items():
                if name in self.failing and where == file and at[:-1] == path[:-1]:
                    named |= {name} if at[-1] in attributes or at[-1] == "__init__" else set()
        return code, named - {interface}

    def _rest_of_class(self, file: str, path: tuple[str, ...]) -> Iterator[ast.AST]:
        """The statements of a method's class, except the methods that are interfaces."""
        around = source.definition(self.sources[file], path[:-1])
        taken = {at[-1] for where, at in self.homes.values() if where == file and at[:-1] == path[:-1]}
        for node in around.body if isinstance(around, ast.ClassDef) else ():
            if not (isinstance(node, Definition) and node.name in taken):
                yield node

    def _places(self, file: str, node: ast.AST) -> Iterator[Place]:
        """The top-level names of the repository that `node` may refer to; imports are followed to their files."""
        words = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        words |= {each.attr for each in ast.walk(node) if isinstance(each, ast.Attribute)}
        for word in words & self.bindings[file].keys():
            yield file, word
        for each in ast.walk(node):
            if isinstance(each, ast.ImportFrom):
                origin = imported_from(each, package_of(file))
                for alias in each.names:
                    if origin in self.modules:
                        yield self.modules[origin], alias.name
                    if target := self.modules.get(f"{origin or ''}.{alias.name}".lstrip(".")):
                        yield from self._by_attribute(file, target)
            elif isinstance(each, ast.Import):
                for alias in each.names:
                    if alias.name in self.modules:
                        yield from self._by_attribute(file, self.modules[alias.name])

    def _by_attribute(self, file: str, target: str) -> Iterator[Place]:
        """The names of a target that a file may access if it imports the target as a module."""
        tree = self.sources[file].tree
        attributes = {each.attr for each in ast.walk(tree) if isinstance(each, ast.Attribute)} if tree else set()
        for name in attributes & self.bindings[target].keys():
            yield target, name

    def _interfaces_at(self, place: Place, user: ast.AST) -> set[str]:
        """The interfaces at or in a top-level name; for a class, only the methods that `user` names."""
        words = {each.attr for each in ast.walk(user) if isinstance(each, ast.Attribute)}
        return {
            name
            for name, (file, path) in self.homes.items()
            if name in self.failing
            and (file, path[0]) == place
            and (len(path) == 1 or path[-1] in words or path[-1] == "__init__")
        }


def _bindings(parsed: FileVersion) -> dict[str, list[ast.AST]]:
    found: dict[str, list[ast.AST]] = {}
    for node in parsed.tree.body if parsed.tree is not None else ():
        if isinstance(node, ast.ImportFrom | ast.Import):
            for alias in node.names:  # separately: a use of b in `from a import b, c` is not a use of c
                one: ast.stmt = ast.Import([alias])
                if isinstance(node, ast.ImportFrom):
                    one = ast.ImportFrom(node.module, [alias], node.level)
                found.setdefault(source.bound(one)[0], []).append(one)
        else:
            for name in source.bound(node):
                found.setdefault(name, []).append(node)
    return found


def _loose(parsed: FileVersion) -> list[str]:
    """Statements at the top level that bind no name but run on import."""
    body = parsed.tree.body if parsed.tree is not None else []
    is_text = [isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) for node in body]
    return [
        source.dumped(node) for node, text in zip(body, is_text, strict=True) if not text and not source.bound(node)
    ]
