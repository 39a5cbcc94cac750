"""Score: the numbers of one row of a run's summary, computed from the summaries of its episodes.

Called at the end of a session, by `plugin/reports/summary.py`; `render/summary_tables.py` shows them. A summary of an episode becomes an Attempt, so that
these numbers are computed by the same functions as those of reports, gates and figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.attempt import Attempt, Row, TurnScore
from pytest_recode.metrics.effort import Effort, common_attempts, effort
from pytest_recode.metrics.episodes import Episodes, episodes
from pytest_recode.metrics.passing import passed
from pytest_recode.metrics.record_attempts import snippet_of, task_key
from pytest_recode.records.episode_summary import EpisodeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The numbers of one agent and model with one policy. Errors are episodes without a verdict, and in no share."""

    row: Row
    episodes: Episodes
    effort: Effort
    scaled: float | None  # solved share of the requested code lines (Scaled Pass@1); None if a task has no line count


def scores(summaries: Iterable[EpisodeSummary]) -> tuple[Score, ...]:
    """A Score per agent, model, policy, presence of the paper and format of the tasks, in the order in which they first occur.

    Tokens and costs of errors are included, because they were paid.
    """
    groups: dict[Row, list[Attempt]] = {}
    for summary in summaries:
        attempt = attempt_of(summary)
        groups.setdefault(attempt.row, []).append(attempt)
    k = common_attempts(list(groups.values()))
    return tuple(
        Score(row=row, episodes=episodes(attempts), effort=effort(attempts, k), scaled=_scaled(attempts))
        for row, attempts in groups.items()
    )


def row_of(summary: EpisodeSummary) -> Row:
    """The row of the summary that an episode belongs to."""
    return Row(
        source="",
        model=summary["model"] or summary["agent"],
        agent=summary["agent"],
        feedback=summary["feedback"],
        paper=summary["paper"],
        format=summary["format"],
        simulated=summary["simulated"],
        impossible=summary["impossible"],
    )


def attempt_of(summary: EpisodeSummary) -> Attempt:
    """The attempt, with what the numbers of a summary need."""
    facts = summary["snippet"] or {}
    usage = summary["usage"]
    return Attempt(
        row=row_of(summary),
        task=task_key(summary["task"], facts),
        number=1,
        outcome=summary["outcome"],
        solved_turn=summary["solved_turn"] if summary["outcome"] == "solved" else None,
        turns=tuple(TurnScore(**turn) for turn in summary["turns"]),
        highest_level=summary["highest_level"],
        feedback_characters=summary["feedback_characters"],
        snippet=snippet_of(facts),
        answers=summary["answers"],
        unparsed=summary["unparsed"],
        asked_again=summary["asked_again"],
        tokens=usage["prompt_tokens"] + usage["completion_tokens"],
        completion_tokens=usage["completion_tokens"],
        cost_usd=usage["cost_usd"],
    )


def _scaled(attempts: Sequence[Attempt]) -> float | None:
    """Solved share of code lines over the whole episode, for tasks that count them."""
    return passed(attempts, within=None).scaled if all(attempt.snippet for attempt in attempts) else None
