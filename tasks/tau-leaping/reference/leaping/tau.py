"""Tau-leaping: propensities, critical reactions, the leap time, and one step (Cao, Gillespie and Petzold, 2006)."""

from __future__ import annotations

import numpy as np

from .draws import Draws
from .network import Network, population
from .settings import Settings
from .trajectory import Step


def propensities(network: Network, state: np.ndarray) -> np.ndarray:
    """The propensity of each reaction, (R,)."""
    available = population(network, state)
    values = network.rates.copy()
    for taken in range(network.reactants.max(initial=0)):
        ways = (available - taken) / (taken + 1.0)
        values *= np.where(network.reactants > taken, ways, 1.0).prod(axis=1)
    return values


def critical_reactions(network: Network, state: np.ndarray, settings: Settings) -> np.ndarray:
    """Which reactions may soon use up a species, (R,)."""
    lost = -network.change
    possible = population(network, state) // np.maximum(lost, 1)
    few = ((lost > 0) & (possible < settings.critical_limit)).any(axis=1)
    return few & (propensities(network, state) > 0.0)


def order_factors(network: Network, state: np.ndarray) -> np.ndarray:
    """The factor g of each species, (S,)."""
    needed = network.reactants
    orders = np.where(needed > 0, needed.sum(axis=1, keepdims=True), 0)
    available = np.maximum(population(network, state), needed)
    growth = np.zeros(needed.shape)  # of the logarithm of the ways to choose the molecules
    for taken in range(needed.max(initial=0)):
        growth += np.where(needed > taken, available / np.maximum(available - taken, 1.0), 0.0)
    factors = orders * growth / np.maximum(needed, 1)
    return np.where(orders == orders.max(axis=0, initial=0), factors, 0.0).max(axis=0, initial=0.0)


def leap_time(network: Network, state: np.ndarray, settings: Settings) -> float:
    """The largest leap that keeps propensities nearly constant."""
    state = population(network, state)
    flow = np.where(critical_reactions(network, state, settings), 0.0, propensities(network, state))
    mean, variance = np.abs(flow @ network.change), flow @ network.change**2
    matters = (network.reactants > 0).any(axis=0) & (variance > 0.0)
    factors = order_factors(network, state)
    longest = np.inf
    for species in np.flatnonzero(matters):
        bound = max(settings.epsilon * state[species] / factors[species], 1.0)
        longest = min(longest, bound**2 / variance[species])
        if mean[species] > 0.0:
            longest = min(longest, bound / mean[species])
    return float(longest)


def step(network: Network, state: np.ndarray, remaining: float, draws: Draws, settings: Settings) -> Step:
    """One leap or one block of exact steps, no longer than `remaining`."""
    state = population(network, state)
    values = propensities(network, state)
    if not values.any():
        return Step("idle", float(remaining), state, np.zeros(len(values), dtype=np.int64))
    critical = critical_reactions(network, state, settings)
    longest = leap_time(network, state, settings)
    while longest >= settings.exact_factor / values.sum():
        duration, firings = min(longest, remaining), np.zeros(len(values), dtype=np.int64)
        if critical.any():
            first = draws.waiting_time(values[critical].sum())
            if first <= duration:
                duration = first
                firings[draws.choice(np.where(critical, values, 0.0))] = 1
        firings += draws.poisson(np.where(critical, 0.0, values * duration))
        reached = state + firings @ network.change
        if (reached >= 0).all():
            return Step("leap", float(duration), reached, firings)
        longest /= 2.0
    return _exact(network, state, remaining, draws, settings)


def _exact(network: Network, state: np.ndarray, remaining: float, draws: Draws, settings: Settings) -> Step:
    """A block of single reactions."""
    elapsed, firings = 0.0, np.zeros(len(network.rates), dtype=np.int64)
    for _ in range(settings.exact_steps):
        values = propensities(network, state)
        if not values.any():
            break
        elapsed += draws.waiting_time(values.sum())
        if elapsed >= remaining:
            return Step("exact", float(remaining), state, firings)
        reaction = draws.choice(values)
        firings[reaction] += 1
        state = state + network.change[reaction]
    return Step("exact", elapsed, state, firings)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
