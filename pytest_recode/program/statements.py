"""The top-level statements of a module, with the names that each binds and uses. Nothing is executed."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from pytest_recode.program import source
from pytest_recode.program.imports import imported_from
from pytest_recode.program.source import Definition, FileVersion

_DYNAMIC = frozenset({"globals", "vars", "getattr", "eval", "exec", "locals"})
"""Functions with which a statement may use names from its strings."""

_ANNOTATED = (ast.arg, ast.AnnAssign, ast.FunctionDef, ast.AsyncFunctionDef)
"""Statements and parameters that may have an annotation."""
_COMPREHENSIONS = frozenset({"listcomp", "setcomp", "dictcomp", "genexpr"})
MOST = 2_000
"""Top-level statements; a module with more counts as one that does not parse."""
_TOO_DEEP = "(too deep to compare)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A top-level statement, or one name of an import statement.

    `binds`: names of the module that it binds or deletes when the module is imported. `now`: names of the module, or builtins, that it uses
    then; `later`: names that its functions use when they are called; `annotated`: names that only its annotations use. `sets`: names that
    its functions bind when they are called. `registered`: names whose attributes decorate it. `program` is equal for statements that are
    the same program; for an import, it is the origin of the name.
    """

    node: ast.stmt
    whole: ast.stmt  # `node`, or the import statement that it is one name of
    segment: str  # source of `whole`
    program: str
    binds: frozenset[str] = frozenset()
    now: frozenset[str] = frozenset()
    later: frozenset[str] = frozenset()
    annotated: frozenset[str] = frozenset()
    sets: frozenset[str] = frozenset()
    registered: frozenset[str] = frozenset()

    @property
    def line(self) -> int:
        return _first_line(self.node)

    @property
    def last_line(self) -> int:
        return self.node.end_lineno or self.node.lineno

    @property
    def loose(self) -> bool:
        """Whether the statement binds no name, and runs code on import."""
        text = isinstance(self.node, ast.Expr) and isinstance(self.node.value, ast.Constant)
        return not (self.binds or text or isinstance(self.node, ast.Pass) or _only_as_program(self.node))

    def overwrites(self, name: str) -> bool:
        """Whether the statement replaces an earlier binding of `name` completely."""
        value = not isinstance(self.node, ast.AnnAssign) or self.node.value is not None
        plain = Definition | ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom | ast.Delete
        return isinstance(self.node, plain) and value and name not in self.now

    def uses(self, *, annotations: bool) -> frozenset[str]:
        return self.now | self.later | (self.annotated if annotations else frozenset())


def statements_of(parsed: FileVersion, package: str = "") -> tuple[Statement, ...]:
    """The statements of a module in `package`; () if it does not parse."""
    body = parsed.tree.body if parsed.tree is not None and len(parsed.tree.body) <= MOST else []
    lines = parsed.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    statements: list[Statement] = []
    for at, node in enumerate(body):
        beside = body[max(at - 1, 0) : at] + body[at + 1 : at + 2]
        segment = _segment(lines, node, beside)
        if isinstance(node, ast.Import | ast.ImportFrom):
            statements += _imports(node, segment, package)
        else:
            statements.append(_statement(node, segment))
    return tuple(statements)


def postpones_annotations(parsed: FileVersion) -> bool:
    """Whether the module has `from __future__ import annotations`."""
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in (parsed.tree.body if parsed.tree is not None else ())
    )


def effective(statements: Sequence[Statement], name: str, without: Set[int] = frozenset()) -> tuple[Statement, ...]:
    """The statements that determine the value of `name` after all of `statements`; those at the indices `without` count as removed."""
    in_effect: list[Statement] = []
    for index, statement in enumerate(statements):
        if name in statement.binds and index not in without:
            in_effect = [statement] if statement.overwrites(name) else [*in_effect, statement]
    return tuple(in_effect)


