"""Reads what a task's verifier wrote: its reward, and the cases that it names. Pure functions of files; runs on the host.

A reward is read as Harbor 0.26 reads it: `reward.json` if it exists, else `reward.txt`. The candidate may have written any of these files,
so they are data: JSON, XML without entities, and numbers.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

from pytest_recode.harbor_layout import REWARD, REWARD_JSON, REWARD_TEXT
from pytest_recode.task import Files
from pytest_recode.verdict import legible

MOST_CASES = 2000
_MOST_NAME = 200


class NoRewardError(Exception):
    """The files have no reward that counts. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCase:
    """A case that the verifier reports. Skipped ones are none."""

    name: str
    passed: bool
    message: str = ""


def rewards_of(logs: Files) -> dict[str, float]:
    """The rewards by name. Raises `NoRewardError` where Harbor gives a trial no reward: none, an empty file, or anything but finite numbers."""
    if REWARD_JSON in logs:
        return _of_json(logs[REWARD_JSON])
    if REWARD_TEXT in logs:
        return {REWARD: _of_text(logs[REWARD_TEXT])}
    raise NoRewardError(f"wrote neither {REWARD_TEXT} nor {REWARD_JSON}")


def contradiction(logs: Files) -> str:
    """How `reward.json` and `reward.txt` disagree, if both are there; "" if they do not. A verifier has no reason to write two values."""
    try:
        first, second = _of_json(logs[REWARD_JSON]), _of_text(logs[REWARD_TEXT])
    except (KeyError, NoRewardError):
        return ""
    value = first.get(REWARD, next(iter(first.values())) if len(first) == 1 else second)
    return (
        ""
        if value == second
        else f"{REWARD_JSON} says {value:g} and {REWARD_TEXT} {second:g}: one of them was not written by the verifier"
    )


def reaches(rewards: Mapping[str, float], threshold: float) -> bool:
    """Whether the rewards solve the task: `reward` decides, or else all of them do."""
    decisive = [rewards[REWARD]] if REWARD in rewards else list(rewards.values())
    return bool(decisive) and all(value >= threshold for value in decisive)


def cases_of(logs: Files) -> tuple[NamedCase, ...]:
    """The cases in the first report, CTRF (JSON) before JUnit (XML), that has any; () without one. Each name once."""
    readers = [(".json", _of_ctrf), (".xml", _of_junit)]
    for suffix, read in readers:
        for path in sorted(logs):
            if path.endswith(suffix) and path != REWARD_JSON and (found := _unique(read(logs[path]))):
                return found
    return ()


def _of_json(data: bytes) -> dict[str, float]:
    if not data:
        raise NoRewardError(f"wrote an empty {REWARD_JSON}")
    try:
        values = json.loads(data)
    except (ValueError, RecursionError):
        raise NoRewardError(f"wrote a {REWARD_JSON} that is not JSON") from None
    if not isinstance(values, dict) or not values:
        raise NoRewardError(f"wrote a {REWARD_JSON} that is no object with rewards")
    for name, value in values.items():
        if not isinstance(value, int | float):
            raise NoRewardError(f"wrote a reward that is no number in {REWARD_JSON}: {legible(str(name))[:_MOST_NAME]}")
        if not math.isfinite(_float(value)):
            raise NoRewardError(f"wrote a reward that is not finite in {REWARD_JSON}: {legible(name)[:_MOST_NAME]}")
    return {legible(name, keep="")[:_MOST_NAME]: float(value) for name, value in values.items()}


def _float(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # of a whole number
        return math.inf


def _of_text(data: bytes) -> float:
    if not data:
        raise NoRewardError(f"wrote an empty {REWARD_TEXT}")
    try:
        value = float(data.decode())
    except ValueError:  # also for what is not UTF-8
        raise NoRewardError(f"wrote a {REWARD_TEXT} that is no number") from None
    if not math.isfinite(value):
        raise NoRewardError(f"wrote a reward that is not finite in {REWARD_TEXT}")
    return value


def _of_ctrf(data: bytes) -> Iterator[NamedCase]:
    try:
        report = json.loads(data)
        tests = report["results"]["tests"]
        entries = [test for test in tests if isinstance(test, dict)]
    except (ValueError, RecursionError, LookupError, TypeError):
        return
    for test in entries:
        name, status = test.get("name"), test.get("status")
        if isinstance(name, str) and status in ("passed", "failed"):
            yield NamedCase(
                name=name, passed=status == "passed", message=_texts(test.get("message"), test.get("trace"))
            )


def _of_junit(data: bytes) -> Iterator[NamedCase]:
    if b"<!" in data.replace(b"<![CDATA[", b""):  # a document type could define entities that grow
        return
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, RecursionError):
        return
    for case in root.iter("testcase"):
        if case.find("skipped") is not None:
            continue
        name = "::".join(filter(None, [case.get("classname"), case.get("name")]))
        failed = [found for found in (case.find("failure"), case.find("error")) if found is not None]
        if name:
            message = _texts(*(text for found in failed for text in (found.get("message"), found.text)))
            yield NamedCase(name=name, passed=not failed, message=message)


def _texts(*texts: Any) -> str:
    return legible("\n".join(dict.fromkeys(text for text in texts if isinstance(text, str) and text)))


def _unique(cases: Iterator[NamedCase]) -> tuple[NamedCase, ...]:
    """The cases with names of one word, each another one."""
    by_name: dict[str, NamedCase] = {}
    for case in cases:
        if len(by_name) == MOST_CASES:
            break
        name = plain = legible("_".join(case.name.split()), keep="")[:_MOST_NAME] or "case"
        number = 1
        while name in by_name:
            number += 1
            name = f"{plain}#{number}"
        by_name[name] = NamedCase(name=name, passed=case.passed, message=case.message)
    return tuple(by_name.values())
