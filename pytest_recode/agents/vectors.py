"""Vectors of a repository's definitions: made once per repository and embedding model, for all workers of a run.

`DIR/retrieval/<digest>.json` is written once, whole. While it is made, its maker holds `<digest>.lock` and appends what it has paid for
to `<digest>.part`, a batch a line: one that is killed leaves both to the next.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_recode.agents import Waiting
from pytest_recode.agents.prompt_texts import cut
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.models import Embedder, Usage
from pytest_recode.records.run_files import LOCAL, RunFiles

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
    files: RunFiles = LOCAL
    _unchanged: tuple[str, Any] | None = field(default=None, repr=False)
    _fresh: dict[str, Any] = field(default_factory=dict, repr=False)

    def nearest(
        self, query: str, unchanged: Sequence[str], fresh: Sequence[str], most: int
    ) -> tuple[tuple[int, ...], Usage]:
        """The places of the texts that are nearest to `query`, best first, in `unchanged` followed by `fresh`, and the cost.

        Raises what `Embedder.embed` raises.
        """
        import numpy as np

        rows, usage = self._of_all(unchanged)
        new = [text for text in dict.fromkeys(fresh) if text not in self._fresh]
        vectors, more = _embedded(self.embedder, [*new, query])
        self._fresh = {text: self._fresh.get(text) for text in fresh} | dict(zip(new, vectors, strict=False))
        both = [*rows, *(self._fresh[text] for text in fresh)]
        if len({len(row) for row in (*both, vectors[-1])}) > 1:
            raise ModelError(
                ModelFault.SERVER, self.embedder.name, "its vectors are of another length than they were before"
            )
        scores = np.asarray(both) @ vectors[-1]
        return tuple(int(place) for place in np.argsort(-scores, kind="stable")[:most]), usage + more

    def _of_all(self, texts: Sequence[str]) -> tuple[Any, Usage]:
        if not texts:
            return [], Usage()
        key = hashlib.sha256(json.dumps([self.embedder.name, *texts]).encode()).hexdigest()[:32]
        if self._unchanged is not None and self._unchanged[0] == key:
            return self._unchanged[1], Usage()
        if self.shared is None:
            rows, usage = _embedded(self.embedder, texts)
        else:
            rows, usage = _shared(self.embedder, texts, self.files, self.shared / "retrieval" / key, self.waiting)
        self._unchanged = key, rows
        return rows, usage


def _shared(
    embedder: Embedder, texts: Sequence[str], files: RunFiles, place: Path, waiting: Waiting
) -> tuple[Any, Usage]:
    """`place`: the path of the vectors' files, without a suffix."""
    import numpy as np

    whole, part = (place.with_suffix(suffix) for suffix in (".json", ".part"))
    wait = waiting("the vectors of the repository, which another worker asks for")
    with files.locked(place.with_suffix(".lock"), wait):
        with suppress(FileNotFoundError):
            entry = json.loads(files.read(whole))
            return _rows(entry), Usage()
        lines = files.lines(part)
        try:
            done = [row for line in files.read(part).splitlines() for row in _rows(json.loads(line))]
            usage = Usage()
            for batch in _batches(texts[len(done) :]):
                rows, paid = _embedded(embedder, batch)
                usage += paid
                lines.append({"texts": len(rows), "vectors": _packed(rows)})
                done += list(rows)
        finally:
            lines.close()
        if len({len(row) for row in done}) > 1:
            files.remove(part)
            raise ModelError(ModelFault.SERVER, embedder.name, "its vectors are not all of one length")
        vectors = np.stack(done)
        files.replace(whole, json.dumps({"model": embedder.name, "texts": len(vectors), "vectors": _packed(vectors)}))
        files.remove(part)
        return vectors, usage


def _rows(entry: Any) -> Any:
    return _unpacked(entry["vectors"]).reshape(entry["texts"], -1)


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
