"""Reads a `task.toml` as far as it decides about a verdict: sections, keys and types, as Harbor 0.26 reads them (schema 1.4).

A key that can change the verdict and that pytest-recode does not follow is an error that names it. All others become facts of the task.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from pytest_recode import harbor_layout as layout
from pytest_recode.faults import UserError
from pytest_recode.formats.document import kind_of, text_of
from pytest_recode.formats.harbor.task_config import NO_NETWORK, PUBLIC, EnvironmentConfig, StepConfig, TaskConfig
from pytest_recode.wording import guess

LARGEST = 256 * 1024
SECTIONS = ("environment", "verifier", "agent", "solution", "steps")
"""A `task.toml` without any of them is another tool's."""
_SIZES = {"G": 1024.0, "M": 1.0, "K": 1 / 1024}
_STEP_NAME = re.compile(r"(?!\.{1,2}$)[^\s/\\]+")
_TEMPLATE = re.compile(r"\$\{([^}:]+)(?::-(.*))?\}", re.DOTALL)

_TOP = ("schema_version", "version", "task", "metadata", "source", "artifacts", *SECTIONS, "multi_step_reward_strategy")
_NETWORK = ("network_mode", "allowed_hosts")
_AGENT = ("timeout_sec", "user", *_NETWORK)
_VERIFIER = ("timeout_sec", "env", "user", "environment_mode", "environment", "collect", *_NETWORK)
_READ = (
    "docker_image",
    "workdir",
    "env",
    "network_mode",
    "allow_internet",
    "memory",
    "memory_mb",
    "storage",
    "storage_mb",
)
_OTHERS = ("build_timeout_sec", "os", "cpus", "gpus", "gpu_types", "tpu", "mcp_servers", "skills_dir", "healthcheck")
_ENVIRONMENT = (*_READ, *_OTHERS, "allowed_hosts")
_STEP = ("name", "agent", "verifier", "min_reward", "healthcheck", "artifacts")
_REFUSED = {
    "verifier.collect": "commands in other containers before the judging",
    "environment.gpus": "a GPU",
    "environment.tpu": "a TPU",
    "environment.mcp_servers": "MCP servers beside the agent",
    "environment.healthcheck": "a service that must answer before the agent begins",
    "steps.healthcheck": "a service that must answer before the agent begins",
}
"""Keys that need what a sandbox does not have, and what that is. An empty value asks for nothing."""


def read_config(path: Path) -> TaskConfig | None:
    """The contents of `path`, or None if it is not a file of Harbor's. Raises `UserError`."""
    data = document(path)
    return None if data is None else _ConfigReader(path).config(data)


def document(path: Path) -> Mapping[str, Any] | None:
    """`path` as TOML, without any check of its keys; None if it is not a file of Harbor's. Raises `UserError`."""
    try:
        status = path.stat()
    except OSError:
        status = None
    key = None if status is None else (status.st_mtime_ns, status.st_size, status.st_ino)
    return _parsed(path, key, (path.parent / layout.INSTRUCTION).is_file() or (path.parent / layout.STEPS).is_dir())


@lru_cache(maxsize=256)
def _parsed(path: Path, version: tuple[int, int, int] | None, beside: bool) -> Mapping[str, Any] | None:
    """`version`: changes when the file does. `beside`: whether there is what Harbor needs beside it."""
    try:
        data = tomllib.loads(text_of(path, most=LARGEST))
    except (UserError, tomllib.TOMLDecodeError) as error:
        if version is not None and not beside:
            return None
        if isinstance(error, UserError):
            raise
        raise UserError(f"{path}: not valid TOML: {error}; correct it") from None
    return data if any(isinstance(data.get(name), dict | list) for name in SECTIONS) else None


