"""What is chosen by the user."""

from __future__ import annotations

from dataclasses import dataclass

from .cell import Cell


@dataclass(frozen=True)
class Settings:
    """Parameters of the method.

    barrier: the energy that the bias should help to cross, from 1.01 to 300 times `kt`.
    kt: the temperature in units of energy, 1 / beta.
    widths: initial width of a kernel along each of the d variables, from 1e-15 to 1e15.
    periods: period of each variable, 0 for none.
    threshold: kernels closer than this, in units of their widths, are merged.
    """

    barrier: float
    kt: float
    widths: tuple[float, ...]
    periods: tuple[float, ...]
    threshold: float = 1.0

    def __post_init__(self) -> None:
        if not (self.kt > 0.0 and 1.01 * self.kt <= self.barrier <= 300.0 * self.kt < float("inf")):
            raise ValueError("the barrier must be from 1.01 kt to 300 kt")
        if len(self.widths) != len(self.periods) or not all(1e-15 <= width <= 1e15 for width in self.widths):
            raise ValueError("each variable needs a width from 1e-15 to 1e15 and a period")

    @property
    def cell(self) -> Cell:
        return Cell(self.periods)

    @property
    def gamma(self) -> float:
        """The bias factor."""
        return self.barrier / self.kt


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
