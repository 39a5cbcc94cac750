"""The text protocol of the `recode` agent: one answer of a model <-> one Step (all of it in docs/agents.md).

An answer has headings, and actions take arguments, on one line or as a block whose last line the model
chooses itself, so that a block can hold any line whatever:

    ### Reflection
    The marginals are right, the cost is not.
    ### Action: write
    path: sinkhorn.py
    text <<END_OF_TEXT
    import numpy as np
    END_OF_TEXT

A block's text is its lines joined by newlines (none after the last). Nothing inside a block is looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pytest_recode.agents.actions import (
    FORMS,
    MAX_ACTIONS,
    PARTS,
    TEXTS,
    Action,
    ProtocolError,
    Step,
    action,
    form_of,
    wrong_use,
)

__all__ = ["FORMS", "Action", "ProtocolError", "Step", "parse", "parts_of", "render"]

MAX_ANSWER = 1_000_000
"""Characters of one answer: as much as a target may hold, so nothing that could be graded is refused."""

# ASCII: otherwise IGNORECASE lets a long s pass for "s".
# Every pattern is linear in the line: an answer may be a megabyte of blanks.
_FLAGS = re.IGNORECASE | re.ASCII
_WORD = r"(?P<word>observations?|reflections?|plan(?:ning)?|actions?)"
# Two hashes at least: one hash is a comment in Python.
_HEADING = re.compile(rf"(?:#{{2,6}}[ \t]*(?:\*\*)?|\*\*){_WORD}(?P<tail>.*)$", _FLAGS)
# Only where an answer holds no action under a real heading: `Action: read` as some models write it.
_LOOSE = re.compile(rf"{_WORD}(?P<tail>[ \t]*:.*)$", _FLAGS)
_OPENER = re.compile(r"<<-?[ \t]*(?P<quote>['\"]?)(?P<tag>[A-Za-z_]\w*)(?P=quote)", _FLAGS)
_ALIASES = {
    "text": ("contents", "content", "code"),
    "path": ("filename", "file"),
    "command": ("cmd",),
    "pattern": ("regex",),
}
_NAMES = {alias: name for name, aliases in _ALIASES.items() for alias in aliases} | {
    name: name for form in FORMS.values() for name in form.takes
}
_ARGUMENT = re.compile(rf"[ \t]*(?:[-*][ \t]+)?(?P<name>{'|'.join(_NAMES)})[ \t]*(?P<tail>(?::|<<).*)$", _FLAGS)
_FENCE = re.compile(r"(?P<ticks>`{3,}|~{3,})[\w+.-]*[ \t\r]*$", _FLAGS)
_VERB = re.compile(rf"[`'\"*]*(?P<verb>{'|'.join(FORMS)})\b[`'\"*]*[ \t]*:?(?P<rest>.*)$", _FLAGS)

_SHAPE = """\
### Observation
what you see
### Reflection
what it means
### Planning
what you will do
### Action: read
path: README.md"""


def parse(text: str) -> Step | ProtocolError:
    """One answer of a model. Tolerates prose and code fences around it, other heading depths, missing parts.

    What it never does: guess where a block ends, or act on a part of a damaged answer.
    """
    if text.lstrip().startswith("<think>") and "</think>" in text:
        text = text.partition("</think>")[2]
    if not text.strip():
        return ProtocolError(text=f"Your answer was empty. Answer in this form:\n\n{_SHAPE}")
    if len(text) > MAX_ANSWER:
        return ProtocolError(
            text=f"Your answer has {len(text)} characters; at most {MAX_ANSWER} are read. Nothing was done. "
            "Write less at once."
        )
    step = _read(text, (_HEADING,))
    if isinstance(step, Step) and not step.actions:
        step = _read(text, (_HEADING, _LOOSE))
    if isinstance(step, Step) and not step.actions:
        return ProtocolError(
            text="Your answer holds no action: no line such as `### Action: read`. "
            f"The actions are {', '.join(FORMS)}. Answer in this form:\n\n{_SHAPE}"
        )
    return step


def parts_of(text: str) -> dict[str, str]:
    """The parts in a text beside native tool calls, or in an answer whose actions cannot be used; text without headings is
    reflection."""
    lines = text[:MAX_ANSWER].split("\n")
    heads = ((at, _heading(line.rstrip("\r"), (_HEADING,))) for at, line in enumerate(lines))
    end = next((at for at, head in heads if head is not None and head[0] == "action"), len(lines))
    step = _read("\n".join(lines[:end]), (_HEADING,))
    if isinstance(step, ProtocolError):
        return {"reflection": text.strip()}
    if not step.reflection and not step.planning and not _HEADING.match(text.lstrip()):
        return {"reflection": step.observation}
    return {name: getattr(step, name) for name in PARTS}


def render(step: Step) -> str:
    """The answer that `parse` reads as this step, whatever its parts and arguments hold."""
    lines: list[str] = []
    for name in PARTS:
        value = getattr(step, name)
        title = f"### {name.capitalize()}"
        plain = value == value.strip() and "\r" not in value and not any(map(_HEADING.match, value.split("\n")))
        if value:
            lines += [title, *value.split("\n")] if plain else _block(title, value)
    for act in step.actions:
        lines.append(f"### Action: {act.kind}")
        for name, value in act.arguments.items():
            if name not in TEXTS and _fits_a_line(name, value):
                lines.append(f"{name}: {value}")
            else:
                lines += _block(name, value)
    return "\n".join(lines) + "\n"


def _fits_a_line(name: str, value: str) -> bool:
    return "\n" not in value and not _tag(f": {value}") and _inline(name, f": {value}") == value


def _block(head: str, value: str) -> list[str]:
    body = value.split("\n") if value else []
    taken = {line.strip() for line in body}
    tag, number = "END_OF_TEXT", 1
    while tag in taken:
        number += 1
        tag = f"END_OF_TEXT_{number}"
    return [f"{head} <<{tag}", *body, tag]


class _DamagedError(Exception):
    """Ends the reading of an answer."""


_Line = tuple[str, str | None]
"""A line, and the text of the block that it opens."""


@dataclass(slots=True, kw_only=True)
class _Section:
    """What stands under one heading ("": before the first). `exact` is a part given as a block."""

    word: str = ""
    rest: str = ""
    lines: list[_Line] = field(default_factory=list)
    exact: str | None = None

    def plain(self) -> str:
        if self.exact is not None:
            return self.exact
        text = "\n".join([self.rest, *(line for line, _ in self.lines)]).strip()
        return "" if not self.word and _FENCE.match(text) else text  # a fence around the whole answer


def _read(text: str, heads: Sequence[re.Pattern[str]]) -> Step | ProtocolError:
    parts: dict[str, str] = {}
    actions: list[Action] = []
    wrong: ProtocolError | None = None
    notes: list[str] = []
    try:
        for section in _sections(text.split("\n"), heads):
            if section.word != "action":
                if actions and section.word in parts:
                    notes.append(f"Your answer went on with another {section.word}: nothing from there on was read.")
                    break
                parts[section.word] = "\n".join(filter(None, (parts.get(section.word), section.plain())))
                continue
            found = _read_action(section)
            if isinstance(found, Action):
                actions.append(found)
            elif isinstance(found, ProtocolError):
                wrong = wrong or found
            else:
                notes.append(f"`### Action: {found[:80]}` is no action: nothing was done for it.")
    except _DamagedError as damage:
        return ProtocolError(text=str(damage))
    if wrong is not None:
        return wrong
    if len(actions) > MAX_ACTIONS:
        return ProtocolError(
            text=f"Your answer holds {len(actions)} actions; at most {MAX_ACTIONS} are done at once. Nothing was done."
        )
    before = parts.pop("", "")
    parts["observation"] = parts.get("observation") or before
    return Step(**parts, actions=tuple(actions), note=" ".join(notes[:3]))


def _sections(lines: Sequence[str], heads: Sequence[re.Pattern[str]]) -> Iterator[_Section]:
    section = _Section()
    at = 0
    while at < len(lines):
        line = lines[at].rstrip("\r")
        at += 1
        if heading := _heading(line, heads):
            yield section
            section = _Section(word=heading[0], rest=heading[1])
            if heading[2]:
                section.exact, at = _until(lines, at, heading[2])
        elif section.word == "action" and (match := _ARGUMENT.match(line)) and (tag := _tag(match["tail"])):
            text, at = _until(lines, at, tag)
            section.lines.append((line, text))
        elif section.word == "action" and (fence := _FENCE.match(line)) and _wants_fence(section):
            text, at = _until_fence(lines, at, fence["ticks"])
            section.lines.append(("", text))
        else:
            section.lines.append((line, None))
    yield section


def _heading(line: str, heads: Sequence[re.Pattern[str]]) -> tuple[str, str, str] | None:
    """(part or "action", what follows on the line, tag of the block it opens); None for any other line."""
    match = next((match for head in heads if (match := head.match(line))), None)
    if match is None:
        return None
    word = match["word"].lower().rstrip("s")
    tail = match["tail"].replace("**", "", 2).strip()
    tag = "" if word == "action" else _tag(tail)
    if tail and not tag and not tail.startswith(":"):
        return None
    return "planning" if word == "plan" else word, "" if tag else tail[1:].strip(), tag


def _tag(tail: str) -> str:
    """Of the block that `<<TAG` or `: <<TAG` opens, or ""."""
    match = _OPENER.fullmatch(tail.strip().removeprefix(":").strip())
    return match["tag"] if match else ""


def _until(lines: Sequence[str], at: int, tag: str) -> tuple[str, int]:
    for end in range(at, len(lines)):
        if lines[end].strip() == tag:
            return "\n".join(lines[at:end]), end + 1
    raise _DamagedError(
        f"The block that line {at} opens (`{lines[at - 1].strip()[:80]}`) has no last line `{tag}`: "
        "the answer was cut off, or the line is missing. Nothing was done. "
        f"End the block with a line that holds only `{tag}`, or write less at once."
    )


def _wants_fence(section: _Section) -> bool:
    """A `write` without text, or a `run` without command, takes the fenced code that follows it."""
    if any(text is not None for _, text in section.lines):
        return False
    verb = _VERB.match(" ".join([section.rest, *(line for line, _ in section.lines[:8])]).strip())
    given = {_NAMES[match["name"].lower()] for line, _ in section.lines if (match := _ARGUMENT.match(line))}
    wanted = {"write": "text", "run": "command"}.get(verb["verb"].lower()) if verb else None
    return wanted is not None and wanted not in given


def _until_fence(lines: Sequence[str], at: int, ticks: str) -> tuple[str, int]:
    end = next((end for end in range(at, len(lines)) if lines[end].rstrip() == ticks), None)
    if end is None:
        raise _DamagedError(
            f"The code fence that line {at} opens is not closed: the answer was cut off. Nothing was done. "
            "Close it, or write less at once."
        )
    for line in map(lines.__getitem__, range(end + 1, len(lines))):
        if _heading(line, (_HEADING,)):
            break
        if _FENCE.match(line):
            raise _DamagedError(
                f"More code fences follow the one that line {at} opens, so that its end is not known. "
                f"Nothing was done. Write the text as a block instead:\n\n{form_of('write')}"
            )
    return "\n".join(lines[at:end]), end + 1


def _read_action(section: _Section) -> Action | ProtocolError | str:
    """A str, what stands in the verb's place, where that is no action."""
    rest = list(section.lines)
    head = section.rest
    while not head and rest and rest[0][1] is None:
        line = rest.pop(0)[0].strip()
        head = "" if _FENCE.match(line) else line
    verb = _VERB.match(head)
    if verb is None:
        return head
    kind = verb["verb"].lower()
    main = FORMS[kind].main
    given: dict[str, str] = {}
    if main and (value := _inline(main, verb["rest"])):
        given[main] = value
    for line, text in rest:
        match = _ARGUMENT.match(line)
        if match:
            name = _NAMES[match["name"].lower()]
            value = _inline(name, match["tail"]) if text is None else text
        elif text is not None:
            name, value = ("text" if kind == "write" else "command"), text
        else:
            continue
        if given.get(name, value) != value:
            return wrong_use(kind, f"`{name}` of `{kind}` is given twice.")
        given[name] = value
    return action(kind, given)


def _inline(name: str, tail: str) -> str:
    value = tail.strip().removeprefix(":").strip()
    if name == "path" and len(value) > 2 and value[0] == value[-1] and value[0] in "`'\"":
        return value[1:-1]
    return value
