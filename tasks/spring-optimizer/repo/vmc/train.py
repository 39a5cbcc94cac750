"""The driver: variational Monte Carlo for particles in a trap."""

from __future__ import annotations

import numpy as np

from .oscillator import Trap, log_derivatives, sample
from .settings import Settings
from .spring import local_energies, step
from .state import first_state


def train(trap: Trap, parameters: np.ndarray, settings: Settings, iterations: int, walkers: int, seed: int) -> dict:
    """Energies and errors of all iterations `(iterations,)`, and the last parameters."""
    rng, state, rows = np.random.default_rng(seed), first_state(parameters), []
    for _ in range(iterations):
        places = sample(rng, state.parameters, walkers, trap.frequencies.shape)
        derivatives, gradients, laplacians = log_derivatives(state.parameters, places)
        energies = local_energies(gradients, laplacians, trap.potentials(places), trap.masses)
        state, summary = step(state, derivatives, energies, settings)
        rows.append((summary.energy, summary.error))
    energies, errors = np.array(rows).T
    return {"energies": energies, "errors": errors, "parameters": state.parameters}


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
