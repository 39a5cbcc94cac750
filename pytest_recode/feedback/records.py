"""Records: what a model researcher answered, read with suspicion. A field that cannot be used is left out."""

from __future__ import annotations

import ast
import itertools
import json
import keyword
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from textwrap import dedent
from typing import Any

from pytest_recode.episode import FeedbackItem
from pytest_recode.feedback import source
from pytest_recode.feedback.embedded import LEFT_OUT, left_out
from pytest_recode.feedback.levels import cut

MEANINGS = {
    "T0": "structure: a piece is missing, or laid out otherwise than the design asks",
    "T1": "correctness: it cannot run; syntax, names, types, an exception",
    "T2": "alignment: it runs, and contradicts what paper or instruction say",
    "T3": "knowledge: it needs something that neither says; a convention of the field, an unstated choice of the authors",
    "T4": "repository: code that is there is written again, or used wrongly",
}
CATEGORIES = tuple(MEANINGS)
WORDS = ("description", "analysis", "suggestion")
FIELDS = ("category", *WORDS, "correction")

MOST_ANSWER = 1_000_000
MOST_OPENERS = 50
MOST_WORDS = 4_000
MOST_CODE = 60_000

_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,}).*?(?:^[ \t]*\1[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`\n]+)`")
_NAME = re.compile(r"[\w.\-/]+(?:\(\))?|[^\w\s]{1,2}")
_STATEMENT = re.compile(
    r"\s*(?:def \w+\(|class \w+.*:$|return\b.*[()\[\]=+*]|import \w+$|from [\w.]+ import |@\w+"
    r"|(?:for|if|elif|while|with|try|else|except)\b.*:$)"
)


Fields = dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A model's answer: by interface the fields that can be used, those that repeat what they must not, and what is wrong with it,
    in words for the model."""

    usable: Mapping[str, Fields]
    leaking: Mapping[str, Fields]
    problems: Sequence[str]


def read_answer(text: str, wanted: Sequence[FeedbackItem], repeating: Callable[[str], str]) -> Answer:
    """Interfaces that are not `wanted` are dropped, of several records of one the first counts.

    `repeating` says what words repeat that they must not; "": nothing.
    """
    records = _records(text)
    if isinstance(records, str):
        return Answer(usable={}, leaking={}, problems=[records])
    usable: dict[str, Fields] = {}
    leaking: dict[str, Fields] = {}
    problems: list[str] = []
    names = [item.interface for item in wanted]
    for record in records:
        name = record.get("interface") if isinstance(record, dict) else None
        if isinstance(name, str) and name in names and name not in usable:
            usable[name], leaking[name], wrong = _fields(record, repeating)
            problems += [f"{name}: {each}" for each in wrong]
    missing = [name for name in names if name not in usable]
    if missing:
        problems.append(f"there is no record for {', '.join(missing)}")
    return Answer(usable=usable, leaking=leaking, problems=problems)


def words_only(text: str) -> str:
    """`text` without code: fenced blocks, lines that are statements, and inline code beyond a name."""
    text = _FENCED.sub("", text)
    text = _INLINE.sub(lambda match: match[0] if _NAME.fullmatch(match[1]) else LEFT_OUT, text)
    kept = [line for line in text.split("\n") if not _is_code(line)]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(kept)).strip()


def code_only(text: str) -> str:
    """A correction without the fence that models like to put around it."""
    fenced = re.search(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)^[ \t]*\1[ \t]*$", text, re.MULTILINE | re.DOTALL)
    return (fenced[2] if fenced else text).strip("\n")


def _records(text: str) -> list[Any] | str:
    """The list of records in an answer, or what is wrong with it."""
    if not text.strip():
        return "it was empty"
    if len(text) > MOST_ANSWER:
        return f"it was longer than {MOST_ANSWER} characters"
    problem = ""
    for opener in islice(re.finditer(r"[{\[]", text), MOST_OPENERS):
        try:
            data, _end = json.JSONDecoder().raw_decode(text, opener.start())
        except json.JSONDecodeError as error:
            problem = problem or f"its JSON is broken: {error.msg} at line {error.lineno} column {error.colno}"
            continue
        except (RecursionError, ValueError):  # nested too deep, or a number of thousands of digits
            return "its JSON cannot be read"
        records = data.get("feedbacks") if isinstance(data, dict) else data
        if isinstance(records, list) and any(isinstance(record, dict) for record in records):
            return records
        problem = problem or "its JSON has no list 'feedbacks' of records"
    return problem or "it held no JSON object"


def _fields(record: Mapping[str, Any], repeating: Callable[[str], str]) -> tuple[Fields, Fields, list[str]]:
    fields: Fields = {}
    leaking: Fields = {}
    problems: list[str] = []
    category = record.get("category")
    if isinstance(category, str) and category in CATEGORIES:
        fields["category"] = category
    for name in WORDS:
        given = record.get(name)
        words = cut(words_only(given[: 2 * MOST_WORDS]), MOST_WORDS) if isinstance(given, str) else ""
        if not words:
            problems.append(f"{name} has no words")
        elif what := repeating(words):
            problems.append(f"{name} repeats {what}")
            leaking[name] = words
        else:
            fields[name] = words
    correction = record.get("correction")
    code = dedent(code_only(correction)) if isinstance(correction, str) else ""  # a block's, as it stands in its file
    code = code.encode(errors="replace").decode()
    problem = source.parse(code.encode()).problem if code.strip() else "is empty"
    if len(code) > MOST_CODE:
        problem = f"is longer than {MOST_CODE} characters"
    if problem:
        problems.append(f"correction {problem}")
    else:
        fields["correction"] = code
    return fields, leaking, problems


def code_lines(text: str) -> list[str]:
    """The lines of `text` that `words_only` or `left_out` changes, without their fences."""
    kept = Counter(line.strip() for line in left_out(words_only(text)).split("\n"))
    found = []
    for line in text.split("\n"):
        if kept[line.strip()]:
            kept[line.strip()] -= 1
        elif line.strip() and not line.lstrip().startswith(("```", "~~~")):
            found.append(line.strip())
    return found


def _is_code(line: str) -> bool:
    if _STATEMENT.match(line):
        return not _is_prose(line)
    tree = source.parse(line.strip().encode(errors="replace")).tree
    for node in tree.body if tree is not None else ():
        if isinstance(node, ast.AnnAssign) and node.value is None and isinstance(node.target, ast.Name):
            if any(isinstance(part, ast.Call | ast.Subscript | ast.Attribute) for part in ast.walk(node.annotation)):
                return True  # else "Shape: wrong", which people write above what they say
        elif not isinstance(node, ast.Expr):
            return True
        elif (
            isinstance(node.value, ast.BoolOp | ast.Compare | ast.BinOp)
            and " -" not in line
            and _only_words(node.value)
        ):
            continue  # "mean and variance", "mass in grams", "re-normalise": the rest of a line that was wrapped
        elif isinstance(node.value, ast.Call | ast.BinOp | ast.Compare | ast.Subscript | ast.Lambda | ast.BoolOp):
            return True
    return False


def _is_prose(line: str) -> bool:
    """Whether a line that begins like a statement has two words beside each other, which in Python stand in strings and comments alone,
    or is the head of a block and nothing but words ("with ties:")."""
    bare = _QUOTED.sub(" ' ", line).partition("#")[0]
    words = [match[0] for match in re.finditer(r"\w+|[^\w\s]", bare)]
    beside = any(
        one.isidentifier() and other.isidentifier() and not {one, other} & _KEYWORDS
        for one, other in itertools.pairwise(words)
    )
    return beside or bool(re.fullmatch(r"\s*(?:for|if|elif|while|with) [^\W\d_]+:", line))


_KEYWORDS = frozenset(keyword.kwlist)
_QUOTED = re.compile(r"([\"'])(?:(?!\1)[^\\]|\\.)*\1")


def _only_words(node: ast.expr) -> bool:
    """Names joined by and, or, in, is, not, and hyphens."""
    joined = (ast.And, ast.Or, ast.In, ast.NotIn, ast.Is, ast.IsNot, ast.Not, ast.Sub)
    parts = (ast.Name, ast.Load, ast.BoolOp, ast.Compare, ast.BinOp, ast.UnaryOp, *joined)
    return all(
        isinstance(part, parts) and (not isinstance(part, ast.Name) or "_" not in part.id) for part in ast.walk(node)
    )
