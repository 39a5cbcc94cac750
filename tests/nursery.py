"""A Python that has imported what takes long: `[*nursery(), "-m", "pytest", …]` in place of `[sys.executable, "-m", "pytest", …]`.

The real litellm is imported for seconds, and hundreds of sessions are tested here, each in processes of its own. So one process
imports it, with pytest's core and this project's rooms, and forks each of them. The plugin is not imported in it: a session
loads that as ever. Tests of what is imported when, of signals and of terminals have a real `sys.executable`.

The file is three things: `nursery` for tests; the process that forks (with a listening socket); and what stands for an
interpreter (with the socket's path and the interpreter's arguments), which ends as its fork ends and takes that along if killed.
"""

from __future__ import annotations

import sys

if __name__ == "__main__" and sys.flags.isolated:  # stands for an interpreter: it is to begin at once
    import os
    import socket

    with socket.socket(socket.AF_UNIX) as wire:
        wire.connect(sys.argv[1])
        environ = [f"{name}={value}" for name, value in os.environ.items()]
        told = [os.getcwd(), str(len(sys.argv) - 2), *sys.argv[2:], *environ]  # noqa: PTH109
        data = "\0".join(told).encode("utf-8", "surrogateescape")
        socket.send_fds(wire, [len(data).to_bytes(8, "big")], [0, 1, 2])
        wire.sendall(data)
        status = int(wire.recv(100) or b"1")
    if status < 0:
        os.kill(os.getpid(), -status)
    os._exit(status)

import atexit
import gc
import importlib
import io
import os
import pkgutil
import runpy
import select
import signal
import socket
import subprocess
import tempfile
import threading
import types
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PLUGIN = "workers_of_the_nursery"
"""A plugin that sessions of the nursery can be given (`-p`): their workers are its, too."""


