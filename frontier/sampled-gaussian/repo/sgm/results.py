"""What conversions return."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy, and the order that proves it.

    `order` is None where no order says anything: then epsilon is inf, or delta is 1.
    """

    epsilon: float
    delta: float
    order: float | None

    def text(self):
        """One line."""
        source = "no order" if self.order is None else f"order {self.order:g}"
        return f"epsilon {self.epsilon:.4g} at delta {self.delta:.3g} ({source})"


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
