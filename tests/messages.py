"""Check a message for what a reader needs from it, without pinning its wording."""

from __future__ import annotations

import re


def assert_message(text: str, subject: str, *choices_and_next_step: str) -> None:
    """Check that `text` is one line that names `subject` and then each of `choices_and_next_step`, in any order.

    `subject` is the thing that is wrong, as the user knows it: a file and line, an option, a key, a case. The rest are the
    values found, the valid choices and the next step; give the shortest text that a reader could not do without, and at
    least one. Texts match as whole words, and white space as any white space.
    """
    if not choices_and_next_step:
        raise TypeError("give at least one choice or next step: a message that only names its subject helps nobody")
    assert "\n" not in text.strip("\n"), f"this message must be one line:\n{text}"
    found = _find(subject, text)
    assert found is not None, f"this message does not name its subject {subject!r}:\n{text}"
    after = text[found.end() :]
    missing = [part for part in choices_and_next_step if _find(part, after) is None]
    assert not missing, f"after its subject {subject!r}, this message lacks {', '.join(map(repr, missing))}:\n{text}"


def assert_line(output: str, subject: str, *choices_and_next_step: str) -> None:
    """Check one line of `output` with `assert_message`: the first that names `subject`."""
    lines = [line for line in output.splitlines() if _find(subject, line)]
    assert lines, f"no line names {subject!r}:\n{output}"
    assert_message(lines[0], subject, *choices_and_next_step)


def _find(part: str, text: str) -> re.Match[str] | None:
    words = r"\s+".join(map(re.escape, part.split()))
    start = r"(?<!\w)" if part[:1].isalnum() else ""
    end = r"(?!\w)" if part[-1:].isalnum() else ""
    return re.search(f"{start}{words}{end}", text)
