"""The action `search`: ranks the functions and classes of a repository by a query. `definitions` splits a Python file into them.

Called in the pytest process, by the agents `recode` and `recode-h`. Ranks by words (BM25, Robertson and Zaragoza 2009, in the
variant of Lucene, as the package `bm25s` computes it) or, with an embedding model, by the cosine of vectors. Must not import or run
anything of the repository: it is searched as text.
"""

from __future__ import annotations

import functools
import hashlib
import logging
import re
import sys
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_recode.agents import Waiting, Workspace, counted
from pytest_recode.agents.prompt_texts import cut
from pytest_recode.agents.vectors import Vectors
from pytest_recode.models import Embedder, Usage
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.task import Brief, Files

MOST = 5
"""Definitions of one answer, as in RECODE-H."""
MAX_SHOWN = 3_000
"""Characters of one of them, some 750 tokens: `read` shows the rest."""
MAX_FILE = 1 << 20
"""Bytes; a longer Python file is data, or was generated."""
MAX_KEPT = 2
"""Repositories that a process keeps the words of: its episodes come task by task."""

_HEADER = re.compile(r"(?:async[ \t]+)?(?P<kind>def|class)[ \t]+(?P<name>\w+)")
_WORD = re.compile(r"[^\W\d_]+|\d+")
_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_IDENTIFIER = re.compile(r"\w{1,100}")  # a longer one is no name


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """`first` and `last` are lines of the file, from 1. Of a class the methods are their heads alone: each is a Definition."""

    path: str
    name: str  # dotted within the file
    first: int
    last: int
    code: str

    @property
    def text(self) -> str:
        """As it is shown."""
        return f"# {self.path}, lines {self.first} to {self.last}: {self.name}\n{cut(self.code, MAX_SHOWN)}"

    @property
    def about(self) -> str:
        """What a vector is made of: not the lines, which move when something above changes."""
        return f"{self.path} {self.name}\n{self.code}"


@dataclass(slots=True, kw_only=True)
class Retrieval:
    """The searches of one episode. `shared` is the directory of its run, for vectors that all workers use."""

    embedder: Embedder | None = None
    shared: Path | None = None
    files: RunFiles = LOCAL
    waiting: Waiting = counted
    _index: tuple[str, Any] | None = field(default=None, repr=False)  # of the last search, and what it was made from
    _vectors: Vectors | None = field(default=None, repr=False)

    def find(self, query: str, brief: Brief, targets: Files) -> tuple[tuple[Definition, ...], Usage]:
        """At most MOST definitions of the repository with its targets as they are now, and what finding them cost.

        Raises what `Embedder.embed` raises.
        """
        repo = {path: data for path, data in brief.repo.items() if path not in brief.targets}
        if self.embedder is None:
            return self._by_words(query, repo, targets), Usage()
        unchanged, fresh = _repository(repo).definitions, cut_up(targets)
        if not unchanged and not fresh:
            return (), Usage()
        if self._vectors is None:
            self._vectors = Vectors(embedder=self.embedder, shared=self.shared, files=self.files, waiting=self.waiting)
        old, new = ([definition.about for definition in group] for group in (unchanged, fresh))
        places, usage = self._vectors.nearest(query, old, new, MOST)
        both = (*unchanged, *fresh)
        return tuple(both[place] for place in places), usage

    def _by_words(self, query: str, repo: Files, targets: Files) -> tuple[Definition, ...]:
        known, fresh = _repository(repo), cut_up(targets)
        both = (*known.definitions, *fresh)
        key = known.digest + digest(targets)
        if not both:
            return ()
        if self._index is None or self._index[0] != key:
            self._index = key, _indexed([*known.words, *map(words_of, fresh)])
        index = self._index[1]
        asked = [word for word in dict.fromkeys(words(query)) if word in index.vocab_dict]
        if not asked:
            return ()
        scores = index.get_scores(asked)
        best = sorted(range(len(both)), key=lambda place: (-scores[place], both[place].path, both[place].first))
        return tuple(both[place] for place in best[:MOST] if scores[place] > 0)


@dataclass(slots=True, kw_only=True)
class Searches:
    """The searches of one turn, in the targets as they are when it is searched, and what they cost."""

    retrieval: Retrieval
    brief: Brief
    workspace: Workspace
    usage: Usage = field(default_factory=Usage)

    def answer(self, query: str) -> str:
        """What an agent is told of a search."""
        found, usage = self.retrieval.find(query, self.brief, self.workspace.targets())
        self.usage += usage
        return "\n\n".join(each.text for each in found) or "No function or class of the repository is like that."


def cut_up(files: Files) -> tuple[Definition, ...]:
    """Every function, class and method of the Python files, in their order."""
    return tuple(
        definition
        for path in sorted(files)
        if path.endswith(".py") and len(files[path]) <= MAX_FILE and b"\0" not in files[path]
        for definition in definitions(path, files[path].decode("utf-8", "replace"))
    )


