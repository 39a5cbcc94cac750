"""The command `pytest-recode merge`: makes the shards of a run one run."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_recode.cli.subcommands import Commands


def add_to(commands: Commands) -> None:
    merge = commands.add_parser("merge", help="make the shards of a run (--recode-shard) one run")
    merge.set_defaults(command=_merge)
    merge.add_argument(
        "parts", nargs="+", type=Path, metavar="DIR", help="the directory of a shard, which is only read"
    )
    merge.add_argument(
        "--out", required=True, type=Path, metavar="ALL", help="directory for the merged run, new or empty"
    )


def _merge(arguments: argparse.Namespace) -> str:
    from pytest_recode.render import merged
    from pytest_recode.shards import merged_run
    from pytest_recode.shards.merge_check import checked
    from pytest_recode.shards.merge_parts import read_part

    shards = checked([read_part(path) for path in arguments.parts])
    merged_run.check_place(arguments.out, shards)
    merged_run.write(shards, arguments.out)
    return "".join(f"{line}\n" for line in merged.lines(shards, arguments.out))
