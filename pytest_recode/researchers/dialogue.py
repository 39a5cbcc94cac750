"""Ask a person for feedback in the terminal, field by field.

The answers for each interface are stored at once, in a file of the turn, until the whole turn is answered. If the run ends in
between, they are not requested again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_recode.episode import FeedbackItem
from pytest_recode.faults import UserError
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_answers import MEANINGS, WORDS
from pytest_recode.records.run_directory import replaced, subdirectory
from pytest_recode.researchers.human_researcher import FeedbackRequest, Words

HELP = """\
You are the researcher. For each field, write your text, in any number of lines, and end it with an empty line.
An empty line alone accepts the draft. Code of a correction ends with a line that is a single dot.
Ctrl-C ends the run; --recode-resume asks for the remaining fields."""

CATEGORIES = "The category is the kind of fault: the first in the order T1, T4, T0, T2, T3 that applies:"

MOST_DRAFT = 4000

Write = Callable[[str], None]
Read = Callable[[str], str]


def dialogue(request: FeedbackRequest, write: Write, read: Read, *, stored: Path, first: bool) -> Words:
    """Ask for the fields of a request. `read` shows its prompt and returns a line, or raises `EOFError` at the end of the input.
    `stored`: a file for the answers so far; `first`: this is the first request of the run.

    Raises `UserError` if the input ends, because there is then no feedback.
    """
    words: dict[str, Mapping[str, str]] = dict(_restored(stored, request))

    write(f"\n{'=' * 20} {request.title} {'=' * 20}\ntask: {request.task}")
    write(request.verdict)
    write(f"\n{request.difference}\n")
    write(HELP)
    if first:
        write("\n".join([CATEGORIES, *(f"  {name}  {meaning}" for name, meaning in MEANINGS.items())]))
    try:
        for number, item in enumerate(request.drafts, 1):
            head = f"\nInterface: {item.interface} ({number} of {len(request.drafts)})"
            if item.interface in words:
                write(f"{head}: answered before the run was interrupted")
                continue
            write(head)
            words[item.interface] = _fields(request, item, write, read)
            _store(stored, request, words)
    except EOFError:
        raise UserError(
            f"{request.name}: the input ended before the feedback was complete: "
            "continue with --recode-resume, or answer by files with --recode-feedback-from=files"
        ) from None
    stored.unlink(missing_ok=True)
    return words


def _fields(request: FeedbackRequest, item: FeedbackItem, write: Write, read: Read) -> dict[str, str]:
    words: dict[str, str] = {}
    for field in request.fields:
        draft = cut(getattr(item, field), MOST_DRAFT)
        if field != "category":  # on separate lines: a long prompt is not visible while typing
            write(f"draft of the {field}: {draft or '(none)'}")
        while text := _text(field, draft, read):
            words.pop(field, None)
            problem = request.check(field, text)
            if not problem:
                words[field] = text
                lost = request.lost(text) if field in WORDS else ""
                if not lost:
                    break
                problem = f"{lost}: write it differently, or accept it with an empty line"
            write(f"  {problem}")
    return words


def _text(field: str, draft: str, read: Read) -> str:
    if field == "category":
        return read(f"{field} [{draft}]: ").strip().upper()
    end = "." if field == "correction" else ""
    lines: list[str] = []
    line = read(f"{field}: ")
    if not line.strip():
        return ""
    while line.rstrip() != end:
        lines.append(line)
        line = read("  ... ")
    return "\n".join(lines)


def _restored(stored: Path, request: FeedbackRequest) -> Words:
    """The stored answers for exactly this turn, from before an interruption. Raises `UserError` if the file is damaged."""
    if not stored.exists():
        return {}
    try:
        found = json.loads(stored.read_text("utf-8"))
        words = {interface: dict(fields) for interface, fields in found["words"].items()}
        return words if found["turn"] == _turn(request) else {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(f"{stored}: is damaged ({type(error).__name__}: {error}): remove it to answer again") from None


def _store(stored: Path, request: FeedbackRequest, words: Words) -> None:
    subdirectory(stored.parent)
    replaced(stored, json.dumps({"turn": _turn(request), "words": words}))


def _turn(request: FeedbackRequest) -> str:
    """A digest that is equal only for the same turn: an episode that was started again has other code, and needs other feedback."""
    identity = (request.title, request.interfaces, request.difference, request.fields)
    return hashlib.sha256(json.dumps(identity).encode()).hexdigest()
