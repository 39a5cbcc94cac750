"""Which sandbox `auto` takes where a Docker daemon answers and has no image."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chat_server import ChatServer
from tests.messages import assert_line, assert_message

from .conftest import words
from .no_images import daemon_without_images
from .test_bad_input import one_line
from .test_models import ONE_SHOT, answers

__all__ = ["daemon_without_images"]

Run = Callable[..., pytest.RunResult]
MakeTask = Callable[..., Path]
Results = Callable[..., list[dict[str, Any]]]


@pytest.mark.slow
def test_a_daemon_without_images_leaves_bubblewrap(
    make_task: MakeTask, recode: Run, results: Results, workers: str, daemon_without_images: None
) -> None:
    make_task("a")
    make_task("b")
    with ChatServer(answers) as server:
        model = (*ONE_SHOT, "--recode-model=local", f"--recode-api-base={server.url}")
        result = recode(workers, "--recode-sandbox=auto", *model)
    result.assert_outcomes(passed=2)
    assert {record["sandbox"] for record in results()} == {"bubblewrap"}
    text = result.stdout.str()
    assert_line(text, "sandbox bubblewrap", "docker", "image", "could not be pulled")
    assert text.count("could not be pulled") == text.count("pulling the image") == 1
    assert "sandbox: bubblewrap" in words(result)


@pytest.mark.slow
@pytest.mark.parametrize("given", ["--recode-sandbox=docker", "--recode-image=lab/image"])
def test_docker_or_an_image_that_is_named_must_be_there(
    make_task: MakeTask, recode: Run, daemon_without_images: None, given: str
) -> None:
    make_task()
    named = [given] if "sandbox" in given else ["--recode-sandbox=auto", given]
    model = (*ONE_SHOT, "--recode-model=local", "--recode-api-base=http://127.0.0.1:9/v1")
    assert_message(
        one_line(recode(*named, *model)), "image", "could not be pulled", "pull it", "--recode-sandbox=bubblewrap"
    )
