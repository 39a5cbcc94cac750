"""Convert a call in a text answer to an Action, with the checks that need the lines of the answer: how a text was written, and whether it
may end elsewhere."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from pytest_recode.agents.action_arguments import action
from pytest_recode.agents.action_names import argument_of, kind_of
from pytest_recode.agents.actions import Action, ProtocolError
from pytest_recode.agents.calls import Call
from pytest_recode.agents.fences import PYTHONS, SHELLS, language_in
from pytest_recode.agents.headings import interface_in, path_in
from pytest_recode.agents.other_tools import names_a_tool, tool_kind, translated
from pytest_recode.agents.python_source import syntax_error, unfenced
from pytest_recode.agents.values import FENCE, DamagedError, Value, WrongError, between_marks, doubts, opens_block

_PLAIN = ("", "text", "txt", "plain", "plaintext", "command", "cmd", "run")
"""Info strings of a fence that name no language."""


def checked_action(call: Call, lines: Sequence[str], texts: Sequence[Value] = ()) -> Action:
    """The action of a call. `lines` is the answer, and `texts` are all its texts. Raises DamagedError and WrongError."""
    old, new = _value(call, "edit", "old"), _value(call, "edit", "new")
    if kind_of(call.name) == "edit" and old is not None and new is not None and old.text == new.text:
        if old.dedented != new.dedented:
            dedented = next(each.opened for each in (old, new) if each.dedented)
            raise DamagedError(
                f"The old and the new text of the `edit` in line {call.line} are the same: after `|`, as in line {dedented}, the indentation of "
                "the first line is taken away.",
                advice=(
                    "Write both as blocks, whose lines are taken as they are: `old <<END_OF_OLD`, its lines, "
                    "`END_OF_OLD`, then `new <<END_OF_NEW`, its lines, `END_OF_NEW`."
                ),
            )
        clipped = next((each.opened for each in call.values.values() if each.clipped), 0)
        if clipped:
            raise DamagedError(
                f"The old and the new text of the `edit` in line {call.line} are the same: after `|`, as in line {clipped}, blank lines "
                "at the end of a text are left out.",
                advice="Write it as a block: `new <<END_OF_TEXT`, its lines, `END_OF_TEXT`.",
            )
    if old is not None and new is not None and _unclear_breaks(old, new):
        raise DamagedError(
            f"It is unclear whether the line breaks next to the tags belong to the texts of the `edit` in line {call.line}: the two texts are "
            "written in different ways, or one is empty.",
            advice="Write both texts directly next to their tags, with the line breaks that they have.",
        )
    name, given = call.name, dict(call.arguments)
    if kind_of(name) is None and names_a_tool(name):  # as only a tag or JSON can name it
        kind = tool_kind(name, given)
        if isinstance(kind, ProtocolError):
            raise WrongError(kind)
        name = kind
    arguments = translated(kind_of(name), given)
    if old is not None and new is not None:
        arguments |= _without_marks(call, old, new)
    made = action(name, arguments)
    if isinstance(made, ProtocolError):
        raise WrongError(made)
    if made.kind == "run":
        _check_shell(call)
    if made.kind != "write":
        return made
    path, text = made.arguments["path"], made.arguments["text"]
    value = _value(call, "write", "text")
    if value is None:
        return made
    named = path_in(value.info)
    if named and named.removeprefix("./") != path.removeprefix("./"):
        raise DamagedError(
            f"`write` names `{path[:80]}`, and its code fence in line {value.opened} `{named[:80]}`: it is unclear which is meant.",
            advice=f"Write one of them, such as `path: {named[:80]}`, and the fence without a name.",
        )
    if interface := interface_in(value.info):
        raise DamagedError(
            f"The code fence in line {value.opened} holds the correction of one interface (`interface={interface[:80]}`), and `write` "
            f"replaces the whole of {path[:200]}.",
            advice="Write the whole file in a fence without `interface=`, or use `edit`.",
        )
    python = path.endswith(".py")
    wrong = syntax_error(unfenced(path, text)) if python else None
    later = doubts(value, lines, () if python else _others(value, texts))
    if later and (not python or wrong or not text.strip()):
        raise DamagedError(
            f"The text of {path[:200]} ends at line {value.end}, and line {later} could end it as well"
            f"{f'; up to line {value.end} it is no Python ({wrong})' if wrong else ''}.",
            advice=(
                "Write it as a block that ends in a word which "
                f"is no other line of your answer: `text <<{_fresh(lines)}`, its lines, `{_fresh(lines)}`."
            ),
        )
    if (not python or wrong) and (inner := _inner_fence(value)):
        raise DamagedError(
            f"The text of {path[:200]} ends in line {value.end}, and line {inner} opens another code fence within it: it is unclear which "
            "of the two ends there.",
            advice=f"Write it as a block: `text <<{_fresh(lines)}`, its lines, `{_fresh(lines)}`.",
        )
    if wrong and not value.closer and "\n" not in text:
        raise DamagedError(
            f"`text` of {path[:200]} is the one line `{text[:80]}`, which is no Python ({wrong}).",
            advice="Write it as a block: `text <<END_OF_TEXT`, its lines, `END_OF_TEXT`.",
        )
    if wrong and syntax_error(textwrap.dedent(text)) is None:
        raise DamagedError(
            f"The text of {path[:200]} is indented as a whole, so that it is no Python.",
            advice="Write it without the indentation.",
        )
    return Action(kind="write", arguments={"path": path, "text": text + value.final})


def _unclear_breaks(old: Value, new: Value) -> bool:
    """Whether an `edit` in tags would do something else if the line breaks next to its tags belonged to its texts, or did not."""
    frames = {old.frame, new.frame}
    if not (old.closer[:1] == "<" == new.closer[:1]) or frames == {"always"}:
        return False
    if "both" in frames:
        return len(frames) > 1 or not (old.text and new.text)
    return bool(old.text and new.text) and (old.text[-1] == "\n") != (new.text[-1] == "\n")


def _without_marks(call: Call, old: Value, new: Value) -> dict[str, str]:
    """The texts of an `edit` if both are between the same marks. The file becomes the same whether or not the marks belong to the texts,
    since the text must occur once. Raises DamagedError if only one has marks, if a backslash may be an escape, or if every occurrence
    is to be replaced."""
    if not (old.mark or new.mark):
        return {}
    first = old if old.mark else new
    everywhere = any(argument_of("edit", name) == "replace_all" for name in call.arguments)
    if old.mark != new.mark or everywhere or (old.mark != "`" and "\\" in old.text + new.text):
        raise between_marks("old" if old.mark else "new", first.opened, first.mark)
    return {name: value.text[1:-1] for name, value in call.values.items() if value in (old, new)}


def _others(value: Value, texts: Sequence[Value]) -> frozenset[int]:
    """The lines (from 0) that end other blocks with the same word. They cannot end this block, unless its own lines open such a block."""
    if value.closer[:1] in ("", "`", "~", '"', "'") or opens_block(value.text, value.closer):
        return frozenset()
    if value.closer[0] == "<" and f"<{value.closer[2:-1]}" in value.text:
        return frozenset()
    return frozenset(each.end - 1 for each in texts if each.closer == value.closer and each.opened > value.end)


def _inner_fence(value: Value) -> int:
    """The line within a fenced text that opens a fence with a language, which the end of the text may be meant to close; 0 if there is
    none."""
    if value.closer[:1] not in ("`", "~"):
        return 0
    for number, line in enumerate(value.text.split("\n"), value.opened + 1):
        opened = FENCE.match(line)
        if opened is not None and opened["info"].strip() and opened["ticks"][0] == value.closer[0]:
            return number
    return 0


def _fresh(lines: Sequence[str]) -> str:
    """A word for the end of a block that is not a line of the answer."""
    taken = {line.strip() for line in lines}
    return next(
        word
        for word in (f"END_OF_FILE{'' if n == 1 else f'_{n}'}" for n in range(1, len(taken) + 2))
        if word not in taken
    )


def cut_short(calls: Sequence[Call], lines: Sequence[str]) -> str:
    """A description of a `write` whose code fence seems to have ended within its text; "" if none does."""
    for call in calls:
        value = _value(call, "write", "text") if kind_of(call.name) == "write" else None
        if value is None or value.closer[:1] not in ("`", "~"):
            continue
        path = next((str(each) for name, each in call.arguments.items() if argument_of("write", name) == "path"), "")
        if syntax_error(value.text) if path.endswith(".py") else doubts(value, lines):
            return (
                f"It may belong to the text of the `write` in line {call.line}, whose code fence then ends too early, in line {value.end}. "
                "Write that text as a block, which takes such lines: `text <<END_OF_TEXT`, its lines, `END_OF_TEXT`."
            )
    return ""


def _value(call: Call, kind: str, name: str) -> Value | None:
    return next((each for given, each in call.values.items() if argument_of(kind, given) == name), None)


def _check_shell(call: Call) -> None:
    """Raises DamagedError if the command is code in a language other than the shell's."""
    value = _value(call, "run", "command")
    if value is None or value.closer[:1] not in ("`", "~"):
        return
    language = language_in(value.info)
    if language in (*SHELLS, *_PLAIN):
        return
    how = (
        "Write the code to a file with `write` and run that, or give the command as a block: `command <<END_OF_COMMAND`, "
        "`python3 - <<'EOF'`, the code, `EOF`, `END_OF_COMMAND`."
        if language in PYTHONS
        else "Write the code to a file with `write` and run that; put a command in a fence of `bash`."
    )
    raise DamagedError(
        f"The code fence in line {value.opened} says `{language[:40]}`, and the command of `run` is for a shell.",
        advice=how,
    )
