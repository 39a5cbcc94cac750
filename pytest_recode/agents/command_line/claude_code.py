"""`claude-code`: Anthropic's agent (@anthropic-ai/claude-code). Speaks the dialect of Anthropic's Messages. Verified: 2.1.332."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pytest_recode.agents import CommandResult
from pytest_recode.agents.command_line import MODEL, CommandLineAgent, ProgramEnd, Session, by_status, objects_in
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.agents.installed_programs import NpmProgram

USELESS = ("WebFetch", "WebSearch", "CronCreate", "CronDelete", "CronList", "ScheduleWakeup")
"""Tools that need a network, or a process that lasts longer than a turn. A model that has them learns that only when they fail."""
_ALWAYS = (
    "--print",
    "--output-format=stream-json",
    "--verbose",
    "--dangerously-skip-permissions",
    "--strict-mcp-config",
    "--disable-slash-commands",
    f"--disallowedTools={','.join(USELESS)}",
)


def _env(session: Session) -> Mapping[str, str]:
    models = {
        f"ANTHROPIC_{name}": MODEL
        for name in ("MODEL", "DEFAULT_OPUS_MODEL", "DEFAULT_SONNET_MODEL", "DEFAULT_HAIKU_MODEL", "SMALL_FAST_MODEL")
    }
    return models | {
        "ANTHROPIC_BASE_URL": session.url,
        "ANTHROPIC_AUTH_TOKEN": session.key,
        "CLAUDE_CODE_SUBAGENT_MODEL": MODEL,
        "CLAUDE_CONFIG_DIR": session.state,
        "IS_SANDBOX": "1",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_EXPERIMENTAL_BETAS": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    }


def _ended(result: CommandResult) -> ProgramEnd:
    """Its last line says whether it failed, and is a "success" in either case."""
    last: Mapping[str, Any] = next(
        (line for line in reversed([*objects_in(result.output)]) if line.get("type") == "result"), {}
    )
    if last.get("is_error"):
        return ProgramEnd(problem=f"it reported an error: {str(last.get('result'))[:300]}")
    return by_status(result)


_NPM = "@anthropic-ai/claude-code-linux-x64"
PROGRAM = NpmProgram(
    version="2.1.332",
    packages={
        "x86_64": {
            _NPM: (
                "2.1.332",
                "sha512-f4JWhzwYutJIHScC7/dYOPX6s28tt7ZADhsOi8zwOHq5fFPEuUeChh2NMfinSg0GrUckYxaeebC4h0DqiKzLcw==",
            )
        }
    },
    executables={"x86_64": f"node_modules/{_NPM}/claude"},
)

AGENT = CommandLineAgent(
    name="claude-code",
    source=PROGRAM,
    first=lambda session: (session.executable, "--session-id", session.id, *_ALWAYS),
    later=lambda session: (session.executable, "--resume", session.id, *_ALWAYS),
    env=_env,
    session=("projects",),
    ended=_ended,
)
KIND = kind_of(AGENT)
