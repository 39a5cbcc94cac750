"""Workers that may be on other hosts: what they need there, and a way to the run's directory. With pytest-xdist, mostly in the controller."""

from __future__ import annotations

import signal
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode import VERSION

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.task import Task


def may_be_elsewhere(spec: Any) -> bool:
    """Whether the worker may see other files than this process: on another host, or by a Python that enters a container."""
    from execnet import XSpec

    given = XSpec(str(spec))  # as the user wrote it: a plugin may have changed its interpreter
    return not given.popen or bool(given.python or given.via)


def prepare(config: pytest.Config) -> None:
    """Before connections are made: check the command line, and keep ssh from ending at Ctrl-C. Raises `pytest.UsageError`."""
    from xdist.workermanage import make_reltoroot  # type: ignore[import-untyped]

    session: Any = config.pluginmanager.get_plugin("dsession")
    for arg in config.invocation_params.args:
        try:
            make_reltoroot(session.nodemanager.roots, [str(arg)])
        except ValueError:  # of which pytest-xdist would show a traceback
            raise pytest.UsageError(
                f"{arg}: pytest-xdist cannot name this path on another host: start pytest in the directory of the tasks without it,"
                " and name that directory on each host with //chdir= in --tx; the value of an option is written with ="
            ) from None
    _let_ssh_live(config)


def check_proxies(config: pytest.Config, specs: Sequence[Any]) -> None:
    """Check the proxies that start workers, as pytest-xdist would end with a traceback. Raises `pytest.UsageError`."""
    from execnet import XSpec

    proxies = {spec.id: spec for spec in map(XSpec, config.getoption("px", None) or ())}
    for spec in specs:
        if spec.via and (spec.via not in proxies or proxies[spec.via].execmodel != "thread"):
            raise pytest.UsageError(
                f"--tx: a worker is started via={spec.via}, which must be a proxy that runs threads, and no worker itself: name it as"
                f" --px=id={spec.via}//…//execmodel=thread"
            )


def _let_ssh_live(config: pytest.Config) -> None:
    """Block the signals of a terminal, and of a CI system, in processes of ssh: they would end the connection by which a host stops in order."""
    from execnet import gateway_io

    create_io = gateway_io.create_io

    def create(spec: Any, execmodel: Any) -> Any:
        if not spec.ssh:
            return create_io(spec, execmodel)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})  # a new process inherits it
        try:
            return create_io(spec, execmodel)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    gateway_io.create_io = create
    config.add_cleanup(lambda: setattr(gateway_io, "create_io", create_io))


def connect(node: Any, run: Run) -> None:
    """Check the worker's host, and send the worker a way to the run's directory. Raises `pytest.UsageError`."""
    from pytest_recode.gateway.forwarding import forward

    _check(node)
    channel = node.gateway.newchannel()
    forward(channel, run.file_server.socket)
    node.workerinput["recode_file_server"] = asdict(run.file_server)
    node.workerinput["recode_forward"] = node.recode_forward = channel  # execnet closes a channel that nobody holds
    hosts = node.config.stash.setdefault(_HOSTS, set())
    if str(node.gateway.spec) not in hosts:  # one worker of each host is enough
        hosts.add(str(node.gateway.spec))
        node.workerinput["recode_digests"] = node.recode_digests = node.gateway.newchannel()


_HOSTS = pytest.StashKey[set[str]]()
_COLLECTED = pytest.StashKey[tuple[str, frozenset[str]]]()
_DIGESTS = pytest.StashKey[set[tuple[str, str]]]()


def compare_collections(node: Any, ids: Sequence[str]) -> None:
    """Check that a worker has collected the episodes of the first one. Raises `pytest.UsageError`."""
    first, known = node.config.stash.setdefault(_COLLECTED, (_name(node), frozenset(ids)))
    if differing := sorted(known.symmetric_difference(ids)):
        raise pytest.UsageError(
            f"{_name(node)} finds {len(ids)} of the episodes, and {first} finds {len(known)}; the first difference is {differing[0]}: copy the"
            " same tasks to all hosts, and name their directory with //chdir= in --tx"
        )


