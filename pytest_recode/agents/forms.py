"""The actions of an agent: their purpose and arguments.

`FORMS` declares each action once; prompts, tools, parsers and error messages are derived from it. `action_names.py` has the alternative
names, and `tool_execution.py` executes actions.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

PARTS = ("observation", "reflection", "planning")


PART_NAMES: Mapping[str, str] = {
    **{name: name for name in PARTS},
    **dict.fromkeys(("observations",), "observation"),
    **dict.fromkeys(("reflections", "thought", "thoughts", "thinking", "reasoning"), "reflection"),
    **dict.fromkeys(("reason", "rationale", "explanation", "justification", "description", "comment"), "reflection"),
    **dict.fromkeys(("plan", "plans", "task_progress"), "planning"),
}
"""Names of the parts of a step, where they are arguments or keys."""


TEXTS = ("text", "old", "new")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """Purpose and arguments of an action. `main` is the argument that may be on the heading's line. `accepts`: optional arguments of other
    agents' tools, which no prompt offers."""

    does: str
    takes: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    accepts: frozenset[str] = frozenset()
    main: str = ""
    path_is_file: bool = False  # a directory as `path` is an error of the answer
    changes_files: bool = False
    only_looks: bool = False  # needs nothing that another action of the answer does

    @property
    def needs_nothing(self) -> bool:
        return self.takes.keys() <= self.optional

    @property
    def holds_text(self) -> bool:
        """Whether one of the arguments is a text of any number of lines."""
        return not self.takes.keys().isdisjoint(TEXTS)

    @property
    def is_single_lines(self) -> bool:
        """Whether every argument ends with its line, so that the next line is not part of it."""
        return self.takes.keys() <= {"path", "lines"}


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
            "lines": "the first and the last line, such as 1-40, or the number of one line; default: all of it",
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
        accepts=frozenset({"include", "ignore_case", "case_sensitive"}),
        main="pattern",
        only_looks=True,
    ),
    "write": Form(
        does="Write a whole file, new or not.",
        takes={"path": "file, relative to the workspace", "text": "its whole content"},
        main="path",
        path_is_file=True,
        changes_files=True,
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
        changes_files=True,
    ),
    "run": Form(
        does="Run a shell command in the workspace and see its output.",
        takes={
            "command": "shell command",
            "timeout": "seconds after which it is stopped; default: the limit of a command, which is the most",
        },
        optional=frozenset({"timeout"}),
        main="command",
        changes_files=True,
    ),
    "submit": Form(does="Hand in the targets as they are now; this ends the turn.", takes={}),
}
