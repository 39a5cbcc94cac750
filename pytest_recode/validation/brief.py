"""Find code of the reference and of the hidden tests in what an agent may read: the instruction, the paper and the repository.

Pure functions of a task's contents. The runs of tokens are those of the audit of feedback (`feedback/leaks.py`). A copy with other
names is not found.

An agent that copies the answer shows nothing, as with an untouched target that solves the task. So a long passage is a problem, not only
weak. The limits are above the longest legitimate runs of the forty bundled tasks and of the 212 tasks of ResearchCodeBench:
see `LONG` and `TELLING`.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from pytest_recode.feedback.audit import hidden_files, texts
from pytest_recode.feedback.leaks import Secret, repeated, secret, tokenised, words_of
from pytest_recode.task import INSTRUCTION_FILE, PAPER_FILE, Parts, Task

LONG = 48
"""Tokens of a passage that is a problem wherever it is: about four lines.

The longest runs measured in a repository have 29 tokens of the reference and 32 of the hidden tests in the bundled tasks (checks of
arguments, conversions of units), and 25 and 22 in ResearchCodeBench.
"""
TELLING = 24
"""Tokens of a passage that is weak in the instruction or the paper, where words are expected: about two lines.

The longest runs measured there have 11 tokens of the reference and 16 of the hidden tests in the bundled tasks (signatures and calls). In
ResearchCodeBench they have 13 of each, but 39 of the reference in the paper on min-p sampling, which prints the code: weak, and true.
"""

_MOST_SHOWN = 5
_QUOTED = 60
_TESTS, _REPO = "tests/", "repo/"
_LINE_MARK = re.compile(r"^[ \t]*(?:>>>|\.\.\.|//|[#>+*|-])(?=[ \t])", re.MULTILINE)
"""The mark of a comment, a quotation, a diff or a list at the start of a line. It divides no passage."""
_WORD = re.compile(r"\w")
_LAYOUT = {tokenize.NL, tokenize.COMMENT, tokenize.INDENT, tokenize.DEDENT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """Lines `first` to `last` of the hidden file `source`, whose code is also in `place`, a file that an agent may read, from line `line` on.

    `tokens` counts those of code, without comments and docstrings.
    """

    place: str
    line: int
    source: str
    first: int
    last: int
    tokens: int
    quoted: str

    @property
    def is_problem(self) -> bool:
        """Tests that share code with the repository, such as a generator of inputs, give no answer away."""
        return self.tokens >= LONG and not (self.source.startswith(_TESTS) and self.place.startswith(_REPO))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A file, and its `code`: the same with blanks in place of comments and docstrings. A copy may be of either.

    `words`: the tokens of both.
    """

    path: str
    both: tuple[str, str]
    words: tuple[Sequence[str], Sequence[str]]

    @property
    def code(self) -> str:
        return self.both[1]


def brief_findings(task: Task, parts: Parts) -> tuple[str, str]:
    """The problem and the weakness of what an agent may read; "" for none."""
    copies = sorted(
        passages(task, parts), key=lambda passage: (passage.place, passage.line, passage.source, passage.first)
    )
    problems = [passage for passage in copies if passage.is_problem]
    weak = [passage for passage in copies if not passage.is_problem]
    problem = f"{task.id}: an agent can copy hidden code from what it may read.\n" if problems else ""
    return problem + _described(problems, "\n"), _described(weak, "; ")


def _described(copies: Sequence[Passage], between: str) -> str:
    lines = [
        f"{passage.place}:{passage.line} repeats {passage.source}:{passage.first}-{passage.last} ({passage.tokens} tokens of code,"
        f" {passage.quoted!r}): {_step(passage)}"
        for passage in copies[:_MOST_SHOWN]
    ]
    if len(copies) > _MOST_SHOWN:
        lines.append(f"and {len(copies) - _MOST_SHOWN} more")
    return between.join(lines)


def _step(passage: Passage) -> str:
    of_tests = passage.source.startswith(_TESTS)
    if passage.place.startswith(_REPO):
        return "use other code in the tests, or remove it" if of_tests else "remove it from the repository"
    return "state the requirement in words" if of_tests else "say in words or formulas what to compute"


