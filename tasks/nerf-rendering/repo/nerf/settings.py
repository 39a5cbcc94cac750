"""What a renderer is told and what it gives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

SPACINGS = ("linear", "disparity")


@dataclass(frozen=True)
class RenderConfig:
    """How to render.

    coarse: samples of the first pass, per ray.
    fine: samples the second pass adds; 0 leaves the second pass out.
    spacing: one of `SPACINGS`: the first samples are spread evenly in depth, or in 1 / depth.
    background: color behind everything, three numbers in [0, 1], or None for black.
    chunk: most rays that a field is asked for at once.
    """

    coarse: int = 64
    fine: int = 128
    spacing: str = "linear"
    background: tuple[float, float, float] | None = None
    chunk: int = 4096


@dataclass(frozen=True, eq=False)
class Rendering:
    """What R rays with N samples each see; all float64.

    color: `(R, 3)`.
    depth: `(R,)` expected depth.
    opacity: `(R,)` share of the light that the field stops.
    weights: `(R, N)` what each sample contributes to these.
    samples: `(R, N)` depths of the samples.
    """

    color: np.ndarray
    depth: np.ndarray
    opacity: np.ndarray
    weights: np.ndarray
    samples: np.ndarray


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
