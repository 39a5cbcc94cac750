"""Read the value of an argument in a text answer: on the argument's own line, or in one of the forms of a longer text.

    text <<END      lines, then a line that is exactly END
    text:           then a fence of backticks or tildes
    text: |         then indented lines (a YAML literal)
    text: \"\"\"       lines, then a line with only the same quotes
    command: cat > a.py <<'EOF'     then the lines of the here-document

Each form ends at the first line that can end it. An argument, a heading or the end of the answer must follow. `values.doubts` finds later
lines that could also have ended it, and `checked_action` then decides.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pytest_recode.agents.action_arguments import INVISIBLE, commented, unquoted
from pytest_recode.agents.fences import SHELLS, language_in
from pytest_recode.agents.forms import TEXTS
from pytest_recode.agents.shell_script import HERE, continued, here_document, in_here_documents, is_open, open_quote
from pytest_recode.agents.values import (
    FENCE,
    DamagedError,
    Value,
    between_marks,
    closes_fence,
    opens_block,
    shown,
)

_TAGGED = re.compile(r"<<(?P<dash>-?)[ \t]*(?P<quote>['\"]?)(?P<tag>[A-Za-z_]\w*)(?P=quote)", re.ASCII)


_LITERAL = re.compile(r"(?P<style>[|>])(?P<options>[-+1-9]{0,2})(?:[ \t]+#.*)?")


_QUOTES = ('"""', "'''")


_PAIRS = ("`", "'", '"')


SEARCH = re.compile(r"<{5,9}[ ]*(?:search|original|old|head)?[ ]*$", re.IGNORECASE)
"""The first line of an old and a new text as merge conflicts have them."""


def value_at(lines: Sequence[str], at: int, name: str, tail: str) -> Value:
    """The value of the argument `name` in line `at`; `tail` is the text after the name.

    Raises DamagedError if the value has no end or is ambiguous.
    """
    said = tail.strip()
    if not said.startswith("<<"):
        tail = tail.lstrip()[1:]  # the colon or equals sign
        said = tail.strip()
    if tagged := _TAGGED.fullmatch(said):
        return _block(lines, at, tagged["tag"], dash=bool(tagged["dash"]))
    if many := re.fullmatch(r"<{3,}(-?[ \t]*['\"]?[A-Za-z_]\w*['\"]?)", said, re.ASCII):
        extra = len(said) - len(many[1]) - 2
        raise DamagedError(
            f"Line {at + 1} ({shown(lines[at])}) opens no block: there {'is' if extra == 1 else 'are'} {extra} `<` too many.",
            advice=f"Write `{name} <<{many[1][:80]}`.",
        )
    if said.startswith("<<") and name != "command":
        raise DamagedError(
            f"Line {at + 1} ({shown(lines[at])}) opens no block: after `<<`, write one word and nothing else."
        )
    following = at
    if not said:  # the text begins in a line of its own
        following = next((line for line in range(at + 1, len(lines)) if lines[line].strip()), at)
        said = lines[following].strip() if following > at else ""
        if not (_TAGGED.fullmatch(said) or said in _QUOTES or FENCE.match(lines[following])):
            raise DamagedError(_no_form(at, name, lines[following] if following > at else ""))
        if tagged := _TAGGED.fullmatch(said):
            return _block(lines, following, tagged["tag"], dash=bool(tagged["dash"]))
    if said in _QUOTES:
        return _quoted(lines, following, said)
    if said.startswith(("```", "~~~")) and FENCE.match(said if following == at else lines[following]):
        return fenced_at(lines, following, said if following == at else lines[following])
    if literal := _LITERAL.fullmatch(said):
        return _literal(lines, at, name, literal["style"], literal["options"])
    if name == "command" and HERE.search(said):
        return here_document(lines, at, said)
    if name == "command" and said[-1:] in ('"', "'") and is_open(said):
        return open_quote(lines, at, said)
    if name == "command" and said.endswith("\\") and not said.endswith("\\\\"):
        return continued(lines, at, said)
    text = _line(at, name, tail)
    mark = mark_around(text) if name in ("old", "new") else ""
    return Value(text=text, end=at + 1, opened=at + 1, mark=mark, final="\n")


