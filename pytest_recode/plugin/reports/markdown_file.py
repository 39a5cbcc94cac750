"""`--recode-markdown`: writes the summary as Markdown, and on GitHub Actions also to the summary of the step.

Called by `reporter.py` in the controlling process, at the end of the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_recode.plugin.reports import github
from pytest_recode.plugin.reports.summary import in_order

if TYPE_CHECKING:
    from pytest_recode.plugin.reports.conclusions import Conclusion
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.records.episode_summary import EpisodeSummary


def write(run: Run, records: Sequence[EpisodeSummary], conclusions: Sequence[Conclusion], expected: int) -> None:
    """Write the files that are asked for. Raises `RecordsError`."""
    step = github.step_summary()
    if (run.settings.markdown is None and step is None) or run.replays or not expected:
        return
    from pytest_recode.metrics.score import scores
    from pytest_recode.records.run_directory import replaced, writing
    from pytest_recode.render import markdown_summary

    text = markdown_summary.summary(
        scores(in_order(records, run.settings)),
        records,
        planned=expected,
        gate=next((each.compared for each in conclusions if each.compared is not None), None),
        refused=run.refused,
        tests=[(each.lines[0], each.report.passed) for each in conclusions if each.compared is None],
    )
    if run.settings.markdown is not None:
        replaced(run.settings.markdown, text)
    if step is not None:
        with writing(step), step.open("a", encoding="utf-8") as file:
            file.write(text)