class _ConfigReader:
    def __init__(self, path: Path) -> None:
        self._path = path

    def config(self, data: Mapping[str, Any]) -> TaskConfig:
        self._keys("", data, _TOP)
        sections = {name: self._table(data, name) for name in ("agent", "verifier", "solution", "metadata", "task")}
        agent, verifier, task = sections["agent"], sections["verifier"], sections["task"]
        self._keys("agent", agent, _AGENT)
        self._keys("verifier", verifier, _VERIFIER)
        self._keys("solution", sections["solution"], ("env",))
        environment = self._environment("environment", self._table(data, "environment"))
        own = self._table(verifier, "environment", "verifier.environment") if "environment" in verifier else None
        mode = self._choice(verifier, "environment_mode", "verifier.environment_mode", ("shared", "separate"))
        if mode == "shared" and own is not None:
            raise self._wrong(
                "verifier.environment", "is incompatible with environment_mode = 'shared'; keep one of the two"
            )
        self._refuse("verifier", verifier)
        seconds = self._number(verifier, "timeout_sec", "verifier.timeout_sec")
        separate = mode == "separate" or (mode is None and own is not None)
        verifier_environment = None if own is None else self._environment("verifier.environment", own)
        judged_in = verifier_environment if separate and verifier_environment else environment
        final = self._choice(data, "multi_step_reward_strategy", "multi_step_reward_strategy", ("mean", "final"))
        return TaskConfig(
            path=self._path,
            steps=self._steps(data),
            last_decides=final == "final",
            name=self._text(task, "name", "task.name"),
            version=self._text(task, "version", "task.version"),
            description=self._text(task, "description", "task.description"),
            keywords=self._texts(task, "keywords", "task.keywords"),
            metadata=sections["metadata"],
            environment=environment,
            agent_seconds=self._number(agent, "timeout_sec", "agent.timeout_sec"),
            agent_network=self._network("agent", agent) or environment.network,
            verifier_seconds=600.0 if seconds is None else seconds,
            verifier_network=self._network("verifier", verifier) or judged_in.network,
            verifier_variables=self._variables(verifier, "verifier.env"),
            verifier_environment=verifier_environment,
            separate=separate,
            solution_variables=self._variables(sections["solution"], "solution.env"),
            artifacts=self._artifacts(data.get("artifacts", [])),
            users={
                name: section["user"]
                for name, section in (("agent", agent), ("verifier", verifier))
                if isinstance(section.get("user"), str | int)
            },
        )

    def _steps(self, data: Mapping[str, Any]) -> tuple[StepConfig, ...]:
        entries = data.get("steps", [])
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            raise self._wrong("steps", "must be a list of tables, [[steps]]")
        steps = [self._step(data, entry, f"steps[{index}]") for index, entry in enumerate(entries)]
        names = [step.name.casefold() for step in steps]
        if len(set(names)) < len(names):
            raise self._wrong("steps", f"names must differ: {', '.join(step.name for step in steps)}")
        return tuple(steps)

    def _step(self, data: Mapping[str, Any], entry: Mapping[str, Any], where: str) -> StepConfig:
        """A step. What it does not say of agent and verifier, the task says for all."""
        self._keys("steps", entry, _STEP)
        self._refuse("steps", entry)
        name = entry.get("name")
        if not isinstance(name, str) or not _STEP_NAME.fullmatch(name):
            raise self._wrong(
                f"{where}.name", f"must be the name of a directory in {layout.STEPS}/, without white space"
            )
        verifier, own = self._table(data, "verifier"), self._table(entry, "verifier", f"{where}.verifier")
        merged = {**verifier, **own, "env": {**self._table(verifier, "env"), **self._table(own, "env")}}
        if own.get("environment_mode") == "shared":
            merged.pop("environment", None)
        elif "environment" in own and "environment_mode" not in own:
            merged.pop("environment_mode", None)
        if "environment" in own:
            environment = self._environment("verifier.environment", self._table(own, "environment"))
        alone = {key: value for key, value in data.items() if key != "steps"} | {
            "agent": {**self._table(data, "agent"), **self._table(entry, "agent", f"{where}.agent")},
            "verifier": merged,
            "artifacts": [*data.get("artifacts", []), *entry.get("artifacts", [])],
        }
        return StepConfig(
            name=name,
            task=self.config(alone),
            verifier_environment=environment if "environment" in own else None,
            least=self._least(entry.get("min_reward"), f"{where}.min_reward"),
        )

    def _least(self, value: Any, name: str) -> Mapping[str, float]:
        values = {} if value is None else value if isinstance(value, dict) else {layout.REWARD: value}
        for least in values.values():
            if isinstance(least, bool) or not isinstance(least, int | float) or not math.isfinite(least):
                raise self._wrong(name, "must be a number, or a table of numbers by the names of rewards")
        return {key: float(least) for key, least in values.items()}

    def _environment(self, name: str, table: Mapping[str, Any]) -> EnvironmentConfig:
        self._keys(name, table, _ENVIRONMENT)
        self._refuse(name, table)
        if str(table.get("os", "linux")).lower() != "linux":
            raise self._wrong(f"{name}.os", f"is {table['os']!r}, and sandboxes run Linux only")
        workdir = self._text(table, "workdir", f"{name}.workdir")
        network = self._network(name, table)
        if not network:
            network = NO_NETWORK if table.get("allow_internet") is False else PUBLIC
        return EnvironmentConfig(
            image=self._text(table, "docker_image", f"{name}.docker_image"),
            workdir=workdir,
            memory_mb=self._size(table, "memory", name),
            storage_mb=self._size(table, "storage", name),
            variables=self._variables(table, f"{name}.env"),
            network=network,
            other_keys={
                key: value for key, value in table.items() if key not in _READ and value not in (0, [], {}, None)
            },
        )

    def _refuse(self, section: str, table: Mapping[str, Any]) -> None:
        for key, needs in _REFUSED.items():
            above, _, name = key.rpartition(".")
            if section.endswith(above) and table.get(name):
                raise self._wrong(f"{section}.{name}", f"asks for {needs}, which no sandbox has; choose other tasks")

    def _network(self, section: str, table: Mapping[str, Any]) -> str:
        return self._choice(table, "network_mode", f"{section}.network_mode", (NO_NETWORK, PUBLIC, "allowlist")) or ""

    def _variables(self, table: Mapping[str, Any], name: str) -> tuple[tuple[str, str], ...]:
        """The variables of a table `env`. One that takes its value from the host's environment is refused: no secret enters a sandbox."""
        entries = self._table(table, "env", name)
        values = []
        for key, value in entries.items():
            if not isinstance(value, str):
                raise self._wrong(f"{name}.{key}", f"must be text, not {kind_of(value)}")
            if (template := _TEMPLATE.fullmatch(value)) is not None:
                if template[2] is None:
                    raise self._wrong(
                        f"{name}.{key}",
                        f"takes its value from this machine ({value}), and no secret enters a sandbox; choose other tasks",
                    )
                value = template[2]
            values.append((key, value))
        return tuple(values)

    def _artifacts(self, entries: Any) -> tuple[str, ...]:
        if not isinstance(entries, list):
            raise self._wrong("artifacts", f"must be a list, not {kind_of(entries)}")
        sources = []
        for index, entry in enumerate(entries):
            name = f"artifacts[{index}]"
            table = {"source": entry} if isinstance(entry, str) else entry
            if not isinstance(table, dict):
                raise self._wrong(name, f"must be text or a table, not {kind_of(entry)}")
            self._keys(name, table, ("source", "destination", "exclude", "service"))
            if table.get("service") not in (None, "main"):
                raise self._wrong(
                    f"{name}.service", f"is {table['service']!r}, and there is one container only; choose other tasks"
                )
            source = self._text(table, "source", f"{name}.source")
            if not source or ".." in source.split("/"):
                raise self._wrong(f"{name}.source", "must be a path without '..'")
            sources.append(source)
        return tuple(sources)

    def _size(self, table: Mapping[str, Any], key: str, section: str) -> int | None:
        value = self._number(table, f"{key}_mb", f"{section}.{key}_mb")
        if value is None and isinstance(table.get(key), str):  # as earlier schemas had it
            text = table[key].strip().upper()
            try:
                value = float(text[:-1]) * _SIZES[text[-1:]]
            except (ValueError, KeyError):
                raise self._wrong(
                    f"{section}.{key}", f"must be a size such as '1G' or '512M', not {table[key]!r}"
                ) from None
        return None if value is None else int(value)

    def _keys(self, section: str, table: Mapping[str, Any], known: Sequence[str]) -> None:
        for key in table:
            if key not in known:
                where = f" in [{section}]" if section else ""
                raise UserError(
                    f"{self._path}: unknown key '{key}'{where}{guess(key, known, quote=chr(39))}; the keys of Harbor's schema 1.4 are {', '.join(known)}"
                )

    def _table(self, table: Mapping[str, Any], key: str, name: str = "") -> Mapping[str, Any]:
        value = table.get(key, {})
        if not isinstance(value, dict):
            raise self._wrong(name or key, f"must be a table, not {kind_of(value)}")
        return value

    def _text(self, table: Mapping[str, Any], key: str, name: str) -> str:
        value = table.get(key, "")
        if not isinstance(value, str):
            raise self._wrong(name, f"must be text, not {kind_of(value)}")
        return " ".join(value.split())

    def _texts(self, table: Mapping[str, Any], key: str, name: str) -> tuple[str, ...]:
        value = table.get(key, [])
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise self._wrong(name, "must be a list of texts")
        return tuple(value)

    def _number(self, table: Mapping[str, Any], key: str, name: str) -> float | None:
        value = table.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not (math.isfinite(value) and value > 0):
            raise self._wrong(name, "must be a number above 0")
        return float(value)

    def _choice(self, table: Mapping[str, Any], key: str, name: str, choices: Sequence[str]) -> str | None:
        value = table.get(key)
        if value is not None and value not in choices:
            raise self._wrong(name, f"must be one of {', '.join(choices)}, not {value!r}")
        return value

    def _wrong(self, name: str, what: str) -> UserError:
        return UserError(f"{self._path}: {name}: {what}")