@dataclass(slots=True, kw_only=True)
class _OpenDefinition:
    """A definition whose end was not met yet. `holes` are the bodies of its methods: first line and end, from 0."""

    indent: int
    kind: str
    name: str
    first: int
    holes: list[tuple[int, int]] = field(default_factory=list)


def definitions(path: str, text: str) -> Iterator[Definition]:
    """By indentation alone: a twentieth of the time of parsing, and files that are no Python of this version are cut as well."""
    lines = [line.rstrip("\r") for line in text.expandtabs().split("\n")]
    stack: list[_OpenDefinition] = []
    decorated: int | None = None
    last = 0
    for at, line in enumerate([*lines, "end"]):
        bare = line.lstrip()
        if not bare or bare[0] in "#)]}":  # a comment ends nothing, nor does the end of a signature of several lines
            continue
        indent = len(line) - len(bare)
        while stack and indent <= stack[-1].indent:
            yield _closed(path, lines, stack, last + 1)
        last = at
        if bare[0] == "@":
            decorated = at if decorated is None else decorated
            continue
        head = _HEADER.match(bare) if bare[0] in "adc" else None
        # a function within a function is a part of it
        if head is not None and not (stack and stack[-1].kind == "def"):
            first = at if decorated is None else decorated
            stack.append(_OpenDefinition(indent=indent, kind=head["kind"], name=head["name"], first=first))
        decorated = None


def _closed(path: str, lines: Sequence[str], stack: list[_OpenDefinition], end: int) -> Definition:
    done = stack.pop()
    name = ".".join([*(each.name for each in stack), done.name])
    if stack:
        stack[-1].holes.append((_body(lines, done.first, end), end))
    code: list[str] = []
    at = done.first
    for start, stop in [*done.holes, (end, end)]:
        code += lines[at:start]
        if start < stop:
            code.append(f"{lines[start][: len(lines[start]) - len(lines[start].lstrip())]}...")
        at = max(at, stop)
    return Definition(path=path, name=name, first=done.first + 1, last=end, code="\n".join(code))


def _body(lines: Sequence[str], first: int, end: int) -> int:
    """Where the body of a definition begins: after its decorators and its signature."""
    head = next((at for at in range(first, end) if _HEADER.match(lines[at].lstrip())), first)
    if lines[head].count("(") <= lines[head].count(")"):
        return head + 1
    return next((at + 1 for at in range(head, end) if lines[at].rstrip().endswith(":")), head + 1)


def words(text: str) -> list[str]:
    """In lower case; of an identifier all of it, and its parts: `LayerNorm_2` is layernorm_2, layer, norm, 2."""
    return [part for identifier in _IDENTIFIER.findall(text) for part in _parts(identifier)]


@functools.lru_cache(maxsize=1 << 17)  # the same names stand all over a repository
def _parts(identifier: str) -> tuple[str, ...]:
    parts = [sys.intern(part.lower()) for piece in _WORD.findall(identifier) for part in _HUMP.split(piece)]
    return tuple(parts) if len(parts) < 2 else (*parts, sys.intern(identifier.lower()))


def words_of(definition: Definition) -> list[str]:
    """Its name counts twice more: a query names what it is for."""
    return words(f"{definition.path} {definition.name} {definition.name} {definition.code}")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Repository:
    digest: str
    definitions: tuple[Definition, ...]
    _words: list[list[list[str]]] = field(default_factory=list)

    @property
    def words(self) -> list[list[str]]:
        if not self._words:
            self._words.append([words_of(each) for each in self.definitions])
        return self._words[0]


_REPOSITORIES: OrderedDict[str, _Repository] = OrderedDict()


def _repository(files: Files) -> _Repository:
    """Cut up once per process: episodes of one task have the same files."""
    key = digest(files)
    if key not in _REPOSITORIES:
        _REPOSITORIES[key] = _Repository(digest=key, definitions=cut_up(files))
        while len(_REPOSITORIES) > MAX_KEPT:
            _REPOSITORIES.popitem(last=False)
    _REPOSITORIES.move_to_end(key)
    return _REPOSITORIES[key]


def digest(files: Mapping[str, bytes]) -> str:
    """Of the Python files."""
    digest = hashlib.sha256()
    for path in sorted(files):
        if path.endswith(".py"):
            digest.update(f"{len(path)} {path} {len(files[path])} ".encode("utf-8", "surrogatepass"))
            digest.update(files[path])
    return digest.hexdigest()


def _indexed(documents: Iterable[Sequence[str]]) -> Any:
    import bm25s

    logging.getLogger("bm25s").setLevel(logging.WARNING)  # it tells of each index that it makes
    index = bm25s.BM25()
    index.index([list(each) for each in documents], show_progress=False)
    return index
