"""The Tab key after `pytest-recode show`, in the shells themselves: with the lines of the documentation in the user's start file."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.export.conftest import records, rewrite
from tests.plugin.terminals import Terminal, terminal
from tests.projects import MODEL

PAGE = Path(__file__).resolve().parents[1] / "docs/how-to/read-a-transcript.md"
READY, END = "READY> ", "(end of the arguments)"
SHELLS = {
    "bash": (".bashrc", ["--rcfile", ".bashrc", "-i"]),  # and not Debian's own, which bash would read first
    "zsh": (".zshrc", ["-i"]),
    "fish": (".config/fish/config.fish", ["-i"]),
}
"""The start file of each, and the arguments for a session."""
POSIX = f"""
PS1='{READY}'
pytest-recode() {{
    if [ -n "$_ARGCOMPLETE" ]; then command pytest-recode "$@"; else printf 'ARGUMENT<%s>' "$@"; echo '{END}'; fi
}}
"""
FISH = f"""
function fish_prompt; printf '{READY}'; end
function pytest-recode
    if set -q _ARGCOMPLETE; command pytest-recode $argv; else; printf 'ARGUMENT<%s>' $argv; echo '{END}'; end
end
"""
"""Show the arguments that the command would get."""

shells = pytest.mark.parametrize(
    "shell", ["bash", pytest.param("zsh", marks=pytest.mark.slow), pytest.param("fish", marks=pytest.mark.slow)]
)


def documented(shell: str) -> str:
    """The documented lines for the shell's start file."""
    [lines] = re.findall(rf"^```{shell}\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return lines


@contextmanager
def session(shell: str, place: Path, home: Path) -> Iterator[Terminal]:
    """A session of the shell in `place`, whose user has the documented lines in their start file."""
    if shutil.which(shell) is None:
        pytest.skip(f"needs {shell}: apt-get install {shell}")
    file, arguments = SHELLS[shell]
    (home / file).parent.mkdir(parents=True, exist_ok=True)
    (home / file).write_text(f"{documented(shell)}\n{FISH if shell == 'fish' else POSIX}")
    arguments = [str(home / file) if each == file else each for each in arguments]
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(home),
        "ZDOTDIR": str(home),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local"),
        "LC_ALL": "C.UTF-8",
    }
    with terminal(place, *arguments, command=[shell], variables=variables) as started:
        yield started


def completed(person: Terminal, *words: str) -> list[str]:
    """The arguments of `pytest-recode show`, after the Tab key at the end of the last word."""
    person.until(READY)
    person.type(f"pytest-recode show {' '.join(words)}\t\n")
    return re.findall("ARGUMENT<([^\n]*?)>(?=ARGUMENT<|\\()", person.until(END))[1:]


@pytest.fixture
def run(project: Path) -> dict[str, dict[str, Any]]:
    """The records of `run` in the project, one for each task."""
    by_id = {nodeid: each for nodeid, each in records(project / "run").items() if each["feedback"] == "L0"}
    shutil.rmtree(project / "run/episodes")
    (project / "run/episodes").mkdir()
    rewrite(project / "run/results.jsonl", [*by_id.values()])
    return by_id


@shells
def test_the_tab_key_completes_a_task_and_an_id(
    project: Path, run: dict[str, dict[str, Any]], tmp_path: Path, shell: str
) -> None:
    with session(shell, project, tmp_path) as person:
        assert completed(person, "run", "tw") == ["run", "two"]
        assert completed(person, "run", "tasks/o") == ["run", f"tasks/one/task.yaml::episode[{MODEL}-L0]"]
        assert completed(person, "run", "one", "tw") == ["run", "one", "two"]


HOSTILE = (
    "a'$(touch pwned)`touch pwned`",
    "b;touch pwned #",
    'c"$(touch pwned)"',
    "d\\$(touch pwned)",
    "e~*?[x] y:z=w{1,2}",
)


@pytest.mark.slow
@shells
def test_an_id_is_one_argument_whatever_it_contains(
    project: Path, run: dict[str, dict[str, Any]], tmp_path: Path, shell: str
) -> None:
    """Control characters, which a shell would write to the terminal, and line breaks are in no id that is offered."""
    [record, *_] = run.values()
    ids = (*HOSTILE, "f\x1b]0;pwned\x07", "fine", "g\ntouch pwned\n", "good")
    rewrite(project / "run/results.jsonl", [{**record, "nodeid": episode_id, "task": episode_id} for episode_id in ids])
    with session(shell, project, tmp_path) as person:
        for episode_id in HOSTILE:
            assert completed(person, "run", episode_id[0]) == ["run", episode_id]
        assert completed(person, "run", "f") == ["run", "fine"]
        assert completed(person, "run", "g") == ["run", "good"]
    assert not (project / "pwned").exists()
