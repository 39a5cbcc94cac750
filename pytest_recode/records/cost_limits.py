"""Limits of a run's cost in US dollars: of the whole run, and of single models."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pytest_recode.faults import BudgetSpent, UserError
from pytest_recode.usage import Usage

_CLOSE = 1e-9
"""US dollars by which sums of costs may be inexact."""


class CostLimits:
    """The limits, and what is spent of them."""

    def __init__(self, whole: float | None, of_model: Mapping[str, float]) -> None:
        self._unpriced: list[str] = []  # models that made calls of unknown price
        self._whole = whole
        self._of_model = dict(of_model)
        self._total = 0.0
        self._spent: dict[str, float] = {}

    @property
    def unpriced(self) -> bool:
        """Whether the price of any call is unknown."""
        return bool(self._unpriced)

    def spent(self, model: str, usd: float | None) -> None:
        """Count an answered call."""
        if usd is None:
            self._unpriced.append(model)
        self._total += usd or 0.0
        self._spent[model] = self._spent.get(model, 0.0) + (usd or 0.0)

    def check(self, model: str) -> None:
        """Raise `BudgetSpent` if a limit for calls of this model is reached, and `UserError` if it cannot be enforced."""
        for limit, spent, of in self._limits(model):
            unknown = model in self._unpriced if of else self.unpriced
            if unknown:
                raise UserError(unpriced(model if of else self._unpriced[0], limit))
            if spent >= limit - _CLOSE:
                raise BudgetSpent(
                    f"budget of {_usd(limit)} USD{of} is spent ({_usd(spent)} USD so far{self._other(model, of)}):"
                    " resume with --recode-resume and a higher --recode-max-cost"
                )

    def _other(self, model: str, of: str) -> str:
        """The limit besides the one that is spent: the run's, or the model's own."""
        others = [(limit, spent, own) for limit, spent, own in self._limits(model) if own != of]
        return "".join(
            f"; {_usd(spent)} of {_usd(limit)} USD{own or ' for all models'}" for limit, spent, own in others
        )

    def allow(self, model: str, reserved: float, reserved_own: float) -> bool:
        """Whether each limit would not be reached if the calls in progress cost what is reserved for them, in US dollars.

        `reserved`: for all calls. `reserved_own`: for those of this model.
        """
        return all(
            spent + (reserved_own if of else reserved) < limit - _CLOSE for limit, spent, of in self._limits(model)
        )

    def check_price(self, model: str, usage: Usage) -> None:
        """Raise `UserError` if there is a limit and the price of a call is unknown."""
        limit = next((limit for limit, _, _ in self._limits(model)), None)
        if usage.cost_usd is None and limit is not None:
            raise UserError(unpriced(model, limit))

    def _limits(self, model: str) -> Iterator[tuple[float, float, str]]:
        """Each limit for calls of a model with what is spent of it; and " for MODEL" for the model's own limit."""
        if self._whole is not None:
            yield self._whole, self._total, ""
        if (own := self._of_model.get(model)) is not None:
            yield own, self._spent.get(model, 0.0), f" for {model}"


def unpriced(model: str, max_cost: float) -> str:
    """The message for a cost limit with a model of unknown price."""
    return (
        f"model {model} has no known price, so --recode-max-cost={max_cost:g} cannot be enforced: "
        "give its price in --recode-models-file (price: {prompt: X, completion: Y}), or remove --recode-max-cost"
    )


def _usd(amount: float) -> str:
    return f"{amount:.2f}" if amount >= 0.1 or amount == 0 else f"{amount:.2g}"
