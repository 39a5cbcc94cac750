"""Texts about episodes for the terminal: status, failures, errors, and warnings of the summary."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.records.episode_summary import EpisodeSummary
from pytest_recode.records.record import CaseRecord, EpisodeFacts, Record, TurnRecord, cause, main_line
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.wording import dollars, some_of

if TYPE_CHECKING:
    from pytest_recode.metrics.attempt import Attempt
    from pytest_recode.metrics.budget_end import BudgetEnd

MOST_NAMES = 5
_MESSAGE_LINES = 8
_MOST_WORDS = 120
_FOR_LINTERS = re.compile(r"  +# *(?:noqa|type: *ignore|pyright|pylint|fmt|pragma|nosec)\b.*")
_LONG_WAIT = 60.0  # seconds


def plural(n: int, noun: str) -> str:
    """`n` and the noun, which gets an s if `n` is not 1."""
    return f"{n} {noun}" + ("" if n == 1 else "s")


def share(part: int, whole: int) -> str:
    """The percentage that `part` is of `whole`, which is not 0: rounded down to a tenth, so that only the whole is 100 %."""
    return "100 %" if part == whole else f"{1000 * part // whole / 10:.1f} %"


def status(record: Record | EpisodeSummary) -> str:
    """The status next to a node id; SOLVED@2 means solved in turn 2."""
    if record["outcome"] == "solved":
        return f"SOLVED@{record['solved_turn']}"
    return {"unsolved": "UNSOLVED", "error": "ERROR"}[record["outcome"]]


def unsolved(record: Record, out: Path, files: RunFiles = LOCAL, *, quotes: bool = True) -> str:
    """The failure text of an unsolved episode: turns with levels, failing interfaces, findings, path of the transcript.

    `quotes`: with the first failing case, whose message may quote a hidden test.
    """
    turns = record["turns"]
    last = turns[-1] if turns else None
    why = {
        "turns": f"not solved in {plural(len(turns), 'turn')}",
        "given-up": f"given up in turn {len(turns)}",
        "time": f"not solved within its time limit ({plural(len(turns), 'turn')} in {record['seconds'] - record.get('waited', 0):.0f} s)",
    }.get(record["stop"], f"not solved: stopped by {record['stop']}")
    lines = [f"{why} by {_who(record)}", ""]
    lines += [
        f"  turn {turn['turn']:>2}  feedback {turn['level'] or '-':<3} {turn['passed']:>3} of {turn['total']} cases pass"
        for turn in turns
    ]
    failing = _failing(last["cases"]) if last is not None else []
    if failing:
        lines += ["", "still failing:"]
        lines += [
            f"  {interface}: {failed} of {total} cases" + (f" ({', '.join(reasons)})" if reasons else "")
            for interface, failed, total, reasons in failing
        ]
        lines += _of_the_answer(record, turns[-1], out, files)
    for turn in turns:
        if turn["tampering"]:
            lines += ["", f"tampering in turn {turn['turn']}, which therefore is not solved:"]
            lines += [f"  {finding}" for finding in turn["tampering"]]
    if last is not None and quotes:
        lines += _first_failure(last["cases"], out / record["transcript"], files)
    return "\n".join([*lines, "", _more(record, out)])


def unsolved_briefly(record: EpisodeSummary) -> str:
    """A short text about an unsolved episode, for a line that names it."""
    turns = record["turns"]
    cases = f"{turns[-1]['passed']} of {turns[-1]['total']} cases pass after " if turns else "unsolved after "
    return f"{cases}{plural(len(turns), 'turn')}" + (", tampering" if record["tampering"] else "")


def short_line(message: str, kind: str) -> str:
    """The line of an error's message that says most, of limited length."""
    line = main_line(message, kind)
    return line if len(line) <= _MOST_WORDS else f"{line[:_MOST_WORDS]} …"


def _first_failure(cases: Sequence[CaseRecord], transcript: Path, files: RunFiles) -> list[str]:
    """The first failed case of the last turn with the main lines of its message, which only the transcript has."""
    from pytest_recode.records.transcript_reader import last_messages

    failed = next((case["id"] for case in cases if case["outcome"] != "passed"), None)
    rows = essence(last_messages(transcript, files).get(failed, "")) if failed is not None else []
    return ["", f"first failing case: {failed}", *(f"  {row}" for row in rows)] if rows else []


