"""What reports of items have as properties, such as JUnit's."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_recode.records.record import Record


@functools.lru_cache(maxsize=4096)
def _fact(key: str, value: Any) -> tuple[str, Any]:
    """One shared pair for all reports with the same fact, because pytest keeps reports until the end of the session."""
    return key, value


def episode_properties(record: Record, out: Path) -> list[tuple[str, Any]]:
    """What JUnit has as properties of an episode."""
    last = record["turns"][-1] if record["turns"] else None
    facts = {
        "recode_task": record["task"],
        "recode_agent": record["agent"],
        "recode_model": record["model"] or record["agent"],
        "recode_policy": record["feedback"],
        "recode_attempt": record["attempt"],
        "recode_transcript": str(out / record["transcript"]),
        "recode_outcome": record["outcome"],
        "recode_stop": record["stop"],
        "recode_turns": len(record["turns"]),
        "recode_solved_turn": record["solved_turn"],
        "recode_level": last and last["level"],
        "recode_passed": last["passed"] if last else None,
        "recode_total": last["total"] if last else None,
        "recode_prompt_tokens": record["usage"]["prompt_tokens"],
        "recode_completion_tokens": record["usage"]["completion_tokens"],
        "recode_cost_usd": record["usage"]["cost_usd"],
        "recode_error": record["error"]["kind"] if record["error"] else None,
        "recode_simulated": record["simulated"] or None,
        "recode_impossible": record["settings"].get("impossible") or None,
    }
    return [_fact(key, value) for key, value in facts.items() if value is not None]
