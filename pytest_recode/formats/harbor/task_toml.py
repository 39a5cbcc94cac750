"""Turn a Harbor task directory into a Task. Reads it in place and executes nothing in it.

Called at collection: reads `task.toml` and the Dockerfile, and checks which files exist; `Task.load` reads the others.
"""

from __future__ import annotations

import posixpath
import re
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recode import harbor_layout as layout
from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.document import text_of
from pytest_recode.formats.files import files_below
from pytest_recode.formats.harbor.config import NO_NETWORK, EnvironmentConfig, TaskConfig, read_config
from pytest_recode.formats.links import refuse_links
from pytest_recode.task import WHOLE, Environment, Limits, Oracle, Parts, Task, Verifier

MOST_DISK, DISK, MEMORY = 4096, 1024, 4096  # MiB
PIDS = 512
_ROOT = ("root", "0", 0)
MOST_COMMAND_SECONDS = 600.0
_LARGEST = 1 << 20
_WORDS = re.compile(r"[^\w.-]+")
_INSTRUCTION = re.compile(r"^[ \t]*(FROM|WORKDIR)[ \t]+(.+?)[ \t]*$", re.IGNORECASE | re.MULTILINE)


def load(path: Path) -> tuple[Task, ...]:
    """The Task of a `task.toml`; none if it is another tool's. Raises `UserError` if the file cannot be read.

    A task that cannot run here is one with a fault, so that the others can.
    """
    root = path.parent if path.is_absolute() else path.parent.absolute()
    name = root.name
    try:
        config = read_config(path)
        if config is None:
            return ()
        return (_task(path, root, config),)
    except UserError as error:
        if not path.is_file():
            raise
        return (unreadable(FORMAT.name, path, name, str(error)),)


def _task(path: Path, root: Path, config: TaskConfig) -> Task:
    for name in ("docker-compose.yaml", "docker-compose.yml"):
        if (root / layout.ENVIRONMENT / name).exists():
            raise UserError(
                f"{root / layout.ENVIRONMENT / name}: the task needs several containers, and a sandbox is one; choose other tasks"
            )
    if (root / "trajectory.json").exists():
        raise UserError(
            f"{root / 'trajectory.json'}: the task begins in the middle of a conversation, which is not supported; choose other tasks"
        )
    for part, step in (
        (layout.INSTRUCTION, "an agent is told what to do there"),
        (f"{layout.TESTS}/{layout.TEST_SCRIPT}", "it judges the answer"),
    ):
        refuse_links(root, part)
        if not (root / part).is_file():
            raise UserError(f"{root / part}: no such file; {step}")
    environment = _environment(root / layout.ENVIRONMENT, config.environment, "environment", config)
    targets = _targets(config, environment.workdir)
    limits = _limits(config)
    return Task(
        id=root.name,
        title=config.description or config.name or root.name,
        format=FORMAT.name,
        manifest=path,
        targets=targets,
        interfaces=(),
        load=partial(_parts, root),
        reference=partial(_solution, root),
        domain=_word(config.metadata.get("category")),
        tags=tuple(dict.fromkeys(filter(None, map(_word, [*_listed(config.metadata.get("tags")), *config.keywords])))),
        difficulty=_word(config.metadata.get("difficulty")),
        environment=environment,
        limits=limits,
        oracle=Oracle(isolation="verifier", verifier=_verifier(root, config, environment)),
        facts=_facts(config, environment, targets),
    )


def _environment(folder: Path, config: EnvironmentConfig, section: str, task: TaskConfig) -> Environment:
    """The image, from `docker_image` or else from the Dockerfile in `folder`, and its working directory."""
    dockerfile = folder / layout.DOCKERFILE
    has_file = dockerfile.is_file()
    if not config.image and not has_file:
        raise UserError(f"{dockerfile}: no such file, and [{section}] names no docker_image; one of the two is needed")
    workdir = config.workdir or (_workdir(dockerfile) if has_file else "")
    if not workdir.startswith("/") or posixpath.normpath(workdir) == "/":
        raise UserError(
            f"{task.path}: the working directory of the agent is not known, or is /: neither [{section}] workdir nor a WORKDIR in"
            f" {layout.ENVIRONMENT}/{layout.DOCKERFILE} names it; choose other tasks"
        )
    networks = {task.agent_network, task.verifier_network} - {NO_NETWORK}
    return Environment(
        image=config.image,
        dockerfile=None if config.image else dockerfile,
        workdir=posixpath.normpath(workdir),
        variables=config.variables,
        network=min(networks, default=""),
    )


def _workdir(dockerfile: Path) -> str:
    """The working directory that a Dockerfile sets in its last stage; "" if it sets none, or one that depends on variables."""
    refuse_links(dockerfile.parent, dockerfile.name)
    workdir = ""
    for instruction, value in _INSTRUCTION.findall(text_of(dockerfile, most=_LARGEST)):
        path = value.strip("\"'")
        workdir = "" if instruction.upper() == "FROM" else posixpath.join(workdir or "/", path)
    return "" if "$" in workdir else workdir


