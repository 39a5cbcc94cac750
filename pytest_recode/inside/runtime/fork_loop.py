"""Event loop of a warm parent: forks a process for each launch and second parents, and reports how they end.

Runs in the warm parent. Called by `fork_server.py`, which documents the messages of the control socket. Must not run
candidate code, and must end every launch when the host closes the socket.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import time
from collections.abc import Callable
from typing import Any, Optional

from . import control_group, launch, linux_isolation, monitor, removal

KEEPER_SECONDS = 5.0  # how long a keeper may take to end its processes before it is killed
Second = Callable[[int, int, monitor.LaunchLimits], None]
"""Called in a fork, with a control socket and a file: becomes a second parent and does not return."""


class _Job:
    """One launch. `pid`: its first process (the cell, or the keeper); `hold`: the pipe whose closing ends a keeper."""

    def __init__(self, number: int, report: int, hold: Optional[int], directory: str) -> None:
        self.number = number
        self.report = report
        self.hold = hold
        self.directory = directory
        self.pid = 0
        self.report_data = b""
        self.up = False
        self.killed = False
        self.deadline: Optional[float] = None

    def report_lines(self) -> dict[str, str]:
        """The lines of the report, by their first words."""
        lines = [line.partition(" ") for line in self.report_data.decode("utf-8", "replace").splitlines()]
        return {key: rest for key, _, rest in lines}


class Parent:
    """Serves one host, one message at a time."""

    def __init__(self, control: socket.socket, main: launch.Main, second: Second, namespaces: bool) -> None:
        self._control = control
        self._main = main
        self._second = second
        self._namespaces = namespaces
        self._seconds: dict[int, int] = {}  # second parents: process by number
        self._removing: set[int] = set()  # processes that remove a directory
        self._jobs: dict[int, _Job] = {}  # by the descriptor of its report

    def serve(self) -> None:
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        while True:
            waits = [job.deadline - time.monotonic() for job in self._jobs.values() if job.deadline is not None]
            ready = poll.poll(max(min(waits), 0) * 1000 if waits else None)
            for job in list(self._jobs.values()):
                if job.deadline is not None and job.deadline < time.monotonic():
                    _kill(job.pid)  # a keeper that does not answer: its processes become this one's
                    job.deadline = None
            for fd, _ in ready:
                if fd != self._control.fileno():
                    self._report(fd, poll)
                elif not self._order(poll):
                    self._end_all()
                    return

    def _order(self, poll: Any) -> bool:
        try:
            data, wires, _, _ = socket.recv_fds(self._control, 1 << 16, 8)
        except ConnectionError:
            return False
        if not data:
            return False
        order = json.loads(data)
        if "launch" in order:
            job = self._launch(order["launch"], wires, monitor.LaunchLimits(**order["limits"]))
            self._jobs[job.report] = job
            poll.register(job.report, select.POLLIN)
        elif "prepare" in order:
            self._reap_others()
            pid = os.fork()
            if pid == 0:
                self._second(wires[0], wires[1], monitor.LaunchLimits(**order["limits"]))
            self._seconds[order["prepare"]] = pid
            for fd in wires:
                os.close(fd)
        elif "end_second" in order:
            self._end_second(order["end_second"])
        elif "waited" in order:
            for job in self._jobs.values():
                if job.number == order["waited"]:
                    _kill(job.pid, monitor.ASKED)
        else:
            for job in self._jobs.values():
                if job.number == order["kill"]:
                    self._end(job)
        return True

    def _launch(self, number: int, files: list[int], limits: monitor.LaunchLimits) -> _Job:
        wire = files[0]
        group = control_group.JoinedGroup.of(files[1:], limits.counts)
        report, reporter = os.pipe()
        watched, hold = (None, None) if self._namespaces else os.pipe()
        pid = os.fork()
        if pid == 0:
            if watched is None:
                launch.start_namespaced(self._main, wire, reporter, limits, group)
            else:
                launch.start_plain(self._main, wire, reporter, watched, limits, group)
        for fd in (*files, reporter, watched):
            if fd is not None:
                os.close(fd)
        job = _Job(number, report, hold, limits.directory)
        if self._namespaces:
            os.waitpid(pid, 0)  # it has reported the cell's pid, or a fault
            self._read_report(job, os.read(report, 1 << 16))
        else:
            job.pid = pid
        return job

    def _read_report(self, job: _Job, data: bytes) -> None:
        job.report_data += data
        lines = job.report_lines()
        if "waited" in lines and job.report_data.endswith(b"\n"):
            self._send({"waited": job.number, "samples": json.loads(lines.pop("waited"))})
            job.report_data = "".join(f"{key} {rest}\n" for key, rest in lines.items()).encode()
        if self._namespaces and not job.pid and "pid" in lines:
            job.pid = int(lines["pid"])
        if "up" in lines and not job.up:
            job.up = True
            self._send({"up": job.number})

    def _report(self, fd: int, poll: Any) -> None:
        job = self._jobs[fd]
        data = os.read(fd, 1 << 16)
        if data:
            self._read_report(job, data)
            return
        poll.unregister(fd)
        os.close(fd)
        del self._jobs[fd]
        ended = self._reap(job)
        lines = job.report_lines()
        if "fault" in lines:
            self._send({"ended": job.number, "how": "", "fault": lines["fault"]})
        else:
            if self._namespaces:  # nothing inside can end the cell
                ended = linux_isolation.FROM_OUTSIDE
            self._send({"ended": job.number, "how": lines.get("how", "" if job.killed else ended)})

    def _reap(self, job: _Job) -> str:
        """Wait until the first process of a launch and everything below it have ended: its report is closed."""
        how = ""
        if job.hold is not None:
            os.close(job.hold)
        if job.pid:
            _kill(job.pid)
            how = linux_isolation.ending(os.waitpid(job.pid, 0)[1])
        if not self._namespaces:
            self._end_strays()
            self._remove(job.directory)
        self._reap_others()
        return how

    def _remove(self, directory: str) -> None:
        """Remove what a killed keeper left, in another process: a candidate may have made millions of files."""
        if os.path.exists(directory):
            pid = os.fork()
            if pid == 0:
                try:
                    linux_isolation.close_all_but(0, 1, 2)
                    removal.remove(directory)
                finally:
                    os._exit(0)
            self._removing.add(pid)

    def _reap_others(self) -> None:
        self._seconds = {number: pid for number, pid in self._seconds.items() if not os.waitpid(pid, os.WNOHANG)[0]}
        self._removing = {pid for pid in self._removing if not os.waitpid(pid, os.WNOHANG)[0]}

    def _end_second(self, number: int) -> None:
        """End a second parent with all its launches, which are children of this process as soon as it has ended.

        One that was ending already keeps the status of its own end.
        """
        pid = self._seconds.pop(number, None)
        how = ""
        if pid is not None:
            _kill(pid)
            how = linux_isolation.ending(os.waitpid(pid, 0)[1])
        self._end_strays()
        self._send({"ended": number, "how": how})

    def _end_strays(self) -> None:
        """End the processes that a killed keeper or second parent left to this process: every other child."""
        while True:
            known = {job.pid for job in self._jobs.values()} | {*self._seconds.values()} | self._removing
            strays = [pid for pid in linux_isolation.children(os.getpid()) if pid not in known]
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
        """End every launch. With namespaces the kernel does it, because this process is the first of one."""
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
        # The host has closed the second parents' sockets before this one
        while (self._seconds or self._removing) and time.monotonic() < limit:
            time.sleep(0.01)
            self._reap_others()
        self._seconds.clear()
        self._removing.clear()
        self._end_strays()
        for job in jobs.values():
            removal.remove(job.directory)

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._control.send(json.dumps(message).encode())
        except (BrokenPipeError, ConnectionError):
            return  # the host has ended; the next read shows it too


def _kill(pid: int, number: int = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass
