"""A person is asked by a file, and answers by one: from elsewhere, later, and for any number of episodes at once.

`<name>.request.md` says what there is to see. The answer is `<name>.yaml` beside it, in the form of a task's feedback.yaml. What is
wrong with it is said in `<name>.problem.txt` and waited for to be mended.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.feedback.person import Ask, Request, Words
from pytest_recode.records.run_directory import subdirectory, writing

POLL = 0.25
"""Seconds between two looks at the answer: nothing against what a person takes."""

Read = Callable[[Path, tuple[str, ...]], Words | None]
"""Reads an answer to these interfaces; None where there is none. Raises `UserError`: one line that says what to mend."""

REQUEST = """\
# {title}

The task: `{task}`

Answer in `{answer}`, beside this file; the run goes on once it is there and well formed. Of what is left out, what stands below is said;
`{{}}` leaves out everything. Words are words: code is for `correction`, and what repeats the reference or the hidden tests is cut.

## Verdict

{verdict}

## What the candidate changed

{difference}

## The answer, to be copied and mended

{form}
"""


def by_file(folder: Path, read: Read, tell: Callable[[str], None]) -> Ask:
    """`tell` says one line to whoever looks at the run."""

    def ask(request: Request) -> Words:
        answer = folder / f"{request.name}.yaml"
        problem = folder / f"{request.name}.problem.txt"
        subdirectory(folder)
        asked = folder / f"{request.name}.request.md"
        _write(asked, _asked(request, answer.name))
        if not answer.exists():
            tell(f"waiting for feedback in {answer}: what to answer is in {asked.name}")
        last = seen = None
        while True:
            now = _state(answer)
            if now is None or now == seen or now != last:  # not there, known, or still being written
                last = now
                time.sleep(POLL)
                continue
            seen = now
            try:
                found = read(answer, request.interfaces)
                wrong = _wrong(request, found or {})
            except UserError as error:
                found, wrong = None, str(error)
            if wrong:
                _write(problem, f"{wrong}\n")
                tell(f"{wrong} (the run waits until {answer} is mended)")
            elif found is not None:
                problem.unlink(missing_ok=True)
                return found

    return ask


def _wrong(request: Request, given: Words) -> str:
    for interface, fields in given.items():
        for field, text in fields.items():
            if problem := request.check(field, text):
                return f"{request.name}.yaml: {interface}.{field}: {problem}"
    return ""


def _asked(request: Request, answer: str) -> str:
    return REQUEST.format(
        title=request.title,
        task=request.task,
        answer=answer,
        verdict=_fenced(request.verdict, "text"),
        difference=_fenced(request.difference, "diff"),
        form=_fenced(_form(request), "yaml"),
    )


def _form(request: Request) -> str:
    lines = []
    for item in request.drafts:
        lines.append(f"{item.interface}:")
        for field in request.fields:
            draft = getattr(item, field)
            if field == "category":
                lines.append(f"  {field}: {draft or 'T2'}")
            elif draft.strip():
                lines += [f"  {field}: |2", *(f"    {line}".rstrip() for line in draft.strip("\n").split("\n"))]
    return "\n".join(lines)


def _fenced(text: str, language: str) -> str:
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _state(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _write(path: Path, text: str) -> None:
    """Whole or not at all: somebody may be looking."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        fresh.write_text(text, encoding="utf-8", errors="backslashreplace")
        fresh.replace(path)
