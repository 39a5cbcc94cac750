"""Interpreters of this machine, and the environment variables of programs in a sandbox."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pytest_recode.faults import UserError, machine_error
from pytest_recode.task import Environment

OLDEST = (3, 9)  # the oldest Python that the modules in inside/ support

FIXED = {
    "LANG": "C.UTF-8",
    "TZ": "UTC",
    "PYTHONHASHSEED": "0",
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
}

_FACTS = """\
import json, os, site, sys
needs = [os.path.dirname(os.__file__), *site.getsitepackages()]
print(json.dumps([sys.executable, sys.prefix, sys.base_prefix, needs, list(sys.version_info[:2]), sys.path]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interpreter:
    """A Python on this machine, as it describes itself."""

    executable: Path
    prefix: Path
    base_prefix: Path
    libraries: tuple[Path, ...]  # directories of the standard library and of installed packages
    path: tuple[str, ...]  # sys.path
    version: str  # "3.12"


@cache
def interpreter(python: str) -> Interpreter:
    """Run `python` to find its directories and version. Raises `UserError` if it is missing, too old or not a Python interpreter."""
    advice = "give another with --recode-python=PATH"
    try:
        done = subprocess.run(
            [python, "-I", "-c", _FACTS],
            env={"PATH": os.defpath},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        executable, prefix, base_prefix, needs, version, path = json.loads(done.stdout)
    except FileNotFoundError as exc:
        raise UserError(f"interpreter {python}: no such file; {advice}") from exc
    except subprocess.CalledProcessError as exc:
        raise UserError(f"interpreter {python}: not a working Python (exit status {exc.returncode}); {advice}") from exc
    except (OSError, subprocess.SubprocessError, ValueError) as exc:
        if isinstance(exc, OSError) and (lacking := machine_error(exc, f"interpreter {python}: cannot be started")):
            raise lacking from exc
        raise UserError(f"interpreter {python}: not a working Python ({exc}); {advice}") from exc
    if tuple(version) < OLDEST:
        found, least = (".".join(map(str, numbers)) for numbers in (version, OLDEST))
        raise UserError(f"interpreter {python}: is Python {found}, but {least} or newer is required; {advice}")
    return Interpreter(
        executable=Path(executable),
        prefix=Path(prefix),
        base_prefix=Path(base_prefix),
        libraries=tuple(map(Path, needs)),
        path=tuple(path),
        version=".".join(map(str, version)),
    )


def refuse_images(environment: Environment, sandbox: str) -> None:
    """Raise `UserError` for an environment that only an image can be. `sandbox`: the name of a kind that runs programs on this machine."""
    if environment.workdir:
        name = environment.image or environment.dockerfile
        raise UserError(
            f"the image of {name} has the task's files and programs, and --recode-sandbox={sandbox} runs no images: use --recode-sandbox=docker"
        )


def environment_variables(python: Interpreter, home: str) -> dict[str, str]:
    """All environment variables of a program. None are inherited, so they are the same on every machine."""
    bins = [str(python.executable.parent), str(python.prefix / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]
    return {"PATH": ":".join(dict.fromkeys(bins)), "HOME": home, **FIXED}
