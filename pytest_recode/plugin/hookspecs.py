"""Hook specifications. The project's own parts are registered by the same hooks (`defaults.py`).

A registering hook returns a mapping from names to objects, or to import paths (`"package.module:NAME"`), which are
imported only when a run chooses the name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_recode.agents import AgentKind
    from pytest_recode.episode import Turn
    from pytest_recode.feedback import PolicyKind
    from pytest_recode.formats import Format
    from pytest_recode.models import ModelKind
    from pytest_recode.records.record import Record
    from pytest_recode.sandboxes import SandboxKind


@pytest.hookspec
def pytest_recode_formats() -> Mapping[str, Format | str]:  # type: ignore[empty-body]
    """Task formats, by the name of the manifest file that claims a directory: `{"task.yaml": Format}`."""


@pytest.hookspec
def pytest_recode_sandboxes() -> Mapping[str, SandboxKind | str]:  # type: ignore[empty-body]
    """Sandboxes, by the name that `--recode-sandbox` takes."""


@pytest.hookspec
def pytest_recode_agents() -> Mapping[str, AgentKind | str]:  # type: ignore[empty-body]
    """Agents, by the name that `--recode-agent` takes."""


@pytest.hookspec
def pytest_recode_policies() -> Mapping[str, PolicyKind | str]:  # type: ignore[empty-body]
    """Feedback policies, by the name that `--recode-feedback` takes (before its colon)."""


@pytest.hookspec
def pytest_recode_models() -> Mapping[str, ModelKind | str]:  # type: ignore[empty-body]
    """Models, by the name that `--recode-model` takes, or by a prefix of it that ends in `/`; `*` is used for every other name."""


@pytest.hookspec
def pytest_recode_turn_finished(item: pytest.Item, turn: Turn) -> None:
    """A turn was judged. Called in the process that runs the item, before the next turn starts."""


@pytest.hookspec
def pytest_recode_episode_finished(config: pytest.Config, record: Record) -> None:
    """An episode ended, solved or not or by a fault; `record` is its line of results.jsonl (docs/reference/records.md).

    Called in the controlling process, after the line was written.
    """
