"""Find, pull or build the Docker image of a task: the image it names, or one built from its Dockerfile or requirements.

pytest is installed in images that lack it, because hidden tests need it. Built images are tagged
`pytest-recode/<kind>:<hash of their inputs>` and kept, so that later runs reuse them.
"""

from __future__ import annotations

import hashlib
import io
import logging
import os
import shlex
import tarfile
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError
from pytest_recode.inside.workspace.image_files import OUTSIDE, PRISTINE
from pytest_recode.records import locks
from pytest_recode.sandboxes.addresses import in_use, on
from pytest_recode.sandboxes.requirements import lines
from pytest_recode.task import SECRET, Environment

LOG = logging.getLogger("pytest_recode")

BASE = "python:3.12-slim"
LABEL = "pytest-recode.image"
_FORWARDED = (
    "PIP_INDEX_URL",
    "PIP_EXTRA_INDEX_URL",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "http_proxy",
    "https_proxy",
    "no_proxy",
)
_NO_PYTHON, _OLD_PYTHON = 47, 48
_LAYER = f"""\
FROM {{base}}
USER 0
ARG PIP_INDEX_URL
ARG PIP_EXTRA_INDEX_URL
ARG PIP_BREAK_SYSTEM_PACKAGES=1
RUN command -v python3 >/dev/null || exit {_NO_PYTHON}
{{install}}RUN python3 -c "import pytest" 2>/dev/null || python3 -m pip install --no-cache-dir pytest
"""
_WORKDIR_LAYER = f"""\
FROM {{base}}
USER 0
RUN command -v python3 >/dev/null || exit {_NO_PYTHON}
RUN python3 -c "import sys; sys.exit(sys.version_info < (3, 9))" || exit {_OLD_PYTHON}
RUN mkdir -p {{workdir}} {PRISTINE} && cp -a {{workdir}}/. {PRISTINE} && chmod -R a+rX {PRISTINE}
{{outside}}"""
_OUTSIDE_LAYER = """\
RUN mkdir -p "$(dirname {path})" "$(dirname {kept})" && if [ -e {path} ]; then cp -a {path} {kept} && chmod -R a+rX {kept} && rm -rf {path}; fi && ln -s {link} {path}
"""
_REQUIREMENTS = """\
COPY requirements.txt /tmp/requirements.txt
RUN python3 -m pip install --no-cache-dir -r /tmp/requirements.txt && rm /tmp/requirements.txt
"""


def image_for(client: Any, environment: Environment, base: str) -> str:
    """The id of the image for `environment`, which is pulled or built if necessary.

    `client` is one of `daemon.client`. Raises a `UserError` with the last lines of a failed build.
    """
    if environment.dockerfile is not None:
        folder = environment.dockerfile.parent
        files = {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in _context(folder, whole=bool(environment.workdir))
        }
        own = _built(client, "task", files, environment.dockerfile.name, str(environment.dockerfile))
        if environment.workdir:
            return _with_workdir(client, own, str(environment.dockerfile), environment)
        return _layered(client, own, str(environment.dockerfile), None)
    if environment.image:
        name = environment.name  # set if --recode-env named the image
        alternative = (
            f"name another with --recode-env={name}=IMAGE"
            if name
            else "correct the name of the image in the task's manifest"
        )
        what = f"--recode-env={name}={environment.image}" if name else f"environment.image: {environment.image}"
        next_step = f"build it, or pull it on a machine with a network, or {alternative}"
        image = _present(client, environment.image, what, next_step)
    else:
        image = base_image(client, base)
    if environment.workdir:
        return _with_workdir(client, image, environment.image or base or BASE, environment)
    return _layered(client, image, environment.image or base or BASE, environment.requirements)


def base_image(client: Any, name: str, notify: Callable[[str], None] = LOG.warning) -> str:
    """The id of the image for tasks that name none; `name` "" is the default image.

    `notify` is called with a line before a pull. Raises `UserError`.
    """
    if name:
        next_step = "build it, or pull it on a machine with a network, or name another image"
        return _present(client, name, f"--recode-image={name}", next_step, notify)
    return _present(
        client,
        BASE,
        f"the default image {BASE}",
        "pull it on a machine with a network, or name another with --recode-image",
        notify,
    )


def has_image(client: Any, name: str) -> bool:
    import docker.errors

    try:
        client.inspect_image(name)
    except docker.errors.ImageNotFound:
        return False
    return True


def _context(folder: Path, *, whole: bool) -> Iterator[Path]:
    """The files of a build context. Raises `UserError` for symbolic links.

    `whole`: all of them, for a task that names a directory of the image: its folders are contexts and nothing else, and a `reference` in
    one is no answer. Else without the hidden parts of tasks in `folder`.
    """
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():  # it may point to any file of this machine
            raise UserError(
                f"{path}: is a symbolic link to {path.readlink()}, in a folder that Docker builds an image from; replace it with a copy of its target"
            )
        above = () if whole else [each for each in path.parents if each.is_relative_to(folder)]
        if path.is_file() and not any(_hides(each, path) for each in above):
            yield path


def _hides(directory: Path, path: Path) -> bool:
    return (directory / "reference").is_dir() and path.relative_to(directory).parts[0] in SECRET


