"""Libraries that rebind a function of their own around itself, as torch does: nobody's tampering, unless the candidate has a hand in it."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

import pytest_recode
from pytest_recode.oracle.judge import judge
from pytest_recode.oracle.shared import SHARED_UNITTEST
from pytest_recode.sandboxes import Sandbox
from pytest_recode.verdict import Verdict
from tests.oracle.conftest import by_script

BOOTSTRAP = Path(pytest_recode.__file__).parent / "inside/runtime/bootstrap.py"
LIBRARY = {
    "jax/__init__.py": "def grad(f):\n    import jax._compiler\n    return jax._compiler.made(f)\n",
    "jax/numpy/__init__.py": """\
        def sum(x):
            return 0.0 + builtins_sum(x)

        def mean(x):
            return sum(x) / len(x)

        builtins_sum = __builtins__["sum"]
        """,
    "jax/_compiler.py": """\
        import functools
        import jax.numpy

        def made(f):
            @functools.wraps(f)
            def inner(*given):
                return getattr(f, "_compiled", f)(*given)
            return inner

        jax.numpy.sum = made(jax.numpy.sum)
        """,
    "jax/tools.py": """\
        def put(module, name, value):
            setattr(module, name, value)
        """,
}
"""A library of a name that the judge looks after, whose compiler is imported when it is first used."""

JUDGE = """\
import json, runpy, sys

sys.path[:] = [path for path in sys.path if path] + [sys.argv[1]]
install = runpy.run_path(sys.argv[2])["install"]
for name, source in json.load(sys.stdin).items():
    install(name, source)
inside = "_recode.shared_grader"
tampering, snapshots = sys.modules[f"{inside}.tampering_check"], sys.modules[f"{inside}.tampering.code_snapshot"]
import jax.numpy
findings = []
check = tampering.TamperingCheck(snapshots.CodeSnapshot(["jax.numpy"]), ["answer.py"], [], [], findings.append)
sys.path.insert(0, ".")
try:
    import answer
except PermissionError:
    pass
