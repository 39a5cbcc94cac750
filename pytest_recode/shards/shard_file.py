"""The file shard.json, which names the part of a run that a directory has (`--recode-shard`), and of which run.

Written by the controlling process when it claims the directory. `merge_check.py` compares the files of all parts. The values come from
the options and the tasks, and not from records, because a part may have no episode.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypedDict

from pytest_recode.faults import UserError
from pytest_recode.records.run_directory import replaced
from pytest_recode.records.run_files import LOCAL, content
from pytest_recode.schema import field_checks
from pytest_recode.schema.rules import Name, Number, Rule
from pytest_recode.schema.stored_forms import DamagedError, load, parsed
from pytest_recode.shard import parse_shard

SHARD_FILE = "shard.json"
SCHEMA = 1


def _is_shard(value: Any) -> bool:
    try:
        parse_shard(value)
    except (TypeError, ValueError):
        return False
    return True


_SHARD = Rule(check=field_checks.expect("a shard such as 3/8", _is_shard))
_SCHEMA = Rule(check=field_checks.expect(str(SCHEMA), lambda value: value == SCHEMA))


class FormatSettings(TypedDict):
    """Settings of one format's tasks. A resumed run may add to the first three; `others` must be equal in all parts of a run."""

    attempts: Number
    feedback: list[str]
    paper: list[bool]  # with the paper, without it, or both
    others: Mapping[str, Any]  # by the name of the option; with several agents as `joined` makes it


def joined(by_agent: Mapping[str, Mapping[str, Any]]) -> Mapping[str, Any]:
    """The `others` of several agents as one. `agent` is the sorted list of the agents, and a value that is not the same for all of them has the
    value of each by its name. That of one agent is unchanged."""
    first, *rest = by_agent.values()
    if not rest:
        return first
    values: dict[str, Any] = {"agent": sorted(by_agent)}
    for key in first:
        each = {agent: others.get(key) for agent, others in by_agent.items()}
        values.setdefault(key, each if any(value != first[key] for value in each.values()) else first[key])
    return values


def _by_agent(others: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The reverse of `joined`."""
    agents = others["agent"] if isinstance(others["agent"], list) else [others["agent"]]
    return {
        agent: {
            key: agent if key == "agent" else value[agent] if isinstance(value, Mapping) else value
            for key, value in others.items()
        }
        for agent in agents
    }


class ShardFile(TypedDict):
    schema: Annotated[int, _SCHEMA]
    shard: Annotated[str, _SHARD]
    version: str  # of pytest-recode, when the part was begun
    models: list[str]
    formats: dict[str, FormatSettings]
    task_lists: dict[str, str]  # a digest of each list of tasks that was dealt to the parts, by its name
    episodes: list[Name]  # node ids of the selected episodes


def read(directory: Path) -> ShardFile | None:
    """The file of a run's directory; None if the run was not divided. Raises `UserError` for a damaged file."""
    path = directory / SHARD_FILE
    text = content(path, LOCAL)
    try:
        return None if text is None else load(ShardFile, parsed(text))
    except DamagedError as error:
        raise UserError(f"{path}: is damaged ({error}): restore it") from None


def write(directory: Path, file: ShardFile) -> None:
    """Raises `RecordsError`."""
    replaced(directory / SHARD_FILE, json.dumps(file, indent=1) + "\n")


def resumed(directory: Path, now: ShardFile | None) -> ShardFile | None:
    """The content of the file after a session with the options `now` has resumed the run in `directory`.

    Raises `UserError` if the directory has another part, or if the tasks are dealt to other parts than before.
    """
    then = read(directory)
    if then is None and now is None:
        return None
    if then is None:
        assert now is not None
        raise UserError(
            f"--recode-out={directory}: has the records of a whole run, and --recode-shard={now['shard']} plays only a part: leave out"
            " --recode-shard, or give the directory of this part"
        )
    if now is None:
        raise UserError(
            f"--recode-out={directory}: has only shard {then['shard']} of a run: add --recode-shard={then['shard']}, or merge all"
            " shards (pytest-recode merge) and resume the merged run"
        )
    if then["shard"] != now["shard"]:
        raise UserError(
            f"--recode-out={directory}: has shard {then['shard']}, and this run asks for {now['shard']}: add"
            f" --recode-shard={then['shard']}, or give the directory of shard {now['shard']}"
        )
    if changed := changed_lists(then, now):
        raise UserError(
            f"--recode-out={directory}: the list of tasks {changed[0]} has changed, which moves tasks to other shards: restore it, or"
            " merge all shards (pytest-recode merge) and resume the merged run"
        )
    return {
        **then,
        "models": _both(then["models"], now["models"]),
        "formats": {
            **then["formats"],
            **{name: _added(then["formats"], name, new) for name, new in now["formats"].items()},
        },
        "task_lists": {**then["task_lists"], **now["task_lists"]},
        "episodes": _both(then["episodes"], now["episodes"]),
    }


def changed_lists(one: ShardFile, other: ShardFile) -> list[str]:
    """Names of the task lists of both with other tasks."""
    first, second = one["task_lists"], other["task_lists"]
    return [name for name in first if name in second and first[name] != second[name]]


def _added(formats: Mapping[str, FormatSettings], name: str, now: FormatSettings) -> FormatSettings:
    """The settings of a format after a resumed session, which the check of its records has found to be compatible."""
    then = formats.get(name, now)
    return {
        "attempts": max(then["attempts"], now["attempts"]),
        "feedback": _both(then["feedback"], now["feedback"]),
        "paper": _both(then["paper"], now["paper"]),
        "others": joined({**_by_agent(now["others"]), **_by_agent(then["others"])}),
    }


def _both(first: Iterable[Any], second: Sequence[Any]) -> list[Any]:
    return list(dict.fromkeys([*first, *second]))
