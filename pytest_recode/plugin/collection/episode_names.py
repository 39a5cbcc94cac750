"""The names of episodes, which are the part of a node id in brackets: `recode-gpt-6-sol-L2-no-paper-3`.

With one agent, they are those of a model and a policy. With several, the agent comes first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.records.record import EpisodeFacts
    from pytest_recode.settings import Settings


def episode_stem(agent: str, model: str | None, policy: str, *, several: bool, impossible: bool) -> str:
    """The name, but for the paper and the attempt. `several`: whether the run has several agents. An agent without a model has its own name
    in the place of the model's. `impossible`: whether the task's impossible twin is played."""
    stem = f"{agent}-{model}-{policy}" if several and model else f"{model or agent}-{policy}"
    return f"impossible-{stem}" if impossible else stem


def of_record(record: EpisodeFacts, owns: Sequence[Settings]) -> Settings:
    """Those of `owns`, the settings of each agent of a run, that are of the record's agent. Raises `UserError` if the run does not have it."""
    agents = [own.agent for own in owns]
    if record["agent"] not in agents:
        raise UserError(
            f"{record['nodeid']} was played with agent {record['agent']}, and this run asks for {', '.join(agents)}:"
            " give the options of that run, or another --recode-out"
        )
    return owns[agents.index(record["agent"])]


def check_name(record: EpisodeFacts, owns: Sequence[Settings]) -> None:
    """Raises `UserError` if the episode of the record would have another name in a run with these agents, which would play it again."""
    several = len(owns) > 1
    stem = episode_stem(
        record["agent"], record["model"], record["feedback"], several=several, impossible=owns[0].impossible
    )
    name = record["nodeid"].rpartition("[")[2].removesuffix("]")
    if not re.fullmatch(re.escape(stem) + r"(-no-paper)?(-\d+)?", name):
        then, now = ("one --recode-agent", "several") if several else ("several --recode-agent", "one")
        raise UserError(
            f"{record['nodeid']} was played in a run with {then}, and with {now} it has another name: give the options of that run, or"
            " another --recode-out"
        )
