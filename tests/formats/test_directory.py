"""Task directories: what a valid one gives, and the message for each error in one."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from pytest_recode.faults import UserError
from pytest_recode.formats.directory import FORMAT
from pytest_recode.task import BlindAttempt, Environment, Limits, Oracle, Paper
from tests.formats.task_directory import FILES, MANIFEST, write
from tests.messages import assert_message

FULL = """\
schema: 1
id: mean-2.0_b
title: >
  The mean
  of numbers
targets: [pkg/stats.py, pkg/__init__.py, data/table.csv]
interfaces: [pkg.stats.mean, pkg.stats.Stats.var, pkg]
paper:
  {title: On means, authors: [A. Ä, B. B], year: 1809, arxiv: "1306.0895", url: "https://x.org/1", venue: Journal,
   date: 1809-05-01}
domain: science
tags: [mean, sum]
difficulty: easy
measured:
  - {solver: first, date: 2026-11-26, solved_at: 1}
  - {solver: second, date: 2026-11, solved_at: 4, level: L2}
  - {solver: third, date: "2026", unsolved_after: 10, level: L4}
environment: {name: py312, requirements: needs.txt, preload: [numpy, numpy.linalg]}
limits:
  {test_seconds: 1.5, grading_seconds: 20, command_seconds: 3, episode_seconds: 400, memory_mb: 64, disk_mb: 5, pids: 6}
license: MIT
"""

KEYS = (
    "schema, id, title, targets, interfaces, paper, domain, tags, subsets, difficulty, measured, environment, limits, oracle,"
    " invariants, license, canary"
)
ID_WORDS = "text of at most 100 letters a-z or A-Z, digits, '_', '-' and '.', starting with a letter or digit"
PATH_WORDS = "a path relative to repo/, with / and without .."


def refusal(path: Path) -> str:
    """The one line with which `path` is refused, the task directory's own path shown as ROOT."""
    with pytest.raises(UserError) as caught:
        FORMAT.load(path)[0].load()
    message = str(caught.value)
    assert "\n" not in message
    return message.replace(str(path.parent), "ROOT")


def test_a_short_manifest_has_defaults_for_the_rest(tmp_path: Path) -> None:
    path = write(tmp_path)
    (task,) = FORMAT.load(path)
    assert (task.id, task.title, task.format, task.manifest) == ("mean", "The mean", "directory", path)
    assert task.targets == ("stats.py",)
    assert task.interfaces == ("stats",)
    assert (task.paper, task.environment, task.limits) == (Paper(), Environment(), Limits())
    assert (task.domain, task.tags, task.difficulty, task.license) == ("", (), "", "")


def test_every_key_of_a_full_manifest_arrives(tmp_path: Path) -> None:
    targets = ("pkg/stats.py", "pkg/__init__.py", "data/table.csv")
    path = write(tmp_path, FULL, {"needs.txt": "numpy\n", **{f"reference/{name}": "" for name in targets}})
    (task,) = FORMAT.load(path)
    assert (task.id, task.title) == ("mean-2.0_b", "The mean of numbers")
    assert task.targets == ("pkg/stats.py", "pkg/__init__.py", "data/table.csv")
    assert task.interfaces == ("pkg.stats.mean", "pkg.stats.Stats.var", "pkg")
    assert task.paper == Paper(
        title="On means",
        authors=("A. Ä", "B. B"),
        year=1809,
        arxiv="1306.0895",
        url="https://x.org/1",
        venue="Journal",
        date="1809-05-01",
    )
    assert task.environment == Environment(
        name="py312", requirements=tmp_path / "needs.txt", preload=("numpy", "numpy.linalg")
    )
    assert task.limits == Limits(
        test_seconds=1.5,
        grading_seconds=20,
        command_seconds=3,
        episode_seconds=400,
        memory_mb=64,
        disk_mb=5,
        pids=6,
    )
    assert (task.domain, task.tags, task.difficulty, task.license) == ("science", ("mean", "sum"), "easy", "MIT")
    assert task.measured == (
        BlindAttempt(solver="first", date="2026-11-26", solved=True, turns=1),
        BlindAttempt(solver="second", date="2026-11", solved=True, turns=4, level="L2"),
        BlindAttempt(solver="third", date="2026", solved=False, turns=10, level="L4"),
    )


