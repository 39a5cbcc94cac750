"""The text protocol of the `recode` agent: read an answer of a model as a Step, and write a Step as an answer (docs/reference/agents.md).

An answer has headings, and actions take arguments, on one line or as a block whose last line the model
chooses itself, so that a block can hold any line whatever:

    ### Reflection
    The marginals are right, the cost is not.
    ### Action: write
    path: sinkhorn.py
    text <<END_OF_TEXT
    import numpy as np
    END_OF_TEXT

A block's text is its lines joined by newlines: none after the last, but in the text of a `write`, since a file's lines each end in a
newline. The content of a block is never parsed.

`parse` also reads the other forms in which models answer (`value_reader`, `json_calls`, `tagged_calls`, `marked_calls`, `python_calls`). It
has two outcomes: a Step in which every action
and every text is as it was written, or a ProtocolError, and then nothing of the answer is done. Each line of an answer belongs to a
part, to an argument or to prose before or after the actions; any other line is an error.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from pytest_recode.agents.action_arguments import commented
from pytest_recode.agents.action_names import kind_of
from pytest_recode.agents.actions import MAX_ACTIONS, Action, ProtocolError, Step, form_of, in_text
from pytest_recode.agents.answer_reader import AnswerReader
from pytest_recode.agents.checked_action import checked_action, cut_short
from pytest_recode.agents.forms import FORMS, PART_NAMES, PARTS, TEXTS
from pytest_recode.agents.headings import HEADING, LOOSE, NAMED_FILE, SINGLE, VERB, acts, heading
from pytest_recode.agents.json_calls import AS_JSON, submit_text
from pytest_recode.agents.outside_code import outside_code
from pytest_recode.agents.prose import HOW, json_line
from pytest_recode.agents.tagged_calls import opens_call
from pytest_recode.agents.value_reader import SEARCH, value_at
from pytest_recode.agents.values import FENCE, DamagedError, WrongError, closes_fence, opens_block

__all__ = ["FORMS", "Action", "ProtocolError", "Step", "parse", "parts_of", "render"]

MAX_ANSWER = 1_000_000
"""Characters of one answer: as much as a target may hold, so nothing that could be graded is refused."""
_ALIKE = "Other actions have one: write all of them alike."
_NO_ACTION = "Your answer has no action: no line such as `### Action: read`."
_SHAPE = """\
### Observation
what you see
### Reflection
what it means
### Planning
what you will do
### Action: read
path: (file, relative to the workspace)"""


def parse(text: str) -> Step | ProtocolError:
    """Parse one answer of a model.

    It never guesses where a text ends, never chooses between two readings, and never executes a part of an answer.
    """
    try:
        if not text.strip():
            return ProtocolError(text=f"Your answer was empty. Answer in this form:\n\n{_SHAPE}")
        ended = _END_TOKENS.search(text, max(len(text) - _LONGEST_END, 0))
        if ended is None:
            return read_actions(text)
        step = read_actions(text[: ended.start()])
        if _ends_in_a_text(step, text[: ended.start()]):
            raise DamagedError(
                f"Your answer ends in `{ended[0].strip()}`, and it is unclear whether that belongs to the text before it.",
                advice="Give that text as a block with a last line of its own.",
            )
        return step
    except NoActionError as none:
        what = f"{none.fault} No other action was found." if none.fault else _NO_ACTION
        shape = _shape(plain_lines(text).split("\n"))
        if shape == _SHAPE and outside_code(text):
            what += " The code in it was written to no file."
            shape = f"{_SHAPE.partition('### Action')[0]}{form_of('write')}"
        return ProtocolError(
            text=f"{what} Nothing was done. The actions are {', '.join(FORMS)}. Answer in this form:\n\n{shape}"
        )
    except DamagedError as damage:
        return ProtocolError(text=f"{damage} Nothing was done.")
    except WrongError as wrong:
        return ProtocolError(text=in_text(wrong.error))


_END_TOKENS = re.compile(
    r"(?:\s*(?:<\|(?:im_end|endoftext|end_of_text|eot_id|eom_id|tool_calls_section_end)\|>"
    r"|<\uff5c(?:end\u2581of\u2581sentence|tool\u2581calls\u2581end)\uff5c>))+\s*\Z",
    re.ASCII,
)
"""Tokens with which chat templates end an answer, if a server left them in it."""
_LONGEST_END = 200
"""Characters in which they are looked for: the pattern takes time of the square of its blanks."""


def _ends_in_a_text(step: Step, answer: str) -> bool:
    """Whether a text of the last action reaches to the end of the answer, so that no line closes it."""
    texts = [value for name, value in step.actions[-1].arguments.items() if name in TEXTS and value.strip()]
    return any(answer.rstrip().endswith(text.rstrip()) for text in texts)


_SUBMIT_ALONE = re.compile(r"[\s`*_#]*submit(?:\(\))?[\s`*_.!]*", re.IGNORECASE)
"""An answer that consists of this one word: nothing else can be meant, and no text has to be found in it."""


class NoActionError(DamagedError):
    """A text has no action. `fault`, if not empty, names a line that looks like one."""


def read_actions(text: str) -> Step:
    """The actions in a text and everything beside them. Raises NoActionError, DamagedError and WrongError."""
    text = without_thoughts(plain_lines(text))
    if len(text) > MAX_ANSWER:
        raise DamagedError(
            f"Your answer has {len(text)} characters; at most {MAX_ANSWER} are read.",
            advice="Write less at once.",
        )
    if _SUBMIT_ALONE.fullmatch(text):
        return Step(actions=(Action(kind="submit"),))
    try:
        return _step(_read(_outdented(text).split("\n")))
    except RecursionError:
        raise DamagedError("Your answer is nested too deeply.") from None


def _read(lines: list[str]) -> AnswerReader:
    """Headings without hashes count only if there is no action under a real heading, and those with one hash only if there is none under
    either."""
    reading = AnswerReader(lines=list(lines), heads=(HEADING,))
    damage: DamagedError | WrongError | None = None
    try:
        reading.read()
    except (DamagedError, WrongError) as error:
        damage = error
    real = any((head := heading(line, (HEADING,))) is not None and head.word == "action" for line in lines)
    if not reading.forms and not real:
        if any(acts(line) and not SINGLE.match(line) for line in lines):
            return AnswerReader(lines=lines, heads=(HEADING, LOOSE)).read()
        if any(_opens_single(lines, at) for at in range(len(lines))):
            return AnswerReader(lines=lines, heads=(HEADING, LOOSE, SINGLE)).read()
    if damage is not None:
        if real and reading.hint is not None and reading.hint.unmarked:
            raise DamagedError(reading.hint.text, advice=_ALIKE)
        if damage.stray and (cut := cut_short(reading.calls, lines)):
            raise DamagedError(damage.fault, advice=cut)
        raise damage
    return reading


def _opens_single(lines: Sequence[str], at: int) -> bool:
    """Whether line `at` is `# Action: read`, or `# Action` followed by the action."""
    head = heading(lines[at], (SINGLE,)) if lines[at][:1] == "#" else None
    if head is None or head.word != "action":
        return False
    said = head.rest or next((lines[row] for row in range(at + 1, len(lines)) if lines[row].strip()), "").strip()
    verb = VERB.match(said)
    return said[:1] in ("{", "[") or opens_call(said) or (verb is not None and kind_of(verb["verb"]) is not None)


def plain_lines(text: str) -> str:
    """An answer without a byte order mark, and with line feeds if all of its lines end in CRLF. If only some do, the carriage returns are
    part of its texts."""
    text = text.removeprefix("\ufeff")
    if "\r\n" in text and text.count("\r\n") == text.count("\n"):
        return text.replace("\r\n", "\n")
    return text


def without_thoughts(text: str) -> str:
    """An answer without the thoughts at its beginning, each line at its place. Raises DamagedError if the thoughts do not end."""
    for tag in ("think", "thinking"):
        if text.lstrip().startswith(f"<{tag}>"):
            thoughts, found, rest = text.partition(f"</{tag}>")
            if not found:
                raise DamagedError(
                    f"Your answer begins with <{tag}> and has no </{tag}>: it holds nothing but thoughts."
                )
            return "\n" * thoughts.count("\n") + rest
    return text


def parts_of(text: str) -> dict[str, str]:
    """The parts in a text next to native tool calls, or in an answer with unusable actions. Text without headings is reflection."""
    parts: dict[str, list[str]] = {}
    word, fence, close = "reflection", "", ""
    lines = text[:MAX_ANSWER].split("\n")
    last = {found[0].lower(): at for at, line in enumerate(lines) for found in _PART_END.finditer(line)}
    for at, line in enumerate(lines):
        head = heading(line.rstrip("\r"), (HEADING,) if fence or close else (HEADING, SINGLE))
        if head is not None and head.word == "action":
            break
        if head is not None:
            word, line = head.word, "" if head.tag else head.rest
        opened = FENCE.match(line)
        fence = "" if fence and closes_fence(line, fence) else fence or (opened["ticks"] if opened else "")
        for piece in _PART_TAGS.split(line) if "<" in line else [line]:
            tag = piece.strip("<>").lower() if piece[:1] == "<" and piece[-1:] == ">" else ""
            if tag in PART_NAMES and not close and last.get(f"</{tag}>", -1) >= at:
                word, close = PART_NAMES[tag], f"</{tag}>"
            elif close and piece.lower() == close:
                word, close = "reflection", ""
            elif piece or piece == line:
                parts.setdefault(word, []).append(piece)
    return {name: said for name, rows in parts.items() if (said := "\n".join(rows).strip())}


_PART_END = re.compile(rf"</(?:{'|'.join(PART_NAMES)})>", re.IGNORECASE)
_PART_TAGS = re.compile(rf"(</?(?:{'|'.join(PART_NAMES)})>)", re.IGNORECASE)


def render(step: Step) -> str:
    """An answer from which `parse` restores this step, whatever its parts and arguments contain."""
    values = [
        *(getattr(step, name) for name in PARTS),
        *(each for act in step.actions for each in act.arguments.values()),
    ]
    taken = {line.strip() for value in values for line in value.split("\n")}
    lines: list[str] = []
    for name in PARTS:
        value = getattr(step, name)
        title = f"### {name.capitalize()}"
        if value:
            lines += [title, *value.split("\n")] if _reads_as_prose(value) else _rendered_block(title, value, taken)
    for act in step.actions:
        lines.append(f"### Action: {act.kind}")
        given = dict(act.arguments)
        if act.kind == "write" and commented(given["path"]):
            given["path"] = f'"{given["path"]}"'
        if act.kind == "write" and act.arguments["text"][-1:] not in ("", "\n"):  # lines would end it with a newline
            lines.append(json.dumps(given))
            continue
        for name, value in given.items():
            if act.kind == "write" and name == "text":
                lines += _rendered_block(name, value, taken, whole_lines=True)
            elif name not in TEXTS and _fits_a_line(name, value):
                lines.append(f"{name}: {value}")
            else:
                lines += _rendered_block(name, value, taken)
    return "\n".join(lines) + "\n"


_ODD = re.compile(r"[^\w(]|.*(?:action|<<|```|~~~|think>)|END_OF_TEXT", re.IGNORECASE)


def _reads_as_prose(value: str) -> bool:
    return value == value.strip() and "\r" not in value and not any(map(_ODD.match, value.split("\n")))


def _fits_a_line(name: str, value: str) -> bool:
    if "\n" in value or "\r" in value:
        return False
    try:
        return value_at([f"{name}: {value}"], 0, name, f": {value}").text == value
    except DamagedError:
        return False


def _rendered_block(head: str, value: str, taken: set[str], *, whole_lines: bool = False) -> list[str]:
    """A block whose last line is not another line of the answer; that line is added to `taken`. `whole_lines`: each line of `value` ends
    in a newline."""
    body = (value.removesuffix("\n") if whole_lines else value).split("\n") if value else []
    tag, number = "END_OF_TEXT", 1
    while tag in taken or opens_block("\n".join(body), tag):
        number += 1
        tag = f"END_OF_TEXT_{number}"
    taken.add(tag)
    return [f"{head} <<{tag}", *body, tag]


def _outdented(text: str) -> str:
    """Remove the indentation of an answer that is indented as a whole."""
    lines = text.split("\n")
    first = next((line for line in lines if line.strip()), "")
    depth = len(first) - len(first.lstrip(" "))
    if not depth or any(line[:depth].strip(" ") for line in lines) or any(heading(line, (HEADING,)) for line in lines):
        return text
    return "\n".join(line[depth:] for line in lines) if any(acts(line[depth:]) for line in lines) else text


def _shape(lines: Sequence[str]) -> str:
    """The form of an answer. If this answer has code below a file name, the form is a `write` of that file, or an `edit` if the code is a
    search and replace block."""
    before = ""
    for at, line in enumerate(lines):
        named = NAMED_FILE.match(before[:300])
        if named is not None and FENCE.match(line):
            write = f"### Action: write\npath: {named['path']}\ntext <<END_OF_TEXT\n(its whole content)\nEND_OF_TEXT"
            edit = f"### Action: edit\npath: {named['path']}\n<<<<<<< SEARCH\n(old lines)\n=======\n(new lines)\n>>>>>>> REPLACE"
            change = at + 1 < len(lines) and SEARCH.match(lines[at + 1])
            return _SHAPE.partition("### Action")[0] + (edit if change else write)
        before = line if line.strip() else before
    return _SHAPE


def _step(reading: AnswerReader) -> Step:
    calls, lines = reading.calls, reading.lines
    if not calls:
        hint = reading.hint.text if reading.hint is not None else ""
        if not hint and (line := json_line(lines)):
            hint = (
                f"Your answer has no action that can be read. Line {line} (`{lines[line - 1].strip()[:80]}`) holds JSON that is not read: "
                f"an action as JSON names it and begins in a line of its own, such as {AS_JSON}."
            )
        raise NoActionError(hint)
    if len(reading.forms) > 1:
        told = " and ".join(f"{form} (line {line})" for form, line in reading.forms.items())
        raise DamagedError(f"Your answer has actions in different forms, {told}.", advice=f"Use one form. {HOW}")
    if reading.hint is not None:
        raise DamagedError(reading.hint.text, advice=_ALIKE)
    if len(calls) > MAX_ACTIONS:
        raise DamagedError(f"Your answer has {len(calls)} actions; at most {MAX_ACTIONS} are done at once.")
    texts = [*reading.texts, *(each for call in calls for each in call.values.values() if each.closer[:1] == "<")]
    for call in calls:
        if kind_of(call.name) == "submit" and (said := submit_text(call.arguments)):
            call.parts["reflection"] = "\n".join(filter(None, (call.parts.get("reflection"), said)))
    made = [checked_action(call, lines, texts) for call in calls]
    parts = {word: "\n".join(said).strip() for word, said in reading.parts.items()}
    parts |= {word: "\n".join(filter(None, (text, parts[word]))) for word, text in reading.exact.items()}
    for call in calls:
        for name, said in call.parts.items():
            parts[name] = "\n".join(filter(None, (parts.get(name), said)))
    outside = tuple(code for text in parts.values() for code in outside_code(text))
    before = parts.pop("", "")
    parts["observation"] = parts.get("observation") or before
    return Step(
        observation=parts["observation"],
        reflection=parts.get("reflection", ""),
        planning=parts.get("planning", ""),
        actions=tuple(made),
        outside=outside,
    )
