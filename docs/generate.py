"""Write the generated pages of docs/reference and the schema of records: `python -m docs.generate`, from the repository's root.

A test compares them with the code.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import inspect
import io
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest_recode
from docs import bundled_pages
from pytest_recode import cli, formats, records, render
from pytest_recode.faults import ModelError, ModelFault
from pytest_recode.plugin import hookspecs, options
from pytest_recode.records.record import Record
from pytest_recode.render import report_code, summary_tables, words
from pytest_recode.schema.stored_forms import schema_of
from tests.metrics import samples

REFERENCE = Path(__file__).parent / "reference"
RECORD_SCHEMA = Path(records.__file__).parent / "records.schema.json"
Schema = Mapping[str, Any]


def main() -> None:
    for name, text in pages().items():
        (REFERENCE / name).write_text(text, "utf-8")
    RECORD_SCHEMA.write_text(record_schema(), "utf-8")


def pages() -> dict[str, str]:
    """The text of each generated page, by its name in docs/reference."""
    return {
        "options.md": options.markdown(),
        "hook-signatures.md": _hooks(),
        "record-fields.md": _record_fields(),
        "task-keys.md": _task_keys(),
        "validation-json.md": _validation_fields(),
        "errors.md": _errors(),
        "table-columns.md": _columns(),
        "commands.md": _commands(),
        "bundled-papers.md": bundled_pages.papers(_page, _table),
        "bundled-difficulty.md": bundled_pages.difficulty(_page, _table),
        "modules.md": _modules(),
    }


def _page(title: str, intro: str, *blocks: str) -> str:
    return "\n\n".join([f"# {title}", intro, *blocks]) + "\n"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _hooks() -> str:
    rows = []
    for name, hook in vars(hookspecs).items():
        if name.startswith("pytest_recode_"):
            signature = inspect.signature(hook)
            returns = "" if signature.return_annotation == "None" else f"`{signature.return_annotation}`"
            arguments = ", ".join(f"{each.name}: {each.annotation}" for each in signature.parameters.values())
            rows.append((f"`{name}({arguments})`", returns, " ".join((inspect.getdoc(hook) or "").split())))
    return _page(
        "Hook signatures",
        "For people who write a plugin or a `conftest.py` and need a hook's exact signature. [Hooks](hooks.md) explains how they are used.",
        _table(("hook", "returns", "what it does"), rows),
    )


def record_schema() -> str:
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "pytest-recode record, schema 1: one line of results.jsonl",
    }
    return json.dumps({**head, **schema_of(Record)}, indent=1) + "\n"


def _record_fields() -> str:
    schema = json.loads(record_schema())
    return _page(
        "Fields of a record",
        "For people who write programs that read `results.jsonl`. Every line of it is an object with these fields; a field without\n"
        '"yes" may be absent from records of older versions. [Records](records.md) describes the files of a run.',
        _table(("field", "type", "always present", "description"), list(_fields(schema, schema))),
        "Machine-readable: `pytest_recode/records/records.schema.json` (JSON Schema 2020-12).",
    )


def _task_keys() -> str:
    schema = json.loads((Path(formats.__file__).parent / "task.schema.json").read_text("utf-8"))
    return _page(
        "Keys of task.yaml",
        "For people who write a `task.yaml`, or a program that does, and need a key's exact type. [Task format](task-format.md) explains the\n"
        "keys and gives their defaults.",
        _table(("key", "type", "required", "description"), list(_fields(schema, schema))),
        "Machine-readable: `pytest_recode/formats/task.schema.json` (JSON Schema 2020-12).",
    )


def _validation_fields() -> str:
    schema = json.loads((Path(render.__file__).parent / "validation.schema.json").read_text("utf-8"))
    return _page(
        "Findings of a validation as JSON",
        "For people who write programs that read the file of `--recode-validate-json`. It is one object with these fields, which are always\n"
        "present. Fields may be added; a change that breaks readers gets a new `version`. [How to write a task](../how-to/write-a-task.md#9-check-it-in-ci)\n"
        "has an example.",
        _table(("field", "type", "always present", "description"), list(_fields(schema, schema))),
        "Machine-readable: `pytest_recode/render/validation.schema.json` (JSON Schema 2020-12). The file has only ASCII characters.\n"
        "For the same findings it is the same, except for secret seeds and seconds, also with `-n`.",
    )


def _fields(schema: Schema, root: Schema, prefix: str = "") -> Iterator[tuple[str, str, str, str]]:
    """A row for each property at every depth: its path, type, whether it is required, its description."""
    for name, entry in schema.get("properties", {}).items():
        fields = {**_resolved(entry, root), **entry}
        path = f"{prefix}{name}"
        required = "yes" if name in schema.get("required", ()) else ""
        yield f"`{path}`", _type(fields, root), required, fields.get("description", "")
        yield from _fields(fields, root, f"{path}.")
        if "items" in fields:
            yield from _fields(_resolved(fields["items"], root), root, f"{path}[].")


def _resolved(schema: Schema, root: Schema) -> Schema:
    """Resolve a reference in `schema`; of several choices, use the one that is an object."""
    if "oneOf" in schema:
        schema = next(choice for choice in schema["oneOf"] if choice != {"type": "null"})
    if "$ref" in schema:
        found: Schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
        return found
    return schema


def _type(schema: Schema, root: Schema) -> str:
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(value)}`" for value in schema["enum"])
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if {"type": "null"} in schema.get("oneOf", ()):
        kinds = [*kinds, "null"]
    if kinds == ["array"]:
        return f"array of {_type(_resolved(schema['items'], root), root)}"
    least = f", at least {schema['minimum']}" if "minimum" in schema else ""
    most = f", at most {schema['maximum']}" if "maximum" in schema else ""
    return " or ".join(kinds) + least + most


def _errors() -> str:
    rows = []
    for kind in words.KINDS:
        area, _, fault = kind.partition(":")
        ends = area == "model" and ModelError(ModelFault(fault), "", "").fatal
        reach = "every later call to that model" if ends else "every later call" if kind == "budget" else "this episode"
        rows.append((f"`{kind}`", words.KINDS[kind], reach))
    return _page(
        "Error kinds",
        "For people who read `error.kind` in a record or `ERROR` in a terminal. An episode with an error has no verdict and is in no share;\n"
        "`--recode-resume` tries all of them again.",
        _table(("kind", "what happened", "what it ends"), rows),
    )


_KINDS = {
    "count": "whole number",
    "interval": "two percentages; in CSV the columns `_low` and `_high`",
    "list": "names, below the table",
    "money": "US dollars",
    "number": "number",
    "p": "probability",
    "percent": "percentage",
    "points": "percentage points, with a sign",
    "rate": "0 to 1",
    "text": "text",
}


def _columns() -> str:
    blocks = []
    for found in _report_tables():
        rows = [(f"`{each['key']}`", each["head"], _KINDS[each["kind"]]) for each in found["columns"]]
        blocks.append(f"## {found['name']}\n\n{found['title']}.\n\n" + _table(("key", "head", "values"), rows))
    lines_only, agents_only = summary_tables.LINES_ONLY, summary_tables.AGENTS_ONLY
    heads = ", ".join(f"`{head}`" for head in summary_tables.COLUMNS if head not in (lines_only, agents_only))
    replay_heads = ", ".join(f"`{head}`" for head in summary_tables.REPLAY_COLUMNS if head != agents_only)
    effort_heads = ", ".join(f"`{head}`" for head in summary_tables.EFFORT_COLUMNS)
    return _page(
        "Columns of summary and report",
        "For people who look up a column of a table, or a key of `pytest-recode report --format csv` or `json`. [Metrics](metrics.md) has\n"
        "the formulas, [Reports](report.md) the options. A report has only the tables for which the runs have data, and omits columns in which\n"
        "all rows have the same value. Numbers in a key or a head (`pass_at_2`, `turn_1`) are examples.",
        f"The summary at the end of a run has {heads}, `{lines_only}` for tasks with counted lines, and `{agents_only}` if there are several. "
        f"Its second table, `effort`, has {effort_heads}; k is the number of attempts. A replay has {replay_heads}. "
        "[Concepts](../explanation/concepts.md#what-the-summarys-columns-say) explains them.",
        *blocks,
    )


_EXPLAINED = {
    "report": "[Reports](report.md)",
    "show": "[How to read a transcript](../how-to/read-a-transcript.md)",
    "html": "[How to share a report](../how-to/share-a-report.md)",
    "plot": "[Figures for a paper or a slide](../how-to/share-a-report.md#figures-for-a-paper-or-a-slide)",
    "export": "[How to export to other tools](../how-to/export-to-other-tools.md)",
    "export-tasks": "[How to export tasks to Harbor](../how-to/export-tasks-to-harbor.md)",
    "bless": "[How to gate a pull request](../how-to/gate-a-pull-request.md)",
    "gate": "[How to gate a pull request](../how-to/gate-a-pull-request.md)",
    "power": "[How to compare two models](../how-to/compare-models.md#before-you-pay)",
    "merge": "[How to run in shards](../how-to/run-in-shards.md)",
    "new": "[How to write a task](../how-to/write-a-task.md)",
    "cut": "[How to cut a task from a repository](../how-to/cut-a-task-from-a-repository.md)",
    "preview": "[Preview of a task](preview.md)",
}
"""Where each command is explained."""


def _commands() -> str:
    [commands] = [each for each in cli._parser()._actions if isinstance(each, argparse._SubParsersAction)]
    rows = [
        (f"`pytest-recode {each.dest}`", each.help or "", _EXPLAINED[each.dest]) for each in commands._choices_actions
    ]
    return _page(
        "Commands",
        "For people who look for a command. `pytest` plays tasks and validates them, with the options `--recode-…` ([Options](options.md)).\n"
        "`pytest-recode` has the commands below, which play nothing. `pytest-recode COMMAND --help` prints the options of each.",
        _table(("command", "what it is for", "explained in"), rows),
    )


def _modules() -> str:
    """A table for each package: its modules, each with the first paragraph of its docstring."""
    package = Path(pytest_recode.__file__).parent
    blocks = []
    for folder in sorted({path.parent for path in package.rglob("*.py")}):
        docs = {path.name: _first_paragraph(path) for path in sorted(folder.glob("*.py"))}
        rows = [(f"`{name}`", text) for name, text in docs.items() if name != "__init__.py"]
        name = folder.relative_to(package.parent).as_posix()
        blocks += [
            text
            for text in (
                f"## {name}",
                docs.get("__init__.py", ""),
                _table(("module", "what it does"), rows) if rows else "",
            )
            if text
        ]
    return _page(
        "Modules",
        "For people who look for the place of something in the code. The tests of a module are in the directory of the same name below `tests/`.\n"
        "[The architecture](../explanation/architecture.md) says how the packages work together.",
        *blocks,
    )


def _first_paragraph(path: Path) -> str:
    return " ".join((ast.get_docstring(ast.parse(path.read_text("utf-8"))) or "").partition("\n\n")[0].split())


def _report_tables() -> list[dict[str, Any]]:
    """All tables with their columns, from reports of example runs; `code` from its columns, without a row."""
    by_name: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as place:
        for files in _examples(Path(place)):
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                assert cli.main(["report", *map(str, files), "--format=json"]) == 0
            for table in json.loads(printed.getvalue())["tables"]:
                first = by_name.setdefault(table["name"], {**table, "columns": []})
                known = {column["key"] for column in first["columns"]}
                first["columns"] += [column for column in table["columns"] if column["key"] not in known]
    code = report_code.table({}, lambda _: None, known={}, bert=lambda _: [])
    columns = [{"key": each.key, "head": each.head, "kind": each.kind} for each in code.columns]
    return [*by_name.values(), {"name": code.name, "title": code.title, "columns": columns}]


def _examples(place: Path) -> Iterator[list[Path]]:
    """Runs that together produce every table."""
    record, turn = samples.record, samples.turn
    published = place / "published/overall_stats.json"
    published.parent.mkdir()
    published.write_text(json.dumps(samples.stats()))
    own = samples.run(place / "gpt-4.1", samples.own_run("gpt-4.1", "GPT_4_1", cutoff="2024-06"))
    without = samples.own_run("gpt-4.1", "GPT_4_1_MINI", cutoff="2024-06", paper=False)
    yield [own, samples.run(place / "no-paper", without), published]
    played = [record("a", (0, 4)), record("a", (4,), attempt=2), record("b", (1, 1)), record("c", (), outcome="error")]
    other = [record(task, (0, 4), feedback="L4", levels=[None, "L4"]) for task in "abc"]
    again = samples.replay(record("a", (0, 4)), 2, 3)
    runs = [samples.run(place / "L0", played), samples.run(place / "L4", other)]
    twin = record("a", (3, 4))
    yield [samples.run(place / "twins", [{**twin, "settings": {**twin["settings"], "impossible": True}}])]
    yield [*runs, samples.run(place / "again", [{**again, "replay": {**again["replay"], "run": "L0"}}])]
    turns = [
        turn(1, 1, steps=3, unparsed=2, asked_again=1),
        {**samples.sorted_turn(2, ["T1", "T3"]), "steps": 2, "unparsed": 0},
    ]
    of_recode_h = record("annotation_1", (1, 1), turns=turns, format="recode-h", facts={"annotation": 1})
    yield [samples.run(place / "recode-h", [of_recode_h])]
    _transcript(place / "recode-h" / of_recode_h["transcript"])
    yield [place / "recode-h"]


def _transcript(path: Path) -> None:
    """Write a transcript of two turns with feedback between them, with the fields that a report reads."""
    texts = dict.fromkeys(("description", "analysis", "suggestion", "correction"), "")
    events = [samples.feedback_line(1, "L2", [{"interface": "m.f0", "category": "T1", **texts}])]
    for number, text in enumerate(("def f0(): return 1\n", "def f0(): return 2\n"), 1):
        events.append(samples.turn_line(samples.turn(number, 1), {"m.py": text}))
    spent = {"event": "usage", "time": 1.0, "model": "m", "prompt_tokens": 9, "completion_tokens": 8, "cost_usd": 0.1}
    events.append({**spent, "waited": 0.5, "answering": 4.0})
    path.parent.mkdir()
    path.write_text("".join(json.dumps(event) + "\n" for event in events))


if __name__ == "__main__":
    main()
