"""The summary at the end of a session, and lines about the settings before it starts.

Called by `plugin/reports/reporter.py`, in the controller. Decides which lines are printed: `render/summary_tables.py` makes the tables, with numbers
of `metrics/score.py`, and `render/words.py` the sentences.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pytest_recode.faults import GatewayError, ModelError, RecordsError, UserError
from pytest_recode.plugin.collection.items import EpisodeItem
from pytest_recode.plugin.reports.report_data import ValidationData, data_of
from pytest_recode.plugin.run import casting
from pytest_recode.wording import dollars

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.records.episode_summary import EpisodeSummary
    from pytest_recode.settings import Settings


def solved(records: Sequence[EpisodeSummary]) -> tuple[int, float]:
    """How many episodes finished without an error, and the percentage of them that solved their task."""
    played = [record["outcome"] == "solved" for record in records if record["outcome"] != "error"]
    return len(played), 100 * sum(played) / max(len(played), 1)


def replaced(run: Run) -> list[str]:
    """A line for each built-in part that another one replaces in this run."""
    chosen, registry = run.settings.sandbox, run.registry
    sandboxes = registry.offers["sandboxes"] if chosen == "auto" else [chosen]
    parts = casting.replaced(run.settings, registry, sandboxes, registry.offers["formats"])
    return [f"recode: {part} is that of {source}" for part, source in parts.items()]


def played_how(run: Run) -> list[str]:
    """A line per task format and agent with the settings in use, known after collection: agent, feedback, turns and steps."""
    if not run.settings.models or run.config.option.verbose < 0 or run.replays:
        return []
    return [f"recode: {name} tasks: {_how(run, own)}" for name, owns in run.collected.by_format.items() for own in owns]


def _how(run: Run, own: Settings) -> str:
    """Describe `own`, the settings of a format's tasks, and name those that differ from the run's as defaults, but for what the agent fixes."""
    from pytest_recode.render.words import plural
    from pytest_recode.settings import NO_FEEDBACK, as_played

    most = as_played(own)
    parts = {
        "agents": f"agent {own.agent}",
        "feedbacks": f"feedback {', '.join(own.feedbacks)}",
        "turns": f"{plural(most.turns, 'turn')} of {plural(most.steps, 'step')}",
    }
    if NO_FEEDBACK in own.feedbacks and most.turns > 1:
        parts["turns"] += f" (1 turn with feedback {NO_FEEDBACK})"
    if own.temperature is not None:
        parts["temperature"] = f"temperature {own.temperature:g} for models that accept one"
    names = {
        "agents": "agent",
        "feedbacks": "feedback",
        "turns": "turns",
        "steps": "steps",
        "temperature": "temperature",
    }
    fixed = run.registry.agent(own.agent).fixes
    asked = replace(run.settings, agents=own.agents) if own.agent in run.settings.agents else run.settings
    differing = [
        name for field, name in names.items() if field not in fixed and getattr(own, field) != getattr(asked, field)
    ]
    defaults = (
        f" (defaults of this format or agent: {', '.join(differing)}; options override them)" if differing else ""
    )
    return "; ".join(parts.values()) + defaults


def same_answers(run: Run, items: Sequence[object]) -> str:
    """A warning if several attempts at temperature 0 would mostly get the same answer; "" otherwise. Offline models are exempt."""
    attempts = run.settings.attempts
    if attempts == 1:
        return ""
    cold = {item.model for item in items if isinstance(item, EpisodeItem) and item.settings.temperature == 0}
    repeated = [name for name in run.settings.models if name in cold and not run.registry.model(name).offline]
    if not repeated:
        return ""
    return (
        f"--recode-attempts={attempts} at temperature 0 pays {attempts} times for mostly equal answers ({', '.join(repeated)}):"
        " set a --recode-temperature above 0, such as 0.8, or leave --recode-attempts out"
    )


def in_order(records: Sequence[EpisodeSummary], settings: Settings) -> list[EpisodeSummary]:
    """By model, agent and policy, in the order of the options."""
    order = {name: place for place, name in enumerate((*settings.models, *settings.feedbacks))}
    agents = {name: place for place, name in enumerate(settings.agents)}

    def place(record: EpisodeSummary) -> tuple[int, ...]:
        model = order.get(record["model"] or "", 0)
        return model, agents.get(record["agent"], 0), order.get(record["feedback"], 0)

    return sorted(records, key=place)


def _replay(run: Run, records: Sequence[EpisodeSummary]) -> list[str]:
    from pytest_recode.metrics.replays import replayed
    from pytest_recode.render.summary_tables import replay

    stored = {(each.facts["nodeid"], each.turn): each.shares for each in run.replays}
    return replay(str(run.settings.replay_feedback), replayed(records, stored))


def _without_temperature(run: Run, records: Sequence[EpisodeSummary]) -> str:
    """A line on models that were called without the recorded temperature; "" if there are none."""
    set_for = {record["model"]: record["temperature"] for record in records if record["model"]}
    if run.gateway is None:
        return ""
    from pytest_recode.gateway.client import facts

    try:
        names = [
            name
            for name, temperature in set_for.items()
            if temperature is not None
            and name in run.settings.models
            and run.registry.model(name).gateway
            and not facts(run.gateway, name, temperature).takes_temperature
        ]
    except (GatewayError, ModelError):  # it has ended, which the episodes report
        return ""
    if not names:
        return ""
    return f"temperature: not sent to models that accept none: {', '.join(names)} (records have the value that was set)"


def _replayed_answers(run: Run) -> list[str]:
    """A line on the answers that came from a cassette; none if there were none."""
    if run.settings.cassette is None:
        return []
    from pytest_recode.render.words import plural

    count, usd = run.ledger_file.replayed
    cost = "an unknown amount" if usd is None else f"{dollars(usd)} USD"
    return (
        [f"cassette: {plural(count, 'answer')} replayed from {run.settings.cassette}, which cost {cost} to record"]
        if count
        else []
    )


def _unfinished(terminal: Any, run: Run, started: int, interrupted: int, earlier: int, noun: str) -> None:
    """Print how many episodes (`noun`) this run was stopped too early to end, start or report again, and how many requests had no answer."""
    from pytest_recode.render.words import plural

    whole = len(run.collected.ids)
    if interrupted:
        terminal.line(f"interrupted: {interrupted} of {plural(whole, noun)}, not counted in any share", red=True)
    if earlier:
        terminal.line(
            f"not reported again: {earlier} of {plural(whole, noun)}, which an earlier run finished; pytest-recode report counts them",
            red=True,
        )
    if started < whole:
        left = f"{whole - started} of " if started else "all " if whole > 1 else ""
        verb = "run" if run.settings.validate else "played"
        terminal.line(f"not {verb}: {left}{plural(whole, noun)}", red=True)
    with suppress(RecordsError, UserError):  # reported before
        if interrupted:
            total = run.ledger_file.total
            if tokens := total.prompt_tokens + total.completion_tokens:
                cost = "?" if total.cost_usd is None else dollars(total.cost_usd)
                terminal.line(f"spending: {tokens:,} tokens, {cost} USD, with those of interrupted episodes")
        if unbooked := run.ledger_file.unbooked:
            terminal.line(
                f"spending: {plural(unbooked, 'request')} without an answer: those that arrived may be billed", red=True
            )


def _lost(terminal: Any, reason: str) -> None:
    """Print that records are missing at the end, and stop counting their episodes as passed."""
    terminal.line(f"records lost: {reason}: no result of this run is stored", red=True)
    passed = terminal.stats.pop("passed", [])
    for report in passed:
        terminal.stats.setdefault("unrecorded" if _recorded(report) else "passed", []).append(report)


def _recorded(report: Any) -> bool:
    return "summary" in (data_of(report) or {})


def write(
    terminal: Any,
    run: Run,
    records: Sequence[EpisodeSummary],
    validations: Sequence[ValidationData],
    *,
    started: int,
    interrupted: int,
    earlier: int,
    unreadable: int,
    lost: str,
    gate: Sequence[str],
) -> None:
    """Write the summary. `started`: number of started episodes, including skipped ones; `interrupted`: those of them that were interrupted;
    `earlier`: those that an earlier run finished, and this one did not report again;
    `unreadable`: tasks that could not be read; `lost`: reason for missing records, or ""; `gate`: results of the tests at the end."""
    from pytest_recode.metrics.budget_end import budget_end
    from pytest_recode.metrics.score import scores
    from pytest_recode.plugin.run.directory import begun
    from pytest_recode.plugin.workers import worker_use
    from pytest_recode.records.task_set import task_set
    from pytest_recode.render import summary_tables, validation_summary, words

    settings = run.settings
    noun = "check" if settings.validate else "stored turn" if run.replays else "episode"
    if records:
        rows = in_order(records, settings)
        terminal.section("recode", sep="=")
        shown = summary_tables.twins if settings.impossible else summary_tables.summary
        for line in _replay(run, rows) if run.replays else shown(scores(rows)):
            terminal.line(line)
        for line in words.unparsed(records):
            terminal.line(line, yellow=True)
        faults = Counter(record["error"]["kind"] for record in records if record["error"])
        if faults:
            counts = ", ".join(f"{count}x {words.error_kind_text(kind)}" for kind, count in faults.items())
            where = "each cause shown once above" if run.config.option.tbstyle != "no" else "which --tb=no hides"
            terminal.line(f"errors, {where}: {counts}", red=True)
            for line in words.causes(records):
                terminal.line(line, red=True)
            if line := words.budget_end(budget_end(records)):
                terminal.line(line, red=True)
        if unreadable:
            terminal.line(words.unread(unreadable, validated=settings.validate), red=True)
        _unfinished(terminal, run, started, interrupted, earlier, noun)
        for line in gate:
            terminal.line(line)
        shared = sum(record["shared"] for record in records)
        if shared:
            noun = "episode shares its" if shared == 1 else "episodes share their"
            terminal.line(f"{shared} {noun} first turn with another: paid once, counted in each")
        if fingerprint := task_set((record["task"], record["digest"] or "") for record in records):
            terminal.line(f"task set: {fingerprint}")
        for line in words.sandboxes(records):
            terminal.line(line)
        for line in filter(None, (_without_temperature(run, records), *_replayed_answers(run))):
            terminal.line(line)
        for line in (*words.waits(records), *words.weaker(records)):
            terminal.line(line, yellow=True)
        if line := worker_use.advice(run.config, settings.in_flight):
            terminal.line(line)
        if lost:
            _lost(terminal, lost)
            return
        terminal.line(f"records: {run.out}")
        against = [settings.replay_feedback] if run.replays else []
        terminal.line(f"more numbers: pytest-recode report {shlex.join(map(str, (run.out, *against)))}")
        if run.config.option.verbose >= 0:
            where = shlex.quote(str(run.out))
            terminal.line(
                f"turn by turn: pytest-recode show {where}; in a browser: pytest-recode html {where}", light=True
            )
        if started < len(run.collected.ids) or interrupted or earlier:
            terminal.line(f"to resume: the same command with --recode-out={run.out} --recode-resume")
    elif run.prepared and len(run.collected.ids) > len(validations):
        terminal.section("recode", sep="=")
        _unfinished(terminal, run, started, interrupted, earlier, noun)
        if begun(run.out):
            terminal.line(f"records: {run.out}")
            terminal.line(f"to resume: the same command with --recode-out={run.out} --recode-resume")
    elif started and run.skip_reason:
        terminal.section("recode", sep="=")
        terminal.line(f"{started} skipped: {run.skip_reason}")
    elif run.replays and not run.collected.ids and not run.collected.in_other_shards:
        terminal.section("recode", sep="=")
        terminal.line(
            words.nothing_to_replay(str(settings.replay_feedback), [each.facts for each in run.replays]), red=True
        )
    elif unreadable and not validations:
        terminal.section("recode", sep="=")
    if unreadable and not (records or validations):
        terminal.line(words.unread(unreadable, validated=settings.validate), red=True)
    if validations:
        terminal.section("recode: validation", sep="=")
        for line in validation_summary.summary(validations, verbosity=run.config.option.verbose):
            terminal.line(line)
        if unreadable:
            terminal.line(words.unread(unreadable, validated=settings.validate), red=True)