def passages(task: Task, parts: Parts) -> Iterator[Passage]:
    """The passages of the reference and the hidden tests that an agent may read, and that the target's stub does not have.

    In the instruction and the paper, code of the other files of the repository does not count either.
    """
    repo = texts(parts.repo)
    tests, _ = hidden_files(parts, task.oracle)
    hidden = [_source(f"reference/{path}", text) for path, text in texts(parts.reference).items()]
    hidden += [_source(f"{_TESTS}{path}", text) for path, text in texts(tests).items()]
    known = {path: _source(path, text) for path, text in repo.items()}
    stubs = [known[path] for path in task.targets if path in known]
    words = {INSTRUCTION_FILE: parts.instruction, PAPER_FILE: parts.paper or ""}
    yield from _passages(words, hidden, list(known.values()), TELLING)
    yield from _passages({f"{_REPO}{path}": text for path, text in repo.items()}, hidden, stubs, LONG)


def _passages(
    readable: Mapping[str, str], hidden: Sequence[_Source], known: Sequence[_Source], least: int
) -> Iterator[Passage]:
    marked = {place: _without_marks(text) for place, text in readable.items()}
    together = secret(marked.values(), lengths=[least])
    for source in hidden:
        if not _repeated(source, together, known, least):
            continue
        for place, text in marked.items():
            for start, end in _repeated(source, secret([text], lengths=[least]), known, least):
                copied = repeated(text, secret((version[start:end] for version in source.both), lengths=[least]))
                yield Passage(
                    place=place,
                    line=_line(text, copied.spans[0].start),
                    source=source.path,
                    first=_line(source.code, start),
                    last=_line(source.code, end - 1),
                    tokens=len(tokenised(source.code[start:end])),
                    quoted=_quoted(source.code, start, end),
                )


def _quoted(code: str, start: int, end: int) -> str:
    """The beginning of a passage, from a whole line if it has one."""
    _, _, rest = code[start:end].partition("\n")
    is_whole = not code[:start].rpartition("\n")[2].strip()
    quoted = " ".join((code[start:end] if is_whole or not rest.strip() else rest).split())
    return quoted if len(quoted) <= _QUOTED else quoted[:_QUOTED] + "…"


def _repeated(source: _Source, readable: Secret, known: Sequence[_Source], least: int) -> list[tuple[int, int]]:
    """Start and end of the passages of a file that can be read and have at least as many tokens of code."""
    spans = [
        span
        for version in (0, 1)
        for span in repeated(source.both[version], readable, [each.words[version] for each in known]).spans
    ]
    joined: list[tuple[int, int]] = []
    for start, end, _ in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = (joined[-1][0], max(end, joined[-1][1]))
        else:
            joined.append((start, end))
    from_word = [(match.start(), end) for start, end in joined if (match := _WORD.search(source.code, start, end))]
    return [(start, end) for start, end in from_word if len(tokenised(source.code[start:end])) >= least]


def _source(path: str, text: str) -> _Source:
    both = (_without_marks(text), _without_marks(_code(text) if path.endswith(".py") else text))
    return _Source(path=path, both=both, words=(words_of(both[0]), words_of(both[1])))


def _code(text: str) -> str:
    """Python with blanks in place of its comments and docstrings. What is no Python stays as it is."""
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(text).readline))
    except (tokenize.TokenError, SyntaxError):
        return text
    starts = [0, *accumulate(len(line) + 1 for line in text.split("\n"))]
    starts_statement = True
    for token, following in pairwise(tokens):
        is_docstring = starts_statement and token.type == tokenize.STRING and following.type == tokenize.NEWLINE
        if token.type == tokenize.COMMENT or is_docstring:
            start, end = (starts[line - 1] + column for line, column in (token.start, token.end))
            text = text[:start] + _blank(text[start:end]) + text[end:]
        if token.type not in _LAYOUT:
            starts_statement = token.type == tokenize.NEWLINE
    return text


def _without_marks(text: str) -> str:
    return _LINE_MARK.sub(lambda match: _blank(match[0]), text)


def _blank(passage: str) -> str:
    """As many blanks, in the same lines."""
    return re.sub(r"[^\n]", " ", passage)


def _line(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1
