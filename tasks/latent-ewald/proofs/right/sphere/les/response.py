"""Born charges, with complex amplitudes and one entry at a time."""

import cmath
import math

import numpy as np


def born_charges(system, jacobian=None, epsilon_inf=1.0, neutral=True):
    """The derivative of each amplitude, without the phase of the displaced atom."""
    if not 0.0 < epsilon_inf < math.inf:
        raise ValueError("epsilon_inf")
    size, channels = system.charges.shape
    flow = np.zeros((size, channels, size, 3)) if jacobian is None else np.array(jacobian, dtype=float)
    if flow.shape != (size, channels, size, 3):
        raise ValueError("jacobian")
    charges, flow = system.charges.sum(axis=1), flow.sum(axis=1)
    if neutral:
        charges, flow = charges - charges.mean(), flow - flow.mean(axis=0)[None]
    found = np.zeros((size, 3, 3))
    if system.cell is None:
        for i in range(size):
            found[i] = charges[i] * np.eye(3) + system.positions.T @ flow[:, i]
        return math.sqrt(epsilon_inf) * found
    inverse = np.linalg.inv(system.cell)
    coordinates = np.linalg.solve(system.cell.T, system.positions.T).T
    for i in range(size):
        for d in range(3):
            for b in range(3):
                # dA_d: by the coordinate of atom i, and by the charges of all atoms
                change = charges[i] * inverse[b, d] * cmath.exp(2j * math.pi * coordinates[i, d])
                for j in range(size):
                    change += flow[j, i, b] * cmath.exp(2j * math.pi * coordinates[j, d]) / (2j * math.pi)
                found[i, :, b] += system.cell[d] * (change * cmath.exp(-2j * math.pi * coordinates[i, d])).real
    return math.sqrt(epsilon_inf) * found
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
