"""Docker daemons of other machines: over ssh, with a clock of their own, with an address that is a secret in part."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import pytest

from pytest_recode.faults import SandboxError
from pytest_recode.sandboxes import SandboxContext, daemon, docker_, ssh_tunnel
from pytest_recode.sandboxes.addresses import problem, shown
from pytest_recode.sandboxes.conformance import Bench, until
from pytest_recode.sandboxes.container_config import RUN
from pytest_recode.sandboxes.daemon import client, unanswered
from pytest_recode.task import Environment, Limits
from tests.messages import assert_message
from tests.sandboxes.conftest import IMAGE, usable
from tests.sandboxes.ssh_server import SshServer
from tests.second_daemon import SecondDaemon

LIMITS = Limits(memory_mb=256, disk_mb=32, pids=32)


@pytest.fixture
def ssh(context: SandboxContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SshServer]:
    """A server on this machine; the `ssh` on `PATH` knows its key and has one for it, as a user's configuration would say."""
    usable("docker", context)
    with SshServer(tmp_path) as server:
        monkeypatch.setenv("PATH", str(server.bin), prepend=":")
        yield server


def bench(address: str, run: str) -> Bench:
    sandbox = docker_.Docker(SandboxContext(run=run, python="", image=IMAGE, host=address))
    return Bench(sandbox=sandbox, environment=Environment(), limits=LIMITS)


@pytest.mark.slow
def test_many_containers_share_one_ssh_connection(ssh: SshServer) -> None:
    run = f"ssh-{uuid4().hex}"
    at = bench(ssh.url, run)
    context = SandboxContext(run=run, python="", image=IMAGE, host=ssh.url)
    assert docker_.KIND.check(context) is None

    def ask(number: int) -> object:
        with at.probe() as probe:
            return probe.ask(f"result = 'x' * 300_000 + str({number})")

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(ask, range(6))) == ["x" * 300_000 + str(number) for number in range(6)]
    at.sandbox.close()
    assert at.sandbox.host == ssh.url
    assert ssh.connections() == 2, "one asks for the socket, the other forwards it"
    until(lambda: not ssh.sessions(), "the connection is closed with the sandbox")


@pytest.mark.slow
def test_a_lost_connection_is_an_error_of_the_sandbox(ssh: SshServer) -> None:
    at = bench(ssh.url, f"lost-{uuid4().hex}")

    def loses() -> None:
        with at.probe() as probe:
            assert probe.ask("result = 2") == 2
            ssh.close()
            assert probe.connection.receive(1, time.monotonic() + 60) == b""

    with pytest.raises(SandboxError) as caught:
        loses()
    assert_message(str(caught.value), f"docker on {ssh.url}", "docker version", "--recode-docker-host")
    with pytest.raises(SandboxError, match="does not answer"):
        at.sandbox.close()
    first = client()
    left = {"all": True, "filters": {"label": f"{RUN}={at.sandbox._context.run}"}}
    until(lambda: not first.containers(**left), "the containers ended with the connection")
    first.close()


@pytest.mark.slow
def test_a_connection_that_is_cut_is_opened_again(ssh: SshServer) -> None:
    at = bench(ssh.url, f"cut-{uuid4().hex}")
    with at.probe() as probe:
        assert probe.ask("result = 1") == 1
    ssh.cut()
    until(lambda: not ssh.sessions(), "the connection is cut")
    with suppress(SandboxError), at.probe():  # perhaps a spare, which waited over the lost connection
        pass
    with at.probe() as probe:
        assert probe.ask("result = 2") == 2
    at.sandbox.close()


@pytest.mark.slow
def test_no_ssh_process_outlives_a_worker_that_is_killed(ssh: SshServer) -> None:
    script = f"import sys\nfrom pytest_recode.sandboxes import ssh_tunnel\nprint(ssh_tunnel.forwarded({ssh.url!r}), flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=Path(__file__).parents[2]
    ) as worker:
        assert worker.stdout is not None
        local = Path(worker.stdout.readline().decode().strip().removeprefix("unix://"))
        assert local.is_socket()
        worker.kill()
    until(lambda: not ssh.sessions(), "ssh has ended")
    docker_.KIND.reap(SandboxContext(run="x", python=""))
    assert not local.parent.exists()


