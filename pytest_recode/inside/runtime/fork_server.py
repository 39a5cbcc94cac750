"""The warm parent: imports what a program needs once, then forks a process for each launch (`fork_loop.py`).

Runs in the first process of a bubblewrap or process sandbox. `bootstrap.py` calls `run`; `container_init.py` calls
`warm`, `prepare`, `settle` and `serve_within`. Must not run candidate code: every launch inherits its state.

It talks over a control socket (SOCK_SEQPACKET, a JSON object a message). From the host: `{"launch": n, "limits": …}`
with the wire's descriptor, `{"kill": n}`, and `{"prepare": n, "limits": …}` with a control socket and a file: a
second warm parent is forked, calls the program's `prepare` with the contents of the file, and serves that socket. `{"end_second": n}`
ends it, or what is left of its launches after it was killed; the answer is `ended`. `{"waited": n}` asks how long a launch had to
wait for other programs (the samples of `starvation.py`). To the host:
`{"ready": true}` or `{"fault": …, "module": …}`, `{"up": n}`, `{"waited": n, "samples": …}`, and `{"ended": n, "how": …}` or with `fault` where the
process could not be isolated. When the host closes the socket, this process and everything below it end.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import fcntl
import gc
import importlib
import json
import os
import signal
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any, Optional

from . import control_group, fork_loop, launch, linux_isolation, monitor, unprivileged

Install = Callable[[str, str], Any]
Prepare = Callable[[bytes], None]


class Unimportable(Exception):
    """A module named in `preload`, or the program itself, could not be imported."""

    def __init__(self, module: str, cause: BaseException) -> None:
        super().__init__(f"{type(cause).__name__}: {cause}")
        self.module = module


def warm(setup: dict[str, Any], install: Install) -> launch.Main:
    """Import the modules to preload, then the program, call its `warm`, and return its `main`. Garbage collection is off
    until `settle`."""
    gc.disable()  # imports produce hardly any garbage, and collections take a quarter of their time
    program = setup["program"]
    for module in program["preload"]:
        try:
            importlib.import_module(module)
        except BaseException as exc:  # whatever an import does
            raise Unimportable(module, exc) from exc
    for name, source in program["modules"]:
        try:
            install(name, source)
        except ImportError as exc:  # pytest, which the graders need
            raise Unimportable(exc.name or name, exc) from exc
    entry = sys.modules[program["entry"]]
    if hasattr(entry, "warm"):
        entry.warm()
    main: launch.Main = entry.main
    return main


def prepare(setup: dict[str, Any]) -> None:
    """Call the program's `prepare` in this process, where there is no second parent to do it."""
    program = setup["program"]
    if program["preparation"]:
        sys.modules[program["entry"]].prepare(program["preparation"].encode("latin-1"))


def settle() -> None:
    """Freeze all objects before the first fork, so that collections in a fork copy no pages."""
    gc.collect()
    gc.freeze()
    gc.enable()


def run(setup: dict[str, Any], install: Install) -> None:
    """Warm up, then serve. `setup` has `control`, a descriptor; `uid`, the user to become, or None; and `mode`.

    "nested" forks each launch into namespaces of its own, "plain" into none; "alone" serves one launch, in the
    existing namespaces.
    """
    control = socket.socket(fileno=setup["control"])
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    os.set_inheritable(control.fileno(), False)
    null = os.open("/dev/null", os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)  # stderr stays open: the host quotes it if this process cannot start
    os.close(null)
    if setup["uid"] is not None:
        _become(setup["uid"])
    if setup["mode"] == "plain":
        linux_isolation.adopt_orphans()
    else:  # bwrap's first process
        linux_isolation.die_with_parent()
    if setup["mode"] == "alone":
        for name in ("work", "home"):
            os.mkdir(f"/tmp/{name}")
    if setup["mode"] != "plain":
        os.chdir(launch.WORK)  # each launch will work in a directory of its own at this path
    _end_at_hang_up(control)
    try:
        main = warm(setup, install)
    except Unimportable as exc:
        control.send(json.dumps({"fault": str(exc), "module": exc.module}).encode())
        return
    if setup["mode"] == "alone":
        prepare(setup)

    def serve() -> None:
        settle()
        _end_at_hang_up(control, False)
        linux_isolation.dumpable(False)
        control.send(b'{"ready": true}')
        if setup["mode"] == "alone":
            _alone(control, main)
        else:
            _serve(control, main, getattr(entry, "prepare", None), setup["mode"] == "nested")

    entry = sys.modules[setup["program"]["entry"]]
    if setup["mode"] == "plain":  # the working directory of a launch is not known yet
        serve()
    else:
        serve_within(entry, serve)


def serve_within(entry: Any, serve: Callable[[], None]) -> None:
    """Call `serve` by way of the program's `hold`, if it has one, so that each `main` begins in the middle of it."""
    served = []

    def once() -> None:
        served.append(True)
        _or_end(serve)

    if hasattr(entry, "hold"):
        entry.hold(once)
    if not served:
        serve()


def _or_end(serve: Callable[[], None]) -> None:
    """End the process if `serve` fails: the program that calls it must not handle the exception."""
    try:
        serve()
    except BaseException:  # noqa: BLE001  the host reads it from stderr
        traceback.print_exc()
        os._exit(1)


