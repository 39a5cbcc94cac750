"""The power of a set of tasks against exact enumeration, the gate, quadrature by scipy, and the pairs of published models."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_recode.metrics import difficulty, statistical_power
from pytest_recode.metrics.attempt import Attempt, Row, Snippet, TurnScore
from pytest_recode.metrics.baseline import AttemptOutcome, Outcomes, RowKey, RowOutcomes, TaskOutcomes
from pytest_recode.metrics.difficulty import ASSUMED, Difficulty, changes, gap_of, recorded
from pytest_recode.metrics.fail_on import conditions
from pytest_recode.metrics.gate_comparison import gate
from pytest_recode.metrics.gate_verdict import GateVerdict
from pytest_recode.metrics.paired import Unit, paired
from pytest_recode.metrics.published_results import from_published
from pytest_recode.metrics.statistical_power import is_found, smallest, task_set
from pytest_recode.metrics.turns_until_solved import compare_turns
from pytest_recode.task import BlindAttempt
from tests.examples import examples
from tests.metrics.samples import stats

ERROR = 4 * math.sqrt(0.25 / statistical_power.SIMULATIONS)
"""Four standard errors of a simulated share."""
KEY = RowKey(format="directory", model="m", policy="L0", agent="recode", paper=True)
ROW = Row(source="run", model="m", agent="recode", feedback="L0", paper=True, format="directory")


def tasks(count: int) -> statistical_power.TaskSet:
    return task_set({f"t{number}": None for number in range(count)}, {})


def attempt(task: str, solved: bool) -> Attempt:
    outcome = "solved" if solved else "unsolved"
    return Attempt(row=ROW, task=task, number=1, outcome=outcome, solved_turn=1 if solved else None)


@pytest.mark.parametrize("attempts", [1, 3, 5])
def test_fewer_than_six_tasks_find_nothing(attempts: int) -> None:
    for count in (0, 1, 5):
        assert smallest(tasks(count), attempts) is None
    assert smallest(tasks(6), attempts) is not None


@pytest.mark.parametrize(("count", "attempts"), [(6, 1), (8, 1), (6, 2), pytest.param(7, 3, marks=pytest.mark.slow)])
def test_it_is_what_exact_enumeration_gives(count: int, attempts: int) -> None:
    """Of all ways in which the tasks can change, with the paired test itself."""
    points = smallest(tasks(count), attempts)
    assert points is not None

    def exact(points: int) -> float:
        shares = changes(ASSUMED, gap_of({ASSUMED: 1}, points / 100), attempts)
        total = 0.0
        for kinds in itertools.combinations_with_replacement(range(-attempts, attempts + 1), count):
            found = paired([Unit(change=Fraction(kind, attempts)) for kind in kinds])
            if found.p < 0.05 and found.value > 0:
                ways = math.factorial(count)
                probability = 1.0
                for kind, times in Counter(kinds).items():
                    ways //= math.factorial(times)
                    probability *= shares[kind + attempts] ** times
                total += ways * probability
        return total

    assert statistical_power.power(tasks(count), attempts, points) == pytest.approx(exact(points), abs=ERROR)
    assert exact(points) >= 0.8 - ERROR
    assert exact(points - 1) < 0.8 + ERROR


@pytest.mark.slow
def test_more_tasks_or_attempts_never_find_less() -> None:
    """But for the error of the simulation: a point."""
    points = {
        (count, attempts): smallest(tasks(count), attempts) or 101
        for count in (1, 5, 6, 8, 12, 20, 50)
        for attempts in (1, 2, 3, 5, 9)
    }
    for counts in pairwise(sorted({count for count, _ in points})):
        for attempts in (1, 2, 3, 5, 9):
            assert points[counts[1], attempts] <= points[counts[0], attempts] + 1
    for count in sorted({count for count, _ in points}):
        for fewer, more in pairwise((1, 2, 3, 5, 9)):
            assert points[count, more] <= points[count, fewer] + 1


def test_a_seed_has_one_answer() -> None:
    assert statistical_power.power(tasks(8), 3, 50, seed=7) == statistical_power.power(tasks(8), 3, 50, seed=7)
    assert len({statistical_power.power(tasks(8), 3, 50, seed=seed) for seed in range(5)}) > 1
    assert statistical_power.power(tasks(8), 3, 50) == statistical_power.power(
        tasks(8), 3, 50, seed=statistical_power.SEED
    )
    found = [smallest(tasks(20), 1, seed=seed) or 0 for seed in range(5)]
    assert max(found) - min(found) <= 2


def test_equal_models_are_rarely_found_to_differ() -> None:
    for count in (8, 40):
        assert statistical_power.power(tasks(count), 3, 0) <= 0.025 + ERROR


CHANGES = st.integers(1, 4).flatmap(
    lambda attempts: st.tuples(
        st.just(attempts),
        st.lists(st.tuples(st.integers(0, attempts), st.integers(0, attempts)), min_size=1, max_size=14),
    )
)


@given(CHANGES, st.booleans())
@examples(200)
def test_what_is_found_is_what_the_gate_calls_better(played: tuple[int, list[tuple[int, int]]], papers: bool) -> None:
    """Of the same solved attempts: as a baseline and a run, by task and by paper."""
    attempts, counts = played
    snippets = {
        f"t{place}": Snippet(paper=f"paper{place % 6}", name=f"t{place}", lines=place + 1) if papers else None
        for place in range(len(counts))
    }

    def outcomes(solved: Sequence[int]) -> Outcomes:
        its = {
            task: TaskOutcomes(
                digest="",
                snippet=snippet,
                attempts=tuple(
                    AttemptOutcome(
                        attempt=number + 1,
                        outcome="solved" if number < many else "unsolved",
                        solved_turn=1 if number < many else None,
                        turns=1,
                        cost_usd=None,
                    )
                    for number in range(attempts)
                ),
            )
            for (task, snippet), many in zip(snippets.items(), solved, strict=True)
        }
        row = RowOutcomes(key=KEY, simulated=False, settings=(), recorded=(), tasks=its)
        return Outcomes(source="s", rows=(row,))

    before, now = ([pair[side] for pair in counts] for side in (0, 1))
    [row] = gate(outcomes(now), outcomes(before), conditions(("worse",), "--fail-on")).rows
    whole = task_set(snippets, {})
    assert row.compared is not None
    assert row.compared.units == whole.units
    of_unit = dict.fromkeys(whole.unit, 0)
    for task, unit in zip(whole.tasks, whole.unit, strict=True):
        before_it, now_it = counts[int(task[1:])]
        of_unit[unit] += now_it - before_it
    assert is_found([*of_unit.values()]) == (row.verdict is GateVerdict.BETTER)
    assert is_found([-change for change in of_unit.values()]) == (row.verdict is GateVerdict.WORSE)


@pytest.mark.parametrize(
    "its",
    [ASSUMED, Difficulty(solved=3.2, unsolved=0.1), Difficulty(solved=40, unsolved=60)],
    ids=["assumed", "easy", "known"],
)
@pytest.mark.parametrize(("gap", "attempts"), [(0.0, 5), (0.5, 1), (3.0, 2), (20.0, 3)])
def test_the_distribution_of_a_change_is_scipys_integral(its: Difficulty, gap: float, attempts: int) -> None:
    beta = math.lgamma(its.solved) + math.lgamma(its.unsolved) - math.lgamma(its.solved + its.unsolved)

    def logistic(odds: float) -> float:
        return math.exp(min(odds, 0)) / (1 + math.exp(-abs(odds)))

    def density(odds: float, change: int) -> float:
        """Of the log odds, times the probability of the change."""
        log = its.solved * math.log(logistic(odds)) + its.unsolved * math.log(logistic(-odds)) - beta
        one, other = ((logistic(odds + half), logistic(-odds - half)) for half in (-gap / 2, gap / 2))
        return math.exp(log) * sum(
            math.prod(
                math.comb(attempts, k) * p**k * q ** (attempts - k)
                for k, (p, q) in ((first, one), (first + change, other))
            )
            for first in range(max(0, -change), min(attempts, attempts - change) + 1)
        )

    distribution = changes(its, gap, attempts)
    assert sum(distribution) == pytest.approx(1)
    integrate = import_module("scipy.integrate")
    for change in (-attempts, 0, attempts):
        expected, _ = integrate.quad(density, -300, 300, args=(change,), points=[-20, -2, 0, 2, 20], limit=500)
        assert distribution[change + attempts] == pytest.approx(expected, abs=1e-6)
    mean = sum(place * share for place, share in enumerate(distribution, -attempts)) / attempts
    assert mean == pytest.approx(difficulty.difference({its: 3}, gap))


@pytest.mark.parametrize("points", [1, 20, 99])
def test_the_gap_has_the_difference(points: int) -> None:
    its = {ASSUMED: 2, Difficulty(solved=5, unsolved=1): 3}
    assert difficulty.difference(its, gap_of(its, points / 100)) == pytest.approx(points / 100, abs=1e-5)
    assert changes(ASSUMED, gap_of(its, 1), 3)[-1] == pytest.approx(1)


def published() -> dict[str, list[bool]]:
    """Model -> whether it passes each snippet."""
    outcomes: dict[str, list[bool]] = {}
    for one in from_published(stats()):
        outcomes.setdefault(one.row.model, []).append(one.outcome == "solved")
    return outcomes


def test_the_correlation_is_that_of_the_published_models() -> None:
    passed = [[float(one) for one in outcomes] for outcomes in published().values()]
    assert (len(passed), len(passed[0])) == (32, 212)
    means = [sum(outcomes) / 212 for outcomes in passed]
    covariance = product = 0.0
    for first, second in itertools.combinations(range(32), 2):
        both = sum(a * b for a, b in zip(passed[first], passed[second], strict=True)) / 212
        covariance += both - means[first] * means[second]
        product += math.sqrt(math.prod(means[place] * (1 - means[place]) for place in (first, second)))
    assert round(covariance / product, 2) == difficulty.CORRELATION
    # Of two attempts at a task of this difficulty
    assert 1 / (ASSUMED.solved + ASSUMED.unsolved + 1) == pytest.approx(difficulty.CORRELATION)


@pytest.mark.parametrize("count", [8, 20, 50])
def test_pairs_of_published_models_are_found_as_often_as_simulated_ones(count: int) -> None:
    """On random selections of snippets: pairs that differ by 28 to 32 points on all snippets."""
    rng = random.Random(1)
    detected = []
    for first, second in itertools.permutations(published().values(), 2):
        if 28 <= 100 * (sum(second) - sum(first)) / 212 <= 32:
            for _ in range(60):
                chosen = rng.sample(range(212), count)
                detected.append(is_found([second[place] - first[place] for place in chosen]))
    assert len(detected) >= 1500
    assert sum(detected) / len(detected) == pytest.approx(statistical_power.power(tasks(count), 1, 30), abs=0.06)


def test_recorded_rates_are_the_difficulties() -> None:
    difficulties = recorded([*(attempt("a", solved) for solved in (True, True, False)), attempt("b", False)])
    whole = ASSUMED.solved + ASSUMED.unsolved
    mean = 2.5 / 5
    assert (difficulties["a"].solved, difficulties["a"].unsolved) == pytest.approx((whole * mean + 2, whole * mean + 1))
    assert (difficulties["b"].solved, difficulties["b"].unsolved) == pytest.approx((whole * mean, whole * mean + 1))
    assert recorded([]) == {}
    hardest = recorded(attempt(f"t{number}", False) for number in range(100))["t0"]
    assert (hardest.solved, hardest.unsolved) == pytest.approx((whole * 0.05, whole * 0.95 + 1))
    assert smallest(task_set(dict.fromkeys("abcdefgh"), dict.fromkeys("abcdefgh", hardest)), 1) is not None


def test_known_difficulties_move_the_answer() -> None:
    """Tasks that everybody solves half the time, against tasks that some always solve and some never."""
    noisy = Difficulty(solved=50, unsolved=50)
    names = dict.fromkeys(f"t{number}" for number in range(20))
    with_noise = smallest(task_set(names, dict.fromkeys(names, noisy)), 1)
    without = smallest(task_set(names, {}), 1)
    assert with_noise is not None
    assert without is not None
    assert with_noise > without + 3


def test_snippets_of_a_paper_are_one_unit() -> None:
    snippets = {
        f"p{paper}/s{number}": Snippet(paper=f"p{paper}", name="s", lines=1)
        for paper in range(6)
        for number in range(4)
    }
    assert task_set(snippets, {}).units == "6 papers"
    assert len(set(task_set(snippets, {}).unit)) == 6
    few = {task: snippet for task, snippet in snippets.items() if snippet.paper < "p4"}
    assert task_set(few, {}).units == "16 snippets"
    assert smallest(task_set(snippets, {}), 1) is not None
    assert task_set({"a": None}, {}).units == "1 task"


def blind(turns: int, *, solved: bool = True) -> BlindAttempt:
    return BlindAttempt(solver="s", date="2026", solved=solved, turns=turns)


def test_blind_attempts_are_trials_of_turns() -> None:
    tasks_tried = {"a": (blind(1), blind(3)), "b": (blind(10, solved=False),), "c": ()}
    whole = ASSUMED.solved + ASSUMED.unsolved
    first = difficulty.measured(tasks_tried)
    mean = 1.5 / 4
    assert first.keys() == {"a", "b"}
    assert (first["a"].solved, first["a"].unsolved) == pytest.approx((whole * mean + 1, whole * (1 - mean) + 1))
    assert (first["b"].solved, first["b"].unsolved) == pytest.approx((whole * mean, whole * (1 - mean) + 1))
    every = difficulty.measured(tasks_tried, 10)
    mean = 2.5 / 15
    assert (every["a"].solved, every["a"].unsolved) == pytest.approx((whole * mean + 2, whole * (1 - mean) + 2))
    assert (every["b"].solved, every["b"].unsolved) == pytest.approx((whole * mean, whole * (1 - mean) + 10))
    assert difficulty.mean_share({first["b"]: 2}) == pytest.approx(whole * 1.5 / 4 / (whole + 1))


def test_recorded_attempts_are_trials_of_turns_too() -> None:
    score = TurnScore(level=None, passed=0, total=1)
    played = [
        Attempt(row=ROW, task="a", number=1, outcome="solved", solved_turn=2, turns=(score, score)),
        Attempt(row=ROW, task="a", number=2, outcome="unsolved", turns=(score,) * 4),
        Attempt(row=ROW, task="b", number=1, outcome="error"),
    ]
    whole = ASSUMED.solved + ASSUMED.unsolved
    found = difficulty.recorded_turns(played, 3)
    mean = 1.5 / 6
    assert found.keys() == {"a"}
    assert (found["a"].solved, found["a"].unsolved) == pytest.approx((whole * mean + 1, whole * (1 - mean) + 4))


@pytest.mark.parametrize(("attempts", "turns"), [(1, 4), (2, 3)])
def test_the_distribution_of_turns_is_that_of_enumerated_episodes(attempts: int, turns: int) -> None:
    """Of a task whose difficulty is known: in each turn an unsolved task is solved with the model's probability."""
    known, gap = Difficulty(solved=4e6, unsolved=6e6), 1.0
    odds = math.log(0.4 / 0.6)
    models = [1 / (1 + math.exp(-(odds + half))) for half in (-gap / 2, gap / 2)]

    def saved(share: float) -> list[tuple[int, float]]:
        """Turns that are not needed any more, with their probability."""
        ends = [(turns - before, share * (1 - share) ** before) for before in range(turns)]
        return [*ends, (0, (1 - share) ** turns)]

    expected = [0.0] * (2 * attempts * turns + 1)
    for first in itertools.product(saved(models[0]), repeat=attempts):
        for second in itertools.product(saved(models[1]), repeat=attempts):
            change = sum(score for score, _ in second) - sum(score for score, _ in first)
            expected[change + attempts * turns] += math.prod(p for _, p in (*first, *second))
    distribution = changes(known, gap, attempts, turns)
    assert distribution == pytest.approx(expected, abs=1e-6)
    mean = sum(place * share for place, share in enumerate(distribution, -attempts * turns)) / attempts / turns
    assert mean == pytest.approx(difficulty.difference({known: 1}, gap, turns))


