"""A person as the agent, with a real workspace and directory; the terminal's lines are functions of the directory."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from pytest_recode.agents import AgentContext, Log, Terminal, person, person_directory
from pytest_recode.agents.workspace import MAX_TARGET, SandboxWorkspace
from pytest_recode.episode import Feedback, Move
from pytest_recode.faults import Stopped, UserError
from pytest_recode.task import Files
from tests.agents.conftest import Open
from tests.agents.scripted import REPO, Logged, a_brief
from tests.messages import assert_message

Does = Callable[[Path], str]
"""What a person does in the directory, and then types."""


@dataclass
class Typist:
    """A person who does one thing after the other."""

    does: list[Does]
    shown: list[str] = field(default_factory=list)

    @property
    def directory(self) -> Path:
        return Path(re.findall(r"^  (/\S+)$", "\n".join(self.shown), re.MULTILINE)[-1])

    def read(self, prompt: str) -> str:
        if not self.does:
            raise EOFError
        return self.does.pop(0)(self.directory)

    @property
    def terminal(self) -> Terminal:
        return Terminal(opened=contextlib.nullcontext, write=self.shown.append, read=self.read)


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the directories of persons are."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "temporary"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    (tmp_path / "run").mkdir()
    return tmp_path / "run"


def submits(_: Path) -> str:
    return "submit"


def made(typist: Typist, shared: Path, log: Log | None = None) -> person.Person:
    context = AgentContext(
        model=None,
        steps=1,
        turns=10,
        log=log or Logged(),
        terminal=typist.terminal,
        shared=shared,
        episode="tiny-1",
    )
    return person.make(context)


def submitted(shared: Path, workspace: SandboxWorkspace, *does: Does) -> tuple[Move, Files, str]:
    """A turn of a person who does this: the move, the targets, and all that was shown."""
    typist = Typist([*does])
    move = made(typist, shared).act(a_brief(), None, workspace)
    return move, workspace.targets(), "\n".join(typist.shown)


def wrote(path: str, data: bytes) -> Does:
    def does(directory: Path) -> str:
        (directory / path).parent.mkdir(parents=True, exist_ok=True)
        (directory / path).write_bytes(data)
        return "submit"

    return does


def contents(directory: Path) -> dict[str, bytes]:
    files = [path for path in directory.rglob("*") if path.is_file()]
    return {path.relative_to(directory).as_posix(): path.read_bytes() for path in files}


def test_the_directory_holds_what_a_workspace_holds(open_walled: Open, shared: Path) -> None:
    held: dict[str, bytes] = {}

    def looks(directory: Path) -> str:
        held.update(contents(directory))
        return " SUBMIT  "

    move, targets, _ = submitted(shared, open_walled(), looks, submits)
    assert held.keys() == {*REPO, "paper.md", "instruction.md"}
    assert {path: held[path] for path in REPO} == REPO
    assert move == Move(steps=1)
    assert targets == {"solver.py": REPO["solver.py"]}


def test_files_are_the_workspaces_after_a_submission(open_walled: Open, shared: Path) -> None:
    def works(directory: Path) -> str:
        (directory / "solver.py").write_bytes(b"# \xe9\n")
        (directory / "README.md").unlink()
        (directory / "new").mkdir()
        (directory / "new/notes.txt").write_text("mine")
        return "submit"

    workspace = open_walled()
    _, targets, _ = submitted(shared, workspace, works)
    assert targets == {"solver.py": b"# \xe9\n"}
    changes = workspace.changes()
    assert {path: data for path, (data, _) in changes.versions.items()} == {
        "solver.py": b"# \xe9\n",
        "new/notes.txt": b"mine",
    }
    assert changes.removed == ("README.md",)


def test_a_target_that_was_removed_is_absent_and_can_come_back(open_walled: Open, shared: Path) -> None:
    def removes(directory: Path) -> str:
        (directory / "solver.py").unlink()
        return "submit"

    workspace = open_walled()
    agent = made(Typist([removes, submits, wrote("solver.py", REPO["solver.py"])]), shared)
    agent.act(a_brief(), None, workspace)
    assert workspace.targets() == {}
    agent.act(a_brief(), Feedback(level=0, text="It fails.", turn=1), workspace)
    assert workspace.targets() == {"solver.py": REPO["solver.py"]}


def test_only_a_submission_reads_files(open_walled: Open, shared: Path) -> None:
    def writes(directory: Path) -> str:
        (directory / "solver.py").write_text("half of a line")
        return "what now?"

    _, targets, shown = submitted(shared, open_walled(), writes, wrote("solver.py", b"x = 1\n"))
    assert targets == {"solver.py": b"x = 1\n"}
    assert "type submit or give up" in shown


def linked(directory: Path) -> None:
    (directory / "solver.py").unlink()
    (directory / "solver.py").symlink_to(directory.parents[2] / "outside" / "solver.py")


def piped(directory: Path) -> None:
    (directory / "solver.py").unlink()
    os.mkfifo(directory / "solver.py")


def a_directory(directory: Path) -> None:
    (directory / "solver.py").unlink()
    (directory / "solver.py").mkdir()


def large(directory: Path) -> None:
    (directory / "solver.py").write_bytes(b"#" * (MAX_TARGET + 1))


@pytest.mark.parametrize(
    ("change", "phrase"),
    [(linked, "symbolic link"), (piped, "no regular file"), (a_directory, "is a directory"), (large, "more than")],
)
def test_a_target_that_is_no_file_of_the_directory_is_not_taken(
    open_walled: Open, shared: Path, tmp_path: Path, change: Callable[[Path], None], phrase: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/solver.py").write_text("SECRET = 1\n")

    def changes(directory: Path) -> str:
        change(directory)
        return "submit"

    def gives_up(directory: Path) -> str:
        return "give up"

    move, targets, shown = submitted(shared, open_walled(), changes, gives_up)
    [line] = [line for line in shown.splitlines() if line.startswith("solver.py ")]
    assert_message(line, "solver.py", phrase)
    assert "Nothing was submitted" in shown
    assert move.gave_up
    assert targets == {}  # as for a model


def test_no_link_leads_out_of_the_directory(open_walled: Open, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/secret.txt").write_text("SECRET")

    def links(directory: Path) -> str:
        (directory / "all").symlink_to(tmp_path / "outside")
        (directory / "one.txt").symlink_to(tmp_path / "outside/secret.txt")
        os.link(directory / "README.md", directory / "same.md")
        return "submit"

    workspace = open_walled()
    submitted(shared, workspace, links, submits)
    assert sorted(workspace.changes().files) == ["same.md"]


def test_a_directory_that_was_replaced_by_a_link_is_not_read(open_walled: Open, shared: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside/solver.py").write_text("SECRET = 1\n")

    def replaces(directory: Path) -> str:
        directory.rename(tmp_path / "moved")
        directory.symlink_to(tmp_path / "outside")
        return "submit"

    def restores(directory: Path) -> str:
        directory.unlink()
        (tmp_path / "moved").rename(directory)
        return "submit"

    _, targets, shown = submitted(shared, open_walled(), replaces, restores, submits)
    assert "cannot be read" in shown
    assert targets == {"solver.py": REPO["solver.py"]}


def test_of_too_many_files_only_the_targets_are_taken(
    open_walled: Open, shared: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(person_directory, "MAX_FILES", 5)

    def installs(directory: Path) -> str:
        for number in range(10):
            (directory / f"module{number}.py").touch()
        (directory / "README.md").unlink()
        return wrote("solver.py", b"x = 1\n")(directory)

    workspace = open_walled()
    submitted(shared, workspace, installs)
    changes = workspace.changes()
    assert (list(changes.files), changes.removed) == (["solver.py"], ())


def test_another_process_goes_on_in_the_same_directory(open_walled: Open, shared: Path) -> None:
    first = Typist([wrote("solver.py", b"x = 1\n")])
    agent = made(first, shared)
    agent.act(a_brief(), None, open_walled())
    (first.directory / "draft.txt").write_text("not submitted")
    second = Typist([submits, submits])
    other = made(second, shared)
    other.restore(agent.state())
    workspace = open_walled()
    other.act(a_brief(), Feedback(level=0, text="It fails.", turn=1), workspace)
    assert second.directory == first.directory
    assert "It fails." in second.shown[0]
    assert a_brief().instruction.strip() in second.shown[0]
    assert workspace.targets() == {"solver.py": b"x = 1\n"}


def test_a_directory_that_is_gone_is_filled_from_the_workspace(open_walled: Open, shared: Path) -> None:
    def works(directory: Path) -> str:
        (directory / "README.md").unlink()
        (directory / "notes.txt").write_text("mine")
        (directory / "picture.bin").write_bytes(b"\xff\x00")
        return wrote("solver.py", b"x = 1\n")(directory)

    first = Typist([works])
    agent, workspace = made(first, shared), open_walled()
    agent.act(a_brief(), None, workspace)
    shutil.rmtree(first.directory)
    second = Typist([submits, submits])
    other, restored = made(second, shared), open_walled()
    other.restore(agent.state())
    restored.lay(workspace.changes())
    other.act(a_brief(), Feedback(level=0, text="It fails.", turn=1), restored)
    assert contents(second.directory).keys() == ({*REPO, "paper.md", "instruction.md", "notes.txt"} - {"README.md"})
    assert restored.targets() == {"solver.py": b"x = 1\n"}


@pytest.mark.parametrize("name", ["../../run", "/etc", ".", "", "a/b", "\udcff"])
def test_a_name_of_a_record_leads_nowhere_else(open_walled: Open, shared: Path, temporary: Path, name: str) -> None:
    """A record may be of another person: no directory of this machine becomes the person's, to be sent or removed."""
    (shared / "workspaces").mkdir()
    (shared / "workspaces/tiny-1.txt").write_bytes(name.encode(errors="surrogateescape"))
    typist = Typist([submits, submits])
    made(typist, shared).act(a_brief(), None, open_walled())
    assert typist.directory.parent.parent == temporary
    assert (shared / "workspaces/tiny-1.txt").read_text() == f"{typist.directory.name}\n"