@pytest.mark.parametrize("isolation", ["separate", "shared"])
def test_hidden_tests_may_ask_to_share_a_process_with_the_target(tmp_path: Path, isolation: str) -> None:
    assert FORMAT.load(write(tmp_path / "default"))[0].oracle == Oracle(isolation="separate")
    path = write(tmp_path / "asked", MANIFEST + f"oracle: {{isolation: {isolation}}}\n")
    assert FORMAT.load(path)[0].oracle == Oracle(isolation=isolation)


def test_interfaces_default_to_the_modules_of_the_targets(tmp_path: Path) -> None:
    manifest = MANIFEST.replace("stats.py", "pkg/stats.py, pkg/__init__.py, notes.md")
    added = {f"reference/{name}": "" for name in ("pkg/stats.py", "pkg/__init__.py", "notes.md")}
    path = write(tmp_path, manifest, added)
    assert FORMAT.load(path)[0].interfaces == ("pkg.stats", "pkg")


def test_environment_files_are_found_where_they_usually_are(tmp_path: Path) -> None:
    path = write(tmp_path, files={"environment/Dockerfile": "FROM x\n", "environment/requirements.txt": "numpy\n"})
    environment = FORMAT.load(path)[0].environment
    assert environment.dockerfile == tmp_path / "environment/Dockerfile"
    assert environment.requirements == tmp_path / "environment/requirements.txt"


def test_a_relative_path_is_good_for_later_from_elsewhere(tmp_path: Path) -> None:
    path = write(tmp_path, files={"environment/Dockerfile": "FROM x\n"})
    (task,) = FORMAT.load(Path(os.path.relpath(path)))
    assert task.environment.dockerfile is not None
    assert task.environment.dockerfile.is_absolute()
    with contextlib.chdir("/"):
        assert task.load().instruction


def test_an_image_stands_instead_of_the_dockerfile_that_lies_there(tmp_path: Path) -> None:
    path = write(tmp_path, MANIFEST + "environment: {image: python:3.12}\n", {"environment/Dockerfile": "FROM x\n"})
    environment = FORMAT.load(path)[0].environment
    assert (environment.image, environment.dockerfile) == ("python:3.12", None)


@pytest.mark.parametrize(
    ("key", "name", "refused"),
    [
        ("dockerfile", "Dockerfile", True),
        ("dockerfile", "tests/Dockerfile", True),
        ("dockerfile", "reference/deep/Dockerfile", True),
        ("dockerfile", "docker/Dockerfile", False),
        ("requirements", "tests/needs.txt", True),
        ("requirements", "needs.txt", False),
    ],
)
def test_what_is_built_is_apart_from_what_is_hidden(tmp_path: Path, key: str, name: str, refused: bool) -> None:
    path = write(tmp_path, MANIFEST + f"environment: {{{key}: {name}}}\n", {name: "FROM x\n"})
    if not refused:
        assert getattr(FORMAT.load(path)[0].environment, key) == tmp_path / name
        return
    with pytest.raises(UserError) as caught:
        FORMAT.load(path)
    assert_message(
        str(caught.value),
        f"{path}:5: environment.{key}",
        name,
        "tests, reference, feedback.yaml or proofs",
        "environment/",
    )


def test_an_environment_that_is_a_link_to_the_task_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, files={"Dockerfile": "FROM x\n"})
    (tmp_path / "environment").symlink_to(".")
    with pytest.raises(UserError, match="environment: is a symbolic link to "):
        FORMAT.load(path)


