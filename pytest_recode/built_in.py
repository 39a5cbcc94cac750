"""The names of the project's own agents and sandboxes, and where their kinds are. Imports none of them, nor pytest.

The plugin registers them by its hooks (`plugin/defaults.py`); the command `pytest-recode`, which has no plugins, looks them up here.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

AGENTS: Mapping[str, str] = {
    "recode": "pytest_recode.agents.recode:KIND",
    "recode-h": "pytest_recode.agents.recode_h:KIND",
    "one-shot": "pytest_recode.agents.one_shot:KIND",
    "reference": "pytest_recode.agents.reference:KIND",
    "noop": "pytest_recode.agents.noop:KIND",
    "person": "pytest_recode.agents.person:KIND",
}
SANDBOXES: Mapping[str, str] = {
    "docker": "pytest_recode.sandboxes.docker_:KIND",
    "bubblewrap": "pytest_recode.sandboxes.bubblewrap:KIND",
    "process": "pytest_recode.sandboxes.process:KIND",
}


def loaded(offers: Mapping[str, str]) -> dict[str, Any]:
    """The kinds of a table above, by name: `AgentKind` or `SandboxKind`."""
    found = {}
    for name, place in offers.items():
        module, _, attribute = place.partition(":")
        found[name] = getattr(importlib.import_module(module), attribute)
    return found