def _statement(node: ast.stmt, segment: str) -> Statement:
    evaluated = _Names()
    everything = _Names()
    try:
        text = ast.unparse(ast.Module(body=[node], type_ignores=[]))
        evaluated.walk(symtable.symtable("from __future__ import annotations\n" + text, "module", "exec"), now=True)
        if any(isinstance(inner, _ANNOTATED) for inner in ast.walk(node)):
            everything.walk(symtable.symtable(text, "module", "exec"), now=True)
        evaluated.binds.discard("annotations")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        for inner in ast.walk(node):
            if isinstance(inner, ast.Name):
                evaluated.now.add(inner.id)
        evaluated.binds.update(source.bound(node))
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        evaluated.now.add(node.target.id)
    if (evaluated.now | evaluated.later) & _DYNAMIC:
        texts = (inner.value for inner in ast.walk(node) if isinstance(inner, ast.Constant))
        evaluated.later.update(inner for inner in texts if isinstance(inner, str) and inner.isidentifier())
    used = evaluated.now | evaluated.later
    return Statement(
        node=node,
        whole=node,
        segment=segment,
        program=source.dumped(node) or _TOO_DEEP,
        binds=frozenset(evaluated.binds),
        now=frozenset(evaluated.now),
        later=frozenset(evaluated.later),
        annotated=frozenset(everything.now | everything.later) - used,
        sets=frozenset(evaluated.sets),
        registered=frozenset(_registered(node)),
    )


class _Names:
    """The names of the module in the symbol tables of a statement."""

    def __init__(self) -> None:
        self.binds: set[str] = set()
        self.now: set[str] = set()
        self.later: set[str] = set()
        self.sets: set[str] = set()

    def walk(self, table: symtable.SymbolTable, *, now: bool) -> None:
        kind = str(getattr(table.get_type(), "value", table.get_type()))
        for symbol in table.get_symbols():
            name = symbol.get_name()
            bound = symbol.is_assigned() or symbol.is_imported()
            if kind == "module":
                if symbol.is_referenced():
                    self.now.add(name)
                if bound:
                    self.binds.add(name)
            elif symbol.is_global() or (kind == "class" and bound and symbol.is_referenced()):
                if symbol.is_referenced():
                    (self.now if now else self.later).add(name)
                if bound and symbol.is_declared_global():
                    (self.binds if now else self.sets).add(name)
        for child in table.get_children():
            inner = str(getattr(child.get_type(), "value", child.get_type()))
            self.walk(child, now=now and (inner == "class" or child.get_name() in _COMPREHENSIONS))


def _imports(node: ast.Import | ast.ImportFrom, segment: str, package: str) -> Iterator[Statement]:
    """A Statement for each imported name: a use of b in `from a import b, c` is not a use of c. A star import binds "*"."""
    origin = imported_from(node, package) if isinstance(node, ast.ImportFrom) else ""
    if origin == "__future__":
        return
    for alias in node.names:
        one: ast.stmt = ast.Import([alias])
        if isinstance(node, ast.ImportFrom):
            one = ast.ImportFrom(node.module, [alias], node.level)
            place = f"{origin}:{alias.name}"
        else:
            place = (
                alias.name if alias.asname else f"{alias.name} "
            )  # `import a.b` binds a, `import a.b as a` binds a.b
        ast.copy_location(one, node)
        name = alias.asname or (alias.name if origin else alias.name.partition(".")[0])
        yield Statement(node=one, whole=node, segment=segment, program=f"import {place}", binds=frozenset({name}))


def _registered(node: ast.stmt) -> Iterator[str]:
    """`f` of `@f.register` and `@f.register(int)`, because decorating changes `f`."""
    for each in node.decorator_list if isinstance(node, Definition) else ():
        root: ast.expr = each.func if isinstance(each, ast.Call) else each
        dotted = isinstance(root, ast.Attribute)
        while isinstance(root, ast.Attribute):
            root = root.value
        if dotted and isinstance(root, ast.Name):
            yield root.id


def _only_as_program(node: ast.stmt) -> bool:
    """Whether `node` is `if __name__ == "__main__":`, which an import does not run."""
    test = node.test if isinstance(node, ast.If) else None
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _first_line(node: ast.stmt) -> int:
    decorators = node.decorator_list if isinstance(node, Definition) else []
    return min([node.lineno, *(each.lineno for each in decorators)])


def _segment(lines: Sequence[str], node: ast.stmt, beside: Sequence[ast.stmt]) -> str:
    """The lines of `node` with their comments, or without comments if another statement shares a line."""
    start = _first_line(node)
    end = node.end_lineno or node.lineno
    if any(each.lineno <= end and start <= (each.end_lineno or each.lineno) for each in beside):
        try:
            return ast.unparse(node)
        except RecursionError:
            pass
    return "\n".join(lines[start - 1 : end])
