"""docs/reference/recode-h.md says what is done: its commands are run on the project's own data set, in its place."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_recode.formats.recode_h import LIMITS
from tests.recode_h.scene import DATASET

PAGE = (Path(__file__).parents[2] / "docs/reference/recode-h.md").read_text("utf-8")
OWN_PART = PAGE.partition("## The original's agent")[0]
COMMANDS = re.findall(r"^ *(pytest .*)$", OWN_PART, re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_printed_command_is_taken(command: str, tmp_path: Path, quick_python: tuple[str, ...]) -> None:
    """Up to the point where a model would be asked."""
    shutil.copytree(DATASET, tmp_path / "RECODE-H/dataset")
    (tmp_path / "envs/test_151/bin").mkdir(parents=True)
    (tmp_path / "envs/test_151/bin/python").symlink_to(sys.executable)
    done = subprocess.run(
        [*quick_python, "-m", *shlex.split(command), "--collect-only", "-q", "-p", "no:cacheprovider", "-n0"],
        cwd=tmp_path,
        env={**os.environ, "OPENAI_API_KEY": "-"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "annotation_meta.jsonl:" in done.stdout


def test_there_are_commands() -> None:
    assert len(COMMANDS) >= 7


@pytest.mark.slow
def test_the_environment_that_is_built_is_asked_for_as_the_page_says(tmp_path: Path) -> None:
    """With this interpreter in its place; the list of packages is made by the page's own command."""
    shutil.copytree(DATASET, tmp_path / "RECODE-H/dataset")
    (tmp_path / "envs").mkdir()
    (tmp_path / "requirements_15.txt").write_text(
        "numpy==2.1.2\nnvidia-nccl-cu12==2.25.1\ntorch==2.7.1+cu128\ntriton==3.3.1\n"
    )
    [lists] = re.findall(r"^grep .*$", OWN_PART, re.MULTILINE)
    subprocess.run(["/bin/sh", "-c", lists], cwd=tmp_path, check=True)
    assert (tmp_path / "envs/test_151.txt").read_text() == "numpy==2.1.2\ntorch==2.7.1\n"
    [command] = [command for command in COMMANDS if "--recode-env" in command]
    (tmp_path / "envs/test_151/bin").mkdir(parents=True)
    python = tmp_path / "envs/test_151/bin/python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command), "--recode-sandbox=process", "-p", "no:cacheprovider"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "1 passed" in done.stdout, done.stdout + done.stderr


def test_the_limits_are_those_of_the_page() -> None:
    assert "(600 s where it has none), and 600 s that of a" in OWN_PART
    assert (LIMITS.test_seconds, LIMITS.grading_seconds) == (600, 600)
