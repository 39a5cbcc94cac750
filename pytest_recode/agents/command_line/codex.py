"""`codex`: OpenAI's agent (@openai/codex). Speaks the dialect of OpenAI's Responses. Verified: 0.171.0."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from pytest_recode.agents.command_line import MODEL, CommandLineAgent, Session, naming_session
from pytest_recode.agents.command_line.program_player import kind_of
from pytest_recode.agents.installed_programs import NpmProgram
from pytest_recode.task import Files

CONFIG = """\
model = "{model}"
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
web_search = "disabled"
check_for_update_on_startup = false

[model_providers.gateway]
name = "gateway"
base_url = "{url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
request_max_retries = 2
stream_max_retries = 2
stream_idle_timeout_ms = 36000000

[analytics]
enabled = false

[otel]
exporter = "none"

[shell_environment_policy]
exclude = ["GATEWAY_KEY", "TMPDIR"]

[features]
plugins = false
apps = false
remote_plugin = false
multi_agent = false
goals = false
skill_search = false
"""
"""The workspace's sandbox is the isolation: Codex' own needs rights that a sandbox does not have."""
_ALWAYS = ("--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox")


def _files(session: Session) -> Files:
    return {"config.toml": CONFIG.format(model=MODEL, url=session.url).encode(), f"{_TEMPORARY}/.keep": b""}


_TEMPORARY = "tmp"


def _env(session: Session) -> Mapping[str, str]:
    """Codex gives its commands no program `apply_patch`, which its system prompt is about, if its home is below the directory for
    temporary files."""
    return {"CODEX_HOME": session.state, "GATEWAY_KEY": session.key, "TMPDIR": f"{session.state}/{_TEMPORARY}"}


PROGRAM = NpmProgram(
    version="0.171.0",
    packages={
        "x86_64": {
            "@openai/codex": (
                "0.171.0-linux-x64",
                "sha512-l66NZkQgdk2C3pbcfULDz42yEUB581MVA6I+Y43Wp4OIqEy73HCdmZ0GTjeAHY2ycuH4N00d9VsLrwT1jxshTw==",
            )
        }
    },
    executables={"x86_64": "node_modules/@openai/codex/vendor/x86_64-unknown-linux-musl/bin/codex"},
)

AGENT = CommandLineAgent(
    name="codex",
    source=PROGRAM,
    first=lambda session: (session.executable, "exec", *_ALWAYS, "-"),
    later=lambda session: (session.executable, "exec", "resume", *_ALWAYS, session.id, "-"),
    env=_env,
    files=_files,
    session=("sessions",),
    ended=partial(naming_session, "thread_id"),
)
KIND = kind_of(AGENT)
