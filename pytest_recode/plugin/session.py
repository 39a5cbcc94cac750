"""The run of one pytest session: settings, sandbox, ledger, and the hold on its directory. Made once per process, closed with it.

`preflight.py` checks it before anything is spent; `report.py` reports it.
"""

from __future__ import annotations

import functools
import logging
import secrets
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import RecordsError, SandboxError, UserError
from pytest_recode.plugin import directory, options, registry
from pytest_recode.plugin.preflight import usage_errors
from pytest_recode.records.run_directory import RunLock, in_use
from pytest_recode.stopping import Stops

if TYPE_CHECKING:
    from pytest_recode.episode.assembly import Cast
    from pytest_recode.episode.stored_turns import Replay
    from pytest_recode.feedback.person import Ask
    from pytest_recode.formats import Format
    from pytest_recode.models import ModelContext
    from pytest_recode.records.ledger import FileLedger
    from pytest_recode.records.record import EpisodeFacts, Record
    from pytest_recode.sandboxes import Sandbox, SandboxContext
    from pytest_recode.settings import Settings
    from pytest_recode.task import Environment

LOG = logging.getLogger("pytest_recode")


class Run:
    """Holds the sandbox (warm), the ledger and the directory of records. Every part is made when it is first needed."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = options.settings(config)
        self.replays = self._replays()
        self.worker: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        told = self.worker or {}
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        self.id: str = told.get("recode_run") or f"{stamp}-{secrets.token_hex(3)}"
        self.out = Path(told.get("recode_out") or self.settings.out or config.rootpath / "recode-out" / self.id)
        self.prepared = False
        self.tasks: dict[str, Path] = {}
        self.by_format: dict[str, Settings] = {}  # of the formats met at collection
        self.ids: frozenset[str] = frozenset()  # of this run's items, once collected
        self.environments: Mapping[Environment, Sequence[str]] = {}  # of these items' tasks, with the tasks' ids
        self.retried: set[str] = set()  # ids of episodes that an earlier run has an error of
        self._played: set[str] = set()  # ids of episodes that this process has begun
        self._repeats = False
        self._sandbox: Sandbox | None = None
        self._held = ExitStack()
        self._lock: RunLock | None = None
        self._holds = False
        self.stops = Stops(self._check_directory)

    def _replays(self) -> tuple[Replay, ...]:
        """The stored turns to replay, with the models of this run. Raises `pytest.UsageError`."""
        settings = self.settings
        if settings.replay_feedback is None:
            return ()
        from pytest_recode.episode.stored_turns import replays

        with usage_errors():
            found = replays(settings.replay_feedback)
            models = tuple(dict.fromkeys(model for each in found if (model := each.facts["model"])))
            for name in settings.models:
                if name not in models:
                    raise UserError(
                        f"--recode-model={name} played nothing in {settings.replay_feedback}: choose from {', '.join(models)}"
                    )
        self.settings = replace(settings, models=settings.models or models)
        return tuple(each for each in found if each.facts["model"] in self.settings.models)

    def notify(self, line: str) -> None:
        """Write a line to the terminal immediately, if there is one."""
        manager = self.config.pluginmanager
        terminal: Any = manager.get_plugin("terminalreporter")
        if terminal is None:
            return
        capture: Any = manager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            terminal.write_line(f"recode: {line}", yellow=True)
            terminal.flush()

    @functools.cached_property
    def registry(self) -> registry.Registry:
        return registry.collect(self.config.pluginmanager)

    @property
    def asks(self) -> str | None:
        """None if episodes can run; else why they are skipped, with the option to set."""
        return self.asks_with(self.settings)

    def asks_with(self, settings: Settings) -> str | None:
        if settings.validate or settings.models or not self.registry.agent(settings.agent).needs_model:
            return None
        return "no model was named: give --recode-model=NAME, for example --recode-model=sim/graduate (offline)"

    def settings_for(self, task_format: Format) -> Settings:
        """The settings for a format's tasks. Raises `UserError` if its defaults and the options contradict each other."""
        from pytest_recode.settings import check_memory, for_format

        if task_format.name not in self.by_format:
            agent = self.registry.agent(for_format(self.settings, task_format.defaults).agent)
            made = for_format(self.settings, {**agent.defaults, **task_format.defaults})
            check_memory(made)
            for policy in made.feedbacks:
                self.registry.policy(policy)
            if made.feedback_model and made.feedbacks == ("none",) and made.feedbacks != self.settings.feedbacks:
                raise UserError(
                    f"--recode-feedback-model has nothing to write for {task_format.name} tasks, which get no feedback unless"
                    " --recode-feedback says which: give both, or leave --recode-feedback-model out"
                )
            self.by_format[task_format.name] = made
        return self.by_format[task_format.name]

    @functools.cached_property
    def offline(self) -> bool:
        """Whether this run has only built-in offline agents and models, and so executes only this project's code."""
        settings = self.settings
        known = self.registry
        models = [model for model in (*settings.models, settings.feedback_model, settings.search_model) if model]
        agents = {settings.agent, *(each.agent for each in self.by_format.values())}
        return (settings.validate or all(known.own("agents", agent) for agent in agents)) and all(
            known.own("models", model) and known.model(model).offline for model in models
        )

    @functools.cached_property
    def sandbox_name(self) -> str:
        from pytest_recode.sandboxes.choose import choose

        return choose(
            self.settings.sandbox,
            self.sandbox_context,
            self.registry.sandboxes(self.settings.sandbox),
            all_offline=self.offline,
            local=self._local,
        )

    @property
    def _local(self) -> bool:
        """Whether the user named an interpreter of this machine and no image."""
        settings = self.settings
        named = [each for each in self.environments if each.name]
        interpreters = "python" in settings.given or any(each.python for each in named)
        return interpreters and not settings.image and not any(each.image for each in named)

    @property
    def sandbox(self) -> Sandbox:
        if self._sandbox is None:
            self._sandbox = self.registry.sandbox(self.sandbox_name).make(self.sandbox_context)
        return self._sandbox

    def plays(self, nodeid: str) -> bool:
        """Whether this process begins this episode for the first time. Warns once if one is begun again."""
        if nodeid not in self._played:
            self._played.add(nodeid)
            return True
        if not self._repeats:
            self._repeats = True
            LOG.warning(
                "%s is run again by pytest or a plugin: its one result stands, since each episode is asked once;"
                " --recode-attempts=N asks for more", nodeid,
            )  # fmt: skip
        return False

    def drop_sandbox(self) -> None:
        """After an interrupt in the middle of something: the next item gets a fresh one."""
        sandbox, self._sandbox = self._sandbox, None
        if sandbox is not None:
            try:
                sandbox.close()
            except SandboxError as error:  # not in the way of what ends here: an interrupt, or the session
                LOG.warning("%s: what is left of this run is removed by the next one", error)

    @functools.cached_property
    def ledger(self) -> FileLedger:
        from pytest_recode.records.ledger import FileLedger

        return FileLedger(self.out / "spending.jsonl", self.settings.max_cost, self.stops)

    def cast(self, model: str | None, policy: str, settings: Settings) -> Cast:
        from pytest_recode.episode.assembly import Cast

        return Cast(
            agent=self.registry.agent(settings.agent),
            model=self.registry.model(model) if model else None,
            policy=self.registry.policy(policy),
            feedback_model=self.registry.model(settings.feedback_model) if settings.feedback_model else None,
            search_model=self.registry.model(settings.search_model) if settings.search_model else None,
            table=self.table(),
            person=self._person(settings),
        )

    def _person(self, settings: Settings) -> Ask | None:
        from pytest_recode.plugin import human_feedback

        return human_feedback.ask(settings.feedback_from, self.config, self.out)

    def claim_directory(self) -> None:
        """Make `out` the directory of this run, in the controlling process. Raises `UserError` and `RecordsError`."""
        self.retried = directory.claim(self.out, self.settings, self.ids, self._check_settings, self.notify)
        self._lock = RunLock.claim(self.out, self.id)
        self.stops.on_request.append(self._lock.release)
        self.ledger.begin(self.id)
        self.hold()

    def hold(self) -> None:
        """Mark the directory as written to by this process, until it ends. Raises `RecordsError` in a worker that sees another one."""
        if not self._holds:
            if self.worker is not None:
                self._lock = RunLock.join(self.out, self.id, self.worker["workerid"])
                self.stops.follow(self._lock.wait_for_release)
            self._held.enter_context(in_use(self.out))
            self._holds = True

    def _check_directory(self) -> None:
        if self._lock is not None:
            self._lock.check()

    def cut_off(self) -> None:
        """An episode of this process ended: whatever call it still has open, nobody waits for its answer."""
        if "ledger" in vars(self):
            with suppress(RecordsError):  # the call's own line is in the file in any event
                self.ledger.abandon("cut off")

    @property
    def asks_models(self) -> bool:
        """Whether this session plays episodes with models, if it has any items for that."""
        return bool(self.settings.models) and not self.settings.validate

    @functools.cached_property
    def finished(self) -> Mapping[str, Record]:
        """The records of finished episodes of an earlier run in this directory, by node id."""
        return directory.finished(self.out) if self.settings.resume else {}

    def _check_settings(self, record: EpisodeFacts) -> None:
        """Raises `UserError` where an earlier run in this directory was another experiment."""
        from pytest_recode.episode.setup import check_settings

        task_format = self.registry.format(Path(record["nodeid"].partition("::")[0]).name)
        if task_format is not None and record.get("replay") is None:
            check_settings(record, self.settings_for(task_format))

    def close(self) -> None:
        self.drop_sandbox()
        self._held.close()
        if self._lock is not None and self.worker is None:
            self._lock.close()
        if self._holds and self.worker is None:
            directory.leave(self.out)

    @functools.cached_property
    def sandbox_context(self) -> SandboxContext:
        """Made when the first item runs: by then all is collected, so that all there is to hide is known."""
        from pytest_recode.sandboxes import SandboxContext
        from pytest_recode.sandboxes.interpreters import interpreter

        hide = {path.resolve() for path in (self.out, self.settings.replay_feedback) if path is not None}
        for manifest in self.tasks.values():
            for root in {manifest.parent, manifest.resolve().parent}:
                hide |= {path.resolve() for path in (root, root / "tests", root / "reference")}
        python = interpreter(self.settings.python)
        root = self.config.rootpath.resolve()
        if not any(
            path.resolve().is_relative_to(root) for path in (python.prefix, python.base_prefix, *python.libraries)
        ):
            hide.add(root)
        return SandboxContext(
            run=self.id,
            python=self.settings.python,
            image=self.settings.image,
            hide=tuple(sorted(map(str, hide))),
        )

    def table(self) -> Mapping[str, Mapping[str, Any]]:
        if self.settings.models_file is None:
            return {}
        from pytest_recode.models.table import load_table

        return load_table(self.settings.models_file)

    def model_contexts(self) -> list[ModelContext]:
        """One for each model that this run asks."""
        from pytest_recode.plugin import model_check

        return model_check.contexts(self.settings, self.ledger, self.table())
