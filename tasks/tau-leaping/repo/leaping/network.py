"""Reactions and populations."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Network:
    """R reactions between S species.

    reactants: (R, S) int64, how many molecules of each species one reaction needs.
    products: (R, S) int64, how many it leaves.
    rates: (R,) float64, the reaction constants, not negative.
    """

    reactants: np.ndarray
    products: np.ndarray
    rates: np.ndarray

    def __post_init__(self) -> None:
        object.__setattr__(self, "reactants", np.array(self.reactants, dtype=np.int64))
        object.__setattr__(self, "products", np.array(self.products, dtype=np.int64))
        object.__setattr__(self, "rates", np.array(self.rates, dtype=np.float64))
        if self.reactants.ndim != 2 or self.reactants.shape != self.products.shape:
            raise ValueError("reactants and products must have the same shape (R, S)")
        if self.rates.shape != self.reactants.shape[:1]:
            raise ValueError("there must be one rate for each reaction")
        if (self.reactants < 0).any() or (self.products < 0).any() or not (self.rates >= 0.0).all():
            raise ValueError("molecules and rates cannot be negative")

    @property
    def change(self) -> np.ndarray:
        """(R, S) int64: what one reaction adds to the population of each species."""
        return self.products - self.reactants


def population(network: Network, state: np.ndarray) -> np.ndarray:
    """The state as a new (S,) int64 array. Raises ValueError if it is not one of this network."""
    given = np.asarray(state)
    if given.shape != network.reactants.shape[1:]:
        raise ValueError(f"a state of {network.reactants.shape[1]} species is expected, not {given.shape}")
    counts = given.astype(np.int64)
    if (counts != given).any() or (counts < 0).any():
        raise ValueError("populations are whole numbers that are not negative")
    return counts


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
