"""Settings of a training."""

from dataclasses import dataclass

from sgm.checks import check_positive, check_sigma


@dataclass(frozen=True)
class Settings:
    """size: number of examples. lot: how many of them take part in a step, on average. noise: the multiplier sigma.
    clip: the largest norm of the gradient of one example."""

    size: int
    lot: float
    noise: float
    clip: float
    learning_rate: float

    def __post_init__(self):
        check_positive("size", self.size)
        check_positive("clip", self.clip)
        check_sigma(self.noise)
        if not 0.0 < self.lot <= self.size:
            raise ValueError("a lot has more than 0 examples, and not more than there are")

    @property
    def rate(self):
        """Probability with which an example takes part in a step."""
        return self.lot / self.size


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
