"""`acp:COMMAND`: an agent that speaks the Agent Client Protocol, one process an episode. Verified: `acp:opencode acp`, `acp:gemini-cli --acp`,
`acp:codex-acp`, `acp:claude-agent-acp`.

The first word is one of our agents, with its pinned version and configuration, or a program of the user's.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_recode.agents import AgentKind, CommandResult
from pytest_recode.agents.command_line import (
    PROMPT_FILE,
    CommandLineAgent,
    ProgramEnd,
    Session,
    naming_session,
    objects_in,
    own_program,
)
from pytest_recode.agents.command_line.acp_adapters import CLAUDE_AGENT_ACP, CODEX_ACP
from pytest_recode.agents.command_line.gemini_cli import AGENT as GEMINI_CLI
from pytest_recode.agents.command_line.opencode import AGENT as OPENCODE
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.faults import UserError
from pytest_recode.inside.workspace import acp_client
from pytest_recode.task import Files

PREFIX = "acp:"
CLIENT = "acp_client.py"
KNOWN = {agent.name: agent for agent in (CLAUDE_AGENT_ACP, CODEX_ACP, GEMINI_CLI, OPENCODE)}
"""Those of ours that speak the protocol."""

FORGETTING = frozenset({"gemini-cli"})
"""Those that lose a session when another process of theirs loads it by this protocol: Gemini CLI 0.61.0 starts an empty one of the same id first,
in the same file if it is of the same minute, and may then find that one only."""


def kind(command: str) -> AgentKind:
    """The agent of a command line, whose first word is the name of one of ours, or a path relative to the current directory.

    Raises `UserError` if it is no command line.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise UserError(f"--recode-agent={PREFIX}{command} is no command line: {error}") from None
    if not words:
        raise UserError(
            f"--recode-agent={PREFIX} names no command: write it behind the colon, as in '{PREFIX}opencode acp'"
        )
    first, *arguments = words
    name = f"{PREFIX}{command}"
    if first in KNOWN:
        own = kind_of(agent(name, KNOWN[first], arguments))
        needs = kind_of(KNOWN[first]).program
        assert own.program is not None
        assert needs is not None
        return replace(own, program=replace(needs, continues=own.program.continues))
    base = replace(own_program.agent(name), env=_own_env)
    return own_program.found_at(first, kind_of(agent(name, base, arguments)))


def agent(name: str, base: CommandLineAgent, arguments: Sequence[str]) -> CommandLineAgent:
    """The agent `base` by this protocol, with these arguments."""
    command = partial(_command, arguments)
    return replace(
        base,
        name=name,
        first=partial(command, ""),
        later=None if base.name in FORGETTING else lambda session: command(session.id, session),
        files=partial(_files, base.files),
        session=() if base.name in FORGETTING else base.session,
        ended=_ended,
        stays=True,
    )


def _own_env(session: Session) -> Mapping[str, str]:
    """Where it keeps its sessions is not known; its home directory is stored."""
    env = own_program.environment(session)
    return {**env, "HOME": env["RECODE_STATE"]}


def _command(arguments: Sequence[str], loaded: str, session: Session) -> Sequence[str]:
    prompt = f"{session.home}/{PROMPT_FILE}"
    return ("python3", "-I", f"{session.state}/{CLIENT}", prompt, loaded, session.executable, *arguments)


def _ended(result: CommandResult) -> ProgramEnd:
    lines = list(objects_in(result.output))
    lost = next((str(line["lost"]) for line in lines if "lost" in line), "")
    end = naming_session("session", result)
    loads = all(line["loads"] is not False for line in lines if "loads" in line)
    return replace(end, problem=lost or end.problem, lost=bool(lost), loads=loads)


def _files(base: Callable[[Session], Files], session: Session) -> Files:
    return {**base(session), CLIENT: Path(acp_client.__file__).read_bytes()}
