"""Read the rest of an action's heading: the action's name, and its main argument or a call in Python syntax."""

from __future__ import annotations

import ast
import re
import warnings

from pytest_recode.agents.action_arguments import INVISIBLE, unquoted
from pytest_recode.agents.action_names import kind_of
from pytest_recode.agents.actions import ProtocolError
from pytest_recode.agents.calls import Call
from pytest_recode.agents.forms import FORMS
from pytest_recode.agents.headings import VERB
from pytest_recode.agents.python_calls import literal_arguments
from pytest_recode.agents.value_reader import value_at
from pytest_recode.agents.values import DamagedError, WrongError, unknown_action

_SENTENCE = re.compile(r"^[A-Z][\w']*(?: \S+){2,}[:.!]$")
_WORDS = r"[A-Za-z][\w'-]*(?:,? [\w'-]+){1,12}\.?"
_REMARK = re.compile(rf"\({_WORDS}\)|[-\u2013\u2014]{{1,2}} {_WORDS}", re.ASCII)
"""Words behind the name of an action that say what it is for: `edit (rename a variable)`."""
_OPEN_CALL = re.compile(r"\([ \t]*[A-Za-z_]\w*[ \t]*=")


def read_heading(call: Call, said: str, line: int) -> str:
    """The kind of the action that `said` (the rest of the heading) names. Adds the name and the arguments to `call`.

    Raises DamagedError and WrongError.
    """
    main = _named(call, said, line)
    kind = kind_of(call.name)
    if kind is None:
        if _SENTENCE.search(said):
            raise DamagedError(
                f"Line {line} (`{said[:80]}`) stands where an action is named.",
                advice="Write each action as `### Action: NAME`, its arguments below it, and sentences before it.",
            )
        raise unknown_action(call.name, after=f"(Line {line}.)")
    if not FORMS[kind].needs_nothing and _REMARK.fullmatch(main):
        call.parts["reflection"] = main
    elif main:
        call.arguments |= _main(call, kind, main, line)
    return kind


def _main(call: Call, kind: str, said: str, line: int) -> dict[str, object]:
    main = FORMS[kind].main
    if said.startswith("(") and said.endswith(")"):
        return _called(call, said, line)
    if _OPEN_CALL.match(said) or (main == "path" and said.startswith("(")):
        what = f"Line {line} calls `{kind}` as Python does, and the call does not end in this line."
        raise WrongError(ProtocolError(text=f"{what} Nothing was done.", kind=kind))
    if not main:
        raise DamagedError(f"`{kind}` takes no arguments, but in line {line} `{said[:80]}` follows it.")
    value = value_at([*[""] * (line - 1), said], line - 1, main, f": {said}")  # so that an error names this line
    if main == "path" and any(map(str.isspace, value.text)) and not unquoted(said)[1]:
        raise DamagedError(
            f"Line {line} gives `{said[:80]}` as the path of `{kind}`.",
            advice="Write `path: ` and the path below it.",
        )
    return {main: value.text}


def _named(call: Call, said: str, line: int) -> str:
    """Set the name of the call from the heading. Returns the rest of the heading."""
    if said[:1] == "`" == said[-1:] and said.count("`") == 2 and " " in said:
        said = said[1:-1]  # the action and its argument in one code span
    match = VERB.match(said)
    if match is None:
        raise DamagedError(
            f"The heading in line {line} names no action but `{said[:80]}`. The actions are {', '.join(FORMS)}."
        )
    verb, second, rest = match["verb"], match["second"] or "", match["rest"]
    if second and kind_of(verb + second) and not (second[0] == " " and kind_of(verb) == "list"):
        verb, second = verb + second, ""
    call.name = verb.rstrip(".")
    if INVISIBLE.match(rest.lstrip()):
        raise DamagedError(
            f"Line {line} holds an invisible character (U+{ord(rest.lstrip()[0]):04X}) after `{verb[:80]}`.",
            advice="Leave it out.",
        )
    if rest[:1] == "[" and rest.endswith("]") and not second:  # as in ReAct: read[a.py]
        return rest[1:-1].strip()
    rest = (second + rest).lstrip("`'\"*]>") if not second else second + rest
    rest = rest.strip().removeprefix(":").strip()
    return "" if not rest.strip("*`_:") else rest


def _called(call: Call, said: str, line: int) -> dict[str, object]:
    """The arguments of a call in Python syntax: `(path="a.py")`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an escape that Python does not know
            node = ast.parse(f"f{said}", mode="eval").body
        assert isinstance(node, ast.Call)
        return literal_arguments(node, call.name)
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        what = f"Line {line} calls `{call.name[:80]}` with arguments that cannot be read. Nothing was done."
        raise WrongError(ProtocolError(text=what, kind=kind_of(call.name) or "")) from None
