"""docker: each launch in a container of its own, without network, rights or a writable system.

The program comes in over standard input (`inside/boot.py`, `inside/container.py`): nothing is mounted. A spare container of
each kind in use is started ahead, in the background, so that a launch does not wait for one.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.faults import SandboxError, UserError
from pytest_recode.sandboxes import Connection, Program, SandboxContext, SandboxKind
from pytest_recode.sandboxes.images import image_for
from pytest_recode.sandboxes.leftovers import alive, mark
from pytest_recode.sandboxes.local import (
    FIXED,
    WARM_SECONDS,
    WarmKey,
    boot_message,
    program_message,
    source,
    warm_key,
)
from pytest_recode.task import Environment, Limits

LABEL = "pytest-recode"
OWNER = "pytest-recode.owner"
HOST = "pytest-recode.host"
_NOBODY = "65534:65534"
_OWN_MB = 64  # of the first process of a container
_KINDS_KEPT = 4  # spare containers
_REPORT_LIMIT = 1 << 16
_API_SECONDS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """What a container is good for."""

    program: WarmKey
    image: str
    memory_mb: int
    disk_mb: int
    pids: int


class Docker:
    """A `Sandbox`."""

    name = "docker"
    isolation = "separate"

    def __init__(self, context: SandboxContext) -> None:
        self._context = context
        self._client = _client()
        self._images: dict[tuple[object, ...], str] = {}
        self._spares: OrderedDict[_Wanted, _Spare] = OrderedDict()

    def launch(self, program: Program, environment: Environment, limits: Limits) -> Connection:
        wanted = _Wanted(
            program=warm_key(program, environment, ""),
            image=self._image(environment),
            memory_mb=limits.memory_mb,
            disk_mb=limits.disk_mb,
            pids=limits.pids,
        )
        spare = self._spares.pop(wanted, None) or _Spare(wanted, program, environment, self._context)
        try:
            container = spare.take()
        except _Gone:  # while it waited: somebody tidied up
            container = _Spare(wanted, program, environment, self._context).take()
        container.go()
        self._spares[wanted] = _Spare(wanted, program, environment, self._context)
        while len(self._spares) > _KINDS_KEPT:
            self._spares.popitem(last=False)[1].drop()
        return container

    def close(self) -> None:
        while self._spares:
            self._spares.popitem()[1].drop()
        self._client.close()

    def _image(self, environment: Environment) -> str:
        key = (environment.image, environment.dockerfile, environment.requirements)
        if key not in self._images:
            self._images[key] = image_for(self._client, environment, self._context.image)
        return self._images[key]


class _Gone(Exception):
    """A container ended before it had work."""


class _Spare:
    """A container on its way, in a thread of its own."""

    def __init__(self, wanted: _Wanted, program: Program, environment: Environment, context: SandboxContext) -> None:
        self._found: _Container | None = None
        self._fault: Exception | None = None
        self._thread = threading.Thread(target=self._start, args=(wanted, program, environment, context), daemon=True)
        self._thread.start()

    def take(self) -> _Container:
        self._thread.join()
        if self._fault is not None:
            raise self._fault
        assert self._found is not None
        self._found.wait_ready()
        return self._found

    def drop(self) -> None:
        self._thread.join()
        if self._found is not None:
            self._found.kill()

    def _start(self, wanted: _Wanted, program: Program, environment: Environment, context: SandboxContext) -> None:
        try:
            self._found = _Container(wanted, program, environment, context)
        except Exception as exc:  # noqa: BLE001 - raised again where it is taken
            self._fault = exc


class _Container:
    """A `Connection` to the program in a container, by the stream that docker attaches to it."""

    def __init__(self, wanted: _Wanted, program: Program, environment: Environment, context: SandboxContext) -> None:
        import docker.errors

        self._memory_mb = wanted.memory_mb
        self._image = environment.image or str(environment.dockerfile or environment.requirements or context.image)
        self._client = _client()
        self._how: str | None = None
        self._raw = b""  # as it came: frames of a header and a payload
        self._left = 0  # of the payload that is being read
        self._wire_frame = False
        self._report = b""
        self._heard: dict[str, Any] = {}
        self._id = ""
        try:
            self._id = self._client.create_container_from_config(_config(self._client, wanted, context))["Id"]
            params = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
            self._socket = _raw_socket(self._client.attach_socket(self._id, params=params))
            self._client.start(self._id)
        except docker.errors.APIError as exc:
            self._remove()
            reason = " ".join(str(exc.explanation or exc).split())
            if "python3" in reason and "not found" in reason:
                raise UserError(f"image {self._image} has no python3; name an image with Python 3.9 or newer") from exc
            raise SandboxError(f"docker could not start a container of {self._image}: {reason}") from exc
        limits = {
            "memory_mb": wanted.memory_mb,
            "disk_mb": wanted.disk_mb,
            "pids": wanted.pids,
            "persistent": program.persistent,
        }
        setup = {"program": program_message(program), "preload": list(environment.preload), "limits": limits}
        message = boot_message("recode_container", setup, persistent=program.persistent)
        try:
            self.send(message, time.monotonic() + _API_SECONDS)
        except (ConnectionError, TimeoutError):
            pass  # `wait_ready` says what became of it

    def wait_ready(self) -> None:
        """Raises `UserError` for a module that cannot be imported, `_Gone` for a container that ended."""
        deadline = time.monotonic() + WARM_SECONDS
        while not self._heard:
            if not self._more(deadline):
                self.kill()
                raise _Gone(self._image)
        if "fault" in self._heard:
            self.kill()
            raise UserError(
                f"image {self._image} cannot import {self._heard['module']!r} ({self._heard['fault']}); add it to the image, "
                "or to the task's environment/requirements.txt"
            )

    def go(self) -> None:
        self._heard.clear()
        try:
            self.send(b"G", time.monotonic() + _API_SECONDS)
        except ConnectionError as exc:
            raise SandboxError("a container ended before it had work") from exc

    def send(self, data: bytes | memoryview, deadline: float) -> None:
        view = memoryview(data).cast("B")
        while view:
            try:
                view = view[self._socket.send(view) :]
            except BlockingIOError:
                _await(self._socket, select.POLLOUT, deadline)
            except OSError as exc:
                if isinstance(exc, ConnectionError):
                    raise
                raise ConnectionError(f"the program is gone: {exc}") from exc

    def receive(self, size: int, deadline: float) -> bytes:
        while True:
            if self._wire_frame and self._left and self._raw:
                count = min(size, self._left, len(self._raw))
                data, self._raw = self._raw[:count], self._raw[count:]
                self._left -= count
                return data
            if not self._more(deadline):
                return b""

    def kill(self) -> str:
        if self._how is None:
            self._how = ""
            try:
                while "how" not in self._heard and self._more(time.monotonic()):
                    if self._wire_frame:
                        self._raw, self._left = b"", max(self._left - len(self._raw), 0)
            except TimeoutError:
                pass
            self._how = str(self._heard.get("how", ""))
            self._socket.close()
            self._remove()
        return self._how

    def _more(self, deadline: float) -> bool:
        """Read on: to payload of the wire, or one more piece of the report. False at the end."""
        while True:
            if self._left == 0 and len(self._raw) >= 8:
                self._wire_frame = self._raw[0] == 1
                self._left = int.from_bytes(self._raw[4:8], "big")
                self._raw = self._raw[8:]
            if self._left and self._raw:
                if self._wire_frame:
                    return True
                count = min(self._left, len(self._raw))
                self._hear(self._raw[:count])
                self._raw = self._raw[count:]
                self._left -= count
                return True
            try:
                data = self._socket.recv(1 << 18)
            except BlockingIOError:
                _await(self._socket, select.POLLIN, deadline)
                continue
            except OSError:
                return False
            if not data:
                return False
            self._raw += data

    def _hear(self, data: bytes) -> None:
        self._report = (self._report + data)[-_REPORT_LIMIT:]
        *lines, self._report = self._report.split(b"\n")
        for line in lines:
            self._heard.update(json.loads(line))

    def _remove(self) -> None:
        """Every process of the container is gone when this returns; so is it, or it is about to be."""
        import docker.errors

        if self._id:
            try:
                self._client.remove_container(self._id, force=True, v=True)
            except docker.errors.NotFound:
                pass
            except docker.errors.APIError as exc:
                if exc.status_code != 409:  # its removal is already in progress
                    raise SandboxError(f"docker could not remove container {self._id[:12]}: {exc.explanation}") from exc
        self._client.close()


def _config(client: Any, wanted: _Wanted, context: SandboxContext) -> dict[str, Any]:
    from docker.types import LogConfig, Ulimit

    memory = f"{wanted.memory_mb + wanted.disk_mb + _OWN_MB}m"  # what a tmpfs holds counts as memory
    file_size = wanted.disk_mb << 20
    host = client.create_host_config(
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        mem_limit=memory,
        memswap_limit=memory,
        nano_cpus=10**9,
        pids_limit=wanted.pids + 8,
        tmpfs={"/tmp": f"rw,exec,nosuid,nodev,mode=1777,size={wanted.disk_mb}m"},
        shm_size=f"{min(64, wanted.disk_mb)}m",
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=1024, hard=1024),
            Ulimit(name="fsize", soft=file_size, hard=file_size),
        ],
        log_config=LogConfig(type="none"),
        auto_remove=True,
    )
    config: dict[str, Any] = client.create_container_config(
        image=wanted.image,
        command=[],
        entrypoint=["python3", "-s", "-B", "-c", source("boot")],
        user=_NOBODY,
        hostname="sandbox",
        working_dir="/tmp",
        environment={**FIXED, "HOME": "/tmp/home"},
        labels={LABEL: "1", "pytest-recode.run": context.run, OWNER: mark(context.run), HOST: _host()},
        stdin_open=True,
        host_config=host,
    )
    config.update(StdinOnce=True, AttachStdin=True, AttachStdout=True, AttachStderr=True, Tty=False)
    return config


def _client() -> Any:
    import docker

    return docker.APIClient(**docker.utils.kwargs_from_env(), version="auto", timeout=_API_SECONDS)


def _raw_socket(attached: Any) -> socket.socket:
    """The SDK hands out a reader over the connection; the connection itself is wanted."""
    found: socket.socket = getattr(attached, "_sock", attached)
    found.setblocking(False)
    return found


def _await(wire: socket.socket, event: int, deadline: float) -> None:
    poll = select.poll()
    poll.register(wire, event)
    left = deadline - time.monotonic()
    if not poll.poll(max(left, 0) * 1000):
        raise TimeoutError("the program did not answer in time")


def _host() -> str:
    """This boot and pid namespace: where a pid means the same process."""
    return f"{Path('/proc/sys/kernel/random/boot_id').read_text().strip()}/{Path('/proc/self/ns/pid').readlink()}"


def check(context: SandboxContext) -> str | None:
    del context
    try:
        import docker.errors
    except ImportError:
        return "docker: the docker package is not installed; pip install docker"
    try:
        client = _client()
    except docker.errors.DockerException as exc:
        return f"docker: its daemon does not answer ({' '.join(str(exc).split())}); start Docker, or set DOCKER_HOST"
    client.close()
    return None


def reap(context: SandboxContext) -> None:
    """Containers of this tool whose owner, a process of this boot of this machine, is gone."""
    if check(context) is not None:
        return
    import docker.errors

    client = _client()
    try:
        for found in client.containers(all=True, filters={"label": [f"{LABEL}=1", f"{HOST}={_host()}"]}):
            if not alive(found["Labels"].get(OWNER, "")):
                try:
                    client.remove_container(found["Id"], force=True, v=True)
                except docker.errors.APIError as exc:
                    if exc.status_code not in (404, 409):
                        raise SandboxError(f"docker could not remove container {found['Id'][:12]}: {exc}") from exc
    finally:
        client.close()


KIND = SandboxKind(make=Docker, check=check, reap=reap)
