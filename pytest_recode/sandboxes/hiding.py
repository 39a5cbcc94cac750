"""Which directories of this machine no program in a sandbox may see."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from pytest_recode.sandboxes.interpreters import interpreter


def hidden(manifests: Iterable[Path], others: Iterable[Path], root: Path, python: str) -> tuple[str, ...]:
    """Absolute real paths: the directories of the tasks with these manifests, `others`, and `root` unless the interpreter `python` is below it.

    Raises `UserError` if `python` is no interpreter.
    """
    hide = {path.resolve() for path in others}
    for manifest in manifests:
        for task in {manifest.parent, manifest.resolve().parent}:
            hide |= {path.resolve() for path in (task, task / "tests", task / "reference")}
    found, root = interpreter(python), root.resolve()
    if not any(path.resolve().is_relative_to(root) for path in (found.prefix, found.base_prefix, *found.libraries)):
        hide.add(root)
    return tuple(sorted(map(str, hide)))
