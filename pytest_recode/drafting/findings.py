"""What prevents a function from becoming a task, as far as reading the code shows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pytest_recode.drafting.code_repository import RepositoryModule, imports_of
from pytest_recode.drafting.stubs import Function, functions_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """`kind`: "global state", "files", … `place`: "pkg/mod.py:12"; "" if it is not known."""

    kind: str
    place: str
    detail: str

    def __str__(self) -> str:
        return f"{self.kind}: {f'{self.place}: ' if self.place else ''}{self.detail}"


_CALLS = {
    "files": (
        *("open", "os.remove", "os.makedirs", "shutil."),
        *("numpy.save", "numpy.savez", "numpy.savez_compressed", "numpy.savetxt", "numpy.load", "numpy.loadtxt"),
    ),
    "network": ("requests.", "urllib.request.", "socket.", "http.client."),
    "randomness without a seed": (
        *("np.random.", "numpy.random.", "random.random", "random.choice", "random.shuffle", "random.sample"),
        *("random.uniform", "random.gauss", "random.randint", "default_rng"),
    ),
}
_SEEDED = {"default_rng", "RandomState", "Generator", "SeedSequence", "PCG64", "check_random_state", "MT19937"}
"""Ways to create a generator: without randomness if they get a seed."""
_GPU = ("cupy", "pycuda", "torch.cuda", "jax.device_put")
_MUTATING = {
    "append",
    "extend",
    "insert",
    "update",
    "add",
    "pop",
    "popitem",
    "clear",
    "remove",
    "setdefault",
    "discard",
}


def kind_of_function(module: RepositoryModule, name: str) -> Finding | None:
    """Why the function of this name cannot be cut because of what it is; None if it is a plain function."""
    functions = functions_of(module.tree)
    place = module.path
    owner, _, method = name.partition(".")
    classes = {node.name: node for node in module.tree.body if isinstance(node, ast.ClassDef)}
    if owner in classes:
        inner = {node.name: node for node in classes[owner].body if isinstance(node, ast.FunctionDef)}
        line = (inner[method] if method in inner else classes[owner]).lineno
        what = f"{name} is a method" if method else f"{name} is a class"
        return Finding(kind="methods", place=f"{place}:{line}", detail=f"{what}: only functions of a module can be cut")
    if name not in functions:
        known = ", ".join(function for function in functions if not function.startswith("_")) or "none"
        return Finding(kind="unknown", place=place, detail=f"has no function {name}; its functions: {known}")
    node = functions[name]
    at = f"{place}:{node.lineno}"
    if isinstance(node, ast.AsyncFunctionDef):
        return Finding(kind="async", place=at, detail=f"{name} is async")
    if any(isinstance(part, ast.Yield | ast.YieldFrom) for part in _own(node)):
        return Finding(
            kind="generators", place=at, detail=f"{name} is a generator: its items would be computed one at a time"
        )
    return None


def _own(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions within it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef | ast.GeneratorExp):
            yield from _own(child)


def hazards(modules: Mapping[str, RepositoryModule], target: str, name: str) -> list[Finding]:
    """Global state, files, network, GPU and randomness in the function and in functions of the repository that it calls by name."""
    findings: list[Finding] = []
    pending, seen = [(target, name)], set()
    while pending:
        where, function = pending.pop()
        if (where, function) in seen or where not in modules:
            continue
        seen.add((where, function))
        module = modules[where]
        node = functions_of(module.tree).get(function)
        if node is None:
            continue
        findings += _in_function(module, node)
        imported = {imported_name.bound: imported_name for imported_name in imports_of(module)}
        for call in (part for part in ast.walk(node) if isinstance(part, ast.Call)):
            head, _, last = _dotted(call.func).rpartition(".")
            source = imported.get(head or last)
            if source is None:
                if not head:
                    pending.append((where, last))
            elif head:  # of a module: `from package import module` or `import package.module as module`
                pending.append((f"{source.module}.{source.name}" if source.name else source.module, last))
            else:
                pending.append((source.module, source.name))
    return list(dict.fromkeys(findings))


def _in_function(module: RepositoryModule, node: Function) -> Iterator[Finding]:
    shared = {name for part in module.tree.body for name in _bound(part)}
    local = {part.arg for part in ast.walk(node.args) if isinstance(part, ast.arg)}
    local |= {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    shared -= local
    imported = {part.bound: f"{part.module}.{part.name}".rstrip(".") for part in imports_of(module)}

    def finding(kind: str, at: ast.AST, detail: str) -> Finding:
        return Finding(kind=kind, place=f"{module.path}:{getattr(at, 'lineno', 0)}", detail=f"{detail} in {node.name}")

    for part in ast.walk(node):
        if isinstance(part, ast.Global):
            yield finding("global state", part, f"global {', '.join(part.names)}")
        elif isinstance(part, ast.Subscript | ast.Attribute) and isinstance(part.ctx, ast.Store | ast.Del):
            if isinstance(part.value, ast.Name) and part.value.id in shared:
                yield finding("global state", part, f"{ast.unparse(part)} is set")
        elif isinstance(part, ast.Call):
            yield from _in_call(part, shared, imported, finding)
        elif isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.startswith("cuda"):
            yield finding("GPU", part, repr(part.value))


def _in_call(
    call: ast.Call, shared: set[str], imported: Mapping[str, str], finding: Callable[[str, ast.AST, str], Finding]
) -> Iterator[Finding]:
    dotted = _dotted(call.func)
    head, _, last = dotted.rpartition(".")
    if head in shared and last in _MUTATING:
        yield finding("global state", call, f"{dotted}()")
    if last == "cuda" or dotted.startswith(_GPU):
        yield finding("GPU", call, f"{dotted}()")
    first, _, rest = dotted.partition(".")
    if first in imported:
        dotted = f"{imported[first]}.{rest}".rstrip(".")
    for kind, names in _CALLS.items():
        if any(dotted == each or (each.endswith(".") and dotted.startswith(each)) for each in names):
            if kind == "randomness without a seed" and last in _SEEDED and (call.args or call.keywords):
                continue
            if kind == "files" and last == "makedirs" and not head.endswith("os"):
                continue
            yield finding(kind, call, f"{dotted}()")


def _dotted(node: ast.AST) -> str:
    """ "np.random.rand" for such an expression; "" for any other."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        head = _dotted(node.value)
        return f"{head}.{node.attr}" if head else ""
    return ""


def _bound(node: ast.stmt) -> Iterator[str]:
    """Names of variables that a statement of a module binds."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        yield from (each.id for each in ast.walk(target) if isinstance(each, ast.Name))
