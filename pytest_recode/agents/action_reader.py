"""Read one action below a heading: its name and arguments, up to the next heading or to text that can only be prose.

Longer than 350 lines because reading is one pass with one state: which arguments are given decides what a line may be.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_recode.agents.action_arguments import RANGE_NAMES
from pytest_recode.agents.action_end import (
    AS_A_COMMAND,
    is_bold_prose,
    is_left_over,
    is_over,
    last_text,
    names_given,
    where_it_ended,
)
from pytest_recode.agents.action_heading import read_heading
from pytest_recode.agents.action_names import argument_of, as_it_is, kind_of, plain_name, unless_as_it_is
from pytest_recode.agents.actions import ProtocolError, wrong_use
from pytest_recode.agents.calls import Call
from pytest_recode.agents.fences import PYTHONS, language_in
from pytest_recode.agents.forms import FORMS, PART_NAMES
from pytest_recode.agents.headings import ARGUMENT, NAMED_FILE, has_blanks, heading, path_in, tail_of
from pytest_recode.agents.json_calls import SUBMIT_TEXTS, decoded, json_fault, taken_parts
from pytest_recode.agents.shell_lines import command_alone, with_further_lines
from pytest_recode.agents.tagged_calls import argument_tag, is_argument, tag_at
from pytest_recode.agents.value_reader import SEARCH, fenced_at, search_and_replace, value_at
from pytest_recode.agents.values import (
    AS_BLOCKS,
    FENCE,
    DamagedError,
    Value,
    WrongError,
    closes,
    closes_fence,
    ends,
    shown,
)

_ALL_ARGUMENTS = ("action input", "args", "arguments", "parameters")
_ONE_WORD = re.compile(r"[:=][ \t]*(?P<word>[^\s<`~|>\"']\S*)[ \t]*")


@dataclass(slots=True, kw_only=True)
class ActionReader:
    """`at` is the index of the next line. `texts` are the action's texts that end with a marker line."""

    lines: list[str]
    at: int
    heads: Sequence[re.Pattern[str]]
    wrapper: str
    call: Call
    texts: list[Value] = field(default_factory=list)
    prose_follows: bool = True
    """Whether prose may follow the action."""
    replaced: list[tuple[Value, Value]] = field(default_factory=list)
    """The old and the new texts of an `edit` between conflict markers."""
    earlier: Sequence[Value] = ()
    """The texts of the actions before that end with a marker line."""

    def read(self, said: str, fence: str, said_at: int) -> None:
        """`said` is the rest of the heading, or the line below it, at line `said_at` (from 1). `fence` is the fence opened between the
        two, if any. Ends at the next heading, at the end of `wrapper`, or where prose begins.

        Raises DamagedError and WrongError.
        """
        call = self.call
        kind = read_heading(call, said, said_at)
        blank = False
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if heading(line, self.heads):
                if fence:
                    raise DamagedError(f"The code fence around the action in line {call.line} is not closed.")
                return
            if not line.strip():
                blank, self.at = True, self.at + 1
                continue
            if fence and closes_fence(line, fence):
                fence, self.at = "", self.at + 1
                continue
            if not fence and kind == "submit" and (end := _empty_fence(self.lines, self.at)):
                self.at = end
                continue
            if self.wrapper and not fence and closes(line, self.wrapper):
                return
            if (
                self.prose_follows
                and not fence
                and blank
                and is_bold_prose(line)
                and is_over(call, kind, line=line, blank=True)
            ):
                return
            if self._argument(call, kind, line):
                blank = False
                continue
            if (
                self.prose_follows
                and not fence
                and is_over(call, kind, line=line, blank=blank or self._says_goodbye(kind, line))
            ):
                return
            if not fence and is_left_over(self.lines, self.at, call, kind):
                return
            stray = f"Line {self.at + 1} ({shown(line)}) in `{kind}` is neither an argument nor within one, and would be lost."
            last = last_text(call, kind)
            if (before := next((each for each in self.earlier if ends(each, line)), None)) is not None:
                raise DamagedError(
                    f"Line {self.at + 1} ({shown(line)}) could end the text that began in line {before.opened} and ended in line {before.end}: it is "
                    "unclear which is meant.",
                    advice=f"End that text with a word that is no line of it, such as `{_other_word(before.closer)}`.",
                )
            if kind == "run" and "command" in names_given(
                call, kind
            ):  # its form, a command of one line, would not help
                how = where_it_ended(last) if last is not None and last.block else AS_A_COMMAND
                raise DamagedError(stray, advice=how, stray=True)
            if kind == "run" and len(line.strip()) <= 400 and line.strip()[0] not in "#>%|&;<-*":
                told = f"{stray} Nothing was done. If it is the command, write it like this:"
                following = self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""
                more = following.strip() and heading(following, self.heads) is None
                form = "command <<END_OF_COMMAND\n(its lines)\nEND_OF_COMMAND" if more else f"command: {line.strip()}"
                raise WrongError(ProtocolError(text=f"{told}\n\n### Action: run\n{form}"), fault=stray, stray=True)
            told = f"{stray} {where_it_ended(last)}" if last is not None else stray
            raise WrongError(ProtocolError(text=f"{told} Nothing was done.", kind=kind), fault=stray, stray=True)
        if fence:
            raise DamagedError(f"The code fence around the action in line {call.line} is not closed.")

    def _says_goodbye(self, kind: str, line: str) -> bool:
        """Whether this line is prose after a `submit` that is the last action."""
        argument = ARGUMENT.match(line)
        if kind != "submit" or line.lstrip()[:1] in ("{", "[", "<") or (argument and tail_of(argument)):
            return False
        if FENCE.match(line):
            return False
        heads = (heading(each, self.heads) for each in self.lines[self.at :])
        return not any(head is not None and head.word == "action" for head in heads)

    def _argument(self, call: Call, kind: str, line: str) -> bool:
        """Read the argument that begins in this line. Returns False if none does."""
        if line.lstrip().startswith("<") and self._tag(call, kind, line):
            return True
        if line.lstrip()[:1] == "{":
            self._json_arguments(call, self.at, line)
            return True
        if FENCE.match(line):
            return self._fence(call, kind, line)
        if kind == "edit" and SEARCH.match(line):
            self._search_and_replace(call)
            return True
        match = ARGUMENT.match(line)
        tail = tail_of(match) if match is not None else ""
        if match is None or not tail:
            return self._command_alone(call, kind, line) or self._file_name(call, kind, line)
        name = match["name"]
        if name.lower().replace("_", " ") in _ALL_ARGUMENTS:
            return self._given_at_once(call, kind, tail[1:].strip())
        own = argument_of(kind, name)
        if kind == "read" and plain_name(name) in RANGE_NAMES and (number := _ONE_WORD.fullmatch(tail)):
            if plain_name(name) in map(plain_name, call.arguments):
                raise WrongError(wrong_use(kind, f"`{name}` of `{kind}` is given twice."))
            call.arguments[name] = number["word"]
            self.at += 1
            return True
        if own is None and re.match(r"[:=](?![ \t]*[<`~|>\"'])", tail) and as_it_is(kind, name, tail[1:]):
            self.at += 1
            return True
        part = PART_NAMES.get(name.lower()) if own is None and kind not in ("write", "edit") else None
        if part is not None and re.match(r"[:=][ \t]*[^\s<`~|>\"']", tail):
            call.parts[part] = "\n".join(filter(None, (call.parts.get(part), tail[1:].strip())))
            self.at += 1
            return True
        if kind == "submit" and plain_name(name) in SUBMIT_TEXTS and re.match(r"[:=]|[ \t]*<<", tail):
            self._keep(call, name, value_at(self.lines, self.at, name, tail))
            return True
        if own is None:
            if re.match(r"[:=]//|::", tail):
                return False
            takes = ", ".join(f"`{each}`" for each in FORMS[kind].takes) or "nothing"
            wrong = (
                f"`{kind}` does not take `{name}`{unless_as_it_is(kind, name)} (line {self.at + 1}); it takes {takes}."
            )
            last = last_text(call, kind)
            told = f"{wrong} {where_it_ended(last)}" if last is not None and last.end == self.at else wrong
            raise WrongError(wrong_use(kind, told), fault=wrong)
        value = value_at(self.lines, self.at, own, tail)
        self._keep(call, name, with_further_lines(self.lines, value) if own == "command" else value)
        return True

    def _tag(self, call: Call, kind: str, line: str) -> bool:
        text = "\n" * self.at + "\n".join(self.lines[self.at :])  # so that lines are counted from the answer's first
        tag = tag_at(text, self.at + len(line) - len(line.lstrip()))
        if tag is None or not (is_argument(tag) or argument_of(kind, tag["name"])):
            return False
        name, value, end = argument_tag(text, tag)
        if text[end:].partition("\n")[0].strip():
            raise DamagedError(f"Something follows `</{tag['name']}>` of the argument in line {self.at + 1}.")
        self._keep(call, name, value)
        return True

    def _command_alone(self, call: Call, kind: str, line: str) -> bool:
        """The command of a `run` without an argument name: a code span, a line that starts with a shell prompt, or shell commands."""
        if kind != "run" or "command" in names_given(call, kind):
            return False
        if (value := command_alone(self.lines, self.at)) is not None:
            self._keep(call, "command", value)
        return value is not None

    def _given_at_once(self, call: Call, kind: str, said: str) -> bool:
        """`Action Input: a.py`, `Action Input: {...}`, `Action Input: None`."""
        takes = FORMS[kind].takes
        if FORMS[kind].needs_nothing and said.lower() in ("none", "null", '""', "''"):
            self.at += 1
            return True
        needed = [name for name in takes if name not in FORMS[kind].optional] or list(takes)
        if said and said[0] not in "{[" and len(needed) == 1 and not names_given(call, kind):
            self._keep(call, needed[0], value_at(self.lines, self.at, needed[0], f": {said}"))
            return True
        return self._given_as_json(call, said)

    def _given_as_json(self, call: Call, said: str) -> bool:
        """`Action Input: {...}`, with the object on this line or the next."""
        at = self.at
        if said:
            shown = " " * (len(self.lines[at]) - len(said)) + said
            self.lines[at] = shown
        else:
            at = next((each for each in range(at + 1, len(self.lines)) if self.lines[each].strip()), at)
            shown = self.lines[at]
        if shown.lstrip().startswith("{"):
            self._json_arguments(call, at, shown)
            return True
        if said or not (ARGUMENT.match(shown) or FENCE.match(shown)):
            return False
        self.at += 1  # a line that announces the arguments below it
        return True

    def _search_and_replace(self, call: Call) -> None:
        pair = search_and_replace(self.lines, self.at)
        if self.replaced:
            self.at = pair[1].end
        else:
            for name, value in zip(("old", "new"), pair, strict=True):
                self._keep(call, name, value)
        self.replaced.append(pair)

    def further_edits(self) -> list[Call]:
        """An `edit` of the same file for each further pair of texts between conflict markers."""
        own = {str(argument_of("edit", name)): value for name, value in self.call.arguments.items()}
        return [
            Call(
                name=self.call.name,
                line=old.opened,
                arguments={**own, "old": old.text, "new": new.text},
                values={"old": old, "new": new},
            )
            for old, new in self.replaced[1:]
        ]

    def _fence(self, call: Call, kind: str, line: str) -> bool:
        """A fence without an argument name: the text of a `write`, the command of a `run`, or a fence around arguments."""
        fence = FENCE.match(line)
        assert fence is not None
        first = next((at for at in range(self.at + 1, len(self.lines)) if self.lines[at].strip()), None)
        inner = self.lines[first] if first is not None else ""
        wanted = {"write": "text", "run": "command"}.get(kind)
        argument = ARGUMENT.match(inner)
        named = argument_of(kind, argument["name"]) if argument is not None and tail_of(argument) else None
        json = inner.lstrip().startswith("{") and fence["info"].strip().lower() in ("", "json")
        if first is not None and kind == "edit" and SEARCH.match(inner):
            self.at = first
            while self.at < len(self.lines) and not closes_fence(self.lines[self.at], fence["ticks"]):
                said = self.lines[self.at]
                if SEARCH.match(said):
                    self._search_and_replace(call)
                elif said.strip():
                    raise DamagedError(
                        f"Line {self.at + 1} ({shown(said)}) is in the code fence around `{inner.strip()}` of line {first + 1}, and between no "
                        "markers."
                    )
                else:
                    self.at += 1
            if self.at == len(self.lines):
                raise DamagedError(f"The code fence around `{inner.strip()}` in line {first + 1} is not closed.")
            self.at += 1
            return True
        if first is not None and json and not call.arguments:
            self._json_arguments(call, first, inner)
            if self.at < len(self.lines) and closes_fence(self.lines[self.at], fence["ticks"]):
                self.at += 1
                return True
            raise DamagedError(f"The code fence with JSON before line {self.at + 1} is not closed after it.")
        if (
            kind == "write"
            and argument is not None
            and named == wanted
            and re.match(r":?[ ]*(?:<<|[|>][-+]?$)", tail_of(argument))
        ):
            raise DamagedError(
                f"It is not known whether line {self.at + 2} ({shown(inner)}) belongs to the text.",
                advice="Leave the code fence around it out.",
            )
        given = names_given(call, kind)
        python = language_in(fence["info"]) in PYTHONS  # an assignment may look like an argument
        if (
            named is not None
            and not (kind == "run" and python)
            and (kind == "run" or not call.values)
            and (named != wanted or kind == "run")
            and wanted not in given
        ):
            self._fenced_arguments(call, kind, fence["ticks"])
            return True
        if wanted is None or wanted in given:
            return False
        value = fenced_at(self.lines, self.at, line)
        path = path_in(value.info)
        if kind == "write" and path:
            if "path" not in given and has_blanks(value.info):
                raise DamagedError(
                    f"The code fence in line {self.at + 1} says `{value.info[:80]}`: it is unclear which of it is the path.",
                    advice="Write the path below the heading, in a line `path: ...`.",
                )
            if "path" not in given:
                call.arguments["path"] = path
        self._keep(call, wanted, value)
        return True

    def _fenced_arguments(self, call: Call, kind: str, ticks: str) -> None:
        opened = self.at + 1
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at]
            if closes_fence(line, ticks):
                self.at += 1
                return
            if not line.strip():
                self.at += 1
                continue
            if heading(line, self.heads) or FENCE.match(line) or not self._argument(call, kind, line):
                raise DamagedError(
                    f"Line {self.at + 1} ({shown(line)}) is in the code fence around the arguments of `{kind}` and is none."
                )
        raise DamagedError(f"The code fence that line {opened} opens is not closed.")

    def _json_arguments(self, call: Call, at: int, line: str) -> None:
        text = "\n".join(self.lines[at:])
        try:
            value, end = decoded(text, len(line) - len(line.lstrip()))
        except (ValueError, RecursionError) as error:
            raise DamagedError(
                f"The JSON that begins in line {at + 1} cannot be read ({json_fault(error)}).",
                advice=AS_BLOCKS,
            ) from None
        if text[end:].partition("\n")[0].strip():
            raise DamagedError(f"Something follows the JSON that begins in line {at + 1}.")
        if not isinstance(value, dict):
            raise DamagedError(f"The JSON that begins in line {at + 1} is no object.")
        call.parts |= taken_parts(value)
        for name, each in value.items():
            self._once(call, name)
            call.arguments[name] = each
        self.at = at + text.count("\n", 0, end) + 1

    def _file_name(self, call: Call, kind: str, line: str) -> bool:
        """A file name on its own line: above the code of a `write` or the texts of an `edit`, or as the only argument of a `read`."""
        match = NAMED_FILE.match(line)
        if match is None or "path" in names_given(call, kind) or not _may_be_path_alone(kind):
            return False
        following = next((each for each in self.lines[self.at + 1 :] if each.strip()), "")
        if kind in ("write", "edit") and not (FENCE.match(following) or (kind == "edit" and SEARCH.match(following))):
            return False
        call.arguments["path"] = match["path"]
        self.at += 1
        return True

    def _keep(self, call: Call, name: str, value: Value) -> None:
        self._once(call, name)
        call.arguments[name], call.values[name] = value.text, value
        if value.closer:
            self.texts.append(value)
        self.at = value.end

    def _once(self, call: Call, name: str) -> None:
        kind = str(kind_of(call.name))
        own = argument_of(kind, name)
        if own is not None and own in names_given(call, kind):
            fault, last = f"`{own}` of `{kind}` is given twice.", last_text(call, kind)
            ended = f" {where_it_ended(last)}" if last is not None and last.block else ""
            raise WrongError(wrong_use(kind, f"{fault}{ended}"), fault=fault)


def _empty_fence(lines: Sequence[str], at: int) -> int:
    """The index after the empty code fence that line `at` opens; 0 if it opens none."""
    opened = FENCE.match(lines[at])
    end = next((row for row in range(at + 1, len(lines)) if lines[row].strip()), None) if opened else None
    return end + 1 if opened and end is not None and closes_fence(lines[end], opened["ticks"]) else 0


def _may_be_path_alone(kind: str) -> bool:
    """Whether the path may be on its own line below the heading, without the argument's name."""
    return kind in ("write", "edit") or (FORMS[kind].is_single_lines and "path" in FORMS[kind].takes)


def _other_word(closer: str) -> str:
    """A last word for a text that its marker line ends too early."""
    return f"{closer}_2" if closer.isidentifier() else "END_OF_TEXT"
