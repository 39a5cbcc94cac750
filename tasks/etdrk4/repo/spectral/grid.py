"""The periodic grid and its Fourier transform."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FourierGrid:
    """`size` equally spaced points on a periodic interval `[0, length)`; `size` is even.

    A real function is held either by its values, `(size,)` float64, or by its modes, `(size // 2 + 1,)`
    complex128: the unnormalised discrete Fourier transform, non-negative wavenumbers only.
    """

    size: int
    length: float

    def __post_init__(self) -> None:
        if self.size < 2 or self.size % 2:
            raise ValueError(f"size must be even and at least 2, not {self.size}")
        if not self.length > 0.0:
            raise ValueError(f"length must be positive, not {self.length}")

    @property
    def points(self) -> np.ndarray:
        """`(size,)` positions."""
        return self.length * np.arange(self.size) / self.size

    @property
    def wavenumbers(self) -> np.ndarray:
        """`(size // 2 + 1,)` non-negative wavenumbers, in radians per unit of length."""
        return 2.0 * np.pi * np.arange(self.size // 2 + 1) / self.length

    @property
    def derivative(self) -> np.ndarray:
        """Factor of the first derivative in mode space: `i k`, and 0 for the highest mode, whose sine is not seen."""
        factor = 1j * self.wavenumbers
        factor[-1] = 0.0
        return factor

    def to_modes(self, values: np.ndarray) -> np.ndarray:
        """From values to modes."""
        return np.fft.rfft(values)

    def to_values(self, modes: np.ndarray) -> np.ndarray:
        """From modes to values."""
        return np.fft.irfft(modes, n=self.size)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
