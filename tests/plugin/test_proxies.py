"""Workers that are started by a server of execnet on a socket, or through a proxy."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.messages import assert_message

MakeTask = Callable[..., Path]
_LONG = 300  # seconds: a broken test ends some time


def run(place: Path, *given: str) -> subprocess.CompletedProcess[str]:
    fixed = ("-p", "no:cacheprovider", "-p", "no:rerunfailures", "--dist=worksteal", "--recode-sandbox=process")
    command = [sys.executable, "-m", "pytest", *fixed, "--recode-model=sim/expert", "--recode-out=out", *given]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=_LONG, check=False)
    print(done.stdout, done.stderr)
    return done


def outcomes(place: Path) -> list[str]:
    return [json.loads(line)["outcome"] for line in (place / "out/results.jsonl").read_text().splitlines()]


@pytest.fixture
def place(make_task: MakeTask, pytester: pytest.Pytester) -> Path:
    for name in ("a", "b"):
        make_task(name)
    return pytester.path


@pytest.fixture
def address() -> Iterator[str]:
    """A server of execnet, which tells its port."""
    command = [sys.executable, "-u", "-m", "execnet.script.socketserver", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as server:
        assert server.stdout is not None
        line = next(line for line in server.stdout if "127.0.0.1" in line)
        yield f"127.0.0.1:{line.rpartition(',')[2].strip(' )' + chr(10))}"
        server.kill()


@pytest.mark.slow
def test_a_server_of_execnet_starts_a_worker(place: Path, address: str) -> None:
    run(place, f"--tx=socket={address}//chdir={place}")
    assert len(outcomes(place)) == 2
    assert "error" not in outcomes(place)


@pytest.mark.slow
def test_a_proxy_starts_workers(place: Path) -> None:
    run(place, "--px=id=gate//popen//execmodel=thread", f"--tx=2*popen//via=gate//chdir={place}")
    assert len(outcomes(place)) == 2
    assert "error" not in outcomes(place)


@pytest.mark.slow
@pytest.mark.parametrize("proxy", ["--px=id=gate//popen", "--tx=popen//id=gate"])
def test_a_proxy_that_cannot_start_workers_is_named_before_anything_is_spent(place: Path, proxy: str) -> None:
    done = run(place, proxy, f"--tx=popen//via=gate//chdir={place}")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("ERROR: ")]
    assert_message(line, "via=gate", "a proxy that runs threads", "--px=id=gate//", "execmodel=thread")
    assert not (place / "out").exists()
