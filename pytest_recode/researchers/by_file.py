"""Ask a person for feedback through files, so that they can answer later, elsewhere, and for several episodes at once.

`<name>.request.md` shows the failed turn. The answer is `<name>.yaml` next to it, in the format of a task's feedback.yaml. If the answer
is invalid, `<name>.problem.txt` says why, and the run waits until it is corrected.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.records.run_directory import subdirectory, writing
from pytest_recode.researchers.human_researcher import Ask, FeedbackRequest, Words

POLL = 0.25
"""Seconds between two checks for an answer."""

Read = Callable[[Path, tuple[str, ...]], Words | None]
"""Reads an answer for these interfaces; None if there is none. Raises a `UserError` with one line that says what to correct."""

REQUEST = """\
# {title}

The task: `{task}`

Write your answer to `{answer}`, next to this file. The run continues when the file exists and is valid. A field that you omit keeps
the draft below; `{{}}` keeps all drafts. Put code only in `correction`. Passages that repeat the reference or the hidden tests are cut.

## Verdict

{verdict}

## What the candidate changed

{difference}

## Draft of the answer, to copy and edit

{form}
"""


def by_file(folder: Path, read: Read, notify: Callable[[str], None]) -> Ask:
    """Ask by files in `folder`. `notify` shows one line to the user."""

    def ask(request: FeedbackRequest) -> Words:
        answer = folder / f"{request.name}.yaml"
        problem = folder / f"{request.name}.problem.txt"
        subdirectory(folder)
        request_file = folder / f"{request.name}.request.md"
        _write(request_file, _request_text(request, answer.name))
        if not answer.exists():
            notify(f"waiting for feedback in {answer}: see {request_file.name} for what to write")
        last = seen = None
        while True:
            now = _state(answer)
            if now is None or now == seen or now != last:  # missing, already read, or still being written
                last = now
                time.sleep(POLL)
                continue
            seen = now
            try:
                words = read(answer, request.interfaces)
                wrong = _wrong(request, words or {})
            except UserError as error:
                words, wrong = None, str(error)
            if wrong:
                _write(problem, f"{wrong}\n")
                notify(f"{wrong} (the run waits until you correct {answer})")
            elif words is not None:
                problem.unlink(missing_ok=True)
                return words

    return ask


def _wrong(request: FeedbackRequest, words: Words) -> str:
    for interface, fields in words.items():
        for field, text in fields.items():
            if problem := request.check(field, text):
                return f"{request.name}.yaml: {interface}.{field}: {problem}"
    return ""


def _request_text(request: FeedbackRequest, answer: str) -> str:
    return REQUEST.format(
        title=request.title,
        task=request.task,
        answer=answer,
        verdict=_fenced(request.verdict, "text"),
        difference=_fenced(request.difference, "diff"),
        form=_fenced(_form(request), "yaml"),
    )


def _form(request: FeedbackRequest) -> str:
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
        status = path.stat()
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _write(path: Path, text: str) -> None:
    """Write a file atomically, because somebody may be reading it."""
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with writing(path):
        fresh.write_text(text, encoding="utf-8", errors="backslashreplace")
        fresh.replace(path)
