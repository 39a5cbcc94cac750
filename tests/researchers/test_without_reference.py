"""The researcher in two calls: who writes the words never sees the reference."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_recode.episode import Feedback
from pytest_recode.feedback.levels import corrections
from pytest_recode.feedback.model_answers import WITHOUT_REFERENCE, Style
from pytest_recode.researchers import prompts
from pytest_recode.researchers.researcher import researcher
from pytest_recode.researchers.without_reference import passages
from tests.chat_server import ChatServer, Request, Script, say
from tests.feedback.scene import REFERENCE, case, parts, task, turn
from tests.researchers.test_researcher import model

Serve = Callable[[Script], ChatServer]

MARKER = "marker_of_the_reference"
HIDDEN = REFERENCE.replace("_squares", MARKER).replace(
    "total = sum(weights)", f"total = sum(weights)  # {MARKER} 0.57721"
)
OWN = "def mean(values, weights=None):\n    return sum(values) / len(values)\n\n\ndef deviation(values, *, ddof=1):\n    return 1.0\n"
PLAYED = turn(OWN, case(), case("stats.deviation"), case("stats.Running.push", passed=True))
FAULT: dict[str, Any] = {
    "interface": "stats.mean",
    "category": "T2",
    "file": "stats.py",
    "first_line": 2,
    "last_line": 2,
    "passages": [2],
    "caused_by": "",
}
FAULTS = [FAULT, {**FAULT, "interface": "stats.deviation", "category": "T3", "first_line": 5, "last_line": 6}]
WORDS = {
    "description": "The mean is off.",
    "analysis": "Line 2 divides by the number.",
    "suggestion": "Use the weights.",
}


def words(*numbers: int, **fields: object) -> str:
    return json.dumps({"feedbacks": [{"fault": number, **WORDS, **fields} for number in numbers]})


def faults(*records: Mapping[str, Any]) -> str:
    return json.dumps({"faults": records or FAULTS})


def asked(server: ChatServer, level: int = 4, **style: Any) -> Feedback:
    its = replace(parts(), reference={"stats.py": HIDDEN.encode()})
    return researcher(task(), its, model(server), Style(writer=WITHOUT_REFERENCE, **style))([PLAYED], level)


def by_question(first: str, second: str) -> Callable[[Request], Any]:
    return lambda request: say(first if "BEGIN REFERENCE" in request.prompt else second)


def test_the_writer_sees_brief_candidate_and_faults_and_nothing_of_the_reference(chat_server: Serve) -> None:
    server = chat_server([say(faults()), say(words(1, 2))])
    feedback = asked(server)
    diagnosis, writer = (request.prompt for request in server.requests)
    assert MARKER in diagnosis
    assert "0.57721" in diagnosis
    for secret in (MARKER, "0.57721", "REFERENCE", "zip(values, weights)"):
        assert secret not in json.dumps(server.requests[1].body)
    for shown in (
        "   2      return sum(values) / len(values)",
        "[2] Means are sums, divided.",
        "tools.py: centre, scale",
    ):
        assert shown in diagnosis
        assert shown in writer
    assert "1. stats.mean: T2; lines 2 to 2 of stats.py; passages [2]\n2. stats.deviation: T3; lines 5 to 6" in writer
    assert (feedback.source, feedback.model) == ("model", "gpt-5-mini")
    assert feedback.prompt == f"{prompts.VERSION} (without-reference)"
    assert (feedback.usage.prompt_tokens, feedback.usage.completion_tokens) == (22, 14)
    mean, deviation = feedback.items
    assert (mean.category, mean.description, deviation.category) == ("T2", WORDS["description"], "T3")
    assert mean.authors == {**dict.fromkeys(("category", *WORDS), "model"), "correction": "derived"}
    assert [each.interface for each in corrections(feedback.text)] == ["stats.mean", "stats.deviation"]
    assert MARKER in feedback.text
    assert MARKER not in asked(chat_server([say(faults()), say(words(1, 2))]), 3).text


@pytest.mark.parametrize(
    "smuggled",
    [
        {"interface": MARKER},
        {"category": MARKER},
        {"file": MARKER},
        {"caused_by": MARKER},
        {"first_line": MARKER},
        {"passages": [MARKER]},
        {"first_line": 0},
        {"last_line": 57721},
        {"passages": [57721]},
        {"passages": [1] * 20},
        {"note": MARKER},
    ],
    ids=str,
)
def test_no_field_takes_text_or_a_number_that_is_no_place(chat_server: Serve, smuggled: dict[str, Any]) -> None:
    """The record is refused, also the second time, and the writer hears nothing of it."""
    server = chat_server(by_question(faults({**FAULT, **smuggled}, FAULTS[1]), words(1)))
    feedback = asked(server, 3)
    first, again, writer = server.requests
    assert "That answer is not as asked for:" in again.prompt
    assert MARKER in first.prompt
    sent = json.dumps(writer.body)
    assert MARKER not in sent
    assert "57721" not in sent
    assert set(feedback.items[0].authors.values()) == {"derived"}
    assert feedback.items[1].authors["analysis"] == "model"


def test_what_is_wrong_goes_back_once_in_each_call_and_is_counted(chat_server: Serve) -> None:
    server = chat_server([say(faults(FAULT)), say(faults()), say(words(1)), say(words(2))])
    feedback = asked(server, 3)
    assert "- there is no record for stats.deviation" in server.requests[1].prompt
    assert "- there is no record for fault 2" in server.requests[3].prompt
    assert {author for item in feedback.items for author in item.authors.values()} == {"model", "derived"}
    assert [item.authors["analysis"] for item in feedback.items] == ["model", "model"]
    assert feedback.usage.prompt_tokens == 44


def test_without_a_diagnosis_nothing_is_written_and_all_is_derived(chat_server: Serve) -> None:
    server = chat_server([say("no"), say("no")])
    feedback = asked(server, 3)
    assert (len(server.requests), feedback.source) == (2, "derived")
    assert feedback.prompt == f"{prompts.VERSION} (without-reference)"


def test_without_words_all_is_derived(chat_server: Serve) -> None:
    server = chat_server([say(faults()), say("no"), say(words(1, description="```\nx\n```"))])
    feedback = asked(server, 3)
    assert "- fault 1 has no words in description" not in server.requests[1].prompt
    assert (len(server.requests), feedback.source) == (3, "derived")


def test_an_interface_that_fails_because_of_another_has_no_correction(chat_server: Serve) -> None:
    caused = {**FAULTS[1], "caused_by": "stats.mean"}
    feedback = asked(chat_server([say(faults(FAULT, caused)), say(words(1, 2))]))
    assert "Cause: The fault is in stats.mean." in feedback.text
    assert [each.interface for each in corrections(feedback.text)] == ["stats.mean"]
    circle = {**FAULT, "caused_by": "stats.deviation"}
    feedback = asked(chat_server([say(faults(circle, caused)), say(words(1, 2))]))
    assert "Cause:" not in feedback.text


def test_the_tests_output_is_for_the_first_call_neither(chat_server: Serve) -> None:
    """It may quote what the reference returns."""
    server = chat_server([say(faults()), say(words(1, 2))])
    asked(server, test_output=True)
    assert not any("2.771204" in request.prompt for request in server.requests)


TEXTS = [
    "One. Two!\nThree goes on\nhere.",
    "$$\nx = 1. Y\n$$",
    "- a. B\n  - c",
    "```\nx = 1. Y\n- z\n```",
    "    s <- 1. T",
]


def test_a_brief_is_numbered_by_sentences_and_blocks() -> None:
    text = "\n\n".join(TEXTS)
    formula, _, code, indented = TEXTS[1:]
    assert passages(text) == ["One.", "Two!", "Three goes on\nhere.", formula, "- a. B", "  - c", code, indented]
    assert passages("") == []
