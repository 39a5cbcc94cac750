"""Born charges with matrix products."""

import numpy as np


def born_charges(system, jacobian=None, epsilon_inf=1.0, neutral=True):
    """Charge on the diagonal, plus the sum over atoms of distance times flow."""
    if not np.isfinite(epsilon_inf) or epsilon_inf <= 0:
        raise ValueError("epsilon_inf must be a positive number")
    size = len(system.positions)
    centre = np.eye(size) - (np.ones((size, size)) / size if neutral else 0.0)
    result = np.multiply.outer(centre @ system.charges.sum(axis=1), np.eye(3))
    if jacobian is not None:
        jacobian = np.asarray(jacobian, dtype="f8")
        if jacobian.shape != (*system.charges.shape, size, 3):
            raise ValueError("the jacobian must be (N, C, N, 3)")
        flow = np.tensordot(centre, jacobian.sum(axis=1), axes=1)
        if system.cell is None:
            result = result + np.tensordot(flow, system.positions, axes=(0, 0)).transpose(0, 2, 1)
        else:
            s = 2.0 * np.pi * system.positions @ np.linalg.inv(system.cell)
            # sin(s_j - s_i), by the addition theorem
            along = np.sin(s).T[:, :, None] * np.cos(s).T[:, None] - np.cos(s).T[:, :, None] * np.sin(s).T[:, None]
            for d in range(3):
                moved = (along[d][:, :, None] * flow).sum(axis=0) / (2.0 * np.pi)
                result = result + system.cell[d][None, :, None] * moved[:, None, :]
    return result * epsilon_inf**0.5
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
