"""Workers that may be on other hosts: what they need there, and a way to the run's directory. Used in the controller, with pytest-xdist."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode import VERSION

if TYPE_CHECKING:
    from pytest_recode.plugin.session import Run


def may_be_elsewhere(spec: Any) -> bool:
    """Whether the worker may see other files than this process: on another host, or by a Python that enters a container."""
    from execnet import XSpec

    given = XSpec(str(spec))  # as the user wrote it: a plugin may have changed its interpreter
    return not given.popen or bool(given.python or given.via)


def connect(node: Any, run: Run) -> None:
    """Check the worker's host, and send the worker a way to the run's directory. Raises `pytest.UsageError`."""
    from pytest_recode.gateway.forwarding import forward

    _check(node)
    channel = node.gateway.newchannel()
    forward(channel, run.file_server.socket)
    node.workerinput["recode_file_server"] = asdict(run.file_server)
    node.workerinput["recode_forward"] = node.recode_forward = channel  # execnet closes a channel that nobody holds


_PROBE = """
import os, sys
from importlib import metadata
paths = channel.receive()
try:
    version = metadata.version("pytest-recode")
except metadata.PackageNotFoundError:
    version = ""
channel.send((version, [path for path in paths if not os.path.exists(path)], os.getcwd(), sys.executable))
"""


def _check(node: Any) -> None:
    """Check that the host has this version of the plugin, and the paths of the command line; pytest-xdist would only find no tests."""
    from xdist.workermanage import make_reltoroot  # type: ignore[import-untyped]

    spec, config = node.gateway.spec, node.config
    given = [str(arg) for arg in config.invocation_params.args]
    paths = [arg for arg in given if not arg.startswith("-") and (config.invocation_params.dir / _path(arg)).exists()]
    if not spec.popen or spec.chdir:
        paths = make_reltoroot(node.nodemanager.roots, paths)
    channel = node.gateway.remote_exec(_PROBE)
    channel.send([_path(path) for path in paths])
    version, missing, directory, python = channel.receive()
    channel.waitclose()
    host = f"worker {node.gateway.id} ({spec.ssh or spec.socket or spec.python or spec.via})"
    if version != VERSION:
        has = f"has pytest-recode {version}" if version else "has no pytest-recode"
        raise pytest.UsageError(
            f"{host}: {python} {has}, and this host has {VERSION}: install that version there, or name another interpreter"
            " with //python= in --tx"
        )
    if missing:
        raise pytest.UsageError(
            f"{host}: {missing[0]} does not exist there, in {directory}: copy the tasks to the same path, name the directory with"
            " //chdir= in --tx, or let pytest-xdist copy them with --rsyncdir"
        )


def _path(arg: str) -> str:
    return arg.partition("::")[0]


def keep_going(session: Any, node: Any, run: Run) -> None:
    """Let the others go on if pytest-xdist cannot start the worker `node` again, which would end the session."""
    start_again = type(session)._clone_node

    def try_again(node: Any) -> None:
        from execnet.gateway_bootstrap import HostNotFound

        try:
            start_again(session, node)
        except (OSError, EOFError, HostNotFound, pytest.UsageError) as error:
            others = session._active_nodes - {node}
            takes_over = any(not other.shutting_down for other in others)
            rest = "other workers play its episodes" if takes_over else "resume the run to play its episodes"
            reason = f"worker {node.gateway.id} is lost, and cannot be started again ({error}): {rest}"
            run.notify(reason)
            if not takes_over and not session.sched.tests_finished:
                session.shouldstop = reason

    session._clone_node = try_again  # xdist has no hook for this
