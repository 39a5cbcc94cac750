"""Commands of several lines in a text answer: further commands on the lines directly below a `command:`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_recode.agents.value_reader import value_at
from pytest_recode.agents.values import Value

_SHELL_LINE = re.compile(
    r"(?:(?:python3?|pytest|pip3?|bash|sh|timeout|ls|cat|cd|sed|awk|grep|head|tail|wc|diff|cp|mv|rm|mkdir|touch|chmod|echo|printf|export|"
    r"sha256sum|md5sum|git) +[\w./'\"$*~>-]|find +[./~$'\"-]|(?:ls|pwd|pytest)$)(?!.*[.:,]$)"
)
"""A line that a shell would take for a command, and that is no sentence: `cat shows nothing.` ends in a full stop."""


def command_alone(lines: Sequence[str], at: int) -> Value | None:
    """The command in line `at` without its name: one span of code, a line with the prompt of a shell, or lines of common commands."""
    said = lines[at].strip()
    marked = re.fullmatch(r"`[^`]*[^`\s][^`]*`|\$ +[\w./].*", said)
    if marked is None and not _SHELL_LINE.match(lines[at]):
        return None
    value = value_at(lines, at, "command", f": {said}")
    return value if marked else with_further_lines(lines, value)


def with_further_lines(lines: Sequence[str], value: Value) -> Value:
    """A command that begins on its argument's line, with the lines of commands directly below it: `cd src`, then `python3 a.py`.

    Other values are returned as they are.
    """
    first = value.text.partition("\n")[0]
    if value.block or not lines[value.opened - 1].rstrip().endswith(first):
        return value
    texts, end, closer = [value.text], value.end, value.closer
    while end < len(lines) and _SHELL_LINE.match(lines[end]):
        more = value_at(lines, end, "command", f": {lines[end]}")
        texts.append(more.text)
        end, closer = more.end, more.closer or closer
    return Value(text="\n".join(texts), end=end, closer=closer, opened=value.opened) if len(texts) > 1 else value
