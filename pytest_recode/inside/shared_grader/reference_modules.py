"""Gives the reference modules of the repository that the candidate cannot change.

Runs in the shared judge, in one process with the candidate. Called by the runners before they import the tests. Must not
run the candidate's files as modules of the reference's: these are the ones that the tests import.

Tests and candidate import the repository from disk. The reference imports it from memory, as it was sent, so whatever a
candidate changes in its own modules, the reference computes what it should.

Stdlib and modules of `inside/`, Python 3.9+.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

from . import exception_report
from .concealment import memory_modules, module_namespaces


def namespace(
    order: dict[str, Any], files: Mapping[str, bytes], roots: Sequence[str]
) -> Optional[module_namespaces.Namespace]:
    """The modules of these files for the reference, except the targets'; None if the order says that it has none of its own."""
    if not order["separate"]:
        return None
    own = module_namespaces.Namespace(
        files, str(Path.cwd()), roots=roots, displayed=exception_report.HIDDEN, shared=order["targets"]
    )
    own.modules = order["own_modules"]
    return own


def separate(
    order: dict[str, Any], hidden: memory_modules.HiddenModules, paths: Iterable[str], roots: Sequence[str] = (".",)
) -> None:
    """Let the hidden files in `paths` import such modules. Takes the repository, which has the authors' targets, from the order."""
    own = namespace(
        order, {path: data for path, data in order.pop("repo").items() if path not in order["hidden"]}, roots
    )
    if own is not None:
        hidden.import_reference(paths, module_namespaces.Namespaces(own).builtins_for(own)["__import__"])