def _more(record: Record, out: Path) -> str:
    """The command that shows the episode. Its argument is the path of the transcript."""
    return f"more: pytest-recode show {shlex.quote(str(out / record['transcript']))}"


def essence(message: str) -> list[str]:
    """The lines of a failed case's message that show what failed: the failing line of the test and the error, else the first lines.

    pytest marks them with `>` and `E`. Comments for linters are left out.
    """
    rows = message.strip().splitlines()
    marked = [
        _FOR_LINTERS.sub("", row) if row.startswith(">") else row for row in rows if row[:2].rstrip() in (">", "E")
    ] or rows
    return [*marked[:_MESSAGE_LINES], *(["…"] if len(marked) > _MESSAGE_LINES else [])]


def fault(record: Record, out: Path) -> str:
    """The failure text of an episode that ended with an error, which does not count as unsolved."""
    error = record["error"]
    assert error is not None
    after = f" after {plural(len(record['turns']), 'turn')}" if record["turns"] else ""
    return (
        f"could not be played to its end by {_who(record)}{after} (not counted as unsolved)\n"
        f"{error['message']}\n{_more(record, out)}"
    )


KINDS = {
    "model:auth": "the model's key was refused",
    "model:budget-at-provider": "the account at the provider has no credit, or has used up its quota of the day",
    "model:unknown-model": "the provider does not have the model, or no longer",
    "model:no-tools": "the provider serves the model without native tool calls",
    "model:rate-limit": "the provider limits the rate of calls",
    "model:timeout": "the model did not answer in time",
    "model:connection": "the model could not be reached",
    "model:server": "the model's server failed",
    "model:context": "the prompt does not fit into the model's context window",
    "model:bad-request": "the provider refused the request",
    "model:gateway": "the run's gateway, which calls the models, ended during the call",
    "agent:session-lost": "a command-line agent did not continue its session",
    "agent:no-model-call": "a command-line agent ended its turn without a model call",
    "agent:failed": "a command-line agent failed",
    "time": "a time limit passed during a wait, or before a turn was graded",
    "budget": "--recode-max-cost was spent",
    "cassette": "the answer is not in the cassette that is replayed",
    "machine": "the machine ran out of open files, processes, memory or disk space, or was too busy for a time limit",
    "sandbox": "a sandbox could not start, or died",
    "grader": "the hidden tests gave no verdict",
    "user": "an error in a task, file or option that you must correct",
    "worker": "a worker of pytest-xdist died",
    "internal": "the agent, or pytest-recode itself, raised an unexpected exception",
}


def budget_end(end: BudgetEnd | None) -> str:
    """A line on when the budget was spent and what the rest would have cost; "" if it was not spent."""
    if end is None:
        return ""
    cost = (
        "an unknown amount: no episode like them was finished"
        if end.rest_usd is None
        else f"about {dollars(end.rest_usd)} USD more"
    )
    return f"budget: spent after {plural(end.finished, 'episode')}; the {plural(end.ended, 'episode')} that it ended would have cost {cost}"


def error_kind_text(kind: str) -> str:
    """Describe a record's error kind, with the kind in parentheses."""
    return f"{KINDS[kind]} ({kind})" if kind in KINDS else kind


def unread(tasks: int, *, validated: bool) -> str:
    rest = "not checked" if validated else "without an episode, and not counted"
    return f"could not be read: {plural(tasks, 'task')}, {rest}"


def nothing_to_replay(run: str, facts: Sequence[EpisodeFacts]) -> str:
    """A line on a replay without turns. `facts`: of the episodes with stored turns in the directory `run`."""
    names = list(dict.fromkeys(fact["task"] for fact in facts))
    return (
        f"nothing was replayed: {run} has no stored turn of a selected task; it has turns of"
        f" {some_of(names, MOST_NAMES)}"
    )


