"""The docker sandbox: each launch in a container of its own, without network, privileges or a writable system. Runs on the host.

The program is sent over standard input (`inside/runtime/bootstrap.py`, `inside/runtime/container_init.py`); nothing is mounted.
Spare containers are started in the background, so that a launch does not wait for one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.owned_directory import alive
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind, ssh_tunnel
from pytest_recode.sandboxes.addresses import in_use, on, shown
from pytest_recode.sandboxes.container_config import HOST, LABEL, OWNER, ContainerKind
from pytest_recode.sandboxes.containers import Container, ContainerGone
from pytest_recode.sandboxes.daemon import client, connected, host, unanswered, wait_removed
from pytest_recode.sandboxes.images import BASE, base_image, has_image, image_for
from pytest_recode.sandboxes.leftovers import reap_directories
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.task import Environment, Limits

_KINDS = 3  # kinds of spare containers: a grader, a candidate and a workspace of one environment
_MOST_OF_A_KIND = 4
_REMEMBERED = 50  # containers started last; older ones have been removed


class Docker:
    """A `Sandbox` of one daemon, which may be on another machine: everything goes over its API, and no file is shared with it.

    A launch that finds no spare container waits for one to start, and increases the number of spares of its kind by one. Spares are
    started only while no program other than a workspace runs, because a start takes processor time.
    """

    name = "docker"
    isolation = "separate"
    memory_limit = "control group of the container"

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._address = context.host
        self.host = shown(in_use(context.host))
        self._images: dict[Environment, str] = {}
        self._spares: OrderedDict[ContainerKind, deque[_Spare]] = (
            OrderedDict()
        )  # the most recently launched kind is last
        self._wished: dict[ContainerKind, int] = {}
        self._running = 0  # launches of programs that are not persistent
        self._started: deque[str] = deque(maxlen=_REMEMBERED)
        self._closed = False
        self._lock = threading.RLock()

    def ready(self, environment: Environment) -> None:
        self._image(environment)

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        kind = ContainerKind(
            key=WarmKey.of(program, environment, ""),
            image=self._image(environment),
            image_name=environment.image or str(environment.dockerfile or self._context.image or BASE),
            memory_mb=limits.memory_mb,
            disk_mb=limits.disk_mb,
            pids=limits.pids,
            workdir=environment.workdir,
            variables=environment.variables,
            root=environment.root,
        )
        try:
            container = self._next(kind).take()
        except ContainerGone:  # it ended before use: try once more
            try:
                container = self._spare(kind).take()
            except ContainerGone as exc:
                raise SandboxError(
                    f"a container of {kind.image_name}{on(self._address)} ended before its program started: {exc}"
                ) from exc
        with self._lock:
            self._running += not program.persistent
        container.then = lambda: self._ended(program.persistent)
        return container

    def close(self) -> None:
        """Wait until the containers of this sandbox are removed. Raises `SandboxError` if the daemon does not answer."""
        with self._lock:
            self._closed = True
            spares = [spare for kept in self._spares.values() for spare in kept]
            self._spares.clear()
        with ExitStack() as steps:  # takes every step, even if one fails
            steps.callback(ssh_tunnel.close, in_use(self._address))
            steps.callback(self._wait_removed)
            steps.callback(_drop, spares)

    def _wait_removed(self) -> None:
        started = [self._started.popleft() for _ in range(len(self._started))]
        if started:
            wait_removed(started, self._address)

    def _next(self, kind: ContainerKind) -> _Spare:
        with self._lock:
            spares = self._spares.setdefault(kind, deque())
            self._spares.move_to_end(kind)
            if spares:
                return spares.popleft()
            self._wished[kind] = min(self._wished.get(kind, 0) + 1, _MOST_OF_A_KIND)
            return self._spare(kind)

    def _ended(self, persistent: bool) -> None:
        with self._lock:
            self._running -= not persistent
            if self._running or self._closed:
                return
            while len(self._spares) > _KINDS:
                kind, spares = self._spares.popitem(last=False)
                self._wished.pop(kind, None)
                for spare in spares:
                    spare.drop()
            for kind, spares in self._spares.items():
                while len(spares) < self._wished.get(kind, 0):
                    spares.append(self._spare(kind))

    def _spare(self, kind: ContainerKind) -> _Spare:
        def make() -> Container:
            container = Container(kind, self._context.run, self._address)
            self._started.append(container.id)
            return container

        return _Spare(make)

    def _image(self, environment: Environment) -> str:
        if environment not in self._images:
            with connected(self._address) as daemon:
                self._images[environment] = image_for(daemon, environment, self._context.image)
        return self._images[environment]


class _Spare:
    """A container that a background thread starts."""

    def __init__(self, make: Callable[[], Container]) -> None:
        self._container: Container | None = None
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._start, args=(make,), daemon=True, name="recode-spare")
        self._thread.start()

    def take(self) -> Container:
        """Wait for the container and start its program. Raises what its start raised, `ContainerGone`, and `UserError`."""
        self._thread.join()
        if self._container is None:
            assert self._fault is not None
            raise self._fault
        try:
            self._container.begin()
        except BaseException:
            self._container.kill()
            raise
        return self._container

    def drop(self) -> None:
        self._thread.join()
        if self._container is not None:
            self._container.kill()

    def _start(self, make: Callable[[], Container]) -> None:
        try:
            self._container = make()
        except Exception as exc:  # noqa: BLE001 - raised again in `take`
            self._fault = exc


def _drop(spares: Sequence[_Spare]) -> None:
    """Drop all of them at once, because each may wait for a daemon that is lost. Raises what the first one raised."""
    if spares:
        with ThreadPoolExecutor(len(spares), thread_name_prefix="recode-drop") as threads:
            dropped = [threads.submit(spare.drop) for spare in spares]
        for each in dropped:
            each.result()


def find_image(image: str, notify: Callable[[str], None], address: str = "") -> None:
    """Find or pull the image of tasks that name none ("": the default image). `notify` is called with a line before a pull.

    Raises `UserError` and `SandboxError`.
    """
    with connected(address) as daemon:
        base_image(daemon, image, notify)


def missing_image(context: SandboxContext, notify: Callable[[str], None] | None) -> str | None:
    name = context.image or BASE
    try:
        if notify is not None:
            find_image(context.image, notify, context.host)
            return None
        with connected(context.host) as daemon:
            return None if has_image(daemon, name) else f"docker: the image {name} is not on this machine"
    except (UserError, SandboxError) as error:
        return f"docker: {str(error).removeprefix('docker: ')}"


def check(context: SandboxContext) -> str | None:
    try:
        import docker.errors
    except ImportError:
        return "docker: the docker package is not installed; pip install docker"
    try:
        client(context.host).close()
    except docker.errors.DockerException as exc:
        return unanswered(exc, context.host)
    return None


def reap(context: SandboxContext) -> None:
    """Remove containers of earlier runs: those whose owner, a process of the same boot of this machine, has ended.

    Closes a connection over ssh, which the controlling process needs again only if it runs items itself.
    """
    reap_directories()
    if check(context) is not None:
        return
    import docker.errors

    with connected(context.host) as daemon:
        for container in daemon.containers(all=True, filters={"label": [f"{LABEL}=1", f"{HOST}={host()}"]}):
            if not alive(container["Labels"].get(OWNER, "")):
                try:
                    daemon.remove_container(container["Id"], force=True, v=True)
                except docker.errors.APIError as exc:
                    if exc.status_code not in (404, 409):  # removed, or being removed
                        raise SandboxError(
                            f"docker{on(context.host)} could not remove container {container['Id'][:12]}: {exc}"
                        ) from exc
    ssh_tunnel.close(in_use(context.host))


KIND = SandboxKind(
    make=Docker,
    check=check,
    missing_image=missing_image,
    reap=reap,
    needs="image",
    isolated=True,
    automatic=1,
    hosts=True,
    concurrent=True,
)