BAD_MANIFESTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "malformed": (
        "schema: 1\nid: mean\ntitle: The mean: a study\n",
        ("ROOT/task.yaml:3", "YAML", "mapping values are not allowed", "quotes"),
    ),
    "unclosed": ("schema: 1\ntargets: [a.py\n", ("ROOT/task.yaml:3", "YAML", "',' or ']'", "fix the line")),
    "two documents": (MANIFEST + "---\nschema: 1\n", ("ROOT/task.yaml:5", "YAML", "another document", "fix the line")),
    "empty": ("", ("ROOT/task.yaml", "mapping", KEYS, "nothing")),
    "a list": ("- schema: 1\n", ("ROOT/task.yaml:1", "mapping", KEYS, "a list")),
    "text": ("mean\n", ("ROOT/task.yaml:1", "mapping", KEYS, "text")),
    "unknown key": (
        MANIFEST + "interface: [stats]\n",
        ("ROOT/task.yaml:5", "unknown key 'interface'", "did you mean 'interfaces'?", KEYS),
    ),
    "unknown key, no guess": (MANIFEST + "zzz: 1\n", ("ROOT/task.yaml:5", "unknown key 'zzz'", KEYS)),
    "unknown key within": (
        MANIFEST + "limits:\n  seconds: 1\n  pids: 3\n",
        (
            "ROOT/task.yaml:6",
            "'seconds' in 'limits'",
            "'test_seconds'?",
            "test_seconds, grading_seconds, command_seconds, episode_seconds, memory_mb, disk_mb, pids",
        ),
    ),
    "misspelt key": (MANIFEST.replace("title:", "titel:"), ("ROOT/task.yaml:3", "'titel'", "'title'?", KEYS)),
    "control character": (
        MANIFEST.replace("The mean", '"The \\e[2Jmean"'),
        ("ROOT/task.yaml:3", "title", "control character", "remove"),
    ),
    "null byte": (
        MANIFEST + "license: M\0T\n",
        ("ROOT/task.yaml", "YAML", "control characters are not allowed", "fix the line"),
    ),
    "half a character": (
        MANIFEST + 'license: "\\ud800"\n#' + "[" * 1000,
        ("ROOT/task.yaml:5", "surrogate", "write the character itself"),
    ),
    "missing key": (
        MANIFEST.replace("targets: [stats.py]\n", ""),
        ("ROOT/task.yaml:1", "missing key 'targets'", "schema, id, title, targets"),
    ),
    "duplicate key": (MANIFEST + "id: other\n", ("ROOT/task.yaml:5", "'id'", "twice", "keep one")),
    "duplicate key within": (
        MANIFEST + "limits:\n  pids: 3\n  pids: 4\n",
        ("ROOT/task.yaml:7", "'pids'", "twice", "keep one"),
    ),
    "newer schema": (
        MANIFEST.replace("schema: 1", "schema: 2"),
        ("ROOT/task.yaml:1", "schema: 2", "schema: 1", "newer pytest-recode"),
    ),
    "schema as text": (
        MANIFEST.replace("schema: 1", 'schema: "1"'),
        ("ROOT/task.yaml:1", "schema", "the number 1", "text"),
    ),
    "id that YAML takes for a truth value": (
        MANIFEST.replace("id: mean", "id: no"),
        ("ROOT/task.yaml:2", "id", ID_WORDS, "true/false", 'id: "no"'),
    ),
    "id that YAML takes for a number": (
        MANIFEST.replace("id: mean", "id: 1.10e+3"),
        ("ROOT/task.yaml:2", "id", ID_WORDS, "a number", 'id: "1.10e+3"'),
    ),
    "id with a slash": (MANIFEST.replace("id: mean", "id: ../mean"), ("ROOT/task.yaml:2", "id", ID_WORDS, "'../mean'")),
    "id with a line break": (
        MANIFEST.replace("id: mean", 'id: "mean\\n"'),
        ("ROOT/task.yaml:2", "id", ID_WORDS, "'mean'"),
    ),
    "empty title": (MANIFEST.replace("The mean", '" "'), ("ROOT/task.yaml:3", "title", "empty", "remove the key")),
    "nothing for a title": (MANIFEST.replace("The mean", ""), ("ROOT/task.yaml:3", "title", "must be text", "nothing")),
    "targets as text": (
        MANIFEST.replace("[stats.py]", "stats.py"),
        ("ROOT/task.yaml:4", "targets", "list of paths relative to repo/", "text"),
    ),
    "no target": (
        MANIFEST.replace("[stats.py]", "[]"),
        ("ROOT/task.yaml:4", "targets", "empty list", "at least one", "paths relative to repo/"),
    ),
    "target twice": (
        MANIFEST.replace("[stats.py]", "[stats.py, stats.py]"),
        ("ROOT/task.yaml:4", "targets", "'stats.py'", "twice", "keep one"),
    ),
    "target outside": (
        MANIFEST.replace("[stats.py]", "\n- stats.py\n- ../other.py"),
        ("ROOT/task.yaml:6", "targets[1]", PATH_WORDS, "'../other.py'"),
    ),
    "target outside, hidden": (
        MANIFEST.replace("stats.py", "pkg/../../other.py"),
        ("ROOT/task.yaml:4", "targets[0]", PATH_WORDS, "'pkg/../../other.py'"),
    ),
    "absolute target": (
        MANIFEST.replace("stats.py", "/etc/stats.py"),
        ("ROOT/task.yaml:4", "targets[0]", PATH_WORDS, "'/etc/stats.py'"),
    ),
    "target not to be imported": (
        MANIFEST.replace("stats.py", "my-stats.py"),
        ("ROOT/task.yaml:4", "targets", "imported", "at least one Python file", "'package/module.py'"),
    ),
    "interface elsewhere": (
        MANIFEST + "interfaces: [stats.mean, statsmean]\n",
        ("ROOT/task.yaml:5", "interfaces[1]", "'statsmean'", "start with", "stats"),
    ),
    "interface with a space": (
        MANIFEST + "interfaces: [stats mean]\n",
        ("ROOT/task.yaml:5", "interfaces[0]", "'module.function'", "'stats mean'"),
    ),
    "negative limit": (
        MANIFEST + "limits:\n  test_seconds: -1\n",
        ("ROOT/task.yaml:6", "limits.test_seconds", "seconds", "86400", "-1"),
    ),
    "absurd limit": (
        MANIFEST + "limits: {memory_mb: 1e12}\n",
        ("ROOT/task.yaml:5", "limits.memory_mb", "MiB from 32 to 1048576", "text"),
    ),
    "limit that is no number": (
        MANIFEST + "limits: {test_seconds: .nan}\n",
        ("ROOT/task.yaml:5", "limits.test_seconds", "86400", ".nan"),
    ),
    "limit that is endless": (
        MANIFEST + "limits: {pids: .inf}\n",
        ("ROOT/task.yaml:5", "limits.pids", "from 1 to 65536", ".inf"),
    ),
    "half a process": (
        MANIFEST + "limits: {pids: 1.5}\n",
        ("ROOT/task.yaml:5", "limits.pids", "from 1 to 65536", "1.5"),
    ),
    "true for a number": (
        MANIFEST + "limits: {pids: yes}\n",
        ("ROOT/task.yaml:5", "limits.pids", "from 1 to 65536", "true/false"),
    ),
    "limits against each other": (
        MANIFEST + "limits: {test_seconds: 1200}\n",
        ("ROOT/task.yaml:5", "limits", "test_seconds (1200", "grading_seconds (600", "lower", "raise"),
    ),
    "number of too many digits": (
        MANIFEST + f"limits: {{pids: {'9' * 5000}}}\n",
        ("ROOT/task.yaml:5", "number", "9" * 40, "quotes"),
    ),
    "unknown isolation": (
        MANIFEST + "oracle: {isolation: process}\n",
        ("ROOT/task.yaml:5", "oracle.isolation", "separate, shared", "'process'"),
    ),
    "an oracle in one word": (
        MANIFEST + "oracle: shared\n",
        ("ROOT/task.yaml:5", "oracle", "mapping", "isolation", "text"),
    ),
    "unknown key of the oracle": (
        MANIFEST + "oracle: {script: run.py}\n",
        ("ROOT/task.yaml:5", "'script' in 'oracle'", "isolation"),
    ),
    "unknown difficulty": (
        MANIFEST + "difficulty: Hard\n",
        ("ROOT/task.yaml:5", "difficulty", "easy, medium, hard", "'Hard'"),
    ),
    "a blind attempt without an end": (
        MANIFEST + "measured:\n  - {solver: a, date: 2026-11-26}\n",
        (
            "ROOT/task.yaml:6",
            "measured[0]",
            "neither solved_at nor unsolved_after",
            "solved_at: TURN",
            "unsolved_after: TURNS",
        ),
    ),
    "a blind attempt with two ends": (
        MANIFEST + "measured:\n  - {solver: a, date: 2026-11-26, solved_at: 1, unsolved_after: 2}\n",
        ("ROOT/task.yaml:6", "measured[0]", "both solved_at and unsolved_after"),
    ),
    "a later turn without a level": (
        MANIFEST + "measured:\n  - {solver: a, date: 2026-11-26, solved_at: 3}\n",
        ("ROOT/task.yaml:6", "measured[0]", "solved_at: 3", "add level: L0, L1, L2, L3 or L4"),
    ),
    "a first turn with a level": (
        MANIFEST + "measured:\n  - {solver: a, date: 2026-11-26, unsolved_after: 1, level: L0}\n",
        ("ROOT/task.yaml:6", "measured[0]", "unsolved_after: 1", "remove level"),
    ),
    "a blind attempt in one word": (
        MANIFEST + "measured: [easy]\n",
        ("ROOT/task.yaml:5", "measured[0]", "mapping", "solver, date, solved_at"),
    ),
    "arxiv as a number": (
        MANIFEST + "paper: {arxiv: 2106.09680}\n",
        ("ROOT/task.yaml:5", "paper.arxiv", "text", "a number", 'arxiv: "2106.09680"'),
    ),
    "authors as text": (MANIFEST + "paper: {authors: A. B}\n", ("ROOT/task.yaml:5", "paper.authors", "list of text")),
    "wrong date": (
        MANIFEST + "paper: {date: 1.5.2013}\n",
        ("ROOT/task.yaml:5", "paper.date", "2013-06-04, 2013-06 or 2013", "'1.5.2013'"),
    ),
    "image and dockerfile": (
        MANIFEST + "environment:\n  image: python\n  dockerfile: Dockerfile\n",
        ("ROOT/task.yaml:7", "environment", "image", "dockerfile", "keep one"),
    ),
    "requirements that are not there": (
        MANIFEST + "environment: {requirements: needs.txt}\n",
        ("ROOT/task.yaml:5", "environment.requirements", "needs.txt", "create it"),
    ),
    "alias": (
        MANIFEST.replace("The mean", "&t The mean") + "license: *t\n",
        ("ROOT/task.yaml:3", "&name, *name", "write the value out"),
    ),
    "merge key": (MANIFEST + "<<: {license: MIT}\n", ("ROOT/task.yaml:5", "<<", "quotes")),
    "tag": (
        MANIFEST + "license: !!python/name:os.system\n",
        ("ROOT/task.yaml:5", "!!python/name:os.system", "write the plain value"),
    ),
    "key that is a number": (MANIFEST + "1: 2\n", ("ROOT/task.yaml:5", "key 1", "text", "quotes")),
    "key that is a list": (MANIFEST + "? [a]\n: 2\n", ("ROOT/task.yaml:5", "a list or a mapping", "text", "quotes")),
    "too deep": (MANIFEST + f"license: {'[' * 30}{']' * 30}\n", ("ROOT/task.yaml", "20 levels", "flatten")),
    "so deep that libyaml's reader would crash": (
        MANIFEST + f"license: {'[' * 30_000}{']' * 30_000}\n",
        ("ROOT/task.yaml", "20 levels", "flatten"),
    ),
    "too large": (MANIFEST + "#" * 70_000, ("ROOT/task.yaml", "64 KiB", "shorten")),
}


