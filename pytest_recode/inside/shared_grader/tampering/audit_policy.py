"""Decides whether an audit event, or a name built at run time, is a finding: returns its text, or "".

Runs in the shared judge, in one process with the candidate. Called from an audit hook and from the replaced builtins
(`interceptors.py`). Must not call a method of a candidate's value and must not raise an exception for an event that
it does not know.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

import os
import re
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from . import deny_rules

_FRAME_EVENTS = ("sys._getframe", "sys._current_frames", "sys._current_exceptions")
_HOOK_EVENTS = ("sys.settrace", "sys.setprofile", "sys.addaudithook", "sys.monitoring.register_callback")
_MEMORY_EVENTS = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
_PROCESS_EVENTS = (
    "os.fork",
    "os.forkpty",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "subprocess.Popen",
    "pty.spawn",
)
_CODE_EVENTS = ("exec", "compile", "code.__new__", "function.__new__", "marshal.loads")
REASONS = {
    **dict.fromkeys(_FRAME_EVENTS, deny_rules.FRAMES),
    **dict.fromkeys(_HOOK_EVENTS, "runs code inside the judge"),
    **dict.fromkeys(_MEMORY_EVENTS, deny_rules.MEMORY),
    **dict.fromkeys(_PROCESS_EVENTS, deny_rules.STARTS),
    **dict.fromkeys(_CODE_EVENTS, deny_rules.CODE),
    **dict.fromkeys(("os.kill", "os.killpg", "signal.pthread_kill"), deny_rules.ENDS),
    "os.chdir": "changes the judge's working directory",
}
_MOVE_EVENTS = ("os.rename", "os.link", "os.symlink")
CHECKED_EVENTS = (
    *("object.__getattr__", "object.__setattr__", "object.__delattr__", "import", "open", "pickle.find_class"),
    *_MOVE_EVENTS,
)
ANYWHERE_ON_STACK = {"pickle.find_class"}
"""Events in which libraries act for their callers: the candidate acts if it is on the stack at all."""
_CODE_FILES = (".py", ".pyc", ".pth", ".so")
_FRAMES_OF = {"tb_frame", "gi_frame", "cr_frame", "ag_frame", "f_code"}
_INNER = {"__code__", "__defaults__", "__kwdefaults__"}
_PRIVATE = re.compile(
    r"/proc/(self|thread-self|\d+)/(task/\d+/)?(mem|maps|fd|root|cwd|environ|exe|pagemap|map_files)|/dev/(fd|mem)"
)
_UNPICKLED = {"os", "posix", "sys", "subprocess", "importlib", "unittest", "gc", "runpy", "ctypes", "pty", "code"}
_UNPICKLED_BUILTINS = {"eval", "exec", "compile", "__import__", "getattr", "setattr", "open", "globals", "vars"}
CARRIERS = {
    **dict.fromkeys(
        _FRAME_EVENTS,
        (
            "/inspect.py",
            "/logging/__init__.py:currentframe",
            "/logging/__init__.py:<lambda>",
            "/traceback.py:walk_stack",
        ),
    ),
    **dict.fromkeys(
        ("os.posix_spawn", "os.fork", "os.exec", "subprocess.Popen"), ("/subprocess.py", "/os.py", "/pty.py")
    ),
    **dict.fromkeys(
        ("open", *_MOVE_EVENTS),
        (
            "/pathlib.py",
            "/pathlib/_local.py",
            "/pathlib/_abc.py",
            "/pathlib/__init__.py",
            "/os.py",
            "/io.py",
            "/codecs.py",
            "/shutil.py",
        ),
    ),
    "": ("_recode.shared_grader.tampering.interceptors>",),
    "signal": ("/signal.py",),
    "kernel": ("/torch/library.py",),
    "lookup": ("/pkgutil.py", "/logging/config.py"),
    "format": ("/string.py", "/string/__init__.py"),
    "import": (
        "importlib/__init__.py",
        "importlib._bootstrap>",
        "importlib._bootstrap_external>",
        "_recode.shared_grader.tampering.interceptors>",
    ),
    "pickle.find_class": ("/pickle.py",),
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
        return f"ctypes {deny_rules.BELOW}"
    if event.startswith("object."):
        return _attribute_finding(event, arguments, is_candidate)
    if event == "import":
        return import_finding(str(arguments[0]))
    if event == "pickle.find_class":
        return _pickle_finding(str(arguments[0]), str(arguments[1]), hidden)
    return _open_finding(arguments, hidden) if event == "open" else _move_finding(arguments, repository_paths)


def _pickle_finding(module: str, name: str, hidden: Iterable[str]) -> str:
    bad = module.partition(".")[0] in _UNPICKLED or module in hidden
    if bad or (module == "builtins" and name in _UNPICKLED_BUILTINS):
        return f"a pickle of {module}.{name} {deny_rules.CODE}"
    return ""


def _attribute_finding(event: str, arguments: tuple[Any, ...], is_candidate: IsCandidateFile) -> str:
    holder, name = arguments[0], arguments[1]
    if name in _FRAMES_OF:
        return f"{name} {deny_rules.FRAMES}"
    if event == "object.__getattr__" and name != "__kwdefaults__":
        return ""
    if (
        name in _INNER
        and issubclass(type(holder), types.FunctionType)
        and not is_candidate(holder.__code__.co_filename)
    ):
        return f"{name} of {holder.__name__} {deny_rules.CHANGES}"
    if name == "__class__" and issubclass(type(holder), types.ModuleType):
        return f"__class__ of {holder.__name__} {deny_rules.CHANGES}"
    return ""


def import_finding(name: str) -> str:
    """The finding for an import of a module by its absolute name, or ""."""
    top = name.partition(".")[0]
    if name.startswith(deny_rules.EQUALS_ANYTHING):
        return f"import of {deny_rules.EQUALS_ANYTHING} {deny_rules.JUDGE}"
    if top in deny_rules.IMPORTS or top.startswith("_recode"):
        return f"import of {top} {deny_rules.IMPORTS.get(top, deny_rules.CHANGES)}"
    return ""


def lookup_finding(holder: Any, name: Any) -> str:
    """The finding for an attribute whose name was made at run time, or ""."""
    if not isinstance(name, str):
        return ""
    if name in deny_rules.ATTRIBUTES and name not in deny_rules.OVERRIDES:
        return f"{name} {deny_rules.ATTRIBUTES[name]}"
    if name == "__dict__" and (type(holder) is super or holder is types.ModuleType):
        return f"__dict__ of {type(holder).__name__} {deny_rules.LOOKS}"
    if isinstance(holder, types.ModuleType):
        pair = ("os" if holder.__name__ == "posix" else holder.__name__, name)
        if pair in deny_rules.OF_MODULE:
            return f"{'.'.join(pair)} {deny_rules.OF_MODULE[pair]}"
    return ""


def assignment_finding(holder: Any, name: Any, is_candidate: IsCandidateFile, value: Any = None) -> str:
    """The finding for setting an attribute by `setattr`, or for removing it (without `value`), or ""."""
    if name in deny_rules.POINTERS:
        return f"{name} {deny_rules.BELOW}"
    if isinstance(holder, type):
        if name in deny_rules.COMPARISON_METHODS | deny_rules.OVERRIDES:
            return f"{name} set at run time {deny_rules.CHANGES}"
        if holder.__module__.partition(".")[0] in ("unittest", "builtins") and _is_foreign(
            holder.__module__, is_candidate
        ):
            return f"{holder.__qualname__}.{name} set at run time {deny_rules.CHANGES}"
    if isinstance(value, types.FunctionType) and is_candidate(value.__code__.co_filename):
        of = _module_of(holder)
        if of and of.partition(".")[0] not in deny_rules.HOOKS and _is_foreign(of, is_candidate):
            return f"assigning to {name} of an imported module or class {deny_rules.CHANGES}"
    return ""


def _module_of(holder: Any) -> str:
    if isinstance(holder, types.ModuleType):
        return holder.__name__
    return holder.__module__ if isinstance(holder, type) else ""


def _is_foreign(module: str, is_candidate: IsCandidateFile) -> bool:
    found = sys.modules.get(module)
    return found is not None and not is_candidate(getattr(found, "__file__", None) or "")


def _open_finding(arguments: tuple[Any, ...], hidden: Iterable[str]) -> str:
    path, mode = arguments[0], str(arguments[1] or "")
    if isinstance(path, int):
        return f"open() of a descriptor {deny_rules.FILES}" if path in (3, 4) else ""
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    if not isinstance(path, str):
        return ""
    if _PRIVATE.match(os.path.normpath(path)):
        return f"open() of {os.path.normpath(path)} reaches the judge's files"
    name = os.path.basename(path)
    if name.endswith(".py") and not os.path.exists(path) and name[:-3] in {each.rpartition(".")[2] for each in hidden}:
        return f"open() of {name}, a file that only the tests may use"
    if path.endswith(_CODE_FILES) and set(mode) & set("wax+"):
        return f"open() writes code ({os.path.basename(path)}), which cannot be checked"
    return ""


def _move_finding(arguments: tuple[Any, ...], repository_paths: Iterable[str]) -> str:
    source, target = map(_path, arguments[:2])
    whole = os.path.realpath(os.path.dirname(os.path.join(_folder(arguments[2:]), source)))
    whole = os.path.join(whole, os.path.basename(os.path.normpath(source)))
    if source and any(f"{path}/".startswith(f"{whole}/") for path in repository_paths):
        return f"{os.path.basename(whole)}, which is not the candidate's, is moved"
    return f"{os.path.basename(target)} is code that cannot be checked" if target.endswith(_CODE_FILES) else ""


def _path(argument: Any) -> str:
    if isinstance(argument, (str, bytes)):
        return os.fsdecode(argument)
    library = type(argument).__module__.partition(".")[0] in ("pathlib", "posix", "os")
    return os.fsdecode(os.fspath(argument)) if library and hasattr(argument, "__fspath__") else ""


def _folder(descriptors: tuple[Any, ...]) -> str:
    """The directory that the first path of an event is relative to, by its descriptor."""
    descriptor = descriptors[0] if descriptors else -1
    if type(descriptor) is not int or descriptor < 0:
        return os.getcwd()
    try:
        return os.readlink(f"/proc/self/fd/{descriptor}")
    except OSError:
        return os.getcwd()
