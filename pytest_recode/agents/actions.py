"""What an agent driven by a model may do: the actions, what each takes, and the Step that one answer is.

`FORMS` declares each action once: prompts, tools, readers of answers and error messages follow it. `tool_execution.py` executes actions.
Every answer, whatever its form (headings, JSON, tags, native tool calls), becomes a Step through `action_arguments.action`, so that all
forms accept the same names and report the same errors.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

PARTS = ("observation", "reflection", "planning")

PART_NAMES: Mapping[str, str] = {
    **{name: name for name in PARTS},
    **dict.fromkeys(("observations",), "observation"),
    **dict.fromkeys(("reflections", "thought", "thoughts", "thinking", "reasoning"), "reflection"),
    **dict.fromkeys(("reason", "rationale", "explanation", "justification", "description", "comment"), "reflection"),
    **dict.fromkeys(("plan", "plans"), "planning"),
}
"""Names of the parts of a step, where they are arguments or keys."""

MAX_ACTIONS = 8
"""Of one answer. More than this is a model that imagines a whole session."""


TEXTS = ("text", "old", "new")


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What an action is for and what it takes. `main` may stand on the heading's own line."""

    does: str
    takes: Mapping[str, str]
    optional: frozenset[str] = frozenset()
    main: str = ""
    path_is_file: bool = False  # a directory as `path` is an error of the answer
    changes_files: bool = False

    @property
    def needs_nothing(self) -> bool:
        return self.takes.keys() <= self.optional

    @property
    def holds_text(self) -> bool:
        """Whether an argument is a text of any number of lines."""
        return not self.takes.keys().isdisjoint(TEXTS)

    @property
    def is_single_lines(self) -> bool:
        """Whether every argument ends with its line, so that a line below is no part of it."""
        return self.takes.keys() <= {"path", "lines"}


