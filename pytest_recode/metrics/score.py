"""Score: the numbers of one row of a run's summary, computed from the summaries of its episodes.

Called at the end of a session, by `plugin/reports/summary.py`; `render/summary_tables.py` shows them. Pure functions. The tables of
`pytest-recode report` are computed from whole records instead (`metrics/reading.py`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_recode.metrics.intervals import Interval, of_share
from pytest_recode.metrics.passing import FEW_PAPERS
from pytest_recode.records.episode_summary import EpisodeSummary


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """The numbers of one model with one policy. Errors are episodes without a verdict, and in no share."""

    model: str
    feedback: str
    paper: bool  # whether the paper was in the prompt
    format: str  # of the tasks; each benchmark of a session has its own scores
    simulated: bool
    episodes: int  # solved or unsolved
    solved: int
    errors: int
    interval: Interval  # of the solved share, 95 %, by tasks; by papers where records name them
    scaled: float | None  # solved share of the requested code lines (Scaled Pass@1); None if a task has no line count
    mean_turns: float | None  # of the solved episodes, counted from 1
    cases: float | None  # mean over episodes of the share of hidden cases that the last turn passed
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None  # None: the price of at least one call is unknown
    solved_by_turn: tuple[int, ...]  # at [i], episodes solved within i + 1 turns

    @property
    def share(self) -> float:
        """Solved share of the played episodes; 0 without any."""
        return self.solved / self.episodes if self.episodes else 0.0


RowKey = tuple[str, str, bool, str]
"""Model (or agent, if there is none), policy, whether the paper was in the prompt, and format of the tasks."""


def row_key(record: EpisodeSummary) -> RowKey:
    """The row of the summary that an episode belongs to."""
    return record["model"] or record["agent"], record["feedback"], record["paper"], record.get("format", "")


def scores(records: Iterable[EpisodeSummary]) -> tuple[Score, ...]:
    """A Score per model, policy, presence of the paper and format of the tasks, in the order in which they first occur.

    Tokens and costs of errors are included, because they were paid.
    """
    groups: dict[RowKey, list[EpisodeSummary]] = {}
    for record in records:
        groups.setdefault(row_key(record), []).append(record)
    return tuple(_score(*key, group) for key, group in groups.items())


def _score(model: str, feedback: str, paper: bool, task_format: str, group: Sequence[EpisodeSummary]) -> Score:
    played = [record for record in group if record["outcome"] != "error"]
    solved = [record["solved_turn"] for record in played if record["outcome"] == "solved"]
    turns = [turn for turn in solved if turn is not None]
    costs = [record["usage"]["cost_usd"] for record in group]
    known = [cost for cost in costs if cost is not None]
    return Score(
        model=model,
        feedback=feedback,
        paper=paper,
        format=task_format,
        simulated=any(record["simulated"] for record in group),
        episodes=len(played),
        solved=len(turns),
        errors=len(group) - len(played),
        interval=_interval(played),
        scaled=_scaled(group),
        mean_turns=sum(turns) / len(turns) if turns else None,
        cases=sum(map(case_share, played)) / len(played) if played else None,
        prompt_tokens=sum(record["usage"]["prompt_tokens"] for record in group),
        completion_tokens=sum(record["usage"]["completion_tokens"] for record in group),
        cost_usd=sum(known) if len(known) == len(costs) else None,
        solved_by_turn=_cumulative(turns, max((len(record["turns"]) for record in played), default=0)),
    )


def _interval(played: Sequence[EpisodeSummary]) -> Interval:
    """The interval as in reports: attempts at one task form a cluster, and so do snippets of one paper (`source_paper`)."""
    papers = {record.get("source_paper") for record in played}
    by_papers = len(papers) >= FEW_PAPERS and None not in papers
    sums: dict[str, tuple[int, int]] = {}
    for record in played:
        cluster = (by_papers and record["source_paper"]) or record["task"]
        solved, total = sums.get(cluster, (0, 0))
        sums[cluster] = (solved + (record["outcome"] == "solved"), total + 1)
    return of_share(sums.values(), tasks=len({record["task"] for record in played}), attempts=len(played))


def _scaled(group: Sequence[EpisodeSummary]) -> float | None:
    """Solved share of code lines over the whole episode, for records that have the `lines` of their tasks."""
    counted = [(record, lines) for record in group if (lines := record.get("lines"))]
    if len(counted) < len(group):
        return None
    from pytest_recode.metrics.attempt import Attempt, Row, Snippet
    from pytest_recode.metrics.passing import passed

    row = Row(source="", model="", agent="", feedback="", paper=True, format="")
    attempts = [
        Attempt(
            row=row,
            task=record["task"],
            number=1,
            outcome=record["outcome"],
            solved_turn=record["solved_turn"],
            snippet=Snippet(paper="", name=record["task"], lines=lines),
        )
        for record, lines in counted
    ]
    return passed(attempts, within=None).scaled


def case_share(record: EpisodeSummary) -> float:
    """Share of the hidden cases that passed in the last turn."""
    last = record["turns"][-1] if record["turns"] else {"passed": 0, "total": 0}
    return last["passed"] / last["total"] if last["total"] else 0.0


def _cumulative(turns: Sequence[int], last: int) -> tuple[int, ...]:
    at = Counter(turns)
    so_far, counts = 0, []
    for turn in range(1, last + 1):
        so_far += at[turn]
        counts.append(so_far)
    return tuple(counts)
