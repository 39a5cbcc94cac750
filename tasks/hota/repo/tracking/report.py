"""The driver."""

from dataclasses import fields

from .hota import count, evaluate
from .results import Scores
from .sequence import Sequence


def report(sequences: dict[str, Sequence]) -> dict[str, dict[str, float]]:
    """The scores of each sequence and of all together ("combined"), averaged over the thresholds."""
    counts = {name: count(sequence) for name, sequence in sequences.items()}
    groups = {**{name: [each] for name, each in counts.items()}, "combined": list(counts.values())}
    names = [field.name for field in fields(Scores)]
    table: dict[str, dict[str, float]] = {}
    for group, members in groups.items():
        _, means = evaluate(members)
        table[group] = {name: means[name] for name in names}
    return table


# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
