"""The sandbox in which this process runs its items. One per process; created when an item needs it.

If the run has several Docker hosts, each worker uses one, and moves to another after an error of the sandbox.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import SandboxError, raised

if TYPE_CHECKING:
    from pytest_recode.plugin.collection.collected import CollectedTasks
    from pytest_recode.plugin.collection.registry import Registry
    from pytest_recode.sandboxes import Sandbox, SandboxContext, SandboxKind
    from pytest_recode.sandboxes.launch_server import LaunchAddress
    from pytest_recode.settings import Settings

LOG = logging.getLogger("pytest_recode")


class SandboxHolder:
    """Chooses, creates and closes the sandbox. `out` is the directory of records, `root` that of the session. `worker`: xdist's id of this
    process; "" without workers. `launches`: where the controlling process launches from warm parents that all workers share; None:
    this process has its own. `notify`: see `choose`."""

    def __init__(
        self,
        *,
        settings: Settings,
        registry: Registry,
        collected: CollectedTasks,
        run: str,
        out: Path,
        root: Path,
        worker: str = "",
        launches: LaunchAddress | None = None,
        notify: Callable[[str], None] | None = None,
    ) -> None:
        self._settings = settings
        self._registry = registry
        self._collected = collected
        self._run = run
        self._out = out
        self._root = root.resolve()
        self._launches = launches
        self._notify = notify
        number = int("".join(filter(str.isdigit, worker)) or 0)
        self._hosts = order_of(settings.docker_hosts, number)
        self._sandbox: Sandbox | None = None
        self._left: list[Sandbox] = []  # of hosts that failed; closed at the end

    @functools.cached_property
    def name(self) -> str:
        from pytest_recode.plugin.run.casting import all_offline
        from pytest_recode.sandboxes.choose import candidates, choose

        kinds = self._registry.sandboxes(self._settings.sandbox)
        if self._settings.docker_hosts:
            # `preflight.py` checks all of them; later, one that fails is an error of its episodes
            return next(name for name in candidates(kinds) or kinds if kinds[name].hosts)
        return choose(
            self._settings.sandbox,
            self.context,
            kinds,
            all_offline=all_offline(self._settings, self._registry, self._collected.settings),
            local=self._local,
            names_image=self._names_image,
            notify=self._notify,
        )

    @property
    def _local(self) -> bool:
        """Whether the user named an interpreter of this machine and no image."""
        settings = self._settings
        named = [each for each in self._collected.environments if each.name]
        interpreters = "python" in settings.explicit or any(each.python for each in named)
        return interpreters and not settings.image and not any(each.image for each in named)

    @property
    def _names_image(self) -> bool:
        """Whether the user or a task names an image, so that bubblewrap cannot take docker's place."""
        return bool(self._settings.image) or any(each.image or each.dockerfile for each in self._collected.environments)

    @functools.cached_property
    def context(self) -> SandboxContext:
        """Created when the first item runs, after collection, when all directories to hide are known."""
        from pytest_recode.sandboxes import SandboxContext
        from pytest_recode.sandboxes.hiding import hidden

        settings = self._settings
        others = [path for path in (self._out, settings.replay_feedback, settings.cassette) if path is not None]
        return SandboxContext(
            run=self._run,
            python=settings.python,
            image=settings.image,
            hide=hidden(self._collected.tasks.values(), others, self._root, settings.python),
            workers=settings.in_flight,
        )

    def contexts(self) -> list[SandboxContext]:
        """The context for each host of the run, or the only one."""
        return [replace(self.context, host=host) for host in self._settings.docker_hosts] or [self.context]

    def get(self) -> Sandbox:
        if self._sandbox is None:
            kind = self._registry.sandbox(self.name)
            context = self._answering(kind) if len(self._hosts) > 1 else self.contexts()[0]
            self._sandbox = kind.make(context)
            if kind.local and self._launches is not None:
                from pytest_recode.sandboxes.launch_client import LaunchClient

                self._sandbox = LaunchClient(self.name, self._sandbox, context, self._launches)
        return self._sandbox

    def failed(self) -> None:
        """Note an error of the sandbox: the next item uses the next host that answers, if the run has several."""
        if len(self._hosts) > 1:
            if self._settings.in_flight > 1:  # other episodes play there
                self._left += filter(None, [self._sandbox])
                self._sandbox = None
            else:
                self.drop()
            self._hosts.append(self._hosts.pop(0))

    def _answering(self, kind: SandboxKind) -> SandboxContext:
        """The context of the first host that answers, or of the first one if none does: the item then reports the error."""
        for host in tuple(self._hosts):
            context = replace(self.context, host=host)
            problem = kind.check(context)
            if problem is None:
                self._hosts.remove(host)
                self._hosts.insert(0, host)
                return context
            LOG.warning("%s", problem)
        return replace(self.context, host=self._hosts[0])

    def drop(self) -> None:
        """Close the sandbox; the next item gets a new one. Called at the end, and after an interrupted item."""
        closed = [*filter(None, [self._sandbox]), *self._left]
        self._sandbox, self._left = None, []
        for sandbox in closed:
            try:
                sandbox.close()
            except SandboxError as error:  # do not hide the reason for the end: an interrupt, or the end of the session
                LOG.warning("%s: the next run removes what remains of this one", error)
            except Exception as error:  # noqa: BLE001  nor a sandbox of others
                LOG.warning("sandbox %s: close() raised %s", self.name, raised(error))


def order_of(hosts: Sequence[str], worker: int) -> list[str]:
    """The hosts in the order in which a worker tries them. Workers are divided evenly among the hosts, and those of a host that fails
    evenly among the others."""
    if not hosts:
        return []
    own, turn = worker % len(hosts), worker // len(hosts)
    others = [*hosts[own + 1 :], *hosts[:own]]
    first = turn % len(others) if others else 0
    return [hosts[own], *others[first:], *others[:first]]
