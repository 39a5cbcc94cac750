"""`command:PATH`: a program of the user's, in any language, one process a turn. Speaks any dialect of the gateway."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from pytest_recode.agents import AgentKind, InstalledProgram
from pytest_recode.agents.command_line import MODEL, CommandLineAgent, Session
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.agents.installed_programs import given_program
from pytest_recode.faults import UserError

PREFIX = "command:"
MEMORY = "memory"
"""The directory of the state directory that `RECODE_STATE` names."""


def kind(path: str) -> AgentKind:
    """The agent of the program at a path, which is relative to the current directory. `DIRECTORY/./FILE`: the sandbox shows all of DIRECTORY.

    Raises `UserError` if no path is given.
    """
    if not path:
        raise UserError(
            f"--recode-agent={PREFIX} names no program: write its path behind the colon, as in {PREFIX}./agent.py"
        )
    return found_at(path, kind_of(agent(f"{PREFIX}{path}")))


def found_at(path: str, own: AgentKind) -> AgentKind:
    """The agent whose program is at a path, as in `kind`."""
    assert own.program is not None
    return replace(own, program=replace(own.program, find=partial(_find, own.program.name, _absolute(path))))


def agent(name: str) -> CommandLineAgent:
    return CommandLineAgent(name=name, source=None, first=_command, later=_command, env=environment, session=(MEMORY,))


def _command(session: Session) -> Sequence[str]:
    """Its directory may be empty, and exists."""
    return ("/bin/sh", "-c", 'mkdir -p "$RECODE_STATE" && exec "$0"', session.executable)


def environment(session: Session) -> Mapping[str, str]:
    return {
        "OPENAI_BASE_URL": f"{session.url}/v1",
        "OPENAI_API_KEY": session.key,
        "ANTHROPIC_BASE_URL": session.url,
        "ANTHROPIC_API_KEY": session.key,
        "ANTHROPIC_AUTH_TOKEN": session.key,
        "GOOGLE_GEMINI_BASE_URL": session.url,
        "GEMINI_API_KEY": session.key,
        "RECODE_MODEL": MODEL,
        "RECODE_TURN": str(session.turn),
        "RECODE_STATE": f"{session.state}/{MEMORY}",
    }


def _absolute(path: str) -> str:
    directory, shown, file = path.partition("/./")
    start = Path.cwd() / Path(directory if shown else path).expanduser()
    return f"{start}/./{file}" if shown else str(start)


def _find(name: str, path: str, _: Callable[[str], None] | None) -> InstalledProgram:
    return given_program(name, path)
