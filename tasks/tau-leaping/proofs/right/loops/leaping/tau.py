"""Plain Python: integers, math.comb and loops."""

import math

import numpy as np

from .draws import Draws
from .network import Network, population
from .settings import Settings
from .trajectory import Step


def _rows(network):
    return list(zip(network.reactants.tolist(), network.change.tolist(), network.rates.tolist()))


def _weights(network, state):
    return [
        rate * math.prod(math.comb(x, m) for x, m in zip(state, needed))
        for needed, _, rate in _rows(network)
    ]


def propensities(network: Network, state):
    return np.array(_weights(network, population(network, state).tolist()), dtype=np.float64).reshape(-1)


def critical_reactions(network: Network, state, settings: Settings):
    state = population(network, state).tolist()
    found = []
    for (_, change, _), weight in zip(_rows(network), _weights(network, state)):
        times = [x // -nu for x, nu in zip(state, change) if nu < 0]
        found.append(weight > 0 and bool(times) and min(times) < settings.critical_limit)
    return np.array(found, dtype=bool)


def order_factors(network: Network, state):
    factors = []
    for species, x in enumerate(population(network, state).tolist()):
        best = (0, 0.0)
        for needed, _, _ in _rows(network):
            m, n = needed[species], sum(needed)
            if m:
                amount = max(x, m)
                best = max(best, (n, n / m * sum(amount / (amount - k) for k in range(m))))
        factors.append(best[1])
    return np.array(factors, dtype=np.float64)


def leap_time(network: Network, state, settings: Settings):
    state = population(network, state)
    critical = critical_reactions(network, state, settings)
    weights = propensities(network, state)
    factors = order_factors(network, state)
    times = [math.inf]
    for species in range(len(state)):
        if not network.reactants[:, species].any():
            continue
        bound = max(settings.epsilon * float(state[species]) / factors[species], 1.0)
        mean = variance = 0.0
        for reaction, nu in enumerate(network.change[:, species].tolist()):
            if not critical[reaction]:
                mean += nu * float(weights[reaction])
                variance += nu * nu * float(weights[reaction])
        if mean != 0.0:
            times.append(float(bound / abs(mean)))
        if variance != 0.0:
            times.append(float(bound * bound / variance))
    return min(times)


def step(network: Network, state, remaining, draws: Draws, settings: Settings):
    start = population(network, state)
    weights = propensities(network, start)
    total = float(weights.sum())
    count = np.zeros(weights.shape, dtype=np.int64)
    if total == 0.0:
        return Step("idle", float(remaining), start, count)
    rare = critical_reactions(network, start, settings)
    longest = leap_time(network, start, settings)
    while not longest < settings.exact_factor / total:
        until = draws.waiting_time(float(weights[rare].sum())) if rare.any() else math.inf
        duration = float(min(longest, until, remaining))
        happened = count.copy()
        if until == duration:
            happened[draws.choice(weights * rare)] += 1
        happened += draws.poisson(duration * weights * ~rare)
        end = start + network.change.T @ happened
        if end.min() >= 0:
            return Step("leap", duration, end, happened)
        longest *= 0.5
    time, now = 0.0, start
    for _ in range(settings.exact_steps):
        weights = propensities(network, now)
        if weights.sum() == 0.0:
            break
        time = time + draws.waiting_time(float(weights.sum()))
        if time > remaining:
            time = float(remaining)
            break
        which = draws.choice(weights)
        count[which] += 1
        now = start + count @ network.change
    return Step("exact", time, now, count)


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
