"""Turn a Harbor task directory into a Task. Reads it in place and executes nothing in it.

Called at collection: reads `task.toml` and the Dockerfile, and checks which files exist; `Task.load` reads the others.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pytest_recode import harbor_layout as layout
from pytest_recode.faults import UserError
from pytest_recode.formats import Format, unreadable
from pytest_recode.formats.document import text_of
from pytest_recode.formats.files import files_below
from pytest_recode.formats.harbor.config import document, read_config
from pytest_recode.formats.harbor.task_config import NO_NETWORK, EnvironmentConfig, StepConfig, TaskConfig
from pytest_recode.formats.links import refuse_links
from pytest_recode.inside.workspace.image_files import OUTSIDE
from pytest_recode.task import WHOLE, Environment, Limits, Oracle, Parts, Task, TaskStep, Verifier

MOST_DISK, DISK, MEMORY = 4096, 1024, 4096  # MiB
PIDS = 512
_ROOT = ("root", "0", 0)
MOST_COMMAND_SECONDS = 600.0
_SETUP = "setup.sh"
_ARTIFACTS = "/logs/artifacts"
_OF_SYSTEM = frozenset(
    f"/{name}"
    for name in [
        "bin",
        "boot",
        "dev",
        "etc",
        "home",
        "lib",
        "lib64",
        "logs",
        "opt",
        "root",
        "run",
        "sbin",
        "tmp",
        "usr",
        "var",
    ]
)
_UNWRITABLE = ("/dev/", "/proc", "/sys", layout.TESTS_PLACE, layout.VERIFIER_LOGS)
_CANARY = re.compile(r"\A(?:[ \t]*(?:<!--.*canary.*-->|#.*canary.*)[ \t]*\n)+\s*?(?=\S|\Z)", re.IGNORECASE)
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
    steps = [root / layout.STEPS / step.name for step in config.steps]
    for folder in (root / layout.ENVIRONMENT, root / layout.TESTS, *(place / layout.TESTS for place in steps)):
        for name in ("docker-compose.yaml", "docker-compose.yml"):
            if (folder / name).exists():
                raise UserError(
                    f"{folder / name}: the task needs several containers, and a sandbox is one; choose other tasks"
                )
    for place in (root, *steps):
        if (place / "trajectory.json").exists():
            raise UserError(
                f"{place / 'trajectory.json'}: the task begins in the middle of a conversation, which is not supported; choose other tasks"
            )
    for place in steps or [root]:
        _must_have(place, layout.INSTRUCTION, "an agent is told what to do there")
        if not (place != root and (root / layout.TESTS / layout.TEST_SCRIPT).is_file()):
            _must_have(place, f"{layout.TESTS}/{layout.TEST_SCRIPT}", "it judges the answer")
    parts = [step.task for step in config.steps] or [config]
    environment = _environment(root / layout.ENVIRONMENT, config.environment, "environment", config)
    networks = {network for part in parts for network in (part.agent_network, part.verifier_network)} - {NO_NETWORK}
    outside = dict.fromkeys(path for part in parts for path in _outside(part, environment.workdir))
    environment = replace(environment, network=min(networks, default=""), outside=tuple(outside))
    built = tuple(_step(root, step, config, environment) for step in config.steps)
    targets = tuple(dict.fromkeys(path for part in parts for path in _targets(part, environment)))
    first = [(config.verifier_environment, root / layout.TESTS)]
    return Task(
        id=root.name,
        title=config.description or config.name or root.name,
        format=FORMAT.name,
        manifest=path,
        targets=(WHOLE,) if WHOLE in targets else targets,
        interfaces=(),
        load=partial(_whole, root, built) if built else partial(_parts, root),
        reference=partial(_whole_solution, root, built) if built else partial(_solution, root),
        domain=_word(config.metadata.get("category")),
        tags=tuple(dict.fromkeys(filter(None, map(_word, [*_listed(config.metadata.get("tags")), *config.keywords])))),
        difficulty=_word(config.metadata.get("difficulty")),
        environment=environment,
        limits=_limits(config, parts),
        oracle=Oracle(
            isolation="verifier",
            verifier=built[0].verifier if built else _verifier(config, environment, first),
            steps=built,
            last_decides=config.last_decides,
        ),
        facts=_facts(config, environment),
    )


def _must_have(root: Path, part: str, purpose: str) -> None:
    refuse_links(root, part)
    if not (root / part).is_file():
        raise UserError(f"{root / part}: no such file; {purpose}")


def _step(root: Path, step: StepConfig, config: TaskConfig, environment: Environment) -> TaskStep:
    place = root / layout.STEPS / step.name
    files = place / "workdir"
    tests = [(step.verifier_environment, place / layout.TESTS), (config.verifier_environment, root / layout.TESTS)]
    return TaskStep(
        name=step.name,
        load=partial(_parts_of_step, root, place),
        files=partial(_below, files),
        setup=_SETUP if (files / _SETUP).is_file() else "",
        targets=_targets(step.task, environment),
        verifier=_verifier(step.task, environment, tests),
        test_seconds=step.task.verifier_seconds,
        least=step.least,
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
    return Environment(
        image=config.image,
        dockerfile=None if config.image else dockerfile,
        workdir=posixpath.normpath(workdir),
        variables=config.variables,
    )


def _workdir(dockerfile: Path) -> str:
    """The working directory that a Dockerfile sets in its last stage; "" if it sets none, or one that depends on variables."""
    refuse_links(dockerfile.parent, dockerfile.name)
    workdir = ""
    for instruction, value in _INSTRUCTION.findall(text_of(dockerfile, most=_LARGEST)):
        path = value.strip("\"'")
        workdir = "" if instruction.upper() == "FROM" else posixpath.join(workdir or "/", path)
    return "" if "$" in workdir else workdir


def _targets(config: TaskConfig, environment: Environment) -> tuple[str, ...]:
    """The files that a verifier of its own gets, or the whole working directory: Harbor's default verifier sees everything that the agent left."""
    if not config.separate:
        return (WHOLE,)
    workdir = environment.workdir
    paths = [posixpath.normpath(posixpath.join(workdir, source)) for source in config.artifacts]
    below = [WHOLE if path == workdir else path[len(workdir) + 1 :] for path in paths if _is_below(path, workdir)]
    return tuple(dict.fromkeys((*below, *(f"{OUTSIDE}{path}" for path in _outside(config, workdir)))))


