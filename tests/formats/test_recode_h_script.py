"""test.sh is read and not run: what it may say, and one line with its number for what it may not."""

from __future__ import annotations

import re
from pathlib import Path
from textwrap import dedent

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.recode_h.script import Script, read_script
from tests.messages import assert_message
from tests.recode_h.scene import DATASET

BEGIN = """\
    SCRIPT_DIR="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
    TARGET_DIR="${SCRIPT_DIR}/repo"
    conda activate test_151
    """


def script(root: Path, text: str) -> Script:
    path = root / "test.sh"
    path.write_text(dedent(text))
    return read_script(path, "repo")


def wrong(root: Path, text: str) -> str:
    with pytest.raises(UserError) as caught:
        script(root, text)
    return str(caught.value).removeprefix(str(root / "test.sh"))


def test_the_projects_own() -> None:
    first, second, third = (
        read_script(DATASET / f"annotations/annotation_{index}/test.sh", name)
        for index, name in ((1, "code_repo"), (2, "quantile-drift"), (3, "halton-mc"))
    )
    assert first == Script(
        environment="test_common1",
        cwd="spectral",
        pythonpath=("spectral",),
        copies={"canonical.py": "spectral/canonical.py", "test.py": "spectral/test.py"},
        seconds=60,
    )
    assert second == Script(
        environment="test_151",
        cwd=".",
        pythonpath=(),
        copies={"canonical.py": "driftlab/canonical.py", "test.py": "driftlab/test.py"},
        seconds=30,
    )
    assert (third.environment, third.seconds) == ("test_common1", None)


COMPLETE = Script(environment="test_151", cwd="src", pythonpath=(), copies={"test.py": "src/pkg/test.py"}, seconds=None)
MANNERS = {
    "as the others": """\
        cp "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/src/pkg/"
        cd "${TARGET_DIR}/src" || exit
        """,
    "a file, exit with a status, python -m": """\
        cp -f "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/src/pkg/test.py"
        cd "${TARGET_DIR}/src" || { echo "no folder"; exit 1; }
        python -m pytest pkg/test.py -q
        """,
    "variables": """\
        PKG_DIR="${TARGET_DIR}/src/pkg"
        REPORT=$(mktemp)
        cp $SCRIPT_DIR/test.py "$PKG_DIR"
        cd "${TARGET_DIR}" && cd src
        """,
    "what has no part in it": """\
        set -euo pipefail
        echo "cd nowhere && pytest"
        source ~/miniconda3/etc/profile.d/conda.sh
        mkdir -p "${SCRIPT_DIR}/pytest_report" "$UNKNOWN"   # pytest
        export CUDA_VISIBLE_DEVICES=0
        cp "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/src/pkg/."
        cd "${TARGET_DIR}/src" || exit
        pytest pkg/test.py
        cd /somewhere/else
        mv a b
        python report.py
        """,
    "in one line": """\
        cp "${SCRIPT_DIR}/test.py" "${TARGET_DIR}/src/pkg/." && cd "${TARGET_DIR}/src" && pytest pkg/test.py; cd -
        """,
}


@pytest.mark.parametrize("name", MANNERS)
def test_manners_of_saying_it(tmp_path: Path, name: str) -> None:
    assert (
        script(tmp_path, BEGIN + MANNERS[name].replace("        ", "    ", 1).replace("\n        ", "\n    "))
        == COMPLETE
    )


@pytest.mark.parametrize(
    ("line", "pythonpath", "seconds"),
    [
        ('PYTHONPATH="${TARGET_DIR}/lib" pytest test.py', ("lib",), None),
        ('PYTHONPATH="${TARGET_DIR}/a:${TARGET_DIR}:$PYTHONPATH" pytest test.py --timeout 5', ("a", "."), 5),
        ('export PYTHONPATH="$TARGET_DIR:$PYTHONPATH"', (".",), None),
        ("PYTHONPATH=. python3 -m pytest --timeout=0.5 test.py", (".",), 0.5),
        ("timeout 100 conda run -n test_981 pytest test.py --timeout=7", (), 7),
    ],
)
def test_pythonpath_and_timeout(tmp_path: Path, line: str, pythonpath: tuple[str, ...], seconds: float | None) -> None:
    found = script(tmp_path, f'{BEGIN}    cd "${{TARGET_DIR}}/." || exit\n    {line}\n')
    assert (found.pythonpath, found.seconds) == (pythonpath, seconds)


