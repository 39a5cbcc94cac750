"""Two real command-line agents in one run: rows of one table, with the version of each."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_recode.agents import InstalledProgram
from tests.chat_server import ChatServer
from tests.plugin.conftest import words

from .scripted import solved_in

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]
Installed = Callable[[str], InstalledProgram]

NAMES = ("codex", "opencode")


@pytest.mark.slow
def test_two_agents_are_rows_of_one_table(
    installed: Installed, make_task: MakeTask, recode: Run, results: Results
) -> None:
    versions = {name: installed(name).version for name in NAMES}
    make_task("a")
    agents = [f"--recode-agent={name}" for name in NAMES]
    policies = ("--recode-feedback=L0", "--recode-feedback=L2", "--recode-model=openai/local")
    with ChatServer(solved_in(3)) as server:
        given = (*agents, *policies, f"--recode-api-base={server.url}", "--recode-out=out", "-n2")
        result = recode(*given, sandbox="bubblewrap")
    result.assert_outcomes(passed=4)
    assert {(record["agent"], record["feedback"], record["agent_version"]) for record in results()} == {
        (name, level, version) for name, version in versions.items() for level in ("L0", "L2")
    }
    for name in NAMES:
        for level in ("L0", "L2"):
            assert f"openai/local {name} {level} 1/1 100.0" in words(result)
    assert "2 episodes share their first turn with another" in words(result)
