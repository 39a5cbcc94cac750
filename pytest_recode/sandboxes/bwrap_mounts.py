"""The files of the host that a bubblewrap sandbox shows, as options of `bwrap`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_recode.faults import UserError
from pytest_recode.sandboxes.interpreters import Interpreter

_SYSTEM = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")))
_ETC = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "nsswitch.conf", "mime.types", "magic")
_PARTS = ("bin", "lib", "lib32", "lib64", "libexec", "include", "share", "pyvenv.cfg", "conda-meta")
_HIDDEN = ("/usr/src", "/usr/local/src")
"""Source directories: no program needs them, and Python images often contain a user's project there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MountOptions:
    """Options of bwrap. `parts`: the paths, of the interpreter and of other directories, that are mounted individually."""

    options: tuple[str, ...]
    parts: tuple[Path, ...]


def view(python: Interpreter, hide: Sequence[str], show: Sequence[str] = ()) -> MountOptions:
    """Mount read-only only what the interpreter and its packages need, and the directories to `show`: no home directory, no project, no checkout.

    A directory in `hide` that is below a mounted one is covered by an empty directory; parts of the interpreter in it are mounted
    again. Raises `UserError` if hiding a directory would hide a file that the interpreter needs.
    """
    shown: dict[
        Path, bool
    ] = {}  # path of a mount -> whether it shows files (True) or covers them (False); outermost first
    options: list[str] = []
    covers: list[Path] = []
    bound: list[Path] = []
    for path in _SYSTEM:
        if path.is_symlink():
            options += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            options += ["--ro-bind", str(path), str(path)]
            shown[path] = True
    for name in _ETC:
        options += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
    parts = [*_interpreter_parts(python), *map(Path, show)]
    hidden = {path for path in (Path(each).resolve() for each in (*_HIDDEN, *hide)) if path.is_dir()}
    for path in sorted({*parts, *hidden}, key=lambda path: (len(path.parts), path)):
        above = _seen(path, shown)
        if path in hidden and (
            path in parts or any(system.is_relative_to(path) for system in shown if system in _SYSTEM)
        ):
            raise _cannot_hide(path, python)
        if path in hidden and above:
            options += ["--tmpfs", str(path)]
            covers.append(path)
            shown[path] = False
        elif path not in hidden and not above:
            options += [*_parents(path, shown), "--ro-bind", str(path), str(path)]
            bound.append(path)
            shown[path] = True
    for needed in (python.executable, *python.libraries):
        if needed.exists() and _seen(needed.resolve(), shown) is False:
            raise _cannot_hide(_above(needed.resolve(), shown), python)
    links: dict[Path, str] = {}
    for path in (python.executable, python.prefix, python.base_prefix):
        links.update({link: target for link, target in _links(path) if not _seen(link, shown)})
    for link, target in links.items():
        if link not in _SYSTEM:
            options += [*_parents(link, shown), "--symlink", target, str(link)]
    for path in covers:
        options += ["--remount-ro", str(path)]
    return MountOptions(options=tuple(options), parts=tuple(bound))


def _cannot_hide(path: Path | None, python: Interpreter) -> UserError:
    return UserError(
        f"{path}: contains tasks or records that must be hidden in a sandbox, and also files that {python.executable} needs,"
        " so bubblewrap cannot hide it; move the tasks (or --recode-out) to a directory of their own,"
        " or use --recode-sandbox=docker"
    )


def _above(path: Path, shown: dict[Path, bool]) -> Path | None:
    """The innermost mount that contains `path`."""
    return next((at for at in (path, *path.parents) if at in shown), None)


def _seen(path: Path, shown: dict[Path, bool]) -> bool | None:
    """True if `path` is shown, False if it is covered, None if it is on no mount."""
    above = _above(path, shown)
    return None if above is None else shown[above]


def _parents(path: Path, shown: dict[Path, bool]) -> list[str]:
    """Options that create the parent directories of `path`. bwrap itself would create them readable only for root."""
    above = [parent for parent in reversed(path.parents) if parent != Path("/") and not _seen(parent, shown)]
    return [option for parent in above if parent not in shown for option in ("--dir", str(parent))]


def _interpreter_parts(python: Interpreter) -> list[Path]:
    """The required directories of the interpreter's prefixes. A prefix may also contain other files, such as a project."""
    directories: list[Path] = []
    for prefix in dict.fromkeys([python.base_prefix.resolve(), python.prefix.resolve()]):
        parts = [prefix / name for name in _PARTS]
        directories += [part for part in parts if part.exists() and not part.is_symlink()]
        directories += [part.resolve() for part in parts if part.is_symlink() and part.exists()]
    return list(dict.fromkeys(directories))


def _links(path: Path) -> Iterator[tuple[Path, str]]:
    """Every symbolic link that the kernel follows to reach `path`, with its target as stored."""
    here = Path("/")
    parts = list(path.absolute().parts[1:])
    for _ in range(400):
        if not parts:
            return
        part = parts.pop(0)
        if part == "..":
            here = here.parent
            continue
        here = here / part
        if here.is_symlink():
            target = here.readlink()
            yield here, str(target)
            here = Path("/") if target.is_absolute() else here.parent
            parts = [*(part for part in target.parts if part != "/"), *parts]
