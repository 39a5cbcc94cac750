"""The programs that separate judging launches in sandboxes, by their entry modules below `inside/`. Runs on the host."""

from __future__ import annotations

from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Files

CANDIDATE = program("candidate", "candidate.candidate_server")
GRADER = program("grader", "separate_grader.main")


def import_roots(files: Files) -> list[str]:
    """The directories to put on `sys.path` for a repository: its root, and `src` where that is not a package itself."""
    has_src = any(path.startswith("src/") for path in files) and "src/__init__.py" not in files
    return [".", "src"] if has_src else ["."]
