"""--recode-env: which interpreter or image an environment, as a benchmark calls it, is on this machine."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.task import Environment

_MOST_TASKS = 6
_NEAR = 0.9
"""How like each other names are of which one may be meant for the other: RECODE-H has both test_151 and test_191."""
_PATH = re.compile(r"[/~.]|.*/bin/|(.*/)?python[\d.]*$")
"""What is meant to be a path, whether or not it leads anywhere."""


def read(values: Iterable[str], option: str, base: Path) -> tuple[Environment, ...]:
    """One Environment for each name, with its interpreter, its image, or both. Raises `UserError`.

    `base` is what a relative path counts from.
    """
    found: dict[str, Environment] = {}
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
        known = found.get(name, Environment(name=name))
        if known.python if local else known.image:
            kind = "an interpreter" if local else "an image"
            raise UserError(f"{option}={value}: {name} has {kind} already; give one of each at most")
        found[name] = replace(known, python=str(path)) if local else replace(known, image=where)
    return tuple(found.values())


def placed(environment: Environment, known: Iterable[Environment]) -> Environment:
    """With what --recode-env says of its name. An interpreter is named by the user alone: it is started outside of any sandbox."""
    own = next((each for each in known if environment.name and each.name == environment.name), None)
    if own is None:
        return replace(environment, python="")
    dockerfile = None if own.image else environment.dockerfile  # the user's word comes first
    return replace(environment, python=own.python, image=own.image or environment.image, dockerfile=dockerfile)


def check(wanted: Mapping[Environment, Sequence[str]], sandbox: str, given: Iterable[Environment] = ()) -> None:
    """`wanted`: the tasks of each environment; `sandbox`: the name of one of the project's own, "" for another.

    Raises `UserError` naming every environment that this sandbox has nothing to run in, and the tasks that need it. It says
    which of those that were `given` (--recode-env) nothing uses: alone that is no fault, as ini files are for many runs.
    """
    from pytest_recode.sandboxes.interpreters import interpreter

    missing = []
    for environment, tasks in sorted(wanted.items(), key=lambda item: item[0].name):
        if not environment.name:
            continue
        image = environment.image or environment.dockerfile or environment.requirements
        has = {"docker": image, "": image or environment.python}.get(sandbox, environment.python)
        if not has:
            missing.append((environment, tasks))
        elif sandbox not in ("", "docker"):
            try:
                interpreter(environment.python)
            except UserError as error:
                why = str(error).partition("; give another")[0]
                raise UserError(f"{why}; give another with --recode-env={environment.name}=PATH") from None
    if missing:
        what = {"docker": "image", "": "interpreter or image"}.get(sandbox, "interpreter")
        place = {"docker": "IMAGE", "": "PATH-or-image"}.get(sandbox, "PATH")
        told = "; ".join(f"{each.name}{_other(each, sandbox)} is needed by {_listed(tasks)}" for each, tasks in missing)
        give = " ".join(f"--recode-env={each.name}={place}" for each, _ in missing)
        idle = _idle({each.name for each in given} - {each.name for each in wanted}, [each.name for each, _ in missing])
        raise UserError(
            f"no {what} is named for {_counted(len(missing))}: {told}.{idle} Give {give}, or choose other tasks with -k"
        )


def unmet_requirements(wanted: Mapping[Environment, Sequence[str]], python: str) -> str:
    """One line on tasks whose requirements files ask for what the judging interpreter does not have; "" if there are none.

    A warning and no fault: `opencv-python-headless` serves a task that asks for `opencv-python`. What the tests or the reference
    import and do not find is a fault, and each task's own check finds it before a model is asked.
    """
    from pytest_recode.sandboxes.interpreters import interpreter
    from pytest_recode.sandboxes.requirements import unmet

    described = []
    for environment, tasks in wanted.items():
        if environment.requirements is None:
            continue
        found = unmet(interpreter(environment.python or python), environment.requirements)
        packages = [f"{each}: {version or 'not installed'}" for each, version in found]
        described += [f"{task} ({', '.join(packages)})" for task in tasks if packages]
    if not described:
        return ""
    return f"requirements.txt asks for other packages than are installed, and verdicts may differ: {_listed(described)}"


def _other(environment: Environment, sandbox: str) -> str:
    """What it has, and this sandbox has no use for."""
    if environment.image and sandbox not in ("", "docker"):
        return f" (the image {environment.image} is for --recode-sandbox=docker, and this run's is {sandbox})"
    if environment.python and sandbox == "docker":
        return f" (the interpreter {environment.python} is for local sandboxes, and this run's is docker)"
    return ""


def _idle(names: Collection[str], missing: Sequence[str]) -> str:
    """A sentence on names that nothing uses, which may be slips of the pen; the likely ones come first."""
    near = {name: difflib.get_close_matches(name, missing, 1, _NEAR) for name in sorted(names)}
    told = [
        f"{name} (did you mean {near[name][0]}?)" if near[name] else name
        for name in sorted(near, key=lambda name: not near[name])
    ]
    return f" No chosen task uses {_listed(told)}." if told else ""


def _counted(number: int) -> str:
    return "an environment" if number == 1 else f"{number} environments"


def _listed(tasks: Sequence[str]) -> str:
    shown = ", ".join(tasks[:_MOST_TASKS])
    return shown if len(tasks) <= _MOST_TASKS else f"{shown} and {len(tasks) - _MOST_TASKS} more"
