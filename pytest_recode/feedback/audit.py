"""Audit the text of a feedback before an agent reads it: measure what it repeats of the reference and the hidden tests, and replace
passages that are too long to be coincidence, and names of hidden tests, by a mark.

It applies to all text, whether a model, the task's author or a person wrote it, or it was derived. Corrections are not audited, because
they are code of level L4, at which the reference may be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from types import MappingProxyType
from typing import Any

from pytest_recode.episode import Audit, FeedbackItem
from pytest_recode.feedback.leaks import Repeated, Secret, Span, repeated, secret, tokenised, words_of
from pytest_recode.feedback.model_answers import STYLE, WORDS, Style, words_only
from pytest_recode.feedback.symptoms import PHRASES
from pytest_recode.task import Files, Oracle, Parts

MARK = "[left out]"
"""Replaces a passage that was cut."""

REFERENCE, TESTS, TEST_NAME, NO_LANGUAGE = (
    "repeats code of the reference",
    "repeats the hidden tests",
    "has the name of a hidden test",
    "holds characters that are no language",
)
"""Problems of a text, as predicates: the field's name is the subject."""

_TEST = re.compile(r"^[ \t]*(?:async[ \t]+)?def[ \t]+(test\w*)", re.MULTILINE | re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+|[A-Z][a-z0-9]*")

# Sequences that no sentence has. Chinese and Japanese separate sentences only by their own stops.
_UNBROKEN = re.compile(r"[^\s\u2026\u3000-\u301f\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]{120,}")
_MIXED = re.compile(r"[A-Za-z0-9]{24,}")
_PIECES = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
PIECE = 2.4
"""Minimum mean length of the words and numbers in a name; those in digits of base 16 and 64 are shorter."""

MOST_FILE = 1024 * 1024
MOST_FILES = 4 * MOST_FILE
"""Maximum size in bytes of a file, and of all files, that are compared. Larger ones are data, or too long to be repeated."""

# A single one is allowed where a script needs it: between letters of Arabic and Indian scripts, and in an emoji.
_SCRIPTS = "\u0600-\u06ff\u0750-\u077f\u0900-\u0dff\u0f00-\u109f\u1780-\u17ff"
_EMOJI = "\u2190-\u2bff\U0001f000-\U0001faff"
_UNSEEN = re.compile(
    rf"(?P<needed>(?<=[{_SCRIPTS}])[\u200c\u200d](?=[{_SCRIPTS}])|(?<=[{_EMOJI}])\ufe0f?\u200d(?=[{_EMOJI}])|(?<=[{_EMOJI}])\ufe0f)"
    "|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e01ef]"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What the text of a task's feedback must not repeat: what the instruction, the paper and the repository have is in none of it."""

    reference: Secret  # and other hidden files, which repeat the solution
    tests: Secret
    names: frozenset[str]  # of the hidden tests
    known: frozenset[str]  # the tokens that an agent may know


def secrets(parts: Parts, oracle: Oracle) -> Secrets:
    tests, beside = hidden_files(parts, oracle)
    brief = [parts.instruction, parts.paper or "", " ".join(PHRASES), *texts(parts.repo).values()]
    known = [words_of(text) for text in brief]
    return Secrets(
        reference=secret(dict.fromkeys(chain(texts(parts.reference).values(), texts(beside).values())), known),
        tests=secret(texts(tests).values(), known),
        names=frozenset(_names(texts({path: data for path, data in tests.items() if path.endswith(".py")}).values())),
        known=frozenset(chain(*known)),
    )


def _names(tests: Iterable[str]) -> Iterator[str]:
    """The folded names of the test functions, each of several words: every sentence may have the word `test`."""
    for name in chain(*map(_TEST.findall, tests)):
        if len(_WORD.findall(name)) > 1:
            yield from words_of(name)


def secrets_of(parts: Parts, oracle: Oracle) -> Callable[[], Secrets]:
    """Compute the secrets when the first turn fails, and cache them."""
    return cache(lambda: secrets(parts, oracle))


def hidden_files(parts: Parts, oracle: Oracle) -> tuple[Files, Files]:
    """The tests, and the other hidden files. If no file is named as the test, all files are tests."""
    named = oracle.beside.test if oracle.beside is not None else oracle.script
    if not named:
        return parts.tests, {}
    return (
        {path: data for path, data in parts.tests.items() if path == named},
        {path: data for path, data in parts.tests.items() if path != named},
    )


def audited(
    items: Sequence[FeedbackItem],
    hidden: Secrets,
    candidate: Files,
    style: Style = STYLE,
) -> tuple[tuple[FeedbackItem, ...], Audit]:
    """The items with leaking passages cut, and the measurements for all their text, at whatever level it is shown.

    A model's text is measured with its code, which is then removed where `style` allows none. Passages that `style` allows are measured
    but not cut: code of the reference in fields that may have code, and in these fields also text of the hidden tests if the run shows
    their output.
    """
    leaks_in = _examiner(hidden, candidate)
    shown = []
    measured: list[_Leaks] = []
    cut = 0
    for item in items:
        fields: dict[str, Any] = {}
        for name in WORDS:
            leaks = leaks_in(getattr(item, name))
            spans = _joined([span for _, span in leaks.to_cut(name, style)])
            fields[name] = _without(leaks.text, spans)
            if item.authors.get(name) == "model" and name not in style.may_have_code:
                fields[name] = words_only(fields[name])
            cut += len(spans)
            measured.append(leaks)
        shown.append(replace(item, **fields))
    total = sum(len(tokenised(leaks.text)) for leaks in measured)
    return tuple(shown), Audit(
        reference_run=max((leaks.reference.longest for leaks in measured), default=0),
        reference_share=_share((leaks.reference for leaks in measured), total),
        tests_run=max((leaks.tests.longest for leaks in measured), default=0),
        tests_share=_share((leaks.tests for leaks in measured), total),
        cut=cut,
        encoded=sum(what == NO_LANGUAGE for leaks in measured for what, _ in leaks.problems),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaks:
    """What a visible text repeats, and its passages that are a problem, each with the reason."""

    text: str
    reference: Repeated
    tests: Repeated
    problems: Sequence[tuple[str, Span]]

    def to_cut(self, field: str, style: Style) -> list[tuple[str, Span]]:
        """The problems that `style` does not allow in the field."""
        allowed = {REFERENCE, *((TESTS, TEST_NAME) if style.test_output else ())}
        free = allowed if field in style.may_have_code else ()
        return [(what, span) for what, span in self.problems if what not in free]


def _examiner(hidden: Secrets, candidate: Files = MappingProxyType({})) -> Callable[[str], _Leaks]:
    """A function that examines a text for an agent who knows the brief and its own `candidate`."""
    own = [words_of(text) for text in texts(candidate).values()]
    known = hidden.known.union(*own)

    def examine(words: str) -> _Leaks:
        text = visible(words)
        reference, tests = repeated(text, hidden.reference, own), repeated(text, hidden.tests, own)
        spans: dict[str, Iterable[Span]] = {
            REFERENCE: reference.spans,
            TESTS: tests.spans,
            TEST_NAME: _named(text, hidden.names - known),
            NO_LANGUAGE: _joined([*no_language(text, known)]),
        }
        problems = [(what, span) for what, its in spans.items() for span in its]
        return _Leaks(text=text, reference=reference, tests=tests, problems=problems)

    return examine


def _named(text: str, names: Set[str]) -> Iterator[Span]:
    return (Span(token.start, token.end, 1) for token in tokenised(text) if token.text in names)


def no_language(text: str, known: Set[str]) -> Iterator[Span]:
    """Sequences of characters that are longer than any word, formula or address, or neither words nor names, unless the agent knows them."""
    for match in _MIXED.finditer(text):
        short = len(match[0]) < PIECE * len(_PIECES.findall(match[0]))
        if short and match[0].casefold() not in known:
            yield Span(match.start(), match.end(), 1)
    for match in _UNBROKEN.finditer(text):
        yield Span(match.start(), match.end(), 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class CutPassage:
    """A passage that `audited` replaces by `MARK`. `reasons` are predicates, with the field as the subject."""

    interface: str
    field: str
    passage: str
    reasons: tuple[str, ...]


def cuts(items: Sequence[FeedbackItem], hidden: Secrets, candidate: Files) -> tuple[CutPassage, ...]:
    """The passages that `audited` cuts from these items, for the task's author."""
    leaks_in = _examiner(hidden, candidate)
    passages = []
    for item in items:
        for name in WORDS:
            leaks = leaks_in(getattr(item, name))
            for span in _joined([each for _, each in leaks.problems]):
                reasons = [what for what, its in leaks.problems if its.start < span.end and span.start < its.end]
                passages.append(
                    CutPassage(
                        interface=item.interface,
                        field=name,
                        passage=leaks.text[span.start : span.end],
                        reasons=tuple(dict.fromkeys(reasons)),
                    )
                )
    return tuple(passages)


def faults(
    hidden: Secrets,
    candidate: Files,
    style: Style = STYLE,
) -> Callable[[str, str], str]:
    """A function that returns why a text would be cut in a field, as a predicate, or ""."""
    leaks_in = _examiner(hidden, candidate)
    return lambda field, words: next((what for what, _ in leaks_in(words).to_cut(field, style)), "")


def leaks_of(parts: Parts) -> tuple[str, ...]:
    """One line for each passage of a task's feedback.yaml that the audit would cut, and for each name of a hidden test in a correction.

    Corrections are code of the reference, so nothing is cut there.
    """
    hidden = secrets(parts, Oracle())  # only task directories have that file, and they name no test file
    items = [FeedbackItem(interface=name, **_fields(fields)) for name, fields in (parts.feedback or {}).items()]
    return (
        *(
            f"feedback.yaml: {cut.interface}.{cut.field} {' and '.join(cut.reasons)}, which will be cut: {_on_one_line(cut.passage)!r}"
            for cut in cuts(items, hidden, {})
        ),
        *(
            f"feedback.yaml: {item.interface}.correction {TEST_NAME}: {item.correction[span.start : span.end]!r}; write it without the name"
            for item in items
            for span in _named(item.correction, hidden.names)
        ),
    )


def _fields(words: Mapping[str, str]) -> dict[str, Any]:
    return {name: words.get(name, "") for name in (*WORDS, "correction")}


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def visible(words: str) -> str:
    """The text without invisible characters, which could separate the characters of a secret, or encode one."""
    return words if words.isascii() else _UNSEEN.sub(lambda match: match["needed"] or "", words)


def _joined(spans: Sequence[Span]) -> list[Span]:
    joined: list[Span] = []
    for span in sorted(spans):
        if joined and span.start <= joined[-1].end:
            joined[-1] = Span(joined[-1].start, max(span.end, joined[-1].end), 0)
        else:
            joined.append(span)
    return joined


def _without(words: str, spans: Sequence[Span]) -> str:
    for span in reversed(spans):
        words = words[: span.start] + MARK + words[span.end :]
    return words


def _share(repetitions: Iterable[Repeated], total: int) -> float:
    tokens = sum(span.tokens for repetition in repetitions for span in repetition.spans)
    return round(tokens / total, 4) if total else 0.0


def texts(files: Files) -> dict[str, str]:
    """The files that are text, by path, without those that are too large to be compared."""
    by_path = {}
    left = MOST_FILES
    for path, data in files.items():
        if len(data) > MOST_FILE or b"\0" in data:
            continue
        left -= len(data)
        if left < 0:
            break
        by_path[path] = data.decode(errors="replace")
    return by_path
