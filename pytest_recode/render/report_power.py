"""The table of `pytest-recode power`: which difference between two models a set of tasks can detect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pytest_recode.metrics import difficulty, statistical_power
from pytest_recode.metrics.episode_tokens import EpisodeTokens
from pytest_recode.render.measured_difficulty import at_first_words
from pytest_recode.render.report_table import Column, Table, columns, listed
from pytest_recode.render.words import plural
from pytest_recode.task import BlindAttempt
from pytest_recode.verdict import legible


@dataclass(frozen=True, slots=True, kw_only=True)
class Detectable:
    """The answer for one benchmark and number of attempts. `points`: whole percentage points; None: no difference is found.

    `tokens`: of an episode of this benchmark; None: unknown. `costs`: model -> US dollars of its episodes, if the tokens are known;
    None: its price is unknown. `of_turns`: the smallest difference of the mean turns until solved, in hundredths of the turns at most; None: not asked for, or none is found.
    `asked`: the points for which `attempts` is the smallest number; None: the attempts were given.
    """

    format: str
    units: str
    attempts: int
    episodes: int  # per model
    points: int | None
    of_turns: int | None
    tokens: EpisodeTokens | None
    costs: Mapping[str, float | None]
    asked: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where the difficulties are from.

    `recorded`: the runs in words, "" without any; `simulated`: all of them are of simulated models. `blind`: the blind attempts at each
    measured task. `headroom`: percentage points that the expected share of their solvers at turn 1 is below 100; None: not known. `more`:
    tasks that do not exist yet. `unmeasured`: tasks without a measurement.
    """

    recorded: str
    simulated: bool
    blind: Sequence[Sequence[BlindAttempt]]
    headroom: float | None
    more: int
    unmeasured: int


def table(results: Sequence[Detectable], *, seed: int, sources: Sources, turns: int | None) -> Table:
    """`turns`: the most turns of an episode, if the difference in turns was asked for."""
    several = len({one.format for one in results}) > 1
    priced = dict.fromkeys(model for one in results for model, cost in one.costs.items() if cost is not None)
    return Table(
        name="power",
        title=f"Smallest difference of solved episodes that is found with a probability of {100 * statistical_power.POWER} %",
        columns=(
            *(columns("text", format="benchmark") if several else ()),
            Column(key="units", head="test by", fold=not several),
            *columns("count", attempts="attempts", episodes="episodes per model"),
            Column(key="points", head="points", kind="count"),
            *((Column(key="turns", head="turns", kind="number"),) if turns else ()),
            *(Column(key=f"cost_usd_{model}", head=f"{model} $", kind="money") for model in priced),
        ),
        rows=tuple(
            {
                "format": one.format,
                "units": one.units,
                "attempts": one.attempts,
                "episodes": one.episodes,
                "points": one.points,
                "turns": None if one.of_turns is None else one.of_turns / 100 * (turns or 0),
                **{f"cost_usd_{model}": one.costs.get(model) for model in priced},
            }
            for one in results
        ),
        notes=tuple(legible(note, keep="") for note in _notes(results, seed, sources, turns)),
    )


def _notes(results: Sequence[Detectable], seed: int, sources: Sources, turns: int | None) -> Iterator[str]:
    several = len({one.format for one in results}) > 1
    yield from (_on_asked(one, f" of {one.format}" if several else "") for one in results if one.asked is not None)
    for noun in dict.fromkeys(_noun(one) for one in results if one.points is None):
        yield (
            f"points -: no difference is found, because even if one model solves everything and the other nothing, p is not below 0.05;"
            f" add {noun}: at least {statistical_power.LEAST_UNITS} are needed"
        )
    yield (
        f"found: the verdict of pytest-recode gate is better (p < 0.05, one comparison); {statistical_power.SIMULATIONS:,} simulated comparisons"
        f" for each difference, seed {seed}"
    )
    if turns:
        yield (
            f"turns: the smallest difference of the mean turns until solved, at most {turns}, where an unsolved episode counts as {turns + 1};"
            " each turn is assumed to solve with the same probability"
        )
    yield from _difficulties(sources)
    if sources.simulated:
        yield "* simulated: solve rates of simulated models say nothing about real models, and so neither do these points; use runs of real ones"
    if any(one.attempts > 1 for one in results):
        yield (
            "attempts: assumed to be independent, given the model and the task; the more they agree, the closer the points come to"
            " those of one attempt"
        )
    yield from _cost_notes(results, sources.simulated)


