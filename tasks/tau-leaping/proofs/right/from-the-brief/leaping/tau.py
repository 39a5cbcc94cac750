"""Tau-leaping: propensities, critical reactions, the leap time, and one step."""

from __future__ import annotations

import math

import numpy as np

from .draws import Draws
from .network import Network, population
from .settings import Settings
from .trajectory import Step


def propensities(network: Network, state: np.ndarray) -> np.ndarray:
    """The propensity of each reaction, (R,)."""
    counts = population(network, state)
    values = np.array(network.rates, dtype=np.float64)
    for reaction, species in zip(*np.nonzero(network.reactants), strict=True):
        need, present = int(network.reactants[reaction, species]), int(counts[species])
        if present < need:
            values[reaction] = 0.0
            continue
        for taken in range(need):
            values[reaction] *= (present - taken) / (taken + 1)
    return values


def critical_reactions(network: Network, state: np.ndarray, settings: Settings) -> np.ndarray:
    """Which reactions may soon use up a species, (R,)."""
    counts = population(network, state)
    used = -network.change
    times = np.where(used > 0, counts // np.maximum(used, 1), np.iinfo(np.int64).max)
    soon = (used > 0) & (times < settings.critical_limit)
    return (propensities(network, counts) > 0.0) & soon.any(axis=1)


def order_factors(network: Network, state: np.ndarray) -> np.ndarray:
    """The factor g of each species, (S,)."""
    counts = population(network, state)
    orders = network.reactants.sum(axis=1)
    factors = np.zeros(len(counts))
    for species, needs in enumerate(network.reactants.T):
        if not needs.any():
            continue
        highest = int(orders[needs > 0].max())
        for need in np.unique(needs[(needs > 0) & (orders == highest)]).tolist():
            present = max(int(counts[species]), need)
            total = math.fsum(present / (present - taken) for taken in range(need))
            factors[species] = max(factors[species], highest / need * total)
    return factors


def leap_time(network: Network, state: np.ndarray, settings: Settings) -> float:
    """The largest leap that keeps propensities nearly constant."""
    counts = population(network, state)
    rates = np.where(critical_reactions(network, counts, settings), 0.0, propensities(network, counts))
    factors = order_factors(network, counts)
    change = network.change.astype(np.float64)
    needed = factors > 0.0
    bounds = np.maximum(settings.epsilon * counts[needed] / factors[needed], 1.0)
    drift = np.abs(rates @ change)[needed]
    noise = (rates @ change**2)[needed]
    limits = np.full((2, len(bounds)), np.inf)
    np.divide(bounds, drift, out=limits[0], where=drift > 0.0)
    np.divide(bounds**2, noise, out=limits[1], where=noise > 0.0)
    return float(limits.min(initial=np.inf))


def _exact(network: Network, counts: np.ndarray, remaining: float, draws: Draws, steps: int) -> Step:
    """A block of exact steps."""
    counts, elapsed = counts.copy(), 0.0
    firings = np.zeros(len(network.rates), dtype=np.int64)
    for _ in range(steps):
        rates = propensities(network, counts)
        if not rates.any():
            break
        elapsed += draws.waiting_time(float(rates.sum()))
        if elapsed > remaining:
            elapsed = remaining
            break
        reaction = draws.choice(rates)
        firings[reaction] += 1
        counts += network.change[reaction]
    return Step("exact", float(elapsed), counts, firings)


def step(network: Network, state: np.ndarray, remaining: float, draws: Draws, settings: Settings) -> Step:
    """One leap or one block of exact steps, no longer than `remaining`."""
    counts, remaining = population(network, state), float(remaining)
    rates = propensities(network, counts)
    if not rates.any():
        return Step("idle", remaining, counts, np.zeros(len(rates), dtype=np.int64))
    critical = critical_reactions(network, counts, settings)
    risky, safe = np.where(critical, rates, 0.0), np.where(critical, 0.0, rates)
    shortest = settings.exact_factor / float(rates.sum())
    tau = leap_time(network, counts, settings)
    while tau >= shortest:
        first = draws.waiting_time(float(risky.sum())) if critical.any() else math.inf
        duration = min(tau, first, remaining)
        chosen = draws.choice(risky) if first == duration else None
        firings = draws.poisson(safe * duration)
        if chosen is not None:
            firings[chosen] += 1
        after = counts + firings @ network.change
        if (after >= 0).all():
            return Step("leap", duration, after, firings)
        tau /= 2.0
    return _exact(network, counts, remaining, draws, settings.exact_steps)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
