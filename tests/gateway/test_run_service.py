"""The run's files as a worker on another host sees them: over HTTP, in the directory of the gateway."""

from __future__ import annotations

import threading
from contextlib import nullcontext
from pathlib import Path

import pytest

from pytest_recode.faults import GatewayError, RecordsError, Stopped
from pytest_recode.gateway import token, worker_of, worker_token
from pytest_recode.gateway.connection import connected, response_of
from pytest_recode.gateway.remote_run import RemoteRun
from pytest_recode.models import Caller
from pytest_recode.records.run_directory import append_at
from pytest_recode.records.transcript import Abandoned, Transcript

from .conftest import Gateway, Start


@pytest.fixture
def gateway(start_gateway: Start) -> Gateway:
    return start_gateway("http://127.0.0.1:1/v1", models=False, run="this")


@pytest.fixture
def run(gateway: Gateway) -> RemoteRun:
    return RemoteRun(gateway.ledger.parent, gateway.address, "gw0")


def test_a_line_is_in_the_file_when_the_call_returns(run: RemoteRun) -> None:
    path = run.out / "episodes" / "a.jsonl"
    with pytest.raises(FileNotFoundError):
        run.read(path)
    transcript = Transcript(path, Abandoned(), run)
    transcript.log("note", {"text": "\ud800 and é"})
    assert path.read_bytes().count(b"\n") == 1
    assert run.read(path) == path.read_bytes()
    with path.open("ab") as file:
        file.write(b'{"event": "to')
    Transcript(path, Abandoned(), run).log("note", {"text": "again"})
    assert path.read_bytes().count(b"\n") == 2


def test_a_repeated_append_is_written_once(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"one\n")
    for there in (b"", b"tw", b"two\n"):  # what an interrupted call left of it
        path.write_bytes(b"one\n" + there)
        append_at(path, 4, b"two\n")
        assert path.read_bytes() == b"one\ntwo\n"
    for other in (b"one\nother\n", b"on", b"one\ntwo\nthree\n"):
        path.write_bytes(other)
        with pytest.raises(RecordsError, match="was changed"):
            append_at(path, 4, b"two\n")
        assert path.read_bytes() == other


NOT_SHARED = (
    *(
        "other/a",
        "first-turns/../a",
        "first-turns/.a",
        "first-turns/a/b",
        "first-turns/a.lock",
        "first-turns/a%00",
        "a",
    ),
    *("results.jsonl", "spending.jsonl", "controller.lock", "episodes/a", "checkpoints/a"),
    *("first-turns/%2e%2e%2fa", "first-turns%2fa%2fb", "first-turns/%2fa", "..%2fa", "%2ftmp%2fa", "first-turns//a"),
)


@pytest.mark.parametrize("name", NOT_SHARED)
def test_no_other_file_is_replaced(gateway: Gateway, name: str) -> None:
    own = worker_token(gateway.address.secret, "gw0")
    before = sorted(gateway.ledger.parent.parent.rglob("*"))
    with response_of(connected(gateway.address.socket), "PUT", f"/v1/run/files/{name}", own, {}, "text") as response:
        assert response.status == 403
    assert sorted(gateway.ledger.parent.parent.rglob("*")) == before


def test_a_line_that_was_written_stays(run: RemoteRun) -> None:
    for folder in ("episodes", "checkpoints"):
        path = run.out / folder / "a.jsonl"
        run.lines(path).append({"a": 1})
        with pytest.raises(GatewayError, match="403"):
            run.remove(path)
        with pytest.raises(GatewayError, match="403"), run.locked(path, nullcontext()):
            raise AssertionError("it is no lock")
        with pytest.raises(RecordsError, match="was changed"):
            run.append(path, 0, b"{}\n")
        assert path.read_bytes() == b'{"a": 1}\n'


@pytest.mark.parametrize("kind", ["none", "an episode's", "another run's", "another worker's"])
def test_only_the_token_of_a_worker_opens_files(gateway: Gateway, kind: str) -> None:
    secret = gateway.address.secret
    other = worker_token(secret, "gw1")
    bearer = {
        "none": "",
        "an episode's": token(secret, Caller(episode="worker-gw0")),
        "another run's": worker_token("other", "gw0"),
        "another worker's": other.replace("gw1", "gw0"),
    }[kind]
    assert worker_of(secret, bearer) is None
    assert worker_of(secret, other) == "gw1"
    with response_of(
        connected(gateway.address.socket), "GET", "/v1/run/files/episodes/a", bearer, {}, None
    ) as response:
        assert response.status == 401


def test_a_lock_excludes_others_until_its_holder_leaves(run: RemoteRun) -> None:
    path, order = run.out / "first-turns" / "a.lock", []
    held, waits = threading.Event(), threading.Event()

    def other() -> None:
        held.wait()
        waits.set()
        with run.locked(path, nullcontext()):
            order.append("other")

    thread = threading.Thread(target=other)
    thread.start()
    with run.locked(path, nullcontext()):
        held.set()
        waits.wait()
        order.append("this")
    thread.join()
    assert order == ["this", "other"]


def test_what_fails_under_a_lock_is_no_fault_of_the_connection(run: RemoteRun) -> None:
    with pytest.raises(BrokenPipeError), run.locked(run.out / "first-turns" / "a.lock", nullcontext()):
        raise BrokenPipeError


def test_a_gateway_that_is_started_again_stops_no_worker(gateway: Gateway, run: RemoteRun) -> None:
    stopped = threading.Event()

    def follow() -> None:
        run.wait_for_stop()
        stopped.set()

    thread = threading.Thread(target=follow)
    lines = run.lines(run.out / "episodes" / "a.jsonl")
    thread.start()
    gateway.kill()
    lines.append({"a": 1})
    assert not stopped.is_set()
    gateway.process.stop()
    thread.join()
    assert run.read(run.out / "episodes" / "a.jsonl") == b'{"a": 1}\n'


def test_a_run_that_stops_before_its_gateway_is_up_is_stopped(gateway: Gateway, run: RemoteRun) -> None:
    """Of a gateway that is started again, the configuration and the order to stop may come together."""
    gateway.process.stop()
    gateway.kill()
    run.wait_for_stop()
    with pytest.raises(Stopped):
        run.ledger("before_call", model="local")
    assert gateway.lines() == []


def test_a_worker_stops_when_the_gateway_is_lost(gateway: Gateway, run: RemoteRun) -> None:
    gateway.process.close()
    run.wait_for_stop()
    with pytest.raises(RecordsError, match="resume the run"):
        run.check()
    with pytest.raises(RecordsError, match="resume the run"), run.locked(run.out / "first-turns/a.lock", nullcontext()):
        raise AssertionError("there is no lock")
