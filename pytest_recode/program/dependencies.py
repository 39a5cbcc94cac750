"""Needs of an interface: the top-level names and statements, in all files of a program, that its code uses, directly or indirectly.

Works on syntax trees; nothing is executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from types import MappingProxyType

from pytest_recode.program import source
from pytest_recode.program.imports import imported_from, package_of
from pytest_recode.program.interfaces import module_of
from pytest_recode.program.source import FileVersion
from pytest_recode.program.statements import Statement, postpones_annotations, statements_of
from pytest_recode.task import Files


@dataclass(frozen=True, kw_only=True)
class ProgramModule:
    """One version of a file. `parsed.tree` is None if it is missing or does not parse; it then has no statements."""

    file: str
    parsed: FileVersion
    statements: tuple[Statement, ...]
    postponed: bool  # whether its annotations are not evaluated

    @cached_property
    def positions(self) -> Mapping[str, Sequence[int]]:
        """The indices of the statements that bind each name."""
        indices: dict[str, list[int]] = {}
        for index, statement in enumerate(self.statements):
            for name in statement.binds:
                indices.setdefault(name, []).append(index)
        return indices

    @property
    def names(self) -> Set[str]:
        return self.positions.keys()

    @cached_property
    def programs(self) -> frozenset[str]:
        return frozenset(each.program for each in self.statements)

    @cached_property
    def dotted(self) -> Sequence[Sequence[Sequence[str]]]:
        """For each statement, the dotted names in it: ("a", "b", "c") for `a.b.c`."""
        chains = (map(_dotted, ast.walk(each.node)) for each in self.statements)
        return [tuple(dict.fromkeys(tuple(chain) for chain in found if chain)) for found in chains]


def read(file: str, data: bytes | None) -> ProgramModule:
    """Read a version of a file. The last small ones are kept, because each turn is compared with the same reference."""
    return _read_small(file, data) if data is None or len(data) <= source.SMALL else _read(file, data)


def _read(file: str, data: bytes | None) -> ProgramModule:
    parsed = source.parse(data)
    statements = statements_of(parsed, package_of(file))
    return ProgramModule(file=file, parsed=parsed, statements=statements, postponed=postpones_annotations(parsed))


_read_small = lru_cache(maxsize=32)(_read)


@dataclass(slots=True, kw_only=True)
class Needs:
    """Needs in one file: needed names, indices of needed statements, and needed names that the file does not bind."""

    names: set[str] = field(default_factory=set)
    statements: set[int] = field(default_factory=set)
    unbound: set[str] = field(default_factory=set)


class RepositoryProgram:
    """The files of a repository with one version of the targets. Files are parsed at first access."""

    def __init__(self, files: Files, replaced: Mapping[str, ProgramModule] | None = None) -> None:
        """`replaced`: modules that replace files."""
        self.files = files
        self._by_dotted = {module_of(path): path for path in files if path.endswith(".py")}
        self._modules: dict[str, ProgramModule] = dict(replaced or {})
        self._aliases: dict[str, dict[str, str]] = {}

    def module(self, file: str) -> ProgramModule:
        if file not in self._modules:
            self._modules[file] = read(file, self.files.get(file))
        return self._modules[file]

    def needs(
        self,
        roots: Sequence[tuple[str, str]],
        *,
        annotations: bool,
        elsewhere: Mapping[str, Set[str]] = MappingProxyType({}),
    ) -> dict[str, Needs]:
        """The needs of `roots` (pairs of a file and a top-level name), including themselves, by file, without the names in `elsewhere`.

        `annotations`: also count names that only unevaluated annotations use.
        """
        by_file: dict[str, Needs] = {}
        pending = list(roots)
        while pending:
            while pending:
                file, name = pending.pop()
                if name not in elsewhere.get(file, ()):
                    pending += self._need(by_file, file, name, annotations=annotations)
            pending = [
                place for each in list(by_file) for place in self._beside(by_file, each, annotations=annotations)
            ]
        return by_file

    def used(self, file: str, path: Sequence[str]) -> list[ast.stmt]:
        """The statements that the definition at `path` of `file` uses, directly or not, without its own; of its class, the other members."""
        own = source.definition(self.module(file).parsed, path)
        nodes: list[ast.stmt] = []
        for where, needs in self.needs([(file, path[0])], annotations=False).items():
            for index in sorted(needs.statements):
                node = self.module(where).statements[index].node
                if isinstance(node, ast.ClassDef) and node is not own and any(each is own for each in ast.walk(node)):
                    nodes += node.body
                else:
                    nodes.append(node)
        return [node for node in nodes if node is not own]

    def without(self, file: str, path: Sequence[str], names: Set[str]) -> RepositoryProgram:
        """The program without the methods `names` of the class at `path` of `file`."""
        tree = source.tree_of(self.module(file).parsed.text)
        around = source.definition(FileVersion(text="", tree=tree), path)
        if tree is None or not names or not isinstance(around, ast.ClassDef):
            return self
        around.body = [
            node for node in around.body if not (isinstance(node, source.Definition) and node.name in names)
        ] or [ast.Pass()]
        return RepositoryProgram(self.files, {file: read(file, ast.unparse(ast.fix_missing_locations(tree)).encode())})

    def origin(self, file: str, statement: Statement) -> tuple[str, str] | None:
        """The file of the program, and the name in it, that a `from` import of `file` takes."""
        place = self.imported(file, statement)
        return place if place is not None and place[1] in self.module(place[0]).names else None

    def imported(self, file: str, statement: Statement) -> tuple[str, str] | None:
        """The same, whether or not the other file binds the name."""
        node = statement.node
        if not isinstance(node, ast.ImportFrom):
            return None
        home = self._by_dotted.get(imported_from(node, package_of(file)) or "")
        return (home, node.names[0].name) if home is not None else None

    def _need(self, by_file: dict[str, Needs], file: str, name: str, *, annotations: bool) -> Iterator[tuple[str, str]]:
        needs = by_file.setdefault(file, Needs())
        if name in needs.names or name in needs.unbound:
            return
        module = self.module(file)
        if name not in module.names:
            origin = self._starred(module, name)
            if origin is not None:
                needs.names.add("*")
                yield origin, name
            else:
                needs.unbound.add(name)
            return
        needs.names.add(name)
        for index in module.positions[name]:
            if index not in needs.statements:
                needs.statements.add(index)
                yield from self._used(module, index, annotations=annotations)

    def _beside(self, by_file: dict[str, Needs], file: str, *, annotations: bool) -> Iterator[tuple[str, str]]:
        """Statements that change needed names: they run on import and touch them, register with them, or have functions that bind them."""
        module, needs = self.module(file), by_file[file]
        defined = {
            name
            for index in needs.statements
            for name in module.statements[index].binds
            if not isinstance(module.statements[index].node, ast.Import | ast.ImportFrom)
        }
        for index, statement in enumerate(module.statements):
            touches = statement.loose and (statement.now | statement.later) & needs.names
            if index not in needs.statements and (
                touches or statement.registered & defined & needs.names or statement.sets & needs.names
            ):
                needs.statements.add(index)
                if not statement.registered:
                    yield from ((file, name) for name in statement.binds)
                yield from self._used(module, index, annotations=annotations)

    def _used(self, module: ProgramModule, index: int, *, annotations: bool) -> Iterator[tuple[str, str]]:
        statement = module.statements[index]
        for name in statement.uses(annotations=annotations or not module.postponed):
            yield module.file, name
        if (found := self.origin(module.file, statement)) is not None:
            yield found
        for chain in module.dotted[index]:
            if (origin := self._imported(module).get(chain[0])) is not None:
                yield from self._attribute([*origin.split("."), *chain[1:]])

    def _attribute(self, chain: Sequence[str]) -> Iterator[tuple[str, str]]:
        """The file and name of the program that `pkg.mod.name` refers to."""
        for length in range(len(chain) - 1, 0, -1):
            file = self._by_dotted.get(".".join(chain[:length]))
            if file is not None:
                if chain[length] in self.module(file).names:
                    yield file, chain[length]
                return

    def _imported(self, module: ProgramModule) -> Mapping[str, str]:
        """Names that are modules of the program, with their dotted names from the root."""
        if module.file in self._aliases:
            return self._aliases[module.file]
        modules = self._aliases[module.file] = {}
        for statement in module.statements:
            node = statement.node
            if isinstance(node, ast.Import):
                alias = node.names[0]
                modules[alias.asname or alias.name.partition(".")[0]] = (
                    alias.name if alias.asname else alias.name.partition(".")[0]
                )
            elif isinstance(node, ast.ImportFrom):
                alias = node.names[0]
                dotted = f"{imported_from(node, package_of(module.file)) or ''}.{alias.name}".lstrip(".")
                if dotted in self._by_dotted:
                    modules[alias.asname or alias.name] = dotted
        return modules

    def _starred(self, module: ProgramModule, name: str) -> str | None:
        """The file of the program that a star import of `module` takes `name` from."""
        for index in module.positions.get("*", ()):
            node = module.statements[index].node
            if isinstance(node, ast.ImportFrom):
                file = self._by_dotted.get(imported_from(node, package_of(module.file)) or "")
                if file is not None and file != module.file and name in self.module(file).names:
                    return file
        return None


def _dotted(node: ast.AST) -> list[str]:
    """["a", "b", "c"] of `a.b.c`; [] of anything else."""
    chain: list[str] = []
    while isinstance(node, ast.Attribute):
        chain.insert(0, node.attr)
        node = node.value
    return [node.id, *chain] if isinstance(node, ast.Name) and chain else []
