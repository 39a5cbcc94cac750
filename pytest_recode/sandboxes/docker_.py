"""docker: each launch in a container of its own, without network, rights or a writable system.

The program comes in over standard input (`inside/boot.py`, `inside/container.py`): nothing is mounted. A spare container of
each kind in use is started ahead, in the background, so that a launch does not wait for one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind
from pytest_recode.sandboxes.containers import (
    HOST,
    LABEL,
    OWNER,
    Container,
    ContainerGone,
    Wanted,
    client,
    host,
    wait_removed,
)
from pytest_recode.sandboxes.images import BASE, image_for
from pytest_recode.sandboxes.leftovers import alive
from pytest_recode.sandboxes.shipping import WarmKey
from pytest_recode.task import Environment, Limits

_SPARES = 4
_REMEMBERED = 50  # of the containers started last: older ones are long removed


class Docker:
    """A `Sandbox`."""

    name = "docker"
    isolation = "separate"

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._images: dict[Environment, str] = {}
        self._spares: OrderedDict[Wanted, _Spare] = OrderedDict()
        self._started: list[str] = []

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        wanted = Wanted(
            key=WarmKey.of(program, environment, ""),
            image=self._image(environment),
            image_name=environment.image or str(environment.dockerfile or self._context.image or BASE),
            memory_mb=limits.memory_mb,
            disk_mb=limits.disk_mb,
            pids=limits.pids,
        )
        spare = self._spares.pop(wanted, None) or self._spare(wanted)
        try:
            container = spare.take()
        except ContainerGone:  # it ended while it waited: once more
            try:
                container = self._spare(wanted).take()
            except ContainerGone as exc:
                raise SandboxError(f"a container of {wanted.image_name} ended before it had work: {exc}") from exc
        self._spares[wanted] = self._spare(wanted)
        while len(self._spares) > _SPARES:
            self._spares.popitem(last=False)[1].drop()
        return container

    def close(self) -> None:
        """Waits until the containers of this sandbox are removed."""
        while self._spares:
            self._spares.popitem()[1].drop()
        started, self._started = self._started, []
        if started:
            wait_removed(started)

    def _spare(self, wanted: Wanted) -> _Spare:
        def make() -> Container:
            container = Container(wanted, self._context.run)
            self._started = [*self._started[-_REMEMBERED:], container.id]
            return container

        return _Spare(make)

    def _image(self, environment: Environment) -> str:
        if environment not in self._images:
            daemon = client()
            try:
                self._images[environment] = image_for(daemon, environment, self._context.image)
            finally:
                daemon.close()
        return self._images[environment]


class _Spare:
    """A container on its way, in a thread of its own."""

    def __init__(self, make: Callable[[], Container]) -> None:
        self._found: Container | None = None
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._start, args=(make,), daemon=True, name="recode-spare")
        self._thread.start()

    def take(self) -> Container:
        """Raises what the start raised, `ContainerGone`, `UserError`."""
        self._thread.join()
        if self._found is None:
            assert self._fault is not None
            raise self._fault
        try:
            self._found.begin()
        except BaseException:
            self._found.kill()
            raise
        return self._found

    def drop(self) -> None:
        self._thread.join()
        if self._found is not None:
            self._found.kill()

    def _start(self, make: Callable[[], Container]) -> None:
        try:
            self._found = make()
        except Exception as exc:  # noqa: BLE001 - raised again where it is taken
            self._fault = exc


def check(context: SandboxContext) -> str | None:
    del context
    try:
        import docker.errors
    except ImportError:
        return "docker: the docker package is not installed; pip install docker"
    try:
        client().close()
    except docker.errors.DockerException as exc:
        return f"docker: its daemon does not answer ({' '.join(str(exc).split())}); start Docker, or set DOCKER_HOST"
    return None


def reap(context: SandboxContext) -> None:
    """Containers of this tool whose owner, a process of this boot of this machine, is gone."""
    if check(context) is not None:
        return
    import docker.errors

    daemon = client()
    try:
        for found in daemon.containers(all=True, filters={"label": [f"{LABEL}=1", f"{HOST}={host()}"]}):
            if not alive(found["Labels"].get(OWNER, "")):
                try:
                    daemon.remove_container(found["Id"], force=True, v=True)
                except docker.errors.APIError as exc:
                    if exc.status_code not in (404, 409):  # gone, or going
                        raise SandboxError(f"docker could not remove container {found['Id'][:12]}: {exc}") from exc
    finally:
        daemon.close()


KIND = SandboxKind(make=Docker, check=check, reap=reap)
