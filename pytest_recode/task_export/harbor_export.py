"""A task as a Harbor task directory: https://harborframework.com/docs/task-format.

The verifier is separate: its container has the hidden tests and the reference, and gets only the targets. The container of the agent is
built from `environment/`, which has what a Brief has.
"""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_recode import VERSION
from pytest_recode.faults import UserError
from pytest_recode.harbor_layout import (
    CONFIG,
    DOCKERFILE,
    ENVIRONMENT,
    INSTRUCTION,
    SCHEMA_VERSION,
    SOLUTION,
    SOLUTION_PLACE,
    SOLVE_SCRIPT,
    TEST_SCRIPT,
    TESTS,
    TESTS_PLACE,
    VERIFIER_LOGS,
)
from pytest_recode.task import INSTRUCTION_FILE, PAPER_FILE, Brief, Parts, Task, brief, brief_files, digest
from pytest_recode.task_export.carried_modules import carried_modules
from pytest_recode.task_export.pins import pins
from pytest_recode.verifier import stored_task

WORK = "/app"
"""Where the agent finds the repository."""
ORGANISATION = "pytest-recode"
_STORED, _JUDGE = "task", "judge"
_NAME = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9._-]*")
_AGENT_MB = 4096  # programs of agents need more than the code that they write
_VERIFIER_MB = 1024  # for the verifier, beside grader and candidate
_START_SECONDS = 300.0
_TARGETS = "targets"


@dataclass(frozen=True, slots=True, kw_only=True)
class BaseImage:
    """The image that both containers are built from. `complete`: it has all requirements, so that nothing is installed."""

    name: str
    complete: bool


def base_image(task: Task, image: str) -> BaseImage:
    """`image`, if it is not "", that of the task, or the official one of this interpreter's version. Raises `UserError`."""
    environment = task.environment
    if image:
        return BaseImage(name=image, complete=True)
    if environment.dockerfile is not None or (environment.name and not environment.image):
        what = f"a Dockerfile of its own ({environment.dockerfile})" if environment.dockerfile else environment.name
        raise UserError(f"task {task.id}: its environment is {what}: build it, and give the image with --image")
    python = "{}.{}".format(*sys.version_info)
    return BaseImage(name=environment.image or f"python:{python}-slim", complete=False)


def refusal(task: Task) -> str:
    """Why a task cannot be exported; "" if it can."""
    if task.fault:
        return task.fault
    if task.oracle.isolation != "separate":
        return "its tests import the answer into their own process (judging: shared), which could read and change them there"
    if not _NAME.fullmatch(task.id) or ".." in task.id:
        return "its id is no name of Harbor: letters, digits, hyphens, underscores and dots"
    return ""


def files(task: Task, parts: Parts, image: BaseImage) -> dict[str, bytes]:
    """All files of the directory, by path. Equal tasks have equal files. Raises `UserError`."""
    fingerprint = digest(parts)
    shown = brief(task, parts)
    installs = "" if image.complete else _install(pins(task.environment.requirements))
    mark = f"# {task.canary}\n" if task.canary else ""
    texts = {
        CONFIG: mark + _config(task, fingerprint),
        INSTRUCTION: _instruction(shown),
        f"{ENVIRONMENT}/{DOCKERFILE}": f"{mark}FROM {image.name}\n{installs}COPY app {WORK}\nWORKDIR {WORK}\n",
        f"{SOLUTION}/{SOLVE_SCRIPT}": _solve(task, mark),
        f"{TESTS}/{DOCKERFILE}": (
            f"{mark}FROM {image.name}\n{installs}USER root\nCOPY . {TESTS_PLACE}\n"
            f"RUN chmod -R go= {TESTS_PLACE} && chmod +x {TESTS_PLACE}/{TEST_SCRIPT} && mkdir -p {VERIFIER_LOGS}\nWORKDIR /\n"
        ),
        f"{TESTS}/{TEST_SCRIPT}": (
            f"#!/bin/sh\n{mark}# Judges the targets in {WORK}: pytest_recode/verifier/__main__.py\n"
            f'cd / && exec env -i PATH="$PATH" PYTHONPATH={TESTS_PLACE}/{_JUDGE} python3 -s -P -B -m pytest_recode.verifier'
            f" {TESTS_PLACE}/{_STORED} {WORK} {VERIFIER_LOGS}\n"
        ),
    }
    contents: dict[str, bytes] = {path: text.encode() for path, text in texts.items()}
    below: dict[str, Mapping[str, bytes]] = {
        f"{ENVIRONMENT}/app": {**shown.repo, **brief_files(shown)},
        f"{SOLUTION}/{_TARGETS}": {path: data for path, data in parts.reference.items() if path in task.targets},
        f"{TESTS}/{_STORED}": stored_task.stored(task, parts, fingerprint=fingerprint),
        f"{TESTS}/{_JUDGE}": carried_modules(),
    }
    for place, content in below.items():
        contents.update({f"{place}/{path}": data for path, data in content.items()})
    return dict(sorted(contents.items()))


