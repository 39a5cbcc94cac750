"""The notice that a resumed run leaves interrupted episodes of its directory as they are. In the controller, when it claims the directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_recode.records.run_directory import TRANSCRIPTS
from pytest_recode.records.transcript import name
from pytest_recode.records.transcript_reader import first_line
from pytest_recode.verdict import legible
from pytest_recode.wording import some_of

_MOST_SHOWN = 5


def notice(out: Path, ids: Collection[str], recorded: Collection[str]) -> str:
    """A line on episodes in `out` that an earlier run began, that have no record, and that are not among `ids`; "" if there are none.

    `recorded`: the ids of episodes with a record.
    """
    known = set(map(name, {*ids, *recorded}))
    begun: list[Mapping[str, Any]] = []
    with suppress(OSError):  # a notice stops no run
        for path in sorted((out / TRANSCRIPTS).glob("*.jsonl")):
            if path.name not in known and (facts := first_line(path)) is not None:
                begun.append(facts)
    if not begun:
        return ""
    several = len({facts.get("agent") for facts in begun}) > 1
    episodes = Counter(f"{facts.get('task')} ({_options(facts, several=several)})" for facts in begun)
    shown = [f"{count} of {what}" if count > 1 else what for what, count in episodes.items()]
    return legible(
        f"{out}: interrupted episodes that are not part of this session: {some_of(shown, _MOST_SHOWN)}; to resume them:"
        " the same command with these options, and a selection that includes them",
        keep="",
    )


def _options(facts: Mapping[str, Any], *, several: bool) -> str:
    """The options that name an episode. `several`: whether the episodes are of several agents."""
    agent, model = f"--recode-agent={facts.get('agent')}", facts.get("model")
    who = [agent] if several or not model else []
    who += [f"--recode-model={model}"] if model else []
    return " ".join([*who, f"--recode-feedback={facts.get('feedback')}"])