@pytest.mark.parametrize(("manifest", "parts"), BAD_MANIFESTS.values(), ids=BAD_MANIFESTS)
def test_a_bad_manifest_is_one_line_that_names_place_choices_and_next_step(
    tmp_path: Path, manifest: str, parts: tuple[str, ...]
) -> None:
    assert_message(refusal(write(tmp_path, manifest)), *parts)


def test_a_bomb_of_aliases_is_refused_before_it_grows(tmp_path: Path) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 40)]
    text = refusal(write(tmp_path, MANIFEST + "\n".join(lines)))
    assert_message(text, "ROOT/task.yaml:5", "aliases (&name, *name)", "write the value out")


def test_a_manifest_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(MANIFEST.replace("The mean", "Das Mittel für alle").encode("latin-1"))
    assert refusal(path) == "ROOT/task.yaml:3: not UTF-8 text (byte 0xfc); save the file as UTF-8"


def test_a_manifest_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert_message(refusal(tmp_path / "task.yaml"), "ROOT/task.yaml", "no such file", "create it", "the path")


def test_a_byte_order_mark_and_windows_line_ends_are_no_fault(tmp_path: Path) -> None:
    path = write(tmp_path)
    path.write_bytes(b"\xef\xbb\xbf" + MANIFEST.replace("\n", "\r\n").encode())
    assert FORMAT.load(path)[0].title == "The mean"


