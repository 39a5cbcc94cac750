"""Shorter ledgers that say the same."""

from sgm.ledger.events import scaled


def merged(events):
    """Neighbours that differ in their count only become one event."""
    result = []
    for event in events:
        if result and scaled(result[-1], 0) == scaled(event, 0):
            result[-1] = scaled(event, result[-1].count + event.count)
        else:
            result.append(event)
    return result


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
