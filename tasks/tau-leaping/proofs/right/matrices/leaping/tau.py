"""Whole arrays of reactions and species, and a recursive leap."""

from __future__ import annotations

import numpy as np
from scipy.special import factorial

from .draws import Draws
from .network import Network, population
from .settings import Settings
from .trajectory import Step


def _falling(x, m):
    """x (x - 1) ... (x - m + 1), 0 where x < m, for arrays of one shape."""
    terms = np.arange(int(m.max()) if m.size else 0)
    ladder = np.where(terms < m[..., None], x[..., None] - terms, 1.0)
    return np.clip(ladder, 0.0, None).prod(axis=-1)


def propensities(network: Network, state):
    x = np.broadcast_to(population(network, state).astype(float), network.reactants.shape)
    return network.rates * (_falling(x, network.reactants) / factorial(network.reactants)).prod(axis=1)


def critical_reactions(network: Network, state, settings: Settings):
    state = population(network, state)
    lost = -network.change
    with np.errstate(divide="ignore"):
        times = np.where(lost > 0, np.floor_divide(state, np.where(lost > 0, lost, 1)), np.iinfo(np.int64).max)
    return (propensities(network, state) > 0) & (times.min(axis=1, initial=np.iinfo(np.int64).max) < settings.critical_limit)


def order_factors(network: Network, state):
    m = network.reactants
    n = np.broadcast_to(m.sum(axis=1)[:, None], m.shape)
    x = np.maximum(population(network, state)[None, :], m).astype(float)
    terms = np.arange(m.max() if m.size else 0)
    part = x[..., None] / np.where(terms < m[..., None], x[..., None] - terms, np.inf)
    g = n / np.where(m > 0, m, 1) * part.sum(axis=-1)
    highest = np.where(m > 0, n, 0).max(axis=0, initial=0)
    return np.where((m > 0) & (n == highest), g, 0.0).max(axis=0, initial=0.0)


def leap_time(network: Network, state, settings: Settings):
    state = population(network, state)
    calm = ~critical_reactions(network, state, settings)
    a, nu = propensities(network, state)[calm], network.change[calm].astype(float)
    reactant = network.reactants.sum(axis=0) > 0
    g = np.where(reactant, order_factors(network, state), 1.0)
    bound = np.maximum(settings.epsilon * state / g, 1.0)
    mu, sigma2 = np.abs(np.einsum("j,ji->i", a, nu)), np.einsum("j,ji->i", a, nu**2)
    with np.errstate(divide="ignore"):
        times = np.minimum(bound / mu, bound**2 / sigma2)[reactant]
    return float(times.min(initial=np.inf))


def _leap(network, state, a, rare, longest, remaining, draws, settings):
    if longest * a.sum() < settings.exact_factor:
        return None
    critical = a * rare
    time = draws.waiting_time(critical.sum()) if rare.any() else np.inf
    happened = np.zeros(len(a), dtype=np.int64)
    if time < min(longest, remaining):
        happened[draws.choice(critical)] = 1
    time = min(time, longest, remaining)
    happened = happened + draws.poisson(a * ~rare * time)
    after = state + happened @ network.change
    if np.any(after < 0):
        return _leap(network, state, a, rare, longest / 2, remaining, draws, settings)
    return Step("leap", float(time), after, happened)


def step(network: Network, state, remaining, draws: Draws, settings: Settings):
    state = population(network, state)
    a = propensities(network, state)
    happened = np.zeros(len(a), dtype=np.int64)
    if a.max(initial=0.0) <= 0.0:
        return Step("idle", float(remaining), state, happened)
    rare = critical_reactions(network, state, settings)
    found = _leap(network, state, a, rare, leap_time(network, state, settings), remaining, draws, settings)
    if found is not None:
        return found
    left, steps = remaining, 0
    while steps < settings.exact_steps and a.max() > 0.0:
        left -= draws.waiting_time(a.sum())
        if left <= 0.0:
            return Step("exact", float(remaining), state, happened)
        which = draws.choice(a)
        happened[which] += 1
        state = state + network.change[which]
        a, steps = propensities(network, state), steps + 1
    return Step("exact", float(remaining - left), state, happened)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
