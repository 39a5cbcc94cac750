"""Find an interface of `task.yaml` that the reference does not define, by reading the source. Called when an item runs; executes nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from pytest_recode.formats.directory.hidden_tests import MAY_CHANGE_NAMES, names_in
from pytest_recode.program import source
from pytest_recode.program.interfaces import file_of, module_of, path_within
from pytest_recode.task import Files
from pytest_recode.wording import guess, some_of

_MOST_SHOWN = 10


def undefined(interfaces: Sequence[str], targets: Sequence[str], reference: Files) -> tuple[int, str] | None:
    """The first interface, by its number, that the reference certainly does not define, and what is wrong with it; None if there is none.

    Names that a module or class may get otherwise (by `import *`, `__getattr__`, a base, a decorator) are left to the hidden tests.
    """
    for number, interface in enumerate(interfaces):
        target = file_of(interface, targets)
        path = path_within(interface, target) if target is not None else ()
        if target is None or not path or (tree := source.parse(reference[target]).tree) is None:
            continue
        if _may_define(tree, path):
            continue
        module = module_of(target)
        known = [f"{module}.{name}" for name in _defined(tree)]
        meant = guess(interface, known, quote="'")
        choices = f"it defines {some_of(known, _MOST_SHOWN)}" if known else "it defines no function and no class"
        return (
            number,
            f"reference/{target} does not define '{interface}'{meant}; {choices}; correct one of the two files",
        )
    return None


def _may_define(tree: ast.Module, path: Sequence[str]) -> bool:
    """Whether a module has, or may have, the object at `path`, of which two names are checked: a class, and its method."""
    used = set(names_in(tree))
    if "*" in used or not used.isdisjoint(MAY_CHANGE_NAMES | {"modules"}):
        return True
    bound = {name for node in tree.body for name in source.bound(node)}
    bound |= {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    if path[0] not in bound:
        return False
    owner = source.definition(source.FileVersion(text="", tree=tree), path[:1])
    if len(path) == 1 or not isinstance(owner, ast.ClassDef) or owner.bases or owner.keywords or owner.decorator_list:
        return True
    return path[1].startswith("__") or path[1] in set(names_in(owner))


def _defined(tree: ast.Module) -> Iterator[str]:
    """The functions and classes of a module, and the methods of these classes."""
    for node in source.statements(tree.body):
        if not isinstance(node, source.Definition):
            continue
        yield node.name
        if isinstance(node, ast.ClassDef):
            for inner in source.statements(node.body):
                if isinstance(inner, source.Definition) and not inner.name.startswith("_"):
                    yield f"{node.name}.{inner.name}"
