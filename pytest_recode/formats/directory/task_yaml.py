"""Turn a `task.yaml` into a Task. Called at collection and by `pytest-recode report`; reads no file but the manifest."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Set
from functools import cache, partial
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats import Format
from pytest_recode.formats.directory.measured import DATE, DATE_WORDS, blind_attempt
from pytest_recode.formats.directory.parts import is_test, read_parts
from pytest_recode.formats.document import At, Document, fault, read
from pytest_recode.formats.fields import mapping, number, one_of, several, text, whole, wrong
from pytest_recode.formats.files import IMPORTABLE, RELATIVE, entries_of, is_of_a_tool
from pytest_recode.formats.links import link_refused, refuse_links
from pytest_recode.program.interfaces import module_of
from pytest_recode.task import SECRET, Environment, Invariant, Limits, Oracle, Paper, ProofPart, Proofs, Task

MANIFEST = "task.yaml"
SCHEMA = 1
LARGEST = 64 * 1024

ID = r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}"
ID_WORDS = "at most 100 letters a-z or A-Z, digits, '_', '-' and '.', starting with a letter or digit"
WORD = r"[A-Za-z0-9][A-Za-z0-9_.-]*"
NAME = r"[^\W\d]\w*"
DOTTED = rf"{NAME}(?:\.{NAME})*"
CANARY = r"[!-~][ -~]{18,}[!-~]"
CANARY_WORDS = "at least 20 ASCII characters that occur nowhere else, such as recode-canary and a random UUID"

_DAY = 86_400


def load(path: Path) -> tuple[Task, ...]:
    """The Task of `path`, a `task.yaml`.

    Reads the manifest and checks which files exist; `Task.load` reads them. Raises `UserError`.
    """
    root = path.parent if path.is_absolute() else path.parent.absolute()
    refuse_links(root, path.name)
    document = read(path, most=LARGEST)
    values = _manifest()(document, (), document.data)
    targets: tuple[str, ...] = values["targets"]
    _refuse_repo_prefix(document, root, targets)
    modules = _modules(document, targets)
    interfaces = _interfaces(document, values.get("interfaces"), modules)
    limits = Limits(**values.get("limits", {}))
    if limits.test_seconds > limits.grading_seconds:
        raise fault(
            document,
            ("limits",),
            f"limits: test_seconds ({limits.test_seconds:g}, for each test) exceeds grading_seconds"
            f" ({limits.grading_seconds:g}, for all tests); lower test_seconds, or raise grading_seconds",
        )
    names = _look(document, root, targets)
    return (
        Task(
            id=values["id"],
            title=values["title"],
            format=FORMAT.name,
            manifest=path,
            targets=targets,
            interfaces=interfaces,
            load=partial(read_parts, root, targets, interfaces, limits.disk_mb),
            proofs={
                part: partial(_read_proofs, root, targets, interfaces, limits.disk_mb, part)
                for part in (_proof_parts(root) if "proofs" in names else ())
            },
            paper=Paper(**values.get("paper", {})),
            domain=values.get("domain", ""),
            tags=values.get("tags", ()),
            subsets=values.get("subsets", ()),
            difficulty=values.get("difficulty", ""),
            measured=values.get("measured", ()),
            environment=_environment(document, root, names, values.get("environment", {})),
            limits=limits,
            license=values.get("license", ""),
            canary=values.get("canary", ""),
            oracle=Oracle(**values.get("oracle", {})),
            invariants=values.get("invariants", ()),
        ),
    )


def _proof_parts(root: Path) -> Iterator[ProofPart]:
    """The parts of the proofs that have entries; reading any of them reports files that do not belong to `proofs/`."""
    yield "equivalent"
    for part in ("right", "wrong"):
        entries = root / "proofs" / part
        if entries.is_file() or (entries.is_dir() and not all(is_of_a_tool(each.name) for each in entries.iterdir())):
            yield part


def _read_proofs(
    root: Path, targets: tuple[str, ...], interfaces: tuple[str, ...], disk_mb: int, part: ProofPart
) -> Proofs:
    from pytest_recode.formats.directory.proofs import read_proofs  # only a validation reads them

    return read_proofs(root, targets, interfaces, disk_mb, part)


@cache
def _manifest() -> Callable[[Document, At, Any], dict[str, Any]]:
    path = "a path relative to the task directory, with / and without .."
    seconds = partial(number, _DAY, "seconds")
    line = text()
    return mapping(
        {
            "schema": _schema,
            "id": text(ID, f"text of {ID_WORDS}"),
            "title": line,
            "targets": several(
                text(RELATIVE, "a path relative to repo/, with / and without .."),
                "paths relative to repo/",
                empty=False,
            ),
            "interfaces": several(text(DOTTED, "a dotted name as in 'module.function'"), "dotted names", empty=False),
            "paper": mapping(
                {
                    "title": line,
                    "authors": several(line, "text"),
                    "year": whole(1600, 2200),
                    "arxiv": line,
                    "url": line,
                    "venue": line,
                    "date": text(DATE, DATE_WORDS),
                }
            ),
            "domain": text(WORD, "one word of letters a-z or A-Z, digits, '_', '-' and '.'"),
            "tags": several(text(WORD, "one word of letters a-z or A-Z, digits, '_', '-' and '.'"), "words"),
            "subsets": several(text(WORD, "one word of letters a-z or A-Z, digits, '_', '-' and '.'"), "words"),
            "difficulty": one_of("easy", "medium", "hard"),
            "measured": several(blind_attempt, "mappings with the keys solver, date, solved_at, unsolved_after, level"),
            "environment": mapping(
                {
                    "name": text(WORD, "one word of letters a-z or A-Z, digits, '_', '-' and '.'"),
                    "python": _no_interpreter,
                    "image": line,
                    "dockerfile": text(RELATIVE, path),
                    "requirements": text(RELATIVE, path),
                    "preload": several(text(DOTTED, "the dotted name of a module"), "module names"),
                }
            ),
            "limits": mapping(
                {
                    "test_seconds": seconds(),
                    "grading_seconds": seconds(),
                    "command_seconds": seconds(),
                    "episode_seconds": number(7 * _DAY, "seconds"),
                    "memory_mb": whole(32, 1024 * 1024, "MiB"),
                    "disk_mb": whole(1, 1024 * 1024, "MiB"),
                    "pids": whole(1, 65_536),
                }
            ),
            "oracle": mapping({"isolation": one_of("separate", "shared")}),
            "invariants": several(_invariant, "mappings with the keys of, holds"),
            "license": line,
            "canary": text(CANARY, CANARY_WORDS),
        },
        required=("schema", "id", "title", "targets"),
    )


def _schema(document: Document, at: At, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise wrong(document, at, value, f"the number {SCHEMA}")
    if value != SCHEMA:
        raise fault(
            document,
            at,
            f"schema: {value} is not supported by this version, which reads schema {SCHEMA};"
            f" write schema: {SCHEMA}, or install a newer pytest-recode",
        )
    return SCHEMA


def _invariant(document: Document, at: At, value: Any) -> Invariant:
    keys = {"of": text(DOTTED, "the dotted name of a class"), "holds": _expression}
    return Invariant(**mapping(keys, required=("of", "holds"))(document, at, value))


def _expression(document: Document, at: At, value: Any) -> str:
    expression: str = text()(document, at, value)
    try:
        compile(expression, "holds", "eval")
    except (SyntaxError, ValueError) as error:
        raise wrong(document, at, value, f"a Python expression about the object `self` ({error})") from None
    return expression


def _no_interpreter(document: Document, at: At, value: Any) -> str:
    """Reject `environment.python`: an interpreter is run outside any sandbox to locate its files, so only the user may name one."""
    raise fault(
        document,
        at,
        "environment.python: a task cannot choose a program to run on this machine; write environment.name: NAME instead,"
        " and pass the interpreter with --recode-env=NAME=PATH, or with --recode-python=PATH for all tasks",
    )


def _refuse_repo_prefix(document: Document, root: Path, targets: tuple[str, ...]) -> None:
    """Reject targets that are written relative to the task directory, unless the repository has a directory `repo`."""
    for index, target in enumerate(targets):
        if target.startswith("repo/") and not any((root / part / target).exists() for part in ("repo", "reference")):
            raise fault(
                document,
                ("targets", index),
                f"targets[{index}]: paths are relative to repo/; leave out 'repo/': {target.removeprefix('repo/')}",
            )


def _modules(document: Document, targets: tuple[str, ...]) -> tuple[str, ...]:
    """The dotted names of the targets that tests can import."""
    importable = [target for target in targets if IMPORTABLE.fullmatch(target)]
    if not importable:
        raise fault(
            document,
            ("targets",),
            "targets: none of them can be imported; name at least one Python file, as in 'package/module.py'",
        )
    return tuple(module_of(target) for target in importable)


def _interfaces(document: Document, names: tuple[str, ...] | None, modules: tuple[str, ...]) -> tuple[str, ...]:
    if names is None:
        return modules
    for index, name in enumerate(names):
        if not any(name == module or name.startswith(f"{module}.") for module in modules):
            raise fault(
                document,
                ("interfaces", index),
                f"interfaces[{index}]: '{name}' is not in a target; it must start with the module of a target:"
                f" {', '.join(modules)}",
            )
    return names


_PARTS = frozenset({"instruction.md", "paper.md", "feedback.yaml", "repo", "reference", "tests", "environment"})
_RUN_BY_PYTEST = frozenset({"conftest.py", "__init__.py"})

_NEEDED = {
    "instruction.md": "write the agent's instruction in it",
    "repo": "put the repository that the agent starts from there",
    "reference": "put the authors' version of each target there",
    "tests": "put the hidden tests there, in files named test_*.py",
}


def _look(document: Document, root: Path, targets: tuple[str, ...]) -> frozenset[str]:
    """The names in `root`. Raises `UserError` if a part that an episode needs is missing, before any model call is paid for."""
    entries = {entry.name: entry for entry in entries_of(str(root))}
    for name in _PARTS & entries.keys():
        if entries[name].is_symlink():
            raise link_refused(root / name)
    for name in sorted(_RUN_BY_PYTEST & entries.keys()):
        raise UserError(
            f"{root / name}: pytest would run this outside any sandbox; a task may have a conftest.py only in tests/, where it"
            " runs with the hidden tests. Remove it, or, if you wrote it, move it to a directory above the tasks"
        )
    for name, step in _NEEDED.items():
        is_file = name.endswith(".md")
        entry = entries.get(name)
        if entry is None:
            what = "file" if is_file else "directory"
            raise UserError(f"{root / name}: no such {what}, which {document.path.name} requires; {step}")
        if not (entry.is_file() if is_file else entry.is_dir()):
            raise UserError(f"{root / name}: must be a {'file' if is_file else 'directory'}; {step}")
    for index, target in enumerate(targets):
        if not os.path.isfile(f"{root}/reference/{target}"):  # noqa: PTH113  a third of the time of Path's
            refuse_links(root, f"reference/{target}")
            raise fault(
                document,
                ("targets", index),
                f"targets[{index}]: reference/{target} is missing; put the authors' {target} there",
            )
    if not _has_tests(f"{root}/tests"):
        raise UserError(f"{root / 'tests'}: contains no test_*.py; {_NEEDED['tests']}")
    return frozenset(entries)


def _has_tests(directory: str) -> bool:
    directories = []
    for entry in entries_of(directory):
        if entry.is_symlink():
            raise link_refused(Path(entry.path))
        if is_test(entry.name) and entry.is_file(follow_symlinks=False):
            return True
        if entry.is_dir(follow_symlinks=False):
            directories.append(entry.path)
    return any(map(_has_tests, directories))


def _environment(document: Document, root: Path, names: Set[str], entry: Mapping[str, Any]) -> Environment:
    if "image" in entry and "dockerfile" in entry:
        raise fault(
            document,
            ("environment", "dockerfile"),
            "environment: has both image and dockerfile; keep one",
        )
    files = {}
    for key, default in (("dockerfile", "Dockerfile"), ("requirements", "requirements.txt")):
        if key in entry:
            refuse_links(root, entry[key])
            files[key] = root / entry[key]
            if not files[key].is_file():
                raise fault(
                    document,
                    ("environment", key),
                    f"environment.{key}: no such file: {entry[key]} in the task directory; create it, or correct the path",
                )
        elif "environment" not in names or (key == "dockerfile" and "image" in entry):
            continue
        elif os.path.isfile(f"{root}/environment/{default}"):  # noqa: PTH113
            refuse_links(root, f"environment/{default}")
            files[key] = root / "environment" / default
        if key in files:
            _apart(document, ("environment", key) if key in entry else (), root, key, files[key])
    return Environment(
        name=entry.get("name", ""),
        image=entry.get("image", ""),
        dockerfile=files.get("dockerfile"),
        requirements=files.get("requirements"),
        preload=entry.get("preload", ()),
    )


def _apart(document: Document, at: At, root: Path, key: str, path: Path) -> None:
    """Raise `UserError` if building the environment would copy hidden files into an image that agents can read.

    Docker receives the whole directory of a Dockerfile.
    """
    place = path.parent.resolve() if key == "dockerfile" else path.resolve()
    hidden = [(root / name).resolve() for name in SECRET]
    if any(place.is_relative_to(each) for each in hidden) or (
        key == "dockerfile" and any(each.is_relative_to(place) and each.exists() for each in hidden)
    ):
        raise fault(
            document,
            at,
            f"environment.{key}: {path.relative_to(root)} is in a directory with {', '.join(SECRET[:-1])} or {SECRET[-1]},"
            " which would be copied into the image; move it to environment/",
        )


FORMAT = Format(name="directory", manifest=MANIFEST, load=load, single=True)
