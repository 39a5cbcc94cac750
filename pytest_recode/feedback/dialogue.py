"""A person is asked in the terminal, field by field.

What was said of an interface is kept at once, in a file of the turn, until the whole turn is answered: whatever ends the run in
between, that is not asked again.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Callable, Mapping
from pathlib import Path

from pytest_recode.episode import FeedbackItem
from pytest_recode.faults import UserError
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.model_answers import MEANINGS, WORDS
from pytest_recode.feedback.person import Request, Words
from pytest_recode.records.run_directory import replaced, subdirectory

HELP = """\
You are the researcher. For each field: your words, as many lines as you like, then an empty line; an empty line alone takes the draft.
Code of a correction ends with a line that is a single dot. Ctrl-C ends the run; --recode-resume asks for what is left."""

CATEGORIES = "The category is the kind of fault; the first that fits of T1, T4, T0, T2, T3:"

MOST_DRAFT = 4000

Say = Callable[[str], None]
Read = Callable[[str], str]


def dialogue(request: Request, say: Say, read: Read, *, kept: Path, width: int, first: bool) -> Words:
    """`read` shows its prompt and gives a line; raises `EOFError` where there are no more. `kept`: a file for what was said so far;
    `width` of the terminal, in characters; `first`: nobody has been asked in this run before.

    Raises `UserError` where the input ends: what nobody said is no feedback.
    """
    words: dict[str, Mapping[str, str]] = dict(_said(kept, request))

    def tell(text: str) -> None:
        say("\n".join(_folded(line, width) for line in text.split("\n")))

    say(f"\n{'=' * 20} {request.title} {'=' * 20}\ntask: {request.task}")
    tell(request.verdict)
    say(f"\n{request.difference}\n")
    tell(HELP)
    if first:
        tell("\n".join([CATEGORIES, *(f"  {name}  {meaning}" for name, meaning in MEANINGS.items())]))
    try:
        for number, item in enumerate(request.drafts, 1):
            head = f"\nInterface: {item.interface} ({number} of {len(request.drafts)})"
            if item.interface in words:
                tell(f"{head}: answered before the run was ended")
                continue
            tell(head)
            words[item.interface] = _fields(request, item, tell, say, read)
            _keep(kept, request, words)
    except EOFError:
        raise UserError(
            f"{request.name}: the input ended before the feedback was whole: "
            "go on with --recode-resume, or answer by files with --recode-feedback-from=files"
        ) from None
    kept.unlink(missing_ok=True)
    return words


def _fields(request: Request, item: FeedbackItem, tell: Say, say: Say, read: Read) -> dict[str, str]:
    given: dict[str, str] = {}
    for field in request.fields:
        draft = cut(getattr(item, field), MOST_DRAFT)
        if field != "category":  # on lines of its own: a long prompt cannot be seen while one types
            (say if field == "correction" else tell)(f"draft of the {field}: {draft or '(none)'}")
        while text := _text(field, draft, read):
            given.pop(field, None)
            problem = request.check(field, text)
            if not problem:
                given[field] = text
                lost = request.lost(text) if field in WORDS else ""
                if not lost:
                    break
                problem = f"{lost}: say it otherwise, or leave it so with an empty line"
            tell(f"  {problem}")
    return given


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


def _folded(line: str, width: int) -> str:
    """Between words, as far as they are no longer than the terminal is wide; indented as it begins."""
    if len(line) <= width:
        return line
    indent = line[: len(line) - len(line.lstrip())]
    return textwrap.fill(
        line,
        max(width, 20),
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
    )


def _said(kept: Path, request: Request) -> Words:
    """What was said of this very turn before the run was cut off. Raises `UserError` where something else wrote it."""
    if not kept.exists():
        return {}
    try:
        found = json.loads(kept.read_text("utf-8"))
        said = {interface: dict(fields) for interface, fields in found["words"].items()}
        return said if found["turn"] == _turn(request) else {}
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise UserError(
            f"{kept}: is damaged ({type(error).__name__}: {error}): remove it, and all is asked again"
        ) from None


def _keep(kept: Path, request: Request, words: Words) -> None:
    subdirectory(kept.parent)
    replaced(kept, json.dumps({"turn": _turn(request), "words": words}))


def _turn(request: Request) -> str:
    """The same for the same turn alone: an episode that began anew has other code, and needs other words."""
    told = (request.title, request.interfaces, request.difference, request.fields)
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()
