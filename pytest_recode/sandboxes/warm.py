"""The host's side of warm parents (fork servers): processes that have imported a program's modules and fork a sandbox for each launch."""

from __future__ import annotations

import json
import select
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Literal

from pytest_recode.faults import SandboxError
from pytest_recode.inside.runtime.monitor import ASKED
from pytest_recode.inside.runtime.starvation import Sample
from pytest_recode.sandboxes import control_groups, waiting
from pytest_recode.sandboxes.local_connection import WITH_PARENT, LocalConnection
from pytest_recode.sandboxes.root import KILL_SECONDS, Root
from pytest_recode.sandboxes.shipping import WarmKey, boot_message, limits_message
from pytest_recode.task import Limits

WARM_SECONDS = 300.0  # for the imports of a warm parent
START_SECONDS = 120.0  # launches of other workers may be before it
WAITED_SECONDS = 10.0  # for the monitor of a launch on a busy machine

Mode = Literal["nested", "alone", "plain"]


class ParentGone(Exception):
    """The warm parent has ended; the message is its last output."""


class WallsError(SandboxError):
    """The isolation of one launch could not be set up."""

    def __init__(self, fault: str) -> None:
        super().__init__(f"a sandbox could not be set up: {fault}")


class WarmParent:
    """The host's side of a process of `inside/runtime/fork_server.py`. Thread-safe."""

    def __init__(
        self,
        control: socket.socket,
        root: Root,
        *,
        mode: Mode,
        persistent: bool,
        common_limits: Mapping[str, Any],
        first: tuple[WarmParent, int] | None = None,
    ) -> None:
        """`first`: of a second parent, the one from which it was forked, and its number there. `common_limits`: as in `start_parent`."""
        self._control = control
        self._root = root
        self._first = first
        self._changed = threading.Condition()  # protects what follows; notified after each message
        self._hearing = False  # whether a thread waits for a message; the others wait for that thread
        self._common_limits = common_limits
        self._numbers = 0
        self._ready = False
        self._fault: dict[str, Any] | None = None
        self._up: set[int] = set()
        self._ended: dict[int, dict[str, Any]] = {}
        self._waited: dict[int, Sequence[Sample]] = {}  # what the monitors of launches answered
        self._mode: Mode = mode
        self._persistent = persistent
        self._since = root.stderr_size()  # output before this parent's
        self._groups: dict[int, control_groups.LaunchGroup] = {}  # by launch
        self.live: set[int] = set()  # launches that have not ended yet

    def prepare(self, preparation: bytes, limits: Limits, directory: str = "") -> WarmParent:
        """Fork a second parent that calls `prepare(preparation)`. Does not wait for it. Raises `ParentGone`."""
        own_end, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        try:
            with far_end, tempfile.TemporaryFile() as file:
                file.write(preparation)
                file.flush()
                file.seek(0)
                with self._changed:
                    self._numbers += 1
                    number = self._numbers
                    message = json.dumps({"prepare": number, "limits": self._limits(limits, directory)}).encode()
                    socket.send_fds(self._control, [message], [far_end.fileno(), file.fileno()])
        except OSError as exc:
            own_end.close()
            raise ParentGone(self.last_words()) from exc
        return WarmParent(
            own_end,
            self._root,
            mode=self._mode,
            persistent=self._persistent,
            common_limits=self._common_limits,
            first=(self, number),
        )

    def wait_ready(self) -> None:
        """Wait for the imports. Raises `ParentGone`, `TimeoutError`, and an `ImportError` with the `name` of a failed module."""
        with self._changed:
            self._hear_until(lambda: self._ready or self._fault is not None, WARM_SECONDS)
        if self._fault is not None:
            raise ImportError(self._fault["fault"], name=self._fault["module"])
        if self._mode != "plain" and self._first is None:
            self._root.find_inner()

    def launch(self, limits: Limits, directory: str = "") -> LocalConnection:
        """Start a program. Raises `ParentGone`, and `WallsError` if its isolation cannot be set up."""
        group = control_groups.make(limits)
        own_end, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            with self._changed:
                self._numbers += 1
                number = self._numbers
                fields = {
                    **self._limits(limits, directory),
                    "counts": [] if group is None else [*group.counters],
                }
                message = json.dumps({"launch": number, "limits": fields}).encode()
                with far_end:
                    try:
                        files = [] if group is None else group.descriptors()
                        socket.send_fds(self._control, [message], [far_end.fileno(), *files])
                    except OSError as exc:
                        raise ParentGone(self.last_words()) from exc
                    finally:
                        if group is not None:
                            group.close()
                            self._groups[number] = group
                self.live.add(number)
                try:
                    self._hear_until(lambda: number in self._up or number in self._ended, START_SECONDS)
                except TimeoutError:
                    self._order("kill", number)  # it may come up later
                    raise
                self._up.discard(number)
                fault = self._ended.get(number, {}).get("fault")
                if fault is not None:
                    self.live.discard(number)
                    self._remove_group(number)
            if fault is not None:
                raise WallsError(fault)
        except BaseException:
            own_end.close()
            raise
        return LocalConnection(
            own_end, lambda grace: self.end(number, grace), self._release, lambda: self.waited(number)
        )

    def _release(self) -> None:
        """Called after a launch: closes a parent that was started for a single launch."""
        if self._mode == "alone":
            self.close()

    def end(self, number: int, grace: float) -> str:
        """End a launch and all its processes. Returns how it had ended before, or "" if it was running.

        A launch that is ending has `grace` seconds to report how.
        """
        try:
            with self._changed:
                with suppress(TimeoutError):
                    self._hear_until(lambda: number in self._ended, grace)
                if number not in self._ended and self._mode != "alone":
                    self._order("kill", number)
                    self._hear_until(lambda: number in self._ended, KILL_SECONDS)
        except TimeoutError:
            self._root.kill()
            self._root.wait_gone()
        except ParentGone:
            if number not in self._ended:
                self._wait_gone()
                return WITH_PARENT
        finally:
            self.live.discard(number)  # until now, nothing may close this parent
            if self._mode != "alone":  # there the processes end when the parent is closed
                self._remove_group(number)
        return str(self._ended.pop(number, {}).get("how", ""))

    def waited(self, number: int) -> Sequence[Sample]:
        """How long a launch had to wait for other programs; empty if its monitor does not answer."""
        try:
            with self._changed:
                self._waited.pop(number, None)
                if self._mode == "alone":
                    self._root.signal_inner(ASKED)
                else:
                    self._order("waited", number)
                self._hear_until(lambda: number in self._waited or number in self._ended, WAITED_SECONDS)
        except (TimeoutError, ParentGone):
            return ()
        return self._waited.pop(number, ())

    def _remove_group(self, number: int) -> None:
        group = self._groups.pop(number, None)
        if group is not None:
            group.remove()

    def _order(self, what: str, number: int) -> None:
        try:
            self._control.send(json.dumps({what: number}).encode())
        except OSError as exc:
            raise ParentGone(self.last_words()) from exc

    def _wait_gone(self) -> None:
        """Wait until no launch of this parent, which has ended, is left. Those of a second parent are the first one's children now."""
        if self._first is None or self._first[0].end_second(self._first[1]) is None:
            self._root.wait_gone()

    def end_second(self, number: int) -> str | None:
        """End a second parent with all its launches. Returns how it ended, and None if this parent has ended itself."""
        try:
            with self._changed:
                if number not in self._ended:
                    self._order("end_second", number)
                    self._hear_until(lambda: number in self._ended, KILL_SECONDS)
        except ParentGone:
            return None
        except TimeoutError:
            self._root.kill()
            return None
        return str(self._ended[number]["how"])

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
            with suppress(OSError):  # closed already
                self._control.shutdown(
                    socket.SHUT_RDWR
                )  # wakes a thread that hears; its wait would keep the socket open
            self._control.close()
            if self._first is None:
                self._root.close()
            for number in list(self._groups):
                self._remove_group(number)

    def last_words(self) -> str:
        """How this parent ended, and its last output, for messages."""
        how = self._first[0].end_second(self._first[1]) if self._first is not None else None
        words = self._root.last_words(self._since)
        return words if how is None else f"{how}: {words}"

    def _limits(self, limits: Limits, directory: str) -> dict[str, Any]:
        message = limits_message(limits, persistent=self._persistent)
        return {**message, "directory": directory, **self._common_limits}

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
        elif "waited" in message:
            self._waited[message["waited"]] = [Sample(*values) for values in message["samples"]]
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
    common_limits: Mapping[str, Any] = MappingProxyType({}),
) -> WarmParent:
    """Start a first warm parent. `argv` must end with an interpreter. Does not wait for its imports.

    Mode "alone": the parent serves one launch and ends with it. `common_limits`: fields of monitor.py's `Limits` that all launches share.
    """
    own_end, far_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    try:
        setup = {"control": far_end.fileno(), "uid": uid, "mode": mode}
        root = Root(argv, boot_message("fork_server", key, setup), env, [far_end.fileno(), *pass_fds])
    except BaseException:
        own_end.close()
        raise
    finally:
        far_end.close()
    return WarmParent(own_end, root, mode=mode, persistent=key.persistent, common_limits=common_limits)
