"""Real command-line agents, installed once on this machine as a user's run installs them, against a scripted model."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_recode.agents import InstalledProgram
from pytest_recode.agents.command_line import acp, aider, claude_code, codex, gemini_cli, opencode
from pytest_recode.agents.installed_programs import cache, program
from pytest_recode.faults import UserError
from tests.chat_server import chat_server as chat_server
from tests.plugin.conftest import agents as agents
from tests.plugin.conftest import make_task as make_task
from tests.plugin.conftest import recode as recode
from tests.plugin.conftest import results as results

from .played_script import play as play

AGENTS = {each.AGENT.name: each.AGENT for each in (claude_code, codex, opencode, gemini_cli, aider)}
ACP_COMMANDS = ("opencode acp", "gemini-cli --acp", "codex-acp", "claude-agent-acp")
"""How our agents that speak the Agent Client Protocol are started."""
LARGEST = 3 << 30
"""Bytes that an installation may take, with what the package manager keeps."""
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
"""Before pytester gives each test a home directory of its own."""


@pytest.fixture(autouse=True)
def _as_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(CACHE))
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")


@pytest.fixture
def installed() -> Callable[[str], InstalledProgram]:
    """The pinned version of an agent; the first test that needs it installs it."""

    def find(name: str) -> InstalledProgram:
        source = {**acp.KNOWN, **AGENTS}[name].source
        assert source is not None
        place = CACHE if CACHE.exists() else Path("/")
        if not (cache() / f"{name}-{source.version}").exists() and shutil.disk_usage(place).free < LARGEST:
            pytest.skip(f"{name} needs up to {LARGEST >> 20} MiB of disk space in {CACHE}")
        try:
            return program(name, source, print)
        except UserError as error:
            pytest.skip(f"{name} cannot be installed here: {error}")

    return find
