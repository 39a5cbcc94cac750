"""A person is asked in the terminal, field by field."""

from __future__ import annotations

from collections.abc import Callable

from pytest_recode.episode import FeedbackItem
from pytest_recode.faults import UserError
from pytest_recode.feedback.levels import cut
from pytest_recode.feedback.person import Request, Words
from pytest_recode.feedback.records import WORDS

HELP = """\
You are the researcher. For each field: your words, as many lines as you like, then an empty line; an empty line alone takes the draft.
Code of a correction ends with a line that is a single dot. Ctrl-C ends the run; --recode-resume goes on here."""


MOST_DRAFT = 4000


def dialogue(request: Request, say: Callable[[str], None], read: Callable[[str], str]) -> Words:
    """`read` shows its prompt and gives a line; raises `EOFError` where there are no more.

    Raises `UserError` then: what nobody said is no feedback.
    """
    say(
        f"\n{'=' * 20} {request.title} {'=' * 20}\ntask: {request.task}\n{request.verdict}\n\n{request.difference}\n\n{HELP}"
    )
    words: dict[str, dict[str, str]] = {}
    try:
        for number, item in enumerate(request.drafts, 1):
            say(f"\nInterface: {item.interface} ({number} of {len(request.drafts)})")
            words[item.interface] = _fields(request, item, say, read)
    except EOFError:
        raise UserError(
            f"{request.name}: the input ended before the feedback was whole: "
            "go on with --recode-resume, or answer by files with --recode-feedback-from=files"
        ) from None
    return words


def _fields(
    request: Request, item: FeedbackItem, say: Callable[[str], None], read: Callable[[str], str]
) -> dict[str, str]:
    given: dict[str, str] = {}
    for field in request.fields:
        draft = cut(getattr(item, field), MOST_DRAFT)
        if field != "category":  # on lines of its own: a long prompt cannot be seen while one types
            say(f"draft of the {field}: {draft or '(none)'}")
        while text := _text(field, draft, read):
            given.pop(field, None)
            problem = request.check(field, text)
            if not problem:
                given[field] = text
                leak = request.leaks(text) if field in WORDS else ""
                if not leak:
                    break
                problem = f"that repeats {leak}, which will be cut: say it otherwise, or leave it so with an empty line"
            say(f"  {problem}")
    return given


def _text(field: str, draft: str, read: Callable[[str], str]) -> str:
    end = "." if field == "correction" else ""
    lines: list[str] = []
    line = read(f"{field} [{draft}]: " if field == "category" else f"{field}: ")
    if field == "category" or not line.strip():
        return line.strip()
    while line.rstrip() != end:
        lines.append(line)
        line = read("  ... ")
    return "\n".join(lines)
