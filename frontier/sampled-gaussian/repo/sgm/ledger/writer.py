"""Ledgers to JSON."""

from dataclasses import asdict

from sgm.files.jsonfile import write_json


def entry_of(event):
    """JSON object of an event, without what is empty."""
    entry = asdict(event)
    if not event.curve:
        del entry["curve"]
    return entry


def write_ledger(path, events):
    """Write events in their order."""
    write_json(path, {"events": [entry_of(event) for event in events]})


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
