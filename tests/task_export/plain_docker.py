"""A Harbor environment of plain `docker` commands, for machines without docker compose or without the image of Harbor's egress control.

Loaded by Harbor (`-e plain_docker:PlainDocker`), in its own interpreter. The network is docker's own: all of it, or none.
"""

from __future__ import annotations

import asyncio
import hashlib
import io
import shlex
import tarfile
from pathlib import Path, PurePosixPath

from harbor.environments.base import BaseEnvironment, ExecResult
from harbor.environments.capabilities import EnvironmentCapabilities
from harbor.models.task.config import NetworkMode


class PlainDocker(BaseEnvironment):
    @staticmethod
    def type() -> str:
        return "plain-docker"

    @property
    def capabilities(self) -> EnvironmentCapabilities:
        return EnvironmentCapabilities(disable_internet=True, dynamic_network_policy=True)

    def _validate_definition(self) -> None:
        if not (self.environment_dir / "Dockerfile").is_file():
            raise FileNotFoundError(self.environment_dir / "Dockerfile")

    @property
    def _name(self) -> str:
        return "hb-" + hashlib.sha256(self.session_id.encode()).hexdigest()[:20]

    async def start(self, force_build: bool) -> None:
        tag = f"{self._name}:run"
        await self._docker("build", "-q", "-t", tag, str(self.environment_dir))
        network = "bridge" if self.network_policy.network_mode is NetworkMode.PUBLIC else "none"
        memory = [f"--memory={self._effective_memory_mb}m"] if self._effective_memory_mb else []
        await self._docker("run", "-d", "--name", self._name, f"--network={network}", *memory, tag, "sleep", "infinity")
        places = ["/logs/agent", "/logs/verifier", "/logs/artifacts"]
        await self._docker(
            "exec", "-u", "root", self._name, "sh", "-c", f"mkdir -p {' '.join(places)}; chmod 777 {' '.join(places)}"
        )

    async def _apply_network_policy(self, network_policy) -> None:
        wanted = network_policy.network_mode is NetworkMode.PUBLIC
        await self._docker("network", "connect" if wanted else "disconnect", "bridge", self._name, check=False)

    async def stop(self, delete: bool) -> None:
        await self._docker("rm", "-f", self._name, check=False)
        await self._docker("rmi", "-f", f"{self._name}:run", check=False)

    async def exec(self, command, cwd=None, env=None, timeout_sec=None, user=None) -> ExecResult:
        options = [f"--env={key}={value}" for key, value in (self._merge_env(env) or {}).items()]
        options += ["-w", cwd] if cwd else []
        user = self._resolve_user(user)
        options += ["-u", str(user)] if user is not None else []
        return await self._docker("exec", *options, self._name, "bash", "-c", command, check=False, timeout=timeout_sec)

    async def upload_file(self, source_path, target_path) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(source_path, arcname=PurePosixPath(target_path).name, filter=_as_root)
        await self._extract(buffer.getvalue(), str(PurePosixPath(target_path).parent))

    async def upload_dir(self, source_dir, target_dir) -> None:
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as tar:
            tar.add(source_dir, arcname=".", filter=_as_root)
        await self._extract(buffer.getvalue(), target_dir)

    async def _extract(self, data: bytes, target: str) -> None:
        script = f"mkdir -p {shlex.quote(target)} && tar -xf - -C {shlex.quote(target)}"
        await self._docker("exec", "-i", "-u", "root", self._name, "sh", "-c", script, data=data)

    async def download_file(self, source_path, target_path) -> None:
        await self._docker("cp", f"{self._name}:{source_path}", str(target_path))

    async def download_dir(self, source_dir, target_dir) -> None:
        Path(target_dir).mkdir(parents=True, exist_ok=True)
        await self._docker("cp", f"{self._name}:{source_dir}/.", str(target_dir))

    async def _docker(self, *arguments: str, check=True, data: bytes | None = None, timeout=None) -> ExecResult:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            "docker",
            *arguments,
            stdin=pipe if data is not None else asyncio.subprocess.DEVNULL,
            stdout=pipe,
            stderr=pipe,
        )
        out, err = await asyncio.wait_for(process.communicate(data), timeout)
        result = ExecResult(
            stdout=out.decode(errors="replace"), stderr=err.decode(errors="replace"), return_code=process.returncode
        )
        if check and result.return_code:
            raise RuntimeError(f"docker {arguments[0]}: {result.stderr}")
        return result


def _as_root(info: tarfile.TarInfo) -> tarfile.TarInfo:
    info.uid = info.gid = 0
    info.uname = info.gname = ""
    return info