def search_and_replace(lines: Sequence[str], at: int) -> tuple[Value, Value]:
    """The old and the new text of an `edit` in merge conflict markers. Raises DamagedError."""
    marks: list[int] = []
    for row in range(at + 1, len(lines)):
        if re.match(r"(?:<{5,9}|={5,9}|>{5,9})(?:[ ]|$)", lines[row]):
            marks.append(row)
            if len(marks) == 2:
                break
    if len(marks) < 2 or lines[marks[0]][0] != "=" or lines[marks[1]][0] != ">":
        raise DamagedError(
            f"The lines that begin in line {at + 1} are not one `<<<<<<< SEARCH`, one `=======` and one `>>>>>>> REPLACE`, so that "
            "it is unclear where the old and the new text end.",
            advice=(
                "Write them as blocks: `old <<END_OF_OLD`, its lines, `END_OF_OLD`, then "
                "`new <<END_OF_NEW`, its lines, `END_OF_NEW`."
            ),
        )
    middle, end = marks[:2]

    def value(rows: Sequence[str]) -> Value:
        return Value(text="\n".join(rows), end=end + 1, closer=lines[end].strip(), opened=at + 1)

    return value(lines[at + 1 : middle]), value(lines[middle + 1 : end])


def fenced_at(lines: Sequence[str], at: int, opener: str) -> Value:
    """The content of the fence that line `at` opens."""
    fence = FENCE.match(opener)
    assert fence is not None
    if fence["indent"]:
        raise DamagedError(
            f"The code fence in line {at + 1} is indented, so that it is unclear how far its code is.",
            advice="Begin it in the first column.",
        )
    ticks = fence["ticks"]
    inside = in_here_documents(lines, at + 1, ticks) if language_in(fence["info"]) in SHELLS else range(0)
    for end in range(at + 1, len(lines)):
        if closes_fence(lines[end], ticks) and end not in inside:
            return Value(
                text="\n".join(lines[at + 1 : end]),
                end=end + 1,
                closer=ticks,
                opened=at + 1,
                info=fence["info"].strip(),
                final="\n" if end > at + 1 else "",
            )
    raise DamagedError(
        f"The code fence that line {at + 1} opens is not closed: the answer was cut off, or the closing line is missing.",
        advice="Close it, or write less at once.",
    )


def _block(lines: Sequence[str], at: int, tag: str, *, dash: bool) -> Value:
    for end in range(at + 1, len(lines)):
        if lines[end].strip(" \t") == tag:
            body = lines[at + 1 : end]
            if dash and any(line.startswith("\t") for line in body):
                raise DamagedError(
                    f"Line {at + 1} opens a block with `<<-`, of which a shell takes leading tabs away, and its lines have "
                    "some.",
                    advice=f"Write `<<{tag}`: the lines are then taken as they are.",
                )
            if opens_block("\n".join(body), tag):
                raise DamagedError(
                    f"The block that line {at + 1} opens holds a line that opens another with the same last word, `{tag}`: it is unclear which "
                    f"of them ends in line {end + 1}.",
                    advice=(
                        "End each block with its word, and choose a word that is no line of the text, such as "
                        f"`{tag}_2`."
                    ),
                )
            final = "\n" if body else ""
            return Value(text="\n".join(body), end=end + 1, closer=tag, opened=at + 1, block=True, final=final)
    returned = next((row for row in range(at + 1, len(lines)) if lines[row].strip() == tag), 0)
    if returned:
        raise DamagedError(
            f"Line {returned + 1} would end the block that line {at + 1} opens, and ends in a carriage return: only some lines of your "
            "answer end in CRLF.",
            advice="End all of them alike.",
        )
    raise DamagedError(
        f"The block that line {at + 1} opens ({shown(lines[at])}) has no last line `{tag}`: "
        "the answer was cut off, or the line is missing.",
        advice=f"End the block with a line that holds only `{tag}`, or write less at once.",
    )


def _quoted(lines: Sequence[str], at: int, quotes: str) -> Value:
    for end in range(at + 1, len(lines)):
        if lines[end].strip(" \t") == quotes:
            text = "\n".join(lines[at + 1 : end])
            if f"\\{quotes[0]}" in text and f"\\{quotes}" in text:
                raise DamagedError(
                    f"The text that line {at + 1} opens holds `\\{quotes}`: it is unclear whether the backslash belongs "
                    "to it.",
                    advice="Write it as a block, in which nothing is escaped.",
                )
            return Value(text=text, end=end + 1, closer=quotes, opened=at + 1, final="\n" if end > at + 1 else "")
    raise DamagedError(
        f"The text that line {at + 1} opens with {quotes} has no last line that holds only {quotes}: the answer was cut off, "
        "or the line is missing."
    )