def test_conda_run_names_the_environment_too(tmp_path: Path) -> None:
    text = 'SCRIPT_DIR=$(pwd)\nTARGET_DIR="$SCRIPT_DIR/repo"\ncd "$TARGET_DIR"\nconda run -n test_981 pytest test.py\n'
    assert script(tmp_path, text).environment == "test_981"


WRONG: dict[str, tuple[str, ...]] = {
    "conda activate": ("activate", "name of an environment", "conda activate NAME"),
    "cd": ("cd", 'cd "${TARGET_DIR}/FOLDER" || exit'),
    'cd "$(git rev-parse --show-toplevel)"': ("$(git rev-parse --show-toplevel)", "without running", "${SCRIPT_DIR}"),
    "cd /data": ("cd /data", "outside the repository", "${TARGET_DIR}"),
    'cd "${TARGET_DIR}/.."; cd "${TARGET_DIR}/../.."': (
        "cd ${TARGET_DIR}/../..",
        "outside the repository repo",
        "${TARGET_DIR}",
    ),
    'cd "${REPO_DIR}"': ("${REPO_DIR}", "not set", "${SCRIPT_DIR}"),
    'cp "${SCRIPT_DIR}/test.py"': ("cp ${SCRIPT_DIR}/test.py", 'cp "${SCRIPT_DIR}/FILE" "${TARGET_DIR}/FOLDER"'),
    'cp "${SCRIPT_DIR}/more/test.py" "${TARGET_DIR}/."': (
        "cp ${SCRIPT_DIR}/more/test.py",
        "not a file next to this script",
    ),
    'cp "${SCRIPT_DIR}/test.py" /tmp': ("cp to /tmp", "outside the repository", "${TARGET_DIR}"),
    'mv "${SCRIPT_DIR}/test.py" .': ("mv ${SCRIPT_DIR}/test.py .", "mv is not supported", "use cp"),
    "python run_tests.py": ("python run_tests.py", "run the tests with pytest"),
    "pytest test.py --timeout=soon": ("--timeout soon", "number of seconds above 0"),
    'cd "${TARGET_DIR}/src || exit': ('cd "${TARGET_DIR}/src || exit', "quotation mark", "close it"),
    'TARGET_DIR="${SCRIPT_DIR}/another"': ("TARGET_DIR is another", "repo_dir_name", "repo", "correct one of the two"),
}


@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be_read_is_one_line_with_its_number(tmp_path: Path, line: str) -> None:
    subject, *parts = WRONG[line]
    assert_message(wrong(tmp_path, f"{BEGIN}    {line}\n"), f":4: {subject}", *parts)


@pytest.mark.parametrize(
    ("left_out", "parts"),
    [
        ("conda", ("no environment", "add the line conda activate NAME")),
        ("TARGET_DIR=", ("TARGET_DIR", 'add the line TARGET_DIR="${SCRIPT_DIR}/repo"')),
        ("cd ", ("change to the repository", 'add the line cd "${TARGET_DIR}/." || exit')),
    ],
)
def test_what_must_be_there(tmp_path: Path, left_out: str, parts: tuple[str, ...]) -> None:
    whole = dedent(BEGIN) + 'cd "${SCRIPT_DIR}/repo" || exit\n'
    kept = [line for line in whole.splitlines() if not re.match(left_out, line)]
    assert_message(wrong(tmp_path, "\n".join(kept)), ":", *parts)


def test_nothing_of_it_is_run(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    script(tmp_path, f'{BEGIN}    touch {mark}\n    echo "$(touch {mark})"\n    cd "${{TARGET_DIR}}/."\n')
    assert not mark.exists()