@contextmanager
def nursery() -> Iterator[tuple[str, ...]]:
    """The command that stands for `sys.executable`, as long as this is open."""
    with tempfile.TemporaryDirectory(prefix="nursery-") as place, socket.socket(socket.AF_UNIX) as listener:
        path = f"{place}/socket"
        listener.bind(path)
        listener.listen(64)
        with subprocess.Popen(
            [sys.executable, __file__, str(listener.fileno()), path],
            pass_fds=[listener.fileno()],
            stdin=subprocess.PIPE,
            env={**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MODE": "PRODUCTION"},
        ) as process:
            listener.close()  # should the nursery end, nobody waits for it
            yield _command(path)
            assert process.stdin is not None
            process.stdin.close()  # and it ends


def _command(path: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", __file__, path)


def _main(listener: socket.socket, path: str) -> Callable[[], None]:
    """Serve until the standard input ends. Returns in forks alone, with what is to be done in them."""
    gc.disable()  # imports produce hardly any garbage
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import aiohttp.web  # noqa: F401  of the gateway
        import anyio.pytest_plugin  # noqa: F401  comes with litellm, and pytest finds it
        import execnet  # noqa: F401
        import hypothesis  # noqa: F401  its plugin imports it for the header of every session
        import litellm  # noqa: F401
        import openai.resources.chat  # noqa: F401  litellm's first call would import it
        import pytest  # noqa: F401
        import pytest_timeout  # noqa: F401
        import xdist.plugin  # noqa: F401

        import pytest_recode
        from pytest_recode import agents, feedback, formats, gateway, metrics, models, oracle, render, sandboxes
        from pytest_recode.gateway import supervisor

        for room in (pytest_recode, agents, feedback, formats, gateway, metrics, models, oracle, render, sandboxes):
            for module in pkgutil.iter_modules(room.__path__, f"{room.__name__}."):
                if not module.ispkg and not module.name.endswith((".cli", ".__main__")):
                    importlib.import_module(module.name)
    supervisor.interpreter = _command(path)  # a session's gateway is a fork, too
    sys.modules[PLUGIN] = _plugin(path)
    for name, module in sys.modules.items():
        if "." not in name:  # or pytest warns of packages with plugins in them that it comes too late
            module.__doc__ = f"{module.__doc__} PYTEST_DONT_REWRITE"
    gc.freeze()
    gc.enable()
    path_of_modules = [entry for entry in sys.path if entry not in _given(os.environ)][1:]
    poll = select.poll()
    poll.register(0)
    poll.register(listener, select.POLLIN)
    wires: dict[int, tuple[socket.socket, int, int]] = {}  # by its descriptor and by the child's: (wire, pid, pidfd)
    while True:
        for fd, _ in poll.poll():
            if fd == 0:
                os._exit(0)
            if fd == listener.fileno():
                wire = listener.accept()[0]
                order = _order(wire)
                pid = os.fork()
                if pid == 0:
                    keep = order[0]
                    os.closerange(3, min(keep))
                    return _become(*order, path_of_modules)
                for each in order[0]:
                    os.close(each)
                entry = (wire, pid, os.pidfd_open(pid))
                for key in (wire.fileno(), entry[2]):
                    wires[key] = entry
                    poll.register(key, select.POLLIN)
            elif fd in wires:
                wire, pid, pidfd = wires[fd]
                if fd == wire.fileno():  # killed: what stood for it is gone
                    os.kill(pid, signal.SIGKILL)
                status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
                with suppress(ConnectionError):
                    wire.sendall(str(status).encode())
                for key in (wire.fileno(), pidfd):
                    del wires[key]
                    poll.unregister(key)
                wire.close()
                os.close(pidfd)


def _order(wire: socket.socket) -> tuple[list[int], str, list[str], dict[str, str]]:
    """Standard streams, working directory, arguments, environment."""
    size, fds, _, _ = socket.recv_fds(wire, 8, 3)
    with wire.makefile("rb") as file:
        cwd, count, *rest = file.read(int.from_bytes(size, "big")).decode("utf-8", "surrogateescape").split("\0")
    args, environ = rest[: int(count)], rest[int(count) :]
    return fds, cwd, args, dict(entry.split("=", 1) for entry in environ)


def _become(
    fds: list[int], cwd: str, args: list[str], environ: dict[str, str], path_of_modules: list[str]
) -> Callable[[], None]:
    """In a fork: be the interpreter that was asked for."""
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, max(fds) + 1)
    os.chdir(cwd)
    own = {name: value for name, value in os.environ.items() if name.startswith("PYTHON") and name != "PYTHONPATH"}
    asked_for = {name: value for name, value in environ.items() if name.startswith("PYTHON") and name != "PYTHONPATH"}
    os.environ.clear()
    os.environ.update(environ)
    args = args[1:] if args[0] == "-u" else args
    if own != asked_for or args[0][:2] not in ("-m", "-c"):
        os.execv(sys.executable, [sys.executable, *args])
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  it is open as long as the process is
    sys.stdout, sys.stderr = (io.TextIOWrapper(io.FileIO(fd, "w", closefd=False), write_through=True) for fd in (1, 2))
    what, rest = (args[0][2:], args[1:]) if args[0][2:] else (args[1], args[2:])
    sys.path[:] = [cwd if args[0].startswith("-m") else "", *_given(environ), *path_of_modules]
    if args[0].startswith("-m"):
        sys.argv[:] = [what, *rest]
        return lambda: runpy.run_module(what, run_name="__main__", alter_sys=True)
    sys.argv[:] = ["-c", *rest]
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    return lambda: exec(what, main.__dict__)


def _given(environ: os._Environ[str] | dict[str, str]) -> list[str]:
    return [str(Path(entry).absolute()) for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]


def _plugin(path: str) -> types.ModuleType:
    module = types.ModuleType(PLUGIN, "PYTEST_DONT_REWRITE")

    def pytest_xdist_setupnodes(config: object, specs: list[object]) -> None:
        for spec in specs:
            spec.python = " ".join(_command(path))  # type: ignore[attr-defined]

    module.pytest_xdist_setupnodes = pytest_xdist_setupnodes  # type: ignore[attr-defined]
    return module


def _ended(run: Callable[[], None]) -> int:
    """The exit status of an interpreter that does this, once all is done that it does at its end, but for taking down its modules."""
    status: object = 0
    try:
        run()
    except SystemExit as end:
        status = end.code
    except BaseException:  # noqa: BLE001  as an interpreter tells it
        sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        status = 1
    if status is not None and not isinstance(status, int):
        print(status, file=sys.stderr)
        status = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    return status or 0


if __name__ == "__main__":
    os._exit(_ended(_main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2])))
