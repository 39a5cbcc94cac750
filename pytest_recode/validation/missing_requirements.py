"""Find requirements of a task that are not installed in the environment that judges it."""

from __future__ import annotations

import json
import time

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import Sandbox
from pytest_recode.sandboxes.requirements import requirements_in
from pytest_recode.sandboxes.shipping import program
from pytest_recode.task import Task

SECONDS = 30.0


def unmet(task: Task, sandbox: Sandbox) -> list[str]:
    """A line for each requirement in the task's requirements file whose package is missing or has another version.

    Runs the interpreter in `sandbox`. Options of pip, URLs and requirements for other platforms are ignored.
    Raises `SandboxError`, `UserError`.
    """
    path = task.environment.requirements
    if path is None:
        return []
    requirements = requirements_in(path)
    if not requirements:
        return []
    installed = _versions(task, sandbox, [requirement.name for requirement in requirements])
    lines = []
    for requirement in requirements:
        version = installed.get(requirement.name)
        if version is None:
            lines.append(f"{path.name} asks for {requirement}, which is not installed where the task is judged")
        elif not requirement.specifier.contains(version, prereleases=True):
            lines.append(f"{path.name} asks for {requirement}, but {version} is installed where the task is judged")
    return lines


def _versions(task: Task, sandbox: Sandbox, names: list[str]) -> dict[str, str | None]:
    versions_program = program("package-versions", "probes.package_versions")
    connection = sandbox.launch(versions_program, task.environment, task.limits)
    try:
        deadline = time.monotonic() + SECONDS
        connection.send(json.dumps(names).encode() + b"\n", deadline)
        answer = b""
        while not answer.endswith(b"\n"):
            data = connection.receive(65536, deadline)
            if not data:
                raise SandboxError("the sandbox ended before it reported the installed packages")
            answer += data
    except (TimeoutError, ConnectionError) as error:
        raise SandboxError(f"the sandbox did not report the installed packages: {error}") from error
    finally:
        connection.kill()
    versions: dict[str, str | None] = json.loads(answer)
    return versions
