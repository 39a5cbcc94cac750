"""Read a repository without running it: where its modules are, which of them a module imports, and what comes from elsewhere."""

from __future__ import annotations

import ast
import difflib
import functools
import os
import posixpath
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.program.imports import imported_from
from pytest_recode.program.source import parse, tree_of
from pytest_recode.task import Files

_ROOTS = ("src", ".", "python", "lib")
"""Directories below a repository that may contain its packages."""
_SKIPPED = {"__pycache__", "node_modules", "build", "dist", "venv", "env"}
MAX_FILE = 2 << 20  # bytes of a file that is sent to the sandbox
MAX_ALL = 256 << 20
_VERSION = '__version__ = version = "0"\n__version_tuple__ = version_tuple = (0,)\n'


_parsed = functools.cache(tree_of)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepositoryModule:
    """A file of the repository. `path`: relative to `root` of the repository; `package`: the name that relative imports start from."""

    name: str
    path: str
    source: str
    package: str

    @property
    def tree(self) -> ast.Module:
        """Empty if the source does not parse: an import of it fails in the sandbox, if the target needs it at all."""
        return _parsed(self.source) or ast.Module(body=[], type_ignores=[])


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """`root`: the directory, relative to `place`, that contains the target's top-level package ("src", ".").

    `generated`: texts by path, relative to `place`, of modules with the version, which the build of a package writes.
    """

    place: Path
    root: str
    generated: Mapping[str, str] = field(default_factory=dict)

    def module(self, name: str) -> RepositoryModule | None:
        """The module with this dotted name, None if the repository has no source for it."""
        relative = name.replace(".", "/")
        for path, package in ((f"{relative}/__init__.py", name), (f"{relative}.py", name.rpartition(".")[0])):
            file = self.place / self.root / path
            written = self.generated.get(posixpath.normpath(f"{self.root}/{path}"))
            if written is not None:
                return RepositoryModule(name=name, path=path, source=written, package=package)
            if file.is_file() and file.resolve().is_relative_to(self.place.resolve()):  # no link that leads out of it
                source = file.read_text("utf-8", "replace")
                return RepositoryModule(name=name, path=path, source=source, package=package)
        return None

    def has(self, name: str) -> bool:
        return self.module(name) is not None or (self.place / self.root / name.replace(".", "/")).is_dir()


def check_place(place: Path) -> None:
    """Raise `UserError` if this is no directory."""
    if not place.is_dir():
        what = "is a file" if place.exists() else "there is no such directory"
        raise UserError(
            f"{place}: {what}: clone the repository, and give the directory of the clone, as in pytest-recode cut CLONE MODULE:FUNCTION"
        )


def find(place: Path, target: str) -> tuple[Repository, RepositoryModule]:
    """The repository with the module `target`. Raises `UserError` if it has none, or one that does not parse."""
    check_place(place)
    for root in _ROOTS:
        repository = Repository(place=place, root=root)
        module = repository.module(target)
        if module is not None:
            if problem := parse(module.source.encode()).problem:
                raise UserError(f"{module.path} {problem}; choose a module of Python 3 source")
            return with_versions(repository, module), module
    names = sorted({name for root in _ROOTS for name in _names(place / root)})
    near = difflib.get_close_matches(target, names, 3, 0.5) or names[:5]
    raise UserError(
        f"{target}: no such module in {place}; MODULE is a dotted name, such as {', '.join(near) or 'package.module'}"
    )


def _names(root: Path) -> Iterator[str]:
    for path in sorted(root.glob("**/*.py"))[:2000] if root.is_dir() else ():
        parts = path.relative_to(root).with_suffix("").parts
        if all(part.isidentifier() for part in parts):
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def with_versions(repository: Repository, target: RepositoryModule) -> Repository:
    """The repository with the version modules that `target` needs and that only a build writes."""
    missing = closure(repository, target, whole_packages=True).missing
    names = [name for name in missing if "version" in name.rpartition(".")[2]]
    made = {posixpath.normpath(f"{repository.root}/{name.replace('.', '/')}.py"): _VERSION for name in names}
    return replace(repository, generated=made)


