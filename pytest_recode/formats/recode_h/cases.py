"""Find the interface that each test case of a RECODE-H annotation tests, from the source code, because the data set names none.

An interface is a top-level name of `canonical.py`, or a method of one of its classes, dotted below the target's module. A case
gets an interface that its test function refers to. If there are several, the preference is: a method over its class, then a name
that is part of the test's name, then the name with most references, then the first in `canonical.py`. If the function refers to
none, the helpers, fixtures and setUp that it uses are read as well; if they refer to none, the interface is the module. Nothing is
executed.
"""

from __future__ import annotations

import ast
import posixpath
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_recode.program.imports import imported_from
from pytest_recode.program.source import tree_of

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SETS_UP = ("setUp", "setup_method", "setUpClass", "setup_class", "setUpModule", "setup_module", "setup")


@dataclass(frozen=True, slots=True, kw_only=True)
class NamesOfTestFiles:
    """The names in the test file. `modules`: dotted names by which the tests may import the target and canonical.py."""

    modules: frozenset[str]
    package: str  # the base of relative imports


@dataclass(slots=True, kw_only=True)
class _TestFile:
    """The test file: the interfaces that its names refer to, its functions by name, and the set-up methods of its classes."""

    defined: Mapping[
        str, tuple[str, ...] | None
    ]  # names of canonical.py: classes with their methods, functions with None
    aliases: dict[str, str] = field(default_factory=dict)  # a name in the tests -> a name of canonical.py
    modules: set[str] = field(default_factory=set)  # names in the tests that refer to the target module
    functions: dict[str, list[Function]] = field(default_factory=dict)
    set_up: dict[str, list[Function]] = field(default_factory=dict)  # by class


def interfaces(
    cases: Sequence[str], tests: bytes, canonical: bytes, module: str, names: NamesOfTestFiles
) -> dict[str, str]:
    """The interface of each case, in the order of `cases`; `module` is the target's dotted name."""
    defined = _defined(canonical)
    tree = tree_of(tests)
    if tree is None or not defined:
        return dict.fromkeys(cases, module)
    file = _TestFile(defined=defined)
    _read(file, tree, names)
    by_case = {}
    for case in cases:
        interface = _interface_of(file, case)
        by_case[case] = f"{module}.{interface}" if interface else module
    return by_case


def imported_from_target(tests: bytes, names: NamesOfTestFiles) -> set[str]:
    """The names that the tests import from the target or from canonical.py, at the top level or in functions."""
    tree = tree_of(tests)
    imported: set[str] = set()
    for node in ast.walk(tree) if tree is not None else ():
        if isinstance(node, ast.ImportFrom) and imported_from(node, names.package) in names.modules:
            imported |= {alias.name for alias in node.names} - {"*"}
    return imported


def bound(source: bytes) -> set[str] | None:
    """The names that a module binds; None if it is not valid Python."""
    tree = tree_of(source)
    if tree is None:
        return None
    bindings = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bindings.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bindings.add(node.id)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            bindings |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    return bindings


def _defined(canonical: bytes) -> dict[str, tuple[str, ...] | None]:
    tree = tree_of(canonical)
    definitions: dict[str, tuple[str, ...] | None] = {}
    for node in tree.body if tree is not None else ():
        if isinstance(node, Function):
            definitions[node.name] = None
        elif isinstance(node, ast.ClassDef):
            definitions[node.name] = tuple(each.name for each in node.body if isinstance(each, Function))
    return {name: methods for name, methods in definitions.items() if not name.startswith("_")} or definitions


def _read(file: _TestFile, tree: ast.Module, names: NamesOfTestFiles) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            base = imported_from(node, names.package)
            for alias in node.names:
                if base in names.modules and alias.name == "*":
                    file.aliases.update({name: name for name in file.defined})
                elif base in names.modules and alias.name in file.defined:
                    file.aliases[alias.asname or alias.name] = alias.name
                elif f"{base}.{alias.name}".lstrip(".") in names.modules:
                    file.modules.add(alias.asname or alias.name)
        elif isinstance(node, ast.Import):
            file.modules |= {alias.asname or alias.name for alias in node.names if alias.name in names.modules}
    for node in tree.body:
        if isinstance(node, Function):
            file.functions.setdefault(node.name, []).append(node)
        elif isinstance(node, ast.ClassDef):
            methods = [method for method in node.body if isinstance(method, Function)]
            file.set_up[node.name] = [method for method in methods if method.name in _SETS_UP]
            for method in methods:
                file.functions.setdefault(method.name, []).append(method)
                file.functions.setdefault(f"{node.name}::{method.name}", []).append(method)
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            _assigned(file, node.targets[0].id, node.value, names)


