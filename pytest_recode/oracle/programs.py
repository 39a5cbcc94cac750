"""The two programs of an oracle, as their sources are shipped into sandboxes."""

from __future__ import annotations

from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Files

CANDIDATE = program("candidate", "candidate.server")
GRADER = program("grader", "separate_grader.main")
SHARED_PYTEST = program("shared-pytest", "shared_grader.pytest_runner")
SHARED_BESIDE = program("shared-beside", "shared_grader.in_repo_runner")
SHARED_UNITTEST = program("shared-unittest", "shared_grader.unittest_runner")


def roots(files: Files) -> list[str]:
    """Where a repository's modules are imported from: its root, and `src` too where that is no package itself."""
    has_src = any(path.startswith("src/") for path in files) and "src/__init__.py" not in files
    return [".", "src"] if has_src else ["."]
