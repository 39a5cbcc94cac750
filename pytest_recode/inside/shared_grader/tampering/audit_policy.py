"""Decides whether an audit event is a finding: returns its text, or "".

Runs in the shared judge, in one process with the candidate. Called from an audit hook. Must not call a method of a
candidate's value and must not raise an exception for an event that it does not know.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import re
import types
from collections.abc import Callable, Iterable
from typing import Any

_FRAMES = "inspects stack frames"
_CHANGES = "changes code that the judge relies on"

_FRAME_EVENTS = ("sys._getframe", "sys._current_frames", "sys._current_exceptions")
_HOOK_EVENTS = ("sys.settrace", "sys.setprofile", "sys.addaudithook", "sys.monitoring.register_callback")
_MEMORY_EVENTS = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
_BY_MODULE = ("os.fork", "os.exec", "os.posix_spawn", "subprocess.Popen")  # by subprocess, os or pty
_PROCESS_EVENTS = (*_BY_MODULE, "os.forkpty", "os.system", "os.spawn", "pty.spawn")
_CODE_EVENTS = ("exec", "compile", "code.__new__", "function.__new__", "marshal.loads")
REASONS = {
    **dict.fromkeys(_FRAME_EVENTS, _FRAMES),
    **dict.fromkeys(_HOOK_EVENTS, "runs code inside the judge"),
    **dict.fromkeys(_MEMORY_EVENTS, "reads the judge's memory"),
    **dict.fromkeys(_PROCESS_EVENTS, "starts processes"),
    **dict.fromkeys(_CODE_EVENTS, "runs code that cannot be checked"),
    **dict.fromkeys(("os.kill", "os.killpg", "signal.pthread_kill"), "can end the judge's process"),
    "os.chdir": "changes the judge's working directory",
}
_MOVE_EVENTS = ("os.rename", "os.link", "os.symlink")
_ATTRIBUTE_EVENTS = ("object.__getattr__", "object.__setattr__", "object.__delattr__")
CHECKED_EVENTS = (*_ATTRIBUTE_EVENTS, "import", "open", *_MOVE_EVENTS)
_CODE_FILES = (".py", ".pyc", ".pth", ".so")
_FRAMES_OF = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_code"}
_INNER = {"__code__", "__defaults__", "__kwdefaults__"}
_PRIVATE = re.compile(
    r"/proc/(self|thread-self|\d+)/(task/\d+/)?(mem|maps|fd|root|cwd|environ|exe|pagemap|map_files)|/dev/(fd|mem)"
)
_LOGGING = "/logging/__init__.py"
_FRAME_CARRIERS = ("/inspect.py", f"{_LOGGING}:currentframe", f"{_LOGGING}:<lambda>", "/traceback.py:walk_stack")
_PATHLIB = ("/pathlib.py", "/pathlib/_local.py", "/pathlib/_abc.py", "/pathlib/__init__.py")
CARRIERS = {
    **dict.fromkeys(_FRAME_EVENTS, _FRAME_CARRIERS),
    **dict.fromkeys(_BY_MODULE, ("/subprocess.py", "/os.py", "/pty.py")),
    **dict.fromkeys(("open", *_MOVE_EVENTS), (*_PATHLIB, "/os.py", "/io.py", "/codecs.py", "/shutil.py")),
    "import": ("importlib/__init__.py", "importlib._bootstrap>", "importlib._bootstrap_external>"),
    "kernels": ("/torch/library.py", "code_snapshot>"),
}
"""Code that acts for its caller, by event: files, or one function of a file."""


IsCandidateFile = Callable[[str], bool]
"""Whether the code of a file is the candidate's."""


def exact(value: Any) -> Any:
    """The plain value of a string, bytes or int whose class may be the candidate's, without calling its methods."""
    kind = type(value)
    if kind is not str and issubclass(kind, str):
        return str.__str__(value)
    if kind is not bytes and issubclass(kind, bytes):
        return bytes.__getitem__(value, slice(None))
    if kind is not int and issubclass(kind, int):
        return int.__int__(value)
    return value


def event_finding(
    event: str,
    arguments: tuple[Any, ...],
    hidden: Iterable[str],
    is_candidate: IsCandidateFile,
    repository_paths: Iterable[str] = (),
) -> str:
    """The finding for an event of `REASONS`, of `CHECKED_EVENTS` or of ctypes, with its arguments, or "".

    `repository_paths`: files that must not be moved.
    """
    if event in REASONS:
        return f"{event} {REASONS[event]}"
    if event.startswith("ctypes."):
        return "ctypes bypasses Python's object model"
    if event.startswith("object."):
        return _attribute_finding(event, arguments, is_candidate)
    if event == "import":
        name = str(arguments[0])
        return f"import of {name}, a module that only the tests may use" if name in hidden else ""
    return _open_finding(arguments) if event == "open" else _move_finding(arguments, repository_paths)


def _attribute_finding(event: str, arguments: tuple[Any, ...], is_candidate: IsCandidateFile) -> str:
    holder, name = arguments[0], arguments[1]
    if name in _FRAMES_OF:
        return f"{name} {_FRAMES}"
    if event == "object.__getattr__" and name != "__kwdefaults__":
        return ""
    if (
        name in _INNER
        and issubclass(type(holder), types.FunctionType)
        and not is_candidate(holder.__code__.co_filename)
    ):
        return f"{name} of {holder.__name__} {_CHANGES}"
    if name == "__class__" and issubclass(type(holder), types.ModuleType):
        return f"__class__ of {holder.__name__} {_CHANGES}"
    return ""


def _open_finding(arguments: tuple[Any, ...]) -> str:
    path, mode = arguments[0], str(arguments[1] or "")
    if isinstance(path, int):
        return "open() of a descriptor can write to the judge's files" if path in (3, 4) else ""
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str):
        return ""
    if _PRIVATE.match(os.path.normpath(path)):
        return f"open() of {os.path.normpath(path)} reaches the judge's files"
    if path.endswith(_CODE_FILES) and set(mode) & set("wax+"):
        return f"open() writes code ({os.path.basename(path)}), which cannot be checked"
    return ""


def _move_finding(arguments: tuple[Any, ...], repository_paths: Iterable[str]) -> str:
    source, target = map(_path, arguments[:2])
    whole = os.path.join(os.path.realpath(os.path.dirname(source)), os.path.basename(os.path.normpath(source)))
    by_descriptor = any(type(descriptor) is int and descriptor >= 0 for descriptor in arguments[2:])
    if source and (by_descriptor or any(f"{path}/".startswith(f"{whole}/") for path in repository_paths)):
        return f"{os.path.basename(whole)}, which is not the candidate's, is moved"
    return f"{os.path.basename(target)} is code that cannot be checked" if target.endswith(_CODE_FILES) else ""


def _path(argument: Any) -> str:
    if isinstance(argument, (str, bytes)):
        return os.fsdecode(argument)
    library = type(argument).__module__.partition(".")[0] in ("pathlib", "posix", "os")
    return os.fsdecode(os.fspath(argument)) if library and hasattr(argument, "__fspath__") else ""
