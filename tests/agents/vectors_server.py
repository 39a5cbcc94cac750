"""Answers of an embedding model, for `tests.chat_server`: a text's vector counts some words in it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from tests.chat_server import Answer, Request

WORDS = ("twice", "half", "cosine", "plan")


def vector(text: str) -> list[float]:
    return [0.1 + text.lower().count(word) for word in WORDS]


def embedded(request: Request) -> Answer:
    return vectors([vector(text) for text in request.body["input"]], tokens=10)


def vectors(rows: Sequence[Sequence[object]], tokens: int = 1) -> Answer:
    data = [{"object": "embedding", "index": place, "embedding": row} for place, row in enumerate(rows)]
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return Answer(raw=json.dumps({"object": "list", "model": "e", "data": data, "usage": usage}).encode())
