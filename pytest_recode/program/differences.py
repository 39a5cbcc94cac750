"""Compare the code that an interface needs in a candidate's module with the authors', and find the necessary changes."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum

from pytest_recode.program.dependencies import Needs, ProgramModule
from pytest_recode.program.source import Definition
from pytest_recode.program.statements import Statement, effective


class Reason(StrEnum):
    """The reason why a statement of the candidate must be removed."""

    AGAIN = "binds a needed name although it is bound elsewhere"
    HIDES = "binds a name of Python's that is needed"
    RUNS = "runs on import and may change what is needed"
    RAISES = "raises on import"


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """A statement of the candidate that must be removed. `name`: the name that it binds or touches; if it binds others, only this one must go."""

    reason: Reason
    name: str
    statement: Statement

    @property
    def lines(self) -> str:
        """ "line 8" or "lines 8 to 10"."""
        first, last = self.statement.line, self.statement.last_line
        return f"line {first}" if first == last else f"lines {first} to {last}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetDifference:
    """The difference of one target. `names`: needed names that differ; `shown`: the authors' statements of them, in file order.

    `late`: names that the candidate binds below a statement that uses them on import, each with the line of the first such statement.
    """

    file: str
    names: tuple[str, ...] = ()
    shown: tuple[Statement, ...] = ()
    removals: tuple[Removal, ...] = ()
    late: tuple[tuple[str, int], ...] = ()
    postponed: bool = (
        False  # whether `shown` has annotations that only `from __future__ import annotations` makes valid
    )

    def __bool__(self) -> bool:
        return bool(self.shown or self.removals or self.late)

    def code(self) -> str:
        """`shown` as source: separate definitions, blocks of simple statements, imports of the needed names that differ."""
        head = "from __future__ import annotations\n\n" if self.postponed and self.shown else ""
        return head + "\n\n\n".join(_groups(self.shown))


def difference(
    authors: ProgramModule, candidate: ProgramModule, needs: Needs, *, raising: Collection[int] = ()
) -> TargetDifference:
    """Compare the `needs` in the two modules.

    `raising`: lines of the candidate whose statements raised on import. One that lacks a name of the authors' module stays.
    """
    comparison = _TreeComparison(authors, candidate, needs)
    for name in sorted(needs.names - {"*"}):
        comparison.name(name)
    comparison.starred()
    comparison.loose(needs.names)
    comparison.hidden()
    for statement in candidate.statements:
        raised = any(statement.line <= line <= statement.last_line for line in raising)
        if raised and statement.program not in authors.programs and not missing(statement, authors, candidate):
            comparison.remove(Reason.RAISES, "", statement)
    return comparison.result()


def missing(statement: Statement, authors: ProgramModule, candidate: ProgramModule) -> set[str]:
    """Names that a statement of the candidate uses on import, that the authors' module binds and the candidate's does not."""
    if "*" in candidate.names:
        return set()
    used = statement.now if candidate.postponed else statement.now | statement.annotated
    return {name for name in (used & authors.names) - candidate.names if not hasattr(builtins, name)}


def remaining(authors: ProgramModule, candidate: ProgramModule) -> TargetDifference:
    """Statements that run on import of only one module: if all needed code is equal, only they can matter."""
    comparison = _TreeComparison(authors, candidate, Needs(statements=set(range(len(authors.statements)))))
    comparison.loose(None)
    return comparison.result()


class _TreeComparison:
    def __init__(self, authors: ProgramModule, candidate: ProgramModule, needs: Needs) -> None:
        self.authors, self.candidate, self.needs = authors, candidate, needs
        self.programs = authors.programs
        self.names: list[str] = []
        self.shown: set[int] = set()
        self.removals: dict[tuple[int, str], Removal] = {}
        self.late: list[tuple[str, int]] = []

    def result(self) -> TargetDifference:
        shown = tuple(self.authors.statements[index] for index in sorted(self.shown))
        annotated = any(isinstance(node, ast.arg) and node.annotation for one in shown for node in ast.walk(one.node))
        return TargetDifference(
            file=self.candidate.file,
            names=tuple(sorted(self.names, key=lambda name: list(self._positions(self.authors, name)[:1]))),
            shown=shown,
            removals=tuple(sorted(self.removals.values(), key=lambda node: node.statement.line)),
            late=tuple(self.late),
            postponed=annotated and self.authors.postponed and not self.candidate.postponed,
        )

    def name(self, name: str) -> None:
        """Compare one name: its final value, and its value for every needed statement that uses it on import."""
        if self._same(name):
            return
        places = self._positions(self.candidate, name)
        statements = self.candidate.statements
        more = [at for at in places if statements[at].program not in self.programs]
        if more and self._same(name, frozenset(more)):
            for at in more:
                self.remove(Reason.AGAIN, name, statements[at])
            return
        users = [at for _, at in self._users(name) if at < places[0]] if places else []
        if users:
            above = [at for at in range(places[0]) if name in statements[at].now]  # one place for every interface
            self.late.append((name, statements[min([*users, *above])].line))
        if users and not more and len(places) == 1:  # only its position is wrong
            return
        self.names.append(name)
        self.shown.update(self._positions(self.authors, name))
        for at in places[1:]:
            self.remove(Reason.AGAIN, name, statements[at])
        if places and statements[places[0]].binds != {name}:
            self.remove(Reason.AGAIN, name, statements[places[0]])

    def starred(self) -> None:
        """Compare star imports that provide needed names."""
        programs = self.candidate.programs
        for at in self._positions(self.authors, "*") if "*" in self.needs.names else ():
            if self.authors.statements[at].program not in programs:
                self.shown.add(at)

    def loose(self, names: Set[str] | None) -> None:
        """Compare the statements that run on import and touch `names`, or all of them."""
        programs = self.candidate.programs
        for index in self.needs.statements:
            statement = self.authors.statements[index]
            touched = names is None or (statement.now | statement.later) & names
            if (statement.loose or statement.registered) and statement.program not in programs and touched:
                self.shown.add(index)
        for statement in self.candidate.statements:
            registered = statement.registered & (names or frozenset()) - self._imported()
            touched = registered or (statement.now | statement.later) & (names or frozenset())
            runs = bool(registered) or statement.loose or (names is None and "*" in statement.binds)
            if statement.program not in self.programs and runs and (names is None or touched):
                self.remove(Reason.RUNS, min(touched, default=""), statement)

    def hidden(self) -> None:
        """Names that the authors' module does not bind, so that they are builtins."""
        for name in sorted(self.needs.unbound):
            for at in self._positions(self.candidate, name):
                self.remove(Reason.HIDES, name, self.candidate.statements[at])

    def remove(self, reason: Reason, name: str, statement: Statement) -> None:
        self.removals.setdefault((id(statement.whole), name), Removal(reason=reason, name=name, statement=statement))

    def _imported(self) -> set[str]:
        imports = (each for each in self.candidate.statements if isinstance(each.node, ast.Import | ast.ImportFrom))
        return {name for each in imports for name in each.binds}

    def _same(self, name: str, without: Set[int] = frozenset()) -> bool:
        right, own = self.authors.statements, self.candidate.statements
        if _programs(effective(right, name)) != _programs(effective(own, name, without)):
            return False
        return all(
            _programs(effective(right[:at], name)) == _programs(effective(own[:there], name, without))
            for at, there in self._users(name)
            if there not in without
        )

    def _users(self, name: str) -> Iterator[tuple[int, int]]:
        """The positions, in both modules, of needed statements that use `name` on import, if the candidate has them or binds their names."""
        for at in sorted(self.needs.statements):
            statement = self.authors.statements[at]
            if name in statement.now:
                there = [i for i, each in enumerate(self.candidate.statements) if each.program == statement.program]
                if not there:
                    there = [i for i, each in enumerate(self.candidate.statements) if each.binds & statement.binds]
                if there:
                    yield at, there[0]

    def _positions(self, module: ProgramModule, name: str) -> Sequence[int]:
        return module.positions.get(name, ())


def _programs(statements: Sequence[Statement]) -> tuple[str, ...]:
    return tuple(each.program for each in statements)


def _groups(statements: Sequence[Statement]) -> Iterator[str]:
    """Source of each definition, and of each run of simple statements between them."""
    run: list[str] = []
    imported: dict[int, list[Statement]] = {}
    for each in statements:
        imported.setdefault(id(each.whole), []).append(each)
    for same in imported.values():
        if isinstance(same[0].node, Definition):
            if run:
                yield "\n".join(run)
            run = []
            yield same[0].segment
        elif (text := _text(same)) not in run:
            run.append(text)
    if run:
        yield "\n".join(run)


def _text(names: Sequence[Statement]) -> str:
    """Source of a statement; of an import, only the given names."""
    whole = names[0].whole
    if not isinstance(whole, ast.Import | ast.ImportFrom) or len(whole.names) == len(names):
        return names[0].segment
    aliases = [each.node.names[0] for each in names if isinstance(each.node, ast.Import | ast.ImportFrom)]
    only: ast.stmt = ast.Import(aliases)
    if isinstance(whole, ast.ImportFrom):
        only = ast.ImportFrom(whole.module, aliases, whole.level)
    return ast.unparse(only)
