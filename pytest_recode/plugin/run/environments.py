"""--recode-env: the interpreters and images on this machine for the environments that benchmarks name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.task import Environment
from pytest_recode.wording import some_of

_MOST_TASKS = 6
_NEAR = 0.9
"""Minimum similarity of two names for a suggestion: RECODE-H has both test_151 and test_191."""
_PATH = re.compile(r"[/~.]|.*/bin/|(.*/)?python[\d.]*$")
"""Matches values that are intended as a path, whether or not it exists."""


def read(values: Iterable[str], option: str, base: Path) -> tuple[Environment, ...]:
    """One Environment for each name, with its interpreter, its image, or both. Raises `UserError`.

    Relative paths are relative to `base`.
    """
    environments: dict[str, Environment] = {}
    for value in values:
        name, sign, where = (part.strip() for part in value.partition("="))
        if not (name and sign and where):
            raise UserError(
                f"{option}={value} is not NAME=PATH-or-image: write the environment's name, =, and an interpreter or an image"
            )
        path = base / Path(where).expanduser()
        if path.is_dir():
            raise UserError(
                f"{option}={value}: is a directory; give the interpreter in it, {where.rstrip('/')}/bin/python"
            )
        local = path.is_file()
        if not local and _PATH.match(where):
            raise UserError(
                f"{option}={value}: there is no such file; give the path of an interpreter, or the name of a docker image"
            )
        known = environments.get(name, Environment(name=name))
        if known.python if local else known.image:
            kind = "an interpreter" if local else "an image"
            raise UserError(f"{option}={value}: {name} already has {kind}; give at most one of each")
        environments[name] = replace(known, python=str(path)) if local else replace(known, image=where)
    return tuple(environments.values())


def placed(environment: Environment, known: Iterable[Environment]) -> Environment:
    """The environment with the interpreter and image that --recode-env gives its name. Only the user names interpreters, because they are
    started outside of any sandbox."""
    own = next((each for each in known if environment.name and each.name == environment.name), None)
    if own is None:
        return replace(environment, python="")
    dockerfile = None if own.image else environment.dockerfile  # the user's image has priority
    return replace(environment, python=own.python, image=own.image or environment.image, dockerfile=dockerfile)


def check(
    tasks_of: Mapping[Environment, Sequence[str]], sandbox: str, needs: str, mapping: Iterable[Environment] = ()
) -> None:
    """Check that the sandbox can use every environment. `tasks_of`: the tasks of each environment; `sandbox`: its name, `needs`: what its kind needs of
    an environment ("interpreter", "image"; "": either).

    Raises `UserError` with every environment that has no interpreter or image for this sandbox, and the tasks that need it. The message also
    lists unused names of `mapping` (--recode-env), which are not an error by themselves, because ini files serve many runs.
    """
    from pytest_recode.sandboxes.interpreters import interpreter

    missing = []
    for environment, tasks in sorted(tasks_of.items(), key=lambda item: item[0].name):
        if environment.workdir and needs == "interpreter":
            raise UserError(
                f"{some_of(tasks, _MOST_TASKS)} {'needs' if len(tasks) == 1 else 'need'} the image of the task, and --recode-sandbox={sandbox}"
                " runs no images: use --recode-sandbox=docker, or choose other tasks with -k"
            )
        if not environment.name:
            continue
        image = environment.image or environment.dockerfile or environment.requirements
        has = {"image": image, "interpreter": environment.python}.get(needs, image or environment.python)
        if not has:
            missing.append((environment, tasks))
        elif needs == "interpreter":
            try:
                interpreter(environment.python)
            except UserError as error:
                why = str(error).partition("; give another")[0]
                raise UserError(f"{why}; give another with --recode-env={environment.name}=PATH") from None
    if missing:
        what = needs or "interpreter or image"
        place = {"image": "IMAGE", "interpreter": "PATH"}.get(needs, "PATH-or-image")
        needs = "; ".join(
            f"{environment.name}{_other(environment, sandbox, needs)} is needed by {some_of(tasks, _MOST_TASKS)}"
            for environment, tasks in missing
        )
        give = " ".join(f"--recode-env={environment.name}={place}" for environment, _ in missing)
        unused = _unused(
            {environment.name for environment in mapping} - {environment.name for environment in tasks_of},
            [environment.name for environment, _ in missing],
        )
        raise UserError(
            f"no {what} is given for {_counted(len(missing))}: {needs}.{unused} Give {give}, or choose other tasks with -k"
        )


def refuse_networks(tasks_of: Mapping[Environment, Sequence[str]]) -> None:
    """Raise `UserError` if a task asks for a network."""
    asking = [
        (task, environment.network) for environment, tasks in tasks_of.items() for task in tasks if environment.network
    ]
    if asking:
        kinds = " or ".join(sorted({network for _, network in asking}))
        raise UserError(
            f"{_number_of(asking)} for a network ({kinds}), and no sandbox has one: {some_of([task for task, _ in asking], _MOST_TASKS)}."
            " Give --recode-without-network to run them without it, which their records say, or choose other tasks with -k"
        )


def _number_of(asking: Sequence[object]) -> str:
    return "a task asks" if len(asking) == 1 else f"{len(asking)} tasks ask"


def unmet_requirements(tasks_of: Mapping[Environment, Sequence[str]], python: str) -> list[str]:
    """Lines on tasks whose requirements files list packages that the judging interpreter does not have, or cannot be read.

    A warning and not an error: `opencv-python-headless` satisfies a task that requires `opencv-python`. If an import of the tests or
    the reference fails, the task's own check reports it before the first model call.
    """
    from pytest_recode.sandboxes.interpreters import interpreter
    from pytest_recode.sandboxes.requirements import unmet

    described, unread = [], []
    for environment, tasks in tasks_of.items():
        if environment.requirements is None:
            continue
        try:
            unmet_versions = unmet(interpreter(environment.python or python), environment.requirements)
        except UserError as error:
            unread += [f"{task} ({error})" for task in tasks]
            continue
        packages = [f"{each}: {version or 'not installed'}" for each, version in unmet_versions]
        described += [f"{task} ({', '.join(packages)})" for task in tasks if packages]
    return [
        f"{what}: {some_of(tasks, _MOST_TASKS)}"
        for what, tasks in (
            ("installed packages differ from requirements.txt, so verdicts may differ", described),
            ("requirements.txt was not compared with the installed packages", unread),
        )
        if tasks
    ]


def _other(environment: Environment, sandbox: str, needs: str) -> str:
    """A note on an interpreter or image that this sandbox cannot use."""
    if environment.image and needs == "interpreter":
        return f" (the image {environment.image} is for --recode-sandbox=docker, and this run's is {sandbox})"
    if environment.python and needs == "image":
        return f" (the interpreter {environment.python} is for local sandboxes, and this run's is {sandbox})"
    return ""


def _unused(names: Collection[str], missing: Sequence[str]) -> str:
    """A sentence on unused names, which may be misspelled; likely ones come first."""
    near = {name: difflib.get_close_matches(name, missing, 1, _NEAR) for name in sorted(names)}
    listed = [
        f"{name} (did you mean {near[name][0]}?)" if near[name] else name
        for name in sorted(near, key=lambda name: not near[name])
    ]
    return f" No selected task uses {some_of(listed, _MOST_TASKS)}." if listed else ""


def _counted(number: int) -> str:
    return "an environment" if number == 1 else f"{number} environments"