MISSING = {
    "instruction.md": ("ROOT/instruction.md", "no such file", "task.yaml", "the agent's instruction"),
    "repo": ("ROOT/repo", "no such directory", "task.yaml", "the agent starts from"),
    "reference": ("ROOT/reference", "no such directory", "task.yaml", "authors' version"),
    "tests": ("ROOT/tests", "no such directory", "task.yaml", "hidden tests", "test_*.py"),
}


@pytest.mark.parametrize("part", MISSING)
def test_a_missing_part_is_found_while_collecting(tmp_path: Path, part: str) -> None:
    path = write(tmp_path, files={name: None for name in FILES if name.startswith(part)})
    with pytest.raises(UserError) as caught:
        FORMAT.load(path)
    assert_message(str(caught.value).replace(str(tmp_path), "ROOT"), *MISSING[part])


def test_a_file_in_place_of_a_directory_is_found_while_collecting(tmp_path: Path) -> None:
    path = write(tmp_path, files={name: None for name in FILES if name.startswith("repo")})
    (tmp_path / "repo").write_text("")
    with pytest.raises(UserError) as caught:
        FORMAT.load(path)
    assert_message(str(caught.value), str(tmp_path / "repo"), "must be a directory", "the agent starts from")


def test_a_target_without_reference_is_found_while_collecting(tmp_path: Path) -> None:
    path = write(tmp_path, MANIFEST.replace("[stats.py]", "[stats.py, pkg/more.py]"))
    with pytest.raises(UserError) as caught:
        FORMAT.load(path)
    assert_message(
        str(caught.value), f"{path}:4: targets[1]", "reference/pkg/more.py is missing", "authors' pkg/more.py"
    )


