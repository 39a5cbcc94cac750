"""Checks before a run spends anything: options, models and keys, sandbox, environments, image and the directory of the run.

Called in the controlling process (options also in each worker). Errors that the user must correct are a `pytest.UsageError` of one line.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_recode.faults import UserError
from pytest_recode.plugin.collection import sharding
from pytest_recode.plugin.reports import against_baseline, live_traces
from pytest_recode.plugin.run import conflicts, directory, output_file, terminal
from pytest_recode.plugin.run.casting import for_agents, model_table
from pytest_recode.plugin.run.usage_errors import usage_errors
from pytest_recode.wording import some_of

if TYPE_CHECKING:
    from pytest_recode.plugin.run.session import Run
    from pytest_recode.sandboxes import SandboxKind
    from pytest_recode.settings import Settings
    from pytest_recode.task import Task

_MOST_TASKS = 3


def glance_at_models(run: Run) -> None:
    """Check names as far as that takes no time, before workers start. Raises `pytest.UsageError`."""
    from pytest_recode.plugin.run import model_check

    if run.settings.cassette_mode == "replay":  # the cassette knows its models
        return
    with usage_errors():
        model_check.glance(run.model_contexts(), run.registry, run.announced.append)


def start_gateway(run: Run) -> None:
    """Start the gateway early in the controlling process: it loads its client while pytest collects. Raises `pytest.UsageError`."""
    if run.worker is None and not run.settings.validate and not run.config.option.collectonly:
        if run.settings.out is not None:
            with usage_errors():
                directory.check_writable(run.out, resume=run.settings.resume)
        glance_at_models(run)
        if run.settings.out is not None and not run.settings.resume and not directory.is_new(run.out):
            return  # `prepare` refuses it if there is an episode to play, and then no gateway has to end first
        with usage_errors():
            if run.settings.resume and run.calls_models:
                directory.check_resumable(run.out, run.check_settings)
            if run.gateway is None and run.settings.cassette is not None and run.settings.models:
                raise UserError(
                    f"--recode-cassette={run.settings.cassette} records providers' answers, and this run asks no provider"
                    f" ({', '.join(run.settings.models)}): leave it out, or choose another model"
                )


def check_options(run: Run) -> None:
    """Check names that need no model call or service. Raises `pytest.UsageError`."""
    from pytest_recode.settings import check_memory

    settings = run.settings
    here = str(run.config.invocation_params.dir)
    if any(":" in name for name in settings.agents) and here not in sys.path:
        sys.path.append(here)  # package.module:Name is also searched for in the current directory
    with usage_errors():
        conflicts.check_agents(run.config, settings, run.registry.agent)
        for own in for_agents(settings, {}, run.registry):
            check_memory(own)
            _check_program_options(run, own)
        run.registry.check_policies(settings.feedbacks)
        if settings.sandbox != "auto":
            run.registry.sandbox(settings.sandbox)
        for model in filter(None, (*settings.models, settings.feedback_model)):
            run.registry.model(model)
        if settings.search_model and run.registry.model(settings.search_model).embedder is None:
            raise UserError(
                f"--recode-search-model={settings.search_model} provides no embeddings: name an embedding model, such as"
                " text-embedding-3-small, or leave it out"
            )
        if not Path(settings.python).is_file():
            raise UserError(
                f"--recode-python={settings.python}: there is no such file; give the path of an interpreter"
            )
        model_table(settings)
        _check_person(run)
        if run.worker is None:
            against_baseline.load(run)
            output_file.check("markdown", settings.markdown)
            output_file.check("validate-json", settings.validate_json)
            live_traces.check(settings.otel)


def _check_person(run: Run) -> None:
    """Check whether a person can be the agent in this session. Raises `UserError`."""
    settings, config = run.settings, run.config
    if not run.person:
        return
    option = f"--recode-agent={run.person}"
    if config.getoption("dist", "no") != "no" or run.worker is not None:
        raise UserError(
            f"{option} uses this terminal, which workers cannot use: leave out -n, or choose another --recode-agent"
        )
    if settings.feedback_from == "person":
        raise UserError(
            f"{option} and --recode-feedback-from=person use the same terminal, and the drafts of the feedback show the reference:"
            " let the researcher answer by files with --recode-feedback-from=files, or leave one of the two out"
        )
    if settings.progress == "live":
        raise UserError(f"{option} and --recode-progress=live use the same terminal: leave one of the two out")


def prepare(run: Run) -> None:
    """Prepare the run, once, before the first model call: check models, keys, sandbox and image, and create the directory.

    Raises `pytest.UsageError`.
    """
    if run.prepared or run.skip_reason:
        return
    try:
        _prepare(run)
    except pytest.UsageError as error:
        run.refused = str(error)
        raise
    run.prepared = True


def _prepare(run: Run) -> None:
    from pytest_recode.sandboxes.interpreters import interpreter

    if run.config.getoption("dist", "no") == "each":
        raise pytest.UsageError(
            "--dist=each plays each episode in every worker: use only -n, or --recode-attempts=N for several episodes of each"
        )
    with usage_errors():
        against_baseline.check(run)
        if not run.settings.validate:  # validation writes no records
            directory.check_place(run.out, _data_sets(run))
            directory.check_content(run.out, resume=run.settings.resume)
        interpreter(run.settings.python)
        _check_agents(run)
        if run.collected.scripted and not run.settings.validate:
            from pytest_recode.plugin.run import scripted_tasks

            scripted_tasks.check(run)
        if run.settings.feedback_from == "person":
            terminal.check(
                run.config, "--recode-feedback-from=person", "answer by files with --recode-feedback-from=files"
            )
        if run.person:
            terminal.check(run.config, f"--recode-agent={run.person}", "choose another --recode-agent")
        kind = run.registry.sandbox(run.sandbox.name)
        _check_hosts(run, kind)
        _check_environments(run)
        _check_image(run)
        _check_programs(run)
        if run.settings.in_flight > 1:
            from pytest_recode.plugin.run import in_flight

            in_flight.check(run)
        from pytest_recode.plugin.run import model_check

        model_check.check(run.model_contexts(), run.registry, run.notify)  # last: it waits until litellm is imported
        _check_translation(run)
        if not run.settings.validate:
            run.claim_directory(sharding.content(run))
        for context in run.sandbox.contexts():
            kind.reap(context)


def _check_agents(run: Run) -> None:
    """Check that every agent of the selected tasks can play. Raises `UserError`."""
    for name in sorted({settings.agent for settings in run.collected.settings}):
        check = run.registry.agent(name).check
        if check is not None and not run.settings.validate:
            check()


def _data_sets(run: Run) -> set[Path]:
    """The manifests of this run that belong to data sets."""
    manifests = {run.collected.tasks[task] for tasks in run.collected.environments.values() for task in tasks}
    return {path for path in manifests if (known := run.registry.format(path.name)) and known.data_set}


def _check_environments(run: Run) -> None:
    """Check that every environment of a selected task is available. Raises `UserError`."""
    from pytest_recode.plugin.run import environments

    needs = run.registry.sandbox(run.sandbox.name).needs
    environments.check(run.collected.environments, run.sandbox.name, needs, run.settings.environments)
    if not run.settings.without_network:
        environments.refuse_networks(run.collected.environments)
    if run.settings.impossible:
        _refuse_twinless(run.collected.twinless)
    if needs == "interpreter" and not run.settings.validate:  # validation reports this for each task
        for line in environments.unmet_requirements(run.collected.environments, run.settings.python):
            run.notify(line)


def _refuse_twinless(tasks: Sequence[Task]) -> None:
    """Raise `UserError` if a selected task has no impossible twin."""
    if tasks:
        raise UserError(
            f"--recode-impossible: {some_of([task.id for task in tasks], _MOST_TASKS)} {'has' if len(tasks) == 1 else 'have'} no impossible"
            " twin, which needs hidden tests in a process of their own: choose other tasks with -k"
        )


def _check_programs(run: Run) -> None:
    """Find the programs of command-line agents, or install them. Raises `UserError`."""
    from pytest_recode.plugin.run.casting import program

    for own in run.collected.settings:
        needs = run.registry.agent(own.agent).program
        if needs is not None and not own.validate:
            _check_program_options(run, own)  # also of an agent that is a format's default
            program(needs, own, run.notify)


def _check_translation(run: Run) -> None:
    """Check that the gateway can translate the calls of command-line agents. Raises `UserError`."""
    from pytest_recode.gateway.client import check_adapters

    contexts = run.model_contexts()
    addresses = {context.gateway for context in contexts if context.gateway is not None}
    if any(run.registry.agent(own.agent).program is not None and not own.validate for own in run.collected.settings):
        for address in addresses:
            check_adapters(address)


def _check_program_options(run: Run, own: Settings) -> None:
    """Check that an agent that is a program of its own can play with the other options. Raises `UserError`."""
    from pytest_recode.settings import fixed

    needs = run.registry.agent(own.agent).program
    if needs is None or own.validate:
        return
    option = f"--recode-agent={own.agent}"
    for model in own.models:
        if not run.registry.model(model).gateway:
            raise UserError(
                f"{option} is a program that asks its model over HTTP, and {model} is played by this process: give a model that litellm calls"
            )
    if not needs.continues and own.turns > 1 and not all(map(fixed, own.feedbacks)):
        raise UserError(
            f"{option} cannot continue a session, and so takes no feedback: use --recode-feedback=none or --recode-turns=1"
        )
    for host in own.docker_hosts:
        if not host.startswith("unix://"):
            raise UserError(
                f"{option} is a program of this machine, which --recode-docker-host={host} does not have: leave one of the two out"
            )


def _check_hosts(run: Run, kind: SandboxKind) -> None:
    """Check that every Docker host of the run answers. Raises `UserError`."""
    from pytest_recode.sandboxes.addresses import on

    for context in run.sandbox.contexts() if run.settings.docker_hosts else ():
        problem = kind.check(context)
        if problem:
            reason = problem.removeprefix(f"docker{on(context.host)}: ").removeprefix("docker: ")
            raise UserError(f"--recode-docker-host={context.host}: {reason}")


def _check_image(run: Run) -> None:
    """Check the image for tasks without their own; an image of a task is checked by its items. Raises `UserError`."""
    shared = any(not (each.image or each.dockerfile) for each in run.collected.environments)
    missing_image = run.registry.sandbox(run.sandbox.name).missing_image
    if shared and missing_image is not None:
        for context in run.sandbox.contexts():
            if problem := missing_image(context, run.notify):
                raise UserError(f"{problem}{_without_images(run)}")


def _without_images(run: Run) -> str:
    """The end of a message about a missing image: a sandbox of this machine that needs none; "" without one."""
    from pytest_recode.sandboxes.choose import AUTO, candidates

    kinds = run.registry.sandboxes(AUTO)
    working = (name for name in candidates(kinds, local=True) if kinds[name].check(run.sandbox.context) is None)
    name = next(working, "")
    return f", or use --recode-sandbox={name}, which works here and needs no image" if name else ""