def _outside(config: TaskConfig, workdir: str) -> tuple[str, ...]:
    """The artifacts that are not in the working directory. Where none is named, there is the directory that Harbor always takes."""
    if not config.separate:
        return ()
    paths = [posixpath.normpath(posixpath.join(workdir, source)) for source in config.artifacts or (_ARTIFACTS,)]
    for path in paths:
        above = _is_below(workdir, path) and path != workdir
        if above or path in _OF_SYSTEM or path.startswith(_UNWRITABLE):
            raise UserError(
                f"{config.path}: artifacts: {path} cannot leave a workspace, because it has files of the system; choose other tasks"
            )
    return tuple(dict.fromkeys(path for path in paths if not _is_below(path, workdir)))


def _is_below(path: str, directory: str) -> bool:
    return f"{path}/".startswith(f"{directory.rstrip('/')}/")


def _verifier(
    config: TaskConfig, environment: Environment, candidates: Sequence[tuple[EnvironmentConfig | None, Path]]
) -> Verifier:
    """`candidates`: environments of the verifier with the folders that may have their Dockerfile, the first choice first."""
    own = next((named for named, _ in candidates if named is not None), EnvironmentConfig())
    judged_in, uploads, cwd = None, True, environment.workdir
    for named, folder in candidates if config.separate else ():
        image, dockerfile = named.image if named is not None else "", folder / layout.DOCKERFILE
        if not image and not dockerfile.is_file():
            continue
        uploads = False  # its image has the tests
        cwd = own.workdir or (_workdir(dockerfile) if dockerfile.is_file() else "") or "/"
        judged_in = Environment(
            image=image,
            dockerfile=None if image else dockerfile,
            workdir=environment.workdir,
            outside=environment.outside,
            variables=own.variables,
            root=config.users.get("verifier") in _ROOT,
        )
        break
    if config.separate and judged_in is None and own.variables:
        judged_in = replace(environment, variables=own.variables, network="")
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
        separate=config.separate,
        memory_mb=own.memory_mb if config.separate else None,
    )


