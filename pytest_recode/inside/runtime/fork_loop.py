"""Event loop of a warm parent: forks a process for each launch and a second parent for each seed, and reports how they end.

Runs in the warm parent. Called by `fork_server.py`, which documents the messages of the control socket. Must not run
code of a candidate's, and must end every launch when the host closes the socket.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import socket
import time
from collections.abc import Callable
from typing import Any, Optional

from . import launch, linux_isolation

KEEPER_SECONDS = 5.0  # how long a keeper may take to sweep before it is swept itself
Second = Callable[[int, int, launch.Limits], None]
"""Called in a fork, with a control socket and a file: becomes a second parent and does not return."""


class _Job:
    """One launch. `pid` is its cell; `hold` the pipe whose closing ends a keeper."""

    def __init__(self, number: int, report: int, hold: Optional[int], directory: str) -> None:
        self.number = number
        self.report = report
        self.hold = hold
        self.directory = directory
        self.pid = 0
        self.said = b""
        self.up = False
        self.killed = False
        self.deadline: Optional[float] = None

    def words(self) -> dict[str, str]:
        lines = [line.partition(" ") for line in self.said.decode("utf-8", "replace").splitlines()]
        return {word: rest for word, _, rest in lines}


class Parent:
    """Serves one host, one message at a time."""

    def __init__(self, control: socket.socket, main: launch.Main, second: Second, namespaces: bool) -> None:
        self._control = control
        self._main = main
        self._second = second
        self._namespaces = namespaces
        self._grown: set[int] = set()  # second parents
        self._jobs: dict[int, _Job] = {}  # by the descriptor of its report

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while True:
            waits = [job.deadline - time.monotonic() for job in self._jobs.values() if job.deadline is not None]
            ready = poll.poll(max(min(waits), 0) * 1000 if waits else None)
            for job in list(self._jobs.values()):
                if job.deadline is not None and job.deadline < time.monotonic():
                    _kill(job.pid)  # a keeper that does not answer: what it kept falls to this process
                    job.deadline = None
            for fd, _ in ready:
                if fd != self._control.fileno():
                    self._report(fd, poll)
                elif not self._order(poll):
                    self._end_all()
                    return

    def _order(self, poll: Any) -> bool:
        try:
            data, wires, _, _ = socket.recv_fds(self._control, 1 << 16, 2)
        except ConnectionError:
            return False
        if not data:
            return False
        order = json.loads(data)
        if "launch" in order:
            job = self._launch(order["launch"], wires[0], launch.Limits(**order["limits"]))
            self._jobs[job.report] = job
            poll.register(job.report, select.POLLIN)
        elif "grow" in order:
            self._reap_grown()
            pid = os.fork()
            if pid == 0:
                self._second(wires[0], wires[1], launch.Limits(**order["limits"]))
            self._grown.add(pid)
            for fd in wires:
                os.close(fd)
        else:
            for job in self._jobs.values():
                if job.number == order["kill"]:
                    self._end(job)
        return True

    def _launch(self, number: int, wire: int, limits: launch.Limits) -> _Job:
        report, reporter = os.pipe()
        watched, hold = (None, None) if self._namespaces else os.pipe()
        pid = os.fork()
        if pid == 0:
            if watched is None:
                launch.start_namespaced(self._main, wire, reporter, limits)
            else:
                launch.start_plain(self._main, wire, reporter, watched, limits)
        for fd in (wire, reporter, watched):
            if fd is not None:
                os.close(fd)
        job = _Job(number, report, hold, limits.directory)
        if self._namespaces:
            os.waitpid(pid, 0)  # it has told the cell's pid, or its fault
            self._hear(job, os.read(report, 1 << 16))
        else:
            job.pid = pid
        return job

    def _hear(self, job: _Job, data: bytes) -> None:
        job.said += data
        words = job.words()
        if self._namespaces and not job.pid and "pid" in words:
            job.pid = int(words["pid"])
        if "up" in words and not job.up:
            job.up = True
            self._say({"up": job.number})

    def _report(self, fd: int, poll: Any) -> None:
        job = self._jobs[fd]
        data = os.read(fd, 1 << 16)
        if data:
            self._hear(job, data)
            return
        poll.unregister(fd)
        os.close(fd)
        del self._jobs[fd]
        ended = self._reap(job)
        words = job.words()
        if "fault" in words:
            self._say({"ended": job.number, "how": "", "fault": words["fault"]})
        else:
            if self._namespaces:  # nothing in them can end the cell
                ended = linux_isolation.FROM_OUTSIDE
            self._say({"ended": job.number, "how": words.get("how", "" if job.killed else ended)})

    def _reap(self, job: _Job) -> str:
        """The report is closed, so the cell is ending: wait until it and all it held is gone."""
        how = ""
        if job.hold is not None:
            os.close(job.hold)
        if job.pid:
            _kill(job.pid)
            how = linux_isolation.ending(os.waitpid(job.pid, 0)[1])
        if not self._namespaces:
            self._sweep()
            shutil.rmtree(job.directory, ignore_errors=True)
        return how

    def _reap_grown(self) -> None:
        self._grown = {pid for pid in self._grown if not os.waitpid(pid, os.WNOHANG)[0]}

    def _sweep(self) -> None:
        """End what a killed keeper left to this process: every child that is no keeper."""
        while True:
            keepers = {job.pid for job in self._jobs.values()} | self._grown
            strays = [pid for pid in linux_isolation.children(os.getpid()) if pid not in keepers]
            if not strays:
                return
            for pid in strays:
                for below in [pid, *linux_isolation.descendants(pid)]:
                    _kill(below)
                os.waitpid(pid, 0)

    def _end(self, job: _Job) -> None:
        job.killed = True
        if self._namespaces:
            if job.pid:
                _kill(job.pid)
        elif job.hold is not None:
            os.close(job.hold)
            job.hold = None
            _kill(job.pid, signal.SIGTERM)  # wakes it
            job.deadline = time.monotonic() + KEEPER_SECONDS

    def _end_all(self) -> None:
        """With namespaces the kernel does it, as this process is the first of one."""
        if self._namespaces:
            return
        for job in self._jobs.values():
            self._end(job)
        for job in self._jobs.values():
            limit = time.monotonic() + KEEPER_SECONDS
            while time.monotonic() < limit:
                ready = select.select([job.report], [], [], max(limit - time.monotonic(), 0))[0]
                if not ready or not os.read(job.report, 1 << 16):
                    break
            _kill(job.pid)
        jobs, self._jobs = self._jobs, {}
        limit = time.monotonic() + KEEPER_SECONDS
        while self._grown and time.monotonic() < limit:  # the host has hung up on them before this one
            time.sleep(0.01)
            self._reap_grown()
        self._grown.clear()
        self._sweep()
        for job in jobs.values():
            shutil.rmtree(job.directory, ignore_errors=True)

    def _say(self, message: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(message).encode())
        except (BrokenPipeError, ConnectionError):
            return  # the host is gone: the next read says so too


def _kill(pid: int, number: int = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
