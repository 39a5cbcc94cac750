"""The package mini-swe-agent, imported when it is first needed, and the messages of its conversations. Called by the agent of that name, in any thread of any process.

Must not change the environment, write into the user's home or print, all of which the import does on its own.
"""

from __future__ import annotations

import importlib
import os
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError, raised
from pytest_recode.models import Message, ToolCall
from pytest_recode.records.checkpoint import typed_field

VERSIONS = ">=2.4.6,<3"
INSTALL = "pip install 'pytest-recode[mini-swe-agent]'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """What is used of the package: its agent, exceptions, the two ways to read an answer, and the contents of its configuration files."""

    agent: Any
    exceptions: Any
    toolcall: Any
    text: Any
    with_tools: Mapping[str, Any]
    without_tools: Mapping[str, Any]
    template: Any  # jinja2's class
    strict: Any  # and its undefined value


def message_of(message: Mapping[str, Any]) -> Message:
    """A message of the library's conversation."""
    calls = tuple(
        ToolCall(id=call["id"], name=call["function"]["name"], arguments=call["function"]["arguments"])
        for call in message.get("tool_calls", ())
    )
    return Message(
        role=message["role"],
        content=message["content"],
        tool_calls=calls,
        tool_call_id=message.get("tool_call_id", ""),
        opaque=message.get("extra", {}).get("opaque", ""),
    )


def check_message(message: Mapping[str, Any]) -> None:
    """Raise `LookupError` or `TypeError` for what is no message of the library's conversation."""
    typed_field(message, "role", str), typed_field(message, "content", str)
    for call in typed_field(message, "tool_calls", list) if "tool_calls" in message else ():
        message_of({"role": "", "content": "", "tool_calls": [call]})


def stored_message(message: Mapping[str, Any]) -> dict[str, Any]:
    """The part of a message that a later request needs."""
    opaque = message.get("extra", {}).get("opaque", "")
    kept = {name: value for name, value in message.items() if name != "extra"}
    return {**kept, "extra": {"opaque": opaque}} if opaque else kept


_IMPORTING = threading.Lock()


def library() -> Library:
    """The package, in any thread. Raises `UserError` if it is not installed, in another version, or cannot be imported."""
    with _IMPORTING:
        return _imported()


@cache
def _imported() -> Library:
    import yaml
    from packaging.specifiers import SpecifierSet

    try:
        version = metadata.version("mini-swe-agent")
    except metadata.PackageNotFoundError:
        raise UserError(f"--recode-agent=mini-swe-agent needs an extra: {INSTALL}, or choose another agent") from None
    if version not in SpecifierSet(VERSIONS):
        raise UserError(
            f"--recode-agent=mini-swe-agent needs mini-swe-agent{VERSIONS}, and {version} is installed: {INSTALL}"
        )
    try:
        with _untouched():
            modules = [
                importlib.import_module(f"minisweagent{name}")
                for name in (
                    "",
                    ".agents.default",
                    ".exceptions",
                    ".models.utils.actions_toolcall",
                    ".models.utils.actions_text",
                )
            ]
            jinja2 = importlib.import_module("jinja2")
    except (ImportError, ValueError) as error:  # the second for a number in its environment variables that is none
        raise UserError(
            f"--recode-agent=mini-swe-agent: its package cannot be imported ({raised(error)}): {INSTALL}"
        ) from error
    package, agent, exceptions, toolcall, text = modules
    configuration = Path(package.package_dir) / "config"
    with_tools, without_tools = (
        yaml.safe_load((configuration / name).read_text("utf-8")) for name in ("mini.yaml", "mini_textbased.yaml")
    )
    return Library(
        agent=agent.DefaultAgent,
        exceptions=exceptions,
        toolcall=toolcall,
        text=text,
        with_tools=with_tools,
        without_tools=without_tools,
        template=jinja2.Template,
        strict=jinja2.StrictUndefined,
    )


@contextmanager
def _untouched() -> Iterator[None]:
    """For the import, which else prints a banner, makes a directory in the user's home, and loads a file there into the environment."""
    with tempfile.TemporaryDirectory() as empty:
        before = dict(os.environ)
        os.environ.update(MSWEA_SILENT_STARTUP="1", MSWEA_GLOBAL_CONFIG_DIR=empty)
        try:
            yield
        finally:
            for name in ("MSWEA_SILENT_STARTUP", "MSWEA_GLOBAL_CONFIG_DIR"):
                os.environ.pop(name)
                if name in before:
                    os.environ[name] = before[name]
