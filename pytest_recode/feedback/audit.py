"""Audit: the words of a feedback, before an agent gets them. What they repeat of reference and hidden tests is measured; what is
too long to be chance is cut, and a mark stands in its place.

Whoever wrote them: a model, the task's author, a person, or nobody. Corrections are code of level L4, where the reference may
be shown, and are no words.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain

from pytest_recode.episode import Audit, FeedbackItem
from pytest_recode.feedback.derived import ADVICE
from pytest_recode.feedback.leaks import Repeated, Secret, Span, repeated, secret, tokenised, words_of
from pytest_recode.feedback.levels import KINDS
from pytest_recode.feedback.records import WORDS
from pytest_recode.task import Files, Oracle, Parts

MARK = "[left out]"
"""What an agent reads in place of a passage that was cut."""

MOST_FILE = 1024 * 1024
MOST_FILES = 4 * MOST_FILE
"""Bytes of a file, and of all files, that are looked at: beyond it are data, and repositories that nobody repeats at length."""

# What no sentence has: an answer could be carried past a reader in one.
_BLOB = re.compile(r"\S{120,}")
_CATEGORY = re.compile(
    r"[(\[]?\b(?:error |fault )?(?:categor(?:y|ies)|type)\b\s*(?:is|:|=)?\s*[`'\"*_]*T[0-4]\b[`'\"*_]*[)\]]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """What the words of a task's feedback may not repeat, and what its agents know anyway."""

    reference: Secret  # and what lies hidden beside the tests, which is the solution once more
    tests: Secret
    brief: tuple[Sequence[str], ...]  # tokens of each text


def secrets(parts: Parts, oracle: Oracle) -> Secrets:
    phrases = " ".join((*KINDS.values(), *ADVICE.values()))  # our own tell nothing of a task
    tests, beside = _hidden(parts, oracle)
    return Secrets(
        reference=secret(dict.fromkeys(chain(_texts(parts.reference), _texts(beside)))),  # a copy is looked for once
        tests=secret(_texts(tests)),
        brief=tuple(map(words_of, (parts.instruction, parts.paper or "", phrases, *_texts(parts.repo)))),
    )


def secrets_of(parts: Parts, oracle: Oracle) -> Callable[[], Secrets]:
    """Made when the first turn fails, and kept for the others."""
    return cache(lambda: secrets(parts, oracle))


def _hidden(parts: Parts, oracle: Oracle) -> tuple[Files, Files]:
    """The tests, and what else is hidden with them. Where no file is named as the test, all of them are."""
    named = oracle.beside.test if oracle.beside is not None else oracle.script
    if not named:
        return parts.tests, {}
    return (
        {path: data for path, data in parts.tests.items() if path == named},
        {path: data for path, data in parts.tests.items() if path != named},
    )


def audited(items: Sequence[FeedbackItem], hidden: Secrets, candidate: Files) -> tuple[tuple[FeedbackItem, ...], Audit]:
    """The items as they may be shown, and what was found in all their words, whatever level shows them."""
    known = (*hidden.brief, *map(words_of, _texts(candidate)))
    kept = []
    total = cut = reference_tokens = tests_tokens = reference_run = tests_run = 0
    for item in items:
        fields = {}
        for name in WORDS:
            words = visible(getattr(item, name))
            theirs = repeated(words, hidden.reference, known)
            tests = repeated(words, hidden.tests, known)
            spans = _joined([*theirs.spans, *tests.spans, *_others(words)])
            fields[name] = _without(words, spans)
            total += len(tokenised(words))
            cut += len(spans)
            reference_tokens += _tokens(theirs)
            tests_tokens += _tokens(tests)
            reference_run = max(reference_run, theirs.longest)
            tests_run = max(tests_run, tests.longest)
        kept.append(replace(item, **fields))
    return tuple(kept), Audit(
        reference_run=reference_run,
        reference_share=_share(reference_tokens, total),
        tests_run=tests_run,
        tests_share=_share(tests_tokens, total),
        cut=cut,
    )


def repeats(hidden: Secrets, candidate: Files) -> Callable[[str], str]:
    """What words would be cut for, in words: "code of the reference", "the hidden tests", or ""."""
    known = (*hidden.brief, *map(words_of, _texts(candidate)))

    def found(words: str) -> str:
        words = visible(words)
        if repeated(words, hidden.reference, known).spans:
            return "code of the reference"
        return "the hidden tests" if repeated(words, hidden.tests, known).spans else ""

    return found


def leaks_of(parts: Parts) -> tuple[str, ...]:
    """What of a task's own feedback.yaml will be cut when it is given, one line each."""
    hidden = secrets(parts, Oracle())  # a directory, which alone has that file, names no test
    found = []
    for interface, fields in (parts.feedback or {}).items():
        for name in WORDS:
            words = visible(fields.get(name, ""))
            for what, theirs in (("the reference", hidden.reference), ("the hidden tests", hidden.tests)):
                for span in repeated(words, theirs, hidden.brief).spans:
                    passage = " ".join(words[span.start : span.end].split())
                    found.append(f"feedback.yaml: {interface}.{name} repeats {what}, which will be cut: {passage!r}")
    return tuple(found)


def visible(words: str) -> str:
    """Without characters that nobody sees, which could stand between those of a secret."""
    return "".join(char for char in words if char.isascii() or unicodedata.category(char) != "Cf")


def _others(words: str) -> Iterator[Span]:
    for pattern in (_BLOB, _CATEGORY):
        for match in pattern.finditer(words):
            yield Span(match.start(), match.end(), 1)


def _joined(spans: Sequence[Span]) -> list[Span]:
    found: list[Span] = []
    for span in sorted(spans):
        if found and span.start <= found[-1].end:
            found[-1] = Span(found[-1].start, max(span.end, found[-1].end), 0)
        else:
            found.append(span)
    return found


def _without(words: str, spans: Sequence[Span]) -> str:
    for span in reversed(spans):
        words = words[: span.start] + MARK + words[span.end :]
    return words


def _tokens(found: Repeated) -> int:
    return sum(span.tokens for span in found.spans)


def _share(part: int, total: int) -> float:
    return round(part / total, 4) if total else 0.0


def _texts(files: Files) -> Iterator[str]:
    left = MOST_FILES
    for data in files.values():
        if len(data) > MOST_FILE or b"\0" in data:
            continue
        left -= len(data)
        if left < 0:
            return
        yield data.decode(errors="replace")
