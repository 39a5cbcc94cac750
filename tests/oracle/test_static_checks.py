"""What the static read of a candidate says, and of what it says nothing."""

from __future__ import annotations

import ast

import pytest

from pytest_recode.inside.shared_grader.tampering import deny_rules, static_checks, static_class_checks
from tests.oracle import shared_attacks, shared_honest

HIDDEN = ["m_ref", "tests.helper"]


def flags(text: str, reference: str = "") -> list[str]:
    return static_checks.flags(text.encode(), reference.encode(), HIDDEN)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("import m_ref", ("line 1: ", "import of m_ref", deny_rules.HIDDEN_MODULE)),
        ("\nfrom tests import helper", ("line 2: ", "import of tests.helper", deny_rules.HIDDEN_MODULE)),
        ("import sys\nsys._getframe(1)", ("line 2: ", "_getframe", deny_rules.FRAMES)),
        ("import sys as s\ns.modules", ("line 2: ", "sys.modules", deny_rules.LOOKS)),
        ("import logging\nlogging.sys.modules", ("line 2: ", "sys.modules", deny_rules.LOOKS)),
        ("from logging import sys\nsys.modules", ("line 2: ", "sys.modules", deny_rules.LOOKS)),
        ("import sys\nf(sys)", ("line 2: ", "module sys", deny_rules.LOOKS)),
        ("import os\nos._exit(0)", ("line 2: ", "_exit", deny_rules.ENDS)),
        ("import ctypes", ("line 1: ", "import of ctypes", deny_rules.BELOW)),
        ("import gc\ngc.get_objects()", ("line 2: ", "get_objects", deny_rules.MEMORY)),
        ("run = exec", ("line 1: ", "exec", deny_rules.CODE)),
        ("import numpy as np\nnp.allclose = f", ("line 2: ", "np.allclose = …", deny_rules.CHANGES)),
        ("import numpy as np\nvars(np.testing)['x'] = f", ("line 2: ", "vars(np.testing)[…] = …", deny_rules.CHANGES)),
        ("import numpy as np\nnp.fft.ifft = lambda x: 0", ("line 2: ", "assigning to ifft", deny_rules.CHANGES)),
        ("from .base import Model\ndef f(self): ...\nModel.go = f", ("line 3: ", "assigning to go", deny_rules.CHANGES)),
        ("import torch\nsetattr(torch, 'equal', f)", ("line 2: ", "setattr() on torch", deny_rules.CHANGES)),
        ("getattr(x, '__glo' + 'bals__')", ("line 1: ", "'__globals__'", "judge")),
        ("from operator import attrgetter\nattrgetter('a.f_back')", ("line 2: ", "attrgetter('a.f_back')", deny_rules.LOOKS)),
        ("match x:\n    case object(__globals__=y): pass", ("line 2: ", "__globals__", deny_rules.FRAMES)),
        ("class A:\n    def __eq__(self, other): return True", ("line 1: ", "A.__eq__", "same for every operand")),
        ("class A:\n    def __eq__(self, other): return self.x", ("line 1: ", "A.__eq__", "same for every operand")),
        ("class A(float):\n    def __eq__(self, other): return other", ("line 1: ", "A.__eq__", "builtin value type")),
        ("class A:\n    __array_ufunc__ = f", ("line 1: ", "A.__array_ufunc__", "library functions")),
        ("class A:\n    def __sub__(self, other): return 0.0", ("line 1: ", "A.__sub__", "same for every operand")),
        ("x.__array_interface__ = {}", ("line 1: ", "__array_interface__", deny_rules.BELOW)),
        ("from signal import *\nsignal(1, f)", ("line 2: ", "signal.signal", deny_rules.OF_MODULE['signal', 'signal'])),
        ("from os import *\n_exit(0)", ("line 2: ", "_exit", deny_rules.ENDS)),
        ("import torch\nl = torch.library.Library('aten', 'IMPL')", ("line 2: ", "Library() of aten", deny_rules.CHANGES)),
        ("@impl('aten::linear', 'CPU')\ndef f(): ...", ("line 1: ", "impl() of aten", deny_rules.CHANGES)),
        ("from torch.nn.modules.module import register_module_forward_hook", ("line 1: ", "register_module_forward_hook", "every module")),
        ("open('/proc/self/mem')", ("line 1: ", "'/proc/self/mem'", "judge's files")),
    ],
)  # fmt: skip
def test_what_has_no_business_in_a_solution(text: str, parts: tuple[str, ...]) -> None:
    assert any(line.startswith(parts[0]) and all(part in line for part in parts) for line in flags(text))
    assert flags(text, text) == []