@pytest.mark.slow
def test_the_socket_may_be_named(ssh: SshServer, second_daemon: SecondDaemon) -> None:
    address = ssh.url + second_daemon.url.removeprefix("unix://")
    try:
        assert client(address).info()["DockerRootDir"] == str(second_daemon.place / "data")
    finally:
        ssh_tunnel.close(address)


@pytest.mark.parametrize(
    ("path", "port", "cause"),
    [("/nowhere.sock", 0, "open failed"), ("", 1, "Connection refused")],
    ids=["no such socket", "no such server"],
)
def test_what_ssh_says_is_the_cause(ssh: SshServer, path: str, port: int, cause: str) -> None:
    address = (ssh.url if not port else ssh.url.rpartition(":")[0] + f":{port}") + path
    message = docker_.KIND.check(SandboxContext(run="x", python="", host=address)) or ""
    ssh_tunnel.close(address)
    assert_message(message, f"docker on {address}", cause, "docker version", "--recode-docker-host")


def test_an_ssh_that_asks_is_no_connection(ssh: SshServer) -> None:
    ssh.forget_key()
    message = docker_.KIND.check(SandboxContext(run="x", python="", host=ssh.url)) or ""
    assert_message(message, f"docker on {ssh.url}", "Permission denied", "without a question")


def test_a_password_in_an_address_is_never_shown(context: SandboxContext, monkeypatch: pytest.MonkeyPatch) -> None:
    address = "tcp://me:secret@somewhere:2375"
    assert shown(address) == "tcp://me@somewhere:2375"
    monkeypatch.setenv("DOCKER_HOST", address)
    message = docker_.KIND.check(context) or ""
    assert_message(message, "docker on tcp://me@somewhere:2375", "leave it out")
    assert "secret" not in message + unanswered(ValueError("no"), "ssh://me:secret@somewhere")


@pytest.mark.slow
def test_a_host_that_is_cut_off_is_no_slow_candidate(
    second_daemon: SecondDaemon, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The time limit of a program passes, and the daemon cannot say whether it ran."""
    monkeypatch.setattr(daemon, "API_SECONDS", 3)
    at = bench(second_daemon.url, f"frozen-{uuid4().hex}")

    def waits() -> None:
        with at.probe() as probe:
            assert probe.ask("result = 1") == 1
            with second_daemon.frozen():
                probe.connection.receive(1, time.monotonic() + 1)

    with pytest.raises(SandboxError, match=f"docker on {second_daemon.url}: the daemon does not answer .*timed out"):
        waits()
    at.sandbox.close()
    assert not second_daemon.containers()


@pytest.mark.parametrize(
    "address",
    ["ssh://somewhere", "ssh://me@somewhere:22/run/user/1000/docker.sock", "tcp://10.0.0.1:2375", "tcp://[::1]:2376", "unix:///var/run/docker.sock"],
)  # fmt: skip
def test_addresses_of_daemons(address: str) -> None:
    assert problem(address) == ""
    assert shown(address) == address


@pytest.mark.slow
def test_each_host_builds_an_image_once(tmp_path: Path, context: SandboxContext, second_daemon: SecondDaemon) -> None:
    """The build writes a random number into the image: had two workers built on one host, the ids would be two."""
    usable("docker", context)
    mark = uuid4().hex
    (tmp_path / "Dockerfile").write_text(
        f"FROM {IMAGE}\nLABEL recode-test={mark}\nRUN cat /proc/sys/kernel/random/uuid > /once\n"
    )
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from pytest_recode.sandboxes.daemon import client\nfrom pytest_recode.sandboxes.images import image_for\n"
        "from pytest_recode.task import Environment\n"
        "print(image_for(client(sys.argv[2]), Environment(dockerfile=Path(sys.argv[1])), ''))"
    )
    workers = [
        (
            host,
            subprocess.Popen(
                [sys.executable, "-c", script, str(tmp_path / "Dockerfile"), host],
                stdout=subprocess.PIPE,
                text=True,
                cwd=Path(__file__).parents[2],
            ),
        )
        for host in ("", second_daemon.url)
        for _ in range(3)
    ]
    built: dict[str, set[str]] = {"": set(), second_daemon.url: set()}
    for host, worker in workers:
        built[host].add(worker.communicate()[0].strip())
    here, there = built.values()
    assert (len(here), len(there)) == (1, 1), built
    assert here != there
    first = client()
    for image in first.images(filters={"label": f"recode-test={mark}"}):
        first.remove_image(image["Id"], force=True)
    first.close()