def causes(records: Sequence[EpisodeSummary]) -> list[str]:
    """A line for each error that several episodes share, with the first of their tasks."""
    groups: dict[str, list[EpisodeSummary]] = {}
    for record in records:
        if record["error"]:
            groups.setdefault(cause(record["error"]), []).append(record)
    lines = []
    for message, group in groups.items():
        if len(group) == 1:
            continue
        names = list(dict.fromkeys(record["task"] for record in group))
        more = f" and {plural(len(names) - MOST_NAMES, 'more task')}" if len(names) > MOST_NAMES else ""
        kinds = {each["error"]["kind"] for each in group if each["error"]}
        line = short_line(message, kinds.pop() if len(kinds) == 1 else "")
        lines.append(f"  {plural(len(group), 'episode')} of {', '.join(names[:MOST_NAMES])}{more}: {line}")
    return lines


def sandboxes(records: Sequence[EpisodeSummary]) -> list[str]:
    """A line for each kind of sandbox that ran code: how memory was limited, and the number of episodes on each Docker host that the user named."""
    notes = {"process": " (limits only, no isolation)"}
    lines = []
    for name in dict.fromkeys(record["sandbox"] for record in records):
        hosts = Counter(record["sandbox_host"] for record in records if record["sandbox"] == name)
        shown = ", ".join(f"{plural(hosts[host], 'episode')} on {host}" for host in sorted(filter(None, hosts)))
        limits = {
            record["memory_limit"]: None for record in records if record["sandbox"] == name and record["memory_limit"]
        }
        memory = f"; memory limit: {', '.join(limits)}" if limits else ""
        lines.append(f"sandbox: {name}{f' ({shown})' if shown else ''}{notes.get(name, '')}{memory}")
    return lines


def weaker(records: Sequence[EpisodeSummary]) -> list[str]:
    """Lines on records whose verdicts are weaker evidence than others, or not comparable with other runs."""
    lines = []
    counts = Counter(record["isolation"] for record in records if record["turns"])
    if counts["shared"]:
        kinds = ", ".join(f"{name} {counts[name]}" for name in sorted(counts, key=lambda name: name != "shared"))
        lines.append(f"isolation: {kinds}: verdicts of shared judging are weaker (docs/explanation/oracle.md)")
    for kind, where in (("verifier", ""), ("verifier-shared", " in the agent's own sandbox")):
        if counts[kind]:
            by_script = f"isolation: {plural(counts[kind], 'episode')} judged by the task's own script{where}"
            lines.append(f"{by_script}: weaker evidence (docs/explanation/oracle-verifier.md)")
    shown = sum(record["test_output_shown"] for record in records)
    if shown:
        lines.append(
            f"hidden tests: {plural(shown, 'episode')} with their output in the feedback (--recode-test-output=full), which"
            " quotes tests and inputs: do not compare it with runs without"
        )
    unverifiable = [record["nodeid"].rpartition("::")[2] for record in records if record["unverifiable"]]
    if unverifiable:
        lines.append(
            f"not verifiable: {plural(len(unverifiable), 'solved episode')}: {some_of(unverifiable, MOST_NAMES)}:"
            " their tests do not notice shifted values (docs/explanation/oracle-shared.md)"
        )
    names = [record["nodeid"].rpartition("::")[2] for record in records if record["tampering"]]
    if names:
        lines.append(f"tampering: {plural(len(names), 'episode')}: {some_of(names, MOST_NAMES)}")
    return [*lines, *_flagged(records)]


def waits(records: Sequence[EpisodeSummary]) -> list[str]:
    """A line on the time that episodes waited, if it is at least a minute and a tenth of their time."""
    waited, seconds = (sum(record[key] for record in records) for key in ("waited", "seconds"))
    if waited < _LONG_WAIT or waited < seconds / 10:
        return []
    return [
        f"waiting: {waited / 60:.0f} min of the {seconds / 60:.0f} min of all episodes, for rate limits, retries, people, other workers and room on this machine;"
        " pytest-recode report --table=calls has the calls (docs/how-to/stay-within-limits.md)"
    ]


