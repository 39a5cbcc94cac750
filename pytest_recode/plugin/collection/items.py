"""The pytest items: an episode to run, or a check of a task."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import pytest

from pytest_recode.faults import RecordsError, Stopped, UserError, interrupts_first
from pytest_recode.plugin.collection.item_properties import episode_properties
from pytest_recode.plugin.run.casting import lacks_model
from pytest_recode.plugin.run.limits import LimitReached, Timer
from pytest_recode.plugin.run.observers import observe
from pytest_recode.plugin.run.session import run_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pytest_recode.clock import Clock
    from pytest_recode.episode import OnTurn, Turn
    from pytest_recode.episode.assembly import EpisodePlan
    from pytest_recode.episode.stored_turns import Replay
    from pytest_recode.models import Ledger
    from pytest_recode.plugin.reports.report_data import ReportData, ValidationData
    from pytest_recode.plugin.run.flight import Flight
    from pytest_recode.records.episode_error import ErrorRecord
    from pytest_recode.records.record import Record
    from pytest_recode.records.run_files import RunFiles
    from pytest_recode.sandboxes import Sandbox
    from pytest_recode.settings import Settings
    from pytest_recode.shard import Shard
    from pytest_recode.task import Task

MARGIN = 60.0
"""Seconds that the backup limit allows in addition to the limits that the item enforces itself."""


class Unsolved(AssertionError):
    """An episode that ended unsolved. The message is for people.

    An assertion that failed, so that reports which distinguish failed tests from broken ones (allure) count it as failed.
    """

    __module__ = "builtins"  # reports of other plugins print the name of an exception with its module


class SolvedTwin(AssertionError):
    """An impossible twin that was solved, by a leak or a hack. The message is for people."""

    __module__ = "builtins"


class Fault(Exception):
    """An episode that ended with an error of the model, of infrastructure or of the task."""

    __module__ = "builtins"


class TaskItem(pytest.Item):
    """The base of all items of tasks: keywords, marker, and the data attached to their reports."""

    shard: Shard | None = None  # set by the collector, with `--recode-shard`

    def __init__(self, *, task: Task, **rest: Any) -> None:
        super().__init__(**rest)
        self.task = task
        self.recode: ReportData = {}
        # a nested snippet has the name of the outer one as a fact, but must not match it
        texts = [value for key, value in task.facts.items() if isinstance(value, str) and key != "outer"]
        self.extra_keyword_matches.update({task.id, task.domain, task.difficulty, *task.tags, *texts} - {""})

    def mark(self, **facts: Any) -> None:
        """Add the marker with the facts of every task, and those of this task's format."""
        task = self.task
        own = {"task": task.id, "domain": task.domain, "difficulty": task.difficulty, "format": task.format, **facts}
        # -m compares with these types and no others
        more = {key: value for key, value in task.facts.items() if value is None or isinstance(value, str | int)}
        for part in task.subsets or (None,):  # a marker for each: an expression compares with one value
            self.add_marker(pytest.mark.recode(**{**more, **own, "subset": part}))

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, self.name if self.name.startswith(f"{self.task.id}/") else f"{self.task.id} {self.name}"


class FaultItem(TaskItem):
    """An item for an entry of a manifest that cannot be loaded: an ERROR of one line, so that the other tasks can run."""

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.mark()

    def setup(self) -> None:
        self.recode = {"unreadable": self.task.id}
        raise Fault(self.task.fault)

    def runtest(self) -> None:
        raise AssertionError("setup fails")


