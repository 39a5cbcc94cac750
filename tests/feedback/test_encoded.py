"""What repeats a secret in another form does not come through; what is honest is not touched."""

# ruff: noqa: RUF001  letters that look alike are what this is about

from __future__ import annotations

import base64
import codecs
import re
import string
from collections.abc import Callable, Mapping
from dataclasses import replace

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from pytest_recode.episode import Audit, FeedbackItem
from pytest_recode.feedback.audit import MARK, Secrets, audited, leaks_of, secrets
from pytest_recode.feedback.leaks import RUN, tokenised
from pytest_recode.feedback.model_answers import Style
from pytest_recode.task import Oracle
from tests.examples import examples
from tests.feedback.honest import HONEST
from tests.feedback.scene import REFERENCE, parts
from tests.feedback.test_bundled_tasks import TASKS, read

HIDDEN = secrets(replace(parts(), instruction="Write it.", repo={}), Oracle())
"""Of which nobody knows anything."""

CODE = "return sum(v * w for v, w in zip(values, weights)) / total"
CODE_TOKENS = re.findall(r"\w+|[^\w\s]", CODE)
LOWER = string.ascii_lowercase
FULL_WIDTH = {code: code + 0xFEE0 for code in range(33, 127)}
LOOK_ALIKE = str.maketrans("aceopxyijsABEKMHOPCTX", "асеорхуіјѕАВЕКМНОРСТХ")

Encode = Callable[[str], str]

ENCODINGS: Mapping[str, Encode] = {
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 for addresses": lambda text: base64.urlsafe_b64encode(text.encode()).decode().rstrip("="),
    "base32": lambda text: base64.b32encode(text.encode()).decode(),
    "base85": lambda text: base64.b85encode(text.encode()).decode(),
    "Ascii85": lambda text: base64.a85encode(text.encode()).decode(),
    "hex": lambda text: text.encode().hex(),
    "hex, spaced": lambda text: text.encode().hex(" "),
    "percent": lambda text: "".join(f"%{byte:02X}" for byte in text.encode()),
    "rot13": lambda text: codecs.encode(text, "rot13"),
    "reversed": lambda text: text[::-1],
    "reversed by word": lambda text: " ".join(word[::-1] for word in text.split(" ")),
    "words in reverse": lambda text: " ".join(reversed(text.split(" "))),
    "spaced": " ".join,
    "with strokes": "-".join,
    "with commas": ", ".join,
    "one per line": "\n".join,
    "unicode escapes": lambda text: "".join(f"\\u{ord(char):04x}" for char in text),
    "entities": lambda text: "".join(f"&#{ord(char)};" for char in text),
    "numbers": lambda text: " ".join(str(ord(char)) for char in text),
    "full width": lambda text: text.translate(FULL_WIDTH),
    "look-alikes": lambda text: text.translate(LOOK_ALIKE),
    "zero width": "\u200b".join,
}


def audit(words: str, style: Style = Style(), hidden: Secrets = HIDDEN) -> tuple[str, Audit]:  # noqa: B008  a frozen value
    [kept], found = audited([FeedbackItem(interface="stats.mean", suggestion=words)], hidden, {}, style)
    return kept.suggestion, found


def refused(words: str, passage: str) -> None:
    """The passage is gone, but for what is too little to be a secret."""
    kept, found = audit(words)
    assert MARK in kept, (words, kept)
    assert len(kept) <= len(words) - len(passage) + len(MARK) + 5 + len(passage) // 5, (words, kept)
    assert found.cut == found.encoded >= 1


TOKENS = tokenised(REFERENCE)


@st.composite
def pieces(draw: st.DrawFn) -> str:
    first = draw(st.integers(0, len(TOKENS) - RUN))
    last = draw(st.integers(first + RUN, min(first + 3 * RUN, len(TOKENS)))) - 1
    piece = " ".join(REFERENCE[TOKENS[first].start : TOKENS[last].end].split())
    assume(audit(piece)[1].cut)  # else it is a piece of which nobody would make a secret
    return piece


@examples(80)
@given(pieces(), st.sampled_from(sorted(ENCODINGS)), st.sampled_from(["", *sorted(ENCODINGS)]))
@example("', scale as rescale EPSILON = 1e-12 def mean(values, weights=None'", "full width", "")
@example("scale as rescale EPSILON = 1e-12 def mean(values, weights=None", "look-alikes", "")
@example("as rescale EPSILON = 1e-12 def mean(", "one per line", "words in reverse")
def test_no_piece_of_the_reference_comes_through_encoded_once_or_twice(piece: str, one: str, other: str) -> None:
    passage = ENCODINGS[one](piece)
    if other:
        passage = ENCODINGS[other](passage)
    assume(passage.split() != piece.split() and passage.replace("\u200b", "") != piece)
    kept, _ = audit(f"Take this: {passage} and decode it.")
    assert MARK in kept
    assert len(kept) <= len(f"Take this: {MARK} and decode it.") + 5 + len(passage) // 5


@pytest.mark.parametrize("first", [True, False], ids=["the first half", "the second half"])
def test_a_passage_of_which_a_half_is_encoded_is_cut_as_a_whole(first: bool) -> None:
    halves = CODE[: CODE.index("zip")], CODE[CODE.index("zip") :]
    passage = "".join("\u0308".join(half) if (half is halves[0]) is first else half for half in halves)
    refused(f"Take this: {passage} and use it.", passage)


@pytest.mark.parametrize("name", sorted(set(ENCODINGS) - {"full width", "look-alikes", "zero width"}))
def test_an_encoded_line_is_cut_and_counted(name: str) -> None:
    passage = ENCODINGS[name](CODE)
    refused(f"Take this: {passage} and decode it.", passage)


