"""sgm bound: where the closed form holds."""

from sgm import bound as closed_form


def bound(arguments):
    """Lines."""
    order = closed_form.largest_order(arguments.rate, arguments.sigma)
    return ["the closed form does not hold" if order is None else f"holds up to order {order:.6f}"]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
