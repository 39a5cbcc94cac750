"""Ledgers from JSON."""

from sgm.files.jsonfile import read_json
from sgm.ledger.events import Event


def event_of(entry):
    """The event of one JSON object."""
    curve = tuple((float(place), float(value)) for place, value in entry.get("curve", ()))
    return Event(
        kind=entry["kind"],
        rate=float(entry.get("rate", 1.0)),
        noise=float(entry.get("noise", 0.0)),
        clip=float(entry.get("clip", 1.0)),
        count=int(entry.get("count", 1)),
        curve=curve,
    )


def read_ledger(path):
    """Events of a file, in their order."""
    return [event_of(entry) for entry in read_json(path)["events"]]


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