def unparsed(records: Sequence[EpisodeSummary]) -> list[str]:
    """A line with the number of answers per model, and per agent if there are several, that could not be used; nothing if all could."""
    from pytest_recode.metrics.answer_counts import answer_counts
    from pytest_recode.metrics.score import attempt_of  # not imported in a worker, which tells of single episodes

    answering = [record for record in records if record["model"]]
    several = len({(record["format"], record["agent"]) for record in answering}) > len(
        {record["format"] for record in answering}
    )
    by_model: dict[str, list[Attempt]] = {}
    for record in answering:
        name = f"{record['model']} ({record['agent']})" if several else str(record["model"])
        by_model.setdefault(name, []).append(attempt_of(record))
    counts = {model: answer_counts(attempts) for model, attempts in by_model.items()}
    if not any(count.unusable for count in counts.values()):
        return []
    unusable = ", ".join(
        f"{model} {count.unusable} of {count.answers}" for model, count in counts.items() if count.answers
    )
    again = ", ".join(f"{model} {count.asked_again}" for model, count in counts.items() if count.asked_again)
    lost = ", ".join(f"{model} {count.steps_lost}" for model, count in counts.items() if count.steps_lost)
    ways = [
        f"asked again at no step: {again}" if again else "",
        f"each of these cost a step: {lost}" if lost else "",
    ]
    return [
        f"answers that could not be used: {unusable}; nothing of them was executed; {'; '.join(filter(None, ways))} (what to do:"
        " docs/how-to/use-a-local-model.md)"
    ]


def _flagged(records: Sequence[EpisodeSummary]) -> list[str]:
    """Lines with the findings of each flagged episode, because a finding may be wrong."""
    flagged = [(record["nodeid"].rpartition("::")[2], record["flagged"]) for record in records if record["flagged"]]
    if not flagged:
        return []
    lines = [
        f"passed but flagged: {plural(len(flagged), 'episode')}: every case passed, and only findings of the shared judge make it"
        " unsolved; read them (docs/explanation/oracle-shared.md)"
    ]
    for name, findings in flagged[:MOST_NAMES]:
        more = f" (and {len(findings) - 1} more)" if len(findings) > 1 else ""
        lines.append(f"  {name}: {findings[0]}{more}")
    return lines + ([f"  and {len(flagged) - MOST_NAMES} more"] if len(flagged) > MOST_NAMES else [])


def _who(record: Record) -> str:
    name = record["model"] or f"agent {record['agent']}"
    return name + (" (simulated)" if record["simulated"] else "")


def _failing(cases: Sequence[CaseRecord]) -> list[tuple[str, int, int, list[str]]]:
    """Failing interfaces, with their numbers of failed and of all cases, and the distinct reasons."""
    groups: dict[str, list[CaseRecord]] = {}
    for case in cases:
        groups.setdefault(case["interface"], []).append(case)
    failing = []
    for interface, group in groups.items():
        failed = [case for case in group if case["outcome"] != "passed"]
        if failed:
            reasons = dict.fromkeys(filter(None, (case["exception"] or case["kind"] for case in failed)))
            failing.append((interface, len(failed), len(group), list(reasons)))
    return failing


def _of_the_answer(record: Record, turn: TurnRecord, out: Path, files: RunFiles) -> list[str]:
    """Lines on the last answer of an episode: why it was not used, what may not be meant in what an answer of `one-shot` wrote, or that its
    indentation is wrong, with the next step."""
    from pytest_recode.records.transcript_reader import last_step

    if record["settings"]["steps"] > 1 and not turn.get("unparsed"):
        return []
    step = last_step(out / record["transcript"], files)
    if step is None:
        return []
    told, _, further = step.get("error", "").strip().partition("\n")
    problems = " ".join(step.get("problems", [])) or (f"{told} …" if further else told)
    if problems:
        more = f" {_MORE_OUTPUT}" if step.get("finish") == "length" else ""
        if "error" in step:
            head = "the last answer was not used"
        else:
            head = "about the last answer" if step.get("files") else "the last answer wrote nothing"
        return ["", f"{head}: {problems}{more}"]
    moved = record["settings"]["reindent"] or "snippet" not in record["facts"]
    if not moved and any(case["exception"] == "IndentationError" for case in turn["cases"]):
        return ["", "the answer has the wrong indentation: --recode-reindent corrects such answers"]
    return []


_MORE_OUTPUT = "(a larger `max_tokens` in `params` of --recode-models-file allows longer answers)"
