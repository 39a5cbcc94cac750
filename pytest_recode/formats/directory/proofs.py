"""Read the `proofs/` of a task directory (docs/reference/task-format.md). Called only when a task is validated, or an answer previewed."""

from __future__ import annotations

import ast
import difflib
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.formats.document import At, Document, fault, read, text_of
from pytest_recode.formats.fields import Check, mapping, one_of, several, text, wrong
from pytest_recode.formats.files import entries_of, files_below, is_of_a_tool
from pytest_recode.task import Files, ProofPart, Proofs, WrongAnswer
from pytest_recode.wording import some_of

DIRECTORY = "proofs"
REQUIREMENT = "requirement.yaml"
EQUIVALENT = "equivalent.txt"

_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,59}")
_CASE = r"test_\w+"
_LARGEST = 1024 * 1024
_MOST_NAMES = 10
_SENTENCE_END = re.compile(r"(?<=[.!?]) ")
_NEAR = 0.6
"""The share of the words of a quotation that the nearest sentence has at least."""
_LONGEST_SENTENCE = 400
_KNOWN = ("right", "wrong", EQUIVALENT)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """`old`, which occurs once in the reference's `file`, becomes `new`."""

    file: str
    old: str
    new: str


def read_proofs(
    root: Path, targets: tuple[str, ...], interfaces: tuple[str, ...], disk_mb: int, part: ProofPart
) -> Proofs:
    """One part of the proofs of the task in `root`, empty if it has none. Raises `UserError`, with a line for each wrong answer at fault."""
    proofs = root / DIRECTORY
    if not proofs.exists():
        return Proofs()
    for entry in entries_of(str(proofs)):
        if entry.name not in _KNOWN and not is_of_a_tool(entry.name):
            raise UserError(
                f"{proofs / entry.name}: unknown file; proofs/ may contain {', '.join(_KNOWN[:-1])} and {_KNOWN[-1]}"
            )
    if part == "right":
        return Proofs(right={path.name: _answer(path, targets, disk_mb) for path in _directories(proofs / "right")})
    if part == "equivalent":
        return Proofs(equivalent=_equivalent(proofs / EQUIVALENT))
    stated, reference = _stated(root), root / "reference"
    answers: list[WrongAnswer] = []
    faults: list[str] = []  # all of them: after a change of the reference or the instruction there are often several
    for path in _directories(proofs / "wrong"):
        try:
            answers.append(_wrong(path, targets, interfaces, stated, reference, disk_mb))
        except UserError as error:
            faults.append(str(error))
    if faults:
        raise UserError("\n".join(faults))
    return Proofs(wrong=tuple(answers))


def read_answer(
    path: Path, root: Path, targets: tuple[str, ...], interfaces: tuple[str, ...], disk_mb: int, delivered: Files
) -> tuple[Files, WrongAnswer | None]:
    """The targets in the directory `path`, for the task in `root`; with a `requirement.yaml`, those of this wrong answer.

    Files of `delivered`, which an agent finds in its workspace, are ignored if they are unchanged. Raises `UserError`.
    """
    if not path.is_dir():
        what = "is a file" if path.exists() else f"no such directory{_advice(path, root)}"
        raise UserError(f"{path}: {what}; give a directory that contains the targets: {', '.join(targets)}")
    if not (path / REQUIREMENT).is_file():
        files = files_below(path, disk_mb)
        others = [name for name, data in files.items() if name not in targets and delivered.get(name) != data]
        if others and all(target in files for target in targets):
            raise UserError(
                f"{path}: contains files that are not targets and differ from the task's: {some_of(others, _MOST_NAMES)}; copy the targets"
                f" ({', '.join(targets)}) to a directory of their own, and give that one"
            )
        beside = tuple(name for name in files if name not in targets)
        return _answer(path, targets, disk_mb, beside), None
    wrong = _wrong(path, targets, interfaces, _stated(root), root / "reference", disk_mb)
    return wrong.targets, wrong


def _advice(path: Path, root: Path) -> str:
    """What to give instead of a directory that does not exist: the proof that was meant, or the proofs that there are."""
    proofs = sorted(str(each) for each in (root / DIRECTORY).glob("*/*") if each.is_dir())
    near = [str(root / path)] if (root / path).is_dir() else difflib.get_close_matches(str(path), proofs, 1, 0.9)
    if near:
        return f" (did you mean {near[0]}?)"
    return f"; the task's proofs are {some_of(proofs, 5)}" if proofs else ""


def _stated(root: Path) -> str:
    """The text of instruction and paper."""
    texts = (root / name for name in ("instruction.md", "paper.md"))
    return _squeezed("\n".join(text_of(path, most=_LARGEST) for path in texts if path.exists()))


def _directories(parent: Path) -> list[Path]:
    if not parent.exists():
        return []
    entries = [entry for entry in entries_of(str(parent)) if not is_of_a_tool(entry.name)]
    for entry in entries:
        if not entry.is_dir(follow_symlinks=False):
            raise UserError(f"{parent / entry.name}: must be a directory that contains the targets of one answer")
        if not _NAME.fullmatch(entry.name):
            raise UserError(
                f"{parent / entry.name}: the name must consist of lower-case letters, digits and '-', as in no-sign; rename the directory"
            )
    return sorted(parent / entry.name for entry in entries)


