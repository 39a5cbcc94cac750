"""The page of command-line agents has every one of them, with the version that is installed and the commands that are run."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from pytest_recode.agents.command_line import Session, acp, own_program

from .conftest import ACP_COMMANDS, AGENTS

PAGE = Path(__file__).parents[2] / "docs/reference/command-line-agents.md"


def test_names_and_versions_are_those_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| ([\d.]*)", PAGE.read_text("utf-8"), re.MULTILINE))
    versions = {name: agent.source.version for name, agent in AGENTS.items() if agent.source is not None}
    commands = {command.partition(" ")[0]: f"{acp.PREFIX}{command}" for command in ACP_COMMANDS}
    by_protocol = {
        commands[name]: agent.source.version for name, agent in acp.KNOWN.items() if agent.source is not None
    }
    assert rows == {**versions, **by_protocol, f"{acp.PREFIX}COMMAND": "", f"{own_program.PREFIX}PATH": ""}


SESSION = Session(
    turn=1,
    turns=3,
    executable="NAME",
    id="SESSION",
    url="http://127.0.0.1:PORT",
    key="KEY",
    home="HOME",
    work="WORK",
    targets=("TARGET",),
)


@pytest.mark.parametrize("name", AGENTS)
def test_commands_are_those_of_the_code(name: str) -> None:
    section = PAGE.read_text("utf-8").partition(f"\n## {name}\n")[2].partition("\n## ")[0]
    shown = re.search(r"^first turn:\n(.*?)^later turns:\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    assert shown is not None
    first, later = (shlex.split(text.replace("\\\n", "")) for text in shown.groups())
    agent = AGENTS[name]
    assert agent.later is not None
    assert (first, later) == ([*agent.first(SESSION)], [*agent.later(SESSION)])
