"""Static analysis of a candidate's source for what a solution in the judge's process does not need.

Runs in the shared judge, in one process with the candidate. Called by `judge.py` before candidate code runs. Must not
run the code that it parses, and must not report what the reference has as often.

A finding does not prove intent. `audit_monitor.py` detects at run time what a source hides.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Optional

from . import deny_rules, executed_findings
from . import static_assignment_checks as assignments
from . import static_class_checks as classes
from .static_names import SourceNames

_PROC = ("/proc/self", "/proc/thread-self", "/dev/fd", "/dev/mem", "/dev/shm/..")
_NAMED = {
    name for name in deny_rules.ATTRIBUTES if name.startswith(("_", "f_", "tb_")) and name not in deny_rules.OVERRIDES
}


class Analysis(NamedTuple):
    """The result for one candidate file. `tree` is None where it cannot be parsed; `known` counts the reference's findings."""

    tree: Any
    findings: list[executed_findings.Finding]
    known: Counter[str]


def analyze(candidate: bytes, reference: Optional[bytes], hidden: Iterable[str]) -> Analysis:
    """Find everything in `candidate` that a solution does not need. A source that cannot be parsed cannot run.

    `hidden`: dotted names of the modules of tests and reference.
    """
    names = frozenset(hidden)
    tree, findings = _findings(candidate, names)
    known = findings if candidate == reference else _findings(reference or b"", names)[1]
    return Analysis(tree, findings, Counter(found.what for found in known))


def unknown_lines(findings: Iterable[executed_findings.Finding], known: Counter[str]) -> list[str]:
    """One line for each finding that occurs more often than the reference has it."""
    left, lines = Counter(known), []
    for found in findings:
        if left[found.what]:
            left[found.what] -= 1
        else:
            lines.append(f"line {found.line}: {found.what}")
    return lines


def flags(candidate: bytes, reference: Optional[bytes], hidden: Iterable[str]) -> list[str]:
    """One line for each thing that `candidate` has more often than `reference`, whether or not it is ever run."""
    _, findings, known = analyze(candidate, reference, hidden)
    return unknown_lines(findings, known)


def _findings(source: bytes, hidden: frozenset[str]) -> tuple[Any, list[executed_findings.Finding]]:
    try:
        tree = _parsed(source)
    except (SyntaxError, ValueError):
        return None, []
    except (RecursionError, MemoryError):
        return None, [
            executed_findings.Finding(f"the source is nested too deeply to be checked, and {deny_rules.CODE}", 0, ())
        ]
    nodes = list(ast.walk(tree))
    names = SourceNames.of(nodes, hidden)
    found: dict[tuple[str, int], list[ast.AST]] = {}
    for what, line, node in _walk(nodes, names):
        found.setdefault((what, line), []).append(node)
    order = sorted(found, key=lambda each: each[1])
    return tree, [executed_findings.Finding(what, line, tuple(found[what, line])) for what, line in order]


