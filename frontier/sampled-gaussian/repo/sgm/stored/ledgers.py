"""Ledgers and what they came to."""

from sgm.files.jsonfile import read_json
from sgm.files.places import data_file
from sgm.ledger.reader import event_of


def stored_ledgers():
    """Triples of events, orders and the total at these orders."""
    return [
        ([event_of(entry) for entry in each["events"]], each["orders"], [float(value) for value in each["total"]])
        for each in read_json(data_file("ledgers.json"))["ledgers"]
    ]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
