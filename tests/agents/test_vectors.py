"""Search by an embedding model: a real server behind the real litellm; what workers share, and what is paid."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pytest_recode.agents import recode
from pytest_recode.agents.retrieval import Retrieval
from pytest_recode.faults import BudgetSpent, ModelError, ModelFault
from pytest_recode.models import ModelContext, Usage
from pytest_recode.models.litellm_ import LitellmModel, check, make
from pytest_recode.records.ledger import FileLedger
from pytest_recode.task import Files
from tests.agents.conftest import Open
from tests.agents.scripted import Logged, Scripted, a_brief, a_context
from tests.agents.vectors_server import embedded, vectors
from tests.chat_server import Answer, ChatServer, Request, Script, chat_server, fault

__all__ = ["chat_server"]

Serve = Callable[[Script], ChatServer]
REPO: Files = {
    "a.py": b"def one(x):\n    # twice twice twice\n    return x\n",
    "b.py": b"def two(x):\n    # half half half\n    return x\n",
    "c.py": b"class Three:\n    # cosine cosine\n    x = 1\n",
}
TABLE = {"emb": {"model": "openai/emb", "price": {"prompt": 1000, "completion": 0}}}


def embedder(server: ChatServer, place: Path, max_cost: float | None = None, seconds: float = 30.0) -> LitellmModel:
    ledger = FileLedger(place / "spending.jsonl", max_cost)
    context = ModelContext(name="emb", ledger=ledger, api_base=server.url, call_seconds=seconds, table=TABLE)
    check(context)
    made = make(context)
    assert isinstance(made, LitellmModel)
    return made


def spent(place: Path) -> list[int]:
    lines = (place / "spending.jsonl").read_text().splitlines()
    return [entry["prompt_tokens"] for line in lines if "cost_usd" in (entry := json.loads(line))]


def names(retrieval: Retrieval, query: str, targets: Files | None = None) -> tuple[list[str], Usage]:
    found, usage = retrieval.find(query, a_brief(repo=REPO), targets or {})
    return [each.name for each in found], usage


def test_the_nearest_come_first_and_the_cost_is_told(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server(embedded)
    retrieval = Retrieval(embedder=embedder(server, tmp_path), shared=tmp_path)
    found, usage = names(retrieval, "twice")
    assert found[0] == "one"
    assert usage == Usage(prompt_tokens=20, completion_tokens=0, cost_usd=0.02)
    assert names(retrieval, "cosine")[0][0] == "Three"
    assert spent(tmp_path) == [10, 10, 10]  # the repository once, each query once
    assert [request.path for request in server.requests] == ["/v1/embeddings"] * 3
    assert [len(request.body["input"]) for request in server.requests] == [3, 1, 1]


def test_targets_are_asked_for_as_they_are_now_and_only_where_they_changed(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server(embedded)
    retrieval = Retrieval(embedder=embedder(server, tmp_path), shared=tmp_path)
    old, new = {"solver.py": b"def solve(): 'plan'\n"}, {"solver.py": b"def solve(): 'half'\ndef plan(): 'plan plan'\n"}
    assert names(retrieval, "plan plan", old)[0][0] == "solve"
    assert names(retrieval, "plan plan", old)[0][0] == "solve"
    assert names(retrieval, "plan plan", new)[0][0] == "plan"
    moved = {"solver.py": b"# A line more.\n" + new["solver.py"]}
    assert names(retrieval, "plan plan", moved)[0][0] == "plan"
    assert [len(request.body["input"]) for request in server.requests] == [3, 2, 1, 3, 1]


def test_the_vectors_of_a_repository_are_made_once_for_a_run(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server(embedded)
    first = Retrieval(embedder=embedder(server, tmp_path), shared=tmp_path)
    again = Retrieval(embedder=embedder(server, tmp_path), shared=tmp_path)
    assert names(first, "half")[0] == names(again, "half")[0]
    assert [len(request.body["input"]) for request in server.requests] == [3, 1, 1]
    [kept] = (tmp_path / "retrieval").glob("*.json")
    entry = json.loads(kept.read_text())
    assert (entry["model"], entry["texts"]) == ("emb", 3)
    assert not list((tmp_path / "retrieval").glob("*.part"))


PROGRAM = """
import sys
from pathlib import Path
from pytest_recode.agents.retrieval import Retrieval
from pytest_recode.agents import vectors
from tests.agents.scripted import a_brief
from tests.agents.test_vectors import REPO, TABLE
from pytest_recode.models import ModelContext
from pytest_recode.records.ledger import FileLedger
from pytest_recode.models.litellm_ import make