def _parsed(source: bytes) -> ast.AST:
    """Parse with a higher recursion limit, so that every source that can be compiled can be parsed."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(4 * limit)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about strings in the candidate's source
            return ast.parse(source)
    finally:
        sys.setrecursionlimit(limit)


def _walk(nodes: Sequence[ast.AST], names: SourceNames) -> Iterator[tuple[str, int, ast.AST]]:
    """The text of each finding, its line, and the node whose execution makes it count."""
    is_holder = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
    members = {id(target) for node in nodes if isinstance(node, ast.ClassDef) for target in _overriding(node)}
    for node in nodes:
        line = getattr(node, "lineno", 0)
        for what in _of(node, names, id(node) in is_holder) if id(node) not in members else ():
            yield what, line, node
        for what, method in classes.class_findings(node) if isinstance(node, ast.ClassDef) else ():
            yield what, line, method


def _overriding(node: ast.ClassDef) -> Iterator[ast.AST]:
    """Overrides that a class body binds by assignment; `static_class_checks.py` checks them with their values."""
    for member in node.body:
        for target in member.targets if isinstance(member, ast.Assign) else ():
            if isinstance(target, ast.Name) and target.id in deny_rules.OVERRIDES:
                yield target


def _of(node: ast.AST, names: SourceNames, is_holder: bool) -> Iterator[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _imports(node, names.hidden)
    elif isinstance(node, ast.Attribute):
        yield from _attribute(node, names, is_holder)
    elif isinstance(node, ast.Name):
        yield from _name(node, names, is_holder)
    elif isinstance(node, ast.Call):
        yield from _call(node, names)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from named(node.value, names.hidden)
    elif isinstance(node, ast.BinOp):
        yield from named(_folded(node) or "", names.hidden)
    elif type(node).__name__ == "MatchClass":
        for name in node.kwd_attrs:  # type: ignore[attr-defined]  # from Python 3.10 on
            if name in deny_rules.ATTRIBUTES:
                yield f"{name} {deny_rules.ATTRIBUTES[name]}"
    if isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete, ast.For, ast.withitem)):
        yield from assignments.assignment_findings(node)
        yield from assignments.replacement_findings(node, names)


def named(value: str, hidden: frozenset[str]) -> Iterator[str]:
    """Findings for the value of a string constant."""
    if (value in hidden and not value.isalpha()) or value in _NAMED:  # an ordinary word may mean anything
        yield f"{value!r} names an object of the judge"
    elif value.startswith(_PROC):
        yield f"{value!r} reaches the judge's files"


_MAX_TERMS = 200
"""Terms of a sum of strings that is evaluated; no name has more."""


def _folded(node: ast.AST) -> Optional[str]:
    """The value of a sum of string constants; None for anything else."""
    parts: list[str] = []
    left = [node]
    while left:
        each = left.pop()
        if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Add) and len(left) + len(parts) < _MAX_TERMS:
            left += [each.left, each.right]
        elif isinstance(each, ast.Constant) and isinstance(each.value, str):
            parts.append(each.value)
        else:
            return None
    return "".join(reversed(parts))


def _imports(node: Any, hidden: frozenset[str]) -> Iterator[str]:
    base = getattr(node, "module", None) or ""
    names = [alias.name for alias in node.names]
    full = names if isinstance(node, ast.Import) else [base, *(f"{base}.{name}".strip(".") for name in names)]
    for name in full:
        top = name.partition(".")[0]
        if name in hidden:
            yield f"import of {name}, {deny_rules.HIDDEN_MODULE}"
        elif getattr(node, "level", 0):
            continue
        elif top in deny_rules.IMPORTS or top.startswith("_recode"):
            yield f"import of {top} {deny_rules.IMPORTS.get(top, deny_rules.CHANGES)}"
        elif "testing" in name.split(".") and top in deny_rules.JUDGING_MODULES:
            yield f"import of {name} {deny_rules.JUDGE}"
    for name in names if isinstance(node, ast.ImportFrom) else ():
        if (base, name) in deny_rules.OF_MODULE:
            yield f"{base}.{name} {deny_rules.OF_MODULE[base, name]}"
        elif name in deny_rules.ATTRIBUTES:
            yield f"{name} {deny_rules.ATTRIBUTES[name]}"


def _name(node: ast.Name, names: SourceNames, is_holder: bool) -> Iterator[str]:
    if node.id in deny_rules.ATTRIBUTES and node.id.startswith("__") and not _is_read_override(node, node.id):
        yield f"{node.id} {deny_rules.ATTRIBUTES[node.id]}"
    elif node.id in ("__import__", "__loader__", "__spec__"):
        yield f"{node.id} {deny_rules.CALLS['__import__']}"
    elif node.id in ("exec", "eval") and node.id not in names.bound:
        yield f"{node.id} {deny_rules.CALLS[node.id]}"
    elif node.id not in names.bound and isinstance(node.ctx, ast.Load) and _of_stars(node.id, names):
        yield _of_stars(node.id, names)
    elif _module(node.id, names) in deny_rules.HELD and node.id not in names.bound and not is_holder:
        yield f"the module {node.id} used as a value {deny_rules.LOOKS}"


def _is_read_override(node: Any, name: str) -> bool:
    """Whether it only reads an override: `super().__array_ufunc__(…)`."""
    return name in deny_rules.OVERRIDES and isinstance(node.ctx, ast.Load)


def _of_stars(name: str, names: SourceNames) -> str:
    for module in names.stars:
        if (module, name) in deny_rules.OF_MODULE:
            return f"{module}.{name} {deny_rules.OF_MODULE[module, name]}"
    named = name in deny_rules.ATTRIBUTES and any(module in deny_rules.HELD for module in names.stars)
    return f"{name} {deny_rules.ATTRIBUTES[name]}" if named else ""


def _module(name: str, names: SourceNames) -> str:
    """The module that a name refers to, also if it was imported by way of another module: `from logging import sys`."""
    full = names.modules.get(name, "")
    last = full.rpartition(".")[2]
    return last if last in deny_rules.HELD and full != "scipy.signal" else full


def _attribute(node: ast.Attribute, names: SourceNames, is_holder: bool) -> Iterator[str]:
    if node.attr in deny_rules.ATTRIBUTES and not _is_read_override(node, node.attr):
        yield f"{node.attr} {deny_rules.ATTRIBUTES[node.attr]}"
    holder = _holder(node.value, names)
    if (holder, node.attr) in deny_rules.OF_MODULE and id(node) not in names.own_module:
        yield f"{holder}.{node.attr} {deny_rules.OF_MODULE[holder, node.attr]}"
    if holder == "gc" and node.attr not in ("collect", "enable", "disable", "isenabled", *deny_rules.ATTRIBUTES):
        yield f"gc.{node.attr} {deny_rules.MEMORY}"
    of_a_module = isinstance(node.value, ast.Name) and node.value.id in names.modules
    if node.attr in deny_rules.HELD - {"signal"} and of_a_module and not is_holder:
        yield f"the module {assignments.source_of(node)} used as a value {deny_rules.LOOKS}"
    if node.attr in ("__import__", "__loader__", "__spec__"):
        yield f"{node.attr} {deny_rules.CALLS['__import__']}"
    if node.attr == "__self__" and isinstance(node.value, (ast.Name, ast.Call, ast.Subscript)):
        yield f"__self__ {deny_rules.LOOKS}"
    of = node.value.id if isinstance(node.value, ast.Name) else ""
    if (of, node.attr) in (("type", "__getattribute__"), ("type", "__dict__"), ("object", "__dict__")):
        yield f"{of}.{node.attr} {deny_rules.LOOKS}"
    if node.attr == "__dict__" and _bypasses_guard(node.value):
        yield f"{assignments.source_of(node)} {deny_rules.LOOKS}"
    if node.attr in deny_rules.POINTERS and isinstance(node.ctx, ast.Store):
        yield f"{node.attr} {deny_rules.BELOW}"
    if node.attr in ("__setattr__", "__delattr__") and isinstance(node.value, ast.Name) and node.value.id == "type":
        yield f"type.{node.attr} {deny_rules.CHANGES}"


def _bypasses_guard(node: ast.AST) -> bool:
    """Whether its `__dict__` bypasses a guarded module class: `types.ModuleType`, `super(type(np), np)`."""
    made = isinstance(node, ast.Call) and classes.last(node.func) == "super" and bool(node.args)
    return made or classes.last(node) == "ModuleType"


def _holder(node: ast.AST, names: SourceNames) -> str:
    """The module that an expression refers to, such as `logging.sys`; "" where it is none."""
    if isinstance(node, ast.Name):
        return _module(node.id, names)
    if isinstance(node, ast.Attribute) and node.attr in deny_rules.HELD:
        return node.attr
    return ""


def _call(node: ast.Call, names: SourceNames) -> Iterator[str]:
    name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
    if names.modules.get(name, "").startswith("operator."):  # by another name
        name = names.modules[name].partition(".")[2]
    bare = isinstance(node.func, ast.Name)
    if bare and name == "compile" and name not in names.bound and name not in names.modules:
        yield f"compile() {deny_rules.CODE}"
    if bare and name in ("setattr", "delattr") and node.args and assignments.is_judging(node.args[0]):
        yield f"{name}() on {assignments.source_of(node.args[0])} {deny_rules.CHANGES}"
    if bare and name == "setattr" and len(node.args) > 1 and _constant_in(node.args[1], deny_rules.COMPARISON_METHODS):
        yield f"setattr() of {assignments.source_of(node.args[1])} {deny_rules.CHANGES}"
    if name in deny_rules.KERNELS and node.args:
        namespace = (_folded(node.args[0]) or "").partition("::")[0]
        if namespace in deny_rules.NAMESPACES:
            yield f"{name}() of {namespace} {deny_rules.CHANGES}"
    if name in ("attrgetter", "methodcaller"):
        for each in node.args if name == "attrgetter" else node.args[:1]:
            parts = (_folded(each) or "").split(".")
            if not isinstance(each, ast.Constant) or any(part in deny_rules.ATTRIBUTES for part in parts):
                yield f"{name}({assignments.source_of(each)}) {deny_rules.LOOKS}"
    if (
        bare
        and name == "open"
        and node.args
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, int)
    ):
        yield f"open() of a descriptor {deny_rules.FILES}"
    if (
        isinstance(node.func, ast.Attribute)
        and name in ("update", "setdefault", "pop", "__setitem__")
        and assignments.is_judging_namespace(node.func.value)
    ):
        yield f"{assignments.source_of(node.func)}() {deny_rules.CHANGES}"
    func = node.func
    bypass = isinstance(func, ast.Attribute) and name == "__getattribute__" and classes.last(func.value) == "object"
    if bypass and not (node.args and classes.last(node.args[0]) in ("self", "cls")):
        yield f"object.__getattribute__() of another object {deny_rules.LOOKS}"
    attributes = node.args[2].keys if len(node.args) == 3 and isinstance(node.args[2], ast.Dict) else []
    if any(
        _constant_in(each, deny_rules.COMPARISON_METHODS | deny_rules.OVERRIDES | deny_rules.POINTERS)
        for each in attributes
        if each is not None
    ):
        yield "a class created by a call defines its own comparison"


def _constant_in(node: ast.AST, names: Iterable[str]) -> bool:
    return _folded(node) in set(names)
