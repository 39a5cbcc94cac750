"""The host's side of warm parents (fork servers): processes that have imported a program's modules and fork a sandbox for each launch."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Literal

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import waiting
from pytest_recode.sandboxes.local_connection import WITH_PARENT, LocalConnection
from pytest_recode.sandboxes.shipping import WarmKey, boot_message, limits_message, source
from pytest_recode.task import Limits

WARM_SECONDS = 300.0  # for the imports of a warm parent
START_SECONDS = 120.0  # launches of other workers may be before it
KILL_SECONDS = 60.0  # the kernel of a busy machine takes seconds to free what a killed process had

Mode = Literal["nested", "alone", "plain"]


class ParentGone(Exception):
    """The warm parent has ended; the message is its last output."""


class WallsError(SandboxError):
    """The isolation of one launch could not be set up."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"a sandbox could not be set up: {fault}")


class Root:
    """The process of a first warm parent, and of all parents that were forked from it."""

    def __init__(self, argv: Sequence[str], boot: bytes, env: Mapping[str, str], pass_fds: Sequence[int]) -> None:
        """Start `argv`, which ends with an interpreter, and send `boot` to `inside/runtime/bootstrap.py`. Does not wait for imports."""
        self._inner: int | None = None  # pidfd of the process inside bwrap
        self.stderr: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115 - closed with this object
        try:
            with tempfile.TemporaryFile() as script:
                script.write(boot)
                script.flush()
                script.seek(0)
                self._process = subprocess.Popen(
                    [*argv, "-s", "-B", "-c", source("runtime.bootstrap")],
                    cwd="/",
                    env=dict(env),
                    stdin=script,
                    stdout=subprocess.DEVNULL,
                    stderr=self.stderr,
                    pass_fds=pass_fds,
                    start_new_session=True,  # so that Ctrl-C in a terminal reaches only the host
                )
        except OSError as exc:
            self.stderr.close()
            raise SandboxError(f"cannot start {argv[0]}: {exc}") from exc

    def find_inner(self) -> None:
        """Open the process that bwrap waits for."""
        with suppress(OSError, ValueError):
            children = Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text()
            self._inner = os.pidfd_open(int(children))

    def kill(self) -> None:
        """Kill the process. bwrap has dropped its privileges and cannot kill its child, so the child is killed too."""
        self._process.kill()
        if self._inner is not None:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._inner, signal.SIGKILL)

    def wait_gone(self) -> None:
        """Wait until all processes inside bwrap have ended. Raises `SandboxError` if that takes too long.

        The kernel reports the end of the first process of a pid namespace after all its other processes have been reaped.
        """
        if self._inner is not None:
            poll = select.poll()
            poll.register(self._inner, select.POLLIN)
            if not poll.poll(KILL_SECONDS * 1000):
                raise SandboxError(f"a warm parent and its launches did not end within {KILL_SECONDS:g} s")

    def close(self) -> None:
        """Wait for the end of the process, whose control socket must be closed; idempotent."""
        if self.stderr.closed:
            return
        try:
            self._process.wait(KILL_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        if self._inner is not None:
            inner, self._inner = self._inner, None
            os.close(inner)
        self.stderr.close()

    def stderr_size(self) -> int:
        """The number of bytes that the process has written to stderr."""
        return 0 if self.stderr.closed else os.fstat(self.stderr.fileno()).st_size

    def last_words(self, since: int = 0) -> str:
        """The last output on stderr after the first `since` bytes, for messages."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(1.0)
        if self.stderr.closed:
            return "it was closed"
        # not `seek`, because the process shares the offset
        text = (
            os.pread(self.stderr.fileno(), 2000, max(self.stderr_size() - 2000, since))
            .decode("utf-8", "replace")
            .strip()
        )
        status = self._process.returncode
        return text or f"{'it ended' if status is None else f'exit status {status}'}, nothing on its stderr"


class WarmParent:
    """The host's side of a process of `inside/runtime/fork_server.py`. Thread-safe."""

    def __init__(
        self, control: socket.socket, root: Root, *, mode: Mode, persistent: bool, each: Mapping[str, Any], base: bool
    ) -> None:
        """`base`: it is the root's own process, not one forked from it. `each`: as in `start_parent`."""
        self._control = control
        self._root = root
        self._base = base
        self._changed = threading.Condition()  # protects what follows; notified after each message
        self._hearing = False  # whether a thread waits for a message; the others wait for that thread
        self._each = each
        self._numbers = 0
        self._ready = False
        self._fault: dict[str, Any] | None = None
        self._up: set[int] = set()
        self._ended: dict[int, dict[str, Any]] = {}
        self._mode: Mode = mode
        self._persistent = persistent
        self._since = root.stderr_size()  # output before this parent's
        self.live = 0  # launches not yet ended

    def prepare(self, preparation: bytes, limits: Limits, directory: str = "") -> WarmParent:
        """Fork a second parent that calls `prepare(preparation)`. Does not wait for it. Raises `ParentGone`."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with theirs, tempfile.TemporaryFile() as file:
                file.write(preparation)
                file.flush()
                file.seek(0)
                message = json.dumps({"prepare": True, "limits": self._limits(limits, directory)}).encode()
                with self._changed:
                    socket.send_fds(self._control, [message], [theirs.fileno(), file.fileno()])
        except OSError as exc:
            ours.close()
            raise ParentGone(self.last_words()) from exc
        return WarmParent(ours, self._root, mode=self._mode, persistent=self._persistent, each=self._each, base=False)

    def wait_ready(self) -> None:
        """Wait for the imports. Raises `ParentGone`, `TimeoutError`, and an `ImportError` with the `name` of a failed module."""
        with self._changed:
            self._hear_until(lambda: self._ready or self._fault is not None, WARM_SECONDS)
        if self._fault is not None:
            raise ImportError(self._fault["fault"], name=self._fault["module"])
        if self._mode != "plain" and self._base:
            self._root.find_inner()

    def launch(self, limits: Limits, directory: str = "") -> LocalConnection:
        """Start a program. Raises `ParentGone`, and `WallsError` if its isolation cannot be set up."""
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with self._changed:
                self._numbers += 1
                number = self._numbers
                message = json.dumps({"launch": number, "limits": self._limits(limits, directory)}).encode()
                with theirs:
                    try:
                        socket.send_fds(self._control, [message], [theirs.fileno()])
                    except OSError as exc:
                        raise ParentGone(self.last_words()) from exc
                self._hear_until(lambda: number in self._up or number in self._ended, START_SECONDS)
                self._up.discard(number)
                fault = self._ended.get(number, {}).get("fault")
                self.live += fault is None
            if fault is not None:
                raise WallsError(fault)
        except BaseException:
            ours.close()
            raise
        return LocalConnection(ours, lambda grace: self.end(number, grace), self._release)

    def _release(self) -> None:
        """Called after a launch: closes a parent that was started for a single launch."""
        if self._mode == "alone":
            self.close()

    def end(self, number: int, grace: float) -> str:
        """End a launch and all its processes. Returns how it had ended before, or "" if it was running.

        A launch that is ending has `grace` seconds to report how.
        """
        with self._changed:
            self.live -= 1
            try:
                with suppress(TimeoutError):
                    self._hear_until(lambda: number in self._ended, grace)
                if number not in self._ended and self._mode != "alone":
                    self._control.send(json.dumps({"kill": number}).encode())
                    self._hear_until(lambda: number in self._ended, KILL_SECONDS)
            except TimeoutError:
                self._root.kill()
                self._root.wait_gone()
            except (ParentGone, OSError):
                if number not in self._ended:
                    self._root.wait_gone()
                    return WITH_PARENT
            return str(self._ended.pop(number, {}).get("how", ""))

    def gone(self) -> bool:
        """Whether the parent has ended or was closed."""
        hung_up = select.poll()
        with self._changed:
            if self._control.fileno() < 0:
                return True
            hung_up.register(self._control, 0)
            return bool(hung_up.poll(0))

    def close(self) -> None:
        """End the parent and all its launches; idempotent."""
        with self._changed:
            self._control.close()
            if self._base:
                self._root.close()

    def last_words(self) -> str:
        return self._root.last_words(self._since)

    def _limits(self, limits: Limits, directory: str) -> dict[str, Any]:
        message = limits_message(limits, persistent=self._persistent)
        return {**message, "directory": directory, **self._each}

    def _hear_until(self, done: Callable[[], bool], seconds: float) -> None:
        """Wait until `done()`, with the lock held, which is free during the wait: other threads launch and end meanwhile."""
        deadline = time.monotonic() + seconds
        while not done():
            if self._control.fileno() < 0:
                raise ParentGone(self.last_words())
            left = deadline - time.monotonic()
            if self._hearing:
                self._changed.wait(min(max(left, 0), waiting.NOTICED))
            elif self._arrived(left):
                if self._control.fileno() >= 0:
                    self._hear()
                continue
            if left <= 0:
                raise TimeoutError(f"no answer from a warm parent in {seconds:.0f} s")

    def _arrived(self, seconds: float) -> bool:
        """Whether a message arrives, or the parent ends, within `seconds`. Frees the lock meanwhile."""
        self._hearing = True
        self._changed.release()
        try:
            return waiting.ready(self._control, select.POLLIN, seconds)
        finally:
            self._changed.acquire()
            self._hearing = False
            self._changed.notify_all()  # if this thread has what it waits for, another one hears the next message

    def _hear(self) -> None:
        try:
            data = self._control.recv(1 << 16)
        except ConnectionError as exc:
            raise ParentGone(self.last_words()) from exc
        if not data:
            raise ParentGone(self.last_words())
        message = json.loads(data)
        if "ready" in message:
            self._ready = True
        elif "up" in message:
            self._up.add(message["up"])
        elif "ended" in message:
            self._ended[message["ended"]] = message
        else:
            self._fault = message


def start_parent(
    argv: Sequence[str],
    key: WarmKey,
    *,
    mode: Mode,
    env: Mapping[str, str],
    uid: int | None = None,
    pass_fds: Sequence[int] = (),
    each: Mapping[str, Any] = MappingProxyType({}),
) -> WarmParent:
    """Start a first warm parent. `argv` must end with an interpreter. Does not wait for its imports.

    Mode "alone": the parent serves one launch and ends with it. `each`: fields of launch.py's `Limits` that all launches share.
    """
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        setup = {"control": theirs.fileno(), "uid": uid, "mode": mode}
        root = Root(argv, boot_message("fork_server", key, setup), env, [theirs.fileno(), *pass_fds])
    except BaseException:
        ours.close()
        raise
    finally:
        theirs.close()
    return WarmParent(ours, root, mode=mode, persistent=key.persistent, each=each, base=True)
