"""What hidden tests hand to a reference is watched: contradictions, and extreme values that the reference does not stand."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any

import pytest

from pytest_recode.task import Invariant
from pytest_recode.validation.watched_arguments import findings_of, watching
from pytest_recode.verdict import Case, Exc, Outcome, Verdict
from tests.feedback.scene import task
from tests.messages import assert_message

SOURCE = """
from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Sums:
    count: int
    total: float
    parts: tuple[float, ...] = ()


def mean(sums, scale=1.0):
    if not scale > 0.0:
        raise ValueError("scale must be positive")
    return sums.total / sums.count / scale{more}


class Running:
    def add(self, sums):
        return sums.total
"""
TOTAL = Invariant(of="stats.Sums", holds="math.isclose(self.total, sum(self.parts))")


def watched(*invariants: Invariant, more: str = "") -> dict[str, Any]:
    """The names of the reference's module, whose functions are watched."""
    given = replace(task(), invariants=invariants, interfaces=("stats.mean", "stats.Running"))
    namespace: dict[str, Any] = {"__name__": "stats"}
    code = watching(given, {"stats.py": SOURCE.replace("{more}", more).encode()}, 3)["stats.py"]
    exec(code, namespace)
    return namespace


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    """Dataclasses look for the module of their class, and invariants for its names."""
    imported = ModuleType("stats")
    vars(imported)["math"] = math
    monkeypatch.setitem(sys.modules, "stats", imported)


def finding(call: Any) -> str:
    """The text of the finding that the call raises, or ""."""
    try:
        call()
    except Exception as error:
        if type(error).__name__ != "ArgumentFinding":
            raise
        return str(error)
    return ""


def test_an_object_that_contradicts_itself_is_named() -> None:
    names = watched(TOTAL)
    sums = names["Sums"]
    assert finding(lambda: names["mean"](sums(2, 3.0, (1.0, 2.0)), 1)) == ""
    text = finding(lambda: names["mean"](sums(2, 3.0, (1.0, 1.0))))
    assert_message(text, "stats.mean gets sums, a stats.Sums", TOTAL.holds)
    assert "stats.Running gets sums" in finding(lambda: names["Running"]().add(sums(2, 3.0)))
    assert "stats.mean gets sums[0]" in finding(lambda: names["mean"]([sums(2, 3.0)]))


def test_the_parameters_of_an_interface_have_invariants_too() -> None:
    names = watched(Invariant(of="stats.mean", holds="scale < 100 and sums.count > 0"))
    assert "scale < 100" in finding(lambda: names["mean"](names["Sums"](2, 3.0), scale=100.0))
    assert "scale < 100" in finding(lambda: names["mean"](names["Sums"](0, 3.0)))


def test_without_an_invariant_about_its_arguments_a_call_stays_as_it_is() -> None:
    names = watched(Invariant(of="stats.Other", holds="False"))
    assert names["mean"](names["Sums"](2, 3.0)) == 1.5
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        names["mean"]()


@pytest.mark.parametrize(
    ("more", "invariant", "named"),
    [
        ("", "sums.total > 0", ""),
        (" / scale", "sums.total > 0", "scale times 1e-160 returns a value that is not finite"),
        (" / scale", "sums.total > 0 and scale > 1e-100", ""),
        (" + 1 / sums.total", "sums.count > 0", "sums.total 0 raises ZeroDivisionError"),
        (" + (0.0 if sums.total != scale else math.nan)", "sums.total > 0", "equal to"),
    ],
)
def test_extreme_values_that_the_reference_admits_are_named(more: str, invariant: str, named: str) -> None:
    names = watched(Invariant(of="stats.mean", holds=invariant), more=more)
    text = finding(lambda: names["mean"](names["Sums"](2, 3.0)))
    assert (named in text) if named else text == ""


def test_a_call_that_does_not_end_is_ended() -> None:
    names = watched(Invariant(of="stats.mean", holds="sums.total > 0"), more=" * endless(scale)")
    names["endless"] = lambda scale: next((scale for _ in iter(int, 1) if scale > 1e-100), 0)
    assert "does not end within 2 s" in finding(lambda: names["mean"](names["Sums"](2, 3.0)))


def test_findings_are_read_from_the_verdict_each_once() -> None:
    def case(name: str, message: str, kind: str = "recode_watch.ArgumentFinding") -> Case:
        error = Exc(type=kind, message=message, frames=())
        return Case(id=name, interface="stats.mean", outcome=Outcome.FAILED, kind="exception", exception=error)

    cases = (
        case("a", "contradiction: stats.mean gets sums"),
        case("b", "contradiction: stats.mean gets sums"),
        case("c", "extreme: stats.mean with scale 0 raises"),
        case("d", "extreme: of another", "ValueError"),
    )
    shown = findings_of(Verdict(seed=1, cases=cases))
    [contradiction], [extreme] = shown.contradictions, shown.extremes
    assert_message(contradiction, "stats.mean gets sums (a)", "consistent object", "invariants")
    assert_message(extreme, "stats.mean with scale 0 raises (c)", "refuse it", "brief", "invariants")
