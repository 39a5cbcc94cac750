"""`opencode`: the agent of opencode.ai (opencode-ai). Speaks the dialect of OpenAI's chat completions. Verified: 1.18.33."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import PurePosixPath

from pytest_recode.agents.command_line import MODEL, CommandLineAgent, Session, naming_session
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.agents.installed_programs import NpmProgram
from pytest_recode.task import Files

_ALWAYS = ("run", "--pure", "--format", "json", "--auto")


def _command(session: Session) -> tuple[str, ...]:
    """With the directory of ripgrep at the end of PATH. A program that the user names may have none there."""
    place = f"{PurePosixPath(session.executable).parent}/../../{_RIPGREP}/bin"
    return ("/bin/sh", "-c", 'PATH="$PATH:$0"; exec "$@"', place, session.executable, *_ALWAYS)


def _files(session: Session) -> Files:
    model = f"gateway/{MODEL}"
    config = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "permission": {"webfetch": "deny"},
        "model": model,
        "small_model": model,
        "provider": {
            "gateway": {
                "npm": "@ai-sdk/openai-compatible",
                "name": "gateway",
                "options": {"baseURL": f"{session.url}/v1", "apiKey": session.key},
                "models": {MODEL: {"name": MODEL, "limit": {"context": 200_000, "output": 32_000}}},
            }
        },
    }
    return {"opencode.json": json.dumps(config).encode(), _KNOWN_MODELS: b"{}"}


_KNOWN_MODELS = "cache/opencode/models.json"
"""Without this file, each start reads the list of all models that is built into the program: 0.7 s of processor time and 110 MB."""


def _env(session: Session) -> Mapping[str, str]:
    places = {f"XDG_{name.upper()}_HOME": f"{session.state}/{name}" for name in ("data", "config", "cache", "state")}
    return places | {
        "OPENCODE_CONFIG": f"{session.state}/opencode.json",
        "OPENCODE_DISABLE_MODELS_FETCH": "1",
        "OPENCODE_DISABLE_AUTOUPDATE": "1",
    }


_RIPGREP = "@vscode/ripgrep-linux-x64"
"""What its tools `grep` and `glob` run: it would download it otherwise, and there is no network."""
PROGRAM = NpmProgram(
    version="1.18.33",
    packages={
        "x86_64": {
            _RIPGREP: (
                "1.18.0",
                "sha512-mQ3bVrUpnD2vs7QT0vX90Lt0cnUq467uFtEktIdsJJmW296RoSULRGqWgzG1AKxyBpNDD6l4ZO4qKf6SgyC23Q==",
            ),
            "opencode-linux-x64": (
                "1.18.33",
                "sha512-q/t/3p2CTxOT9y2kvjesb/LZab2+1eqlhhWA02Be6mjTtmYtNBcBsrI5yDo4Fw7ZSPBW2oyMIGMNRqiKQjiAWw==",
            ),
        }
    },
    executables={"x86_64": "node_modules/opencode-linux-x64/bin/opencode"},
)

AGENT = CommandLineAgent(
    name="opencode",
    source=PROGRAM,
    first=lambda session: (*_command(session), "--title", "task"),
    later=lambda session: (*_command(session), "-s", session.id),
    env=_env,
    files=_files,
    session=("data/opencode",),
    ended=partial(naming_session, "sessionID"),
)
KIND = kind_of(AGENT)