def _limits(config: TaskConfig, parts: Sequence[TaskConfig]) -> Limits:
    """`parts`: the steps, or the task itself."""
    agent = [part.agent_seconds or 0.0 for part in parts]
    return Limits(
        test_seconds=parts[0].verifier_seconds,
        grading_seconds=max(part.verifier_seconds for part in parts),
        command_seconds=min(max(*agent, Limits().command_seconds), MOST_COMMAND_SECONDS),
        episode_seconds=max(sum(agent), Limits().episode_seconds),
        memory_mb=config.environment.memory_mb or MEMORY,
        disk_mb=min(config.environment.storage_mb or DISK, MOST_DISK),
        pids=PIDS,
    )


def _facts(config: TaskConfig, environment: Environment) -> dict[str, Any]:
    optional = {
        "name": config.name,
        "version": config.version,
        "agent_seconds": config.agent_seconds,
        "steps": [step.name for step in config.steps],
        "reward": ("final" if config.last_decides else "mean") if config.steps else "",
        **{f"{role}_user": user for role, user in config.users.items()},
    }
    asked = {f"asked_{key}": value for key, value in config.environment.other_keys.items()}
    return {
        "targets": "declared" if config.separate else f"none: what changes in {environment.workdir}",
        "verifier": "separate" if config.separate else "shared",
        "agent_network": config.agent_network,
        "verifier_network": config.verifier_network,
        **{key: value for key, value in optional.items() if value not in ("", None, [])},
        **{key: value for key, value in asked.items() if isinstance(value, str | int | float)},
    }


def _parts(root: Path) -> Parts:
    return Parts(
        instruction=_instruction(root),
        paper=None,
        repo={},
        reference=_solution(root),
        tests=files_below(root / layout.TESTS, MOST_DISK),
    )


def _parts_of_step(root: Path, place: Path) -> Parts:
    """A step has the tests that all have, and its own over them; a solution of its own, or else that of all."""
    own = place if (place / layout.SOLUTION).is_dir() else root
    tests = {**_below(root / layout.TESTS), **_below(place / layout.TESTS)}
    return Parts(instruction=_instruction(place), paper=None, repo={}, reference=_solution(own), tests=tests)


def _whole(root: Path, steps: Sequence[TaskStep]) -> Parts:
    """What an episode begins with, and all of the steps by their names, because an episode depends on it."""
    parts = [step.load() for step in steps]
    later = {f"{layout.STEPS}/{path}": data for path, data in _below(root / layout.STEPS).items()}
    return replace(parts[0], tests={**later, **parts[0].tests}, reference=_whole_solution(root, steps))


def _whole_solution(root: Path, steps: Sequence[TaskStep]) -> dict[str, bytes]:
    own = {
        f"{layout.STEPS}/{step.name}/{path}": data for step in steps[1:] for path, data in step.load().reference.items()
    }
    return {**own, **steps[0].load().reference}


def _instruction(place: Path) -> str:
    """The instruction without the lines with a canary that it begins with, as Harbor gives it to agents."""
    text = text_of(place / layout.INSTRUCTION, most=_LARGEST)
    return _CANARY.sub("", text)


def _solution(root: Path) -> dict[str, bytes]:
    """The files of `solution/`, which are no targets: a script makes these."""
    return _below(root / layout.SOLUTION)


def _below(folder: Path) -> dict[str, bytes]:
    return files_below(folder, MOST_DISK) if folder.is_dir() else {}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _word(value: Any) -> str:
    return _WORDS.sub("-", str(value)).strip("-") if isinstance(value, str | int | float) else ""


def claims(manifest: Path) -> bool:
    """Whether a `task.toml` is Harbor's. One that cannot be read is, so that its error is reported."""
    try:
        return document(manifest) is not None
    except UserError:
        return True


def owns(manifest: Path, directory: Path) -> bool:
    """Whether a directory is part of the task: pytest must not run its tests as ordinary ones."""
    parts = {layout.ENVIRONMENT, layout.TESTS, layout.SOLUTION, layout.STEPS}
    return directory.relative_to(manifest.parent).parts[0] in parts and claims(manifest)


FORMAT = Format(name="harbor", manifest=layout.CONFIG, load=load, owns=owns, single=True, data_set=True, claims=claims)
