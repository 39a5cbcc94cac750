"""Write a log of Inspect sample by sample, because inspect_ai's `write_eval_log` keeps all samples of a log in memory.

An `.eval` file is a ZIP archive with a JSON file per sample, one with the summaries of all samples, and a header. inspect_ai makes these values and
writes the header.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from zipfile import ZIP_DEFLATED, ZipFile

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog, EvalSample

AddSample = Callable[["EvalSample"], None]
Finish = Callable[["EvalLog", Path], None]


@contextmanager
def new_log(directory: Path) -> Iterator[tuple[AddSample, Finish]]:
    """Begin a log in `directory`. The values add a sample, and move the finished log to a path.

    In memory are the summaries of the samples, which have their inputs shortened, and no messages. A log that is not finished is removed.
    """
    from inspect_ai.log import condense_sample, write_eval_log

    summaries: list[str] = []
    with tempfile.TemporaryDirectory(prefix=".export-", dir=directory) as temporary:
        path = Path(temporary, "log.eval")
        archive = ZipFile(path, "x", ZIP_DEFLATED)

        def add(sample: EvalSample) -> None:
            name = f"samples/{sample.id}_epoch_{sample.epoch}.json"
            archive.writestr(name, condense_sample(sample).model_dump_json(exclude_none=True))
            summaries.append(sample.summary().model_dump_json(exclude_none=True))

        def finish(log: EvalLog, target: Path) -> None:
            archive.writestr("summaries.json", f"[{','.join(summaries)}]")
            archive.close()
            write_eval_log(log, path, header_only=True)
            path.replace(target)

        with archive:
            yield add, finish
