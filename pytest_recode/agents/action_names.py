"""Alternative names of actions and arguments, and replacements to suggest for unknown ones."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping

from pytest_recode.agents.forms import FORMS

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
    "submit": (
        *("finish", "done", "complete", "finalize", "submit_solution", "submit_answer", "hand_in"),
        *("attempt_completion", "task_complete", "complete_task", "finish_task", "mark_complete"),
    ),
}
"""Other names of the actions that are understood, by kind: those that other agents' tools have. docs/reference/agents.md lists them."""


TOOL_NAMES: Mapping[str, tuple[str, ...]] = {
    "run": ("exec_command", "run_terminal_cmd", "run_in_terminal", "container.exec"),
    "edit": ("replace", "replace_string_in_file"),
    "search": ("codebase_search",),
    "grep": ("search_file_content", "search_files"),
    "submit": ("final_answer",),
}
"""Names that are understood as those of tool calls only: in a text they are words. docs/reference/agents.md lists them."""


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
    "text": ("content", "contents", "code", "file_text", "file_content", "file_contents", "code_content", "body"),
    "old": ("old_str", "old_string", "old_text", "old_code", "search", "find", "original"),
    "new": ("new_str", "new_string", "new_text", "new_code", "replace", "replacement", "updated"),
    "command": ("cmd", "bash", "shell", "shell_command"),
    "pattern": ("regex", "regexp", "query"),
    "query": ("queries", "keywords", "words"),
    "lines": ("view_range", "line_range", "range"),
    "ignore_case": ("_i", "case_insensitive"),
    "include": ("glob", "glob_pattern", "include_pattern", "file_pattern"),
    "replace_all": ("allow_multiple", "global_replace"),
    "timeout": ("timeout_seconds", "timeout_sec", "timeout_secs"),
}


TOOL_KINDS: Mapping[str, str] = {other: kind for kind, others in TOOL_NAMES.items() for other in others}


_NEAREST: Mapping[str, str] = {
    **TOOL_KINDS,
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
            "delete_files",
            "remove",
            "remove_file",
            "rm",
            "mkdir",
            "create_directory",
            "make_directory",
            "mv",
            "move_file",
            "rename_file",
            "copy_file",
            "git",
            "commit",
            "git_commit",
            "git_diff",
            "git_status",
        ),
        "run",
    ),
    **dict.fromkeys(
        (
            "insert",
            "insert_content",
            "insert_line",
            "append",
            "append_to_file",
            "patch",
            "apply_patch",
            "apply_diff",
            "search_and_replace",
            "multi_edit",
            "multiedit",
            "modify",
            "update",
            "undo_edit",
        ),
        "edit",
    ),
    **dict.fromkeys(("find", "find_file", "file_search", "find_files", "glob", "list_code_definition_names"), "list"),
    **dict.fromkeys(("exit", "stop", "end", "finished", "final", "answer"), "submit"),
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
            "browser_action",
            "ask_followup_question",
            "ask_user",
            "ask_question",
            "use_mcp_tool",
            "access_mcp_resource",
            "load_mcp_documentation",
            "new_task",
            "switch_mode",
            "plan_mode_respond",
            "fetch_instructions",
            "update_todo_list",
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
    ("grep", "is_regexp"): "true",
    **{(kind, "security_risk"): "a text" for kind in FORMS},
    **{(kind, name): "a text" for kind in ("write", "edit") for name in ("instruction", "instructions")},
    ("write", "overwrite"): "true",
    ("write", "command"): "create",
    ("edit", "command"): "str_replace",
    ("read", "command"): "view",
    ("list", "max_depth"): "a number",
    ("write", "line_count"): "a number",
    ("write", "create_directories"): "true",
    **{("search", name): "a number" for name in ("k", "top_k", "max_results")},
    ("read", "encoding"): "utf-8",
    ("write", "encoding"): "utf-8",
    **{("run", name): "false" for name in ("run_in_background", "is_background", "background", "is_input", "restart")},
    **{
        ("run", name): "false" for name in ("requires_approval", "require_user_approval", "dangerously_disable_sandbox")
    },
    **{("run", name): "a number" for name in ("yield_time_ms", "max_output_tokens")},
    **{("submit", name): "a text" for name in ("confidence", "status")},
    **{("submit", name): "true" for name in ("task_completed", "success")},
    **{("run", name): "." for name in ("directory", "workdir", "cwd")},
}
"""Arguments of other agents' tools with the value that asks for what the action does anyway. docs/reference/agents.md lists them."""


_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


_KINDS = {kind: kind for kind in FORMS} | {other: kind for kind, others in ACTION_NAMES.items() for other in others}


def plain_name(name: str) -> str:
    """A name in snake case: `write_file` for `Write File`, `writeFile`, `write-file`."""
    return _lowered(_HUMP.sub("_", name.strip()))


def _lowered(name: str) -> str:
    """`write_file` for `Write File` and `write-file`, and `writefile` for `writeFile`."""
    return name.strip().lower().replace("-", "_").replace(" ", "_")


def kind_of(name: str) -> str | None:
    """The action that a name refers to: `write`, `write_file`, `Write File`, `functions.write`. None for unknown names."""
    plain = _lowered(name)
    for prefix in ("functions.", "default_api.", "tools."):
        plain = plain.removeprefix(prefix)
    return _KINDS.get(plain)


def argument_of(kind: str, name: str) -> str | None:
    """The argument of this action that a name refers to; None for unknown names."""
    takes = (*FORMS[kind].takes, *FORMS[kind].accepts)
    for plain in (_lowered(name), plain_name(name)):
        if plain in takes:
            return plain
        found = next((own for own in takes if plain in ARGUMENT_NAMES.get(own, ())), None)
        if found is not None:
            return found
    return None


def is_argument_name(name: str) -> bool:
    """Whether any action has an argument of this name."""
    return any(argument_of(kind, name) is not None for kind in FORMS)


def in_workspace(path: str) -> str:
    """A path relative to the workspace if it is below `/workspace`, as other agents name theirs; otherwise unchanged."""
    return path.removeprefix("/workspace").strip("/") or "." if f"{path}/".startswith("/workspace/") else path


def as_it_is(kind: str, name: str, value: object) -> bool:
    """Whether an argument that the action does not take only requests the default behaviour."""
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
    return said in ("", wanted) or (wanted == "." and in_workspace(said) in (".", "./"))


def unless_as_it_is(kind: str, name: str) -> str:
    """An addition to the error message about an argument of which one value is accepted; "" for other arguments."""
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


def instead(name: str) -> str:
    """What a message says to use instead of an unknown action, such as "; use `edit`"; "" where no action is close."""
    near = nearest(name)
    if _lowered(name) in ("multi_edit", "multiedit"):
        return f"; use `{near}`, once for each change"
    return f"; use `{near}`" if near else ""


def is_known_elsewhere(name: str) -> bool:
    """Whether other agents have a tool of this name that this one lacks."""
    return _lowered(name) in _NEAREST


def no_such_action(name: str) -> str:
    """Names the unknown action and the closest valid one."""
    return f"There is no action `{name.strip()[:80]}`{instead(name)}. The actions are {', '.join(FORMS)}."
