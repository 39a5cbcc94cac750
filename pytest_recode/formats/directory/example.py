"""Write the example of a task: small, complete and valid, for an author to change.

Its files are in `new_task/`, each with `.txt` behind its name, so that no tool takes them for code of this package or for a task of this project.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from pathlib import Path

import yaml

from pytest_recode.faults import UserError
from pytest_recode.formats.directory.task_yaml import ID, ID_WORDS, MANIFEST

_FILES = Path(__file__).with_name("new_task")
_NAMED = "id: moments\n"
_CANARY = "recode-canary CANARY-UUID"


def write(task: Path) -> list[str]:
    """Write the example to the new directory `task`, with its name as the id, and a new canary. Returns the paths of the files within it.

    Raises `UserError` for a name that cannot be an id, an existing path, a directory within a task, and one that cannot be written.
    """
    name = task_id(task)
    files = {}
    canary = new_canary()
    for path in sorted(_FILES.rglob("*.txt")):
        text = path.read_text("utf-8").replace(_CANARY, canary)
        if path.name == "task.yaml.txt":
            text = text.replace(_NAMED, f"id: {as_yaml(name)}\n")
        files[str(path.relative_to(_FILES).with_suffix(""))] = text
    write_files(task, files)
    return list(files)


def new_canary() -> str:
    """A text that occurs nowhere else, for `canary` of a new task."""
    return f"recode-canary {uuid.uuid4()}"


def task_id(task: Path) -> str:
    """The id of a task in the new directory `task`: its name. Raises `UserError` for one that cannot be an id, and within another task."""
    name = task.resolve().name
    if not re.fullmatch(ID, name):
        raise UserError(f"{task}: its last part becomes the task's id, which is {ID_WORDS}")
    above = next((each for each in task.resolve().parents if (each / MANIFEST).is_file()), None)
    if above:
        raise UserError(
            f"{task}: is within the task {above}, whose files are not searched for further tasks: give a directory outside of it,"
            f" such as {above.parent / name}"
        )
    return name


def write_files(task: Path, files: Mapping[str, str]) -> None:
    """Write texts by path to the new directory `task`. Raises `UserError` for an existing path, and one that cannot be written."""
    try:
        task.mkdir(parents=True)
        for place, text in files.items():
            (task / place).parent.mkdir(parents=True, exist_ok=True)
            (task / place).write_text(text, "utf-8")
    except FileExistsError:
        raise UserError(f"{task}: exists already; name a directory that does not") from None
    except OSError as error:
        raise UserError(f"{task}: cannot be written ({error.strerror})") from None


def as_yaml(name: str) -> str:
    """A name as YAML text: in quotes if it would be a number, a date or a truth value without them."""
    return name if yaml.safe_load(name) == name else f'"{name}"'
