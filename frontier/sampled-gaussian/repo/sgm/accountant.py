"""Composition, and the best of all orders."""


def compose(events, orders, kernel):
    """Divergence of a whole ledger, for each order."""
    raise NotImplementedError


def best_order(curve, delta):
    """The least epsilon over all real orders."""
    raise NotImplementedError


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
