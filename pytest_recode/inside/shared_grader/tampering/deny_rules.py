"""Names that a candidate in the judge's process has no need for, each with the reason.

Runs in the shared judge, in one process with the candidate. `audit_monitor.py` and `audit_policy.py` apply the rules
at run time. Must not contain code: data only.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

FRAMES = "inspects stack frames"
JUDGE = "gives access to the test framework"
CHANGES = "changes code that the judge relies on"
LOOKS = "can reach the judge's objects"
ENDS = "can end the judge's process"
STARTS = "starts processes"
FILES = "can write to the judge's files"
MEMORY = "reads the judge's memory"
IMPORTED = "changes how modules are imported"
CODE = "runs code that cannot be checked"
LATER = "can act after the call has ended"
HIDDEN_MODULE = "a module that only the tests may use"
BELOW = "bypasses Python's object model"

IMPORTS = {
    **dict.fromkeys(("ctypes", "_ctypes", "cffi", "_testcapi", "_testinternalcapi"), BELOW),
    **dict.fromkeys(("unittest", "_pytest", "pytest", "doctest", "__main__"), JUDGE),
    **dict.fromkeys(("builtins", "_recode"), CHANGES),
    **dict.fromkeys(("subprocess", "pty", "_posixsubprocess"), STARTS),
    "_thread": LATER,
    **dict.fromkeys(("faulthandler", "bdb"), FRAMES),
    **dict.fromkeys(("linecache", "tracemalloc"), MEMORY),
    **dict.fromkeys(("_imp", "runpy", "zipimport", "_frozen_importlib", "_frozen_importlib_external"), IMPORTED),
    **dict.fromkeys(("code", "codeop", "cProfile", "profile", "trace", "py_compile", "compileall", "pdb"), CODE),
    "marshal": CODE,
    "_signal": "can interrupt the judge",
    "posix": "gives access to the system by another name",
}
"""By the first part of a module's name."""
EQUALS_ANYTHING = "test.support"
"""A package of Python's with objects that equal anything; a repository may have its own package `test`."""

ATTRIBUTES = {
    **dict.fromkeys(
        (
            *("_getframe", "_getframemodulename", "_current_frames", "_current_exceptions", "currentframe", "f_back"),
            *("f_globals", "f_locals", "f_builtins", "f_code", "tb_frame", "gi_frame", "cr_frame", "ag_frame"),
            *("__globals__", "__closure__", "cell_contents", "getouterframes", "getinnerframes", "getclosurevars"),
            *("walk_stack", "walk_tb"),
        ),
        FRAMES,
    ),
    **dict.fromkeys(("settrace", "setprofile", "addaudithook", "_settraceallthreads"), "runs code inside the judge"),
    **dict.fromkeys(("__subclasses__", "__builtins__", "getattr_static"), LOOKS),
    **dict.fromkeys(("_exit", "_Exit", "raise_signal", "pthread_kill"), ENDS),
    **dict.fromkeys(("meta_path", "path_hooks", "path_importer_cache"), IMPORTED),
    **dict.fromkeys(("excepthook", "unraisablehook"), CHANGES),
    **dict.fromkeys(("get_objects", "get_referrers", "get_referents"), MEMORY),
    **dict.fromkeys(
        ("__array_function__", "__array_ufunc__", "__torch_function__"), "overrides what library functions compute"
    ),
    "pythonapi": BELOW,
    **dict.fromkeys(
        (
            *("register_module_forward_hook", "register_module_forward_pre_hook", "register_module_backward_hook"),
            *("register_module_full_backward_hook", "register_module_full_backward_pre_hook"),
        ),
        "changes what every module computes, the reference's too",
    ),
}
"""Attributes that mean this on any object."""

OF_MODULE = {
    ("sys", "modules"): LOOKS,
    **{("os", name): "changes the judge's working directory" for name in ("chdir", "fchdir", "chroot")},
    **{("os", name): ENDS for name in ("kill", "killpg", "abort")},
    **{
        ("os", name): STARTS
        for name in (
            *("fork", "forkpty", "system", "popen", "posix_spawn", "posix_spawnp", "startfile"),
            *("execl", "execle", "execlp", "execlpe", "execv", "execve", "execvp", "execvpe"),
            *("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp", "spawnvpe"),
        )
    },
    **{("os", name): FILES for name in ("dup", "dup2", "write", "writev", "pwrite", "sendfile", "closerange")},
    **{
        ("signal", name): "can interrupt the judge"
        for name in ("signal", "setitimer", "alarm", "sigwait", "siginterrupt")
    },
    ("threading", "Timer"): LATER,
    **{("importlib", name): IMPORTED for name in ("reload", "invalidate_caches", "abc", "machinery", "_bootstrap")},
    **{("inspect", name): FRAMES for name in ("stack", "trace", "currentframe", "getgeneratorlocals", "getframeinfo")},
}

HOOKS = {"warnings", "logging", "matplotlib"}
"""Modules that are configured by assigning functions, and whose results no test compares."""

RICH_COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
COMPARISON_METHODS = {*RICH_COMPARISONS, "__contains__"}
"""Methods that decide an operator which a test asserts: `==`, `<`, `in`."""
OVERRIDES = {"__array_function__", "__array_ufunc__", "__torch_function__", "__torch_dispatch__"}
"""Methods by which a class replaces numpy's and torch's own functions."""

POINTERS = {"__array_interface__", "__array_struct__"}
"""Attributes by which an object gives the memory address of an array."""

NAMESPACES = ("aten", "prims", "torchvision", "quantized")
"""Namespaces of torch's own operators."""
