"""Map interfaces to files: `pkg.mod.Class.method` is in `pkg/mod.py`."""

from __future__ import annotations

from collections.abc import Sequence


def module_of(target: str) -> str:
    """`pkg/mod.py` is `pkg.mod`, `pkg/__init__.py` is `pkg`."""
    return target.removesuffix(".py").replace("/", ".").removesuffix(".__init__")


def file_of(interface: str, targets: Sequence[str]) -> str | None:
    """The target that defines `interface`, or None: the one with the longest matching module."""
    file = None
    for target in targets:
        module = module_of(target)
        within = target.endswith(".py") and (interface == module or interface.startswith(f"{module}."))
        if within and (file is None or len(module) > len(module_of(file))):
            file = target
    return file


def path_within(interface: str, target: str) -> tuple[str, ...]:
    """The names below the module: ("Class", "method"); () for the module itself."""
    rest = interface.removeprefix(module_of(target)).removeprefix(".")
    return tuple(rest.split(".")) if rest else ()
