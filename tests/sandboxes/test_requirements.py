"""A requirements file is read as pip reads it: encodings, continued lines, comments, options of a line."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.sandboxes.requirements import requirements_in
from tests.messages import assert_message


@pytest.mark.parametrize(
    ("data", "names"),
    [
        ("numpy>=99\n".encode("utf-16"), ["numpy>=99"]),
        ("numpy>=99\n".encode("utf-8-sig"), ["numpy>=99"]),
        ("# -*- coding: latin-1 -*-\n# café\nnumpy>=99\n".encode("latin-1"), ["numpy>=99"]),
        (b"numpy==99 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\nscipy\n", ["numpy==99", "scipy"]),
        (b"numpy \\\r\n  >=1, \\\r\n  <2\r\nscipy", ["numpy<2,>=1", "scipy"]),
        (b"numpy\nscipy \\\n", ["numpy", "scipy"]),
        (b"# a comment does not continue \\\nnumpy # nor does this \\\nscipy\ntorch\n", ["numpy", "torch"]),
        (b"-r other.txt\nhttps://example.org/x.whl#egg=y\nx @ https://example.org/x.whl\nnumpy;os_name=='x'\n", []),
    ],
)
def test_lines_that_pip_accepts(tmp_path: Path, data: bytes, names: list[str]) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(data)
    assert [str(each) for each in requirements_in(path)] == names


@pytest.mark.parametrize("data", ["numpy\n# café\n".encode("latin-1"), b"\xff\xfen", b"# coding: nonsense\nnumpy\n"])
def test_a_file_that_cannot_be_decoded(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "requirements.txt"
    path.write_bytes(data)
    with pytest.raises(UserError) as caught:
        requirements_in(path)
    assert_message(str(caught.value), str(path), "cannot be decoded", "save it as UTF-8", "coding: latin-1")
