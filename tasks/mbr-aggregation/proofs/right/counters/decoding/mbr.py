"""Counts in one loop over the text, scores pair by pair."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from .results import Decision
from .text import characters


def statistics(text, order):
    text, result = characters(text), [{} for _ in range(order)]
    for end in range(1, len(text) + 1):
        for n in range(1, min(order, end) + 1):
            gram = text[end - n : end]
            result[n - 1][gram] = result[n - 1].get(gram, 0) + 1
    return result


def aggregate(parts):
    if len(parts) == 0:
        raise ValueError("no statistics")
    share = 1.0 / len(parts)
    result = []
    for n in range(len(parts[0])):
        grams = sorted({gram for part in parts for gram in part[n]})
        result.append({gram: share * sum(part[n].get(gram, 0) for part in parts) for gram in grams})
    return result


def chrf(hypothesis, reference, beta=2.0):
    sums = defaultdict(float)
    for h, r in zip(hypothesis, reference):
        size_h, size_r = sum(h.values()), sum(r.values())
        if not size_h or not size_r:
            continue
        matches = sum(min(h[gram], r[gram]) for gram in h.keys() & r.keys())
        sums["p"] += matches / size_h
        sums["r"] += matches / size_r
        sums["n"] += 1.0
    if sums["p"] == 0.0:
        return 0.0
    p, r = sums["p"] / sums["n"], sums["r"] / sums["n"]
    return (1 + beta * beta) / (beta * beta / r + 1 / p)


def _split(n, parts):
    size, rest = divmod(n, parts)
    start = 0
    for part in range(parts):
        end = start + size + (part < rest)
        yield range(start, end)
        start = end


def utilities(hypotheses, references, settings, parts=1):
    if not references or parts < 1 or parts > len(references):
        raise ValueError("impossible parts")
    result = np.zeros(len(hypotheses))
    groups = [
        (len(group), aggregate([statistics(references[place], settings.order) for place in group]))
        for group in _split(len(references), parts)
    ]
    for place, text in enumerate(hypotheses):
        mine = statistics(text, settings.order)
        result[place] = sum(size * chrf(mine, group, settings.beta) for size, group in groups) / len(references)
    return result


def decode(hypotheses, references, settings, keep=None, parts=1):
    if not hypotheses:
        raise ValueError("no hypotheses")
    if keep is not None and keep < 1:
        raise ValueError("keep at least one")
    coarse = utilities(hypotheses, references, settings, parts)
    order = sorted(range(len(hypotheses)), key=lambda place: -coarse[place])
    order = order if keep is None else order[:keep]
    fine = utilities([hypotheses[place] for place in order], references, settings, len(references))
    best = order[max(range(len(order)), key=lambda place: (fine[place], -place))]
    return Decision(best, hypotheses[best], np.array(order, dtype=np.int64), coarse, fine)
# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