def _answer(path: Path, targets: tuple[str, ...], disk_mb: int, beside: tuple[str, ...] = ()) -> Files:
    """The targets in `path`. Raises `UserError` if one is missing, or if there is a file that is neither a target nor in `beside`."""
    files = {name: data for name, data in files_below(path, disk_mb).items() if name not in beside}
    for target in targets:
        if target not in files:
            raise UserError(f"{path / target}: no such file; an answer must contain every target: {', '.join(targets)}")
    for name in files:
        if name not in targets:
            raise UserError(f"{path / name}: is not a target; an answer may contain only: {', '.join(targets)}")
    return files


def _wrong(
    path: Path, targets: tuple[str, ...], interfaces: tuple[str, ...], stated: str, reference: Path, disk_mb: int
) -> WrongAnswer:
    document = read(path / REQUIREMENT, most=_LARGEST)
    fields = {
        "requirement": text(),
        "interface": one_of(*interfaces),
        "cases": several(text(_CASE, "the name of a test function, as in test_stops_early"), "test functions"),
        "changes": several(_change(targets), "changes of the reference", empty=False),
    }
    values = mapping(fields, required=("requirement", "interface"))(document, (), document.data)
    if _squeezed(values["requirement"]) not in stated:
        raise fault(
            document,
            ("requirement",),
            "requirement: must be a verbatim quotation from instruction.md or paper.md (line breaks are ignored); copy the sentence"
            + _nearest(values["requirement"], stated),
        )
    if "changes" not in values:
        answer = _answer(path, targets, disk_mb, (REQUIREMENT,))
    else:
        for name in files_below(path, disk_mb):
            if name != REQUIREMENT:
                raise UserError(
                    f"{path / name}: provide either the targets of the answer or `changes` of the reference; remove one of the two"
                )
        answer = _changed(reference, targets, document, values["changes"])
    for target, data in answer.items():
        if target.endswith(".py") and (wrong_syntax := _syntax_error(data)):
            after = " after `changes`" if "changes" in values else ""
            raise UserError(
                f"{path}: {target} is not valid Python{after} ({wrong_syntax}): every case fails for that, so it proves nothing about the"
                " requirement; correct it"
            )
    return WrongAnswer(
        name=path.name,
        targets=answer,
        requirement=values["requirement"],
        interface=values["interface"],
        cases=values.get("cases", ()),
    )


def _change(targets: tuple[str, ...]) -> Check:
    fields = mapping({"file": one_of(*targets), "old": _verbatim, "new": _verbatim}, required=("file", "old", "new"))
    return lambda document, at, value: _Change(**fields(document, at, value))


def _verbatim(document: Document, at: At, value: Any) -> str:
    if not isinstance(value, str):
        raise wrong(document, at, value, "text")
    return value


def _changed(reference: Path, targets: tuple[str, ...], document: Document, changes: tuple[_Change, ...]) -> Files:
    """The reference with `changes` applied in order."""
    texts = {target: text_of(reference / target, most=_LARGEST) for target in targets}
    for number, change in enumerate(changes):
        if change.new == change.old:
            raise fault(
                document, ("changes", number, "new"), "changes: `new` is the same as `old`; write what is wrong there"
            )
        if (times := texts[change.file].count(change.old)) != 1:
            if times:
                step = "add text before or after it, until it occurs once"
            elif _is_indented_otherwise(change.old, texts[change.file]):
                step = (
                    "with another indentation it does: write `old: |2` and `new: |2`, and begin each line two columns to the right of"
                    " the key, followed by its indentation in the file"
                )
            else:
                step = "copy the text from there again, with its indentation"
            raise fault(
                document,
                ("changes", number, "old"),
                f"changes: this text occurs {times} times in {reference.name}/{change.file}; {step}",
            )
        texts[change.file] = texts[change.file].replace(change.old, change.new)
    return {target: text.encode() for target, text in texts.items()}


def _syntax_error(code: bytes) -> str:
    """Line and reason; "" for valid Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except SyntaxError as error:
        return f"line {error.lineno}: {error.msg}"
    except ValueError as error:  # a null character
        return str(error)
    return ""


def _is_indented_otherwise(old: str, code: str) -> bool:
    """Whether `code` has the lines of `old` with another indentation."""
    wanted, lines = ([line.strip() for line in text.splitlines()] for text in (old, code))
    return any(wanted) and any(lines[at : at + len(wanted)] == wanted for at in range(len(lines)))


def _nearest(quotation: str, stated: str) -> str:
    """The end of a message, with the sentence of `stated` that has most words of `quotation`; "" if none has most of them."""
    tokens = quotation.split()
    best, most = "", max(1, round(_NEAR * len(tokens)))
    for sentence in _SENTENCE_END.split(stated):
        blocks = difflib.SequenceMatcher(None, sentence.split(), tokens, autojunk=False).get_matching_blocks()
        alike = sum(block.size for block in blocks)
        if alike > most or (alike == most and (not best or len(sentence) < len(best))):
            best, most = sentence, alike
    return f"; the nearest one is: {best}" if 0 < len(best) <= _LONGEST_SENTENCE else ""


def _equivalent(path: Path) -> Mapping[str, int]:
    if not path.exists():
        return {}
    lines: dict[str, int] = {}
    for number, line in enumerate(text_of(path, most=_LARGEST).splitlines(), 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        if name in lines:
            raise UserError(f"{path}:{number}: is also listed in line {lines[name]}; keep one")
        lines[name] = number
    return lines


def _squeezed(words: str) -> str:
    return " ".join(words.split())
