"""`aider`: the pair programmer of aider.chat (aider-chat). Speaks the dialect of OpenAI's chat completions. Verified: 0.86.2.

It has no tools: its model gets the targets with each message, and answers with blocks that replace parts of them. The session is the file
of its chat, which it reads again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from pytest_recode.agents.command_line import MODEL, PROMPT_FILE, CommandLineAgent, Session
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.agents.installed_programs import PipProgram

CHAT = "chat.md"
_ALWAYS = (
    "--yes-always",
    "--no-git",
    "--no-gitignore",
    "--no-check-update",
    "--no-show-release-notes",
    "--no-show-model-warnings",
    "--analytics-disable",
    "--no-pretty",
    "--no-stream",
    "--no-detect-urls",
    "--no-suggest-shell-commands",
    "--no-auto-lint",
    "--map-tokens=0",
    "--edit-format=diff",
    "--max-chat-history-tokens=1000000",  # it would have its own summary of a history that the model can take
    f"--model=openai/{MODEL}",
)


def _first(session: Session) -> Sequence[str]:
    files = (f"--chat-history-file={session.state}/{CHAT}", f"--input-history-file={session.state}/input")
    prompt = f"--message-file={session.home}/{PROMPT_FILE}"
    return (session.executable, *_ALWAYS, *files, prompt, "--", *session.targets)


def _later(session: Session) -> Sequence[str]:
    executable, *rest = _first(session)
    return (executable, "--restore-chat-history", *rest)


def _env(session: Session) -> Mapping[str, str]:
    return {
        "HOME": session.state,
        "OPENAI_API_BASE": f"{session.url}/v1",
        "OPENAI_API_KEY": session.key,
        "AIDER_ANALYTICS": "false",
    }


PROGRAM = PipProgram(
    version="0.86.2",
    requirements=Path(__file__).with_name("aider-requirements.txt").read_text("utf-8"),
    pythons=((3, 11), (3, 12)),
    module="aider",
)

AGENT = CommandLineAgent(name="aider", source=PROGRAM, first=_first, later=_later, env=_env, session=(CHAT,))
KIND = kind_of(AGENT)
