"""Where a sandbox shows a directory or file of the host, which is not always under its own path: an image may have a directory above it that
nobody may enter, such as /root.

Runs in the workspace process, and on the host, which mounts the paths.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

ROOT = "/opt/pytest-recode"


def places(paths: Sequence[str]) -> dict[str, str]:
    """The place of each path in a sandbox that mounts them elsewhere."""
    return {path: f"{ROOT}/{number}" for number, path in enumerate(paths)}


def found(paths: Sequence[str]) -> list[str]:
    """The paths under which they are seen in this sandbox."""
    return [place if os.path.exists(place) else path for path, place in places(paths).items()]
