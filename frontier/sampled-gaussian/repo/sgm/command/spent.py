"""sgm spent: what a ledger comes to."""

from sgm import accountant, convert
from sgm.divergence import divergence
from sgm.ledger.reader import read_ledger
from sgm.orders import usual
from sgm.show.ledger import ledger_lines


def spent(arguments):
    """Lines."""
    events, orders = read_ledger(arguments.ledger), usual()
    total = accountant.compose(events, orders, divergence)
    return [*ledger_lines(events), convert.epsilon(orders, total, arguments.delta).text()]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
