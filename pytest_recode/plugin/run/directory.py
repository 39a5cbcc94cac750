"""The directory of records of a run: claimed once by the controller, marked as in use by every process that writes to it."""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_recode.faults import RecordsError, UserError
from pytest_recode.records.run_directory import (
    ANSWERS,
    CONTROLLER,
    LEDGER,
    RESULTS,
    ROOM,
    UNREADABLE,
    Lines,
    RunLock,
    belongs_to,
    in_use,
    room,
    wait_until_unused,
)
from pytest_recode.records.run_files import LOCAL, RunFiles
from pytest_recode.shards import shard_file
from pytest_recode.shards.shard_file import SHARD_FILE, ShardFile
from pytest_recode.wording import guess

if TYPE_CHECKING:
    from pytest_recode.gateway.remote_run import RemoteRun
    from pytest_recode.records.record import EpisodeFacts, Record
    from pytest_recode.settings import Settings
    from pytest_recode.stopping import Stops

_EMPTY = (RESULTS, UNREADABLE, SHARD_FILE, LEDGER, "in-use", CONTROLLER)
"""Files of a run without episodes."""


class RunDirectory:
    """This process's claim to the directory `path` of the run `run`. `worker`: the name of this worker; None in the controller.

    `remote`: how a worker on another host reaches the directory; None if it cannot.
    """

    def __init__(
        self,
        path: Path,
        *,
        run: str,
        worker: str | None,
        resume: bool,
        remote: Callable[[], RemoteRun | None] = lambda: None,
    ) -> None:
        self.path = path
        self.retried: set[str] = set()  # ids of episodes that an earlier run has an error of
        self._run = run
        self._worker = worker
        self._resume = resume
        self._connect = remote
        self._lock: RunLock | None = None
        self._used = ExitStack()
        self._in_use = False

    def claim(
        self,
        settings: Settings,
        ids: Collection[str],
        check: Callable[[EpisodeFacts], None],
        notify: Callable[[str], None],
        stops: Stops,
        shard: ShardFile | None,
    ) -> None:
        """Make the directory that of this run, in the controller; see `claim`. Raises `UserError` and `RecordsError`."""
        self.retried = claim(self.path, settings, ids, check, notify, shard)
        try:
            self._lock = RunLock.claim(self.path, self._run)
        except RecordsError:
            leave(self.path)
            raise
        stops.on_request.append(self._lock.release)

    def use(self, stops: Stops) -> None:
        """Mark the directory as written to by this process, until it ends.

        Raises `RecordsError` in a worker that sees another directory than the controller.
        """
        if self._in_use:
            return
        if self.remote is not None:
            stops.follow(self.remote.wait_for_stop)
            self._in_use = True
            return
        if self._worker is not None:
            self._lock = RunLock.join(self.path, self._run, self._worker)
            stops.follow(self._lock.wait_for_release)
        self._used.enter_context(in_use(self.path))
        self._in_use = True

    def check(self) -> None:
        """Check before a request that records can be written. Raises `RecordsError`."""
        if self._lock is not None:
            self._lock.check()
        elif self.remote is not None:
            self.remote.check()

    @functools.cached_property
    def remote(self) -> RemoteRun | None:
        """The directory on the controller's host, in a worker that does not see it. Not before the controller has claimed it."""
        if self._worker is None or belongs_to(self.path, self._run):
            return None
        return self._connect()

    @property
    def files(self) -> RunFiles:
        return self.remote or LOCAL

    @functools.cached_property
    def finished(self) -> Mapping[str, Record]:
        """The records of finished episodes of an earlier run, by node id."""
        return _finished(self.path, self.files) if self._resume else {}

    def close(self) -> None:
        self._used.close()
        if self._worker is not None:
            return
        if self._lock is not None:
            self._lock.close()
        if self._in_use:
            leave(self.path)