def _noun(one: Detectable) -> str:
    """What the test counts, in the plural."""
    return one.units.rpartition(" ")[2].removesuffix("s") + "s"


def _on_asked(one: Detectable, of: str) -> str:
    if one.points is None or one.points > (one.asked or 0):
        return (
            f"--points={one.asked}{of}: is not found with up to {statistical_power.MOST_ATTEMPTS} attempts: more {_noun(one)} are needed"
            + (f", at least {statistical_power.LEAST_UNITS}" if one.points is None else ", or a larger difference")
        )
    return f"--points={one.asked}{of}: {plural(one.attempts, 'attempt')} at each task, the smallest number that finds this difference"


def _difficulties(sources: Sources) -> Iterator[str]:
    if sources.recorded:
        yield f"difficulties: {sources.recorded}"
    elif sources.blind:
        every = [one for attempts in sources.blind for one in attempts]
        yield (
            f"difficulties: measured; {at_first_words(every)} blind attempts at {plural(len(sources.blind), 'task')} solved the task at turn 1, and"
            " points are of episodes solved at turn 1; for models of about that strength. --difficulty=assumed is for others"
        )
        if sources.headroom is not None:
            yield f"at turn 1, no model can be more than {sources.headroom:.1f} points better than a solver of that strength"
    if not sources.recorded and sources.unmeasured:
        of = f" of {plural(sources.unmeasured, 'task')}" if sources.blind or sources.more else ""
        yield f"difficulties{of}: {_assumed()}"
    if sources.more:
        yield (
            f"difficulties of {plural(sources.more, 'task')} that do not exist yet: assumed, solve probabilities spread as"
            f" beta({difficulty.BETWEEN.solved}, {difficulty.BETWEEN.unsolved}), most of them between 0.25 and 0.75"
        )


def _assumed() -> str:
    found = difficulty.ASSUMED
    return (
        f"assumed: solve probabilities of tasks spread as beta({found.solved:.2f}, {found.unsolved:.2f}), as in ResearchCodeBench's"
        " published results; --runs uses recorded ones"
    )


def _cost_notes(results: Sequence[Detectable], simulated: bool) -> Iterator[str]:
    tokens = {one.format: one.tokens for one in results}
    for name, its in tokens.items():
        if its is not None:
            of = f" of {name}" if len(tokens) > 1 else ""
            yield (
                f"cost: {its.prompt:,.0f} prompt and {its.completion:,.0f} completion tokens per episode{of}, the mean of"
                f" {plural(its.episodes, 'episode')} of {listed(its.models, 'and')}; other models may need more or fewer"
            )
    if any(tokens.values()):
        yield "cost: of one model's episodes, by list prices; a comparison costs the sum of two. Cached prompts may cost less"
    if unknown := list(dict.fromkeys(model for one in results for model, cost in one.costs.items() if cost is None)):
        yield f"cost of {listed(unknown, 'and')}: unknown, because the price is unknown"
    if lacking := [name for name, its in tokens.items() if its is None]:
        of = f" of {listed(lacking, 'and')}" if len(lacking) < len(tokens) else ""
        if simulated:
            yield f"cost{of}: unknown, because tokens of simulated models are no measure of those of real ones"
        else:
            yield f"cost{of}: unknown, because no recorded episode of a real model is given: add --runs RUN"
