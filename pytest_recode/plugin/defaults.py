"""The project's own formats, sandboxes, agents, policies and models, registered by the same hooks as those of plugins."""

from __future__ import annotations

import pytest


@pytest.hookimpl
def pytest_recode_formats() -> dict[str, str]:
    return {
        "task.yaml": "pytest_recode.formats.directory:FORMAT",
        "papers.yaml": "pytest_recode.formats.researchcodebench:FORMAT",
        "annotation_meta.jsonl": "pytest_recode.formats.recode_h:FORMAT",
    }


@pytest.hookimpl
def pytest_recode_sandboxes() -> dict[str, str]:
    from pytest_recode.built_in import SANDBOXES  # not imported in a session without tasks

    return dict(SANDBOXES)


@pytest.hookimpl
def pytest_recode_agents() -> dict[str, str]:
    from pytest_recode.built_in import AGENTS

    return dict(AGENTS)


@pytest.hookimpl
def pytest_recode_policies() -> dict[str, str]:
    return {
        **{f"L{level}": f"pytest_recode.feedback.policies:L{level}" for level in range(5)},
        "escalate": "pytest_recode.feedback.policies:ESCALATE",
        "adaptive": "pytest_recode.feedback.policies:ADAPTIVE",
        "none": "pytest_recode.feedback.policies:NONE",
    }


@pytest.hookimpl
def pytest_recode_models() -> dict[str, str]:
    return {
        **{
            f"sim/{skill}": f"pytest_recode.simulated.sim:{skill.upper()}" for skill in ("novice", "graduate", "expert")
        },
        "": "pytest_recode.gateway.client:KIND",
    }
