"""The page of an episode, which reports of other plugins (pytest-html, allure) get as an attachment."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import UserError

if TYPE_CHECKING:
    from pytest_recode.records.run_files import RunFiles
    from pytest_recode.records.transcript_turns import PlayedEpisode


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFile:
    """A page as a file of its own: HTML, or plain text. `extension` has no dot."""

    content: str
    mime_type: str
    extension: str

    @property
    def html(self) -> bool:
        return self.extension == "html"


def episode_page(transcript: Path, files: RunFiles) -> PageFile:
    """The page of an episode as in `pytest-recode html`; without Jinja, the text of `pytest-recode show`.

    A transcript that cannot be read becomes a page that says why.
    """
    from pytest_recode.records.transcript_turns import read_episode

    try:
        played = read_episode(transcript, files)
    except UserError as error:
        return _text(f"There is no page of this episode: {error}\n")
    if importlib.util.find_spec("jinja2") is None:
        from pytest_recode.render.episode_text import ShownParts, painted, shown

        return _text(painted(shown(played, ShownParts()), colour=False))
    return PageFile(content=_page(played), mime_type="text/html", extension="html")


def _text(content: str) -> PageFile:
    return PageFile(content=content, mime_type="text/plain", extension="txt")


def _page(played: PlayedEpisode) -> str:
    from pytest_recode.render.html.episode_view import episode_view
    from pytest_recode.render.html.page import single
    from pytest_recode.render.html.withheld import Without

    facts, record = played.facts, played.record
    who = f"{facts['model'] or facts['agent']}, {facts['feedback']}"
    return single(
        episode_view("episode", facts["task"], record["outcome"] if record else "error", who, played, Without())
    )
