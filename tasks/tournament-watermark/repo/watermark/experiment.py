"""An experiment from end to end: generate texts with and without a watermark, calibrate a detector, and count."""

from __future__ import annotations

import numpy as np

from .bigrams import Bigrams
from .calibration import Detector
from .generate import respond
from .settings import Settings
from .tournament import Watermarker


def share_found(
    settings: Settings, model: Bigrams, length: int, rng: np.random.Generator, texts: int = 100, rate: float = 0.01
) -> float:
    """Return the share of `texts` watermarked texts of `length` tokens that a detector finds.

    It is calibrated on as many texts of the same model without a watermark, of which it finds at most the share `rate`.
    """
    plain = respond(model, None, rng.uniform(size=(texts, length)))
    marked = respond(model, Watermarker(settings), rng.uniform(size=(texts, length)))
    detector = Detector.calibrated(settings, plain.tolist(), rate)
    return float(detector.finds(marked.tolist()).mean())


def main() -> None:
    """Print the share that is found for texts of several lengths."""
    rng = np.random.default_rng(0)
    settings = Settings(keys=tuple(range(1, 11)))
    model = Bigrams(first=np.full(50, 0.02), table=rng.dirichlet(np.full(50, 0.5), size=50))
    for length in (10, 20, 40):
        print(f"{length:3d} tokens: {share_found(settings, model, length, rng):6.1%}")


if __name__ == "__main__":
    main()


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