def _literal(lines: Sequence[str], at: int, name: str, style: str, options: str) -> Value:
    """A YAML literal: the lines that are indented more than the argument."""
    outer = len(lines[at]) - len(lines[at].lstrip(" "))
    given = next((int(option) for option in options if option.isdigit()), 0)
    first = next((line for line in lines[at + 1 :] if line.strip()), "")
    depth = outer + given if given else len(first) - len(first.lstrip(" "))
    if depth <= outer or (given and len(first) - len(first.lstrip(" ")) < depth):
        raise DamagedError(
            f"Line {at + 1} opens a text with `{style}`, and the lines of the text are not indented below it. "
            "Indent all of them alike, or write it as a block."
        )
    body: list[str] = []
    end = at + 1
    while end < len(lines):
        line = lines[end]
        if line[:depth].strip(" "):
            break
        body.append(line[depth:])
        end += 1
    if "\t" in first[: len(first) - len(first.lstrip())]:
        raise DamagedError(
            f"The text below line {at + 1} is indented with tabs: it is unclear how far.",
            advice="Use a block.",
        )
    kept = list(body)
    while kept and not kept[-1]:
        kept.pop()
    if name in ("old", "new") and not given and depth - outer > 2 and len(kept) > 1:
        # YAML takes the indentation of the first line away. A model that copies lines of a function means it as part of the text.
        raise DamagedError(
            f"The text of `{name}` below line {at + 1} is indented by {depth - outer} blanks: it is unclear how many of them belong "
            "to it.",
            advice=f"Write it as a block, whose lines are taken as they are: `{name} <<END_OF_TEXT`, its lines, `END_OF_TEXT`.",
        )
    if style == ">" and len(kept) > 1:
        raise DamagedError(
            f"Line {at + 1} opens a text with `>`, which joins lines.",
            advice=f"Write `{name}: |`, or a block, for lines as they are.",
        )
    if "+" in options:
        kept = body
    return Value(
        text="\n".join(kept),
        end=end,
        opened=at + 1,
        clipped=len(kept) < len(body),
        dedented=0 if given else depth - outer,
        final="\n" if kept and "-" not in options else "",
    )


def _line(at: int, name: str, tail: str) -> str:
    """A value on the argument's own line."""
    said = tail.strip()
    mark = mark_around(said)
    if name == "path":
        bare, quoted = unquoted(said)
        if found := INVISIBLE.search(bare):
            raise DamagedError(
                f"The path in line {at + 1} holds an invisible character (U+{ord(found[0]):04X}).",
                advice="Leave it out.",
            )
        return said if quoted and commented(bare) else bare  # `action` takes the quotes away that mark it as a whole
    if name in TEXTS and (tail.rstrip() != f" {said}" and tail.rstrip() != said):
        raise DamagedError(
            f"`{name}` in line {at + 1} begins with more than one blank: it is unclear which belong to the text.",
            advice="Write it as a block.",
        )
    if name in TEXTS and tail != tail.rstrip(" \t"):
        raise DamagedError(
            f"`{name}` in line {at + 1} ends in a blank: it is unclear whether that belongs to it.",
            advice=f"Leave it out, or write it as a block: `{name} <<END_OF_TEXT`, its line, `END_OF_TEXT`.",
        )
    if name == "command" and said.count("`") > 2 and said[0] == "`" == said[-1]:
        raise between_marks(name, at + 1, "`")  # a shell would run what the first command prints
    if mark and name == "query":
        return said
    if mark and name == "include":  # a pattern of file names has no quotes of its own
        return said[1:-1]
    if mark and name in ("command", "pattern") and (mark == "`" or "\\" not in said):
        return (
            said[1:-1].strip() if name == "command" else said[1:-1]
        )  # no command is one quoted word, and a pattern finds what it found
    if mark and name in ("old", "new"):
        return said  # `checked_action` looks at both
    if mark or (name in TEXTS and said.startswith((*_QUOTES, "`"))):
        raise between_marks(name, at + 1, said[0])
    return said


def mark_around(text: str) -> str:
    """The mark that is at both ends of a text and nowhere within it; "" for any other text."""
    whole = len(text) > 1 and text[0] == text[-1] and text[0] in _PAIRS and text[0] not in text[1:-1]
    return text[0] if whole else ""


def _no_form(at: int, name: str, following: str) -> str:
    if not following:
        return (
            f"`{name}` in line {at + 1} has no value. A text that is meant to be empty is a block without lines: "
            f"`{name} <<END`, then `END`."
        )
    return (
        f"`{name}` in line {at + 1} is followed by nothing on its line, and the next line ({shown(following)}) opens no "
        f"block or fence, so that it is unclear where the text ends. Write it as a block: `{name} <<END_OF_TEXT`, its lines as they are, "
        f"then a line `END_OF_TEXT`. A text that is meant to be empty is a block without lines: `{name} <<END`, then `END`."
    )
