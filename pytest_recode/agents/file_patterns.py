"""Patterns of files, with which other agents' tools limit a `grep`: `*.py`, `src/**/*.{py,pyi}`.

Called in the pytest process by `action_arguments` and `tool_execution`. Pure.
"""

from __future__ import annotations

import re

_PATTERN = re.compile(r"(?:[\w.*?/-]|\{[\w.*?,-]+\})+", re.ASCII)
_PART = re.compile(r"\*\*/|\*\*|\*|\?|\{[^}]*\}|[^*?{]+")


def regular_expression(pattern: str) -> str:
    """The regular expression that the paths of matching files match as a whole. Raises ValueError for anything that tools read differently.

    As in ripgrep, a pattern without `/` is matched with the names of files, any other with paths, and `**` stands for any directories.
    """
    if not _PATTERN.fullmatch(pattern) or pattern.startswith("/") or ".." in pattern or "***" in pattern:
        raise ValueError(
            f"`include` of `grep` must be a pattern of files, such as *.py or src/**/*.py, and is `{pattern[:80]}`"
        )
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    return anywhere + "".join(map(_translated, _PART.findall(pattern.removeprefix("./"))))


def _translated(part: str) -> str:
    if part.startswith("{"):
        return f"(?:{'|'.join(''.join(map(_translated, _PART.findall(each))) for each in part[1:-1].split(','))})"
    return {"**/": "(?:[^/]+/)*", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(part) or re.escape(part)
