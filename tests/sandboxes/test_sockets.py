"""Bytes that wait unread in sockets are memory, whoever's they are."""

from __future__ import annotations

import pytest

from pytest_recode.sandboxes import Sandbox, SandboxContext
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.task import Environment, Limits
from tests.sandboxes.conftest import opened

LIMITS = Limits(memory_mb=64, disk_mb=32, pids=32)
WALLED = pytest.mark.parametrize("kind", ["bubblewrap", "bubblewrap-cold"])
FILL = """
import os, socket, time
def fill(closing):
    kept = []
    try:
        while True:
            pair = socket.socketpair()
            kept.append(pair)
            for end in pair:
                end.setblocking(False)
                try:
                    while True: end.send(bytes(65536))
                except BlockingIOError: pass
                if closing:
                    pair[0].close()
                    break
    except OSError: pass
    return kept
def all_of_it(closing):
    for _ in range(6):
        if os.fork() == 0:
            kept = fill(closing)
            time.sleep(600)
    time.sleep(600)
"""
BY_ADDRESS = """
import os, socket, time
def pair(kind, family, host):
    if kind == "UDP":
        taker, giver = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        taker.bind((host, 0))
        giver.connect(taker.getsockname()[:2])
        return taker, giver
    with socket.create_server((host, 0), family=family) as server:
        giver = socket.create_connection(server.getsockname()[:2])
        return server.accept()[0], giver
def fill(kind, family, host):
    kept = []
    try:
        while True:
            kept.append(pair(kind, family, host))
            giver = kept[-1][1]
            giver.setblocking(False)
            try:
                for _ in range(12): giver.send(bytes(16384))
            except BlockingIOError: pass
    except OSError: pass
    return kept
def all_of_it(kind, host):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    for _ in range(8):
        if os.fork() == 0:
            kept = fill(kind, family, host)
            time.sleep(600)
    time.sleep(600)
"""


def bench(kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox], *preload: str) -> Bench:
    environment = Environment(preload=preload)
    limits = LIMITS if not preload else Limits(memory_mb=1024, disk_mb=64, pids=32)
    return Bench(sandbox=opened(kind, context, sandboxes), environment=environment, limits=limits)


@WALLED
@pytest.mark.parametrize("closing", [False, True], ids=["open", "sender closed"])
def test_what_waits_in_sockets_counts(
    kind: str, closing: bool, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    with bench(kind, context, sandboxes).probe() as probe:
        assert probe.ended(FILL + f"all_of_it({closing})") == "out of memory (64 MiB)"


@WALLED
@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
@pytest.mark.parametrize("protocol", ["TCP", "UDP"])
def test_so_does_what_has_an_address(
    kind: str, protocol: str, host: str, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    with bench(kind, context, sandboxes).probe() as probe:
        assert probe.ended(BY_ADDRESS + f"all_of_it({protocol!r}, {host!r})") == "out of memory (64 MiB)"


@WALLED
def test_it_counts_for_a_command_as_well(kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]) -> None:
    with bench(kind, context, sandboxes).probe(persistent=True) as probe:
        output = probe.ask(
            "import sys; from _recode.runtime import command_runner\n"
            f"done = command_runner.run([sys.executable, '-c', {FILL + 'all_of_it(False)'!r}], cwd='.', seconds=60, output_limit=999)\n"
            "result = [done.timed_out, done.status, done.output.decode()]"
        )
        assert output == [False, -9, "[killed: out of memory (64 MiB)]\n"]


@WALLED
def test_no_buffer_is_made_larger(kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]) -> None:
    with bench(kind, context, sandboxes).probe() as probe:
        before, after, other = probe.ask(
            "import socket\n"
            "one = socket.socketpair()[0]\n"
            "sizes = lambda: [one.getsockopt(1, option) for option in (7, 8)]\n"
            "before = sizes()\n"
            "for option in (7, 8): one.setsockopt(1, option, 1 << 13)\n"
            "one.setsockopt(1, socket.SO_KEEPALIVE, 1)\n"
            "result = [before, sizes(), one.getsockopt(1, socket.SO_KEEPALIVE)]"
        )
        assert after == before
        assert other == 1


@pytest.mark.parametrize("kind", ["bubblewrap", "process"])
def test_what_science_needs_works_with_few_descriptors(
    kind: str, context: SandboxContext, sandboxes: dict[str, Sandbox]
) -> None:
    pytest.importorskip("numpy")
    with bench(kind, context, sandboxes, "numpy").probe() as probe:
        answer = probe.ask(
            "import multiprocessing, resource, numpy\n"
            "with multiprocessing.get_context('fork').Pool(4) as pool:\n"
            "    squares = pool.map(numpy.square, range(4))\n"
            "result = [[int(x) for x in squares], list(resource.getrlimit(resource.RLIMIT_NOFILE))]"
        )
        assert answer == [[0, 1, 4, 9], [256, 256]]