check.close()
print(json.dumps(findings))
"""

REPLACES = {
    "by itself": "def zero(x):\n    return 0.0\njax.numpy.sum = zero\n",
    "around the original": "import functools\njax.numpy.sum = functools.wraps(jax.numpy.sum)(lambda x: 0.0)\n",
    "by what the library calls": "jax.grad(abs)\njax.numpy.sum.__wrapped__._compiled = lambda x: 0.0\n",
    "by a wrapper of the library's that is another's": "import jax._compiler as c\nfrom jax.tools import put\nput(jax.numpy, 'sum', c.made(lambda x: 0.0))\n",
    "before the library wraps it": "import jax.numpy as j\nfor put in [setattr]:\n    put(j, 'sum', lambda x: 0.0)\njax.grad(abs)\n",
    "in the library's wrapper": "import functools\nfunctools.wraps = lambda f: lambda g: lambda x: 0.0\njax.grad(abs)\n",
}


def findings(root: Path, answer: str, script: str = JUDGE) -> list[str]:
    """What the judge says of an answer, beside such a library."""
    for name, text in LIBRARY.items():
        path = root / "lib" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    place = root / "work"
    place.mkdir()
    (place / "answer.py").write_text(f"import jax\nimport jax.numpy\n{answer}")
    ran = subprocess.run(
        [sys.executable, "-I", "-c", script, str(root / "lib"), str(BOOTSTRAP)],
        input=json.dumps(dict(SHARED_UNITTEST.modules)), capture_output=True, text=True, cwd=place, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    found: list[str] = json.loads(ran.stdout)
    return found


def test_what_a_library_puts_around_its_own_function_is_its_own(tmp_path: Path) -> None:
    answer = "before = jax.numpy.sum\njax.grad(abs)\nassert jax.numpy.sum is not before and jax.numpy.sum([1]) == 1.0\n"
    assert findings(tmp_path, answer) == []


@pytest.mark.parametrize("name", REPLACES)
def test_what_a_candidate_puts_there_is_not(tmp_path: Path, name: str) -> None:
    assert findings(tmp_path, REPLACES[name])


# torch itself

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed: pip install torch==2.13.0"
)
SCRIPT = """\
    import unittest
    import torch
    from answer import f
    from answer_ref import f as right

    class TestAnswer(unittest.TestCase):
        def test_f(self):
            x = torch.linspace(0, 1, 5)
            torch.testing.assert_close(f(x), right(x))
            self.assertTrue(torch.allclose(f(x), right(x)))
    """
REFERENCE = "import torch\n\ndef f(x):\n    return 2 * x\n"
TORCH = {
    "an optimizer": """\
        class Descent(torch.optim.Optimizer):
            def __init__(self, parameters):
                super().__init__(parameters, {"lr": 1.0})

            @torch.no_grad()
            def step(self, closure=None):
                for group in self.param_groups:
                    for each in group["params"]:
                        each.add_(each.grad, alpha=-group["lr"])

        def f(x):
            torch.manual_seed(0)
            weight = torch.nn.Parameter(torch.zeros(()))
            for kind in (Descent, torch.optim.AdamW):
                (-weight).backward()
                kind([weight]).step()
                weight.grad = None
            return 2 * x
        """,
    "torch.func": "def f(x):\n    return torch.func.vmap(torch.func.grad(lambda v: v * v))(x)\n",
    "checkpoint": """\
        from torch.utils.checkpoint import checkpoint

        def f(x):
            y = checkpoint(lambda v: 2 * v, x.clone().requires_grad_(), use_reentrant=False)
            y.sum().backward()
            return y.detach()
        """,
    "compile": "@torch.compile(backend='eager')\ndef f(x):\n    return 2 * x\n",
    "an autograd function": """\
        class Double(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return 2 * x

            @staticmethod
            def backward(ctx, grad):
                return 2 * grad

        def f(x):
            torch.autograd.gradcheck(Double.apply, torch.ones(2, dtype=torch.float64, requires_grad=True))
            return Double.apply(x)
        """,
    "a tensor of its own that declines": """\
        class Own(torch.Tensor):
            __torch_function__ = torch._C._disabled_torch_function_impl

        def f(x):
            return torch.as_tensor(2 * x.as_subclass(Own)).as_subclass(torch.Tensor)
        """,
    "settings": """\
        import warnings

        warnings.simplefilter("error")
        torch.use_deterministic_algorithms(True)
        torch.set_num_threads(1)

        def f(x):
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
                return 2 * x
        """,
}
TORCH_ATTACKS = {
    "its own around the original": """\
        import functools

        torch.manual_seed = functools.wraps(torch.manual_seed)(lambda seed: None)
        """,
    "what the wrapper calls": """\
        torch.optim.SGD([torch.zeros(1)])
        import torch._dynamo
        setattr(torch.random.manual_seed, "__dynamo_disable", lambda seed: None)
        """,
    "a kernel of torch's": """\
        import torch.library

        kernels = getattr(torch.library, "Lib" + "rary")("at" + "en", "IMPL")
        kernels.impl("mul.Tensor", lambda one, other: torch.zeros(5), "CPU")
        """,
    "an operator of tensors": """\
        for Tensor in [torch.Tensor]:
            Tensor.__mul__ = Tensor.__rmul__ = lambda self, other: torch.zeros(5)
        """,
    "a wrapper of torch's around its own": "torch.allclose = torch._disable_dynamo(lambda *given: True)\n",
}


def graded(sandbox: Sandbox, answer: str) -> Verdict:
    task, parts = by_script(SCRIPT, REFERENCE, test_seconds=300, memory_mb=8_000)
    return judge(task, parts, {"answer.py": b"import torch\n" + dedent(answer).encode()}, sandbox)


@needs_torch
@pytest.mark.parametrize("name", TORCH)
def test_what_torch_does_to_itself_is_not_held_against_a_candidate(bare: Sandbox, name: str) -> None:
    verdict = graded(bare, TORCH[name])
    assert (verdict.solved, verdict.tampering) == (True, ()), verdict.cases


@needs_torch
@pytest.mark.parametrize("name", TORCH_ATTACKS)
def test_what_a_candidate_does_to_torch_is(bare: Sandbox, name: str) -> None:
    verdict = graded(bare, dedent(TORCH_ATTACKS[name]) + "\n\ndef f(x):\n    return 2 * x\n")
    assert verdict.tampering, verdict.cases
