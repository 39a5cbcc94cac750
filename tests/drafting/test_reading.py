"""What is read from a repository without running it: stubs, modules, findings."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from pytest_recode.drafting.code_repository import closure, files_of, find
from pytest_recode.drafting.findings import hazards
from pytest_recode.drafting.licences import permitted
from pytest_recode.drafting.stubs import stubbed
from tests import repositories


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(x):\n    return x\n", "def f(x):\n    raise NotImplementedError\n"),
        ("def f(x): return x\n", "def f(x):\n    raise NotImplementedError\n"),
        ('def f(x): "Doc."; return x\n', 'def f(x):\n    "Doc."\n    raise NotImplementedError\n'),
        (
            '@fast\ndef f(\n    x: dict[str, int] = {"a": 1},  # a\n) -> "int":\n    """Doc.\n\n    More.\n    """\n    # how\n    return x\n\n\ny = 1\n',
            '@fast\ndef f(\n    x: dict[str, int] = {"a": 1},  # a\n) -> "int":\n    """Doc.\n\n    More.\n    """\n    raise NotImplementedError\n\n\ny = 1\n',
        ),
        (
            "def f(x, key=lambda a: a):  # secret\n\n    # how\n    return x\n",
            "def f(x, key=lambda a: a):\n    raise NotImplementedError\n",
        ),
        ("def f(x):\n\tü = 'ü'; return ü\n", "def f(x):\n\traise NotImplementedError\n"),
    ],
)
def test_a_stub_keeps_signature_and_docstring(source: str, expected: str) -> None:
    assert stubbed(source, ["f"]) == expected
    ast.parse(expected)


def test_several_functions_become_stubs() -> None:
    stubs = stubbed(
        "def f(x):\n    a = x\n    return a\n\n\ndef g(x):\n    return x\n\n\ndef h(x):\n    return f(x)\n", ["h", "f"]
    )
    assert stubs.count("raise NotImplementedError") == 2
    assert "def g(x):\n    return x\n" in stubs


def test_only_what_the_target_imports_is_taken(tmp_path: Path) -> None:
    place = repositories.write(
        tmp_path,
        {
            "pkg/__init__.py": "from .plots import draw\nfrom .core import f\n",
            "pkg/plots.py": "import matplotlib.pyplot\n",
            "pkg/core.py": "import numpy as np\nfrom . import helpers\nfrom .io import load\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .plots import draw\n\n\ndef f(x):\n    import scipy.linalg\n",
            "pkg/helpers.py": "try:\n    import numba\nexcept ImportError:\n    pass\nfrom pkg.io.formats import parse\n",
            "pkg/io/__init__.py": "from .formats import parse as load\nfrom ._version import __version__\n",
            "pkg/io/formats.py": "",
        },
    )
    repository, target = find(place, "pkg.core")
    part = closure(repository, target, whole_packages=False)
    assert set(part.modules) == {"pkg.core", "pkg.helpers", "pkg.io", "pkg.io.formats", "pkg.io._version"}
    assert part.emptied == ("pkg",)
    assert part.others == {"numpy": True, "scipy": False, "numba": False}
    assert part.missing == {}
    assert "__version__" in repository.generated["pkg/io/_version.py"]
    whole = closure(repository, target, whole_packages=True)
    assert {"pkg", "pkg.plots"} <= set(whole.modules)
    assert "matplotlib" in whole.others


def test_a_link_out_of_the_repository_is_not_followed(tmp_path: Path) -> None:
    secret = repositories.write(tmp_path / "home", {"secret.py": "key = 1\n", "LICENSE": repositories.MIT})
    place = repositories.write(
        tmp_path / "clone", {"core.py": "import secret\nimport linked.secret\n", "pyproject.toml": ""}
    )
    (place / "secret.py").symlink_to(secret / "secret.py")
    (place / "linked").symlink_to(secret)
    (place / "LICENSE").symlink_to(secret / "LICENSE")
    repository, target = find(place, "core")
    assert set(closure(repository, target, whole_packages=True).modules) == {"core"}
    assert set(files_of(repository)[0]) == {"core.py", "pyproject.toml"}
    assert permitted(place, "MIT").files == ()


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("global count\n    count = 1", "global state"),
        ("cache[x] = 1", "global state"),
        ("cache.update(x)", "global state"),
        ("helper(x)", "global state"),
        ("other.save(x)", "files"),
        ("np.savez(x)", "files"),
        ("np.random.seed(0)", "randomness without a seed"),
        ("np.random.default_rng()", "randomness without a seed"),
        ("x.to('cuda')", "GPU"),
        ("x.cuda()", "GPU"),
        ("requests.get(x)", "network"),
        ("normal(x)", "randomness without a seed"),
        ("np.random.default_rng(0)", ""),
        ("cache = {}\n    cache[x] = 1", ""),
        ("len(cache)", ""),
    ],
)
def test_findings_have_their_places(tmp_path: Path, text: str, kind: str) -> None:
    place = repositories.write(
        tmp_path,
        {
            "core.py": f"import numpy as np\nimport other\nfrom numpy.random import standard_normal as normal\ncount, cache = 0, {{}}\n\n\ndef helper(x):\n    cache.clear()\n\n\ndef f(x):\n    {text}\n",
            "other.py": "def save(x):\n    return open(x)\n",
        },
    )
    repository, target = find(place, "core")
    findings = hazards(closure(repository, target, whole_packages=True).modules, "core", "f")
    assert {each.kind for each in findings} == ({kind} if kind else set())
    line = {"helper(x)": "core.py:8", "other.save(x)": "other.py:2"}.get(text, "core.py:1")
    assert all(each.place.startswith(line) for each in findings)
