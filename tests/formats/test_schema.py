"""The published schema and the loader are two tellings of one format: they must give the same verdicts."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import pytest_recode.formats
from pytest_recode.faults import UserError
from pytest_recode.formats.directory import FORMAT
from tests.formats.task_directory import write

SCHEMA = json.loads((Path(pytest_recode.formats.__file__).parent / "task.schema.json").read_text(encoding="utf-8"))
LEAST = {"schema": 1, "id": "mean", "title": "The mean", "targets": ["stats.py"]}

BLIND = {"solver": "a", "date": "2026-11-26", "solved_at": 1}

ODD: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    1,
    -1,
    1.5,
    2.0,
    10**9,
    "",
    " ",
    "a",
    "A b",
    "ä",
    "a\n",
    "a\x1b[2J",
    "\x85",
    [],
    ["a"],
    {},
    {"a": 1},
)

PLACES: dict[tuple[str, ...], tuple[Any, ...]] = {
    ("schema",): (1, 1.0, 2),
    ("id",): ("a", "a.b_c-1", ".a", "-a", "a/b", "a b", "a" * 100, "a" * 101, "1e3"),
    ("title",): ("x", "two\nlines"),
    ("targets",): (
        ["stats.py"],
        ["stats.py", "stats.py"],
        ["../stats.py"],
        ["./stats.py"],
        ["/stats.py"],
        ["a/../stats.py"],
        ["a//stats.py"],
        ["stats.py/"],
        ["a\\stats.py"],
        ["stats.txt"],
        ["1stats.py"],
        ["my-stats.py"],
        ["my stats.py"],
        ["stats.py", "my stats.py", "..x", "a/..x/...", "a.b/c"],
        ["größe/maß.py"],
        ["stats.py\n"],
        ["stats.py", 3],
        ["stats.py", None],
    ),
    ("interfaces",): (
        ["stats"],
        ["stats.mean"],
        ["stats.Stats.mean"],
        ["stats.größe"],
        ["stats."],
        ["stats..a"],
        ["stats.1"],
        ["stats", "stats"],
        ["stats.a\n"],
    ),
    ("paper",): ({"title": "x"}, {"titel": "x"}),
    ("paper", "authors"): (["A. B"], ["A. B", "A. B"], [""]),
    ("paper", "year"): (1599, 1600, 2013, 2200, 2201, 2013.0, 2013.5, "2013"),
    ("paper", "arxiv"): ("1306.0895", 1306.0895),
    ("paper", "date"): ("2013", "2013-06", "2013-06-04", "2013-6", "4.6.2013", "2013-06-04\n", 2013),
    ("domain",): ("ml", "two words", "-x", "ml\n"),
    ("tags",): (["a", "b.c-d_e"], ["a b"], ["a", "a"], ["ä"], [1]),
    ("subsets",): (["quick"], ["quick", "slow-1"], ["a b"], ["a", "a"], "quick"),
    ("difficulty",): ("easy", "medium", "hard", "Easy"),
    ("measured",): (
        [BLIND],
        [BLIND, {**BLIND, "solver": "b", "solved_at": 3, "level": "L2"}],
        [BLIND, BLIND],
        [{**BLIND, "level": "L0"}],
        [{**BLIND, "solved_at": 1.0}],
        [{**BLIND, "solved_at": 0}],
        [{**BLIND, "solved_at": 2}],
        [{**BLIND, "solved_at": 2, "level": "L5"}],
        [{**BLIND, "solved_at": 1000, "level": "L4"}],
        [{**BLIND, "solved_at": 1001, "level": "L4"}],
        [{**BLIND, "unsolved_after": 1}],
        [{"solver": "a", "date": "2026", "unsolved_after": 1}],
        [{"solver": "a", "date": "2026", "unsolved_after": 1, "level": "L0"}],
        [{"solver": "a", "date": "2026", "unsolved_after": 10, "level": "L4"}],
        [{"solver": "a", "date": "2026", "unsolved_after": 10}],
        [{"solver": "a", "date": "2026"}],
        [{"solver": "a", "solved_at": 1}],
        [{"date": "2026", "solved_at": 1}],
        [{**BLIND, "date": 2026}],
        [{**BLIND, "turns": 1}],
        BLIND,
    ),
    ("environment",): ({"image": "a", "dockerfile": "task.yaml"}, {"image": "a"}, {"dockerfile": "task.yaml"}),
    ("environment", "name"): ("py312", "torch-2.1", 3.12, "two words", "/usr/bin/python3"),
    ("environment", "requirements"): ("task.yaml", "../task.yaml", "/task.yaml"),
    ("environment", "preload"): (["numpy", "numpy.linalg"], ["numpy-linalg"], ["numpy", "numpy"]),
    ("limits",): ({"seconds": 1},),
    ("limits", "test_seconds"): (0, 0.001, 600, 86401, "1"),
    ("limits", "grading_seconds"): (0, 60, 86400, 86401),
    ("limits", "command_seconds"): (-1, 5, 86400.5),
    ("limits", "episode_seconds"): (604800, 604801),
    ("limits", "memory_mb"): (31, 32, 64.0, 64.5, 1048576, 1048577),
    ("limits", "disk_mb"): (0, 1, 1048577),
    ("limits", "pids"): (0, 1, 65536, 65537),
    ("oracle",): ({"isolation": "shared"}, {"script": "x"}),
    ("oracle", "isolation"): ("shared", "separate", "Shared", "process"),
    ("invariants",): (
        [{"of": "stats.Sums", "holds": "self.n > 0"}],
        [{"of": "stats.Sums", "holds": "self.n > 0"}, {"of": "stats.mean", "holds": "len(values)"}],
        [{"of": "stats.Sums", "holds": "self.n > 0"}, {"of": "stats.Sums", "holds": "self.n > 0"}],
        [{"of": "stats.Sums"}],
        [{"of": "stats Sums", "holds": "self.n"}],
        [{"of": "stats.Sums", "holds": "self.n >"}],
        [{"of": "stats.Sums", "holds": "self.n", "not": 1}],
        {"of": "stats.Sums", "holds": "self.n"},
    ),
    ("license",): ("MIT",),
    ("canary",): ("x" * 19, "x" * 20, "x y" * 7, " " + "x" * 20, "x" * 20 + "\n", "ä" * 20),
    ("nonsense",): ("x",),
}


BEYOND = re.compile(
    "a Python expression about|is not in a target|exceeds grading_seconds|requirements: no such file|would be copied into the image"
)
"""What no schema can say, and so only the loader refuses."""


def manifests(place: tuple[str, ...]) -> list[dict[str, Any]]:
    """Many manifests that differ from a good one in one place."""
    variants = []
    for value in (*PLACES[place], *ODD):
        manifest: dict[str, Any] = json.loads(json.dumps(LEAST))
        parent = manifest
        for key in place[:-1]:
            parent = parent.setdefault(key, {})
        parent[place[-1]] = value
        variants.append(manifest)
    return variants


def schema_says(manifest: object) -> bool:
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(manifest)


def loader_says(root: Path, manifest: dict[str, Any]) -> str:
    """ "" where it is accepted, else why not. JSON is YAML; every file a good manifest may name is there."""
    targets = manifest.get("targets")
    names = [name for name in targets if isinstance(name, str)] if isinstance(targets, list) else []
    inside = {f"reference/{name}": "" for name in names if name and not {"", ".", ".."} & set(name.split("/"))}
    path = write(root, json.dumps(manifest), inside)
    try:
        FORMAT.load(path)
    except UserError as error:
        return str(error)
    return ""


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize("place", PLACES, ids=".".join)
def test_schema_and_loader_agree(tmp_path: Path, place: tuple[str, ...]) -> None:
    disagreements = []
    verdicts = set()
    for number, manifest in enumerate(manifests(place)):
        refusal = loader_says(tmp_path / str(number), manifest)
        valid = schema_says(manifest)
        verdicts.add(valid)
        if valid != (refusal == "" or BEYOND.search(refusal) is not None):
            disagreements.append((manifest, valid, refusal))
    assert disagreements == []
    # Where all are refused, or none, agreeing would say nothing.
    assert verdicts == ({False} if place == ("nonsense",) else {True, False})


@pytest.mark.parametrize("key", LEAST)
def test_schema_and_loader_agree_on_what_is_needed(tmp_path: Path, key: str) -> None:
    manifest = {name: value for name, value in LEAST.items() if name != key}
    assert not schema_says(manifest)
    assert f"missing key '{key}'" in loader_says(tmp_path, manifest)


def test_the_schema_describes_the_keys_that_the_loader_lists(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        FORMAT.load(write(tmp_path, "zzz: 1\nschema: 1\nid: a\ntitle: b\ntargets: [stats.py]\n"))
    assert str(caught.value).endswith("the keys are " + ", ".join(SCHEMA["properties"]))