def test_a_directory_without_tests_is_found_while_collecting(tmp_path: Path) -> None:
    path = write(tmp_path, files={"tests/test_stats.py": None, "tests/helper.py": "", "tests/deep/data.txt": ""})
    with pytest.raises(UserError) as caught:
        FORMAT.load(path)
    assert_message(str(caught.value), str(tmp_path / "tests"), "contains no test_*.py", "put the hidden tests there")


def test_tests_may_lie_deeper(tmp_path: Path) -> None:
    path = write(tmp_path, files={"tests/test_stats.py": None, "tests/deep/test_a.py": "def test_a(): ..."})
    assert list(FORMAT.load(path)[0].load().tests) == ["deep/test_a.py"]


def test_parts_hold_every_file_and_nothing_that_tools_left(tmp_path: Path) -> None:
    path = write(
        tmp_path, files={"repo/.git/config": "secret", "repo/pkg/deep/a.txt": "ä", "tests/.pytest_cache/x": ""}
    )
    (tmp_path / "repo/empty").mkdir()
    (tmp_path / "repo/__pycache__").mkdir()
    (tmp_path / "repo/__pycache__/stats.pyc").write_bytes(b"x")
    (tmp_path / "repo/raw.bin").write_bytes(b"\xff\x00")
    (tmp_path / "reference/.stats.py.swp").write_bytes(b"b0VIM")
    (tmp_path / "reference/#stats.py#").touch()
    (tmp_path / "reference/.#stats.py").symlink_to("me@host.1")
    parts = FORMAT.load(path)[0].load()
    assert list(parts.repo) == ["data.py", "pkg/deep/a.txt", "raw.bin", "stats.py"]
    assert parts.repo["pkg/deep/a.txt"] == "ä".encode()
    assert parts.repo["raw.bin"] == b"\xff\x00"
    assert parts.reference == {"stats.py": FILES["reference/stats.py"].encode()}
    assert parts.tests == {"test_stats.py": FILES["tests/test_stats.py"].encode()}
    assert (parts.instruction, parts.paper, parts.feedback) == (FILES["instruction.md"], FILES["paper.md"], None)


def test_a_paper_may_be_left_out(tmp_path: Path) -> None:
    assert FORMAT.load(write(tmp_path, files={"paper.md": None}))[0].load().paper is None