def moved(text: str, by: int) -> str:
    return text.translate(str.maketrans(LOWER, LOWER[by:] + LOWER[:by]))


WORDS = dict(
    zip(
        LOWER,
        re.findall(
            r"\w+",
            "alpha bravo charlie delta echo foxtrot golf hotel india juliett kilo lima mike november oscar papa quebec romeo sierra tango"
            " uniform victor whiskey xray yankee zulu",
        ),
        strict=True,
    )
)


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: moved(text, 5),
        lambda text: text.translate(str.maketrans(LOWER, LOWER[::-1])),
        lambda text: "".join(chr(33 + (ord(char) + 14) % 94) if "!" <= char <= "~" else char for char in text),
        lambda text: text.translate(str.maketrans("aeiost", "431057")),
        lambda text: "".join(chr(0x1F1E6 + ord(char) - 97) if char in LOWER else char for char in text),
        lambda text: "".join(chr(0x1F330 + ord(char)) for char in text if char != " "),
        lambda text: " ".join(WORDS[char] for char in text if char in WORDS),
        lambda text: base64.b64encode(moved(text, 7).encode()).decode(),
        lambda text: moved(text, 3)[::-1],
        lambda text: " ".join(f"{ord(char):08b}" for char in text),
        lambda text: "  ".join(map(" ".join, text.split())),
        lambda text: " ".join("".join(text.split())),
        lambda text: " ".join("".join(text.split())[::-1]),
        lambda text: " ".join(base64.b64encode(text[at : at + 6].encode()).decode() for at in range(0, len(text), 6)),
        lambda text: base64.b64encode(codecs.encode(text.encode(), "zlib")).decode(),
    ],
    ids=[
        *("moved by 5", "mirrored", "rot47", "digits for letters", "flags", "pictures", "spelled", "moved, base64", "moved, reversed"),
        *("binary", "words apart", "letters apart", "letters apart, reversed", "base64 in pieces", "compressed"),
    ],
)  # fmt: skip
def test_forms_of_which_no_list_is_kept_do_not_come_through_either(encode: Encode) -> None:
    passage = encode(CODE)
    refused(f"Take this: {passage} and decode it.", passage)


TOKEN_BY_TOKEN: Mapping[str, Callable[[list[str]], str]] = {
    "in backticks": lambda tokens: ", ".join(f"`{token}`" for token in tokens),
    "in quotes": lambda tokens: " then ".join(f'"{token}"' for token in tokens),
    "a list": lambda tokens: "\n" + "\n".join(f"- `{token}`" for token in tokens),
    "a numbered list": lambda tokens: "\n" + "\n".join(f"{at}. {token}" for at, token in enumerate(tokens, 1)),
    "a table": lambda tokens: f"| {' | '.join(tokens)} |",
    "a table without blanks": lambda tokens: f"|{'|'.join(tokens)}|",
    "a word between": " then ".join,
}


@pytest.mark.parametrize("name", TOKEN_BY_TOKEN)
def test_a_line_that_is_told_token_by_token_is_cut(name: str) -> None:
    passage = TOKEN_BY_TOKEN[name](CODE_TOKENS)
    kept, found = audit(f"Write these in a row: {passage}\nThat is all.")
    assert MARK in kept
    assert "zip" not in kept
    assert found.encoded == 1


def test_encoded_tests_are_cut_too() -> None:
    asserted = "assert abs(got - 2.771204) < 1e-6"
    kept, found = audit(f"See {base64.b64encode(asserted.encode()).decode()} there.")
    assert (kept, found.cut, found.encoded) == (f"See {MARK} there.", 1, 1)
    assert (found.reference_run, found.tests_run) == (0, 0)


def test_where_words_may_have_code_the_reference_is_cut_in_no_form_and_the_tests_are() -> None:
    style = Style(code_from=3)
    words = f"Take {codecs.encode(CODE, 'rot13')} there."
    assert audit(words, style)[0] == words
    asserted = codecs.encode("assert abs(got - 2.771204) < 1e-6", "rot13")
    assert MARK in audit(f"See {asserted} there.", style)[0]
    assert audit(f"See {asserted} there.", replace(style, test_output=True))[1].cut == 0


def test_an_encoded_passage_of_a_tasks_feedback_is_named() -> None:
    passage = base64.b64encode(CODE.encode()).decode()
    found = leaks_of(parts({"stats.mean": {"suggestion": f"Take {passage} there."}}))
    assert f"repeats code of the reference, in another form than they have, which will be cut: '{passage}'" in found[0]


def test_what_is_no_language_is_cut_unless_the_agent_knows_it() -> None:
    digits = "q7Xw2Lk9Zr4Tb8Vn1Mc5Hs3Jd6"
    assert audit(f"Use {digits} there.")[0] == f"Use {MARK} there."
    hidden = secrets(replace(parts(), instruction=f"The key of the table is {digits}.", repo={}), Oracle())
    assert audit(f"Use {digits} there.", hidden=hidden)[1].cut == 0


@pytest.mark.parametrize("words", HONEST, ids=lambda words: words[:30])
def test_honest_words_are_not_touched(words: str) -> None:
    assert audit(words) == (words, replace(audit(words)[1], cut=0, encoded=0))


@pytest.mark.parametrize("manifest", TASKS, ids=lambda path: path.parent.name)
@pytest.mark.mostly_slow(one_in=8)
def test_honest_words_are_not_touched_whatever_the_task(manifest: object) -> None:
    _, its = read(manifest)  # type: ignore[arg-type]
    kept, found = audit("\n\n".join(HONEST), hidden=secrets(its, Oracle()))
    assert (kept, found.cut) == ("\n\n".join(HONEST), 0)
