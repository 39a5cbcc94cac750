"""The canary of a task, which every file of its directory must contain."""

from __future__ import annotations

from pathlib import Path

from pytest_recode.formats.directory import FORMAT
from pytest_recode.task import Task
from pytest_recode.validation.canary import canary_problem
from tests.formats.task_directory import FILES, MANIFEST, write
from tests.messages import assert_message

CANARY = "recode-canary 8b6f0c9e-3f57-4c5d-9d0e-2a1b3c4d5e6f"
MARKED = {path: f"{text}# {CANARY}\n" for path, text in FILES.items()}


def task(root: Path, files: dict[str, str | None], canary: str = CANARY) -> Task:
    manifest = f"{MANIFEST}canary: {canary}\n" if canary else MANIFEST
    [made] = FORMAT.load(write(root, manifest, {**MARKED, **files}))
    return made


def test_files_without_the_canary_are_named(tmp_path: Path) -> None:
    assert canary_problem(task(tmp_path / "all", {})) == ""
    found = task(tmp_path / "some", {"repo/data.py": "VALUES = []\n", "proofs/equivalent.txt": "# none\n"})
    assert_message(
        canary_problem(found), "mean: 2 of its files", "task.yaml", "proofs/equivalent.txt, repo/data.py", CANARY
    )


def test_one_file_without_the_canary(tmp_path: Path) -> None:
    assert "1 of its files lacks the canary" in canary_problem(task(tmp_path, {"repo/data.py": ""}))


def test_a_task_without_a_canary_needs_none(tmp_path: Path) -> None:
    assert canary_problem(task(tmp_path, {"repo/data.py": "VALUES = []\n"}, canary="")) == ""


def test_files_of_tools_links_and_files_that_are_no_text_need_none(tmp_path: Path) -> None:
    clean = task(tmp_path, {"repo/__pycache__/data.pyc": "x", "repo/.ruff_cache/CACHEDIR.TAG": "x", ".DS_Store": "x"})
    (tmp_path / "repo/image.png").write_bytes(b"\x89PNG\xff")
    (tmp_path / "notes").symlink_to("/etc/hostname")
    assert canary_problem(clean) == ""
