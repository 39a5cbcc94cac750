"""The moments accountant, after Abadi et al. (2016).

alpha(lambda) = log E_{z ~ mu}[(mu(z) / mu0(z))^lambda], for whole lambda. Sums on a grid, to six digits or so if sigma is about 1
and the rate is not small.
"""

import numpy as np

from sgm.ledger.events import Event

LAMBDAS = np.arange(1.0, 33.0)


def log_moment(rate, sigma, lam):
    """alpha(lambda) of one step."""
    z = np.linspace(-12.0 * sigma, lam + 1.0 + 12.0 * sigma, 20001)
    log_mu0 = -(z**2) / (2.0 * sigma**2) - np.log(sigma * np.sqrt(2.0 * np.pi))
    log_mu = np.logaddexp(np.log1p(-rate) + log_mu0, np.log(rate) + log_mu0 + (2.0 * z - 1.0) / (2.0 * sigma**2))
    return float(np.log(np.sum(np.exp(log_mu + lam * (log_mu - log_mu0))) * (z[1] - z[0])))


def record(rate, sigma, steps):
    """The event that an old ledger has for so many steps."""
    curve = tuple((float(lam), log_moment(rate, sigma, lam)) for lam in LAMBDAS)
    return Event(kind="moments", rate=rate, noise=sigma, count=steps, curve=curve)


def spent(events):
    """Sum of the log moments of old events, at LAMBDAS."""
    total = np.zeros(len(LAMBDAS))
    for event in events:
        total += event.count * np.array([value for _, value in event.curve])
    return total


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