FORMS: Mapping[str, Form] = {
    "list": Form(
        does="List every file below a directory.",
        takes={"path": "directory, relative to the workspace; default: all of it"},
        optional=frozenset({"path"}),
        main="path",
    ),
    "read": Form(
        does="Read a file, or some of its lines.",
        takes={
            "path": "file, relative to the workspace",
            "lines": "the first and the last line, such as 1-40; default: all of it",
        },
        optional=frozenset({"lines"}),
        main="path",
        path_is_file=True,
    ),
    "search": Form(
        does="Find the functions and classes of the repository that fit words or code, the best few with their code.",
        takes={"query": "what it is about: words, names, code"},
        main="query",
    ),
    "grep": Form(
        does="Show the lines that match a Python regular expression.",
        takes={"pattern": "regular expression", "path": "file or directory; default: all of the workspace"},
        optional=frozenset({"path"}),
        main="pattern",
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

ACTION_NAMES: Mapping[str, tuple[str, ...]] = {
    "list": ("ls", "dir", "list_files", "list_dir", "list_directory"),
    "read": ("read_file", "open", "open_file", "view", "view_file", "cat"),
    "search": ("search_code", "code_search", "retrieve"),
    "grep": ("grep_search", "rg", "ripgrep"),
    "write": ("write_file", "write_to_file", "create", "create_file", "save", "save_file", "overwrite"),
    "edit": ("edit_file", "str_replace", "string_replace", "search_replace", "replace_in_file"),
    "run": (
        *("bash", "shell", "sh", "terminal", "exec", "execute", "cmd"),
        *("run_command", "execute_command", "run_bash", "execute_bash", "run_shell", "run_shell_command"),
    ),
    "submit": ("finish", "done", "complete", "finalize", "submit_solution", "submit_answer", "hand_in"),
}
"""Other names of the actions that are understood, by kind: those that other agents' tools have. docs/reference/agents.md lists them."""

ARGUMENT_NAMES: Mapping[str, tuple[str, ...]] = {
    "path": (
        "file",
        "filename",
        "file_name",
        "file_path",
        "filepath",
        "target",
        "target_file",
        "directory",
        "dir",
        "absolute_path",
        "dir_path",
        "relative_workspace_path",
    ),
    "text": ("content", "contents", "code", "file_text", "file_content", "body"),
    "old": ("old_str", "old_string", "old_text", "old_code", "search", "find", "original"),
    "new": ("new_str", "new_string", "new_text", "new_code", "replace", "replacement", "updated"),
    "command": ("cmd", "bash", "shell", "shell_command"),
    "pattern": ("regex", "regexp", "query"),
    "query": ("queries", "keywords", "words"),
    "lines": ("view_range", "line_range", "range"),
    "replace_all": ("allow_multiple", "global_replace"),
    "timeout": ("timeout_seconds", "timeout_sec", "timeout_secs"),
}

_NEAREST: Mapping[str, str] = {
    **dict.fromkeys(
        (
            "python",
            "ipython",
            "python3",
            "run_python",
            "execute_python",
            "code_interpreter",
            "test",
            "pytest",
            "delete",
            "delete_file",
            "remove",
            "rm",
            "mkdir",
            "mv",
        ),
        "run",
    ),
    **dict.fromkeys(
        (
            "replace",
            "insert",
            "append",
            "patch",
            "apply_patch",
            "multi_edit",
            "multiedit",
            "modify",
            "update",
            "undo_edit",
        ),
        "edit",
    ),
    **dict.fromkeys(("find", "find_file", "find_files", "glob", "list_code_definition_names"), "list"),
    **dict.fromkeys(("exit", "stop", "end", "finished", "final", "final_answer", "answer"), "submit"),
    **dict.fromkeys(("tree", "pwd"), "list"),
    **dict.fromkeys(
        (
            "web_search",
            "search_web",
            "google_search",
            "browser",
            "browse",
            "web_fetch",
            "fetch",
            "fetch_url",
            "open_url",
        ),
        "",
    ),
    **dict.fromkeys(("write_code", "new_file", "touch"), "write"),
}
"""What to use instead of names that do not say enough to be understood; "" where nothing does it."""

AS_IT_IS: Mapping[tuple[str, str], str] = {
    ("edit", "count"): "1",
    ("edit", "expected_replacements"): "1",
    ("list", "recursive"): "true",
    ("grep", "_n"): "true",
    ("grep", "head_limit"): "a number",
    **{("submit", name): "a text" for name in ("path", "file", "file_path", "target")},
    ("read", "should_read_entire_file"): "true or false",
    ("grep", "output_mode"): "content",
    ("grep", "case_sensitive"): "true",
    ("grep", "is_regexp"): "true",
    **{(kind, "security_risk"): "a text" for kind in FORMS},
    **{(kind, name): "a text" for kind in ("write", "edit") for name in ("instruction", "instructions")},
    ("write", "overwrite"): "true",
    ("write", "line_count"): "a number",
    **{("search", name): "a number" for name in ("k", "top_k", "max_results")},
    ("read", "encoding"): "utf-8",
    ("write", "encoding"): "utf-8",
    **{("run", name): "false" for name in ("run_in_background", "is_background", "background", "is_input", "restart")},
    **{("run", name): "false" for name in ("requires_approval", "require_user_approval")},
    **{("run", name): "." for name in ("directory", "workdir", "cwd")},
}
"""Arguments of other agents' tools with the value that asks for what the action does anyway. docs/reference/agents.md lists them."""

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KINDS = {kind: kind for kind in FORMS} | {other: kind for kind, others in ACTION_NAMES.items() for other in others}


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """`kind` is a key of FORMS; `arguments` are those its form takes, the optional ones only where given."""

    kind: str
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One answer: what the model sees, thinks, plans, and does (in this order). Parts it left out are empty.

    `note` is what the model should know of how its answer was read.
    """

    observation: str = ""
    reflection: str = ""
    planning: str = ""
    actions: tuple[Action, ...]
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProtocolError:
    """An answer that cannot be acted on: a value, since models give such answers. `text` is told to the model.

    `kind`, where known, is the action whose right form helps; the protocol in use decides how that form is shown (`in_text`,
    `in_calls`). `calls` has a text for each native tool call of the answer, "" for those that are right; `actions` has those, None for
    the others, so that faults that show in the workspace are told at once with the rest.
    """

    text: str
    kind: str = ""
    calls: tuple[str, ...] = ()
    actions: tuple[Action | None, ...] = ()


def plain_name(name: str) -> str:
    """A name in lower case with underscores: `write_file` for `Write File`, `writeFile`, `write-file`."""
    return _lowered(_HUMP.sub("_", name.strip()))


def _lowered(name: str) -> str:
    """`write_file` for `Write File` and `write-file`, and `writefile` for `writeFile`."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def kind_of(name: str) -> str | None:
    """The action that a model means by a name: `write`, `write_file`, `Write File`, `functions.write`."""
    plain = _lowered(name)
    for prefix in ("functions.", "default_api.", "tools."):
        plain = plain.removeprefix(prefix)
    return _KINDS.get(plain)


def argument_of(kind: str, name: str) -> str | None:
    """The argument of this action that a model means by a name."""
    takes = FORMS[kind].takes
    for plain in (_lowered(name), plain_name(name)):
        if plain in takes:
            return plain
        found = next((own for own in takes if plain in ARGUMENT_NAMES.get(own, ())), None)
        if found is not None:
            return found
    return None


def as_it_is(kind: str, name: str, value: object) -> bool:
    """Whether an argument that the action does not take asks for what it does anyway, or for nothing."""
    if value in ("", [], {}):
        return True
    wanted = AS_IT_IS.get((kind, plain_name(name)))
    if wanted is None or not isinstance(value, bool | int | str):
        return False
    said = str(value).strip().lower()
    if wanted == "a text":
        return isinstance(value, str)
    if wanted == "a number":
        return said.isascii() and said.isdigit()
    if wanted == "true or false":
        return said in ("", "true", "false")
    return said in ("", wanted, f"{wanted}/" if wanted == "." else wanted)


def unless_as_it_is(kind: str, name: str) -> str:
    """What to add where an argument is refused that one value of it would not be; "" for the others."""
    wanted = AS_IT_IS.get((kind, plain_name(name)))
    return f", except as `{wanted}`" if wanted else ""


def nearest(name: str) -> str:
    """The action to use instead of an unknown one; "" where none is close."""
    plain = _lowered(name)
    near = _NEAREST.get(plain)
    if near is None:
        found = difflib.get_close_matches(plain[:80], list(_KINDS), 1, 0.75)
        near = _KINDS[found[0]] if found else ""
    return near


def no_such_action(name: str) -> str:
    """Names the unknown action and the closest valid one."""
    near = nearest(name)
    use = f"; use `{near}`" if near else ""
    return f"There is no action `{name.strip()[:80]}`{use}. The actions are {', '.join(FORMS)}."


def form_of(kind: str) -> str:
    """How to write this action as text, for a model that wrote it wrongly."""
    lines = [f"### Action: {kind}"]
    for name, meaning in FORMS[kind].takes.items():
        if name in TEXTS:
            tag = f"END_OF_{name.upper()}"
            lines += [f"{name} <<{tag}", f"({meaning})", tag]
        else:
            lines.append(f"{name}: ({meaning})")
    return "\n".join(lines)


def arguments_of(kind: str) -> str:
    """The same as the JSON arguments of a tool call."""
    return json.dumps({name: f"({meaning})" for name, meaning in FORMS[kind].takes.items()})


def in_text(error: ProtocolError) -> str:
    """What to tell a model that writes text."""
    return f"{error.text} Write it like this:\n\n{form_of(error.kind)}" if error.kind else error.text


def in_calls(error: ProtocolError) -> str:
    """What to tell a model that calls tools."""
    if not error.kind:
        return error.text
    if not FORMS[error.kind].takes:
        return f"{error.text} Call the tool `{error.kind}` without arguments."
    optional = ", ".join(f"`{name}`" for name in FORMS[error.kind].takes if name in FORMS[error.kind].optional)
    told = f" ({optional} may be left out)" if optional else ""
    return f"{error.text} Call the tool `{error.kind}` with these arguments{told}: {arguments_of(error.kind)}"


def wrong_use(kind: str, what: str) -> ProtocolError:
    """What is wrong with an action of this kind."""
    return ProtocolError(text=f"{what} Nothing was done.", kind=kind)


def json_type(value: object) -> str:
    names = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        str: "a string",
        list: "an array",
        dict: "an object",
    }
    return names.get(type(value), "null")
