"""Audit: the words of a feedback, before an agent gets them. What they repeat of reference and hidden tests is measured; what is
too long to be chance is cut, and a mark stands in its place.

Whoever wrote them: a model, the task's author, a person, or nobody. Corrections are code of level L4, where the reference may
be shown, and are no words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import chain
from typing import Any

from pytest_recode.episode import Audit, FeedbackItem
from pytest_recode.feedback.derived import ADVICE
from pytest_recode.feedback.encoded import Hidden, encoded, no_language, unbroken
from pytest_recode.feedback.leaks import Repeated, Span, repeated, tokenised, words_of
from pytest_recode.feedback.levels import KINDS
from pytest_recode.feedback.model_answers import WORDS, Style
from pytest_recode.task import Files, Oracle, Parts

MARK = "[left out]"
"""What an agent reads in place of a passage that was cut."""

REFERENCE, TESTS, NO_LANGUAGE = (
    "repeats code of the reference",
    "repeats the hidden tests",
    "holds characters that are no language",
)
"""What words may not do, to be read after their name."""
ENCODED = ", in another form than they have"

MOST_FILE = 1024 * 1024
MOST_FILES = 4 * MOST_FILE
"""Bytes of a file, and of all files, that are looked at: beyond it are data, and repositories that nobody repeats at length."""

# One of them at a time stays where a script needs it: between letters of Arabic and Indian scripts, and in an emoji.
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
    """What the words of a task's feedback may not repeat, and what its agents know anyway."""

    reference: Hidden  # and what lies hidden beside the tests, which is the solution once more
    tests: Hidden
    brief: tuple[Sequence[str], ...]  # tokens of each text


def secrets(parts: Parts, oracle: Oracle) -> Secrets:
    phrases = " ".join((*KINDS.values(), *ADVICE.values()))  # our own tell nothing of a task
    tests, beside = _hidden(parts, oracle)
    return Secrets(
        reference=Hidden(
            tuple(dict.fromkeys(chain(_texts(parts.reference), _texts(beside))))
        ),  # a copy is looked for once
        tests=Hidden(tuple(_texts(tests))),
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


def audited(
    items: Sequence[FeedbackItem],
    hidden: Secrets,
    candidate: Files,
    style: Style = Style(),  # noqa: B008  a frozen value
) -> tuple[tuple[FeedbackItem, ...], Audit]:
    """The items as they may be shown, and what was found in all their words, whatever level shows them.

    What `style` allows is measured and not cut: code of the reference in fields that may have code, and there the hidden tests' own words
    where the run shows these anyway.
    """
    known = (*hidden.brief, *map(words_of, _texts(candidate)))
    kept = []
    total = cut = hidden_passages = reference_tokens = tests_tokens = reference_run = tests_run = 0
    for item in items:
        fields: dict[str, Any] = {}
        for name in WORDS:
            words = visible(getattr(item, name))
            theirs = repeated(words, hidden.reference.plain, known)
            tests = repeated(words, hidden.tests.plain, known)
            free = name in style.may_have_code
            disguised = _joined(
                [
                    *(() if free else _beside(encoded(words, hidden.reference, known), theirs.spans)),
                    *(() if free and style.test_output else _beside(encoded(words, hidden.tests, known), tests.spans)),
                    *(() if free else no_language(words, known)),
                    *unbroken(words),
                ]
            )
            spans = _joined(
                [
                    *(() if free else theirs.spans),
                    *(() if free and style.test_output else tests.spans),
                    *disguised,
                    *_categories(words),
                ]
            )
            fields[name] = _without(words, spans)
            total += len(tokenised(words))
            cut += len(spans)
            hidden_passages += len(disguised)
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
        encoded=hidden_passages,
    )


def faults(hidden: Secrets, candidate: Files) -> Callable[[str], tuple[str, ...]]:
    """What words would be cut for: sentences without their subject."""
    known = (*hidden.brief, *map(words_of, _texts(candidate)))

    def found(words: str) -> tuple[str, ...]:
        return tuple(dict.fromkeys(what for what, _ in _faults(visible(words), hidden, known)))

    return found


def leaks_of(parts: Parts) -> tuple[str, ...]:
    """What of a task's own feedback.yaml will be cut when it is given, one line each."""
    hidden = secrets(parts, Oracle())  # a directory, which alone has that file, names no test
    found = []
    for interface, fields in (parts.feedback or {}).items():
        for name in WORDS:
            words = visible(fields.get(name, ""))
            for what, span in _faults(words, hidden, hidden.brief):
                passage = " ".join(words[span.start : span.end].split())
                found.append(f"feedback.yaml: {interface}.{name} {what}, which will be cut: {passage!r}")
    return tuple(found)


def _faults(words: str, hidden: Secrets, known: Sequence[Sequence[str]]) -> Iterator[tuple[str, Span]]:
    """What is wrong, and where."""
    both = ((REFERENCE, hidden.reference), (TESTS, hidden.tests))
    for what, theirs in both:
        plain = repeated(words, theirs.plain, known).spans
        yield from ((what, span) for span in plain)
        yield from ((what + ENCODED, span) for span in _joined(_beside(encoded(words, theirs, known), plain)))
    yield from ((NO_LANGUAGE, span) for span in no_language(words, known))


def visible(words: str) -> str:
    """Without characters that nobody sees: they could stand between those of a secret, or be one by themselves."""
    return words if words.isascii() else _UNSEEN.sub(lambda match: match["needed"] or "", words)


def _categories(words: str) -> Iterator[Span]:
    for match in _CATEGORY.finditer(words):
        yield Span(match.start(), match.end(), 1)


def _beside(spans: Sequence[Span], plain: Sequence[Span]) -> list[Span]:
    """Those that say nothing which is found as it stands: a line of short names is the same with its spaces taken out."""
    return [span for span in spans if not any(span.start < each.end and each.start < span.end for each in plain)]


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