def test_names_with_spaces_and_of_any_script_work(tmp_path: Path) -> None:
    manifest = MANIFEST.replace("stats.py", "größe/maß.py, daten 1/a b.csv")
    root = tmp_path / "Aufgabe 1, Mittelmaß"
    path = write(root, manifest, {"reference/stats.py": None, "repo/stats.py": None})
    for name in ("reference/größe/maß.py", "reference/daten 1/a b.csv", "repo/lies mich.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    (task,) = FORMAT.load(path)
    parts = task.load()
    assert task.interfaces == ("größe.maß",)
    assert set(parts.reference) == set(task.targets) == {"größe/maß.py", "daten 1/a b.csv"}
    assert parts.repo["lies mich.txt"] == b"repo/lies mich.txt"


def test_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    (tmp_path / "repo/passwords").symlink_to("/etc/passwd")
    assert_message(refusal(path), "ROOT/repo/passwords", "symbolic link to /etc/passwd", "copy of its target")


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path)
    os.mkfifo(tmp_path / "repo/pipe")
    assert_message(refusal(path), "ROOT/repo/pipe", "special file", "remove it")


def test_a_file_name_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/repo/a\xff.py")).write_text("")
    assert_message(refusal(path), "ROOT/repo/a\\udcff.py", "not UTF-8", "rename the file")


def test_a_repository_larger_than_the_disk_of_a_sandbox_is_refused_unread(tmp_path: Path) -> None:
    path = write(tmp_path, MANIFEST + "limits: {disk_mb: 2}\n")
    with (tmp_path / "repo/weights.bin").open("wb") as file:
        file.truncate(1 << 40)  # a hole: reading it would need a terabyte
    assert_message(refusal(path), "ROOT/repo", "1048576 MiB", "limits.disk_mb (2)", "remove files", "raise the limit")


def test_a_reference_file_that_is_no_target_is_refused(tmp_path: Path) -> None:
    text = refusal(write(tmp_path, files={"reference/helper.py": ""}))
    assert_message(text, "ROOT/reference/helper.py", "not a target", "remove it", "'targets' in ROOT/task.yaml")


def test_an_empty_instruction_is_refused(tmp_path: Path) -> None:
    text = refusal(write(tmp_path, files={"instruction.md": " \n"}))
    assert_message(text, "ROOT/instruction.md", "is empty", "instruction")


@pytest.mark.parametrize("name", ["instruction.md", "paper.md"])
def test_words_that_are_not_utf8_are_refused(tmp_path: Path, name: str) -> None:
    path = write(tmp_path)
    (tmp_path / name).write_bytes(b"one\ntwo \xe9\n")
    assert refusal(path) == f"ROOT/{name}:2: not UTF-8 text (byte 0xe9); save the file as UTF-8"


def test_what_vanishes_after_collection_is_said_when_it_is_read(tmp_path: Path) -> None:
    (task,) = FORMAT.load(write(tmp_path))
    (tmp_path / "reference/stats.py").unlink()
    with pytest.raises(UserError) as caught:
        task.load()
    assert str(caught.value) == (
        f"{tmp_path / 'reference/stats.py'}: no such file; put the authors' version of the target there"
    )


CLASSES = """\
from base import Base

LIMIT = 3
if LIMIT:
    first, second = 1, 2


def mean(values):
    return sum(values) / len(values)


class Own:
    kept = 0

    def __init__(self):
        self.total = 0

    def add(self):
        global hidden
        hidden = 1


class Heir(Base):
    pass
"""


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("stats.meen", ("'stats.meen'", "'stats.mean'?", "stats.mean, stats.Own", "correct one of the two files")),
        ("stats.own.add", ("'stats.own.add'", "'stats.Own.add'?")),
        ("stats.Own.ad", ("'stats.Own.ad'", "'stats.Own.add'?")),
    ],
)
def test_an_interface_that_the_reference_does_not_define_is_an_error_of_the_manifest(
    tmp_path: Path, name: str, parts: tuple[str, ...]
) -> None:
    """Also if feedback.yaml has the right name."""
    manifest = MANIFEST + f"interfaces:\n  - stats.LIMIT\n  - {name}\n"
    files = {"reference/stats.py": CLASSES, "feedback.yaml": "stats.mean: {analysis: x}\n"}
    text = refusal(write(tmp_path, manifest, files))
    assert_message(text, "ROOT/task.yaml:7: interfaces[1]", "reference/stats.py", *parts)


