"""`acp:COMMAND`: an agent that speaks the Agent Client Protocol, one process a turn. Verified with `acp:opencode acp`.

The first word is one of our command-line agents, with its pinned version and configuration, or a program of the user's.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_recode.agents import AgentKind
from pytest_recode.agents.command_line import CommandLineAgent, Session, naming_session, own_program
from pytest_recode.agents.command_line.claude_code import AGENT as CLAUDE_CODE
from pytest_recode.agents.command_line.codex import AGENT as CODEX
from pytest_recode.agents.command_line.gemini_cli import AGENT as GEMINI_CLI
from pytest_recode.agents.command_line.opencode import AGENT as OPENCODE
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.faults import UserError
from pytest_recode.inside.workspace import acp_client
from pytest_recode.task import Files

PREFIX = "acp:"
CLIENT = "acp_client.py"
KNOWN = {agent.name: agent for agent in (CLAUDE_CODE, CODEX, GEMINI_CLI, OPENCODE)}

FORGETTING = frozenset({"gemini-cli"})
"""Those that lose a session when they load it by this protocol: Gemini CLI 0.61.0 starts an empty one of the same id first, in the same file if
it is of the same minute, and may then find that one only."""


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
        ended=partial(naming_session, "session"),
    )


def _own_env(session: Session) -> Mapping[str, str]:
    """Where it keeps its sessions is not known; its home directory is stored."""
    env = own_program.environment(session)
    return {**env, "HOME": env["RECODE_STATE"]}


def _command(arguments: Sequence[str], loaded: str, session: Session) -> Sequence[str]:
    stays = "stays" if session.turns > 1 else "ends"
    return ("python3", "-I", f"{session.state}/{CLIENT}", stays, loaded, session.executable, *arguments)


def _files(base: Callable[[Session], Files], session: Session) -> Files:
    return {**base(session), CLIENT: Path(acp_client.__file__).read_bytes()}
