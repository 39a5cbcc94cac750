"""Requirements of a task that the interpreter which judges it does not meet."""

from __future__ import annotations

import json
import time
from pathlib import Path

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import Program, Sandbox
from pytest_recode.sandboxes.requirements import wanted
from pytest_recode.task import Task

SECONDS = 30.0
_SOURCE = Path(__file__).parent.parent / "inside" / "package_versions.py"


def unmet(task: Task, sandbox: Sandbox) -> list[str]:
    """A line for each requirement in the task's requirements file whose package is missing or has another version.

    Asks the interpreter inside `sandbox`. Options of pip, addresses and requirements for other platforms are passed over.
    Raises `SandboxError`, `UserError`.
    """
    path = task.environment.requirements
    if path is None:
        return []
    asked = wanted(path)
    if not asked:
        return []
    installed = _versions(task, sandbox, [requirement.name for requirement in asked])
    found = []
    for requirement in asked:
        version = installed.get(requirement.name)
        if version is None:
            found.append(f"{path.name} asks for {requirement}, which is not installed where the task is judged")
        elif not requirement.specifier.contains(version, prereleases=True):
            found.append(f"{path.name} asks for {requirement}, but {version} is installed where the task is judged")
    return found


def _versions(task: Task, sandbox: Sandbox, names: list[str]) -> dict[str, str | None]:
    program = Program(
        name="package-versions",
        modules={"_recode_package_versions": _SOURCE.read_text("utf-8")},
        entry="_recode_package_versions",
    )
    connection = sandbox.launch(program, task.environment, task.limits)
    try:
        deadline = time.monotonic() + SECONDS
        connection.send(json.dumps(names).encode() + b"\n", deadline)
        answer = b""
        while not answer.endswith(b"\n"):
            data = connection.receive(65536, deadline)
            if not data:
                raise SandboxError("the sandbox ended before it told which packages are installed")
            answer += data
    except (TimeoutError, ConnectionError) as error:
        raise SandboxError(f"the sandbox did not tell which packages are installed: {error}") from error
    finally:
        connection.kill()
    versions: dict[str, str | None] = json.loads(answer)
    return versions
