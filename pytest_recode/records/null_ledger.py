"""A ledger without a file, for models that are called outside a run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from pytest_recode.faults import ModelError
from pytest_recode.records.ledger_lines import Reach
from pytest_recode.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class NullLedger:
    """A ledger without a file and without a limit, for models that are called outside a run, by one process.

    `on_spent` is called with the model's name and what each answer cost, before another call starts.
    """

    on_spent: Callable[[str, Usage], None] | None = None

    def before_call(self, model: str) -> None: ...

    def enter(self) -> None: ...

    def waiting(self, wake: Callable[[], None]) -> AbstractContextManager[None]:
        return nullcontext()

    def spent(self, model: str, usage: Usage) -> None:
        if self.on_spent is not None:
            self.on_spent(model, usage)

    def unanswered(self, model: str, why: str) -> None: ...

    def settle(self) -> None: ...

    def fault(self, error: ModelError) -> None: ...

    def retry(self, error: ModelError, pause: float) -> None: ...

    def answered(self, model: str) -> bool:
        return False

    def reached(self, where: str, now: Reach) -> Reach:
        return Reach.ANSWERS
