"""From Rényi differential privacy to (epsilon, delta)."""


def epsilon(orders, values, delta):
    """The least epsilon for a delta."""
    raise NotImplementedError


def delta(orders, values, epsilon):
    """The least delta for an epsilon."""
    raise NotImplementedError


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
