"""The lines that `pytest-recode merge` prints: what was merged, and what is missing. Pure text."""

from __future__ import annotations

import shlex
from collections import Counter
from pathlib import Path

from pytest_recode.render.words import plural
from pytest_recode.shards.merge_check import Merge
from pytest_recode.wording import some_of

_MOST = 5


def lines(merge: Merge, out: Path) -> list[str]:
    """A few lines, of which those on gaps are omitted if there is none."""
    records = [record for part in merge.parts for record in part.records]
    outcomes = Counter(record["outcome"] for record in records)
    parts = ", ".join(f"{outcomes[outcome]} {outcome}" for outcome in ("solved", "unsolved") if outcomes[outcome])
    texts = [
        f"merged {len(merge.parts)} of {merge.count} shards: {plural(len(records), 'episode')}"
        + (f", {parts}" if parts else "")
    ]
    gaps = _gaps(merge)
    texts += gaps
    if others := [f"{part.path}/{name}" for part in merge.parts for name in part.others]:
        texts.append(f"not copied, because no run writes it: {some_of(others, _MOST)}")
    texts.append(f"records: {out}")
    if gaps:
        texts.append(
            f"to complete them: the run's command without --recode-shard, with --recode-out={shlex.quote(str(out))} --recode-resume"
        )
    texts.append(f"more numbers: pytest-recode report {shlex.quote(str(out))}")
    return texts


def _gaps(merge: Merge) -> list[str]:
    errors = Counter(
        record["error"]["kind"] for part in merge.parts for record in part.records if record["error"] is not None
    )
    interrupted = [facts["nodeid"] for part in merge.parts for facts in part.interrupted]
    texts = []
    if merge.missing:
        noun = "shard" if len(merge.missing) == 1 else "shards"
        texts.append(f"missing: {noun} {some_of([str(shard) for shard in merge.missing], _MOST)}")
    if errors:
        kinds = ", ".join(f"{count}x {kind}" for kind, count in errors.items())
        texts.append(f"errors: {plural(errors.total(), 'episode')} ({kinds})")
    if interrupted:
        texts.append(f"interrupted: {plural(len(interrupted), 'episode')}: {some_of(interrupted, _MOST)}")
    if merge.not_played:
        texts.append(f"not played: {plural(len(merge.not_played), 'episode')}: {some_of(merge.not_played, _MOST)}")
    return texts
