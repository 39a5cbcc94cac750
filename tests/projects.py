"""Projects with tasks and runs for tests that start a program in a directory, without pytester."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.made_once import made_once
from tests.plugin.conftest import FILES, MANIFEST

MODEL = "sim/graduate"
Command = Callable[..., subprocess.CompletedProcess[str]]
"""Runs `pytest-recode` with arguments in a directory."""


def make_task(place: Path, task: str) -> None:
    """Create the small task of the plugin's tests in `place`/tasks/`task`."""
    for path, text in {"task.yaml": MANIFEST.format(id=task, domain="ml"), **FILES}.items():
        (place / "tasks" / task / path).parent.mkdir(parents=True, exist_ok=True)
        (place / "tasks" / task / path).write_text(text)


def run_of_two_levels(factory: pytest.TempPathFactory, python: tuple[str, ...]) -> Path:
    """A directory with a run, `run`, of two tasks with feedback L0 and L4, of a simulated model. Made once for all tests, which must not change it."""

    def play(place: Path) -> None:
        for task in ("one", "two"):
            make_task(place, task)
        (place / "pytest.ini").write_text("[pytest]\n")
        command = [
            *(*python, "-m", "pytest", "tasks", "-p", "no:cacheprovider", "--recode-sandbox=process"),
            *(f"--recode-model={MODEL}", "--recode-feedback=L0", "--recode-feedback=L4", "--recode-seed=5"),
            *("--recode-turns=2", "--recode-out=run"),
        ]
        done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stdout + done.stderr

    return made_once(factory, "two-levels", play)