def files_of(repository: Repository) -> tuple[Files, tuple[str, ...]]:
    """All files of the repository that can be sent to a sandbox, and the paths of those left out because they are too large. Follows no link."""
    contents: dict[str, bytes] = {}
    large = []
    total = 0
    for directory, directories, names in os.walk(repository.place):
        directories[:] = sorted(name for name in directories if name not in _SKIPPED and not name.startswith("."))
        for name in sorted(names):
            path = Path(directory, name)
            if path.is_symlink() or not path.is_file() or name.endswith(".pyc"):
                continue
            relative = path.relative_to(repository.place).as_posix()
            size = path.stat().st_size
            if size > MAX_FILE or total + size > MAX_ALL:
                large.append(relative)
                continue
            total += size
            contents[relative] = path.read_bytes()
    return {**contents, **{path: text.encode() for path, text in repository.generated.items()}}, tuple(large)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One name that a module imports: `module` alone, or `name` of it. `required`: on import of the module, and not in a `try`.

    `bound`: the name under which the module uses it.
    """

    module: str
    name: str
    bound: str
    required: bool


def imports_of(module: RepositoryModule) -> list[Import]:
    """Every import statement of the module, with relative ones resolved, but not those under `TYPE_CHECKING`."""
    imports: list[Import] = []

    def visit(node: ast.AST, required: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.dump(child.test):
                for alias in child.orelse:
                    visit(alias, required)
                continue
            if isinstance(child, ast.Import):
                imports.extend(
                    Import(module=alias.name, name="", bound=alias.asname or alias.name, required=required)
                    for alias in child.names
                )
            elif isinstance(child, ast.ImportFrom):
                base = imported_from(child, module.package)
                if base is not None:
                    imports.extend(
                        Import(module=base, name=alias.name, bound=alias.asname or alias.name, required=required)
                        for alias in child.names
                    )
            inner = isinstance(child, ast.Try | ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            visit(child, required and not inner)

    visit(module.tree, True)
    return imports


@dataclass(frozen=True, slots=True, kw_only=True)
class Closure:
    """What a target needs.

    `modules`: by name, with the target. `emptied`: packages whose `__init__` nothing uses, so that it can be empty. `others`: top-level
    modules from elsewhere, with whether they are required. `missing`: modules of the repository without source, with the file that imports them.
    """

    modules: dict[str, RepositoryModule]
    emptied: tuple[str, ...]
    others: dict[str, bool]
    missing: Mapping[str, str]


def closure(repository: Repository, target: RepositoryModule, *, whole_packages: bool) -> Closure:
    """The modules that `target` imports, directly or not. `whole_packages`: with the `__init__` of each package, as Python imports it."""
    modules: dict[str, RepositoryModule] = {}
    others: dict[str, bool] = {}
    missing: dict[str, str] = {}
    pending = [target]
    while pending:
        module = pending.pop()
        if module.name in modules:
            continue
        modules[module.name] = module
        names = list(_packages(module.name)) if whole_packages else []
        for statement in imports_of(module):
            top = statement.module.partition(".")[0]
            if not repository.has(top) or (repository.module(top) is None and top in sys.stdlib_module_names):
                if top not in sys.stdlib_module_names and top != "__future__":
                    others[top] = others.get(top, False) or statement.required
                continue
            submodule = f"{statement.module}.{statement.name}" if statement.name else ""
            if submodule and repository.module(submodule) is not None:
                names.append(submodule)
                # `from package import name` finds a name of the package first
                if _binds(repository.module(statement.module), statement.name):
                    names.append(statement.module)
            elif repository.module(statement.module) is not None:
                names.append(statement.module)
            elif not repository.has(statement.module):
                missing.setdefault(statement.module, module.path)
        pending += [
            imported_module
            for name in names
            if name not in modules and (imported_module := repository.module(name)) is not None
        ]
    packages = {package for name in modules for package in _packages(name)}
    emptied = tuple(sorted(name for name in packages if name not in modules and repository.module(name) is not None))
    return Closure(modules=modules, emptied=emptied, others=others, missing=missing)


def _packages(name: str) -> Iterator[str]:
    """The packages above a module."""
    parts = name.split(".")
    for count in range(1, len(parts)):
        yield ".".join(parts[:count])


def _binds(package: RepositoryModule | None, name: str) -> bool:
    """Whether the package's own code binds `name` to something else than its submodule."""
    if package is None or not package.path.endswith("__init__.py"):
        return False
    for node in package.tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return True
        if (
            isinstance(node, ast.ImportFrom)
            and node.module
            and any((each.asname or each.name) == name for each in node.names)
        ):
            return True
    return False