def _config(task: Task, fingerprint: str) -> str:
    limits, paper = task.limits, task.paper
    metadata = {
        "title": task.title,
        "domain": task.domain,
        "difficulty": task.difficulty,
        "license": task.license,
        "paper": paper.title,
        "paper_authors": list(paper.authors),
        "paper_year": paper.year,
        "paper_url": paper.url,
        "interfaces": list(task.interfaces),
        "canary": task.canary,
        "fingerprint": fingerprint,
        "exported_by": f"pytest-recode {VERSION}",
    }
    tables: dict[str, Mapping[str, Any]] = {
        "": {"schema_version": SCHEMA_VERSION, "artifacts": [f"{WORK}/{path}" for path in task.targets]},
        "task": {
            "name": f"{ORGANISATION}/{task.id}",
            "version": f"1.0.0+{fingerprint[:12]}",
            "description": task.title,
            "keywords": [*dict.fromkeys([*filter(None, [task.domain, task.difficulty]), *task.tags])],
        },
        "metadata": metadata,
        # Agents are installed with a network, and then work without one, but for the addresses of their model
        "environment": {"network_mode": "public", "memory_mb": max(_AGENT_MB, limits.memory_mb)},
        "agent": {"timeout_sec": limits.episode_seconds, "network_mode": "no-network"},
        "verifier": {
            "timeout_sec": 2 * limits.grading_seconds + _START_SECONDS,
            "environment_mode": "separate",
            "user": "root",  # so that the answer's code can run as another user
        },
        "verifier.environment": {
            "network_mode": "no-network",
            "memory_mb": 2 * limits.memory_mb + _VERIFIER_MB,
        },
    }
    return "\n".join(_table(name, values) for name, values in tables.items())


def _table(name: str, values: Mapping[str, Any]) -> str:
    """A table of TOML. Strings and lists of JSON are strings and arrays of TOML, but for one character."""
    lines = [f"[{name}]"] if name else []
    for key, value in values.items():
        if value not in ("", None, []):
            lines.append(f"{key} = {json.dumps(value, ensure_ascii=False)}".replace("\x7f", "\\u007f"))
    return "".join(f"{line}\n" for line in lines)


def _instruction(shown: Brief) -> str:
    targets = " and ".join(f"`{WORK}/{path}`" for path in shown.targets)
    several = len(shown.targets) > 1
    texts = brief_files(shown)
    paper = f", and the paper is `{WORK}/{PAPER_FILE}`" if PAPER_FILE in texts else ""
    again = f" This text is also `{WORK}/{INSTRUCTION_FILE}`." if INSTRUCTION_FILE in texts else ""
    return (
        f"{shown.instruction.rstrip()}\n\n## Where to work\n\n"
        f"The repository is in `{WORK}`{paper}.{again} Write {targets}. Only {'these files are' if several else 'this file is'} taken:"
        f" hidden tests call {'them' if several else 'it'} in another container, in the original repository. There is no network.\n"
    )


def _solve(task: Task, mark: str) -> str:
    lines = []
    for path in task.targets:
        directory = path.rpartition("/")[0]
        lines.append(f"mkdir -p {shlex.quote(f'{WORK}/{directory}')}" if directory else "")
        lines.append(f"cp {shlex.quote(f'{SOLUTION_PLACE}/{_TARGETS}/{path}')} {shlex.quote(f'{WORK}/{path}')}")
    return f"#!/bin/sh\n{mark}# Writes the reference's targets\nset -eu\n" + "".join(
        f"{line}\n" for line in lines if line
    )


def _install(pinned: tuple[str, ...]) -> str:
    return f"RUN python3 -m pip install --no-cache-dir {' '.join(pinned)}\n"
