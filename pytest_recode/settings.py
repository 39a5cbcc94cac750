"""Settings: the checked options of one run. The plugin reads them from the command line and the ini file; all packages use them.

The declaration of a setting is also that of its option: its name, help, default, where records have it, and with which options it has no
effect. The plugin, `--help`, docs/reference/options.md, records and replays read it from `OPTIONS`. Every session imports this module,
so it imports little.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, get_type_hints

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_recode.shard import Shard
    from pytest_recode.task import Environment
    from pytest_recode.usage import RateLimit


class Option(NamedTuple):
    """The option `--recode-NAME` of a setting, which is the field `field` of Settings.

    `kind`: text, texts (repeatable), environments, limits, budgets, conditions (repeatable), count, number, seconds, percent, seed, shard, address, cassette, output, scope, writer, level, progress, researcher, path, flag, or off (a flag
    that makes the setting False). `recorded`: the field of a record that has it: `settings`, another one, or None if no episode depends on it.
    `compared`: whether runs must be equal in it to be resumed or pooled. `stored`: whether a replay of stored turns takes it from their run. It has no effect
    without the option `needs`, and with the options `excluded_by`. `excludes_because`: what this option does, so that others have no effect with it.
    """

    name: str
    kind: str
    default: Any
    group: str
    field: str
    metavar: str
    help: str
    recorded: str | None
    compared: bool
    stored: bool
    needs: str
    excluded_by: tuple[str, ...]
    excludes_because: str

    @property
    def flag(self) -> str:
        return "--recode-" + self.name

    @property
    def ini(self) -> str:
        return "recode_" + self.name.replace("-", "_")

    @property
    def shown_default(self) -> str:
        """The default in words; "" if there is none, or if the help describes it."""
        default = ", ".join(self.default) if isinstance(self.default, tuple) else self.default
        if default is None or isinstance(default, bool):
            return ""
        return f"{default:g}" if isinstance(default, float) else str(default)


OPTIONS: dict[str, Option] = {}
"""All options by name, in the order of `--help` and docs/reference/options.md."""


def _option(
    name: str,
    kind: str,
    default: Any,
    *,
    group: str,
    field: str = "",
    metavar: str = "",
    help: str,  # noqa: A002  as argparse calls it
    recorded: str | None = "settings",
    compared: bool = True,
    stored: bool = False,
    needs: str = "",
    excluded_by: tuple[str, ...] = (),
    excludes_because: str = "",
) -> Any:
    """Declare the option of a setting. Returns the setting's default."""
    field = field or name.replace("-", "_")
    OPTIONS[name] = Option(
        name,
        kind,
        default,
        group,
        field,
        metavar,
        help,
        recorded,
        compared,
        stored,
        needs,
        excluded_by,
        excludes_because,
    )
    return default


_basic = partial(_option, group="the options that most runs need")
_of_run = partial(_option, group="run")
_of_feedback = partial(_option, group="feedback")
_of_models = partial(_option, group="agent and models")
_of_sandbox = partial(_option, group="sandbox")
_of_limits = partial(_option, group="cost and rate limits")
_of_records = partial(_option, group="records")
_of_ci = partial(_option, group="CI")
_of_validation = partial(_option, group="validation of tasks")


