"""The verifier of an exported task, in its container: verdicts, faults that are not the answer's, and answers that attack it."""

from __future__ import annotations

import io
import json
import shutil
import subprocess
import sys
import tarfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from pytest_recode.formats.directory import FORMAT
from pytest_recode.task_export import harbor_export, writing
from pytest_recode.task_export.carried_modules import carried_modules
from tests.projects import make_task
from tests.sandboxes.conftest import IMAGE, unavailable

REFERENCE = "def twice(x):\n    return x * 2\n\n\ndef half(x):\n    return x / 2\n"


@dataclass(frozen=True)
class Judged:
    """How a container of the verifier ended, and what it wrote."""

    status: int
    output: str
    results: Mapping[str, bytes]

    @property
    def rewards(self) -> dict[str, float] | None:
        return json.loads(self.results["reward.json"]) if "reward.json" in self.results else None


def docker(*arguments: str, data: bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(["docker", *arguments], input=data, capture_output=True, check=False)


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The image of the verifier of the small task."""
    if not shutil.which("docker") or not IMAGE:
        unavailable("RECODE_TEST_IMAGE names no docker image with Python and pytest")
    place = tmp_path_factory.mktemp("exported")
    make_task(place, "one")
    [task] = FORMAT.load(place / "tasks/one/task.yaml")
    writing.write(place / "one", harbor_export.files(task, task.load(), harbor_export.base_image(task, IMAGE)))
    tag = f"recode-verifier:{uuid.uuid4().hex}"
    built = docker("build", "-q", "-t", tag, str(place / "one/tests"))
    assert built.returncode == 0, built.stderr.decode()
    yield tag
    docker("rmi", "-f", tag)


def judged(image: str, files: Mapping[str, str], *options: str, command: str = "/tests/test.sh") -> Judged:
    """Judge these files below /app, as Harbor does."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for path, text in files.items():
            info = tarfile.TarInfo(f"app/{path}")
            info.size = len(text.encode())
            tar.addfile(info, io.BytesIO(text.encode()))
    name = f"recode-verifier-{uuid.uuid4().hex}"
    try:
        created = docker(
            "create", f"--name={name}", "--network=none", "--memory=1g", *options, image, "sh", "-c", command
        )
        assert created.returncode == 0, created.stderr.decode()
        assert docker("cp", "-", f"{name}:/", data=buffer.getvalue()).returncode == 0
        done = docker("start", "-a", name)
        logs = docker("cp", f"{name}:/logs/verifier", "-")
        with tarfile.open(fileobj=io.BytesIO(logs.stdout)) as tar:
            results = {
                member.name.partition("/")[2]: content.read()
                for member in tar.getmembers()
                if (content := tar.extractfile(member)) is not None
            }
        return Judged(done.returncode, (done.stdout + done.stderr).decode(), results)
    finally:
        docker("rm", "-f", name)


@pytest.mark.slow
def test_verdicts_are_written_as_rewards(image: str) -> None:
    right = judged(image, {"answer.py": REFERENCE})
    assert (right.status, right.rewards) == (0, {"reward": 1, "solved": 1, "share": 1.0}), right.output
    untouched = judged(image, {})
    assert (untouched.status, untouched.rewards) == (0, {"reward": 0, "solved": 0, "share": 0.0}), untouched.output
    assert "answer.py: No such file or directory" in untouched.output


@pytest.mark.slow
def test_a_fault_that_is_not_the_answers_has_no_reward(image: str) -> None:
    broken = judged(
        image,
        {"answer.py": REFERENCE},
        command="echo 1 > /logs/verifier/reward.txt; rm -r /tests/task/tests; /tests/test.sh",
    )
    assert broken.status == 2
    assert "no verdict: " in broken.output
    assert broken.results == {}
    ordinary = judged(image, {"answer.py": REFERENCE}, "--user=1000", command="chmod u+x /tests; /tests/test.sh")
    assert ordinary.status != 0
    assert ordinary.results == {}


PROBES = """\
import ctypes, json, os


def can(act, *arguments):
    try:
        act(*arguments)
    except OSError:
        return False
    return True


def look(path):
    os.listdir(path) if os.path.isdir(path) else open(path, "rb").read(1)


def probes():
    owner = {int(name): os.stat(f"/proc/{name}").st_uid for name in os.listdir("/proc") if name.isdigit()}
    others = [pid for pid, user in owner.items() if user != os.getuid()]
    own = os.path.dirname(os.getcwd())
    written = []
    for place, directories, files in os.walk("/"):
        if place in ("/proc", "/sys", "/dev") or place.startswith(own):
            directories[:] = ["shm", "mqueue"] if place == "/dev" else []
            continue
        paths = [place, *(os.path.join(place, name) for name in files)]
        written += [path for path in paths if not os.path.islink(path) and os.access(path, os.W_OK)]
    libc = ctypes.CDLL(None)
    return {
        "judges": len({user for pid, user in owner.items() if pid in others}) - 1,
        "read": [path for path in ("/tests", "/tests/task/task.json", "/logs", "/logs/verifier/test.txt", "/root") if can(look, path)],
        "of processes": [
            f"{pid}/{name}" for pid in others for name in ("environ", "mem", "maps", "fd", "cwd", "root") if can(look, f"/proc/{pid}/{name}")
        ],
        "signalled": [pid for pid in others if can(os.kill, pid, 0)],
        "traced": [pid for pid in others if libc.ptrace(16, pid, 0, 0) == 0],
        "root": can(os.setuid, 0),
        "written": written,
    }


def twice(x):
    raise RuntimeError("PROBES " + json.dumps(probes()))


def half(x):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            import time

            time.sleep(600)
        os._exit(0)
    return x / 2
"""


@pytest.mark.slow
def test_an_answer_reaches_nothing_of_its_judge_and_leaves_nothing(image: str) -> None:
    left = "/tests/test.sh; echo status $?; set -- /proc/[0-9]*; echo $#"  # the shell alone
    attack = judged(image, {"answer.py": PROBES}, command=left)
    assert attack.rewards == {"reward": 0, "solved": 0, "share": 0.5}, attack.output
    assert attack.output.splitlines()[-2:] == ["status 0", "1"]
    [test] = [
        test for test in json.loads(attack.results["ctrf.json"])["results"]["tests"] if test["status"] == "failed"
    ]
    probes = json.loads(test["message"].partition("PROBES ")[2].splitlines()[0])
    assert probes.pop("judges") >= 1
    assert not any(probes.values()), probes


FILLING = """\
import os


def twice(x):
    files = []
    for n in range(3 << 10):
        if n % 100 == 0:
            files.append(os.open(str(n), os.O_CREAT | os.O_WRONLY))
            os.unlink(str(n))
        os.write(files[-1], b"x" * (1 << 20))
    return 2 * x


def half(x):
    return x / 2
"""


@pytest.mark.slow
def test_an_answer_that_fills_the_disk_fails_the_cases_that_need_it(image: str) -> None:
    attack = judged(image, {"answer.py": FILLING})
    assert attack.rewards == {"reward": 0, "solved": 0, "share": 0.5}, attack.output
    assert b"too much disk (512 MiB)" in attack.results["ctrf.json"]


def test_the_modules_that_travel_are_all_that_a_verdict_needs(tmp_path: Path) -> None:
    """With only them, in a Python that cannot find the package: the verifier and the programs that it sends can be imported."""
    for path, data in carried_modules().items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    script = (
        "import sys; sys.path[:0] = [sys.argv[1]]; import pytest_recode.verifier.__main__ as main;"
        "from pytest_recode.sandboxes.shipping import modules_for; modules_for('runtime.fork_server');"
        "ours = [m.__file__ for n, m in sys.modules.items() if n.startswith('pytest_recode')];"
        "print(all(f.startswith(sys.argv[1]) for f in ours), len(ours))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith("True "), done.stderr
    assert not any(path.startswith("pytest_recode/models") for path in carried_modules())