def check_place(out: Path, manifests: Iterable[Path]) -> None:
    """Raise `UserError` if `out` is in the directory of one of these manifests, which belong to published data sets."""
    for manifest in sorted(manifests):
        for root in (manifest.parent.resolve(), manifest.resolve().parent):
            if out.resolve().is_relative_to(root):
                raise UserError(
                    f"{out}: records cannot be written into the data set {root}, because they quote its"
                    " solutions: give a directory outside of it with --recode-out=DIR"
                )


def claim(
    out: Path,
    settings: Settings,
    ids: Collection[str],
    check: Callable[[EpisodeFacts], None],
    notify: Callable[[str], None],
    shard: ShardFile | None,
) -> set[str]:
    """Claim the directory of a run: an empty one, or with `--recode-resume` that of an earlier run.

    `ids` are the node ids of the items of this run. Returns those that ended with an error in the earlier run, and are retried.
    `check` is called with every record of the earlier run, `notify` with a line if the user has to wait. `shard` describes the part that
    this run plays; None: the whole run. Raises `UserError`.
    """
    check_writable(out, resume=settings.resume)
    check_content(out, resume=settings.resume)
    try:
        if settings.resume:
            return _resume(out, ids, check, notify, shard)
        out.mkdir(parents=True, exist_ok=True)
        if settings.out is None:
            (out.parent / ".gitignore").write_text("*\n")
        _check_room(out)
        if shard is not None:
            shard_file.write(out, shard)  # first, so that a part is never taken for a whole run
        os.close(os.open(out / RESULTS, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644))
        return set()
    except RecordsError as error:
        raise UserError(f"--recode-out={out}: {error}") from None
    except OSError as error:
        raise _not_written(out, error) from None


def check_writable(out: Path, *, resume: bool) -> None:
    """Raise `UserError` for a place in which no run can have its directory, and create nothing there: before anything is loaded."""
    try:
        if out.exists() and not out.is_dir():
            raise _is_a_file(out) if resume else _is_a_file(out, "a directory, new or empty")
        with tempfile.TemporaryFile(dir=next(path for path in (out, *out.parents) if path.exists())):
            pass
    except OSError as error:
        raise _not_written(out, error) from None


def check_content(out: Path, *, resume: bool) -> None:
    """Raise `UserError` for a directory with other files than the run may find there, before its models are looked up."""
    try:
        names = {path.name for path in out.iterdir()} if out.is_dir() else set()
    except OSError as error:
        raise _not_written(out, error) from None
    if resume and RESULTS not in names:
        raise _no_run(out)
    # a run that was killed between its first two files leaves the first one
    if not resume and names - {SHARD_FILE}:
        what, also = (
            (f"another run ({RESULTS})", ", or --recode-resume to resume it")
            if RESULTS in names
            else ("other files", "")
        )
        raise UserError(f"--recode-out={out} contains {what}: give a new or an empty directory{also}")


def is_new(out: Path) -> bool:
    """Whether a run that resumes none may have this directory."""
    try:
        check_content(out, resume=False)
    except UserError:
        return False
    return True


def check_resumable(out: Path, check: Callable[[EpisodeFacts], None]) -> None:
    """Raise `UserError` for a directory that `claim` will refuse to resume, as far as one record shows it: before anything is loaded."""
    from pytest_recode.records.results import MalformedLineError, parse_record

    check_content(out, resume=True)
    try:
        with (out / RESULTS).open("rb") as file:
            first = parse_record(file.readline())
    except (OSError, MalformedLineError):  # `claim` reports it
        return
    check(first)


def _is_a_file(out: Path, give: str = "the directory of the run to resume") -> UserError:
    return UserError(f"--recode-out={out} is a file: give {give}")


def _not_written(out: Path, error: OSError) -> UserError:
    return UserError(f"--recode-out={out} cannot be written ({error.strerror}): give a directory that can")