def _become(uid: int) -> None:
    """Change to another user. Started by root: /proc is mounted without covers first, because the kernel allows a nested
    /proc only then."""
    linux_isolation.make_devices_read_only()
    linux_isolation.mount(
        "proc", "/proc", "proc", linux_isolation.MS_NOSUID | linux_isolation.MS_NODEV | linux_isolation.MS_NOEXEC
    )
    os.setgroups([])
    os.setresgid(uid, uid, uid)
    os.setresuid(uid, uid, uid)
    linux_isolation.dumpable(True)


def _end_at_hang_up(control: socket.socket, on: bool = True, first: bool = True) -> None:
    """End this process by a signal when the host closes the socket, which no code reads while an import runs. The host
    sends nothing before `ready`, so any signal means that.

    `first`: the first process of a namespace ignores signals without a handler; any other ends at once, also in the
    middle of native code.
    """
    if on:
        signal.signal(signal.SIGIO, (lambda *_: os._exit(1)) if first else signal.SIG_DFL)
        fcntl.fcntl(control, fcntl.F_SETOWN, os.getpid())
    flags = fcntl.fcntl(control, fcntl.F_GETFL) & ~os.O_ASYNC
    fcntl.fcntl(control, fcntl.F_SETFL, flags | (os.O_ASYNC if on else 0))
    if on and linux_isolation.hung_up(control.fileno()):
        os._exit(1)
    if not on:
        signal.signal(signal.SIGIO, signal.SIG_DFL)


def _alone(control: socket.socket, main: launch.Main) -> None:
    data, wires, _, _ = socket.recv_fds(control, 1 << 16, 8)
    if not data:
        return
    order = json.loads(data)
    number, wire, limits = order["launch"], wires[0], monitor.LaunchLimits(**order["limits"])

    group = control_group.JoinedGroup.of(wires[1:], limits.counts)

    def report_start(report: int, key: str, rest: str) -> None:
        fault = {"how": "", "fault": rest} if key == "fault" else {}
        message = {"ended": number, **fault} if fault else {"up": number}
        socket.socket(fileno=os.dup(report)).send(json.dumps(message).encode())

    def report_waited(waited: str) -> None:
        # Without a group, the payload could lower its share of the CPUs and take it back, by /proc/self/autogroup
        samples = [] if group.cpu is None else json.loads(waited)
        control.send(json.dumps({"waited": number, "samples": samples}).encode())

    if limits.persistent:
        report_start(control.fileno(), "up", "")
        group.join()
        counted = group.counting_kills(launch.above)
        launch.wire_on_3_and_4(wire, wire, control.fileno(), *counted.files())
        launch.shield("first", limits, counted)
        how = f"exited with status {launch.call(main, 3, 4)}"
    else:
        signal.pthread_sigmask(signal.SIG_BLOCK, monitor.WAKING)
        base = linux_isolation.address_space()
        pid = os.fork()
        if pid == 0:
            group.join()
            launch.run_payload(
                main, wire, wire, control.fileno(), limits, base, jail_kind="first", report_start=report_start
            )
        os.close(wire)
        how = monitor.watch(
            pid,
            limits,
            linux_isolation.pids_here,
            gone=lambda: linux_isolation.hung_up(control.fileno()),
            group=group,
            answer=report_waited,
        )
    control.send(json.dumps({"ended": number, "how": how}).encode())


def _serve(control: socket.socket, main: launch.Main, prepare: Optional[Prepare], namespaces: bool) -> None:
    """Serve until the host closes the socket. `prepare`: what a second parent calls; None where this is one."""

    def second(control: int, data: int, limits: monitor.LaunchLimits) -> None:
        _second(control, data, main, prepare, namespaces, limits)

    fork_loop.Parent(control, main, second, namespaces).serve()


def _second(
    control_fd: int,
    data: int,
    main: launch.Main,
    prepare: Optional[Prepare],
    namespaces: bool,
    limits: monitor.LaunchLimits,
) -> None:
    """In a fork of the warm parent: become a second parent, in a directory of its own. Does not return."""
    user = unprivileged.of_this_process(limits.users)
    try:
        linux_isolation.close_all_but(0, 1, 2, control_fd, data)
        control = socket.socket(fileno=control_fd)
        os.setsid()
        linux_isolation.adopt_orphans()  # the first processes of launches, whose parent ends at once
        if namespaces:
            linux_isolation.dumpable(True)  # /proc/self/uid_map must be ours to write
            linux_isolation.new_user_namespace(linux_isolation.NEWNS, launch.UID, launch.UID)
            launch.fresh_tmp(limits)
        else:
            launch.own_directory(limits, user)
        _end_at_hang_up(control, first=False)
        with open(data, "rb") as file:
            preparation = file.read()
        if prepare is not None:
            with unprivileged.as_user(user):
                prepare(preparation)
        settle()
        _end_at_hang_up(control, False)
        linux_isolation.dumpable(False)
        control.send(b'{"ready": true}')
        _serve(control, main, None, namespaces)
        os._exit(0)
    except BaseException:  # noqa: BLE001 - forked: nothing may return into the warm parent's code
        traceback.print_exc()
    finally:
        os._exit(1)
