"""Speculative decoding, written with Python's own numbers where speed does not matter."""

import math

import numpy as np
from lm.result import Generation
from lm.sampling import draw, probabilities
from lm.stream import Uniforms


def residual(target, draft):
    p = np.array(target, dtype=np.float64)
    q = np.array(draft, dtype=np.float64)
    gain = np.clip(p - q, 0.0, None)
    # scaled by the largest gain first, so that tiny differences do not underflow
    peak = gain.max(axis=-1, keepdims=True)
    same = peak == 0.0
    gain = gain / np.where(same, 1.0, peak)
    total = gain.sum(axis=-1, keepdims=True)
    return np.where(same, p, gain / np.where(same, 1.0, total))


def verify(target, draft, proposed, uniforms):
    p = np.asarray(target, dtype=np.float64)
    guesses = [int(token) for token in proposed]
    numbers = [float(number) for number in uniforms]
    count = len(guesses)
    if len(p) != count + 1 or len(draft) != count or len(numbers) != count + 1:
        raise ValueError("target and uniforms need one row more than draft and proposed")
    q = np.asarray(draft, dtype=np.float64)
    kept = 0
    for token in guesses:
        if not numbers[kept] * q[kept][token] < p[kept][token]:
            break
        kept += 1
    if kept < count:
        last = residual(p[kept], q[kept])
    else:
        last = p[count]
    return kept, int(draw(last, numbers[-1]))


def speedup(target, draft, gammas, cost):
    if cost < 0:
        raise ValueError(f"cost is {cost}, and must not be negative")
    overlap = np.minimum(np.asarray(target, dtype=np.float64), np.asarray(draft, dtype=np.float64)).sum(axis=-1)
    alpha = min(1.0, float(overlap.mean()))
    gains = []
    for gamma in np.asarray(gammas).tolist():
        if gamma < 0:
            raise ValueError(f"a draft length is {gamma}, and must not be negative")
        tokens = math.fsum(alpha**power for power in range(gamma + 1))
        gains.append(tokens / (gamma * cost + 1.0))
    return np.array(gains, dtype=np.float64)


def generate(target, draft, prompt, settings, seed):
    if len(prompt) == 0:
        raise ValueError("the prompt is empty")
    stream = Uniforms(seed)
    text = list(prompt)
    limit = len(prompt) + settings.max_new_tokens
    rounds = drafted = accepted = 0
    ended = False
    while len(text) < limit and not ended:
        guesses, rows = [], []
        for _ in range(min(settings.gamma, limit - len(text) - 1)):
            row = probabilities(draft(text + guesses)[-1], settings)
            token = draw(row, float(stream.take(1)[0]))
            rows.append(row)
            guesses.append(token)
            if settings.eos is not None and token == settings.eos:
                break
        scores = probabilities(target(text + guesses), settings)
        wanted = scores[len(text) - 1 :]
        size = wanted.shape[-1]
        shown = np.array(rows) if rows else np.zeros((0, size))
        kept, extra = verify(wanted, shown, np.array(guesses, dtype=np.int64), stream.take(len(guesses) + 1))
        rounds += 1
        drafted += len(guesses)
        accepted += kept
        text += guesses[:kept]
        if kept and settings.eos is not None and guesses[kept - 1] == settings.eos:
            ended = True
        else:
            text.append(extra)
            ended = settings.eos is not None and extra == settings.eos
    new = [int(token) for token in text[len(prompt) :]]
    return Generation(tokens=new, rounds=rounds, drafted=drafted, accepted=accepted)

# recode-canary 5c2f41f0-8d1e-4d0b-9a57-6f7d1c0e3b92
