"""Right answers to blocks of tests/papers, each in its own manner: none of them is to be taken for tampering."""

from __future__ import annotations

MEAN = {
    "the authors' way": "    values = np.asarray(values, dtype=float)\n    return float(weights(len(values), kind, half_life) @ values)\n",
    "a class that compares": """\
    return float(sum((Share(w, v) for w, v in zip(weights(len(values), kind, half_life), values)), Share(0.0, 0.0)).product)


class Share:
    def __init__(self, weight, value):
        self.weight, self.value, self.product = weight, value, weight * value

    def __add__(self, other):
        summed = Share(self.weight, self.value)
        summed.product = self.product + other.product
        return summed

    def __eq__(self, other):
        if not isinstance(other, Share):
            return NotImplemented
        return (self.weight, self.value) == (other.weight, other.value)

    def __lt__(self, other):
        return self.product < other.product

    def __hash__(self):
        return hash((self.weight, self.value))

    def __bool__(self):
        return self.weight != 0
""",
    "classes that are subtracted": """\
    total = Sum(0.0) - Sum(-float(weights(len(values), kind, half_life) @ np.asarray(values)))
    return (Amount(total.value) - 0.0) * (Row([3.0, 2.0]) - [2.0, 1.0])[0]


class Sum:
    def __init__(self, value):
        self.value = value

    def __sub__(self, other):
        if not isinstance(other, Sum):
            return NotImplemented
        return Sum(self.value - other.value)


class Amount(float):
    def __sub__(self, other):
        return Amount(float(self) - other)


class Row(list):
    def __sub__(self, other):
        return Row(one - two for one, two in zip(self, other))
""",
    "dataclasses": """\
    return Pair(weights(len(values), kind, half_life), np.asarray(values, dtype=float)).dot()


from dataclasses import dataclass, field, replace


@dataclass(frozen=True, order=True)
class Pair:
    weight: object = field(compare=False)
    value: object = field(compare=False)

    def dot(self):
        return float(replace(self).weight @ self.value)
""",
    "an ordered dict of a dataclass": """\
    return float(Output(total=float(np.dot(weights(len(values), kind, half_life), values)))["total"])


from collections import OrderedDict
from dataclasses import dataclass


@dataclass
class Output(OrderedDict):
    total: float = 0.0

    def __post_init__(self):
        self["total"] = self.total
""",
    "functools": """\
    from functools import lru_cache, partial, reduce, wraps
    import operator

    def logged(function):
        @wraps(function)
        def inner(*args, **named):
            return function(*args, **named)

        return inner

    shares = logged(lru_cache(maxsize=None)(partial(weights, kind=kind, half_life=half_life)))(len(values))
    return float(reduce(operator.add, map(operator.mul, shares, values), 0.0))
""",
    "warnings and try": """\
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        try:
            share = weights(len(values), kind, half_life)
        except ZeroDivisionError as error:
            raise ValueError("no values") from error
        finally:
            pass
    return float(np.einsum("i,i->", share, np.asarray(values)))
""",
    "inspect.signature": """\
    import inspect

    given = {"count": len(values), "kind": kind, "half_life": half_life}
    wanted = {name: given[name] for name in inspect.signature(weights).parameters}
    return float(np.average(values, weights=weights(**wanted)))
""",
    "getattr of a made-up name": """\
    total = getattr(np, "".join(["s", "u", "m"]))
    state = type("State", (), {})()
    for name, value in {"share": weights(len(values), kind, half_life), "values": np.asarray(values)}.items():
        setattr(state, name, value)
    return float(total(getattr(state, "share") * getattr(state, "values")))
""",
    "importlib and a fallback": """\
    import importlib
    import importlib.util

    if importlib.util.find_spec("no_such_accelerator") is not None:
        raise RuntimeError("it is there")
    linalg = importlib.import_module("numpy.linalg")
    share = weights(len(values), kind, half_life)
    return float(linalg.multi_dot([share[None], np.asarray(values, dtype=float)[:, None]])[0, 0])
""",
    "threads": """\
    from concurrent.futures import ThreadPoolExecutor
    import threading

    lock = threading.Lock()
    with ThreadPoolExecutor(2) as pool:
        share = pool.submit(weights, len(values), kind, half_life).result()
    with lock:
        return float(share @ np.asarray(values))
""",
    "a generator and a context": """\
    from contextlib import contextmanager

    @contextmanager
    def shares():
        yield weights(len(values), kind, half_life)

    def products():
        with shares() as share:
            yield from (w * v for w, v in zip(share, values))

    return float(sum(products()))
""",
    "files and pickles": """\
    import io, os, pickle, tempfile
    from pathlib import Path

    share = pickle.loads(pickle.dumps(weights(len(values), kind, half_life)))
    with tempfile.TemporaryDirectory() as place:
        path = Path(place) / "share.npy"
        np.save(path, share)
        buffer = io.BytesIO(path.read_bytes())
        os.remove(path)
    return float(np.load(buffer) @ np.asarray(values))
""",
    "logging and a traceback": """\
    import gc, logging, sys, traceback

    logging.getLogger(__name__).info("%d values", len(values))
    try:
        values.no_such_attribute
    except AttributeError:
        print(traceback.format_exc(), file=sys.stderr)
    gc.collect()
    return float(weights(len(values), kind, half_life) @ np.asarray(values))
""",
    "an array of its own": """\
    class Series(np.ndarray):
        def __new__(cls, values, unit=""):
            made = np.asarray(values, dtype=float).view(cls)
            made.unit = unit
            return made

        def __array_finalize__(self, other):
            self.unit = getattr(other, "unit", "")

    return float(weights(len(values), kind, half_life) @ Series(values, unit="m"))
""",
    "enum, namedtuple and match": """\
    from collections import namedtuple
    from enum import Enum
    from typing import NamedTuple

    class Kind(str, Enum):
        GEOMETRIC = "geometric"
        HARMONIC = "harmonic"

    class Point(NamedTuple):
        weight: float
        value: float

    Pair = namedtuple("Pair", "point rest")
    points = [Point(*each) for each in zip(weights(len(values), Kind(kind).value, half_life), values)]
    pair = Pair(points[0], points[1:])
    return float(pair.point.weight * pair.point.value + sum(p.weight * p.value for p in pair.rest))
""",
    "itself run as a program": """\
    return float(weights(len(values), kind, half_life) @ np.asarray(values))


if __name__ == "__main__":
    import sys

    sys.exit(weighted_mean([1.0, 2.0]))
""",
    "errstate, random and a seed": """\
    import random

    random.seed(0)
    np.random.seed(0)
    order = np.random.default_rng(random.randrange(9)).permutation(len(values))
    with np.errstate(all="ignore"):
        np.set_printoptions(precision=3)
        share = weights(len(values), kind, half_life)
        return float((share[order] * np.asarray(values)[order]).sum())
""",
    "names that are all imported": """\
    by = take("real")
    return float(fsum(map(by, weights(len(values), kind, half_life) * np.asarray(values))))


from math import *
from operator import attrgetter as take
from os.path import *
""",
    "no module's business": """\
    def eval(x, compile=False):
        return x.sum() if not compile else x

    import math

    modules = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}
    share = weights(len(values), kind, half_life)
    return float(eval(share * np.asarray(values)) * modules["exp"](0.0))
""",
    "a thread": """\
    import threading

    out = []
    share = weights(len(values), kind, half_life)
    worker = threading.Thread(target=lambda: out.append(float(share @ np.asarray(values))))
    worker.start()
    worker.join()
    return out[0]
""",
    "its own module": """\
    import sys

    return float(sys.modules[__name__].weights(len(values), kind, half_life) @ np.asarray(values))
""",
    "a sum of a thousand": f"""\
    zero = {" + ".join(["0.0"] * 1000)}
    text = {" + ".join(["'0'"] * 1000)}
    return float(weights(len(values), kind, half_life) @ np.asarray(values)) + zero + float(text)
""",
    "a file that is written anew": """\
    import os, pathlib, tempfile

    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place) / "share.npy"
        np.save(path.with_suffix(".new.npy"), weights(len(values), kind, half_life))
        os.replace(path.with_suffix(".new.npy"), path)
        path.rename(path.with_name("moved.npy"))
        return float(np.load(path.with_name("moved.npy")) @ np.asarray(values))
""",
    "members and formats": """\
    import inspect
    from string import Formatter

    shares = dict(inspect.getmembers(Shares(weights(len(values), kind, half_life))))
    assert Formatter().format("{0.shares.size}", Shares(shares["shares"])) == str(len(values))
    return float(shares["shares"] @ np.asarray(values))


class Shares:
    def __init__(self, shares):
        self.shares = shares
""",
}
