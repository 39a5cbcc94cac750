"""Read the parts of a task directory. Called when an item runs, never at collection."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.formats.directory import hidden_tests
from pytest_recode.formats.directory.interface_check import undefined
from pytest_recode.formats.document import fault, read, text_of
from pytest_recode.formats.fields import unknown, wrong
from pytest_recode.formats.files import files_below
from pytest_recode.formats.links import refuse_links
from pytest_recode.task import Parts

CATEGORIES = ("T0", "T1", "T2", "T3", "T4")
FIELDS = ("category", "description", "analysis", "suggestion", "correction")

_LARGEST_TEXT = 1024 * 1024


def is_test(name: str) -> bool:
    return name.startswith("test_") and name.endswith(".py")


def read_parts(root: Path, targets: tuple[str, ...], interfaces: tuple[str, ...], disk_mb: int) -> Parts:
    """Read everything below `root` that an episode uses. Raises `UserError`.

    `disk_mb` limits each of repo/, reference/ and tests/, in MiB, because each must fit into a sandbox with that much disk.
    """
    refuse_links(root, "instruction.md", "paper.md", "feedback.yaml", "reference", "tests", "repo")
    instruction = text_of(root / "instruction.md", most=_LARGEST_TEXT)
    if not instruction.strip():
        raise UserError(f"{root / 'instruction.md'}: is empty; write the agent's instruction in it")
    paper = root / "paper.md"
    reference = files_below(root / "reference", disk_mb)
    _only_targets(root, reference, targets)
    if missing := undefined(interfaces, targets, reference):
        number, what = missing
        document = read(root / "task.yaml", most=_LARGEST_TEXT)
        raise fault(document, ("interfaces", number), f"interfaces[{number}]: {what}")
    tests = files_below(root / "tests", disk_mb)
    for name in tests:
        if is_test(name.rpartition("/")[2]):
            break
    else:
        raise UserError(
            f"{root / 'tests'}: contains no test_*.py; put the hidden tests there, in files named test_*.py"
        )
    if problem := hidden_tests.problem(tests, interfaces):
        raise UserError(f"{root / 'tests'}: {problem}")
    return Parts(
        instruction=instruction,
        paper=text_of(paper, most=_LARGEST_TEXT) if paper.exists() else None,
        repo=files_below(root / "repo", disk_mb),
        reference=reference,
        tests=tests,
        feedback=read_feedback(root / "feedback.yaml", interfaces),
    )


def read_feedback(path: Path, interfaces: tuple[str, ...]) -> dict[str, Mapping[str, str]] | None:
    """Read the feedback that a task author wrote: interface -> field -> text. None if the file does not exist.

    Raises `UserError`.
    """
    if not path.exists():
        return None
    document = read(path, most=_LARGEST_TEXT)
    if not isinstance(document.data, dict):
        raise wrong(document, (), document.data, f"a mapping with the keys {', '.join(interfaces)}")
    words: dict[str, Mapping[str, str]] = {}
    for interface, fields in document.data.items():
        if interface not in interfaces:
            raise unknown(document, (interface,), interfaces)
        if not isinstance(fields, dict):
            raise wrong(document, (interface,), fields, f"a mapping with the keys {', '.join(FIELDS)}")
        for name, value in fields.items():
            at = (interface, name)
            if name not in FIELDS:
                raise unknown(document, at, FIELDS)
            if not isinstance(value, str):
                raise wrong(document, at, value, "text")
            if not value.strip():
                raise fault(document, at, f"{interface}.{name}: is empty; write text, or remove the key")
            if name == "category" and value not in CATEGORIES:
                raise fault(document, at, f"{interface}.{name}: must be one of {', '.join(CATEGORIES)}, not '{value}'")
            if "```" in value:
                step = "write only the code" if name == "correction" else "put code in 'correction'"
                raise fault(document, at, f"{interface}.{name}: must not contain a code fence (```); {step}")
        words[interface] = dict(fields)
    return words


def _only_targets(root: Path, reference: Mapping[str, bytes], targets: tuple[str, ...]) -> None:
    for target in targets:
        if target not in reference:
            raise UserError(
                f"{root / 'reference' / target}: no such file; put the authors' version of the target there"
            )
    for name in reference:
        if name not in targets:
            raise UserError(
                f"{root / 'reference' / name}: is not a target, so no candidate contains it;"
                f" remove it, or add it to 'targets' in {root / 'task.yaml'}"
            )
