"""Drift by tracked quantiles."""

import numpy as np

from .windows import Window


def pinball_loss(residuals, level):
    residuals = np.asarray(residuals, dtype=float)
    return residuals * (level - (residuals < 0))


def track_quantile(values, level, step, start=0.0):
    _check(level)
    estimates, now = [], start
    for value in values:
        now += step * (level - (value <= now))
        estimates.append(now)
    return np.array(estimates)


class QuantileDrift:
    def __init__(self, level, step, window, threshold):
        _check(level)
        self.level, self.step, self.threshold = level, step, threshold
        self.estimate = 0.0
        self.window = Window(window)

    def update(self, value):
        self.window.push(float(value > self.estimate))  # before the estimate has seen it
        self.estimate = float(track_quantile([value], self.level, self.step, self.estimate)[0])
        if not self.window.full:
            return False
        spread = np.sqrt(self.level * (1 - self.level) / len(self.window.values))
        return bool(abs(self.exceedance() - (1 - self.level)) > self.threshold * spread)

    def exceedance(self):
        return self.window.mean()

    def reset(self):
        self.window.clear()


def _check(level):
    if not 0 < level < 1:
        raise ValueError(f"level must lie between 0 and 1, not {level}")