@pytest.mark.parametrize(
    ("name", "source"),
    [
        *((name, CLASSES) for name in ("stats.first", "stats.hidden", "stats.Base.run", "stats.Heir.run")),
        *((name, CLASSES) for name in ("stats.Own.total", "stats.Own.kept", "stats.Own.__call__", "stats.mean.cache")),
        ("stats.new", "from base import *\n"),
        ("stats.new", "def __getattr__(name):\n    return name\n"),
        ("stats.new", "globals().update(new=1)\n"),
        ("stats.new", "print 1\n"),
    ],
)
def test_an_interface_that_the_reference_may_define_is_left_to_the_tests(
    tmp_path: Path, name: str, source: str
) -> None:
    files = {"reference/stats.py": source}
    FORMAT.load(write(tmp_path, MANIFEST + f"interfaces: [{name}]\n", files))[0].load()


FEEDBACK_FIELDS = "category, description, analysis, suggestion, correction"
BAD_FEEDBACK: dict[str, tuple[str, tuple[str, ...]]] = {
    "unknown interface": (
        "stat:\n  description: x\n",
        ("ROOT/feedback.yaml:1", "'stat'", "'stats'?", "the keys are stats"),
    ),
    "unknown field": (
        "stats:\n  description: x\n  sugestion: y\n",
        ("ROOT/feedback.yaml:3", "'sugestion' in 'stats'", "'suggestion'?", FEEDBACK_FIELDS),
    ),
    "not a mapping": ("- stats\n", ("ROOT/feedback.yaml:1", "mapping with the keys stats", "a list")),
    "empty": ("", ("ROOT/feedback.yaml", "mapping with the keys stats", "nothing")),
    "fields not a mapping": ("stats: words\n", ("ROOT/feedback.yaml:1: stats", FEEDBACK_FIELDS, "text")),
    "a number": ("stats: {analysis: 3}\n", ("ROOT/feedback.yaml:1: stats.analysis", "a number", 'write analysis: "3"')),
    "blank": ('stats: {analysis: " "}\n', ("ROOT/feedback.yaml:1: stats.analysis", "is empty", "remove the key")),
    "category": ("stats: {category: T5}\n", ("ROOT/feedback.yaml:1: stats.category", "T0, T1, T2, T3, T4", "'T5'")),
    "code in words": (
        "stats:\n  suggestion: |\n    Do\n    ```\n    x = 1\n    ```\n",
        ("ROOT/feedback.yaml:2: stats.suggestion", "code fence", "'correction'"),
    ),
    "fence in code": (
        "stats:\n  correction: |\n    ```python\n    x = 1\n    ```\n",
        ("ROOT/feedback.yaml:2: stats.correction", "code fence", "only the code"),
    ),
}


@pytest.mark.parametrize(("feedback", "parts"), BAD_FEEDBACK.values(), ids=BAD_FEEDBACK)
def test_a_bad_feedback_file_is_one_line(tmp_path: Path, feedback: str, parts: tuple[str, ...]) -> None:
    assert_message(refusal(write(tmp_path, files={"feedback.yaml": feedback})), *parts)


def test_feedback_arrives_as_written(tmp_path: Path) -> None:
    text = (
        "stats:\n  category: T2\n  description: It is off.\n  correction: |\n    def mean(values):\n        return 0\n"
    )
    parts = FORMAT.load(write(tmp_path, files={"feedback.yaml": text}))[0].load()
    assert parts.feedback == {
        "stats": {
            "category": "T2",
            "description": "It is off.",
            "correction": "def mean(values):\n    return 0\n",
        }
    }


def test_a_target_that_is_relative_to_the_task(tmp_path: Path) -> None:
    """It is right if the repository itself has a directory of this name."""
    manifest = MANIFEST.replace("targets: [", "targets: [repo/") + "interfaces: [{}]\n"
    with pytest.raises(UserError) as raised:
        FORMAT.load(write(tmp_path / "wrong", manifest.format("stats.mean")))
    assert_message(str(raised.value), "task.yaml:4: targets[0]", "relative to repo/", "leave out 'repo/'", "stats.py")
    same = {"repo/repo/stats.py": "", "reference/repo/stats.py": ""}
    [task] = FORMAT.load(write(tmp_path / "right", manifest.format("repo.stats.mean"), same))
    assert task.targets == ("repo/stats.py",)