def _assigned(file: _TestFile, name: str, value: ast.expr, names: NamesOfTestFiles) -> None:
    """Record an assignment such as `module = importlib.import_module("target")` or `Model = module.Model`."""
    if isinstance(value, ast.Call):
        called = ast.unparse(value.func).rpartition(".")[2]
        first = value.args[0] if value.args else None
        named = str(first.value).lstrip(".") if isinstance(first, ast.Constant) else ""
        if called in ("import_module", "__import__") and named in names.modules:
            file.modules.add(name)
        return
    referred = _referred_to(file, value)
    if referred is not None and name not in file.aliases:
        file.aliases[name] = referred


def _referred_to(file: _TestFile, node: ast.AST) -> str | None:
    """The name of canonical.py that an expression refers to, or None."""
    if isinstance(node, ast.Name):
        return file.aliases.get(node.id)
    if isinstance(node, ast.Attribute) and node.attr in file.defined and ast.unparse(node.value) in file.modules:
        return node.attr
    return None


def _interface_of(file: _TestFile, case: str) -> str:
    """The interface that a case refers to, dotted below the module; "" if there is none."""
    name = case.partition("[")[0]
    own = file.functions.get(name) or file.functions.get(name.rpartition("::")[2]) or []
    objects = _objects(file, [*own, *_helpers(file, own)])
    for functions in (own, _helpers(file, own)):
        counted = Counter(_references(file, functions, objects))
        if counted:
            return max(counted, key=lambda candidate: _preference(file, candidate, counted[candidate], name))
    return ""


def _preference(file: _TestFile, interface: str, count: int, test: str) -> tuple[bool, int, int, int]:
    last = interface.rpartition(".")[2]
    named = len(last) if last.strip("_").lower() in test.lower() else 0
    return "." in interface, named, count, -list(file.defined).index(interface.partition(".")[0])


def _helpers(file: _TestFile, own: Iterable[Function]) -> list[Function]:
    """The set-up methods of a test's class, and all functions of the file that the test uses directly or indirectly."""
    pending = list(own)
    functions: dict[int, Function] = {id(helper): helper for helper in pending}
    for name, methods in file.set_up.items():
        if any(helper in file.functions.get(f"{name}::{helper.name}", []) for helper in pending):
            pending += methods
    seen: list[Function] = []
    while pending:
        function = pending.pop()
        if id(function) not in functions:
            functions[id(function)] = function
        if function not in seen:
            seen.append(function)
            for used in _used(function):
                pending += [helper for helper in file.functions.get(used, []) if id(helper) not in functions]
    return [helper for helper in seen if helper not in list(own)]


def _used(function: Function) -> Iterator[str]:
    yield from (each.arg for each in [*function.args.args, *function.args.kwonlyargs])
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            yield node.attr


def _objects(file: _TestFile, functions: Iterable[Function]) -> dict[str, str]:
    """Variables, including `self.x`, to which an instance of a class of canonical.py is assigned, with the class."""
    classes = {}
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target, value in _pairs(node):
                    constructed = _referred_to(file, value.func) if isinstance(value, ast.Call) else None
                    if constructed is not None and file.defined[constructed] is not None:
                        classes[ast.unparse(target)] = constructed
    return classes


def _pairs(node: ast.Assign) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Targets with their values; `a, b = f(), g()` gives two pairs."""
    for target in node.targets:
        if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
            yield from zip(target.elts, node.value.elts, strict=False)
        else:
            yield target, node.value


def _references(file: _TestFile, functions: Iterable[Function], objects: Mapping[str, str]) -> Iterator[str]:
    """Yield each interface that `functions` refer to; a variable with an instance counts as its class."""
    for function in functions:
        for node in ast.walk(function):
            if not isinstance(getattr(node, "ctx", None), ast.Load):
                continue
            referred = _referred_to(file, node) or objects.get(ast.unparse(node))
            if referred is not None:
                yield referred
            if isinstance(node, ast.Attribute) and not node.attr.startswith("__"):
                held = objects.get(ast.unparse(node.value)) or _referred_to(file, node.value)
                if held is None and isinstance(node.value, ast.Call):
                    held = _referred_to(file, node.value.func)
                if held is not None and node.attr in (file.defined[held] or ()):
                    yield f"{held}.{node.attr}"


def dotted(path: str, root: str = ".") -> str:
    """The dotted name by which a file is imported from `root`; "" if the file is not below `root`."""
    inside = posixpath.relpath(path, root)
    return "" if inside.startswith("../") else inside.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
