"""Loader that installs a program's modules from standard input: the code of `python -c` in every sandbox.

Runs in the first Python process of a sandbox. Started by the host (`sandboxes/root.py`, `sandboxes/containers.py`).
Must not read beyond its message: what follows on standard input belongs to the program.

Standard input starts with eight bytes of length and a JSON object: `modules` (name and source, in the order of
import), `main` (the module whose `run` is called), `setup` (the argument of `run`), and `compiled` (bytecode by
module name, for interpreters whose magic number is `magic`; others compile the source).
"""

import base64
import json
import marshal
import os
import sys
from importlib.util import MAGIC_NUMBER
from types import ModuleType

compiled: "dict[str, str]" = {}


def read_exactly(fd: int, size: int) -> bytes:
    parts = []
    while size:
        part = os.read(fd, min(size, 1 << 20))
        if not part:
            raise SystemExit(3)  # the host has ended
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def package(name: str) -> ModuleType:
    """The package `name`, created if it does not exist. It has modules and no code of its own."""
    if name not in sys.modules:
        module = ModuleType(name)
        module.__path__ = []
        module.__package__ = name
        sys.modules[name] = module
        parent, _, last = name.rpartition(".")
        if parent:
            setattr(package(parent), last, module)
    return sys.modules[name]


def install(name: str, source: str) -> ModuleType:
    """Import a module from its source, with the packages above it, so that its relative imports work.

    `linecache` learns the source, so that tracebacks can quote it.
    """
    import linecache

    filename = f"<{name}>"
    module = ModuleType(name)
    module.__file__ = filename
    parent, _, last = name.rpartition(".")
    if parent:
        module.__package__ = parent
        setattr(package(parent), last, module)
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    sys.modules[name] = module
    if name in compiled:
        code = marshal.loads(base64.b64decode(compiled[name]))
    else:
        code = compile(source, filename, "exec", dont_inherit=True)
    exec(code, module.__dict__)
    return module


if __name__ == "__main__":
    # `-c` puts the working directory first; `-P` and `-I` are not used: one is too new, one ignores PYTHONHASHSEED
    sys.path[:] = [path for path in sys.path if path not in ("", ".")]
    work = json.loads(read_exactly(0, int.from_bytes(read_exactly(0, 8), "big")))
    if bytes.fromhex(work["magic"]) == MAGIC_NUMBER:
        compiled.update(work["compiled"])
    for name, source in work["modules"]:
        install(name, source)
    sys.modules[work["main"]].run(work["setup"], install)
