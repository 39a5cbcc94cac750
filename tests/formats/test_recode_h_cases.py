"""Which interface a case tests, read from the sources."""

from __future__ import annotations

from textwrap import dedent

import pytest

from pytest_recode.formats.recode_h.cases import NamesOfTestFiles, interfaces

CANONICAL = """\
    import numpy as np

    def loss(x): ...
    def forward(x): ...
    def _hidden(x): ...

    class Model:
        def __init__(self): ...
        def forward(self, x): ...
        def reset(self): ...
    """
NAMES = NamesOfTestFiles(modules=frozenset({"pkg.model", "model", "pkg.canonical", "canonical"}), package="pkg")
SPOKEN = {
    "a name imported": ("from pkg.model import loss\ndef test_it(): loss(1)\n", "loss"),
    "under another name": ("from .model import loss as generated\ndef test_it(): generated(1)\n", "loss"),
    "by the module": ("import pkg.model\ndef test_it(): pkg.model.loss(1)\n", "loss"),
    "by the module's other name": ("from pkg import model as m\ndef test_it(): m.loss(1)\n", "loss"),
    "all names": ("from model import *\ndef test_it(): loss(1)\n", "loss"),
    "by importlib": (
        "import importlib\nm = importlib.import_module('pkg.model')\nLoss = m.loss\ndef test_it(): Loss(1)\n",
        "loss",
    ),
    "by the canonical alone": ("import canonical\ndef test_it(): canonical.loss(1)\n", "loss"),
    "a method before its class": (
        "from model import Model\ndef test_it():\n    m = Model()\n    m.reset()\n",
        "Model.reset",
    ),
    "a method of what setUp made": (
        "from model import Model\nclass TestModel:\n    def setUp(self): self.m = Model()\n"
        "    def test_it(self): self.m.reset()\n",
        "Model.reset",
    ),
    "an object that is called": (
        "from model import *\nfrom canonical import Model as Right\nclass TestModel:\n"
        "    def setUp(self): self.a, self.b = Model(loss), Right(loss)\n    def test_it(self): assert self.a(1) == self.b(1)\n",
        "Model",
    ),
    "what setUp makes, by its name": (
        "from model import *\nclass TestModel:\n    def setUp(self): self.m = Model(loss)\n    def test_it(self): assert self\n",
        "loss",
    ),
    "a class by itself": ("from model import Model, loss\ndef test_it(): assert Model() is not Model()\n", "Model"),
    "the most frequent": ("from model import *\ndef test_it(): loss(loss(forward(1)))\n", "loss"),
    "the one in the test's name": ("from model import *\ndef test_forward(): loss(loss(forward(1)))\n", "forward"),
    "the first of the canonical's": ("from model import *\ndef test_it(): forward(loss(1))\n", "loss"),
    "by a helper": ("from model import *\ndef helper(x): return loss(x)\ndef test_it(): helper(1)\n", "loss"),
    "by a fixture": (
        "import pytest\nfrom model import *\n@pytest.fixture\ndef made(): return forward(1)\ndef test_it(made): assert made\n",
        "forward",
    ),
    "nothing": ("import os\ndef test_it(): assert os\n", ""),
    "no Python": ("def test_it(:\n", ""),
}


@pytest.mark.parametrize("name", SPOKEN)
def test_the_interface_that_a_test_speaks_of(name: str) -> None:
    tests, spoken = SPOKEN[name]
    case = "test_forward" if "def test_forward" in tests else "test_it[1-a]"
    found = interfaces([case], tests.encode(), dedent(CANONICAL).encode(), "pkg.model", NAMES)
    assert found == {case: f"pkg.model.{spoken}" if spoken else "pkg.model"}


def test_a_case_of_a_class_by_both_names() -> None:
    tests = b"from model import *\nclass TestA:\n    def test_it(self): loss(1)\nclass TestB:\n    def test_it(self): forward(1)\n"
    found = interfaces(["TestB::test_it"], tests, dedent(CANONICAL).encode(), "pkg.model", NAMES)
    assert found == {"TestB::test_it": "pkg.model.forward"}
