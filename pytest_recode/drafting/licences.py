"""Find the licence of a repository, and decide whether its code may become part of a task."""

from __future__ import annotations

import re
import tomllib
from configparser import ConfigParser
from configparser import Error as ConfigError
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_recode.faults import UserError

PERMISSIVE = (
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "BSL-1.0", "CC0-1.0", "ISC"),
    *("MIT", "MIT-0", "PSF-2.0", "Unlicense", "Zlib"),
)
"""SPDX identifiers of licences under which code may be copied into a task, if the text of the licence goes with it."""

_FILE = re.compile(r"(licen[cs]e|copying|unlicense)([-._].*)?", re.IGNORECASE)
_TEXTS = (
    ("AGPL-3.0", r"gnu affero general public license"),
    ("LGPL", r"gnu (lesser|library) general public license"),
    ("GPL", r"gnu general public license"),
    ("MPL-2.0", r"mozilla public license"),
    ("EPL-2.0", r"eclipse public license"),
    ("CC-BY-NC", r"(creative commons )?attribution-noncommercial"),
    ("CC-BY-SA", r"attribution-sharealike"),
    ("Apache-2.0", r"apache license,? version 2\.0"),
    ("CC0-1.0", r"cc0 1\.0 universal"),
    ("BSL-1.0", r"boost software license - version 1\.0"),
    ("Unlicense", r"this is free and unencumbered software released into the public domain"),
    ("Zlib", r"this software is provided 'as-is', without any express or implied warranty\. in no event"),
    ("PSF-2.0", r"python software foundation license version 2"),
    (
        "ISC",
        r"permission to use, copy, modify, and/?(or)? distribute this software for any purpose with or without fee",
    ),
    ("MIT", r"permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("BSD-3-Clause", r"redistribution and use in source and binary forms(.|\n)*(neither the name|the names? of)"),
    ("BSD-2-Clause", r"redistribution and use in source and binary forms"),
)
"""Text that only this licence has, in the order in which they are tried: some licences mention others that come later."""
_NAMES = (
    ("AGPL-3.0", r"\bagpl|affero"),
    ("LGPL", r"\blgpl|lesser general public"),
    ("GPL", r"\bgpl|gnu general public"),
    ("MPL-2.0", r"\bmpl|mozilla public"),
    ("Apache-2.0", r"apache"),
    ("BSD-2-Clause", r"bsd[- ]2|simplified bsd|2-clause"),
    ("BSD-3-Clause", r"bsd"),
    ("ISC", r"\bisc\b"),
    ("MIT", r"\bmit\b"),
    ("CC0-1.0", r"cc0"),
    ("Unlicense", r"unlicense"),
    ("Zlib", r"zlib"),
    ("PSF-2.0", r"python software foundation|psf"),
    ("BSL-1.0", r"boost|bsl-1"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Licence:
    """`name`: an SPDX identifier. `source`: where it was read. `files`: licence files, relative to the repository."""

    name: str
    source: str
    files: tuple[str, ...] = ()


def permitted(repository: Path, stated: str) -> Licence:
    """The licence of `repository`, or `stated` if the user knows better. Raises `UserError` unless it is permissive and certain."""
    files = tuple(
        sorted(
            each.name
            for each in repository.iterdir()
            if each.is_file() and not each.is_symlink() and _FILE.fullmatch(each.name)
        )
    )
    if stated:
        if stated not in PERMISSIVE:
            raise UserError(f"--license={stated}: is none of the licences whose code may be copied: {_choices()}")
        return Licence(name=stated, source="--license", files=files)
    by_file = {name: _of_text(_text(repository / name)) for name in files}
    by_file |= _of_metadata(repository)
    known = {source: name for source, name in by_file.items() if name}
    if not known:
        seen = f"{', '.join(by_file)} names none that is known" if by_file else "it has no licence file and no metadata"
        raise UserError(
            f"{repository}: its licence is unknown ({seen}), so its code may not be copied into a task. If you know that it is {_choices()},"
            " state it with --license=NAME"
        )
    forbidden = {source: name for source, name in known.items() if name not in PERMISSIVE}
    kinds = {name.removesuffix("-3-Clause").removesuffix("-2-Clause") for name in known.values()}
    if forbidden or len(kinds) > 1:
        listed = ", ".join(f"{name} in {source}" for source, name in known.items())
        why = (
            "does not permit a copy under its own terms"
            if forbidden and len(kinds) == 1
            else "is not the same everywhere"
        )
        raise UserError(
            f"{repository}: its licence {why} ({listed}): code for a task must be under {_choices()}. If you have the permission of"
            " its authors, state the licence with --license=NAME"
        )
    source = next(iter(known))
    return Licence(name=known[source], source=source, files=files)


def _choices() -> str:
    return f"{', '.join(PERMISSIVE[:-1])} or {PERMISSIVE[-1]}"


def _text(path: Path) -> str:
    return path.read_text("utf-8", "replace")[:200_000]


def _of_text(text: str) -> str:
    plain = " ".join(text.lower().replace('"', "'").split())
    return next((name for name, words in _TEXTS if re.search(words, plain)), "")


def _of_name(text: str) -> str:
    if text in PERMISSIVE:
        return text
    return (
        next((name for name, words in _NAMES if re.search(words, text.lower())), "")
        if len(text) < 200
        else _of_text(text)
    )


def _of_metadata(repository: Path) -> dict[str, str]:
    """The licence by metadata file, "" for one that is named and unknown."""
    by_file: dict[str, str] = {}
    pyproject = repository / "pyproject.toml"
    if pyproject.is_file():
        stated = _of_pyproject(pyproject)
        by_file |= {"pyproject.toml": _of_name(stated)} if stated else {}
    config = repository / "setup.cfg"
    if config.is_file():
        parser = ConfigParser(interpolation=None)
        try:
            parser.read_string(_text(config))
            stated = parser.get("metadata", "license", fallback="") or _classified(
                parser.get("metadata", "classifiers", fallback="")
            )
        except ConfigError:
            stated = ""
        by_file |= {"setup.cfg": _of_name(stated)} if stated else {}
    setup = repository / "setup.py"
    if setup.is_file():
        text = _text(setup)
        named = re.search(r"\blicense\s*=\s*['\"]([^'\"]+)['\"]", text)
        stated = named[1] if named else _classified(text)
        by_file |= {"setup.py": _of_name(stated)} if stated else {}
    return by_file


def _of_pyproject(path: Path) -> str:
    try:
        document: dict[str, Any] = tomllib.loads(_text(path))
    except tomllib.TOMLDecodeError:
        return ""
    project = document.get("project") or document.get("tool", {}).get("poetry") or {}
    if not isinstance(project, dict):
        return ""
    stated = project.get("license", "")
    if isinstance(stated, dict):
        stated = stated.get("text", "")
    return str(stated or _classified("\n".join(map(str, project.get("classifiers", ())))))


def _classified(text: str) -> str:
    found = re.search(r"License :: (?:OSI Approved :: )?([^\n'\"]+)", text)
    return found[1] if found else ""