def test_a_place_that_others_can_write_to_is_refused(open_walled: Open, shared: Path, temporary: Path) -> None:
    base = temporary / f"recode-person-{os.getuid()}"
    base.mkdir(mode=0o700)
    base.chmod(0o777)
    with pytest.raises(UserError) as refused:
        submitted(shared, open_walled())
    assert_message(str(refused.value), str(base), "private", "TMPDIR")


def test_an_input_that_ends_is_no_submission(open_walled: Open, shared: Path) -> None:
    with pytest.raises(Stopped, match="end of the input"):
        submitted(shared, open_walled())


def removes(directory: Path) -> str:
    (directory / "solver.py").unlink()
    return "submit"


@pytest.mark.parametrize(
    ("does", "doubt"),
    [
        (removes, "solver.py is missing"),
        (wrote("solver.py", b"x = 1\n\ndef f(:\n"), "solver.py is not valid Python (line 3: "),
        (submits, "solver.py is unchanged since the last verdict"),
    ],
)
def test_a_submission_that_would_waste_its_turn_is_held_back_once(
    open_walled: Open, shared: Path, does: Does, doubt: str
) -> None:
    first = Typist([wrote("solver.py", b"x = 1\n")])
    logged = Logged()
    agent, workspace = made(first, shared, logged), open_walled()
    agent.act(a_brief(), None, workspace)
    first.does += [does, submits]
    assert agent.act(a_brief(), Feedback(level=0, text="It fails.", turn=1), workspace) == Move(steps=1)
    assert not first.does
    [held] = [text for text in first.shown if "Nothing was submitted" in text]
    assert doubt in held
    assert "type submit again to submit anyway" in held
    assert [doubt in line["text"] for line in logged.of("refused")] == [True]


