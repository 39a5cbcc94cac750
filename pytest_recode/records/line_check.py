"""Check lines of transcripts and checkpoints that were read from a file, as `record_check.py` checks records.

Called where these files are read: for resuming, for replays and for reports. Fields that none of them reads are not checked. Each
function returns the first wrong key and what it must be; "" if nothing is wrong.
"""

from __future__ import annotations

import base64
from collections.abc import Container, Mapping
from typing import Any

from pytest_recode.records import record_check
from pytest_recode.records.field_checks import (
    FLAG,
    NAME,
    NUMBER,
    SEED,
    TEXT,
    Check,
    expect,
    list_of,
    object_of,
    one_of,
    or_null,
    values_of,
    whole_number,
)
from pytest_recode.records.record_check import FACTS, LEVELS, OUTCOMES, TURN, USAGE


def transcript_fault(line: Any, events: Container[str]) -> str:
    """Check a line of a transcript. `events`: events whose fields the caller reads; for others, only event and time are checked."""
    wrong = _ANY_LINE(line)
    if not wrong and line["event"] in events:
        wrong = _EVENTS[line["event"]](line)
    return wrong.lstrip(".: ")


def verdict_fault(line: Mapping[str, Any]) -> str:
    """Check the verdict of a valid line of a turn, with the messages of its cases. Reports do not read it."""
    return _VERDICT(line.get("verdict")).lstrip(".: ")


def view_fault(line: Mapping[str, Any]) -> str:
    """Check the fields of a valid line that only people read, with `pytest-recode show` and `html`; older transcripts may lack them."""
    check = _VIEWED.get(line["event"])
    return check(line).lstrip(".: ") if check else ""


def checkpoint_fault(line: object) -> str:
    """Check a line of a checkpoint: of a turn, or of feedback that no turn has used yet."""
    turn = isinstance(line, dict) and "turn" in line
    return (_CHECKPOINT if turn else _UNUSED_FEEDBACK)(line).lstrip(".: ")


def first_turn_fault(content: object) -> str:
    return _FIRST_TURN(content).lstrip(".: ")


def _is_base64(value: Any) -> bool:
    try:
        base64.b64decode(value)
    except (TypeError, ValueError):
        return False
    return isinstance(value, str)


def _is_named_file(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and type(value[0]) is str and type(value[1]) is int


_BASE64 = expect("base64", _is_base64)
_NAMED_FILE = expect("a digest and a file mode", _is_named_file)

_AUDIT = object_of(
    reference_run=whole_number(0),
    reference_share=NUMBER,
    tests_run=whole_number(0),
    tests_share=NUMBER,
    cut=whole_number(0),
    encoded_=whole_number(0),
)
_FEEDBACK_FIELDS: Mapping[str, Check] = {
    "turn": whole_number(1),
    "level": one_of(*LEVELS),
    "source": TEXT,
    "audit": _AUDIT,
    "text": TEXT,
    "items": list_of(
        object_of(
            interface=TEXT,
            category=TEXT,
            description=TEXT,
            analysis=TEXT,
            suggestion=TEXT,
            correction=TEXT,
            elsewhere_=values_of(TEXT),
            caused_by_=or_null(TEXT),
            possible_causes_=list_of(TEXT),
            authors_=values_of(TEXT),
        )
    ),
}
_FEEDBACK = object_of(**_FEEDBACK_FIELDS, model=TEXT, prompt=TEXT, usage=USAGE)
_VERDICT = object_of(
    cases=list_of(
        object_of(
            id=TEXT,
            interface=TEXT,
            outcome=one_of(*OUTCOMES),
            kind=TEXT,
            message=TEXT,
            exception=or_null(object_of(type=TEXT, message=TEXT, frames=list_of(TEXT))),
            seconds=NUMBER,
            junit_=TEXT,
            uses_=or_null(list_of(TEXT)),
        )
    ),
    seed=SEED,
    seconds=NUMBER,
    isolation=TEXT,
    tampering=list_of(TEXT),
    verifiable_=FLAG,
    versions_=values_of(TEXT),
)
_CHECKPOINT_FIELDS: Mapping[str, Check] = {
    "turn": whole_number(1),
    "feedback": or_null(_FEEDBACK),
    "move": object_of(
        steps=whole_number(0),
        unparsed_=whole_number(0),
        asked_again_=whole_number(0),
        submitted=FLAG,
        reindented_=FLAG,
        gave_up_=FLAG,
        usage=USAGE,
    ),
    "verdict": _VERDICT,
    "targets": values_of(_BASE64),
    "seconds": NUMBER,
    "shared": TEXT,
    "agent": lambda _: "",  # the agent itself checks its state
    "changes": or_null(
        object_of(files=values_of(_NAMED_FILE), contents=values_of(_BASE64), removed=list_of(TEXT), whole=FLAG)
    ),
}
_CHECKPOINT = object_of(nodeid=NAME, **_CHECKPOINT_FIELDS)
_FIRST_TURN = object_of(key=NAME, **_CHECKPOINT_FIELDS)
_UNUSED_FEEDBACK = object_of(nodeid=NAME, feedback=_FEEDBACK)

_ANY_LINE = object_of(event=TEXT, time=NUMBER)
_FACTS = object_of(**FACTS)


_TURN_DETAILS = object_of(
    shared=or_null(TEXT),
    cases=list_of(object_of(interface=TEXT)),
    targets=values_of(TEXT),
    untouched_=list_of(TEXT),
)


def _turn_line(line: object) -> str:
    return TURN(line) or _TURN_DETAILS(line)


_CALL = object_of(
    model=TEXT, waited_=NUMBER, answering_=NUMBER, call_=TEXT, replayed_=FLAG, recorded_usd_=or_null(NUMBER)
)


def _usage_line(line: object) -> str:
    return USAGE(line) or _CALL(line)


_EVENTS: Mapping[str, Check] = {
    "episode": _FACTS,
    "resumed": _FACTS,
    "usage": _usage_line,
    "retry": object_of(model=TEXT, pause=NUMBER),
    "turn": _turn_line,
    "feedback": object_of(**_FEEDBACK_FIELDS),
    "end": record_check.fault,
}

_EPISODE_VIEWED = object_of(settings=object_of(turns=whole_number(1)))
_VIEWED: Mapping[str, Check] = {
    "episode": _EPISODE_VIEWED,
    "resumed": _EPISODE_VIEWED,
    "retry": object_of(error=TEXT, message=TEXT),
    "turn": object_of(
        cases=list_of(object_of(id=TEXT, kind=TEXT, exception=or_null(TEXT))),
        tampering=list_of(TEXT),
        seed=SEED,
        seconds=NUMBER,
    ),
    "feedback": object_of(source=TEXT, model=or_null(TEXT)),
    "end": object_of(seconds=NUMBER, waited_=NUMBER, error=or_null(object_of(kind=TEXT, message=TEXT))),
}