def _no_run(out: Path) -> UserError:
    meant = guess(out.name, [path.parent.name for path in out.parent.glob(f"*/{RESULTS}")])
    return UserError(f"--recode-out={out}: there is no run to resume{meant}: leave out --recode-resume to start one")


def _check_room(out: Path) -> None:
    free = room(out)
    if free < ROOM:
        raise UserError(
            f"--recode-out={out}: {free >> 10} KiB are free there, and a run needs {ROOM >> 10}: free space, or give another directory"
        )


def begun(out: Path) -> bool:
    """Whether the directory has records of episodes."""
    try:
        filled = ((out / name).stat().st_size > 0 for name in (RESULTS, LEDGER) if (out / name).exists())
        return any(path.name not in _EMPTY for path in out.iterdir()) or any(filled)
    except OSError:  # the directory was removed
        return False


def leave(out: Path) -> None:
    """Remove the files of a run without episodes, so that the next run can use the directory."""
    if not begun(out):
        for name in _EMPTY:
            with suppress(OSError):  # a broken disk was reported before
                (out / name).unlink(missing_ok=True)


def not_read(out: Path, task: str) -> None:
    """Note an unreadable task, so that reports mention it. Raises `RecordsError`."""
    lines = Lines(out / UNREADABLE)
    try:
        lines.append({"schema": 1, "task": task})
    finally:
        lines.close()


def _finished(out: Path, files: RunFiles) -> Mapping[str, Record]:
    """The records of finished episodes of an earlier run, by node id."""
    from pytest_recode.records.results import read

    return {record["nodeid"]: record for record in read(out / RESULTS, files=files) if record["outcome"] != "error"}


def compact(out: Path) -> None:
    """Remove the errors of an earlier run that this run has retried: their episodes have a later record.

    Reads and writes the whole file, so call it once per run. A run that is killed before leaves both records of an episode; every
    reader uses the later one.
    """
    from pytest_recode.records.results import latest, rewrite

    found, older = latest(out / RESULTS)
    if older:
        rewrite(out / RESULTS, found)


def _cut_off(out: Path, ids: Collection[str]) -> Iterator[EpisodeFacts]:
    """The facts of unfinished episodes that have complete turns. A damaged file is reported by its own episode."""
    from pytest_recode.records.transcript import name, transcript_path
    from pytest_recode.records.transcript_reader import earlier

    for nodeid in sorted(ids):
        if (out / "checkpoints" / name(nodeid)).exists():
            with suppress(UserError):
                facts = earlier(transcript_path(out, nodeid)).facts
                if facts is not None and facts["nodeid"] == nodeid:
                    yield facts


def _check_ledger(out: Path, records: Iterable[Record]) -> None:
    """Raise `UserError` if the cost of the earlier run is not known any more: it counts for the limit of this one."""
    if (out / LEDGER).exists():
        return
    if (out / ANSWERS).exists() or any(value != 0 for record in records for value in record["usage"].values()):
        raise UserError(
            f"--recode-out={out}: {LEDGER} is missing, which has the cost of the earlier run: restore it, or create an empty file"
            " there to count from 0 dollars"
        )


def _resume(
    out: Path,
    ids: Collection[str],
    check: Callable[[EpisodeFacts], None],
    notify: Callable[[str], None],
    shard: ShardFile | None,
) -> set[str]:
    from pytest_recode.plugin.run import open_episodes
    from pytest_recode.records.results import read

    wait_until_unused(out, notify)
    shard = shard_file.resumed(out, shard)
    _check_room(out)
    compact(out)
    records = read(out / RESULTS)
    for record in records:
        check(record)
    _check_ledger(out, records)
    for facts in _cut_off(out, set(ids) - {record["nodeid"] for record in records}):
        check(facts)
    if line := open_episodes.notice(out, ids, {record["nodeid"] for record in records}):
        notify(line)
    if shard is not None:
        shard_file.write(out, shard)
    return {record["nodeid"] for record in records if record["outcome"] == "error" and record["nodeid"] in ids}
