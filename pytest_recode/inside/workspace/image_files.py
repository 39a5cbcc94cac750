"""The files that an image has in its working directory, over which a container has an empty file system.

Runs in the workspace and in the verifier, whose first step is `unpack`. `sandboxes/images.py` makes the copy when it prepares the image.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterable

PRISTINE = "/var/lib/pytest-recode/workdir"
"""Where a prepared image has a copy of them."""

OUTSIDE = ".recode-outside"
"""The directory of the working directory that has the files of an answer which are outside of it, by their paths. These are links to it."""


UNPACK_SECONDS = 120.0


def unpack(outside: Iterable[str] = ()) -> None:
    """Copy them to the working directory, which is empty, with their modes and links. Raises `OSError`, also for a disk that is too small.

    `outside`: absolute paths that are links into the working directory. A prepared image has those that are not in a directory which is
    empty in each container; the others are made here. One that the image does not have is an empty directory, unless its name has a dot.
    """
    try:
        shutil.copytree(PRISTINE, ".", symlinks=True, dirs_exist_ok=True)
    except shutil.Error as error:  # of several files
        raise OSError(error.args[0][0][2]) from None
    for directory, _, names in os.walk("."):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode):  # what only its owner could write: that is this user now
                os.chmod(path, stat.S_IMODE(mode) | stat.S_IWUSR)
    for path in outside:
        inside = os.path.join(os.getcwd(), OUTSIDE, path.lstrip("/"))
        if not os.path.lexists(inside):
            os.makedirs(os.path.dirname(inside) if "." in os.path.basename(path) else inside, exist_ok=True)
        if not os.path.lexists(path):
            os.makedirs(os.path.dirname(path), exist_ok=True)
            os.symlink(inside, path)
