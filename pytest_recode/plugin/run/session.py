"""The run of one pytest session: its settings, and the holders of its resources. Created once per process, and closed with it.

`opening.py` opens it; `preflight.py` checks it before the first model call; `reporter.py` reports it. It imports no module that uses a Run.
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
from pytest_recode.plugin import options
from pytest_recode.plugin.collection import registry
from pytest_recode.plugin.collection.collected import CollectedTasks
from pytest_recode.plugin.run import casting
from pytest_recode.plugin.run.directory import RunDirectory
from pytest_recode.plugin.run.run_ledger import run_ledger
from pytest_recode.plugin.run.sandbox_holder import SandboxHolder
from pytest_recode.plugin.run.usage_errors import usage_errors
from pytest_recode.stopping import Stops

if TYPE_CHECKING:
    from pytest_recode.episode.assembly import Cast
    from pytest_recode.episode.stored_turns import Replay
    from pytest_recode.formats import Format
    from pytest_recode.gateway.forwarding import ForwardedSocket
    from pytest_recode.gateway.remote_run import RemoteLedger, RemoteRun
    from pytest_recode.models import GatewayAddress, ModelContext
    from pytest_recode.plugin.workers.stopped_processes import StoppedProcesses
    from pytest_recode.records.ledger import FileLedger
    from pytest_recode.records.record import EpisodeFacts
    from pytest_recode.sandboxes.launch_server import LaunchServer
    from pytest_recode.settings import Settings
    from pytest_recode.shards.shard_file import ShardFile
    from pytest_recode.task import Task
    from pytest_recode.validation.gradings import CommonGrader

LOG = logging.getLogger("pytest_recode")


class Run:
    """One process's state of the run, and the holders of its resources: directory, sandbox and ledger."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.settings = options.settings(config)
        self.replays = self._replays()
        self.worker: Mapping[str, Any] | None = getattr(config, "workerinput", None)
        worker_input = self.worker or {}
        stamp = time.strftime("%Y%m%d-%H%M%S", time.gmtime())
        self.id: str = worker_input.get("recode_run") or f"{stamp}-{secrets.token_hex(3)}"
        self.out = Path(worker_input.get("recode_out") or self.settings.out or config.rootpath / "recode-out" / self.id)
        self.prepared = False
        self.announced: list[str] = []  # lines for the user of before there is a terminal
        self.refused = ""  # why nothing was played: what the user must correct
        self.collected = CollectedTasks()
        self.directory = RunDirectory(
            self.out, run=self.id, worker=worker_input.get("workerid"), resume=self.settings.resume, remote=self._remote
        )
        self.stops = Stops(self.directory.check)
        self._held = ExitStack()
        self._held.callback(self.directory.close)
        self._common_grader: CommonGrader | None = None
        self._played: set[str] = set()  # ids of episodes that this process has started
        self._repeats = False

    def _replays(self) -> tuple[Replay, ...]:
        """The stored turns to replay, whose agents and models this run has. Raises `pytest.UsageError`."""
        settings = self.settings
        if settings.replay_feedback is None:
            return ()
        from pytest_recode.episode.stored_turns import replays

        with usage_errors():
            stored_turns = replays(settings.replay_feedback)
            models = tuple(dict.fromkeys(model for turn in stored_turns if (model := turn.facts["model"])))
            if not models:
                raise UserError(
                    f"--recode-replay-feedback={settings.replay_feedback}: no model played its episodes: give the directory of a run"
                    " with --recode-model"
                )
            for name in settings.models:
                if name not in models:
                    raise UserError(
                        f"--recode-model={name} has no episodes in {settings.replay_feedback}: choose from {', '.join(models)}"
                    )
        chosen = tuple(turn for turn in stored_turns if turn.facts["model"] in (settings.models or models))
        agents = tuple(dict.fromkeys(turn.facts["agent"] for turn in chosen))
        explicit = settings.explicit | {"agents"}  # whatever a format's tasks are played with elsewhere
        self.settings = replace(settings, models=settings.models or models, agents=agents, explicit=explicit)
        return chosen

    def notify(self, line: str) -> None:
        """Write a line to the terminal immediately, if there is one."""
        manager = self.config.pluginmanager
        terminal: Any = manager.get_plugin("terminalreporter")
        if terminal is None:
            return
        capture: Any = manager.get_plugin("capturemanager")
        with capture.global_and_fixture_disabled() if capture else nullcontext():
            if self.config.get_terminal_writer().width_of_current_line:  # dots of finished tests
                terminal.write("\n")
            terminal.write_line(f"recode: {line}", yellow=True)
            terminal.flush()

    @functools.cached_property
    def registry(self) -> registry.Registry:
        return registry.collect(self.config.pluginmanager)

    def settings_for(self, task_format: Format) -> tuple[Settings, ...]:
        """The settings for a format's tasks, one for each agent. Raises `UserError` if defaults and the options contradict each other."""
        from pytest_recode.settings import check_memory

        if task_format.name not in self.collected.by_format:
            owns = casting.for_agents(self.settings, task_format.defaults, self.registry)
            for own in owns:
                check_memory(own)
                self.registry.check_policies(own.feedbacks)
                if own.feedback_model and own.feedbacks == ("none",) and own.feedbacks != self.settings.feedbacks:
                    raise UserError(
                        f"--recode-feedback-model has nothing to write for {task_format.name} tasks, which get no feedback without"
                        " --recode-feedback: give both, or leave --recode-feedback-model out"
                    )
            self.collected.by_format[task_format.name] = owns
        return self.collected.by_format[task_format.name]

    def plays(self, nodeid: str) -> bool:
        """Whether this process starts this episode for the first time. Warns once if an episode is started again."""
        if nodeid not in self._played:
            self._played.add(nodeid)
            return True
        if not self._repeats:
            self._repeats = True
            LOG.warning(
                "%s is run again by pytest or a plugin: its first result counts, because each episode is played once;"
                " --recode-attempts=N plays more", nodeid,
            )  # fmt: skip
        return False

    @functools.cached_property
    def ledger(self) -> FileLedger | RemoteLedger:
        """The ledger for models that run in this process. In a worker, not before the controller has claimed the directory."""
        if self.directory.remote is None:
            return self.ledger_file
        from pytest_recode.gateway.remote_run import RemoteLedger

        return RemoteLedger(self.directory.remote, self.stops)

    @functools.cached_property
    def ledger_file(self) -> FileLedger:
        return run_ledger(self.out, self.settings, self.stops)

    @functools.cached_property
    def gateway(self) -> GatewayAddress | None:
        """Where the process listens that calls the models; None if no model needs it. The controlling process starts it."""
        from pytest_recode.models import GatewayAddress

        given = (self.worker or {}).get("recode_gateway")
        if given is not None or self.worker is not None:
            return self._reachable(GatewayAddress(**given)) if given else None
        if not casting.needs_gateway(self.settings, self.registry) or self.config.option.collectonly:
            return None
        return self._start_gateway(models=True)

    @functools.cached_property
    def file_server(self) -> GatewayAddress:
        """Where workers on other hosts reach this run's directory, in the controlling process."""
        return self.gateway or self._start_gateway(models=False)

    def _start_gateway(self, *, models: bool) -> GatewayAddress:
        from pytest_recode.plugin.run import gateway

        programs = models and any(self.registry.agent(name).program for name in self.settings.agents)
        calls = gateway.calls(self.config, self.settings.in_flight, programs=programs)
        process = gateway.start(self.settings, self.out, self.id, calls, self.notify, models=models)
        self._held.callback(process.close)
        self.stops.on_request.append(process.stop)
        self.stopped_processes.add("the gateway, which calls the models,", lambda: process.pid)
        return process.address

    @functools.cached_property
    def stopped_processes(self) -> StoppedProcesses:
        """What reports stopped workers, and a stopped gateway, in the controlling process."""
        from pytest_recode.plugin.workers.stopped_processes import StoppedProcesses

        watch = StoppedProcesses(self.notify)
        self.stops.on_request.append(watch.resume)
        self._held.callback(watch.close)
        return watch

    def _remote(self) -> RemoteRun | None:
        """In a worker that may be on another host: the run's directory as the gateway serves it; None in any other process."""
        address = (self.worker or {}).get("recode_file_server")
        if not address:
            return None
        from pytest_recode.gateway.remote_run import RemoteRun
        from pytest_recode.models import GatewayAddress

        return RemoteRun(self.out, self._reachable(GatewayAddress(**address)), str((self.worker or {})["workerid"]))

    def _reachable(self, address: GatewayAddress) -> GatewayAddress:
        """The address at which this worker reaches the gateway: on another host, a forwarded one."""
        if Path(address.socket).parent.exists() or not (self.worker or {}).get("recode_forward"):
            return address
        return replace(address, socket=self._forwarded.path)

    @functools.cached_property
    def _forwarded(self) -> ForwardedSocket:
        from pytest_recode.gateway.forwarding import ForwardedSocket

        made = ForwardedSocket((self.worker or {})["recode_forward"])
        self._held.callback(made.close)
        return made

    @functools.cached_property
    def launches(self) -> LaunchServer:
        """What launches for the workers of this machine, in the controlling process."""
        from pytest_recode.plugin.run import gateway
        from pytest_recode.sandboxes.launch_server import LaunchServer

        server = LaunchServer(self.registry.sandbox, gateway.workers(self.config, self.settings.in_flight))

        def close() -> None:
            try:
                server.close()
            except SandboxError as error:  # do not hide how the session ended
                LOG.warning("%s: the next run removes what remains of this one", error)

        self._held.callback(close)
        return server

    @functools.cached_property
    def sandbox(self) -> SandboxHolder:
        from pytest_recode.sandboxes.launch_server import LaunchAddress

        address = (self.worker or {}).get("recode_launches")
        holder = SandboxHolder(
            settings=self.settings,
            registry=self.registry,
            collected=self.collected,
            run=self.id,
            out=self.out,
            root=self.config.rootpath,
            worker=(self.worker or {}).get("workerid", ""),
            launches=LaunchAddress(**address) if address else None,
            notify=self.notify if self.worker is None or self.directory.remote is not None else None,
        )
        self._held.callback(holder.drop)
        self._held.callback(self._close_common_grader)
        return holder

    def common_grader(self, task: Task) -> CommonGrader:
        """What the checks of `task` share, for as long as this process validates it in the same sandbox."""
        from pytest_recode.validation.gradings import CommonGrader

        sandbox = self.sandbox.get()
        grader = self._common_grader
        if grader is None or grader.task is not task or grader.sandbox is not sandbox:
            self._close_common_grader()
            self._common_grader = grader = CommonGrader(task, sandbox, self.settings.shared_verifier)
        return grader

    def _close_common_grader(self) -> None:
        if self._common_grader is not None:
            self._common_grader.close()

    def claim_directory(self, shard: ShardFile | None) -> None:
        """Make `out` the directory of this run, in the controlling process. Raises `UserError` and `RecordsError`.

        `shard`: the content of shard.json; None without `--recode-shard`.
        """
        self.directory.claim(self.settings, self.collected.ids, self.check_settings, self.notify, self.stops, shard)
        self.ledger_file.begin(self.id, calls=bool(self.model_contexts()))
        self.directory.use(self.stops)

    def cut_off(self) -> None:
        """Abandon open calls of an episode that ended in this process: nothing waits for their answers."""
        if "ledger" in vars(self):
            with suppress(RecordsError):  # the line of the call is in the file already
                self.ledger.abandon("cut off")

    @property
    def calls_models(self) -> bool:
        """Whether this session plays episodes with models, if it has any items for that."""
        return bool(self.settings.models) and not self.settings.validate

    @property
    def person(self) -> str:
        """The agent that is a person at the terminal, by its name, if this session has episodes; "" if none is."""
        settings = self.settings
        plays = not settings.validate and settings.replay_feedback is None
        people = (name for name in settings.agents if plays and self.registry.agent(name).needs_person)
        return next(people, "")

    def check_settings(self, record: EpisodeFacts) -> None:
        """Raise `UserError` if the earlier run in this directory had other settings."""
        from pytest_recode.episode.setup import check_settings
        from pytest_recode.plugin.collection.episode_names import check_name, of_record

        task_format = self.registry.format(Path(record["nodeid"].partition("::")[0]).name)
        if task_format is not None and record.get("replay") is None:
            owns = self.settings_for(task_format)
            check_settings(record, of_record(record, owns))
            check_name(record, owns)

    @property
    def skip_reason(self) -> str | None:
        """None if episodes can run; otherwise the reason why they are skipped, with the option to set."""
        return casting.lacks_model(self.settings, self.registry)

    def cast(self, model: str | None, policy: str, settings: Settings, formats: Sequence[str] = ()) -> Cast:
        from pytest_recode.plugin.run import human_feedback, terminal

        if settings.feedback_from == "files" and self.directory.remote is not None:
            raise UserError(
                "--recode-feedback-from=files exchanges files in the run's directory, which this worker does not see: use workers"
                " on the machine of that directory, such as -n 4"
            )
        person = human_feedback.ask(settings.feedback_from, self.config, self.out)
        asked = terminal.of_agent(self.config)
        named = (self.sandbox.name, formats)
        return casting.cast(settings, self.registry, model, policy, person, asked, self.gateway, *named)

    def model_contexts(self) -> list[ModelContext]:
        """A context for each model that this run calls."""
        from pytest_recode.plugin.run import model_check

        return model_check.contexts(
            self.settings, self.ledger, casting.model_table(self.settings), vars(self).get("gateway")
        )

    def close(self) -> None:
        self._held.close()


RUN = pytest.StashKey[Run]()  # not set in a session without options and tasks of this plugin


def run_of(config: pytest.Config) -> Run:
    """The Run of a session that has collected a task, or has an option of this plugin."""
    return config.stash[RUN]
