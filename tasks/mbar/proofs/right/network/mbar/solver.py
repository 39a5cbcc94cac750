"""The self-consistent equations: weights of the samples, and the free energies that solve them (Shirts & Chodera 2008)."""

from __future__ import annotations

import numpy as np

from .logspace import log, logsumexp
from .samples import SampleSet

LARGEST_STEP = 1e-9
"""The solution counts as found only if a Newton step would move no free energy by more than this."""

STALLED = 1e-6
"""Newton steps below this square in size each time, unless rounding is all that is left of them."""

WIDEST = 50.0
"""Energies that are spread wider than this, apart from a constant for each state and sample, are tempered."""

COOLING = 4.0
"""From one temperature to the next."""


def log_weights(samples: SampleSet, f: np.ndarray) -> np.ndarray:
    """Logarithms of the weights of all samples in all states, `(N, K)`."""
    f = np.asarray(f, dtype=np.float64)
    levels, _ = energy_levels(samples)
    return f - levels - log_mixture(samples, levels, f)[:, None]


def free_energies(samples: SampleSet, tolerance: float = 1e-10, max_iterations: int = 1000) -> np.ndarray:
    """Reduced free energies of all states relative to the first one, `(K,)`."""
    levels, _ = energy_levels(samples)
    sampled = samples.counts > 0
    counts = samples.counts[sampled]
    heights = levels[:, sampled]
    base = np.array([np.median(column[np.isfinite(column)]) for column in heights.T])
    heights = heights - base

    # States that look far apart are solved at a high temperature first, where they overlap, and then cooled down.
    # At each temperature only the logarithms of the shares N_k W_nk are carried from iteration to iteration. They
    # change by the step that is taken and are normalised again, so that no rounding of f hinders convergence.
    finite = heights[np.isfinite(heights)]
    temperature = max(1.0, np.ptp(finite) / WIDEST)
    moved = np.zeros(len(counts))
    shares = _normalised(np.log(counts) - heights / temperature)
    _, step, size = _step(shares, counts)
    for _ in range(max_iterations):
        shares = _normalised(shares + step)
        moved += temperature * step
        previous = size
        excess, step, size = _step(shares, counts)
        balanced = np.max(np.abs(excess)) <= tolerance
        # Without any overlap, in double precision, there is no more to know than that the weights sum to 1.
        apart = balanced and np.isinf(size)
        if temperature == 1.0:
            stalled = previous <= STALLED and size >= 0.5 * previous
            if balanced and (size <= LARGEST_STEP or stalled or apart):
                break
        elif size <= 1.0 or apart:
            temperature = max(1.0, temperature / COOLING)
            shares = _normalised(np.log(counts) + (moved - heights) / temperature)
            _, step, size = _step(shares, counts)
    else:
        raise RuntimeError(f"no free energies found within {max_iterations} iterations")

    f = np.zeros(len(sampled))
    f[sampled] = base + moved
    mixture = log_mixture(samples, levels, f)
    for state in np.flatnonzero(~sampled):
        f[state] = -logsumexp(-levels[:, state] - mixture, axis=0)
    return f - f[0]


def energy_levels(samples: SampleSet) -> tuple[np.ndarray, np.ndarray]:
    """The energies, `(N, K)`, above the lowest one that a sample has in the sampled states, and those lowest ones."""
    lowest = np.min(samples.energies[samples.counts > 0], axis=0)
    return (samples.energies - lowest).T, lowest


def log_mixture(samples: SampleSet, levels: np.ndarray, f: np.ndarray) -> np.ndarray:
    """Logarithm of the denominator of (9) and (11), `(N,)`, with `levels` for the energies."""
    sampled = samples.counts > 0
    return logsumexp(log(samples.counts[sampled]) + f[sampled] - levels[:, sampled], axis=1)


def _normalised(exponents: np.ndarray) -> np.ndarray:
    """Rows of logarithms, shifted so that their exponentials sum to 1."""
    return exponents - logsumexp(exponents, axis=1)[:, None]


def _step(log_shares: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """How far the weights of each sampled state sum to more than 1, what to add to f, and the size of a Newton step.

    `log_shares` `(N, S)` are the logarithms of the shares N_k W_nk, whose rows sum to 1. Where states hardly overlap
    one share of each row is nearly 1, and the gradient is the difference of the minute remainders: what a state gets
    of the samples that belong to others, less what the others get of its own. Summed up like that (and not as a sum
    of shares less the count) it keeps all its digits. The Hessian is, but for the sign, a network whose edges are
    the sums of products of shares.
    """
    rows = np.arange(len(log_shares))
    shares = np.exp(log_shares)
    owner = np.argmax(log_shares, axis=1)
    foreign = shares.copy()
    foreign[rows, owner] = 0.0
    owned = np.bincount(owner, minlength=len(counts))
    lost = np.bincount(owner, weights=foreign.sum(axis=1), minlength=len(counts))
    gradient = (owned - counts) + (foreign.sum(axis=0) - lost)
    excess = gradient / counts

    newton = _potentials(shares.T @ shares, -gradient)
    if newton is None:
        # States without any overlap at this point: one iteration of (11).
        return excess, -logsumexp(log_shares - np.log(counts), axis=0), np.inf
    # The third derivative of a log-sum-exp along a line is at most its second one times the spread of the direction.
    # For such functions this damping of Newton's method never goes uphill, wherever it starts; near the solution it
    # fades away.
    spread = np.ptp(newton)
    damping = np.log1p(spread) / spread if spread > 0.0 else 1.0
    return excess, damping * newton, float(np.max(np.abs(newton)))


def _potentials(edges: np.ndarray, inflow: np.ndarray) -> np.ndarray | None:
    """Potentials of the nodes of a network of conductors, the first one held at 0; None if it is not connected.

    The off-diagonal elements of `edges` are the conductances. Nodes are eliminated one by one, the last one first,
    each replaced by direct connections of its neighbours (star-mesh transform). Nothing is subtracted, so that
    conductances of very different size do no harm.
    """
    edges, inflow = edges.copy(), inflow.copy()
    last = len(edges) - 1
    totals = np.zeros(last + 1)
    for node in range(last, 0, -1):
        totals[node] = edges[node, :node].sum()
        if not totals[node] > 0.0:
            return None
        passed = edges[node, :node] / totals[node]
        edges[:node, :node] += passed[:, None] * edges[node, :node]
        inflow[:node] += passed * inflow[node]
    potentials = np.zeros(last + 1)
    for node in range(1, last + 1):
        drawn = (edges[node, :node] / totals[node]) @ potentials[:node]
        potentials[node] = drawn + inflow[node] / totals[node]
    return potentials if np.isfinite(potentials).all() else None


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
