"""Docker images: found, built once per content, or one clear line."""

from __future__ import annotations

import io
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from pytest_recode.faults import UserError
from pytest_recode.sandboxes import SandboxContext, docker_
from pytest_recode.sandboxes.conformance import Bench
from pytest_recode.sandboxes.daemon import client
from pytest_recode.sandboxes.docker_ import find_image
from pytest_recode.sandboxes.images import image_for
from pytest_recode.task import Environment, Limits
from tests.messages import assert_message
from tests.sandboxes.conftest import IMAGE, usable


@pytest.fixture
def daemon(context: SandboxContext) -> Iterator[Any]:
    usable("docker", context)
    made = client()
    yield made
    made.close()


@pytest.fixture
def folder(tmp_path: Path, daemon: Any) -> Iterator[Path]:
    """An `environment/` that no earlier run has seen; what is built from it goes."""
    mark = uuid4().hex
    (tmp_path / "Dockerfile").write_text(f"FROM {IMAGE}\nCOPY data.txt /data.txt\nLABEL recode-test={mark}\n")
    (tmp_path / "data.txt").write_text("one")
    (tmp_path / "requirements.txt").write_text(f"# {mark}\npytest\n")
    yield tmp_path
    for image in daemon.images(filters={"label": f"recode-test={mark}"}):
        daemon.remove_image(image["Id"], force=True)


def read_inside(context: SandboxContext, environment: Environment, path: str) -> object:
    sandbox = docker_.Docker(context)
    try:
        with Bench(
            sandbox=sandbox, environment=environment, limits=Limits(memory_mb=256, disk_mb=32, pids=32)
        ).probe() as probe:
            return probe.ask(f"import pytest; result = open({path!r}).read()")
    finally:
        sandbox.close()


@pytest.mark.slow
def test_a_dockerfile_is_built_with_its_folder(context: SandboxContext, folder: Path) -> None:
    environment = Environment(dockerfile=folder / "Dockerfile")
    assert read_inside(context, environment, "/data.txt") == "one"


@pytest.mark.slow
def test_what_a_task_hides_is_left_out_of_the_build(context: SandboxContext, folder: Path) -> None:
    """Whichever format let a Dockerfile lie there; a directory of tests by itself is anybody's."""
    for name in (
        "tests/a.py",
        "reference/a.py",
        "feedback.yaml",
        "below/reference/a.py",
        "below/tests/a.py",
        "own/tests/a",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("")
    with (folder / "Dockerfile").open("a") as file:
        file.write("COPY . /context\nRUN cd /context && find . -type f | sort > /found\n")
    found = read_inside(context, Environment(dockerfile=folder / "Dockerfile"), "/found")
    assert str(found).split() == ["./Dockerfile", "./data.txt", "./own/tests/a", "./requirements.txt"]


@pytest.mark.slow
def test_another_content_is_another_image_and_the_same_is_the_same(daemon: Any, folder: Path) -> None:
    environment = Environment(dockerfile=folder / "Dockerfile")
    first = image_for(daemon, environment, IMAGE)
    assert image_for(daemon, environment, IMAGE) == first
    (folder / "data.txt").write_text("two")
    assert image_for(daemon, environment, IMAGE) != first


@pytest.mark.slow
def test_requirements_are_installed_on_the_base_image(context: SandboxContext, daemon: Any, folder: Path) -> None:
    environment = Environment(requirements=folder / "requirements.txt")
    try:
        assert read_inside(context, environment, "/proc/self/comm") == "python3\n"
    finally:
        daemon.remove_image(image_for(daemon, environment, IMAGE), force=True)


@pytest.mark.slow
def test_many_workers_build_once(daemon: Any, folder: Path) -> None:
    """The build writes a random number into the image: had two built, the ids were two."""
    with (folder / "Dockerfile").open("a") as file:
        file.write("RUN cat /proc/sys/kernel/random/uuid > /once\n")
    script = (
        "import sys\nfrom pathlib import Path\n"
        "from pytest_recode.sandboxes.daemon import client\nfrom pytest_recode.sandboxes.images import image_for\n"
        "from pytest_recode.task import Environment\n"
        "print(image_for(client(), Environment(dockerfile=Path(sys.argv[1])), ''))"
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", script, str(folder / "Dockerfile")],
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parent.parent.parent,
        )
        for _ in range(4)
    ]
    outputs = {worker.communicate()[0] for worker in workers}
    assert len(outputs) == 1, outputs
    assert outputs.pop().startswith("sha256:")


def test_a_build_that_fails(daemon: Any, folder: Path) -> None:
    (folder / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo no such luck && exit 3\n")
    with pytest.raises(UserError) as caught:
        image_for(daemon, Environment(dockerfile=folder / "Dockerfile"), IMAGE)
    message = str(caught.value)
    assert message.startswith(f"image for {folder / 'Dockerfile'} could not be built: ")
    assert "no such luck" in message
    assert "\n" not in message


def test_an_image_that_is_not_there(daemon: Any) -> None:
    name = "127.0.0.1:1/recode/no-such-image:1"
    with pytest.raises(UserError) as caught:
        image_for(daemon, Environment(image=name), IMAGE)
    assert_message(str(caught.value), f"environment.image: {name}", "not be pulled", "build it", "correct the name")


def test_an_image_of_the_run_that_is_not_there() -> None:
    name = "127.0.0.1:1/recode/no-such-image:1"
    with pytest.raises(UserError) as caught:
        find_image(name, [].append)
    assert_message(str(caught.value), f"--recode-image={name}", "not be pulled", "build it", "name another")


@pytest.mark.slow
def test_an_image_without_python(daemon: Any) -> None:
    name = f"recode-test-empty:{uuid4().hex}"
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("empty"))
    daemon.import_image_from_data(archive.getvalue(), *name.split(":"))
    try:
        with pytest.raises(UserError) as caught:
            image_for(daemon, Environment(image=name), IMAGE)
        assert str(caught.value) == f"image {name} has no python3; name an image with Python 3.9 or newer"
    finally:
        remove_tree(daemon, daemon.inspect_image(name)["Id"])


def remove_tree(daemon: Any, image: str) -> None:
    """An image and what a failed build made of it."""
    for other in daemon.images(filters={"dangling": True}, quiet=True):
        above = other
        while above and above != image:
            above = daemon.inspect_image(above)["Parent"]
        if above:
            daemon.remove_image(other)
    daemon.remove_image(image, force=True)


def test_what_an_image_cannot_import(context: SandboxContext, daemon: Any) -> None:
    sandbox = docker_.Docker(context)
    environment = Environment(image=IMAGE, preload=("no_such_module",))
    try:
        with (
            pytest.raises(UserError) as caught,
            Bench(sandbox=sandbox, environment=environment, limits=Limits()).probe(),
        ):
            pass
    finally:
        sandbox.close()
    reason = "ModuleNotFoundError: No module named 'no_such_module'"
    assert_message(str(caught.value), f"image {IMAGE}", "'no_such_module'", reason, "to the image", "requirements")


def test_a_daemon_that_is_down(monkeypatch: pytest.MonkeyPatch, context: SandboxContext) -> None:
    monkeypatch.setenv("DOCKER_HOST", "unix:///no/such/docker.sock")
    problem = docker_.KIND.check(context)
    assert problem is not None
    assert_message(problem, "docker on unix:///no/such/docker.sock", "start Docker there", "DOCKER_HOST")
    docker_.KIND.reap(context)
