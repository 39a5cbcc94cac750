"""Rényi divergences of the sampled Gaussian mechanism."""

import numpy as np
from scipy.special import logsumexp
from sgm.checks import check_orders, check_rate, check_sigma
from sgm.directions import ADD, check_direction

STEP = 0.2  # of the trapezoidal rule, in units of the narrower of the noise and the transition
REACH = 40.0  # standard deviations beyond the outermost peak
SMOOTH = 4.0  # exponents that the quadrature over the simplex integrates to rounding
NODES = 16


def scaled(y, scale):
    """exp(-scale) (exp(y) - 1) for scale >= max(y, 0)."""
    with np.errstate(over="ignore"):
        return np.where(
            y > 0.0, -np.exp(y - scale) * np.expm1(-np.abs(y)), np.exp(-scale) * np.expm1(np.minimum(y, 0.0))
        )


def quotient(slope, v, scale):
    """exp(-scale) (exp(slope v) - 1) / slope."""
    return v * np.exp(-scale) if slope == 0.0 else scaled(slope * v, scale) / slope


def log_difference(v, order, forward):
    """log of the second divided difference of g -> exp(g v) at 0, 1 and the power of the direction, which is positive."""
    excess = order - 1.0
    power = order if forward else -excess
    smooth = np.abs(v) * max(1.0, abs(power)) <= SMOOTH
    near, far, result = v[smooth], v[~smooth], np.empty(len(v))

    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    nodes, weights = (nodes[:, None] + 1.0) / 2.0, weights / 2.0
    with np.errstate(divide="ignore"):
        inner = weights @ (np.exp(power * near * nodes) * np.expm1(near * (1.0 - nodes)))
        result[smooth] = np.log(np.abs(near)) + np.log(np.abs(inner))

    scale = np.maximum(np.maximum(far, power * far), 0.0)
    if forward:
        value = quotient(excess, far, scale - far) - quotient(1.0, far, scale)
    else:
        value = quotient(1.0, far, scale) - quotient(-excess, far, scale)
    result[~smooth] = scale + np.log(value / order)
    return result


def single(rate, sigma, order, forward):
    """Divergence of one order."""
    step, edge = STEP * min(1.0, sigma), REACH + order / sigma
    x = step * np.arange(-np.ceil(edge / step), np.ceil(edge / step) + 1.0)
    ratio = (x - 0.5 / sigma) / sigma
    u = rate * np.expm1(np.minimum(ratio, 600.0))
    mixed = np.logaddexp(np.log1p(-rate), np.log(rate) + ratio)
    v = np.where((u < -0.5) | (ratio > 600.0), mixed, np.log1p(np.maximum(u, -0.5)))
    mean = logsumexp(log_difference(v, order, forward) - x * x / 2.0) + np.log(step / np.sqrt(2.0 * np.pi))
    if order == 1.0:
        return np.exp(mean)
    return np.logaddexp(0.0, mean + np.log(order) + np.log(order - 1.0)) / (order - 1.0)


def divergence(rate, sigma, orders, direction=ADD):
    """Rényi divergence between the outputs with and without one example, for each order."""
    orders = check_orders(orders)
    check_rate(rate)
    check_sigma(sigma)
    check_direction(direction)
    if rate == 0.0:
        return np.zeros(orders.shape)
    if sigma == 0.0:
        # without noise, only the outcome that the example cannot have is unbounded
        return np.full(orders.shape, np.inf if direction == ADD or rate == 1.0 else -np.log1p(-rate))
    if rate == 1.0:
        return orders / (2.0 * sigma**2)
    return np.array([single(rate, sigma, order, direction == ADD) for order in orders.tolist()]).reshape(orders.shape)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
