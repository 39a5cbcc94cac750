"""Recognise the lines of a text answer that have a meaning of their own: headings, actions, argument names and file names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pytest_recode.agents.action_names import argument_of, kind_of

# ASCII: otherwise IGNORECASE lets a long s pass for "s".
# Every pattern is linear in the line: an answer may be a megabyte of blanks.
_FLAGS = re.IGNORECASE | re.ASCII
_WORD = r"(?P<word>observations?|reflections?|plan(?:ning)?|actions?)"
_NUMBER = r"(?:(?:step[ \t]{1,4})?\d{1,2}[.):]?[ \t]{1,4})?"
# Two hashes at least: one hash is a comment in Python and in a shell.
HEADING = re.compile(rf"{_NUMBER}(?:#{{2,6}}[ \t]*(?:\*\*|__)?|\*\*|__){_NUMBER}{_WORD}(?P<tail>.*)$", _FLAGS)
# Only where an answer holds no action under a real heading: `Action: read` as some models write it.
LOOSE = re.compile(rf"{_NUMBER}{_WORD}(?P<tail>(?:[ \t]{{1,4}}#?\d{{1,2}})?[ \t]*[:\uff1a].*)$", _FLAGS)
# Only where an answer holds no action under either: `# Action: read`, outside of fences and arguments.
SINGLE = re.compile(rf"#[ \t]*(?:\*\*|__)?{_NUMBER}{_WORD}(?P<tail>.*)$", _FLAGS)
# Only below an action heading that names no action: `### write`.
SUBHEADING = re.compile(r"#{2,6}[ \t]+[`*]{0,3}(?P<word>[A-Za-z][\w-]{1,30})(?P<tail>)[`*:]{0,4}[ \t]*$", _FLAGS)
ARGUMENT = re.compile(
    r"[ \t]*(?:[-*+][ \t]+)?(?P<mark>[`*\"'_]{0,3})(?P<name>[A-Za-z][\w-]{0,30}(?:[ ](?:input|str|string|text|path))?)"
    r"(?:(?P<inner>[:\uff1a])(?P=mark)(?P<behind>.*)|(?P=mark)[ \t]*(?P<tail>(?:[:\uff1a=]|<<).*|))$",
    _FLAGS,
)
VERB = re.compile(
    r"[`'\"*\[<]*(?P<verb>[A-Za-z][\w.-]*)(?P<second>[ _-]\w+(?![\w./-]))?(?:\(\))?(?P<rest>.*)$", re.ASCII
)
NAMED_FILE = re.compile(
    r"[ \t]*(?:#+[ \t]+|[-*][ \t]+)?(?:file(?:name)?:[ \t]*)?[`*\"']{0,3}(?P<path>(?:[\w.-]+/)*[\w.-]*\w\.[A-Za-z]\w{0,7})[`*\"':]{0,4}$",
    _FLAGS,
)
_CALLED = re.compile(
    r"[ \t]*(?:print\()?(?:(?:functions|default_api|tools)\.)?(?P<name>[A-Za-z]\w{0,40})\("
    r"(?:[ \t]*\)[ \t]*;?[ \t]*$|[ \t]*(?P<argument>[A-Za-z]\w{0,30})[ \t]*=[ \t]*[rbf]?[\"'])",
    re.ASCII,
)
_INTERFACE = re.compile(r"(?:^|[\s{,])interface=[\"']?(?P<interface>[^\s\"'`,}]+)", _FLAGS)
_TITLE = re.compile(
    r"(?:^|[\s{,])(?:title|path|file|file_?name)=(?P<quote>[\"'])(?P<path>[^\"'`]*[./][^\"'`]*)(?P=quote)", _FLAGS
)
_WORDS = re.compile(r"\{[^}]*\}|[\w-]+=(?:\"[^\"]*\"|'[^']*'|\S*)")
_PATH = re.compile(r"[`'\"]?(?P<path>[^\s`'\"=:{}(),]*[./][^\s`'\"=:{}(),]*)[`'\"]?")


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """A heading: a part or "action", the rest of its line, and the tag of the block that it opens."""

    word: str
    rest: str
    tag: str


def heading(line: str, heads: Sequence[re.Pattern[str]]) -> Head | None:
    """The heading in a line; None for any other line."""
    line = line.rstrip("\r")
    match = next((match for head in heads if (match := head.match(line))), None)
    if match is None:
        return None
    if match.re is SUBHEADING:
        return Head(word="action", rest=match["word"], tag="") if kind_of(match["word"]) else None
    word = match["word"].lower().rstrip("s")
    word = "planning" if word == "plan" else word
    tail = re.sub(r"[ \t]#{1,6}$", "", match["tail"].rstrip()).strip()
    tail = tail.removeprefix("**").removeprefix("__") if tail[:2] in ("**", "__") else tail
    tail = (tail.removesuffix("**") if tail.endswith("**") and tail.count("**") % 2 else tail).strip()
    tail = re.sub(r"^#?\d{1,2}(?=[:.)\s]|$)[.)]?", "", tail).strip()
    if not tail:
        return Head(word=word, rest="", tag="")
    if word != "action" and (opened := re.fullmatch(r":?[ \t]*<<-?[ \t]*(['\"]?)([A-Za-z_]\w*)\1", tail, re.ASCII)):
        return Head(word=word, rest="", tag=opened[2])
    if tail[0] in ":\uff1a-\u2013\u2014=":
        rest = tail[1:].strip()
        rest = rest.removeprefix("**").strip() if rest.count("**") % 2 else rest
        return Head(word=word, rest=rest, tag="")
    if (
        word == "action"
        and (verb := VERB.match(tail))
        and (kind_of(verb["verb"]) or kind_of(verb["verb"] + (verb["second"] or "")))
    ):
        return Head(word=word, rest=tail, tag="")
    return None


def acts(line: str) -> bool:
    """Whether a line would open an action at the start of an answer."""
    head = heading(line, (HEADING, LOOSE, SINGLE)) if "action" in line[:200].lower() else None
    if head is None or head.word != "action":
        return False
    if HEADING.match(line):
        return True
    verb = VERB.match(head.rest)
    return verb is not None and kind_of(verb["verb"]) is not None


def calls_as_python(line: str) -> bool:
    """Whether a line begins with an action in Python call syntax: `write(path="a.py", ...)`, `submit()`."""
    match = _CALLED.match(line[:400])
    kind = kind_of(match["name"]) if match else None
    if match is None or kind is None or match["name"] == "open":
        return False
    argument = match["argument"]
    return kind == "submit" if argument is None else argument_of(kind, argument) is not None


def tail_of(argument: re.Match[str]) -> str:
    """The text after an argument's name, from the colon on."""
    return f":{argument['behind']}" if argument["inner"] and argument["behind"] is not None else argument["tail"]


def interface_in(info: str) -> str:
    """The interface in the info string of a fence, as feedback writes corrections: `python file=a.py interface=a.solve`."""
    found = _INTERFACE.search(info)
    return found["interface"] if found else ""


def has_blanks(info: str) -> bool:
    """Whether it is unclear how many words of an info string are the file name: `csv my data.csv`."""
    return _TITLE.search(info) is None and bool(path_in(info)) and len(_WORDS.sub(" ", info).split()) > 2


def path_in(info: str) -> str:
    """The file in the info string of a fence: `python src/a.py`, `python:a.py`, `python title="a.py"`."""
    if quoted := _TITLE.search(info):
        return quoted["path"].strip()
    for word in re.split(r"[\s:={},]+", info.strip()):
        match = _PATH.fullmatch(word)
        if match is not None and re.search(r"\.\w+$|/", match["path"]):
            return match["path"]
    return ""