vectors.MAX_BATCH = 1
place, url = Path(sys.argv[1]), sys.argv[2]
ledger = FileLedger(place / "spending.jsonl")
embedder = make(ModelContext(name="emb", ledger=ledger, api_base=url, table=TABLE))
found, _ = Retrieval(embedder=embedder, shared=place).find("half", a_brief(repo=REPO), {})
print(found[0].name)
"""


@pytest.fixture
def worker(tmp_path: Path, quick_python: tuple[str, ...]) -> Iterator[Callable[[ChatServer], subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []

    def start(server: ChatServer) -> subprocess.Popen[str]:
        root = str(Path(__file__).parents[2])
        command = [*quick_python, "-c", PROGRAM, str(tmp_path), server.url]
        env = {**os.environ, "PYTHONPATH": root}
        started.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True))
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.wait()


@pytest.mark.slow
def test_workers_at_the_same_time_pay_once(
    chat_server: Serve, tmp_path: Path, worker: Callable[[ChatServer], subprocess.Popen[str]]
) -> None:
    server = chat_server(embedded)
    processes = [worker(server) for _ in range(2)]
    assert [process.communicate()[0] for process in processes] == ["two\n"] * 2
    asked = [request.body["input"][0] for request in server.requests]
    assert len(asked) == 3 + 2  # a batch for each definition, once, and a query for each worker
    assert asked.count("half") == 2


@pytest.mark.slow
def test_a_killed_writer_leaves_what_it_has_paid_for(
    chat_server: Serve, tmp_path: Path, worker: Callable[[ChatServer], subprocess.Popen[str]]
) -> None:
    killed: list[subprocess.Popen[str]] = []

    def script(request: Request) -> Answer:
        if request.number == 2 and killed:
            process = killed.pop()
            process.send_signal(signal.SIGKILL)
            process.wait()
        return embedded(request)

    server = chat_server(script)
    killed.append(worker(server))
    killed[0].wait()
    [part] = (tmp_path / "retrieval").glob("*.part")
    with part.open("ab") as file:
        file.write(b'{"texts": 1, "vect')  # torn
    assert worker(server).communicate()[0] == "two\n"
    asked = [request.body["input"][0].split("\n")[0] for request in server.requests]
    assert len(asked) == 3 + 1 + 1  # two kept, the third asked for again, and a query
    assert len(set(asked[:2])) == 2
    assert asked[2] == asked[3]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (fault(401, "bad key"), ModelFault.AUTH),
        (fault(404, "no such model", code="model_not_found"), ModelFault.UNKNOWN),
        (fault(400, "too long"), ModelFault.REQUEST),
    ],
)
def test_a_model_that_cannot_be_asked(chat_server: Serve, tmp_path: Path, answer: Answer, kind: ModelFault) -> None:
    server = chat_server(lambda _: answer)
    with pytest.raises(ModelError) as raised:
        names(Retrieval(embedder=embedder(server, tmp_path), shared=tmp_path), "half")
    assert raised.value.fault is kind
    assert raised.value.model == "emb"


@pytest.mark.parametrize(
    "rows",
    [[], [[1.0, 2.0]], [[1.0], [2.0], [1.0, 2.0]], [[], [], []], [["x"], [1.0], [1.0]], [[1e999], [1.0], [1.0]]],
    ids=["none", "too few", "ragged", "empty", "words", "infinite"],
)
def test_an_answer_that_holds_no_vectors_is_a_fault_of_the_server(
    chat_server: Serve, tmp_path: Path, rows: list[list[object]]
) -> None:
    server = chat_server(lambda _: vectors(rows))
    model = embedder(server, tmp_path)
    model.retries = type(model.retries)(tries=1)
    with pytest.raises(ModelError, match=r"not have a vector for each of 3 texts") as raised:
        names(Retrieval(embedder=model, shared=tmp_path), "half")
    assert raised.value.fault is ModelFault.SERVER


def test_vectors_of_another_length_than_before(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server([vectors([[1.0, 2.0]] * 3), vectors([[1.0, 2.0, 3.0]])])
    with pytest.raises(ModelError, match="another length than they were before"):
        names(Retrieval(embedder=embedder(server, tmp_path), shared=tmp_path), "half")


def test_a_spent_budget_ends_a_search(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server(embedded)
    retrieval = Retrieval(embedder=embedder(server, tmp_path, max_cost=0.01), shared=tmp_path)
    with pytest.raises(BudgetSpent):
        names(retrieval, "half")
    assert len(server.requests) == 1


def test_a_step_that_searches_counts_what_it_cost(chat_server: Serve, tmp_path: Path, open_walled: Open) -> None:
    server, log = chat_server(embedded), Logged()
    context = a_context(Scripted(["```search\ntwice\n```", "SUBMIT", "SUBMIT"]), log=log)
    made = {name: getattr(context, name) for name in ("model", "steps", "turns", "log")}
    agent = recode.KIND.make(type(context)(**made, embedder=embedder(server, tmp_path), shared=tmp_path))
    move = agent.act(a_brief(repo=REPO), None, open_walled(files=REPO))
    assert move.usage == Usage(prompt_tokens=3 * 100 + 20, completion_tokens=30, cost_usd=1.5 + 0.02)
    assert log.of("result")[0]["text"].startswith("# a.py, lines 1 to 3: one\ndef one(x):")


def test_many_definitions_go_in_several_calls(chat_server: Serve, tmp_path: Path) -> None:
    server = chat_server(embedded)
    repo = {
        "a.py": b"".join(b"def f%d(): 'half'\n" % n for n in range(300)),
        "b.py": b"def g(): '" + b"x" * 50_000 + b"'",
    }
    found, _ = Retrieval(embedder=embedder(server, tmp_path), shared=tmp_path).find("half", a_brief(repo=repo), {})
    assert len(found) == 5
    sizes = [len(request.body["input"]) for request in server.requests]
    assert sizes == [128, 128, 45, 1]
    assert max(len(text) for request in server.requests for text in request.body["input"]) < 7_000
