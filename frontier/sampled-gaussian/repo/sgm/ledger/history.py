"""A ledger that grows."""

from sgm.ledger.merge import merged


class History:
    """Events of a training, step by step."""

    def __init__(self):
        self.events = []

    def add(self, event):
        """Add one event."""
        self.events = merged([*self.events, event])

    def count(self):
        """Number of accesses."""
        return sum(event.count for event in self.events)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
