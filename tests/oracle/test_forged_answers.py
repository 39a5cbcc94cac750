"""Candidates that answer by messages of their own making, around the program that answers for them.

Each of them is a failed case, whatever the message is: no error of the grader's, no exception on the host, and the
next case is judged as if nothing had happened.
"""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Case, Outcome
from tests.oracle.conftest import grade

TESTS = """
    import pytest

    pytestmark = pytest.mark.parametrize("number", range(MESSAGES), scope="module")

    def test_1_compares(candidate, number):
        assert candidate.m.f(number, lambda x: x + 1) == 5

    def test_2_catches_what_is_raised(candidate, number):
        try:
            answer = candidate.m.f(number, lambda x: x + 1)
        except Exception:
            answer = 4
        assert answer == 5

    def test_3_of_another_function(candidate, number):
        assert candidate.m.g(1) == 6
"""
"""The three tests run for each message, before those for the next one."""
REFERENCE = "def f(number, g): return g(4)\ndef g(x): return x + 5\n"
CODE = """\
import gc, json, struct

HEADERS = []

def f(number, g):
    [server] = [thing for thing in gc.get_objects() if type(thing).__name__ == "_Server"]
    send = server.send

    def forged(message):
        del server.send
        header = HEADERS[number]
        server.put(struct.pack("!4sc8sIQ", b"rcd1", b"A", server.sequence, len(header), 0) + header)

    server.send = forged
    return 4

def g(x):
    return x + 5
"""


def table(**fields: Any) -> list[Any]:
    """A dict as it travels."""
    return ["d", *[part for pair in fields.items() for part in pair]]


ERROR = {"type": "ValueError", "bases": ["l", "ValueError"], "message": "no", "frames": ["l"], "callback": None}
HUGE = ["i", "0x" + "f" * 100_000]  # its decimal text is refused by Python itself
WRONG: dict[str, Any] = {
    "None": None,
    "a bool": True,
    "a float": 0.5,
    "a huge int": HUGE,
    "nan": ["f", "nan"],
    "a text": "x",
    "an empty list": ["l"],
    "a list of texts": ["l", "abc"],
    "a dict": ["d", 1, 2],
    "a set": ["s", 1],
    "a range": ["r", 0, 1 << 60, 1],
    "an array": ["n", "<U0", 0],
    "a handle": ["@", "object", 1, "x"],
    "a callable": ["@", "callable", 1, "x"],
    "an iterator": ["@", "iterator", 1, "x"],
    "a module": ["@", "module", "os"],
    "a type": ["@", "type", 1, "int"],
}
REFERENCES: dict[str, list[Any]] = {
    "none": [],
    "of no kind": ["nonesuch", 1, "x"],
    "of an int's kind": [1, 1, "x"],
    "of a method's name": ["__class__", 1, "x"],
    "without a number": ["object"],
    "without a name": ["object", 1],
    "of a text's number": ["object", "x", "x"],
    "of a bool": ["object", True, "x"],
    "of a huge number": ["object", 1 << 4000, "x"],
    "of a number that is a name": ["module", 7],
    "of no type": ["type", 1, "os.system"],
    "of its own function": ["own", 1, 99],
    "of its own function, by a text": ["own", 1, "x"],
    "of its own function, by a bool": ["own", 1, True],
    "of a generator": ["rng", "Generator", "{}"],
    "of a callback": ["callback", 1],
}
FORGED: dict[str, dict[str, Any]] = {
    "answer": WRONG,
    "raised": {name: table(raised=value) for name, value in WRONG.items()},
    **{
        f"raised, {field}": {
            **{name: table(raised=table(**{**ERROR, field: value})) for name, value in WRONG.items()},
            "without it": table(raised=table(**{key: value for key, value in ERROR.items() if key != field})),
        }
        for field in ERROR
    },
    "lost": {name: table(lost=value) for name, value in WRONG.items()},
    "callback": {
        **{name: table(callback=value, args=["t", 4], kwargs=["d"]) for name, value in WRONG.items()},
        "no fields": table(callback=1),
    },
    "callback, args": {name: table(callback=1, args=value, kwargs=["d"]) for name, value in WRONG.items()},
    "callback, kwargs": {name: table(callback=1, args=["t"], kwargs=value) for name, value in WRONG.items()},
    "reference": {name: table(value=["@", *items]) for name, items in REFERENCES.items()},
    "another field": {name: table(outcome=value) for name, value in WRONG.items()},
    "other": {
        "a step of the grader's": table(op="finished", id="test_m.py::test_1_compares", outcome="passed"),
        "all fields": table(raised=table(**ERROR), lost="x", callback=1, args=["t"], kwargs=["d"], op="done"),
        "a builtin that cannot be made": table(raised=table(**{**ERROR, "bases": ["l", "UnicodeDecodeError"]})),
        "a group": table(raised=table(**{**ERROR, "bases": ["l", "ExceptionGroup"]})),
        "the end of an iteration": table(raised=table(**{**ERROR, "bases": ["l", "StopIteration"]})),
        "an exit": table(raised=table(**{**ERROR, "bases": ["l", "SystemExit", "KeyboardInterrupt"]})),
        "a name with a null": table(raised=table(**{**ERROR, "type": "a\x00b"})),
        "a name of half a character": table(raised=table(**{**ERROR, "type": "\ud800", "message": "\udfff"})),
    },
}


MALFORMED = ("raised, type", "raised, message", "raised, bases", "raised, frames", "lost", "callback")
"""What is of another type here is no exception of the candidate's and no call: the grader does not read it further."""
WELL_FORMED = (
    ("raised, type", "a text"),
    ("raised, message", "a text"),
    ("lost", "a text"),
)


def judged(sandbox: Sandbox, *trees: Any) -> list[tuple[Case, Case, Case]]:
    """For each message, the three cases in which the candidate gives it, or could."""
    tests = TESTS.replace("MESSAGES", str(len(trees)))
    code = CODE.replace("HEADERS = []", f"HEADERS = {[json.dumps([tree, [0]]).encode() for tree in trees]!r}")
    verdict = grade(sandbox, tests, code, REFERENCE, test_seconds=60, interfaces=("m",))
    cases = {case.id: case for case in verdict.cases}
    names = ("test_1_compares", "test_2_catches_what_is_raised", "test_3_of_another_function")
    assert list(cases) == [f"test_m.py::{name}[{number}]" for number in range(len(trees)) for name in names]
    found = iter(cases.values())
    return list(zip(found, found, found, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("kind", FORGED)
def test_a_forged_answer_is_a_failed_case(bare: Sandbox, kind: str) -> None:
    messages = FORGED[kind]
    for name, cases in zip(messages, judged(bare, *messages.values()), strict=True):
        outcomes = [each.outcome for each in cases]
        assert (name, outcomes) == (name, [Outcome.FAILED, Outcome.FAILED, Outcome.PASSED])
        first, second, _ = cases
        if kind.startswith(MALFORMED) and (kind, name) not in WELL_FORMED and first.exception is None:
            assert (name, first.kind, second.kind) == (name, "protocol", "protocol")
            assert "the candidate " in first.message


def test_an_answer_of_its_own_making_arrives(bare: Sandbox) -> None:
    """So the others of this module are refused for what they are."""
    [value, raised] = judged(bare, table(value=5), table(raised=table(**ERROR)))
    assert [case.outcome for case in value] == [Outcome.PASSED] * 3
    assert raised[0].exception is not None
    assert (raised[0].exception.type, raised[0].exception.message) == ("ValueError", "no")
