"""Names that a candidate in the judge's process has no need for, each with the reason.

Runs in the shared judge, in one process with the candidate. `static_checks.py` applies the rules to the source,
`audit_monitor.py` and `audit_policy.py` at run time. Must not contain code: data only.

Stdlib only, Python 3.9+.
"""

from __future__ import annotations

FRAMES = "looks at frames"
JUDGE = "touches what judges it"
CHANGES = "changes what judges it"
LOOKS = "looks for what judges it"
ENDS = "ends its judge"
STARTS = "starts processes"
FILES = "writes to its judge's files"
MEMORY = "reads the memory of its judge"
IMPORTED = "changes how modules are imported"
CODE = "runs code that cannot be read here"
LATER = "acts after its call"
BELOW = "reaches below Python"

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
    "_signal": "interrupts its judge",
    "posix": "reaches the system by another name",
}
"""By the first part of a module's name."""
AGREEING = "test.support"
"""Python's own, with objects that equal anything; a repository may have a `test` of its own."""

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
    **dict.fromkeys(("settrace", "setprofile", "addaudithook", "_settraceallthreads"), "runs code in its judge"),
    **dict.fromkeys(("__subclasses__", "__builtins__", "getattr_static"), LOOKS),
    **dict.fromkeys(("_exit", "_Exit", "raise_signal", "pthread_kill"), ENDS),
    **dict.fromkeys(("meta_path", "path_hooks", "path_importer_cache"), IMPORTED),
    **dict.fromkeys(("excepthook", "unraisablehook"), CHANGES),
    **dict.fromkeys(("get_objects", "get_referrers", "get_referents"), MEMORY),
    **dict.fromkeys(
        ("__array_function__", "__array_ufunc__", "__torch_function__"), "answers for itself what is computed of it"
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
"""By name alone: they mean this of whatever they are taken."""

OF_MODULE = {
    ("sys", "modules"): LOOKS,
    **{("os", name): "moves its judge elsewhere" for name in ("chdir", "fchdir", "chroot")},
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
        ("signal", name): "interrupts its judge" for name in ("signal", "setitimer", "alarm", "sigwait", "siginterrupt")
    },
    ("threading", "Timer"): LATER,
    **{("importlib", name): IMPORTED for name in ("reload", "invalidate_caches", "abc", "machinery", "_bootstrap")},
    **{("inspect", name): FRAMES for name in ("stack", "trace", "currentframe", "getgeneratorlocals", "getframeinfo")},
}

HELD = {"sys", "os", "gc", "signal", "builtins", "importlib", "inspect"}
"""Modules to take something from, by name, and never to be handed about whole."""

CALLS = {
    **dict.fromkeys(("exec", "eval", "compile"), CODE),
    "__import__": "imports what it was not given",
}

HOOKS = {"warnings", "logging", "matplotlib"}
"""Modules that are told by an assignment what to call, and whose results nobody judges."""

COMPARISONS = {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"}
ANSWERS = {*COMPARISONS, "__contains__"}
OVERRIDES = {"__array_function__", "__array_ufunc__", "__torch_function__", "__torch_dispatch__"}
"""Methods by which a class answers in the place of numpy's and torch's own functions."""

READS = {"all", "any", "ravel", "item", "__bool__", "allclose", "equal", "isclose"}
"""By which an array or a tensor says what a comparison of it came to."""

DIFFERENCES = {"__sub__", "__rsub__"}
"""What is compared by a tolerance is subtracted."""
POINTERS = {"__array_interface__", "__array_struct__"}
"""By which an object says where in memory an array is to be read."""
KERNELS = {"Library", "impl", "register_kernel", "register_fake", "impl_abstract"}
"""By which torch is given other functions in the place of its own, the namespaces of which are:"""
NAMESPACES = ("aten", "prims", "torchvision", "quantized")

DATA = {
    "float",
    "int",
    "complex",
    "str",
    "bytes",
    "list",
    "tuple",
    "dict",
    "set",
    "ndarray",
    "Tensor",
    "Parameter",
    "generic",
}
"""What tests compare. A class that is one of them and compares as it likes is no honest answer."""

JUDGES = {
    *("unittest", "torch", "numpy", "np", "math", "builtins", "testing", "pd", "pandas", "jnp", "operator", "pytest"),
    *("jax", "scipy"),
}
COMPARING = {
    *("allclose", "isclose", "equal", "array_equal", "assert_close", "assert_allclose", "assert_array_equal", "all"),
    *(
        "assert_array_almost_equal",
        "assert_equal",
        "assert_almost_equal",
        "assert_array_less",
        "any",
        "abs",
        "eq",
        "ne",
    ),
    *("lt", "gt", "le", "ge", "max", "min", "sum", "mean", "norm", "isnan", "isfinite", "isinf", "item", "tolist"),
    *("numpy", "shape", "size", "dtype", "TestCase", "assert_array_compare"),
}
