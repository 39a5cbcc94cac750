"""The versions of Python and of the libraries that a grader has loaded, which become part of the verdict.

Runs in the graders' processes, before they have seen an answer of the candidate's. Called once the tests are collected. Must not import anything
for it: what is not loaded has no part in the verdict.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import platform
import sys

_LONGEST = 100  # characters of a version
_OF_PYTEST = ("_pytest", "exceptiongroup", "iniconfig", "packaging", "pluggy", "pygments", "tomli")
"""What pytest loads for itself: its own version stands for them."""


def loaded_versions() -> dict[str, str]:
    """The version of Python, as "python", and of each installed library that is loaded and states its own."""
    versions = {"python": platform.python_version()}
    for name, module in sorted(sys.modules.items()):
        if "." in name or name in _OF_PYTEST or not _is_installed(getattr(module, "__file__", None)):
            continue
        version = vars(module).get("__version__")  # not `getattr`, which a module may answer with an import
        if isinstance(version, str) and 0 < len(version) <= _LONGEST:
            versions[name] = str(version)
    return versions


def _is_installed(file: object) -> bool:
    """Whether this is a file of an installed library: modules of Python have versions, too, and so may the repository's."""
    return type(file) is str and ("site-packages" in file or "dist-packages" in file)
