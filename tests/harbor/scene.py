"""A small Harbor task directory, whose image is built from the test image."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

IMAGE = os.environ.get("RECODE_TEST_IMAGE", "")

CONFIG = """\
schema_version = "1.4"

[task]
name = "lab/double"
version = "1.2.0"
description = "Double a number"

[metadata]
difficulty = "easy"
category = "arithmetic"
tags = ["tiny"]

[agent]
timeout_sec = 120

[verifier]
timeout_sec = 20

[environment]
memory_mb = 512
storage_mb = 128
network_mode = "no-network"
"""

VERIFY = """\
#!/bin/bash
# as most data sets write it: pytest, a CTRF file, and 1 or 0
python3 /tests/check.py
if [ $? -eq 0 ]; then echo 1 > /logs/verifier/reward.txt; else echo 0 > /logs/verifier/reward.txt; fi
"""

CHECK = """\
import importlib.util
import json
import sys

cases = []


def case(name, check):
    try:
        check()
        cases.append({"name": name, "status": "passed"})
    except Exception as error:
        cases.append({"name": name, "status": "failed", "message": f"{type(error).__name__}: {error}"})


def double(x):
    spec = importlib.util.spec_from_file_location("double", "double.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.double(x)


def doubles():
    assert double(3) == 6


def keeps_types():
    assert double("ab") == "abab"


def has_data():
    assert open("data/numbers.txt").read() == "1 2 3\\n"


case("check::test_doubles", doubles)
case("check::test_keeps_types", keeps_types)
case("check::test_data_is_untouched", has_data)
with open("/logs/verifier/ctrf.json", "w") as file:
    json.dump({"results": {"tests": cases}}, file)
sys.exit(any(each["status"] == "failed" for each in cases))
"""

FILES: Mapping[str, str] = {
    "task.toml": CONFIG,
    "instruction.md": "Write /app/double.py with double(x), which returns x added to itself.\n",
    "environment/Dockerfile": f"FROM {IMAGE or 'python:3.12-slim'}\nWORKDIR /app\nCOPY data /app/data\nCOPY run.sh old.txt /app/\n",
    "environment/data/numbers.txt": "1 2 3\n",
    "environment/run.sh": "#!/bin/sh\necho runs\n",
    "environment/old.txt": "old\n",
    "solution/solve.sh": "#!/bin/bash\nset -e\ncp /solution/double.py double.py\nrm old.txt\n./run.sh > said.txt\n",
    "solution/double.py": "def double(x):\n    return x + x\n",
    "tests/test.sh": VERIFY,
    "tests/check.py": CHECK,
}


def lay_out(root: Path, files: Mapping[str, str | None] | None = None) -> Path:
    """Write the directory and return its `task.toml`; `files` replaces files, or removes them (None)."""
    for path, text in {**FILES, **(files or {})}.items():
        if text is not None:
            (root / path).parent.mkdir(parents=True, exist_ok=True)
            (root / path).write_text(text)
    return root / "task.toml"


STEPS: Mapping[str, str | None] = {
    "instruction.md": None,
    "tests/check.py": None,
    "tests/test.sh": VERIFY,
    "solution/solve.sh": None,
    "solution/double.py": None,
    "task.toml": CONFIG + '\n[[steps]]\nname = "write"\nmin_reward = 1.0\n\n[[steps]]\nname = "use"\n',
    "steps/write/instruction.md": FILES["instruction.md"],
    "steps/write/tests/check.py": CHECK,
    "steps/write/solution/solve.sh": FILES["solution/solve.sh"],
    "steps/write/solution/double.py": FILES["solution/double.py"],
    "steps/use/instruction.md": "Write /app/doubled.txt: each line of more.txt, doubled with double.py.\n",
    "steps/use/workdir/numbers.txt": "3\n1\n2\n",
    "steps/use/workdir/setup.sh": "sort numbers.txt > more.txt\n",
    "steps/use/tests/check.py": "import double\nassert open('/app/doubled.txt').read() == '11\\n22\\n33\\n'\n",
    "steps/use/tests/test.sh": VERIFY.replace("python3", "PYTHONPATH=/app python3"),
    "steps/use/solution/solve.sh": "#!/bin/bash\n"
    'python3 -c \'import double; open("doubled.txt", "w").write("".join(double.double(x.strip()) + "\\n" for x in open("more.txt")))\'\n',
}
"""The same directory with two steps, of which the second needs what the first one leaves."""