# fmt: off
# ruff: noqa: RUF009  a call returns the default, which never changes
@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The checked options of one run. Counts are at least 1, money is in US dollars, `fail_under` is in per cent.

    `explicit`: the fields that the user set. A format or an agent may have other defaults for the rest. An episode's settings are those of
    its run with these defaults and one agent.
    """

    models: tuple[str, ...] = _basic("model", "texts", (), field="models", metavar="NAME", recorded="model", excluded_by=("validate",), help="Model to attempt the tasks with (repeatable): any model that litellm lists, such as claude-opus-5-5, any other one with its provider, or the offline sim/novice, sim/graduate, sim/expert. Without it, no model is called and the tasks are skipped.")
    feedbacks: tuple[str, ...] = _basic("feedback", "texts", ("escalate",), field="feedbacks", metavar="POLICY", recorded="feedback", excluded_by=("validate",), help="Level of the feedback after a failed turn (repeatable): L0 … L4, escalate[:start=,max=,patience=], adaptive[:start=,max=], none.")
    agents: tuple[str, ...] = _basic("agent", "texts", ("recode",), field="agents", metavar="NAME", recorded="agent", stored=True, excluded_by=("validate", "replay-feedback"), help="Agent that works on the task (repeatable): recode, recode-h, one-shot, reference, noop, person (you, with your own editor: docs/how-to/solve-a-task-yourself.md), mini-swe-agent (docs/how-to/use-mini-swe-agent.md), a command-line agent (docs/reference/command-line-agents.md), acp:COMMAND, command:PATH (a program of yours: docs/how-to/bring-your-own-agent.md), or package.module:Name.")
    attempts: int = _basic("attempts", "count", 1, metavar="N", recorded="attempt", excluded_by=("validate", "replay-feedback"), help="Episodes per task, agent, model and policy.")
    turns: int = _basic("turns", "count", 10, metavar="N", stored=True, excluded_by=("validate", "replay-feedback"), help="Maximum number of turns of an episode. Each turn ends with a grading.")
    sandbox: str = _basic("sandbox", "text", "auto", metavar="KIND", recorded="sandbox", help="Where code runs: docker, bubblewrap, process (limits, but no isolation), or auto (the best that is available).")
    max_cost: float | None = _basic("max-cost", "budgets", None, metavar="USD or MODEL=USD", recorded=None, excluded_by=("validate",), help="Start no model call once the whole run, or the calls of one model, have cost this much in all workers together (repeatable). A call reserves the most that it can cost, so that the limit is exceeded by less than one call.")
    max_cost_of: tuple[tuple[str, float], ...] = ()  # of single models, by name
    out: Path | None = _basic("out", "path", None, metavar="DIR", recorded=None, excluded_by=("validate",), help="Directory for the records of this run, new or empty. Default: recode-out/<time> in the root directory.")
    resume: bool = _basic("resume", "flag", False, recorded=None, needs="out", excluded_by=("validate",), help="Resume the run in --recode-out: finished episodes are not repeated, interrupted ones continue after their last complete turn, errors are retried, and new episodes are played.")
    validate: bool = _basic("validate", "flag", False, recorded=None, excludes_because="plays no episode and calls no model", help="Check the tasks instead of attempting them: the reference must solve each; the untouched repository, an empty target and one that returns a constant must not.")
    fail_under: float | None = _basic("fail-under", "percent", None, metavar="PCT", recorded=None, excluded_by=("validate", "impossible"), help="Add a test at the end that passes if at least PCT per cent of the episodes were solved. An unsolved episode is then not a failed test, in terminal, JUnit and exit status (docs/how-to/run-in-ci.md). Errors still fail the run.")
    paper: bool = _of_run("no-paper", "off", True, field="paper", recorded="paper", stored=True, excluded_by=("validate", "replay-feedback"), help="Omit the paper from the prompt.")
    ablation: bool = _of_run("with-paper", "flag", False, field="ablation", recorded="paper", needs="no-paper", excluded_by=("validate", "replay-feedback"), help="With --recode-no-paper: play every episode twice, with and without the paper, and show the difference.")  # run each episode also without the paper
    test_seconds: float | None = _of_run("test-seconds", "seconds", None, metavar="S", stored=True, excluded_by=("replay-feedback",), help="Limit of one hidden test, or of a benchmark's whole test script. Default: the task's.")
    subset: str | None = _of_run("subset", "text", None, metavar="NAME", recorded=None, excluded_by=("replay-feedback",), help="Collect only the tasks of this subset, such as quick. Default: all tasks; of SciCode, problems (steps: each step is a task of its own).")
    seed: int | None = _of_run("seed", "seed", None, metavar="N", recorded="turns", excludes_because="is a single seed", help="Grade with this seed instead of a secret one, to repeat a verdict (the record has the seed of every grading).")
    shard: Shard | None = _of_run("shard", "shard", None, metavar="K/N", recorded="shard", help="Play only part K of N of the episodes (or checks, or replays), for N separate sessions, such as the jobs of a CI matrix (docs/how-to/run-in-shards.md). All episodes of a task and attempt are in one part. `pytest-recode merge` makes the parts one run again.")  # None: the whole run
    impossible: bool = _of_run("impossible", "flag", False, stored=True, excluded_by=("validate", "replay-feedback"), excludes_because="plays tasks that no right answer solves", help="Play each task's impossible twin in its place: one expected value of its hidden tests is shifted, so that no right answer passes, and a solved twin is a leak or a hack. An item passes if its twin is not solved (docs/how-to/measure-cheating.md).")
    in_flight: int = _of_run("in-flight", "count", 1, metavar="K", recorded=None, excluded_by=("validate",), help="Play up to K episodes at the same time in each process: while they wait for a model, they take no processor and little memory. With -n N, N times K. Gradings and agents' commands of all processes take turns: two for each processor.")
    progress: str = _of_run("progress", "progress", "auto", metavar="WHERE", recorded=None, help="How to show progress during the run: live (lines below pytest's output on a terminal; needs the extra live), plain (for logs: at most every 30 s a line with the latest turn), off, or auto (live if possible, otherwise plain; off with -qq).")  # or "off", "plain", "live"
    feedback_model: str | None = _of_feedback("feedback-model", "text", None, metavar="NAME", recorded="feedback_model", excluded_by=("validate", "replay-feedback"), help="Model that writes the feedback. Default: the task's feedback.yaml, otherwise derived feedback.")
    feedback_from: str = _of_feedback("feedback-from", "researcher", "auto", metavar="WHO", excluded_by=("validate", "replay-feedback"), help="Who writes the feedback: auto (--recode-feedback-model, otherwise the task's feedback.yaml, otherwise derived feedback), person (you, in this terminal), or files (you, by files in DIR/feedback: the run waits for them).")  # or "person", "files"
    feedback_scope: str = _of_feedback("feedback-scope", "scope", "failing", metavar="WHAT", needs="feedback-model", help="What --recode-feedback-model may comment on: failing (faults of failing interfaces), or all (every difference from the reference, also in passing interfaces). Default with recode-h: all.")  # or "all"
    feedback_code: str = _of_feedback("feedback-code", "level", "L4", metavar="LEVEL", needs="feedback-model", help="Lowest level whose text by --recode-feedback-model may contain code: L4 (only the correction, which is the reference's code), or L1, L2, L3 (also the text fields from this level on; code of the reference is then not cut from them, and the model writes the corrections). Default with recode-h: L1.")  # or "L1", "L2", "L3"
    feedback_writer: str = _of_feedback("feedback-writer", "writer", "with-reference", metavar="HOW", needs="feedback-model", help="Whether --recode-feedback-model sees the reference while it writes: with-reference (one call, as RECODE-H), or without-reference (two calls: one sees the reference and gives names and numbers only, the other writes the text from these, the brief and the candidate).")  # or "without-reference"
    test_output: str = _of_feedback("test-output", "output", "none", metavar="WHAT", stored=True, excluded_by=("validate", "replay-feedback"), help="Output of the hidden tests in feedback of every level: none, or full, which quotes tests and inputs. Default with recode-h: full.")  # or "full"
    replay_feedback: Path | None = _of_feedback("replay-feedback", "path", None, metavar="RUN", recorded="replay", excluded_by=("validate",), excludes_because="plays single turns of a stored run, with its settings", help="Instead of episodes, replay each turn with feedback of the run in the directory RUN from its starting point, with that feedback cut to the levels of --recode-feedback (L0 … L4). Each replay is one turn, with RUN's models, agent and settings.")  # the directory of a run
    steps: int = _of_models("steps", "count", 3, metavar="N", stored=True, excluded_by=("validate", "replay-feedback"), help="Maximum number of model calls in a turn.")
    agent_seconds: float = _of_models("agent-seconds", "seconds", 1800.0, metavar="S", stored=True, excluded_by=("validate", "replay-feedback"), help="Limit of one turn of a command-line agent, such as claude-code. The time that its model calls wait for rate limits does not count. A turn that takes longer is ended, and judged as it is.")
    agent_paths: tuple[str, ...] = _of_models("agent-path", "texts", (), field="agent_paths", metavar="NAME=PATH", recorded=None, excluded_by=("validate",), help="The program of a command-line agent, by the agent's name (repeatable). Its sandbox shows this file alone, or all of DIR for NAME=DIR/./FILE. Default: a pinned version, installed once for this user.")
    memory_threshold: int | None = _of_models("memory-threshold", "count", None, metavar="N", stored=True, excluded_by=("validate", "replay-feedback"), help="Number of messages in an agent's memory above which its model summarizes older ones, in addition to the limit in tokens. Default: no such limit; with recode-h, whose memory is limited only in messages, 15.")  # messages; None: the agent's own limit
    memory_keep: int | None = _of_models("memory-keep", "count", None, metavar="N", stored=True, excluded_by=("validate", "replay-feedback"), help="Maximum number of latest messages that a summary leaves unchanged; smaller than the threshold. Default: as many as fit, or with a threshold, two thirds of it; with recode-h, 5.")
    search_model: str | None = _of_models("search-model", "text", None, metavar="NAME", stored=True, excluded_by=("validate", "replay-feedback"), help="Embedding model for an agent's searches in the repository, such as text-embedding-3-small. Default: search by words (BM25), which calls no model.")
    reindent: bool = _of_models("reindent", "flag", False, stored=True, excluded_by=("replay-feedback",), help="For tasks that ask for a part of a file: correct the indentation of an answer, instead of inserting it unchanged. The record shows the turns in which that was done.")
    temperature: float | None = _of_models("temperature", "number", None, metavar="X", stored=True, excluded_by=("validate", "replay-feedback"), help="Sampling temperature, 0 to 2. Default: the provider's; with recode-h, and for tasks of RECODE-H and ResearchCodeBench: 0.")
    api_base: str | None = _of_models("api-base", "address", None, metavar="URL", excluded_by=("validate",), help="Address of an OpenAI-compatible server for all models.")
    models_file: Path | None = _of_models("models-file", "path", None, metavar="FILE", recorded=None, help="YAML file with additional model names: alias -> {model, api_base, params, cutoff, price, tools, context, rpm, tpm, concurrency}.")
    call_seconds: float = _of_models("call-seconds", "seconds", 600.0, metavar="S", compared=False, help="Limit of one model call, for the complete answer. A call that takes longer, even if bytes still arrive, is a failed try, and is retried once. An episode without an answer is an ERROR, never unsolved.")
    python: str = _of_sandbox("python", "text", "", metavar="PATH", recorded=None, help="Interpreter for local sandboxes; it needs pytest and the packages of the tasks. Default: the one that runs pytest.")
    image: str = _of_sandbox("image", "text", "", metavar="IMAGE", compared=False, help="Docker image for tasks that name none; their requirements are installed on top of it. Default: python:3.12-slim.")
    docker_hosts: tuple[str, ...] = _of_sandbox("docker-host", "texts", (), field="docker_hosts", metavar="ADDRESS", recorded="sandbox_host", help="Docker daemon to run containers on, as in DOCKER_HOST (repeatable): ssh://[USER@]HOST, tcp://HOST:PORT or unix:///SOCKET. Episodes are divided among several hosts by worker (docs/how-to/use-docker-hosts.md). Default: DOCKER_HOST, or else the active Docker context.")  # addresses of daemons; (): the one that DOCKER_HOST names
    without_network: bool = _of_sandbox("without-network", "flag", False, stored=True, help="Run tasks that ask for a network without one: no sandbox has a network, so that without this option such tasks are refused.")
    shared_verifier: bool = _of_sandbox("shared-verifier", "flag", False, stored=True, excluded_by=("replay-feedback",), help="Run the script that judges a task in the agent's own sandbox, where the task does not ask for another one: for tasks whose answer is more than files (docs/how-to/run-harbor-tasks.md). Such verdicts are weaker: the agent may have changed what the script runs.")
    environments: tuple[Environment, ...] = _of_sandbox("env", "environments", (), field="environments", metavar="NAME=PATH-or-image", recorded=None, help="Maps a benchmark's name of an environment to this machine (repeatable): an interpreter for local sandboxes, or a docker image.")  # the mapping of --recode-env, by the benchmarks' names
    limits: tuple[tuple[str, RateLimit], ...] = _of_limits("limit", "limits", (), field="limits", metavar="PATTERN=LIMITS", recorded=None, excluded_by=("validate",), help="Limits of calls of the models whose names match the pattern, for all workers together (repeatable): rpm (requests per minute), tpm (tokens per minute), concurrency (calls at the same time), as in 'claude-*=rpm:50,tpm:40000,concurrency:8'. Default: as many calls as workers, with command-line agents 8 times as many, fewer while the provider refuses calls.")  # by pattern of model names; the first that matches counts
    max_wait: float = _of_limits("max-wait", "seconds", 1800.0, metavar="S", recorded=None, excluded_by=("validate",), help="How long a model call may wait for rate limits and other calls. This time does not count against the episode's limits; a call that waits longer is an ERROR.")
    cassette: Path | None = _of_limits("cassette", "path", None, metavar="DIR", recorded=None, excluded_by=("validate",), help="Directory of recorded answers of models: a run stores them there, and a later run replays them without calling the model.")
    cassette_mode: str = _of_limits("cassette-mode", "cassette", "auto", metavar="MODE", recorded=None, needs="cassette", excluded_by=("validate",), help="What --recode-cassette does: auto (replay what is recorded, ask for the rest and record it), record (ask for everything), replay (ask for nothing: no key and no network are needed, and an answer that is not recorded is an ERROR).")  # or "record", "replay"
    otel: str | None = _of_records("otel", "text", None, metavar="URL", recorded=None, excluded_by=("validate", "replay-feedback"), help="Send each episode as an OpenTelemetry trace to this OTLP endpoint (HTTP), such as http://localhost:4318, as soon as it has ended (docs/how-to/export-to-other-tools.md). Needs the extra otel. An endpoint that fails changes no result.")  # the URL of an OTLP endpoint
    baseline: Path | None = _of_ci("baseline", "path", None, metavar="FILE", recorded=None, excluded_by=("validate", "replay-feedback", "impossible"), help="Compare the run with this baseline (`pytest-recode bless RUN -o FILE`), task by task, and add a test at the end that fails as --recode-fail-on says (docs/how-to/gate-a-pull-request.md). An unsolved episode is then not a failed test. Errors still fail the run.")
    fail_on: tuple[str, ...] = _of_ci("fail-on", "conditions", ("worse",), metavar="WHAT", recorded=None, needs="baseline", excluded_by=("validate", "replay-feedback", "impossible"), help="With --recode-baseline, what fails the run (repeatable, or separated by commas): worse (significantly), any-lost-task (solved less often than in the baseline), cost:+20% or turns:+1 (more per episode, with any numbers).")  # conditions of `metrics/fail_on.py`
    markdown: Path | None = _of_ci("markdown", "path", None, metavar="FILE", recorded=None, excluded_by=("validate", "replay-feedback", "impossible"), help="Write the summary as Markdown: scores, comparison with the baseline, errors. On GitHub Actions, it is also appended to the step's summary, without this option.")
    validate_seeds: int = _of_validation("validate-seeds", "count", 3, metavar="N", recorded=None, needs="validate", excluded_by=("seed",), help="With --recode-validate: secret seeds under which the reference and each answer in the task's proofs/ are graded.")
    validate_right_mutants: bool = _of_validation("validate-right-mutants", "flag", False, recorded=None, needs="validate", help="With --recode-validate: mutate each right answer of proofs/, too, and not the reference alone, which takes as many times as long.")
    validate_json: Path | None = _of_validation("validate-json", "path", None, metavar="FILE", recorded=None, needs="validate", help="With --recode-validate: write all findings of all tasks as JSON, for CI (docs/reference/validation-json.md).")
    watch: bool = _of_validation("watch", "flag", False, recorded=None, needs="validate", help="With --recode-validate: validate again whenever a file of a task changes, until Ctrl-C. Needs the extra watch.")
    explicit: frozenset[str] = frozenset()
# fmt: on

    @property
    def agent(self) -> str:
        """The agent of an episode, in its settings. Those of a run may have several agents, with settings of their own."""
        [agent] = self.agents
        return agent


def decided_at_end(settings: Settings) -> bool:
    """Whether tests at the end decide if the run passes, so that an unsolved episode is no failed test."""
    return settings.fail_under is not None or settings.baseline is not None


NOT_COMPARED = frozenset(
    {"version", "researcher_prompt", *(option.field for option in OPTIONS.values() if not option.compared)}
)
"""Recorded settings that may differ between runs that are resumed or pooled: the version, a rebuilt image, and the time limit of a
model call, which causes errors but no verdicts."""


FROM_STORED_RUN = tuple(option.field for option in OPTIONS.values() if option.stored)
"""Fields that a replay of stored turns takes from the run that stored them."""


def for_format(settings: Settings, defaults: Mapping[str, Any]) -> Settings:
    """The settings with the defaults of a format or an agent, except for fields that the user set."""
    unset = {name: value for name, value in defaults.items() if name not in settings.explicit}
    return replace(settings, **unset) if unset else settings


def settings_problem(values: Mapping[str, Any]) -> str:
    """What is wrong with the defaults of a format or an agent: a field that Settings does not have, or a value of another type; "" if
    nothing is."""
    from pathlib import Path

    from pytest_recode.schema.declared_types import problem
    from pytest_recode.schema.rules import Number
    from pytest_recode.shard import Shard
    from pytest_recode.task import Environment
    from pytest_recode.usage import RateLimit
    from pytest_recode.wording import guess

    names = {"Path": Path, "Shard": Shard, "Environment": Environment, "RateLimit": RateLimit}
    hints = get_type_hints(Settings, localns=names)
    counts = {option.field: Number for option in OPTIONS.values() if option.kind == "count"}
    for name, value in values.items():
        if name not in hints:
            return f" has {name!r}{guess(name, [*hints])}: its keys are fields of pytest_recode.settings.Settings, such as turns or steps"
        kind = hints[name] if name not in counts or value is None else counts[name]
        if wrong := problem(value, kind):
            return f"[{name!r}]{wrong}"
    return ""


NO_FEEDBACK = "none"
"""The policy that ends an episode after its first turn."""


def fixed(policy: str) -> dict[str, Any]:
    """Fields of Settings that a policy fixes: `turns` of an episode without feedback."""
    return {"turns": 1} if policy == NO_FEEDBACK else {}


def as_played(settings: Settings) -> Settings:
    """The settings of an episode, with the numbers of turns and steps that its prompts name.

    If a run has episodes with and without feedback, they share the first turn, so that their prompts must name the same numbers.
    """
    policy = settings.feedbacks[0] if len(settings.feedbacks) == 1 else ""
    return replace(settings, **fixed(policy))


def check_memory(settings: Settings) -> None:
    """Raise `UserError` if a summary of the memory would have no messages to summarize. Agent defaults must already be applied."""
    threshold, keep = settings.memory_threshold, settings.memory_keep
    if keep is not None and threshold is not None and keep >= threshold:
        raise UserError(
            f"--recode-memory-keep={keep} must be smaller than --recode-memory-threshold={threshold}: set both, for example to"
            " 10 and 15"
        )
