"""The two programs of an oracle, as their sources are shipped into sandboxes."""

from __future__ import annotations

from pathlib import Path

from pytest_recode.sandboxes import Program
from pytest_recode.task import Files

_INSIDE = Path(__file__).parent.parent / "inside"


def _program(name: str, *modules: str) -> Program:
    """`modules` in the order of import, the entry last; the names cannot be those of a repository's modules."""
    sources = {f"_recode_{module}": (_INSIDE / f"{module}.py").read_text("utf-8") for module in modules}
    return Program(name=name, modules=sources, entry=f"_recode_{modules[-1]}")


CANDIDATE = _program("candidate", "codec", "wire", "candidate")
_PYTEST = ("values", "equivalence", "handles", "remote", "naming", "account", "running")
GRADER = _program("grader", "codec", "wire", "symptoms", *_PYTEST, "authors", "grader")
_SHARED = (
    *("codec", "wire", "hidden", "forbidden", "classes", "marks", "compared", "versions", "rewriting", "wrappers"),
    *("holdings", "intact", "screening", "reach", "acts", "texts", "seeing", "watch"),
    *("symptoms", "tracebacks", "shared"),
)
SHARED_PYTEST = _program(
    "shared-pytest", *_SHARED, *_PYTEST, "asserts", "arguments", "telling", "plain", "worlds", "shared_pytest"
)
SHARED_BESIDE = _program(
    "shared-beside", *_SHARED, *_PYTEST, "asserts", "arguments", "telling", "standins", "shared_beside"
)
SHARED_UNITTEST = _program("shared-unittest", *_SHARED, "shared_unittest")


def roots(files: Files) -> list[str]:
    """Where a repository's modules are imported from: its root, and `src` too where that is no package itself."""
    has_src = any(path.startswith("src/") for path in files) and "src/__init__.py" not in files
    return [".", "src"] if has_src else ["."]
