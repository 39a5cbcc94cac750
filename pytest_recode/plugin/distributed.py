"""With pytest-xdist: the controller checks the run once and tells its workers what it decided."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest

from pytest_recode.plugin import RUN, options, run_of

OURS = re.compile(r"(::|/)(episode|validate)\[")
"""The controller collects nothing itself: it knows items by their ids."""


def pytest_xdist_setupnodes(config: pytest.Config) -> None:
    """Controller: what the user named on the command line is checked before any worker starts."""
    if config.getoption("recode_model") and not config.option.collectonly:
        run_of(config).check_models()


def pytest_configure_node(node: Any) -> None:
    """Controller: name the run and its directory to a worker."""
    if options.given(node.config):
        run = run_of(node.config)
        node.workerinput["recode_run"] = run.id
        node.workerinput["recode_out"] = str(run.out)


def pytest_xdist_node_collection_finished(node: Any, ids: Sequence[str]) -> None:
    """Controller: the first worker has collected. Nothing has been spent yet."""
    config: pytest.Config = node.config
    ours = sum(bool(OURS.search(nodeid)) for nodeid in ids)
    if RUN in config.stash and ours:
        config.stash[RUN].expected = ours
        config.stash[RUN].prepare()
