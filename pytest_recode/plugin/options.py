"""The options of the plugin. One table defines the command line, the ini file, the Settings and docs/reference/options.md.

The command-line default of every option is None, so that its ini value (`recode_*`) applies if the option is not given.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from pytest_recode.settings import Settings, Shard


class Option(NamedTuple):
    """`kind`: text, texts (repeatable), environments, limits, budgets, conditions (repeatable), count, number, seconds, percent, seed, shard, address, cassette, output, scope, writer, level, progress, researcher, flag, path."""

    name: str
    kind: str
    default: Any
    metavar: str
    help: str

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
        return "" if default in (None, False) else f"{default:g}" if isinstance(default, float) else str(default)


GROUPS: Mapping[str, tuple[Option, ...]] = {
    "the options that most runs need": (
        Option("model", "texts", (), "NAME", "Model to attempt the tasks with (repeatable): any model that litellm lists, such as claude-opus-5-5, any other one with its provider, or the offline sim/novice, sim/graduate, sim/expert. Without it, no model is called and the tasks are skipped."),
        Option("feedback", "texts", ("escalate",), "POLICY", "Level of the feedback after a failed turn (repeatable): L0 … L4, escalate[:start=,max=,patience=], adaptive[:start=,max=], none."),
        Option("agent", "text", "recode", "NAME", "Agent that works on the task: recode, recode-h, one-shot, reference, noop, person (you, with your own editor: docs/how-to/solve-a-task-yourself.md), or package.module:Name."),
        Option("attempts", "count", 1, "N", "Episodes per task, model and policy."),
        Option("turns", "count", 10, "N", "Maximum number of turns of an episode. Each turn ends with a grading."),
        Option("sandbox", "text", "auto", "KIND", "Where code runs: docker, bubblewrap, process (limits, but no isolation), or auto (the best that is available)."),
        Option("max-cost", "budgets", (), "USD or MODEL=USD", "Start no model call once the whole run, or the calls of one model, have cost this much in all workers together (repeatable). A call reserves the most that it can cost, so that the limit is exceeded by less than one call."),
        Option("out", "path", None, "DIR", "Directory for the records of this run, new or empty. Default: recode-out/<time> in the root directory."),
        Option("resume", "flag", False, "", "Resume the run in --recode-out: finished episodes are not repeated, interrupted ones continue after their last complete turn, errors are retried, and new episodes are played."),
        Option("validate", "flag", False, "", "Check the tasks instead of attempting them: the reference must solve each; the untouched repository, an empty target and one that returns a constant must not."),
        Option("fail-under", "percent", None, "PCT", "Add a test at the end that passes if at least PCT per cent of the episodes were solved. An unsolved episode is then not a failed test, in terminal, JUnit and exit status (docs/how-to/run-in-ci.md). Errors still fail the run."),
    ),
    "run": (
        Option("no-paper", "flag", False, "", "Omit the paper from the prompt."),
        Option("with-paper", "flag", False, "", "With --recode-no-paper: play every episode twice, with and without the paper, and show the difference."),
        Option("test-seconds", "seconds", None, "S", "Limit of one hidden test, or of a benchmark's whole test script. Default: the task's."),
        Option("seed", "seed", None, "N", "Grade with this seed instead of a secret one, to repeat a verdict (the record has the seed of every grading)."),
        Option("shard", "shard", None, "K/N", "Play only part K of N of the episodes (or checks, or replays), for N separate sessions, such as the jobs of a CI matrix (docs/how-to/run-in-shards.md). All episodes of a task and attempt are in one part. `pytest-recode merge` makes the parts one run again."),
        Option("progress", "progress", "auto", "WHERE", "How to show progress during the run: live (lines below pytest's output on a terminal; needs the extra live), plain (for logs: at most every 30 s a line with the latest turn), off, or auto (live if possible, otherwise plain; off with -qq)."),
    ),
    "feedback": (
        Option("feedback-model", "text", None, "NAME", "Model that writes the feedback. Default: the task's feedback.yaml, otherwise derived feedback."),
        Option("feedback-from", "researcher", "auto", "WHO", "Who writes the feedback: auto (--recode-feedback-model, otherwise the task's feedback.yaml, otherwise derived feedback), person (you, in this terminal), or files (you, by files in DIR/feedback: the run waits for them)."),
        Option("feedback-scope", "scope", "failing", "WHAT", "What --recode-feedback-model may comment on: failing (faults of failing interfaces), or all (every difference from the reference, also in passing interfaces). Default with recode-h: all."),
        Option("feedback-code", "level", "L4", "LEVEL", "Lowest level whose text by --recode-feedback-model may contain code: L4 (only the correction), or L1, L2, L3 (also the text fields from this level on; code of the reference is then not cut from them). Default with recode-h: L1."),
        Option("feedback-writer", "writer", "with-reference", "HOW", "Whether --recode-feedback-model sees the reference while it writes: with-reference (one call, as RECODE-H), or without-reference (two calls: one sees the reference and gives names and numbers only, the other writes the text from these, the brief and the candidate)."),
        Option("test-output", "output", "none", "WHAT", "Output of the hidden tests in feedback of every level: none, or full, which quotes tests and inputs. Default with recode-h: full."),
        Option("replay-feedback", "path", None, "RUN", "Instead of episodes, replay each turn with feedback of the run in the directory RUN from its starting point, with that feedback cut to the levels of --recode-feedback (L0 … L4). Each replay is one turn, with RUN's models, agent and settings."),
    ),
    "agent and models": (
        Option("steps", "count", 3, "N", "Maximum number of model calls in a turn."),
        Option("memory-threshold", "count", None, "N", "Number of messages in an agent's memory above which its model summarizes older ones, in addition to the limit in tokens. Default: no such limit; with recode-h, whose memory is limited only in messages, 15."),
        Option("memory-keep", "count", None, "N", "Maximum number of latest messages that a summary leaves unchanged; smaller than the threshold. Default: as many as fit, or with a threshold, two thirds of it; with recode-h, 5."),
        Option("search-model", "text", None, "NAME", "Embedding model for an agent's searches in the repository, such as text-embedding-3-small. Default: search by words (BM25), which calls no model."),
        Option("reindent", "flag", False, "", "For tasks that ask for a part of a file: correct the indentation of an answer, instead of inserting it unchanged. The record shows the turns in which that was done."),
        Option("temperature", "number", None, "X", "Sampling temperature, 0 to 2. Default: the provider's; with recode-h, and for tasks of RECODE-H and ResearchCodeBench: 0."),
        Option("api-base", "address", None, "URL", "Address of an OpenAI-compatible server for all models."),
        Option("models-file", "path", None, "FILE", "YAML file with additional model names: alias -> {model, api_base, params, cutoff, price, tools, context, rpm, tpm, concurrency}."),
        Option("call-seconds", "seconds", 600.0, "S", "Limit of one model call, for the complete answer. A call that takes longer, even if bytes still arrive, is a failed try, and is retried once. An episode without an answer is an ERROR, never unsolved."),
    ),
    "sandbox": (
        Option("python", "text", "", "PATH", "Interpreter for local sandboxes; it needs pytest and the packages of the tasks. Default: the one that runs pytest."),
        Option("image", "text", "", "IMAGE", "Docker image for tasks that name none; their requirements are installed on top of it. Default: python:3.12-slim."),
        Option("docker-host", "texts", (), "ADDRESS", "Docker daemon to run containers on, as in DOCKER_HOST (repeatable): ssh://[USER@]HOST, tcp://HOST:PORT or unix:///SOCKET. Episodes are divided among several hosts by worker (docs/how-to/use-docker-hosts.md). Default: DOCKER_HOST, or else the active Docker context."),
        Option("env", "environments", (), "NAME=PATH-or-image", "Maps a benchmark's name of an environment to this machine (repeatable): an interpreter for local sandboxes, or a docker image."),
    ),
    "cost and rate limits": (
        Option("limit", "limits", (), "PATTERN=LIMITS", "Limits of calls of the models whose names match the pattern, for all workers together (repeatable): rpm (requests per minute), tpm (tokens per minute), concurrency (calls at the same time), as in 'claude-*=rpm:50,tpm:40000,concurrency:8'. Default: as many calls as workers, fewer while the provider refuses calls."),
        Option("max-wait", "seconds", 1800.0, "S", "How long a model call may wait for rate limits and other calls. This time does not count against the episode's limits; a call that waits longer is an ERROR."),
        Option("cassette", "path", None, "DIR", "Directory of recorded answers of models: a run stores them there, and a later run replays them without calling the model."),
        Option("cassette-mode", "cassette", "auto", "MODE", "What --recode-cassette does: auto (replay what is recorded, ask for the rest and record it), record (ask for everything), replay (ask for nothing: no key and no network are needed, and an answer that is not recorded is an ERROR)."),
    ),
    "records": (
        Option("otel", "text", None, "URL", "Send each episode as an OpenTelemetry trace to this OTLP endpoint (HTTP), such as http://localhost:4318, as soon as it has ended (docs/how-to/export-to-other-tools.md). Needs the extra otel. An endpoint that fails changes no result."),
    ),
    "CI": (
        Option("baseline", "path", None, "FILE", "Compare the run with this baseline (`pytest-recode bless RUN -o FILE`), task by task, and add a test at the end that fails as --recode-fail-on says (docs/how-to/gate-a-pull-request.md). An unsolved episode is then not a failed test. Errors still fail the run."),
        Option("fail-on", "conditions", ("worse",), "WHAT", "With --recode-baseline, what fails the run (repeatable, or separated by commas): worse (significantly), any-lost-task (solved less often than in the baseline), cost:+20% or turns:+1 (more per episode, with any numbers)."),
        Option("markdown", "path", None, "FILE", "Write the summary as Markdown: scores, comparison with the baseline, errors. On GitHub Actions, it is also appended to the step's summary, without this option."),
    ),
    "validation of tasks": (
        Option("validate-seeds", "count", 3, "N", "With --recode-validate: secret seeds under which the reference and each answer in the task's proofs/ are graded."),
        Option("validate-json", "path", None, "FILE", "With --recode-validate: write all findings of all tasks as JSON, for CI (docs/reference/validation-json.md)."),
        Option("watch", "flag", False, "", "With --recode-validate: validate again whenever a file of a task changes, until Ctrl-C. Needs the extra watch."),
    ),
}  # fmt: skip
"""The options by purpose, in the order of `--help` and docs/reference/options.md."""
OPTIONS = tuple(option for options in GROUPS.values() for option in options)

_FIELDS = {
    "model": "models",
    "feedback": "feedbacks",
    "env": "environments",
    "limit": "limits",
    "docker-host": "docker_hosts",
}
"""Fields of Settings whose name differs from that of their option."""
_PREFIX = "--recode"
_LISTS = ("texts", "environments", "limits", "budgets", "conditions")
_NUMBERS: Mapping[str, type] = {"count": int, "seed": int, "number": float, "percent": float, "seconds": float}


def add(parser: pytest.Parser) -> None:
    for purpose, options in GROUPS.items():
        group = parser.getgroup(f"recode: {purpose}", f"pytest-recode: {purpose}")
        for option in options:
            default = f"default: {option.shown_default}; " if option.shown_default else ""
            text = option.help.replace("%", "%%") + f" [{default}ini: {option.ini}]"
            if option.kind == "flag":
                group.addoption(option.flag, action="store_true", default=None, dest=option.ini, help=text)
            else:
                action = "append" if option.kind in _LISTS else "store"
                group.addoption(
                    option.flag, action=action, default=None, dest=option.ini, metavar=option.metavar, help=text
                )
            parser.addini(option.ini, f"Default of {option.flag}.", type=_ini_type(option), default=None)


def _ini_type(option: Option) -> Any:
    """The type of an ini value. pytest 9 reads numbers of TOML files as numbers, and compares them with this type."""
    if option.kind in _LISTS:
        return "linelist"
    if option.kind == "flag":
        return "bool"
    number = _NUMBERS.get(option.kind)
    if number is None or pytest.version_tuple[:2] < (9, 0):
        return "string"
    # With `str`, a text arrives here and is quoted in the message about it; pytest 9.0 and 9.1 know no unions
    return number | str if pytest.version_tuple[:2] >= (9, 2) else number.__name__


def check_names(parser: pytest.Parser, args: Sequence[str]) -> None:
    """Raise `pytest.UsageError` for an unknown option whose name begins as those of this plugin. Other plugins may have such options, too."""
    if not any(arg.startswith(_PREFIX) for arg in args):
        return
    from difflib import get_close_matches

    _, unknown = parser.parse_known_and_unknown_args(args)
    for arg in unknown:
        if arg.startswith(_PREFIX):
            flag = arg.partition("=")[0]
            near = get_close_matches(flag.removeprefix(_PREFIX).strip("-"), [option.name for option in OPTIONS], 1)
            meant = f" (did you mean {_PREFIX}-{near[0]}?)" if near else ""
            raise pytest.UsageError(f"{flag}: no such option{meant}; pytest --help lists all of them")


def given(config: pytest.Config) -> bool:
    """Whether the command line or the ini file sets any option of this plugin."""
    return any(_raw(config, option)[0] is not None for option in OPTIONS)


def watches(config: pytest.Config) -> bool:
    """Whether `--recode-watch` is set. Imports nothing, because every session asks."""
    return bool(next(_raw(config, option)[0] for option in OPTIONS if option.name == "watch"))


def settings(config: pytest.Config) -> Settings:
    """Read and check all options. Raise `pytest.UsageError` with one line that names the option, the valid values and the given one."""
    from pytest_recode.plugin.run import conflicts
    from pytest_recode.settings import Settings

    values = {_field(option): _value(config, option) for option in OPTIONS}
    without, also_with = values.pop("no_paper"), values.pop("with_paper")
    values |= {"paper": also_with or not without, "ablation": also_with and without}
    values["python"] = values["python"] or sys.executable
    given = frozenset(_field(option) for option in OPTIONS if _raw(config, option)[0] is not None)
    values["max_cost"], values["max_cost_of"] = values["max_cost"] or (None, ())
    made = Settings(**values, explicit=given)
    return conflicts.checked(config, made)


def _field(option: Option) -> str:
    return _FIELDS.get(option.name, option.ini.removeprefix("recode_"))


def _raw(config: pytest.Config, option: Option) -> tuple[Any, str]:
    """The raw value, or None, and the name of the option or ini key that gave it."""
    value = config.getoption(option.ini)
    if value is not None:
        return value, option.flag
    try:
        value = config.getini(option.ini)
    except (TypeError, ValueError, pytest.UsageError) as error:  # pytest before 9.2 raises the first two
        raise pytest.UsageError(f"{option.ini} is not {_valid(option)} ({error})") from None
    return (None if value in (None, "", []) else value), option.ini


def _value(config: pytest.Config, option: Option) -> Any:
    raw, name = _raw(config, option)
    if raw is None:
        return option.default
    if option.kind in ("text", "path", *_LISTS) and not all(raw if isinstance(raw, list) else [raw]):
        raise pytest.UsageError(f"{name}= is empty: give it a value, or leave it out")
    if option.kind == "texts":
        return tuple(raw)
    if option.kind in ("limits", "budgets"):
        from pytest_recode.plugin.run import model_limits

        return (model_limits.limits if option.kind == "limits" else model_limits.budgets)(raw, name)
    if option.kind == "conditions":
        from pytest_recode.metrics import fail_on
        from pytest_recode.plugin.run.usage_errors import usage_errors

        with usage_errors():
            return tuple(map(str, fail_on.conditions(raw, name)))
    if option.kind == "environments":
        from pytest_recode.plugin.run.environments import read
        from pytest_recode.plugin.run.usage_errors import usage_errors

        with usage_errors():
            return read(raw, name, config.rootpath if name == option.ini else config.invocation_params.dir)
    if option.kind == "path":
        # A path in the ini file is relative to that file, as in pytest; one on the command line to the current directory
        base = config.rootpath if name == option.ini else config.invocation_params.dir
        return base / Path(raw).expanduser()
    if option.kind in _CHECKS:
        convert, accepts, words = _CHECKS[option.kind]
        try:
            value = convert(raw)
        except ValueError:
            value = None
        if value is None or not accepts(value):
            raise pytest.UsageError(f"{name}={raw} is not {words}")
        return value
    return raw


def _valid(option: Option) -> str:
    """The valid values of an option, in words."""
    if option.kind in _LISTS:
        return f'a list of texts, as in ["{option.metavar}"]'
    return "true or false" if option.kind == "flag" else _CHECKS[option.kind][2] if option.kind in _CHECKS else "a text"


def _shard(text: str) -> Shard:
    from pytest_recode.settings import parse_shard  # not imported in a session without tasks

    return parse_shard(text)


def _is_address(text: str) -> bool:
    from pytest_recode.models.address import is_address  # not imported in a session without tasks

    return is_address(text)


_CHECKS: dict[str, tuple[Callable[[str], Any], Callable[[Any], bool], str]] = {
    "count": (int, lambda n: 1 <= n <= 10_000, "a whole number from 1 to 10000"),
    "number": (float, lambda x: 0 <= x <= 2, "a number from 0 to 2"),
    "percent": (float, lambda x: x == 0 or 1 <= x <= 100, "a percentage: 0, or from 1 to 100, as in 30 for 30 %"),
    "seconds": (float, lambda x: 0 < x <= 86_400, "a number of seconds above 0, up to 86400"),
    "address": (
        str,
        lambda url: _is_address(url),
        "an address such as http://localhost:8000/v1 (with a port up to 65535)",
    ),
    "researcher": (str, lambda who: who in ("auto", "person", "files"), "auto, person or files"),
    "seed": (int, lambda n: 0 <= n < 2**64, "a whole number from 0 to 2**64 - 1"),
    "shard": (_shard, lambda _: True, "K/N with whole numbers from 1 and K up to N, such as 3/8"),
    "scope": (str, lambda what: what in {"failing", "all"}, "failing or all"),
    "writer": (
        str,
        lambda how: how in {"with-reference", "without-reference"},
        "with-reference or without-reference",
    ),
    "level": (str, lambda level: level in {"L1", "L2", "L3", "L4"}, "L1, L2, L3 or L4"),
    "cassette": (str, lambda mode: mode in {"auto", "record", "replay"}, "auto, record or replay"),
    "progress": (str, lambda where: where in {"auto", "live", "plain", "off"}, "auto, live, plain or off"),
    "output": (str, lambda what: what in {"none", "full"}, "none or full"),
}


def markdown() -> str:
    """Return the text of docs/reference/options.md."""
    lines = [
        "# Options",
        "",
        "For people who look up an option. Every option can also be set in pytest's configuration (`pytest.ini`, `tox.ini`, `pyproject.toml`,",
        "`pytest.toml`) under its ini name; the command line takes precedence. Repeatable options take a list there, one value per line in an",
        'ini file and `["L0", "L4"]` in TOML. `[tool.pytest]` and `pytest.toml` (pytest 9) accept numbers as numbers: `recode_attempts = 2`.',
    ]
    for purpose, options in GROUPS.items():
        title = purpose[0].upper() + purpose[1:]
        lines += ["", f"## {title}", "", "| option | ini | default | what it does |", "|---|---|---|---|"]
        lines += map(_row, options)
    return "\n".join(lines) + "\n"


def _row(option: Option) -> str:
    """A row of docs/reference/options.md."""
    flag = option.flag + (f" {option.metavar}" if option.metavar else "")
    shown = f"`{option.shown_default}`" if option.shown_default else ""
    text = option.help.replace("|", "\\|")
    return f"| `{flag}` | `{option.ini}` | {shown} | {text} |"
