"""Harmonic oscillators: states with known answers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .samples import SampleSet


@dataclass(frozen=True, eq=False)
class Oscillators:
    """K states with the reduced potential `stiffness / 2 * (x - centre)**2`; both arrays are `(K,)`."""

    stiffness: np.ndarray
    centres: np.ndarray

    def energies(self, positions: np.ndarray) -> np.ndarray:
        """`(K, N)` reduced potentials of `(N,)` positions."""
        offset = positions[None, :] - np.asarray(self.centres)[:, None]
        return 0.5 * np.asarray(self.stiffness)[:, None] * offset**2

    def free_energies(self) -> np.ndarray:
        """The exact reduced free energies, relative to the first state."""
        exact = 0.5 * np.log(np.asarray(self.stiffness))
        return exact - exact[0]

    def sample(self, counts: np.ndarray, generator: np.random.Generator) -> tuple[np.ndarray, SampleSet]:
        """Positions and samples: `counts[k]` independent draws from the state k."""
        parts = [
            generator.normal(centre, stiffness**-0.5, count)
            for centre, stiffness, count in zip(self.centres, self.stiffness, counts, strict=True)
        ]
        positions = np.concatenate(parts)
        return positions, SampleSet(self.energies(positions), np.asarray(counts))


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
