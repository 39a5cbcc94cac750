"""The fingerprint of a set of tasks: one short text that two runs share if they played the same tasks with the same files."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable


def task_set(digests: Iterable[tuple[str, str]]) -> str:
    """`1a2b3c4d (15 tasks)`: a hash of ids and digests of tasks, with their number; "" if no digest is known.

    Tasks without a digest, whose files could not be read, are left out. The order, and how often a task was played, do not matter.
    """
    known = sorted({(task, digest) for task, digest in digests if digest})
    if not known:
        return ""
    text = "".join(f"{len(task)} {task} {digest}\n" for task, digest in known)
    count = len({task for task, _ in known})
    fingerprint = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"{fingerprint} ({count} task{'s' * (count > 1)})"