@pytest.mark.parametrize(
    "text",
    [
        "import sys\nprint('x', file=sys.stderr)\nsys.exit(1)",
        "import os\nos.makedirs(os.path.join('a', 'b'))\nos.close(3)",
        "import gc\ngc.collect()",
        "import torch\ntorch.library.custom_op('mine::linear', f)\ntorch.library.Library('mine', 'DEF')",
        "model.register_forward_hook(f)\nx.__array_interface__['data']",
        "from math import *\nfrom os.path import *\njoin(sqrt(2))",
        "class V:\n    def __sub__(self, other): return V(self.x - other.x)",
        "import inspect\ninspect.signature(f)",
        "import importlib\nimportlib.import_module('scipy')",
        "import threading\nlock = threading.Lock()",
        "import multiprocessing as mp\nmp.cpu_count()",
        "from scipy import signal\nsignal.convolve(a, b)\nf(signal)",
        "def f(eval=True, compile=None):\n    return eval and compile",
        "import torch\nmodel = torch.compile(model)\nmodel.eval()\ntorch.backends.cudnn.benchmark = True",
        "self.shape = x.shape\nself.numpy = 1\nx.size = 2",
        "class A:\n    def __eq__(self, other):\n        return self.x == other.x",
        "class A:\n    def __eq__(self, other):\n        return NotImplemented",
        "class A:\n    def __bool__(self):\n        return False",
        "class A(dict):\n    def __getattr__(self, name):\n        return self[name]",
        "if __name__ == '__main__':\n    main()",
        "f.__code__.co_varnames",
        "globals().get('A')",
        "getattr(torch, name)(getattr(self, f'layer{i}'))",
        "setattr(self, 'weight', w)",
        "for name, module in model.modules():\n    pass",
        "import warnings\nwarnings.formatwarning = lambda *args: ''",
        "from .base import Model\nmodel = Model()\nmodel.hook = lambda x: x\nModel.scale = 3",
        "from .config import settings, SETTINGS\nsettings.hook = SETTINGS.hook = lambda x: x",
        "this is no Python",
    ],
)
def test_what_is_nobodys_business(text: str) -> None:
    assert flags(text) == []


@pytest.mark.parametrize("name", shared_honest.MEAN)
def test_honest_answers(name: str) -> None:
    assert flags("import numpy as np\ndef weighted_mean(values, kind, half_life):\n" + shared_honest.MEAN[name]) == []


def test_one_more_than_the_reference_has_is_one_too_many() -> None:
    one = "import sys\nsys._getframe()\n"
    assert flags(one + "sys._getframe()\n", one) == [f"line 3: _getframe {deny_rules.FRAMES}"]


METHODS = {
    name
    for rules in vars(deny_rules).values()
    if isinstance(rules, set | frozenset)
    for name in rules
    if name.startswith("__") and name.endswith("__")
}


@pytest.mark.parametrize("name", sorted(METHODS - deny_rules.RESULT_READS))
def test_a_finding_at_a_method_counts_once_the_method_is_called(name: str) -> None:
    """Without a mark in the method, the finding would count as soon as the class is defined."""
    source = f"class A:\n    def {name}(self, other): return True"
    analysis = static_checks.analyze(source.encode(), None, [])
    marked = list(static_class_checks.methods_to_mark(analysis.tree.body[0]))
    assert analysis.findings
    for node in analysis.findings[0].nodes:
        assert isinstance(node, ast.ClassDef) or node in marked


def test_most_attacks_can_be_read() -> None:
    """What is left over does it by names that it makes when it is run; each of those is seen then."""
    texts = {
        name: f"import numpy as np\ndef f(values, kind, half_life, count=5):\n{answer}"
        for name, answer in {**shared_attacks.MEAN, **shared_attacks.WEIGHT}.items()
        if name not in {*shared_attacks.HARMLESS, *shared_attacks.TEXTS, *shared_attacks.DISGUISED}
    }
    unread = {name for name, text in texts.items() if not flags(text)}
    assert len(unread) < len(texts) / 3, sorted(unread)


@pytest.mark.parametrize("terms", [1_000, 2_900, 20_000])
def test_a_long_sum_is_read(terms: int) -> None:
    lines = flags("import sys\nsys._getframe()\nx = " + " + ".join(["'a'"] * terms))
    assert lines == [f"line 2: _getframe {deny_rules.FRAMES}"] or (terms == 20_000 and "nested too deeply" in lines[0])


def test_what_cannot_be_told_again_is_told_all_the_same() -> None:
    lines = flags("from operator import attrgetter\nattrgetter(" + "+".join(["a"] * 900) + ")")
    assert [line for line in lines if line.endswith(deny_rules.LOOKS)]


def test_its_own_module_is_no_others() -> None:
    assert flags("import sys\nme = sys.modules[__name__]") == []
    assert flags("import sys\n__name__ = 'm'\nme = sys.modules[__name__]")
    assert flags("import sys\nsys.modules[__name__] = 1")
