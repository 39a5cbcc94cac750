"""The package mini-swe-agent, imported when it is first needed. Called by the agent of that name, in any thread of any process.

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