class RecodeItem(TaskItem):
    """Run or check something and report it. `seconds`: a backup limit in addition to those that the item enforces itself; None for an
    episode of a person, who may think for hours."""

    seconds: float | None

    def __init__(self, **rest: Any) -> None:
        super().__init__(**rest)
        self.timer = Timer()

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Unsolved | SolvedTwin | Fault):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class EpisodeItem(RecodeItem):
    """An episode, or a replay of one stored turn."""

    flight: Flight | None = None  # in which it was played beside others

    def __init__(
        self,
        *,
        settings: Settings,
        model: str | None,
        policy: str,
        attempt: int,
        replay: Replay | None = None,
        **rest: Any,
    ) -> None:
        super().__init__(**rest)
        from pytest_recode.settings import as_played

        self.settings = as_played(settings)
        self.replay = replay
        self.model, self.policy, self.attempt = model, policy, attempt
        self.extra_keyword_matches.update({model or "", policy, policy.partition(":")[0]} - {""})
        self.mark(agent=settings.agent, model=model or "", feedback=policy, attempt=attempt)
        limits = self.task.limits
        registry = run_of(self.config).registry
        person = registry.agent(settings.agent).needs_person
        self.seconds = None if person else limits.episode_seconds + limits.grading_seconds + MARGIN
        if reason := lacks_model(settings, registry):
            self.add_marker(pytest.mark.skip(reason=reason))

    @functools.cached_property
    def plan(self) -> EpisodePlan:
        from pytest_recode.episode.assembly import EpisodePlan

        return EpisodePlan(
            nodeid=self.nodeid,
            task=self.task,
            model=self.model,
            policy=self.policy,
            attempt=self.attempt,
            replay=self.replay,
        )

    def play(
        self, sandbox: Sandbox, ledger: Ledger, on_turn: OnTurn, clock: Clock, check: Callable[[], None] | None = None
    ) -> Record:
        """Play the episode, in any thread. `check`: of one in flight, whose gradings and commands wait for room on the machine."""
        from pytest_recode.episode.episode_queue import EpisodeQueue, slots
        from pytest_recode.episode.player import play

        run = run_of(self.config)
        queue = EpisodeQueue(clock=clock, slots=slots(), check=check) if check is not None else None
        cast = run.cast(self.model, self.policy, self.settings, [self.path.name])
        return play(
            self.plan, cast, self.settings, sandbox, ledger, run.out, on_turn, clock, run.directory.files, queue
        )

    def _play_here(self) -> Record:
        """Play it in this thread, the main one, whose signals end it."""
        run = run_of(self.config)
        try:
            with run.stops.inside(), self.timer.working(self.seconds) as clock:
                run.directory.use(run.stops)
                return self.play(run.sandbox.get(), run.ledger, self._turn_finished, clock)
        except UserError:
            raise
        except BaseException:
            # interrupted (Ctrl-C, a time limit): the next item must not get a sandbox in the middle of an exchange
            run.sandbox.drop()
            raise
        finally:
            run.cut_off()

    def runtest(self) -> None:
        from pytest_recode.episode.setup import check_setup
        from pytest_recode.records.transcript import transcript_path
        from pytest_recode.task import digest

        run, plan = run_of(self.config), self.plan
        if stored := run.directory.finished.get(self.nodeid):
            try:
                check_setup(stored, plan, self.settings, digest(self.task.load()))
            except UserError as error:
                raise self._not_played(error) from None
            self._finish(stored, finished_before=True)
            return
        if self.flight is None and (record := self._played_before()):
            self._finish(record)
            return
        try:
            record = self.flight.result() if self.flight is not None else self._play_here()
        except UserError as error:  # the stored data of an earlier run is invalid
            raise self._not_played(error) from None
        except (RecordsError, Stopped) as stop:
            raise self._interrupted(str(stop)) from None
        except LimitReached as cut:
            record = self._cut_off(cut, transcript_path(run.out, self.nodeid), run.directory.files)
        if record["error"] and record["error"]["kind"] == "sandbox":
            run.sandbox.failed()
        self._finish(record)

    def _played_before(self) -> Record | None:
        """The record, if this process has already played the episode, because a plugin repeats tests or the session has it twice. The better of
        two answers is not a valid result."""
        from pytest_recode.records.transcript import transcript_path
        from pytest_recode.records.transcript_reader import ended

        run = run_of(self.config)
        if run.plays(self.nodeid):
            return None
        return ended(transcript_path(run.out, self.nodeid), run.directory.files)

    def _cut_off(self, cut: LimitReached, path: Path, files: RunFiles) -> Record:
        """The record after a time limit ended the episode whose transcript is at `path`."""
        from pytest_recode.records.transcript_reader import ended, recover

        try:
            left = recover(path, outcome="error", stop="error", error=None, files=files)
        except ValueError:  # it had not started
            raise self._not_played(UserError(f"{cut} before the episode started: raise that limit")) from None
        return ended(path, files) or cut.record(left)

    def _interrupted(self, reason: str) -> Fault:
        """The session ends with this item; `reason` is one line."""
        run_of(self.config).stops.request(reason)
        self.session.shouldstop = reason
        self.recode = {"interrupted": reason}
        return Fault(f"interrupted: {reason}")

    def _not_played(self, error: UserError) -> Fault:
        self.recode = {"not_played": str(error)}
        return Fault(str(error))

    def _finish(self, record: Record, *, finished_before: bool = False) -> None:
        """Report `record`, and raise the exception that pytest shows. `finished_before`: an earlier run finished the episode."""
        from pytest_recode.render import words
        from pytest_recode.render.twin_text import solved_twin

        run = run_of(self.config)
        self._report(record)
        self.recode["finished_before"] = finished_before
        if record["outcome"] == "error":
            raise Fault(words.fault(record, run.out))
        if self.settings.impossible:
            if record["outcome"] == "solved":
                raise SolvedTwin(solved_twin(record, run.out))
        elif record["outcome"] == "unsolved":
            person = run.registry.agent(record["agent"]).needs_person  # who reads the text
            raise Unsolved(words.unsolved(record, run.out, run.directory.files, quotes=not person))

    def _turn_finished(self, turn: Turn) -> None:
        observe(run_of(self.config), "pytest_recode_turn_finished", item=self, turn=turn)

    def _report(self, record: Record) -> None:
        self.recode = {"record": record}
        before = {name for name, _ in self.user_properties}
        properties = episode_properties(record, run_of(self.config).out)
        self.user_properties += [each for each in properties if each[0] not in before]


