"""Crystals for a first run: ions in a cell whose energies are known."""

from __future__ import annotations

from itertools import product

import numpy as np

from .system import System


def rock_salt(spacing: float, charge: float = 1.0) -> System:
    """The eight ions of a cubic cell of rock salt, with charges +-`charge` at the distance `spacing` from their neighbours."""
    places = np.array(list(product((0, 1), repeat=3)), dtype=np.float64)
    charges = charge * (-1.0) ** places.sum(axis=1)
    return System(spacing * places, charges, 2.0 * spacing * np.eye(3))


def repeated(system: System, counts: tuple[int, int, int]) -> System:
    """The same crystal in a cell that is larger by a whole number along each lattice vector. ValueError without a cell."""
    if system.cell is None or min(counts) < 1:
        raise ValueError("only a cell can be repeated, once or more often along each lattice vector")
    shifts = np.array(list(product(*map(range, counts))), dtype=np.float64) @ system.cell
    positions = (shifts[:, None] + system.positions).reshape(-1, 3)
    cell = np.array(counts, dtype=np.float64)[:, None] * system.cell
    return System(positions, np.tile(system.charges, (len(shifts), 1)), cell)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
