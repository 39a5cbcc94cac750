"""A ledger as text."""

from sgm.show.columns import columns


def ledger_lines(events):
    """One line for each event."""
    rows = [("kind", "rate", "multiplier", "count")]
    for event in events:
        multiplier = "-" if event.kind in ("moments", "tabulated", "response") else f"{event.noise / event.clip:.4g}"
        rows.append((event.kind, f"{event.rate:.4g}", multiplier, str(event.count)))
    return columns(rows)


# recode-canary 7b0d4c9e-52a6-4f0e-8a43-0e6c1d9f2b85
