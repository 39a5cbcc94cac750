"""Remove what must not be shared from an episode (`--without`), before any target sees it.

The parts are those of `pytest-recode html` (`render/html/withheld.py`). A text that is removed is replaced by `REMOVED`, so that the number of messages,
steps and cases stays.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

from pytest_recode.records.episode_error import ErrorRecord
from pytest_recode.records.record import Record
from pytest_recode.records.transcript_lines import TurnLine
from pytest_recode.records.transcript_turns import ActionResult, PlayedEpisode, PlayedStep, PlayedTurn
from pytest_recode.render.html.withheld import Without, corrects, knows_reference, shows_tests

REMOVED = "[removed]"


def redacted(episode: PlayedEpisode, without: Without) -> PlayedEpisode:
    """The episode without the parts of `without`."""
    if not without.parts:
        return episode
    record = episode.record
    return replace(
        episode,
        turns=tuple(_turn(episode, turn, without) for turn in episode.turns),
        record=None if record is None else redacted_record(record, without),
    )


def redacted_record(record: Record, without: Without) -> Record:
    """The record without the message of an error that quotes hidden tests."""
    error = record["error"]
    if error is None or not without.tests or error["kind"] not in ("grader", "internal", "user"):
        return record
    plain: ErrorRecord = {"kind": error["kind"], "message": REMOVED}
    return cast("Record", {**record, "error": plain})


def _turn(episode: PlayedEpisode, turn: PlayedTurn, without: Without) -> PlayedTurn:
    facts = episode.facts
    private = without.reference and knows_reference(episode, turn)
    tests = without.tests and shows_tests(facts)
    # Prompts contain the feedback, and so what is removed of it; steps are parts of the model's messages
    hides_words = without.prompts or private or tests
    feedback = turn.feedback
    if feedback is not None and (private or tests or (without.reference and corrects(feedback, facts))):
        feedback = replace(feedback, text=REMOVED, items=())
    return replace(
        turn,
        messages=tuple(replace(each, content=REMOVED, tool_calls=()) for each in turn.messages)
        if hides_words
        else turn.messages,
        steps=tuple(map(_step, turn.steps)) if hides_words else turn.steps,
        judged=None if turn.judged is None else _judged(turn.judged, tests=without.tests, targets=private),
        feedback=feedback,
    )


def _step(step: PlayedStep) -> PlayedStep:
    return replace(
        step,
        parts={},
        error=REMOVED if step.error else "",
        note="",
        thoughts="",
        actions=tuple(map(_action, step.actions)),
    )


def _action(action: ActionResult) -> ActionResult:
    return replace(action, arguments={}, text=REMOVED if action.text else "")


def _judged(judged: TurnLine, *, tests: bool, targets: bool) -> TurnLine:
    cases = [{**case, "message": REMOVED if case["message"] else ""} for case in judged["verdict"]["cases"]]
    verdict = {**judged["verdict"], "cases": cases} if tests else judged["verdict"]
    return cast("TurnLine", {**judged, "verdict": verdict, "targets": {} if targets else judged["targets"]})
