"""A run of a simulated model that the tests of exports share, and the command."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.projects import run_of_two_levels

Command = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def played(tmp_path_factory: pytest.TempPathFactory, quick_python: tuple[str, ...]) -> Path:
    """A directory with `run`: tasks one and two, feedback L0 and L4. Episodes of L4 share the first turn of L0, or the other way around."""
    return run_of_two_levels(tmp_path_factory, quick_python)


@pytest.fixture
def project(played: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(played, tmp_path / "project")


@pytest.fixture(scope="session")
def command(quick_python: tuple[str, ...]) -> Command:
    def run(place: Path, *args: object) -> subprocess.CompletedProcess[str]:
        whole = [*quick_python, "-m", "pytest_recode.cli", *map(str, args)]
        return subprocess.run(whole, cwd=place, capture_output=True, text=True, check=False)

    return run


def records(run: Path) -> dict[str, dict[str, Any]]:
    """The records of a run, by node id."""
    found = map(json.loads, (run / "results.jsonl").read_text().splitlines())
    return {record["nodeid"]: record for record in found}


def transcript(run: Path, record: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / record["transcript"]).read_text().splitlines()]


def rewrite(path: Path, lines: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
