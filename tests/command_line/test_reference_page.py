"""The page of command-line agents has every one of them, with the version that is installed."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_recode.agents.command_line import acp, own_program

from .conftest import AGENTS

PAGE = Path(__file__).parents[2] / "docs/reference/command-line-agents.md"


def test_names_and_versions_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| ([\d.]*)", PAGE.read_text("utf-8"), re.MULTILINE))
    versions = {name: agent.source.version for name, agent in AGENTS.items() if agent.source is not None}
    assert rows == {**versions, f"{acp.PREFIX}COMMAND": "", f"{own_program.PREFIX}PATH": ""}
