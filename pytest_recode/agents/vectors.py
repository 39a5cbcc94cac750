"""Vectors of a repository's definitions: made once per repository and embedding model, for all workers of a run.

`DIR/retrieval/<digest>.json` is written once, whole. While it is made, its maker holds `<digest>.lock` and appends what it has paid for
to `<digest>.part`, a batch a line: one that is killed leaves both to the next.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_recode.agents import Waiting
from pytest_recode.agents.prompts import cut
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models import Embedder, Usage
from pytest_recode.records import locks
from pytest_recode.records.run_directory import replaced, subdirectory, writing

MAX_TEXT = 6_000
"""Characters of one text, some 2,000 tokens: no embedding model reads much more."""
MAX_BATCH = 128
"""Texts of one call."""
MAX_CHARACTERS = 200_000
"""Of one call: providers take some 300,000 tokens."""


@dataclass(slots=True, kw_only=True)
class Vectors:
    """Of one episode. `shared` is the directory of its run; None: nothing is kept for others."""

    embedder: Embedder
    shared: Path | None
    waiting: Waiting
    _kept: tuple[str, Any] | None = field(default=None, repr=False)
    _fresh: dict[str, Any] = field(default_factory=dict, repr=False)

    def nearest(
        self, query: str, kept: Sequence[str], fresh: Sequence[str], most: int
    ) -> tuple[tuple[int, ...], Usage]:
        """The places of the texts that are nearest to `query`, best first, in `kept` followed by `fresh`, and the cost.

        Raises what `Embedder.embed` raises.
        """
        import numpy as np

        rows, usage = self._of_all(kept)
        new = [text for text in dict.fromkeys(fresh) if text not in self._fresh]
        made, more = _embedded(self.embedder, [*new, query])
        self._fresh = {text: self._fresh.get(text) for text in fresh} | dict(zip(new, made, strict=False))
        both = [*rows, *(self._fresh[text] for text in fresh)]
        if len({len(row) for row in (*both, made[-1])}) > 1:
            raise ModelError(
                ModelFault.SERVER, self.embedder.name, "its vectors are of another length than they were before"
            )
        scores = np.asarray(both) @ made[-1]
        return tuple(int(place) for place in np.argsort(-scores, kind="stable")[:most]), usage + more

    def _of_all(self, texts: Sequence[str]) -> tuple[Any, Usage]:
        if not texts:
            return [], Usage()
        key = hashlib.sha256(json.dumps([self.embedder.name, *texts]).encode()).hexdigest()[:32]
        if self._kept is not None and self._kept[0] == key:
            return self._kept[1], Usage()
        if self.shared is None:
            rows, usage = _embedded(self.embedder, texts)
        else:
            rows, usage = _shared(self.embedder, texts, self.shared / "retrieval", key, self.waiting)
        self._kept = key, rows
        return rows, usage


def _shared(embedder: Embedder, texts: Sequence[str], folder: Path, key: str, waiting: Waiting) -> tuple[Any, Usage]:
    import numpy as np

    subdirectory(folder)
    whole, part = folder / f"{key}.json", folder / f"{key}.part"
    with _locked(folder / f"{key}.lock", waiting):
        if whole.exists():
            entry = json.loads(whole.read_bytes())
            return _unpacked(entry["vectors"]).reshape(entry["texts"], -1), Usage()
        done = _begun(part)
        usage = Usage()
        with writing(part):
            file = part.open("ab")
        with file:
            for batch in _batches(texts[len(done) :]):
                rows, paid = _embedded(embedder, batch)
                usage += paid
                line = {"texts": len(rows), "vectors": _packed(rows)}
                with writing(part):
                    file.write(json.dumps(line).encode() + b"\n")
                    file.flush()
                done += list(rows)
        if len({len(row) for row in done}) > 1:
            part.unlink()
            raise ModelError(ModelFault.SERVER, embedder.name, "its vectors are not all of one length")
        made = np.stack(done)
        replaced(whole, json.dumps({"model": embedder.name, "texts": len(made), "vectors": _packed(made)}))
        part.unlink()
        return made, usage


def _begun(part: Path) -> list[Any]:
    """The whole lines that somebody left; a torn one is cut off."""
    if not part.exists():
        return []
    data = part.read_bytes()
    whole = data[: data.rfind(b"\n") + 1]
    os.truncate(part, len(whole))
    entries = [json.loads(line) for line in whole.splitlines()]
    return [row for entry in entries for row in _unpacked(entry["vectors"]).reshape(entry["texts"], -1)]


def _embedded(embedder: Embedder, texts: Sequence[str]) -> tuple[Any, Usage]:
    """A row of length 1 per text."""
    import numpy as np

    rows: list[Any] = []
    usage = Usage()
    for batch in _batches(texts):
        made = embedder.embed([cut(text, MAX_TEXT) for text in batch])
        usage += made.usage
        rows += [np.asarray(vector, dtype="<f4") for vector in made.vectors]
    return [row / max(float(np.linalg.norm(row)), 1e-12) for row in rows], usage


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for text in texts:
        length = min(len(text), MAX_TEXT)
        if batch and (len(batch) == MAX_BATCH or size + length > MAX_CHARACTERS):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += length
    if batch:
        yield batch


def _packed(rows: Any) -> str:
    import numpy as np

    return base64.b64encode(np.asarray(rows, dtype="<f4").tobytes()).decode()


def _unpacked(text: str) -> Any:
    import numpy as np

    return np.frombuffer(base64.b64decode(text), dtype="<f4")


@contextmanager
def _locked(path: Path, waiting: Waiting) -> Iterator[None]:
    """The lock goes with the process that holds it, however that ends."""
    with writing(path):
        lock = locks.open_lock(path)
    with locks.locked(lock, waiting=waiting("the vectors of the repository, which another worker asks for")):
        yield
