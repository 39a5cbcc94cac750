"""The results of allure (`--alluredir`): name of the task, parameters, and the episode as attachments.

allure calls a test *failed* if an assertion failed, and *broken* after any other exception: an unsolved episode raises `Unsolved`, an assertion,
and an error of the model or of infrastructure raises `Fault`. Registered in each process with `--alluredir`; results are written where items run.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from pytest_recode.plugin import run_of
from pytest_recode.plugin.items import EpisodeItem, TaskItem


@pytest.hookimpl(wrapper=True, tryfirst=True)  # around allure's own, which sets the name after the setup
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    try:
        yield
    finally:
        if isinstance(item, TaskItem):
            _describe(item)


def _describe(item: TaskItem) -> None:
    """Set the name, and the parameters, by which allure distinguishes histories of one task."""
    import allure

    title = f"{item.task.id}: {item.task.title}" if item.task.title else item.task.id
    allure.dynamic.title(title)
    marker = item.get_closest_marker("recode")
    given = marker.kwargs if marker is not None else {}
    facts = {name: given[name] for name in ("model", "feedback", "attempt", "check") if given.get(name)}
    if isinstance(item, EpisodeItem):
        facts["agent"] = item.settings.agent
    for name, value in facts.items():
        allure.dynamic.parameter(name, value)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None]:
    """Attach the episode. In the teardown, so that a full disk changes no verdict."""
    if isinstance(item, EpisodeItem):
        _attach(item)
    yield


def _attach(item: EpisodeItem) -> None:
    import allure

    from pytest_recode.plugin.episode_page import episode_page
    from pytest_recode.records.transcript import name

    run = run_of(item.config)
    path, files = run.out / "episodes" / name(item.nodeid), run.directory.files
    try:
        transcript = files.read(path)
    except FileNotFoundError:  # it was not played
        return
    page = episode_page(path, files)
    allure.attach(page.content, "Episode", attachment_type=page.mime_type, extension=page.extension)
    allure.attach(transcript, "Transcript", attachment_type="application/jsonl", extension="jsonl")
