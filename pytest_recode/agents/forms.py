"""The actions of an agent: their purpose and arguments.

`FORMS` declares each action once; tools, checks and error messages are derived from it. `text_form.py` writes some of them in text, and
`tool_execution.py` executes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PARTS = ("observation", "reflection", "planning")


TEXTS = ("text", "old", "new")
"""Arguments that are texts of any number of lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Purpose and arguments of an action. `main` is the argument that the line above its result names."""

    does: str
    takes: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    main: str = ""
    path_is_file: bool = False  # a directory as `path` is an error of the answer
    only_looks: bool = False  # needs nothing that another action of the answer does


FORMS: Mapping[str, Form] = {
    "list": Form(
        does="List every file below a directory.",
        takes={"path": "directory, relative to the workspace; default: all of it"},
        optional=frozenset({"path"}),
        main="path",
        only_looks=True,
    ),
    "read": Form(
        does="Read a file, or some of its lines.",
        takes={
            "path": "file, relative to the workspace",
            "lines": "the first and the last line, such as 1-40 or 40-, or the number of one line; default: all of it",
        },
        optional=frozenset({"lines"}),
        main="path",
        only_looks=True,
    ),
    "search": Form(
        does="Find the functions and classes of the repository that fit words or code, the best few with their code.",
        takes={"query": "what it is about: words, names, code"},
        main="query",
        only_looks=True,
    ),
    "grep": Form(
        does="Show the lines that match a Python regular expression.",
        takes={"pattern": "regular expression", "path": "file or directory; default: all of the workspace"},
        optional=frozenset({"path"}),
        main="pattern",
        only_looks=True,
    ),
    "write": Form(
        does="Write a whole file, new or not.",
        takes={"path": "file, relative to the workspace", "text": "its whole content"},
        main="path",
        path_is_file=True,
    ),
    "edit": Form(
        does="Replace a piece of a file. The old text must occur in it exactly once, unless `replace_all` is true.",
        takes={
            "path": "file, relative to the workspace",
            "old": "exact text to be replaced",
            "new": "text to put there",
            "replace_all": "true to replace every occurrence; default: false",
        },
        optional=frozenset({"replace_all"}),
        main="path",
        path_is_file=True,
    ),
    "run": Form(
        does="Run a shell command in the workspace and see its output.",
        takes={
            "command": "shell command",
            "timeout": "seconds after which it is stopped; default: the limit of a command, which is the most",
        },
        optional=frozenset({"timeout"}),
        main="command",
    ),
    "submit": Form(does="Hand in the targets as they are now; this ends the turn.", takes={}),
}