class ValidateItem(RecodeItem):
    def __init__(self, *, check: str, **rest: Any) -> None:
        super().__init__(**rest)
        self.check = check
        self.extra_keyword_matches.update({"validate", check})
        self.mark(check=check)
        self.seconds = self.task.limits.grading_seconds * 3 + MARGIN

    def runtest(self) -> None:
        from pytest_recode.episode.error_record import error_record
        from pytest_recode.plugin.reports.report_data import validation_data
        from pytest_recode.validation.checks import checks
        from pytest_recode.validation.validate import validate

        run = run_of(self.config)
        task_checks = checks(self.task, right_mutants=run.settings.validate_right_mutants)
        every = {check.name: check for check in task_checks}
        check = every[self.check]
        facts: ValidationData = {"task": self.task.id, "check": self.check, "checks": list(every), "error": None}
        self.recode = {"validation": facts}
        try:
            with self.timer.working(self.seconds), interrupts_first():
                settings = run.settings
                result = validate(
                    check,
                    run.common_grader(self.task),
                    settings.seed,
                    settings.validate_seeds,
                    graded=self.timer.restart,
                )
        except LimitReached as cut:
            run.sandbox.drop()
            error: ErrorRecord = {
                "kind": "time",
                "message": f"{cut} before the check ended: raise that limit",
            }
            facts["error"] = error
            raise Fault(f"{self.task.id}: {error['message']}") from None
        except Exception as raised:
            facts["error"] = error = error_record(raised)
            if error["kind"] == "sandbox":
                run.sandbox.failed()
            raise Fault(f"{self.task.id}: {error['message']}") from raised
        except BaseException:
            run.sandbox.drop()
            raise
        facts |= validation_data(result)
        self.user_properties += [("recode_check", self.check), ("recode_seconds", facts["seconds"])]
        if result.problem:
            raise Unsolved(result.problem)
