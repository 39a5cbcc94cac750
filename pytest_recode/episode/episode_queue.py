"""How one of many episodes in flight waits until the machine has room for its gradings and commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cache

from pytest_recode.clock import Clock, Wait
from pytest_recode.records.queue_record import QueuedRecord
from pytest_recode.sandboxes.machine_slots import MachineSlots

NOTED = 0.05
"""Seconds below which nothing is said to have waited."""


@cache
def slots() -> Mapping[str, MachineSlots]:
    """Those of this machine for gradings and for commands."""
    return {what: MachineSlots(what) for what in ("gradings", "commands")}


@dataclass(slots=True, kw_only=True)
class EpisodeQueue:
    """`slots`: those of gradings and commands, by these words; without them, nothing waits. The wait counts towards no limit: `clock` stops.
    `check` is called during it, and may raise."""

    clock: Clock
    slots: Mapping[str, MachineSlots] = field(default_factory=dict)
    check: Callable[[], None] = lambda: None
    _waits: dict[str, list[float]] = field(default_factory=dict)

    @contextmanager
    def turn(self, what: str) -> Iterator[None]:
        """Hold a slot for a grading or a command (`what`) during the block."""
        if what not in self.slots:
            yield
            return
        with ExitStack() as held:
            with self.clock.stopped(Wait(what=f"room on this machine for {what}")):
                seconds = held.enter_context(self.slots[what].taken(self.check))
            if seconds >= NOTED:
                self._waits.setdefault(what, []).append(seconds)
            yield

    @property
    def record(self) -> QueuedRecord:
        return {
            "gradings": len(self._waits.get("gradings", ())),
            "commands": len(self._waits.get("commands", ())),
            "seconds": round(sum(sum(waits) for waits in self._waits.values()), 3),
        }
