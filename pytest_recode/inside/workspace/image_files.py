"""The files that an image has in its working directory, over which a container has an empty file system.

Runs in the workspace and in the verifier, whose first step is `unpack`. `sandboxes/images.py` makes the copy when it prepares the image.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import shutil
import stat

PRISTINE = "/var/lib/pytest-recode/workdir"
"""Where a prepared image has a copy of them."""


UNPACK_SECONDS = 120.0


def unpack() -> None:
    """Copy them to the working directory, which is empty, with their modes and links. Raises `OSError`, also for a disk that is too small."""
    try:
        shutil.copytree(PRISTINE, ".", symlinks=True, dirs_exist_ok=True)
    except shutil.Error as error:  # of several files
        raise OSError(error.args[0][0][2]) from None
    for directory, _, names in os.walk("."):
        for path in (directory, *(os.path.join(directory, name) for name in names)):
            mode = os.lstat(path).st_mode
            if not stat.S_ISLNK(mode):  # what only its owner could write: that is this user now
                os.chmod(path, stat.S_IMODE(mode) | stat.S_IWUSR)
