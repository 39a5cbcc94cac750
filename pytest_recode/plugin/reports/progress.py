"""Progress during a run (--recode-progress): lines on a terminal, or an occasional line in a log.

In the controller, or in the only process. A thread reads the transcripts that the episodes write anyway, so that workers do nothing for it.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import pytest

from pytest_recode.faults import RecordsError, UserError
from pytest_recode.plugin.reports.live_area import LiveArea, SharedOutput
from pytest_recode.records.run_directory import TRANSCRIPTS
from pytest_recode.records.transcript import name
from pytest_recode.records.transcript_follow import Follower, Progress
from pytest_recode.render.progress_lines import Totals, table, totals_text, turn_text
from pytest_recode.usage import Usage

if TYPE_CHECKING:
    from pytest_recode.plugin.reports.reporter import Reporter
    from pytest_recode.plugin.run.session import Run

NAME = "recode-progress"
EVERY = 0.5  # seconds between two drawings on a terminal
LOG_EVERY = 30.0  # seconds between two lines in a log
_SHARE = 3
"""The lines take at most this part of the terminal's height: one third."""


def chosen(run: Run) -> str:
    """`off`, `plain` or `live`: the option, or for `auto`, what the output is good for. Raises `pytest.UsageError`."""
    option, config = run.settings.progress, run.config
    if option == "live":
        if importlib.util.find_spec("rich") is None:
            raise pytest.UsageError(
                "--recode-progress=live needs an extra: pip install 'pytest-recode[live]', or --recode-progress=plain"
            )
        if not _on_a_terminal(config):
            raise pytest.UsageError(
                "--recode-progress=live needs a terminal, and pytest's capture (no -s, no --pdb): write --recode-progress=plain"
            )
    if option != "auto":
        return option
    if config.option.verbose < -1 or run.settings.validate or run.skip_reason or not run.settings.models:
        return "off"
    live = importlib.util.find_spec("rich") is not None and _on_a_terminal(config)
    return "live" if live else "plain"


def _on_a_terminal(config: pytest.Config) -> bool:
    """Whether only pytest writes to a terminal."""
    alone = config.option.capture != "no" and not config.option.usepdb
    return alone and sys.stdout.isatty()


def watch(run: Run) -> None:
    """Register the plugin. Called before pytest creates its terminal reporter, which for `live` gets an output that makes room for the lines.

    Raises `pytest.UsageError` if they cannot be shown.
    """
    where = chosen(run)
    if where == "off":
        return
    stream, area = sys.stdout, None
    if where == "live":
        area = LiveArea(stream)
        sys.stdout = SharedOutput(stream, area)
    manager = run.config.pluginmanager
    reporter: Any = manager.get_plugin("recode-reporter")
    plugin = ProgressPlugin(run, reporter, area, stream)
    manager.register(plugin, NAME)
    run.config.add_cleanup(plugin.stop)


class ProgressPlugin:
    """Follows the episodes between their start and their report. `area`: None for lines in a log."""

    def __init__(self, run: Run, reporter: Reporter, area: LiveArea | None, stream: TextIO) -> None:
        self._run, self._reporter, self._area, self._stream = run, reporter, area, stream
        self._lock = threading.Lock()
        self._playing: dict[str, Follower] = {}
        self._reported: set[str] = set()
        self._files: dict[str, str] = {}  # ids of all episodes, by the names of their transcripts
        self._finished = 0
        self._began: float | None = None
        self._since = time.time()
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._watch, name=NAME, daemon=True)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """The terminal reporter has its output now; everybody else writes to the stream itself."""
        sys.stdout = self._stream

    def pytest_runtest_logstart(self, nodeid: str) -> None:
        if nodeid not in self._run.collected.ids:
            return
        with self._lock:
            self._playing[nodeid] = self._follower(nodeid)
        if self._began is None:
            self._start()

    def pytest_runtest_logfinish(self, nodeid: str) -> None:
        with self._lock:
            self._finished += self._playing.pop(nodeid, None) is not None
            self._reported.add(nodeid)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtestloop(self) -> Generator[None, object, object]:
        """An episode in flight is reported as started when it has ended: its transcript shows that it plays."""
        if self._run.settings.in_flight > 1:
            self._start()
        return (yield)

    def _start(self) -> None:
        self._began = time.monotonic()
        self._since = time.time()
        self._thread.start()

    def _follower(self, nodeid: str) -> Follower:
        return Follower(Path(self._run.out), nodeid, names_agent=len(self._run.settings.agents) > 1)

    def _add_flights(self) -> None:
        """Follow the episodes whose transcripts have begun to grow in this session."""
        out, ids = Path(self._run.out), self._run.collected.ids
        if len(self._files) < len(ids):  # workers have just collected them
            self._files = {name(nodeid): nodeid for nodeid in ids}
        with suppress(OSError), os.scandir(out / TRANSCRIPTS) as entries:  # there is none before the first episode
            for entry in entries:
                nodeid = self._files.get(entry.name)
                if nodeid is None or nodeid in self._reported or nodeid in self._playing:
                    continue
                if entry.stat().st_mtime >= self._since:
                    self._playing[nodeid] = self._follower(nodeid)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self.stop()

    def stop(self) -> None:
        """End the thread and erase the lines."""
        self._end.set()
        if self._began is not None and threading.current_thread() is not self._thread:
            self._thread.join()
        if self._area is not None:
            self._area.close()

    def _watch(self) -> None:
        reported = 0  # judged turns at the last line
        while not self._end.wait(EVERY if self._area is not None else LOG_EVERY):
            with self._lock:
                if self._run.settings.in_flight > 1:
                    self._add_flights()
                playing = [follower.look() for follower in self._playing.values()]
            if self._area is not None:
                self._draw(self._area, playing)
                continue
            judged = sum(episode.judged for episode in playing) + self._finished
            latest = max(
                (episode for episode in playing if episode.judged), key=lambda episode: episode.since, default=None
            )
            if judged != reported:
                turn = f"; {turn_text(latest)}" if latest is not None else ""
                self._run.notify(f"{totals_text(self._totals())}{turn}")
            reported = judged

    def _draw(self, area: LiveArea, playing: list[Progress]) -> None:
        try:
            size = area.size
        except OSError:  # the terminal is gone
            return
        rows = 0 if self._run.config.option.verbose < 0 else max(size.lines // _SHARE - 1, 0)
        if size.columns < 20 or size.lines < 4:
            area.erase()
            return
        area.draw(table(playing, self._totals(), time.time(), width=size.columns - 1, rows=rows))

    def _totals(self) -> Totals:
        records = list(self._reporter.records)
        spent = Usage(cost_usd=None)
        with suppress(RecordsError, UserError):  # the episodes report it
            spent = self._run.ledger_file.total  # not the sum of the records, of which several have a shared first turn
        return Totals(
            done=len(records),
            solved=sum(record["outcome"] == "solved" for record in records),
            errors=sum(record["outcome"] == "error" for record in records),
            episodes=len(self._run.collected.ids),
            cost_usd=spent.cost_usd,
            max_cost=self._run.settings.max_cost,
            tokens=spent.prompt_tokens + spent.completion_tokens,
            seconds=time.monotonic() - (self._began or time.monotonic()),
            finished_here=self._finished,
        )