def _targets(config: TaskConfig, workdir: str) -> tuple[str, ...]:
    """The files that a verifier of its own gets, or the whole working directory: Harbor's default verifier sees everything that the agent left."""
    if not config.separate:
        return (WHOLE,)
    targets = []
    for source in config.artifacts:
        path = posixpath.normpath(posixpath.join(workdir, source))
        if path != workdir and not path.startswith(f"{workdir}/"):
            raise UserError(
                f"{config.path}: artifacts: {source} is outside {workdir}, the only directory that leaves a workspace; choose other tasks"
            )
        targets.append(WHOLE if path == workdir else path[len(workdir) + 1 :])
    if not targets:
        raise UserError(
            f"{config.path}: artifacts: names no file, so that the verifier's own container would get only /logs/artifacts, which is outside {workdir};"
            " choose other tasks"
        )
    return tuple(dict.fromkeys(targets))


def _verifier(root: Path, config: TaskConfig, environment: Environment) -> Verifier:
    own = config.verifier_environment or (EnvironmentConfig() if config.separate else None)
    tests = root / layout.TESTS
    judged_in, uploads, cwd = None, True, environment.workdir
    if own is not None and (own.image or (tests / layout.DOCKERFILE).is_file()):
        dockerfile = tests / layout.DOCKERFILE
        has_file = dockerfile.is_file()
        uploads = False  # its image has the tests
        cwd = own.workdir or (_workdir(dockerfile) if has_file else "") or "/"
        judged_in = Environment(
            image=own.image,
            dockerfile=None if own.image else dockerfile,
            workdir=environment.workdir,
            variables=own.variables,
            root=config.users.get("verifier") in _ROOT,
        )
    elif own is not None and own.variables:
        judged_in = Environment(
            image=environment.image,
            dockerfile=environment.dockerfile,
            workdir=environment.workdir,
            variables=own.variables,
        )
    return Verifier(
        tests=layout.TESTS_PLACE,
        script=layout.TEST_SCRIPT,
        logs=layout.VERIFIER_LOGS,
        solution=layout.SOLUTION_PLACE,
        solve=layout.SOLVE_SCRIPT,
        cwd=cwd,
        variables=config.verifier_variables,
        solve_variables=config.solution_variables,
        environment=judged_in,
        uploads=uploads,
        memory_mb=own.memory_mb if own is not None else None,
    )


def _limits(config: TaskConfig) -> Limits:
    agent = config.agent_seconds or 0.0
    return Limits(
        test_seconds=config.verifier_seconds,
        grading_seconds=config.verifier_seconds,
        command_seconds=min(max(agent, Limits().command_seconds), MOST_COMMAND_SECONDS),
        episode_seconds=max(agent, Limits().episode_seconds),
        memory_mb=config.environment.memory_mb or MEMORY,
        disk_mb=min(config.environment.storage_mb or DISK, MOST_DISK),
        pids=PIDS,
    )


def _facts(config: TaskConfig, environment: Environment, targets: tuple[str, ...]) -> dict[str, Any]:
    declared = "declared" if config.separate else f"none: what changes in {environment.workdir}"
    facts: dict[str, Any] = {
        "targets": declared,
        "verifier": "separate" if config.separate else "shared",
        "agent_network": config.agent_network,
        "verifier_network": config.verifier_network,
    }
    if config.name:
        facts["name"] = config.name
    if config.version:
        facts["version"] = config.version
    facts |= {f"{role}_user": user for role, user in config.users.items()}
    if config.agent_seconds is not None:
        facts["agent_seconds"] = config.agent_seconds
    other_keys = config.environment.other_keys
    facts |= {f"asked_{key}": value for key, value in other_keys.items() if isinstance(value, str | int | float)}
    return facts


def _parts(root: Path) -> Parts:
    return Parts(
        instruction=text_of(root / layout.INSTRUCTION, most=_LARGEST),
        paper=None,
        repo={},
        reference=_solution(root),
        tests=files_below(root / layout.TESTS, MOST_DISK),
    )


def _solution(root: Path) -> dict[str, bytes]:
    """The files of `solution/`, which are no targets: a script makes these."""
    folder = root / layout.SOLUTION
    return files_below(folder, MOST_DISK) if folder.is_dir() else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str:
    return _WORDS.sub("-", str(value)).strip("-") if isinstance(value, str | int | float) else ""


def claims(manifest: Path) -> bool:
    """Whether a `task.toml` is Harbor's. One that cannot be read is, so that its error is reported."""
    try:
        return read_config(manifest) is not None
    except UserError:
        return True


def owns(manifest: Path, directory: Path) -> bool:
    """Whether a directory is part of the task: pytest must not run its tests as ordinary ones."""
    parts = {layout.ENVIRONMENT, layout.TESTS, layout.SOLUTION, layout.STEPS}
    return directory.relative_to(manifest.parent).parts[0] in parts and claims(manifest)


FORMAT = Format(name="harbor", manifest=layout.CONFIG, load=load, owns=owns, single=True, data_set=True, claims=claims)
