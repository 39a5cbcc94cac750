"""How the original of RECODE-H has an agent answer, and how such an answer is read.

    reflect: what was found, and what comes next
    action:
    REPLACE
    import numpy as np

One action an answer. The label of the action is a line of its own that an action follows, and what belongs to the action goes
to the end of the answer, whatever it holds: lines such as `try:`, other labels, the word "interaction".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.agents.actions import ProtocolError
from pytest_recode.agents.markdown import MAX_ANSWER, UnclearError, fences, without_thoughts
from pytest_recode.agents.python_source import ends_in_a_string

VERBS = ("READ", "RETRIEVE", "REPLACE", "BROWSE", "SUBMIT")

SHAPE = """\
reflect:
what you found, and what you will do
action:
READ path/of/a/file.py"""

_LABEL = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]*|\*{1,2}|\d\.[ \t]*)?action[ \t]*\*{0,2}:[ \t]*\*{0,2}(?P<rest>.*)$", re.IGNORECASE
)
_REFLECT = re.compile(r"\s*(?:#{1,6}[ \t]*|\*{1,2})?reflect(?:ion)?[ \t]*\*{0,2}:[ \t]*\*{0,2}", re.IGNORECASE)
_VERB = re.compile(rf"[\[<*`]*(?P<verb>{'|'.join(VERBS)})\b[\]>*`]*[ \t]*:?(?P<rest>.*)$")
_OPENS = re.compile(r" {0,3}(?:`{3,}[^`]*|~{3,}.*)$")
_FENCE = re.compile(r"[ \t]*(?:`{3,}|~{3,})[\w+.-]*[ \t]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """`verb` is one of VERBS; `argument` the path or query, for REPLACE the target; `code` is for REPLACE."""

    verb: str
    argument: str = ""
    code: str = ""
    reflection: str = ""


def parse(text: str, targets: Sequence[str]) -> Command | ProtocolError:
    """One answer. What it never does: guess where code ends, or write a part of it."""
    try:
        text = without_thoughts(text.removeprefix("\ufeff"))
    except UnclearError as unclear:
        return ProtocolError(text=f"{unclear} Nothing was done.")
    if text.count("\r\n") == text.count("\n"):  # otherwise they are part of the code
        text = text.replace("\r\n", "\n")
    if len(text) > MAX_ANSWER:
        return ProtocolError(
            text=f"Your answer has {len(text)} characters; at most {MAX_ANSWER} are read. Nothing was done."
        )
    lines = text.split("\n")
    action = _labelled(lines)
    if action is None:
        labels = [at for at, line in enumerate(lines) if _LABEL.match(line)]
        after = [_LABEL.sub(r"\g<rest>", lines[labels[0]]), *lines[labels[0] + 1 :]] if labels else []
        other = next((line.strip() for line in after if line.strip() and not _FENCE.match(line)), "")
        unknown = re.match(r"[\[<*`]*([A-Za-z_]+)", other)
        named = f"There is no action {unknown[1]}. " if unknown else ""
        if unknown and unknown[1].upper() in VERBS:
            named = f"Write {unknown[1].upper()} in capitals. "
        return ProtocolError(
            text=f"{named}Your answer has no action. Nothing was done. The actions are {', '.join(VERBS)}. Answer in this form:\n\n{SHAPE}"
        )
    label, verb, rest, at = action
    reflection = reflection_of("\n".join(lines[:label]))
    argument, body = rest.strip(" \t`'\"[]<>"), "\n".join(lines[at:])
    if verb == "REPLACE":
        opened = sum(bool(_FENCE.match(line)) for line in lines[:at]) % 2 == 1
        return _replace(argument, body, targets, reflection, opened=opened, above=at)
    behind = body
    if verb in ("READ", "RETRIEVE") and not argument:
        behind = body.strip().partition("\n")[2] if verb == "READ" else ""
    if wrong := _more(verb, behind if verb != "RETRIEVE" or argument else body, argument):
        return wrong
    if verb in ("BROWSE", "SUBMIT"):
        return Command(verb=verb, reflection=reflection)
    argument = argument or _plain(body)
    if verb == "READ":
        argument = argument.partition("\n")[0].strip(" \t`'\"")
    if not argument:
        wanted = "the path of a file" if verb == "READ" else "what to look for"
        return ProtocolError(text=f"{verb} needs {wanted}, after the word or on the next line. Nothing was done.")
    return Command(verb=verb, argument=argument, reflection=reflection)


def reflection_of(text: str) -> str:
    """The text before the action, without its label."""
    return _REFLECT.sub("", text, count=1).strip() if _REFLECT.match(text) else text.strip()


def _labelled(lines: Sequence[str]) -> tuple[int, str, str, int] | None:
    """(line of the label, verb, rest of that line, next line) of the first label that is followed by an action."""
    for label, line in enumerate(lines):
        match = _LABEL.match(line)
        if match is None:
            continue
        at = label
        rest = match["rest"]
        while not rest.strip() or _FENCE.match(rest):
            at += 1
            if at == len(lines):
                return None
            rest = lines[at]
        verb = _VERB.match(rest.strip())
        if verb is not None:
            return label, verb["verb"], verb["rest"], at + 1
    return None


def _more(verb: str, behind: str, argument: str) -> ProtocolError | None:
    """A description of text that follows an action of one line and would be lost."""
    rows = behind.split("\n")
    lost = [row for row in rows if row.strip() and not _FENCE.match(row)]
    begun = [row for row in rows if _LABEL.match(row) or _VERB.match(row.strip())]
    code = sum(bool(_FENCE.match(row)) for row in rows) > 1
    query = verb == "RETRIEVE" and not argument
    if (lost and rows[0].strip() and not query) or begun or (code and not query):
        what = (begun or lost or rows)[0].strip()[:80]
        return ProtocolError(
            text=f"More text (`{what}`) follows {verb} and would be lost: one action per answer, and nothing after it. Nothing was done."
        )
    return None


def _replace(
    argument: str, body: str, targets: Sequence[str], reflection: str, *, opened: bool, above: int
) -> Command | ProtocolError:
    """`opened`: a fence was opened before the word REPLACE, so the code ends with the line that closes it. `above`: the lines of the
    answer above `body`."""
    path = argument.removeprefix("./")
    if path and path not in targets:
        return ProtocolError(
            text=f"REPLACE writes a target ({', '.join(targets)}), not {path[:200]!r}; the code begins on the next line. Nothing was done."
        )
    if not path and len(targets) > 1:
        return ProtocolError(
            text=f"There are {len(targets)} targets: write REPLACE and the path of one of them ({', '.join(targets)}), then its code"
            " from the next line on. Nothing was done."
        )
    code = body.rstrip("\n")
    lines = code.rstrip().split("\n")
    odd = sum(bool(_FENCE.match(line)) for line in lines) % 2
    if _OPENS.match(next((line for line in body.split("\n") if line.strip()), "")):
        piece, *more = fences("\n" * above + body)
        behind = body.split("\n")[piece.line + piece.raw.count("\n") + 1 - above :]
        if next_verb := next(filter(None, (_VERB.match(_LABEL.sub(r"\g<rest>", row).strip()) for row in behind)), None):
            return ProtocolError(
                text=f"Another action ({next_verb['verb']}) follows the code of REPLACE: one action per answer. Nothing was done."
            )
        if not piece.closed:
            return ProtocolError(text=f"{piece.unclosed} Nothing was done. Write all of it, shorter if need be.")
        cut_off = any(map(str.strip, behind)) and ends_in_a_string(piece.text)
        if opened or more or cut_off:  # `opened`: one fence within another
            return ProtocolError(text=_WHICH_END)
        code = piece.text.removesuffix("\n")
    elif odd != opened or (opened and not _FENCE.match(lines[-1])):
        return ProtocolError(text=_WHICH_END)
    elif opened:
        code = "\n".join(lines[:-1])
    if _is_numbered(code):
        return ProtocolError(
            text="The code of REPLACE has the numbers of its lines, as the prompt shows them. Nothing was done. Write it without them."
        )
    if not code.strip():
        return ProtocolError(
            text="REPLACE needs the whole new text of the target, from the next line on. Nothing was done."
        )
    return Command(verb="REPLACE", argument=path or targets[0], code=code, reflection=reflection)


_WHICH_END = (
    "The code fences in your answer do not tell where the code ends. Nothing was done. Write the code without a fence and with"
    " nothing after it, or in one fence of four backticks."
)


def _is_numbered(code: str) -> bool:
    """Whether each line begins with its number."""
    lines = code.strip("\n").split("\n")
    return len(lines) > 1 and all(line.split(maxsplit=1)[:1] == [str(number)] for number, line in enumerate(lines, 1))


def _plain(text: str) -> str:
    return "\n".join(line for line in text.split("\n") if not _FENCE.match(line)).strip()
