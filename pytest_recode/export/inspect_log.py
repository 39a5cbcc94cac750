"""Export to logs of Inspect (https://inspect.aisi.org.uk): one `.eval` file per row, one sample per episode. `inspect_sample.py` makes the samples, `inspect_file.py`
writes the files.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode import VERSION
from pytest_recode.export.inspect_file import new_log
from pytest_recode.export.inspect_sample import NO_MODEL, SOLVED, inspect_sample, sums
from pytest_recode.export.target import ExportedEpisode, Target, Written, clean, file_name, iso, new_files, row

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalResults, EvalSample
    from inspect_ai.model import ModelUsage

    from pytest_recode.records.record import Record


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counted:
    """What the log of a row has of each sample, beside the sample itself. `times`: begin and end, if it has a transcript."""

    id: str
    identity: str
    attempt: int
    outcome: str
    times: tuple[float, float] | None
    usage: dict[str, ModelUsage]


def _counted(episode: ExportedEpisode, sample: EvalSample) -> _Counted:
    played = episode.played
    return _Counted(
        id=str(sample.id),
        identity=episode.identity,
        attempt=episode.record["attempt"],
        outcome=episode.record["outcome"],
        times=(played.begun, played.now[1]) if played else None,
        usage=sample.model_usage,
    )


def _log(run: str, record: Record, without: Sequence[str], samples: Sequence[_Counted]) -> EvalLog:
    """The log of the episodes of one row, without the samples. `record`: one of theirs.

    Ids are digests of the episodes' identities, so another export has the same.
    """
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalPlan, EvalPlanStep, EvalSpec, EvalStats

    times = [sample.times for sample in samples if sample.times is not None]
    began = iso(min(begun for begun, _ in times)) if times else None
    ended = iso(max(last for _, last in times)) if times else None
    identity = "\n".join(sorted(sample.identity for sample in samples))
    settings = {name: value for name, value in record["settings"].items() if value is not None}
    ids = list(dict.fromkeys(sample.id for sample in samples))
    arguments = clean(
        {"feedback": record["feedback"], "feedback_model": record["feedback_model"], "paper": record["paper"]}
    )
    metadata = {"run": run, "simulated": record["simulated"], "settings": settings}
    if without:
        metadata["removed"] = list(without)
    return EvalLog(
        status="success",
        eval=EvalSpec(
            eval_id=file_name([], identity, "-eval"),
            run_id=file_name([], run, "-run"),
            task_id=file_name([], repr(row(record)), "-task"),
            created=began or "1970-01-01T00:00:00+00:00",
            task=clean(f"recode/{record['format']}"),
            task_args=arguments,
            solver=clean(record["agent"]),
            solver_args=arguments,
            dataset=EvalDataset(name=clean(record["format"]), samples=len(ids), sample_ids=[*ids]),
            model=clean(record["model"]) if record["model"] else NO_MODEL,
            config=EvalConfig(epochs=max(sample.attempt for sample in samples)),
            packages={"pytest-recode": str(settings.get("version", VERSION))},
            tags=[
                tag
                for tag, has in (("simulated", record["simulated"]), ("impossible", settings.get("impossible")))
                if has
            ]
            or None,
            metadata=clean(metadata),
        ),
        plan=EvalPlan(name="recode", steps=[EvalPlanStep(solver=clean(record["agent"]), params=arguments)]),
        results=_results([sample.outcome for sample in samples]),
        stats=EvalStats(
            started_at=began or "",
            completed_at=ended or "",
            model_usage=sums([sample.usage for sample in samples]),
        ),
    )


def _results(outcomes: Sequence[str]) -> EvalResults:
    """The share of solved episodes, as reports count it: an episode that ended with an error has no verdict, and is in no share."""
    from inspect_ai.log import EvalMetric, EvalResults, EvalScore

    graded = sum(outcome != "error" for outcome in outcomes)
    metrics = {}
    if graded:
        share = outcomes.count("solved") / graded
        metrics["accuracy"] = EvalMetric(name="accuracy", value=share)
    score = EvalScore(
        name=SOLVED, scorer=SOLVED, scored_samples=graded, unscored_samples=len(outcomes) - graded, metrics=metrics
    )
    return EvalResults(total_samples=len(outcomes), completed_samples=graded, scores=[score])


def _write(episodes: Iterable[ExportedEpisode], output: str) -> Written:
    directory = Path(output)
    names, total = [], 0
    with new_files(directory) as create:
        for _, group in itertools.groupby(episodes, lambda episode: (episode.run, row(episode.record))):
            name, count = _write_row(group, directory, create)
            names.append(name)
            total += count
    return Written(episodes=total, place=f"{directory}: {', '.join(names)}")


def _write_row(episodes: Iterator[ExportedEpisode], directory: Path, create: Callable[[str], Path]) -> tuple[str, int]:
    """Write the log of one row. Returns its name and the number of its samples."""
    samples: list[_Counted] = []
    known: set[tuple[int | str, int]] = set()
    with new_log(directory) as (add, finish):
        for episode in episodes:
            run, record, without = episode.run, episode.record, episode.without
            sample = inspect_sample(episode)
            if (sample.id, sample.epoch) in known:  # another directory has a task of this id
                sample.id = clean(record["nodeid"])
            known.add((sample.id, sample.epoch))
            add(sample)
            samples.append(_counted(episode, sample))
        log = _log(run, record, without, samples)
        created = log.eval.created[:19].replace(":", "-")
        name = file_name([created, record["model"] or record["agent"], record["feedback"]], log.eval.eval_id, ".eval")
        finish(log, create(name))
    return name, len(samples)


TARGET = Target(
    packages={"inspect_ai": "inspect-ai"},
    extra="inspect",
    output="logs",
    needs_transcript=False,
    write=_write,
)