def _present(client: Any, name: str, what: str, next_step: str, notify: Callable[[str], None] = LOG.warning) -> str:
    """The id of a named image, which is pulled if necessary."""
    import docker.errors

    try:
        return str(client.inspect_image(name)["Id"])
    except docker.errors.ImageNotFound:
        notify(f"docker{on(client.address)}: pulling the image {name}, which may take minutes")
    try:
        repository, separator, tag = name.rpartition(":")
        if not separator or "/" in tag or "@" in name:
            repository, tag = name, "" if "@" in name else "latest"
        client.pull(repository, tag=tag or None)
        return str(client.inspect_image(name)["Id"])
    except docker.errors.APIError as exc:
        raise UserError(
            f"{what} is not{on(client.address) or ' on this machine'} and could not be pulled ({_reason(exc)}): {next_step}"
        ) from exc


def _layered(client: Any, image: str, name: str, requirements: Path | None) -> str:
    """The id of an image with `requirements` and pytest installed on top of `image`."""
    files = {}
    install = ""
    if requirements is not None:
        lines(requirements)  # what cannot be decoded is the user's error, not one of the build
        files["requirements.txt"] = requirements.read_bytes()
        install = _REQUIREMENTS
    files["Dockerfile"] = _LAYER.format(base=image, install=install).encode()
    blame = f"{name} + {requirements}" if requirements else name
    return _built(client, "environment", files, "Dockerfile", blame)


def _with_workdir(client: Any, image: str, name: str, environment: Environment) -> str:
    """The id of an image with a copy of the files in its working directory, for the empty file system that a container has there."""
    layer = _WORKDIR_LAYER.format(
        base=image,
        workdir=shlex.quote(environment.workdir),
        outside="".join(_link_of(path, environment.workdir) for path in environment.outside),
    )
    return _built(client, "workdir", {"Dockerfile": layer.encode()}, "Dockerfile", name)


def _link_of(path: str, workdir: str) -> str:
    """A line of a Dockerfile that makes an absolute path a link into the working directory, with what is there."""
    kept, link = (shlex.quote(f"{root}/{OUTSIDE}{path}") for root in (PRISTINE, workdir))
    return _OUTSIDE_LAYER.format(path=shlex.quote(path), kept=kept, link=link)


def _built(client: Any, kind: str, files: dict[str, bytes], dockerfile: str, blame: str) -> str:
    digest = hashlib.sha256(dockerfile.encode())
    for path, data in sorted(files.items()):
        digest.update(f"\0{path}\0{len(data)}\0".encode() + data)
    tag = f"pytest-recode/{kind}:{digest.hexdigest()[:24]}"
    image = _find(client, tag)
    if image is None:
        with _one_builder(client.address):
            image = _find(client, tag) or _build(client, files, dockerfile, tag, blame)
    return image


def _find(client: Any, tag: str) -> str | None:
    import docker.errors

    try:
        return str(client.inspect_image(tag)["Id"])
    except docker.errors.ImageNotFound:
        return None


def _build(client: Any, files: dict[str, bytes], dockerfile: str, tag: str, blame: str) -> str:
    import docker.errors

    output: list[str] = []
    place = on(client.address)
    LOG.warning("docker%s: building the image for %s, which happens once and may take minutes", place, blame)
    try:
        events = client.build(
            fileobj=_tar(files),
            custom_context=True,
            dockerfile=dockerfile,
            tag=tag,
            rm=True,
            forcerm=True,
            labels={LABEL: tag},
            buildargs={name: os.environ[name] for name in _FORWARDED if name in os.environ},
            decode=True,
        )
        for event in events:
            output.append(str(event.get("stream", "")))
            if "error" in event:
                raise UserError(_failed(blame + place, event, output))
    except docker.errors.APIError as exc:
        raise UserError(f"image for {blame}{place} could not be built: {_reason(exc)}") from exc
    return str(client.inspect_image(tag)["Id"])


def _failed(blame: str, event: dict[str, Any], output: list[str]) -> str:
    error = str(event["error"])
    no_shell = "/bin/sh" in error and ("no such file" in error or "not found" in error)
    code = event.get("errorDetail", {}).get("code")
    if no_shell or code in (_NO_PYTHON, _OLD_PYTHON):
        what = "only an older python3" if code == _OLD_PYTHON else "no python3"
        return f"image {blame} has {what}; name an image with Python 3.9 or newer"
    last = " | ".join(line.strip() for line in "".join(output).splitlines()[-4:] if line.strip())
    return f"image for {blame} could not be built: {' '.join(error.split())} ({last})"


def _tar(files: dict[str, bytes]) -> io.BytesIO:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for path, data in files.items():
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            entry.mode = 0o755
            archive.addfile(entry, io.BytesIO(data))
    buffer.seek(0)
    return buffer


@contextmanager
def _one_builder(address: str) -> Iterator[None]:
    """A lock under which one worker of this machine builds an image on a daemon; the others then find it."""
    used = in_use(address)
    daemon = f"-{hashlib.sha256(used.encode()).hexdigest()[:12]}" if used else ""
    path = Path(tempfile.gettempdir()) / f"pytest-recode-{os.getuid()}{daemon}.lock"
    with locks.locked(locks.open_lock(path, 0o600, os.O_NOFOLLOW)):
        yield


def _reason(exc: Any) -> str:
    return " ".join(str(getattr(exc, "explanation", None) or exc).split())