def test_a_first_submission_of_untouched_targets_is_held_back_once(open_walled: Open, shared: Path) -> None:
    typist = Typist([submits, submits])
    made(typist, shared).act(a_brief(), None, open_walled())
    assert not typist.does
    [held] = [text for text in typist.shown if "Nothing was submitted" in text]
    assert_message(held.replace("\n", " "), "solver.py is still as the repository delivered it", "type submit again")


def test_another_doubt_after_a_change_is_another_question(open_walled: Open, shared: Path) -> None:
    _, targets, shown = submitted(
        shared, open_walled(), wrote("solver.py", b"def f(:\n"), removes, wrote("solver.py", b"x = 2\n")
    )
    assert targets == {"solver.py": b"x = 2\n"}
    assert shown.count("Nothing was submitted") == 2


def test_giving_up_is_never_held_back(open_walled: Open, shared: Path) -> None:
    def gives_up(directory: Path) -> str:
        removes(directory)
        return "give up"

    move, _, shown = submitted(shared, open_walled(), gives_up)
    assert move.gave_up
    assert "Nothing was submitted" not in shown


def test_control_characters_do_not_reach_the_terminal(open_walled: Open, shared: Path) -> None:
    typist = Typist([submits, submits])
    brief = replace(a_brief(), instruction="Write \x1b]0;title\x07 it.", title="\x1b[2Jgone")
    made(typist, shared).act(brief, None, open_walled())
    assert "\x1b" not in "".join(typist.shown)
    assert "\\x1b[2Jgone" in typist.shown[0]


def test_its_transcript_says_what_was_shown_and_done(open_walled: Open, shared: Path) -> None:
    logged = Logged()
    made(Typist([wrote("solver.py", b"x = 1\n")]), shared, logged).act(a_brief(), None, open_walled())
    [message], [step], [result] = (logged.of(kind) for kind in ("message", "step", "result"))
    assert message["content"].startswith(person.ROLE)
    assert step["changed"] == ["solver.py"]
    assert step["seconds"] >= 0
    assert (result["kind"], result["ok"]) == ("submit", True)


def test_without_a_terminal_it_is_not_made() -> None:
    with pytest.raises(ValueError, match="needs_person"):
        person.make(AgentContext(model=None, steps=1, turns=1, log=Logged()))
