"""Settings of an episode and facts of its task, as its record has them.

Reports compare rows by the settings, and a resumed run is compared with the earlier one by them.
"""

from __future__ import annotations

from typing import Annotated, NotRequired, TypeAlias, TypedDict

from pytest_recode.schema.rules import Day, NonNegative, Number, known

Replaced: TypeAlias = Annotated[
    dict[str, str],
    "parts that replaced built-in ones, with who registered them: `agent recode` -> `the distribution lab`; absent: none",
]


class SettingsRecord(TypedDict):
    version: Annotated[str, "version of pytest-recode"]
    turns: Annotated[Number, "maximum number of turns: --recode-turns"]
    steps: Annotated[Number, "maximum number of model calls in a turn: --recode-steps"]
    memory_threshold: Annotated[
        Number | None, "number of messages above which an agent summarizes its memory; null: limited only in tokens"
    ]
    memory_keep: Annotated[
        Number | None, "maximum number of latest messages that a summary keeps; null: as many as fit"
    ]
    search_model: Annotated[str | None, "embedding model for searches; null: search by words"]
    test_output: Annotated[str, known("none", "full"), "output of the hidden tests that feedback contained"]
    temperature: Annotated[NonNegative | None, "sampling temperature; null: the provider's default"]
    call_seconds: NotRequired[Annotated[NonNegative, "limit of one model call: --recode-call-seconds"]]
    agent_seconds: NotRequired[
        Annotated[NonNegative, "limit of a turn of a command-line agent: --recode-agent-seconds"]
    ]
    test_seconds: Annotated[NonNegative | None, "limit of one hidden test: --recode-test-seconds; null: the task's"]
    reindent: Annotated[bool, "whether the indentation of answers was corrected if necessary"]
    api_base: Annotated[str | None, "address of the model server; null: the provider's"]
    image: Annotated[str, "docker image: --recode-image; empty: not given"]
    feedback_from: Annotated[str, known("auto", "person", "files"), "source of the feedback: --recode-feedback-from"]
    feedback_scope: Annotated[
        str, known("failing", "all"), "what a feedback model could comment on: --recode-feedback-scope"
    ]
    feedback_code: Annotated[
        str, known("L1", "L2", "L3", "L4"), "lowest level whose text could contain code: --recode-feedback-code"
    ]
    without_network: NotRequired[
        Annotated[bool, "whether tasks that ask for a network ran without one: --recode-without-network"]
    ]
    impossible: NotRequired[
        Annotated[
            bool,
            "whether the impossible twin of the task was played, which no right answer solves: --recode-impossible; absent: no",
        ]
    ]
    shared_verifier: NotRequired[
        Annotated[bool, "whether scripts of tasks judged in the agent's sandbox: --recode-shared-verifier"]
    ]
    feedback_writer: NotRequired[
        Annotated[
            str,
            known("with-reference", "without-reference"),
            "whether a feedback model saw the reference while it wrote: --recode-feedback-writer",
        ]
    ]
    researcher_prompt: Annotated[str, "version of the prompt for feedback models"]


SNIPPET = ("paper", "snippet", "lines")
"""The facts that together make a task a snippet of a paper; other formats may use one of these names for something else."""


class DateFacts(TypedDict):
    """Facts of a task whose format has them: dates of the paper and of its repository."""

    arxiv_v1_date: NotRequired[Day]
    arxiv_date: NotRequired[Day]
    first_commit_date: NotRequired[Day]
    last_commit_date: NotRequired[Day]