def compare_tasks(node: Any, tasks: Iterable[Task]) -> None:
    """Check that a host has the files of `tasks` as this one has them. Raises `pytest.UsageError`."""
    if not hasattr(node, "recode_digests"):
        return
    try:
        there = {
            (task, digest) for task, digest in node.recode_digests.receive()
        }  # sent before the end of the collection
    except EOFError:  # the worker is lost, which pytest-xdist reports
        return
    stash = node.config.stash
    if _DIGESTS not in stash:
        stash[_DIGESTS] = set(_digests(tasks)) or there  # the tasks may be on other hosts only
    differing = sorted({task for task, _ in stash[_DIGESTS] ^ there})
    if differing:
        more = f" and of {len(differing) - 1} more" if differing[1:] else ""
        raise pytest.UsageError(
            f"{_name(node)}: the files of the task {differing[0]}{more} differ from those of the first host: copy the same version of the"
            " tasks to all hosts"
        )


def send_digests(channel: Any, items: Iterable[pytest.Item]) -> None:
    """Worker: send the digest of each task of `items` to the controller."""
    from pytest_recode.plugin.collection.items import EpisodeItem

    tasks = {id(item.task): item.task for item in items if isinstance(item, EpisodeItem)}
    channel.send(sorted(set(_digests(tasks.values()))))


def _digests(tasks: Iterable[Task]) -> Iterator[tuple[str, str]]:
    """The ids of the tasks with the digests of their files."""
    from pytest_recode.task import digest

    for task in tasks:
        try:
            hexdigest = digest(task.load())
        except Exception:  # noqa: BLE001  its episodes report it
            hexdigest = ""
        yield task.id, hexdigest


def _name(node: Any) -> str:
    spec = node.gateway.spec
    return f"worker {node.gateway.id} ({spec.ssh or spec.socket or spec.python or spec.via})"


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
    from xdist.workermanage import make_reltoroot

    spec, config = node.gateway.spec, node.config
    given = [str(arg) for arg in config.invocation_params.args]
    paths = [arg for arg in given if not arg.startswith("-") and (config.invocation_params.dir / _path(arg)).exists()]
    if not spec.popen or spec.chdir:
        paths = make_reltoroot(node.nodemanager.roots, paths)
    channel = node.gateway.remote_exec(_PROBE)
    channel.send([_path(path) for path in paths])
    version, missing, directory, python = channel.receive()
    channel.waitclose()
    host = _name(node)
    if version != VERSION:
        has = f"has pytest-recode {version}" if version else "has no pytest-recode"
        raise pytest.UsageError(
            f"{host}: {python} {has}, and this host has {VERSION}: install that version there, or name another interpreter"
            " with //python= in --tx"
        )
    if missing:
        raise pytest.UsageError(
            f"{host}: {missing[0]} does not exist there, in {directory}: copy the tasks to the same path, or name the directory"
            " with //chdir= in --tx"
        )


def _path(arg: str) -> str:
    return arg.partition("::")[0]


def keep_going(session: Any, node: Any, run: Run, error: object) -> None:
    """Let the others continue if pytest-xdist cannot start the lost worker `node` again, which would end the session, or never end it.

    Raises `pytest.UsageError` for a worker that could not even start, before anything was spent.
    """
    started = hasattr(node, "workerinfo")
    if not started and not session.sched.collection_is_completed:
        raise pytest.UsageError(f"{_name(node)} cannot start: {_reason(error)}: correct this on its host")
    start_again = type(session)._clone_node

    def try_again(node: Any) -> None:
        from execnet.gateway_bootstrap import HostNotFound

        try:
            if not started:
                raise pytest.UsageError(_reason(error))
            start_again(session, node)
        except (OSError, EOFError, HostNotFound, pytest.UsageError) as why:
            others = session._active_nodes - {node}
            takes_over = any(not other.shutting_down for other in others)
            rest = "other workers play its episodes" if takes_over else "resume the run to play its episodes"
            reason = f"worker {node.gateway.id} is lost, and cannot be started again ({why}): {rest}"
            run.notify(reason)
            if not takes_over and not session.sched.tests_finished:
                session.shouldstop = reason

    session._clone_node = try_again  # xdist has no hook for this


def _reason(error: object) -> str:
    """The last line of a traceback, without the name of a usage error."""
    return (str(error).strip().splitlines() or [""])[-1].removeprefix("pytest.UsageError: ")