def test_the_gap_of_turns_has_the_difference() -> None:
    its = {ASSUMED: 2, difficulty.BETWEEN: 3}
    assert difficulty.difference(its, gap_of(its, 0.2, 10), 10) == pytest.approx(0.2, abs=1e-5)
    assert changes(ASSUMED, gap_of(its, 1, 10), 2, 10)[-1] == pytest.approx(1)


def test_a_task_between_a_quarter_and_three_quarters_has_the_spread_of_a_uniform_one() -> None:
    both = difficulty.BETWEEN.solved + difficulty.BETWEEN.unsolved
    assert difficulty.BETWEEN.solved / both == 0.5
    assert math.sqrt(0.25 / (both + 1)) == pytest.approx(0.5 / math.sqrt(12), abs=1e-3)


@pytest.mark.slow
def test_turns_find_what_their_own_test_finds() -> None:
    """A difference in turns that is found four times in five, against simulated episodes and the test of reports."""
    names = dict.fromkeys(f"t{number}" for number in range(12))
    whole = task_set(names, dict.fromkeys(names, difficulty.BETWEEN))
    points = smallest(whole, 1, turns=5)
    assert points is not None
    gap, rng, hits = gap_of({difficulty.BETWEEN: 12}, points / 100, 5), random.Random(3), 0
    for _ in range(1000):
        played: tuple[list[Attempt], list[Attempt]] = ([], [])
        for name in names:
            share = rng.betavariate(difficulty.BETWEEN.solved, difficulty.BETWEEN.unsolved)
            for its, half in zip(played, (-gap / 2, gap / 2), strict=True):
                solves = 1 / (1 + math.exp(-(math.log(share / (1 - share)) + half)))
                turn = next((turn for turn in range(1, 6) if rng.random() < solves), None)
                outcome = "solved" if turn else "unsolved"
                its.append(Attempt(row=ROW, task=name, number=1, outcome=outcome, solved_turn=turn))
        found = compare_turns(played[1], played[0], 5)
        assert found is not None
        hits += found.p < 0.05 and found.difference < 0
    assert hits / 1000 == pytest.approx(0.8, abs=0.07)
