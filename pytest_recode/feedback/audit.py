"""Audit the text of a feedback before an agent reads it: measure what it repeats of the reference and the hidden tests, and replace
passages that are too long to be coincidence, and names of hidden tests, by a mark.

It applies to all text, whether a model, the task's author or a person wrote it, or it was derived. Corrections are not audited, because
they are code of level L4, at which the reference may be shown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from pytest_recode.episode import Audit, FeedbackItem
from pytest_recode.feedback.hidden_names import named, names_of
from pytest_recode.feedback.leaks import Repeated, Secret, Span, repeated, secret, tokenised, words_of
from pytest_recode.feedback.model_answers import WORDS, Style, words_only
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
CATEGORY = "names the category of the fault"

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
_CATEGORY = re.compile(
    r"[(\[]?\b(?:error |fault )?(?:categor(?:y|ies)|type)\b\s*(?:is|:|=)?\s*[`'\"*_]*T[0-4]\b[`'\"*_]*[)\]]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What the text of a task's feedback must not repeat, and what its agents may know."""

    reference: Secret  # and other hidden files, which repeat the solution
    tests: Secret
    names: frozenset[str]  # of the hidden tests
    brief: tuple[Sequence[str], ...]  # tokens of each text


def secrets(parts: Parts, oracle: Oracle) -> Secrets:
    tests, beside = hidden_files(parts, oracle)
    reference = dict.fromkeys(chain(texts(parts.reference).values(), texts(beside).values()))  # search each copy once
    repo = texts(parts.repo).values()
    return Secrets(
        reference=secret(reference),
        tests=secret(texts(tests).values()),
        names=names_of(texts({path: data for path, data in tests.items() if path.endswith(".py")}).values()),
        brief=tuple(map(words_of, (parts.instruction, parts.paper or "", " ".join(PHRASES), *repo))),
    )


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
    style: Style = Style(),  # noqa: B008  a frozen value
) -> tuple[tuple[FeedbackItem, ...], Audit]:
    """The items with leaking passages cut, and the measurements for all their text, at whatever level it is shown.

    A model's text is measured with its code, which is then removed where `style` allows none.

    Passages that `style` allows are measured but not cut: code of the reference in fields that may have code, and in these fields also
    text of the hidden tests if the run shows their output.
    """
    known = _known(hidden, candidate)
    shown = []
    total = cut = no_text = reference_tokens = tests_tokens = reference_run = tests_run = 0
    for item in items:
        fields: dict[str, Any] = {}
        for name in WORDS:
            words = visible(getattr(item, name))
            leaks = _leaks(words, hidden, known)
            spans = leaks.spans(name, style)
            without_code = (
                words_only(words) if item.authors.get(name) == "model" and name not in style.may_have_code else words
            )
            if without_code == words:
                fields[name] = _without(words, spans)
            else:  # what is left may be another passage
                fields[name] = _without(without_code, _leaks(without_code, hidden, known).spans(name, style))
            total += len(tokenised(words))
            cut += len(spans)
            no_text += len([what for what, _ in leaks.problems if what == NO_LANGUAGE])
            reference_tokens += _tokens(leaks.reference)
            tests_tokens += _tokens(leaks.tests)
            reference_run = max(reference_run, leaks.reference.longest)
            tests_run = max(tests_run, leaks.tests.longest)
        shown.append(replace(item, **fields))
    return tuple(shown), Audit(
        reference_run=reference_run,
        reference_share=_share(reference_tokens, total),
        tests_run=tests_run,
        tests_share=_share(tests_tokens, total),
        cut=cut,
        encoded=no_text,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Leaks:
    """What one field repeats, and its passages that are a problem, each with the reason."""

    reference: Repeated
    tests: Repeated
    problems: Sequence[tuple[str, Span]]

    def spans(self, field: str, style: Style) -> list[Span]:
        """The passages to cut from the field."""
        allowed = {REFERENCE, *((TESTS, TEST_NAME) if style.test_output else ())}
        free = allowed if field in style.may_have_code else ()
        return _joined([span for what, span in self.problems if what not in free])


def _leaks(words: str, hidden: Secrets, known: Sequence[Sequence[str]]) -> _Leaks:
    reference, tests = repeated(words, hidden.reference, known), repeated(words, hidden.tests, known)
    spans: dict[str, Iterable[Span]] = {
        REFERENCE: reference.spans,
        TESTS: tests.spans,
        TEST_NAME: named(words, hidden.names, known),
        NO_LANGUAGE: _joined([*no_language(words, known)]),
        CATEGORY: (Span(match.start(), match.end(), 1) for match in _CATEGORY.finditer(words)),
    }
    problems = [(what, span) for what, its in spans.items() for span in its]
    return _Leaks(reference=reference, tests=tests, problems=problems)


def no_language(text: str, known: Sequence[Sequence[str]]) -> Iterator[Span]:
    """Sequences of characters that are longer than any word, formula or address, or neither words nor names, unless the agent knows them."""
    for match in _MIXED.finditer(text):
        short = len(match[0]) < PIECE * len(_PIECES.findall(match[0]))
        if short and not any(match[0].casefold() in tokens for tokens in known):
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


def cuts(
    items: Sequence[FeedbackItem],
    hidden: Secrets,
    candidate: Files,
    style: Style = Style(),  # noqa: B008  a frozen value
) -> tuple[CutPassage, ...]:
    """The passages that `audited` cuts from these items, for the task's author."""
    known = _known(hidden, candidate)
    passages = []
    for item in items:
        for name in WORDS:
            words = visible(getattr(item, name))
            leaks = _leaks(words, hidden, known)
            for span in leaks.spans(name, style):
                reasons = [what for what, each in leaks.problems if _overlap(span, each)]
                passages.append(
                    CutPassage(
                        interface=item.interface,
                        field=name,
                        passage=words[span.start : span.end],
                        reasons=tuple(dict.fromkeys(reasons)),
                    )
                )
    return tuple(passages)


def _overlap(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


def _known(hidden: Secrets, candidate: Files) -> Sequence[Sequence[str]]:
    return (*hidden.brief, *map(words_of, texts(candidate).values()))


def faults(hidden: Secrets, candidate: Files) -> Callable[[str], tuple[str, ...]]:
    """A function that returns the reasons for which a text would be cut, as predicates."""
    known = _known(hidden, candidate)

    def reasons(words: str) -> tuple[str, ...]:
        problems = _leaks(visible(words), hidden, known).problems
        return tuple(dict.fromkeys(what for what, _ in problems if what != CATEGORY))

    return reasons


def leaks_of(parts: Parts) -> tuple[str, ...]:
    """One line for each passage of a task's feedback.yaml that the audit would cut, and for each name of a hidden test in a correction.

    Corrections are code of the reference, so nothing is cut there.
    """
    hidden = secrets(parts, Oracle())  # only task directories have that file, and they name no test file
    lines = []
    for interface, fields in (parts.feedback or {}).items():
        for name in WORDS:
            words = visible(fields.get(name, ""))
            for what, span in _leaks(words, hidden, hidden.brief).problems:
                if what != CATEGORY:
                    passage = _on_one_line(words, span)
                    lines.append(f"feedback.yaml: {interface}.{name} {what}, which will be cut: {passage!r}")
        correction = fields.get("correction", "")
        for span in named(correction, hidden.names):
            passage = _on_one_line(correction, span)
            lines.append(f"feedback.yaml: {interface}.correction {TEST_NAME}: {passage!r}; write it without the name")
    return tuple(lines)


def _on_one_line(text: str, span: Span) -> str:
    return " ".join(text[span.start : span.end].split())


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


def _tokens(repetition: Repeated) -> int:
    return sum(span.tokens for span in repetition.spans)


def _share(part: int, total: int) -> float:
    return round(part / total, 4) if total else 0.0


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
