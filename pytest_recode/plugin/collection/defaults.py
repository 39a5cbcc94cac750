"""The parts that are installed, registered by the same hooks as those of plugins and `conftest.py`."""

from __future__ import annotations

import pytest


@pytest.hookimpl
def pytest_recode_formats() -> dict[str, str]:
    return _places("formats")


@pytest.hookimpl
def pytest_recode_sandboxes() -> dict[str, str]:
    return _places("sandboxes")


@pytest.hookimpl
def pytest_recode_agents() -> dict[str, str]:
    return _places("agents")


@pytest.hookimpl
def pytest_recode_policies() -> dict[str, str]:
    return _places("policies")


@pytest.hookimpl
def pytest_recode_models() -> dict[str, str]:
    return _places("models")


def _places(kind: str) -> dict[str, str]:
    from pytest_recode.registered import places

    return places(kind)
